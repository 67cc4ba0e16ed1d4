use std::string::{String, ToString};

use proptest::prelude::*;

use super::*;
use crate::refusal::Refusal;

const RALPH: &str = r#"{"active":true,"iteration":0,"maxIterations":4,"completedSlices":1,"startedAt":"2026-11-30T16:22:33.725Z","prompt":"fix auth","sessionId":"sess-1","projectPath":"/project"}"#;
const ULTRAWORK: &str = r#"{"active":true,"objective":"process tickets","taskSummary":"sum","startedAt":"2026-11-30T16:22:33.914Z","projectPath":"/project","taskCount":7}"#;
const ULTRAQA: &str = r#"{"active":true,"goal":"tests pass","cycleCount":0,"maxCycles":3,"startedAt":"2026-11-30T16:22:34.006Z","projectPath":"/project","lastVerdict":"fail"}"#;

fn opening(aim: &str) -> Opening<'_> {
    Opening {
        aim,
        session_id: None,
        project_path: "/project",
        now: Timestamp::from_millis(30_000),
    }
}

fn ralph(aim: &str) -> Ralph {
    Ralph::opened(&opening(aim), Ralph::MAX_ITERATIONS)
}

fn json(state: &impl Serialize) -> String {
    serde_json::to_string(state).unwrap()
}

#[test]
fn states_of_the_reference_are_read_and_written_as_they_are() {
    let ralph: Ralph = serde_json::from_str(RALPH).unwrap();
    let ultrawork: Ultrawork = serde_json::from_str(ULTRAWORK).unwrap();
    let ultraqa: Ultraqa = serde_json::from_str(ULTRAQA).unwrap();
    assert_eq!(
        (json(&ralph), json(&ultrawork), json(&ultraqa)),
        (
            RALPH.to_string(),
            ULTRAWORK.to_string(),
            ULTRAQA.to_string()
        )
    );
}

#[test]
fn a_limit_that_the_reference_could_not_read_is_no_damage() {
    let text = r#"{"active":true,"iteration":0,"maxIterations":null,"startedAt":"","prompt":"x","projectPath":"/"}"#;
    let ralph: Ralph = serde_json::from_str(text).unwrap();
    assert_eq!((ralph.max_iterations, ralph.completed_slices), (None, 0));
    let text = r#"{"active":true,"goal":"x","cycleCount":0,"maxCycles":-5}"#;
    assert_eq!(
        serde_json::from_str::<Ultraqa>(text).unwrap().max_cycles,
        Some(-5)
    );
}

#[test]
fn a_loop_begins_at_nothing() {
    assert_eq!(
        json(&ralph("x")),
        r#"{"active":true,"iteration":0,"maxIterations":10,"completedSlices":0,"startedAt":"1970-01-01T00:00:30.000Z","prompt":"x","projectPath":"/project"}"#
    );
    let ultraqa = Ultraqa::opened(&opening("x"), Ultraqa::MAX_CYCLES);
    assert_eq!(
        (ultraqa.max_cycles, ultraqa.last_verdict),
        (Some(5), Some(Verdict::Pending))
    );
}

#[test]
fn d7_a_running_loop_is_replaced_only_when_that_is_said() {
    let mut slot = None;
    assert_eq!(start(&mut slot, &ralph("one"), Over::Refuse), Ok(None));
    let before = slot.clone();
    assert_eq!(
        start(&mut slot, &ralph("two"), Over::Refuse),
        Err(Refusal::LoopActive {
            mode: Mode::Ralph,
            since: "1970-01-01T00:00:30.000Z".into(),
            aim: "one".into(),
        })
    );
    assert_eq!(slot, before);
    assert_eq!(start(&mut slot, &ralph("two"), Over::Replace), Ok(before));
    assert_eq!(slot, Some(ralph("two")));
}

#[test]
fn a_cleared_loop_makes_room_for_a_new_one() {
    let mut slot = Some(Ralph {
        active: false,
        ..ralph("old")
    });
    start(&mut slot, &ralph("new"), Over::Refuse).unwrap();
    assert_eq!(slot, Some(ralph("new")));
}

#[test]
fn c14_a_loop_without_anything_to_do_is_refused() {
    for aim in ["", "  ", "\n"] {
        let mut slot = None;
        let refused = start(&mut slot, &ralph(aim), Over::Replace).unwrap_err();
        assert_eq!((refused.code(), slot), ("invalid_input", None));
    }
}

#[test]
fn ticks_and_cycles_need_a_loop_that_goes_on() {
    let inactive = |mode| Refusal::LoopInactive { mode };
    assert_eq!(tick(&mut None), Err(inactive(Mode::Ralph)));
    assert_eq!(
        cycle(&mut None, Verdict::Pass),
        Err(inactive(Mode::Ultraqa))
    );
    let mut cleared = Some(Ralph {
        active: false,
        ..ralph("x")
    });
    let before = cleared.clone();
    let refused = tick(&mut cleared).unwrap_err();
    assert_eq!((refused.code(), &cleared), ("loop_cleared", &before));
}

#[test]
fn a_pass_ends_the_loop_and_the_others_are_kept() {
    let opened = Ultraqa::opened(&opening("tests"), 3);
    let mut slot = Some(opened.clone());
    for verdict in [Verdict::Fail, Verdict::Pending] {
        let expected = Ultraqa {
            last_verdict: Some(verdict),
            ..opened.clone()
        };
        assert_eq!(cycle(&mut slot, verdict), Ok(expected.clone()));
        assert_eq!(slot, Some(expected));
    }
    let passed = cycle(&mut slot, Verdict::Pass).unwrap();
    assert_eq!(
        (passed.active, passed.last_verdict, slot),
        (false, Some(Verdict::Pass), None)
    );
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Start,
    Tick,
    Cancel,
}

proptest! {
    /// Every tick that was answered with yes is in the count, and none brings a loop back.
    #[test]
    fn d1_every_tick_counts_and_a_cancelled_loop_never_comes_back(
        steps in proptest::collection::vec(
            prop_oneof![Just(Step::Start), Just(Step::Tick), Just(Step::Cancel)], 0..60),
    ) {
        let mut slot = None;
        let mut expected: Option<i64> = None;
        for step in steps {
            match step {
                Step::Start => {
                    let started = start(&mut slot, &ralph("x"), Over::Refuse).is_ok();
                    prop_assert_eq!(started, expected.is_none());
                    expected = expected.or(Some(0));
                }
                Step::Tick => {
                    let ticked = tick(&mut slot).map(|state| state.completed_slices).ok();
                    expected = expected.map(|count| count + 1);
                    prop_assert_eq!(ticked, expected);
                }
                Step::Cancel => {
                    prop_assert_eq!(cancel(&mut slot).is_some(), expected.is_some());
                    expected = None;
                }
            }
            prop_assert_eq!(slot.as_ref().map(|state| state.completed_slices), expected);
        }
    }
}
