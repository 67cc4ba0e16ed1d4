//! The commands, one file each, and the table that names them.

use crate::cli::Entry;

pub mod body;
pub mod broadcast;
pub mod inbox;
pub mod send;
pub mod task;
pub mod team;
pub mod who;

/// Every command, in the order of the help page.
pub const TABLE: &[Entry] = &[
    send::ENTRY,
    broadcast::ENTRY,
    inbox::ENTRY,
    task::ENTRY,
    who::ENTRY,
    team::ENTRY,
];
