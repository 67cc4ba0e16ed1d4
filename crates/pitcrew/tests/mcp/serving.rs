//! A server of a whole team over HTTP, for one test, and what tests of MCP share.
#![allow(
    dead_code,
    reason = "each test program includes this file and uses what it needs of it"
)]

#[path = "../sandbox/sandbox.rs"]
pub(crate) mod sandbox;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use sandbox::Sandbox;

/// So long a test waits for something that must happen. Only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(150);

/// What `job` answers, unless it takes for ever.
#[track_caller]
pub(crate) fn in_time<A: Send + 'static>(job: impl FnOnce() -> A + Send + 'static) -> A {
    let (sender, answer) = channel();
    std::thread::spawn(move || sender.send(job()));
    answer.recv_timeout(PATIENCE).expect("it did not happen")
}

/// A fresh token of a member of team `t`.
pub(crate) fn token(sandbox: &Sandbox, member: &str) -> String {
    let line = [
        "mcp",
        "config",
        "codex",
        "--member",
        member,
        "--new-token",
        "--json",
    ];
    let answer = sandbox.call(line).succeeded().json();
    let token = &answer["entry"]["mcp_servers"]["pitcrew"]["env"]["PITCREW_TOKEN"];
    token.as_str().expect("a token").to_string()
}

/// A server that listens.
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
}

impl Serving {
    /// Starts one for team `t`.
    pub(crate) fn of(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.command(["mcp", "--http", "--team", "t"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary starts");
        let stdout = child.stdout.take().expect("a pipe");
        let url = in_time(move || {
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).expect("a line");
            line.trim().to_string()
        });
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self { child, url }
    }

    /// The port that it listens on.
    pub(crate) fn port(&self) -> u16 {
        let rest = self.url.rsplit(':').next().unwrap_or_default();
        let digits = rest.trim_end_matches("/mcp");
        digits.parse().expect("a port")
    }

    /// Sends one request of these headers and this body and answers the whole response.
    pub(crate) fn ask(&self, method: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut response = String::new();
        let mut stream = self.send(method, headers, body);
        stream.read_to_string(&mut response).expect("it answers");
        response
    }

    /// Sends one request of these headers and this body; the response is still to be read.
    pub(crate) fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).expect("it listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a time limit");
        let mut request = format!("{method} /mcp HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: 127.0.0.1:{}\r\n", self.port()));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!(
            "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        stream.write_all(request.as_bytes()).expect("it reads");
        stream
    }

    /// Asks it to end, which it does in good order.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test sends the signals that a person would"
    )]
    pub(crate) fn ends_well(mut self) {
        let status = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status();
        assert!(status.expect("kill is there").success());
        let pid = self.child.id();
        let mut child = std::mem::replace(&mut self.child, already_over());
        let status = in_time(move || child.wait().expect("it ends"));
        assert_eq!(status.code(), Some(0), "{pid}");
    }
}

/// A child that is over, to stand where one was taken out.
#[expect(
    clippy::disallowed_methods,
    reason = "something has to stand in the place of a child that is waited for elsewhere"
)]
fn already_over() -> Child {
    Command::new("true").spawn().expect("true is there")
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
