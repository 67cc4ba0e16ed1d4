//! Providers against a server on loopback: what stands in the requests, and what comes of every kind of answer.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::*;
use crate::clock::ManualClock;
use crate::model::{Stop, ToolCall, ToolResult, ToolSpec, Turn, Usage};

mod server;

use server::{Answer, Server, anthropic, openai, openai_end, openai_text};

fn settings(server: &Server) -> Settings {
    Settings {
        key: Some("sk-very-secret".to_string()),
        base_url: Some(server.url.clone()),
        clock: Arc::new(ManualClock::at(1_000_000)),
        ..Settings::default()
    }
}

fn open(name: &str, server: &Server) -> Provider {
    Provider::open(name, settings(server)).unwrap()
}

async fn call(provider: &Provider, request: &Request) -> (Result<Reply, ModelError>, Vec<String>) {
    let mut pieces = Vec::new();
    let mut written = |piece: &str| pieces.push(piece.to_string());
    let reply = provider.call(request, &mut written).await;
    (reply, pieces)
}

fn asking(text: &str) -> Request {
    Request {
        turns: vec![Turn::User {
            text: text.to_string(),
        }],
        ..Request::default()
    }
}

/// A conversation with two calls side by side, their results in order, and mail in an envelope.
fn conversation() -> Request {
    let call = |id: &str, path: &str| ToolCall {
        id: id.to_string(),
        name: "read_file".to_string(),
        arguments: Map::from_iter([("path".to_string(), path.into())]),
    };
    let result = |id: &str, text: &str| ToolResult {
        id: id.to_string(),
        text: text.to_string(),
        ok: true,
    };
    Request {
        system: "You are the researcher.".to_string(),
        turns: vec![
            Turn::User {
                text: "<message-b1 from=\"bob\">look at a and b</message-b1>".to_string(),
            },
            Turn::Assistant {
                text: "I look.".to_string(),
                calls: vec![call("c1", "a"), call("c2", "b")],
            },
            Turn::Tools {
                results: vec![result("c1", "text of a"), result("c2", "text of b")],
            },
            Turn::User {
                text: "and?".to_string(),
            },
        ],
        tools: vec![ToolSpec::bare("read_file", "Read a file.")],
    }
}

fn streamed(text: &[&str]) -> Answer {
    let mut events: Vec<String> = text.iter().map(|piece| openai_text(piece)).collect();
    events.extend(openai_end("stop"));
    Answer::Stream(events)
}

#[tokio::test]
async fn openai_is_sent_role_tools_envelopes_and_results_in_order() {
    let server = Server::playing(vec![streamed(&["so ", "it is"])]).await;
    let mut settings = settings(&server);
    (settings.max_output_tokens, settings.temperature) = (Some(700), Some(0.5));
    let provider = Provider::open("openai:gpt-4o", settings).unwrap();
    let (reply, pieces) = call(&provider, &conversation()).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("so it is", Stop::Done));
    assert_eq!(pieces, ["so ", "it is"]);
    let usage = Usage {
        input: 1_000,
        output: 50,
        cached: 400,
    };
    assert_eq!(reply.usage, usage);
    // 600 at $2.50, 400 at $1.25, 50 at $10, each for a million.
    assert_eq!(reply.cost.unwrap().get(), 1_500 + 500 + 500);

    let heard = &server.heard()[0];
    assert_eq!(heard.path, "/v1/chat/completions");
    assert!(heard.head.contains("authorization: bearer sk-very-secret"));
    let body = &heard.body;
    assert_eq!(
        (&body["model"], &body["stream"]),
        (&json!("gpt-4o"), &json!(true))
    );
    assert_eq!(body["temperature"], json!(0.5));
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|one| one["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "tool", "user"]
    );
    assert_eq!(messages[0]["content"], "You are the researcher.");
    assert!(
        messages[1]["content"]
            .as_str()
            .unwrap()
            .contains("<message-b1 from=\"bob\">")
    );
    let calls = messages[2]["tool_calls"].as_array().unwrap();
    assert_eq!(
        (&calls[0]["id"], &calls[1]["id"]),
        (&json!("c1"), &json!("c2"))
    );
    assert_eq!(calls[1]["function"]["arguments"], "{\"path\":\"b\"}");
    assert_eq!(
        (&messages[3]["tool_call_id"], &messages[3]["content"]),
        (&json!("c1"), &json!("text of a"))
    );
    assert_eq!(
        (&messages[4]["tool_call_id"], &messages[4]["content"]),
        (&json!("c2"), &json!("text of b"))
    );
    let tools = body["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["function"]["name"], "read_file");
    assert_eq!(tools[0]["function"]["description"], "Read a file.");
}

#[tokio::test]
async fn openai_calls_several_tools_side_by_side() {
    let piece = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut call = json!({ "index": index, "function": { "arguments": arguments } });
        if let (Some(id), Some(name)) = (id, name) {
            call["id"] = id.into();
            call["function"]["name"] = name.into();
        }
        openai(&json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] }))
    };
    let mut events = vec![
        piece(0, Some("x"), Some("read_file"), "{\"pa"),
        piece(0, None, None, "th\":\"a\"}"),
        piece(1, Some("x"), Some("list_files"), ""),
        piece(2, Some("z"), Some("search"), "{broken"),
    ];
    events.extend(openai_end("tool_calls"));
    let server = Server::playing(vec![Answer::Stream(events)]).await;
    let (reply, _) = call(&open("openai:gpt-4o", &server), &asking("go")).await;
    let calls = reply.unwrap().calls;
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["read_file", "list_files", "search"]);
    assert_eq!(
        Value::Object(calls[0].arguments.clone()),
        json!({ "path": "a" })
    );
    assert_eq!(calls[1].arguments, Map::new());
    assert_ne!(calls[0].id, calls[1].id, "an id that came twice");
    assert_eq!(calls[2].arguments["not_json"], "{broken");
}

fn anthropic_answer() -> Vec<String> {
    let start = json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "usage": {
        "input_tokens": 100, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 20, "output_tokens": 1 } } });
    let events = [
        start,
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hm." } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "t1", "name": "read_file", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"path\":" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "\"a\"}" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 30 } }),
        json!({ "type": "message_stop" }),
    ];
    events.iter().map(anthropic).collect()
}

#[tokio::test]
async fn anthropic_is_spoken_both_ways() {
    let server = Server::playing(vec![Answer::Stream(anthropic_answer())]).await;
    let provider = open("anthropic:claude-sonnet-4-5", &server);
    let (reply, pieces) = call(&provider, &conversation()).await;
    let reply = reply.unwrap();
    assert_eq!(
        (reply.text.as_str(), pieces),
        ("Hm.", vec!["Hm.".to_string()])
    );
    assert_eq!(reply.calls[0].id, "t1");
    assert_eq!(reply.calls[0].arguments["path"], "a");
    assert_eq!(
        (reply.usage.input, reply.usage.cached, reply.usage.output),
        (420, 300, 30)
    );

    let heard = &server.heard()[0];
    assert_eq!(heard.path, "/v1/messages");
    assert!(heard.head.contains("x-api-key: sk-very-secret"));
    let body = &heard.body;
    assert!(
        body["system"]
            .to_string()
            .contains("You are the researcher.")
    );
    assert_eq!(body["tools"][0]["name"], "read_file");
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|one| one["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "user"]);
    let results = messages[2]["content"].as_array().unwrap();
    assert_eq!(
        (&results[0]["tool_use_id"], &results[1]["tool_use_id"]),
        (&json!("c1"), &json!("c2"))
    );
    assert_eq!(results[0]["type"], "tool_result");
    assert!(body["max_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn gemini_is_spoken_both_ways_and_a_cut_answer_is_noticed() {
    let piece = |parts: Value, more: Value| {
        let mut event =
            json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
        if let Value::Object(more) = more {
            for (key, value) in more {
                match key.as_str() {
                    "finishReason" => event["candidates"][0][key] = value,
                    _ => event[key] = value,
                }
            }
        }
        openai(&event)
    };
    let usage = json!({ "promptTokenCount": 80, "cachedContentTokenCount": 30, "candidatesTokenCount": 9, "totalTokenCount": 89 });
    let first = piece(json!([{ "text": "Hm." }]), Value::Null);
    let call_piece = json!([{ "functionCall": { "name": "read_file", "args": { "path": "a" } } }]);
    let last = piece(
        call_piece,
        json!({ "finishReason": "STOP", "usageMetadata": usage }),
    );
    let server = Server::playing(vec![
        Answer::Stream(vec![first.clone(), last]),
        Answer::Stream(vec![first]),
    ])
    .await;
    let provider = open("gemini:gemini-2.0-flash", &server);
    let (reply, _) = call(&provider, &conversation()).await;
    let reply = reply.unwrap();
    assert_eq!(reply.text, "Hm.");
    assert_eq!(
        (
            reply.calls[0].name.as_str(),
            &reply.calls[0].arguments["path"]
        ),
        ("read_file", &json!("a"))
    );
    assert_eq!(
        (reply.usage.input, reply.usage.cached, reply.usage.output),
        (80, 30, 9)
    );
    let heard = &server.heard()[0];
    assert_eq!(
        heard.path,
        "/v1/models/gemini-2.0-flash:streamgeneratecontent?alt=sse"
    );
    assert!(heard.head.contains("x-goog-api-key: sk-very-secret"));
    let body = heard.body.to_string();
    for part in [
        "You are the researcher.",
        "functionDeclarations",
        "functionResponse",
        "text of b",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    let (reply, _) = call(&provider, &asking("go")).await;
    assert!(matches!(reply.unwrap_err(), ModelError::Unavailable { .. }));
}

#[tokio::test]
async fn ollama_is_spoken_both_ways() {
    let line = |value: Value| format!("{value}\n");
    let calls = json!([{ "function": { "name": "read_file", "arguments": { "path": "a" } } }]);
    let server = Server::playing(vec![
        Answer::Stream(vec![
            line(json!({ "message": { "role": "assistant", "content": "Hm." }, "done": false })),
            line(json!({ "message": { "role": "assistant", "content": "", "tool_calls": calls }, "done": false })),
            line(json!({ "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop",
                "prompt_eval_count": 40, "eval_count": 6 })),
        ]),
        Answer::Stream(vec![line(json!({ "message": { "role": "assistant", "content": "Hm." }, "done": false }))]),
    ])
    .await;
    let provider = open("ollama:llama3", &server);
    let (reply, pieces) = call(&provider, &conversation()).await;
    let reply = reply.unwrap();
    assert_eq!(
        (reply.text.as_str(), pieces),
        ("Hm.", vec!["Hm.".to_string()])
    );
    assert_eq!(reply.calls[0].arguments["path"], "a");
    assert_eq!(
        (reply.usage.input, reply.usage.output, reply.cost),
        (40, 6, None)
    );
    let heard = &server.heard()[0];
    assert_eq!(heard.path, "/v1/api/chat");
    let messages = heard.body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|one| one["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "tool", "user"]
    );
    assert_eq!(heard.body["tools"][0]["function"]["name"], "read_file");
    let (reply, _) = call(&provider, &asking("go")).await;
    assert!(matches!(reply.unwrap_err(), ModelError::Unavailable { .. }));
}

#[tokio::test]
async fn g9_a_provider_that_takes_no_more_says_when_to_come_back() {
    let quota =
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#;
    let limit = r#"{"error":{"message":"slow down, sk-very-secret"}}"#;
    let server = Server::playing(vec![
        Answer::Status(429, "retry-after: 7\r\n", limit),
        Answer::Status(429, "retry-after-ms: 250\r\n", limit),
        Answer::Status(429, "", limit),
        Answer::Status(429, "retry-after: 3600\r\n", limit),
        Answer::Status(503, "retry-after: Thu, 01 Jan 1970 00:17:00 GMT\r\n", "{}"),
        Answer::Status(429, "", quota),
    ])
    .await;
    let provider = open("openai:gpt-4o", &server);
    let mut errors = Vec::new();
    for _ in 0..6 {
        errors.push(call(&provider, &asking("go")).await.0.unwrap_err());
    }
    let limited = |error: &ModelError| match error {
        ModelError::RateLimited {
            retry_after_ms,
            why,
        } => {
            assert!(!why.contains("very-secret"), "{why}");
            *retry_after_ms
        }
        other => panic!("{other}"),
    };
    assert_eq!(limited(&errors[0]), Some(7_000));
    assert_eq!(limited(&errors[1]), Some(250));
    assert_eq!(limited(&errors[2]), None);
    assert!(matches!(
        &errors[3],
        ModelError::UsageLimit {
            resets_at_ms: 4_600_000,
            ..
        }
    ));
    assert_eq!(limited(&errors[4]), Some(20_000));
    assert!(
        matches!(&errors[5], ModelError::Rejected { .. }),
        "{}",
        errors[5]
    );
}

#[tokio::test]
async fn every_status_is_told_for_what_it_is() {
    let too_long = r#"{"error":{"message":"This model's maximum context length is 128000 tokens","code":"context_length_exceeded"}}"#;
    let server = Server::playing(vec![
        Answer::Status(500, "", "<html>oops</html>"),
        Answer::Status(529, "", r#"{"error":{"message":"Overloaded"}}"#),
        Answer::Status(400, "", too_long),
        Answer::Status(400, "", r#"{"error":{"message":"bad tool"}}"#),
        Answer::Status(
            401,
            "",
            r#"{"error":{"message":"Incorrect API key provided: sk-very-secret"}}"#,
        ),
    ])
    .await;
    let provider = open("openai:gpt-4o", &server);
    let mut told = Vec::new();
    for _ in 0..5 {
        let error = call(&provider, &asking("go")).await.0.unwrap_err();
        assert!(!error.to_string().contains("very-secret"));
        told.push((error.is_transient(), error.to_string()));
    }
    assert_eq!(
        told[0],
        (
            true,
            "the provider does not answer: 500: <html>oops</html>".into()
        )
    );
    assert_eq!(
        told[1],
        (true, "the provider does not answer: 529: Overloaded".into())
    );
    assert!(
        told[2]
            .1
            .starts_with("the conversation is too long for the model: 400")
    );
    assert_eq!(
        told[3],
        (
            false,
            "the provider refused the request: 400: bad tool".into()
        )
    );
    assert!(told[4].1.contains("the key was refused"), "{}", told[4].1);
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_a_failure() {
    let server = Server::playing(vec![
        Answer::Cut(vec![openai_text("half a sen")]),
        Answer::Stream(vec![openai_text("half a sen")]),
        Answer::Stream(vec!["data: {not json\n\n".to_string()]),
        Answer::Stream(vec![openai(
            &json!({ "error": { "message": "went wrong", "type": "server_error" } }),
        )]),
        Answer::Stream(vec!["\0\u{1}garbage".to_string()]),
    ])
    .await;
    let provider = open("openai:gpt-4o", &server);
    for _ in 0..5 {
        let (reply, _) = call(&provider, &asking("go")).await;
        let error = reply.unwrap_err();
        assert!(matches!(error, ModelError::Unavailable { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_silent_answer_and_an_endless_one_are_given_up() {
    let server = Server::playing(vec![
        Answer::Silent(vec![openai_text("well")]),
        Answer::Endless(openai_text("and "), Duration::from_millis(1)),
    ])
    .await;
    let mut settings = settings(&server);
    settings.silence_limit = Duration::from_millis(40);
    let provider = Provider::open("openai:gpt-4o", settings.clone()).unwrap();
    let (reply, pieces) = call(&provider, &asking("go")).await;
    assert_eq!(
        (reply.unwrap_err(), pieces),
        (
            ModelError::TimedOut { after_ms: 40 },
            vec!["well".to_string()]
        )
    );
    (settings.silence_limit, settings.time_limit) =
        (Duration::from_secs(9), Duration::from_millis(60));
    let provider = Provider::open("openai:gpt-4o", settings).unwrap();
    let (reply, pieces) = call(&provider, &asking("go")).await;
    assert_eq!(reply.unwrap_err(), ModelError::TimedOut { after_ms: 60 });
    assert!(!pieces.is_empty());
}

#[tokio::test]
async fn a_huge_answer_arrives_whole_and_one_beyond_measure_is_refused() {
    let piece = "x".repeat(512 * 1024);
    let events = |count| vec![piece.as_str(); count];
    let server = Server::playing(vec![streamed(&events(8)), streamed(&events(17))]).await;
    let provider = open("openai:gpt-4o", &server);
    let (reply, _) = call(&provider, &asking("go")).await;
    assert_eq!(reply.unwrap().text.len(), 4 * 1024 * 1024);
    let (reply, _) = call(&provider, &asking("go")).await;
    assert!(matches!(reply.unwrap_err(), ModelError::Rejected { .. }));
}

#[tokio::test]
async fn an_answer_at_its_limit_says_so_and_half_a_call_is_refused() {
    let mut text = vec![openai_text("so far")];
    text.extend(openai_end("length"));
    let call_piece =
        json!({ "index": 0, "id": "x", "function": { "name": "search", "arguments": "{\"te" } });
    let mut half = vec![openai(
        &json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call_piece] } }] }),
    )];
    half.extend(openai_end("length"));
    let server = Server::playing(vec![Answer::Stream(text), Answer::Stream(half)]).await;
    let provider = open("openai:gpt-4o", &server);
    let (reply, _) = call(&provider, &asking("go")).await;
    assert_eq!(reply.unwrap().stop, Stop::Cut);
    let (reply, _) = call(&provider, &asking("go")).await;
    assert!(matches!(reply.unwrap_err(), ModelError::Rejected { .. }));
}

#[tokio::test]
async fn what_a_provider_does_not_count_is_not_free() {
    let mut events = vec![openai_text("a word")];
    events.push("data: [DONE]\n\n".to_string());
    let server = Server::playing(vec![Answer::Stream(events)]).await;
    let (reply, _) = call(&open("openai:gpt-4o", &server), &asking("go")).await;
    let reply = reply.unwrap();
    assert!(reply.usage.input > 0 && reply.usage.output > 0);
    assert!(reply.cost.unwrap().get() > 0);
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let settings = Settings {
        base_url: Some("http://127.0.0.1:1/v1".to_string()),
        ..Settings::default()
    };
    let provider = Provider::open("local:some-model", settings).unwrap();
    let (reply, _) = call(&provider, &asking("go")).await;
    assert!(matches!(reply.unwrap_err(), ModelError::Unavailable { .. }));
}

#[test]
fn a_model_that_cannot_be_called_is_told_at_once() {
    let told = |name: &str, base_url: Option<&str>| {
        let settings = Settings {
            base_url: base_url.map(str::to_string),
            ..Settings::default()
        };
        Provider::open(name, settings)
            .map(|_| ())
            .map_err(|why| why.to_string())
    };
    assert!(
        told("gpt-4o", None)
            .unwrap_err()
            .contains("write provider:model")
    );
    assert!(told("openai:", None).is_err());
    assert!(
        told("strange:x", None)
            .unwrap_err()
            .contains("openai, anthropic, gemini, ollama")
    );
    assert_eq!(
        told("openai:gpt-4o", None).unwrap_err(),
        "openai wants a key: set OPENAI_API_KEY"
    );
    assert!(told("strange:x", Some("ftp://x")).is_err());
    assert_eq!(told("strange:x", Some("http://localhost:1")), Ok(()));
    assert_eq!(told("ollama:llama3", None), Ok(()));
}

#[test]
fn an_estimate_is_as_much_as_the_call_may_use() {
    let settings = Settings {
        key: Some("k".to_string()),
        max_output_tokens: Some(1_000),
        ..Settings::default()
    };
    let provider = Provider::open("openai:gpt-4o", settings).unwrap();
    let estimate = provider.estimate(&asking(&"x".repeat(4_000)));
    assert!((2_000..3_000).contains(&estimate.tokens));
    assert!(estimate.cost.unwrap().get() >= 10_000);
    assert!(!format!("{provider:?}").contains("\"k\""));
}
