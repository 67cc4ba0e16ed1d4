//! `team api`, `team status`, `team collect` and `team shutdown` as the reference has them: keys in order, `ok`, exit
//! status and words, on a folder of our own and on one that the reference wrote.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

#[path = "api/calls.rs"]
mod calls;
#[path = "api/mail.rs"]
mod mail;
#[path = "api/shared.rs"]
mod shared;
#[path = "api/tasks.rs"]
mod tasks;
#[path = "api/teams.rs"]
mod teams;

#[path = "api/recorded.rs"]
mod recorded;

use std::fs;

use sandbox::{Sandbox, keys};
use serde_json::{Value, json};

fn crew() -> Sandbox {
    Sandbox::with_team(&["worker-1", "worker-2"], &["first", "second"])
}

#[track_caller]
fn refused(sandbox: &Sandbox, request: &str, input: &Value, key: &str, text: &str) -> Value {
    let answer = sandbox.api(request, input).ended(1).json();
    assert_eq!(answer["ok"], false, "{request} {input}: {answer}");
    assert_eq!(answer[key], text, "{request} {input}: {answer}");
    let at = |key: &str| keys(&answer).iter().position(|known| *known == key);
    assert_eq!((at("ok"), at(key)), (Some(0), Some(1)), "{answer}");
    assert!(
        answer["code"].is_string() && answer["hint"].is_string(),
        "{answer}"
    );
    answer
}
