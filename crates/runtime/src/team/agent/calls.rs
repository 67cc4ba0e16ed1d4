//! Tools: which a model is offered, and running those that it calls, side by side.
//!
//! The role is asked twice, when tools are offered and when one is called, so a model that calls what it was not offered
//! is answered and nothing runs. A tool that panics, takes too long or makes no sense of its arguments is an answer too.
//! All of them run inside the agent's own task: when that ends, so have they.
//!
//! The team's own tools for mail and findings are not offered: an agent is shown both without asking.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use tokio_util::sync::CancellationToken;

use super::history::UNSEEN;
use super::server::Post;
use super::spec::AgentSpec;
use crate::model::{Pending, Tool, ToolAnswer, ToolCall, ToolContext, ToolResult, ToolSpec};
use crate::team::TeamDeps;
use crate::team::supervision::panic_words;
use crate::tools::{TOOLS, TeamTools, Verdict};

/// The team's tools that an agent in a program does not need.
const SHOWN_ANYWAY: [&str; 3] = ["read_messages", "ack_message", "read_discoveries"];

/// Where a tool comes from.
enum Source<'a> {
    Own(&'a Arc<dyn Tool>),
    Team,
}

fn of_team(name: &str) -> bool {
    !SHOWN_ANYWAY.contains(&name) && TOOLS.iter().any(|tool| tool.name == name)
}

/// The tools that the model is offered: the agent's own first, then the team's, as far as the role allows.
pub(super) fn offered(spec: &AgentSpec) -> Vec<ToolSpec> {
    let own = spec.own_tools().iter().map(|tool| tool.spec().clone());
    let mut offered: Vec<ToolSpec> = own.collect();
    for tool in TOOLS.iter().filter(|tool| of_team(tool.name)) {
        if offered.iter().all(|known| known.name != tool.name) {
            offered.push(ToolSpec {
                name: tool.name.to_string(),
                about: tool.about.to_string(),
                schema: tool.schema(),
            });
        }
    }
    offered.retain(|tool| spec.allows(&tool.name));
    offered
}

/// Everything that running tools needs.
pub(super) struct Workbench<'a> {
    pub(super) spec: &'a AgentSpec,
    pub(super) post: &'a Post,
    pub(super) tools: &'a TeamTools,
    pub(super) deps: &'a Arc<TeamDeps>,
    pub(super) cancelled: CancellationToken,
}

impl Workbench<'_> {
    /// Runs calls side by side; `done` has a place for the result of each, and is right whenever this is dropped.
    /// `answered` hears of each as it ends.
    pub(super) async fn run(
        &self,
        calls: &[ToolCall],
        done: &mut [Option<ToolResult>],
        mut answered: impl FnMut(&ToolCall, &ToolResult),
    ) {
        let mut running: Vec<Option<Pending<'_, ToolAnswer>>> = calls
            .iter()
            .map(|call| Some(Box::pin(self.one(call)) as Pending<'_, ToolAnswer>))
            .collect();
        poll_fn(|context| {
            let mut left = false;
            for (at, slot) in running.iter_mut().enumerate() {
                let Some(future) = slot else { continue };
                let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
                let answer = match polled {
                    Ok(Poll::Pending) => {
                        left = true;
                        continue;
                    }
                    Ok(Poll::Ready(answer)) => answer,
                    Err(panic) => broken(&*panic),
                };
                *slot = None;
                let result = ToolResult {
                    id: calls[at].id.clone(),
                    text: answer.text,
                    ok: answer.ok,
                };
                answered(&calls[at], &result);
                done[at] = Some(result);
            }
            match left {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
    }

    async fn one(&self, call: &ToolCall) -> ToolAnswer {
        let source = match self.find(&call.name) {
            Ok(source) => source,
            Err(refused) => return refused,
        };
        match source {
            Source::Team => self.ask_team(call).await,
            Source::Own(tool) => {
                let context = ToolContext {
                    agent: self.deps.agent_name.clone(),
                    call_id: call.id.clone(),
                    cancelled: self.cancelled.child_token(),
                    deps: Some(Arc::clone(self.deps)),
                };
                // What the tool has started elsewhere ends with the call, whichever way that ends.
                let _ends = context.cancelled.clone().drop_guard();
                let limit = tool.time_limit();
                let called = tool.call(&call.arguments, &context);
                match tokio::time::timeout(limit, called).await {
                    Ok(answer) => answer,
                    Err(_) => ToolAnswer::refused(format!(
                        "Not done: {} took longer than {} ms and was ended. Next: ask for less at once.",
                        call.name,
                        limit.as_millis()
                    )),
                }
            }
        }
    }

    fn find(&self, name: &str) -> Result<Source<'_>, ToolAnswer> {
        let mut own = self.spec.own_tools().iter();
        let source = match own.find(|tool| tool.spec().name == name) {
            Some(tool) => Some(Source::Own(tool)),
            None => of_team(name).then_some(Source::Team),
        };
        let names = || {
            let offered = offered(self.spec);
            let names: Vec<String> = offered.into_iter().map(|tool| tool.name).collect();
            names.join(", ")
        };
        match source {
            None => Err(ToolAnswer::refused(format!(
                "There is no tool {name:?}. There are: {}.",
                names()
            ))),
            Some(_) if !self.spec.allows(name) => Err(ToolAnswer::refused(format!(
                "Not done: your role {} may not use {name}. You may use: {}.",
                self.spec.role_name(),
                names()
            ))),
            Some(source) => Ok(source),
        }
    }

    async fn ask_team(&self, call: &ToolCall) -> ToolAnswer {
        let (tools, name, arguments) = (
            self.tools.clone(),
            call.name.clone(),
            call.arguments.clone(),
        );
        let step = move |_: &crate::desk::Desk<'_>| tools.call(&name, &arguments);
        match self.post.home.ask_within(&self.post.fence, step).await {
            Some(answer) => ToolAnswer {
                text: answer.text,
                ok: answer.verdict == Verdict::Done,
            },
            None => ToolAnswer::refused(UNSEEN),
        }
    }
}

fn broken(panic: &(dyn Any + Send)) -> ToolAnswer {
    ToolAnswer::refused(format!(
        "Not done, the tool broke: it {}. Next: try once more with other arguments; if it stays, do without it.",
        panic_words(panic)
    ))
}
