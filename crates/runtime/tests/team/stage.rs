//! What the tests stand on: a team on the runtime's paused clock, tools that show what they do, and looking at both.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pitcrew_core::{Name, refusal::NameKind};
use pitcrew_runtime::clock::{SeededEntropy, TimerClock};
use pitcrew_runtime::model::{ToolAnswer, ToolFn, ToolSpec};
use pitcrew_runtime::team::{Happening, Listening, Team, TeamBuilder};

/// An instant, in milliseconds.
pub(crate) const NOW: i64 = 1_796_000_000_000;

pub(crate) fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

/// A team to be on the paused clock, with everything repeatable.
pub(crate) fn builder() -> TeamBuilder {
    Team::builder("team_1")
        .clock(Arc::new(TimerClock::at(NOW)))
        .entropy(Arc::new(SeededEntropy::new(7)))
}

pub(crate) async fn team() -> Team {
    builder().start().await.unwrap()
}

/// Lets everything happen that can without time.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// Waits until `is_so`; time goes on meanwhile.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it never was so");
}

/// What is heard up to the first that `last` says ends it.
pub(crate) async fn hear(
    listening: &mut Listening,
    last: impl Fn(&Happening) -> bool,
) -> Vec<Happening> {
    let mut heard = Vec::new();
    loop {
        let happening = Happening::clone(&*listening.next().await.unwrap());
        let is_last = last(&happening);
        heard.push(happening);
        if is_last {
            return heard;
        }
    }
}

/// The next that is no other fact of the team.
pub(crate) async fn next(listening: &mut Listening) -> Happening {
    loop {
        let happening = Happening::clone(&*listening.next().await.unwrap());
        if !matches!(happening, Happening::Fact(_)) {
            return happening;
        }
    }
}

/// A tool that counts its beats until its time is over, or answers at once when there is none.
pub(crate) fn beating(
    tool: &str,
    beats: &Arc<AtomicUsize>,
    times: usize,
    each: Duration,
) -> ToolFn {
    let beats = Arc::clone(beats);
    let schema = ToolSpec::bare(tool, "").schema;
    ToolFn::new(tool, "Beats.", schema, move |_, _| {
        let beats = Arc::clone(&beats);
        async move {
            for _ in 0..times {
                tokio::time::sleep(each).await;
                beats.fetch_add(1, Ordering::SeqCst);
            }
            ToolAnswer::done("it has beaten")
        }
    })
}

/// A tool that answers at once.
pub(crate) fn counting(tool: &str, calls: &Arc<AtomicUsize>) -> ToolFn {
    let calls = Arc::clone(calls);
    let schema = ToolSpec::bare(tool, "").schema;
    ToolFn::new(tool, "Counts.", schema, move |_, _| {
        calls.fetch_add(1, Ordering::SeqCst);
        std::future::ready(ToolAnswer::done("counted"))
    })
}
