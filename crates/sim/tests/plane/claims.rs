//! Claims against a table that says for every line of every file who holds it until when.

use std::collections::BTreeMap;

use pitcrew_core::Refusal;
use pitcrew_core::claim::{EndCause, Mode, Outcome, Patience, Request};
use pitcrew_runtime::desk::NotDone;

use super::{Chance, MEMBERS, Scene, file, lines, name, schedules};

const FILES: [&str; 2] = ["a", "b"];
const LINES: u64 = 12;

/// Who holds a line, and until when.
type Table = BTreeMap<(usize, u64), (usize, i64)>;

/// A table in which everything is tried line by line. Waits are left out: nobody waits in these schedules.
#[derive(Default)]
struct Naive {
    table: Table,
    now: i64,
}

impl Naive {
    fn live(&self, at: usize, line: u64) -> Option<usize> {
        let held = self.table.get(&(at, line));
        held.filter(|(_, until)| *until > self.now)
            .map(|held| held.0)
    }

    fn is_free(&self, who: usize, at: usize, start: u64, end: u64) -> bool {
        (start..=end).all(|line| self.live(at, line).is_none_or(|holder| holder == who))
    }

    /// The run of lines around `start..=end` that `who` holds without a gap, which an extended claim joins.
    fn joined(&self, who: usize, at: usize, start: u64, end: u64) -> (u64, u64) {
        let own = |line: u64| self.live(at, line) == Some(who);
        let (mut start, mut end) = (start, end);
        while start > 0 && own(start - 1) {
            start -= 1;
        }
        while own(end + 1) {
            end += 1;
        }
        (start, end)
    }

    fn claim(&mut self, who: usize, at: usize, start: u64, end: u64, until: i64, mode: Mode) {
        let (mut start, mut end, mut until) = (start, end, until);
        match mode {
            Mode::Replace => self.table.retain(|key, held| key.0 != at || held.0 != who),
            Mode::Extend => {
                (start, end) = self.joined(who, at, start, end);
                for line in start..=end {
                    if self.live(at, line) == Some(who) {
                        until = until.max(self.table[&(at, line)].1);
                    }
                }
            }
        }
        for line in start..=end {
            self.table.insert((at, line), (who, until));
        }
    }

    fn release(&mut self, who: usize, at: usize, start: u64, end: u64) {
        self.table
            .retain(|key, held| key.0 != at || held.0 != who || !(start..=end).contains(&key.1));
    }
}

/// What the desk says that is held now, line by line.
fn table(scene: &Scene<'_>) -> Table {
    let desk = scene.desk();
    let claims = desk.claims().unwrap();
    let mut table = Table::new();
    for claim in claims.held(desk.now()) {
        let at = FILES.iter().position(|file| *file == claim.file.as_str());
        let who = MEMBERS.iter().position(|who| *who == claim.member.as_str());
        for line in claim.lines.start()..=claim.lines.end() {
            let held = (who.unwrap(), claim.until.as_millis());
            let twice = table.insert((at.unwrap(), line), held);
            assert_eq!(twice, None, "line {line} of {} is held twice", claim.file);
        }
    }
    table
}

fn step(scene: &Scene<'_>, naive: &mut Naive, chance: &mut Chance) {
    let desk = scene.desk();
    let who = chance.member();
    let at = usize::try_from(chance.below(FILES.len() as u64)).unwrap();
    let start = chance.below(LINES);
    let end = start + chance.below(4);
    let (member, path) = (name(MEMBERS[who]), file(FILES[at]));
    match chance.below(10) {
        0..=5 => {
            let ttl_ms = 1 + chance.below(400);
            let mode = match chance.below(2) {
                0 => Mode::Replace,
                _ => Mode::Extend,
            };
            let free = naive.is_free(who, at, start, end);
            let answer = desk.claim_lines_as(&Request {
                ttl_ms,
                mode,
                patience: Patience::None,
                ..Request::new(&member, &path, lines(start, end))
            });
            match answer {
                Ok(answer) => {
                    assert!(free, "{member} got what is not free");
                    assert!(matches!(answer.outcome, Outcome::Held { .. }));
                    let until = naive.now + i64::try_from(ttl_ms).unwrap();
                    naive.claim(who, at, start, end, until, mode);
                }
                Err(NotDone::Refused(Refusal::ClaimConflict(_))) => assert!(!free),
                Err(other) => panic!("{other}"),
            }
        }
        6 | 7 => {
            let part = (chance.below(2) == 0).then(|| lines(start, end));
            let range = part.map_or((0, u64::MAX), |part| (part.start(), part.end()));
            match desk.release_lines(&member, &path, part) {
                Ok(_) => naive.release(who, at, range.0, range.1),
                Err(NotDone::Refused(Refusal::NotClaimed(_))) => {
                    let mut own = (0..=LINES + 4).filter(|line| naive.live(at, *line) == Some(who));
                    assert!(!own.any(|line| (range.0..=range.1).contains(&line)));
                }
                Err(other) => panic!("{other}"),
            }
        }
        8 => {
            desk.end_member(&member, EndCause::Crashed).unwrap();
            naive.table.retain(|_, held| held.0 != who);
        }
        _ => {
            let ms = i64::try_from(chance.below(300)).unwrap();
            scene.clock.advance(ms);
            naive.now += ms;
        }
    }
}

#[test]
fn claims_follow_a_table_of_lines_in_every_schedule_of_many_desks() {
    schedules(10_000, |scene, chance| {
        let mut naive = Naive {
            now: scene.desk().now().as_millis(),
            ..Naive::default()
        };
        for _ in 0..60 {
            step(scene, &mut naive, chance);
            naive.table.retain(|_, held| held.1 > naive.now);
            assert_eq!(table(scene), naive.table);
        }
    });
}
