//! Refusals: the expected "no" of every rule, each with a stable code and the facts behind it.
//!
//! A refusal is an answer, not a failure: nothing was changed, and the facts say what to do next. The code is what
//! programs match on and never changes. Words, hints and exit statuses belong to the faces.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

use crate::claim::{Conflict, Deadlock, LinesHeld, NotClaimed};
use crate::limiter::{BudgetExceeded, NeverFits, RateLimited};
use crate::loops::Mode;
use crate::task::Status;

mod facts;

pub use facts::{DependencyFault, NameKind};

/// An expected "no". The serialized form is `{"code": …, facts…}` with the field names below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Refusal {
    /// A name breaks the naming rule.
    #[error("{given:?} is not a valid {} name", kind.word())]
    InvalidName {
        /// What it was to name.
        kind: NameKind,
        /// The text as given.
        given: String,
        /// Every name that would have worked, where they are known.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        valid: Vec<String>,
        /// The most likely one.
        #[serde(skip_serializing_if = "Option::is_none")]
        nearest: Option<String>,
    },
    /// A task id breaks the naming rule.
    #[error("{given:?} is not a valid task id")]
    InvalidTaskId {
        /// The text as given.
        given: String,
    },
    /// A field is missing, empty or of the wrong type.
    #[error("{field}: {why}")]
    InvalidInput {
        /// The field at fault.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody of that name has a mailbox in this team.
    #[error("no recipient named {given:?} in team {team}")]
    UnknownRecipient {
        /// The name as given.
        given: String,
        /// The team asked.
        team: String,
        /// Every name that would have worked.
        valid: Vec<String>,
        /// The most likely one.
        nearest: Option<String>,
    },
    /// The sender is neither a member nor the leader.
    #[error("no sender named {given:?} in team {team}")]
    UnknownSender {
        /// The name as given.
        given: String,
        /// The team asked.
        team: String,
        /// Every name that would have worked.
        valid: Vec<String>,
        /// The most likely one.
        nearest: Option<String>,
    },
    /// The member is not on the roster.
    #[error("no member named {given:?} in team {team}")]
    UnknownMember {
        /// The name as given.
        given: String,
        /// The team asked.
        team: String,
        /// Every name that would have worked.
        valid: Vec<String>,
        /// The most likely one.
        nearest: Option<String>,
    },
    /// No team of that name in this project.
    #[error("team {given} not found")]
    TeamNotFound {
        /// The name as given.
        given: String,
        /// The teams that exist.
        valid: Vec<String>,
        /// The most likely one.
        nearest: Option<String>,
    },
    /// A team of that name exists already.
    #[error("team {team} exists already")]
    TeamExists {
        /// The team, as it is written on disk.
        team: String,
    },
    /// The team still has running members.
    #[error("team {team} is live: {}", running.join(", "))]
    TeamLive {
        /// The team.
        team: String,
        /// What of it still runs.
        running: Vec<String>,
    },
    /// A member of that name exists already, perhaps in another case.
    #[error("member {member} exists already")]
    MemberExists {
        /// The member, as the roster has it.
        member: String,
    },
    /// The call declares one sender and its token proves another.
    #[error("the token belongs to {actual}, not to {claimed}")]
    SenderMismatch {
        /// Who the call says it is.
        claimed: String,
        /// Whose token it carries.
        actual: String,
    },
    /// The token belongs to no present member: it was respawned, stopped, or is of another team.
    #[error("the token belongs to no present member of team {team}")]
    InvalidToken {
        /// The team asked.
        team: String,
    },
    /// The team accepts members by token only, and the call has none.
    #[error("team {team} wants a token from whoever speaks as {claimed}")]
    TokenRequired {
        /// The team asked.
        team: String,
        /// Who the call says it is.
        claimed: String,
    },
    /// The body is over the limit; both in bytes.
    #[error("the body has {size} bytes, the limit is {limit}")]
    BodyTooLarge {
        /// Its size.
        size: u64,
        /// The most it may have.
        limit: u64,
    },
    /// No message of that id in the mailbox.
    #[error("no message {id} in the mailbox of {mailbox}")]
    MessageNotFound {
        /// The id as given.
        id: String,
        /// The mailbox searched.
        mailbox: String,
    },
    /// The message is not on the dead-letter list.
    #[error("message {id} is not on the dead-letter list")]
    NotDeadLettered {
        /// The message.
        id: String,
    },
    /// No task of that id.
    #[error("task {id} not found")]
    TaskNotFound {
        /// The id as given.
        id: String,
    },
    /// A task of that id exists already, perhaps in another case.
    #[error("task {id} exists already")]
    TaskExists {
        /// The task, as it is written on disk.
        id: String,
    },
    /// Only a pending task can be claimed.
    #[error("task {id} status={status}")]
    NotPending {
        /// The task.
        id: String,
        /// Its status.
        status: Status,
        /// Who has it, if anybody.
        owner: Option<String>,
    },
    /// The task is not in the status that the caller expected.
    #[error("task {id} status={status}, expected {expected}")]
    UnexpectedStatus {
        /// The task.
        id: String,
        /// Its status.
        status: Status,
        /// The status that the caller named.
        expected: Status,
    },
    /// The task has come to its end and nothing changes it any more.
    #[error("task {id} status={status}, expected {expected}")]
    AlreadyTerminal {
        /// The task.
        id: String,
        /// Its status.
        status: Status,
        /// The status that the caller named.
        expected: Status,
    },
    /// The claim token is missing or of an earlier claim.
    #[error("claim token mismatch")]
    StaleToken {
        /// The task.
        id: String,
        /// Who has it now, if anybody.
        owner: Option<String>,
    },
    /// There is no such step, or no such status.
    #[error("a task cannot go from {from} to {to}")]
    InvalidStatus {
        /// The status before, as given.
        from: String,
        /// The status after, as given.
        to: String,
    },
    /// The task waits for others.
    #[error("task {id} is blocked by {}", on.join(", "))]
    Blocked {
        /// The task.
        id: String,
        /// The tasks that are not completed.
        on: Vec<String>,
        /// Those among them that failed, so that waiting alone will not help.
        failed: Vec<String>,
    },
    /// The task is meant for another member.
    #[error("task {id} is assigned to {member}")]
    AssignedElsewhere {
        /// The task.
        id: String,
        /// Whom it is for.
        member: String,
    },
    /// The member holds as many tasks as it may.
    #[error("{member} holds {holding} tasks, the limit is {limit}")]
    ClaimLimit {
        /// The member.
        member: String,
        /// How many it holds.
        holding: u32,
        /// How many it may hold.
        limit: u32,
    },
    /// Only the leader may do this.
    #[error("only the leader may {action}, and this is {member}")]
    LeaderOnly {
        /// Who asked.
        member: String,
        /// What was tried.
        action: String,
    },
    /// The team was shut down and takes no new work.
    #[error("team {team} was shut down at {at}")]
    ShutDown {
        /// The team.
        team: String,
        /// When, as it was written down.
        at: String,
    },
    /// The member's role does not allow this.
    #[error("the role {role} may not {action}")]
    RoleDenied {
        /// The role.
        role: String,
        /// What was tried.
        action: String,
    },
    /// A dependency cannot be.
    #[error("task {id} cannot depend so: {}", fault.sentence())]
    InvalidDependency {
        /// The task at fault.
        id: String,
        /// What is wrong.
        fault: DependencyFault,
    },
    /// The lines are no range: whole numbers with 0 <= start <= end.
    #[error("{start} to {end} is no range of lines: {why}")]
    InvalidRange {
        /// The first line as given.
        start: String,
        /// The last line as given.
        end: String,
        /// What is wrong with them.
        why: String,
    },
    /// The path leaves the project folder, or names the folder itself.
    #[error("{given:?} names no file inside {root}")]
    OutsideRoot {
        /// The path as given.
        given: String,
        /// The project folder.
        root: String,
    },
    /// Other members hold lines of the range, or wait for them.
    #[error("{0}")]
    ClaimConflict(Box<Conflict>),
    /// Waiting for these lines would never end.
    #[error("{0}")]
    Deadlock(Box<Deadlock>),
    /// The member holds none of these lines.
    #[error("{0}")]
    NotClaimed(Box<NotClaimed>),
    /// A change touches lines that other members hold.
    #[error("{0}")]
    LinesHeld(Box<LinesHeld>),
    /// A document is as full as it may be.
    #[error("there are {limit} {what} already")]
    TableFull {
        /// What there is too much of.
        what: String,
        /// The most there may be.
        limit: u64,
        /// After how many milliseconds there is room again at the latest, if that is known.
        retry_after_ms: Option<u64>,
    },
    /// The call may cost more than what is left of a budget.
    #[error("{0}")]
    BudgetExceeded(Box<BudgetExceeded>),
    /// The call would pass the requests or tokens a minute, or the team is paused.
    #[error("{0}")]
    RateLimited(Box<RateLimited>),
    /// The call is larger than a limit as a whole.
    #[error("{0}")]
    NeverFits(NeverFits),
    /// No reservation of that number was ever given.
    #[error("no reservation {id}")]
    UnknownReservation {
        /// The number as given.
        id: u64,
        /// The open reservations of whoever asks, oldest first, at most eight.
        open: Vec<u64>,
    },
    /// The reservation was settled or released before, or lapsed too long ago.
    #[error("reservation {id} was settled or released already")]
    AlreadySettled {
        /// The reservation.
        id: u64,
    },
    /// A report of usage has a number that cannot be.
    #[error("{field}: {given} {why}")]
    InvalidUsage {
        /// The field at fault.
        field: String,
        /// Its value as given.
        given: String,
        /// What is wrong with it.
        why: String,
    },
    /// A loop of the mode goes on.
    #[error("{mode} is active since {since}: {aim}")]
    LoopActive {
        /// The mode.
        mode: Mode,
        /// When it was started, as it was written.
        since: String,
        /// What it is about.
        aim: String,
    },
    /// There is no loop of the mode.
    #[error("{mode} is not active")]
    LoopInactive {
        /// The mode.
        mode: Mode,
    },
    /// The loop of the mode goes on no longer.
    #[error("the {mode} loop was cleared already")]
    LoopCleared {
        /// The mode.
        mode: Mode,
    },
    /// A price is needed and the model has none that is known.
    #[error("no price is known for model {model:?}")]
    UnknownModel {
        /// The model as given.
        model: String,
        /// Models with names like it that have a price.
        nearest: Vec<String>,
    },
    /// The limiter cannot be asked, and the team does not go on without.
    #[error("the limiter cannot be reached: {why}")]
    LimiterUnreachable {
        /// Why not.
        why: String,
    },
}

/// The one table of codes: a variant without a row does not compile.
macro_rules! codes {
    ($($variant:ident => $code:literal,)*) => {
        impl Refusal {
            /// Every code there is, for tables that must be complete.
            pub const CODES: &'static [&'static str] = &[$($code),*];

            /// The stable code that programs match on: the tag of the serialized form.
            #[must_use]
            pub fn code(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $code,)*
                }
            }
        }
    };
}

codes! {
    InvalidName => "invalid_name",
    InvalidTaskId => "invalid_task_id",
    InvalidInput => "invalid_input",
    UnknownRecipient => "unknown_recipient",
    UnknownSender => "unknown_sender",
    UnknownMember => "unknown_member",
    TeamNotFound => "team_not_found",
    TeamExists => "team_exists",
    TeamLive => "team_live",
    MemberExists => "member_exists",
    SenderMismatch => "sender_mismatch",
    InvalidToken => "invalid_token",
    TokenRequired => "token_required",
    BodyTooLarge => "body_too_large",
    MessageNotFound => "message_not_found",
    NotDeadLettered => "not_dead_lettered",
    TaskNotFound => "task_not_found",
    TaskExists => "task_exists",
    NotPending => "not_pending",
    UnexpectedStatus => "unexpected_status",
    AlreadyTerminal => "already_terminal",
    StaleToken => "stale_token",
    InvalidStatus => "invalid_status",
    Blocked => "blocked",
    AssignedElsewhere => "assigned_elsewhere",
    ClaimLimit => "claim_limit",
    LeaderOnly => "leader_only",
    ShutDown => "shut_down",
    RoleDenied => "role_denied",
    InvalidDependency => "invalid_dependency",
    InvalidRange => "invalid_range",
    OutsideRoot => "outside_root",
    ClaimConflict => "claim_conflict",
    Deadlock => "deadlock",
    NotClaimed => "not_claimed",
    LinesHeld => "lines_held",
    TableFull => "table_full",
    BudgetExceeded => "budget_exceeded",
    RateLimited => "rate_limited",
    NeverFits => "never_fits",
    UnknownReservation => "unknown_reservation",
    AlreadySettled => "already_settled",
    InvalidUsage => "invalid_usage",
    LoopActive => "loop_active",
    LoopInactive => "loop_inactive",
    LoopCleared => "loop_cleared",
    UnknownModel => "unknown_model",
    LimiterUnreachable => "limiter_unreachable",
}

impl Refusal {
    /// A name that breaks the naming rule, when the names that would have worked are not known.
    #[must_use]
    pub fn name(kind: NameKind, given: &str) -> Self {
        Self::InvalidName {
            kind,
            given: given.into(),
            valid: Vec::new(),
            nearest: None,
        }
    }

    /// A field that is missing, empty or of the wrong type.
    #[must_use]
    pub fn input(field: &str, why: &str) -> Self {
        Self::InvalidInput {
            field: field.into(),
            why: why.into(),
        }
    }
}

#[cfg(test)]
mod tests;
