//! The commands about a whole team: status, collect, shutdown, and the requests of ours.

use super::*;

#[test]
fn team_status_is_the_reference_s_page_and_shape() {
    let sandbox = crew();
    let page = "team t (worker, 2 workers)\nsession -\n\nTasks:\n  1  pending  -  \n  2  pending  -  \n\nWorkers:\n  \
                worker-1  pane=-  dead=false  hbStale=true  new=0\n  worker-2  pane=-  dead=false  hbStale=true  new=0\n\n\
                allDone=false\n";
    assert_eq!(
        sandbox.call(["team", "status", "t"]).succeeded().stdout,
        page
    );
    let answer = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(keys(&answer), ["ok", "config", "snapshot"]);
    assert_eq!(
        keys(&answer["snapshot"])[..3],
        ["tasks", "workers", "allDone"]
    );
    let worker = &answer["snapshot"]["workers"][0];
    assert_eq!(
        keys(worker)[..5],
        [
            "name",
            "paneId",
            "paneDead",
            "heartbeatStale",
            "outboxNewCount"
        ]
    );
    assert_eq!(
        (&worker["paneId"], &worker["paneDead"]),
        (&Value::Null, &json!(false))
    );
    let answer = sandbox
        .call(["team", "status", "x", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        (&answer["ok"], &answer["reason"]),
        (&json!(false), &json!("team x not found"))
    );
    assert_eq!(
        sandbox.call(["team", "status", "x"]).ended(1).stdout,
        "team status: team x not found\n"
    );
}

#[test]
fn a_task_that_was_claimed_a_moment_ago_has_a_fresh_heartbeat_and_a_report_is_new() {
    let sandbox = crew();
    sandbox
        .call_as("worker-1", ["task", "claim", "1"])
        .succeeded();
    sandbox
        .call_as("worker-1", ["task", "done", "1", "half", "--so-far"])
        .succeeded();
    let page = sandbox.call(["team", "status", "t"]).succeeded().stdout;
    assert!(
        page.contains("  1  in_progress  worker-1  half\n"),
        "{page}"
    );
    assert!(
        page.contains("  worker-1  pane=-  dead=false  hbStale=false  new=1\n"),
        "{page}"
    );
}

#[test]
fn team_collect_shows_a_delivery_folder_in_the_reference_s_words() {
    let Some(sandbox) = Sandbox::golden() else {
        return;
    };
    let page = "team collect: 1/3 delivered\n── lane-a (Math): done ──\n42\n\n── lane-b (Geo): working ──\n\n── lane-c: working ──\n";
    assert_eq!(
        sandbox
            .call(["team", "collect", "--dir", "delivery"])
            .succeeded()
            .stdout,
        page
    );
    let answer = sandbox
        .call(["team", "collect", "--dir", "delivery", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        answer,
        json!({
            "dir": "delivery",
            "lanes": [
                { "id": "lane-a", "name": "Math", "status": "done", "output": "42\n\n" },
                { "id": "lane-b", "name": "Geo", "status": "working", "output": "" },
                { "id": "lane-c", "status": "working", "output": "" },
            ],
            "total": 3, "doneCount": 1, "allDone": false,
        })
    );
    assert_eq!(
        keys(&answer),
        ["dir", "lanes", "total", "doneCount", "allDone"]
    );
    for lane in ["lane-b", "lane-c"] {
        fs::write(
            sandbox.root().join(format!("delivery/{lane}.result.md")),
            "x\n",
        )
        .unwrap();
    }
    let page = sandbox
        .call(["team", "collect", "--dir", "delivery"])
        .succeeded()
        .stdout;
    assert!(
        page.starts_with("team collect: 3/3 delivered — ALL DONE\n"),
        "{page}"
    );
}

#[test]
fn team_collect_without_a_folder_that_was_launched_says_so() {
    let sandbox = crew();
    let words = "team collect requires --dir <delivery-dir>";
    assert_eq!(
        sandbox.call(["team", "collect"]).ended(1).stdout,
        format!("{words}\n")
    );
    assert_eq!(
        sandbox.call(["team", "collect", "--json"]).ended(1).json()["message"],
        words
    );
    let words = "no manifest.json (or empty) in nowhere — was the team launched?";
    assert_eq!(
        sandbox
            .call(["team", "collect", "--dir", "nowhere"])
            .ended(1)
            .stdout,
        format!("{words}\n")
    );
    fs::create_dir(sandbox.root().join("odd")).unwrap();
    fs::write(
        sandbox.root().join("odd/manifest.json"),
        r#"[{"id":"../../etc/passwd"}]"#,
    )
    .unwrap();
    let answer = sandbox
        .call(["team", "collect", "--dir", "odd", "--json"])
        .succeeded()
        .json();
    assert_eq!(answer["lanes"][0]["status"], "damaged");
    assert_eq!(answer["allDone"], false);
}

#[test]
fn team_shutdown_answers_what_it_ended() {
    let sandbox = crew();
    sandbox
        .call_as("worker-1", ["task", "claim", "1"])
        .succeeded();
    let answer = sandbox
        .call(["team", "shutdown", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        answer,
        json!({ "ok": true, "killedPanes": 0, "killedSession": false, "clearedLocks": 1 })
    );
    let words = "shutdown team t killedPanes=0 killedSession=false\n";
    assert_eq!(
        sandbox.call(["team", "shutdown", "t"]).succeeded().stdout,
        words
    );
    let text = sandbox.read("t", "shutdown.json");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(keys(&value), ["shutdownAt"]);
    assert!(text.ends_with("Z\"}\n") && !text.contains(' '));

    let answer = sandbox
        .call(["team", "shutdown", "nope", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        keys(&answer)[..4],
        ["ok", "killedPanes", "killedSession", "clearedLocks"]
    );
    assert_eq!(answer["clearedLocks"], 0);
}

#[test]
fn the_order_of_tasks_is_the_reference_s() {
    let sandbox = crew();
    for id in ["10", "9", "a", "B", "t1", "Z-1", "11"] {
        sandbox
            .call(["task", "add", "x", "--id", id, "--team", "t"])
            .succeeded();
    }
    let status = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    let ids: Vec<&str> = status["snapshot"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["1", "10", "11", "2", "9", "a", "B", "t1", "Z-1"]);
}

#[test]
fn teams_members_and_waiting_are_requests_too() {
    let sandbox = Sandbox::new();
    let create = json!({
        "team_name": "u", "goal": "g", "members": ["a", { "name": "b", "role": "coder", "profile": "sh" }],
        "tasks": ["first", { "task_id": "x", "description": "second", "blocked_by": ["1"], "assignee": "b" }],
    });
    let answer = sandbox.api("create-team", &create).succeeded().json();
    assert_eq!(keys(&answer), ["ok", "config", "tasks", "folder"]);
    assert_eq!(answer["tasks"], json!(["1", "x"]));
    assert_eq!(answer["config"]["workers"][1]["profile"], "sh");
    refused(&sandbox, "create-team", &create, "reason", "team_exists");
    refused(
        &sandbox,
        "create-team",
        &json!({ "team_name": "../x" }),
        "reason",
        "invalid_name",
    );
    refused(
        &sandbox,
        "create-team",
        &json!({ "team_name": "v", "members": [7] }),
        "reason",
        "invalid_input",
    );
    refused(
        &sandbox,
        "create-team",
        &json!({ "team_name": "v", "tasks": "x" }),
        "reason",
        "invalid_input",
    );
    let of = |fields: Value| {
        let mut input = fields;
        input["team_name"] = "u".into();
        input
    };
    let listed = sandbox.api("list-teams", &json!({})).succeeded().json();
    assert_eq!(listed["teams"][0]["name"], "u");
    let status = sandbox
        .api("team-status", &of(json!({})))
        .succeeded()
        .json();
    assert_eq!(
        status,
        sandbox
            .call(["team", "status", "u", "--json"])
            .succeeded()
            .json()
    );
    let nobody = json!({ "team_name": "nope" });
    refused(
        &sandbox,
        "team-status",
        &nobody,
        "reason",
        "team nope not found",
    );
    sandbox
        .api("add-member", &of(json!({ "name": "c" })))
        .succeeded();
    refused(
        &sandbox,
        "add-member",
        &of(json!({ "name": "C" })),
        "reason",
        "member_exists",
    );
    sandbox
        .api("remove-member", &of(json!({ "name": "a" })))
        .succeeded();
    let members = sandbox
        .api("list-members", &of(json!({})))
        .succeeded()
        .json();
    let names: Vec<&str> = members["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["b", "c", "leader"]);

    let ready = sandbox
        .api("wait", &of(json!({ "worker": "c" })))
        .succeeded()
        .json();
    assert_eq!(
        (&ready["happened"], &ready["task"]["id"]),
        (&json!("task_ready"), &json!("1"))
    );
    let late = of(json!({ "worker": "c", "task_end": "1", "timeout_ms": 20 }));
    refused(&sandbox, "wait", &late, "reason", "timed_out");
    refused(
        &sandbox,
        "wait",
        &of(json!({ "worker": "c", "task_end": ["9"] })),
        "reason",
        "task 9 not found",
    );
    let ended = sandbox
        .api("shutdown-team", &of(json!({})))
        .succeeded()
        .json();
    assert_eq!(
        keys(&ended),
        ["ok", "killedPanes", "killedSession", "clearedLocks"]
    );
    let answer = refused_shut_down(&sandbox, &of(json!({ "worker": "c", "message": true })));
    assert_eq!(answer["happened"], "shut_down");
}

/// A wait in a team that was shut down.
fn refused_shut_down(sandbox: &Sandbox, input: &Value) -> Value {
    let answer = sandbox.api("wait", input).ended(1).json();
    assert_eq!(
        (&answer["ok"], &answer["reason"]),
        (&json!(false), &json!("shut_down"))
    );
    answer
}
