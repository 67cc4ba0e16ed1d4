//! The same rules over sets of lines, written as plainly as can be.

use super::*;

/// Lines 0 to 31 as bits.
pub(super) type Bits = u32;

pub(super) fn bits(range: (u64, u64)) -> Bits {
    (range.0..=range.1).map(|line| 1 << line).sum()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hold {
    pub(super) file: usize,
    pub(super) bits: Bits,
    pub(super) member: usize,
    pub(super) until: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) member: usize,
    pub(super) file: usize,
    pub(super) bits: Bits,
    pub(super) mode: Mode,
    pub(super) ttl: i64,
    pub(super) until: i64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Naive {
    pub(super) holds: Vec<Hold>,
    /// First come first.
    pub(super) waits: Vec<Wait>,
}

pub(super) fn touch(one: Bits, other: Bits) -> bool {
    let wide = u64::from(one) << 1;
    (wide | wide << 1 | wide >> 1) & (u64::from(other) << 1) != 0
}

impl Naive {
    pub(super) fn own(&self, member: usize, file: usize) -> Bits {
        let own = self
            .holds
            .iter()
            .filter(|h| h.member == member && h.file == file);
        own.fold(0, |bits, hold| bits | hold.bits)
    }

    pub(super) fn taken(&self, member: usize, file: usize) -> Bits {
        let others = self
            .holds
            .iter()
            .filter(|h| h.member != member && h.file == file);
        others.fold(0, |bits, hold| bits | hold.bits)
    }

    /// Whether the member can have the lines when the first `before` waits go first.
    pub(super) fn is_free(&self, member: usize, file: usize, bits: Bits, before: usize) -> bool {
        let own = self.own(member, file);
        let waits = self.waits[..before].iter();
        let first = waits.filter(|wait| wait.member != member && wait.file == file);
        let wanted = first.fold(0, |bits, wait| bits | wait.bits);
        bits & (self.taken(member, file) | (wanted & !own)) == 0
    }

    pub(super) fn hold(
        &mut self,
        member: usize,
        file: usize,
        mut bits: Bits,
        mode: Mode,
        until: i64,
    ) {
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

    pub(super) fn expire(&mut self, now: i64) {
        self.holds.retain(|hold| hold.until > now);
        self.waits.retain(|wait| wait.until > now);
    }

    pub(super) fn sweep(&mut self, now: i64) {
        self.expire(now);
        while let Some(at) = (0..self.waits.len()).find(|at| {
            let wait = self.waits[*at];
            self.is_free(wait.member, wait.file, wait.bits, *at)
        }) {
            let wait = self.waits.remove(at);
            self.hold(wait.member, wait.file, wait.bits, wait.mode, now + wait.ttl);
        }
    }

    pub(super) fn give_back(&mut self, member: usize, file: usize, given: Bits) {
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
    pub(super) fn has_circle(&self) -> bool {
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
    pub(super) fn claim(&mut self, wish: Wait, patient: bool, now: i64) -> &'static str {
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
