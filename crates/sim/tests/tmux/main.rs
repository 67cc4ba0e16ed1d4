//! Panes, gates and keys over a real tmux on a private socket, with the fake agent in the panes.
//!
//! Without tmux these tests print a notice and pass, unless `PITCREW_REQUIRE` names `tmux`.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these tests start processes, wait for what they show, and fail by panicking"
)]

mod foreign;
mod gates;
mod guards;
mod ladder;
mod launching;
mod monitor;
mod presence;
mod race;
mod scan;
mod wakes;
mod yard;
