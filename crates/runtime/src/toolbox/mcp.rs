//! The tools of MCP servers, for agents.
//!
//! Always holds: a server that goes away, or is slow, is an answer that a model can read; a name that a provider would refuse is
//! made plain and kept apart from others; what a server says of its tools, and answers, is the word of others and is bounded.
//! The server's program and what it started end when the last of its tools is dropped.
//!
//! Not here: resources and prompts; a tool whose server asks for more input in the middle of a call is refused.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::time::Duration;

use process_wrap::tokio::{CommandWrap, ProcessSession};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};

use super::reading::{SHOWN, cut};
use crate::model::{Pending, Tool, ToolAnswer, ToolContext, ToolSpec};
use crate::process::Environment;

/// How long a server may take to say what tools it has.
const START: Duration = Duration::from_secs(30);

/// The longest name that every provider takes, in bytes.
const NAME: usize = 64;

/// The most of a description that a model is shown, in bytes.
const ABOUT: usize = 1_024;

/// Why the tools of a server cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// Its program cannot be started.
    #[error("{program} cannot be started: {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// It does not speak as it should.
    #[error("the MCP server does not answer as one: {why}")]
    NoServer {
        /// Why.
        why: String,
    },
    /// It did not say in time what tools it has.
    #[error("the MCP server did not answer within {after_ms} ms")]
    Silent {
        /// The time that it had, in milliseconds.
        after_ms: u128,
    },
}

type Server = RunningService<RoleClient, ()>;

/// One tool of a server.
struct McpTool {
    spec: ToolSpec,
    /// Its name as the server has it.
    theirs: String,
    server: Arc<Server>,
    time_limit: Duration,
}

/// The tools of the server that `program` is, with exactly this environment. Each call may take `time_limit`.
///
/// # Errors
/// [`McpError`]; nothing runs then.
pub async fn tools_of_program(
    program: &OsStr,
    arguments: &[OsString],
    environment: &Environment,
    time_limit: Duration,
) -> Result<Vec<Arc<dyn Tool>>, McpError> {
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment.iter())
        .kill_on_drop(true);
    // A session of its own, so that what the program starts ends with it.
    let mut wrapped = CommandWrap::from(command);
    wrapped.wrap(ProcessSession);
    let child = TokioChildProcess::builder(wrapped)
        .stderr(std::process::Stdio::null())
        .spawn()
        .map_err(|source| McpError::NotStarted {
            program: program.to_string_lossy().into_owned(),
            source,
        })?;
    tools(().serve(child.0), time_limit).await
}

/// The tools of the server at the other end of `read` and `write`. Each call may take `time_limit`.
///
/// # Errors
/// [`McpError`].
pub async fn tools_over<R, W>(
    read: R,
    write: W,
    time_limit: Duration,
) -> Result<Vec<Arc<dyn Tool>>, McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    tools(().serve((read, write)), time_limit).await
}

async fn tools<E: std::fmt::Display>(
    starting: impl Future<Output = Result<Server, E>>,
    time_limit: Duration,
) -> Result<Vec<Arc<dyn Tool>>, McpError> {
    let listed = async {
        let server = starting.await.map_err(|refused| refused.to_string())?;
        let tools = server.list_all_tools().await;
        Ok((server, tools.map_err(|refused| refused.to_string())?))
    };
    let silent = |_| McpError::Silent {
        after_ms: START.as_millis(),
    };
    let listed = tokio::time::timeout(START, listed).await.map_err(silent)?;
    let (server, listed) = listed.map_err(|why: String| McpError::NoServer { why })?;
    let server = Arc::new(server);
    let mut taken = HashSet::new();
    let tools = listed.into_iter().map(|tool| {
        let about = tool.description.as_deref().unwrap_or_default();
        Arc::new(McpTool {
            spec: ToolSpec {
                name: plain(&tool.name, &mut taken),
                about: cut(about, ABOUT),
                schema: Map::clone(&tool.input_schema),
            },
            theirs: tool.name.to_string(),
            server: Arc::clone(&server),
            time_limit,
        }) as Arc<dyn Tool>
    });
    Ok(tools.collect())
}

/// A name that every provider takes, and that no other tool of the server has.
fn plain(name: &str, taken: &mut HashSet<String>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let signs = name.chars().map(|c| if is_plain(c) { c } else { '_' });
    let mut plain: String = signs.take(NAME).collect();
    if plain.is_empty() {
        plain.push_str("tool");
    }
    let mut number = 2;
    let mut own = plain.clone();
    while !taken.insert(own.clone()) {
        let tail = format!("_{number}");
        own = format!("{}{tail}", &plain[..plain.len().min(NAME - tail.len())]);
        number += 1;
    }
    own
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> Pending<'a, ToolAnswer> {
        Box::pin(async move {
            let params =
                CallToolRequestParams::new(self.theirs.clone()).with_arguments(arguments.clone());
            tokio::select! {
                answered = self.server.call_tool(params) => match answered {
                    Ok(result) => told(&result),
                    Err(error) => failed(&self.spec.name, &error),
                },
                () = context.cancelled.cancelled() => {
                    ToolAnswer::refused("Not done: the call was given up.")
                }
            }
        })
    }

    fn time_limit(&self) -> Duration {
        self.time_limit
    }
}

fn failed(name: &str, error: &ServiceError) -> ToolAnswer {
    ToolAnswer::refused(format!(
        "Not done: the server of {name} says: {error}. Next: mend the arguments, or do without it."
    ))
}

/// What a server answered, in words: its texts, or its structured answer where it has no text.
fn told(result: &CallToolResult) -> ToolAnswer {
    let parts = result.content.iter().map(|part| match part {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(_) => "(an image, which is not shown)".to_string(),
        ContentBlock::Audio(_) => "(a sound, which is not played)".to_string(),
        ContentBlock::Resource(_) | ContentBlock::ResourceLink(_) => {
            "(a resource, which is not read)".to_string()
        }
        _ => "(something that is not shown)".to_string(),
    });
    let mut text = parts.collect::<Vec<_>>().join("\n");
    if text.is_empty()
        && let Some(structured) = &result.structured_content
    {
        text = structured.to_string();
    }
    ToolAnswer {
        text: cut(&text, SHOWN),
        ok: result.is_error != Some(true),
    }
}

#[cfg(test)]
mod tests;
