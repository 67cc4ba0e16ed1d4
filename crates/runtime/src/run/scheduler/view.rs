//! How each member stands, for whoever watches.

use pitcrew_core::Name;
use pitcrew_core::restart::Standing;

use super::seat::{Doing, PauseCause};
use super::{MailSeen, Moment, Scheduler, SeatNo, StopReason, Work};

/// What a member does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatState {
    /// It is in a turn, since then (in [`Moment::ms`]).
    Running(i64),
    /// It has nothing to do.
    Idle,
    /// Its provider takes no more until then.
    Limited(i64),
    /// The team's limits do not let it start before then.
    HeldBack(i64),
    /// It crashed and starts again then.
    Restarting(i64),
    /// Its work failed and is tried again then.
    Retrying(i64),
    /// It takes no more turns, or none for the mail that it has.
    Stopped(StopReason),
}

/// How a member stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeatView<'a> {
    /// Its name.
    pub name: &'a Name,
    /// What it does.
    pub state: SeatState,
    /// The task that it works on or holds.
    pub task: Option<&'a str>,
    /// Whether it is in a turn that only mail brought.
    pub for_mail: bool,
    /// How many turns it took.
    pub turns: u32,
    /// How often it was started again after a crash, the restart that it waits for included.
    pub restarts: u32,
    /// What is in its mailbox.
    pub mail: MailSeen,
}

impl Scheduler {
    pub(super) fn seat_view(&self, seat: SeatNo, now: Moment) -> SeatView<'_> {
        let state = &self.seats[seat];
        SeatView {
            name: &state.plan.name,
            state: self.state_of(seat, now),
            task: state.task(),
            for_mail: matches!(
                state.doing,
                Doing::Running {
                    work: Work::Mail,
                    ..
                }
            ),
            turns: state.turn,
            restarts: state.restarts,
            mail: state.mail,
        }
    }

    fn state_of(&self, seat: SeatNo, now: Moment) -> SeatState {
        let state = &self.seats[seat];
        if let Doing::Running { since, .. } = state.doing {
            return SeatState::Running(since);
        }
        if let Some(reason) = state.stopped {
            return SeatState::Stopped(reason);
        }
        let Some((_, at)) = self.prospect(seat, now).filter(|(_, at)| *at > now.ms) else {
            // Its mail waits for another reason than that the run is over.
            let muted = state.only_talks && state.mail.from_peers > 0 && state.task().is_none();
            return match muted {
                true => SeatState::Stopped(StopReason::OnlyTalk {
                    turns: state.mail_turns,
                }),
                false => SeatState::Idle,
            };
        };
        let cause = state.paused.map(|(_, cause)| cause);
        let limited = cause == Some(PauseCause::Limit)
            || self.profile_pause(seat).is_some_and(|until| until > now.ms);
        if limited {
            SeatState::Limited(at)
        } else if matches!(cause, Some(PauseCause::Team | PauseCause::Others)) {
            SeatState::HeldBack(at)
        } else if matches!(state.restart.standing(), Standing::Due { .. }) {
            SeatState::Restarting(at)
        } else {
            SeatState::Retrying(at)
        }
    }
}
