//! A model that plays a part: it answers what it was told to, and keeps everything that it was asked.
//!
//! For tests of teams, one's own among them: what stands in [`ScriptedModel::requests`] is what a real model would have
//! seen. A clone is the same model. When the script is over it says `done`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pitcrew_core::price::Micros;
use serde_json::Value;
use tokio::sync::watch;

use super::{Estimate, Model, ModelError, Pending, Reply, Request, ToolCall, Usage};

/// One thing that it was asked.
pub type Asked = Request;

enum Step {
    Answer(Reply),
    Fail(ModelError),
    Panic(String),
    /// Each piece after a span.
    Stream(Vec<String>, Duration),
    Silence,
    /// What comes next, after a span.
    After(Duration),
}

#[derive(Default)]
struct Part {
    steps: VecDeque<Step>,
    requests: Vec<Request>,
    estimate: Option<Estimate>,
    calls: u64,
}

/// See the module.
#[derive(Clone)]
pub struct ScriptedModel {
    name: Arc<str>,
    part: Arc<Mutex<Part>>,
    asked: Arc<watch::Sender<usize>>,
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self::new()
    }
}

impl ScriptedModel {
    /// A model with an empty script.
    #[must_use]
    pub fn new() -> Self {
        Self {
            name: "scripted:part".into(),
            part: Arc::default(),
            asked: Arc::new(watch::channel(0).0),
        }
    }

    fn part(&self) -> MutexGuard<'_, Part> {
        self.part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn then(self, step: Step) -> Self {
        self.part().steps.push_back(step);
        self
    }

    /// Then it says this, and is done. Each call counts 100 tokens read and 20 written.
    #[must_use]
    pub fn say(self, text: &str) -> Self {
        self.reply(Reply {
            text: text.to_string(),
            ..Reply::default()
        })
    }

    /// Then it calls a tool with arguments, a JSON object.
    #[must_use]
    pub fn call_tool(self, name: &str, arguments: Value) -> Self {
        self.call_tools(&[(name, arguments)])
    }

    /// Then it calls tools side by side.
    #[must_use]
    pub fn call_tools(self, calls: &[(&str, Value)]) -> Self {
        let calls = calls.iter().map(|(name, arguments)| {
            let mut part = self.part();
            part.calls += 1;
            ToolCall {
                id: format!("call-{}", part.calls),
                name: (*name).to_string(),
                arguments: arguments.as_object().cloned().unwrap_or_default(),
            }
        });
        let calls = calls.collect();
        self.reply(Reply {
            calls,
            ..Reply::default()
        })
    }

    /// Then it answers this. A reply without usage counts 100 tokens read and 20 written.
    #[must_use]
    pub fn reply(self, mut reply: Reply) -> Self {
        if reply.usage == Usage::default() {
            reply.usage = Usage {
                input: 100,
                output: 20,
                cached: 0,
            };
        }
        self.then(Step::Answer(reply))
    }

    /// Then it fails.
    #[must_use]
    pub fn fail(self, error: ModelError) -> Self {
        self.then(Step::Fail(error))
    }

    /// Then it panics.
    #[must_use]
    pub fn panic(self, words: &str) -> Self {
        self.then(Step::Panic(words.to_string()))
    }

    /// Then it writes these pieces, each after a span.
    #[must_use]
    pub fn stream(self, pieces: &[&str], each: Duration) -> Self {
        let pieces = pieces.iter().map(ToString::to_string).collect();
        self.then(Step::Stream(pieces, each))
    }

    /// Then it never answers.
    #[must_use]
    pub fn silence(self) -> Self {
        self.then(Step::Silence)
    }

    /// Then it thinks for a span before it does what comes next in the script.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        self.then(Step::After(span))
    }

    /// Every call is estimated to use this.
    #[must_use]
    pub fn estimating(self, tokens: u64, cost: Option<Micros>) -> Self {
        self.part().estimate = Some(Estimate { tokens, cost });
        self
    }

    /// Everything that it was asked, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Asked> {
        self.part().requests.clone()
    }

    /// Waits until it was asked at least `count` times, and answers all of that.
    pub async fn asked(&self, count: usize) -> Vec<Asked> {
        let mut asked = self.asked.subscribe();
        // The sender lives as long as this does.
        let _ = asked.wait_for(|so_far| *so_far >= count).await;
        self.requests()
    }

    async fn play(&self, written: &mut (dyn FnMut(&str) + Send)) -> Result<Reply, ModelError> {
        loop {
            let step = self.part().steps.pop_front();
            match step {
                None => {
                    written("done");
                    return Ok(spoken("done".to_string()));
                }
                Some(Step::Answer(reply)) => {
                    if !reply.text.is_empty() {
                        written(&reply.text);
                    }
                    return Ok(reply);
                }
                Some(Step::Fail(error)) => return Err(error),
                Some(Step::Panic(words)) => panic!("{words}"),
                Some(Step::Silence) => std::future::pending().await,
                Some(Step::After(span)) => tokio::time::sleep(span).await,
                Some(Step::Stream(pieces, each)) => {
                    for piece in &pieces {
                        tokio::time::sleep(each).await;
                        written(piece);
                    }
                    return Ok(spoken(pieces.concat()));
                }
            }
        }
    }
}

fn spoken(text: String) -> Reply {
    Reply {
        text,
        usage: Usage {
            input: 100,
            output: 20,
            cached: 0,
        },
        ..Reply::default()
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'a>(
        &'a self,
        request: &'a Request,
        written: &'a mut (dyn FnMut(&str) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        self.part().requests.push(request.clone());
        self.asked.send_modify(|asked| *asked += 1);
        Box::pin(self.play(written))
    }

    fn estimate(&self, request: &Request) -> Estimate {
        let known = self.part().estimate;
        known.unwrap_or(Estimate {
            tokens: request.bytes() / 4 + 256,
            cost: None,
        })
    }
}
