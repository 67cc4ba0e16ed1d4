//! Where each document and log of a team stands below its folder, and in which form: the reference's names.
//!
//! | branch | documents | logs |
//! |---|---|---|
//! | the team's folder | `config.json` `shutdown.json` `run.json` `claims.json` `limits.json` `.board.json` `.exchanges.json` | `discoveries.jsonl` `events.jsonl` |
//! | the project's folder, above the teams | `ralph.json` `ultrawork.json` `ultraqa.json` `monitor.json` | |
//! | `tasks/` | `<id>.json` | |
//! | `mailbox/` | `.<name>.unread` `.<name>.offset` | `<name>.jsonl` |
//! | `workers/<name>/` | `heartbeat.json` `process.json` `session.json` `pane.json` `.nudge.json` `.lives.json` `.outbox-offset` | `outbox.jsonl` |
//!
//! [`document`] and [`log`] lead from a place to its file, [`change`] leads back. Everything in a path comes from a
//! checked name, so no path leaves the folder. Nothing here touches a disk.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use pitcrew_core::loops::Mode;
use pitcrew_core::name::{Name, TaskId};
use pitcrew_core::refusal::NameKind;

use crate::port::{Change, Log, Place};

/// The sub folders of a team, as they are created with it.
pub(crate) const FOLDERS: [&str; 5] = ["tasks", "mailbox", "workers", "dispatch", "approvals"];

/// A folder of a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Branch<'a> {
    Team,
    Tasks,
    Mailbox,
    Workers,
    Worker(&'a str),
}

/// How the text of a document is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Two spaces of indent, no line end at the end.
    Pretty,
    /// Two spaces of indent and a line end.
    PrettyLine,
    /// No white space at all.
    Compact,
    /// No white space but a line end.
    CompactLine,
}

/// A file of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot<'a> {
    pub(crate) branch: Branch<'a>,
    pub(crate) file: String,
    pub(crate) form: Form,
}

impl<'a> Branch<'a> {
    /// The branch whose lock guards what stands in this one: one for all workers, so that a worker's folder is made
    /// under it.
    pub(crate) fn guard(self) -> Self {
        match self {
            Self::Worker(_) => Self::Workers,
            other => other,
        }
    }

    /// The folder names from the team's folder down.
    pub(crate) fn steps(self) -> impl Iterator<Item = &'a str> {
        let (first, second) = match self {
            Self::Team => (None, None),
            Self::Tasks => (Some("tasks"), None),
            Self::Mailbox => (Some("mailbox"), None),
            Self::Workers => (Some("workers"), None),
            Self::Worker(name) => (Some("workers"), Some(name)),
        };
        first.into_iter().chain(second)
    }

    fn spot(self, file: impl Into<String>, form: Form) -> Spot<'a> {
        Spot {
            branch: self,
            file: file.into(),
            form,
        }
    }
}

impl Spot<'_> {
    /// The path below the team's folder.
    pub(crate) fn path(&self) -> PathBuf {
        let mut path: PathBuf = self.branch.steps().collect();
        path.push(&self.file);
        path
    }
}

impl fmt::Display for Spot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.branch.steps() {
            write!(f, "{step}/")?;
        }
        f.write_str(&self.file)
    }
}

/// Where a document stands.
pub(crate) fn document(place: &Place) -> Spot<'_> {
    let worker = |name| Branch::Worker(Name::as_str(name));
    match place {
        Place::Team => Branch::Team.spot("config.json", Form::PrettyLine),
        Place::Shutdown => Branch::Team.spot("shutdown.json", Form::CompactLine),
        Place::Run => Branch::Team.spot("run.json", Form::PrettyLine),
        Place::Claims => Branch::Team.spot("claims.json", Form::CompactLine),
        Place::Limits => Branch::Team.spot("limits.json", Form::CompactLine),
        Place::Board => Branch::Team.spot(".board.json", Form::CompactLine),
        Place::Loop(mode) => Branch::Team.spot(format!("{mode}.json"), Form::Pretty),
        Place::Monitor => Branch::Team.spot("monitor.json", Form::PrettyLine),
        Place::Exchanges => Branch::Team.spot(".exchanges.json", Form::CompactLine),
        Place::Task(id) => Branch::Tasks.spot(format!("{id}.json"), Form::Pretty),
        Place::Unread(name) => Branch::Mailbox.spot(format!(".{name}.unread"), Form::Compact),
        Place::Offset(name) => Branch::Mailbox.spot(format!(".{name}.offset"), Form::Compact),
        Place::OutboxOffset(name) => worker(name).spot(".outbox-offset", Form::Compact),
        Place::Heartbeat(name) => worker(name).spot("heartbeat.json", Form::Compact),
        Place::Process(name) => worker(name).spot("process.json", Form::PrettyLine),
        Place::Session(name) => worker(name).spot("session.json", Form::PrettyLine),
        Place::Pane(name) => worker(name).spot("pane.json", Form::PrettyLine),
        Place::Nudge(name) => worker(name).spot(".nudge.json", Form::CompactLine),
        Place::Lives(name) => worker(name).spot(".lives.json", Form::CompactLine),
        Place::Hook(name) => worker(name).spot(".hook.json", Form::CompactLine),
    }
}

/// Where a log stands. The form says nothing: records bring their own.
pub(crate) fn log(log: &Log) -> Spot<'_> {
    match log {
        Log::Mailbox(name) => Branch::Mailbox.spot(format!("{name}.jsonl"), Form::CompactLine),
        Log::Outbox(name) => Branch::Worker(name.as_str()).spot("outbox.jsonl", Form::CompactLine),
        Log::Discoveries => Branch::Team.spot("discoveries.jsonl", Form::CompactLine),
        Log::Events => Branch::Team.spot("events.jsonl", Form::CompactLine),
    }
}

/// The name of the part of the log `file` that starts at `base` and is not written to any more: names sort as the parts
/// do.
pub(crate) fn part(file: &str, base: u64) -> String {
    let stem = file.strip_suffix(".jsonl").unwrap_or(file);
    format!("{stem}.{base:020}.jsonl")
}

/// Where the part of the log `file` starts that is called `name`; `None` when it is none.
pub(crate) fn part_base(file: &str, name: &str) -> Option<u64> {
    let stem = file.strip_suffix(".jsonl")?;
    let base = name.strip_prefix(stem)?.strip_prefix('.')?;
    let base = base.strip_suffix(".jsonl")?;
    let is_number = base.len() == 20 && base.bytes().all(|byte| byte.is_ascii_digit());
    base.parse().ok().filter(|_| is_number)
}

/// The `n`th name under which a text of `file` is kept that cannot be read.
pub(crate) fn aside(file: &str, n: u32) -> String {
    format!("{file}.unreadable-{n}")
}

/// The name under which the next text of `file` is written before it takes the place of the present one. There is
/// one such name for each file, and its owner holds a lock: whatever is found under it, a dead writer left there.
pub(crate) fn draft(file: &str) -> String {
    format!(".{file}.tmp")
}

/// Whether `file` is a draft of ours, or one of the reference: `<file>.tmp.<pid>.<milliseconds>`.
pub(crate) fn is_draft(file: &str) -> bool {
    let of_the_reference = || {
        let mut parts = file.rsplit('.');
        let mut is_number = || {
            parts.next().is_some_and(|part| {
                !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        is_number() && is_number() && parts.next() == Some("tmp")
    };
    (file.starts_with('.') && file.ends_with(".tmp")) || of_the_reference()
}

/// The name of the reference's mark beside a task that somebody claims.
pub(crate) fn claim_mark(id: &TaskId) -> String {
    format!("{id}{CLAIM_MARK}")
}

/// How the names of all such marks end.
pub(crate) const CLAIM_MARK: &str = ".lock";

/// Whether `file` beside the tasks is such a mark.
pub(crate) fn is_claim_mark(file: &str) -> bool {
    claimed_id(file).is_some()
}

/// The id of the task whose mark is called `file`.
pub(crate) fn claimed_id(file: &str) -> Option<&str> {
    file.strip_suffix(CLAIM_MARK).filter(|id| !id.is_empty())
}

/// The id of the task whose document is called `file`, whoever named it.
pub(crate) fn task_id(file: &str) -> Option<&str> {
    file.strip_suffix(".json")
        .filter(|id| !id.is_empty() && !id.starts_with('.'))
}

/// What a change of the file at `path` below the team's folder means; `None` for drafts, marks and files that are
/// neither document nor log.
pub(crate) fn change(path: &Path) -> Option<Change> {
    let mut steps = Vec::with_capacity(3);
    for step in path.components() {
        match step {
            Component::Normal(step) if steps.len() < 3 => steps.push(step.to_str()?),
            _ => return None,
        }
    }
    match steps.as_slice() {
        ["config.json"] => Some(Change::Document(Place::Team)),
        ["shutdown.json"] => Some(Change::Document(Place::Shutdown)),
        ["run.json"] => Some(Change::Document(Place::Run)),
        ["claims.json"] => Some(Change::Document(Place::Claims)),
        ["limits.json"] => Some(Change::Document(Place::Limits)),
        ["monitor.json"] => Some(Change::Document(Place::Monitor)),
        ["ralph.json"] => Some(Change::Document(Place::Loop(Mode::Ralph))),
        ["ultrawork.json"] => Some(Change::Document(Place::Loop(Mode::Ultrawork))),
        ["ultraqa.json"] => Some(Change::Document(Place::Loop(Mode::Ultraqa))),
        [".board.json"] => Some(Change::Document(Place::Board)),
        [".exchanges.json"] => Some(Change::Document(Place::Exchanges)),
        ["discoveries.jsonl"] => Some(Change::Log(Log::Discoveries)),
        ["events.jsonl"] => Some(Change::Log(Log::Events)),
        ["tasks", file] => {
            let id = TaskId::new(task_id(file)?).ok()?;
            Some(Change::Document(Place::Task(id)))
        }
        ["mailbox", file] => in_mailbox(file),
        ["workers", worker, file] => of_worker(name(worker)?, file),
        _ => None,
    }
}

fn name(text: &str) -> Option<Name> {
    Name::new(NameKind::Member, text).ok()
}

fn in_mailbox(file: &str) -> Option<Change> {
    if let Some(owner) = file.strip_suffix(".jsonl") {
        return Some(Change::Log(Log::Mailbox(name(owner)?)));
    }
    let hidden = file.strip_prefix('.')?;
    if let Some(owner) = hidden.strip_suffix(".unread") {
        return Some(Change::Document(Place::Unread(name(owner)?)));
    }
    let owner = hidden.strip_suffix(".offset")?;
    Some(Change::Document(Place::Offset(name(owner)?)))
}

fn of_worker(worker: Name, file: &str) -> Option<Change> {
    match file {
        "outbox.jsonl" => Some(Change::Log(Log::Outbox(worker))),
        ".outbox-offset" => Some(Change::Document(Place::OutboxOffset(worker))),
        "heartbeat.json" => Some(Change::Document(Place::Heartbeat(worker))),
        "process.json" => Some(Change::Document(Place::Process(worker))),
        "session.json" => Some(Change::Document(Place::Session(worker))),
        "pane.json" => Some(Change::Document(Place::Pane(worker))),
        ".nudge.json" => Some(Change::Document(Place::Nudge(worker))),
        ".lives.json" => Some(Change::Document(Place::Lives(worker))),
        ".hook.json" => Some(Change::Document(Place::Hook(worker))),
        _ => None,
    }
}

/// The path below the team's folder of what changed; `None` when the change names nothing.
pub(crate) fn path(change: &Change) -> Option<PathBuf> {
    match change {
        Change::Document(place) => Some(document(place).path()),
        Change::Log(of) => Some(log(of).path()),
        Change::Lagged => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn w1() -> Name {
        Name::new(NameKind::Member, "w1").unwrap()
    }

    #[test]
    fn every_file_leads_back_to_its_place() {
        let places = [
            Place::Team,
            Place::Task(TaskId::new("7").unwrap()),
            Place::Unread(w1()),
            Place::Offset(w1()),
            Place::OutboxOffset(w1()),
            Place::Heartbeat(w1()),
            Place::Process(w1()),
            Place::Session(w1()),
            Place::Pane(w1()),
            Place::Nudge(w1()),
            Place::Lives(w1()),
            Place::Hook(w1()),
            Place::Shutdown,
            Place::Run,
            Place::Claims,
            Place::Limits,
            Place::Board,
            Place::Loop(Mode::Ralph),
            Place::Loop(Mode::Ultrawork),
            Place::Loop(Mode::Ultraqa),
            Place::Monitor,
            Place::Exchanges,
        ];
        for place in places {
            let spot = document(&place);
            assert_eq!(change(&spot.path()), Some(Change::Document(place.clone())));
            assert_eq!(spot.path().to_str(), Some(place.to_string().as_str()));
            let draft = spot.path().with_file_name(draft(&spot.file));
            assert_eq!(change(&draft), None, "{}", draft.display());
        }
        for of in [
            Log::Mailbox(w1()),
            Log::Outbox(w1()),
            Log::Discoveries,
            Log::Events,
        ] {
            assert_eq!(change(&log(&of).path()), Some(Change::Log(of)));
        }
    }

    #[test]
    fn the_parts_of_a_log_say_where_they_start() {
        for base in [0, 8_388_608, u64::MAX] {
            let name = part("events.jsonl", base);
            assert_eq!(part_base("events.jsonl", &name), Some(base), "{name}");
            assert_eq!(change(Path::new(&name)), None);
        }
        for other in [
            "events.jsonl",
            "events.1.jsonl",
            "events.+0000000000000000001.jsonl",
            ".x",
        ] {
            assert_eq!(part_base("events.jsonl", other), None, "{other}");
        }
    }

    #[test]
    fn what_is_neither_document_nor_log_means_nothing() {
        for path in [
            "tasks/1.lock",
            "tasks/1.json.tmp.99.1796055749063",
            "tasks/-x.json",
            "tasks/.json",
            "mailbox/w1.txt",
            "workers/w1/inbox.md",
            "workers/w1/turns/1.out",
            "workers/a b/heartbeat.json",
            "../config.json",
            "/config.json",
            "dispatch",
            "",
        ] {
            assert_eq!(change(Path::new(path)), None, "{path}");
        }
    }
}
