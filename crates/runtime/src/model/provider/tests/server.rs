//! A server on loopback that plays a provider: it answers what it was told to, and keeps every request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What comes next.
pub(crate) enum Answer {
    /// These events, as a stream that ends well.
    Stream(Vec<String>),
    /// These bytes of a stream, and then the connection is cut.
    Cut(Vec<String>),
    /// These events, and then nothing, for ever.
    Silent(Vec<String>),
    /// Events for ever, each after a span.
    Endless(String, Duration),
    /// A status with a header and a body.
    Status(u16, &'static str, &'static str),
}

#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Server {
    pub(crate) async fn playing(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, kept) = (Arc::clone(&answers), Arc::clone(&kept));
                tokio::spawn(async move {
                    // A client that goes away in the middle is no matter of the server's.
                    let _ = serve(stream, &answers, &kept).await;
                });
            }
        });
        Self { url, heard }
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    answers: &Mutex<VecDeque<Answer>>,
    kept: &Mutex<Vec<Heard>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |text| text.trim().parse().unwrap());
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    }
    kept.lock().unwrap().push(Heard {
        path: head.split(' ').nth(1).unwrap().to_string(),
        body: serde_json::from_slice(&bytes[head_end..]).unwrap_or_default(),
        head,
    });
    let answer = answers.lock().unwrap().pop_front();
    let opening = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    match answer.expect("an answer for every request") {
        Answer::Status(status, header, body) => {
            let text = format!(
                "HTTP/1.1 {status} x\r\nconnection: close\r\n{header}content-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(text.as_bytes()).await
        }
        Answer::Stream(events) => {
            let body = events.concat();
            let text = format!("{opening}content-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(text.as_bytes()).await
        }
        Answer::Cut(events) => {
            let text = format!("{opening}content-length: 99999\r\n\r\n{}", events.concat());
            stream.write_all(text.as_bytes()).await
        }
        Answer::Silent(events) => {
            let text = format!("{opening}\r\n{}", events.concat());
            stream.write_all(text.as_bytes()).await?;
            // Until the client goes away.
            stream.read_u8().await.map(drop)
        }
        Answer::Endless(event, each) => {
            stream
                .write_all(format!("{opening}\r\n").as_bytes())
                .await?;
            loop {
                stream.write_all(event.as_bytes()).await?;
                tokio::time::sleep(each).await;
            }
        }
    }
}

/// An event of OpenAI's format.
pub(crate) fn openai(event: &Value) -> String {
    format!("data: {event}\n\n")
}

/// The end of a stream in OpenAI's format, with what was used.
pub(crate) fn openai_end(reason: &str) -> Vec<String> {
    let usage = serde_json::json!({
        "prompt_tokens": 1_000, "completion_tokens": 50, "total_tokens": 1_050,
        "prompt_tokens_details": { "cached_tokens": 400 },
    });
    vec![
        openai(
            &serde_json::json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }),
        ),
        openai(&serde_json::json!({ "choices": [], "usage": usage })),
        "data: [DONE]\n\n".to_string(),
    ]
}

pub(crate) fn openai_text(text: &str) -> String {
    openai(&serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// An event of Anthropic's format.
pub(crate) fn anthropic(event: &Value) -> String {
    format!(
        "event: {}\ndata: {event}\n\n",
        event["type"].as_str().unwrap()
    )
}
