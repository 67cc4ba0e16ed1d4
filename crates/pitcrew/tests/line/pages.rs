//! Help, completions and manual pages.

use super::*;

#[test]
fn the_first_team_of_the_help_page_can_be_followed_to_its_end() {
    let sandbox = Sandbox::new();
    let call = |line: &[&str]| sandbox.call(line).succeeded().stdout;
    let founded = call(&[
        "team",
        "init",
        "demo",
        "--member",
        "ann",
        "--member",
        "bob",
        "--task",
        "Read the README",
        "--task",
        "List what it leaves out",
    ]);
    assert!(
        founded.starts_with("founded team demo members=2 tasks=2 in "),
        "{founded}"
    );
    let claimed = call(&["--as", "ann", "task", "claim"]);
    assert!(
        claimed.starts_with("1  ann-") && claimed.ends_with("\nRead the README\n"),
        "{claimed}"
    );
    let id = call(&["--as", "ann", "send", "bob", "I have the README"]);
    let inbox = call(&["--as", "bob", "inbox"]);
    assert!(
        inbox.starts_with(&format!("{}  from ann, not verified  ", id.trim())),
        "{inbox}"
    );
    assert!(inbox.ends_with("Z\n    I have the README\n"), "{inbox}");
    assert_eq!(
        call(&["--as", "ann", "task", "done", "1", "Two parts"]),
        "1  completed\n"
    );
    let page = call(&["team", "status", "demo"]);
    assert!(
        page.contains("  1  completed  ann  Two parts\n  2  pending  -  \n"),
        "{page}"
    );
    let collected = call(&["team", "collect", "demo"]);
    assert!(
        collected.starts_with("team collect demo: 1/2 ended\n"),
        "{collected}"
    );
    assert!(
        collected.contains("── 1 (ann): completed ──\ntask: Read the README\nTwo parts\n"),
        "{collected}"
    );
    let listed = call(&["team", "list"]);
    assert!(
        listed.lines().any(|line| line.starts_with("demo ")),
        "{listed}"
    );
    let who = call(&["who"]);
    assert!(who.contains("ann") && who.contains("leader"), "{who}");

    call(&["--as", "bob", "task", "claim"]);
    let refused = sandbox
        .call(["team", "rm", "demo", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        (&refused["code"], &refused["running"]),
        (&json!("team_live"), &json!(["task 2 of bob"]))
    );
    assert_eq!(
        refused["hint"],
        "end it with `pitcrew team shutdown demo` first"
    );
    call(&["team", "shutdown", "demo"]);
    let removed = call(&["team", "rm", "demo"]);
    assert!(
        removed.starts_with("removed team demo members=2 tasks=2 unread=1 from "),
        "{removed}"
    );
    assert!(!sandbox.team("demo", "").exists());
    assert_eq!(
        sandbox.call(["team", "status", "demo"]).ended(1).stdout,
        "team status: team demo not found\n"
    );
}

#[test]
fn the_first_help_page_names_every_command_exit_status_and_variable() {
    let sandbox = Sandbox::new();
    let page = sandbox.call(["--help"]).succeeded().stdout;
    for word in [
        "send",
        "broadcast",
        "inbox",
        "task",
        "wait",
        "team",
        "who",
        "doctor",
        "completions",
        "man",
    ] {
        assert!(
            page.lines()
                .any(|line| line.starts_with(&format!("  {word} "))),
            "{word}: {page}"
        );
    }
    for heading in [
        "Messages:",
        "Work:",
        "Teams:",
        "This machine:",
        "A first team, by hand:",
        "Exit status:",
        "Environment:",
    ] {
        assert!(
            page.lines().any(|line| line == heading),
            "{heading}: {page}"
        );
    }
    for status in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "130 "] {
        assert!(
            page.lines()
                .any(|line| line.trim_start().starts_with(status)),
            "{status}: {page}"
        );
    }
    assert_eq!(sandbox.call(["help"]).succeeded().stdout, page);
    assert_eq!(sandbox.call::<&str>([]).ended(2).stderr, page);
}

#[test]
fn every_command_describes_itself_in_its_own_words() {
    let sandbox = Sandbox::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(line) = open.pop() {
        let asked = line.iter().cloned().chain(["--help".to_string()]);
        let page = sandbox.call(asked).succeeded().stdout;
        seen += 1;
        let first = page.lines().next().unwrap_or_default();
        assert!(
            first.len() >= 10 && !first.starts_with("Usage"),
            "{line:?}: {page}"
        );
        assert!(
            !page.contains("The text of a message and what belongs to it"),
            "{line:?} shows a part's comment"
        );
        let mut below = page
            .split_once("\nCommands:\n")
            .map_or("", |(_, rest)| rest)
            .lines();
        if line.is_empty() {
            open.extend(
                [
                    "team",
                    "task",
                    "send",
                    "broadcast",
                    "inbox",
                    "wait",
                    "who",
                    "doctor",
                    "completions",
                    "man",
                ]
                .map(|word| vec![word.to_string()]),
            );
            continue;
        }
        for row in below.by_ref().take_while(|row| !row.is_empty()) {
            let word = row.split_whitespace().next().unwrap();
            if word != "help" {
                open.push(line.iter().cloned().chain([word.to_string()]).collect());
            }
        }
    }
    assert!(seen > 25, "{seen}");
}

#[test]
fn it_answers_under_its_second_name() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let other = sandbox.root().parent().unwrap().join("omp");
    symlink(env!("CARGO_BIN_EXE_pitcrew"), &other).unwrap();
    let call = |line: &[&str]| {
        let mut command = other_command(&other);
        command.args(line).env_clear().current_dir(sandbox.root());
        answer(command.output().unwrap())
    };
    let input = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }).to_string();
    let sent = call(&["team", "api", "send-message", "--input", &input, "--json"])
        .succeeded()
        .json();
    assert_eq!(keys(&sent), ["ok", "messageId", "nudged"]);
    assert_eq!(
        call(&["team", "status", "t"]).succeeded().stdout,
        sandbox.call(["team", "status", "t"]).succeeded().stdout
    );
    assert!(
        call(&["send", "--help"])
            .succeeded()
            .stdout
            .contains("Usage: omp send")
    );
}

#[test]
fn completions_and_manual_pages_name_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.call(["completions", shell]).succeeded().stdout;
        for word in ["broadcast", "remove-member", "idempotency-key"] {
            assert!(script.contains(word), "{shell} {word}");
        }
    }
    assert!(
        sandbox
            .call(["man"])
            .succeeded()
            .stdout
            .contains(".TH pitcrew 1")
    );
    let written = sandbox
        .call(["man", "--dir", "pages", "--json"])
        .succeeded()
        .json();
    let pages: Vec<&str> = written["pages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for page in [
        "pitcrew",
        "pitcrew-send",
        "pitcrew-team-api",
        "pitcrew-task-claim",
    ] {
        assert!(pages.contains(&page), "{pages:?}");
        let text = fs::read_to_string(sandbox.root().join(format!("pages/{page}.1"))).unwrap();
        assert!(
            text.contains(".SH NAME") && text.contains(".SH OPTIONS"),
            "{page}"
        );
    }
}
