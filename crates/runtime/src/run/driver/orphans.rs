//! What turns left behind in hiding: found as orphans of this program, ended, and told.
//!
//! | at the end of a turn, an orphan that | becomes |
//! |---|---|
//! | a turn which still runs can have started | remembered, with everybody who can have left it |
//! | none of them can have started | ended |
//! | is there when the run ends | ended |
//! | pitcrew put into the background itself | left alone (the source of `staying`) |
//!
//! Always holds: what belongs to a turn that still runs is not touched, and nobody is ended without a word.

use std::time::Duration;

use super::super::scheduler::SeatNo;
use super::Driver;
use super::staying::is_meant_to_stay;
use crate::process::{Closed, Identity, Orphan};

/// How long ended orphans may take to disappear.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often those that have ended are collected in the middle of long turns, in milliseconds.
const COLLECT_MS: i64 = 10_000;

impl Driver<'_> {
    /// Says so when what hides from its turn will not be found although the system could.
    pub(super) fn tell_who_is_not_found(&mut self) {
        if let Err(closed @ Closed::HasChildren) = &self.orphanage {
            let why = closed.to_string();
            self.note(format!("what hides from its turn will not be found: {why}"));
        }
    }

    /// Looks after a turn of `seat`, whose first process was `leader`.
    pub(super) fn look_for_orphans(&mut self, seat: SeatNo, leader: &Identity) {
        let led = self.led();
        self.collected_ms = self.seen_ms;
        for orphan in self.orphans() {
            let mut suspects = self.suspects.remove(&orphan.key()).unwrap_or_default();
            if orphan.can_be_of(leader) {
                suspects.insert(self.gears[seat].name().clone());
            }
            let running = led.iter().filter(|(_, led)| orphan.can_be_of(led));
            suspects.extend(running.map(|(seat, _)| self.gears[*seat].name().clone()));
            let may_be_at_work = led.iter().any(|(_, led)| orphan.can_be_of(led));
            self.suspects.insert(orphan.key(), suspects);
            if !may_be_at_work {
                self.doomed.push(orphan);
            }
        }
        self.end_doomed();
    }

    /// Collects orphans that have ended while turns go on.
    pub(super) fn collect_orphans(&mut self) {
        if self.seen_ms.saturating_sub(self.collected_ms) < COLLECT_MS {
            return;
        }
        self.collected_ms = self.seen_ms;
        let _they_may_belong_to_turns = self.orphans();
    }

    /// Ends everybody who is left when no turn runs any more, and waits until they are gone.
    pub(super) async fn end_orphans(&mut self) {
        let begin = tokio::time::Instant::now();
        loop {
            let left = self.orphans();
            if left.is_empty() {
                return;
            }
            if begin.elapsed() > PATIENCE {
                for orphan in left {
                    let pid = orphan.pid();
                    self.note(format!(
                        "process {pid} ({}) runs on and cannot be ended",
                        orphan.command
                    ));
                }
                return;
            }
            self.doomed.extend(left);
            self.end_doomed();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Everybody who is left behind and not meant to stay.
    fn orphans(&self) -> Vec<Orphan> {
        let Ok(orphanage) = &self.orphanage else {
            return Vec::new();
        };
        let led: Vec<Identity> = self.led().into_iter().map(|(_, led)| led).collect();
        let mut all = orphanage.look(&led);
        all.retain(|orphan| !is_meant_to_stay(orphan, &self.setup));
        all
    }

    fn end_doomed(&mut self) {
        for orphan in std::mem::take(&mut self.doomed) {
            let ended = self
                .orphanage
                .as_ref()
                .is_ok_and(|house| house.end(&orphan));
            if ended && self.ended_orphans.insert(orphan.key()) {
                self.tell_of(&orphan);
            }
        }
    }

    fn tell_of(&mut self, orphan: &Orphan) {
        let suspects = self.suspects.remove(&orphan.key()).unwrap_or_default();
        let names: Vec<&str> = suspects.iter().map(|name| name.as_str()).collect();
        let whose = match names.as_slice() {
            [] => "a turn".to_string(),
            names => format!("a turn of {}", names.join(" or ")),
        };
        let (pid, command) = (orphan.pid(), &orphan.command);
        self.note(format!("{whose} had left a process behind in hiding, which was ended: {command} (process {pid})"));
    }

    /// The first processes of the turns that are not over.
    fn led(&self) -> Vec<(SeatNo, Identity)> {
        let seats = self.gears.iter().enumerate();
        seats
            .filter_map(|(seat, gear)| {
                let group = gear.turn.as_ref()?.group.as_ref()?;
                Some((seat, group.identity().clone()))
            })
            .collect()
    }
}
