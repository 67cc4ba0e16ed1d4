//! One short call of an outside tool: bytes in, bytes out, bounded in time.
//!
//! For tools that answer at once and start nothing of ours, such as `tmux`; whatever runs longer or has children is a
//! [`Group`](super::Group). The calling thread waits; it needs no tokio.
//!
//! What always holds: the call is over when its limit is, the process is collected, and what it printed beyond
//! [`MOST`] bytes is an error, never a cut answer.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::time::Timespec;

use super::environment::Environment;
use crate::clock::{Clock, SystemClock};

/// The most that a tool may print, in bytes.
pub(crate) const MOST: usize = 64 * 1024 * 1024;

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no such program.
    #[error("{program} is not installed: {source}")]
    NotInstalled {
        /// The program as it was named.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It did not end in time, and was killed.
    #[error("{program} did not answer within {limit_ms} ms")]
    TimedOut {
        /// The program as it was named.
        program: String,
        /// How long it had, in milliseconds.
        limit_ms: u128,
    },
    /// It printed more than anybody wants to read.
    #[error("{program} printed too much")]
    TooMuch {
        /// The program as it was named.
        program: String,
    },
    /// Talking with it failed.
    #[error("{program} could not be asked: {source}")]
    Broken {
        /// The program as it was named.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Calls `program` with these arguments and exactly this environment, hands it `input`, and waits for its answer.
///
/// # Errors
/// [`CallError`]; nothing of the call runs on then.
pub(crate) fn call(
    program: &OsStr,
    arguments: &[OsString],
    environment: &Environment,
    input: &[u8],
    limit: Duration,
) -> Result<Called, CallError> {
    let name = || program.to_string_lossy().into_owned();
    let broken = |source| CallError::Broken {
        program: name(),
        source,
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "one of the places that start processes"
    )]
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment.iter())
        // Ctrl-C is for us: what we asked for is answered, and what follows from the wish is decided by the caller.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => CallError::NotInstalled {
            program: name(),
            source,
        },
        _ => broken(source),
    })?;
    let mut talk = Talk {
        child,
        until: SystemClock.monotonic() + i64::try_from(limit.as_millis()).unwrap_or(i64::MAX / 2),
    };
    let answer = talk.listen(input).and_then(|(stdout, stderr)| {
        Ok(Called {
            status: talk.end()?,
            stdout,
            stderr,
        })
    });
    answer.map_err(|stop| match stop {
        Stop::Late => CallError::TimedOut {
            program: name(),
            limit_ms: limit.as_millis(),
        },
        Stop::TooMuch => CallError::TooMuch { program: name() },
        Stop::Broken(source) => broken(source),
    })
}

enum Stop {
    Late,
    TooMuch,
    Broken(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Self {
        Self::Broken(error.into())
    }
}

/// A call that goes on. Dropping it kills and collects the process.
struct Talk {
    child: Child,
    /// On the monotonic clock, in milliseconds.
    until: i64,
}

impl Talk {
    fn remaining(&self) -> Result<i64, Stop> {
        match self.until - SystemClock.monotonic() {
            left if left > 0 => Ok(left),
            _ => Err(Stop::Late),
        }
    }

    /// Hands over the input and reads both outputs to their ends.
    fn listen(&mut self, mut input: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Stop> {
        let (mut stdin, mut stdout, mut stderr) = (
            self.child.stdin.take(),
            self.child.stdout.take(),
            self.child.stderr.take(),
        );
        if input.is_empty() {
            stdin = None;
        }
        never_wait(stdin.as_ref())?;
        never_wait(stdout.as_ref())?;
        never_wait(stderr.as_ref())?;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        while stdout.is_some() || stderr.is_some() {
            self.wait_for(stdin.as_ref(), stdout.as_ref(), stderr.as_ref())?;
            if let Some(pipe) = &mut stdin {
                match pipe.write(input) {
                    Ok(written) => input = &input[written..],
                    Err(error) if is_passing(&error) => {}
                    // It does not read its input: its answer says why.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => input = &[],
                    Err(error) => return Err(error.into()),
                }
                if input.is_empty() {
                    stdin = None;
                }
            }
            drain(&mut stdout, &mut out)?;
            drain(&mut stderr, &mut err)?;
        }
        Ok((out, err))
    }

    fn wait_for(
        &self,
        stdin: Option<&impl AsFd>,
        stdout: Option<&impl AsFd>,
        stderr: Option<&impl AsFd>,
    ) -> Result<(), Stop> {
        let mut ends = Vec::with_capacity(3);
        ends.extend(stdin.map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        ends.extend(stdout.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        ends.extend(stderr.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let left = self.remaining()?;
        let timeout = Timespec {
            tv_sec: left / 1_000,
            tv_nsec: (left % 1_000) * 1_000_000,
        };
        match poll(&mut ends, Some(&timeout)) {
            Ok(0) => Err(Stop::Late),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Collects the process, which has closed its outputs and is about to end.
    fn end(&mut self) -> Result<ExitStatus, Stop> {
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            self.remaining()?;
            #[expect(
                clippy::disallowed_methods,
                reason = "there is no portable way to wait for one child with a limit"
            )]
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            // It may have ended in between, which is what is wanted.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn never_wait(pipe: Option<&impl AsFd>) -> Result<(), Stop> {
    if let Some(pipe) = pipe {
        ioctl_fionbio(pipe, true)?;
    }
    Ok(())
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Reads what is there; at its end the pipe is given up.
fn drain(pipe: &mut Option<impl Read>, into: &mut Vec<u8>) -> Result<(), Stop> {
    let mut part = [0; 16 * 1024];
    while let Some(reader) = pipe {
        match reader.read(&mut part) {
            Ok(0) => *pipe = None,
            Ok(length) => into.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        if into.len() > MOST {
            return Err(Stop::TooMuch);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: &[u8], limit_ms: u64) -> Result<Called, CallError> {
        let arguments = ["-c", script].map(OsString::from);
        let environment = Environment::empty().set("PATH", "/usr/bin:/bin");
        let limit = Duration::from_millis(limit_ms);
        call(
            OsStr::new("/bin/sh"),
            &arguments,
            &environment,
            input,
            limit,
        )
    }

    #[test]
    fn what_goes_in_comes_out_whatever_its_size() {
        let input = vec![b'x'; 1_000_000];
        let called = sh("cat; echo told >&2; exit 3", &input, 20_000).unwrap();
        assert_eq!(called.stdout, input);
        assert_eq!(called.stderr, b"told\n");
        assert_eq!(called.status.code(), Some(3));
    }

    #[test]
    fn a_tool_that_does_not_read_is_answered_all_the_same() {
        let called = sh("exec <&-; echo done", &vec![b'x'; 1_000_000], 20_000).unwrap();
        assert_eq!(called.stdout, b"done\n");
    }

    #[test]
    fn a_tool_that_hangs_is_ended_at_its_limit() {
        for script in ["sleep 60", "exec >&- 2>&-; sleep 60", "echo x; sleep 60"] {
            let called = sh(script, b"", 100);
            assert!(
                matches!(called, Err(CallError::TimedOut { .. })),
                "{script}"
            );
        }
    }

    #[test]
    fn a_missing_tool_is_a_reason() {
        let missing = call(
            OsStr::new("/nowhere/tmux"),
            &[],
            &Environment::empty(),
            b"",
            Duration::from_secs(5),
        );
        assert!(matches!(missing, Err(CallError::NotInstalled { .. })));
    }
}
