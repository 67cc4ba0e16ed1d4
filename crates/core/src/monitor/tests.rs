use std::vec;

use proptest::prelude::*;

use super::*;
use crate::nudge::{Decision, Ledger, View, Wake};
use crate::refusal::NameKind;
use crate::submit::Outcome;

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn who() -> Who {
    Who {
        team: name("t"),
        member: name("w1"),
    }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn moment(ms: i64) -> Moment {
    Moment {
        wall: at(ms),
        monotonic_ms: ms,
    }
}

fn sight(state: State) -> Sight {
    Sight {
        who: who(),
        incarnation: 1,
        life: Verdict::Alive,
        shows: Shows::Screen(state, "as it looks".into()),
        unread: 0,
        injected_at: None,
        due_at: None,
    }
}

fn scan(members: Vec<Sight>) -> Scan {
    Scan {
        loops: Loops::Active,
        teams: vec![TeamSight {
            standing: Standing::Live,
            work: Work::Open,
            lives: Lives::Single,
            members,
        }],
    }
}

fn monitor() -> Monitor {
    Monitor::begin(moment(0), Timing::default())
}

fn reasons(orders: &[Order]) -> Vec<&str> {
    let reason = |order: &Order| -> Option<&'static str> {
        match order {
            Order::Note { .. } => None,
            Order::Ring { trigger, .. } => Some(match trigger {
                Trigger::Idle => "ring idle",
                Trigger::Sweep => "ring sweep",
                Trigger::Send => "ring send",
            }),
            Order::Bury { .. } => Some("bury"),
            Order::Renew { .. } => Some("renew"),
            Order::End(why) => Some(why.code()),
        }
    };
    orders
        .iter()
        .map(|order| match order {
            Order::Note { decided, .. } => &decided.reason,
            other => reason(other).unwrap_or_default(),
        })
        .collect()
}

/// Scans every 5 s a pane that is ready and never reacts, with the ledger that processes share; answers when a line was
/// typed, and when the leader was told.
fn prompt_until(end: i64) -> (Vec<i64>, Vec<i64>) {
    let (mut monitor, mut ledger) = (monitor(), Ledger::default());
    let (mut typed, mut told) = (Vec::new(), Vec::new());
    for now in (0..=end).step_by(5_000) {
        let seen = Sight {
            injected_at: ledger.injected_at,
            ..sight(State::Ready)
        };
        for order in monitor.handle_scan(moment(now), &scan(vec![seen])) {
            let Order::Ring {
                trigger,
                idle_since,
                ..
            } = order
            else {
                continue;
            };
            let view = View {
                unread: 0,
                newest_unread_at: None,
                progress_at: None,
                standing: Standing::Live,
                wake: Wake::Pane,
                loops: Loops::Active,
                idle_since,
            };
            let timing = Timing::default();
            match ledger.handle_trigger(at(now), trigger, &who().member, &view, "t", &timing) {
                Decision::Inject { .. } => {
                    ledger.settle(at(now), "t", &Outcome::Submitted, "x");
                    typed.push(now / 1_000);
                }
                Decision::Escalate { .. } => told.push(now / 1_000),
                Decision::Quiet(_) | Decision::Joined { .. } => {}
            }
        }
    }
    (typed, told)
}

#[test]
fn d4_an_idle_pane_is_prompted_three_times_then_the_leader_is_told_once() {
    assert_eq!(prompt_until(600_000), (vec![30, 65, 100], vec![135]));
}

#[test]
fn d5_it_ends_when_no_loop_is_active_any_more() {
    let mut scan = scan(vec![sight(State::Ready)]);
    scan.loops = Loops::Inactive;
    assert_eq!(
        monitor().handle_scan(moment(5_000), &scan).last(),
        Some(&Order::End(Ending::NoLoop))
    );
}

#[test]
fn d5_it_ends_within_two_scans_when_no_team_is_live_any_more() {
    let gone = Sight {
        life: Verdict::Gone { why: Loss::Ended },
        ..sight(State::Ready)
    };
    let done = TeamSight {
        work: Work::Done,
        ..scan(vec![sight(State::Ready)]).teams[0].clone()
    };
    let shut = TeamSight {
        standing: Standing::Dissolved,
        ..scan(vec![sight(State::Ready)]).teams[0].clone()
    };
    for teams in [vec![], scan(vec![gone]).teams, vec![done], vec![shut]] {
        let forsaken = Scan {
            loops: Loops::Active,
            teams,
        };
        let mut monitor = monitor();
        let ends = |orders: Vec<Order>| orders.contains(&Order::End(Ending::NoLiveTeam));
        assert!(!ends(monitor.handle_scan(moment(5_000), &forsaken)));
        assert!(ends(monitor.handle_scan(moment(10_000), &forsaken)));
    }
}

#[test]
fn a_team_that_comes_back_between_two_scans_keeps_it() {
    let (mut monitor, live) = (monitor(), scan(vec![sight(State::Busy)]));
    let none = Scan {
        loops: Loops::Active,
        teams: vec![],
    };
    for now in 1..20 {
        let seen = if now % 2 == 0 { &live } else { &none };
        let orders = monitor.handle_scan(moment(now * 5_000), seen);
        assert!(!orders.iter().any(|order| matches!(order, Order::End(_))));
    }
}

#[test]
fn b6_a_member_whose_process_is_gone_is_buried_within_one_scan_and_once() {
    let gone = |incarnation| Sight {
        life: Verdict::Gone { why: Loss::Ended },
        incarnation,
        ..sight(State::Exited)
    };
    let mut monitor = monitor();
    let others = || Sight {
        who: Who {
            member: name("w2"),
            ..who()
        },
        ..sight(State::Busy)
    };
    let mut look = |now, incarnation| {
        let orders = monitor.handle_scan(moment(now), &scan(vec![gone(incarnation), others()]));
        reasons(&orders).join(" ")
    };
    assert_eq!(look(5_000, 1), "bury busy");
    assert_eq!(look(10_000, 1), "");
    assert_eq!(look(15_000, 2), "bury");
}

#[test]
fn a_member_whose_restart_is_due_is_started_again_and_not_before() {
    let gone = |due_at: Option<i64>| Sight {
        life: Verdict::Gone { why: Loss::Ended },
        due_at: due_at.map(at),
        ..sight(State::Exited)
    };
    let mut monitor = monitor();
    let mut look = |now, due_at| {
        let mut seen = scan(vec![gone(due_at)]);
        seen.loops = Loops::Inactive;
        seen.teams[0].lives = Lives::Renewed;
        reasons(&monitor.handle_scan(moment(now), &seen)).join(" ")
    };
    // That nothing is known of it yet ends nothing.
    assert_eq!(look(5_000, None), "bury");
    assert_eq!(look(10_000, Some(12_000)), "");
    assert_eq!(look(15_000, Some(12_000)), "renew");
    // It is given up: nothing is left to be done.
    assert_eq!(look(20_000, None), "no_loop");
}

#[test]
fn a_team_that_starts_its_members_again_is_watched_without_a_loop_and_not_prompted() {
    let mut monitor = monitor();
    for now in (5_000..200_000).step_by(5_000) {
        let mut seen = scan(vec![sight(State::Ready)]);
        seen.loops = Loops::Inactive;
        seen.teams[0].lives = Lives::Renewed;
        let orders = monitor.handle_scan(moment(now), &seen);
        let expected: &[&str] = match now {
            5_000 => &["loop_inactive"],
            _ => &[],
        };
        assert_eq!(reasons(&orders), expected);
    }
}

#[test]
fn when_the_last_task_is_done_nobody_is_started_again() {
    let mut seen = scan(vec![Sight {
        life: Verdict::Gone { why: Loss::Ended },
        due_at: Some(at(0)),
        ..sight(State::Exited)
    }]);
    seen.teams[0].work = Work::Done;
    let mut monitor = monitor();
    for now in [5_000, 10_000] {
        let orders = monitor.handle_scan(moment(now), &seen);
        assert!(!reasons(&orders).contains(&"renew"), "{orders:?}");
    }
}

#[test]
fn b6_a_silent_member_keeps_its_task() {
    let mut monitor = monitor();
    for now in (0..600_000).step_by(5_000) {
        let orders = monitor.handle_scan(moment(now), &scan(vec![sight(State::Busy)]));
        assert!(!reasons(&orders).contains(&"bury"));
    }
}

#[test]
fn b6_after_a_jump_of_the_clocks_nobody_is_buried_for_a_while() {
    let gone = || {
        scan(vec![Sight {
            life: Verdict::Gone { why: Loss::Ended },
            ..sight(State::Ready)
        }])
    };
    let mut monitor = monitor();
    monitor.handle_scan(moment(5_000), &scan(vec![sight(State::Ready)]));
    let slept = |awake: i64| Moment {
        wall: at(awake + 3_600_000),
        monotonic_ms: awake,
    };
    assert_eq!(
        reasons(&monitor.handle_scan(slept(10_000), &gone())),
        ["grace"]
    );
    assert_eq!(
        reasons(&monitor.handle_scan(slept(35_000), &gone())),
        [""; 0]
    );
    assert_eq!(
        reasons(&monitor.handle_scan(slept(45_000), &gone())),
        ["bury"]
    );
}

#[test]
fn a_jump_of_the_clocks_makes_nobody_idle() {
    for jump in [3_600_000, -3_600_000] {
        let mut monitor = monitor();
        let ready = scan(vec![sight(State::Ready)]);
        for now in [5_000, 10_000] {
            monitor.handle_scan(moment(now), &ready);
        }
        let after = |awake: i64| Moment {
            wall: at(awake + jump),
            monotonic_ms: awake,
        };
        for now in (15_000..45_000).step_by(5_000) {
            let orders = monitor.handle_scan(after(now), &ready);
            assert!(!reasons(&orders).contains(&"ring idle"), "{now}");
        }
        let orders = monitor.handle_scan(after(45_000), &ready);
        assert_eq!(reasons(&orders), ["ring idle"]);
    }
}

#[test]
fn lost_wakes_are_swept_while_a_pane_is_ready_and_not_while_it_is_anything_else() {
    let with_mail = |state| Sight {
        unread: 2,
        ..sight(state)
    };
    let mut monitor = monitor();
    for (now, state, expected) in [
        (5_000, State::Busy, "busy"),
        (10_000, State::Ready, "ring sweep"),
        (15_000, State::Dialog, "dialog"),
        (20_000, State::Unknown, "unknown"),
    ] {
        let orders = monitor.handle_scan(moment(now), &scan(vec![with_mail(state)]));
        assert_eq!(reasons(&orders), [expected]);
    }
}

#[test]
fn the_leader_is_told_of_mail_and_never_prompted_for_idling() {
    let leader = |unread| Sight {
        who: Who {
            member: Name::leader(),
            ..who()
        },
        unread,
        ..sight(State::Ready)
    };
    let mut monitor = monitor();
    for now in (0..100_000).step_by(5_000) {
        let orders = monitor.handle_scan(moment(now), &scan(vec![leader(0), sight(State::Busy)]));
        assert!(!reasons(&orders).contains(&"ring idle"));
    }
    let orders = monitor.handle_scan(moment(100_000), &scan(vec![leader(1), sight(State::Busy)]));
    assert_eq!(reasons(&orders), ["ring sweep"]);
}

#[test]
fn what_is_decided_again_and_again_is_noted_once() {
    let mut monitor = monitor();
    let mut look =
        |now, state| reasons(&monitor.handle_scan(moment(now), &scan(vec![sight(state)]))).len();
    assert_eq!(look(5_000, State::Busy), 1);
    assert_eq!(look(10_000, State::Busy), 0);
    assert_eq!(look(15_000, State::Draft), 1);
    assert_eq!(look(20_000, State::Busy), 1);
}

fn any_sight() -> impl Strategy<Value = Sight> {
    let state = prop_oneof![
        Just(State::Ready),
        Just(State::Busy),
        Just(State::Draft),
        Just(State::Dialog),
        Just(State::Limit),
        Just(State::Exited),
        Just(State::Unknown)
    ];
    let life = prop_oneof![
        Just(Verdict::Alive),
        Just(Verdict::Gone { why: Loss::Ended }),
        Just(Verdict::Unknown {
            why: Doubt::NoTable
        })
    ];
    (state, life, 0_u64..3, 1_u32..3, any::<bool>()).prop_map(
        |(state, life, unread, incarnation, blind)| Sight {
            life,
            unread,
            incarnation,
            shows: match blind {
                true => Shows::Nothing("transport_failed", "x".into()),
                false => Shows::Screen(state, "x".into()),
            },
            ..sight(state)
        },
    )
}

proptest! {
    /// Whatever is seen: only ready panes of living members are asked for, each life is buried once, no note says what
    /// the one before said, and in the time after a jump nobody is buried.
    #[test]
    fn orders_are_safe_whatever_is_seen(
        looks in proptest::collection::vec((any_sight(), 0_i64..12_000, prop_oneof![9 => Just(0_i64), 1 => -90_000_i64..90_000]), 1..80)
    ) {
        let mut monitor = monitor();
        let mut now = moment(1_000_000);
        monitor.handle_scan(now, &scan(vec![sight(State::Busy)]));
        let (mut buried, mut last) = (BTreeSet::new(), None);
        let mut calm_after = i64::MIN;
        for (seen, step, jump) in looks {
            now = Moment {
                wall: now.wall.plus_millis(step + jump),
                monotonic_ms: now.monotonic_ms + step,
            };
            if jump.abs() > Grace::TOLERANCE_MS {
                calm_after = now.monotonic_ms + Grace::LENGTH_MS;
            }
            for order in monitor.handle_scan(now, &scan(vec![seen.clone()])) {
                match order {
                    Order::Ring { .. } => {
                        prop_assert!(matches!(seen.shows, Shows::Screen(State::Ready, _)));
                        prop_assert!(!matches!(seen.life, Verdict::Gone { .. }), "gone");
                    }
                    Order::Bury { incarnation, .. } => {
                        prop_assert!(matches!(seen.life, Verdict::Gone { .. }), "not gone");
                        prop_assert!(now.monotonic_ms >= calm_after);
                        prop_assert!(buried.insert(incarnation));
                    }
                    Order::Note { decided, .. } => {
                        prop_assert_ne!(last.as_ref(), Some(&decided.reason));
                        last = Some(decided.reason);
                    }
                    Order::End(why) => prop_assert_eq!(why, Ending::NoLiveTeam),
                    Order::Renew { .. } => prop_assert!(false, "nobody said when"),
                }
            }
        }
    }
}
