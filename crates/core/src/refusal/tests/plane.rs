//! One row for each refusal about lines and limits.

use super::*;
use crate::claim::{Case, FilePath, Holder, Lines, LinesHeld, Link};
use crate::limiter::RateLimit;
use crate::name::Name;
use crate::price::Micros;
use crate::time::Timestamp;

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn lines(start: u64, end: u64) -> Lines {
    Lines::new(start, end).unwrap()
}

/// The refusals of claims.
pub(super) fn claims() -> Vec<(Refusal, &'static str, Value)> {
    let file = FilePath::canonical("src/a.rs", "/", Case::Kept).unwrap();
    let until = Timestamp::from_millis(90_000);
    let conflict = Conflict {
        file: file.clone(),
        lines: lines(10, 30),
        holders: Vec::from([Holder {
            member: name("w1"),
            lines: lines(20, 40),
            until,
            left_ms: 90_000,
        }]),
        waiting: Vec::new(),
        more: 0,
        free: Vec::from([lines(10, 19)]),
        next: "wait".into(),
    };
    let link = |member: &str, waits_for: &str| Link {
        member: name(member),
        waits_for: name(waits_for),
        file: file.clone(),
        lines: lines(1, 2),
    };
    let deadlock = Deadlock {
        cycle: Vec::from([link("w1", "w2"), link("w2", "w1")]),
        next: "release".into(),
    };
    let not_claimed = NotClaimed {
        member: name("w1"),
        file: file.clone(),
        lines: None,
        held: Vec::new(),
    };
    Vec::from([
        (
            Lines::new(20, 10).unwrap_err(),
            "20 to 10 is no range of lines: the end is before the start",
            json!({"start": "20", "end": "10", "why": "the end is before the start"}),
        ),
        (
            Refusal::OutsideRoot {
                given: "../x".into(),
                root: "/p".into(),
            },
            r#""../x" names no file inside /p"#,
            json!({"given": "../x", "root": "/p"}),
        ),
        (
            Refusal::ClaimConflict(conflict.into()),
            "src/a.rs 10-30 cannot be claimed: w1 holds 20-40 for another 1 min 30 s",
            json!({
                "file": "src/a.rs", "lines": {"start": 10, "end": 30},
                "holders": [{
                    "member": "w1", "lines": {"start": 20, "end": 40},
                    "until": until, "left_ms": 90_000,
                }],
                "waiting": [], "free": [{"start": 10, "end": 19}], "next": "wait",
            }),
        ),
        (
            Refusal::Deadlock(deadlock.into()),
            "waiting would never end: w1 waits for w2 over src/a.rs 1-2, \
             w2 waits for w1 over src/a.rs 1-2",
            json!({
                "cycle": [
                    {"member": "w1", "waits_for": "w2", "file": "src/a.rs", "lines": {"start": 1, "end": 2}},
                    {"member": "w2", "waits_for": "w1", "file": "src/a.rs", "lines": {"start": 1, "end": 2}},
                ],
                "next": "release",
            }),
        ),
        (
            Refusal::NotClaimed(not_claimed.into()),
            "w1 holds no lines of src/a.rs",
            json!({"member": "w1", "file": "src/a.rs", "lines": null, "held": []}),
        ),
        (
            Refusal::LinesHeld(
                LinesHeld {
                    conflicts: Vec::new(),
                    next: "ask w2".into(),
                }
                .into(),
            ),
            "",
            json!({"conflicts": [], "next": "ask w2"}),
        ),
        (
            Refusal::TableFull {
                what: "claims".into(),
                limit: 2,
                retry_after_ms: Some(5),
            },
            "there are 2 claims already",
            json!({"what": "claims", "limit": 2, "retry_after_ms": 5}),
        ),
    ])
}

/// The refusals of the limiter.
pub(super) fn limits() -> Vec<(Refusal, &'static str, Value)> {
    let exceeded = BudgetExceeded {
        member: None,
        budget: Micros::new(1_000_000),
        spent: Micros::new(600_000),
        reserved: Micros::ZERO,
        estimate: Some(Micros::new(500_000)),
        next: "stop".into(),
    };
    let limited = RateLimited {
        limit: RateLimit::Requests,
        most: 2,
        used: 2,
        asked: 1,
        retry_after_ms: 5,
        why: None,
        next: "wait".into(),
    };
    let never = NeverFits {
        limit: RateLimit::Tokens,
        most: 10,
        asked: 11,
        next: "split".into(),
    };
    Vec::from([
        (
            Refusal::BudgetExceeded(exceeded.into()),
            "the team's budget of $1.00 does not allow it: $0.60 spent, $0.50 asked for",
            json!({
                "member": null, "budget": 1_000_000, "spent": 600_000, "reserved": 0,
                "estimate": 500_000, "next": "stop",
            }),
        ),
        (
            Refusal::RateLimited(limited.into()),
            "2 of 2 requests used in the last minute, 1 more asked for",
            json!({
                "limit": "requests", "most": 2, "used": 2, "asked": 1, "retry_after_ms": 5, "next": "wait",
            }),
        ),
        (
            Refusal::NeverFits(never),
            "11 tokens can never fit: the limit is 10 tokens a minute",
            json!({"limit": "tokens", "most": 10, "asked": 11, "next": "split"}),
        ),
        (
            Refusal::UnknownReservation {
                id: 7,
                open: Vec::from([3]),
            },
            "no reservation 7",
            json!({"id": 7, "open": [3]}),
        ),
        (
            Refusal::AlreadySettled { id: 7 },
            "reservation 7 was settled or released already",
            json!({"id": 7}),
        ),
        (
            Refusal::InvalidUsage {
                field: "tokens".into(),
                given: "-1".into(),
                why: "must be a whole number".into(),
            },
            "tokens: -1 must be a whole number",
            json!({"field": "tokens", "given": "-1", "why": "must be a whole number"}),
        ),
        (
            Refusal::LoopActive {
                mode: crate::loops::Mode::Ralph,
                since: "2026-11-30T16:22:33.725Z".into(),
                aim: "fix auth".into(),
            },
            "ralph is active since 2026-11-30T16:22:33.725Z: fix auth",
            json!({"mode": "ralph", "since": "2026-11-30T16:22:33.725Z", "aim": "fix auth"}),
        ),
        (
            Refusal::LoopInactive {
                mode: crate::loops::Mode::Ultraqa,
            },
            "ultraqa is not active",
            json!({"mode": "ultraqa"}),
        ),
        (
            Refusal::LoopCleared {
                mode: crate::loops::Mode::Ralph,
            },
            "the ralph loop was cleared already",
            json!({"mode": "ralph"}),
        ),
        (
            Refusal::UnknownModel {
                model: "m".into(),
                nearest: Vec::from(["m1".into()]),
            },
            "no price is known for model \"m\"",
            json!({"model": "m", "nearest": ["m1"]}),
        ),
        (
            Refusal::LimiterUnreachable {
                why: "it is locked".into(),
            },
            "the limiter cannot be reached: it is locked",
            json!({"why": "it is locked"}),
        ),
    ])
}
