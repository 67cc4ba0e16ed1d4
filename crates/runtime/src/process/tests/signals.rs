//! Signals to this program.

use super::*;
use rustix::process::{Signal, getpid, kill_process};

#[tokio::test]
async fn wishes_to_end_are_counted_whichever_signal_brings_them() {
    let mut interrupts = Interrupts::listen().unwrap();
    let mut after = async |signal| {
        kill_process(getpid(), signal).unwrap();
        let interrupt = interrupts.next().await;
        (interrupt.source, interrupt.urgency)
    };
    assert_eq!(
        after(Signal::INT).await,
        (Source::Interrupt, Urgency::First)
    );
    assert_eq!(
        after(Signal::TERM).await,
        (Source::Terminate, Urgency::Second)
    );
    assert_eq!(
        after(Signal::HUP).await,
        (Source::Hangup, Urgency::Further(3))
    );
}

const ROLE: &str = "PITCREW_TEST_ROLE";

/// The part of a program that was started deaf to hangups. Nobody plays it unless asked.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how a test hands its part to a copy of itself"
)]
fn deaf_to_hangups() {
    if std::env::var(ROLE).is_err() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut interrupts = Interrupts::listen().unwrap();
        kill_process(getpid(), Signal::HUP).unwrap();
        kill_process(getpid(), Signal::TERM).unwrap();
        let first = interrupts.next().await;
        println!("HEARD {:?} {:?}", first.source, first.urgency);
    });
}

#[tokio::test]
async fn a_hangup_that_was_ignored_from_the_start_stays_ignored() {
    let mark = fresh_mark();
    let program = std::env::current_exe().unwrap();
    let script = "export PITCREW_TEST_ROLE=deaf; trap '' HUP; exec \"$0\" process::tests::signals::deaf_to_hangups \
                  --exact --nocapture";
    let group = start(shell(script, &mark).args([program]));
    let ended = ended_for_good(&group, &mark).await;
    assert!(ended.is_success(), "{ended:?}");
    assert!(printed(&group).contains("HEARD Terminate First"));
}
