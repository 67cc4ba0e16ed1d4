//! Real agent CLIs in tmux panes, against a scripted model on loopback. Opt-in: `PITCREW_REAL_CLIS=1`, with the programs on
//! `PATH`; `PITCREW_REAL_CLIS=claude,codex` takes only those that it names.
//!
//! Each is launched, recognised as ready, given its task, woken by mail while it is idle, and left alone while it is busy,
//! over a draft and while it asks; then its hooks are installed, used and taken out.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]
#![allow(clippy::print_stderr, reason = "the table for the docs is shown")]
#![allow(
    clippy::disallowed_methods,
    reason = "real programs are waited for in real time"
)]

#[path = "real/model.rs"]
mod model;
#[path = "real/pane.rs"]
mod pane;

use model::Model;
use pane::{Berth, Enter};

const ALL: [&str; 5] = ["claude", "codex", "gemini", "copilot", "opencode"];

/// Those whose hooks are known.
const HOOKED: [&str; 4] = ["claude", "codex", "gemini", "copilot"];

fn wanted(of: &[&'static str]) -> Vec<&'static str> {
    let asked = std::env::var("PITCREW_REAL_CLIS").unwrap_or_default();
    let named = |cli: &&str| asked.split(',').any(|name| name == *cli);
    match asked.as_str() {
        "" | "0" => Vec::new(),
        "1" => of.to_vec(),
        _ => of.iter().copied().filter(named).collect(),
    }
}

fn launched(cli: &'static str, model: &Model) -> (Berth, u128) {
    let path = std::env::var("PATH").unwrap_or_default();
    let berth = Berth::new(cli, &model.address, &path);
    let ready = launch(&berth);
    (berth, ready)
}

/// Launches the team; answers how long that took.
fn launch(berth: &Berth) -> u128 {
    let begun = std::time::Instant::now();
    let crew = format!("1:{}", berth.cli);
    let answer = berth.call(&[
        "team",
        &crew,
        "Say hello PLAIN-WORD",
        "--name",
        "t",
        "--json",
    ]);
    assert_eq!(answer.status, Some(0), "{answer:#?}");
    begun.elapsed().as_millis()
}

#[test]
fn real_agents_in_panes_are_woken_when_they_wait_and_never_otherwise() {
    for cli in wanted(&ALL) {
        let model = Model::start();
        let (berth, launch_ms) = launched(cli, &model);
        model.was_asked("PLAIN-WORD");
        berth.becomes("ready");

        let (woken, wake_ms) = berth.send("QUESTION one");
        assert_eq!(woken, "submitted", "{cli}\n{}", berth.screen());
        let mut asks = true;
        berth.until("the message is read", || {
            // Not all can be told which commands need no question.
            if asks && berth.state() == "waiting(permission)" {
                berth.presses("Enter");
                asks = false;
            }
            berth.stands("QUESTION one") == "delivered"
        });
        berth.becomes("ready");

        berth.types("Think about HANG-busy", Enter::Pressed);
        model.was_asked("HANG-busy");
        berth.becomes("busy");
        let (while_busy, busy_ms) = berth.send("QUESTION two");
        model.lift("HANG-busy");
        berth.becomes("ready");

        berth.types("half a thought", Enter::NotPressed);
        berth.becomes("waiting(draft)");
        let before = berth.screen();
        let (over_draft, _) = berth.send("QUESTION three");
        assert_eq!(berth.screen(), before, "{cli}: the draft is untouched");
        berth.presses("C-u");
        berth.becomes("ready");

        berth.types("Make the file ASK-made", Enter::Pressed);
        berth.becomes("waiting(permission)");
        let before = berth.screen();
        let (while_asking, _) = berth.send("QUESTION four");
        assert_eq!(berth.screen(), before, "{cli}: the question is untouched");
        assert!(!berth.path("p/ASK-made").exists(), "{cli}");
        berth.presses("Escape");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let asked = model.asked();
        let told = asked.iter().filter(|said| said.contains("new message(s)"));
        assert_eq!(told.count(), 1, "{cli}: {asked:#?}");

        let shut = berth.call(&["team", "shutdown", "t", "--json"]).json();
        assert_eq!(shut["ok"], true, "{cli}: {shut}");
        assert_eq!(berth.tmux(&["list-panes", "-a"]), "", "{cli}");
        assert_eq!(
            [while_busy.as_str(), &over_draft, &while_asking],
            ["busy", "draft", "dialog"],
            "{cli}"
        );
        eprintln!(
            "{cli} | launched and told its task in {launch_ms} ms | woken in {wake_ms} ms | refused while busy in {busy_ms} ms"
        );
    }
}

#[test]
fn real_agents_are_shown_their_mail_by_their_hooks() {
    for cli in wanted(&HOOKED) {
        let model = Model::start();
        let path = std::env::var("PATH").unwrap_or_default();
        let berth = Berth::new(cli, &model.address, &path);
        assert_eq!(berth.call(&["hook", "install", cli]).status, Some(0));
        launch(&berth);
        model.was_asked("PLAIN-WORD");
        berth.becomes("ready");
        berth.until("its hook has told that it is idle", || {
            berth.row()["told"]["activity"] == "idle"
        });

        berth.types("Think about HANG-busy", Enter::Pressed);
        model.was_asked("HANG-busy");
        berth.becomes("busy");
        assert_eq!(berth.row()["told"]["activity"], "busy", "{cli}");
        berth.send("BODY-at-the-end");
        assert!(!model.heard("BODY-at-the-end"));
        model.lift("HANG-busy");
        berth.until("mail made the turn go on", || {
            model.heard("BODY-at-the-end")
        });
        berth.until("what the turn had is used", || {
            berth.stands("BODY-at-the-end") == "delivered"
        });
        berth.becomes("ready");

        let mut idle = String::from("typed");
        if cli == "claude" {
            let asked = model.asked().len();
            berth.until("somebody waits beside it", || {
                let record = berth.path("p/.omp/state/team/t/workers/worker-1/.hook.json");
                std::fs::read_to_string(record).is_ok_and(|text| text.contains("waiter"))
            });
            let (word, _) = berth.send("BODY-while-idle");
            assert_eq!(word, "hooked", "{cli}\n{}", berth.screen());
            let ms = berth.until("it is woken without a key", || {
                model.heard("BODY-while-idle")
            });
            let said = model.asked()[asked..].join("\n");
            assert!(!said.starts_with("You have"), "{said}");
            idle = format!("without a key, in {ms} ms");
        } else {
            let (word, _) = berth.send("BODY-while-idle");
            assert_eq!(word, "submitted", "{cli}");
            berth.until("the turn that was begun shows it", || {
                model.heard("BODY-while-idle")
            });
        }
        berth.until("it is used", || {
            berth.stands("BODY-while-idle") == "delivered"
        });

        berth.becomes("ready");
        berth.types("Make the file ASK-made", Enter::Pressed);
        berth.becomes("waiting(permission)");
        berth.until("its hook has told that it asks", || {
            berth.row()["told"]["activity"] == "asking"
        });
        berth.presses("Escape");

        let log = berth.path("p/.omp/state/team/t/workers/worker-1/hooks.log");
        assert!(!log.exists(), "{cli}: {:?}", std::fs::read_to_string(log));
        berth.call(&["team", "shutdown", "t"]);
        assert_eq!(berth.call(&["hook", "uninstall", cli]).status, Some(0));
        assert_eq!(berth.call(&["hook", "check", cli]).status, Some(1));
        eprintln!("{cli} | mail at the end of a turn | while idle: {idle}");
    }
}

#[test]
fn real_agents_are_kept_off_lines_that_others_hold() {
    for cli in wanted(&["claude", "gemini", "copilot"]) {
        let model = Model::start();
        let path = std::env::var("PATH").unwrap_or_default();
        let berth = Berth::new(cli, &model.address, &path);
        model.works_in(&berth.path("p"));
        berth.call(&["hook", "install", cli]);
        launch(&berth);
        berth.becomes("ready");
        let file = berth.path("p/EDIT-held");
        std::fs::write(&file, "one\ntwo\n").unwrap();
        let claim = [
            "--team",
            "t",
            "--as",
            "leader",
            "claim",
            "EDIT-held",
            "1",
            "2",
        ];
        assert_eq!(berth.call(&claim).status, Some(0));
        berth.types("Write the file EDIT-held", Enter::Pressed);
        berth.until("the model hears who holds the lines", || {
            // The program may ask its user first; the hook comes before or after that.
            if berth.state() == "waiting(permission)" {
                berth.presses("Enter");
            }
            model.heard("leader holds EDIT-held")
        });
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "one\ntwo\n",
            "{cli}"
        );
        berth.call(&["team", "shutdown", "t"]);
        eprintln!("{cli} | an edit of held lines is refused by its hook");
    }
}

#[test]
fn real_agents_that_ask_whether_a_folder_is_trusted_get_no_key() {
    for cli in wanted(&["claude", "codex", "gemini", "copilot"]) {
        let model = Model::start();
        let path = std::env::var("PATH").unwrap_or_default();
        let berth = Berth::new(cli, &model.address, &path);
        berth.forgets_trust();
        let crew = format!("1:{cli}");
        let answer = berth.call(&[
            "team",
            &crew,
            "Say hello PLAIN-WORD",
            "--name",
            "t",
            "--json",
        ]);
        assert_eq!(answer.status, Some(0), "{answer:#?}");
        let state = berth.state();
        let mut before = berth.screen();
        berth.until("its screen is settled", || {
            std::thread::sleep(std::time::Duration::from_millis(700));
            let last = std::mem::replace(&mut before, berth.screen());
            last == before
        });
        let (word, _) = berth.send("QUESTION one");
        assert_eq!(berth.screen(), before, "{cli}: nothing was typed");
        assert_eq!(
            (state.as_str(), word.as_str()),
            ("waiting(permission)", "dialog"),
            "{cli}\n{before}"
        );
        berth.call(&["team", "shutdown", "t"]);

        let begun = std::time::Instant::now();
        let answer = berth.call(&[
            "team",
            &crew,
            "Say hello PLAIN-WORD",
            "--name",
            "t",
            "--trust",
            "--json",
        ]);
        assert_eq!(answer.status, Some(0), "{answer:#?}");
        let trusted_ms = begun.elapsed().as_millis();
        berth.until("its task is told", || {
            model.asked().iter().any(|said| said.contains("PLAIN-WORD"))
        });
        berth.becomes("ready");
        berth.call(&["team", "shutdown", "t"]);
        eprintln!(
            "{cli} | asks whether the folder is trusted: no key; with --trust it is told its task in {trusted_ms} ms"
        );
    }
}
