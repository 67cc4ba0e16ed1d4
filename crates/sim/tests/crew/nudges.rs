//! C5 to C7 through the commands: who is woken, what is said about it, and where messages stand.

use std::process::Stdio;

use serde_json::Value;

use crate::camp::{Camp, answer, camp, until};

fn started(words: &str, switches: &str) -> Option<Camp> {
    let camp = camp()?;
    camp.profile("fake", switches);
    camp.call(&["team", words, "x", "--name", "alpha", "--json"])
        .ended(0);
    camp.await_ready("alpha", "worker-1");
    Some(camp)
}

fn send(camp: &Camp, to: &str) -> Value {
    camp.call(&["--team", "alpha", "send", to, "hello", "--json"])
        .ended(0)
        .json()
}

/// The lines that a member was woken with.
fn lines(camp: &Camp, member: &str) -> Vec<String> {
    let taken = camp.taken(member).into_iter();
    taken.filter(|line| line.starts_with("You have")).collect()
}

#[test]
fn a_send_wakes_a_ready_member_and_says_so() {
    let Some(camp) = started("2:fake", "--turn-ms 100") else {
        return;
    };
    let sent = send(&camp, "worker-1");
    assert_eq!(
        (sent["ok"].as_bool(), sent["nudged"].as_bool()),
        (Some(true), Some(true))
    );
    assert_eq!(sent["wake"]["outcome"], "submitted");
    assert_eq!(
        lines(&camp, "worker-1"),
        ["You have 1 new message(s). Read your mailbox: pitcrew inbox"]
    );
    assert!(lines(&camp, "worker-2").is_empty());
    let input = r#"{"team_name":"alpha","from":"leader","to":"worker-2","body":"hi"}"#;
    let sent = camp
        .call(&["team", "api", "send-message", "--input", input])
        .ended(0)
        .json();
    assert_eq!(sent["nudged"], true);
    let words = camp
        .call(&["--team", "alpha", "send", "worker-2", "again"])
        .ended(0);
    assert!(
        words.stderr.contains("was not woken (already_told)"),
        "{words:#?}"
    );
}

#[test]
fn a_broadcast_wakes_everybody_side_by_side() {
    let Some(camp) = started("4:fake", "--turn-ms 100") else {
        return;
    };
    for worker in ["worker-2", "worker-3", "worker-4"] {
        camp.await_ready("alpha", worker);
    }
    let sent = camp
        .call(&[
            "--team",
            "alpha",
            "--as",
            "worker-1",
            "broadcast",
            "all of you",
            "--json",
        ])
        .ended(0)
        .json();
    let wakes: Vec<_> = sent["wakes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|wake| {
            (
                wake["to"].as_str().unwrap(),
                wake["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        wakes,
        [
            ("worker-2", "submitted"),
            ("worker-3", "submitted"),
            ("worker-4", "submitted")
        ]
    );
    assert!(lines(&camp, "worker-1").is_empty());
}

#[test]
fn c6_ten_sends_at_once_are_one_injection() {
    let Some(camp) = started("1:fake", "--turn-ms 100") else {
        return;
    };
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let mut call =
                camp.command(&["--team", "alpha", "send", "worker-1", "hello", "--json"]);
            call.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for call in calls {
        let sent = answer(call.wait_with_output().unwrap()).ended(0).json();
        let reason = sent["wake"]["reason"].as_str();
        assert!(
            sent["nudged"] == true || reason == Some("already_told"),
            "{sent}"
        );
    }
    assert_eq!(lines(&camp, "worker-1").len(), 1);
}

#[test]
fn c3_a_busy_member_and_one_with_a_question_are_not_typed_into() {
    let Some(camp) = camp() else { return };
    camp.profile("slow", "--turn-ms 60000 --while-busy ignore");
    camp.profile("asks", "--dialog submit:0 --turn-ms 50");
    camp.call(&["team", "1:slow", "1:asks", "x", "--name", "alpha", "--json"])
        .ended(0);
    until("a question", || {
        (camp.state("alpha", "worker-2") == "waiting").then_some(())
    });
    until("a turn", || {
        (camp.state("alpha", "worker-1") == "busy").then_some(())
    });
    for (member, reason) in [("worker-1", "busy"), ("worker-2", "dialog")] {
        let count = || {
            camp.notes(member)
                .iter()
                .filter(|note| note.starts_with("bytes"))
                .count()
        };
        let before = count();
        let sent = send(&camp, member);
        assert_eq!(
            (sent["nudged"].as_bool(), sent["wake"]["reason"].as_str()),
            (Some(false), Some(reason))
        );
        assert_eq!(count(), before, "{member}");
    }
}

#[test]
fn mail_that_only_informs_wakes_nobody() {
    let Some(camp) = started("1:fake", "--turn-ms 100") else {
        return;
    };
    let sent = camp
        .call(&[
            "--team", "alpha", "send", "worker-1", "fyi", "--intent", "inform", "--json",
        ])
        .ended(0)
        .json();
    assert_eq!(sent["wake"]["reason"], "only_informs");
    assert!(lines(&camp, "worker-1").is_empty());
}

#[test]
fn the_sender_sees_where_its_messages_stand() {
    let Some(camp) = started("2:fake", "--turn-ms 100") else {
        return;
    };
    let as_worker = |words: &[&str]| {
        let mut call = camp.command(words);
        call.env("PITCREW_TEAM", "alpha")
            .env("PITCREW_AGENT", "worker-1");
        answer(call.output().unwrap())
    };
    let first = send(&camp, "worker-1");
    let stands = || {
        let sent = camp
            .call(&["--team", "alpha", "inbox", "--sent", "--json"])
            .ended(0)
            .json();
        sent["messages"][0].clone()
    };
    let row = stands();
    assert_eq!(row["id"], first["messageId"]);
    assert_eq!(row["stands"], "submitted");
    as_worker(&["inbox", "--next"]).ended(0);
    assert_eq!(stands()["stands"], "shown");
    as_worker(&["inbox", "--ack", first["messageId"].as_str().unwrap()]).ended(0);
    let row = stands();
    assert_eq!(row["stands"], "delivered");
    let facts: Vec<&str> = row["facts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fact| fact["fact"].as_str().unwrap())
        .collect();
    assert_eq!(facts, ["stored", "submitted", "shown", "delivered"]);
    let words = camp
        .call(&["--team", "alpha", "inbox", "--sent"])
        .ended(0)
        .stdout;
    assert!(
        words.contains("delivered") && words.contains("worker-1"),
        "{words}"
    );
}

#[test]
fn a_registered_leader_is_woken_too() {
    let Some(camp) = started("1:fake", "--turn-ms 100") else {
        return;
    };
    let fake = camp.path("leader.sh");
    let logs = camp.path("logs");
    let script = format!(
        "exec {} --log {}/leader.log --turn-ms 100",
        crate::camp::FAKE,
        logs.display()
    );
    std::fs::write(&fake, script).unwrap();
    let pane = camp.tmux(&[
        "new-session",
        "-d",
        "-P",
        "-F",
        "#{pane_id}",
        "-x",
        "100",
        "-y",
        "30",
        "-s",
        "boss",
        &format!("sh {}", fake.display()),
    ]);
    let refused = send(&camp, "leader");
    assert_eq!(
        (refused["nudged"].as_bool(), refused.get("wake")),
        (Some(false), None)
    );
    let registered = camp
        .call(&[
            "team",
            "leader",
            "alpha",
            "--pane",
            &pane,
            "--profile",
            "fake",
            "--json",
        ])
        .ended(0)
        .json();
    assert_eq!(registered["paneId"], pane.as_str());
    until("a leader that is ready", || {
        camp.notes("leader")
            .iter()
            .any(|note| note.starts_with("shown"))
            .then_some(())
    });
    let woken = until("a leader that is woken", || {
        let sent = camp
            .call(&[
                "--team", "alpha", "--as", "worker-1", "send", "leader", "done", "--json",
            ])
            .ended(0)
            .json();
        (sent["nudged"] == true).then_some(sent)
    });
    assert_eq!(woken["wake"]["outcome"], "submitted");
    assert!(lines(&camp, "leader")[0].contains("--team alpha inbox"));
    camp.call(&["team", "shutdown", "alpha"]).ended(0);
    assert_eq!(
        camp.tmux(&["list-sessions", "-F", "#{session_name}"]),
        "boss"
    );
}
