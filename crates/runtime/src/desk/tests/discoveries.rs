//! Discoveries at the desk: shared by anybody, listed by condition, shown to each member once.

use std::ops::ControlFlow;

use pitcrew_core::board::{Board, Filter};
use pitcrew_core::claim::{Case, FilePath, Lines, Request};

use super::*;
use crate::desk::{Finding, News};

fn file(text: &str) -> FilePath {
    FilePath::canonical(text, "/p", Case::Kept).unwrap()
}

fn finding(topic: &str, content: &str, paths: &[&str]) -> Finding {
    Finding {
        topic: topic.into(),
        content: content.into(),
        paths: paths.iter().map(|path| file(path)).collect(),
        ttl_ms: None,
    }
}

fn contents(news: &News) -> Vec<&str> {
    let all = news.discoveries.iter();
    all.map(|found| found.content.as_str()).collect()
}

impl Crew {
    fn share(&self, who: &str, topic: &str, content: &str, paths: &[&str]) {
        let finding = finding(topic, content, paths);
        self.desk().share(&as_member(who), &finding).unwrap();
    }

    fn news(&self, who: &str, limit: usize) -> News {
        self.desk().new_discoveries(&name(who), limit).unwrap()
    }

    fn found(&self, filter: &Filter) -> (Vec<String>, u64) {
        let mut found = Vec::new();
        let damaged = self.desk().discoveries(filter, &mut |discovery| {
            found.push(discovery.content);
            ControlFlow::Continue(())
        });
        (found, damaged.unwrap())
    }
}

#[test]
fn a_discovery_is_shown_to_each_member_once_and_never_to_its_finder() {
    let crew = Crew::of(&["w1", "w2", "w3"]);
    crew.share("w1", "api", "one", &[]);
    crew.share("w2", "api", "two", &[]);
    assert_eq!(contents(&crew.news("w1", 9)), ["two"]);
    assert_eq!(contents(&crew.news("w3", 1)), ["one"]);
    assert_eq!(crew.desk().count_new_discoveries(&name("w3")).unwrap(), 1);
    assert_eq!(contents(&crew.news("w3", 9)), ["two"]);
    assert_eq!(crew.desk().count_new_discoveries(&name("w3")).unwrap(), 0);
    assert_eq!(crew.news("w3", 9), News::default());
    crew.share("w1", "api", "three", &[]);
    assert_eq!(contents(&crew.news("w3", 9)), ["three"]);
}

#[test]
fn what_concerns_a_member_is_shown_first() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.share("w1", "style", "far away", &["docs"]);
    crew.share("w1", "parser", "about your file", &["src/a.rs"]);
    let task = crew.task("x", &[]);
    crew.share("w1", "plan", &format!("task {task} is harder"), &[]);
    let (w2, here) = (name("w2"), file("src/a.rs"));
    let lines = Lines::new(1, 2).unwrap();
    crew.desk()
        .claim_lines_as(&Request::new(&w2, &here, lines))
        .unwrap();
    crew.claim("w2", &task);
    let news = crew.news("w2", 2);
    assert_eq!(
        contents(&news),
        ["about your file", &format!("task {task} is harder")]
    );
    assert_eq!(news.left, 1);
    assert_eq!(contents(&crew.news("w2", 2)), ["far away"]);
}

#[test]
fn what_is_offered_is_new_until_it_is_noted() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.share("w1", "api", "one", &[]);
    let offer = |limit| crew.desk().offer_discoveries(&name("w2"), limit).unwrap();
    let first = offer(9);
    assert_eq!(contents(&first.news), ["one"]);
    crew.share("w1", "api", "two", &[]);
    assert_eq!(
        contents(&offer(9).news),
        ["one", "two"],
        "nothing was noted yet"
    );
    crew.desk().note_shown(&name("w2"), &first).unwrap();
    assert_eq!(contents(&crew.news("w2", 9)), ["two"]);
}

#[test]
fn conditions_and_damage_are_honoured_when_listing() {
    let crew = Crew::of(&["w1"]);
    crew.share("w1", "API", "one", &["src"]);
    crew.clock.advance(1_000);
    let since = crew.desk().now();
    crew.share("w1", "api", "two", &["src/a.rs"]);
    crew.store.append_raw(&Log::Discoveries, b"{\"agent\":\n");
    crew.share("w1", "db", "three", &[]);
    let all = (vec!["one".into(), "two".into(), "three".into()], 1);
    assert_eq!(crew.found(&Filter::default()), all);
    let topic = Filter {
        topic: Some("Api".into()),
        since: Some(since),
        ..Filter::default()
    };
    assert_eq!(crew.found(&topic).0, ["two"]);
    let path = Filter {
        path: Some(file("src/b.rs")),
        ..Filter::default()
    };
    assert_eq!(crew.found(&path).0, ["one"]);
    assert_eq!(
        code(crew.desk().share(&as_member("w1"), &finding("t", " ", &[]))),
        "invalid_input"
    );
    assert_eq!(
        code(crew.desk().share(&as_member("w9"), &finding("t", "x", &[]))),
        "unknown_sender"
    );
}

#[test]
fn a_discovery_is_forgotten_when_its_time_is_over() {
    let crew = Crew::of(&["w1", "w2"]);
    let short = Finding {
        ttl_ms: Some(1_000),
        ..finding("build", "is red", &[])
    };
    crew.desk().share(&as_member("w1"), &short).unwrap();
    assert_eq!(crew.desk().count_new_discoveries(&name("w2")).unwrap(), 1);
    crew.clock.advance(1_000);
    assert!(crew.found(&Filter::default()).0.is_empty());
    assert_eq!(crew.news("w2", 9), News::default());
}

#[test]
fn the_oldest_discoveries_go_first_and_that_is_reported() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.desk().keep_discoveries(3).unwrap();
    for n in 0..3 {
        crew.share("w1", "t", &n.to_string(), &[]);
    }
    let fourth = finding("t", "3", &[]);
    let shared = crew.desk().share(&as_member("w1"), &fourth).unwrap();
    assert_eq!(shared.evicted.map(|evicted| evicted.count), Some(1));
    assert_eq!(crew.found(&Filter::default()).0, ["1", "2", "3"]);
}

#[test]
fn a_board_that_is_gone_or_a_log_that_was_cut_loses_no_discovery() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.share("w1", "t", "one", &[]);
    crew.share("w1", "t", "two", &[]);
    assert_eq!(crew.news("w2", 9).discoveries.len(), 2);
    let removed = crew.store.update::<Board, (), ()>(&(), |board| {
        *board = None;
        Ok(())
    });
    removed.unwrap().unwrap();
    assert_eq!(contents(&crew.news("w2", 9)), ["one", "two"]);
    crew.store.truncate(&Log::Discoveries, 0);
    crew.store.append_raw(&Log::Discoveries, b"");
    assert_eq!(crew.desk().count_new_discoveries(&name("w2")).unwrap(), 0);
    crew.share("w1", "t", "three", &[]);
    assert_eq!(contents(&crew.news("w2", 9)), ["three"]);
    assert_eq!(crew.found(&Filter::default()).0, ["three"]);
}

#[test]
fn two_readers_of_one_member_share_what_is_new() {
    let crew = Crew::of(&["w1", "w2"]);
    for n in 0..200 {
        crew.share("w1", "t", &n.to_string(), &[]);
    }
    let read = || {
        let mut mine = Vec::new();
        loop {
            let news = crew.news("w2", 7);
            if news.discoveries.is_empty() {
                return mine;
            }
            mine.extend(news.discoveries.into_iter().map(|found| found.content));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read), scope.spawn(read)];
        let read = readers.map(|reader| reader.join().unwrap());
        read.concat()
    });
    all.sort();
    let mut expected: Vec<String> = (150..200).map(|n| n.to_string()).collect();
    expected.sort();
    // A newcomer starts with the last fifty.
    assert_eq!(all, expected);
}

#[test]
fn what_could_not_be_shown_comes_again_and_what_was_shown_does_not() {
    let crew = Crew::of(&["w1", "w2"]);
    for content in ["one", "two", "three", "four"] {
        crew.share("w1", "api", content, &[]);
    }
    let me = name("w2");
    assert_eq!(contents(&crew.news("w2", 1)), ["one"]);
    let lost = crew.news("w2", 1);
    assert_eq!(contents(&lost), ["two"]);
    // Another process of the same member is shown the next meanwhile.
    assert_eq!(contents(&crew.news("w2", 1)), ["three"]);
    crew.desk().take_back_news(&me, &lost).unwrap();
    crew.desk().take_back_news(&me, &lost).unwrap();
    let rest = crew.news("w2", 9);
    assert_eq!(contents(&rest), ["two", "four"]);
    assert!(crew.news("w2", 9).discoveries.is_empty());
    crew.desk().take_back_news(&me, &rest).unwrap();
    assert_eq!(contents(&crew.news("w2", 9)), ["two", "four"]);
}
