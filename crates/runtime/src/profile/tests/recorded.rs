//! What the profiles make of turns that real CLIs took.
//!
//! Each recording is three files: what the CLI wrote to standard output and standard error, and a table with how it
//! ended, when, and with which arguments it was started. They were taken offline, with a scripted model on loopback,
//! whose every answer counts 100 tokens in (40 of them from a cache) and 10 out (gemini: 4 thoughts more). Paths are
//! replaced, long lists and stack traces cut.

use std::path::Path;

use pitcrew_core::Timestamp;
use serde::Deserialize;

use super::*;
use crate::process::{By, How};

#[derive(Deserialize)]
struct Ending {
    how: String,
    status: i32,
    at_ms: i64,
    args: Vec<String>,
    prompt: String,
}

struct Recording {
    ending: Ending,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

fn recording(cli: &str, case: &str) -> Recording {
    let stem = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/profile/fixtures")
        .join(cli)
        .join(case);
    let part = |extension: &str| std::fs::read(stem.with_extension(extension)).unwrap();
    let ending = toml::from_str(&String::from_utf8(part("toml")).unwrap()).unwrap();
    Recording {
        ending,
        stdout: part("out"),
        stderr: part("err"),
    }
}

fn read_after(cli: &str, case: &str, counted_before: Option<&Usage>) -> TurnReport {
    let taken = recording(cli, case);
    let how = match taken.ending.how.as_str() {
        "exited" => How::Exited(taken.ending.status),
        "signaled" => How::Signaled(taken.ending.status),
        _ => How::TimedOut { by: By::Ask },
    };
    let profiles = Profiles::built_in();
    profiles.get(cli).unwrap().read_turn(&TurnOutput {
        how,
        stdout: &taken.stdout,
        stderr: &taken.stderr,
        answer_file: None,
        session: None,
        counted_before,
        now_ms: taken.ending.at_ms,
        utc_offset_s: 0,
    })
}

fn read(cli: &str, case: &str) -> TurnReport {
    read_after(cli, case, None)
}

fn usage(input: u64, output: u64, cached: u64) -> Usage {
    Usage {
        input,
        output,
        cached,
        cost_micro_usd: None,
    }
}

fn completed(cli: &str, case: &str) -> String {
    let report = read(cli, case);
    assert_eq!(report.outcome, Outcome::Completed, "{cli}/{case}");
    report.answer.unwrap().text
}

fn why_failed(cli: &str, case: &str) -> String {
    match read(cli, case).outcome {
        Outcome::Failed { why } => why,
        other => panic!("{cli}/{case}: {other:?}"),
    }
}

/// What a limited turn said, and when the limit ends.
fn limited(cli: &str, case: &str) -> (String, Option<String>) {
    match read(cli, case).outcome {
        Outcome::Limited(limit) => (
            limit.why,
            limit
                .resets_at_ms
                .map(|at| Timestamp::from_millis(at).to_string()),
        ),
        other => panic!("{cli}/{case}: {other:?}"),
    }
}

fn refused(cli: &str, case: &str) -> (Vec<String>, bool) {
    match read(cli, case).outcome {
        Outcome::ToolsRefused { what, turn_done } => (what, turn_done),
        other => panic!("{cli}/{case}: {other:?}"),
    }
}

const ALL: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "qwen"];

#[test]
fn an_answer_and_its_session_are_read_from_every_cli() {
    for cli in ALL {
        assert!(
            completed(cli, "success").starts_with("MOCK-REPLY "),
            "{cli}"
        );
        assert!(
            completed(cli, "resumed").ends_with("chars=11 lines=1"),
            "{cli}"
        );
        let (first, second) = (read(cli, "success").session, read(cli, "resumed").session);
        assert!(
            first.is_some() && first == second,
            "{cli}: {first:?} {second:?}"
        );
        assert!(
            completed(cli, "tool_allowed").ends_with("after tool: done."),
            "{cli}"
        );
    }
}

#[test]
fn every_count_of_tokens_becomes_the_same_one() {
    // Per turn, per step, per session and without the cached ones: the model counted 100 in, 40 of them cached.
    for (cli, output, calls) in [
        ("claude", 10, 1),
        ("codex", 10, 1),
        ("gemini", 14, 1),
        ("opencode", 10, 1),
        ("qwen", 10, 2),
    ] {
        let wanted = usage(100 * calls, output * calls, 40 * calls);
        let first = read(cli, "success");
        let counted = |usage: Option<Usage>| {
            usage.map(|usage| Usage {
                cost_micro_usd: None,
                ..usage
            })
        };
        assert_eq!(counted(first.usage), Some(wanted), "{cli}");
        let next = read_after(cli, "resumed", first.counted.as_ref());
        assert_eq!(counted(next.usage), Some(wanted), "{cli}");
    }
    for (cli, calls) in [("claude", 2), ("codex", 2), ("opencode", 2)] {
        let tokens = read(cli, "tool_allowed").usage.unwrap();
        assert_eq!(
            (tokens.input, tokens.cached),
            (100 * calls, 40 * calls),
            "{cli}"
        );
    }
    assert_eq!(read("copilot", "success").usage, None);
}

#[test]
fn money_that_is_counted_for_the_session_is_this_turns() {
    let first = read("claude", "success");
    assert_eq!(first.usage.unwrap().cost_micro_usd, Some(455));
    let next = read_after("claude", "resumed", first.counted.as_ref());
    assert_eq!(
        (
            next.usage.unwrap().cost_micro_usd,
            next.counted.unwrap().cost_micro_usd
        ),
        (Some(455), Some(910))
    );
    assert_eq!(
        read_after("codex", "killed", first.counted.as_ref()).counted,
        first.counted
    );
}

#[test]
fn refused_tools_are_surfaced_though_the_exit_status_is_0() {
    assert_eq!(
        refused("claude", "tool_refused"),
        (vec!["Bash".into()], true)
    );
    assert_eq!(
        refused("codex", "tool_refused"),
        (vec!["a command that the sandbox stopped".into()], true)
    );
    assert_eq!(
        refused("codex", "escalation_refused"),
        (
            vec!["a command that asked to leave the sandbox".into()],
            true
        )
    );
    assert_eq!(
        refused("copilot", "tool_refused"),
        (vec!["a tool that needed permission".into()], true)
    );
    let (what, done) = refused("gemini", "tool_denied");
    assert_eq!(
        (what[0].as_str(), done),
        (
            "Error executing tool run_shell_command: Tool execution denied by policy.",
            true
        )
    );
    // Here the refusal ends the turn: what it said before is all there is.
    assert_eq!(
        refused("opencode", "tool_refused"),
        (vec!["bash".into()], false)
    );
    assert_eq!(
        read("opencode", "tool_refused").answer.unwrap().text,
        "I will run a command. "
    );
    // These do not offer the tool to the model at all, so nothing is refused that could be seen.
    for cli in ["gemini", "qwen"] {
        assert!(
            completed(cli, "tool_refused").starts_with("MOCK: no shell tool among "),
            "{cli}"
        );
    }
}

#[test]
fn a_limit_is_told_from_a_failure() {
    for (cli, case, says) in [
        ("claude", "limited", "API Error: Request rejected (429)"),
        (
            "claude",
            "limited_waiting",
            "the provider answers 429, and Claude Code was still trying again",
        ),
        (
            "codex",
            "limited",
            "exceeded retry limit, last status: 429 Too Many Requests",
        ),
        (
            "copilot",
            "limited",
            "Failed to get response from the AI model; retried 5 times",
        ),
        (
            "copilot",
            "limited_waiting",
            "the provider answers 429, and Copilot was still trying again",
        ),
        (
            "gemini",
            "limited",
            "Rate limit reached: mock usage limit, try again later.",
        ),
        (
            "gemini",
            "limited_waiting",
            "Attempt 2 failed with status 429.",
        ),
        (
            "gemini",
            "usage_limit",
            "You have exhausted your daily quota on this model.",
        ),
    ] {
        let (why, resets) = limited(cli, case);
        assert!(why.starts_with(says), "{cli}/{case}: {why}");
        assert_eq!(resets, None, "{cli}/{case}");
    }
    let (why, _) = limited("opencode", "limited");
    assert!(why.contains("AI_APICallError: Rate limit reached"), "{why}");
    // Qwen Code says nothing of it: such a turn cannot be told from a slow one.
    assert_eq!(
        why_failed("qwen", "limited"),
        "its time was up: Operation cancelled."
    );
}

#[test]
fn a_usage_limit_says_until_when() {
    for (cli, case, says, resets) in [
        (
            "claude",
            "usage_limit",
            "You've hit your 5-hour limit · resets 11pm (UTC)",
            "2026-11-30T23:00:00.000Z",
        ),
        (
            "claude",
            "usage_limit_days",
            "You've hit your weekly limit · resets Dec 3, 8:24pm (UTC)",
            "2026-12-03T20:24:43.000Z",
        ),
        (
            "codex",
            "usage_limit",
            "or try again at 9:36 PM.",
            "2026-11-30T21:36:00.000Z",
        ),
        (
            "codex",
            "usage_limit_days",
            "or try again at Dec 3rd, 2026 8:27 PM.",
            "2026-12-03T20:27:00.000Z",
        ),
    ] {
        let (why, at) = limited(cli, case);
        assert!(why.ends_with(says), "{cli}/{case}: {why}");
        assert_eq!(at.as_deref(), Some(resets), "{cli}/{case}");
        assert_eq!(
            read(cli, case).answer,
            None,
            "an error is no answer: {cli}/{case}"
        );
    }
}

#[test]
fn a_failure_says_why() {
    for (cli, case, says) in [
        (
            "claude",
            "bad_key",
            "Failed to authenticate. API Error: 401 mock bad key",
        ),
        (
            "claude",
            "server_error",
            "API Error: 500 mock internal error.",
        ),
        (
            "claude",
            "too_many_turns",
            "Reached maximum number of turns (1)",
        ),
        (
            "codex",
            "bad_key",
            "unexpected status 401 Unauthorized: mock bad key",
        ),
        (
            "codex",
            "server_error",
            "We\u{2019}re currently experiencing high demand",
        ),
        (
            "copilot",
            "bad_key",
            "Authentication failed with provider at http://127.0.0.1:8399/v1 (HTTP 401). Check your",
        ),
        (
            "copilot",
            "server_error",
            "Failed to get response from the AI model; retried 5 times",
        ),
        (
            "gemini",
            "bad_key",
            "{\"error\":{\"code\":401,\"message\":\"mock bad key\"",
        ),
        ("gemini", "server_error", "its time was up: status: 500"),
        (
            "gemini",
            "untrusted",
            "Gemini CLI is not running in a trusted directory.",
        ),
        ("opencode", "bad_key", "mock bad key"),
        ("opencode", "server_error", "its time was up: timestamp="),
        ("qwen", "bad_key", "[API Error: 401 mock bad key]"),
        ("qwen", "server_error", "its time was up: "),
    ] {
        let why = why_failed(cli, case);
        assert!(why.starts_with(says), "{cli}/{case}: {why}");
    }
}

#[test]
fn a_turn_that_was_killed_half_way_is_no_success_whatever_its_status() {
    for cli in ALL {
        assert!(
            why_failed(cli, "killed").starts_with("its time was up"),
            "{cli}"
        );
    }
    let taken = recording("gemini", "killed");
    assert_eq!(taken.ending.status, 0, "terminated, and it says success");
    let profiles = Profiles::built_in();
    let report = profiles.get("gemini").unwrap().read_turn(&TurnOutput {
        how: How::Exited(0),
        stdout: &taken.stdout,
        stderr: &taken.stderr,
        answer_file: None,
        session: Some("planned"),
        counted_before: None,
        now_ms: 0,
        utc_offset_s: 0,
    });
    assert!(
        matches!(report.outcome, Outcome::Failed { why } if why.starts_with("ended without an answer"))
    );
    assert_eq!(report.session.as_deref(), Some("planned"));
}

#[test]
fn a_session_that_is_no_more_is_recognised() {
    for cli in ALL {
        let report = read(cli, "session_lost");
        assert!(
            matches!(report.outcome, Outcome::SessionLost { .. }),
            "{cli}: {:?}",
            report.outcome
        );
        assert_eq!(report.session, None, "{cli}");
    }
}

#[test]
fn a_recording_that_is_cut_anywhere_is_never_a_success() {
    for cli in ALL {
        let taken = recording(cli, "success");
        let whole = taken.stdout.trim_ascii_end();
        for length in (0..whole.len()).step_by(31).chain([whole.len() - 1]) {
            let profiles = Profiles::built_in();
            let report = profiles.get(cli).unwrap().read_turn(&TurnOutput {
                how: How::Exited(0),
                stdout: &whole[..length],
                stderr: &taken.stderr,
                answer_file: None,
                session: None,
                counted_before: None,
                now_ms: 0,
                utc_offset_s: 0,
            });
            assert!(
                matches!(report.outcome, Outcome::Failed { .. }),
                "{cli} at {length}: {:?}",
                report.outcome
            );
        }
    }
}

/// `word` with every session id in it as `ID`.
fn without_ids(word: &str) -> String {
    let (option, value) = word
        .split_once('=')
        .map_or(("", word), |(option, value)| (option, value));
    let id = value.starts_with("ses_")
        || value.len() == 36 && value.bytes().filter(|b| *b == b'-').count() == 4;
    match (id, option) {
        (false, _) => word.to_string(),
        (true, "") => "ID".to_string(),
        (true, option) => format!("{option}=ID"),
    }
}

#[test]
fn the_recordings_were_taken_with_the_arguments_that_the_profiles_have() {
    let profiles = Profiles::built_in();
    let mut seen = 0;
    for cli in ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/profile/fixtures")
            .join(cli);
        let files = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        for file in files.filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "toml")
        }) {
            let case = file.file_stem().unwrap().to_str().unwrap();
            let ending = recording(cli, case).ending;
            let mut taken: Vec<String> = ending.args.iter().map(|word| without_ids(word)).collect();
            let extra = ["-m", "gemini-2.5-flash", "--max-turns", "1"];
            taken.retain(|word| !extra.contains(&word.as_str()));
            let planned = |session: SessionPlan<'static>, tools: ToolGrant| -> Vec<String> {
                let input = TurnInput {
                    prompt: &ending.prompt,
                    session,
                    tools,
                    args: &[],
                    script: None,
                    folder: Path::new("/"),
                };
                let plan = profiles.get(cli).unwrap().plan_turn(&input).unwrap();
                let words = plan.args.iter().map(|word| word.to_str().unwrap());
                let words: Vec<String> = words.map(str::to_string).collect();
                // Newer than the recordings: it changes where commands are found, not what is written.
                let later = words
                    .windows(2)
                    .position(|pair| pair[1] == "allow_login_shell=false");
                match later {
                    Some(at) => [&words[..at], &words[at + 2..]].concat(),
                    None => words,
                }
            };
            let sessions = [
                SessionPlan::Fresh { id: "ID" },
                SessionPlan::Resume { id: "ID" },
            ];
            let grants = [ToolGrant::None, ToolGrant::Team, ToolGrant::All];
            let known = sessions.iter().any(|session| {
                grants
                    .iter()
                    .any(|grant| planned(*session, *grant) == taken)
            });
            // One was taken without `--skip-trust`, to see what that does.
            assert!(known || case == "untrusted", "{cli}/{case}: {taken:?}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}
