//! How lives of agents end: asked for or not, one or all, and what is done before anybody hears of it.
//!
//! | end | then |
//! |---|---|
//! | stopped | out of the team, `agent_left` |
//! | finished by itself | out of the team, `agent_left` |
//! | crashed, panicked, killed | stays in the team, `agent_crashed`, and its policy decides |
//! | dissolved | all of them out of the team, one `team_dissolved` |
//!
//! In each case the fence is closed first, then the task is gone, then claims, reservations and the hold on tasks, and
//! only then is it told.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::Name;
use pitcrew_core::claim::EndCause;
use pitcrew_core::event::Fact;
use pitcrew_core::restart::{End, Standing, Wanted};
use tokio::task::{Id, JoinError};
use tokio::time::timeout;

use super::actor::Actor;
use super::roll::Life;
use crate::desk::NotDone;
use crate::team::agent::history;
use crate::team::agent::{Activity, Agent, Exit, Report, RunEnd};
use crate::team::error::TeamError;
use crate::team::supervision::words;

/// How long a task may take to end that was aborted. It ends at its next await, so only one that blocks takes longer.
const PATIENCE: Duration = Duration::from_millis(500);

impl Actor<'_> {
    /// A task has ended that nobody told to.
    pub(super) async fn handle_end(&mut self, id: Id, ended: Result<Exit, JoinError>) {
        let Some((name, life)) = self.roll.ended(id) else {
            return;
        };
        match ended {
            Ok(Exit::Finished(reason)) => {
                self.close(&life).await;
                self.release(std::slice::from_ref(&name), EndCause::Stopped, "finished")
                    .await;
                self.take_out(std::slice::from_ref(&name)).await;
                self.tell_left(&[name], &reason).await;
            }
            Ok(Exit::Failed(why)) => self.crashed(&name, &life, &why).await,
            Err(broken) => self.crashed(&name, &life, &words(broken)).await,
        }
    }

    async fn crashed(&mut self, name: &Name, life: &Life, why: &str) {
        self.close(life).await;
        self.release(std::slice::from_ref(name), EndCause::Crashed, "crashed")
            .await;
        let crashed = Fact::AgentCrashed {
            member: name.clone(),
            reason: why.to_string(),
        };
        self.home().ask(move |desk| desk.announce(&[crashed])).await;
        self.failed(name, life.run, why).await;
    }

    /// Waits until nothing of a life is on its way to the store any more.
    async fn close(&self, life: &Life) {
        // A step that does not come back is shut out all the same: its fence is closed at once.
        let _ = timeout(PATIENCE, life.fence.close()).await;
    }

    /// Ends what agents held. What cannot be kept now ends by its own deadline, and is told to who asks the team.
    async fn release(&self, names: &[Name], cause: EndCause, outcome: &'static str) {
        let names = names.to_vec();
        self.home()
            .ask(move |desk| {
                let ended = desk.end_lives(&names, cause, outcome);
                desk.or_undone("the end of an agent", ended);
            })
            .await;
    }

    /// Takes agents off the roll and out of the team.
    pub(super) async fn take_out(&mut self, names: &[Name]) {
        for name in names {
            self.forget(name);
        }
        let names = names.to_vec();
        self.home()
            .ask(move |desk| {
                for name in &names {
                    desk.or_undone("the end of a history", history::end(desk, name));
                }
                match desk.dismiss(&names) {
                    // A team that is gone has nobody in it.
                    Ok(()) | Err(NotDone::Refused(_)) => {}
                    failed => desk.or_undone("that an agent left", failed),
                }
            })
            .await;
    }

    /// Takes an agent off the roll. Whoever waits for it hears that it has ended.
    pub(super) fn forget(&mut self, name: &Name) {
        self.office.bells.take_down(name);
        let Some(entry) = self.roll.remove(name) else {
            return;
        };
        entry.cell.set_activity(Activity::Ended);
        for told in entry.cell.inbox.close() {
            if let Some(answer) = told.answer {
                // Who asked may have gone.
                let _ = answer.send(Report {
                    end: RunEnd::AgentEnded,
                    text: String::new(),
                    iterations: 0,
                });
            }
        }
    }

    async fn tell_left(&self, names: &[Name], reason: &str) {
        let left = names.iter().map(|member| Fact::AgentLeft {
            member: member.clone(),
            reason: Some(reason.to_string()),
        });
        let left: Vec<Fact> = left.collect();
        self.home().ask(move |desk| desk.announce(&left)).await;
    }

    pub(super) async fn tell_leader(&self, name: &Name, run: u32, why: String) {
        let key = format!("agent-failed:{name}:{run}");
        let about = name.clone();
        self.home()
            .ask(move |desk| match desk.tell_leader_of(&about, why, key) {
                Ok(()) | Err(NotDone::Refused(_)) => {}
                failed => desk.or_undone("a word to the leader", failed),
            })
            .await;
    }

    /// Ends the tasks of agents and waits for that. Answers those that do not give way.
    async fn abort(&mut self, names: &[Name]) -> HashSet<Name> {
        let mut lives = Vec::new();
        for name in names {
            let Some(entry) = self.roll.get_mut(name.as_str()) else {
                continue;
            };
            if let Some(life) = entry.life.take() {
                life.fence.shut();
                life.abort.abort();
                lives.push((name.clone(), life));
            }
        }
        for (_, life) in &lives {
            self.roll.forget_task(life.abort.id());
        }
        let mut waiting: HashSet<Id> = lives.iter().map(|(_, life)| life.abort.id()).collect();
        let seen = async {
            while !waiting.is_empty() {
                let ended = match self.tasks.join_next_with_id().await {
                    Some(Ok((id, exit))) => (id, Ok(exit)),
                    Some(Err(broken)) => (broken.id(), Err(broken)),
                    None => break,
                };
                if !waiting.remove(&ended.0) {
                    self.backlog.push_back(ended);
                }
            }
        };
        let _ = timeout(PATIENCE, seen).await;
        let mut blocked = HashSet::new();
        for (name, life) in lives {
            self.close(&life).await;
            if waiting.contains(&life.abort.id()) {
                blocked.insert(name);
            }
        }
        blocked
    }

    pub(super) async fn stop_named(&mut self, names: Vec<String>) -> Vec<Result<(), TeamError>> {
        let found: Vec<Result<Name, TeamError>> = names
            .iter()
            .map(|name| self.roll.find(name).map(|entry| entry.cell.name.clone()))
            .collect();
        let stopping: Vec<Name> = found.iter().flatten().cloned().collect();
        let blocked = self.end(&stopping, EndCause::Stopped, "stopped").await;
        self.take_out(&stopping).await;
        self.tell_left(&stopping, "stopped").await;
        let answer = |name: Name| match blocked.contains(&name) {
            true => Err(TeamError::Blocked { name }),
            false => Ok(()),
        };
        found
            .into_iter()
            .map(|name| name.and_then(answer))
            .collect()
    }

    async fn end(
        &mut self,
        names: &[Name],
        cause: EndCause,
        outcome: &'static str,
    ) -> HashSet<Name> {
        let now = self.now();
        for name in names {
            if let Some(entry) = self.roll.get_mut(name.as_str()) {
                entry.restart.want(Wanted::Down, now);
            }
        }
        let blocked = self.abort(names).await;
        self.release(names, cause, outcome).await;
        blocked
    }

    pub(super) async fn dissolve(&mut self) -> Result<(), TeamError> {
        let names = self.roll.names();
        self.end(&names, EndCause::Dissolved, "dissolved").await;
        self.take_out(&names).await;
        self.home()
            .ask(|desk| desk.announce(&[Fact::TeamDissolved {}]))
            .await;
        Ok(())
    }

    pub(super) async fn restart(&mut self, name: &str) -> Result<Agent, TeamError> {
        let name = self.roll.find(name)?.cell.name.clone();
        let names = [name.clone()];
        let runs = self.roll.find(name.as_str())?.life.is_some();
        let blocked = self.end(&names, EndCause::Stopped, "restarted").await;
        if runs {
            self.tell_left(&names, "restarted").await;
        }
        if blocked.contains(&name) {
            return Err(TeamError::Blocked { name });
        }
        let now = self.now();
        if let Some(entry) = self.roll.get_mut(name.as_str()) {
            if let Standing::Up { .. } = entry.restart.standing() {
                let run = entry.restart.handle_started(now);
                entry.restart.handle_ended(run, End::Finished, now, 0);
            }
            entry.restart.want(Wanted::Up, now);
        }
        self.start(&name).await;
        let cell = Arc::clone(&self.roll.find(name.as_str())?.cell);
        Ok(Agent::new(
            cell,
            self.home().clone(),
            self.office.comms.clone(),
        ))
    }

    pub(super) async fn kill(&mut self, name: &str, why: &str) -> Result<(), TeamError> {
        let entry = self.roll.find(name)?;
        let name = entry.cell.name.clone();
        let Some(life) = &entry.life else {
            return Ok(());
        };
        let life = Life {
            run: life.run,
            abort: life.abort.clone(),
            fence: Arc::clone(&life.fence),
        };
        let blocked = self.abort(std::slice::from_ref(&name)).await;
        self.crashed(&name, &life, &format!("killed: {why}")).await;
        match blocked.is_empty() {
            true => Ok(()),
            false => Err(TeamError::Blocked { name }),
        }
    }

    /// Ends every life, because this Coordinator ends. The agents stay wanted.
    pub(super) async fn end_lives(&mut self, why: &str) {
        let lives = self.roll.entries().filter(|entry| entry.life.is_some());
        let names: Vec<Name> = lives.map(|entry| entry.cell.name.clone()).collect();
        self.abort(&names).await;
        self.release(&names, EndCause::Stopped, "interrupted").await;
        let now = self.now();
        for name in &names {
            if let Some(entry) = self.roll.get_mut(name.as_str()) {
                // Not its own doing: that does not count against it.
                entry.restart.want(Wanted::Down, now);
                let run = entry.restart.handle_started(now);
                entry.restart.handle_ended(run, End::Finished, now, 0);
                entry.restart.want(Wanted::Up, now);
                entry.last_end = Some(why.into());
                entry.cell.set_activity(Activity::Starting);
            }
        }
        self.tell_left(&names, why).await;
    }
}
