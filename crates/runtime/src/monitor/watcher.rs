//! The monitor's own process: it looks, lets core's machine decide, and does what that orders.
//!
//! What always holds: every decision that differs from the one before is in the team's `events.jsonl`; what cannot be done
//! is a decision too, with its reason. What follows when a member is gone is next door.

use std::collections::BTreeSet;

use pitcrew_core::event::Fact;
use pitcrew_core::liveness::Moment;
use pitcrew_core::monitor::{Decided, Did, Ending, Monitor, Order, Who};
use pitcrew_core::nudge::{Loops as Active, Timing, Trigger, Wake};
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{Project, StoreExt, StoreFailure};

use super::MonitorRecord;
use super::panes::Panes;
use super::sight::{Looker, need};
use super::undertaker::Undertaker;
use crate::clock::{Clock, Entropy};
use crate::desk::Desk;
use crate::panes::{Occasion, Wakened};
use crate::process::Identity;

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
        need(self.project, self.clock, self.entropy).is_there()
    }

    /// One scan and what follows from it; answers the end, when it has come.
    pub(super) fn look(&self, monitor: &mut Monitor) -> Option<Ending> {
        let looker = self.looker();
        // The clocks are read before the processes are looked at.
        let now = self.moment();
        let scan = looker.scan(self.panes);
        let teams = looker.teams();
        let undertaker = Undertaker { panes: self.panes };
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
                    who, incarnation, ..
                } => {
                    let Some(team) = team(&who) else { continue };
                    let desk = looker.desk(team);
                    if let Err(failed) = undertaker.bury(&desk, &who, incarnation) {
                        monitor.handle_failure(&who, incarnation);
                        let why = format!("what it held could not be given back: {failed}");
                        note(monitor, &desk, &who, why);
                    }
                }
                Order::Renew { who, incarnation } => {
                    let Some(team) = team(&who) else { continue };
                    let desk = looker.desk(team);
                    let failed = undertaker.renew(team, &desk, &who, incarnation);
                    if let Some(failed) = failed.unwrap_or_else(|why| Some(why.to_string())) {
                        let why = format!("it could not be started again: {failed}");
                        note(monitor, &desk, &who, why);
                    }
                }
            }
        }
        None
    }

    /// Waits for the next scan; answers whether somebody asked for the end. A loop that ends ends the wait.
    fn rest_until(&self, until: i64) -> bool {
        let before = self.looker().loops();
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
            if before == Active::Active && self.looker().loops() == Active::Inactive {
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
            loops: self.looker().loops(),
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

    fn looker(&self) -> Looker<'_> {
        Looker {
            project: self.project,
            clock: self.clock,
            entropy: self.entropy,
        }
    }

    fn record(&self, record: MonitorRecord) -> Result<(), StoreFailure> {
        let store = self.project.state_to_write()?;
        store.change(&(), |slot: &mut Option<MonitorRecord>| {
            *slot = Some(record.clone());
        })
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

/// Notes what could not be done about a member that is gone.
fn note(monitor: &mut Monitor, desk: &Desk<'_>, who: &Who, why: String) {
    let decided = Decided {
        trigger: Trigger::Idle,
        did: Did::Nothing,
        reason: "gone".into(),
        why,
        unread: 0,
        idle_ms: None,
    };
    let noted = monitor.handle_answer(who, decided);
    if let Some(Order::Note { who, decided }) = noted {
        desk.announce(&[fact(&who, decided)]);
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
