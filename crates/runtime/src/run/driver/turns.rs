//! The orders about turns, carried out: begin, stop, record, put back, tell.

use pitcrew_core::TaskId;
use pitcrew_core::claim::EndCause;
use pitcrew_core::identity::Speaker;
use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_core::task::Status;

use super::super::allowance::Shown;
use super::super::ending::{self, TurnResult};
use super::super::event::{self, Fact, LeftRunning, TurnOutcome, Unfinished};
use super::super::founding::Ground;
use super::super::scheduler::{End, Event, MailSettlement, SeatNo, Settlement, StopReason, Work};
use super::super::turn::{Begun, Bench};
use super::super::{Setup, Tools};
use super::{Driver, TurnEnd, desk_of};
use crate::clock::{Clock, Entropy};
use crate::desk::{NotDone, Unsaid};
use crate::process::{Control, Mark, Streams};

/// What a turn is begun and recorded with.
fn bench<'b>(
    setup: &'b Setup<'_>,
    ground: &'b Ground,
    tools: &'b Tools,
    (shown, unsaid): (&'b Shown, &'b Unsaid),
) -> Bench<'b> {
    let mut variables = setup.variables.iter();
    let outer = variables.find(|(name, _)| name == Mark::VARIABLE);
    Bench {
        desk: desk_of(setup, ground, tools, unsaid),
        tools,
        run: &ground.run,
        root: setup.project.root(),
        goal: &setup.file.goal,
        grace: setup.grace,
        outer_mark: outer.map(|(_, value)| value.as_os_str()),
        tasks: &setup.file.tasks,
        shown,
    }
}

impl Driver<'_> {
    pub(super) fn with_group(&self, seat: SeatNo, order: fn(&Control)) {
        let turn = self.gears[seat].turn.as_ref();
        if let Some(group) = turn.and_then(|turn| turn.group.as_ref()) {
            order(group);
        }
    }

    pub(super) fn start(&mut self, seat: SeatNo, turn: u32, work: &Work) {
        let begun = bench(
            &self.setup,
            &self.ground,
            &self.tools,
            (&self.shown, &self.unsaid),
        )
        .begin(&mut self.gears[seat], turn, work);
        let begun = match self.attempt_for_member(begun) {
            Ok(begun) => begun,
            Err(Some(why)) => {
                if let Some(turn) = self.gears[seat].turn.as_mut() {
                    turn.group = None;
                }
                Begun::Crashed(why)
            }
            Err(None) => {
                // Whatever was begun is found by the next run; here it counts as a turn that was stopped.
                self.cut_short(seat, turn);
                return;
            }
        };
        match begun {
            Begun::Running => self.running(seat, turn),
            Begun::Nothing => {
                self.handle(Event::NotStarted { seat, turn });
                self.look_at_board();
                self.look_at_mail(seat);
            }
            Begun::Wait { until, why, ends } => {
                // Nothing of the turn took place, so its number is free.
                let gear = &mut self.gears[seat];
                gear.number = gear.number.saturating_sub(1);
                let mut result = TurnResult::before_start(TurnOutcome::HeldBack, why);
                result.resets_at_ms = Some(until.as_millis());
                result.hold_ends = ends;
                self.report(seat, turn, result);
            }
            Begun::Never { reason, why } => {
                let gear = &mut self.gears[seat];
                gear.number = gear.number.saturating_sub(1);
                self.barred.insert(seat, why.clone());
                if let Some(begun) = gear.turn.as_mut() {
                    begun.outcome = Some(TurnResult::before_start(TurnOutcome::HeldBack, why));
                }
                let end = End::Barred(reason);
                let jitter = 0;
                self.handle(Event::Ended {
                    seat,
                    turn,
                    end,
                    jitter,
                });
            }
            Begun::Crashed(why) => {
                let result = TurnResult::before_start(TurnOutcome::Crashed, why);
                self.report(seat, turn, result);
            }
            Begun::Failed(why) => {
                let result = TurnResult::before_start(TurnOutcome::Failed, why);
                self.report(seat, turn, result);
            }
        }
    }

    fn cut_short(&mut self, seat: SeatNo, turn: u32) {
        if let Some(turn) = self.gears[seat].turn.as_mut() {
            // Dropping the processes ends them.
            turn.group = None;
        }
        let jitter = 0;
        self.handle(Event::Ended {
            seat,
            turn,
            end: End::Stopped,
            jitter,
        });
    }

    fn running(&mut self, seat: SeatNo, turn: u32) {
        let gear = &self.gears[seat];
        let Some(begun) = &gear.turn else { return };
        let Some(group) = &begun.group else { return };
        let fact = Fact::TurnStarted {
            member: gear.name().clone(),
            turn: begun.number,
            task: begun.claim.as_ref().map(|claim| claim.task.to_string()),
            mail: begun.shown.len(),
            pid: group.identity().pid,
        };
        let (control, ends) = (group.control(), self.ends.0.clone());
        tokio::spawn(async move {
            let ended = control.ended().await;
            // Without a loop there is nobody to be told.
            let _ = ends.send(TurnEnd { seat, turn, ended }).await;
        });
        let claimed = begun.claim.as_ref().map(|claim| claim.task.clone());
        if self.crashed.remove(&seat) {
            let times = self.restarted.entry(seat).or_default();
            *times = times.saturating_add(1);
        }
        if let Some(why) = begun.uncounted.clone() {
            self.note(format!(
                "turns are not counted, for the limits cannot be read: {why}"
            ));
        }
        self.tell(&fact);
        self.look_at_tasks(claimed.as_slice());
    }

    pub(super) fn ended(&mut self, end: TurnEnd) {
        let TurnEnd { seat, turn, ended } = end;
        let gear = &self.gears[seat];
        let Some(begun) = gear.turn.as_ref().filter(|begun| begun.turn == turn) else {
            return;
        };
        let leader = begun.group.as_ref().map(|group| group.identity().clone());
        let holds_output = ended.streams == Streams::StillHeld;
        let left = LeftRunning {
            member: gear.name().clone(),
            turn: begun.number,
            processes: ended.leftovers.remaining,
            holds_output,
        };
        let read = ending::read(&self.tools, &gear.profile, gear.name(), begun, &ended);
        if holds_output || left.processes > 0 {
            self.left_running.push(left.clone());
            self.tell(&Fact::LeftRunning(left));
        }
        match self.attempt_for_member(read) {
            Ok(result) => self.report(seat, turn, result),
            Err(Some(why)) => {
                let result = TurnResult::before_start(TurnOutcome::Failed, why);
                self.report(seat, turn, result);
            }
            Err(None) => self.cut_short(seat, turn),
        }
        if let Some(leader) = leader {
            self.look_for_orphans(seat, &leader);
        }
    }

    /// Hands in how a turn ended.
    fn report(&mut self, seat: SeatNo, turn: u32, result: TurnResult) {
        let (boot, wall) = (
            self.tools.clock.elapsed_since_boot(),
            self.tools.clock.now(),
        );
        let to_ms = move |at: i64| boot.saturating_add(at.saturating_sub(wall));
        let end = result.end(to_ms);
        if end == End::Crashed {
            self.crashed.insert(seat);
        }
        self.close_books(seat, &result);
        let gear = &mut self.gears[seat];
        let name = gear.name().clone();
        if let Some(begun) = gear.turn.as_mut() {
            let fact = Fact::TurnEnded {
                member: name.clone(),
                turn: begun.number,
                task: begun.claim.as_ref().map(|claim| claim.task.to_string()),
                outcome: result.outcome,
                why: result.why.clone(),
                elapsed_ms: self.tools.clock.monotonic() - begun.started_ms,
                usage: result.usage,
            };
            if matches!(result.outcome, TurnOutcome::Stopped | TurnOutcome::Killed) {
                self.unfinished.push(Unfinished {
                    member: name.clone(),
                    task: begun.claim.as_ref().map(|claim| claim.task.to_string()),
                    outcome: result.outcome,
                });
            }
            if let Some(usage) = &result.usage {
                event::add_usage(&mut self.usage, &name, usage);
            }
            begun.group = None;
            // Who was held back had no turn; that it waits is told by itself.
            let took_place = result.outcome != TurnOutcome::HeldBack;
            begun.outcome = Some(result);
            if took_place {
                self.tell(&fact);
            }
        }
        let jitter = match self.tools.entropy.permille() {
            Ok(jitter) => jitter,
            Err(failed) => {
                self.broke(failed.into());
                0
            }
        };
        self.handle(Event::Ended {
            seat,
            turn,
            end,
            jitter,
        });
    }

    pub(super) fn settle(
        &mut self,
        seat: SeatNo,
        turn: u32,
        task: Option<Settlement>,
        mail: MailSettlement,
    ) {
        let known: Vec<TaskId> = self.in_progress();
        let recorded = bench(
            &self.setup,
            &self.ground,
            &self.tools,
            (&self.shown, &self.unsaid),
        )
        .settle(&mut self.gears[seat], task, mail, &known);
        let recorded = match self.attempt_for_member(recorded) {
            Ok(recorded) => recorded,
            Err(why) => {
                if let Some(why) = why {
                    let name = self.gears[seat].name();
                    self.note(format!(
                        "the end of a turn of {name} is not recorded whole: {why}"
                    ));
                    // What is not known to be held would be in progress for ever.
                    if let Some(claim) = self.gears[seat].claim.clone() {
                        self.put_back(seat, claim.task.as_str());
                    }
                }
                None
            }
        };
        let status = recorded.as_ref().and_then(|recorded| recorded.status);
        self.handle(Event::Settled {
            seat,
            turn,
            task: status,
        });
        let mut moved: Vec<String> = Vec::new();
        let is_whole = recorded.is_some();
        if let Some(recorded) = recorded {
            if let Some(task) = recorded.task {
                moved.push(task.id.clone());
                let fact = Fact::TaskSettled {
                    task: task.id,
                    member: self.gears[seat].name().clone(),
                    status: task.status,
                    result: task.result.as_deref().and_then(event::first_line),
                };
                self.tell(&fact);
            }
            if let Some(oddity) = recorded.oddity {
                self.note(oddity);
            }
            for task in recorded.others {
                moved.push(task.clone());
                let why = "its owner's turn is over".to_string();
                self.tell(&Fact::PutBack { task, why });
            }
        }
        match is_whole {
            // What else its member changed is told by the watch; nothing is finished before everything is looked at.
            true => self.look_at_tasks(&known_ids(&moved)),
            false => self.look_at_board(),
        }
        self.look_at_mail(seat);
    }

    /// The tasks in progress, as far as they were seen.
    fn in_progress(&self) -> Vec<TaskId> {
        let taken = self.scheduler.taken();
        taken
            .filter_map(|task| TaskId::new(&task.id).ok())
            .collect()
    }

    pub(super) fn put_back(&mut self, seat: SeatNo, id: &str) {
        let claim = self.gears[seat].claim.take();
        let desk = self.desk();
        let done = TaskId::new(id).map_err(NotDone::from).and_then(|id| {
            let task = desk.task(&id)?;
            let token = claim.map(|claim| claim.token);
            match task.claim_token == token && task.status == Status::InProgress {
                true => ending::put_back(&desk, &task),
                false => Ok(()),
            }
        });
        match done {
            // Somebody has it by now, or ended it.
            Ok(()) | Err(NotDone::Refused(_)) => {}
            Err(failed) => self.broke(failed),
        }
        self.look_at_tasks(&known_ids(&[id.to_string()]));
    }

    pub(super) fn retry(&mut self, task: String) {
        let desk = self.desk();
        let retried = TaskId::new(&task)
            .map_err(NotDone::from)
            .and_then(|id| desk.retry(&id));
        match retried {
            Ok(_) => {
                let why = "it may be tried again".to_string();
                let task = task.clone();
                self.tell(&Fact::PutBack { task, why });
            }
            Err(NotDone::Refused(_)) => {}
            Err(failed) => self.broke(failed),
        }
        self.look_at_tasks(&known_ids(&[task]));
    }

    /// Tells the leader and whoever watches that a member takes no more turns.
    pub(super) fn stopped(&mut self, seat: SeatNo, reason: StopReason) {
        let name = self.gears[seat].name().clone();
        if !matches!(reason, StopReason::OnlyTalk { .. }) {
            self.end_holds(seat, EndCause::Stopped);
        }
        let detail = match reason {
            StopReason::OutOfBudget | StopReason::Denied => self.barred.get(&seat).cloned(),
            StopReason::GaveUp { .. }
            | StopReason::TurnsUsedUp { .. }
            | StopReason::OnlyTalk { .. } => None,
        };
        let body = match reason {
            StopReason::OutOfBudget | StopReason::Denied => format!(
                "{name} is not started again in this run unless the limits change (`pitcrew limits set`): {}.",
                detail.as_deref().unwrap_or("they refuse its turns")
            ),
            StopReason::GaveUp { restarts } => format!(
                "{name} crashed once more after {restarts} restarts and is not started again in this run."
            ),
            StopReason::TurnsUsedUp { turns } => format!(
                "{name} took {turns} turns, as many as it may, and is not started again in this run."
            ),
            StopReason::OnlyTalk { turns } => format!(
                "{name} took {turns} turns for mail of other members while no task changed. More of it brings it no \
                 turn until a task changes or the leader writes."
            ),
        };
        let member = name.clone();
        self.tell(&Fact::MemberStopped {
            member,
            reason,
            detail,
        });
        let draft = Draft {
            intent: Some(Intent::Inform),
            ..Draft::text(body)
        };
        let desk = self.desk();
        let speaker = Speaker {
            name,
            verified: false,
        };
        let sent = desk
            .roster()
            .and_then(|team| desk.send_as(&team, &speaker, pitcrew_core::name::LEADER, &draft));
        match sent {
            Ok(_) | Err(NotDone::Refused(_)) => {}
            Err(failed) => self.broke(failed),
        }
    }
}

/// The ids that are ids. A task that another program named is told of by the watch.
fn known_ids(ids: &[String]) -> Vec<TaskId> {
    ids.iter().filter_map(|id| TaskId::new(id).ok()).collect()
}
