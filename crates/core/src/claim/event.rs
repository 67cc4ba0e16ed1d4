//! What happens to claims, as facts.

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use super::{Claim, Lines, Waiting};
use crate::name::Name;

/// Why a claim or a wait came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// Its member gave it back.
    Released,
    /// A new claim of the same member took its place.
    Replaced,
    /// Its deadline came.
    Expired,
    /// Its member stopped.
    Stopped,
    /// Its member crashed.
    Crashed,
    /// Its member was dissolved.
    Dissolved,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClaimEvent {
    /// Lines are held that were not held before.
    ClaimMade {
        /// The claim.
        claim: Claim,
    },
    /// A claim lasts longer.
    ClaimRenewed {
        /// The claim.
        claim: Claim,
    },
    /// A member waits.
    ClaimWaiting {
        /// Its place.
        waiting: Waiting,
        /// Whom it waits for.
        waits_for: Vec<Name>,
    },
    /// A wait is over, and the lines are held: what wakes its member.
    ClaimGranted {
        /// The wait.
        ticket: u64,
        /// The claim. It has the wait's number, unless its member came to hold these lines in another way.
        claim: Claim,
        /// How long it was waited for, in milliseconds.
        waited_ms: u64,
    },
    /// A wait was given up.
    WaitEnded {
        /// What it was.
        waiting: Waiting,
        /// Why.
        cause: EndCause,
    },
    /// Lines are held no longer. Its member is to be told when it did not end them itself.
    ClaimEnded {
        /// The claim, with the lines that were given up.
        claim: Claim,
        /// Why.
        cause: EndCause,
    },
    /// A claim followed its lines.
    ClaimMoved {
        /// The claim, where it is now.
        claim: Claim,
        /// Where it was.
        from: Lines,
    },
}
