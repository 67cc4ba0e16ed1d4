//! `pane`: the panes that members sit in.

use crate::cli::Entry;

mod capture;
mod exec;

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "pane",
    "Look at the panes that members sit in",
    &[capture::ENTRY, exec::ENTRY],
);
