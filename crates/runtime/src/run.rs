//! One run of a team: members take turns until nothing is left to do.

pub mod scheduler;
