//! What is kept of exchanges, and how they are answered again.

use super::*;
use crate::model::{ScriptedModel, Turn};

fn asking(text: &str) -> Request {
    Request {
        system: "be brief".to_string(),
        turns: vec![Turn::User {
            text: text.to_string(),
        }],
        ..Request::default()
    }
}

async fn ask(model: &dyn Model, text: &str) -> (Result<Reply, ModelError>, Vec<String>) {
    let mut pieces = Vec::new();
    let mut written = |piece: &str| pieces.push(piece.to_string());
    let reply = model.call(&asking(text), &mut written).await;
    (reply, pieces)
}

#[tokio::test]
async fn what_was_recorded_is_answered_again_once_each_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("team.jsonl");
    let down = ModelError::RateLimited {
        why: "slow down".to_string(),
        retry_after_ms: Some(7),
    };
    let script = ScriptedModel::new()
        .stream(&["he", "llo"], std::time::Duration::ZERO)
        .call_tool("search", serde_json::json!({ "pattern": "x" }))
        .fail(down.clone());
    let name = script.name().to_string();
    let recorded = Recorded::over(Arc::new(script), &path, Vec::new());
    let mut answers = Vec::new();
    for text in ["one", "two", "three"] {
        answers.push(ask(&recorded, text).await);
    }
    let recording = Recording::read(&path).unwrap();
    let model = recording.model(&name);
    assert_eq!(ask(&model, "two").await, answers[1]);
    assert_eq!(ask(&model, "one").await, answers[0]);
    assert_eq!(answers[0].1, ["he", "llo"]);
    assert_eq!(recording.left(), 1);
    assert_eq!(ask(&model, "three").await.0, Err(down));
    let (again, _) = ask(&model, "one").await;
    let why = again.unwrap_err().to_string();
    assert!(
        why.contains("no further exchange of scripted:part"),
        "{why}"
    );
}

#[tokio::test]
async fn a_request_that_was_not_recorded_says_where_it_differs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let recorded = Recorded::over(Arc::new(ScriptedModel::new().say("a")), &path, Vec::new());
    ask(&recorded, "look at src/a.rs").await.0.unwrap();
    let model = Recording::read(&path).unwrap().model("scripted:part");
    let (answer, _) = ask(&model, "look at src/b.rs").await;
    let why = answer.unwrap_err().to_string();
    assert!(why.contains("against exchange 1"), "{why}");
    assert!(
        why.contains(
            r#"request.turns[0].text differs from character 12 on: recorded "a.rs", asked "b.rs""#
        ),
        "{why}"
    );
}

#[tokio::test]
async fn what_is_drawn_or_read_from_a_clock_is_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let text = |boundary: &str, id: &str, at: &str| {
        format!("<message-{boundary} id=\"{id}\" at=\"{at}\">\nhello.\n</message-{boundary}>")
    };
    let recorded = Recorded::over(Arc::new(ScriptedModel::new().say("a")), &path, Vec::new());
    let one = text(
        "0123456789abcdef0123456789abcdef",
        "0190f5a0-1111-7000-8000-0123456789ab",
        "2026-12-01T02:03:04.567Z",
    );
    ask(&recorded, &one).await.0.unwrap();
    let model = Recording::read(&path).unwrap().model("scripted:part");
    let other = text(
        "ffffffffffffffffffffffffffffff00",
        "0190f5a0-2222-7000-8000-0123456789ab",
        "2027-01-01T00:00:00.000Z",
    );
    ask(&model, &other).await.0.unwrap();
}

#[tokio::test]
async fn no_key_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let script = ScriptedModel::new().say("use sk-ant-api03-abcdefgh then");
    let recorded = Recorded::over(Arc::new(script), &path, vec!["hunter2-hunter2".to_string()]);
    let request = "my password is hunter2-hunter2 and AIzaSyA-1234567890";
    let (reply, _) = ask(&recorded, request).await;
    assert!(
        reply.unwrap().text.contains("sk-ant"),
        "only the file is masked"
    );
    let kept = std::fs::read_to_string(&path).unwrap();
    for secret in ["hunter2", "sk-ant", "AIza"] {
        assert!(!kept.contains(secret), "{secret}");
    }
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_is_no_recording_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let read = |text: &str| {
        let path = folder.path().join("x");
        std::fs::write(&path, text).unwrap();
        Recording::read(&path)
            .map(|_| ())
            .map_err(|why| why.to_string())
    };
    assert!(read("").unwrap_err().contains("no recording of version 1"));
    assert!(read("{\"format\":\"pitcrew-recording\",\"version\":2}\n").is_err());
    assert_eq!(read(HEAD), Ok(()));
    let broken = format!("{HEAD}\n\n{{\"model\":\"x\"}}\n");
    assert!(
        read(&broken)
            .unwrap_err()
            .contains("line 3 is no exchange: missing field")
    );
    assert!(Recording::read(&folder.path().join("nowhere")).is_err());
}

#[tokio::test]
async fn an_exchange_that_cannot_be_kept_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = Recorded::over(
        Arc::new(ScriptedModel::new().say("a")),
        folder.path(),
        Vec::new(),
    );
    let (reply, _) = ask(&recorded, "x").await;
    assert!(
        reply
            .unwrap_err()
            .to_string()
            .contains("cannot be recorded")
    );
}
