//! `team`: founding, looking at and ending teams, and the reference's request interface.

use crate::cli::Entry;

pub mod api;

/// The row of this group.
pub const ENTRY: Entry = Entry::group("team", "Found, look at and end teams", &[api::ENTRY]);
