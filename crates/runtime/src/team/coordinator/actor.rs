//! The Coordinator at work: one request after the other, and every end of an agent as it comes.
//!
//! Requests to spawn that wait together become one change of the roster. The agents' tasks belong to this one: when it
//! ends, so do they, and the next one brings up again whoever is wanted.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::event::Fact;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::restart::{End, Order, Restart, Standing, Wanted};
use pitcrew_core::roster::{Recruit, Seat};
use pitcrew_core::{Name, Refusal};
use tokio::sync::{Mutex, mpsc};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::roll::{Life, Roll};
use super::{AgentInfo, Request};
use crate::desk::{Enlisting, NotDone};
use crate::process::Identity;
use crate::team::TeamDeps;
use crate::team::agent::{Activity, Agent, AgentSpec, Cell, Exit, Post, Server};
use crate::team::comms::Comms;
use crate::team::error::TeamError;
use crate::team::fence::Fence;
use crate::team::home::Home;
use crate::team::routed::Bells;

/// What a Coordinator needs, through all its lives.
pub(crate) struct Office {
    pub(crate) home: Home,
    pub(crate) comms: Comms,
    pub(crate) bells: Arc<Bells>,
    pub(crate) process: Identity,
    pub(crate) deps: Arc<TeamDeps>,
    pub(crate) roll: Mutex<Roll>,
    pub(crate) requests: Mutex<mpsc::Receiver<Request>>,
}

/// One life of the Coordinator.
pub(super) struct Actor<'a> {
    pub(super) office: &'a Office,
    pub(super) roll: &'a mut Roll,
    pub(super) tasks: JoinSet<Exit>,
    /// Ends that were seen while another was waited for.
    pub(super) backlog: VecDeque<(Id, Result<Exit, JoinError>)>,
}

/// Runs until told to stop. Answers why it ended.
pub(crate) async fn run(office: Arc<Office>, stop: CancellationToken) -> String {
    let mut requests = office.requests.lock().await;
    let mut roll = office.roll.lock().await;
    let mut actor = Actor {
        office: &office,
        roll: &mut roll,
        tasks: JoinSet::new(),
        backlog: VecDeque::new(),
    };
    actor.bring_up().await;
    let mut next = None;
    loop {
        while let Some((id, ended)) = actor.backlog.pop_front() {
            actor.handle_end(id, ended).await;
        }
        if let Some(request) = next.take() {
            next = actor.handle(request, &mut requests).await;
            continue;
        }
        let due = actor.due_in();
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = actor.tasks.join_next_with_id() => match ended {
                Ok((id, exit)) => actor.handle_end(id, Ok(exit)).await,
                Err(broken) => actor.handle_end(broken.id(), Err(broken)).await,
            },
            () = sleep(due) => actor.start_due().await,
            request = requests.recv() => match request {
                Some(request) => next = Some(request),
                None => break,
            },
        }
    }
    actor.end_lives("the team's parts are being stopped").await;
    "told to".to_string()
}

async fn sleep(span: Option<Duration>) {
    match span {
        Some(span) => tokio::time::sleep(span).await,
        None => std::future::pending().await,
    }
}

impl Actor<'_> {
    pub(super) fn home(&self) -> &Home {
        &self.office.home
    }

    pub(super) fn now(&self) -> i64 {
        self.home().monotonic()
    }

    fn due_in(&self) -> Option<Duration> {
        let at = self.roll.next_due()?;
        let left = at.saturating_sub(self.now()).max(0).unsigned_abs();
        Some(Duration::from_millis(left))
    }

    /// Handles a request. Answers one that was taken from the queue beside it and is another.
    async fn handle(
        &mut self,
        request: Request,
        queue: &mut mpsc::Receiver<Request>,
    ) -> Option<Request> {
        // Whoever asked may have gone meanwhile; what was done stands.
        match request {
            Request::Spawn(agents, reply) => return self.spawn_all(agents, reply, queue).await,
            Request::Stop(names, reply) => drop(reply.send(self.stop_named(names).await)),
            Request::Restart(name, reply) => drop(reply.send(self.restart(&name).await)),
            Request::Kill(name, why, reply) => drop(reply.send(self.kill(&name, &why).await)),
            Request::List(reply) => drop(reply.send(Ok(self.list()))),
            Request::Find(name, reply) => {
                let found = self.roll.find(&name).map(|entry| Arc::clone(&entry.cell));
                drop(reply.send(found.map(|cell| self.handle_of(&cell))));
            }
            Request::Explain(name, reply) => {
                let now = self.now();
                drop(reply.send(self.roll.find(&name).map(|entry| entry.explain(now))));
            }
            Request::Dissolve(reply) => drop(reply.send(self.dissolve().await)),
        }
        None
    }

    fn handle_of(&self, cell: &Arc<Cell>) -> Agent {
        Agent::new(
            Arc::clone(cell),
            self.home().clone(),
            self.office.comms.clone(),
        )
    }

    fn list(&self) -> Vec<AgentInfo> {
        let mut list: Vec<AgentInfo> = self
            .roll
            .entries()
            .map(|entry| {
                let activity = entry.cell.activity();
                AgentInfo {
                    name: entry.cell.name.clone(),
                    status: activity.status(),
                    activity,
                    agent: self.handle_of(&entry.cell),
                }
            })
            .collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        list
    }

    async fn spawn_all(
        &mut self,
        agents: Vec<(String, AgentSpec)>,
        reply: tokio::sync::oneshot::Sender<Vec<Result<Agent, TeamError>>>,
        queue: &mut mpsc::Receiver<Request>,
    ) -> Option<Request> {
        const TOGETHER: usize = 4_096;
        let (mut wanted, mut replies, mut other) = (agents, vec![], None);
        replies.push((wanted.len(), reply));
        while wanted.len() < TOGETHER && other.is_none() {
            match queue.try_recv() {
                Ok(Request::Spawn(more, reply)) => {
                    replies.push((more.len(), reply));
                    wanted.extend(more);
                }
                Ok(request) => other = Some(request),
                Err(_) => break,
            }
        }
        let mut answers = self.spawn(wanted).await.into_iter();
        for (count, reply) in replies {
            // Whoever asked may have gone meanwhile; the agents are there.
            let _ = reply.send(answers.by_ref().take(count).collect());
        }
        other
    }

    async fn spawn(&mut self, wanted: Vec<(String, AgentSpec)>) -> Vec<Result<Agent, TeamError>> {
        let mut answers: Vec<Option<Result<Agent, TeamError>>> = Vec::with_capacity(wanted.len());
        let (mut enlisting, mut cells, mut down) = (Vec::new(), Vec::new(), Vec::new());
        for (given, spec) in wanted {
            match self.admit(&given, &mut down) {
                Ok((name, token)) => {
                    enlisting.push(Enlisting {
                        recruit: Recruit {
                            name: name.clone(),
                            role: spec.role_name().to_string(),
                            seat: Seat::Model,
                            profile: Some(spec.model_name().to_string()),
                            task_id: None,
                        },
                        token,
                    });
                    cells.push(Cell::new(name, spec));
                    answers.push(None);
                }
                Err(refused) => answers.push(Some(Err(refused))),
            }
        }
        if !down.is_empty() {
            // Those that stay down after a crash make room for who comes in their name.
            self.take_out(&down).await;
        }
        let process = self.office.process.clone();
        let tokens: Vec<String> = enlisting.iter().map(|one| one.token.clone()).collect();
        let entered = match enlisting.is_empty() {
            true => Ok(Vec::new()),
            false => {
                let ask = move |desk: &crate::desk::Desk<'_>| desk.enlist(&enlisting, &process);
                self.home().ask(ask).await
            }
        };
        let mut joined = Vec::new();
        let mut begun: VecDeque<Result<Agent, TeamError>> = match entered {
            Err(why) => {
                let why = TeamError::from(why);
                cells.iter().map(|_| Err(again(&why))).collect()
            }
            Ok(entered) => cells
                .iter()
                .zip(tokens)
                .zip(entered)
                .map(|((cell, token), entered)| {
                    entered?;
                    let mut restart = Restart::new(cell.spec.policy());
                    restart.want(Wanted::Up, self.now());
                    self.roll.put(Arc::clone(cell), restart);
                    self.begin_life(cell, token);
                    joined.push(Fact::AgentJoined {
                        member: cell.name.clone(),
                    });
                    Ok(self.handle_of(cell))
                })
                .collect(),
        };
        self.home().ask(move |desk| desk.announce(&joined)).await;
        let answer = |known: Option<_>| known.or_else(|| begun.pop_front());
        answers.into_iter().filter_map(answer).collect()
    }

    /// Whether an agent may be called `given`, and the token of its first life.
    fn admit(&self, given: &str, down: &mut Vec<Name>) -> Result<(Name, String), TeamError> {
        let name = Name::new(NameKind::Member, given)?;
        if name.is_leader() {
            return Err(Refusal::name(NameKind::Member, given).into());
        }
        if let Some(entry) = self.roll.get(given) {
            if entry.life.is_some() || matches!(entry.restart.standing(), Standing::Up { .. }) {
                let name = entry.cell.name.to_string();
                return Err(TeamError::AlreadyExists { name });
            }
            down.push(entry.cell.name.clone());
        }
        Ok((name, self.token()?))
    }

    fn token(&self) -> Result<String, TeamError> {
        let mut bytes = [0; 32];
        self.home().entropy().fill(&mut bytes)?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Begins a life of an agent that is on the roll and in the team.
    pub(super) fn begin_life(&mut self, cell: &Arc<Cell>, token: String) {
        let now = self.now();
        let Some(entry) = self.roll.get_mut(cell.name.as_str()) else {
            return;
        };
        let run = entry.restart.handle_started(now);
        let fence = Fence::new();
        cell.set_activity(Activity::Starting);
        self.office.bells.hang(cell);
        let server = Server::new(
            Post {
                home: self.office.home.clone(),
                comms: self.office.comms.clone(),
                fence: Arc::clone(&fence),
                token,
                deps: Arc::clone(&self.office.deps),
            },
            Arc::clone(cell),
        );
        let abort = self.tasks.spawn(server.run());
        self.roll.begun(&cell.name, Life { run, abort, fence });
    }

    /// Starts those again whose back-off is over.
    async fn start_due(&mut self) {
        for name in self.roll.take_due(self.now()) {
            self.start(&name).await;
        }
    }

    /// Begins the next life of who is on the roll, if it is wanted now.
    pub(super) async fn start(&mut self, name: &Name) {
        let Some(entry) = self.roll.get(name.as_str()) else {
            return;
        };
        if entry.life.is_some() || entry.restart.next(self.now()) != Order::Start {
            return;
        }
        let cell = Arc::clone(&entry.cell);
        let revived = match self.token() {
            Ok(token) => {
                let (name, process) = (name.clone(), self.office.process.clone());
                self.home()
                    .ask(move |desk| desk.revive(&name, &token, &process).map(|_| token))
                    .await
            }
            Err(TeamError::Failed(failure)) => Err(NotDone::Failed(failure)),
            Err(_) => return,
        };
        match revived {
            Ok(token) => {
                self.begin_life(&cell, token);
                let member = name.clone();
                let joined = Fact::AgentJoined { member };
                self.home().ask(move |desk| desk.announce(&[joined])).await;
            }
            // Somebody took it out of the team.
            Err(NotDone::Refused(_)) => self.forget(name),
            Err(NotDone::Failed(failure)) => {
                let now = self.now();
                if let Some(entry) = self.roll.get_mut(name.as_str()) {
                    let run = entry.restart.handle_started(now);
                    self.failed(name, run, &failure.to_string()).await;
                }
            }
        }
    }

    /// Brings up whoever is wanted: nothing at the team's start, everybody after this was started again.
    async fn bring_up(&mut self) {
        let left: HashSet<Name> = self
            .roll
            .entries()
            .filter(|entry| entry.life.is_some())
            .map(|entry| entry.cell.name.clone())
            .collect();
        if !left.is_empty() {
            self.end_lives("the coordinator ended").await;
        }
        let now = self.now();
        for name in self.roll.orphans() {
            if let Some(entry) = self.roll.get_mut(name.as_str())
                && !matches!(entry.restart.standing(), Standing::Due { .. })
            {
                entry.restart.want(Wanted::Up, now);
            }
            match self
                .roll
                .get(name.as_str())
                .map(|entry| entry.restart.next(now))
            {
                Some(Order::WaitUntil(at)) => self.roll.wait(&name, at),
                Some(Order::Start) => self.start(&name).await,
                _ => {}
            }
        }
    }

    /// An agent's life was observed to end without success: what follows is its policy's.
    pub(super) async fn failed(&mut self, name: &Name, run: u32, why: &str) {
        let jitter = self.home().entropy().permille().unwrap_or_default();
        let now = self.now();
        let Some(entry) = self.roll.get_mut(name.as_str()) else {
            return;
        };
        entry.last_end = Some(why.into());
        entry.restart.handle_ended(run, End::Failed, now, jitter);
        let cell = Arc::clone(&entry.cell);
        match entry.restart.next(now) {
            Order::WaitUntil(at_ms) => {
                let why = why.to_string();
                cell.set_activity(Activity::Restarting { at_ms, why });
                self.roll.wait(name, at_ms);
            }
            Order::Start => self.roll.wait(name, now),
            Order::GiveUp(_) => {
                let why = entry.explain(now).why;
                cell.set_activity(Activity::Failed { why: why.clone() });
                self.tell_leader(name, run, why).await;
            }
            Order::Nothing | Order::Stop => {}
        }
    }
}

/// The same error for another who asked.
fn again(error: &TeamError) -> TeamError {
    match error {
        TeamError::Refused(refusal) => TeamError::Refused(refusal.clone()),
        other => TeamError::Refused(Refusal::input("team", &other.to_string())),
    }
}
