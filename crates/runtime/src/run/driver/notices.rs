//! What a run writes down as the team's events, for whoever follows them (`docs/events.md`).
//!
//! | in the run | events |
//! |---|---|
//! | it begins, it ends | `run_started`, `run_ended` |
//! | a turn begins | `turn_started`, before it `agent_joined` when it is the member's first or the first after a crash |
//! | a turn ends | `turn_ended`, after it `agent_crashed` when its process died |
//! | a member takes no more turns, or the run ends | `agent_left`, once for each `agent_joined` that no crash ended |
//!
//! Always holds: the change that an event reports is durable before. Events that cannot be written stop no run: those
//! that were not made up for are told at its end. Tasks, mail, claims and limits are told by the desk itself.

use pitcrew_core::Name;
use pitcrew_core::event::Fact as Notice;

use super::super::ending::word;
use super::super::event::{Fact, TurnOutcome};
use super::super::scheduler::StopReason;
use super::Driver;
use crate::desk::Lost;

impl Driver<'_> {
    /// Writes down what of `fact` is an event of the team.
    pub(super) fn write_down(&mut self, fact: &Fact) {
        let notices = self.notices(fact);
        self.desk().announce(&notices);
    }

    fn notices(&mut self, fact: &Fact) -> Vec<Notice> {
        match fact {
            Fact::RunStarted { run, .. } => vec![Notice::RunStarted { run: run.clone() }],
            Fact::TurnStarted {
                member, turn, task, ..
            } => {
                let started = Notice::TurnStarted {
                    member: member.clone(),
                    turn: *turn,
                    task: task.clone(),
                };
                let joined = self.joined.insert(member.clone());
                let joined = joined.then(|| Notice::AgentJoined {
                    member: member.clone(),
                });
                joined.into_iter().chain([started]).collect()
            }
            Fact::TurnEnded {
                member,
                turn,
                task,
                outcome,
                why,
                elapsed_ms,
                ..
            } => {
                let ended = Notice::TurnEnded {
                    member: member.clone(),
                    turn: *turn,
                    task: task.clone(),
                    outcome: word(*outcome),
                    elapsed_ms: u64::try_from(*elapsed_ms).unwrap_or(0),
                };
                let crashed = *outcome == TurnOutcome::Crashed && self.joined.remove(member);
                let crashed = crashed.then(|| Notice::AgentCrashed {
                    member: member.clone(),
                    reason: why.clone().unwrap_or_else(|| outcome.word().to_string()),
                });
                [ended].into_iter().chain(crashed).collect()
            }
            Fact::MemberStopped { member, reason, .. } => {
                let why = match reason {
                    StopReason::GaveUp { .. } => "crashed too often",
                    StopReason::TurnsUsedUp { .. } => "took as many turns as it may",
                    StopReason::OutOfBudget => "has too little left to spend",
                    StopReason::Denied => "is refused by the limits",
                    // It goes on when a task changes.
                    StopReason::OnlyTalk { .. } => return Vec::new(),
                };
                self.leaves(member, why).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn leaves(&mut self, member: &Name, why: &str) -> Option<Notice> {
        self.joined.remove(member).then(|| Notice::AgentLeft {
            member: member.clone(),
            reason: Some(why.to_string()),
        })
    }

    /// Writes down that the run is over, and with it everybody's work.
    pub(super) fn write_down_the_end(&mut self, outcome: &str) {
        let members: Vec<Name> = self.joined.iter().cloned().collect();
        let left: Vec<Notice> = members
            .iter()
            .filter_map(|member| self.leaves(member, "the run is over"))
            .collect();
        let run = self.ground.run.clone();
        let ended = Notice::RunEnded {
            run,
            outcome: outcome.to_string(),
        };
        let all: Vec<Notice> = left.into_iter().chain([ended]).collect();
        self.desk().announce(&all);
        if let Some(lost) = self.unsaid.take() {
            self.note(lost_in_words(&lost));
        }
    }
}

/// What is told of events that could not be written down.
pub(in super::super) fn lost_in_words(lost: &Lost) -> String {
    format!(
        "{} events could not be written down, and what they report has happened: {}",
        lost.events, lost.why
    )
}
