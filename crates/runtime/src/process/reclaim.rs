//! Ends what a supervisor that is no longer there left running.
//!
//! | what is known | call | what is signalled |
//! |---|---|---|
//! | the recorded [`Identity`] of a turn's first process | [`reclaim`] | it and its kin, only if it is `Alive` |
//! | the turn's id alone | [`sweep`] | every process that carries the turn's mark |
//!
//! A supervisor writes down the turn's id *before* it starts the first process and the identity after; killed in
//! between, or with the first process gone before its children, the sweep still finds what runs.
//!
//! What always holds: a process is signalled only when its start time says that it is the very one, and a turn that
//! this program itself runs in is never touched.

use super::clearing::{Clearing, Pace, after};
use super::ended::{By, Leftovers};
use super::identity::{Blindness, Identity, Presence};
use super::kin::Kin;
use super::launch::{Ask, Ladder};
use super::mark::Mark;
use super::table::{Entry, Stat, Table};
use rustix::process::Signal;
use tokio::time::Instant;

/// What became of a process that another supervisor had started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaimed {
    /// It ran, and was stopped with its kin.
    Stopped {
        /// Whether asking was enough.
        by: By,
        /// What ran beside it.
        leftovers: Leftovers,
    },
    /// It had ended. Nothing was signalled.
    Gone,
    /// It had ended and somebody else has its pid. Nothing was signalled.
    Recycled,
    /// There is no evidence. Nothing was signalled.
    CannotTell(Blindness),
    /// This program runs in that very turn. Nothing was signalled.
    OurOwnTurn,
}

/// What a sweep for a turn's mark did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// So many were found and killed.
    Cleared(Leftovers),
    /// There is no process table to look through.
    CannotTell(Blindness),
    /// This program runs in that very turn. Nothing was signalled.
    OurOwnTurn,
}

/// Stops a recorded process and all its kin, if it is still the same one. Asks first, as the ladder says.
pub async fn reclaim(identity: &Identity, mark: &Mark, ladder: &Ladder) -> Reclaimed {
    let table = Table::default();
    match identity.presence_in(&table) {
        Presence::Alive => {}
        Presence::Gone => return Reclaimed::Gone,
        Presence::Recycled => return Reclaimed::Recycled,
        Presence::CannotTell(why) => return Reclaimed::CannotTell(why),
    }
    let leader = match table.entry(identity.pid) {
        Entry::Found(stat) if Some(stat.start_time) == identity.start_time => stat,
        Entry::Found(_) => return Reclaimed::Recycled,
        Entry::Absent => return Reclaimed::Gone,
        Entry::Unreadable => return Reclaimed::CannotTell(Blindness::NoTable),
    };
    if is_our_own(&table, mark, Some(&leader)) {
        return Reclaimed::OurOwnTurn;
    }
    let kin = Kin {
        table,
        mark: mark.clone(),
        leader: Some(leader),
    };
    let mut clearing = Clearing::of(&kin);
    let mut asked = clearing.look().unwrap_or_default();
    asked.retain(|stat| kin.is_asked_with_the_leader(stat));
    ask(&kin, &asked, ladder.ask);
    let by = grace(&kin, asked, ladder).await;
    // No signal to the group as such: we do not hold its number.
    let leftovers = clearing.finish(|| {}).await;
    Reclaimed::Stopped { by, leftovers }
}

/// Kills every process that carries the mark of a turn, whoever started it.
pub async fn sweep(mark: &Mark) -> Swept {
    let table = Table::default();
    if !table.works() {
        return Swept::CannotTell(Blindness::NoTable);
    }
    if is_our_own(&table, mark, None) {
        return Swept::OurOwnTurn;
    }
    let kin = Kin {
        table,
        mark: mark.clone(),
        leader: None,
    };
    Swept::Cleared(Clearing::of(&kin).finish(|| {}).await)
}

/// Whether this program would be among those that are ended.
fn is_our_own(table: &Table, mark: &Mark, leader: Option<&Stat>) -> bool {
    let own = std::process::id();
    let carries_the_mark = table
        .environment(own)
        .is_ok_and(|environment| mark.is_in(&environment));
    carries_the_mark || leader.is_some_and(|leader| descends_from(table, own, leader))
}

fn descends_from(table: &Table, pid: u32, leader: &Stat) -> bool {
    let mut line = vec![pid];
    while let Some(Entry::Found(stat)) = line.last().map(|pid| table.entry(*pid)) {
        if [stat.pid, stat.group, stat.session].contains(&leader.pid) {
            return true;
        }
        // Parents are older than their children, unless the table changed while we read it.
        if stat.parent == 0 || line.contains(&stat.parent) {
            return false;
        }
        line.push(stat.parent);
    }
    false
}

fn ask(kin: &Kin, asked: &[Stat], how: Ask) {
    let signal = match how {
        Ask::Terminate => Signal::TERM,
        Ask::Interrupt => Signal::INT,
    };
    for stat in asked {
        kin.signal(stat, signal);
        kin.signal(stat, Signal::CONT);
    }
}

/// Waits until all that were asked have ended, or the grace is over.
async fn grace(kin: &Kin, mut asked: Vec<Stat>, ladder: &Ladder) -> By {
    let until = after(ladder.grace);
    let mut pace = Pace::default();
    loop {
        asked = kin.still_running(&asked);
        if asked.is_empty() {
            return By::Ask;
        }
        if Instant::now() >= until {
            return By::Kill;
        }
        pace.pause().await;
    }
}
