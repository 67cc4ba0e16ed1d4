//! Tools: what a model may have done, and what one knows of who called it.

use std::time::Duration;

use pitcrew_core::Name;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{Pending, ToolSpec};

/// Something that a model can call.
pub trait Tool: Send + Sync {
    /// What a model is told of it.
    fn spec(&self) -> &ToolSpec;

    /// Does it. Arguments that make no sense and everything that goes wrong are answers that the model can read. The
    /// future is dropped when its agent ends; work that it has started elsewhere listens to the context's token.
    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> Pending<'a, ToolAnswer>;

    /// How long it may take; two minutes if not said.
    fn time_limit(&self) -> Duration {
        Duration::from_secs(120)
    }
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// For the model to read.
    pub text: String,
    /// Whether it did what it was called for.
    pub ok: bool,
}

impl ToolAnswer {
    /// It is done, and this came of it.
    #[must_use]
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ok: true,
        }
    }

    /// It is not done: why, and what to do next.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ok: false,
        }
    }
}

/// Who called, and where it belongs.
#[derive(Clone)]
pub struct ToolContext {
    /// The agent that called.
    pub agent: Name,
    /// The id of the call.
    pub call_id: String,
    /// Cancelled when the agent's run ends, however that is.
    pub cancelled: CancellationToken,
}

type Run = dyn Fn(Map<String, Value>, ToolContext) -> Pending<'static, ToolAnswer> + Send + Sync;

/// A tool made of a function.
pub struct ToolFn {
    spec: ToolSpec,
    time_limit: Duration,
    run: Box<Run>,
}

impl ToolFn {
    /// A tool called `name` that takes what `schema`, a JSON schema, says.
    #[must_use]
    pub fn new<F, A>(name: &str, about: &str, schema: Map<String, Value>, run: F) -> Self
    where
        F: Fn(Map<String, Value>, ToolContext) -> A + Send + Sync + 'static,
        A: Future<Output = ToolAnswer> + Send + 'static,
    {
        Self {
            spec: ToolSpec {
                name: name.to_string(),
                about: about.to_string(),
                schema,
            },
            time_limit: Duration::from_secs(120),
            run: Box::new(move |arguments, context| Box::pin(run(arguments, context))),
        }
    }

    /// The same, and it may take so long.
    #[must_use]
    pub fn within(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }
}

impl Tool for ToolFn {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> Pending<'a, ToolAnswer> {
        (self.run)(arguments.clone(), context.clone())
    }

    fn time_limit(&self) -> Duration {
        self.time_limit
    }
}
