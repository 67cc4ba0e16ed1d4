//! `profile`: what is known of the agent CLIs, and trying it on screens.

use crate::cli::Entry;

mod list;
mod test;

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "profile",
    "List the profiles of agent CLIs, and try them on captured screens",
    &[list::ENTRY, test::ENTRY],
);
