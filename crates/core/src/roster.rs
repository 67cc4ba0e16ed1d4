//! The roster: a team and its members, as one document (`config.json`).
//!
//! The first eight keys are the reference's, in its order; ours stand behind them and are left out when they say
//! nothing. An incarnation number grows at each respawn of a name, also after the member was stopped, and a token
//! belongs to one incarnation: what an earlier one still sends is refused.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::mailbox::{MAX_ATTEMPTS, MAX_BODY};
use crate::name::{LEADER, Name, nearest};
use crate::refusal::{NameKind, Refusal};
use crate::time::Timestamp;

/// Where a member sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seat {
    /// An interactive agent CLI in a tmux pane.
    #[default]
    Pane,
    /// An agent CLI run turn by turn.
    Headless,
    /// An agent inside a Rust program.
    Model,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Unique in the team without regard to case. Free text when another program wrote it.
    pub name: String,
    /// The role's name.
    #[serde(default)]
    pub role: String,
    /// The tmux pane, while it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane_id: Option<String>,
    /// The task that it was started for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Where it sits; `pane` when the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<Seat>,
    /// The profile of its agent CLI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// 1 for the first life of this name, one more for each respawn.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub incarnation: u32,
    /// SHA-256 of the token of this incarnation, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_hash: Option<String>,
}

/// A member that is no more: its name may be used again, its incarnations go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Former {
    /// The name that it had.
    pub name: String,
    /// Its last incarnation.
    pub incarnation: u32,
    /// When it left.
    pub left_at: Timestamp,
}

/// Limits and manners of a team; what is absent has its default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// How callers prove themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The largest body in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_body: Option<u64>,
    /// Failed deliveries before a message is dead-lettered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Tasks that one member may hold at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_limit: Option<u32>,
}

/// A team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Team {
    /// The team id.
    pub name: String,
    /// What the team is for.
    #[serde(default)]
    pub task: String,
    /// The role of members that have no other.
    #[serde(default)]
    pub role: String,
    /// How many members there are.
    #[serde(default)]
    pub worker_count: u32,
    /// The tmux session, for teams in panes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmux_session: Option<String>,
    /// The members, in the order in which they joined.
    #[serde(default)]
    pub workers: Vec<Member>,
    /// The project that the team works on.
    #[serde(default)]
    pub cwd: String,
    /// When the team was made.
    #[serde(default)]
    pub created_at: String,
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_name: Option<String>,
    /// Limits and manners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    /// Members that are no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Former>,
}

fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_first(n: &u32) -> bool {
    *n == 1
}

/// A member to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recruit {
    /// Its name.
    pub name: Name,
    /// Its role.
    pub role: String,
    /// Where it will sit.
    pub seat: Seat,
    /// The profile of its agent CLI.
    pub profile: Option<String>,
    /// The task that it is started for.
    pub task_id: Option<String>,
}

impl Team {
    /// A team without members.
    #[must_use]
    pub fn new(name: &Name, task: &str, role: &str, cwd: &str, now: Timestamp) -> Self {
        Self {
            name: name.to_string(),
            task: task.to_string(),
            role: role.to_string(),
            worker_count: 0,
            tmux_session: None,
            workers: Vec::new(),
            cwd: cwd.to_string(),
            created_at: now.to_string(),
            team_name: None,
            settings: None,
            former: Vec::new(),
        }
    }

    /// How callers prove themselves.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.settings
            .as_ref()
            .and_then(|settings| settings.identity)
            .unwrap_or_default()
    }

    /// The largest body in bytes.
    #[must_use]
    pub fn max_body(&self) -> u64 {
        self.settings
            .as_ref()
            .and_then(|settings| settings.max_body)
            .unwrap_or(MAX_BODY)
    }

    /// Failed deliveries before a message is dead-lettered; at least 1.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.settings
            .as_ref()
            .and_then(|settings| settings.max_attempts)
            .unwrap_or(MAX_ATTEMPTS)
            .max(1)
    }

    /// Tasks that one member may hold at once, if that is limited.
    #[must_use]
    pub fn claim_limit(&self) -> Option<u32> {
        self.settings
            .as_ref()
            .and_then(|settings| settings.claim_limit)
    }

    /// The member called exactly `name`.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.workers.iter().find(|member| member.name == name)
    }

    /// Every mailbox of the team: the members' in roster order, then the leader's. A member whose name another
    /// program wrote and that breaks the naming rule has none.
    #[must_use]
    pub fn everybody(&self) -> Vec<Name> {
        let members = self
            .workers
            .iter()
            .filter_map(|member| Name::new(NameKind::Member, &member.name).ok());
        members.chain(core::iter::once(Name::leader())).collect()
    }

    fn everybody_as_text(&self) -> Vec<String> {
        self.everybody().iter().map(ToString::to_string).collect()
    }

    fn find(&self, given: &str) -> Option<Name> {
        self.everybody()
            .into_iter()
            .find(|name| name.as_str() == given)
    }

    /// The recipient called exactly `given`.
    ///
    /// # Errors
    /// `unknown_recipient` with the names that would have worked.
    pub fn recipient(&self, given: &str) -> Result<Name, Refusal> {
        self.find(given).ok_or_else(|| {
            let valid = self.everybody_as_text();
            let nearest = nearest(given, valid.iter().map(String::as_str));
            Refusal::UnknownRecipient {
                given: given.to_string(),
                team: self.name.clone(),
                valid,
                nearest,
            }
        })
    }

    /// The sender called exactly `given`.
    ///
    /// # Errors
    /// `unknown_sender` with the names that would have worked.
    pub fn sender(&self, given: &str) -> Result<Name, Refusal> {
        self.find(given).ok_or_else(|| {
            let valid = self.everybody_as_text();
            let nearest = nearest(given, valid.iter().map(String::as_str));
            Refusal::UnknownSender {
                given: given.to_string(),
                team: self.name.clone(),
                valid,
                nearest,
            }
        })
    }

    /// The member or leader called exactly `given`, who wants to work on a task.
    ///
    /// # Errors
    /// `unknown_member` with the names that would have worked.
    pub fn worker(&self, given: &str) -> Result<Name, Refusal> {
        self.find(given).ok_or_else(|| {
            let valid = self.everybody_as_text();
            let nearest = nearest(given, valid.iter().map(String::as_str));
            Refusal::UnknownMember {
                given: given.to_string(),
                team: self.name.clone(),
                valid,
                nearest,
            }
        })
    }

    /// Whose token has this hash, among the present incarnations.
    #[must_use]
    pub fn token_holder(&self, hash: &str) -> Option<Name> {
        let holder = self
            .workers
            .iter()
            .find(|member| member.token_hash.as_deref() == Some(hash))?;
        Name::new(NameKind::Member, &holder.name).ok()
    }

    /// Adds a member.
    ///
    /// # Errors
    /// `invalid_name` for the reserved name, `member_exists` for a name that is taken in any case.
    pub fn add(&mut self, recruit: Recruit) -> Result<(), Refusal> {
        if recruit.name.is_leader() {
            return Err(Refusal::InvalidName {
                kind: NameKind::Member,
                given: recruit.name.to_string(),
            });
        }
        if let Some(taken) = self
            .workers
            .iter()
            .find(|member| recruit.name.folds_to(&member.name))
        {
            return Err(Refusal::MemberExists {
                member: taken.name.clone(),
            });
        }
        let before = self
            .former
            .iter()
            .position(|former| recruit.name.folds_to(&former.name));
        let incarnation = before.map_or(1, |index| self.former.remove(index).incarnation + 1);
        self.workers.push(Member {
            name: recruit.name.to_string(),
            role: recruit.role,
            pane_id: None,
            task_id: recruit.task_id,
            seat: Some(recruit.seat),
            profile: recruit.profile,
            incarnation,
            token_hash: None,
        });
        self.count();
        Ok(())
    }

    /// Removes a member, whose mailbox then takes no more mail.
    ///
    /// # Errors
    /// `unknown_member`.
    pub fn remove(&mut self, name: &str, now: Timestamp) -> Result<Member, Refusal> {
        let known = self.worker(name)?;
        let Some(index) = self
            .workers
            .iter()
            .position(|member| member.name == known.as_str())
        else {
            return Err(Refusal::RoleDenied {
                role: LEADER.into(),
                action: "leave the team".into(),
            });
        };
        let member = self.workers.remove(index);
        let (name, incarnation) = (member.name.clone(), member.incarnation);
        self.former.push(Former {
            name,
            incarnation,
            left_at: now,
        });
        self.count();
        Ok(member)
    }

    /// Starts a new incarnation of a member with a token whose hash is given; the token before it proves nothing
    /// any more. Answers the incarnation. The first token of a member starts its first incarnation.
    ///
    /// # Errors
    /// `unknown_member`.
    pub fn incarnate(&mut self, name: &str, token_hash: String) -> Result<u32, Refusal> {
        let refusal = self.worker(name).err();
        match self.workers.iter_mut().find(|member| member.name == name) {
            Some(member) => {
                member.incarnation += u32::from(member.token_hash.is_some());
                member.token_hash = Some(token_hash);
                Ok(member.incarnation)
            }
            None => Err(refusal.unwrap_or_else(|| Refusal::RoleDenied {
                role: LEADER.into(),
                action: "be started as a member".into(),
            })),
        }
    }

    fn count(&mut self) {
        self.worker_count = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
    }
}
