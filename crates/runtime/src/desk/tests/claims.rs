//! Claims at the desk: who may, who waits, who is told, and what ends with its holder.

use pitcrew_core::claim::{
    Answer, Case, ClaimEvent, EndCause, FileLines, FilePath, Lines, Mode, Outcome, Patience,
    Request, TTL_MS,
};
use pitcrew_store::{Creation, LocalStore, Project};

use super::*;
use crate::clock::{Clock, SystemClock};
use crate::desk::{ClaimTurn, ClaimWish};

fn file(text: &str) -> FilePath {
    FilePath::canonical(text, "/p", Case::Kept).unwrap()
}

fn lines(start: u64, end: u64) -> Lines {
    Lines::new(start, end).unwrap()
}

fn wish(start: u64, end: u64) -> ClaimWish {
    ClaimWish {
        file: file("src/a.rs"),
        lines: lines(start, end),
        ttl_ms: TTL_MS,
        mode: Mode::Replace,
        patience: Patience::None,
        text: None,
    }
}

fn ticket(answer: &Answer) -> u64 {
    match &answer.outcome {
        Outcome::Waiting { waiting, .. } => waiting.ticket,
        held => panic!("expected a place in line, got {held:?}"),
    }
}

impl Crew {
    fn take(&self, who: &str, start: u64, end: u64) -> Result<Answer, NotDone> {
        self.desk().claim_lines(&as_member(who), &wish(start, end))
    }

    fn queue(&self, who: &str, start: u64, end: u64, ms: i64) -> Answer {
        let patience = Patience::Until(self.desk().now().plus_millis(ms));
        let wish = ClaimWish {
            patience,
            ..wish(start, end)
        };
        self.desk().claim_lines(&as_member(who), &wish).unwrap()
    }

    /// Who holds what at this moment.
    fn held(&self) -> Vec<String> {
        let claims = self.desk().claims().unwrap();
        let now = self.desk().now();
        let held = claims.held(now);
        held.map(|claim| format!("{} {}", claim.member, claim.lines))
            .collect()
    }
}

#[test]
fn e2_lines_that_overlap_conflict_and_others_do_not() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.take("w1", 10, 20).unwrap();
    assert_eq!(code(crew.take("w2", 20, 30)), "claim_conflict");
    crew.take("w2", 0, 5).unwrap();
    assert_eq!(crew.held(), ["w1 10-20", "w2 0-5"]);
}

#[test]
fn e6_a_conflict_says_who_what_how_long_and_what_next() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.take("w1", 10, 20).unwrap();
    crew.clock.advance(1_000);
    let refused = refusal(crew.take("w2", 15, 30));
    assert_eq!(
        refused.to_string(),
        "src/a.rs 15-30 cannot be claimed: w1 holds 10-20 for another 4 min 59 s"
    );
    let Refusal::ClaimConflict(facts) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(facts.free, [lines(21, 30)]);
    assert!(facts.next.contains("ask w1"), "{}", facts.next);
}

#[test]
fn a_stranger_claims_nothing_and_nothing_is_created() {
    let crew = Crew::of(&["w1"]);
    assert_eq!(code(crew.take("w9", 1, 2)), "unknown_sender");
    assert_eq!(
        code(crew.desk().release_lines(&name("w1"), &file("a"), None)),
        "not_claimed"
    );
    let kept = crew.store.view::<pitcrew_core::claim::Claims>(&()).unwrap();
    assert_eq!(kept, None);
}

#[test]
fn e4_whoever_lets_a_claim_run_out_is_told_once() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.take("w1", 1, 9).unwrap();
    crew.clock.advance(i64::try_from(TTL_MS).unwrap());
    assert!(crew.held().is_empty(), "expiry needs nobody");
    crew.take("w2", 5, 6).unwrap();
    crew.take("w2", 5, 7).unwrap();
    let mail = crew.bodies("w1");
    assert_eq!(mail.len(), 1);
    assert!(
        mail[0].starts_with("Your claim on src/a.rs 1-9 ran out at 2026-"),
        "{mail:?}"
    );
}

#[test]
fn e4_a_team_that_ends_grants_nobody_the_lines_of_another() {
    let crew = Crew::of(&["w1", "w2", "w3"]);
    crew.take("w1", 1, 9).unwrap();
    let first = ticket(&crew.queue("w2", 1, 9, 60_000));
    let second = ticket(&crew.queue("w3", 5, 12, 60_000));
    crew.desk().mark_shut_down().unwrap();
    assert!(crew.held().is_empty());
    for waited in [first, second] {
        let turn = crew.desk().claim_turn(waited).unwrap();
        assert!(matches!(turn, ClaimTurn::Over), "{turn:?}");
    }
    let mut words = Vec::new();
    crew.desk()
        .events_from(0, &Default::default(), &mut |event| {
            words.push(event.word().to_string());
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let count = |word: &str| words.iter().filter(|said| *said == word).count();
    assert_eq!(count("claim_granted"), 0, "{words:?}");
    assert_eq!(count("claim_wait_ended"), 2, "{words:?}");
}

#[test]
fn e4_a_claim_ends_with_its_holder_removed_stopped_or_crashed() {
    for cause in [EndCause::Stopped, EndCause::Crashed] {
        let crew = Crew::of(&["w1", "w2"]);
        crew.take("w1", 1, 9).unwrap();
        let waits = ticket(&crew.queue("w2", 3, 4, 60_000));
        let end = crew.desk().end_member(&name("w1"), cause).unwrap();
        assert!(matches!(
            &end.claims[..],
            [
                ClaimEvent::ClaimEnded { cause: told, .. },
                ClaimEvent::ClaimGranted { ticket, .. },
            ] if *told == cause && *ticket == waits
        ));
        assert_eq!(crew.held(), ["w2 3-4"]);
    }
    let crew = Crew::of(&["w1", "w2"]);
    crew.take("w1", 1, 9).unwrap();
    crew.desk().remove_member("w1").unwrap();
    assert!(crew.held().is_empty());
    assert_eq!(code(crew.take("w1", 1, 9)), "unknown_sender");
    crew.take("w2", 1, 9).unwrap();
    crew.desk().mark_shut_down().unwrap();
    assert!(crew.held().is_empty());
}

#[test]
fn who_waits_is_served_in_order_when_lines_come_free() {
    let crew = Crew::of(&["w1", "w2", "w3"]);
    crew.take("w1", 1, 9).unwrap();
    let second = ticket(&crew.queue("w2", 1, 9, 60_000));
    let third = ticket(&crew.queue("w3", 9, 9, 60_000));
    crew.desk()
        .release_lines(&name("w1"), &file("src/a.rs"), None)
        .unwrap();
    assert!(matches!(
        crew.desk().await_claim(second).unwrap(),
        ClaimTurn::Held(claim) if claim.member == name("w2")
    ));
    let turn = crew.desk().claim_turn(third).unwrap();
    assert!(matches!(turn, ClaimTurn::Waiting { .. }), "{turn:?}");
    let gone = crew.desk().withdraw_claim(&name("w3"), third).unwrap();
    assert_eq!(gone, ClaimTurn::Over);
}

#[test]
fn a_wait_is_granted_when_the_holder_lets_its_claim_run_out() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.take("w1", 1, 9).unwrap();
    let waits = ticket(&crew.queue("w2", 1, 9, 600_000));
    crew.clock.advance(i64::try_from(TTL_MS).unwrap());
    assert!(matches!(
        crew.desk().await_claim(waits).unwrap(),
        ClaimTurn::Held(_)
    ));
    assert_eq!(crew.bodies("w1").len(), 1);
}

#[test]
fn a_wait_that_is_granted_is_not_withdrawn() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.take("w1", 1, 9).unwrap();
    let waits = ticket(&crew.queue("w2", 1, 9, 60_000));
    crew.desk()
        .end_member(&name("w1"), EndCause::Stopped)
        .unwrap();
    let turn = crew.desk().withdraw_claim(&name("w2"), waits).unwrap();
    assert!(matches!(turn, ClaimTurn::Held(_)), "{turn:?}");
    assert_eq!(crew.held(), ["w2 1-9"]);
}

#[test]
fn a_waiter_in_another_thread_is_woken_by_the_release() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.take("w1", 1, 9).unwrap();
    let waits = ticket(&crew.queue("w2", 1, 9, 60_000));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| crew.desk().await_claim(waits).unwrap());
        crew.desk()
            .release_lines(&name("w1"), &file("src/a.rs"), None)
            .unwrap();
        assert!(matches!(waiter.join().unwrap(), ClaimTurn::Held(_)));
    });
}

#[test]
fn members_that_would_wait_for_each_other_for_ever_are_told() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.take("w1", 1, 9).unwrap();
    let other = ClaimWish {
        mode: Mode::Extend,
        ..wish(20, 29)
    };
    crew.desk().claim_lines(&as_member("w2"), &other).unwrap();
    crew.queue("w2", 5, 5, 60_000);
    let patience = Patience::Until(crew.desk().now().plus_millis(60_000));
    let closing = ClaimWish { patience, ..other };
    let refused = refusal(crew.desk().claim_lines(&as_member("w1"), &closing));
    assert_eq!(
        refused.to_string(),
        "waiting would never end: w1 waits for w2 over src/a.rs 20-29, w2 waits for w1 over src/a.rs 5"
    );
}

/// A team in a folder.
pub(super) fn on_disk(folder: &tempfile::TempDir, members: &[&str]) -> LocalStore {
    let project = Project::at(folder.path()).unwrap();
    let mut team = Team::new(
        &name("t"),
        "",
        "",
        "",
        pitcrew_core::Timestamp::from_millis(0),
    );
    for member in members {
        team.add(recruit(member)).unwrap();
    }
    match project.create_team(&name("t"), &team).unwrap() {
        Creation::Created(store) => store,
        taken @ Creation::Taken(_) => panic!("{taken:?}"),
    }
}

/// Renews one claim 500 times, one millisecond before it runs out, while others work on the same table. A claim that
/// was renewed must outlive its old deadline.
fn renew_500_times(desk: &Desk<'_>, load: &Desk<'_>, ttl_ms: u64, pass: &dyn Fn(i64)) {
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (w2, there) = (name("w2"), file("src/b.rs"));
            for start in 0.. {
                if done.load(std::sync::atomic::Ordering::Acquire) {
                    break;
                }
                let request = Request::new(&w2, &there, lines(start % 50, start % 50 + 5));
                load.claim_lines_as(&request).unwrap();
            }
        });
        let (w1, here) = (name("w1"), file("src/a.rs"));
        let request = Request {
            ttl_ms,
            ..Request::new(&w1, &here, lines(1, 9))
        };
        let mut lost = 0;
        let mut old = desk.now();
        for _ in 0..500 {
            let Outcome::Held { claim } = desk.claim_lines_as(&request).unwrap().outcome else {
                panic!("it is held at once");
            };
            pass(old.millis_since(desk.now()) + 1);
            let claims = desk.claims().unwrap();
            let holds = claims.held(desk.now()).any(|held| held.member == w1);
            lost += usize::from(!holds && desk.now() < claim.until);
            old = claim.until;
            pass(old.millis_since(desk.now()) - 1);
        }
        done.store(true, std::sync::atomic::Ordering::Release);
        assert_eq!(lost, 0);
    });
}

#[test]
fn e3_500_renewals_in_the_last_millisecond_lose_nothing_in_memory() {
    let crew = Crew::of(&["w1", "w2"]);
    let pass = |ms: i64| crew.clock.advance(ms.max(0));
    renew_500_times(&crew.desk(), &crew.desk(), 60_000, &pass);
    // One claim from the first to the last: it was renewed and never made anew.
    assert!(crew.bodies("w1").is_empty());
}

#[test]
fn real_e3_500_renewals_in_the_last_millisecond_lose_nothing_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = on_disk(&folder, &["w1", "w2"]);
    let (team, clock, entropy) = (name("t"), SystemClock, SeededEntropy::new(1));
    let desk = Desk::new(&team, &store, &clock, &entropy);
    // A thread that is to be on time to the millisecond does not sleep.
    let pass = |ms: i64| {
        let until = clock.now() + ms;
        while clock.now() < until {
            std::thread::yield_now();
        }
    };
    renew_500_times(&desk, &desk, 8, &pass);
}

#[test]
fn e5_of_25_members_that_race_for_a_region_one_wins_and_ten_disjoint_ones_all_do() {
    let names: Vec<String> = (0..25).map(|n| format!("w{n}")).collect();
    let crew = Crew::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let race = |region: &(dyn Fn(u64) -> (u64, u64) + Sync), count: usize| {
        std::thread::scope(|scope| {
            let racers: Vec<_> = (0u64..)
                .zip(&names[..count])
                .map(|(n, who)| {
                    let crew = &crew;
                    let (start, end) = region(n);
                    scope.spawn(move || crew.take(who, start, end).is_ok())
                })
                .collect();
            let won = racers.into_iter().map(|racer| racer.join().unwrap());
            won.filter(|won| *won).count()
        })
    };
    assert_eq!(race(&|_| (10, 20), 25), 1);
    assert_eq!(race(&|n| (100 + 10 * n, 109 + 10 * n), 10), 10);
}

#[test]
fn claims_follow_their_lines_before_others_claim_or_give_back() {
    let crew = Crew::of(&["w1", "w2"]);
    let desk = crew.desk();
    let text = |above: usize| {
        let above = (1..=above).map(|n| format!("new {n}\n"));
        let lines = above.chain((1..=40).map(|n| format!("line {n}\n")));
        Some(FileLines::of(lines.collect::<String>().as_bytes()))
    };
    let claim = |who: &str, range: (u64, u64), text: Option<FileLines>| {
        let wish = ClaimWish {
            text,
            ..wish(range.0, range.1)
        };
        desk.claim_lines(&as_member(who), &wish)
    };
    claim("w1", (10, 20), text(0)).unwrap();
    // Where they were is free now, and where they are is not.
    assert_eq!(code(claim("w2", (21, 22), text(5))), "claim_conflict");
    let answer = claim("w2", (10, 14), text(5)).unwrap();
    let moved = |event: &ClaimEvent| matches!(event, ClaimEvent::ClaimMoved { from, .. } if *from == lines(10, 20));
    assert!(answer.events.iter().any(moved), "{answer:?}");
    assert_eq!(crew.held(), ["w1 15-25", "w2 10-14"]);
    // Some lines are given back where they are, and what is left is followed again.
    let now = text(7);
    let part = Some(lines(17, 19));
    desk.release_lines_on(&name("w1"), &file("src/a.rs"), part, now.as_ref())
        .unwrap();
    assert_eq!(crew.held(), ["w1 20-27", "w2 12-16"]);
    claim("w2", (1, 1), text(0)).unwrap();
    assert_eq!(crew.held(), ["w1 13-20", "w2 1"]);
}
