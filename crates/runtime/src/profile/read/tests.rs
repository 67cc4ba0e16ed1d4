use super::*;
use crate::process::By;
use crate::profile::Profiles;

const TIMED_OUT: How = How::TimedOut { by: By::Ask };

/// What a profile of no particular CLI makes of an output.
fn read(profile: &str, how: How, stdout: &[u8], stderr: &[u8]) -> TurnReport {
    let text = format!("version = 1\nname = 'x'\nprogram = 'x'\n[turn]\nfresh = ['-p']\n{profile}");
    let profiles = Profiles::load([("x.toml".into(), text)], []);
    profiles.get("x").unwrap().read_turn(&TurnOutput {
        how,
        stdout,
        stderr,
        answer_file: None,
        session: Some("planned"),
        counted_before: None,
        now_ms: 1_796_066_000_000,
        utc_offset_s: 0,
    })
}

const PLAIN: &str = "[answer]\nat = [{ from = 'stdout' }]\n";

const LINES: &str = "[answer]\nrequired = true\nat = [{ from = 'stdout_lines', where = { t = 'say' }, field = 'v' }]\n\
    [done]\nat = [{ from = 'stdout_lines', where = { t = 'end' } }]\n\
    [session]\nat = [{ from = 'stdout_lines', field = 'sid' }]\nlost = [{ from = 'stderr', text = 'no such session' }]\n\
    [failure]\nat = [{ from = 'stdout_lines', where = { t = 'err' }, field = 'v' }]\n\
    [refusals]\nat = [{ from = 'stdout_lines', where = { t = 'no' }, field = 'v' }]\n\
    [limits]\nexits = [173]\nat = [{ from = 'stdout_lines', where = { t = 'err' }, field = 'v', text = 'limit' }]\n\
    retrying = [{ from = 'stderr', text = 'status 429' }]\n\
    resets = [{ at = { from = 'stdout_lines', where = { t = 'err' }, field = 'at' }, reads = 'epoch_s' }]\n";

const DONE: &[u8] = b"{\"t\":\"say\",\"v\":\"hello\",\"sid\":\"s-1\"}\n{\"t\":\"end\"}\n";

fn failed(why: &str) -> Outcome {
    Outcome::Failed { why: why.into() }
}

fn limited(why: &str, resets_at_ms: Option<i64>) -> Outcome {
    Outcome::Limited(Limit {
        why: why.into(),
        resets_at_ms,
    })
}

#[test]
fn a_plain_program_is_judged_by_its_exit_status() {
    let report = read(PLAIN, How::Exited(0), b"hi\n", b"note");
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(
        report.answer,
        Some(Answer {
            text: "hi\n".into(),
            left_out: 0
        })
    );
    assert_eq!(
        (report.session.as_deref(), report.usage),
        (Some("planned"), None)
    );
    assert_eq!(
        read(PLAIN, How::Exited(0), b"", b"").outcome,
        Outcome::Completed
    );
    let report = read(
        PLAIN,
        How::Exited(3),
        b"so far\n",
        b"a\n\x1b[31mboom\x1b[0m  now\n}\n",
    );
    assert_eq!(report.outcome, failed("exit status 3: boom now"));
    assert_eq!(report.answer.unwrap().text, "so far\n");
    assert_eq!(
        read(PLAIN, How::Signaled(9), b"", b"").outcome,
        failed("killed by signal 9")
    );
    assert_eq!(
        read(PLAIN, TIMED_OUT, b"", b"").outcome,
        failed("its time was up")
    );
}

#[test]
fn a_turn_is_done_when_the_cli_says_so() {
    let report = read(LINES, How::Exited(0), DONE, b"");
    assert_eq!(
        (report.outcome, report.session.as_deref()),
        (Outcome::Completed, Some("s-1"))
    );
    for exit in [TIMED_OUT, How::Signaled(15), How::Lost] {
        assert_eq!(
            read(LINES, exit, DONE, b"").outcome,
            Outcome::Completed,
            "{exit:?}"
        );
    }
    assert_eq!(
        read(LINES, How::Exited(1), DONE, b"crashed").outcome,
        failed("exit status 1: crashed")
    );
}

#[test]
fn exit_status_0_without_an_answer_is_no_success() {
    assert_eq!(
        read(LINES, How::Exited(0), b"", b"").outcome,
        failed("ended without an answer")
    );
    let unsaid = b"{\"t\":\"say\",\"v\":\"I will\",\"sid\":\"s\"}\n";
    assert_eq!(
        read(LINES, How::Exited(0), unsaid, b"").outcome,
        failed("ended without an answer")
    );
}

#[test]
fn a_failure_that_the_cli_got_over_does_not_count() {
    let out = [
        &b"{\"t\":\"err\",\"v\":\"a limit, trying again\"}\n"[..],
        DONE,
    ]
    .concat();
    assert_eq!(
        read(LINES, How::Exited(0), &out, b"failed with status 429").outcome,
        Outcome::Completed
    );
}

#[test]
fn refused_tools_are_named_once_and_the_answer_stands() {
    let refused = b"{\"t\":\"no\",\"v\":\"Bash\"}\n{\"t\":\"no\",\"v\":\"Bash\"}\n{\"t\":\"no\",\"v\":\"Edit\"}\n";
    let report = read(LINES, How::Exited(0), &[&refused[..], DONE].concat(), b"");
    let what = vec!["Bash".to_string(), "Edit".to_string()];
    assert_eq!(
        report.outcome,
        Outcome::ToolsRefused {
            what: what.clone(),
            turn_done: true
        }
    );
    assert_eq!(report.answer.unwrap().text, "hello");
    let report = read(LINES, How::Exited(0), refused, b"");
    assert_eq!(
        report.outcome,
        Outcome::ToolsRefused {
            what,
            turn_done: false
        }
    );
}

#[test]
fn a_limit_says_until_when_if_it_can() {
    let at = |line: &[u8]| read(LINES, How::Exited(1), line, b"").outcome;
    assert_eq!(
        at(b"{\"t\":\"err\",\"v\":\"limit\",\"at\":1796076000}"),
        limited("limit", Some(1_796_076_000_000))
    );
    assert_eq!(
        at(b"{\"t\":\"err\",\"v\":\"limit \xC2\xB7 resets 10pm\"}"),
        limited("limit · resets 10pm", Some(1_796_076_000_000))
    );
    assert_eq!(
        at(b"{\"t\":\"err\",\"v\":\"limit, later\"}"),
        limited("limit, later", None)
    );
    assert_eq!(
        at(b"{\"t\":\"err\",\"v\":\"limit\",\"at\":12}"),
        limited("limit", None)
    );
    assert_eq!(
        read(LINES, How::Exited(173), b"", b"x").outcome,
        limited("exit status 173: x", None)
    );
}

#[test]
fn a_turn_that_was_still_waiting_for_a_limit_is_limited_unless_it_failed_otherwise() {
    let waiting = b"attempt 3 failed with status 429";
    assert_eq!(
        read(LINES, TIMED_OUT, b"", waiting).outcome,
        limited("attempt 3 failed with status 429", None)
    );
    let other = b"{\"t\":\"err\",\"v\":\"bad key\"}\n";
    assert_eq!(
        read(LINES, How::Exited(1), other, waiting).outcome,
        failed("bad key")
    );
}

#[test]
fn a_session_that_is_no_more_is_its_own_outcome() {
    let report = read(
        LINES,
        How::Exited(1),
        b"",
        b"Error: no such session: 7
",
    );
    assert_eq!(report.session, None);
    assert_eq!(
        report.outcome,
        Outcome::SessionLost {
            why: "Error: no such session: 7".into()
        }
    );
}

#[test]
fn a_session_id_that_looks_like_an_option_is_not_believed() {
    for id in ["--yes", "", "a b", "a\\nb", "-", &"x".repeat(300)] {
        let out = format!("{{\"sid\":\"{id}\"}}\n");
        assert_eq!(
            read(LINES, How::Exited(0), out.as_bytes(), b"")
                .session
                .as_deref(),
            Some("planned"),
            "{id}"
        );
    }
}

#[test]
fn the_end_of_an_answer_that_is_too_long_is_kept() {
    let long = "é".repeat(ANSWER);
    let report = read(PLAIN, How::Exited(0), long.as_bytes(), b"");
    let answer = report.answer.unwrap();
    assert_eq!(
        (answer.text.len(), answer.left_out),
        (ANSWER, ANSWER as u64)
    );
}

#[test]
fn a_reason_is_one_line_of_bounded_length() {
    let err = format!("{}\r\n", "word\t".repeat(1_000));
    let Outcome::Failed { why } = read(PLAIN, How::Exited(1), b"", err.as_bytes()).outcome else {
        panic!()
    };
    assert!(
        why.starts_with("exit status 1: word word") && why.len() < 600,
        "{why}"
    );
    assert_eq!(one_line("a\u{1b}[1;31mb\u{1b}]0;t\u{7}c"), "ab ]0;t c");
    assert_eq!(one_line("\u{1b}["), "");
}

#[test]
fn nothing_that_a_process_leaves_makes_it_panic() {
    use proptest::prelude::*;
    let profiles = Profiles::built_in();
    proptest!(|(stdout in proptest::collection::vec(any::<u8>(), 0..400), stderr in ".{0,200}", code in any::<i32>(), cut in 0usize..300)| {
        let mut line = br#"{"type":"result","is_error":true,"result":"resets 3pm","usage":{"input_tokens":1e99},"session_id":"x"}"#.to_vec();
        line.truncate(cut);
        for stdout in [&stdout, &line] {
            for profile in profiles.iter() {
                let _ = profile.read_turn(&TurnOutput { how: How::Exited(code), stdout, stderr: stderr.as_bytes(), answer_file: None, session: None, counted_before: None, now_ms: 0, utc_offset_s: 0 });
            }
        }
    });
}
