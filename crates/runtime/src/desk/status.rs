//! How a team stands: its document, its tasks and what its members left, read without touching anything.
//!
//! A heartbeat tells when a member last claimed or moved a task through a command, and nothing else: between two
//! commands a member is silent however hard it works. So `heartbeat_stale` is the reference's flag with the
//! reference's meaning, for people and programs that look at it. Nothing is ever taken from a member because of it.
//!
//! A file that cannot be read is part of the answer, with the reason; all the others are answered from.

use pitcrew_core::limiter::Limiter;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Member, Team};
use pitcrew_core::{Name, Refusal, Timestamp};
use pitcrew_store::documents::{Heartbeat, OutboxOffset};
use pitcrew_store::{Log, StoreExt, StoreFailure};
use serde_json::Value;

use super::index::each_line;
use super::{Desk, Failure, NotDone, TaskBoard};
use crate::process::Presence;
use crate::run::record::ProcessRecord;
use crate::wake::PaneSeat;

/// How old a heartbeat may be before it counts as stale, in milliseconds. The reference's own span.
pub const HEARTBEAT_FRESH_MS: i64 = 30_000;

/// How one member stands.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberStatus {
    /// Its name as the roster has it.
    pub name: String,
    /// The pane that the roster names.
    pub pane_id: Option<String>,
    /// Whether its turn was begun and never ended, and the turn's process is observed gone: whoever ran it was killed.
    pub gone: bool,
    /// Whether there is no heartbeat, or none younger than [`HEARTBEAT_FRESH_MS`].
    pub heartbeat_stale: bool,
    /// Reports in its outbox that nobody has read.
    pub outbox_new: u64,
    /// Messages in its mailbox that it has not acknowledged.
    pub unread: u64,
    /// Places in its mailbox that hold no record.
    pub damaged: u64,
    /// Its files that cannot be read, and why. What they would say is left at nothing above.
    pub unreadable: Vec<String>,
}

/// Whether a member runs, as far as what was written down about it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its process was looked for and is the very one.
    Running,
    /// A run has it, and no turn of it goes on now.
    Idle,
    /// Its process was looked for and is not there any more, and nobody ended it in good order.
    Gone,
    /// Nothing was written down about a process of it, or nobody can tell from here. That is no sign of anything: a
    /// person in a shell, or a program that only uses the commands, leaves no record.
    Unknown,
}

impl Standing {
    /// The word that faces use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }
}

impl From<Presence> for Standing {
    fn from(presence: Presence) -> Self {
        match presence {
            Presence::Alive => Self::Running,
            Presence::Gone | Presence::Recycled => Self::Gone,
            Presence::CannotTell(_) => Self::Unknown,
        }
    }
}

/// How a team stands.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamStatus {
    /// The team.
    pub team: Team,
    /// The team's document as it is written.
    pub team_as_written: Value,
    /// Its tasks.
    pub board: TaskBoard,
    /// The tasks that can be read, as they are written and in the order of the board.
    pub tasks_as_written: Vec<Value>,
    /// Its members, in the order of the roster.
    pub members: Vec<MemberStatus>,
    /// Messages for the leader that nobody has acknowledged.
    pub leader_unread: u64,
    /// When it was shut down, if it was.
    pub shut_down_at: Option<String>,
    /// The leader's mailbox and the team's own files, when they cannot be read, and why.
    pub unreadable: Vec<String>,
    /// Its limiter, when there is a limit or a pause; why it cannot be read, when it cannot.
    pub limiter: Option<Result<Limiter, String>>,
}

/// `answer`, or in words why one file cannot be read, for whoever answers from many and goes on with the others.
///
/// # Errors
/// Whatever no single file is to blame for.
pub fn apart<T>(answer: Result<T, NotDone>) -> Result<Result<T, String>, NotDone> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(NotDone::Failed(Failure::Store(failure))) if failure.is_of_one_file() => {
            Ok(Err(failure.in_words()))
        }
        Err(not_done) => Err(not_done),
    }
}

/// `answer`, or nothing and the reason in `unreadable`.
fn noted<T: Default>(
    unreadable: &mut Vec<String>,
    answer: Result<T, NotDone>,
) -> Result<T, NotDone> {
    Ok(apart(answer)?.unwrap_or_else(|why| {
        // One folder that may not be looked into is one reason, whatever was looked for in it.
        if !unreadable.contains(&why) {
            unreadable.push(why);
        }
        T::default()
    }))
}

impl Desk<'_> {
    /// How the team stands now.
    ///
    /// # Errors
    /// `team_not_found`, or when the team or the list of its tasks cannot be read. Any other file that cannot be read
    /// is part of the answer.
    pub fn status(&self) -> Result<TeamStatus, NotDone> {
        let (team, team_as_written) = self.written::<Team>(&())?.ok_or_else(|| self.unknown())?;
        let (board, tasks_as_written) = self.board_as_written()?;
        let members = team
            .workers
            .iter()
            .map(|member| self.member_status(member))
            .collect::<Result<_, _>>()?;
        let mut unreadable = Vec::new();
        let leader_unread = noted(&mut unreadable, self.count_unread(&Name::leader()))?;
        let shut_down_at = noted(&mut unreadable, self.shut_down_at())?;
        if !self.team.folds_to(&team.name) {
            unreadable.push(format!("config.json says that its name is {:?}", team.name));
        }
        Ok(TeamStatus {
            team,
            team_as_written,
            board,
            tasks_as_written,
            members,
            leader_unread,
            shut_down_at,
            unreadable,
            limiter: self.limits_in_force()?,
        })
    }

    fn limits_in_force(&self) -> Result<Option<Result<Limiter, String>>, NotDone> {
        match self.store.view::<Limiter>(&()) {
            Ok(limiter) => {
                let now = self.now();
                let shows = |limiter: &Limiter| {
                    limiter.limits().is_on() || limiter.status(now).pause.is_some()
                };
                Ok(limiter.filter(shows).map(Ok))
            }
            Err(StoreFailure::CorruptDocument { why, .. }) => Ok(Some(Err(why))),
            Err(failure) if failure.is_of_one_file() => Ok(Some(Err(failure.in_words()))),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) fn unknown(&self) -> Refusal {
        Refusal::TeamNotFound {
            given: self.team.to_string(),
            valid: Vec::new(),
            nearest: None,
        }
    }

    fn member_status(&self, member: &Member) -> Result<MemberStatus, NotDone> {
        let mut status = MemberStatus {
            name: member.name.clone(),
            pane_id: member.pane_id.clone(),
            gone: false,
            heartbeat_stale: true,
            outbox_new: 0,
            unread: 0,
            damaged: 0,
            unreadable: Vec::new(),
        };
        // A name that another program wrote and that breaks the naming rule has no files here.
        if let Ok(name) = Name::new(NameKind::Member, &member.name) {
            let unreadable = &mut status.unreadable;
            status.gone = noted(unreadable, self.is_gone(&name))?;
            status.heartbeat_stale =
                noted(unreadable, self.last_beat(&name))?.is_none_or(|at| self.is_stale(at));
            status.outbox_new = noted(unreadable, self.outbox_new(&name))?;
            let mail = noted(unreadable, self.count_mail(&name))?;
            (status.unread, status.damaged) = (mail.unread, mail.damaged);
        }
        Ok(status)
    }

    /// Silence is not death: only a process that was looked for and not found is gone.
    fn is_gone(&self, name: &Name) -> Result<bool, NotDone> {
        let turn = match self.store.view::<ProcessRecord>(name) {
            Ok(turn) => turn.filter(|turn| turn.ended_at.is_none()),
            Err(StoreFailure::CorruptDocument { .. }) => None,
            Err(failure) => return Err(failure.into()),
        };
        let process = turn.and_then(|turn| turn.process);
        let presence = process.map(|process| process.presence());
        Ok(matches!(
            presence,
            Some(Presence::Gone | Presence::Recycled)
        ))
    }

    /// Whether a member runs: by the process of its pane, else of its turn. What cannot be read tells nothing, nor does
    /// the pane of an earlier incarnation.
    ///
    /// # Errors
    /// When the store as a whole cannot be read.
    pub fn standing(&self, name: &Name, incarnation: u32) -> Result<Standing, NotDone> {
        let seat = apart(self.store.view::<PaneSeat>(name).map_err(NotDone::from))?;
        if let Ok(Some(seat)) = seat
            && seat.incarnation == incarnation
        {
            return Ok(seat.pane.process.presence().into());
        }
        let turn = apart(
            self.store
                .view::<ProcessRecord>(name)
                .map_err(NotDone::from),
        )?;
        Ok(match turn {
            Ok(Some(turn)) if turn.ended_at.is_some() => Standing::Idle,
            Ok(Some(turn)) => turn
                .process
                .map_or(Standing::Unknown, |process| process.presence().into()),
            Ok(None) | Err(_) => Standing::Unknown,
        })
    }

    fn is_stale(&self, beat: Timestamp) -> bool {
        self.now().millis_since(beat) > HEARTBEAT_FRESH_MS
    }

    pub(super) fn last_beat(&self, name: &Name) -> Result<Option<Timestamp>, NotDone> {
        let last = match self.store.view::<Heartbeat>(name) {
            Ok(heartbeat) => heartbeat,
            Err(StoreFailure::CorruptDocument { .. }) => None,
            Err(failure) => return Err(failure.into()),
        };
        Ok(last.and_then(|heartbeat| Timestamp::parse(&heartbeat.last_poll_at)))
    }

    fn outbox_new(&self, name: &Name) -> Result<u64, NotDone> {
        let read_up_to = match self.store.view::<OutboxOffset>(name) {
            Ok(offset) => offset.unwrap_or_default().bytes_read,
            Err(StoreFailure::CorruptDocument { .. }) => 0,
            Err(failure) => return Err(failure.into()),
        };
        let log = Log::Outbox(name.clone());
        match self.count_lines(&log, read_up_to) {
            // An outbox that was cut is new from its start.
            Err(StoreFailure::LogTruncated { .. }) => Ok(self.count_lines(&log, 0)?),
            counted => Ok(counted?),
        }
    }

    fn count_lines(&self, log: &Log, from: u64) -> Result<u64, StoreFailure> {
        let mut count = 0;
        each_line(self.store, log, from, |line| {
            count += u64::from(!line.bytes.trim_ascii().is_empty());
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(count)
    }
}
