//! The one table of refusals and failures: for each code the next step and the reference's words.

use pitcrew_core::Refusal;
use pitcrew_core::refusal::NameKind;
use pitcrew_runtime::desk::Failure;
use pitcrew_store::StoreFailure;

use crate::halt::Halt;

/// What to do next, in one sentence.
pub fn hint(halt: &Halt) -> String {
    match halt {
        Halt::Refused(refusal) => refusal_hint(refusal),
        Halt::Failed(Failure::Store(failure)) => store_hint(failure).to_string(),
        Halt::Failed(Failure::Entropy(_)) => {
            "the system has no random bytes yet; try again".to_string()
        }
        Halt::Usage(_) => "see `pitcrew --help`".to_string(),
        Halt::Input { .. } => "check that it exists and can be read".to_string(),
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
    match refusal {
        Refusal::InvalidName { .. } | Refusal::InvalidTaskId { .. } => NAMES.to_string(),
        Refusal::InvalidInput { field, .. } => format!("give {field} as --help describes it"),
        Refusal::UnknownRecipient { valid, nearest, .. }
        | Refusal::UnknownSender { valid, nearest, .. }
        | Refusal::UnknownMember { valid, nearest, .. } => known(valid, nearest.as_ref()),
        Refusal::TeamNotFound { valid, .. } if valid.is_empty() => {
            "found one with `pitcrew team init <name>`, or name the project with --root".to_string()
        }
        Refusal::TeamNotFound { valid, nearest, .. } => known(valid, nearest.as_ref()),
        Refusal::TeamExists { team } => format!("take another name, or `pitcrew team rm {team}` first"),
        Refusal::TeamLive { team, .. } => format!("end it with `pitcrew team shutdown {team}` first"),
        Refusal::MemberExists { .. } => "take another name; names are unique without regard to case".to_string(),
        Refusal::SenderMismatch { actual, .. } => format!("speak as {actual}, or leave `from` out"),
        Refusal::InvalidToken { .. } => {
            "the member was started anew, or the token is of another team; unset PITCREW_TOKEN to speak as the leader"
                .to_string()
        }
        Refusal::TokenRequired { .. } => "start the member with `pitcrew run`, which gives it a token".to_string(),
        Refusal::BodyTooLarge { .. } => "write it to a file and send its path".to_string(),
        Refusal::MessageNotFound { mailbox, .. } => format!("list what is there with `pitcrew inbox --as {mailbox} --all`"),
        Refusal::NotDeadLettered { .. } => "only dead letters can be put back: `pitcrew inbox --dead` lists them".to_string(),
        Refusal::TaskNotFound { .. } => "list the tasks with `pitcrew task list`".to_string(),
        Refusal::TaskExists { .. } => "take another id, or leave it out for the next number".to_string(),
        Refusal::NotPending { owner: Some(owner), .. } => {
            format!("{owner} has it; take another one: `pitcrew task list --ready`")
        }
        Refusal::NotPending { .. } => "only a pending task can be claimed; see `pitcrew task list --ready`".to_string(),
        Refusal::UnexpectedStatus { .. } => "claim it first, or look at it with `pitcrew task list`".to_string(),
        Refusal::AlreadyTerminal { .. } => "it has ended; a failed task can be put back with `pitcrew task retry`".to_string(),
        Refusal::StaleToken { .. } => {
            "use the token of the latest claim; if the task was taken back, leave it and claim another".to_string()
        }
        Refusal::InvalidStatus { .. } => {
            "steps are in_progress to completed, failed, in_progress or pending, and failed to pending".to_string()
        }
        Refusal::Blocked { failed, .. } if !failed.is_empty() => {
            format!("retry what failed first: `pitcrew task retry {}`", failed.join(" "))
        }
        Refusal::Blocked { .. } => "take a ready task: `pitcrew task list --ready`".to_string(),
        Refusal::AssignedElsewhere { member, .. } => format!("only {member} may claim it; see `pitcrew task list --ready`"),
        Refusal::ClaimLimit { .. } => "end or release one of them first".to_string(),
        Refusal::RoleDenied { .. } => "ask a member whose role allows it, or the leader".to_string(),
        Refusal::InvalidDependency { .. } => "change blocked_by so that no task waits for itself".to_string(),
    }
}

fn store_hint(failure: &StoreFailure) -> &'static str {
    match failure.code() {
        "storage_full" => "nothing was lost; free some space and try again",
        "not_permitted" => {
            "check the owner and mode of the folder, or name another project with --root"
        }
        "corrupt_document" => "it was left as it is; see `pitcrew doctor`",
        "log_truncated" => "the log was cut from outside; see `pitcrew doctor`",
        "escapes_team_folder" => "remove the link; pitcrew follows none inside a team's folder",
        "locked" => "another process holds it; see `pitcrew doctor`",
        _ => "see `pitcrew doctor`",
    }
}

/// The text that the reference has for this in `error` or `reason`; our own code where it has none.
pub fn reference_text(halt: &Halt) -> String {
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
            other => other.code().to_string(),
        },
        other => other.code().to_string(),
    }
}
