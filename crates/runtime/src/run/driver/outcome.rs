//! The end of a run: what came of every task and every member, and the word in `run.json`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pitcrew_core::claim::EndCause;
use pitcrew_core::roster::Team;
use pitcrew_core::task::{Readiness, Status, Task};
use pitcrew_core::{Name, Timestamp};

use super::super::event::{self, MemberResult, Outcome, Report, TaskResult};
use super::super::founding;
use super::super::outfit::Gear;
use super::super::scheduler::{Ending, Finish, MailSeen, SeatNo, SeatState, SeatView, StopReason};
use super::super::turn::TURN_FOLDER;
use super::super::{own, post};
use super::Driver;
use crate::desk::{NotDone, TaskBoard};
use pitcrew_store::StoreExt;

impl Driver<'_> {
    /// Closes the run. What can no longer be read is reported as it was last seen.
    pub(super) fn finish(mut self, finish: &Finish) -> Report {
        let now = self.now();
        let board = self.desk().tasks();
        let board = self.attempt(board);
        let there: BTreeSet<String> = board
            .iter()
            .flat_map(|board| board.tasks.iter().map(|task| task.id.clone()))
            .collect();
        let mut board = board.unwrap_or_else(|| self.scheduler.board().clone());
        if self.broken.is_some() {
            for task in std::mem::take(&mut self.vanished) {
                if board.tasks.iter().all(|known| known.id != task.id) {
                    board.tasks.push(task);
                }
            }
        }
        let outcome = outcome(finish, &board);
        let word = match self.broken {
            Some(_) => "broke",
            None => outcome.word(),
        };
        if self.broken.is_none() {
            // Nobody works any more, so nobody holds anything.
            (0..self.gears.len()).for_each(|seat| self.end_holds(seat, EndCause::Stopped));
        }
        let closed = founding::over(&self.ground.store, &self.ground.run, word, now.wall);
        self.attempt(closed);
        self.write_down_the_end(word);
        let unread = self.desk().count_unread(&Name::leader());
        let leader_unread = self.attempt(unread).unwrap_or(self.leader_unread);
        let mut mail = Vec::with_capacity(self.gears.len());
        for seat in 0..self.gears.len() {
            let seen = post::seen(&self.desk(), self.gears[seat].name());
            let seen = self.attempt_for_member(seen).ok();
            let dead = post::dead_letters(&self.desk(), self.gears[seat].name());
            let dead = self.attempt_for_member(dead).unwrap_or_default();
            mail.push((seen, dead));
        }
        let broken = self.broken.as_ref().map(|broken| self.why_broken(broken));
        if let Some(broken) = &broken {
            self.note(format!("the run broke: {broken}"));
        }
        let spending = self.spending();
        let mut tasks: Vec<&Task> = board.tasks.iter().collect();
        let place = |task: &Task| {
            let mut entries = self.setup.file.tasks.iter();
            entries
                .position(|entry| entry.id.as_str() == task.id)
                .unwrap_or(usize::MAX)
        };
        tasks.sort_by_key(|task| place(task));
        let tasks = tasks
            .into_iter()
            .map(|task| TaskResult {
                gone: !there.contains(&task.id),
                ..self.task_result(&board, task)
            })
            .collect();
        let seats = self.scheduler.view(now).zip(mail);
        let members = seats
            .enumerate()
            .map(|(seat, (view, (mail, dead)))| {
                let mail = mail.unwrap_or(view.mail);
                self.member_result(seat, &view, mail, dead)
            })
            .collect();
        Report {
            run: self.ground.run.clone(),
            team: self.setup.file.name.to_string(),
            outcome: match self.broken {
                Some(_) => Outcome::Incomplete,
                None => outcome,
            },
            broke: broken,
            elapsed_ms: now.ms.saturating_sub(self.began_ms),
            tasks,
            unreadable: board.unreadable.clone(),
            members,
            leader_unread,
            spending,
            shut_down_at: self.shut_down_at.clone(),
            unfinished: self.unfinished.clone(),
            left_running: self.left_running.clone(),
            folder: self.standing_folder(),
        }
    }

    /// The team's folder, if the team is still there.
    fn standing_folder(&self) -> Option<PathBuf> {
        let store = &self.ground.store;
        let is_there = matches!(store.view::<Team>(&()), Ok(Some(_)));
        is_there.then(|| store.folder().to_path_buf())
    }

    fn why_broken(&self, broken: &NotDone) -> String {
        let folder = self.ground.store.folder();
        match own::is_removal(broken, folder) {
            true => format!(
                "the team's folder {} was removed while it ran",
                folder.display()
            ),
            false => own::in_full(broken),
        }
    }

    fn member_result(
        &self,
        seat: SeatNo,
        view: &SeatView<'_>,
        mail: MailSeen,
        dead_letters: u64,
    ) -> MemberResult {
        let gear = &self.gears[seat];
        MemberResult {
            member: gear.name().clone(),
            profile: gear.entry.profile.clone(),
            turns: view.turns,
            restarts: self.restarted.get(&seat).copied().unwrap_or(0),
            unread: mail.unread,
            dead_letters,
            unanswered: mail.from_leader + mail.from_peers,
            answers_mail: gear.answers_mail(),
            stopped: match view.state {
                SeatState::Stopped(reason) => Some(reason),
                _ => None,
            },
            stopped_detail: self.barred.get(&seat).cloned(),
            usage: self.usage.get(gear.name()).copied(),
            lost_outputs: gear.number > 0 && !has_outputs(gear),
            folder: has_outputs(gear).then(|| gear.files.folder()),
        }
    }

    fn task_result(&self, board: &TaskBoard, task: &Task) -> TaskResult {
        let ended = matches!(task.status, Status::Completed | Status::Failed);
        let at = |text: &Option<String>| text.as_deref().and_then(Timestamp::parse);
        let elapsed_ms = match (at(&task.started_at), at(&task.finished_at)) {
            (Some(started), Some(finished)) if ended => Some(finished.millis_since(started)),
            _ => None,
        };
        let member = match task.status {
            Status::Pending => task.assignee.clone(),
            _ => task.owner.clone().or_else(|| task.assignee.clone()),
        };
        TaskResult {
            task: task.id.clone(),
            status: task.status,
            gone: false,
            member,
            elapsed_ms,
            result: task.result.as_deref().and_then(event::first_line),
            why: self.why_not(board, task),
        }
    }

    /// Why a task that is neither completed nor failed was left.
    fn why_not(&self, board: &TaskBoard, task: &Task) -> Option<String> {
        let ended = matches!(task.status, Status::Completed | Status::Failed);
        if let Some(broken) = self.broken.as_ref().filter(|_| !ended) {
            return Some(format!("the run broke: {}", self.why_broken(broken)));
        }
        if task.status == Status::InProgress {
            let owner = task.owner.as_deref().unwrap_or("somebody");
            return Some(format!("{owner} has it, outside of this run"));
        }
        if task.status != Status::Pending {
            return None;
        }
        if let Readiness::Blocked { on, failed } = board.readiness(task) {
            return Some(match failed.is_empty() {
                true => format!("waits for {}", on.join(", ")),
                false => format!("blocked by {}, which failed", failed.join(", ")),
            });
        }
        if self.ending.is_some() {
            return Some("the run ended before".to_string());
        }
        let assignee = task.assignee.as_deref();
        let stopped = self
            .scheduler
            .view(self.now())
            .filter(|view| assignee.is_none_or(|name| name == view.name.as_str()))
            .any(|view| match view.state {
                SeatState::Stopped(StopReason::OnlyTalk { .. }) => false,
                state => matches!(state, SeatState::Stopped(_)),
            });
        Some(match (assignee, stopped) {
            (Some(name), true) => format!("{name} takes no more turns in this run"),
            (None, true) => "nobody who could do it takes more turns".to_string(),
            (_, false) => "nobody in this run can do it".to_string(),
        })
    }
}

/// Whether any of its turns left a folder that is still there.
fn has_outputs(gear: &Gear) -> bool {
    let mut names = gear.files.names().unwrap_or_default().into_iter();
    names.any(|name| name.starts_with(TURN_FOLDER))
}

fn outcome(finish: &Finish, board: &TaskBoard) -> Outcome {
    let completed = |task: &Task| task.status == Status::Completed;
    match finish {
        Finish::Ended(Ending::Interrupted) => Outcome::Interrupted,
        Finish::Ended(Ending::ShutDown) => Outcome::ShutDown,
        Finish::Ended(Ending::TimeLimit) => Outcome::TimeLimit,
        Finish::Ended(Ending::FirstFailure) => Outcome::FirstFailure,
        Finish::Done if board.unreadable.is_empty() && board.tasks.iter().all(completed) => {
            Outcome::Completed
        }
        Finish::Done | Finish::Ended(Ending::Broke) => Outcome::Incomplete,
    }
}
