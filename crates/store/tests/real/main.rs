//! The local adapter with real processes: races, kills and disks that say no.
//!
//! A test starts this program again as a child with a job in its environment; `a_child_does_its_job` carries it out and
//! tells on its standard output what was acknowledged. `PITCREW_ROUNDS` sets how often the races are run.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "these tests start, time and kill processes, and fail by panicking"
)]

mod children;
mod crashes;
mod disks;
mod races;

use pitcrew_core::name::{Name, TaskId};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::time::Timestamp;
use pitcrew_store::local::Creation;
use pitcrew_store::{Document, LocalStore, Place, Project};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

fn rounds() -> u64 {
    let given = std::env::var("PITCREW_ROUNDS");
    given.ok().and_then(|n| n.parse().ok()).unwrap_or(5)
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn team() -> Team {
    Team::new(&name("t"), "", "", "/p", Timestamp::from_millis(0))
}

/// A project with the team `t` in a private folder.
fn project() -> (TempDir, LocalStore) {
    let dir = TempDir::new().unwrap();
    let project = Project::at(dir.path()).unwrap();
    match project.create_team(&name("t"), &team()).unwrap() {
        Creation::Created(store) => (dir, store),
        Creation::Taken(by) => panic!("{by} is there already"),
    }
}

/// A document that counts, and carries something worth cutting in half.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Counter {
    count: u64,
    padding: String,
}

impl Document for Counter {
    type Id = ();

    fn place((): &()) -> Place {
        Place::Run
    }
}

/// Numbers that differ from run to run and are printed, so that a failure says what it ran.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let seed = RandomState::new().hash_one(0);
        println!("seed {seed}");
        Self(seed)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
