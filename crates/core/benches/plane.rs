//! How fast the machines of the coordination plane are, and how that grows: `cargo bench -p pitcrew-core --bench plane`.
//!
//! Each figure is the best of a few rounds on one core, in operations a second. The columns are what must not matter:
//! calls in the limiter's window, claims held, discoveries stored.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, prints, and may fail"
)]

use pitcrew_core::board::{Board, Discovery};
use pitcrew_core::claim::{Case, Claims, EndCause, FilePath, Lines, Mode, Patience, Request};
use pitcrew_core::limiter::{Ask, Limiter, Limits, Report};
use pitcrew_core::name::Name;
use pitcrew_core::price::Micros;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::{TaskId, Timestamp};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 5;
const START: i64 = 1_796_000_000_000;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(START + ms)
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).expect("a good name")
}

fn file(text: &str) -> FilePath {
    FilePath::canonical(text, "/project", Case::Kept).expect("a good path")
}

fn lines(start: u64, end: u64) -> Lines {
    Lines::new(start, end).expect("a good range")
}

/// The best rate of a few rounds of `count` operations.
fn rate(count: u64, mut round: impl FnMut()) -> f64 {
    let timed = |round: &mut dyn FnMut()| {
        let start = Instant::now();
        round();
        count as f64 / start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(|_| timed(&mut round)).fold(0.0, f64::max)
}

fn row(what: &str, size: u64, rate: f64) {
    println!("{what:<58} {size:>8} {rate:>13.0}/s");
}

fn bytes(what: &str, document: &impl serde::Serialize) {
    let json = serde_json::to_vec(document).expect("a document");
    println!("{what:<67} {:>9} bytes", json.len());
}

/// How large a document is, and how fast it is read and written again.
fn document<D: serde::Serialize + serde::de::DeserializeOwned>(what: &str, document: &D) {
    bytes(what, document);
    let json = serde_json::to_vec(document).expect("a document");
    let best = rate(100, || {
        for _ in 0..100 {
            let read: D = serde_json::from_slice(&json).expect("its own text");
            black_box(serde_json::to_vec(&read)).expect("a document");
        }
    });
    row("  read and written, bytes", json.len() as u64, best);
}

fn limits() -> Limits {
    Limits {
        budget: Some(Micros::MOST),
        member_budget: Some(Micros::MOST),
        rpm: Some(u64::MAX),
        tpm: Some(u64::MAX),
        ..Limits::default()
    }
}

/// A limiter whose window holds `entries` calls.
fn filled(entries: u64) -> (Limiter, i64) {
    let mut limiter = Limiter::new(limits()).expect("good limits");
    let member = name("worker-1");
    let span = 59_000;
    for i in 0..entries {
        let now = at(i64::try_from(i * span / entries.max(1)).expect("small"));
        let id = limiter
            .acquire(&Ask::new(&member, 100), now)
            .expect("admitted")
            .id;
        limiter
            .record(&report(&member, Some(id.0)), now)
            .expect("settled");
    }
    (limiter, 59_000)
}

fn report(member: &Name, id: Option<u64>) -> Report<'_> {
    Report {
        member,
        reservation: id.map(pitcrew_core::limiter::ReservationId),
        tokens: 80,
        cost: Some(Micros::new(1_000)),
        task: None,
        model: None,
    }
}

fn limiter() {
    const COUNT: u64 = 200_000;
    let members: Vec<Name> = (0..8).map(|i| name(&format!("worker-{i}"))).collect();
    let task = TaskId::new("lane-a").expect("a good id");
    for entries in [0, 1_000, 10_000, 100_000] {
        let (limiter, now) = filled(entries);
        let best = rate(COUNT, || {
            let mut limiter = limiter.clone();
            for i in 0..COUNT {
                let member = &members[(i % 8) as usize];
                let ask = Ask {
                    cost: Some(Micros::new(1_500)),
                    task: Some(&task),
                    model: Some("claude-sonnet-5"),
                    ..Ask::new(member, 100)
                };
                let id = limiter.acquire(&ask, at(now)).expect("admitted").id;
                black_box(limiter.record(&report(member, Some(id.0)), at(now))).expect("settled");
            }
        });
        row(
            "acquire + record, with task, model and cost; calls in window",
            entries,
            best,
        );
    }
    for entries in [0, 100_000] {
        let (mut limiter, now) = filled(entries);
        limiter
            .set_limits(Limits {
                tpm: Some(1_000),
                ..limits()
            })
            .expect("good limits");
        limiter.acquire(&Ask::new(&members[0], 1_000), at(now)).ok();
        let ask = Ask::new(&members[0], 900);
        let best = rate(COUNT, || {
            for _ in 0..COUNT {
                black_box(limiter.acquire(&ask, at(now))).ok();
            }
        });
        row("acquire refused; calls in window", entries, best);
        document("  the limiter's document", &limiter);
    }
}

/// A table in which `held` claims are held, `each` to a file.
fn table(held: u64, each: u64) -> Claims {
    let mut claims = Claims::default();
    for i in 0..held {
        let member = name(&format!("worker-{}", i % each));
        let file = file(&format!("crates/core/src/file_{}.rs", i / each));
        let start = (i % each) * 10;
        claims
            .claim(
                &Request::new(&member, &file, lines(start, start + 5)),
                at(0),
            )
            .expect("free");
    }
    claims
}

fn claims(label: &str, claims: &Claims, held: u64) {
    const COUNT: u64 = 100_000;
    let (me, file) = (name("me"), file("crates/core/src/file_0.rs"));
    let best = rate(COUNT, || {
        let mut claims = claims.clone();
        for i in 0..COUNT {
            let start = 100_000 + i % 1_000;
            let wish = Request::new(&me, &file, lines(start, start + 5));
            black_box(claims.claim(&wish, at(1))).expect("free");
        }
    });
    row(
        &format!("claim, in the place of another; {label}"),
        held,
        best,
    );
    let best = rate(COUNT, || {
        let mut claims = claims.clone();
        let wish = Request::new(&me, &file, lines(100_000, 100_005));
        for i in 0..COUNT {
            black_box(claims.claim(&wish, at(1 + i as i64 / 10_000))).expect("free");
        }
    });
    row(&format!("claim, renewed; {label}"), held, best);
    let best = rate(COUNT, || {
        let mut claims = claims.clone();
        let wish = Request::new(&me, &file, lines(100_000, 100_005));
        for _ in 0..COUNT {
            claims.claim(&wish, at(1)).expect("free");
            black_box(claims.release(&me, &file, None, at(1))).expect("held");
        }
    });
    row(&format!("claim + release; {label}"), held, best);
    if held > 0 {
        let mut claims = claims.clone();
        let wish = Request::new(&me, &file, lines(3, 3));
        let best = rate(COUNT, || {
            for _ in 0..COUNT {
                black_box(claims.claim(&wish, at(1))).expect_err("held by another");
            }
        });
        row(&format!("claim, refused; {label}"), held, best);
    }
}

/// The cost of a queue: everybody waits for one line, and it goes round.
fn queue() {
    for waiting in [1_u64, 16, 128] {
        let file = file("src/a.rs");
        let members: Vec<Name> = (0..=waiting).map(|i| name(&format!("w{i}"))).collect();
        let best = rate(2_000, || {
            let mut claims = Claims::default();
            let wish = |member| Request {
                mode: Mode::Replace,
                patience: Patience::Until(at(1_000_000)),
                ..Request::new(member, &file, lines(1, 1))
            };
            for member in &members {
                claims.claim(&wish(member), at(0)).expect("held or in line");
            }
            for i in 0..2_000 {
                let member = &members[i % members.len()];
                claims
                    .release(member, &file, None, at(1))
                    .expect("its turn");
                claims.claim(&wish(member), at(1)).expect("in line");
            }
            black_box(claims.end_member(&members[0], EndCause::Stopped, at(2)));
        });
        row(
            "release, grant to the next, wait again; in line",
            waiting,
            best,
        );
    }
}

fn board() {
    let found = Discovery::new(&name("ada"), "bug", &"x".repeat(120), at(0)).expect("good");
    let line = found.encode().expect("good");
    let length = line.len() as u64 + 1;
    for stored in [0_u64, 10_000, 100_000] {
        let mut board = Board::default();
        let offer = |from: u64, count: u64| {
            let line = line.as_bytes();
            (from..from + count).map(move |i| (i * length, (i + 1) * length, line))
        };
        board.absorb(offer(0, stored));
        let best = rate(10_000, || {
            black_box(board.clone().absorb(offer(stored, 10_000)));
        });
        row("absorb a discovery; stored", stored, best);
        claims(
            &format!("1,000 claims held, discoveries: {stored}"),
            &table(1_000, 1_000),
            1_000,
        );
        black_box(&board);
    }
    let mut board = Board::default();
    board.absorb((0..100_000).map(|i| (i * length, (i + 1) * length, line.as_bytes())));
    document("  the board's document, 100,000 stored", &board);
}

fn main() {
    println!("{:<58} {:>8} {:>15}", "", "size", "rate");
    limiter();
    for held in [0, 100, 1_000, 10_000] {
        claims("held, all in one file", &table(held, 10_000), held);
    }
    claims("held, ten to a file", &table(1_000, 10), 1_000);
    document("  the document of 1,000 claims", &table(1_000, 10));
    queue();
    board();
}
