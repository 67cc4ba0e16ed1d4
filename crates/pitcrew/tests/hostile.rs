//! Bad input of every kind, bad folders and full disks: an answer in shape, never a panic.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use sandbox::{Answer, Sandbox, answer, skipped};
use serde_json::{Map, Value, json};

const REQUESTS: [&str; 29] = [
    "claim-task",
    "transition-task-status",
    "send-message",
    "broadcast",
    "mailbox-list",
    "mailbox-mark-delivered",
    "mailbox-next",
    "mailbox-give-back",
    "mailbox-redeliver",
    "add-task",
    "list-tasks",
    "claim-next-task",
    "release-task",
    "retry-task",
    "list-teams",
    "team-status",
    "list-members",
    "add-member",
    "remove-member",
    "shutdown-team",
    "claim-region",
    "release-region",
    "list-claims",
    "share-discovery",
    "read-discoveries",
    "limit-acquire",
    "limit-record",
    "limit-release",
    "limit-status",
];

const FIELDS: [&str; 41] = [
    "team_name",
    "task_id",
    "worker",
    "from",
    "to",
    "body",
    "message_id",
    "claim_token",
    "result",
    "reply_to",
    "intent",
    "idempotency_key",
    "undelivered_only",
    "hold_ms",
    "lease_ms",
    "description",
    "assignee",
    "blocked_by",
    "cwd",
    "name",
    "role",
    "profile",
    "members",
    "tasks",
    "goal",
    "file",
    "start_line",
    "end_line",
    "ttl_ms",
    "extend",
    "topic",
    "content",
    "paths",
    "path",
    "since",
    "new_only",
    "tokens",
    "cost",
    "model",
    "reservation",
    "unknown_field",
];

/// One object with `ok` on standard output, status 0 or 1 as `ok` says, and no panic.
#[track_caller]
fn in_shape(answer: &Answer) -> Value {
    assert!(!answer.stderr.contains("panicked"), "{answer:#?}");
    let value = answer.json();
    let ok = value["ok"]
        .as_bool()
        .unwrap_or_else(|| panic!("no ok: {answer:#?}"));
    assert_eq!(answer.status, Some(i32::from(!ok)), "{answer:#?}");
    if !ok {
        let said = ["error", "reason", "message"]
            .iter()
            .any(|key| value[key].is_string());
        assert!(said, "no reason: {answer:#?}");
    }
    value
}

fn hostile_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("t".to_string()),
        Just("w1".to_string()),
        Just("leader".to_string()),
        Just("1".to_string()),
        Just("in_progress".to_string()),
        Just("completed".to_string()),
        Just(String::new()),
        Just("../../etc/passwd".to_string()),
        Just("..".to_string()),
        Just("/".to_string()),
        Just("a/b".to_string()),
        Just("W1".to_string()),
        Just("CON".to_string()),
        Just("w1\0".to_string()),
        Just("\u{202e}\u{1b}[2J".to_string()),
        Just("-".to_string()),
        Just("--json".to_string()),
        Just("x".repeat(300)),
        Just("x".repeat(70_000)),
        any::<String>(),
        "[a-zA-Z0-9_-]{1,70}",
    ]
}

fn hostile_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => hostile_text().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(|n| serde_json::Number::from_f64(n).map_or(Value::Null, Value::Number)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((hostile_text(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// What stands in the place of a field: often what belongs there, so that the rules behind are reached.
fn field_value(field: &'static str) -> BoxedStrategy<Value> {
    let good = match field {
        "team_name" => json!("t"),
        "task_id" => json!("1"),
        "worker" | "from" | "assignee" => json!("w1"),
        "to" => json!("w2"),
        "body" | "result" | "description" | "message_id" | "claim_token" => json!("x"),
        "intent" => json!("inform"),
        "blocked_by" => json!(["1"]),
        "name" => json!("w3"),
        "members" => json!(["a", { "name": "b", "role": "coder" }]),
        "tasks" => json!(["x", { "description": "y" }]),
        "hold_ms" | "lease_ms" | "ttl_ms" => json!(5),
        "file" | "path" => json!("src/a.rs"),
        "start_line" | "end_line" | "tokens" | "reservation" => json!(1),
        "extend" | "new_only" => json!(true),
        "topic" | "content" | "model" => json!("x"),
        "paths" => json!(["src"]),
        "cost" => json!(0.5),
        "since" => json!("1h"),
        "undelivered_only" => json!(true),
        _ => Value::Null,
    };
    prop_oneof![3 => Just(good), 2 => hostile_value()].boxed()
}

fn input() -> impl Strategy<Value = Value> {
    let fields: Vec<_> = FIELDS
        .into_iter()
        .map(|field| {
            let value = prop::option::weighted(0.8, field_value(field));
            value.prop_map(move |value| value.map(|value| (field.to_string(), value)))
        })
        .collect();
    prop_oneof![
        9 => fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>())),
        1 => hostile_value(),
    ]
}

/// Every path below a folder but those of team `t`.
fn outside(sandbox: &Sandbox) -> BTreeSet<String> {
    let root = sandbox.root();
    let mut found = BTreeSet::new();
    let mut open = vec![root.parent().unwrap().to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            if entry.path() == sandbox.team("t", "").components().as_path() {
                continue;
            }
            found.insert(entry.path().display().to_string());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_of_any_request_makes_it_panic_or_leave_its_team(inputs in prop::collection::vec(input(), REQUESTS.len())) {
        let sandbox = Sandbox::with_team(&["w1", "w2"], &["first"]);
        let before = outside(&sandbox);
        for (request, input) in REQUESTS.iter().zip(&inputs) {
            let line = ["team", "api", request, "--input", "-", "--json"];
            in_shape(&sandbox.feed(line, input.to_string().as_bytes()));
        }
        prop_assert_eq!(outside(&sandbox), before);
        // Whatever was written, the team can still be read.
        sandbox.call(["team", "status", "t", "--json"]).succeeded();
    }

    #[test]
    fn no_input_founds_a_team_anywhere_else(input in input()) {
        let sandbox = Sandbox::with_team(&["w1"], &[]);
        let mut input = input;
        if let Some(fields) = input.as_object_mut() {
            fields.remove("cwd");
            if fields.get("team_name") == Some(&json!("t")) {
                fields.insert("team_name".to_string(), json!("u"));
            }
        }
        let before = outside(&sandbox);
        let answer = sandbox.feed(["team", "api", "create-team", "--input", "-", "--json"], input.to_string().as_bytes());
        let founded = in_shape(&answer)["ok"] == true;
        let teams = sandbox.root().join(".omp/state/team").display().to_string();
        let elsewhere = |paths: BTreeSet<String>| -> BTreeSet<String> {
            paths.into_iter().filter(|path| !path.starts_with(&teams)).collect()
        };
        prop_assert_eq!(elsewhere(outside(&sandbox)), elsewhere(before));
        let count = sandbox.call(["team", "list", "--json"]).succeeded().json()["teams"].as_array().unwrap().len();
        prop_assert_eq!(count, 1 + usize::from(founded));
    }

    #[test]
    fn no_bytes_for_an_input_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), request in prop::sample::select(&REQUESTS[..])) {
        let sandbox = Sandbox::new();
        in_shape(&sandbox.feed(["team", "api", request, "--input", "-", "--json"], &bytes));
    }

    #[test]
    fn no_words_on_the_command_line_make_it_panic(words in prop::collection::vec(
        prop_oneof![
            prop::sample::select(vec![
                "team", "task", "inbox", "send", "wait", "who", "status", "list", "rm", "init", "shutdown", "collect", "claim", "done",
                "add", "api", "--json", "--as", "--team", "w1", "t", "1", "--dir", "--next", "--ack", "--timeout", "0s", "--", "-", "--force",
                "--member", "a:b", "--tasks", "--hold", "--lease", "doctor", "broadcast", "--help", "--version",
            ]).prop_map(str::to_string),
            hostile_text().prop_map(|text| text.replace('\0', "")),
        ],
        0..7,
    )) {
        // Waiting and following end by themselves only when told so.
        prop_assume!(!words.iter().any(|word| word == "wait" || word == "--follow"));
        let sandbox = Sandbox::with_team(&["w1"], &["first"]);
        let answer = sandbox.call(&words);
        prop_assert!(!answer.stderr.contains("panicked"), "{words:?}: {answer:#?}");
        prop_assert!(answer.status.is_some_and(|status| status <= 3), "{words:?}: {answer:#?}");
        let is_control = |c: char| c != '\n' && c != '\t' && c.is_control();
        prop_assert!(!answer.stderr.chars().any(is_control), "{words:?}: {answer:#?}");
        prop_assert!(!answer.stdout.chars().any(is_control), "{words:?}: {answer:#?}");
    }
}

#[test]
fn a_team_folder_that_is_a_link_is_not_followed() {
    let sandbox = Sandbox::with_team(&["w1"], &["first"]);
    let elsewhere = sandbox.root().join("elsewhere");
    fs::rename(sandbox.team("t", ""), &elsewhere).unwrap();
    symlink(&elsewhere, sandbox.team("t", "").components().as_path()).unwrap();
    let before = outside(&sandbox);
    for (request, input) in [
        (
            "send-message",
            json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }),
        ),
        (
            "broadcast",
            json!({ "team_name": "t", "from": "leader", "body": "x" }),
        ),
        (
            "claim-task",
            json!({ "team_name": "t", "task_id": "1", "worker": "w1" }),
        ),
        ("mailbox-list", json!({ "team_name": "t", "worker": "w1" })),
        ("add-task", json!({ "team_name": "t", "description": "x" })),
    ] {
        let answer = in_shape(&sandbox.api(request, &input));
        assert_eq!(
            (&answer["ok"], &answer["code"]),
            (&json!(false), &json!("escapes_team_folder")),
            "{request}"
        );
    }
    sandbox.call(["team", "status", "t"]).ended(3);
    sandbox.call(["doctor"]);
    assert_eq!(outside(&sandbox), before);
    assert!(!elsewhere.join("mailbox/w1.jsonl").exists());
    // Removing the team removes the link and nothing behind it.
    sandbox.call(["team", "rm", "t", "--force"]).succeeded();
    assert!(elsewhere.join("config.json").exists() && !sandbox.team("t", "").exists());
}

#[test]
fn links_and_other_things_inside_a_team_are_not_followed() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &["first"]);
    let secret = sandbox.root().join("secret");
    fs::write(&secret, "{}").unwrap();
    symlink(&secret, sandbox.team("t", "mailbox/w1.jsonl")).unwrap();
    fs::remove_file(sandbox.team("t", "tasks/1.json")).unwrap();
    symlink(&secret, sandbox.team("t", "tasks/1.json")).unwrap();
    fs::remove_dir(sandbox.team("t", "workers")).unwrap();
    symlink(sandbox.root(), sandbox.team("t", "workers")).unwrap();
    for (request, input) in [
        (
            "send-message",
            json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }),
        ),
        ("mailbox-list", json!({ "team_name": "t", "worker": "w1" })),
        (
            "claim-task",
            json!({ "team_name": "t", "task_id": "1", "worker": "w1" }),
        ),
    ] {
        let answer = in_shape(&sandbox.api(request, &input));
        assert_eq!(answer["code"], "escapes_team_folder", "{request}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "{}");
    let status = sandbox.call(["team", "status", "t", "--json"]);
    assert!(!status.stderr.contains("panicked"));
}

#[test]
fn things_in_the_place_of_folders_and_documents_are_refused() {
    for (place, is_folder) in [
        (".omp", false),
        (".omp/state", false),
        (".omp/state/team", false),
        (".omp/state/team/t/config.json", true),
    ] {
        let sandbox = Sandbox::with_team(&["w1"], &["first"]);
        let path = sandbox.root().join(place);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        if is_folder {
            fs::create_dir(&path).unwrap();
        } else {
            fs::write(&path, "in the way").unwrap();
        }
        for (request, input) in [
            (
                "send-message",
                json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }),
            ),
            (
                "claim-task",
                json!({ "team_name": "t", "task_id": "1", "worker": "w1" }),
            ),
            ("list-tasks", json!({ "team_name": "t" })),
        ] {
            assert_eq!(
                in_shape(&sandbox.api(request, &input))["ok"],
                false,
                "{place} {request}"
            );
        }
        for line in [
            &["team", "init", "new"][..],
            &["team", "list"],
            &["team", "status", "t"],
            &["doctor"],
            &["team", "rm", "t"],
        ] {
            let answer = sandbox.call(line);
            assert!(
                !answer.stderr.contains("panicked")
                    && answer.status.is_some_and(|status| status <= 3),
                "{place} {line:?}: {answer:?}"
            );
        }
    }
}

#[test]
fn documents_of_every_bad_kind_are_left_as_they_are() {
    let huge = "[".repeat(100_000);
    let wrong_workers = r#"{"name":"t","workers":[{"name":7}]}"#;
    for text in [
        "",
        "null",
        "[]",
        "{",
        "{\"name\":",
        "{\"name\":\"t\",\"workers\":7}",
        wrong_workers,
        "\u{feff}",
        huge.as_str(),
        "\0\0\0",
    ] {
        let sandbox = Sandbox::with_team(&["w1"], &["first"]);
        fs::write(sandbox.team("t", "config.json"), text).unwrap();
        let input = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" });
        let answer = in_shape(&sandbox.api("send-message", &input));
        assert_eq!(
            answer["code"],
            "corrupt_document",
            "{:?}",
            &text[..text.len().min(20)]
        );
        sandbox.call(["team", "status", "t"]).ended(3);
        sandbox
            .call(["team", "add-member", "w2", "--team", "t"])
            .ended(3);
        let list = sandbox.call(["team", "list", "--json"]).succeeded().json();
        assert_eq!(list["teams"][0]["state"], "damaged");
        sandbox.call(["doctor"]).ended(3);
        assert_eq!(
            fs::read_to_string(sandbox.team("t", "config.json")).unwrap(),
            text
        );
    }
}

/// Names that another program gave its members and that could lead out.
#[test]
fn a_roster_with_hostile_names_is_shown_and_opens_nothing() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let config = sandbox
        .read("t", "config.json")
        .replace("\"w1\"", "\"../../../escape\"");
    fs::write(sandbox.team("t", "config.json"), config).unwrap();
    let before = outside(&sandbox);
    let status = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(status["snapshot"]["workers"][0]["name"], "../../../escape");
    let input = json!({ "team_name": "t", "from": "leader", "body": "x" });
    let answer = in_shape(&sandbox.api("broadcast", &input));
    assert_eq!(answer["recipients"], json!([]));
    for line in [
        &["who"][..],
        &["team", "collect", "t"],
        &["inbox"],
        &["doctor"],
    ] {
        let answer = sandbox.call(["--team", "t"].iter().chain(line));
        assert!(!answer.stderr.contains("panicked"), "{line:?}: {answer:?}");
    }
    assert_eq!(outside(&sandbox), before);
}

/// The binary under another user when this is root, whom no permission stops.
fn without_rights(sandbox: &Sandbox, line: &[&str]) -> Answer {
    let mut command = sandbox.command(line);
    if fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
        // Somebody else may not even reach the binary where it was built.
        let copy = sandbox.root().parent().unwrap().join("pitcrew");
        if !copy.exists() {
            fs::copy(command.get_program(), &copy).unwrap();
        }
        let mut other = plain_command(&copy);
        other
            .args(line)
            .env_clear()
            .current_dir(sandbox.root())
            .stdin(Stdio::null());
        other.uid(65_534).gid(65_534);
        command = other;
    }
    answer(command.output().unwrap())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test of the binary starts the binary"
)]
fn plain_command(program: &Path) -> Command {
    Command::new(program)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn folders_that_may_not_be_read_or_written_are_refused() {
    let sandbox = Sandbox::with_team(&["w1"], &["first"]);
    let root = sandbox.root();
    let state = [
        root.join(".omp"),
        root.join(".omp/state"),
        root.join(".omp/state/team"),
        sandbox.team("t", ""),
    ];
    set_mode(root.parent().unwrap(), 0o755);
    // Readable and not writable: listing works, changing is refused and leaves nothing.
    let open = |mode: u32, file: u32| {
        state.iter().for_each(|folder| set_mode(folder, mode));
        for below in ["mailbox", "tasks", "workers"] {
            set_mode(&sandbox.team("t", below), mode);
        }
        for below in ["config.json", "tasks/1.json"] {
            set_mode(&sandbox.team("t", below), file);
        }
    };
    let send = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }).to_string();
    let claim = json!({ "team_name": "t", "task_id": "1", "worker": "w1" }).to_string();
    open(0o555, 0o444);
    let before = outside(&sandbox);
    without_rights(&sandbox, &["team", "status", "t", "--json"]).succeeded();
    for (request, input) in [("send-message", &send), ("claim-task", &claim)] {
        let answer = in_shape(&without_rights(
            &sandbox,
            &["team", "api", request, "--input", input, "--json"],
        ));
        assert_eq!(
            (&answer["ok"], &answer["code"]),
            (&json!(false), &json!("not_permitted")),
            "{request}"
        );
    }
    assert_eq!(
        without_rights(&sandbox, &["team", "init", "new", "--json"])
            .ended(3)
            .json()["code"],
        "not_permitted"
    );
    // Nothing may be read at all.
    open(0o700, 0o600);
    set_mode(&state[0], 0o000);
    for (request, input) in [
        ("send-message", &send),
        ("claim-task", &claim),
        ("mailbox-list", &send),
    ] {
        in_shape(&without_rights(
            &sandbox,
            &["team", "api", request, "--input", input, "--json"],
        ));
    }
    let found = without_rights(&sandbox, &["doctor"]).ended(3);
    assert!(found.stdout.contains('✗'), "{found:?}");
    set_mode(&state[0], 0o700);
    let after: BTreeSet<String> = outside(&sandbox)
        .into_iter()
        .filter(|path| !path.ends_with("/pitcrew"))
        .collect();
    assert_eq!(after, before);
}

/// The binary with no room for a file of more than `blocks` times 512 bytes.
fn with_little_room(sandbox: &Sandbox, blocks: u32, line: &[&str]) -> Answer {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut command = plain_command(Path::new("/bin/sh"));
    command
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_pitcrew")])
        .args(line)
        .env_clear()
        .current_dir(sandbox.root())
        .stdin(Stdio::null());
    answer(command.output().unwrap())
}

#[test]
fn without_room_a_request_is_refused_and_what_was_there_stays_whole() {
    let sandbox = Sandbox::with_team(&["w1"], &["first"]);
    sandbox
        .call(["--team", "t", "send", "w1", "before"])
        .succeeded();
    let files = ["config.json", "tasks/1.json", "mailbox/w1.jsonl"];
    let before = files.map(|file| sandbox.read("t", file));
    let body = "x".repeat(4000);
    let send = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": body }).to_string();
    let claim = json!({ "team_name": "t", "task_id": "1", "worker": "w1" }).to_string();
    let add = json!({ "team_name": "t", "description": body }).to_string();
    for blocks in [0, 1] {
        for (request, input) in [
            ("send-message", &send),
            ("claim-task", &claim),
            ("add-task", &add),
        ] {
            let answer = with_little_room(
                &sandbox,
                blocks,
                &["team", "api", request, "--input", input, "--json"],
            );
            let answer = in_shape(&answer);
            if blocks == 0 || request != "claim-task" {
                assert_eq!(answer["ok"], false, "{request} {answer}");
            }
        }
    }
    let listed = sandbox
        .api("mailbox-list", &json!({ "team_name": "t", "worker": "w1" }))
        .succeeded()
        .json();
    assert_eq!(listed["messages"].as_array().unwrap().len(), 1);
    assert!(listed.get("damage").is_none(), "{listed}");
    assert_eq!(sandbox.read("t", files[2]), before[2]);
    assert_eq!(sandbox.read("t", files[0]), before[0]);
    sandbox
        .call(["--team", "t", "send", "w1", "after"])
        .succeeded();
    let full = with_little_room(&sandbox, 0, &["team", "init", "new"]);
    assert_eq!(full.status, Some(3), "{full:?}");
    assert!(!sandbox.team("new", "").exists());
}

/// A real full disk, where this machine lets a test have one.
#[test]
fn on_a_full_disk_a_request_says_so_and_works_again_when_there_is_room() {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    let mount = |args: &[&str]| {
        let mut command = plain_command(Path::new("mount"));
        command.args(args).arg(&root).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=128k", "tmpfs"]) {
        skipped("this machine does not let a test mount a file system");
        return;
    }
    let sandbox = Mounted { sandbox, root };
    fs::create_dir(sandbox.root.join(".git")).unwrap();
    sandbox
        .sandbox
        .call(["team", "init", "t", "--member", "w1", "--task", "first"])
        .succeeded();
    let filler = sandbox.root.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 1024]).is_ok() {}
    drop(file);
    let send = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x".repeat(8000) });
    let claim = json!({ "team_name": "t", "task_id": "1", "worker": "w1" });
    for (request, input) in [("send-message", &send), ("claim-task", &claim)] {
        let answer = in_shape(&sandbox.sandbox.api(request, input));
        assert_eq!(
            (&answer["ok"], &answer["code"]),
            (&json!(false), &json!("storage_full")),
            "{request}"
        );
    }
    assert_eq!(sandbox.sandbox.task("t", "1")["status"], "pending");
    fs::remove_file(&filler).unwrap();
    sandbox.sandbox.api("send-message", &send).succeeded();
    sandbox.sandbox.api("claim-task", &claim).succeeded();
    let listed = sandbox
        .sandbox
        .api("mailbox-list", &json!({ "team_name": "t", "worker": "w1" }))
        .succeeded()
        .json();
    assert_eq!(listed["messages"].as_array().unwrap().len(), 1);
}

struct Mounted {
    sandbox: Sandbox,
    root: std::path::PathBuf,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let mut command = plain_command(Path::new("umount"));
        drop(command.arg("-l").arg(&self.root).status());
    }
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly_and_a_full_output_is_said() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let body = "x".repeat(100_000);
    for _ in 0..3 {
        sandbox
            .feed(["--team", "t", "send", "w1", "-"], body.as_bytes())
            .succeeded();
    }
    let lines: [&[&str]; 8] = [
        &["--team", "t", "--as", "w1", "inbox"],
        &["--team", "t", "--as", "w1", "inbox", "--json"],
        &["--team", "t", "--as", "w1", "inbox", "--next"],
        &["team", "status", "t", "--json"],
        &["man"],
        &["completions", "zsh"],
        &["--help"],
        &["doctor"],
    ];
    for line in lines {
        let mut child = sandbox
            .command(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let said = answer(child.wait_with_output().unwrap());
        assert!(
            said.status.is_some_and(|status| status <= 3),
            "{line:?}: {said:?}"
        );
        assert!(
            !said.stderr.contains("panicked") && !said.stderr.contains("write"),
            "{line:?}: {said:?}"
        );
    }
    // Nobody got the message that was taken, so nobody has acknowledged it.
    let mut child = sandbox
        .command(["--team", "t", "--as", "w1", "inbox", "--next", "--and-ack"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    let left = sandbox
        .call(["--team", "t", "--as", "w1", "inbox", "--json"])
        .succeeded()
        .json();
    assert_eq!(left["messages"].as_array().unwrap().len(), 3);

    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = sandbox
        .command(["team", "status", "t", "--json"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = answer(output).ended(3);
    assert!(said.stderr.contains("cannot write the answer"), "{said:?}");
}
