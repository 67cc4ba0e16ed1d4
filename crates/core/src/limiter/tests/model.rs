//! The limiter against a log of every call, kept naively: never laxer, never more than half a second stricter in what
//! it lets out, exact about when to try again, and under its ceilings in every minute.

use super::*;
use proptest::prelude::*;

/// One entry of the naive log.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: i64,
    tokens: u64,
    requests: u64,
}

/// A reservation as the naive log knows it.
#[derive(Debug, Clone, Copy)]
struct Call {
    id: u64,
    member: usize,
    entry: usize,
    at: i64,
    tokens: u64,
    cost: u64,
}

/// Everything that ever happened, and nothing clever.
#[derive(Debug, Clone, Default)]
struct Naive {
    log: Vec<Entry>,
    open: Vec<Call>,
    lapsed: Vec<Call>,
    ttl: i64,
    spent: [u64; MEMBERS.len()],
}

const MEMBERS: [&str; 3] = ["ada", "bob", "cy"];

impl Naive {
    fn load(&self, now: i64) -> (u64, u64) {
        let live = self.log.iter().filter(|entry| now - entry.at < WINDOW_MS);
        live.fold((0, 0), |sum, entry| {
            (sum.0 + entry.tokens, sum.1 + entry.requests)
        })
    }

    fn spent(&self, member: Option<usize>) -> u64 {
        (0..MEMBERS.len())
            .filter(|m| member.is_none_or(|one| one == *m))
            .map(|m| self.spent[m])
            .sum()
    }

    fn reserved(&self, member: Option<usize>) -> u64 {
        let own = self
            .open
            .iter()
            .filter(|call| member.is_none_or(|one| one == call.member));
        own.map(|call| call.cost).sum()
    }

    fn lapse(&mut self, now: i64) {
        let (gone, left) = self.open.iter().partition(|call| now - call.at >= self.ttl);
        self.open = left;
        let gone: Vec<Call> = gone;
        for call in gone {
            self.refund(call, now);
            self.lapsed.push(call);
        }
    }

    fn settle_late(&mut self, call: Call, tokens: u64, cost: u64, now: i64) {
        self.spent[call.member] += cost;
        let (tokens, requests) = match now - call.at < WINDOW_MS {
            true => (tokens, 1),
            false => (tokens.saturating_sub(call.tokens), 0),
        };
        self.log.push(Entry {
            at: now,
            tokens,
            requests,
        });
    }

    fn refund(&mut self, call: Call, now: i64) {
        if now - call.at < WINDOW_MS {
            self.log[call.entry].tokens = 0;
            self.log[call.entry].requests = 0;
        }
    }

    fn settle(&mut self, call: Call, tokens: u64, cost: u64, now: i64) {
        self.spent[call.member] += cost;
        if now - call.at < WINDOW_MS {
            self.log[call.entry].tokens = tokens;
        } else if tokens > call.tokens {
            let tokens = tokens - call.tokens;
            self.log.push(Entry {
                at: now,
                tokens,
                requests: 0,
            });
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Caps {
    budget: u64,
    member_budget: u64,
    rpm: u64,
    tpm: u64,
    ttl: i64,
}

impl Caps {
    fn limits(self) -> Limits {
        Limits {
            budget: Some(Micros::new(self.budget)),
            member_budget: Some(Micros::new(self.member_budget)),
            rpm: Some(self.rpm),
            tpm: Some(self.tpm),
            reservation_ttl_ms: self.ttl as u64,
            ..Limits::default()
        }
    }

    /// What the naive log says to a call.
    fn allow(self, naive: &Naive, member: usize, tokens: u64, cost: u64, now: i64) -> bool {
        let (held, requests) = naive.load(now);
        let team = naive.spent(None) + naive.reserved(None) + cost <= self.budget;
        let own = naive.spent(Some(member)) + naive.reserved(Some(member)) + cost;
        team && own <= self.member_budget && requests < self.rpm && held + tokens <= self.tpm
    }
}

#[derive(Debug, Clone)]
enum Step {
    Ask {
        member: usize,
        tokens: u64,
        cost: u64,
    },
    /// Which of the open ones, and what it really used in percent of what it set aside.
    Settle {
        which: usize,
        percent: u64,
    },
    Late {
        which: usize,
        percent: u64,
    },
    Release {
        which: usize,
    },
    End {
        member: usize,
    },
}

fn step(most_percent: u64) -> impl Strategy<Value = (i64, Step)> {
    let member = 0..MEMBERS.len();
    let what = prop_oneof![
        6 => (member.clone(), 0u64..60, 0u64..40)
            .prop_map(|(member, tokens, cost)| Step::Ask { member, tokens, cost }),
        4 => (any::<usize>(), 0..=most_percent)
            .prop_map(|(which, percent)| Step::Settle { which, percent }),
        1 => (any::<usize>(), 0..=most_percent)
            .prop_map(|(which, percent)| Step::Late { which, percent }),
        1 => any::<usize>().prop_map(|which| Step::Release { which }),
        1 => member.prop_map(|member| Step::End { member }),
    ];
    let wait = prop_oneof![6 => 0i64..800, 3 => 0i64..9_000, 1 => 0i64..70_000];
    (wait, what)
}

fn caps() -> impl Strategy<Value = Caps> {
    let ttl = prop_oneof![Just(90_000i64), Just(20_000i64)];
    let numbers = (0u64..1_500, 0u64..900, 0u64..14, 0u64..300, ttl);
    numbers.prop_map(|(budget, member_budget, rpm, tpm, ttl)| Caps {
        budget,
        member_budget,
        rpm,
        tpm,
        ttl,
    })
}

/// The limiter and the log beside it.
struct World {
    limiter: Limiter,
    naive: Naive,
    caps: Caps,
    now: i64,
}

/// Whether calls may have used more than they set aside, or be settled after they lapsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Estimates {
    Hold,
    Fail,
}

fn run(caps: Caps, steps: Vec<(i64, Step)>, estimates: Estimates) -> Result<(), TestCaseError> {
    let mut world = World {
        limiter: limiter(caps.limits()),
        naive: Naive {
            ttl: caps.ttl,
            ..Naive::default()
        },
        caps,
        now: 0,
    };
    for (wait, step) in steps {
        world.now += wait;
        let now = world.now;
        match step {
            Step::Ask {
                member,
                tokens,
                cost,
            } => world.ask(member, tokens, cost)?,
            Step::Settle { which, percent } => {
                world.lapse();
                if let Some(call) = take(&mut world.naive.open, which) {
                    let (tokens, cost) = world.settle(call, percent)?;
                    world.naive.settle(call, tokens, cost, now);
                }
            }
            Step::Late { .. } if estimates == Estimates::Hold => {}
            Step::Late { which, percent } => {
                world.lapse();
                if let Some(call) = take(&mut world.naive.lapsed, which) {
                    let (tokens, cost) = world.settle(call, percent)?;
                    world.naive.settle_late(call, tokens, cost, now);
                }
            }
            Step::Release { which } => {
                world.lapse();
                if let Some(call) = take(&mut world.naive.open, which) {
                    let (id, whose) = (ReservationId(call.id), name(MEMBERS[call.member]));
                    world.limiter.release(id, &whose, at(now)).unwrap();
                    world.naive.refund(call, now);
                }
            }
            Step::End { member } => {
                world.lapse();
                world.limiter.end_member(&name(MEMBERS[member]), at(now));
                let own = world
                    .naive
                    .open
                    .extract_if(.., |call| call.member == member);
                for call in own.collect::<Vec<_>>() {
                    world.naive.refund(call, now);
                }
            }
        }
        world.check(estimates)?;
    }
    let json = serde_json::to_string(&world.limiter).unwrap();
    let read: Limiter = serde_json::from_str(&json).unwrap();
    prop_assert_eq!(read, world.limiter);
    Ok(())
}

fn take(open: &mut Vec<Call>, which: usize) -> Option<Call> {
    (!open.is_empty()).then(|| open.swap_remove(which % open.len()))
}

impl World {
    /// Both do what time does at the same moment; a call that comes later could not be refunded any more.
    fn lapse(&mut self) {
        self.naive.lapse(self.now);
        self.limiter.sweep(at(self.now));
    }

    fn ask(&mut self, member: usize, tokens: u64, cost: u64) -> Result<(), TestCaseError> {
        let (now, before) = (self.now, self.limiter.clone());
        let whose = name(MEMBERS[member]);
        let ask = Ask {
            cost: Some(Micros::new(cost)),
            ..Ask::new(&whose, tokens)
        };
        match self.limiter.acquire(&ask, at(now)) {
            Ok(grant) => {
                self.naive.lapse(now);
                let allowed = self.caps.allow(&self.naive, member, tokens, cost, now);
                prop_assert!(allowed, "laxer at {now}");
                let entry = self.naive.log.len();
                self.naive.log.push(Entry {
                    at: now,
                    tokens,
                    requests: 1,
                });
                self.naive.open.push(Call {
                    id: grant.id.0,
                    member,
                    entry,
                    at: now,
                    tokens,
                    cost,
                });
            }
            Err(refused) => {
                prop_assert_eq!(&self.limiter, &before);
                check_refusal(&self.limiter, &ask, now, &refused)?;
            }
        }
        Ok(())
    }

    /// Settles a call, and sees that it cannot be settled again. Answers what it used.
    fn settle(&mut self, call: Call, percent: u64) -> Result<(u64, u64), TestCaseError> {
        let (tokens, cost) = (call.tokens * percent / 100, call.cost * percent / 100);
        let whose = name(MEMBERS[call.member]);
        let report = Report {
            member: &whose,
            reservation: Some(ReservationId(call.id)),
            tokens,
            cost: Some(Micros::new(cost)),
            task: None,
            model: None,
        };
        self.limiter.record(&report, at(self.now)).unwrap();
        let again = self.limiter.record(&report, at(self.now)).unwrap_err();
        prop_assert_eq!(again.code(), "already_settled");
        Ok((tokens, cost))
    }

    /// The window holds at least what the log holds, and no more than the log with another half second; sums are
    /// equal; ceilings hold while estimates do.
    fn check(&self, estimates: Estimates) -> Result<(), TestCaseError> {
        let (now, caps) = (self.now, self.caps);
        let mut swept = self.limiter.clone();
        swept.sweep(at(now));
        let status = swept.status(at(now));
        let mut log = self.naive.clone();
        log.lapse(now);
        let (tokens, requests) = log.load(now);
        prop_assert!(status.window.tokens >= tokens && status.window.requests >= requests);
        let late = log
            .log
            .iter()
            .filter(|entry| now - entry.at < WINDOW_MS + BUCKET_MS);
        prop_assert!(status.window.requests <= late.map(|entry| entry.requests).sum::<u64>());
        prop_assert_eq!(status.used.cost.get(), log.spent(None));
        prop_assert_eq!(status.reserved.cost.get(), log.reserved(None));
        prop_assert_eq!(status.reserved.requests, log.open.len() as u64);
        if estimates == Estimates::Hold {
            prop_assert!(log.spent(None) + log.reserved(None) <= caps.budget);
            for member in 0..MEMBERS.len() {
                let own = log.spent(Some(member)) + log.reserved(Some(member));
                prop_assert!(own <= caps.member_budget);
            }
            prop_assert!(tokens <= caps.tpm && requests <= caps.rpm);
        }
        Ok(())
    }
}

/// A refusal that names a time is right to the millisecond when nothing else happens. Reservations that lapse in
/// between would only make room earlier, so they are left out.
fn check_refusal(
    limiter: &Limiter,
    ask: &Ask<'_>,
    now: i64,
    refused: &Refusal,
) -> Result<(), TestCaseError> {
    match refused {
        Refusal::RateLimited(facts) => {
            let ready = now + facts.retry_after_ms as i64;
            prop_assert!(facts.retry_after_ms > 0);
            let mut later = limiter.clone();
            later.sweep(at(now));
            if limiter.limits.ttl_ms() > WINDOW_MS {
                prop_assert!(later.clone().acquire(ask, at(ready - 1)).is_err());
            }
            prop_assert!(later.acquire(ask, at(ready)).is_ok());
        }
        Refusal::NeverFits(_) => {
            let mut later = limiter.clone();
            prop_assert!(later.acquire(ask, at(now + 10_000_000)).is_err());
        }
        Refusal::BudgetExceeded(facts) => {
            prop_assert!(facts.spent.plus(facts.reserved).plus(ask.cost.unwrap()) > facts.budget);
        }
        other => prop_assert!(false, "{other:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn in_ten_thousand_schedules_no_ceiling_is_passed(
        caps in caps(),
        steps in proptest::collection::vec(step(100), 1..40),
    ) {
        run(caps, steps, Estimates::Hold)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn estimates_that_were_too_low_never_make_it_laxer(
        caps in caps(),
        steps in proptest::collection::vec(step(400), 1..40),
    ) {
        run(caps, steps, Estimates::Fail)?;
    }
}
