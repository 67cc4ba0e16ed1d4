//! A request in the client crate's words.
//!
//! Order is kept: turns as they stand, results in the order of their calls. A turn that says nothing is left out, because
//! providers refuse empty ones.

use std::collections::HashMap;

use genai::chat::{
    ChatMessage, ChatRequest, ContentPart, MessageContent, Tool, ToolCall as Call, ToolResponse,
};
use serde_json::Value;

use crate::model::{Request, ToolResult, ToolSpec, Turn};

/// How the results of calls made side by side are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Results {
    /// As one message.
    Together,
    /// Each as a message of its own: of several in one, the client crate sends Ollama only one.
    Apart,
}

/// The whole request.
pub(super) fn chat(request: &Request, sent: Results) -> ChatRequest {
    // Some providers want the name of the tool beside the id of the call.
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut messages = Vec::with_capacity(request.turns.len());
    for turn in &request.turns {
        match turn {
            Turn::User { text } if text.is_empty() => {}
            Turn::User { text } => messages.push(ChatMessage::user(text.clone())),
            Turn::Assistant { text, calls } => {
                let mut parts = Vec::with_capacity(calls.len() + 1);
                if !text.is_empty() {
                    parts.push(ContentPart::from_text(text.clone()));
                }
                for call in calls {
                    names.insert(&call.id, &call.name);
                    parts.push(ContentPart::ToolCall(Call {
                        call_id: call.id.clone(),
                        fn_name: call.name.clone(),
                        fn_arguments: Value::Object(call.arguments.clone()),
                        thought_signatures: None,
                    }));
                }
                if !parts.is_empty() {
                    messages.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
                }
            }
            Turn::Tools { results } if results.is_empty() => {}
            Turn::Tools { results } => {
                let responses = results.iter().map(|result| response(result, &names));
                match sent {
                    Results::Together => {
                        messages.push(ChatMessage::tool(responses.collect::<Vec<_>>()));
                    }
                    Results::Apart => messages.extend(responses.map(ChatMessage::tool)),
                }
            }
        }
    }
    let mut chat = ChatRequest::new(messages);
    if !request.system.is_empty() {
        chat.system = Some(request.system.clone());
    }
    if !request.tools.is_empty() {
        chat.tools = Some(request.tools.iter().map(tool).collect());
    }
    chat
}

fn response(result: &ToolResult, names: &HashMap<&str, &str>) -> ToolResponse {
    let response = ToolResponse::new(result.id.clone(), result.text.clone());
    match names.get(result.id.as_str()) {
        Some(name) => response.with_fn_name(*name),
        None => response,
    }
}

fn tool(spec: &ToolSpec) -> Tool {
    Tool::new(spec.name.clone())
        .with_description(spec.about.clone())
        .with_schema(Value::Object(spec.schema.clone()))
}
