//! Waiting for something of a team: whether it has happened, and when to look again if nothing changes.
//!
//! Looking changes nothing. Whoever waits looks, sleeps until the store reports a change that matters or the span ran
//! out, and looks again; the sleeping is the face's. Some things happen by time alone (a lease runs out), so a look
//! says when.
//!
//! | wanted | happened when |
//! |---|---|
//! | a message | one is unread and no reader holds it |
//! | a task for me | it is pending or its lease ran out, ready, and mine to take; the team takes work |
//! | the end of a task | it is completed or failed |

use std::ops::ControlFlow;

use pitcrew_core::mailbox::Message;
use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Name, Refusal, TaskId, Timestamp};
use pitcrew_store::{Change as Changed, Log, Place};

use super::{Desk, NotDone, TaskBoard, Which};

/// What somebody waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A message for me.
    Message,
    /// This task, free for me to claim.
    Task(TaskId),
    /// Any task that is free for me to claim.
    AnyTask,
    /// The end of this task.
    End(TaskId),
}

/// What has happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// Messages are unread; the oldest that no reader holds.
    Mail {
        /// How many are unread.
        unread: u64,
        /// The oldest that can be taken.
        oldest: Box<Message>,
    },
    /// A task can be claimed.
    Ready(Box<Task>),
    /// A task has ended.
    Ended(Box<Task>),
}

/// What a look showed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Look {
    /// What has happened, if something has.
    pub happened: Option<Happened>,
    /// When something may happen without any change.
    pub again_at: Option<Timestamp>,
}

impl Wanted {
    /// Whether `change` can have made it happen for `me`.
    #[must_use]
    pub fn is_touched_by(&self, me: &Name, change: &Changed) -> bool {
        match (self, change) {
            (_, Changed::Lagged) => true,
            (Self::Message, Changed::Log(Log::Mailbox(owner)))
            | (Self::Message, Changed::Document(Place::Unread(owner))) => owner == me,
            (Self::Message, _) => false,
            (_, Changed::Document(Place::Task(_))) => true,
            _ => false,
        }
    }
}

impl Look {
    fn sooner(&mut self, at: Option<Timestamp>) {
        self.again_at = match (self.again_at, at) {
            (Some(known), Some(at)) => Some(known.min(at)),
            (known, at) => known.or(at),
        };
    }
}

impl Desk<'_> {
    /// Looks whether anything of `wanted` has happened for `me`. Of several the first in the order of `wanted` counts.
    ///
    /// # Errors
    /// `task_not_found` for a task that is waited for and does not exist; `already_terminal` for one that was to be
    /// claimed and is completed; when something cannot be read.
    pub fn look(&self, me: &Name, wanted: &[Wanted]) -> Result<Look, NotDone> {
        let mut look = Look::default();
        let about_tasks = wanted.iter().any(|wanted| *wanted != Wanted::Message);
        let board = if about_tasks {
            self.tasks()?
        } else {
            TaskBoard::default()
        };
        let is_over = about_tasks && self.shut_down_at()?.is_some();
        for wanted in wanted {
            look.happened = match wanted {
                Wanted::Message => self.look_for_mail(me, &mut look)?,
                // Nobody can claim a task of a team that was shut down.
                Wanted::AnyTask | Wanted::Task(_) if is_over => None,
                Wanted::AnyTask => self.look_for_task(me, &board, &mut look),
                Wanted::Task(id) => self.look_for(me, id, &board, &mut look)?,
                Wanted::End(id) => {
                    let task = on(&board, id)?;
                    let ended = matches!(task.status, Status::Completed | Status::Failed);
                    ended.then(|| Happened::Ended(Box::new(task.clone())))
                }
            };
            if look.happened.is_some() {
                break;
            }
        }
        Ok(look)
    }

    fn look_for_mail(&self, me: &Name, look: &mut Look) -> Result<Option<Happened>, NotDone> {
        let now = self.now();
        let mut oldest = None;
        self.list_mail(me, Which::Unread, &mut |mail| {
            Ok(match mail.lease.filter(|lease| lease.holds(now)) {
                Some(lease) => {
                    look.sooner(Some(lease.until));
                    ControlFlow::Continue(())
                }
                None => {
                    oldest = Some(Box::new(mail.message));
                    ControlFlow::Break(())
                }
            })
        })?;
        Ok(match oldest {
            Some(oldest) => Some(Happened::Mail {
                unread: self.count_unread(me)?,
                oldest,
            }),
            None => None,
        })
    }

    fn look_for_task(&self, me: &Name, board: &TaskBoard, look: &mut Look) -> Option<Happened> {
        let now = self.now();
        let free = board.by_age().into_iter().find(|task| {
            look.sooner(task.lease_until.filter(|until| *until > now));
            board.is_free_for(task, me, now)
        });
        free.map(|task| Happened::Ready(Box::new(task.clone())))
    }

    fn look_for(
        &self,
        me: &Name,
        id: &TaskId,
        board: &TaskBoard,
        look: &mut Look,
    ) -> Result<Option<Happened>, NotDone> {
        let task = on(board, id)?;
        if task.status == Status::Completed {
            return Err(Refusal::AlreadyTerminal {
                id: task.id.clone(),
                status: task.status,
                expected: Status::Pending,
            }
            .into());
        }
        look.sooner(task.lease_until.filter(|until| *until > self.now()));
        let free = board.is_free_for(task, me, self.now());
        Ok(free.then(|| Happened::Ready(Box::new(task.clone()))))
    }
}

fn on<'a>(board: &'a TaskBoard, id: &TaskId) -> Result<&'a Task, NotDone> {
    let task = board.tasks.iter().find(|task| task.id == id.as_str());
    task.ok_or_else(|| Refusal::TaskNotFound { id: id.to_string() }.into())
}
