//! Begins a turn: claim, mail, prompt, allowance, process, in this order, each step written down before the next.
//!
//! | killed after | what the next run finds |
//! |---|---|
//! | the turn's id was written | nothing else |
//! | the claim | a task in progress, claimed since the turn began |
//! | taking mail | messages leased to a run |
//! | the allowance | tokens and money set aside for the member |
//! | the start | a process that carries the turn's id |
//!
//! Each of them is undone by `run/aftermath.rs`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use pitcrew_core::mailbox::Message;
use pitcrew_core::roster::Team;
use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Name, Refusal, TaskId, Timestamp};
use pitcrew_store::files::WorkerFiles;
use pitcrew_store::{Cursor, StoreExt, StoreFailure};

use super::allowance::{Allowance, Answer, HoldEnds, Shown};
use super::outfit::Gear;
use super::output::Seen;
use super::record::{ProcessRecord, SessionRecord};
use super::scheduler::{Held, StopReason, Work};
use super::{Tools, allowance, post};
use crate::clock::{Clock, Entropy};
use crate::desk::{Desk, News, NotDone, Offer};
use crate::overlay::{Address, Overlay};
use crate::process::Group;
use crate::profile::{TurnPlan, is_session_id};
use crate::prompt::{Answers, Memory, Occasion, TurnPrompt};
use crate::teamfile::TaskEntry;

mod launching;

/// A message stays leased so much longer than its turn may take.
const LEASE_SLACK_MS: i64 = 3_600_000;

/// The most findings of others that one turn shows.
const MOST_FINDINGS: usize = 20;

/// How often another boundary is drawn before a prompt counts as impossible. Each is random, so one is enough unless
/// somebody knows our random numbers.
const BOUNDARIES: usize = 8;

/// A task that is a member's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) task: TaskId,
    pub(super) token: String,
}

/// A turn that was begun.
#[derive(Debug)]
pub(super) struct Turn {
    /// The scheduler's number.
    pub(super) turn: u32,
    /// The number among all turns of the member, which names its folder.
    pub(super) number: u32,
    /// Its id.
    pub(super) id: String,
    pub(super) for_mail: bool,
    pub(super) claim: Option<Claim>,
    pub(super) shown: Vec<Message>,
    pub(super) askers: BTreeMap<Name, Cursor>,
    pub(super) files: WorkerFiles,
    pub(super) started_at: Timestamp,
    pub(super) started_ms: i64,
    /// What was planned; absent when that was refused.
    pub(super) plan: Option<TurnPlan>,
    pub(super) session: Option<SessionRecord>,
    /// What was set aside for it and not settled yet.
    pub(super) allowance: Option<Allowance>,
    /// Why it is not counted, when the limits cannot be read and the team goes on without.
    pub(super) uncounted: Option<String>,
    /// What came of it, once it ended.
    pub(super) outcome: Option<super::ending::TurnResult>,
    /// What it prints, as it was read.
    pub(super) stdout: Option<Seen>,
    pub(super) stderr: Option<Seen>,
    /// The processes. Dropping them kills them.
    pub(super) group: Option<Group>,
}

/// What came of an order to begin a turn.
pub(super) enum Begun {
    /// It runs.
    Running,
    /// Its task was somebody else's, or its mail was gone. Nothing was started.
    Nothing,
    /// The team's limits do not let it start now.
    Wait {
        /// When to try again.
        until: Timestamp,
        /// What they say.
        why: String,
        /// What ends the wait before.
        ends: HoldEnds,
    },
    /// The team's limits do not let its member start at all.
    Never {
        /// What becomes of the member.
        reason: StopReason,
        /// What they say.
        why: String,
    },
    /// It ended before its process started, for this reason, which another try may not meet.
    Crashed(String),
    /// It ended before its process started, for this reason, which another try would meet again.
    Failed(String),
}

/// What a turn is begun with.
pub(super) struct Bench<'a> {
    pub(super) desk: Desk<'a>,
    pub(super) tools: &'a Tools,
    pub(super) run: &'a str,
    pub(super) root: &'a Path,
    pub(super) goal: &'a str,
    pub(super) grace: Duration,
    /// The caller's own mark, when the run itself is part of a turn.
    pub(super) outer_mark: Option<&'a std::ffi::OsStr>,
    pub(super) tasks: &'a [TaskEntry],
    pub(super) shown: &'a Shown,
}

impl Bench<'_> {
    /// Begins the turn `turn` of a member.
    ///
    /// # Errors
    /// When the team's files fail; what was done until then is found by the next run.
    pub(super) fn begin(&self, gear: &mut Gear, turn: u32, work: &Work) -> Result<Begun, NotDone> {
        let id = self.tools.entropy.id()?;
        let number = gear.number.saturating_add(1);
        let team = self.desk.roster()?;
        let started_at = self.desk.now();
        let record = ProcessRecord {
            turn: id.clone(),
            number,
            run: self.run.to_string(),
            task: match work {
                Work::Task { id, .. } => Some(id.clone()),
                Work::Mail => None,
            },
            claim_token: gear.claim.as_ref().map(|claim| claim.token.clone()),
            started_at,
            process: None,
            ended_at: None,
            outcome: None,
        };
        self.write(gear.name(), &record)?;
        gear.number = number;
        let task = match work {
            Work::Task { id, held } => match self.claim(gear, &team, id, *held)? {
                Some(task) => Some(task),
                None => return self.nothing(gear, record),
            },
            Work::Mail => None,
        };
        let entry = task.as_ref().and_then(|task| self.entry(&task.id));
        let limit_ms = limit_ms(gear, entry);
        let shown = self.mail(gear, task.is_none(), limit_ms)?;
        if task.is_none() && shown.is_empty() {
            return self.nothing(gear, record);
        }
        let session = self.session(gear)?;
        let askers = post::askers(self.desk.store(), &self.desk, &shown)?;
        let files = gear.files.within(&folder_name(number))?;
        gear.turn = Some(Turn {
            turn,
            number,
            id,
            for_mail: task.is_none(),
            claim: gear.claim.take(),
            shown,
            askers,
            files,
            started_at,
            started_ms: self.tools.clock.monotonic(),
            plan: None,
            session,
            allowance: None,
            uncounted: None,
            outcome: None,
            stdout: None,
            stderr: None,
            group: None,
        });
        self.start(gear, &team, task.as_ref(), limit_ms, record)
    }

    fn write(&self, name: &Name, record: &ProcessRecord) -> Result<(), NotDone> {
        self.desk
            .store()
            .update::<ProcessRecord, (), Refusal>(name, |slot| {
                *slot = Some(record.clone());
                Ok(())
            })??;
        Ok(())
    }

    fn nothing(&self, gear: &Gear, mut record: ProcessRecord) -> Result<Begun, NotDone> {
        record.ended_at = Some(self.desk.now());
        record.outcome = Some("not_started".to_string());
        self.write(gear.name(), &record)?;
        Ok(Begun::Nothing)
    }

    fn entry(&self, id: &str) -> Option<&TaskEntry> {
        self.tasks.iter().find(|entry| entry.id.as_str() == id)
    }

    /// Makes the task the member's, or sees that it still is. `None` when it is not to be had.
    fn claim(
        &self,
        gear: &mut Gear,
        team: &Team,
        id: &str,
        held: Held,
    ) -> Result<Option<Task>, NotDone> {
        let id = TaskId::new(id)?;
        let known = gear.claim.take().filter(|claim| claim.task == id);
        let task = match (held, known) {
            (Held::Yes, Some(known)) => {
                let task = self.desk.task(&id)?;
                let ours = task.status == Status::InProgress
                    && task.claim_token.as_deref() == Some(known.token.as_str());
                ours.then_some(task)
            }
            (Held::Yes, None) => None,
            (Held::No, _) => match self.desk.claim_as(team, gear.name(), &id, None) {
                Ok(task) => Some(task),
                Err(NotDone::Refused(_)) => None,
                Err(failed) => return Err(failed),
            },
        };
        let token = task.as_ref().and_then(|task| task.claim_token.clone());
        gear.claim = token.map(|token| Claim { task: id, token });
        Ok(task)
    }

    /// The mail that the turn shows: a script sees it only in a turn for mail.
    fn mail(
        &self,
        gear: &mut Gear,
        for_mail: bool,
        limit_ms: i64,
    ) -> Result<Vec<Message>, NotDone> {
        if gear.is_script() && !for_mail {
            return Ok(Vec::new());
        }
        let kept = std::mem::take(&mut gear.kept);
        let lease_ms = limit_ms.saturating_add(LEASE_SLACK_MS);
        post::take(&self.desk, gear.name(), kept, lease_ms)
    }

    fn session(&self, gear: &Gear) -> Result<Option<SessionRecord>, NotDone> {
        if !gear.profile.can_resume() {
            return Ok(None);
        }
        // What this run wrote down itself is not read again: the file may be somebody else's by now.
        let session = match &gear.session {
            Some(known) => known.clone(),
            None => match self.desk.store().view::<SessionRecord>(gear.name()) {
                // A torn record costs the member its memory, not its turn.
                Err(StoreFailure::CorruptDocument { .. }) => None,
                found => found?,
            },
        };
        let fits = |session: &SessionRecord| {
            session.profile == gear.entry.profile && is_session_id(&session.session)
        };
        Ok(session.filter(fits))
    }

    fn start(
        &self,
        gear: &mut Gear,
        team: &Team,
        task: Option<&Task>,
        limit_ms: i64,
        record: ProcessRecord,
    ) -> Result<Begun, NotDone> {
        // Each turn has a token of its own, which ends with it.
        gear.token = Some(self.desk.issue_token(gear.name().as_str())?.0);
        let Some(turn) = gear.turn.as_ref() else {
            return Ok(Begun::Nothing);
        };
        let memory = match turn.session {
            Some(_) => Memory::Kept,
            None => Memory::Fresh,
        };
        // A script is told in turns for mail only, as of mail.
        let offer = match gear.is_script() && task.is_some() {
            true => Offer::default(),
            false => self.desk.offer_discoveries(gear.name(), MOST_FINDINGS)?,
        };
        let told = (turn.shown.as_slice(), &offer.news);
        let Some(prompt) = self.prompt(gear, team, task, memory, told)? else {
            let why = "no boundary could be drawn that does not stand in its mail";
            return Ok(Begun::Failed(why.to_string()));
        };
        let folder = turn.files.make_folder()?;
        turn.files.write("prompt.md", prompt.as_bytes())?;
        let plan = match self.plan(gear, turn, task, &prompt, &folder)? {
            Ok(plan) => plan,
            Err(why) => return Ok(Begun::Failed(why)),
        };
        let claimed = turn.claim.as_ref().map(|claim| &claim.task);
        let asked = allowance::reserve(&self.desk, gear, self.shown, claimed, prompt.len())?;
        let (allowance, uncounted) = match asked {
            Answer::Go(allowance) => (allowance, None),
            Answer::Uncounted(why) => (None, Some(why)),
            Answer::Wait { until, why, ends } => return Ok(Begun::Wait { until, why, ends }),
            Answer::Never { reason, why } => return Ok(Begun::Never { reason, why }),
        };
        if let Some(turn) = gear.turn.as_mut() {
            turn.allowance = allowance;
            turn.uncounted = uncounted;
        }
        let begun = self.launch_planned(gear, plan, limit_ms, record)?;
        if matches!(begun, Begun::Running) {
            self.desk.note_shown(gear.name(), &offer)?;
        }
        Ok(begun)
    }

    fn prompt(
        &self,
        gear: &Gear,
        team: &Team,
        task: Option<&Task>,
        memory: Memory,
        (mail, news): (&[Message], &News),
    ) -> Result<Option<String>, NotDone> {
        let root = self.root.to_string_lossy();
        let mut teammates = team.everybody();
        teammates.retain(|name| !name.is_leader() && name != gear.name());
        let overlay = Overlay {
            team: self.desk.team_id(),
            member: gear.name(),
            teammates: &teammates,
            root: &root,
            role_prompt: &gear.entry.role.system_prompt,
            goal: self.goal,
            task: None,
            program: "pitcrew",
            address: Address::Environment,
        };
        let page = Overlay {
            address: Address::Named,
            task: task.map(|task| (task.id.as_str(), task.description.as_str())),
            ..overlay.clone()
        };
        gear.files.write("inbox.md", page.markdown().as_bytes())?;
        let mut waited_for = Vec::new();
        for id in task
            .map(|task| task.blocked_by.as_slice())
            .unwrap_or_default()
        {
            waited_for.push(self.desk.task(&TaskId::new(id)?)?);
        }
        let prompt = TurnPrompt {
            overlay: &overlay,
            told: &gear.entry.prompt,
            memory,
            occasion: match task {
                Some(task) => Occasion::Task {
                    task,
                    waited_for: &waited_for,
                },
                None => Occasion::Mail,
            },
            answers: match gear.is_script() {
                true => Answers::Kept,
                false => Answers::Sent,
            },
            mail,
            news,
        };
        for _ in 0..BOUNDARIES {
            let boundary = self.tools.entropy.id()?.replace('-', "");
            if let Some(text) = prompt.text(&boundary) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

/// How the folder of every turn begins.
pub(super) const TURN_FOLDER: &str = "turn-";

/// The folder of a member's turn, inside the member's own.
pub(super) fn folder_name(number: u32) -> String {
    format!("{TURN_FOLDER}{number:04}")
}

/// How long the turn may take: what the task says, else the member, else its profile.
fn limit_ms(gear: &Gear, entry: Option<&TaskEntry>) -> i64 {
    let said = entry
        .and_then(|entry| entry.time_limit)
        .or(gear.entry.turn_limit);
    match said {
        Some(limit) => i64::try_from(limit.as_millis()).unwrap_or(i64::MAX),
        None => gear.profile.time_limit_ms(),
    }
}
