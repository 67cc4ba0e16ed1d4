//! 8 processes that ask and settle on one folder, beside as many that only lock, read, change and rename a file of the
//! same size: what no store over plain files can do without.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use pitcrew_runtime::clock::{SeededEntropy, SystemClock};
use pitcrew_runtime::desk::Desk;
use pitcrew_store::Project;
use pitcrew_store::local::Creation;

use crate::{call, limits, name, team};

const PROCESSES: u32 = 8;
const CALLS: u32 = 1_000;
const ROUNDS: usize = 5;

/// How many times the bare change the library may take.
const MOST: f64 = 2.0;

/// The work of one child in `folder`.
pub(crate) fn child(job: &str, n: &str, folder: &Path) {
    match job {
        "library" => library(n, folder),
        "bare" => (0..2 * CALLS).for_each(|n| bare(folder, n)),
        other => println!("no such job: {other}"),
    }
}

fn library(n: &str, folder: &Path) {
    let project = Project::at(folder).expect("a project");
    let store = project.team(&name("t"));
    let (team, clock, entropy) = (name("t"), SystemClock, SeededEntropy::new(1));
    let desk = Desk::new(&team, &store, &clock, &entropy);
    let me = name(&format!("worker-{n}"));
    for _ in 0..CALLS {
        call(&desk, &me);
    }
}

/// One locked read-change-rename: an advisory lock on the folder, waited for in the system.
fn bare(folder: &Path, n: u32) {
    let held = File::open(folder).expect("a folder");
    held.lock().expect("a lock");
    let path = folder.join("document");
    let mut text = fs::read(&path).expect("a document");
    text[0] = b'0' + u8::try_from(n % 10).expect("a digit");
    let draft = folder.join(".document.tmp");
    fs::write(&draft, &text).expect("a draft");
    fs::rename(&draft, &path).expect("a rename");
}

/// How long all children of one job take together.
fn timed(job: &str, folder: &Path) -> Duration {
    let program = std::env::current_exe().expect("this program");
    let start = Instant::now();
    let children: Vec<_> = (0..PROCESSES)
        .map(|n| {
            let mut command = Command::new(&program);
            command.args(["child", job, &n.to_string()]).arg(folder);
            command.spawn().expect("a child")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("an end").success(), "a child failed");
    }
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

pub(crate) fn run() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = Project::at(folder.path()).expect("a project");
    let made = project.create_team(&name("t"), &team()).expect("a team");
    let Creation::Created(store) = made else {
        return;
    };
    let (id, clock, entropy) = (name("t"), SystemClock, SeededEntropy::new(1));
    Desk::new(&id, &store, &clock, &entropy)
        .set_limits(&limits())
        .expect("good limits");
    let (mut ours, mut bares) = (Vec::new(), Vec::new());
    let bare = tempfile::tempdir().expect("a folder");
    for _ in 0..ROUNDS {
        ours.push(timed("library", folder.path()));
        // As large as the document is by now: its window is full and every member is in its books.
        fs::copy(
            store.folder().join("limits.json"),
            bare.path().join("document"),
        )
        .expect("a copy");
        bares.push(timed("bare", bare.path()));
    }
    let size = fs::metadata(bare.path().join("document"))
        .expect("a document")
        .len();
    let (ours, bares) = (median(ours), median(bares));
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(PROCESSES * CALLS);
    println!("{PROCESSES} processes, {CALLS} acquire+record each, a document of {size} bytes");
    println!(
        "  through the library         {:>8.1} us a call",
        each(ours)
    );
    println!(
        "  bare read-change-rename     {:>8.1} us for two",
        each(bares)
    );
    let times = ours.as_secs_f64() / bares.as_secs_f64();
    let word = if times <= MOST { "" } else { ", too slow" };
    println!("  {times:.2} times{word}");
}
