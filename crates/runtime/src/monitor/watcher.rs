//! The monitor's own process: it looks, lets core's machine decide, and does what that orders.
//!
//! What always holds: every decision that differs from the one before is in the team's `events.jsonl`; what cannot be done
//! is a decision too, with its reason; of a member that is gone the tasks go back before its leader is told, once for each
//! of its lives, however many monitors see it.

use std::collections::BTreeSet;

use pitcrew_core::claim::EndCause;
use pitcrew_core::event::Fact;
use pitcrew_core::identity::Speaker;
use pitcrew_core::liveness::{Loss, Moment};
use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_core::monitor::{Decided, Did, Ending, Monitor, Order, Who};
use pitcrew_core::nudge::{Loops as Active, Timing, Trigger, Wake};
use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Name, TaskId, Timestamp};
use pitcrew_store::{Project, StoreExt, StoreFailure};

use super::MonitorRecord;
use super::panes::Panes;
use super::sight::{Looker, has_live_team, is_gone, loss_in_words};
use crate::clock::{Clock, Entropy};
use crate::desk::{Desk, NotDone};
use crate::loops::Loops;
use crate::panes::{Occasion, Wakened};
use crate::process::Identity;
use crate::wake::PaneSeat;

/// How often it is looked whether it is to end, in milliseconds.
const POLL_MS: i64 = 500;

/// Everything that watching stands on.
#[derive(Clone, Copy)]
pub struct Watcher<'a, P> {
    /// The project.
    pub project: &'a Project,
    /// The clocks.
    pub clock: &'a dyn Clock,
    /// Where ids come from.
    pub entropy: &'a dyn Entropy,
    /// The panes.
    pub panes: &'a P,
    /// The times of the policy.
    pub timing: Timing,
}

impl<P: Panes> Watcher<'_, P> {
    /// Watches until the machine says that it is over, or somebody asks for it. Writes down who watches.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn watch_once(&self) -> Result<Ending, StoreFailure> {
        self.record(MonitorRecord {
            process: Identity::own(),
            started_at: self.now(),
            stop_requested_at: None,
            ended_at: None,
            reason: None,
        })?;
        let mut told = BTreeSet::new();
        let mut monitor = Monitor::begin(self.moment(), self.timing);
        let ending = loop {
            self.tell_begin(&mut told);
            let begun = self.clock.monotonic();
            if let Some(ending) = self.look(&mut monitor) {
                break ending;
            }
            if self.rest_until(begun + i64::from(self.timing.scan_ms)) {
                break Ending::Asked;
            }
        };
        for team in self.looker().teams() {
            let reason = ending.code().to_string();
            if told.contains(&team.name) {
                self.looker()
                    .desk(&team)
                    .announce(&[Fact::MonitorEnded { reason }]);
            }
        }
        let ended = self.project.state().view::<MonitorRecord>(&())?;
        if let Some(record) = ended {
            self.record(MonitorRecord {
                ended_at: Some(self.now()),
                reason: Some(ending.code().to_string()),
                ..record
            })?;
        }
        Ok(ending)
    }

    /// Whether there is something to watch.
    pub(super) fn is_needed(&self) -> bool {
        !Loops::of(self.project, self.clock).active().is_empty()
            && has_live_team(self.project, self.clock, self.entropy)
    }

    /// One scan and what follows from it; answers the end, when it has come.
    pub(super) fn look(&self, monitor: &mut Monitor) -> Option<Ending> {
        let looker = self.looker();
        // The clocks are read before the processes are looked at.
        let now = self.moment();
        let scan = looker.scan(self.panes);
        let teams = looker.teams();
        for order in monitor.handle_scan(now, &scan) {
            let team = |who: &Who| teams.iter().find(|team| team.name == who.team);
            match order {
                Order::End(ending) => return Some(ending),
                Order::Note { who, decided } => {
                    if let Some(team) = team(&who) {
                        looker.desk(team).announce(&[fact(&who, decided)]);
                    }
                }
                Order::Ring {
                    who,
                    trigger,
                    idle_since,
                    unread,
                } => {
                    let Some(team) = team(&who) else { continue };
                    let desk = looker.desk(team);
                    let decided = self.ring(&desk, &who, (trigger, idle_since, unread));
                    let noted = monitor.handle_answer(&who, decided);
                    if let Some(Order::Note { who, decided }) = noted {
                        desk.announce(&[fact(&who, decided)]);
                    }
                }
                Order::Bury {
                    who,
                    incarnation,
                    why,
                } => {
                    let Some(team) = team(&who) else { continue };
                    let desk = looker.desk(team);
                    if let Err(failed) = self.bury(&desk, &who, incarnation, why) {
                        monitor.handle_failure(&who, incarnation);
                        let decided = Decided {
                            trigger: Trigger::Idle,
                            did: Did::Nothing,
                            reason: "gone".into(),
                            why: format!("what it held could not be given back: {failed}"),
                            unread: 0,
                            idle_ms: None,
                        };
                        let noted = monitor.handle_answer(&who, decided);
                        if let Some(Order::Note { who, decided }) = noted {
                            desk.announce(&[fact(&who, decided)]);
                        }
                    }
                }
            }
        }
        None
    }

    /// Waits for the next scan; answers whether somebody asked for the end. A loop that ends ends the wait.
    fn rest_until(&self, until: i64) -> bool {
        loop {
            let left = until - self.clock.monotonic();
            if left <= 0 {
                return false;
            }
            self.panes.wait(left.min(POLL_MS));
            let record = self.project.state().view::<MonitorRecord>(&());
            let is_asked = |record: MonitorRecord| record.stop_requested_at.is_some();
            // One that cannot be read asks for nothing.
            if record.ok().flatten().is_some_and(is_asked) {
                return true;
            }
            if Loops::of(self.project, self.clock).active().is_empty() {
                return false;
            }
        }
    }

    /// Tells each team once that it is watched.
    fn tell_begin(&self, told: &mut BTreeSet<Name>) {
        for team in self.looker().teams() {
            let desk = self.looker();
            let desk = desk.desk(&team);
            let is_live = matches!(desk.shut_down_at(), Ok(None));
            if is_live && told.insert(team.name.clone()) {
                desk.announce(&[Fact::MonitorStarted {}]);
            }
        }
    }

    fn ring(
        &self,
        desk: &Desk<'_>,
        who: &Who,
        (trigger, idle_since, unread): (Trigger, Option<Timestamp>, u64),
    ) -> Decided {
        let occasion = Occasion {
            trigger,
            loops: Active::Active,
            idle_since,
            wake: Wake::Pane,
        };
        let (did, reason, why) = match self.panes.ring(desk, &who.member, occasion) {
            Ok(Wakened::Submitted) => (Did::Prompted, "submitted", String::new()),
            Ok(Wakened::QueuedByTool) => (Did::Queued, "queued_by_tool", String::new()),
            Ok(Wakened::NotWoken { reason, why }) => {
                let did = match (reason, is_quiet(reason)) {
                    ("escalated", _) => Did::Escalated,
                    (_, true) => Did::Nothing,
                    (_, false) => Did::NotWoken,
                };
                (did, reason, why)
            }
            Err(failed) => (Did::NotWoken, "failed", failed.to_string()),
        };
        Decided {
            trigger,
            did,
            reason: reason.into(),
            why,
            unread,
            idle_ms: idle_since.map(|since| self.now().millis_since(since)),
        }
    }

    /// Gives back what a member held that is gone, and tells the leader.
    fn bury(&self, desk: &Desk<'_>, who: &Who, incarnation: u32, why: Loss) -> Result<(), NotDone> {
        let member = &who.member;
        // It may have been started again since the look.
        let seat = desk.store().view::<PaneSeat>(member)?;
        let is_same = |seat: &PaneSeat| seat.incarnation == incarnation;
        let Some(seat) = seat.filter(is_same) else {
            return Ok(());
        };
        if !is_gone(self.panes.life(&seat)) {
            return Ok(());
        }
        if member.is_leader() {
            return Ok(());
        }
        let why = loss_in_words(why);
        let tasks = give_back(desk, member)?;
        let ended = desk.end_member(member, EndCause::Crashed);
        let body = obituary(member, why, &tasks);
        let notice = Draft {
            body: body.into(),
            intent: Some(Intent::Request),
            reply_to: None,
            idempotency_key: Some(format!("gone:{member}:{incarnation}")),
        };
        let speaker = Speaker {
            name: member.clone(),
            verified: false,
        };
        let leader = Name::leader();
        let sent = desk.send_as(&desk.roster()?, &speaker, leader.as_str(), &notice)?;
        if !sent.again {
            desk.announce(&[Fact::AgentCrashed {
                member: member.clone(),
                reason: why.to_string(),
            }]);
            // The leader's mail waits whether or not its pane can be rung.
            let _rung = self.panes.ring(desk, &leader, Occasion::sent());
        }
        ended.map(drop)
    }

    fn looker(&self) -> Looker<'_> {
        Looker {
            project: self.project,
            clock: self.clock,
            entropy: self.entropy,
        }
    }

    fn record(&self, record: MonitorRecord) -> Result<(), StoreFailure> {
        let store = self.project.state_to_write()?;
        let kept = store.update(&(), |slot: &mut Option<MonitorRecord>| {
            *slot = Some(record.clone());
            Ok::<_, std::convert::Infallible>(())
        })?;
        let Ok(()) = kept;
        Ok(())
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now())
    }

    fn moment(&self) -> Moment {
        Moment {
            wall: self.now(),
            monotonic_ms: self.clock.monotonic(),
        }
    }
}

/// Whether nothing was tried, because there was no reason to.
fn is_quiet(reason: &str) -> bool {
    matches!(
        reason,
        "nothing_unread"
            | "dissolved"
            | "hooked"
            | "already_told"
            | "loop_inactive"
            | "not_idle"
            | "leader_never_prompted"
            | "given_up"
            | "backing_off"
            | "withdrawn"
            | "no_pane"
    )
}

fn fact(who: &Who, decided: Decided) -> Fact {
    Fact::NudgeDecided {
        member: who.member.clone(),
        trigger: match decided.trigger {
            Trigger::Idle => "idle",
            Trigger::Sweep => "sweep",
            Trigger::Send => "send",
        }
        .to_string(),
        did: decided.did.word().to_string(),
        reason: decided.reason.into_owned(),
        why: Some(decided.why).filter(|why| !why.is_empty()),
        unread: decided.unread,
        idle_ms: decided.idle_ms,
    }
}

/// Takes back every task that a member holds; answers which.
fn give_back(desk: &Desk<'_>, member: &Name) -> Result<Vec<String>, NotDone> {
    let mut given = Vec::new();
    let is_held = |task: &Task| {
        task.status == Status::InProgress && task.owner.as_deref() == Some(member.as_str())
    };
    for task in desk.tasks()?.tasks.into_iter().filter(is_held) {
        match desk.take_back(&TaskId::new(&task.id)?, task.claim_token.as_deref()) {
            Ok(_) => given.push(task.id),
            // Somebody else changed it in between.
            Err(NotDone::Refused(_)) => {}
            Err(failed) => return Err(failed),
        }
    }
    Ok(given)
}

fn obituary(member: &Name, why: &str, tasks: &[String]) -> String {
    let tasks = match tasks {
        [] => "It held no task.".to_string(),
        [one] => format!("Its task {one} is pending again."),
        several => format!("Its tasks {} are pending again.", several.join(", ")),
    };
    format!("{member} is gone: {why}. {tasks}")
}
