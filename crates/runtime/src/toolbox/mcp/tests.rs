//! A server at the other end of a pipe, spoken to line by line.

use std::sync::Mutex;

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

use super::*;

/// A server with two tools, which keeps what it was called with, and goes away when told to `leave`.
async fn server(stream: tokio::io::DuplexStream, called: Arc<Mutex<Vec<Value>>>) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let asked: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = asked.get("id") else { continue };
        let tool = |name: &str| {
            json!({ "name": name, "description": "Says it.", "inputSchema": { "type": "object",
            "properties": { "text": { "type": "string" } } } })
        };
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let result = match asked["method"].as_str().unwrap() {
            "initialize" => {
                json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "s", "version": "1" } })
            }
            "tools/list" => json!({ "tools": [tool("say it"), tool("say.it"), tool("say_it")] }),
            "tools/call" => {
                let params = &asked["params"];
                called.lock().unwrap().push(params.clone());
                match params["arguments"]["text"].as_str().unwrap() {
                    "leave" => return,
                    "wait" => continue,
                    "wrong" => {
                        json!({ "content": [{ "type": "text", "text": "no such" }], "isError": true })
                    }
                    said => text(said),
                }
            }
            _ => {
                let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "unknown" } });
                write
                    .write_all(format!("{error}\n").as_bytes())
                    .await
                    .unwrap();
                continue;
            }
        };
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        write
            .write_all(format!("{answer}\n").as_bytes())
            .await
            .unwrap();
    }
}

async fn call(tool: &dyn Tool, text: &str, context: &ToolContext) -> ToolAnswer {
    let arguments = Map::from_iter([("text".to_string(), text.into())]);
    tool.call(&arguments, context).await
}

#[tokio::test]
async fn the_tools_of_a_server_are_tools_of_an_agent() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let called = Arc::new(Mutex::new(Vec::new()));
    tokio::spawn(server(theirs, Arc::clone(&called)));
    let (read, write) = tokio::io::split(ours);
    let tools = tools_over(read, write, Duration::from_secs(9))
        .await
        .unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    assert_eq!(names, ["say_it", "say_it_2", "say_it_3"]);
    assert_eq!(tools[1].spec().about, "Says it.");
    assert_eq!(
        tools[1].spec().schema["properties"]["text"]["type"],
        "string"
    );
    let context = ToolContext {
        agent: Name::new(NameKind::Member, "ann").unwrap(),
        call_id: "c".to_string(),
        cancelled: CancellationToken::new(),
        deps: None,
    };
    assert_eq!(
        call(&*tools[1], "hello", &context).await,
        ToolAnswer::done("hello")
    );
    assert_eq!(called.lock().unwrap()[0]["name"], "say.it");
    assert_eq!(
        call(&*tools[0], "wrong", &context).await,
        ToolAnswer::refused("no such")
    );

    let given_up = ToolContext {
        cancelled: context.cancelled.child_token(),
        ..context.clone()
    };
    let (answer, ()) = tokio::join!(call(&*tools[0], "wait", &given_up), async {
        given_up.cancelled.cancel();
    });
    assert!(!answer.ok);
    let answer = call(&*tools[0], "leave", &context).await;
    assert!(
        !answer.ok && answer.text.contains("the server of say_it says"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn a_program_that_is_no_server_is_told() {
    let environment = Environment::empty().set("PATH", "/usr/bin:/bin");
    let limit = Duration::from_secs(1);
    let missing = tools_of_program("no-such-program".as_ref(), &[], &environment, limit).await;
    assert!(matches!(missing.err(), Some(McpError::NotStarted { .. })));
    let silent = tools_of_program("true".as_ref(), &[], &environment, limit).await;
    assert!(matches!(silent.err(), Some(McpError::NoServer { .. })));
}
