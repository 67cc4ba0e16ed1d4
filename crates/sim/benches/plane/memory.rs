//! The desk over the store in memory, on one core.

use std::time::Instant;

use pitcrew_core::Name;
use pitcrew_core::board::Discovery;
use pitcrew_core::claim::Request;
use pitcrew_core::event::Fact;
use pitcrew_core::limiter::Limiter;
use pitcrew_core::mailbox::Draft;
use pitcrew_core::roster::Team;
use pitcrew_runtime::clock::{Clock, ManualClock, SeededEntropy, SystemClock};
use pitcrew_runtime::desk::{Credentials, Desk};
use pitcrew_store::{Log, MemoryStore, Store, StoreExt};

use crate::{call, file, limits, lines, name, team};

const ROUNDS: usize = 5;

/// What the figures are to reach, in operations a second.
const CALLS: f64 = 1_000_000.0;
const CLAIMS: f64 = 500_000.0;

fn rate(count: u64, mut round: impl FnMut()) -> f64 {
    let timed = |round: &mut dyn FnMut()| {
        let start = Instant::now();
        round();
        count as f64 / start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(|_| timed(&mut round)).fold(0.0, f64::max)
}

fn row(what: &str, size: u64, rate: f64, wanted: f64) {
    let word = if rate >= wanted { "" } else { "  too slow" };
    println!("{what:<52} {size:>8} {rate:>12.0}/s{word}");
}

fn store() -> MemoryStore {
    let store = MemoryStore::new();
    let made = store.update::<Team, (), ()>(&(), |slot| {
        *slot = Some(team());
        Ok(())
    });
    made.expect("a store").expect("a team");
    store
}

pub(crate) fn run() {
    println!("{:<52} {:>8} {:>12}", "in memory, one core", "size", "rate");
    for entries in [0, 1_000, 10_000, 100_000] {
        calls(entries);
    }
    sends();
    for (held, found) in [(1, 0), (1_000, 0), (1_000, 100_000)] {
        claims(held, found);
    }
}

/// `acquire` and `record` with so many calls in the window.
fn calls(entries: u64) {
    const COUNT: u64 = 200_000;
    let (team, store, entropy) = (name("t"), store(), SeededEntropy::new(1));
    let members: Vec<_> = (0..8).map(|n| name(&format!("worker-{n}"))).collect();
    let clock = ManualClock::at(SystemClock.now());
    let desk = Desk::new(&team, &store, &clock, &entropy);
    desk.set_limits(&limits()).expect("good limits");
    let mut passed = 0;
    for n in 0..entries {
        let at = i64::try_from(n * 59_000 / entries).expect("small");
        clock.advance(at - passed);
        passed = at;
        call(&desk, &members[0]);
    }
    let kept = store
        .view::<Limiter>(&())
        .expect("a store")
        .expect("limits");
    // The machine's own clock, because reading it is part of a call; the window is as full as it was made.
    let real = SystemClock;
    let desk = Desk::new(&team, &store, &real, &entropy);
    let best = rate(COUNT, || {
        let back = store.update::<Limiter, (), ()>(&(), |slot| {
            *slot = Some(kept.clone());
            Ok(())
        });
        back.expect("a store").expect("limits");
        for member in members
            .iter()
            .cycle()
            .take(usize::try_from(COUNT).expect("small"))
        {
            call(&desk, member);
        }
    });
    row("acquire+record, calls in the window", entries, best, CALLS);
}

/// A message with its event, and what the event costs of it.
fn sends() {
    const COUNT: u64 = 50_000;
    let (team, entropy) = (name("t"), SeededEntropy::new(1));
    let (clock, to) = (SystemClock, "leader");
    let who = Credentials {
        token: None,
        claimed: Some("leader".into()),
    };
    let draft = Draft::text("a line of a few words for the leader");
    let best = rate(COUNT, || {
        let store = store();
        let desk = Desk::new(&team, &store, &clock, &entropy);
        for _ in 0..COUNT {
            desk.send(&who, to, &draft).expect("a mailbox");
        }
    });
    row("send, its event included", 0, best, 0.0);
    let store = store();
    let desk = Desk::new(&team, &store, &clock, &entropy);
    let fact = Fact::MessageSent {
        id: "0f19b6fc-c729-44d6-8477-d83cec2c304a".into(),
        from: name("worker-0"),
        to: Name::leader(),
        length: 36,
        intent: None,
        reply_to: None,
    };
    let best = rate(COUNT, || {
        for _ in 0..COUNT {
            desk.announce(std::slice::from_ref(&fact));
        }
    });
    row("the event alone", 0, best, 0.0);
}

/// Claims with so many held and so many findings stored.
fn claims(held: u64, found: u64) {
    const COUNT: u64 = 200_000;
    let (team, store, entropy) = (name("t"), store(), SeededEntropy::new(1));
    let clock = SystemClock;
    let desk = Desk::new(&team, &store, &clock, &entropy);
    let me = name("worker-0");
    for n in 0..found {
        let line = Discovery::new(&me, "topic", &format!("finding {n}"), desk.now());
        let line = line.expect("a good one").encode().expect("text");
        store
            .append(&Log::Discoveries, &[line.as_bytes()])
            .expect("a store");
    }
    desk.new_discoveries(&name("worker-1"), 1).expect("a board");
    let files: Vec<_> = (0..100)
        .map(|n| file(&format!("src/module-{n}.rs")))
        .collect();
    let members: Vec<_> = (0..10).map(|n| name(&format!("worker-{n}"))).collect();
    for n in 0..held {
        let member = &members[usize::try_from(n % 10).expect("small")];
        let at = &files[usize::try_from(n / 10).expect("small") % files.len()];
        let start = n % 10 * 100;
        let request = Request {
            ttl_ms: 3_600_000,
            ..Request::new(member, at, lines(start, start + 9))
        };
        desk.claim_lines_as(&request).expect("free");
    }
    let what = format!("claim, {found} findings stored, claims held");
    let best = rate(COUNT, || {
        for n in 0..COUNT {
            let at = &files[usize::try_from(n).expect("small") % files.len()];
            let start = 2_000 + n % 7;
            let request = Request::new(&members[0], at, lines(start, start + 9));
            let request = Request {
                mode: pitcrew_core::claim::Mode::Replace,
                ..request
            };
            desk.claim_lines_as(&request).expect("free");
        }
    });
    row(&what, held, best, CLAIMS);
    let own = Request::new(&members[3], &files[0], lines(300, 309));
    let best = rate(COUNT, || {
        for _ in 0..COUNT {
            desk.claim_lines_as(&own).expect("its own");
        }
    });
    row("  renewed", held, best, CLAIMS);
    let other = Request::new(&members[4], &files[0], lines(2_000, 2_020));
    let best = rate(COUNT, || {
        for _ in 0..COUNT {
            desk.claim_lines_as(&other).expect_err("taken");
        }
    });
    row("  refused", held, best, CLAIMS);
}
