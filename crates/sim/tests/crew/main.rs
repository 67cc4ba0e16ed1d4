//! Teams in panes as a user starts them: the binary, a tmux server of the test's own, and fake agents.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these tests start the binary and tmux, wait for what they show, and fail by panicking"
)]

mod camp;
mod foreign;
mod launching;
mod lives;
mod nudges;
mod recording;
