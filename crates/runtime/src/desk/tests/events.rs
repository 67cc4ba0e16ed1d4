//! Events: that each change has its own, that a refusal has none, and what a follower sees.

use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::claim::{FilePath, Lines, Patience, Request};
use pitcrew_core::event::{Event, Fact, Filter, Topic, What};
use pitcrew_core::limiter::Report;
use pitcrew_core::price::Micros;
use pitcrew_store::port::{ErasedRule, State};
use pitcrew_store::{Cursor, Kind, Page, Place, StoreFailure, Watch};

use super::*;
use crate::desk::{Admission, Delivery, LimitChange, Lost, Setting, Spending, Start, Unsaid};

fn events(crew: &Crew) -> Vec<Event> {
    let mut events = Vec::new();
    let passed = crew
        .desk()
        .events_from(0, &Filter::default(), &mut |event| {
            events.push(event);
            ControlFlow::Continue(())
        });
    assert_eq!(passed.unwrap().damaged, 0);
    events
}

/// The types of the events since `before`, with their topics.
fn since(crew: &Crew, before: usize) -> Vec<String> {
    let events = events(crew);
    let words = events[before..].iter();
    words
        .map(|event| format!("{} {}", event.topic, event.word()))
        .collect()
}

/// What `step` leaves on the log.
fn told(crew: &Crew, step: impl FnOnce(&Desk<'_>)) -> Vec<String> {
    let before = events(crew).len();
    step(&crew.desk());
    since(crew, before)
}

#[test]
fn every_message_and_what_becomes_of_it_is_an_event_without_its_body() {
    let crew = Crew::of(&["ann", "bob"]);
    let ann = as_member("ann");
    let mut id = String::new();
    let seen = told(&crew, |desk| {
        id = desk
            .send(&ann, "bob", &Draft::text("secret words"))
            .unwrap()
            .id;
        desk.broadcast(&ann, &Draft::text("secret words")).unwrap();
        desk.send(&ann, "bob", &keyed("secret words", "k")).unwrap();
        desk.send(&ann, "bob", &keyed("secret words", "k")).unwrap();
        desk.acknowledge(&name("bob"), &[&id]).unwrap();
        desk.acknowledge(&name("bob"), &[&id]).unwrap();
    });
    assert_eq!(
        seen,
        [
            "agent:bob message_sent",
            "team broadcast_sent",
            "agent:bob message_sent",
            "agent:bob messages_acknowledged",
        ]
    );
    let page = crew.store.read(&Log::Events, 0, 1 << 20).unwrap();
    assert!(!String::from_utf8(page.bytes).unwrap().contains("secret"));
}

#[test]
fn a_dead_letter_and_its_return_are_events() {
    let crew = Crew::of(&["ann", "bob"]);
    crew.settings(Settings {
        max_attempts: Some(1),
        ..Settings::default()
    });
    let id = crew
        .desk()
        .send(&as_member("ann"), "bob", &Draft::text("x"))
        .unwrap()
        .id;
    let seen = told(&crew, |desk| {
        desk.take(&name("bob"), "r", 0).unwrap();
        crew.clock.advance(1);
        assert_eq!(desk.take(&name("bob"), "r", 0).unwrap(), None);
        desk.redeliver(&name("bob"), &id).unwrap();
    });
    assert_eq!(
        seen,
        [
            "agent:ann message_sent",
            "agent:bob message_dead_lettered",
            "agent:bob message_redelivered",
        ]
    );
}

#[test]
fn every_step_of_a_task_is_an_event() {
    let crew = Crew::of(&["ann"]);
    let seen = told(&crew, |desk| {
        let one = crew.task("one", &[]);
        crew.task("two", &[one.as_str()]);
        let step = |token: &str, from, to| {
            let change = Change {
                from,
                to,
                token,
                result: Some("r"),
            };
            desk.transition(&one, Some(&name("ann")), change).unwrap();
        };
        let token = crew.claim("ann", &one).claim_token.unwrap();
        step(&token, "in_progress", "in_progress");
        step(&token, "in_progress", "failed");
        desk.retry(&one).unwrap();
        let token = crew.claim("ann", &one).claim_token.unwrap();
        step(&token, "in_progress", "pending");
        let token = crew.claim("ann", &one).claim_token;
        desk.take_back(&one, token.as_deref()).unwrap();
        let token = crew.claim("ann", &one).claim_token.unwrap();
        step(&token, "in_progress", "completed");
    });
    assert_eq!(
        seen,
        [
            "team task_added",
            "team task_added",
            "team task_claimed",
            "team task_progressed",
            "team task_failed",
            "agent:leader message_sent",
            "team task_blocked",
            "team task_retried",
            "team task_claimed",
            "team task_released",
            "team task_claimed",
            "team task_taken_back",
            "team task_claimed",
            "team task_completed",
        ]
    );
}

#[test]
fn who_comes_and_goes_is_an_event_and_so_is_the_end_of_the_team() {
    let crew = Crew::of(&["ann"]);
    assert_eq!(since(&crew, 0), ["team team_founded"]);
    let seen = told(&crew, |desk| {
        desk.add_member(&recruit("bob")).unwrap();
        desk.issue_token("bob").unwrap();
        desk.announce(&[Fact::AgentJoined {
            member: name("bob"),
        }]);
        desk.remove_member("bob").unwrap();
        desk.mark_shut_down().unwrap();
    });
    assert_eq!(
        seen,
        [
            "team member_added",
            "team token_issued",
            "team agent_joined",
            "team member_removed",
            "team team_shut_down",
        ]
    );
}

#[test]
fn claims_are_events_from_the_wish_to_the_end() {
    let crew = Crew::of(&["ann", "bob"]);
    let file = FilePath::canonical("a.rs", "/", pitcrew_core::claim::Case::Kept).unwrap();
    let (ann, bob) = (name("ann"), name("bob"));
    let lines = |a, b| Lines::new(a, b).unwrap();
    let seen = told(&crew, |desk| {
        let wish = Request::new(&ann, &file, lines(1, 9));
        desk.claim_lines_as(&wish).unwrap();
        desk.claim_lines_as(&wish).unwrap();
        let other = Request::new(&bob, &file, lines(5, 6));
        desk.claim_lines_as(&other).unwrap_err();
        let patience = Patience::Until(desk.now().plus_millis(1_000_000));
        desk.claim_lines_as(&Request { patience, ..other }).unwrap();
        desk.release_lines(&ann, &file, None).unwrap();
        crew.clock.advance(600_000);
        desk.claim_lines_as(&Request::new(&ann, &file, lines(20, 21)))
            .unwrap();
    });
    let context: Vec<&str> = seen
        .iter()
        .filter_map(|seen| seen.strip_prefix("context "))
        .collect();
    assert_eq!(
        context,
        [
            "claim_made",
            "claim_renewed",
            "claim_refused",
            "claim_waiting",
            "claim_ended",
            "claim_granted",
            "claim_ended",
            "claim_made",
        ]
    );
}

#[test]
fn limits_are_events_when_they_refuse_settle_pause_and_resume() {
    let crew = Crew::of(&["ann"]);
    let ann = name("ann");
    let call = Spending {
        member: &ann,
        tokens: 10,
        cost: Some(Micros::new(600)),
        task: None,
        model: None,
    };
    let seen = told(&crew, |desk| {
        let budget = Setting::To(Micros::new(1_000));
        desk.set_limits(&LimitChange {
            budget,
            ..LimitChange::default()
        })
        .unwrap();
        let Admission::Reserved { id, .. } = desk.acquire(&call).unwrap() else {
            panic!("it is counted");
        };
        refusal(desk.acquire(&call));
        let cost = Some(Micros::new(1_000));
        let report = Report {
            member: &ann,
            reservation: Some(id),
            tokens: 9,
            cost,
            task: None,
            model: None,
        };
        desk.record(&report).unwrap();
        desk.pause_team(desk.now().plus_millis(5), "usage limit")
            .unwrap();
        desk.resume_team().unwrap();
    });
    let team: Vec<&str> = seen
        .iter()
        .filter_map(|seen| seen.strip_prefix("team "))
        .collect();
    assert_eq!(
        team,
        [
            "limits_set",
            "limit_denied",
            "usage_recorded",
            "budget_reached",
            "team_paused",
            "team_resumed",
        ]
    );
}

#[test]
fn what_is_refused_leaves_no_event() {
    let crew = Crew::of(&["ann", "bob"]);
    let task = crew.task("one", &[]);
    let token = crew.claim("ann", &task).claim_token.unwrap();
    let seen = told(&crew, |desk| {
        refusal(desk.send(&as_member("ann"), "nobody", &Draft::text("x")));
        refusal(desk.send(&as_member("ann"), "bob", &Draft::text("")));
        refusal(desk.claim(&as_member("bob"), &task, None));
        let change = Change {
            from: "in_progress",
            to: "completed",
            token: "no",
            result: None,
        };
        refusal(desk.transition(&task, None, change));
        refusal(desk.add_member(&recruit("bob")));
        refusal(desk.remove_member("nobody"));
        refusal(desk.redeliver(&name("bob"), "m"));
    });
    assert!(seen.is_empty() && !token.is_empty(), "{seen:?}");
}

#[test]
fn a_follower_gets_what_it_asked_for_in_order_and_nothing_twice() {
    let crew = Crew::of(&["ann", "bob"]);
    let desk = crew.desk();
    let filter = Filter {
        topics: vec![Topic::Agent(name("bob"))],
        ..Filter::default()
    };
    desk.send(&as_member("ann"), "bob", &Draft::text("before"))
        .unwrap();
    let mut follow = desk.subscribe(filter.clone(), Start::Now).unwrap();
    assert_eq!(follow.next(Duration::ZERO).unwrap(), None);
    let mut ids = Vec::new();
    for _ in 0..3 {
        desk.send(&as_member("bob"), "ann", &Draft::text("other"))
            .unwrap();
        ids.push(
            desk.send(&as_member("ann"), "bob", &Draft::text("x"))
                .unwrap()
                .id,
        );
    }
    let mut seen = Vec::new();
    while let Some(delivery) = follow.next(Duration::ZERO).unwrap() {
        let Delivery::Event(event) = delivery else {
            panic!("{delivery:?}")
        };
        let What::Known(Fact::MessageSent { id, .. }) = event.what else {
            panic!("{event:?}")
        };
        seen.push(id);
        if seen.len() == 2 {
            // Another process goes on where this one stopped.
            follow = desk
                .subscribe(filter.clone(), Start::At(follow.cursor()))
                .unwrap();
        }
    }
    assert_eq!(seen, ids);
}

#[test]
fn a_follower_that_is_too_slow_is_told_and_goes_on() {
    let crew = Crew::of(&["ann"]);
    let desk = crew.desk();
    let mut follow = desk.subscribe(Filter::default(), Start::Now).unwrap();
    let reason = "r".repeat(1 << 20);
    for _ in 0..12 {
        desk.announce(&[Fact::AgentCrashed {
            member: name("ann"),
            reason: reason.clone(),
        }]);
    }
    let first = follow.next(Duration::ZERO).unwrap();
    assert!(
        matches!(first, Some(Delivery::Missed { bytes }) if bytes > 1 << 20),
        "{first:?}"
    );
    let next = follow.next(Duration::ZERO).unwrap();
    assert!(matches!(next, Some(Delivery::Event(_))));
}

#[test]
fn a_log_that_was_cut_from_outside_is_read_from_its_beginning_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(super::claims::on_disk(&folder, &["ann"]));
    let (team, clock) = (name("t"), ManualClock::at(0));
    let entropy = SeededEntropy::new(1);
    let desk = Desk::new(&team, &*store, &clock, &entropy);
    let path = folder.path().join(".omp/state/team/t/events.jsonl");
    desk.announce(&[Fact::TeamShutDown {}, Fact::TeamShutDown {}]);
    let mut follow =
        crate::desk::Subscription::to(store.clone(), Filter::default(), Start::Now).unwrap();
    for rotate in [
        |path: &std::path::Path| std::fs::rename(path, path.with_extension("1")).unwrap(),
        |path: &std::path::Path| std::fs::write(path, "").unwrap(),
    ] {
        rotate(&path);
        // Written before the follower looks.
        desk.announce(&[Fact::RunStarted {
            run: "a".to_string(),
        }]);
        assert_eq!(follow.next(Duration::ZERO).unwrap(), Some(Delivery::Cut));
        let come = follow.next(Duration::ZERO).unwrap();
        assert!(
            matches!(&come, Some(Delivery::Event(event)) if event.word() == "run_started"),
            "{come:?}"
        );
        assert_eq!(follow.next(Duration::ZERO).unwrap(), None);
        desk.announce(&[Fact::TeamShutDown {}, Fact::TeamShutDown {}]);
        for _ in 0..2 {
            let come = follow.next(Duration::ZERO).unwrap();
            assert!(matches!(come, Some(Delivery::Event(_))), "{come:?}");
        }
    }
}

#[test]
fn a_line_that_is_no_event_is_counted_and_a_torn_one_waits_for_its_end() {
    let crew = Crew::of(&["ann"]);
    let mut follow = crew
        .desk()
        .subscribe(Filter::default(), Start::Now)
        .unwrap();
    crew.store.append_raw(&Log::Events, b"{\"v\":1}\n{\"torn");
    let damaged = follow.next(Duration::ZERO).unwrap();
    assert_eq!(damaged, Some(Delivery::Damaged { lines: 1 }));
    assert_eq!(follow.next(Duration::ZERO).unwrap(), None);
    crew.desk().announce(&[Fact::TeamShutDown {}]);
    assert_eq!(
        follow.next(Duration::ZERO).unwrap(),
        Some(Delivery::Damaged { lines: 1 })
    );
    assert!(matches!(
        follow.next(Duration::ZERO).unwrap(),
        Some(Delivery::Event(_))
    ));
}

#[test]
fn a_follower_of_a_team_that_is_removed_comes_to_an_end() {
    let crew = Crew::of(&["ann"]);
    let mut follow = crew
        .desk()
        .subscribe(Filter::default(), Start::Now)
        .unwrap();
    let removed = crew.store.update::<Team, (), ()>(&(), |slot| {
        *slot = None;
        Ok(())
    });
    removed.unwrap().unwrap();
    for _ in 0..2 {
        assert_eq!(follow.next(Duration::ZERO).unwrap(), Some(Delivery::Ended));
    }
}

#[test]
fn a_follower_is_woken_by_another_thread() {
    let store = Arc::new(MemoryStore::new());
    let team = name("t");
    let (clock, entropy) = (ManualClock::at(0), SeededEntropy::new(1));
    let mut follow =
        crate::desk::Subscription::to(store.clone(), Filter::default(), Start::Now).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let desk = Desk::new(&team, &*store, &clock, &entropy);
            desk.announce(&[Fact::TeamShutDown {}]);
        });
        let come = follow.next(Duration::from_secs(20)).unwrap();
        assert!(matches!(come, Some(Delivery::Event(_))), "{come:?}");
    });
}

/// A store whose events cannot be written while it is full.
struct Full<'a> {
    store: &'a MemoryStore,
    full: std::sync::atomic::AtomicBool,
}

impl Store for Full<'_> {
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure> {
        if *log == Log::Events && self.full.load(std::sync::atomic::Ordering::Relaxed) {
            let full = std::io::ErrorKind::StorageFull.into();
            return Err(StoreFailure::io("append to", "events.jsonl".as_ref(), full));
        }
        self.store.append(log, records)
    }

    fn read(&self, log: &Log, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        self.store.read(log, from, limit)
    }

    fn list(&self, kind: Kind) -> Result<Vec<String>, StoreFailure> {
        self.store.list(kind)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        self.store.watch()
    }

    fn view_erased(
        &self,
        place: &Place,
        rule: &dyn ErasedRule,
    ) -> Result<Option<State>, StoreFailure> {
        self.store.view_erased(place, rule)
    }

    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure> {
        self.store.update_erased(place, rule)
    }
}

#[test]
fn when_events_cannot_be_written_the_change_stands_and_that_is_said() {
    let crew = Crew::of(&["ann", "bob"]);
    let store = Full {
        store: &crew.store,
        full: true.into(),
    };
    let unsaid = Unsaid::new();
    let desk = Desk::new(&crew.name, &store, &crew.clock, &crew.entropy).noting(&unsaid);
    let before = events(&crew).len();
    desk.send(&as_member("ann"), "bob", &Draft::text("x"))
        .unwrap();
    desk.send(&as_member("ann"), "bob", &Draft::text("y"))
        .unwrap();
    assert_eq!(crew.bodies("bob"), ["x", "y"]);
    assert!(since(&crew, before).is_empty());
    store
        .full
        .store(false, std::sync::atomic::Ordering::Relaxed);
    desk.send(&as_member("ann"), "bob", &Draft::text("z"))
        .unwrap();
    let seen = events(&crew);
    assert_eq!(
        seen[before].what,
        What::Known(Fact::EventsLost { count: 2 })
    );
    assert_eq!(seen[before + 1].word(), "message_sent");
    assert_eq!(unsaid.take(), None);
    store.full.store(true, std::sync::atomic::Ordering::Relaxed);
    desk.send(&as_member("ann"), "bob", &Draft::text("z"))
        .unwrap();
    let Some(Lost { events: 1, why }) = unsaid.take() else {
        panic!("nothing said")
    };
    assert!(why.contains("events.jsonl"), "{why}");
}
