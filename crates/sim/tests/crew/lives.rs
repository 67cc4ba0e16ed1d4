//! Lives of members: how they are, how they end, and how they begin again.

use std::fs;

use crate::camp::{Answer, Camp, answer, camp, until};

fn started(words: &str) -> Option<Camp> {
    let camp = camp()?;
    camp.call(&["team", words, "look around", "--name", "alpha", "--json"])
        .ended(0);
    Some(camp)
}

fn token_of(camp: &Camp, member: &str) -> String {
    let pane =
        fs::read_to_string(camp.team("alpha", &format!("workers/{member}/pane.json"))).unwrap();
    let pane: serde_json::Value = serde_json::from_str(&pane).unwrap();
    let environ = fs::read(format!("/proc/{}/environ", pane["process"]["pid"])).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    let token = environ
        .split('\0')
        .find_map(|word| word.strip_prefix("PITCREW_TOKEN="));
    token.unwrap().to_owned()
}

/// What the life of worker-1 with this token is answered.
fn as_life(camp: &Camp, token: &str, words: &[&str]) -> Answer {
    let mut call = camp.command(words);
    call.env("PITCREW_TEAM", "alpha")
        .env("PITCREW_AGENT", "worker-1")
        .env("PITCREW_TOKEN", token);
    answer(call.output().unwrap())
}

#[test]
fn a_restart_is_a_new_incarnation_and_the_old_one_is_fenced() {
    let Some(camp) = started("2:fake") else {
        return;
    };
    camp.await_ready("alpha", "worker-1");
    let old = token_of(&camp, "worker-1");
    let as_old = |words: &[&str]| as_life(&camp, &old, words);
    as_old(&["task", "claim", "1"]).ended(0);
    as_old(&["claim", "a.rs", "1", "9"]).ended(0);
    let before = camp.tmux(&["list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"]);
    let restarted = camp
        .call(&["--team", "alpha", "team", "restart", "worker-1", "--json"])
        .ended(0)
        .json();
    assert_eq!(restarted["incarnation"], 2);
    assert_eq!(restarted["tasksBack"], serde_json::json!(["1"]));
    assert_eq!(restarted["claimsEnded"], 1);
    assert_eq!(restarted["endedOldPane"], true);
    assert_eq!(restarted["firstLine"]["outcome"], "submitted");
    as_old(&["send", "leader", "still me"]).ended(1);
    assert_ne!(token_of(&camp, "worker-1"), old);
    assert_eq!(camp.taken("worker-1").len(), 2);
    let after = camp.tmux(&["list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"]);
    assert_eq!(after.lines().count(), 2);
    // The other member was not touched.
    let same = before
        .lines()
        .filter(|line| after.lines().any(|now| now == *line))
        .count();
    assert_eq!(same, 1, "{before}\n{after}");
}

#[test]
fn c1_status_says_how_panes_are() {
    let Some(camp) = started("3:fake") else {
        return;
    };
    camp.await_ready("alpha", "worker-1");
    let status = camp
        .call(&["team", "status", "alpha", "--json"])
        .ended(0)
        .json();
    let panes: Vec<String> = status["snapshot"]["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["paneId"].as_str().unwrap().to_owned())
        .collect();
    camp.tmux(&["kill-pane", "-t", &panes[1]]);
    let pid = camp.tmux(&["display", "-p", "-t", &panes[2], "#{pane_pid}"]);
    std::process::Command::new("kill")
        .args(["-9", &pid])
        .status()
        .unwrap();
    until("an agent that has exited", || {
        (camp.state("alpha", "worker-3") == "exited").then_some(())
    });
    let status = camp
        .call(&["team", "status", "alpha", "--json"])
        .ended(0)
        .json();
    let told: Vec<_> = status["snapshot"]["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["paneDead"].as_bool().unwrap(),
                row["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [(false, "ready"), (true, "gone"), (true, "exited")]);
    let sent = camp
        .call(&["--team", "alpha", "send", "worker-2", "hello", "--json"])
        .ended(0)
        .json();
    assert_eq!(
        (sent["nudged"].as_bool(), sent["wake"]["reason"].as_str()),
        (Some(false), Some("pane_gone"))
    );
    // A member whose pane is gone begins again in the session that is there.
    let restarted = camp
        .call(&["--team", "alpha", "team", "restart", "worker-2", "--json"])
        .ended(0)
        .json();
    assert_eq!(restarted["endedOldPane"], false);
    camp.tmux(&["kill-server"]);
    until("no server", || {
        (camp.state("alpha", "worker-1") == "gone").then_some(())
    });
    let sent = camp
        .call(&["--team", "alpha", "send", "worker-1", "hello", "--json"])
        .ended(0)
        .json();
    assert_eq!(sent["wake"]["outcome"], "not_woken");
    camp.call(&["team", "shutdown", "alpha"]).ended(0);
}

#[test]
fn a_shutdown_asks_whoever_holds_a_task_and_ends_the_panes() {
    let Some(camp) = started("2:fake") else {
        return;
    };
    camp.await_ready("alpha", "worker-1");
    camp.call(&["--team", "alpha", "--as", "worker-1", "task", "claim", "1"])
        .ended(0);
    let ended = camp
        .call(&["team", "shutdown", "alpha", "--grace", "500ms", "--json"])
        .ended(0)
        .json();
    assert_eq!(
        (
            ended["killedPanes"].as_u64(),
            ended["killedSession"].as_bool()
        ),
        (Some(2), Some(true))
    );
    let told = camp.taken("worker-1");
    assert!(
        told.last()
            .unwrap()
            .starts_with("You have 1 new message(s)."),
        "{told:?}"
    );
    assert_eq!(camp.taken("worker-2").len(), 1);
    assert_eq!(camp.tmux(&["list-panes", "-a"]), "");
    let again = camp
        .call(&["team", "shutdown", "alpha", "--json"])
        .ended(0)
        .json();
    assert_eq!(
        (
            again["killedPanes"].as_u64(),
            again["killedSession"].as_bool()
        ),
        (Some(0), Some(false))
    );
}

#[test]
fn a_team_with_living_panes_is_not_removed_and_attach_names_its_session() {
    let Some(camp) = started("1:fake") else {
        return;
    };
    let refused = camp
        .call(&["team", "rm", "alpha", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "team_live");
    let shown = camp
        .call(&["team", "attach", "alpha", "--json"])
        .ended(0)
        .json();
    let command = shown["command"].as_str().unwrap();
    let session = camp.tmux(&["list-sessions", "-F", "#{session_id}"]);
    assert!(
        command.contains("attach-session -t") && command.contains(&session),
        "{command}"
    );
}

#[test]
fn monitor_panes_tells_the_leader_of_each_pane_once() {
    let Some(camp) = camp() else { return };
    camp.profile("slow", "--turn-ms 60000");
    camp.call(&["team", "2:fake", "1:slow", "x", "--name", "alpha", "--json"])
        .ended(0);
    let format = "#{pane_id}";
    let script = format!(
        "exec {} --log {}/boss.log --turn-ms 50",
        crate::camp::FAKE,
        camp.path("logs").display()
    );
    let boss = camp.tmux(&[
        "new-session",
        "-d",
        "-P",
        "-F",
        format,
        "-x",
        "120",
        "-y",
        "30",
        "-s",
        "boss",
        &script,
    ]);
    camp.call(&[
        "team",
        "leader",
        "alpha",
        "--pane",
        &boss,
        "--profile",
        "fake",
    ])
    .ended(0);
    let status = camp.call(&["team", "status", "alpha", "--json"]).json();
    let panes: Vec<String> = status["snapshot"]["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["paneId"].as_str().unwrap().to_owned())
        .collect();
    let watch = |timeout: &str| {
        let mut words = vec![
            "team",
            "monitor-panes",
            "--leader-pane",
            &boss,
            "--poll-interval-ms",
            "50",
        ];
        words.extend([
            "--min-observation-ms",
            "200",
            "--timeout-ms",
            timeout,
            "--session-label",
            "alpha",
            "--json",
        ]);
        for pane in &panes {
            words.extend(["--worker-pane", pane]);
        }
        camp.call(&words)
    };
    let told = watch("1500").ended(1).json();
    assert_eq!(told["reason"], "timeout");
    let mut said: Vec<&str> = told["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["message"].as_str().unwrap())
        .collect();
    said.sort_unstable();
    let ready = |pane: &str| format!("team alpha {pane} is ready for review");
    assert_eq!(said, [ready(&panes[0]), ready(&panes[1])]);
    assert_eq!(camp.taken("boss").len(), 2, "{told}");
    let refused = camp
        .call(&["team", "monitor-panes", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        refused["message"],
        "team monitor-panes requires --leader-pane and at least one --worker-pane"
    );
    let refused = camp
        .call(&[
            "team",
            "monitor-panes",
            "--leader-pane",
            "%0",
            "--worker-pane",
            "%1",
            "--timeout-ms",
            "abc",
            "--json",
        ])
        .ended(1)
        .json();
    assert_eq!(
        refused["message"],
        "Invalid --timeout-ms: expected a positive integer, got \"abc\""
    );
}

/// What `pitcrew events` tells of one type.
fn events(camp: &Camp, kind: &str) -> Vec<serde_json::Value> {
    let words = ["events", "--team", "alpha", "--type", kind, "--json"];
    let events = camp.call(&words).json();
    events["events"].as_array().cloned().unwrap_or_default()
}

fn kill(camp: &Camp, member: &str) {
    let file = camp.team("alpha", &format!("workers/{member}/pane.json"));
    let pane: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let pid = pane["process"]["pid"].to_string();
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid])
        .status();
    assert!(killed.unwrap().success());
}

fn explained(camp: &Camp, member: &str) -> serde_json::Value {
    camp.call(&["--team", "alpha", "team", "explain", member, "--json"])
        .json()
}

#[test]
fn real_a_crashed_agent_is_started_again_by_the_monitor_as_a_new_incarnation() {
    let Some(camp) = camp() else { return };
    camp.call(&[
        "team",
        "2:fake",
        "x",
        "--name",
        "alpha",
        "--respawn",
        "crashed",
        "--respawn-limit",
        "1/10m",
    ])
    .ended(0);
    camp.await_ready("alpha", "worker-1");
    let status = camp.call(&["team", "monitor", "status", "--json"]).json();
    assert_eq!(status["running"], true, "{status}");
    let old = token_of(&camp, "worker-1");
    let as_old = |words: &[&str]| as_life(&camp, &old, words);
    as_old(&["task", "claim", "1"]).ended(0);
    as_old(&["claim", "a.rs", "1", "9"]).ended(0);
    kill(&camp, "worker-1");
    until("a new life", || {
        (!events(&camp, "agent_restarted").is_empty()).then_some(())
    });
    let restarted = &events(&camp, "agent_restarted")[0];
    assert_eq!(
        (&restarted["by"], &restarted["incarnation"]),
        (&"policy".into(), &2.into())
    );
    assert_eq!(events(&camp, "agent_crashed").len(), 1);
    camp.await_ready("alpha", "worker-1");
    as_old(&["send", "leader", "still me"]).ended(1);
    assert_ne!(token_of(&camp, "worker-1"), old);
    let task = camp
        .call(&["--team", "alpha", "task", "show", "1", "--json"])
        .json();
    assert_eq!(task["task"]["status"], "pending", "{task}");
    let claims = camp.call(&["--team", "alpha", "claims", "--json"]).json();
    assert_eq!(claims["claims"], serde_json::json!([]), "{claims}");
    // One restart was allowed: the next end is the last.
    kill(&camp, "worker-1");
    until("that it is given up", || {
        (explained(&camp, "worker-1")["code"] == "failed").then_some(())
    });
    assert_eq!(events(&camp, "agent_failed").len(), 1);
    let inbox = camp
        .call(&["--team", "alpha", "inbox", "--json"])
        .json()
        .to_string();
    assert!(inbox.contains("It is started again in"), "{inbox}");
    assert!(
        inbox.contains("was started again once within 10 min"),
        "{inbox}"
    );
    camp.call(&["team", "shutdown", "alpha"]).ended(0);
    until("the end of the monitor", || {
        let status = camp.call(&["team", "monitor", "status", "--json"]).json();
        (status["running"] == false).then_some(())
    });
}

#[test]
fn real_a_closed_pane_is_told_as_left_and_nobody_is_started_again() {
    let Some(camp) = camp() else { return };
    camp.call(&[
        "team",
        "2:fake",
        "x",
        "--name",
        "alpha",
        "--respawn",
        "always",
    ])
    .ended(0);
    camp.await_ready("alpha", "worker-2");
    let file = camp.team("alpha", "workers/worker-2/pane.json");
    let pane: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    camp.tmux(&["kill-pane", "-t", pane["paneId"].as_str().unwrap()]);
    until("that it left", || {
        (!events(&camp, "agent_left").is_empty()).then_some(())
    });
    assert_eq!(
        events(&camp, "agent_left")[0]["reason"],
        "its pane was closed"
    );
    assert_eq!(explained(&camp, "worker-2")["code"], "gone");
    assert_eq!(events(&camp, "agent_crashed").len(), 0);
}
