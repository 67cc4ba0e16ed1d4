//! Whether what stands in the file makes sense together. Every mistake is collected, not only the first.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pitcrew_core::name::nearest;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::role::Role;
use pitcrew_core::span;
use pitcrew_core::task::check_dependencies;
use pitcrew_core::{Name, Refusal, TaskId};

use super::raw::{RawDefaults, RawFile, RawMember, RawTask, Text, place};
use super::{AfterFailure, MemberEntry, Problem, ProfileKind, TaskEntry, TeamFile, Tools};

mod limits;
mod words;

use limits::model_of;

/// Restarts of a member when the file names no number.
const RESTARTS: u32 = 3;

/// Turns of a member when the file names no number.
const MAX_TURNS: u32 = 20;

/// The role of a member when the file names none.
const ROLE: &str = "coder";

const NAMES: &str = "a name has 1 to 64 letters, digits, `_` or `-`, starts with a letter or digit, and is neither \
                     `leader` nor a device of Windows";

struct Checker<'a> {
    text: &'a str,
    defaults: RawDefaults,
    kind_of: &'a dyn Fn(&str) -> Result<ProfileKind, String>,
    problems: Vec<Problem>,
    /// Names of members that cannot be used: what was said about them is not said again about their tasks.
    unusable: Vec<String>,
}

/// A member that was read, with what its tasks must know of it.
struct Known {
    entry: MemberEntry,
    kind: ProfileKind,
}

/// Checks a file that was read word by word.
///
/// # Errors
/// Everything that is wrong, in the order of the file.
pub(super) fn check(
    path: &Path,
    text: &str,
    mut file: RawFile,
    kind_of: &dyn Fn(&str) -> Result<ProfileKind, String>,
) -> Result<TeamFile, Vec<Problem>> {
    let mut checker = Checker {
        text,
        defaults: std::mem::take(&mut file.defaults),
        kind_of,
        problems: Vec::new(),
        unusable: Vec::new(),
    };
    let name = checker.team_name(path, file.name.as_ref());
    let time_limit = checker.span("time_limit", file.time_limit.as_ref());
    if file.members.is_empty() {
        checker.problem(text.len(), "members", "a team needs at least one member");
    }
    checker.words(&file);
    let members = checker.members(file.members);
    let tasks = checker.tasks(&members, file.tasks);
    let limits = checker.limits(&members, file.limits);
    let mut problems = checker.problems;
    match name {
        Some(name) if problems.is_empty() => Ok(TeamFile {
            name,
            goal: file.goal,
            time_limit,
            after_failure: match file.keep_going {
                Some(false) => AfterFailure::End,
                Some(true) | None => AfterFailure::GoOn,
            },
            limits,
            members: members.into_iter().map(|known| known.entry).collect(),
            tasks,
        }),
        _ => {
            problems.sort_by_key(|problem| (problem.line, problem.column));
            Err(problems)
        }
    }
}

impl Checker<'_> {
    fn problem(&mut self, at: usize, key: &str, why: impl Into<String>) {
        let (line, column) = place(self.text, at);
        let problem = Problem {
            line,
            column,
            key: key.to_string(),
            why: why.into(),
        };
        // What stands in `defaults` is met once for each member, and wrong once.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn at(&mut self, what: &Text, key: &str, why: impl Into<String>) {
        self.problem(what.span().start, key, why);
    }

    fn team_name(&mut self, path: &Path, given: Option<&Text>) -> Option<Name> {
        match given {
            Some(given) => self.name(NameKind::Team, "name", given),
            None => {
                let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
                let name = Name::new(NameKind::Team, stem).ok();
                if name.is_none() {
                    self.problem(
                        0,
                        "name",
                        format!("the file's name {stem:?} is no team name, so one is needed here"),
                    );
                }
                name
            }
        }
    }

    fn name(&mut self, kind: NameKind, key: &str, given: &Text) -> Option<Name> {
        let name = Name::new(kind, given.get_ref())
            .ok()
            .filter(|name| !name.is_leader());
        if name.is_none() {
            self.at(given, key, format!("{:?}: {NAMES}", given.get_ref()));
        }
        name
    }

    fn span(&mut self, key: &str, given: Option<&Text>) -> Option<Duration> {
        let given = given?;
        let read = span::read(given.get_ref());
        let why = match read {
            None => format!("{:?} is no span; {}", given.get_ref(), span::LOOKS_LIKE),
            Some(0) => "nothing is done in no time".to_string(),
            Some(ms) => return Some(Duration::from_millis(ms)),
        };
        self.at(given, key, why);
        None
    }

    fn members(&mut self, raw: Vec<RawMember>) -> Vec<Known> {
        let limit = self.defaults.turn_limit.clone();
        let limit = self.span("defaults.turn_limit", limit.as_ref());
        let mut known: Vec<Known> = Vec::with_capacity(raw.len());
        for member in raw {
            let given = member.name.clone();
            let Some(read) = self.member(member, limit) else {
                self.unusable.push(given.into_inner());
                continue;
            };
            match known
                .iter()
                .find(|other| read.entry.name.folds_to(other.entry.name.as_str()))
            {
                Some(twin) => {
                    let why = format!("there is a member {} already", twin.entry.name);
                    self.at(&given, "members.name", why);
                }
                None => known.push(read),
            }
        }
        known
    }

    fn member(&mut self, raw: RawMember, limit: Option<Duration>) -> Option<Known> {
        let name = self.name(NameKind::Member, "members.name", &raw.name);
        let profile = raw
            .profile
            .clone()
            .or_else(|| self.defaults.profile.clone());
        let key = match raw.profile {
            Some(_) => "members.profile",
            None => "defaults.profile",
        };
        let kind = match &profile {
            None => {
                let why = "a member needs one, here or in `defaults`";
                self.at(&raw.name, "members.profile", why);
                None
            }
            Some(profile) => match (self.kind_of)(profile.get_ref()) {
                Ok(kind) => Some(kind),
                Err(why) => {
                    self.at(profile, key, why);
                    None
                }
            },
        };
        if let (Some(script), Some(ProfileKind::Agent)) = (&raw.on_mail, kind) {
            let why = "only a profile that takes scripts has one; an agent answers mail by itself";
            self.at(script, "members.on_mail", why);
        }
        self.environment(&raw);
        let turn_limit = self.span("members.turn_limit", raw.turn_limit.as_ref());
        let role = raw.role.as_ref().or(self.defaults.role.as_ref());
        let role = role.map_or(ROLE, |role| role.get_ref().as_str());
        let role = Role::built_in(role).unwrap_or_else(|| Role::new(role, ""));
        let turns = raw
            .max_turns
            .clone()
            .or_else(|| self.defaults.max_turns.clone());
        if let Some(none) = turns.as_ref().filter(|turns| *turns.get_ref() == 0) {
            let why = "a member without a single turn does nothing";
            self.problem(none.span().start, "members.max_turns", why);
        }
        let plain = |texts: Vec<Text>| texts.into_iter().map(Text::into_inner).collect();
        Some(Known {
            kind: kind?,
            entry: MemberEntry {
                name: name?,
                profile: profile?.into_inner(),
                model: model_of(raw.model.as_ref(), &raw.args),
                role,
                prompt: raw.prompt,
                on_mail: raw.on_mail.map(Text::into_inner),
                args: plain(raw.args),
                env: raw
                    .env
                    .into_iter()
                    .map(|(name, value)| (name.into_inner(), value.into_inner()))
                    .collect(),
                folder: raw.folder.map(|folder| PathBuf::from(folder.into_inner())),
                tools: if raw.allow_tools {
                    Tools::All
                } else {
                    Tools::Team
                },
                restarts: raw.restarts.or(self.defaults.restarts).unwrap_or(RESTARTS),
                max_turns: turns.map_or(MAX_TURNS, toml::Spanned::into_inner),
                turn_limit: turn_limit.or(limit),
            },
        })
    }

    fn environment(&mut self, raw: &RawMember) {
        for name in raw.env.keys() {
            let key = format!("members.env.{}", name.get_ref());
            if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
                self.at(name, &key, "is no name of a variable");
            }
            if name.get_ref().starts_with("PITCREW_") {
                self.at(name, &key, "is set by pitcrew itself");
            }
        }
    }

    fn tasks(&mut self, members: &[Known], raw: Vec<RawTask>) -> Vec<TaskEntry> {
        let ids = self.ids(&raw);
        let known: Vec<String> = ids.iter().flatten().map(ToString::to_string).collect();
        let mut places = Vec::new();
        let mut tasks = Vec::with_capacity(raw.len());
        for (task, id) in raw.into_iter().zip(ids) {
            let given = task.description.clone();
            if let Some(task) = self.task(members, &known, task, id) {
                places.push(given);
                tasks.push(task);
            }
        }
        self.dependencies(&tasks, &places);
        tasks
    }

    /// The ids of all tasks: as given, and the next number after all that are given for the others.
    fn ids(&mut self, raw: &[RawTask]) -> Vec<Option<TaskId>> {
        let numbers = raw
            .iter()
            .filter_map(|task| task.id.as_ref()?.get_ref().parse::<u64>().ok());
        let mut last = numbers.max().unwrap_or(0);
        let mut ids: Vec<Option<TaskId>> = Vec::with_capacity(raw.len());
        for task in raw {
            let text = match &task.id {
                Some(given) => given.get_ref().clone(),
                None => {
                    last = last.saturating_add(1);
                    last.to_string()
                }
            };
            let id = TaskId::fresh(&text).ok();
            let given = task.id.as_ref().unwrap_or(&task.description);
            if id.is_none() {
                self.at(given, "tasks.id", format!("{text:?}: {NAMES}"));
            }
            let twin = ids
                .iter()
                .flatten()
                .find(|other| other.as_str().eq_ignore_ascii_case(&text));
            if let Some(twin) = twin {
                let why = format!("there is a task {twin} already");
                self.at(given, "tasks.id", why);
                ids.push(None);
                continue;
            }
            ids.push(id);
        }
        ids
    }

    fn task(
        &mut self,
        members: &[Known],
        ids: &[String],
        raw: RawTask,
        id: Option<TaskId>,
    ) -> Option<TaskEntry> {
        if raw.description.get_ref().trim().is_empty() {
            self.at(&raw.description, "tasks.description", "must not be empty");
        }
        let assignee = self.assignee(members, &raw);
        let mut blocked_by = Vec::new();
        for on in &raw.blocked_by {
            let known = ids.iter().find(|id| *id == on.get_ref());
            match known.map(|id| TaskId::new(id)) {
                Some(Ok(on)) => blocked_by.push(on),
                Some(Err(_)) | None => {
                    let why = unknown("task", on.get_ref(), ids.iter().map(String::as_str));
                    self.at(on, "tasks.blocked_by", why);
                }
            }
        }
        let time_limit = self.span("tasks.time_limit", raw.time_limit.as_ref());
        Some(TaskEntry {
            id: id?,
            description: raw.description.into_inner(),
            assignee,
            blocked_by,
            script: raw.script.map(Text::into_inner),
            time_limit,
            retries: raw.retries.or(self.defaults.retries).unwrap_or(0),
        })
    }

    /// Whom the task is for; and whether there is anybody at all who can do it.
    fn assignee(&mut self, members: &[Known], raw: &RawTask) -> Option<Name> {
        let wanted = match raw.script {
            Some(_) => ProfileKind::Script,
            None => ProfileKind::Agent,
        };
        let Some(given) = &raw.assignee else {
            let anybody = members.iter().any(|member| member.kind == wanted);
            if !anybody && !members.is_empty() && self.unusable.is_empty() {
                match &raw.script {
                    Some(script) => {
                        let why = "no member's profile takes a script";
                        self.at(script, "tasks.script", why);
                    }
                    None => {
                        let why = "every member's profile runs a script, and this task has none";
                        self.at(&raw.description, "tasks.script", why);
                    }
                }
            }
            return None;
        };
        let member = members
            .iter()
            .find(|member| member.entry.name.as_str() == given.get_ref());
        let Some(member) = member else {
            if self.unusable.contains(given.get_ref()) {
                return None;
            }
            let names = members.iter().map(|member| member.entry.name.as_str());
            let why = unknown("member", given.get_ref(), names);
            self.at(given, "tasks.for", why);
            return None;
        };
        let (name, profile) = (&member.entry.name, &member.entry.profile);
        match (&raw.script, member.kind) {
            (Some(script), ProfileKind::Agent) => {
                let why = format!("the profile {profile} of {name} takes no script");
                self.at(script, "tasks.script", why);
            }
            (None, ProfileKind::Script) => {
                let why =
                    format!("the profile {profile} of {name} runs a script, and there is none");
                self.at(given, "tasks.script", why);
            }
            (Some(_), ProfileKind::Script) | (None, ProfileKind::Agent) => {}
        }
        Some(name.clone())
    }

    fn dependencies(&mut self, tasks: &[TaskEntry], places: &[Text]) {
        let waits: Vec<Vec<String>> = tasks
            .iter()
            .map(|task| task.blocked_by.iter().map(ToString::to_string).collect())
            .collect();
        let edges: Vec<(&str, &[String])> = tasks
            .iter()
            .zip(&waits)
            .map(|(task, waits)| (task.id.as_str(), waits.as_slice()))
            .collect();
        let Err(refused) = check_dependencies(&edges, 0) else {
            return;
        };
        let at_fault = match &refused {
            Refusal::InvalidDependency { id, .. } => {
                tasks.iter().position(|task| task.id.as_str() == id)
            }
            _ => None,
        };
        let at = at_fault.and_then(|at| places.get(at));
        // An unknown id was reported at its own place, and the task that has it may be missing here for that.
        if self.problems.is_empty() {
            let at = at.map_or(0, |at| at.span().start);
            self.problem(at, "tasks.blocked_by", refused.to_string());
        }
    }
}

pub(super) fn unknown<'a>(
    what: &str,
    given: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let names: Vec<&str> = known.clone().collect();
    let listed = match names.as_slice() {
        [] => String::new(),
        names => format!("; there is {}", names.join(", ")),
    };
    match nearest(given, known) {
        Some(nearest) => format!("no {what} {given:?}, did you mean {nearest:?}?{listed}"),
        None => format!("no {what} {given:?}{listed}"),
    }
}
