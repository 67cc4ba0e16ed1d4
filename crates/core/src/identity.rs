//! Who a call speaks as, and whether that was proved.
//!
//! | the call has | and says it is | answer |
//! |---|---|---|
//! | a token of a member | that member, or nothing | that member, verified |
//! | a token of a member | somebody else | `sender_mismatch` |
//! | a token of nobody present | anything | `invalid_token` |
//! | no token | `leader`, or nothing | the human at the keyboard, as `leader` |
//! | no token | a member | that member, unverified; `token_required` when the team wants proof |
//! | no token | anybody else | `unknown_sender` |
//!
//! A token proves a member to this team; it does not keep a process of the same user from reading the team's files.

use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::name::{LEADER, Name};
use crate::refusal::Refusal;
use crate::roster::Team;

/// How a team takes what callers say about themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// A call without a token may speak as a member, marked as unverified.
    #[default]
    Declared,
    /// Members speak by token only.
    Verified,
}

/// What a recipient should make of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Another member.
    Peer,
    /// The team's leader, by token.
    Leader,
    /// Whoever sits at the keyboard.
    Human,
}

/// Who a call speaks as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// A member's name, or `leader`.
    pub name: Name,
    /// Whether a token proved it.
    pub verified: bool,
}

impl Speaker {
    /// The human at the keyboard.
    #[must_use]
    pub fn human() -> Self {
        Self {
            name: Name::leader(),
            verified: false,
        }
    }

    /// What a recipient should make of this speaker.
    #[must_use]
    pub fn standing(&self) -> Standing {
        standing(self.name.as_str(), self.verified)
    }
}

/// What a recipient should make of a sender called `name`.
#[must_use]
pub fn standing(name: &str, verified: bool) -> Standing {
    match (name == LEADER, verified) {
        (true, true) => Standing::Leader,
        (true, false) => Standing::Human,
        (false, _) => Standing::Peer,
    }
}

impl Standing {
    /// The word that stands in envelopes and JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Leader => "leader",
            Self::Human => "human",
        }
    }
}

/// What the roster keeps of a token: its SHA-256 in hexadecimal.
#[must_use]
pub fn hash_token(token: &str) -> String {
    use core::fmt::Write;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(token.as_bytes()) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Decides who a call speaks as, from the token and the name that it gives.
///
/// # Errors
/// `invalid_token`, `sender_mismatch`, `token_required` or `unknown_sender`, as the table above says.
pub fn identify(
    team: &Team,
    token: Option<&str>,
    claimed: Option<&str>,
) -> Result<Speaker, Refusal> {
    match token {
        Some(token) => by_token(team, token, claimed),
        None => by_word(team, claimed),
    }
}

fn by_token(team: &Team, token: &str, claimed: Option<&str>) -> Result<Speaker, Refusal> {
    let hash = hash_token(token);
    let holder = team
        .token_holder(&hash)
        .ok_or_else(|| Refusal::InvalidToken {
            team: team.name.clone(),
        })?;
    match claimed {
        Some(claimed) if claimed != holder.as_str() => Err(Refusal::SenderMismatch {
            claimed: claimed.to_string(),
            actual: holder.to_string(),
        }),
        _ => Ok(Speaker {
            name: holder,
            verified: true,
        }),
    }
}

fn by_word(team: &Team, claimed: Option<&str>) -> Result<Speaker, Refusal> {
    match claimed {
        None | Some(LEADER) => Ok(Speaker::human()),
        Some(claimed) => {
            let member = team.sender(claimed)?;
            match team.identity() {
                Identity::Declared => Ok(Speaker {
                    name: member,
                    verified: false,
                }),
                Identity::Verified => Err(Refusal::TokenRequired {
                    team: team.name.clone(),
                    claimed: claimed.to_string(),
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests;
