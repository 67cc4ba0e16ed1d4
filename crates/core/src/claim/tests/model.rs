//! Claims against a naive table: every line a bit, every rule said plainly. Random interleavings of members that
//! claim, extend, wait, release, stop and let their claims expire.

use super::*;
use proptest::prelude::*;

const MEMBERS: [&str; 4] = ["ada", "bob", "cy", "dan"];
const FILES: [&str; 2] = ["a", "b"];

/// Lines 0 to 31 as bits.
type Bits = u32;

fn bits(range: (u64, u64)) -> Bits {
    (range.0..=range.1).map(|line| 1 << line).sum()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hold {
    file: usize,
    bits: Bits,
    member: usize,
    until: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wait {
    member: usize,
    file: usize,
    bits: Bits,
    mode: Mode,
    ttl: i64,
    until: i64,
}

#[derive(Debug, Clone, Default)]
struct Naive {
    holds: Vec<Hold>,
    /// First come first.
    waits: Vec<Wait>,
}

fn touch(one: Bits, other: Bits) -> bool {
    let wide = u64::from(one) << 1;
    (wide | wide << 1 | wide >> 1) & (u64::from(other) << 1) != 0
}

impl Naive {
    fn own(&self, member: usize, file: usize) -> Bits {
        let own = self
            .holds
            .iter()
            .filter(|h| h.member == member && h.file == file);
        own.fold(0, |bits, hold| bits | hold.bits)
    }

    fn taken(&self, member: usize, file: usize) -> Bits {
        let others = self
            .holds
            .iter()
            .filter(|h| h.member != member && h.file == file);
        others.fold(0, |bits, hold| bits | hold.bits)
    }

    /// Whether the member can have the lines when the first `before` waits go first.
    fn is_free(&self, member: usize, file: usize, bits: Bits, before: usize) -> bool {
        let own = self.own(member, file);
        let waits = self.waits[..before].iter();
        let first = waits.filter(|wait| wait.member != member && wait.file == file);
        let wanted = first.fold(0, |bits, wait| bits | wait.bits);
        bits & (self.taken(member, file) | (wanted & !own)) == 0
    }

    fn hold(&mut self, member: usize, file: usize, mut bits: Bits, mode: Mode, until: i64) {
        let own = |hold: &Hold| hold.member == member && hold.file == file;
        let mut latest = until;
        if mode == Mode::Extend {
            while let Some(at) = self
                .holds
                .iter()
                .position(|h| own(h) && touch(h.bits, bits))
            {
                let old = self.holds.remove(at);
                bits |= old.bits;
                latest = latest.max(old.until);
            }
        } else {
            self.holds.retain(|hold| !own(hold));
        }
        self.holds.push(Hold {
            file,
            bits,
            member,
            until: latest,
        });
    }

    fn expire(&mut self, now: i64) {
        self.holds.retain(|hold| hold.until > now);
        self.waits.retain(|wait| wait.until > now);
    }

    fn sweep(&mut self, now: i64) {
        self.expire(now);
        while let Some(at) = (0..self.waits.len()).find(|at| {
            let wait = self.waits[*at];
            self.is_free(wait.member, wait.file, wait.bits, *at)
        }) {
            let wait = self.waits.remove(at);
            self.hold(wait.member, wait.file, wait.bits, wait.mode, now + wait.ttl);
        }
    }

    fn give_back(&mut self, member: usize, file: usize, given: Bits) {
        let mut left = Vec::new();
        for hold in self.holds.drain(..) {
            if hold.member != member || hold.file != file || hold.bits & given == 0 {
                left.push(hold);
                continue;
            }
            let kept = hold.bits & !given;
            let gap = (hold.bits & given).trailing_zeros();
            let below = kept & (1u32.checked_shl(gap).unwrap_or(0).wrapping_sub(1));
            let pieces = [below, kept & !below];
            let pieces = pieces.into_iter().filter(|bits| *bits != 0);
            left.extend(pieces.map(|bits| Hold { bits, ..hold }));
        }
        self.holds = left;
    }

    /// Who would wait for whom, held lines of its own or not.
    fn has_circle(&self) -> bool {
        let mut waits_for = [[false; MEMBERS.len()]; MEMBERS.len()];
        for (at, wait) in self.waits.iter().enumerate() {
            let first = self.waits[..at].iter().map(|w| (w.member, w.file, w.bits));
            let holds = self.holds.iter().map(|h| (h.member, h.file, h.bits));
            for (member, file, bits) in first.chain(holds) {
                if member != wait.member && file == wait.file && bits & wait.bits != 0 {
                    waits_for[wait.member][member] = true;
                }
            }
        }
        for via in 0..MEMBERS.len() {
            for from in 0..MEMBERS.len() {
                for to in 0..MEMBERS.len() {
                    waits_for[from][to] |= waits_for[from][via] && waits_for[via][to];
                }
            }
        }
        (0..MEMBERS.len()).any(|member| waits_for[member][member])
    }

    /// What the rules answer to a claim, as a code; the table changes accordingly.
    fn claim(&mut self, wish: Wait, patient: bool, now: i64) -> &'static str {
        let Wait {
            member,
            file,
            bits,
            mode,
            ttl,
            ..
        } = wish;
        let drop_waits = |waits: &mut Vec<Wait>| {
            if mode == Mode::Replace {
                waits.retain(|wait| wait.member != member || wait.file != file);
            }
        };
        if self.is_free(member, file, bits, self.waits.len()) {
            drop_waits(&mut self.waits);
            self.hold(member, file, bits, mode, now + ttl);
            self.sweep(now);
            return "held";
        }
        if !patient {
            return "claim_conflict";
        }
        let same = |w: &&mut Wait| (w.member, w.file, w.bits, w.mode) == (member, file, bits, mode);
        if let Some(wait) = self.waits.iter_mut().find(same) {
            wait.until = wait.until.max(wish.until);
            wait.ttl = ttl;
            return "waiting";
        }
        let mut with = self.clone();
        with.waits.push(wish);
        if with.has_circle() {
            return "deadlock";
        }
        drop_waits(&mut self.waits);
        self.waits.push(wish);
        self.sweep(now);
        "waiting"
    }
}

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
