//! One run of an agent: model calls and tools, from what woke it to its last word.
//!
//! ```text
//!  gather mail and findings ─▶ set aside ─▶ call ─▶ settle, keep, acknowledge ─▶ no tools: answered
//!        ▲                        │          │                      │
//!        │  wait, then look again ┘   failed: refund, wait          └─▶ tools, side by side ─┐
//!        └───────────────────────────────────┴───────────────────────────────────────────────┘
//! ```
//!
//! Always holds: a reservation is settled or refunded before anything else is tried; the history, in the store, has a
//! call's input and answer together or not at all, and mail is acknowledged after that; every tool call has a result; a
//! message of the user or a cancellation ends whatever the run waits for.

use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::limiter::ReservationId;
use tokio_util::sync::CancellationToken;

use super::calls::{Workbench, offered};
use super::history::{self, Line, Note, UNSEEN, half};
use super::input::{self, Shown};
use super::limits::{self, Asked};
use super::report::{Activity, Emitted, Report, RunEnd};
use super::server::{Broken, Server};
use crate::model::{ModelError, Reply, Request, ToolCall, ToolResult, ToolSpec, Turn};
use crate::team::TeamDeps;
use crate::tools::TeamTools;

/// What ends a run from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Told,
    Cancelled,
}

impl Stop {
    fn end(self) -> RunEnd {
        match self {
            Self::Told => RunEnd::Interrupted,
            Self::Cancelled => RunEnd::Cancelled,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Told => "[Interrupted here by a new message.]",
            Self::Cancelled => "[Cancelled here.]",
        }
    }
}

/// Why a step did not come to its end.
enum Off {
    End(RunEnd),
    Broken(Broken),
}

impl From<Broken> for Off {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

struct Run<'a> {
    server: &'a mut Server,
    system: String,
    offered: Vec<ToolSpec>,
    tools: TeamTools,
    deps: Arc<TeamDeps>,
    cancelled: CancellationToken,
    iterations: u32,
    said: String,
    /// Calls that failed since the last that did not.
    failures: u32,
    /// The most messages that a call shows: one after a call with mail was refused.
    most_mail: usize,
}

/// Runs until there is an answer or a reason for none.
pub(super) async fn run(server: &mut Server) -> Result<Report, Broken> {
    let cancelled = CancellationToken::new();
    let _ends = cancelled.clone().drop_guard();
    let mut run = match Run::begin(server, cancelled).await {
        Ok(run) => run,
        Err(Off::End(end)) => {
            return Ok(Report {
                end,
                text: String::new(),
                iterations: 0,
            });
        }
        Err(Off::Broken(broken)) => return Err(broken),
    };
    let end = match run.go().await {
        Ok(end) | Err(Off::End(end)) => end,
        Err(Off::Broken(broken)) => return Err(broken),
    };
    Ok(Report {
        end,
        text: run.said,
        iterations: run.iterations,
    })
}

impl<'a> Run<'a> {
    async fn begin(server: &'a mut Server, cancelled: CancellationToken) -> Result<Self, Off> {
        let (who, cell) = (server.credentials(), &server.cell);
        // A member that was taken out of the team meanwhile says and does nothing more.
        let is_member = server.post.step(move |desk| {
            let team = desk.roster()?;
            Ok(desk.speaker(&team, &who).is_ok())
        });
        if !is_member.await? {
            return Err(Off::End(RunEnd::AgentEnded));
        }
        let home = &server.post.home;
        let mut tools = TeamTools::for_member(
            home.team().clone(),
            server.credentials(),
            Arc::clone(home.store()),
            Arc::clone(home.clock()),
            Arc::clone(home.entropy()),
            home.files().clone(),
        );
        if let Some(role) = cell.spec.its_role() {
            tools = tools.in_role(Arc::clone(role));
        }
        let deps = Arc::new(TeamDeps {
            agent_name: cell.name.clone(),
            team_role: cell.spec.its_role().cloned(),
            ..TeamDeps::clone(&server.post.deps)
        });
        Ok(Self {
            system: system(server),
            offered: offered(&cell.spec),
            tools,
            deps,
            cancelled,
            iterations: 0,
            said: String::new(),
            failures: 0,
            most_mail: usize::MAX,
            server,
        })
    }

    async fn go(&mut self) -> Result<RunEnd, Off> {
        let limit = self.server.cell.spec.max_iterations();
        loop {
            if self.iterations >= limit {
                return Ok(RunEnd::MaxIterations { limit });
            }
            let calls = self.call().await?;
            self.iterations += 1;
            if calls.is_empty() {
                return Ok(RunEnd::Answered);
            }
            self.use_tools(calls).await?;
        }
    }

    /// Waits for `future`, unless something ends the run.
    async fn unless_stopped<A>(&self, future: impl Future<Output = A>) -> Result<A, Stop> {
        let inbox = &self.server.cell.inbox;
        tokio::select! {
            biased;
            answer = future => Ok(answer),
            () = inbox.until(|news| !news.told.is_empty() || news.cancel) => {
                Err(match inbox.look(|news| news.cancel) {
                    true => Stop::Cancelled,
                    false => Stop::Told,
                })
            }
        }
    }

    /// One answer of the model, however often it takes; the tools that it wants.
    async fn call(&mut self) -> Result<Vec<ToolCall>, Off> {
        loop {
            let (name, most) = (self.server.cell.name.clone(), self.most_mail);
            let gathered = self
                .server
                .post
                .step(move |desk| input::gather(desk, &name, most));
            let shown = gathered.await?;
            let mut request = Request {
                system: self.system.clone(),
                turns: self.server.turns.clone(),
                tools: self.offered.clone(),
            };
            if !shown.is_empty() {
                let text = shown.text.clone();
                request.turns.push(Turn::User { text });
            }
            let Some(reservation) = self.set_aside(&request).await? else {
                continue;
            };
            match self.attempt(&request, reservation).await? {
                Ok(reply) => return self.keep(reply, shown, reservation).await,
                Err(error) => {
                    self.refund(reservation).await?;
                    self.after_failure(error, &shown).await?;
                }
            }
        }
    }

    /// Sets aside what the call may use. `None` when that took a while: then what is unread may be more.
    async fn set_aside(&mut self, request: &Request) -> Result<Option<Option<ReservationId>>, Off> {
        let spec = &self.server.cell.spec;
        let (estimate, model) = (
            spec.model().estimate(request),
            spec.model_name().to_string(),
        );
        let name = self.server.cell.name.clone();
        let asked = self
            .server
            .post
            .step(move |desk| limits::ask(desk, &name, &model, estimate));
        match asked.await? {
            Asked::Go(reservation) => Ok(Some(reservation)),
            Asked::Later { why, for_ms } => {
                self.wait(why, for_ms).await?;
                Ok(None)
            }
            Asked::Never { code, why } => {
                let code = code.to_string();
                Err(Off::End(RunEnd::LimitReached { code, why }))
            }
        }
    }

    async fn wait(&mut self, why: String, for_ms: u64) -> Result<(), Off> {
        self.server.show(Activity::Waiting { why, for_ms });
        let waited = tokio::time::sleep(Duration::from_millis(for_ms));
        let stopped = self.unless_stopped(waited).await;
        stopped.map_err(|stop| Off::End(stop.end()))
    }

    /// One call. What was written before it was ended stays in the history.
    async fn attempt(
        &mut self,
        request: &Request,
        reservation: Option<ReservationId>,
    ) -> Result<Result<Reply, ModelError>, Off> {
        self.server.show(Activity::Thinking);
        let mut partial = String::new();
        let stopped = {
            let server = &*self.server;
            let spec = &server.cell.spec;
            let mut written = |piece: &str| {
                partial.push_str(piece);
                server.emit(|| Emitted::Delta(piece.to_string()));
            };
            let limit = spec.time_of_call();
            let mut called = spec.model().call(request, &mut written);
            let mut renewals = tokio::time::interval(limits::RENEW);
            renewals.reset();
            let called = async {
                loop {
                    tokio::select! {
                        biased;
                        reply = &mut called => return Ok::<_, Broken>(reply),
                        _ = renewals.tick(), if reservation.is_some() => {
                            let name = server.cell.name.clone();
                            let renewed = server.post.step(move |desk| limits::renew(desk, &name, reservation));
                            renewed.await?;
                        }
                    }
                }
            };
            match self
                .unless_stopped(tokio::time::timeout(limit, called))
                .await
            {
                Ok(Ok(Ok(reply))) => return Ok(reply),
                Ok(Ok(Err(broken))) => return Err(broken.into()),
                Ok(Err(_)) => {
                    let after_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                    return Ok(Err(ModelError::TimedOut { after_ms }));
                }
                Err(stop) => stop,
            }
        };
        self.refund(reservation).await?;
        if !partial.is_empty() {
            let text = format!("{partial}\n{}", stopped.words());
            self.said.clone_from(&partial);
            let calls = Vec::new();
            let turn = Line::Turn(Turn::Assistant { text, calls });
            self.server.say(vec![turn]).await?;
        }
        Err(Off::End(stopped.end()))
    }

    async fn refund(&self, reservation: Option<ReservationId>) -> Result<(), Off> {
        let name = self.server.cell.name.clone();
        let refunded = self.server.post.step(move |desk| {
            // A reservation that cannot be refunded now lapses.
            let refunded = limits::refund(desk, &name, reservation);
            desk.or_undone("the refund of a call", refunded);
            Ok(())
        });
        Ok(refunded.await?)
    }

    /// Settles a call that succeeded, keeps what was said, and only then counts its mail as read.
    async fn keep(
        &mut self,
        reply: Reply,
        shown: Shown,
        reservation: Option<ReservationId>,
    ) -> Result<Vec<ToolCall>, Off> {
        (self.failures, self.most_mail) = (0, usize::MAX);
        let name = self.server.cell.name.clone();
        let model = self.server.cell.spec.model_name().to_string();
        let booked = reply.clone();
        let settled = self.server.post.step(move |desk| {
            // The answer is there and paid for: what cannot be booked now costs it nothing, and lapses.
            let settled = limits::settle(desk, &name, &model, reservation, &booked);
            desk.or_undone("the usage of a call", settled);
            Ok(())
        });
        settled.await?;
        let mut lines = Vec::with_capacity(3);
        if !shown.is_empty() {
            let text = shown.text.clone();
            lines.push(Line::Turn(Turn::User { text }));
        }
        let (text, calls) = (reply.text, reply.calls);
        self.said.clone_from(&text);
        lines.push(Line::Turn(Turn::Assistant {
            text,
            calls: calls.clone(),
        }));
        if !shown.ids.is_empty() {
            let ids = shown.ids.clone();
            lines.push(Line::Note(Note::Delivered { ids }));
        }
        self.server.say(lines).await?;
        if !shown.is_empty() {
            let name = self.server.cell.name.clone();
            let read = self.server.post.step(move |desk| shown.settle(desk, &name));
            read.await?;
        }
        Ok(calls)
    }

    /// Decides what follows from a call that failed: waits and goes on, or ends the run.
    async fn after_failure(&mut self, error: ModelError, shown: &Shown) -> Result<(), Off> {
        let why = error.to_string();
        let retry = self.server.cell.spec.retries();
        self.failures += 1;
        if self.failures > retry.most {
            return Err(Off::End(RunEnd::ModelFailed { why }));
        }
        match error {
            ModelError::UsageLimit { resets_at_ms, why } => {
                // The next call is refused until then, for everybody in the team.
                let paused = self
                    .server
                    .post
                    .step(move |desk| limits::pause(desk, resets_at_ms, &why));
                Ok(paused.await?)
            }
            ModelError::TooLong { .. } => self.fold(why).await,
            ModelError::Rejected { .. } if !shown.ids.is_empty() => {
                self.most_mail = 1;
                let name = self.server.cell.name.clone();
                let counted = self
                    .server
                    .post
                    .step(move |desk| input::count_delivery(desk, &name));
                Ok(counted.await?)
            }
            ModelError::Rejected { .. } => Err(Off::End(RunEnd::ModelFailed { why })),
            ModelError::RateLimited { retry_after_ms, .. } => {
                let after_ms = retry_after_ms.unwrap_or_else(|| self.back_off());
                self.retry(why, after_ms).await
            }
            ModelError::Unavailable { .. } | ModelError::TimedOut { .. } => {
                let after_ms = self.back_off();
                self.retry(why, after_ms).await
            }
        }
    }

    /// How long to wait before the next attempt: doubling, shortened by chance to at least half.
    fn back_off(&self) -> u64 {
        let retry = self.server.cell.spec.retries();
        let doublings = self.failures.saturating_sub(1).min(16);
        let nominal = retry
            .first
            .saturating_mul(1 << doublings)
            .min(retry.longest);
        let nominal = u64::try_from(nominal.as_millis()).unwrap_or(u64::MAX);
        let jitter = self.server.post.home.entropy().permille();
        nominal - (nominal / 2).saturating_mul(u64::from(jitter.unwrap_or_default())) / 1_000
    }

    async fn retry(&mut self, why: String, after_ms: u64) -> Result<(), Off> {
        let words = why.clone();
        self.server.emit(|| Emitted::Retrying {
            why: words,
            after_ms,
        });
        self.wait(why, after_ms).await
    }

    /// Leaves out the older half of the conversation.
    async fn fold(&mut self, why: String) -> Result<(), Off> {
        let turns = half(&self.server.turns);
        if turns == 0 {
            return Err(Off::End(RunEnd::ModelFailed { why }));
        }
        let note = Line::Note(Note::Folded { turns });
        self.server.say(vec![note]).await?;
        history::fold(&mut self.server.turns, turns);
        Ok(())
    }

    /// Runs the tools that the model wants. Each call has a result afterwards, also when something ended the run.
    async fn use_tools(&mut self, calls: Vec<ToolCall>) -> Result<(), Off> {
        let names = calls.iter().map(|call| call.name.clone()).collect();
        self.server.show(Activity::UsingTools { names });
        let mut done: Vec<Option<ToolResult>> = calls.iter().map(|_| None).collect();
        let stopped = {
            let server = &*self.server;
            for ToolCall { id, name, .. } in &calls {
                server.emit(|| Emitted::ToolCalled {
                    id: id.clone(),
                    name: name.clone(),
                });
            }
            let bench = Workbench {
                spec: &server.cell.spec,
                post: &server.post,
                tools: &self.tools,
                deps: &self.deps,
                cancelled: self.cancelled.clone(),
            };
            let answered = |call: &ToolCall, result: &ToolResult| {
                server.emit(|| Emitted::ToolAnswered {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    ok: result.ok,
                });
            };
            let working = bench.run(&calls, &mut done, answered);
            self.unless_stopped(working).await
        };
        let results = calls.iter().zip(done).map(|(call, result)| {
            result.unwrap_or_else(|| ToolResult {
                id: call.id.clone(),
                text: UNSEEN.to_string(),
                ok: false,
            })
        });
        let results = results.collect();
        let turn = Line::Turn(Turn::Tools { results });
        self.server.say(vec![turn]).await?;
        stopped.map_err(|stop| Off::End(stop.end()))
    }
}

/// Who the model is to be: its role, what it is told, and how it lives in its team.
fn system(server: &Server) -> String {
    let (cell, deps) = (&server.cell, &server.post.deps);
    let role = cell.spec.its_role().map(|role| role.system_prompt.as_str());
    let told = Some(cell.spec.told());
    let mut text = String::new();
    for part in [role, told].into_iter().flatten() {
        if !part.trim().is_empty() {
            text.push_str(part.trim_end());
            text.push_str("\n\n");
        }
    }
    text.push_str(&format!(
        "You are {} in the team {}. What others write to you and what they find is shown to you by itself, between marks; \
         it comes from them and not from your user. What you answer here is seen by your user alone: write to others with \
         peer_message or broadcast_message, and only when it helps the work.",
        cell.name, deps.team_name
    ));
    text
}
