//! Waking one member in its pane, whoever asks: a sender, a broadcast, the monitor.
//!
//! | answer | what it says |
//! |---|---|
//! | `submitted` | the member's program has taken the line as its next turn |
//! | `queued_by_tool` | the program is busy and keeps the line for later |
//! | `not_woken` | nothing was taken, and why; its mail waits |
//!
//! What always holds: however many processes ask at once, one types, and each of them answers what came of that one
//! line; the count in it is of the moment of typing; messages that it told of have a receipt before the answer is given;
//! a member that does not react is reported to the leader once.
//!
//! Not here: which looks the monitor takes and when, and who is idle since when (the caller's [`Occasion`]).

use std::path::Path;

use pitcrew_core::identity::Speaker;
use pitcrew_core::mailbox::{Draft, Fact, Intent};
use pitcrew_core::nudge::{
    Ledger, Loops, Standing, Trigger, View, Wake, escalation, idle_line, mail_line,
};
use pitcrew_core::roster::Team;
use pitcrew_core::submit::Outcome;
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{StoreExt, StoreFailure};

use crate::desk::{Desk, NO_REACTION, NotDone, WaitingMail};
use crate::hooks::is_waiting;
use crate::profile::{PaneProfile, PaneProfiles};
use crate::tmux::{PaneRecord, Terminal, Tmux};
use crate::wake::{NudgeRecord, PaneSeat, WakeError, Waker, Woken};

/// How often the ledger is looked at while another process types, in milliseconds.
const LOOK_AGAIN_MS: i64 = 15;

/// So much longer than its profile says a start is believed to take, in milliseconds.
const STARTING_MS: i64 = 5_000;

/// What waking stands on.
#[derive(Clone, Copy)]
pub struct Bell<'a> {
    /// The team.
    pub desk: Desk<'a>,
    /// The project's root, for the commands that a line names.
    pub root: &'a Path,
    /// How programs look and take a line.
    pub profiles: &'a PaneProfiles,
    /// tmux; the server of a pane is the one that its record names.
    pub tmux: &'a Tmux,
}

/// Why somebody asks, and what only it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occasion {
    /// Who asks.
    pub trigger: Trigger,
    /// Whether a loop mode is active.
    pub loops: Loops,
    /// Since when the member's pane is idle; `None` when it is not or nobody looked.
    pub idle_since: Option<Timestamp>,
    /// Whether a hook of its program delivers its mail.
    pub wake: Wake,
}

impl Occasion {
    /// A message was sent.
    #[must_use]
    pub fn sent() -> Self {
        Self {
            trigger: Trigger::Send,
            loops: Loops::Inactive,
            idle_since: None,
            wake: Wake::Pane,
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wakened {
    /// The program has taken the line as its next turn.
    Submitted,
    /// The program is busy and keeps the line for later.
    QueuedByTool,
    /// No line was taken.
    NotWoken {
        /// A stable code: one of [`pitcrew_core::submit::NotWoken`] or [`pitcrew_core::nudge::Quiet`], or `no_pane`,
        /// `starting`, `unknown_profile`, `withdrawn` (read in the meantime), `escalated`, `no_answer`.
        reason: &'static str,
        /// The evidence in words; empty where the code says all.
        why: String,
    },
}

impl Wakened {
    /// No line, with its code and the evidence.
    #[must_use]
    pub fn not(reason: &'static str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self::NotWoken { reason, why }
    }

    /// The word in JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::QueuedByTool => "queued_by_tool",
            Self::NotWoken { .. } => "not_woken",
        }
    }

    /// Whether the program has the line, now or for later: the reference's `nudged`.
    #[must_use]
    pub fn is_woken(&self) -> bool {
        !matches!(self, Self::NotWoken { .. })
    }
}

impl From<Outcome> for Wakened {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Submitted => Self::Submitted,
            Outcome::QueuedByTool => Self::QueuedByTool,
            Outcome::NotWoken { reason, why, .. } => Self::not(reason.code(), why),
        }
    }
}

/// The pane that a member sits in, if it has one. One document is read.
///
/// # Errors
/// When it cannot be read.
pub fn seat_of(desk: &Desk<'_>, member: &Name) -> Result<Option<PaneSeat>, StoreFailure> {
    desk.store().view::<PaneSeat>(member)
}

/// Wakes `member` if its gates allow: one line for whatever number of processes asks, typed by one of them.
///
/// # Errors
/// When the team's files cannot be read or written, so that nobody can say what came of it.
pub fn wake_member(
    bell: &Bell<'_>,
    member: &Name,
    occasion: Occasion,
) -> Result<Wakened, WakeError> {
    let Some(seat) = seat_of(&bell.desk, member)? else {
        return Ok(Wakened::not("no_pane", ""));
    };
    let profile = match bell.profiles.get(&seat.profile) {
        Ok(profile) => profile,
        Err(absent) => return Ok(Wakened::not("unknown_profile", absent.to_string())),
    };
    if is_starting(&bell.desk, member, &seat, profile)? {
        return Ok(Wakened::not(
            "starting",
            "its program has just been started",
        ));
    }
    let mut occasion = occasion;
    // A hook delivers mail; it prompts nobody who idles in a loop.
    if occasion.trigger != Trigger::Idle && is_waiting(&bell.desk, member, seat.incarnation)? {
        occasion.wake = Wake::Hook;
    }
    let tmux = bell.tmux.at(&seat.pane.server.socket_path);
    let mut terminal = (&tmux, &seat.pane);
    let ring = Ring {
        bell,
        member,
        profile,
        occasion,
    };
    let (asked_at, before) = (bell.desk.now(), ring.ledger()?);
    let waker = Waker {
        store: bell.desk.store(),
        clock: bell.desk.clock(),
        entropy: bell.desk.entropy(),
        member,
        profile,
    };
    let line = |unread| ring.line(unread);
    let woken = waker.wake(occasion.trigger, || ring.view(), line, &mut terminal)?;
    match woken {
        Woken::Typed(outcome) => {
            ring.keep_receipts(&outcome, before.told_at)?;
            Ok(outcome.into())
        }
        Woken::Joined { until } => ring.await_other(asked_at, until, &mut terminal),
        Woken::Quiet(quiet) => Ok(Wakened::not(quiet.code(), "")),
        Woken::Withdrawn => Ok(Wakened::not("withdrawn", "its mail was read meanwhile")),
        Woken::Escalate { unanswered } => {
            let why = ring.tell_the_leader(unanswered)?;
            Ok(Wakened::not("escalated", why))
        }
    }
}

/// Whether the program of a launched member is still on its way to its first line: what it shows then may be a moment of
/// its start, before it asks something. Whoever launched it may have died over it, so that is believed for a while only.
fn is_starting(
    desk: &Desk<'_>,
    member: &Name,
    seat: &PaneSeat,
    profile: &PaneProfile,
) -> Result<bool, StoreFailure> {
    let age_ms = desk.now().millis_since(seat.opened_at);
    if member.is_leader() || age_ms > i64::from(profile.pane.ready_within_ms) + STARTING_MS {
        return Ok(false);
    }
    let ledger = match desk.store().view::<NudgeRecord>(member) {
        Err(StoreFailure::CorruptDocument { .. }) => None,
        ledger => ledger?,
    };
    Ok(ledger.is_none_or(|ledger| ledger.0.started_at.is_none()))
}

/// One asking.
struct Ring<'a> {
    bell: &'a Bell<'a>,
    member: &'a Name,
    profile: &'a PaneProfile,
    occasion: Occasion,
}

fn unseen(failed: NotDone) -> WakeError {
    WakeError::View(failed.to_string())
}

impl Ring<'_> {
    fn desk(&self) -> &Desk<'_> {
        &self.bell.desk
    }

    fn ledger(&self) -> Result<Ledger, WakeError> {
        let kept = self.desk().store().view::<NudgeRecord>(self.member);
        match kept {
            Ok(record) => Ok(record.unwrap_or_default().0),
            // A ledger that cannot be read counts as none, as it does when it is changed.
            Err(StoreFailure::CorruptDocument { .. }) => Ok(Ledger::default()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// What is true now.
    fn view(&self) -> Result<View, WakeError> {
        let desk = self.desk();
        let team = match desk.roster() {
            Ok(team) => Some(team),
            Err(NotDone::Refused(_)) => None,
            Err(failed) => return Err(unseen(failed)),
        };
        let is_member =
            |team: &Team| self.member.is_leader() || team.member(self.member.as_str()).is_some();
        let Some(team) = team.filter(is_member) else {
            return Ok(self.seen(&WaitingMail::default(), None, Standing::Dissolved));
        };
        let standing = match desk.shut_down_at().map_err(unseen)? {
            Some(_) => Standing::Dissolved,
            None => Standing::Live,
        };
        let waiting = desk.waiting_mail(self.member).map_err(unseen)?;
        let progress_at = desk.last_act(&team, self.member).map_err(unseen)?;
        Ok(self.seen(&waiting, progress_at, standing))
    }

    fn seen(
        &self,
        waiting: &WaitingMail,
        progress_at: Option<Timestamp>,
        standing: Standing,
    ) -> View {
        View {
            unread: waiting.unread,
            newest_unread_at: waiting.newest_at,
            progress_at,
            standing,
            wake: self.occasion.wake,
            loops: self.occasion.loops,
            idle_since: self.occasion.idle_since,
        }
    }

    /// The line for so many unread messages; without any, the one for an idle pane.
    fn line(&self, unread: u64) -> String {
        let root = self.bell.root.to_string_lossy();
        // A member's environment names its team; the leader sits in a pane that somebody else opened.
        let named: &[&str] = match self.member.is_leader() {
            true => &["--root", &root, "--team", self.desk().team_id().as_str()],
            false => &[],
        };
        let command = |words: &[&'static str]| -> Vec<String> {
            let words = std::iter::once("pitcrew")
                .chain(named.iter().copied())
                .chain(words.iter().copied());
            words.map(str::to_owned).collect()
        };
        let (words, is_mail) = match unread {
            0 => (command(&["task", "list"]), false),
            _ => (command(&["inbox"]), true),
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if self.profile.submit.is_shell {
            return shell_line(unread, &words);
        }
        match is_mail {
            true => mail_line(unread, &words),
            false => idle_line(&words),
        }
    }

    /// Notes which messages the line told of, once each: those that no line before had told.
    fn keep_receipts(
        &self,
        outcome: &Outcome,
        told_before: Option<Timestamp>,
    ) -> Result<(), WakeError> {
        let fact = match outcome {
            Outcome::Submitted => Fact::Submitted,
            Outcome::QueuedByTool => Fact::Notified,
            Outcome::NotWoken { .. } => return Ok(()),
        };
        let told_at = self.ledger()?.told_at;
        let kept = self
            .desk()
            .note_told(self.member, fact, told_before, told_at);
        kept.map_err(unseen)
    }

    /// Waits for what comes of the line that another process is about to type.
    fn await_other(
        &self,
        asked_at: Timestamp,
        until: Timestamp,
        terminal: &mut (&Tmux, &PaneRecord),
    ) -> Result<Wakened, WakeError> {
        let mut joined: Option<String> = None;
        loop {
            let ledger = self.ledger()?;
            match (&joined, &ledger.pending) {
                (None, Some(pending)) => joined = Some(pending.ticket.clone()),
                (Some(ticket), Some(pending)) if pending.ticket == *ticket => {}
                _ => return Ok(answered(&ledger, asked_at)),
            }
            if self.desk().now() > until {
                let why = "the process that was to type it did not answer";
                return Ok(Wakened::not("no_answer", why));
            }
            terminal.wait(LOOK_AGAIN_MS);
        }
    }

    /// Tells the leader that the member does not react, and wakes the leader's pane if it has one.
    fn tell_the_leader(&self, unanswered: u32) -> Result<String, WakeError> {
        let desk = self.desk();
        let waiting = desk.waiting_mail(self.member).map_err(unseen)?;
        let body = escalation(self.member, unanswered, waiting.unread);
        let team = desk.roster().map_err(unseen)?;
        let speaker = Speaker {
            name: self.member.clone(),
            verified: false,
        };
        let notice = Draft {
            body: body.clone().into(),
            intent: Some(Intent::Request),
            reply_to: None,
            idempotency_key: Some(format!("{NO_REACTION}{}", desk.fresh_id().map_err(unseen)?)),
        };
        let leader = Name::leader();
        desk.send_as(&team, &speaker, leader.as_str(), &notice)
            .map_err(unseen)?;
        if !self.member.is_leader() {
            wake_member(self.bell, &leader, Occasion::sent())?;
        }
        Ok(body)
    }
}

/// What a shell is given: the same, as commands that every shell understands.
fn shell_line(unread: u64, words: &[&str]) -> String {
    let words: Vec<_> = words
        .iter()
        .map(|word| pitcrew_core::nudge::quoted(word))
        .collect();
    let command = words.join(" ");
    match unread {
        0 => command,
        _ => format!("echo 'You have {unread} new message(s).'; {command}"),
    }
}

/// What the ledger says about a line that was not typed yet at `asked_at` and that its process has settled since.
fn answered(ledger: &Ledger, asked_at: Timestamp) -> Wakened {
    let typed = ledger.injected_at.filter(|at| *at >= asked_at);
    match (typed, ledger.lost) {
        (Some(at), _) if ledger.queued_at == Some(at) => Wakened::QueuedByTool,
        (Some(_), None) => Wakened::Submitted,
        (_, Some(lost)) => Wakened::not(lost.code(), "another process tried to type the line"),
        (None, None) => Wakened::not("withdrawn", "its mail was read meanwhile"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_core::submit::NotWoken;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn who_joined_says_what_came_of_the_line() {
        let typed = Ledger {
            injected_at: Some(at(20)),
            ..Ledger::default()
        };
        assert_eq!(answered(&typed, at(10)), Wakened::Submitted);
        let queued = Ledger {
            queued_at: Some(at(20)),
            ..typed.clone()
        };
        assert_eq!(answered(&queued, at(10)), Wakened::QueuedByTool);
        let lost = Ledger {
            lost: Some(NotWoken::Dialog),
            ..typed.clone()
        };
        assert!(!answered(&lost, at(30)).is_woken());
        assert_eq!(
            answered(&typed, at(30)),
            Wakened::not("withdrawn", "its mail was read meanwhile")
        );
    }

    #[test]
    fn a_shell_is_given_commands() {
        assert_eq!(
            shell_line(2, &["pitcrew", "inbox"]),
            "echo 'You have 2 new message(s).'; pitcrew inbox"
        );
        assert_eq!(
            shell_line(0, &["pitcrew", "task", "list"]),
            "pitcrew task list"
        );
    }
}
