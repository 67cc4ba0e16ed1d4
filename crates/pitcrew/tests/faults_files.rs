//! One bad file among good ones: it is reported with the reason, and everything else is answered and goes on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test ends at what it did not expect, and starts a shell that limits the binary"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sandbox::{Reaped, Sandbox};
use serde_json::{Value, json};

/// A file that is too large to be read whole, and takes no room. Root may read any file, so none is made unreadable.
fn oversized(path: &Path) {
    let file = fs::File::create(path).unwrap();
    file.set_len(65 * 1024 * 1024).unwrap();
}

fn ids(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap();
    list.iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect()
}

#[test]
fn bad_task_files_are_reported_beside_the_tasks_that_can_be_read() {
    let sandbox = Sandbox::with_team(&["w1"], &["good"]);
    let tasks = sandbox.team("t", "tasks");
    oversized(&tasks.join("2.json"));
    fs::create_dir(tasks.join("3.json")).unwrap();
    let other =
        r#"{"id":"9","description":"x","status":"pending","createdAt":"2026-11-30T16:22:26.530Z"}"#;
    fs::write(tasks.join("4.json"), other).unwrap();
    fs::write(tasks.join(OsStr::from_bytes(b"5\xff.json")), "{}").unwrap();

    let listed = sandbox.call(["task", "list", "--json"]).succeeded().json();
    assert_eq!(ids(&listed["tasks"]), ["1"]);
    assert_eq!(ids(&listed["unreadable"]), ["2", "3", "4", "5\u{FFFD}"]);
    assert_eq!(listed["allDone"], false);
    let why = |at: usize| listed["unreadable"][at]["why"].as_str().unwrap();
    assert!(
        why(0).contains("tasks/2.json") && why(0).contains("large"),
        "{}",
        why(0)
    );
    assert!(why(1).contains("tasks/3.json"), "{}", why(1));
    assert_eq!(why(2), "it says that its id is \"9\"");

    let status = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        ids(&status["snapshot"]["unreadable"]),
        ["2", "3", "4", "5\u{FFFD}"]
    );
    sandbox
        .call(["task", "add", "more", "--blocked-by", "1"])
        .succeeded();
    sandbox.call(["task", "claim", "4", "--as", "w1"]).ended(3);
    let claimed = sandbox
        .call(["task", "claim", "--as", "w1", "--json"])
        .succeeded()
        .json();
    assert_eq!(claimed["task"]["id"], "1");
    let waited = ["wait", "--any-task", "--timeout", "10ms", "--as", "w1"];
    sandbox.call(waited).ended(4);
    sandbox.call(["doctor"]);
}

#[test]
fn one_members_unreadable_mailbox_leaves_the_others_theirs() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &[]);
    sandbox.call(["send", "w2", "hello"]).succeeded();
    fs::create_dir(sandbox.team("t", "mailbox/w1.jsonl")).unwrap();
    fs::write(sandbox.team("t", "claims.json"), "{").unwrap();
    fs::create_dir(sandbox.team("t", "shutdown.json")).unwrap();

    let who = sandbox.call(["who", "--json"]).succeeded().json();
    let row = |at: usize| &who["members"][at];
    assert_eq!(
        (&row(0)["unread"], &row(1)["unread"]),
        (&Value::Null, &json!(1))
    );
    assert!(
        row(0)["unreadable"][0]
            .as_str()
            .unwrap()
            .contains("mailbox/w1.jsonl")
    );
    assert_eq!(row(1)["claims"], Value::Null);
    let said = sandbox.call(["who"]).succeeded();
    assert_eq!(
        said.stderr.matches("claims.json").count(),
        1,
        "{}",
        said.stderr
    );

    let status = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    let workers = &status["snapshot"]["workers"];
    assert!(
        workers[0]["unreadable"][0]
            .as_str()
            .unwrap()
            .contains("mailbox/w1.jsonl")
    );
    assert_eq!(workers[1]["unread"], 1);
    assert!(workers[1].get("unreadable").is_none());
    let files = &status["snapshot"]["unreadableFiles"];
    assert!(
        files[0].as_str().unwrap().contains("shutdown.json"),
        "{files}"
    );
}

#[test]
fn a_folder_in_the_place_of_the_unread_index_costs_time_only() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    sandbox.call(["send", "w1", "hello"]).succeeded();
    let index = sandbox.team("t", "mailbox/.w1.unread");
    let _ = fs::remove_file(&index);
    fs::create_dir(&index).unwrap();
    let inbox = |line: &[&str]| sandbox.call([&["inbox", "--as", "w1", "--json"], line].concat());
    let listed = inbox(&[]).succeeded().json();
    let id = listed["messages"][0]["id"].as_str().unwrap();
    inbox(&["--ack", id]).succeeded();
    assert_eq!(inbox(&[]).succeeded().json()["messages"], json!([]));
    fs::remove_dir(&index).unwrap();
    oversized(&index);
    sandbox.call(["send", "w1", "again"]).succeeded();
    let taken = inbox(&["--next"]).succeeded().json();
    assert_eq!(taken["message"]["body"], "again");
    assert!(fs::metadata(&index).unwrap().len() < 4096);
}

#[test]
fn a_cycle_on_disk_holds_up_no_other_task() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    for (id, on) in [("1", "2"), ("2", "1")] {
        let task = json!({ "id": id, "description": "x", "status": "pending", "createdAt": "", "blocked_by": [on] });
        fs::write(
            sandbox.team("t", &format!("tasks/{id}.json")),
            task.to_string(),
        )
        .unwrap();
    }
    assert_eq!(
        sandbox.call(["task", "add", "free"]).succeeded().stdout,
        "3\n"
    );
    sandbox
        .call(["task", "add", "stuck", "--blocked-by", "2"])
        .ended(1);
}

#[test]
fn keys_that_stand_twice_are_read_the_same_everywhere() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let twice = r#"{"id":"1","description":"x","status":"pending","createdAt":"","note":{"a":1},"status":"failed"}"#;
    fs::write(sandbox.team("t", "tasks/1.json"), twice).unwrap();
    let listed = sandbox.call(["task", "list", "--json"]).succeeded().json();
    let status = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(listed["tasks"][0]["status"], "failed");
    assert_eq!(status["snapshot"]["tasks"][0]["status"], "failed");
    assert_eq!(listed["allDone"], status["snapshot"]["allDone"]);
    sandbox.call(["task", "retry", "1"]).succeeded();
    let text = sandbox.read("t", "tasks/1.json");
    assert_eq!(text.matches("status").count(), 1, "{text}");
    assert!(text.contains("pending") && text.contains("note"), "{text}");
}

#[test]
fn retrying_several_tasks_says_in_one_answer_what_came_of_each() {
    let sandbox = Sandbox::with_team(&["w1"], &["a", "b", "c"]);
    for id in ["1", "3"] {
        sandbox
            .call(["task", "claim", id, "--as", "w1"])
            .succeeded();
        sandbox.call(["task", "fail", id, "--as", "w1"]).succeeded();
    }
    let answer = sandbox
        .call(["task", "retry", "1", "2", "3", "--json"])
        .ended(1)
        .json();
    assert_eq!(answer["ok"], false);
    let parts = answer["tasks"].as_array().unwrap();
    let oks: Vec<&Value> = parts.iter().map(|part| &part["ok"]).collect();
    assert_eq!(oks, [true, false, true]);
    assert_eq!(ids(&answer["tasks"]), ["1", "2", "3"]);
    assert_eq!(parts[0]["task"]["status"], "pending");
    assert!(parts[1]["code"].is_string());
}

#[test]
fn following_ends_when_the_team_is_removed_also_when_it_is_founded_again() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    sandbox.call(["send", "w1", "hello"]).succeeded();
    let mut command = sandbox.command(["inbox", "--follow", "--as", "w1", "--json"]);
    let mut child = Reaped(
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("hello"));
    sandbox.call(["team", "rm", "t"]).succeeded();
    sandbox
        .call(["team", "init", "t", "--member", "w1"])
        .succeeded();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.0.wait().unwrap().code(), Some(1));
    assert!(rest.concat().contains("team_not_found"), "{rest:?}");
}

#[test]
fn a_claim_that_cannot_be_written_leaves_no_mark() {
    let sandbox = Sandbox::with_team(&["w1"], &["a"]);
    let output = limited(&sandbox, 0, &["task", "claim", "1", "--as", "w1"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(!sandbox.team("t", "tasks/1.lock").exists());
    assert_eq!(sandbox.task("t", "1")["status"], "pending");
    sandbox
        .call(["task", "claim", "1", "--as", "w1"])
        .succeeded();
}

fn message(n: usize) -> String {
    let (id, body) = (format!("m{n}"), n.to_string());
    let line = json!({ "type": "message", "id": id, "from": "leader", "to": "w1", "body": body, "timestamp": "t" });
    format!("{line}\n")
}

#[test]
fn a7_a_cut_mailbox_shows_nothing_again_and_says_so_until_its_reader_acknowledges() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let path = sandbox.team("t", "mailbox/w1.jsonl");
    let half: String = (0..20).map(message).collect();
    let rest: String = (20..40).map(message).collect();
    fs::write(&path, format!("{half}{rest}")).unwrap();
    let inbox = |more: &[&str]| {
        let line = [&["inbox", "--as", "w1", "--json"], more].concat();
        sandbox.call(line).succeeded().json()
    };
    inbox(&["--ack", "all"]);
    fs::write(&path, &half).unwrap();
    for _ in 0..2 {
        let cut = inbox(&[]);
        assert_eq!(
            (&cut["messages"], &cut["damage"]["count"]),
            (&json!([]), &json!(1))
        );
    }
    sandbox.call(["send", "w1", "new"]).succeeded();
    let cut = inbox(&[]);
    assert_eq!(cut["damage"]["count"], 1);
    assert_eq!(cut["messages"].as_array().unwrap().len(), 1);
    let id = cut["messages"][0]["id"].as_str().unwrap();
    inbox(&["--ack", id]);
    let settled = inbox(&[]);
    assert_eq!(
        (&settled["messages"], settled.get("damage")),
        (&json!([]), None)
    );

    fs::write(&path, &half[..half.len() / 2]).unwrap();
    assert!(inbox(&[]).get("damage").is_some());
    inbox(&["--ack", "all"]);
    let settled = inbox(&[]);
    assert_eq!(settled["messages"], json!([]));
    let places = settled["damage"]["places"].to_string();
    assert!(!places.contains("was cut:"), "{places}");
}

#[test]
fn a_line_longer_than_any_record_is_damage_and_hides_nothing() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let path = sandbox.team("t", "mailbox/w1.jsonl");
    fs::write(&path, message(1)).unwrap();
    let file = fs::File::options().append(true).open(&path).unwrap();
    let start = file.metadata().unwrap().len();
    file.set_len(start + 70 * 1024 * 1024).unwrap();
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(format!("\n{}", message(2)).as_bytes())
        .unwrap();
    let listed = sandbox
        .call(["inbox", "--as", "w1", "--json"])
        .succeeded()
        .json();
    assert_eq!(ids(&listed["messages"]), ["m1", "m2"]);
    let place = &listed["damage"]["places"][0];
    assert_eq!(place["at"], start);
    assert_eq!(place["len"], 70 * 1024 * 1024 + 1);
}

#[test]
fn more_unread_mail_than_the_index_holds_is_listed_and_taken_once_each() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let path = sandbox.team("t", "mailbox/w1.jsonl");
    let mut text: String = (0..18_000).map(message).collect();
    text.push_str(&message(0));
    let receipt = json!({ "type": "delivery-receipt", "messageId": "m3", "deliveredAt": "t" });
    text.push_str(&format!("{receipt}\n"));
    fs::write(&path, text).unwrap();
    let list = || {
        let line = ["inbox", "--as", "w1", "--json"];
        let listed = sandbox.call(line).succeeded().json();
        ids(&listed["messages"])
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let wanted = |from: usize| -> Vec<String> {
        let open = (from..18_000).filter(|n| *n != 3);
        open.map(|n| format!("m{n}")).collect()
    };
    assert_eq!(list(), wanted(0));
    for n in [0, 1, 2, 4] {
        let line = ["inbox", "--next", "--and-ack", "--as", "w1", "--json"];
        let taken = sandbox.call(line).succeeded().json();
        assert_eq!(taken["message"]["id"], format!("m{n}"));
    }
    assert_eq!(list(), wanted(5));
    sandbox
        .call(["inbox", "--ack", "all", "--as", "w1"])
        .succeeded();
    assert_eq!(list(), Vec::<String>::new());
}

/// A call that may write files of `blocks` blocks at the most, of 512 bytes or of 1024.
fn limited(sandbox: &Sandbox, blocks: u32, line: &[&str]) -> Output {
    let call = sandbox.command(line);
    let mut limited = Command::new("sh");
    limited
        .args([
            "-c",
            &format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$@\""),
            "sh",
        ])
        .arg(call.get_program())
        .args(call.get_args())
        .current_dir(sandbox.root())
        .env_clear();
    limited.output().unwrap()
}

#[test]
fn a_team_is_founded_with_all_its_tasks_or_not_at_all() {
    let sandbox = Sandbox::new();
    let big = "x".repeat(20_000);
    let line = [
        "team", "init", "t", "--member", "a", "--task", "small", "--task", &big,
    ];
    let output = limited(&sandbox, 8, &line);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let teams = sandbox.root().join(".omp/state/team");
    assert_eq!(fs::read_dir(&teams).unwrap().count(), 0);

    // What a killed founder or remover left is shown, and the next of that name takes it away.
    let left = teams.join(".t.tmp");
    fs::create_dir_all(left.join("tasks")).unwrap();
    let doctor = sandbox.call(["doctor"]);
    let said = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(said.contains(".t.tmp"), "{said}");
    sandbox.call(line).succeeded();
    assert!(!left.exists());
    assert_eq!(sandbox.task("t", "2")["description"], big);
}

#[test]
fn b4_a_leader_that_could_not_be_told_is_told_by_the_next_claim_and_once() {
    let sandbox = Sandbox::with_team(&["w1"], &["a"]);
    sandbox
        .call(["task", "add", "b", "--blocked-by", "1"])
        .succeeded();
    let mailbox = sandbox.team("t", "mailbox/leader.jsonl");
    fs::create_dir(&mailbox).unwrap();
    sandbox
        .call(["task", "claim", "1", "--as", "w1"])
        .succeeded();
    sandbox
        .call(["task", "fail", "1", "--as", "w1"])
        .succeeded();
    fs::remove_dir(&mailbox).unwrap();
    for _ in 0..2 {
        sandbox.call(["task", "claim", "--as", "w1"]).succeeded();
    }
    let told = sandbox
        .call(["inbox", "--as", "leader", "--json"])
        .succeeded()
        .json();
    assert_eq!(told["messages"].as_array().unwrap().len(), 1, "{told}");
}

#[test]
fn a_team_whose_file_says_no_number_of_members_has_as_many_as_it_has() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &[]);
    let config = sandbox.read("t", "config.json");
    for said in ["", "  \"workerCount\": 7,\n"] {
        let other = config.replacen("  \"workerCount\": 2,\n", said, 1);
        assert_ne!(other, config);
        fs::write(sandbox.team("t", "config.json"), &other).unwrap();
        let status = sandbox.call(["team", "status", "t"]).succeeded();
        assert!(status.stdout.contains(", 2 workers)"), "{status:?}");
        let status = sandbox.call(["team", "status", "t", "--json"]);
        assert_eq!(status.succeeded().json()["config"]["workerCount"], 2);
        assert_eq!(
            sandbox.read("t", "config.json"),
            other,
            "looking writes nothing"
        );
    }
}
