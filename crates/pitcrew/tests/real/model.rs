//! A scripted model on loopback that speaks four wire formats, streaming: OpenAI Responses and Chat, Anthropic Messages and
//! Gemini. What it answers depends on a word in the last thing that the user said:
//!
//! | word | answer |
//! |---|---|
//! | `LIMIT-<name>` | 429, until [`Model::lift`] |
//! | `HANG-<name>` | nothing, until [`Model::lift`] |
//! | `TOOL-<name>` | a call of the shell tool that runs `pitcrew send`, then text |
//! | `EDIT-<name>` | a call of the tool that writes a file, for the file `<name>`, then text |
//! | `ASK-<name>` | a call of the shell tool that makes a file `<name>`, beyond what a sandbox allows, then text |
//! | `new message(s)`, where no hook has shown them | a call of the shell tool that reads the oldest message, then text |
//! | any other | text with a number |
#![allow(dead_code, reason = "each test program uses what it needs of it")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// How agent CLIs call the tool that runs a command.
const SHELLS: [&str; 7] = [
    "run_shell_command",
    "shell_command",
    "exec_command",
    "shell",
    "bash",
    "Bash",
    "local_shell",
];

/// How agent CLIs call the tool that writes a file.
const WRITERS: [&str; 3] = ["Write", "write_file", "create"];

/// So long an answer is held back at most.
const LONGEST_HANG: Duration = Duration::from_secs(120);

#[derive(Default)]
struct State {
    lifted: BTreeSet<String>,
    asked: Vec<String>,
    heard: Vec<String>,
    folder: String,
    number: u32,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// The model.
pub(crate) struct Model {
    pub(crate) address: String,
    shared: Arc<Shared>,
}

/// What is answered.
enum Reply {
    Text(String),
    /// A tool, its arguments, and what is said with the call.
    Call(String, Value),
    Limit,
}

impl Model {
    /// Listens on a port of the system's choice, as long as this program lives.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&own);
                // A client that hangs up ends its own thread.
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { address, shared }
    }

    /// Ends a limit or a silence: `LIMIT-x` or `HANG-x`.
    pub(crate) fn lift(&self, word: &str) {
        let mut state = self.shared.state.lock().expect("the model lives");
        state.lifted.insert(word.to_string());
        self.shared.changed.notify_all();
    }

    /// Waits until somebody said a word.
    pub(crate) fn was_asked(&self, word: &str) {
        let state = self.shared.state.lock().expect("the model lives");
        let unsaid = |state: &mut State| !state.asked.iter().any(|said| said.contains(word));
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, LONGEST_HANG, unsaid)
            .expect("the model lives");
        assert!(!waited.1.timed_out(), "nobody said {word}");
    }

    /// Where the files are that it edits.
    pub(crate) fn works_in(&self, folder: &std::path::Path) {
        let mut state = self.shared.state.lock().expect("the model lives");
        state.folder = folder.to_string_lossy().into_owned();
    }

    /// Whether a main request held this text anywhere.
    pub(crate) fn heard(&self, text: &str) -> bool {
        let state = self.shared.state.lock().expect("the model lives");
        state.heard.iter().any(|body| body.contains(text))
    }

    /// Everything that users said last, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared
            .state
            .lock()
            .expect("the model lives")
            .asked
            .clone()
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split_whitespace().nth(1)?.to_string();
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        chunked |= header.starts_with("transfer-encoding:") && header.contains("chunked");
    }
    let body = if chunked {
        read_chunks(&mut reader)?
    } else {
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        body
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    answer(stream, path.split('?').next()?, &path, &body, shared)
}

fn read_chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim().split(';').next()?, 16).ok()?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

fn answer(stream: TcpStream, plain: &str, path: &str, body: &Value, shared: &Shared) -> Option<()> {
    let kind = if plain.ends_with("/responses") {
        "responses"
    } else if plain.ends_with("/chat/completions") {
        "chat"
    } else if plain.ends_with("/messages") {
        "messages"
    } else if plain.ends_with("enerateContent") {
        "gemini"
    } else if plain.ends_with("count_tokens") {
        return whole(stream, 200, &json!({ "input_tokens": 100 }));
    } else if plain.ends_with(":countTokens") {
        return whole(stream, 200, &json!({ "totalTokens": 100 }));
    } else {
        return whole(
            stream,
            404,
            &json!({ "error": { "message": "no such path" } }),
        );
    };
    let streams = body["stream"] == true || path.contains("streamGenerateContent");
    let (number, reply) = decide(kind, body, shared);
    if let Reply::Limit = reply {
        let message = "Rate limit reached: usage limit, try again in 2 seconds.";
        let error = match kind {
            "gemini" => {
                json!({ "error": { "code": 429, "message": message, "status": "RESOURCE_EXHAUSTED" } })
            }
            _ => {
                json!({ "type": "error", "error": { "type": "rate_limit_error", "message": message } })
            }
        };
        return whole(stream, 429, &error);
    }
    match kind {
        "responses" => responses(stream, streams, number, &reply),
        "messages" => messages(stream, streams, number, &reply),
        "chat" => chat(stream, streams, number, &reply),
        _ => gemini(stream, streams, number, &reply),
    }
}

/// What to answer, after what is to be waited for.
fn decide(kind: &str, body: &Value, shared: &Shared) -> (u32, Reply) {
    let (said, after_tool) = last_said(kind, body);
    let tools = tools(body);
    let mut state = shared.state.lock().expect("the model lives");
    state.number += 1;
    let number = state.number;
    let plain = Reply::Text(format!("MODEL-REPLY-{number}"));
    // Titles and other side calls carry no tools.
    if !tools.is_empty() {
        state.heard.push(body.to_string());
    }
    if tools.is_empty() || after_tool {
        return (number, plain);
    }
    state.asked.push(said.clone());
    shared.changed.notify_all();
    let word = |start: &str| {
        let at = said.find(start)?;
        let rest = &said[at..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        Some(rest[..end.unwrap_or(rest.len())].to_string())
    };
    if word("LIMIT-").is_some_and(|word| !state.lifted.contains(&word)) {
        return (number, Reply::Limit);
    }
    if let Some(word) = word("HANG-") {
        let silent = |state: &mut State| !state.lifted.contains(&word);
        let waited = shared
            .changed
            .wait_timeout_while(state, LONGEST_HANG, silent);
        drop(waited);
        return (number, plain);
    }
    if let Some(word) = word("EDIT-") {
        let mut writers = WRITERS.iter();
        let writer = writers.find_map(|writer| tools.iter().find(|(name, _)| name == writer));
        return match writer {
            Some((name, schema)) => {
                let file = format!("{}/{word}", state.folder);
                (number, Reply::Call(name.clone(), edit(schema, &file)))
            }
            None => (number, plain),
        };
    }
    let command = if let Some(word) = word("TOOL-") {
        format!("pitcrew send leader {word}")
    } else if let Some(word) = word("ASK-") {
        format!("touch {word}")
    } else if said.contains("new message(s)") && !body.to_string().contains("new message for you") {
        "pitcrew inbox --next --and-ack".to_string()
    } else {
        return (number, plain);
    };
    let shell = SHELLS
        .iter()
        .find_map(|shell| tools.iter().find(|(name, _)| name == shell));
    let Some((name, schema)) = shell else {
        return (number, plain);
    };
    let mut call = arguments(schema, &command);
    if command.starts_with("touch") && schema["properties"]["sandbox_permissions"].is_object() {
        call["sandbox_permissions"] = json!("require_escalated");
        call["justification"] = json!("it needs a file");
    }
    (number, Reply::Call(name.clone(), call))
}

/// Arguments that write `file`.
fn edit(schema: &Value, file: &str) -> Value {
    let mut call = arguments(schema, "");
    let properties = &schema["properties"];
    for key in ["file_path", "path"] {
        if properties[key].is_object() {
            call[key] = json!(file);
        }
    }
    for key in ["content", "file_text"] {
        if properties[key].is_object() {
            call[key] = json!("written\n");
        }
    }
    call
}

fn tools(body: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let first = |choices: &[&Value]| {
            let there = choices.iter().find(|choice| choice.is_object());
            there.map_or(Value::Null, |choice| (**choice).clone())
        };
        if let Some(functions) = tool["functionDeclarations"].as_array() {
            for function in functions {
                let schema = first(&[&function["parametersJsonSchema"], &function["parameters"]]);
                found.push((text(&function["name"]), schema));
            }
        } else {
            let own = match tool["function"].is_object() {
                true => &tool["function"],
                false => tool,
            };
            let schema = first(&[&own["input_schema"], &own["parameters"]]);
            found.push((text(&own["name"]), schema));
        }
    }
    found
}

/// Arguments that a tool's schema accepts, with the command where it belongs.
fn arguments(schema: &Value, command: &str) -> Value {
    let properties = &schema["properties"];
    let mut arguments = json!({});
    for key in schema["required"].as_array().into_iter().flatten() {
        let Some(key) = key.as_str() else { continue };
        let property = &properties[key];
        let kind = property["type"]
            .as_str()
            .unwrap_or("string")
            .to_ascii_lowercase();
        arguments[key] = match (property["enum"].get(0), kind.as_str()) {
            (Some(first), _) => first.clone(),
            (None, "number" | "integer") => json!(10_000),
            (None, "boolean") => json!(false),
            (None, "array") => json!([]),
            (None, "object") => json!({}),
            (None, _) => json!("x"),
        };
    }
    for key in ["command", "cmd"] {
        if properties[key].is_object() {
            arguments[key] = match properties[key]["type"].as_str() {
                Some("array") => json!(["bash", "-c", command]),
                _ => json!(command),
            };
        }
    }
    arguments
}

/// The last text of the user, and whether a tool's result came after it.
fn last_said(kind: &str, body: &Value) -> (String, bool) {
    let turns = match kind {
        "responses" => &body["input"],
        "messages" | "chat" => &body["messages"],
        _ => &body["contents"],
    };
    let (mut said, mut after_tool) = (String::new(), false);
    for turn in turns.as_array().into_iter().flatten() {
        let parts = [&turn["content"], &turn["parts"]];
        let is_result =
            |part: &Value| part["type"] == "tool_result" || part["functionResponse"].is_object();
        let has_result = parts
            .iter()
            .filter_map(|parts| parts.as_array())
            .flatten()
            .any(is_result);
        let call_output = turn["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("_call_output"));
        if has_result || call_output || turn["role"] == "tool" {
            after_tool = true;
            continue;
        }
        let text: String = parts.iter().map(|parts| text_of(parts)).collect();
        if turn["role"] == "user" && !text.trim().is_empty() {
            (said, after_tool) = (text, false);
        }
    }
    (said, after_tool)
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => part.get("text").map(text_of).unwrap_or_default(),
        _ => String::new(),
    }
}

fn whole(mut stream: TcpStream, status: u16, body: &Value) -> Option<()> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()
}

fn events(mut stream: TcpStream, named: bool, events: &[Value]) -> Option<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    for event in events {
        if let (true, Some(name)) = (named, event["type"].as_str()) {
            stream
                .write_all(format!("event: {name}\n").as_bytes())
                .ok()?;
        }
        stream
            .write_all(format!("data: {event}\n\n").as_bytes())
            .ok()?;
    }
    stream.flush().ok()
}

fn said(reply: &Reply) -> &str {
    match reply {
        Reply::Text(text) => text,
        Reply::Call(..) | Reply::Limit => "I will run a command.",
    }
}

fn responses(stream: TcpStream, streams: bool, number: u32, reply: &Reply) -> Option<()> {
    let (id, text) = (format!("msg_{number}"), said(reply));
    let message = json!({
        "type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    });
    let mut output = vec![message.clone()];
    if let Reply::Call(name, arguments) = reply {
        output.push(json!({
            "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
            "name": name, "arguments": arguments.to_string(), "status": "completed",
        }));
    }
    let usage = json!({
        "input_tokens": 100, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 10,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 110,
    });
    let response = |status: &str, output: &[Value]| {
        json!({
            "id": format!("resp_{number}"), "object": "response", "created_at": 1, "status": status, "model": "mock-model",
            "output": output, "usage": if status == "completed" { usage.clone() } else { Value::Null },
        })
    };
    if !streams {
        return whole(stream, 200, &response("completed", &output));
    }
    let mut all = vec![
        json!({ "type": "response.created", "response": response("in_progress", &[]) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": [] } }),
        json!({ "type": "response.content_part.added", "item_id": id, "output_index": 0, "content_index": 0, "part": { "type": "output_text", "text": "", "annotations": [] } }),
        json!({ "type": "response.output_text.delta", "item_id": id, "output_index": 0, "content_index": 0, "delta": text }),
        json!({ "type": "response.output_text.done", "item_id": id, "output_index": 0, "content_index": 0, "text": text }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": message }),
    ];
    if let Some(call) = output.get(1) {
        all.push(json!({ "type": "response.output_item.added", "output_index": 1, "item": call }));
        all.push(json!({ "type": "response.function_call_arguments.done", "item_id": call["id"], "output_index": 1, "arguments": call["arguments"] }));
        all.push(json!({ "type": "response.output_item.done", "output_index": 1, "item": call }));
    }
    all.push(json!({ "type": "response.completed", "response": response("completed", &output) }));
    events(stream, true, &all)
}

fn messages(stream: TcpStream, streams: bool, number: u32, reply: &Reply) -> Option<()> {
    let call = match reply {
        Reply::Call(name, arguments) => Some((format!("toolu_{number}"), name, arguments)),
        Reply::Text(_) | Reply::Limit => None,
    };
    let reason = if call.is_some() {
        "tool_use"
    } else {
        "end_turn"
    };
    let text = said(reply);
    let mut message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "mock-model", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 100, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 },
    });
    if !streams {
        let mut content = vec![json!({ "type": "text", "text": text })];
        if let Some((id, name, arguments)) = call {
            content.push(json!({ "type": "tool_use", "id": id, "name": name, "input": arguments }));
        }
        message["content"] = content.into();
        message["stop_reason"] = reason.into();
        return whole(stream, 200, &message);
    }
    let mut all = vec![
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
        json!({ "type": "content_block_stop", "index": 0 }),
    ];
    if let Some((id, name, arguments)) = call {
        all.push(json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": id, "name": name, "input": {} } }));
        all.push(json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": arguments.to_string() } }));
        all.push(json!({ "type": "content_block_stop", "index": 1 }));
    }
    all.push(json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": { "output_tokens": 10 } }));
    all.push(json!({ "type": "message_stop" }));
    events(stream, true, &all)
}

fn gemini(stream: TcpStream, streams: bool, number: u32, reply: &Reply) -> Option<()> {
    let mut parts = vec![json!({ "text": said(reply) })];
    if let Reply::Call(name, arguments) = reply {
        parts.push(json!({ "functionCall": { "name": name, "args": arguments } }));
    }
    let answer = json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110 },
        "modelVersion": "mock-model", "responseId": format!("r{number}"),
    });
    if streams {
        events(stream, false, &[answer])
    } else {
        whole(stream, 200, &answer)
    }
}

fn chat(mut stream: TcpStream, streams: bool, number: u32, reply: &Reply) -> Option<()> {
    let call = match reply {
        Reply::Call(name, arguments) => Some(json!([{
            "index": 0, "id": format!("call_{number}"), "type": "function",
            "function": { "name": name, "arguments": arguments.to_string() },
        }])),
        Reply::Text(_) | Reply::Limit => None,
    };
    let reason = if call.is_some() { "tool_calls" } else { "stop" };
    let base = |object: &str, choices: Value| {
        json!({
            "id": format!("chatcmpl-{number}"), "object": object, "created": 1, "model": "mock-model", "choices": choices,
            "usage": { "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 },
        })
    };
    let mut message = json!({ "role": "assistant", "content": said(reply) });
    if !streams {
        if let Some(call) = call {
            message["tool_calls"] = call;
        }
        let choices = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
        return whole(stream, 200, &base("chat.completion", choices));
    }
    let chunk = |delta: Value, reason: Value| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
        base("chat.completion.chunk", choices)
    };
    let mut all = vec![chunk(message, Value::Null)];
    if let Some(call) = call {
        all.push(chunk(json!({ "tool_calls": call }), Value::Null));
    }
    all.push(chunk(json!({}), json!(reason)));
    events(stream.try_clone().ok()?, false, &all)?;
    stream.write_all(b"data: [DONE]\n\n").ok()
}
