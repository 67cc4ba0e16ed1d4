//! Requests and lines made of anything.

use super::*;

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
