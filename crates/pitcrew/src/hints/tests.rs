//! Every refusal and every failure has its row, and the reference's words stand where it has some.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use pitcrew_core::claim::{
    Case, Claims, FilePath, HeldLines, Lines, LinesHeld, Patience, Request, Standing,
};
use pitcrew_core::limiter::{Ask, Limiter, Limits};
use pitcrew_core::price::Micros;
use pitcrew_core::refusal::DependencyFault;
use pitcrew_core::task::Status;
use pitcrew_core::{Name, Timestamp};
use pitcrew_runtime::clock::EntropyError;

use super::*;
use crate::cli::Entry;
use crate::commands;

fn s(text: &str) -> String {
    text.to_string()
}

fn unknown() -> (String, String, Vec<String>, Option<String>) {
    (s("w3"), s("t"), vec![s("w1"), s("leader")], Some(s("w1")))
}

/// One refusal of every code, with the reference's words for it and a word that its hint must have.
fn refusals() -> Vec<(Refusal, &'static str, &'static str)> {
    let (given, team, valid, nearest) = unknown();
    let (id, member) = (s("1"), s("w1"));
    let (status, expected) = (Status::Completed, Status::InProgress);
    let mail = [
        (
            Refusal::name(NameKind::Recipient, &given),
            "invalid_recipient_name",
            "letters",
        ),
        (
            Refusal::name(NameKind::Team, &given),
            "invalid_name",
            "letters",
        ),
        (
            Refusal::name(NameKind::Member, "Leader"),
            "invalid_name",
            "started the team",
        ),
        (
            Refusal::input("body", "must not be empty"),
            "invalid_input",
            "body",
        ),
        (
            Refusal::UnknownRecipient {
                given: given.clone(),
                team: team.clone(),
                valid: valid.clone(),
                nearest: nearest.clone(),
            },
            "unknown_recipient",
            "did you mean w1? valid names: w1, leader",
        ),
        (
            Refusal::UnknownSender {
                given: given.clone(),
                team: team.clone(),
                valid: valid.clone(),
                nearest: None,
            },
            "unknown_sender",
            "valid names: w1, leader",
        ),
        (
            Refusal::UnknownMember {
                given: given.clone(),
                team: team.clone(),
                valid: valid.clone(),
                nearest,
            },
            "unknown_member",
            "w1",
        ),
        (
            Refusal::TeamNotFound {
                given: given.clone(),
                valid,
                nearest: None,
            },
            "team_not_found",
            "valid names",
        ),
        (
            Refusal::TeamNotFound {
                given,
                valid: Vec::new(),
                nearest: None,
            },
            "team_not_found",
            "team init",
        ),
        (
            Refusal::TeamExists { team: team.clone() },
            "team_exists",
            "team rm t",
        ),
        (
            Refusal::LeaderOnly {
                member: member.clone(),
                action: s("remove the team"),
            },
            "leader_only",
            "pitcrew send leader",
        ),
        (
            Refusal::ShutDown {
                team: team.clone(),
                at: s("2026-11-30T16:00:00.000Z"),
            },
            "shut_down",
            "pitcrew team collect t",
        ),
        (
            Refusal::TeamLive {
                team: team.clone(),
                running: vec![s("task 1")],
            },
            "team_live",
            "team shutdown t",
        ),
        (
            Refusal::MemberExists {
                member: member.clone(),
            },
            "member_exists",
            "another name",
        ),
        (
            Refusal::SenderMismatch {
                claimed: s("leader"),
                actual: member.clone(),
            },
            "sender_mismatch",
            "speak as w1",
        ),
        (
            Refusal::InvalidToken { team: team.clone() },
            "invalid_token",
            "PITCREW_TOKEN",
        ),
        (
            Refusal::TokenRequired {
                team,
                claimed: member.clone(),
            },
            "token_required",
            "pitcrew run",
        ),
        (
            Refusal::BodyTooLarge { size: 2, limit: 1 },
            "body_too_large",
            "file",
        ),
        (
            Refusal::MessageNotFound {
                id: id.clone(),
                mailbox: member.clone(),
            },
            "message_not_found",
            "--as w1",
        ),
        (
            Refusal::NotDeadLettered { id: id.clone() },
            "not_dead_lettered",
            "--dead",
        ),
    ];
    let work = [
        (
            Refusal::InvalidTaskId { given: s("../x") },
            "invalid_task_id",
            "letters",
        ),
        (
            Refusal::TaskNotFound { id: s("99") },
            "task 99 not found",
            "task list",
        ),
        (
            Refusal::TaskExists { id: id.clone() },
            "task_exists",
            "another id",
        ),
        (
            Refusal::NotPending {
                id: id.clone(),
                status: expected,
                owner: Some(member.clone()),
            },
            "task 1 status=in_progress",
            "w1 has it",
        ),
        (
            Refusal::NotPending {
                id: id.clone(),
                status,
                owner: None,
            },
            "task 1 status=completed",
            "pending",
        ),
        (
            Refusal::UnexpectedStatus {
                id: id.clone(),
                status: Status::Pending,
                expected,
            },
            "task 1 status=pending, expected in_progress",
            "claim it first",
        ),
        (
            Refusal::AlreadyTerminal {
                id: id.clone(),
                status,
                expected,
            },
            "task 1 status=completed, expected in_progress",
            "ended",
        ),
        (
            Refusal::StaleToken {
                id: id.clone(),
                owner: None,
            },
            "claim token mismatch",
            "latest claim",
        ),
        (
            Refusal::InvalidStatus {
                from: s("pending"),
                to: s("banana"),
            },
            "invalid_status",
            "in_progress",
        ),
        (
            Refusal::Blocked {
                id: id.clone(),
                on: vec![s("2")],
                failed: vec![s("2")],
            },
            "blocked",
            "task retry 2",
        ),
        (
            Refusal::Blocked {
                id: id.clone(),
                on: vec![s("2")],
                failed: Vec::new(),
            },
            "blocked",
            "--ready",
        ),
        (
            Refusal::AssignedElsewhere {
                id: id.clone(),
                member: member.clone(),
            },
            "assigned_elsewhere",
            "only w1",
        ),
        (
            Refusal::ClaimLimit {
                member,
                holding: 1,
                limit: 1,
            },
            "claim_limit",
            "release",
        ),
        (
            Refusal::RoleDenied {
                role: s("coder"),
                action: s("call x"),
            },
            "role_denied",
            "leader",
        ),
        (
            Refusal::InvalidDependency {
                id,
                fault: DependencyFault::Itself,
            },
            "invalid_dependency",
            "blocked_by",
        ),
    ];
    mail.into_iter().chain(work).chain(plane()).collect()
}

/// Those of claims and limits, as their machines give them.
fn plane() -> Vec<(Refusal, &'static str, &'static str)> {
    let member = |text: &str| Name::new(NameKind::Member, text).unwrap();
    let (w1, w2) = (member("w1"), member("w2"));
    let (file, other) = (
        FilePath::canonical("a", "/p", Case::Kept).unwrap(),
        FilePath::canonical("b", "/p", Case::Kept).unwrap(),
    );
    let (lines, now) = (Lines::new(1, 9).unwrap(), Timestamp::from_millis(0));
    let mut claims = Claims::default();
    let mut claim = |member: &Name, file: &FilePath, patience| {
        let wish = Request {
            patience,
            ..Request::new(member, file, lines)
        };
        claims.claim(&wish, now)
    };
    let later = Patience::Until(now.plus_millis(1_000));
    claim(&w1, &file, Patience::None).unwrap();
    claim(&w2, &other, Patience::None).unwrap();
    let conflict = claim(&w2, &file, Patience::None).unwrap_err();
    claim(&w2, &file, later).unwrap();
    let deadlock = claim(&w1, &other, later).unwrap_err();
    let touched = claims.held(now).next().unwrap();
    let touched = HeldLines::new(&w1, touched, Standing::Taken(lines), now);
    let touched = LinesHeld::by_commit(vec![touched], &Name::leader());
    let part = Some(Lines::new(20, 30).unwrap());
    let not_there = claims.release(&w1, &file, part, now).unwrap_err();
    let nothing = claims.release(&w1, &other, None, now).unwrap_err();

    let limits = Limits {
        budget: Some(Micros::new(10)),
        tpm: Some(10),
        ..Limits::default()
    };
    let mut limiter = Limiter::new(limits).unwrap();
    let over = Ask {
        cost: Some(Micros::new(11)),
        ..Ask::new(&w1, 1)
    };
    let over = limiter.acquire(&over, now).unwrap_err();
    let never = limiter.acquire(&Ask::new(&w1, 11), now).unwrap_err();
    limiter.acquire(&Ask::new(&w1, 10), now).unwrap();
    let limited = limiter.acquire(&Ask::new(&w1, 1), now).unwrap_err();
    let full = |retry_after_ms| Refusal::TableFull {
        what: s("claims"),
        limit: 1,
        retry_after_ms,
    };
    let unknown = |open| Refusal::UnknownReservation { id: 7, open };
    let outside = Refusal::OutsideRoot {
        given: s("../x"),
        root: s("/p"),
    };
    let usage = Refusal::InvalidUsage {
        field: s("tokens"),
        given: s("-1"),
        why: s("must be whole"),
    };
    let gone = Refusal::LimiterUnreachable { why: s("x") };
    let mode = pitcrew_core::loops::Mode::Ralph;
    let running = Refusal::LoopActive {
        mode,
        since: s("now"),
        aim: s("x"),
    };
    vec![
        (running, "loop_active", "--force"),
        (
            Refusal::LoopInactive { mode },
            "not active",
            "pitcrew ralph start",
        ),
        (
            Refusal::LoopCleared { mode },
            "loop already cleared",
            "pitcrew ralph start",
        ),
        (
            Lines::new(2, 1).unwrap_err(),
            "invalid_range",
            "pitcrew claim",
        ),
        (outside, "outside_root", "file of the project"),
        (conflict, "claim_conflict", "ask w1"),
        (deadlock, "deadlock", "release"),
        (
            Refusal::LinesHeld(touched.into()),
            "lines_held",
            "--no-verify",
        ),
        (not_there, "not_claimed", "it holds lines 1-9"),
        (nothing, "not_claimed", "pitcrew claims"),
        (full(Some(60_000)), "table_full", "in 1 min"),
        (full(None), "table_full", "give back"),
        (over, "budget_exceeded", "smaller call"),
        (limited, "rate_limited", "wait"),
        (never, "never_fits", "split"),
        (unknown(vec![3, 4]), "unknown_reservation", "3, 4"),
        (unknown(Vec::new()), "unknown_reservation", "acquire"),
        (Refusal::AlreadySettled { id: 7 }, "already_settled", "once"),
        (usage, "invalid_usage", "dollars"),
        (
            Refusal::UnknownModel {
                model: s("gpt-4"),
                nearest: vec![s("gpt-4o")],
            },
            "unknown_model",
            "did you mean gpt-4o?",
        ),
        (gone, "limiter_unreachable", "pitcrew doctor"),
    ]
}

#[test]
fn every_refusal_has_a_row() {
    let refusals = refusals();
    let codes: BTreeSet<&str> = refusals
        .iter()
        .map(|(refusal, ..)| refusal.code())
        .collect();
    let known: BTreeSet<&str> = Refusal::CODES.iter().copied().collect();
    assert_eq!(codes, known, "the samples have every code");
    for (refusal, reference, hint) in refusals {
        let row = row(&Halt::Refused(refusal.clone()));
        assert_eq!(row.exit, Exit::Refused, "{refusal:?}");
        assert_eq!(row.reference, reference, "{refusal:?}");
        assert!(row.hint.contains(hint), "{refusal:?}: {}", row.hint);
        assert!(
            !row.hint.contains(&refusal.to_string()),
            "{refusal:?} is said twice"
        );
    }
}

/// Every `pitcrew …` between backticks in `text`.
fn commands_in(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|quoted| quoted.strip_prefix("pitcrew "))
}

/// The words of `line` that name a command and are none.
fn unknown_words(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().peekable();
    // What stands before the command takes a value, or none.
    while let Some(flag) = words.next_if(|word| word.starts_with("--")) {
        if ["--as", "--team", "--root"].contains(&flag) {
            words.next();
        }
    }
    let is_letter = |c: char| c.is_ascii_lowercase() || c == '-';
    let is_word = |word: &&str| !word.starts_with('-') && word.chars().all(is_letter);
    let mut entries: Vec<&'static Entry> = commands::table().collect();
    let mut path = Vec::new();
    while !entries.is_empty() {
        let word = words.next().filter(is_word)?;
        path.push(word);
        match entries.iter().find(|entry| entry.name == word) {
            Some(entry) => entries = entry.below().iter().collect(),
            None => return Some(path.join(" ")),
        }
    }
    None
}

/// The texts below `folder` that name commands: sources and pages.
fn texts(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_text = path
            .extension()
            .is_some_and(|end| end == "rs" || end == "md");
        if path.is_dir()
            && !["target", ".git", ".omp", "decisions"]
                .iter()
                .any(|skipped| name == *skipped)
        {
            texts(&path, found);
        } else if is_text {
            found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn every_command_that_is_named_anywhere_exists() {
    assert_eq!(unknown_words("team shutdown x"), None);
    assert_eq!(unknown_words("--team t team stop x"), Some(s("team stop")));
    for (refusal, ..) in refusals() {
        let hint = row(&Halt::Refused(refusal)).hint;
        let unknown: Vec<String> = commands_in(&hint).filter_map(unknown_words).collect();
        assert!(unknown.is_empty(), "{hint}: {unknown:?}");
    }
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    texts(root, &mut found);
    assert!(found.len() > 100);
    for (path, text) in found {
        for line in text.lines() {
            let unknown: Vec<String> = commands_in(line).filter_map(unknown_words).collect();
            assert!(
                unknown.is_empty(),
                "{}: {line}: {unknown:?}",
                path.display()
            );
        }
    }
}

/// One failure of every kind. A kind without one does not compile.
fn failures() -> Vec<StoreFailure> {
    let path = || PathBuf::from("x");
    let of_io = |kind: io::ErrorKind| StoreFailure::io("append to", &path(), kind.into());
    let kinds = [
        StoreFailure::CorruptDocument {
            place: s("config.json"),
            why: s("it is empty"),
        },
        StoreFailure::LogTruncated {
            log: s("mailbox/w1.jsonl"),
            len: 1,
            cursor: 2,
            start: 0,
        },
        StoreFailure::Escapes { path: path() },
        StoreFailure::Locked { path: path() },
        StoreFailure::Claiming { path: path() },
        StoreFailure::BrokenRecord {
            log: s("mailbox/w1.jsonl"),
        },
        StoreFailure::NestedUpdate {
            place: s("config.json"),
        },
    ];
    for failure in &kinds {
        match failure {
            StoreFailure::Io { .. }
            | StoreFailure::CorruptDocument { .. }
            | StoreFailure::LogTruncated { .. }
            | StoreFailure::Escapes { .. }
            | StoreFailure::Locked { .. }
            | StoreFailure::Claiming { .. }
            | StoreFailure::BrokenRecord { .. }
            | StoreFailure::NestedUpdate { .. } => {}
        }
    }
    let io = [
        io::ErrorKind::StorageFull,
        io::ErrorKind::QuotaExceeded,
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
        io::ErrorKind::Other,
    ];
    kinds.into_iter().chain(io.map(of_io)).collect()
}

#[test]
fn every_failure_has_a_row() {
    for failure in failures() {
        let code = failure.code();
        let (exit, reference) = match failure {
            // A no of the reference's own.
            StoreFailure::Claiming { .. } => (Exit::Refused, "concurrent claim race"),
            _ => (Exit::Failed, code),
        };
        let row = row(&Halt::from(failure));
        assert_eq!((row.exit, row.reference.as_str()), (exit, reference));
        assert!(!row.hint.is_empty(), "{code}");
    }
}

#[test]
fn everything_else_has_a_row_too() {
    let entropy = EntropyError { reason: s("none") };
    let text = || s("x");
    for (halt, exit, code) in [
        (
            Halt::Failed(Failure::Entropy(entropy)),
            Exit::Failed,
            "no_entropy",
        ),
        (Halt::Usage(text()), Exit::Usage, "usage"),
        (
            Halt::Input {
                what: text(),
                why: text(),
            },
            Exit::Usage,
            "unreadable_input",
        ),
        (Halt::TimedOut(text()), Exit::TimedOut, "timed_out"),
        (
            Halt::System {
                what: "start a thread",
                why: text(),
            },
            Exit::Failed,
            "system_failed",
        ),
    ] {
        let row = row(&halt);
        assert_eq!((row.exit, row.reference.as_str()), (exit, code));
        assert!(!row.hint.is_empty(), "{code}");
    }
}

#[test]
fn a_message_names_its_cause_once() {
    let failure = StoreFailure::io(
        "open",
        &PathBuf::from("x"),
        io::Error::other("the disk is away"),
    );
    assert_eq!(
        Halt::from(failure).message(),
        "cannot open x: the disk is away"
    );
}
