//! A group that is stopped: asked, killed, timed out, dropped, at any point of its life.

use super::*;
use crate::clock::SeededEntropy;

const STUBBORN: &str = "trap '' TERM INT; echo ready; while :; do sleep 1000; done";

#[tokio::test]
async fn a_group_that_heeds_the_ask_ends_with_its_own_code() {
    let mark = fresh_mark();
    let script = "trap 'echo bye; exit 3' TERM; echo ready; while :; do :; done";
    let group = start(with_grace(shell(script, &mark), AN_HOUR));
    first_line(&group).await;
    group.stop();
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Stopped { by: By::Ask });
    assert_eq!(ended.status, Some(Status::Exited(3)));
    assert_eq!(printed(&group), "ready\nbye\n");
}

#[tokio::test]
async fn a_group_can_be_asked_with_the_signal_of_ctrl_c() {
    let mark = fresh_mark();
    let script = "trap 'exit 5' INT; trap '' TERM; echo ready; while :; do :; done";
    let group = start(shell(script, &mark).ladder(Ladder {
        ask: Ask::Interrupt,
        grace: AN_HOUR,
    }));
    first_line(&group).await;
    group.stop();
    let ended = group.ended().await;
    assert_eq!(ended.status, Some(Status::Exited(5)));
    assert_eq!(ended.how, How::Stopped { by: By::Ask });
}

#[tokio::test]
async fn a_group_that_ignores_the_ask_is_killed_after_its_grace() {
    let mark = fresh_mark();
    let group = start(with_grace(shell(STUBBORN, &mark), SHORT));
    first_line(&group).await;
    group.stop();
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Stopped { by: By::Kill });
    assert_eq!(ended.status, Some(Status::Signaled(9)));
    assert!(ended.wall_ms >= 40);
}

#[tokio::test]
async fn a_second_stop_does_not_wait_for_the_grace() {
    let mark = fresh_mark();
    let group = start(with_grace(shell(STUBBORN, &mark), AN_HOUR));
    first_line(&group).await;
    group.stop();
    while group.observe().stage != Stage::Asked {
        tokio::task::yield_now().await;
    }
    group.stop();
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Stopped { by: By::Kill });
}

#[tokio::test]
async fn children_that_were_asked_too_have_the_rest_of_the_grace() {
    let mark = fresh_mark();
    let script = "(trap 'sleep 0.1; echo saved; exit 0' TERM; echo ready; \
                   while :; do :; done) & wait";
    let group = start(with_grace(shell(script, &mark), AN_HOUR));
    first_line(&group).await;
    group.stop();
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Stopped { by: By::Ask });
    assert_eq!(ended.status, Some(Status::Signaled(15)));
    assert_eq!(printed(&group), "ready\nsaved\n");
}

#[tokio::test]
async fn a_time_limit_climbs_the_same_ladder() {
    let mark = fresh_mark();
    let heeds = start(shell("exec sleep 1000", &mark).limit(SHORT));
    let ended = ended_for_good(&heeds, &mark).await;
    assert_eq!(ended.how, How::TimedOut { by: By::Ask });
    assert!(ended.wall_ms >= 40);

    let ignores = with_grace(shell(STUBBORN, &mark), SHORT).limit(Duration::from_millis(100));
    let ended = ended_for_good(&start(ignores), &mark).await;
    assert_eq!(ended.how, How::TimedOut { by: By::Kill });
}

#[tokio::test]
async fn a_limit_without_end_is_no_limit() {
    let mark = fresh_mark();
    let endless = with_grace(shell("exit 2", &mark), Duration::MAX).limit(Duration::MAX);
    let ended = ended_for_good(&start(endless), &mark).await;
    assert_eq!(ended.how, How::Exited(2));
}

/// The exit status is taken by another part of the program, which must not do that; the group still ends.
#[tokio::test]
async fn a_status_that_somebody_else_took_is_called_lost() {
    let mark = fresh_mark();
    let group = start(shell("setsid sleep 1000 & exit 0", &mark));
    let pid = i32::try_from(group.identity().pid).unwrap();
    let taken = rustix::process::waitpid(
        rustix::process::Pid::from_raw(pid),
        rustix::process::WaitOptions::empty(),
    );
    assert!(taken.unwrap().is_some());
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!((ended.how, ended.status), (How::Lost, None));
}

#[tokio::test]
async fn a_process_that_is_held_still_can_be_asked() {
    let mark = fresh_mark();
    let script = "trap 'exit 0' TERM; echo $$; kill -STOP $$; sleep 1000";
    let group = start(with_grace(shell(script, &mark), AN_HOUR));
    let pid = first_line(&group).await;
    let stat = format!("/proc/{pid}/stat");
    while !fs::read_to_string(&stat).unwrap().contains(") T ") {
        tokio::task::yield_now().await;
    }
    group.stop();
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!(ended.how, How::Stopped { by: By::Ask });
}

#[tokio::test]
async fn dropping_the_handle_kills() {
    let mark = fresh_mark();
    let group = start(shell(STUBBORN, &mark));
    first_line(&group).await;
    let control = group.control();
    drop(group);
    let ended = ended_for_good(&control, &mark).await;
    assert_eq!(ended.how, How::Stopped { by: By::Kill });
}

#[test]
fn a_runtime_that_goes_away_takes_its_groups_along() {
    let mark = fresh_mark();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let script = "setsid sleep 1000 & trap '' TERM; echo ready; while :; do sleep 1000; done";
    let group = runtime.block_on(async {
        let group = start(shell(script, &mark));
        first_line(&group).await;
        group
    });
    assert!(!marked(&mark).is_empty());
    drop(runtime);
    assert_eq!(group.observe().stage, Stage::Ended);
    while !marked(&mark).is_empty() {
        std::thread::yield_now();
    }
    while fs::exists(format!("/proc/{}", group.identity().pid)).unwrap() {
        std::thread::yield_now();
    }
}

/// One life that is cut short: which script, at which byte of its output, and how.
async fn cut_short(seed: u64) {
    let entropy = SeededEntropy::new(seed);
    let draw = |below: u16| entropy.permille().unwrap() % below;
    let mark = fresh_mark();
    let trap = ["", "trap '' TERM;", "trap 'exit 0' TERM;"][usize::from(draw(3))];
    let script = format!(
        "{trap} n=0; while [ $n -lt 6 ]; do n=$((n+1)); sleep 1000 & (sleep 1000 &) ; \
         setsid sleep 1000 & (setsid sh -c 'sleep 1000; :' &) ; echo $n; done; wait"
    );
    let group = start(with_grace(shell(&script, &mark), SHORT));
    let control = group.control();
    if let Some(bytes) = draw(14).checked_sub(1) {
        let bytes = u64::from(bytes).min(11);
        group.printed_beyond(Stream::Stdout, bytes).await;
    }
    match draw(4) {
        0 => group.stop(),
        1 => group.kill(),
        2 => {
            group.stop();
            tokio::task::yield_now().await;
            group.stop();
        }
        _ => drop(group),
    }
    let ended = ended_for_good(&control, &mark).await;
    assert!(
        matches!(ended.how, How::Stopped { .. }),
        "seed {seed}: {ended:?}"
    );
    assert_eq!(ended.leftovers.remaining, 0, "seed {seed}");
    assert_eq!(ended.streams, Streams::Closed, "seed {seed}");
}

#[tokio::test]
async fn wherever_a_life_is_cut_short_nothing_of_it_runs_on() {
    for seed in 0..200 {
        cut_short(seed).await;
    }
}
