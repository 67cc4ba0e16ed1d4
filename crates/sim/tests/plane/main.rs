//! Claims and limits against naive models: many desks in seeded turns, and many processes at once.
//!
//! A failure prints its seed. `PITCREW_SEED` runs that schedule alone, `PITCREW_SCHEDULES` sets how many are run.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these tests start and time processes, say their seed, and fail by panicking"
)]

mod claims;
mod limits;
mod processes;

use pitcrew_core::claim::{Case, FilePath, Lines};
use pitcrew_core::name::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Recruit, Seat, Team};
use pitcrew_core::time::Timestamp;
use pitcrew_runtime::clock::{ManualClock, SeededEntropy};
use pitcrew_runtime::desk::Desk;
use pitcrew_store::local::Creation;
use pitcrew_store::{LocalStore, MemoryStore, Project, Store, StoreExt};
use tempfile::TempDir;

const MEMBERS: [&str; 5] = ["ada", "bob", "cy", "dee", "eve"];

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn file(text: &str) -> FilePath {
    FilePath::canonical(text, "/p", Case::Kept).unwrap()
}

fn lines(start: u64, end: u64) -> Lines {
    Lines::new(start, end).unwrap()
}

fn team() -> Team {
    let mut team = Team::new(&name("t"), "", "", "/p", Timestamp::from_millis(0));
    for member in MEMBERS {
        let recruit = Recruit {
            name: name(member),
            role: String::new(),
            seat: Seat::Headless,
            profile: None,
            task_id: None,
        };
        team.add(recruit).unwrap();
    }
    team
}

/// A project with the team in a private folder.
fn on_disk() -> (TempDir, LocalStore) {
    let folder = TempDir::new().unwrap();
    let project = Project::at(folder.path()).unwrap();
    match project.create_team(&name("t"), &team()).unwrap() {
        Creation::Created(store) => (folder, store),
        Creation::Taken(by) => panic!("{by} is there already"),
    }
}

fn in_memory() -> MemoryStore {
    let store = MemoryStore::new();
    let made = store.update::<Team, (), ()>(&(), |slot| {
        *slot = Some(team());
        Ok(())
    });
    made.unwrap().unwrap();
    store
}

/// One team with a clock that the schedule moves.
struct Scene<'a> {
    name: Name,
    store: &'a dyn Store,
    clock: ManualClock,
    entropy: SeededEntropy,
}

impl<'a> Scene<'a> {
    fn of(store: &'a dyn Store) -> Self {
        Self {
            name: name("t"),
            store,
            clock: ManualClock::at(1_796_055_748_904),
            entropy: SeededEntropy::new(1),
        }
    }

    fn desk(&self) -> Desk<'_> {
        Desk::new(&self.name, self.store, &self.clock, &self.entropy)
    }
}

/// Numbers that follow from a seed.
struct Chance(u64);

impl Chance {
    fn of(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn member(&mut self) -> usize {
        usize::try_from(self.below(MEMBERS.len() as u64)).unwrap()
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap())
}

/// Runs `schedule` with one seed after the other, over stores in memory and now and then over one on disk.
fn schedules(otherwise: u64, schedule: impl Fn(&Scene<'_>, &mut Chance)) {
    let seeds = match number("PITCREW_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("PITCREW_SCHEDULES").unwrap_or(otherwise),
    };
    for seed in seeds {
        let told = Told(seed);
        if seed % 100 == 7 {
            let (_folder, store) = on_disk();
            schedule(&Scene::of(&store), &mut Chance::of(seed));
        } else {
            schedule(&Scene::of(&in_memory()), &mut Chance::of(seed));
        }
        std::mem::forget(told);
    }
}

/// Says the seed of a schedule that failed.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        println!("run it again with PITCREW_SEED={}", self.0);
    }
}
