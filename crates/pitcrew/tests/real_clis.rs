//! Real agent CLIs as headless members of one run, against a scripted model on loopback. Opt-in: `PITCREW_REAL_CLIS=1`,
//! with `codex`, `gemini` and `claude` on `PATH`; `PITCREW_REAL_CLIS=claude` takes only those that it names.
//!
//! For each of them: a task is done, mail is answered, its own shell tool sends a message with its token, a 429 of the
//! provider is waited for, and a turn that was killed is begun again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]
#![allow(clippy::print_stderr, reason = "the table for the docs is shown")]

#[path = "crew/crew.rs"]
mod crew;
#[path = "real/model.rs"]
mod model;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crew::{Crew, Watched, facts, report, signal};
use model::Model;
use serde_json::{Value, json};

const ALL: [&str; 3] = ["codex", "gemini", "claude"];

/// Which CLIs are wanted; none when nobody asked.
#[expect(
    clippy::disallowed_methods,
    reason = "whether real programs are to be run is a matter of who runs the tests"
)]
fn wanted() -> Vec<&'static str> {
    let asked = std::env::var("PITCREW_REAL_CLIS").unwrap_or_default();
    match asked.as_str() {
        "" | "0" => Vec::new(),
        "1" => ALL.to_vec(),
        named => ALL
            .into_iter()
            .filter(|cli| named.split(',').any(|name| name == *cli))
            .collect(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the programs are where the caller's PATH says"
)]
fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program is asked for its version"
)]
fn version(cli: &str) -> String {
    let output = std::process::Command::new(cli).arg("--version").output();
    let output = output.unwrap_or_else(|why| panic!("{cli} is not on PATH: {why}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().unwrap_or_default().to_string()
}

/// What a CLI needs to find the model, in a home of its own: the keys of its member in the team file.
fn member(crew: &Path, cli: &str, model: &str) -> String {
    let home = crew.parent().unwrap().join(format!("home-{cli}"));
    let write = |name: &str, text: &str| {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let project = crew.display();
    let mut env = vec![("HOME", home.display().to_string())];
    let mut more = "";
    match cli {
        "codex" => {
            write(
                ".codex/config.toml",
                &format!(
                    "model = \"mock-model\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n\
                     [model_providers.mock]\nname = \"mock\"\nbase_url = \"{model}/v1\"\nenv_key = \"MOCK_KEY\"\nwire_api = \"responses\"\n\
                     request_max_retries = 1\nstream_max_retries = 1\n[projects.\"{project}\"]\ntrust_level = \"trusted\"\n[analytics]\nenabled = false\n"
                ),
            );
            env.push(("MOCK_KEY", "x".to_string()));
            // It cannot tell the team's commands from others.
            more = "allow_tools = true\n";
        }
        "gemini" => {
            let settings = json!({
                "security": { "auth": { "selectedType": "gemini-api-key" } },
                "general": { "enableAutoUpdate": false, "maxAttempts": 1 },
                "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false },
            });
            write(".gemini/settings.json", &settings.to_string());
            env.push(("GEMINI_API_KEY", "x".to_string()));
            env.push(("GOOGLE_GEMINI_BASE_URL", model.to_string()));
            more = "args = ['-m', 'gemini-2.5-flash']\n";
        }
        _ => {
            env.push((
                "ANTHROPIC_API_KEY",
                "sk-mock-0123456789abcdefghij".to_string(),
            ));
            env.push(("ANTHROPIC_BASE_URL", model.to_string()));
            env.push(("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_string()));
        }
    }
    let env: Vec<String> = env
        .iter()
        .map(|(name, value)| format!("{name} = '{value}'"))
        .collect();
    format!(
        "[[members]]\nname = '{cli}'\nprofile = '{cli}'\n{more}env = {{ {} }}\n",
        env.join(", ")
    )
}

fn tasks(cli: &str) -> String {
    format!(
        "[[tasks]]\nid = 'plain-{cli}'\nfor = '{cli}'\ndescription = 'Say hello.'\n\
         [[tasks]]\nid = 'ask-{cli}'\nfor = 'asker'\nblocked_by = ['plain-{cli}']\ndescription = 'x'\nscript = 'pitcrew send {cli} \"QUESTION for {cli}\" > /dev/null'\n\
         [[tasks]]\nid = 'tool-{cli}'\nfor = '{cli}'\nblocked_by = ['ask-{cli}']\ndescription = 'Run the command: TOOL-{cli}'\n\
         [[tasks]]\nid = 'limit-{cli}'\nfor = '{cli}'\nblocked_by = ['tool-{cli}']\ndescription = 'Meet a limit: LIMIT-{cli}'\n\
         [[tasks]]\nid = 'crash-{cli}'\nfor = '{cli}'\nblocked_by = ['limit-{cli}']\ndescription = 'Think long: HANG-{cli}'\n"
    )
}

#[test]
fn real_agents_do_tasks_answer_mail_and_get_over_limits_and_crashes() {
    let clis = wanted();
    if clis.is_empty() {
        eprintln!("skipped: PITCREW_REAL_CLIS is not set");
        return;
    }
    let versions: Vec<String> = clis.iter().map(|cli| version(cli)).collect();
    let model = Model::start();
    let crew = Crew::new("");
    let mut file = String::from(
        "goal = 'Try real agents'\ntime_limit = '9m'\n[[members]]\nname = 'asker'\nprofile = 'sh'\non_mail = 'cat >> answers'\n",
    );
    for cli in &clis {
        file.push_str(&member(crew.root(), cli, &model.address));
        file.push_str(&tasks(cli));
    }
    crew.write("team.toml", &sorted(&file));
    let mut command = crew.command(["run", "team.toml", "--json"]);
    command.env("PATH", search_path()).env("LANG", "C.UTF-8");
    let mut run = Watched::of(command);
    let mut killed = BTreeSet::new();
    loop {
        let fact = run.until(|fact| {
            ["turn_started", "turn_ended", "run_ended", "run_refused"]
                .iter()
                .any(|name| fact["event"] == *name)
        });
        let text = |key: &str| fact[key].as_str().unwrap_or_default().to_string();
        match (text("event").as_str(), text("task").as_str()) {
            ("turn_started", task)
                if task.starts_with("crash-") && killed.insert(task.to_string()) =>
            {
                let word = task.replace("crash-", "HANG-");
                model.was_asked(&word);
                signal(
                    u32::try_from(fact["pid"].as_u64().unwrap()).unwrap(),
                    "KILL",
                );
            }
            // Only now: an agent that has said its last word is done, whatever kills it then.
            ("turn_ended", task) if task.starts_with("crash-") => {
                model.lift(&task.replace("crash-", "HANG-"));
            }
            ("turn_ended", task) if task.starts_with("limit-") && text("outcome") == "limited" => {
                model.lift(&task.replace("limit-", "LIMIT-"));
            }
            ("run_ended" | "run_refused", _) => break,
            _ => {}
        }
    }
    let (status, seen, stderr) = run.end();
    check(&crew, &clis, &seen, status, &stderr);
    show(&clis, &versions, &seen, &model);
}

/// The members' tables before the tasks', as TOML has it.
fn sorted(file: &str) -> String {
    let tables: Vec<&str> = file.split("[[").collect();
    let of = |kind: &str| -> String {
        let mine = tables.iter().filter(|table| table.starts_with(kind));
        mine.map(|table| format!("[[{table}")).collect()
    };
    format!("{}{}{}", tables[0], of("members"), of("tasks"))
}

#[track_caller]
fn check(crew: &Crew, clis: &[&str], seen: &[Value], status: Option<i32>, stderr: &str) {
    assert_eq!(status, Some(0), "{stderr}\n{:#?}", report(seen));
    let answers = crew.read("answers");
    let leader = fs::read_to_string(crew.team("mailbox/leader.jsonl")).unwrap_or_default();
    for cli in clis {
        let outcomes = |task: &str| -> Vec<String> {
            let task = format!("{task}-{cli}");
            let turns = facts(seen, "turn_ended").into_iter();
            turns
                .filter(|turn| turn["task"] == task.as_str())
                .map(|turn| turn["outcome"].as_str().unwrap().to_string())
                .collect()
        };
        assert_eq!(outcomes("plain"), ["succeeded"], "{cli}");
        assert_eq!(outcomes("tool"), ["succeeded"], "{cli}");
        assert_eq!(outcomes("limit"), ["limited", "succeeded"], "{cli}");
        assert_eq!(outcomes("crash"), ["crashed", "succeeded"], "{cli}");
        let result = crew.task(&format!("plain-{cli}"))["result"].clone();
        assert!(
            result.as_str().unwrap().starts_with("MODEL-REPLY-"),
            "{cli}: {result}"
        );
        assert!(
            answers.contains(&format!(
                "from=\"{cli}\" standing=\"peer\" verified=\"yes\""
            )),
            "{cli}\n{answers}"
        );
        let sent = format!("TOOL-{cli}");
        let line = leader.lines().find(|line| line.contains(&sent));
        let Some(line) = line else {
            let turn = facts(seen, "turn_started")
                .into_iter()
                .find(|turn| turn["task"] == format!("tool-{cli}"))
                .map(|turn| turn["turn"].as_u64().unwrap_or(0));
            let folder = format!("workers/{cli}/turn-{:04}", turn.unwrap_or(0));
            let output = |file: &str| fs::read_to_string(crew.team(&format!("{folder}/{file}")));
            panic!(
                "{cli} sent nothing: {:?} {:?}",
                output("stdout"),
                output("stderr")
            );
        };
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&line["from"], &line["verified"]),
            (&json!(cli), &json!(true))
        );
    }
    assert_eq!(crew.processes(), [] as [u32; 0]);
}

/// The rows for the page about real CLIs.
fn show(clis: &[&str], versions: &[String], seen: &[Value], model: &Model) {
    for (cli, version) in clis.iter().zip(versions) {
        let turns: Vec<String> = facts(seen, "turn_ended")
            .into_iter()
            .filter(|turn| turn["member"] == *cli)
            .map(|turn| {
                let task = turn["task"].as_str().unwrap_or("mail");
                let task = task.split('-').next().unwrap_or(task);
                format!(
                    "{task} {} {} ms",
                    turn["outcome"].as_str().unwrap_or(""),
                    turn["elapsed_ms"]
                )
            })
            .collect();
        let members = report(seen)["members"].as_array().unwrap().iter();
        let usage = members
            .filter(|member| member["member"] == *cli)
            .map(|member| member["usage"].to_string())
            .next();
        eprintln!(
            "{cli} | {version} | {} | {}",
            turns.join(", "),
            usage.unwrap_or_default()
        );
    }
    eprintln!("{} main requests", model.asked().len());
}
