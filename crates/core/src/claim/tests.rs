use super::*;
use crate::refusal::{NameKind, Refusal};
use alloc::string::ToString;
use alloc::vec;
use serde_json::json;

mod ahead;
mod faults;
mod model;
mod waiting;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(1_796_000_000_000).plus_millis(ms)
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn file(text: &str) -> FilePath {
    FilePath::canonical(text, "/project", Case::Kept).unwrap()
}

fn lines(start: u64, end: u64) -> Lines {
    Lines::new(start, end).unwrap()
}

/// The claims of a story, told in short lines.
#[derive(Default)]
struct Story {
    claims: Claims,
}

impl Story {
    #[track_caller]
    fn ask(
        &mut self,
        ms: i64,
        member: &str,
        path: &str,
        range: (u64, u64),
        change: impl FnOnce(Request<'_>) -> Request<'_>,
    ) -> Result<Answer, Refusal> {
        let (member, path) = (name(member), file(path));
        let wish = change(Request::new(&member, &path, lines(range.0, range.1)));
        let before = self.claims.clone();
        let answer = self.claims.claim(&wish, at(ms));
        if answer.is_err() {
            assert_eq!(self.claims, before, "a refusal leaves everything as it was");
        }
        answer
    }

    #[track_caller]
    fn claim(&mut self, ms: i64, member: &str, range: (u64, u64)) -> Result<u64, Refusal> {
        self.claim_in(ms, member, "src/a.rs", range)
    }

    #[track_caller]
    fn claim_in(
        &mut self,
        ms: i64,
        member: &str,
        path: &str,
        range: (u64, u64),
    ) -> Result<u64, Refusal> {
        let answer = self.ask(ms, member, path, range, |wish| wish)?;
        Ok(held(answer.outcome).id)
    }

    #[track_caller]
    fn extend(&mut self, ms: i64, member: &str, range: (u64, u64)) -> Claim {
        let mode = Mode::Extend;
        let answer = self.ask(ms, member, "src/a.rs", range, |wish| Request {
            mode,
            ..wish
        });
        held(answer.unwrap().outcome)
    }

    /// Claims with patience for a minute; answers the ticket.
    #[track_caller]
    fn wait(
        &mut self,
        ms: i64,
        member: &str,
        path: &str,
        range: (u64, u64),
    ) -> Result<u64, Refusal> {
        let patience = Patience::Until(at(ms + 60_000));
        let answer = self.ask(ms, member, path, range, |wish| Request { patience, ..wish })?;
        match answer.outcome {
            Outcome::Waiting { waiting, .. } => Ok(waiting.ticket),
            Outcome::Held { claim } => panic!("held at once: {claim:?}"),
        }
    }

    fn release(&mut self, ms: i64, member: &str, path: &str) -> Vec<ClaimEvent> {
        let member = name(member);
        self.claims
            .release(&member, &file(path), None, at(ms))
            .unwrap()
    }

    /// Who holds which lines, by file and line.
    fn holds(&self, ms: i64) -> Vec<(String, String, u64, u64)> {
        let mut holds: Vec<_> = self
            .claims
            .held(at(ms))
            .map(|claim| {
                let (start, end) = (claim.lines.start(), claim.lines.end());
                (claim.file.to_string(), claim.member.to_string(), start, end)
            })
            .collect();
        holds.sort_by_key(|hold| (hold.0.clone(), hold.2));
        holds
    }

    #[track_caller]
    fn holds_in_a(&self, ms: i64, expected: &[(&str, u64, u64)]) {
        let holds = self.holds(ms);
        let found: Vec<_> = holds
            .iter()
            .map(|hold| (hold.1.as_str(), hold.2, hold.3))
            .collect();
        assert_eq!(found, expected);
    }
}

#[track_caller]
fn held(outcome: Outcome) -> Claim {
    match outcome {
        Outcome::Held { claim } => claim,
        Outcome::Waiting { waiting, .. } => panic!("waiting: {waiting:?}"),
    }
}

fn code<T>(answer: Result<T, Refusal>) -> &'static str {
    match answer {
        Ok(_) => "ok",
        Err(refusal) => refusal.code(),
    }
}

/// The ends among events: who lost which lines, and why.
fn ends(events: &[ClaimEvent]) -> Vec<(&str, u64, u64, EndCause)> {
    let ends = events.iter().filter_map(|event| match event {
        ClaimEvent::ClaimEnded { claim, cause } => {
            let (start, end) = (claim.lines.start(), claim.lines.end());
            Some((claim.member.as_str(), start, end, *cause))
        }
        _ => None,
    });
    ends.collect()
}

/// The grants among events: the ticket and how long it waited.
fn grants(events: &[ClaimEvent]) -> Vec<(u64, u64)> {
    let grants = events.iter().filter_map(|event| match event {
        ClaimEvent::ClaimGranted {
            ticket, waited_ms, ..
        } => Some((*ticket, *waited_ms)),
        _ => None,
    });
    grants.collect()
}

#[test]
fn a_new_claim_takes_the_place_of_the_member_s_others_in_that_file() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    story.claim_in(0, "ada", "src/b.rs", (1, 2)).unwrap();
    let answer = story
        .ask(1, "ada", "src/a.rs", (18, 30), |wish| wish)
        .unwrap();
    assert_eq!(ends(&answer.events), [("ada", 10, 20, EndCause::Replaced)]);
    assert_eq!(
        story.holds(1),
        [
            ("src/a.rs".into(), "ada".into(), 18, 30),
            ("src/b.rs".into(), "ada".into(), 1, 2),
        ]
    );
    assert_eq!(code(story.claim(1, "bob", (10, 17))), "ok");
}

#[test]
fn extend_adds_and_ranges_that_touch_become_one() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    story.extend(1, "ada", (40, 50));
    story.holds_in_a(1, &[("ada", 10, 20), ("ada", 40, 50)]);
    let joined = story.extend(2, "ada", (21, 39));
    assert_eq!((joined.lines, joined.since), (lines(10, 50), at(0)));
    story.holds_in_a(2, &[("ada", 10, 50)]);
    let own = story.extend(3, "ada", (10, 50));
    assert_eq!((own.id, own.until), (joined.id, at(300_003)));
    let part = story.extend(4, "ada", (12, 14));
    assert_eq!((part.id, part.lines), (joined.id, lines(10, 50)));
}

#[test]
fn a_conflict_with_a_crowd_names_the_first_few() {
    let mut story = Story::default();
    for i in 0..20 {
        let member = alloc::format!("w{i}");
        story.claim(0, &member, (i * 10, i * 10 + 8)).unwrap();
    }
    let refused = story.claim(0, "bob", (0, 1_000)).unwrap_err();
    let Refusal::ClaimConflict(facts) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (facts.holders.len(), facts.more, facts.free.len()),
        (8, 12, 8)
    );
    assert_eq!(facts.holders[0].member, name("w0"));
}

#[test]
fn release_gives_back_a_file_or_some_of_its_lines() {
    let mut story = Story::default();
    let id = story.claim(0, "ada", (10, 20)).unwrap();
    let path = file("src/a.rs");
    let part = Some(lines(14, 16));
    let events = story
        .claims
        .release(&name("ada"), &path, part, at(1))
        .unwrap();
    assert_eq!(ends(&events), [("ada", 14, 16, EndCause::Released)]);
    story.holds_in_a(1, &[("ada", 10, 13), ("ada", 17, 20)]);
    assert!(story.claims.held(at(1)).any(|claim| claim.id == id));
    let events = story.release(2, "ada", "src/a.rs");
    assert_eq!(ends(&events).len(), 2);
    story.holds_in_a(2, &[]);
}

#[test]
fn releasing_what_is_not_held_is_refused() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    let path = file("src/a.rs");
    let refused = story
        .claims
        .release(&name("bob"), &path, None, at(1))
        .unwrap_err();
    assert_eq!(refused.code(), "not_claimed");
    assert_eq!(refused.to_string(), "bob holds no lines of src/a.rs");
    let part = Some(lines(30, 40));
    let refused = story
        .claims
        .release(&name("ada"), &path, part, at(1))
        .unwrap_err();
    assert_eq!(
        serde_json::to_value(&refused).unwrap(),
        json!({
            "code": "not_claimed", "member": "ada", "file": "src/a.rs",
            "lines": {"start": 30, "end": 40}, "held": [{"start": 10, "end": 20}],
        })
    );
    // What has expired and nobody took is given back without complaint.
    let events = story
        .claims
        .release(&name("ada"), &path, None, at(400_000))
        .unwrap();
    assert_eq!(ends(&events), [("ada", 10, 20, EndCause::Expired)]);
}

#[test]
fn a_time_to_live_must_be_a_time() {
    for ttl_ms in [0, MOST_TTL_MS + 1] {
        let mut story = Story::default();
        let answer = story.ask(0, "ada", "a", (1, 1), |wish| Request { ttl_ms, ..wish });
        assert_eq!(code(answer), "invalid_input");
    }
}

#[test]
fn claims_follow_their_lines_all_at_once() {
    let mut story = Story::default();
    let ada = story.claim(0, "ada", (10, 20)).unwrap();
    let bob = story.claim(0, "bob", (21, 30)).unwrap();
    let ticket = story.wait(0, "cy", "src/a.rs", (15, 15)).unwrap();
    let down = |id: u64, start: u64, end: u64| Move {
        id,
        lines: lines(start, end),
        anchor: Some("below".into()),
    };
    let moves = [
        down(ada, 20, 30),
        down(bob, 31, 40),
        down(ticket, 25, 25),
        down(99, 1, 1),
    ];
    let events = story
        .claims
        .relocate(&file("src/a.rs"), &moves, at(1))
        .unwrap();
    assert_eq!(events.len(), 2);
    story.holds_in_a(1, &[("ada", 20, 30), ("bob", 31, 40)]);
    assert_eq!(story.claims.held[&ada].anchor.as_deref(), Some("below"));
    assert_eq!(story.claims.waiting[0].lines, lines(25, 25));
    let before = story.claims.clone();
    let clash = story
        .claims
        .relocate(&file("src/a.rs"), &[down(ada, 25, 35)], at(2));
    assert_eq!(code(clash), "claim_conflict");
    assert_eq!(story.claims, before);
}

#[test]
fn an_anchor_stays_only_while_its_lines_do() {
    let mut story = Story::default();
    let anchor = Some("3f2a");
    let answer = story.ask(0, "ada", "src/a.rs", (10, 20), |wish| Request {
        anchor,
        ..wish
    });
    assert_eq!(held(answer.unwrap().outcome).anchor.as_deref(), anchor);
    story.claim(1, "ada", (10, 20)).unwrap();
    assert_eq!(
        story.claims.held(at(1)).next().unwrap().anchor.as_deref(),
        anchor
    );
    assert_eq!(story.extend(2, "ada", (21, 22)).anchor, None);
}

#[test]
fn what_an_edit_runs_into_can_be_asked() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    let who = |member: &str, start, end, ms| -> Vec<String> {
        let found =
            story
                .claims
                .in_the_way(&name(member), &file("src/a.rs"), lines(start, end), at(ms));
        found.iter().map(|claim| claim.member.to_string()).collect()
    };
    assert_eq!(who("bob", 0, 10, 0), ["ada"]);
    assert_eq!(who("bob", 0, 9, 0), [""; 0]);
    assert_eq!(who("ada", 0, 10, 0), [""; 0]);
    assert_eq!(who("bob", 0, 10, 300_000), [""; 0]);
}

#[test]
fn a_document_with_claims_that_collide_is_no_document() {
    let claim = |id: u64, start: u64, end: u64| {
        json!({
            "id": id, "member": "ada", "file": "a", "lines": {"start": start, "end": end},
            "since": at(0), "until": at(1),
        })
    };
    let read = |held: Vec<serde_json::Value>| {
        serde_json::from_value::<Claims>(json!({ "next": 0, "held": held }))
    };
    assert!(read(vec![claim(1, 1, 5), claim(2, 6, 9)]).is_ok());
    let collide = read(vec![claim(1, 1, 5), claim(2, 5, 9)]).unwrap_err();
    assert_eq!(collide.to_string(), "claims 1 and 2 collide");
    assert!(read(vec![claim(1, 1, 5), claim(1, 6, 9)]).is_err());
    assert!(read(vec![claim(1, 5, 1)]).is_err());
    assert_eq!(
        serde_json::from_str::<Claims>("{}").unwrap(),
        Claims::default()
    );
}

#[test]
fn ended_claims_leave_the_document() {
    let mut story = Story::default();
    for i in 0..100 {
        story.claim(i, "ada", (i as u64, i as u64 + 5)).unwrap();
    }
    story.release(100, "ada", "src/a.rs");
    let json = serde_json::to_string(&story.claims).unwrap();
    assert_eq!(json, r#"{"next":101,"held":[],"waiting":[]}"#);
}
