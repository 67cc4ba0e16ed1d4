//! Members in panes: launched, woken, looked at, started again, ended.
//!
//! | file | does |
//! |---|---|
//! | `panes/waking.rs` | wakes one member if its gates allow: [`wake_member`], the one way for senders and the monitor |
//!
//! What always holds: a pane is used by its record (`workers/<name>/pane.json`) and never by an id alone; nothing that
//! has another identity than the recorded one is typed into, resized or ended; what is said about a wake is what came
//! of it.
//!
//! Not here: talking with tmux (`tmux`), the rules (core), and when the monitor looks.

mod waking;

pub use waking::{Bell, Occasion, Wakened, seat_of, wake_member};
