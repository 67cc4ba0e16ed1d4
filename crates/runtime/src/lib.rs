//! Members, processes and clocks of a pitcrew team, and the [`desk`] that answers requests to it. Useful without any
//! face.
//!
//! A one-shot command and a long-lived process take the same steps: a request comes in, a pure rule of core decides,
//! the store keeps what was decided.

pub mod clock;
pub mod desk;
pub mod git;
pub mod guard;
pub mod hooks;
pub mod loops;
pub mod monitor;
pub mod overlay;
pub mod panes;
pub mod prices;
pub mod process;
pub mod profile;
pub mod prompt;
pub mod run;
pub mod teamfile;
pub mod tmux;
pub mod tools;
pub mod wake;
