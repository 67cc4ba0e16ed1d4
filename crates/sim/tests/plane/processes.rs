//! Many processes at once over one folder, each with the machine's own clock. What they say they got is put side by
//! side afterwards.

use std::process::{Command, Stdio};

use pitcrew_core::claim::{Mode, Outcome, Patience, Request};
use pitcrew_core::limiter::Report;
use pitcrew_core::name::Name;
use pitcrew_core::price::Micros;
use pitcrew_runtime::clock::{Clock, SeededEntropy, SystemClock};
use pitcrew_runtime::desk::{Admission, ClaimTurn, Desk, LimitChange, NotDone, Setting, Spending};
use pitcrew_store::{LocalStore, Project};

use super::{Chance, MEMBERS, file, lines, name, number, on_disk};

const JOB: &str = "PITCREW_PLANE_TEST_JOB";

/// What a child got and gave back, a line each.
fn run(folder: &std::path::Path, job: &str, seed: u64) -> Vec<Vec<u64>> {
    let child = |member: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::a_child_does_its_job", "--nocapture"])
            .env(JOB, format!("{job} {member} {seed} {}", folder.display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..MEMBERS.len()).map(child).collect();
    let mut said = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "seed {seed}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("got "));
        said.extend(lines.map(|line| {
            let numbers = line.split(' ').map(|number| number.parse().unwrap());
            numbers.collect::<Vec<u64>>()
        }));
    }
    said
}

#[test]
fn a_child_does_its_job() {
    let Ok(job) = std::env::var(JOB) else {
        return;
    };
    let words: Vec<&str> = job.splitn(4, ' ').collect();
    let member: usize = words[1].parse().unwrap();
    let seed: u64 = words[2].parse().unwrap();
    let project = Project::at(words[3].as_ref()).unwrap();
    let store: LocalStore = project.team(&name("t"));
    let mut chance = Chance::of(seed * 31 + member as u64);
    let (team, clock, entropy) = (name("t"), SystemClock, SeededEntropy::new(seed));
    let desk = Desk::new(&team, &store, &clock, &entropy);
    match words[0] {
        "claims" => hold_lines(&desk, member, &mut chance),
        "limits" => spend(&desk, &name(MEMBERS[member]), &mut chance),
        other => panic!("no such job: {other}"),
    }
}

/// Takes lines, by standing in line for some of them, and says over which time it had them.
fn hold_lines(desk: &Desk<'_>, member: usize, chance: &mut Chance) {
    let (me, path) = (name(MEMBERS[member]), file("a"));
    for _ in 0..60 {
        let start = chance.below(20);
        let end = start + chance.below(5);
        let patience = match chance.below(2) {
            0 => Patience::None,
            _ => Patience::Until(desk.now().plus_millis(2_000)),
        };
        let request = Request {
            ttl_ms: 60_000,
            mode: Mode::Replace,
            patience,
            ..Request::new(&me, &path, lines(start, end))
        };
        let held = match desk.claim_lines_as(&request) {
            Ok(answer) => match answer.outcome {
                Outcome::Held { .. } => true,
                Outcome::Waiting { waiting, .. } => matches!(
                    desk.await_claim(waiting.ticket).unwrap(),
                    ClaimTurn::Held(_)
                ),
            },
            Err(NotDone::Refused(_)) => false,
            Err(failed) => panic!("{failed}"),
        };
        if !held {
            continue;
        }
        let from = SystemClock.now();
        std::thread::yield_now();
        let to = SystemClock.now();
        desk.release_lines(&me, &path, None).unwrap();
        println!("got {member} {start} {end} {from} {to}");
    }
}

#[test]
fn real_claims_of_many_processes_never_overlap() {
    let seed = number("PITCREW_SEED").unwrap_or(1);
    println!("seed {seed}");
    let (folder, store) = on_disk();
    let got = run(folder.path(), "claims", seed);
    assert!(got.len() > 60, "{}", got.len());
    for (at, one) in got.iter().enumerate() {
        for other in &got[at + 1..] {
            let [who, start, end, from, to] = one[..] else {
                panic!("{one:?}")
            };
            let [who2, start2, end2, from2, to2] = other[..] else {
                panic!("{other:?}")
            };
            let same_lines = start <= end2 && start2 <= end;
            let same_time = from < to2 && from2 < to;
            assert!(
                who == who2 || !same_lines || !same_time,
                "{one:?} {other:?}"
            );
        }
    }
    let (team, clock, entropy) = (name("t"), SystemClock, SeededEntropy::new(1));
    let desk = Desk::new(&team, &store, &clock, &entropy);
    let claims = desk.claims().unwrap();
    assert_eq!(
        (
            claims.held(desk.now()).count(),
            claims.waiting(desk.now()).count()
        ),
        (0, 0)
    );
}

/// Asks, settles and gives back at random, and says what it used.
fn spend(desk: &Desk<'_>, me: &Name, chance: &mut Chance) {
    for _ in 0..200 {
        let (tokens, cost) = (chance.below(60), chance.below(60_000));
        let asked = desk.acquire(&Spending {
            member: me,
            tokens,
            cost: Some(Micros::new(cost)),
            task: None,
            model: None,
        });
        let id = match asked {
            Ok(Admission::Reserved { id, .. }) => id,
            Ok(other) => panic!("{other:?}"),
            Err(NotDone::Refused(_)) => continue,
            Err(failed) => panic!("{failed}"),
        };
        if chance.below(3) == 0 {
            desk.release_reservation(id, me).unwrap();
            continue;
        }
        let (tokens, cost) = (chance.below(tokens + 1), chance.below(cost + 1));
        let report = Report {
            member: me,
            reservation: Some(id),
            tokens,
            cost: Some(Micros::new(cost)),
            task: None,
            model: None,
        };
        desk.record(&report).unwrap();
        println!("got {tokens} {cost}");
    }
}

#[test]
fn real_spending_of_many_processes_keeps_under_the_ceiling_and_adds_up() {
    let seed = number("PITCREW_SEED").unwrap_or(1);
    println!("seed {seed}");
    let (folder, store) = on_disk();
    let (team, clock, entropy) = (name("t"), SystemClock, SeededEntropy::new(1));
    let desk = Desk::new(&team, &store, &clock, &entropy);
    let (budget, tpm, rpm) = (2_000_000, 9_000, 350);
    let change = LimitChange {
        budget: Setting::To(Micros::new(budget)),
        tpm: Setting::To(tpm),
        rpm: Setting::To(rpm),
        ..LimitChange::default()
    };
    desk.set_limits(&change).unwrap();
    let begun = clock.monotonic();
    let got = run(folder.path(), "limits", seed);
    let within_a_minute = clock.monotonic() - begun < 60_000;
    let (tokens, cost) = got
        .iter()
        .fold((0, 0), |sum, got| (sum.0 + got[0], sum.1 + got[1]));
    let limiter = desk.limiter().unwrap();
    let status = limiter.status(desk.now());
    assert_eq!(
        (status.used.tokens, status.used.cost),
        (tokens, Micros::new(cost))
    );
    assert_eq!(status.used.requests, got.len() as u64);
    assert_eq!(status.reserved.requests, 0);
    assert!(cost <= budget);
    if within_a_minute {
        assert!(tokens <= tpm && got.len() as u64 <= rpm);
    }
    assert!(got.len() > 30, "{}", got.len());
}
