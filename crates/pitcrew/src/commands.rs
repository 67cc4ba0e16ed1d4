//! The commands, one file each, and the table that names them.

use crate::cli::Entry;

pub(crate) mod attention;
pub(crate) mod body;
pub(crate) mod broadcast;
pub(crate) mod claim;
pub(crate) mod claims;
pub(crate) mod completions;
pub(crate) mod discover;
pub(crate) mod discoveries;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod guard;
pub(crate) mod hook;
pub(crate) mod inbox;
pub(crate) mod limits;
pub(crate) mod loops;
pub(crate) mod man;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod pane;
pub(crate) mod profile;
pub(crate) mod release;
pub(crate) mod run;
pub(crate) mod send;
pub(crate) mod skill;
pub(crate) mod task;
pub(crate) mod team;
pub(crate) mod wait;
pub(crate) mod who;

/// Commands that belong together on the help page.
pub(crate) struct Section {
    /// What they are for.
    pub heading: &'static str,
    /// The key under which their JSON says why something was not done: that of the reference's requests of the kind.
    pub key: &'static str,
    /// The commands.
    pub entries: &'static [Entry],
}

/// Every command, in the order of the help page.
pub(crate) const SECTIONS: &[Section] = &[
    Section {
        heading: "Messages",
        key: "error",
        entries: &[send::ENTRY, broadcast::ENTRY, inbox::ENTRY],
    },
    Section {
        heading: "Work",
        key: "reason",
        entries: &[task::ENTRY, wait::ENTRY],
    },
    Section {
        heading: "Lines, findings, limits",
        key: "error",
        entries: &[
            claim::ENTRY,
            release::ENTRY,
            claims::ENTRY,
            guard::ENTRY,
            discover::ENTRY,
            discoveries::ENTRY,
            limits::ENTRY,
        ],
    },
    Section {
        heading: "Teams",
        key: "reason",
        entries: &[
            run::ENTRY,
            team::ENTRY,
            who::ENTRY,
            events::ENTRY,
            pane::ENTRY,
            hook::ENTRY,
            skill::ENTRY,
            #[cfg(feature = "mcp")]
            mcp::ENTRY,
        ],
    },
    Section {
        heading: "Loops",
        key: "message",
        entries: &[
            loops::ralph::ENTRY,
            loops::ultrawork::ENTRY,
            loops::ultraqa::ENTRY,
        ],
    },
    Section {
        heading: "This machine",
        key: "error",
        entries: &[
            doctor::ENTRY,
            profile::ENTRY,
            completions::ENTRY,
            man::ENTRY,
        ],
    },
];

/// Every command.
pub(crate) fn table() -> impl Iterator<Item = &'static Entry> {
    SECTIONS.iter().flat_map(|section| section.entries)
}
