//! Runs a command without its output and prints the wait status and the peak of its resident memory in KiB.
//!
//! A child counts what its parent held when it was started. So this is a program of its own, small and static.

use std::process::{Command, Stdio};

unsafe extern "C" {
    /// Two times of two words each, then the peak: the head of Linux's `struct rusage` on 64 bits.
    fn wait4(pid: i32, status: *mut i32, options: i32, usage: *mut [i64; 18]) -> i32;
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().unwrap_or_default();
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let (mut status, mut usage) = (0, [0; 18]);
    let pid = i32::try_from(child.id()).map_err(std::io::Error::other)?;
    // SAFETY: both pointers are to locals of the size that the kernel fills.
    if unsafe { wait4(pid, &mut status, 0, &mut usage) } != pid {
        return Err(std::io::Error::last_os_error());
    }
    println!("{status} {}", usage[4]);
    Ok(())
}
