use super::index::MARKS;
use super::*;
use crate::claim::Case;
use crate::refusal::NameKind;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use proptest::prelude::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(1_796_000_000_000).plus_millis(ms)
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn file(text: &str) -> FilePath {
    FilePath::canonical(text, "/project", Case::Kept).unwrap()
}

fn found(ms: i64, agent: &str, topic: &str, content: &str) -> Discovery {
    Discovery::new(&name(agent), topic, content, at(ms)).unwrap()
}

fn about(paths: &[&str]) -> Discovery {
    let paths = paths.iter().map(|path| file(path)).collect();
    found(0, "ada", "t", "c").about(paths).unwrap()
}

/// A log in memory beside its board, as a store would keep them.
struct Shelf {
    log: Vec<u8>,
    board: Board,
}

impl Shelf {
    fn new(board: Board) -> Self {
        let log = Vec::new();
        Self { log, board }
    }

    fn append(&mut self, line: &str) {
        self.log.extend_from_slice(line.as_bytes());
        self.log.push(b'\n');
    }

    fn lines(&self, from: u64) -> Vec<(u64, u64, &[u8])> {
        let mut at = 0;
        let lines = self.log.split_inclusive(|byte| *byte == b'\n').map(|line| {
            let start = at;
            at += line.len() as u64;
            (start, at, line.strip_suffix(b"\n").unwrap_or(line))
        });
        lines.filter(|(at, ..)| *at >= from).collect()
    }

    fn absorb(&mut self) -> Absorbed {
        let mut board = self.board.clone();
        let absorbed = board.absorb(self.lines(self.board.scanned()));
        self.board = board;
        absorbed
    }

    fn share(&mut self, found: &Discovery) -> Absorbed {
        self.append(&found.encode().unwrap());
        self.absorb()
    }

    fn window(&self, from: u64, most: usize) -> Vec<Found> {
        let lines = self.lines(from).into_iter();
        let found = lines.filter_map(|(at, end, line)| {
            let discovery = Discovery::decode(line).ok()?;
            Some(Found { at, end, discovery })
        });
        found.take(most).collect()
    }

    fn show(
        &mut self,
        ms: i64,
        member: &str,
        interest: &Interest,
        limit: usize,
    ) -> (Vec<String>, Shown) {
        let member = name(member);
        let window = self.window(self.board.reading_from(&member), 1_000);
        let shown = self.board.show(&member, interest, &window, limit, at(ms));
        let contents = shown
            .picks
            .iter()
            .map(|at| window[*at].discovery.content.clone());
        (contents.collect(), shown)
    }

    fn shown(&mut self, member: &str, interest: &Interest, limit: usize) -> Vec<String> {
        self.show(0, member, interest, limit).0
    }
}

fn files(paths: &[&str]) -> Interest {
    Interest {
        files: paths.iter().map(|path| file(path)).collect(),
        tasks: Vec::new(),
    }
}

#[test]
fn a_discovery_is_one_line_in_the_spec_s_order() {
    let plain = found(0, "ada", "bug", "two\nlines");
    assert_eq!(
        plain.encode().unwrap(),
        format!(
            r#"{{"agent":"ada","topic":"bug","content":"two\nlines","timestamp":"{}"}}"#,
            at(0)
        )
    );
    let full = about(&["src/a.rs"]).for_a_while(1_000).unwrap();
    let line = full.encode().unwrap();
    assert!(
        line.ends_with(r#","paths":["src/a.rs"],"ttl_ms":1000}"#),
        "{line}"
    );
    assert_eq!(Discovery::decode(line.as_bytes()).unwrap(), full);
}

#[test]
fn what_cannot_be_a_discovery_is_refused() {
    let code = |topic: &str, content: &str| {
        let answer = Discovery::new(&name("ada"), topic, content, at(0));
        answer.map_or_else(|refusal| refusal.code(), |_| "ok")
    };
    assert_eq!(code("", "c"), "invalid_input");
    assert_eq!(code(" ", "c"), "invalid_input");
    assert_eq!(code("a\nb", "c"), "invalid_input");
    assert_eq!(code(&"x".repeat(201), "c"), "invalid_input");
    assert_eq!(code("t", " \n"), "invalid_input");
    assert_eq!(code("t", &"x".repeat(MOST_CONTENT_BYTES)), "ok");
    assert_eq!(
        code("t", &"x".repeat(MOST_CONTENT_BYTES + 1)),
        "body_too_large"
    );
    let many = vec![file("a"); MOST_PATHS + 1];
    assert!(found(0, "ada", "t", "c").about(many).is_err());
    assert!(found(0, "ada", "t", "c").for_a_while(0).is_err());
}

#[test]
fn discoveries_are_listed_by_topic_path_and_time() {
    let all = [
        found(0, "ada", "bug", "1"),
        found(10, "bob", "Bug", "2")
            .about(vec![file("src/a.rs")])
            .unwrap(),
        found(20, "bob", "api", "3")
            .about(vec![file("src")])
            .unwrap(),
        found(30, "ada", "api", "4").for_a_while(5).unwrap(),
    ];
    let list = |filter: Filter, ms: i64| -> String {
        let admitted = all.iter().filter(|found| filter.admits(found, at(ms)));
        admitted.map(|found| found.content.as_str()).collect()
    };
    let topic = |text: &str| Filter {
        topic: Some(text.into()),
        ..Filter::default()
    };
    let path = |text: &str| Filter {
        path: Some(file(text)),
        ..Filter::default()
    };
    assert_eq!(list(Filter::default(), 30), "1234");
    assert_eq!(list(Filter::default(), 35), "123");
    assert_eq!(list(topic("bug"), 30), "12");
    assert_eq!(list(path("src/a.rs"), 30), "23");
    assert_eq!(list(path("src/b.rs"), 30), "3");
    assert_eq!(list(path("src"), 30), "23");
    let since = Some(at(20));
    assert_eq!(
        list(
            Filter {
                since,
                ..Filter::default()
            },
            30
        ),
        "34"
    );
}

#[test]
fn a_task_is_named_as_a_word() {
    let meets = |task: &str, content: &str| {
        let tasks = vec![TaskId::new(task).unwrap()];
        let interest = Interest {
            files: Vec::new(),
            tasks,
        };
        interest.meets(&found(0, "ada", "t", content))
    };
    assert!(meets("lane-a", "blocks lane-a."));
    assert!(meets("fix", "fix: use the other one"));
    assert!(!meets("lane-a", "blocks lane-ab"));
    assert!(!meets("lane-a", "x-lane-a"));
    for text in [
        "see task 7",
        "Task-7 is",
        "task: 7",
        "#7",
        "(#7)",
        "task 17 and task 7",
    ] {
        assert!(meets("7", text), "{text}");
    }
    for text in ["7 files", "line 7", "task 71", "17", "v0.7", "\u{e9}7"] {
        assert!(!meets("7", text), "{text}");
    }
    let topic = found(0, "ada", "7", "c");
    let tasks = vec![TaskId::new("7").unwrap()];
    let interest = Interest {
        files: Vec::new(),
        tasks,
    };
    assert!(interest.meets(&topic));
}

#[test]
fn each_is_shown_once_and_first_what_concerns_the_member() {
    let mut shelf = Shelf::new(Board::default());
    for i in 0..4 {
        shelf.share(&found(i, "ada", "t", &i.to_string()));
    }
    let near = found(4, "ada", "t", "near")
        .about(vec![file("src")])
        .unwrap();
    shelf.share(&near);
    let busy = files(&["src/a.rs"]);
    let (first, shown) = shelf.show(5, "bob", &busy, 2);
    assert_eq!(first, ["near", "0"]);
    assert_eq!((shown.left, shown.missed), (3, 0));
    assert_eq!(shelf.shown("bob", &busy, 10), ["1", "2", "3"]);
    assert_eq!(shelf.shown("bob", &busy, 10), [""; 0]);
    shelf.share(&found(6, "cy", "t", "later"));
    assert_eq!(shelf.shown("bob", &busy, 10), ["later"]);
    assert_eq!(shelf.shown("cy", &Interest::default(), 10).len(), 5);
    assert_eq!(shelf.shown("ada", &Interest::default(), 10), ["later"]);
}

#[test]
fn two_processes_of_one_member_do_not_show_the_same() {
    let mut shelf = Shelf::new(Board::default());
    for i in 0..3 {
        shelf.share(&found(i, "ada", "t", &i.to_string()));
    }
    let bob = name("bob");
    let window = shelf.window(0, 10);
    let one = shelf
        .board
        .show(&bob, &Interest::default(), &window, 2, at(0));
    let two = shelf
        .board
        .show(&bob, &Interest::default(), &window, 2, at(0));
    assert_eq!((one.picks, two.picks), (vec![0, 1], vec![2]));
}

#[test]
fn a_preview_notes_nothing() {
    let mut shelf = Shelf::new(Board::default());
    shelf.share(&found(0, "ada", "t", "x"));
    let (bob, none) = (name("bob"), Interest::default());
    let window = shelf.window(0, 10);
    let preview = shelf.board.preview(&bob, &none, &window, 5, at(0));
    assert_eq!(preview, shelf.board.preview(&bob, &none, &window, 5, at(0)));
    assert_eq!(preview, shelf.board.show(&bob, &none, &window, 5, at(0)));
}

#[test]
fn what_is_noted_after_a_preview_is_what_was_previewed() {
    let mut shelf = Shelf::new(Board::default());
    for content in ["one", "two"] {
        shelf.share(&found(0, "ada", "t", content));
    }
    let bob = name("bob");
    let window = shelf.window(shelf.board.reading_from(&bob), 9);
    let interest = Interest::default();
    let shown = shelf.board.preview(&bob, &interest, &window, 1, at(0));
    shelf.share(&found(0, "ada", "t", "three"));
    // Noted twice, as by two turns that were shown the same, it counts once.
    for _ in 0..2 {
        shelf.board.note_shown(&bob, &window, &shown.picks, at(0));
    }
    assert_eq!(shelf.shown("bob", &interest, 9), ["two", "three"]);
}

#[test]
fn what_is_not_worth_knowing_any_more_is_passed_over() {
    let mut shelf = Shelf::new(Board::default());
    shelf.share(&found(0, "ada", "t", "short").for_a_while(100).unwrap());
    shelf.share(&found(0, "ada", "t", "long"));
    assert_eq!(shelf.show(100, "bob", &Interest::default(), 5).0, ["long"]);
}

#[test]
fn a_new_member_starts_with_the_last_few() {
    let mut shelf = Shelf::new(Board::default());
    for i in 0..200 {
        shelf.share(&found(i, "ada", "t", &i.to_string()));
    }
    let all = shelf.shown("bob", &Interest::default(), 1_000);
    assert_eq!(all.len(), NEWCOMER);
    assert_eq!(all[0], "150");
}

#[test]
fn the_oldest_leave_first_and_it_is_reported() {
    let mut shelf = Shelf::new(Board::with_cap(3));
    for i in 0..3 {
        assert_eq!(
            shelf.share(&found(i, "ada", "t", &i.to_string())).evicted,
            None
        );
    }
    assert_eq!(shelf.shown("bob", &Interest::default(), 1), ["0"]);
    shelf.share(&found(3, "ada", "t", "3"));
    let last = shelf.share(&found(4, "ada", "t", "4"));
    let evicted = last.evicted.unwrap();
    assert_eq!((evicted.count, evicted.floor), (1, shelf.board.floor()));
    assert_eq!(shelf.board.kept(), 3);
    assert_eq!(
        shelf.window(shelf.board.floor(), 10)[0].discovery.content,
        "2"
    );
    let (shown, facts) = shelf.show(0, "bob", &Interest::default(), 10);
    assert_eq!((shown.join(""), facts.missed), ("234".into(), 1));
    assert_eq!(
        shelf.show(0, "bob", &Interest::default(), 10).1,
        Shown::default()
    );
}

#[test]
fn a_smaller_cap_takes_hold_with_the_next_one() {
    let mut shelf = Shelf::new(Board::with_cap(64));
    for i in 0..64 {
        shelf.share(&found(i, "ada", "t", "x"));
    }
    shelf.board.set_cap(10);
    let last = shelf.share(&found(64, "ada", "t", "x"));
    assert_eq!(last.evicted.map(|evicted| evicted.count), Some(55));
    assert_eq!(shelf.board.kept(), 10);
}

#[test]
fn damage_is_counted_and_hides_nothing() {
    let mut shelf = Shelf::new(Board::default());
    shelf.append(r#"{"agent":"ada","topic":"t","cont"#);
    shelf.append("");
    shelf.append("null");
    shelf
        .append(r#"{"agent":"../x","topic":"t","content":"c","timestamp":"2026-11-30T00:00:00Z"}"#);
    let absorbed = shelf.share(&found(0, "ada", "t", "whole"));
    assert_eq!((absorbed.found, absorbed.damaged), (1, 3));
    assert_eq!(shelf.shown("bob", &Interest::default(), 5), ["whole"]);
}

#[test]
fn lines_offered_twice_are_taken_once() {
    let mut shelf = Shelf::new(Board::default());
    shelf.share(&found(0, "ada", "t", "x"));
    let before = shelf.board.clone();
    let log = shelf.log.clone();
    let again = shelf.board.absorb([(0, log.len() as u64, &log[..])]);
    assert_eq!(again, Absorbed::default());
    assert_eq!(shelf.board, before);
}

#[test]
fn a_member_that_is_forgotten_starts_anew_and_so_does_a_board() {
    let mut shelf = Shelf::new(Board::default());
    shelf.share(&found(0, "ada", "t", "x"));
    assert_eq!(shelf.shown("bob", &Interest::default(), 5), ["x"]);
    shelf.board.forget(&name("bob"));
    assert_eq!(shelf.shown("bob", &Interest::default(), 5), ["x"]);
    shelf.board.restart();
    assert_eq!(shelf.absorb().found, 1);
    assert_eq!(shelf.shown("bob", &Interest::default(), 5), ["x"]);
}

#[test]
fn e7_a_hundred_thousand_discoveries_leave_the_documents_small() {
    let mut board = Board::default();
    let line = about(&["src/a.rs"]).encode().unwrap();
    let length = line.len() as u64 + 1;
    let lines = (0..150_000u64).map(|i| (i * length, (i + 1) * length, line.as_bytes()));
    let absorbed = board.absorb(lines);
    assert_eq!(absorbed.found, 150_000);
    assert!(board.kept() <= CAP && board.kept() > CAP - CAP / MARKS - 1);
    let evicted = absorbed.evicted.unwrap();
    assert_eq!(evicted.count, 150_000 - board.kept());
    assert!(serde_json::to_vec(&board).unwrap().len() < 3_000);
}

/// What each member was shown, kept plainly.
#[derive(Default)]
struct Known(Vec<(String, u64)>);

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_member_is_shown_everything_of_others_once(
        cap in prop_oneof![Just(CAP), Just(12u64)],
        steps in proptest::collection::vec((0usize..3, 0usize..6, any::<bool>(), 0usize..5), 1..120),
    ) {
        let members = ["ada", "bob", "cy"];
        let busy = files(&["near"]);
        let mut shelf = Shelf::new(Board::with_cap(cap));
        let (mut known, mut missed) = (Known::default(), [0u64; 3]);
        let mut number = 0u64;
        let mut share = |shelf: &mut Shelf, who: usize, near: bool| {
            let text = number.to_string();
            let path = if near { "near" } else { "far" };
            let it = found(0, members[who], "t", &text).about(vec![file(path)]).unwrap();
            shelf.share(&it);
            number += 1;
        };
        // Everybody is there from the start.
        for member in members {
            shelf.show(0, member, &busy, 0);
        }
        for (who, what, near, limit) in steps {
            if what > 1 {
                share(&mut shelf, who, near);
                continue;
            }
            let (shown, facts) = shelf.show(0, members[who], &busy, limit);
            prop_assert!(shown.len() <= limit);
            missed[who] += facts.missed;
            for text in shown {
                let entry = (members[who].to_string(), text.parse::<u64>().unwrap());
                prop_assert!(!known.0.contains(&entry), "shown twice");
                known.0.push(entry);
            }
            let json = serde_json::to_string(&shelf.board).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Board>(&json).unwrap(), &shelf.board);
        }
        for (who, member) in members.into_iter().enumerate() {
            let (rest, facts) = shelf.show(0, member, &busy, 1_000);
            missed[who] += facts.missed;
            let all = shelf.window(0, 1_000);
            let of_others = all.iter().filter(|found| found.discovery.agent.as_str() != member);
            let seen = known.0.iter().filter(|(name, _)| name == member).count() + rest.len();
            let of_others = of_others.count() as u64;
            if cap == CAP {
                prop_assert_eq!(seen as u64, of_others);
                prop_assert_eq!(missed[who], 0);
            } else {
                prop_assert!(seen as u64 <= of_others && seen as u64 + missed[who] >= of_others);
            }
        }
    }

    #[test]
    fn no_line_makes_it_panic(line in ".{0,80}", task in "[a-z0-9]{1,3}") {
        let _ = Discovery::decode(line.as_bytes());
        let _ = super::names(&line, &task);
    }
}
