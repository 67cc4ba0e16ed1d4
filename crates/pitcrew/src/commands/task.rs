//! `task`: the team's work, split and shared out.

use crate::cli::Entry;

mod add;
mod claim;
mod finish;
mod list;
mod show;

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "task",
    "List, add, claim and end tasks",
    &[
        list::ENTRY,
        show::ENTRY,
        add::ENTRY,
        claim::ENTRY,
        finish::DONE,
        finish::FAIL,
        finish::RELEASE,
        finish::RETRY,
    ],
);
