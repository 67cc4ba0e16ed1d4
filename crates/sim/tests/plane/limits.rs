//! The limiter against a list of every call: whatever is admitted keeps under every ceiling in every minute.

use pitcrew_core::limiter::{Report, ReservationId};
use pitcrew_core::price::Micros;
use pitcrew_runtime::desk::{Admission, LimitChange, NotDone, Setting, Spending};

use super::{Chance, MEMBERS, Scene, name, schedules};

const BUDGET: u64 = 4_000_000;
const OWN: u64 = 1_500_000;
const RPM: u64 = 12;
const TPM: u64 = 2_000;
const TTL_MS: i64 = 90_000;
const MINUTE_MS: i64 = 60_000;

/// One call and all that became of it.
struct Call {
    id: ReservationId,
    member: usize,
    at: i64,
    tokens: u64,
    cost: u64,
    open: bool,
}

/// The ceilings, counted from the list alone. What lapsed or was released is not on it any more.
fn keeps_under(calls: &[Call], now: i64) {
    let cost = |of: &dyn Fn(&&Call) -> bool| -> u64 {
        calls.iter().filter(of).map(|call| call.cost).sum()
    };
    assert!(cost(&|_| true) <= BUDGET);
    for member in 0..MEMBERS.len() {
        assert!(cost(&|call| call.member == member) <= OWN);
    }
    let recent = || calls.iter().filter(|call| now - call.at < MINUTE_MS);
    assert!(recent().count() as u64 <= RPM);
    assert!(recent().map(|call| call.tokens).sum::<u64>() <= TPM);
}

fn limits() -> LimitChange {
    LimitChange {
        budget: Setting::To(Micros::new(BUDGET)),
        member_budget: Setting::To(Micros::new(OWN)),
        rpm: Setting::To(RPM),
        tpm: Setting::To(TPM),
        reservation_ttl_ms: Some(TTL_MS.unsigned_abs()),
        ..LimitChange::default()
    }
}

fn step(scene: &Scene<'_>, calls: &mut Vec<Call>, chance: &mut Chance) {
    let desk = scene.desk();
    let who = chance.member();
    let member = name(MEMBERS[who]);
    let open: Vec<usize> = (0..calls.len()).filter(|at| calls[*at].open).collect();
    let pick =
        (!open.is_empty()).then(|| open[usize::try_from(chance.below(open.len() as u64)).unwrap()]);
    match (chance.below(10), pick) {
        (0..=4, _) => {
            let (tokens, cost) = (chance.below(600), chance.below(700_000));
            let asked = desk.acquire(&Spending {
                member: &member,
                tokens,
                cost: Some(Micros::new(cost)),
                task: None,
                model: None,
            });
            match asked {
                Ok(Admission::Reserved { id, .. }) => calls.push(Call {
                    id,
                    member: who,
                    at: desk.now().as_millis(),
                    tokens,
                    cost,
                    open: true,
                }),
                Ok(other) => panic!("{other:?}"),
                Err(NotDone::Refused(_)) => {}
                Err(failed) => panic!("{failed}"),
            }
        }
        (5 | 6, Some(at)) => {
            let call = &mut calls[at];
            // An honest estimate: no more is used than was set aside.
            call.tokens -= chance.below(call.tokens + 1);
            call.cost -= chance.below(call.cost + 1);
            call.open = false;
            let owner = name(MEMBERS[call.member]);
            desk.record(&Report {
                member: &owner,
                reservation: Some(call.id),
                tokens: call.tokens,
                cost: Some(Micros::new(call.cost)),
                task: None,
                model: None,
            })
            .unwrap();
        }
        (7, Some(at)) => {
            let call = calls.remove(at);
            let owner = name(MEMBERS[call.member]);
            desk.release_reservation(call.id, &owner).unwrap();
        }
        (8, _) => {
            desk.end_member(&member, pitcrew_core::claim::EndCause::Crashed)
                .unwrap();
            calls.retain(|call| !call.open || call.member != who);
        }
        _ => scene
            .clock
            .advance(i64::try_from(chance.below(20_000)).unwrap()),
    }
    let now = desk.now().as_millis();
    calls.retain(|call| !call.open || now - call.at < TTL_MS);
    keeps_under(calls, now);
}

/// What the limiter says is what the list says: nothing is lost, and nothing counted twice.
fn agrees(scene: &Scene<'_>, calls: &[Call]) {
    let desk = scene.desk();
    let mut limiter = desk.limiter().unwrap();
    limiter.sweep(desk.now());
    let status = limiter.status(desk.now());
    let sum = |open: bool| -> u64 {
        let meant = calls.iter().filter(|call| call.open == open);
        meant.map(|call| call.cost).sum()
    };
    assert_eq!(status.used.cost, Micros::new(sum(false)));
    assert_eq!(status.reserved.cost, Micros::new(sum(true)));
}

#[test]
fn no_schedule_of_many_desks_passes_a_ceiling() {
    schedules(10_000, |scene, chance| {
        scene.desk().set_limits(&limits()).unwrap();
        let mut calls = Vec::new();
        for _ in 0..80 {
            step(scene, &mut calls, chance);
            agrees(scene, &calls);
        }
    });
}
