//! The one table of what is said when a command is not done: for each code the next step, the exit status, and the
//! reference's words where a request answers in its shape.
//!
//! A hint is one sentence that names a command or a file wherever there is one. It never repeats the message.

use pitcrew_core::Refusal;
use pitcrew_core::name::is_device;
use pitcrew_core::refusal::{DependencyFault, NameKind};
use pitcrew_core::span::span;
use pitcrew_core::task::Status;
use pitcrew_runtime::desk::Failure;
use pitcrew_store::StoreFailure;

use crate::halt::{Exit, Halt};

/// One row: what is said beside the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// What to do next.
    pub hint: String,
    /// How the command ends.
    pub exit: Exit,
    /// What the reference says in `error` or `reason`; our code where it has no words for it.
    pub reference: String,
}

/// The row of `halt`.
pub(crate) fn row(halt: &Halt) -> Row {
    let (hint, exit) = match halt {
        Halt::Refused(refusal) => (refusal_hint(refusal), Exit::Refused),
        Halt::Failed(Failure::Store(failure @ StoreFailure::Claiming { .. })) => {
            (store_hint(failure).to_string(), Exit::Refused)
        }
        Halt::Failed(Failure::Store(failure)) => (store_hint(failure).to_string(), Exit::Failed),
        Halt::Failed(Failure::Entropy(_)) => (
            "the system has no random bytes yet; try again".to_string(),
            Exit::Failed,
        ),
        Halt::Usage(_) => ("see `pitcrew --help`".to_string(), Exit::Usage),
        Halt::Input { .. } => (
            "check that it exists, is text and can be read".to_string(),
            Exit::Usage,
        ),
        Halt::TeamFile(_) => (
            "mend the file; nothing was written or started".to_string(),
            Exit::Usage,
        ),
        Halt::CannotRun {
            code: "interrupted",
            hint,
            ..
        } => ((*hint).to_string(), Exit::Interrupted),
        Halt::CannotRun { hint, .. } => ((*hint).to_string(), Exit::Refused),
        Halt::TimedOut(_) => (
            "wait again, or look at `pitcrew task list` and `pitcrew inbox`".to_string(),
            Exit::TimedOut,
        ),
        Halt::System {
            what: "show it", ..
        } => (
            "give it a standard output; it is still there to be taken".to_string(),
            Exit::Failed,
        ),
        Halt::System { .. } => (
            "see `pitcrew doctor` for what this machine has".to_string(),
            Exit::Failed,
        ),
    };
    Row {
        hint,
        exit,
        reference: reference(halt),
    }
}

/// The reference's words: codes for mail, sentences for tasks and teams.
fn reference(halt: &Halt) -> String {
    match halt {
        Halt::Refused(refusal) => match refusal {
            Refusal::InvalidName {
                kind: NameKind::Recipient,
                ..
            } => "invalid_recipient_name".to_string(),
            Refusal::TaskNotFound { .. }
            | Refusal::NotPending { .. }
            | Refusal::UnexpectedStatus { .. }
            | Refusal::AlreadyTerminal { .. }
            | Refusal::StaleToken { .. } => refusal.to_string(),
            Refusal::LoopInactive { .. } => "not active".to_string(),
            Refusal::LoopCleared { .. } => "loop already cleared".to_string(),
            other => other.code().to_string(),
        },
        Halt::Failed(Failure::Store(StoreFailure::Claiming { .. })) => {
            "concurrent claim race".to_string()
        }
        other => other.code().to_string(),
    }
}

fn known(valid: &[String], nearest: Option<&String>) -> String {
    match (nearest, valid) {
        (Some(nearest), _) => format!("did you mean {nearest}? valid names: {}", valid.join(", ")),
        (None, []) => "there is none yet".to_string(),
        (None, valid) => format!("valid names: {}", valid.join(", ")),
    }
}

fn refusal_hint(refusal: &Refusal) -> String {
    const NAMES: &str =
        "names have 1 to 64 letters, digits, `_` or `-`, and start with a letter or digit";
    let fixed = match refusal {
        Refusal::InvalidName { given, .. } | Refusal::InvalidTaskId { given }
            if given.eq_ignore_ascii_case("leader") =>
        {
            "leader is the name of whoever started the team; take another"
        }
        Refusal::InvalidName { given, .. } | Refusal::InvalidTaskId { given }
            if is_device(given) =>
        {
            "Windows keeps that name for a device; take another"
        }
        Refusal::InvalidName { valid, nearest, .. } if !valid.is_empty() => {
            return known(valid, nearest.as_ref());
        }
        Refusal::InvalidName { .. } | Refusal::InvalidTaskId { .. } => NAMES,
        Refusal::InvalidInput { field, .. } => {
            return format!("give {field} as --help describes it");
        }
        Refusal::UnknownRecipient { valid, nearest, .. }
        | Refusal::UnknownSender { valid, nearest, .. }
        | Refusal::UnknownMember { valid, nearest, .. } => return known(valid, nearest.as_ref()),
        Refusal::TeamNotFound { valid, nearest, .. } if !valid.is_empty() => {
            return known(valid, nearest.as_ref());
        }
        Refusal::TeamNotFound { .. } => {
            "found one with `pitcrew team init <name>`, or name the project with --root"
        }
        Refusal::TeamExists { team } => {
            return format!("take another name, or `pitcrew team rm {team}` first");
        }
        Refusal::TeamLive { team, .. } => {
            return format!("end it with `pitcrew team shutdown {team}` first");
        }
        Refusal::ShutDown { team, .. } => {
            return format!(
                "it takes no new work; see what came of it with `pitcrew team collect {team}`, or go on with it by \
                 `pitcrew run` and its team file"
            );
        }
        Refusal::LeaderOnly { .. } => {
            "ask for it: `pitcrew send leader <text>`; who has no PITCREW_AGENT and no --as is the leader"
        }
        Refusal::MemberExists { .. } => {
            "take another name; names are unique without regard to case"
        }
        Refusal::SenderMismatch { actual, .. } => {
            return format!("speak as {actual}, or leave `from` out");
        }
        Refusal::InvalidToken { .. } => {
            "the member was started anew, or the token is of another team; unset PITCREW_TOKEN to speak as the leader"
        }
        Refusal::TokenRequired { .. } => {
            "start the member with `pitcrew run`, which gives it a token"
        }
        Refusal::BodyTooLarge { .. } => "write it to a file and send its path",
        Refusal::MessageNotFound { mailbox, .. } => {
            return format!("list what is there with `pitcrew inbox --as {mailbox} --all`");
        }
        Refusal::NotDeadLettered { .. } => {
            "only dead letters can be put back: `pitcrew inbox --dead` lists them"
        }
        other => return task_hint(other),
    };
    fixed.to_string()
}

fn task_hint(refusal: &Refusal) -> String {
    const READY: &str = "take a ready task: `pitcrew task list --ready`";
    let fixed = match refusal {
        Refusal::TaskNotFound { .. } => "list the tasks with `pitcrew task list`",
        Refusal::TaskExists { .. } => "take another id, or leave it out for the next number",
        Refusal::NotPending {
            owner: Some(owner), ..
        } => return format!("{owner} has it or had it; {READY}"),
        Refusal::NotPending { .. } => {
            "only a pending task can be claimed; see `pitcrew task list --ready`"
        }
        Refusal::UnexpectedStatus {
            expected: Status::Failed,
            ..
        } => {
            "only a failed task can be put back; `pitcrew task release` gives one in progress back"
        }
        Refusal::UnexpectedStatus { .. } => {
            "claim it first, or look at it with `pitcrew task list`"
        }
        Refusal::AlreadyTerminal { .. } => {
            "it has ended; a failed task can be put back with `pitcrew task retry`"
        }
        Refusal::StaleToken { .. } => {
            "use the token of the latest claim; if the task was taken back, leave it and claim another"
        }
        Refusal::InvalidStatus { .. } => {
            "steps are in_progress to completed, failed, in_progress or pending, and failed to pending"
        }
        Refusal::Blocked { failed, .. } if !failed.is_empty() => {
            return format!(
                "retry what failed first: `pitcrew task retry {}`",
                failed.join(" ")
            );
        }
        Refusal::Blocked { .. } => READY,
        Refusal::AssignedElsewhere { member, .. } => {
            return format!("only {member} may claim it; {READY}");
        }
        Refusal::ClaimLimit { .. } => "end or release one of them first",
        Refusal::RoleDenied { .. } => "ask a member whose role allows it, or the leader",
        Refusal::InvalidDependency {
            fault: DependencyFault::Unknown(_),
            ..
        } => "name tasks that are there: `pitcrew task list` lists them; or add that one first",
        Refusal::InvalidDependency { .. } => "change blocked_by so that no task waits for itself",
        other => return plane_hint(other),
    };
    fixed.to_string()
}

/// The rows of claims, discoveries and limits. Those whose next step depends on the facts bring it with them.
fn plane_hint(refusal: &Refusal) -> String {
    let fixed = match refusal {
        Refusal::ClaimConflict(facts) => return facts.next.clone(),
        Refusal::Deadlock(facts) => return facts.next.clone(),
        Refusal::LinesHeld(facts) => return facts.next.clone(),
        Refusal::BudgetExceeded(facts) => return facts.next.clone(),
        Refusal::RateLimited(facts) => return facts.next.clone(),
        Refusal::NeverFits(facts) => return facts.next.clone(),
        Refusal::NotClaimed(facts) if !facts.held.is_empty() => {
            let held: Vec<String> = facts.held.iter().map(ToString::to_string).collect();
            return format!("it holds lines {}", held.join(" and "));
        }
        Refusal::NotClaimed(_) => "see who holds what with `pitcrew claims`",
        Refusal::InvalidRange { .. } => {
            "give the first and the last line, both included: `pitcrew claim src/a.rs 10 20`"
        }
        Refusal::OutsideRoot { .. } => {
            "name a file of the project, relative to where you are or absolute"
        }
        Refusal::TableFull { retry_after_ms, .. } => {
            return match retry_after_ms {
                Some(ms) => format!("there is room again in {}", span(*ms)),
                None => "give back what is not needed, then try again".to_string(),
            };
        }
        Refusal::UnknownReservation { open, .. } if !open.is_empty() => {
            let open: Vec<String> = open.iter().map(ToString::to_string).collect();
            return format!("your open reservations: {}", open.join(", "));
        }
        Refusal::UnknownReservation { .. } => {
            "use the number that `pitcrew limits acquire` answered"
        }
        Refusal::AlreadySettled { .. } => {
            "each reservation counts once; there is nothing left to do"
        }
        Refusal::InvalidUsage { .. } => "give whole tokens and a cost in dollars, 0 or more",
        Refusal::UnknownModel { nearest, .. } => {
            let near = match nearest.is_empty() {
                true => String::new(),
                false => format!("did you mean {}? ", nearest.join(" or ")),
            };
            return format!(
                "{near}give --cost, or add the model to .pitcrew/prices.toml; `pitcrew limits prices` shows what is known"
            );
        }
        Refusal::LimiterUnreachable { .. } => {
            "see `pitcrew doctor`; no call is made while the limits cannot be read"
        }
        other => return loop_hint(other),
    };
    fixed.to_string()
}

/// The rows of loop modes.
fn loop_hint(refusal: &Refusal) -> String {
    match refusal {
        Refusal::LoopActive { mode, .. } => format!(
            "end it with `pitcrew {mode} cancel`, or let the new one take its place with --force"
        ),
        Refusal::LoopInactive { mode } | Refusal::LoopCleared { mode } => {
            format!("start one with `pitcrew {mode} start`")
        }
        // Every other refusal has its row above.
        _ => String::new(),
    }
}

fn store_hint(failure: &StoreFailure) -> &'static str {
    match failure {
        StoreFailure::CorruptDocument { .. } => "it was left as it is; see `pitcrew doctor`",
        StoreFailure::LogTruncated { .. } => "the log was cut from outside; see `pitcrew doctor`",
        StoreFailure::Escapes { .. } => {
            "move it away, or put a plain file or folder in its place (a copy, where it has a second name); pitcrew follows no link inside a team's folder"
        }
        StoreFailure::Locked { .. } => {
            "another process holds it and may be stopped or stuck; try again"
        }
        StoreFailure::Claiming { .. } => {
            "try again; if no other program runs there, remove the mark"
        }
        StoreFailure::BrokenRecord { .. } | StoreFailure::NestedUpdate { .. } => {
            "this is a mistake in pitcrew; please report it with the command that you gave"
        }
        StoreFailure::Io { .. } => match failure.code() {
            "storage_full" => "nothing was lost; free some space and try again",
            "not_permitted" => {
                "check the owner and mode of the folder, or name another project with --root"
            }
            _ => "see `pitcrew doctor`",
        },
    }
}

#[cfg(test)]
mod tests;
