//! Claims against a naive table: every line a bit, every rule said plainly. Random interleavings of members that
//! claim, extend, wait, release, stop and let their claims expire.

use super::*;
use proptest::prelude::*;

mod naive;

use naive::{Bits, Hold, Naive, Wait, bits};

const MEMBERS: [&str; 4] = ["ada", "bob", "cy", "dan"];
const FILES: [&str; 2] = ["a", "b"];

#[derive(Debug, Clone)]
enum Step {
    Claim {
        member: usize,
        file: usize,
        range: (u64, u64),
        mode: Mode,
        patient: bool,
        ttl: i64,
    },
    Release {
        member: usize,
        file: usize,
        part: Option<(u64, u64)>,
    },
    Withdraw {
        which: usize,
    },
    End {
        member: usize,
    },
}

fn range() -> impl Strategy<Value = (u64, u64)> {
    (0u64..26, 0u64..6).prop_map(|(start, more)| (start, start + more))
}

fn step() -> impl Strategy<Value = (i64, Step)> {
    let (member, file) = (0..MEMBERS.len(), 0..FILES.len());
    let mode = prop_oneof![2 => Just(Mode::Replace), 1 => Just(Mode::Extend)];
    let ttl = prop_oneof![Just(300i64), Just(2_000), Just(20_000)];
    let what = prop_oneof![
        12 => (member.clone(), file.clone(), range(), mode, any::<bool>(), ttl).prop_map(
            |(member, file, range, mode, patient, ttl)| Step::Claim { member, file, range, mode, patient, ttl }
        ),
        3 => (member.clone(), file, proptest::option::of(range()))
            .prop_map(|(member, file, part)| Step::Release { member, file, part }),
        1 => any::<usize>().prop_map(|which| Step::Withdraw { which }),
        1 => member.prop_map(|member| Step::End { member }),
    ];
    (0i64..400, what)
}

struct World {
    claims: Claims,
    naive: Naive,
    /// Who holds which lines, as the events alone tell it.
    told: [[Bits; MEMBERS.len()]; FILES.len()],
    now: i64,
}

fn index(names: &[&str], name: &str) -> usize {
    names.iter().position(|known| *known == name).unwrap()
}

fn claim_bits(claim: &Claim) -> (usize, usize, Bits) {
    let file = index(&FILES, claim.file.as_str());
    let member = index(&MEMBERS, claim.member.as_str());
    (file, member, bits((claim.lines.start(), claim.lines.end())))
}

impl World {
    fn tell(&mut self, events: &[ClaimEvent]) -> Result<(), TestCaseError> {
        for event in events {
            match event {
                ClaimEvent::ClaimMade { claim } | ClaimEvent::ClaimGranted { claim, .. } => {
                    let (file, member, bits) = claim_bits(claim);
                    let others = (0..MEMBERS.len()).filter(|other| *other != member);
                    let taken = others.fold(0, |taken, other| taken | self.told[file][other]);
                    prop_assert_eq!(taken & bits, 0, "two members hold a line");
                    self.told[file][member] |= bits;
                }
                ClaimEvent::ClaimEnded { claim, .. } => {
                    let (file, member, bits) = claim_bits(claim);
                    prop_assert_eq!(self.told[file][member] & bits, bits, "ended twice");
                    self.told[file][member] &= !bits;
                }
                ClaimEvent::ClaimRenewed { claim } => {
                    let (file, member, bits) = claim_bits(claim);
                    prop_assert_eq!(self.told[file][member] & bits, bits);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn run(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Claim {
                member,
                file,
                range,
                mode,
                patient,
                ttl,
            } => {
                let wish = Wait {
                    member,
                    file,
                    bits: bits(range),
                    mode,
                    ttl,
                    until: self.now + 1_500,
                };
                self.claim(wish, range, patient)
            }
            Step::Release { member, file, part } => self.release(member, file, part),
            Step::Withdraw { which } => self.withdraw(which),
            Step::End { member } => {
                let whose = name(MEMBERS[member]);
                let events = self
                    .claims
                    .end_member(&whose, EndCause::Crashed, at(self.now));
                self.tell(&events)?;
                self.naive.holds.retain(|hold| hold.member != member);
                self.naive.waits.retain(|wait| wait.member != member);
                self.naive.sweep(self.now);
                Ok(())
            }
        }
    }

    fn claim(
        &mut self,
        naive: Wait,
        range: (u64, u64),
        patient: bool,
    ) -> Result<(), TestCaseError> {
        let (now, before) = (self.now, self.claims.clone());
        let (whose, of) = (name(MEMBERS[naive.member]), file(FILES[naive.file]));
        let patience = match patient {
            true => Patience::Until(at(naive.until)),
            false => Patience::None,
        };
        let wish = Request {
            mode: naive.mode,
            patience,
            ttl_ms: naive.ttl as u64,
            ..Request::new(&whose, &of, lines(range.0, range.1))
        };
        let expected = self.naive.claim(naive, patient, now);
        match self.claims.claim(&wish, at(now)) {
            Ok(answer) => {
                let word = match answer.outcome {
                    Outcome::Held { .. } => "held",
                    Outcome::Waiting { .. } => "waiting",
                };
                prop_assert_eq!(word, expected);
                self.tell(&answer.events)?;
            }
            Err(refused) => {
                prop_assert_eq!(refused.code(), expected);
                prop_assert_eq!(&self.claims, &before);
            }
        }
        Ok(())
    }

    fn release(
        &mut self,
        member: usize,
        path: usize,
        part: Option<(u64, u64)>,
    ) -> Result<(), TestCaseError> {
        let (now, before) = (self.now, self.claims.clone());
        let given = part.map_or(Bits::MAX, bits);
        let has = self.naive.own(member, path) & given != 0;
        let own = |w: &Wait| w.member == member && w.file == path && part.is_none();
        let waits = self.naive.waits.iter().any(own);
        let (whose, of) = (name(MEMBERS[member]), file(FILES[path]));
        let range = part.map(|part| lines(part.0, part.1));
        let answer = self.claims.release(&whose, &of, range, at(now));
        prop_assert_eq!(answer.is_ok(), has || waits);
        match answer {
            Ok(events) => self.tell(&events)?,
            Err(_) => prop_assert_eq!(&self.claims, &before),
        }
        self.naive.waits.retain(|wait| !own(wait));
        self.naive.give_back(member, path, given);
        self.naive.sweep(now);
        Ok(())
    }

    fn withdraw(&mut self, which: usize) -> Result<(), TestCaseError> {
        let which = which % self.claims.waiting.len().max(1);
        if let Some(wait) = self.claims.waiting.get(which).cloned() {
            self.naive.waits.remove(which);
            let events = self
                .claims
                .withdraw(&wait.member, wait.ticket, at(self.now));
            self.tell(&events)?;
            self.naive.sweep(self.now);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let now = self.now;
        let mut holds: Vec<Hold> = self
            .claims
            .held(at(now))
            .map(|claim| {
                let (file, member, bits) = claim_bits(claim);
                let until = claim.until.millis_since(at(0));
                Hold {
                    file,
                    bits,
                    member,
                    until,
                }
            })
            .collect();
        holds.sort();
        let mut expected = self.naive.holds.clone();
        expected.sort();
        prop_assert_eq!(holds, expected);
        let waits: Vec<_> = self
            .claims
            .waiting(at(now))
            .map(|wait| {
                let range = bits((wait.lines.start(), wait.lines.end()));
                (wait.member.as_str(), wait.file.as_str(), range)
            })
            .collect();
        let expected = self.naive.waits.iter();
        let expected: Vec<_> = expected
            .map(|w| (MEMBERS[w.member], FILES[w.file], w.bits))
            .collect();
        prop_assert_eq!(waits, expected);
        prop_assert!(!self.naive.has_circle(), "members wait for each other");
        for (path, members) in self.told.iter().enumerate() {
            for (member, told) in members.iter().enumerate() {
                prop_assert_eq!(
                    *told,
                    self.naive.own(member, path),
                    "events tell another story"
                );
            }
        }
        let json = serde_json::to_string(&self.claims).unwrap();
        prop_assert_eq!(
            &serde_json::from_str::<Claims>(&json).unwrap(),
            &self.claims
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_members_do_the_rules_hold(steps in proptest::collection::vec(step(), 1..60)) {
        let mut world = World {
            claims: Claims::default(),
            naive: Naive::default(),
            told: [[0; MEMBERS.len()]; FILES.len()],
            now: 0,
        };
        for (wait, step) in steps {
            world.now += wait;
            // What time does may be noticed late: a claim on a table that nobody has swept keeps the rules too.
            let mut late = World {
                claims: world.claims.clone(),
                naive: world.naive.clone(),
                ..world
            };
            late.check_unswept(&step)?;
            let events = world.claims.sweep(at(world.now));
            world.tell(&events)?;
            world.naive.sweep(world.now);
            world.run(&step)?;
            world.check()?;
        }
    }
}

impl World {
    fn check_unswept(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let Step::Claim {
            member,
            file: path,
            range,
            mode,
            ..
        } = *step
        else {
            return Ok(());
        };
        let (whose, of) = (name(MEMBERS[member]), file(FILES[path]));
        let wish = Request {
            mode,
            ..Request::new(&whose, &of, lines(range.0, range.1))
        };
        let before = self.claims.clone();
        match self.claims.claim(&wish, at(self.now)) {
            Ok(answer) => {
                self.tell(&answer.events)?;
                self.naive.expire(self.now);
                let last = self.naive.waits.len();
                prop_assert!(self.naive.is_free(member, path, bits(range), last));
            }
            Err(_) => prop_assert_eq!(&self.claims, &before),
        }
        Ok(())
    }
}
