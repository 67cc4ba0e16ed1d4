//! Where conversations are parted, and what is asked then.

use proptest::prelude::*;
use serde_json::Map;

use super::*;
use crate::model::{ScriptedModel, ToolCall, ToolResult};

fn user(text: &str) -> Turn {
    Turn::User {
        text: text.to_string(),
    }
}

fn said(text: &str, calls: usize) -> Turn {
    let calls = (0..calls).map(|at| ToolCall {
        id: format!("c{at}"),
        name: "search".to_string(),
        arguments: Map::new(),
    });
    Turn::Assistant {
        text: text.to_string(),
        calls: calls.collect(),
    }
}

fn results(count: usize, text: &str) -> Turn {
    let results = (0..count).map(|at| ToolResult {
        id: format!("c{at}"),
        text: text.to_string(),
        ok: true,
    });
    Turn::Tools {
        results: results.collect(),
    }
}

/// Calls of which the results stand in another part.
fn parted(turns: &[Turn]) -> usize {
    let mut parted = 0;
    for (at, turn) in turns.iter().enumerate() {
        let calls = matches!(turn, Turn::Assistant { calls, .. } if !calls.is_empty());
        let answered = matches!(turns.get(at + 1), Some(Turn::Tools { .. }));
        let called =
            at > 0 && matches!(&turns[at - 1], Turn::Assistant { calls, .. } if !calls.is_empty());
        parted += usize::from(calls && !answered);
        parted += usize::from(matches!(turn, Turn::Tools { .. }) && !called);
    }
    parted
}

fn conversation() -> impl Strategy<Value = Vec<Turn>> {
    let piece = (0..3_usize, 0..400_usize).prop_map(|(calls, length)| {
        let text = "x".repeat(length);
        match calls {
            0 => vec![user(&text), said(&text, 0)],
            calls => vec![user("go"), said(&text, calls), results(calls, &text)],
        }
    });
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_fold_never_cuts_a_call_from_its_result(turns in conversation(), most in 0..3_000_u64) {
        let at = fold_at(&turns, most);
        let (old, rest) = turns.split_at(at);
        prop_assert_eq!(parted(old), 0);
        prop_assert_eq!(parted(rest), 0);
        prop_assert!(turns.is_empty() || at < turns.len());
        // No smaller fold would have done.
        let size: u64 = rest.iter().map(bytes).sum();
        for smaller in 1..at {
            let fits = turns[smaller..].iter().map(bytes).sum::<u64>() <= most;
            prop_assert!(!(fits && parts(&turns, smaller)));
        }
        // What stays too large cannot be parted any further.
        if size > most && at > 0 {
            prop_assert!((at + 1..turns.len()).all(|later| !parts(&turns, later)));
        }
    }
}

fn long() -> Request {
    let text = "y".repeat(1_500);
    Request {
        system: "be brief".to_string(),
        turns: vec![
            user(&text),
            said("", 2),
            results(2, &text),
            said(&text, 0),
            user("and now?"),
        ],
        tools: Vec::new(),
    }
}

async fn ask(model: &Folding, request: &Request) -> Result<Reply, ModelError> {
    model.call(request, &mut |_| {}).await
}

#[tokio::test]
async fn a_conversation_that_fits_is_asked_as_it_is() {
    let script = ScriptedModel::new().say("fine");
    let model = Folding::over(Arc::new(script.clone()), 100_000);
    assert_eq!(ask(&model, &long()).await.unwrap().text, "fine");
    assert_eq!(script.requests(), [long()]);
}

#[tokio::test]
async fn the_oldest_turns_become_a_summary_that_is_made_once_and_paid_for() {
    let script = ScriptedModel::new()
        .say("half of it")
        .say("they looked at y")
        .say("fine")
        .say("fine again");
    let model = Folding::over(Arc::new(script.clone()), 1_450);
    let reply = ask(&model, &long()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.input), ("fine", 300));
    let asked = script.requests();
    assert!(asked[0].said().contains("[called] search {}"));
    assert!(asked[1].said().contains("came before:\nhalf of it\n"));
    assert!(asked[1].said().contains("[result]"));
    let folded = &asked[2].turns;
    assert_eq!(asked[2].system, "be brief");
    assert_eq!(
        folded[0],
        user("Summary of the conversation so far, 3 turns of it:\nthey looked at y")
    );
    assert_eq!(folded[1..], long().turns[3..]);

    let mut further = long();
    further.turns.extend([said("fine", 0), user("more")]);
    ask(&model, &further).await.unwrap();
    let asked = script.requests();
    assert_eq!(asked.len(), 4, "the same turns are summed up once");
    assert_eq!(asked[3].turns[..3], folded[..3]);
}

#[tokio::test]
async fn what_the_provider_finds_too_long_is_folded_and_asked_again() {
    let too_long = || ModelError::TooLong {
        why: "no".to_string(),
    };
    let script = ScriptedModel::new()
        .fail(too_long())
        .say("summary")
        .say("fine");
    let model = Folding::over(Arc::new(script.clone()), 100_000);
    assert_eq!(ask(&model, &long()).await.unwrap().text, "fine");
    assert!(script.requests()[2].bytes() < long().bytes());

    // One turn alone cannot be folded: that is said, and not tried for ever.
    let script = ScriptedModel::new().fail(too_long()).fail(too_long());
    let model = Folding::over(Arc::new(script.clone()), 100_000);
    let one = Request {
        turns: vec![user("x")],
        ..Request::default()
    };
    assert_eq!(ask(&model, &one).await, Err(too_long()));
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test]
async fn a_summary_that_cannot_be_had_is_the_failure() {
    let down = ModelError::Unavailable {
        why: "down".to_string(),
    };
    let script = ScriptedModel::new().fail(down.clone());
    let model = Folding::over(Arc::new(script.clone()), 600);
    assert_eq!(ask(&model, &long()).await, Err(down));
}
