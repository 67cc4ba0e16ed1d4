//! One life of an agent: it waits, runs, waits again, and ends.
//!
//! | wakes it | then |
//! |---|---|
//! | a user's message | it is in the history, and a run begins |
//! | mail that wants an answer | a run begins, whose first call shows it |
//! | a conversation that an earlier life left unanswered | a run goes on with it |
//! | a run failed for now while mail waits | after a while, another run |
//! | nothing | it sits, and no timer runs |

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::cell::Cell;
use super::history::{self, Line, wants_answer};
use super::inbox::Told;
use super::report::{Activity, Emitted, Output, Report};
use super::spec::Wakes;
use super::{input, run};
use crate::desk::{Credentials, Desk, NotDone};
use crate::model::Turn;
use crate::team::TeamDeps;
use crate::team::comms::Comms;
use crate::team::fence::Fence;
use crate::team::home::Home;

/// How long a life waits before it tries mail again that it could not deal with, at first and at most.
const AGAIN: Duration = Duration::from_secs(30);
const AGAIN_AT_MOST: Duration = Duration::from_secs(600);

/// How a life ended by itself.
#[derive(Debug)]
pub(crate) enum Exit {
    /// In good order, and why.
    Finished(String),
    /// Not in good order, and why.
    Failed(String),
}

/// From where an agent reaches its team.
pub(crate) struct Post {
    pub(crate) home: Home,
    pub(crate) comms: Comms,
    pub(crate) fence: Arc<Fence>,
    /// Proves this life to the team.
    pub(crate) token: String,
    /// What every agent of the team knows of it.
    pub(crate) deps: Arc<TeamDeps>,
}

/// One life of an agent.
pub(crate) struct Server {
    pub(super) post: Post,
    pub(super) cell: Arc<Cell>,
    pub(super) turns: Vec<Turn>,
    waiting: Vec<oneshot::Sender<Report>>,
    /// It ends once nothing is left to do.
    finishing: bool,
}

/// What follows from what came in.
enum Woken {
    Run,
    Finish,
    Nothing,
}

impl Post {
    /// Takes a step in the team. Once the life is to end, nothing comes back.
    pub(super) async fn step<A: Send + 'static>(
        &self,
        step: impl FnOnce(&Desk<'_>) -> Result<A, NotDone> + Send + 'static,
    ) -> Result<A, Broken> {
        match self.home.ask_within(&self.fence, step).await {
            Some(answer) => answer.map_err(|why| Broken(why.to_string())),
            None => std::future::pending().await,
        }
    }
}

/// Something of the team's broke, in words: the life ends as a crash.
#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

impl Server {
    pub(crate) fn new(post: Post, cell: Arc<Cell>) -> Self {
        Self {
            post,
            cell,
            turns: Vec::new(),
            waiting: Vec::new(),
            finishing: false,
        }
    }

    /// Lives.
    pub(crate) async fn run(mut self) -> Exit {
        match self.live().await {
            Ok(reason) => Exit::Finished(reason),
            Err(Broken(why)) => Exit::Failed(why),
        }
    }

    async fn live(&mut self) -> Result<String, Broken> {
        let mut woken = self.begin().await?;
        let mut pause = AGAIN;
        loop {
            let mut again = false;
            match woken {
                Woken::Finish => return Ok("finished".to_string()),
                Woken::Nothing => {
                    self.show(Activity::Idle);
                    self.cell.inbox.anything().await;
                }
                Woken::Run => {
                    let report = Box::pin(run::run(self)).await?;
                    again = report.end.is_failure();
                    self.ended(report);
                    self.show(Activity::Idle);
                    // Mail is tried again by itself; a user has been told and may ask again.
                    again = again && self.has_mail().await?;
                }
            }
            if again {
                // Whatever comes first: something new, or the end of the pause.
                let _ = tokio::time::timeout(pause, self.cell.inbox.anything()).await;
                pause = (pause * 2).min(AGAIN_AT_MOST);
            } else {
                pause = AGAIN;
            }
            woken = match self.take_in().await? {
                Woken::Nothing if again => Woken::Run,
                woken => woken,
            };
        }
    }

    /// Goes on where an earlier life stopped.
    async fn begin(&mut self) -> Result<Woken, Broken> {
        let (name, start) = (self.cell.name.clone(), self.cell.spec.start_of());
        let kept = self.post.step(move |desk| {
            let kept = history::load(desk, &name, start)?;
            input::acknowledge(desk, &name, &kept.delivered)?;
            Ok(kept)
        });
        self.turns = kept.await?.turns;
        let woken = self.take_in().await?;
        let goes_on = wants_answer(&self.turns) || self.has_mail().await?;
        Ok(match woken {
            Woken::Nothing if goes_on => Woken::Run,
            woken => woken,
        })
    }

    /// Whether mail wants an answer, and the agent is woken by mail.
    async fn has_mail(&self) -> Result<bool, Broken> {
        if self.cell.spec.woken_by() == Wakes::OnUser {
            return Ok(false);
        }
        let name = self.cell.name.clone();
        let waiting = self.post.step(move |desk| desk.waiting_mail(&name));
        Ok(waiting.await?.unread > 0)
    }

    /// Takes what came in: what users said is in the history before anything else happens.
    async fn take_in(&mut self) -> Result<Woken, Broken> {
        let news = self.cell.inbox.take();
        self.finishing |= news.finish;
        let was_told = !news.told.is_empty();
        for Told { text, answer } in news.told {
            self.say(vec![Line::Turn(Turn::User { text })]).await?;
            self.waiting.extend(answer);
        }
        if was_told || (news.mail && self.has_mail().await?) {
            return Ok(Woken::Run);
        }
        Ok(match self.finishing {
            true => Woken::Finish,
            false => Woken::Nothing,
        })
    }

    /// Adds to the history, in the store first.
    pub(super) async fn say(&mut self, lines: Vec<Line>) -> Result<(), Broken> {
        let name = self.cell.name.clone();
        let lines = self.post.step(move |desk| {
            history::append(desk, &name, &lines)?;
            Ok(lines)
        });
        for line in lines.await? {
            if let Line::Turn(turn) = line {
                self.turns.push(turn);
            }
        }
        Ok(())
    }

    /// Tells whoever waits for it what came of a run.
    fn ended(&mut self, report: Report) {
        for answer in self.waiting.drain(..) {
            // Who asked may have gone.
            let _ = answer.send(report.clone());
        }
        self.emit(|| Emitted::RunEnded(report));
    }

    pub(super) fn show(&self, activity: Activity) {
        if self.cell.activity() != activity {
            self.cell.set_activity(activity.clone());
            self.emit(|| Emitted::Status(activity));
        }
    }

    pub(super) fn emit(&self, what: impl FnOnce() -> Emitted) {
        let name = &self.cell.name;
        self.post.comms.publish_output(name, || Output {
            agent: name.clone(),
            what: what(),
        });
    }

    /// What the agent speaks as.
    pub(super) fn credentials(&self) -> Credentials {
        Credentials {
            token: Some(self.post.token.clone()),
            claimed: None,
        }
    }
}
