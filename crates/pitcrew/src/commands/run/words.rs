//! Facts, spans and instants of a run in words.

use pitcrew_core::task::Status;
use pitcrew_core::{Name, Timestamp};
use pitcrew_runtime::run::event::{EndReason, Fact, Founded, LeftRunning, TurnOutcome, WaitReason};
use pitcrew_runtime::run::scheduler::StopReason;

/// A fact as one line. `None` for what shows in another fact anyway. `zone` is seconds ahead of UTC.
pub(super) fn of(fact: &Fact, zone: i32) -> Option<String> {
    Some(match fact {
        Fact::RunStarted { .. } => started(fact)?,
        Fact::Noted { note } => note.clone(),
        Fact::Reclaimed {
            member,
            ended,
            tasks,
        } => {
            let tasks = match tasks.as_slice() {
                [] => String::new(),
                tasks => format!("; {} taken back", list("task", tasks)),
            };
            format!(
                "{member}: cleared away what an earlier run left, {}{tasks}",
                count(*ended as usize, "process", "processes")
            )
        }
        Fact::PutBack { task, why } => format!("task {task} is put back: {why}"),
        Fact::TurnStarted {
            member, task, mail, ..
        } => match (task, mail) {
            (Some(task), 0) => format!("{member}: begins {task}"),
            (Some(task), mail) => format!("{member}: begins {task}, with {}", messages(*mail)),
            (None, mail) => format!("{member}: reads {}", messages(*mail)),
        },
        Fact::TurnEnded { .. } => ended(fact)?,
        Fact::TaskSettled { .. } => settled(fact)?,
        Fact::LeftRunning(left) => left_running(left),
        Fact::MemberWaits {
            member,
            reason,
            restart,
            until,
        } => {
            let which = restart.map_or_else(String::new, |number| format!(" (restart {number})"));
            let until = clock(*until, zone);
            format!("{member}: {} {until}{which}", wait_words(*reason))
        }
        Fact::MemberStopped {
            member,
            reason,
            detail,
        } => format!("{member}: {}", stopped(*reason, detail.as_deref())),
        Fact::TeamPaused { until, reason } => format!(
            "the team is paused until {}: {}",
            clock(*until, zone),
            reason.trim()
        ),
        Fact::TeamResumed => "the team goes on after its pause".to_string(),
        Fact::MailArrived { .. } => return None,
        Fact::Ending { why, running } => ending(*why, running),
    })
}

fn started(fact: &Fact) -> Option<String> {
    let Fact::RunStarted {
        team,
        founding,
        members,
        open,
        tasks,
        ..
    } = fact
    else {
        return None;
    };
    let verb = match founding {
        Founded::Anew => "founded",
        Founded::Before => "gone on with",
    };
    let done = match tasks - open {
        0 => String::new(),
        done => format!(", {done} of them completed already"),
    };
    Some(format!(
        "team {team} is {verb}: {}, {}{done}",
        count(members.len(), "member", "members"),
        count(*tasks, "task", "tasks"),
    ))
}

fn ended(fact: &Fact) -> Option<String> {
    let Fact::TurnEnded {
        member,
        task,
        outcome,
        why,
        elapsed_ms,
        ..
    } = fact
    else {
        return None;
    };
    let why = why
        .as_deref()
        .map_or_else(String::new, |why| format!(": {why}"));
    match (outcome, task) {
        // What became of its task says more.
        (TurnOutcome::Succeeded, Some(_)) => None,
        (TurnOutcome::Succeeded, None) => Some(format!("{member}: has read its mail")),
        (outcome, _) => Some(format!(
            "{member}: {} after {}{why}",
            outcome.word(),
            span(*elapsed_ms)
        )),
    }
}

fn settled(fact: &Fact) -> Option<String> {
    let Fact::TaskSettled {
        task,
        member,
        status,
        result,
    } = fact
    else {
        return None;
    };
    match status {
        Status::Completed => {
            let result = result
                .as_deref()
                .map_or_else(String::new, |result| format!(": {result}"));
            Some(format!("{member}: completed {task}{result}"))
        }
        Status::Failed => Some(format!("task {task} failed")),
        Status::Pending => Some(format!("task {task} is pending again")),
        Status::InProgress => None,
    }
}

fn ending(why: EndReason, running: &[Name]) -> String {
    let names: Vec<&str> = running.iter().map(Name::as_str).collect();
    let names = names.join(", ");
    let asked = match running {
        [] => "nobody is in a turn".to_string(),
        _ => format!("asking {names} to end"),
    };
    match why {
        EndReason::Interrupted if running.is_empty() => format!("interrupted: {asked}"),
        EndReason::Interrupted => format!("interrupted: {asked}; once more kills"),
        EndReason::ShutDown => format!("the team was shut down: {asked}"),
        EndReason::InterruptedTwice => format!("interrupted again: killing {names}"),
        EndReason::TimeLimit => format!("the run's time is up: {asked}"),
        EndReason::FirstFailure => format!("a task failed: {asked}"),
        EndReason::Broke => format!("the team's files fail: {asked}"),
    }
}

fn wait_words(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::RateLimit => "the team's limits let it wait until",
        WaitReason::Limit => "its provider takes no more, waits until",
        WaitReason::Restart => "is started again at",
        WaitReason::Retry => "tries again at",
    }
}

/// What of a turn runs on.
pub(super) fn left_running(left: &LeftRunning) -> String {
    let known = match left.processes {
        0 => "something of it that could not be found".to_string(),
        more => {
            let more = count(more as usize, "process", "processes");
            format!("{more} of it that this system does not let us end")
        }
    };
    let output = if left.holds_output {
        " and holds its output; what it prints is not read"
    } else {
        ""
    };
    format!(
        "{}: turn {} is over, but {known} may run on{output}",
        left.member, left.turn
    )
}

/// Why a member takes no more turns, with what more there is to say.
pub(super) fn stopped(reason: StopReason, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{}: {detail}", stop_words(reason)),
        None => stop_words(reason),
    }
}

/// Why a member takes no more turns.
pub(super) fn stop_words(reason: StopReason) -> String {
    match reason {
        StopReason::GaveUp { restarts } => {
            format!(
                "given up after {}",
                count(restarts as usize, "restart", "restarts")
            )
        }
        StopReason::TurnsUsedUp { turns } => {
            format!("has taken its {}", count(turns as usize, "turn", "turns"))
        }
        StopReason::OutOfBudget => "has too little left to spend".to_string(),
        StopReason::Denied => "is refused by the team's limits".to_string(),
        StopReason::OnlyTalk { turns } => format!(
            "answered mail of other members for {} while no task changed; more of it wakes it no more, a word of yours \
             or a change of a task does",
            count(turns as usize, "turn", "turns")
        ),
    }
}

fn list(word: &str, ids: &[String]) -> String {
    let plural = if ids.len() == 1 { "" } else { "s" };
    format!("{word}{plural} {}", ids.join(", "))
}

fn messages(number: usize) -> String {
    count(number, "message", "messages")
}

/// A number with its word.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A name cut to so many columns in its middle: the ends of long names tell them apart.
pub(super) fn short(name: &str, columns: usize) -> String {
    let length = name.chars().count();
    if length <= columns || columns < 3 {
        return name.to_string();
    }
    let tail = (columns - 1) / 2;
    let head: String = name.chars().take(columns - 1 - tail).collect();
    let tail: String = name.chars().skip(length - tail).collect();
    format!("{head}…{tail}")
}

/// A span as people read it: `0.4s`, `12s`, `3m05s`, `1h02m`.
pub(super) fn span(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = ms / 1_000;
    match seconds {
        0..10 => format!("{seconds}.{}s", ms % 1_000 / 100),
        10..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// The time of day of an instant, in a zone so many seconds ahead of UTC.
pub(super) fn clock(at: Timestamp, zone: i32) -> String {
    let seconds = at.as_millis().div_euclid(1_000) + i64::from(zone);
    let day = seconds.rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", day / 3_600, day / 60 % 60, day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(short("short", 8), "short");
        assert_eq!(short("the-first-of-them", 8), "the-…hem");
        assert_eq!(short("the-second", 9), "the-…cond");
    }

    #[test]
    fn spans_are_short_and_instants_are_of_the_day() {
        let spans: Vec<String> = [0, 430, 9_999, 10_000, 65_000, 3_725_000]
            .into_iter()
            .map(span)
            .collect();
        assert_eq!(spans, ["0.0s", "0.4s", "9.9s", "10s", "1m05s", "1h02m"]);
        let at = Timestamp::from_millis(1_796_055_748_904);
        assert_eq!(clock(at, 0), "16:22:28");
        assert_eq!(clock(at, 8 * 3_600), "00:22:28");
        assert_eq!(clock(at, -3_600), "15:22:28");
    }
}
