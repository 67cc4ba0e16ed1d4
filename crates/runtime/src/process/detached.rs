//! A process that outlives whoever starts it: in a session of its own, with nobody who reads what it prints.
//!
//! What always holds: it inherits an open file as its standard input and nothing else; no signal of the starter's terminal
//! reaches it; its environment is exactly what was given.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use process_wrap::std::{CommandWrap, ProcessSession};

use super::Environment;

/// Starts `program` with `arguments` in `folder`, with `input` as its standard input; answers its number. It is not
/// waited for: whoever starts it is to end soon.
///
/// # Errors
/// When it cannot be started.
pub fn detach(
    program: &Path,
    arguments: &[OsString],
    folder: &Path,
    environment: &Environment,
    input: OwnedFd,
) -> io::Result<u32> {
    #[expect(
        clippy::disallowed_methods,
        reason = "one of the places that start processes"
    )]
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(environment.iter())
        .stdin(Stdio::from(input))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessSession);
    Ok(command.spawn()?.id())
}
