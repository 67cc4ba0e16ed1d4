//! The roster: a team and its members, as one document (`config.json`).
//!
//! The first eight keys are the reference's, in its order; ours stand behind them and are left out when they say
//! nothing. An incarnation number grows at each respawn of a name, also after the member was stopped, and a token
//! belongs to one incarnation: what an earlier one still sends is refused.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::limiter::WhenUnreachable;
use crate::mailbox::{MAX_ATTEMPTS, MAX_BODY};
use crate::name::{LEADER, Name, nearest};
use crate::refusal::{NameKind, Refusal};
use crate::time::Timestamp;

mod member;
mod pane;
mod respawn;

pub use member::{Former, Member, Recruit, Seat};
pub use pane::TmuxIdentity;
pub use respawn::Respawn;

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
    /// What happens to a model call when the limits cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limiter_unreachable: Option<WhenUnreachable>,
    /// Whether members in panes whose agents ended are started again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respawn: Option<Respawn>,
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
    /// Which tmux session that is, told from every other that had or will have its name.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "pane::ours"
    )]
    pub tmux_identity: Option<TmuxIdentity>,
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
    /// The pane in which the leader sits, when somebody said so.
    #[serde(
        default,
        rename = "leader_pane_id",
        skip_serializing_if = "Option::is_none"
    )]
    pub leader_pane_id: Option<String>,
    /// Limits and manners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    /// Members that are no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Former>,
}

/// What a refusal says about a name that nobody has: the name as given, the team, who there is, and the nearest.
type Unknown = (String, String, Vec<String>, Option<String>);

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
            tmux_identity: None,
            workers: Vec::new(),
            cwd: cwd.to_string(),
            created_at: now.to_string(),
            team_name: None,
            leader_pane_id: None,
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

    /// What happens to a model call when the limits cannot be read.
    #[must_use]
    pub fn limiter_unreachable(&self) -> WhenUnreachable {
        self.settings
            .as_ref()
            .and_then(|settings| settings.limiter_unreachable)
            .unwrap_or_default()
    }

    /// Whether members in panes whose agents ended are started again.
    #[must_use]
    pub fn respawn(&self) -> Respawn {
        self.settings
            .as_ref()
            .and_then(|settings| settings.respawn)
            .unwrap_or_default()
    }

    /// The member called exactly `name`.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.workers.iter().find(|member| member.name == name)
    }

    /// Every mailbox of the team: the members' in roster order, then the leader's. A member whose name another
    /// program wrote has none if the name breaks the naming rule, is the leader's, or is an earlier member's in
    /// another case.
    #[must_use]
    pub fn everybody(&self) -> Vec<Name> {
        let mut taken: BTreeSet<String> = BTreeSet::from([LEADER.to_string()]);
        let members = self
            .workers
            .iter()
            .filter_map(|member| Name::new(NameKind::Member, &member.name).ok())
            .filter(|name| taken.insert(name.as_str().to_ascii_lowercase()));
        let mut everybody: Vec<Name> = members.collect();
        everybody.push(Name::leader());
        everybody
    }

    /// The mailbox owner called exactly `given`, or what to say about whom there is instead.
    fn find(&self, given: &str) -> Result<Name, Unknown> {
        let everybody = self.everybody();
        if let Some(name) = everybody.iter().find(|name| name.as_str() == given) {
            return Ok(name.clone());
        }
        Err(self.stranger(given))
    }

    /// What to say about a name that nobody here has.
    fn stranger(&self, given: &str) -> Unknown {
        let everybody = self.everybody();
        let nearest = nearest(given, everybody.iter().map(Name::as_str));
        let valid = everybody.iter().map(ToString::to_string).collect();
        (given.to_string(), self.name.clone(), valid, nearest)
    }

    /// The recipient called exactly `given`.
    ///
    /// # Errors
    /// `invalid_name` or `unknown_recipient`, both with the names that would have worked.
    pub fn recipient(&self, given: &str) -> Result<Name, Refusal> {
        let kind = NameKind::Recipient;
        Name::new(kind, given).map_err(|_| {
            let (given, _, valid, nearest) = self.stranger(given);
            Refusal::InvalidName {
                kind,
                given,
                valid,
                nearest,
            }
        })?;
        self.find(given)
            .map_err(|(given, team, valid, nearest)| Refusal::UnknownRecipient {
                given,
                team,
                valid,
                nearest,
            })
    }

    /// The sender called exactly `given`.
    ///
    /// # Errors
    /// `unknown_sender` with the names that would have worked.
    pub fn sender(&self, given: &str) -> Result<Name, Refusal> {
        self.find(given)
            .map_err(|(given, team, valid, nearest)| Refusal::UnknownSender {
                given,
                team,
                valid,
                nearest,
            })
    }

    /// The member or leader called exactly `given`, who wants to work on a task.
    ///
    /// # Errors
    /// `unknown_member` with the names that would have worked.
    pub fn worker(&self, given: &str) -> Result<Name, Refusal> {
        self.find(given)
            .map_err(|(given, team, valid, nearest)| Refusal::UnknownMember {
                given,
                team,
                valid,
                nearest,
            })
    }

    /// Whose token has this hash, among the present incarnations.
    #[must_use]
    pub fn token_holder(&self, hash: &str) -> Option<Name> {
        let holder = self
            .workers
            .iter()
            .find(|member| member.token_hash.as_deref() == Some(hash))?;
        // No token is ever the leader's: a roster that says so was not written by us.
        self.find(&holder.name)
            .ok()
            .filter(|name| !name.is_leader())
    }

    /// Adds a member.
    ///
    /// # Errors
    /// `invalid_name` for the reserved name, `member_exists` for a name that is taken in any case.
    pub fn add(&mut self, recruit: Recruit) -> Result<(), Refusal> {
        if recruit.name.is_leader() {
            return Err(Refusal::name(NameKind::Member, recruit.name.as_str()));
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
        let lives_before = self
            .former
            .iter()
            .filter(|former| recruit.name.folds_to(&former.name))
            .map(|former| former.incarnation)
            .max();
        self.former
            .retain(|former| !recruit.name.folds_to(&former.name));
        self.workers.push(Member {
            name: recruit.name.to_string(),
            role: recruit.role,
            pane_id: None,
            task_id: recruit.task_id,
            seat: Some(recruit.seat),
            profile: recruit.profile,
            incarnation: lives_before.map_or(1, |lives| lives.saturating_add(1)),
            token_hash: None,
        });
        self.count();
        Ok(())
    }

    /// Removes a member, whose mailbox then takes no more mail.
    ///
    /// # Errors
    /// `unknown_member`, or `role_denied` for the leader.
    pub fn remove(&mut self, name: &str, now: Timestamp) -> Result<Member, Refusal> {
        let index = self.index_of(name, "leave the team")?;
        let member = self.workers.remove(index);
        self.former.push(Former {
            name: member.name.clone(),
            incarnation: member.incarnation,
            left_at: now,
        });
        self.count();
        Ok(member)
    }

    /// Ends the token of a member's incarnation: from now on it proves nothing.
    ///
    /// # Errors
    /// `unknown_member`, or `role_denied` for the leader.
    pub fn retire_token(&mut self, name: &str) -> Result<(), Refusal> {
        /// No token has this hash. That there was one stays to be seen, so that the next starts another incarnation.
        const OF_NOBODY: &str = "retired";
        let index = self.index_of(name, "lose its token")?;
        let kept = &mut self.workers[index].token_hash;
        *kept = kept.take().map(|_| OF_NOBODY.to_string());
        Ok(())
    }

    /// Starts a new incarnation of a member with a token whose hash is given; the token before it proves nothing
    /// any more. Answers the incarnation. The first token of a member starts its first incarnation.
    ///
    /// # Errors
    /// `unknown_member`, or `role_denied` for the leader.
    pub fn incarnate(&mut self, name: &str, token_hash: String) -> Result<u32, Refusal> {
        let index = self.index_of(name, "be started as a member")?;
        let member = &mut self.workers[index];
        let again = u32::from(member.token_hash.is_some());
        member.incarnation = member.incarnation.saturating_add(again);
        member.token_hash = Some(token_hash);
        Ok(member.incarnation)
    }

    /// Notes in which pane a member sits, or that it sits in none.
    ///
    /// # Errors
    /// `unknown_member`, or `role_denied` for the leader.
    pub fn sit(&mut self, name: &str, pane_id: Option<String>) -> Result<(), Refusal> {
        let index = self.index_of(name, "sit in a pane of the team")?;
        self.workers[index].pane_id = pane_id;
        Ok(())
    }

    fn index_of(&self, name: &str, action: &str) -> Result<usize, Refusal> {
        let known = self.worker(name)?;
        let index = self
            .workers
            .iter()
            .position(|member| member.name == known.as_str());
        index
            .filter(|_| !known.is_leader())
            .ok_or_else(|| Refusal::RoleDenied {
                role: LEADER.into(),
                action: action.into(),
            })
    }

    fn count(&mut self) {
        self.worker_count = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests;
