//! The member behind MCP: a client that speaks the protocol line by line, and what bob does with it.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::serving::sandbox::{Reaped, Sandbox};

/// A client and its server.
pub(crate) struct Client {
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u64,
    server: Reaped,
}

impl Client {
    /// Starts the server of the member that `token` proves, and shakes hands with it.
    pub(crate) fn start(sandbox: &Sandbox, token: &str) -> Self {
        let mut child = sandbox
            .command(["mcp"])
            .env("PITCREW_TEAM", "t")
            .env("PITCREW_AGENT", "bob")
            .env("PITCREW_TOKEN", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut client = Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().expect("a pipe")),
            asked: 0,
            server: Reaped(child),
        };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        client.ask("initialize", &hello);
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn say(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{message}").expect("the server reads");
    }

    /// The answer to one request. What the server notifies meanwhile is passed over.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).expect("the server writes");
            assert!(read > 0, "the server ended before it answered {method}");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == id {
                assert_eq!(answer["error"], Value::Null, "{method}");
                return answer["result"].clone();
            }
        }
    }

    /// Calls a tool, which must not refuse.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        );
        assert_ne!(answer["isError"], true, "{tool}: {answer}");
        answer
    }

    /// The next message, as a model is shown it, once it is acknowledged.
    fn next(&mut self) -> String {
        let wait = json!({ "limit": 1, "wait_seconds": 120 });
        let answer = self.call("read_messages", &wait);
        let ids = answer["structuredContent"]["message_ids"].clone();
        self.call("ack_message", &json!({ "message_ids": ids }));
        let text = answer["content"][0]["text"].as_str();
        text.expect("a text").to_string()
    }

    /// Closes standard input, as a client does that is done. The server ends well.
    fn ends(mut self) {
        drop(self.stdin.take());
        let status = self.server.0.wait().expect("the server ends");
        assert!(status.success(), "{status}");
    }
}

/// What bob does.
pub(crate) fn bob(mut me: Client) {
    assert!(me.next().contains("How are dates written here?"));
    let task = me.call("claim_task", &json!({ "task_id": "style" }));
    let finding = json!({ "topic": "dates", "content": "Dates are ISO 8601 here: see README." });
    me.call("share_discovery", &finding);
    let end = json!({
        "task_id": "style", "claim_token": task["structuredContent"]["claim_token"], "result": "ISO 8601",
    });
    me.call("complete_task", &end);
    let answer = json!({ "to": "ann", "content": "I have shared what I found." });
    me.call("peer_message", &answer);
    assert!(me.next().contains("The job is done."));
    let check = me.call("list_tasks", &json!({ "task_id": "check" }));
    assert!(check.to_string().contains("completed"), "{check}");
    me.ends();
}
