//! What has one home: files, processes, clocks and the terminal.
//!
//! A home is a crate; a path that belongs to it is forbidden in the shipped code of every other crate. A file elsewhere that
//! needs it all the same is an exception with its reason, and an exception that is no longer needed fails as well.

use super::{none, shipped_sources};

struct Home {
    crates: &'static [&'static str],
    /// A path is forbidden elsewhere if it is one of these or lies below one.
    below: &'static [&'static str],
    /// A path is forbidden elsewhere if it ends in one of these.
    ending: &'static [&'static str],
    /// Allowed everywhere, although it lies below.
    harmless: &'static [&'static str],
    /// Files elsewhere that need it, and why.
    exceptions: &'static [(&'static str, &'static str)],
    reason: &'static str,
}

const FILES: Home = Home {
    crates: &["store"],
    below: &[
        "std::fs",
        "std::os::unix::fs",
        "tokio::fs",
        "rustix::fs",
        "tempfile",
        "notify",
    ],
    ending: &["fs::File", "File::open", "File::create", "OpenOptions::new"],
    harmless: &[],
    exceptions: &[
        (
            "crates/pitcrew/build.rs",
            "a build script runs before there is a store",
        ),
        (
            "crates/runtime/src/process/capture.rs",
            "an open file is handed over by its owner; none is opened",
        ),
        (
            "crates/runtime/src/process/launch.rs",
            "a program is looked for on PATH before it is started",
        ),
        (
            "crates/runtime/src/process/table.rs",
            "`/proc` is the table of processes, not a file of the team",
        ),
    ],
    reason: "files are opened in `store` only: locks, whole records, private modes and containment are kept in one place",
};

const PROCESSES: Home = Home {
    crates: &["runtime"],
    below: &[
        "std::process",
        "std::os::unix::process",
        "tokio::process",
        "rustix::process",
        "process_wrap",
    ],
    ending: &["process::Command"],
    harmless: &["std::process::ExitCode", "std::process::Termination"],
    exceptions: &[
        (
            "crates/pitcrew/build.rs",
            "a build script runs before there is a runtime",
        ),
        (
            "crates/store/src/local/mark.rs",
            "the reference's claim file names a process, and says by it whether its claim still runs",
        ),
        (
            "crates/store/src/files/private.rs",
            "whether a file belongs to its reader is asked of the system; no process is touched",
        ),
        (
            "crates/store/src/local/room.rs",
            "how long a file may become is asked of the system; no process is touched",
        ),
    ],
    reason: "processes live in `runtime` only: every child is in a group, is watched, and is ended before its owner",
};

const CLOCKS: Home = Home {
    crates: &["runtime"],
    below: &["tokio::time", "rustix::time"],
    ending: &[
        "Instant::now",
        "SystemTime::now",
        "Timestamp::now",
        "Zoned::now",
    ],
    harmless: &[],
    exceptions: &[],
    reason: "clocks are read in `runtime` only: time is an argument everywhere else, so that a test can pass it",
};

const TERMINAL: Home = Home {
    crates: &["pitcrew"],
    below: &["anstream"],
    ending: &[
        "print!",
        "println!",
        "eprint!",
        "eprintln!",
        "dbg!",
        "io::stdin",
        "io::stdout",
        "io::stderr",
    ],
    harmless: &[],
    exceptions: &[(
        "crates/pitcrew/build.rs",
        "cargo reads a build script's standard output",
    )],
    reason: "only `pitcrew` prints and reads the terminal: the other crates are useful without any face",
};

impl Home {
    fn owns(&self, path: &str) -> bool {
        let below = |head: &&str| {
            path.strip_prefix(*head)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let ends = |tail: &&str| {
            path.strip_suffix(*tail)
                .is_some_and(|head| head.is_empty() || head.ends_with("::"))
        };
        !self.harmless.iter().any(below)
            && (self.below.iter().any(below) || self.ending.iter().any(ends))
    }

    /// Every mention outside the home: file, line and path.
    fn strangers(&self) -> Vec<(String, usize, String)> {
        let at_home = |name: &str| {
            self.crates
                .iter()
                .any(|home| name.starts_with(&format!("crates/{home}/src/")))
        };
        let mut found = Vec::new();
        for (name, source) in shipped_sources()
            .into_iter()
            .filter(|(name, _)| !at_home(name))
        {
            let mentions = source
                .mentions()
                .into_iter()
                .filter(|mention| self.owns(&mention.path));
            found.extend(mentions.map(|mention| (name.clone(), mention.line, mention.path)));
        }
        found
    }

    #[track_caller]
    fn is_kept(&self) {
        let strangers = self.strangers();
        let excused = |name: &str| self.exceptions.iter().any(|(file, _)| *file == name);
        let breaches = strangers.iter().filter(|(name, ..)| !excused(name));
        none(
            self.reason,
            breaches.map(|(name, line, path)| format!("{name}:{line}: {path}")),
        );

        let stale = self
            .exceptions
            .iter()
            .filter(|(file, _)| !strangers.iter().any(|(name, ..)| name == file));
        none(
            "an exception goes when its reason goes",
            stale.map(|(file, why)| format!("{file}: {why}")),
        );
    }
}

#[test]
fn files_are_opened_in_the_store() {
    FILES.is_kept();
}

#[test]
fn processes_live_in_the_runtime() {
    PROCESSES.is_kept();
}

#[test]
fn clocks_are_read_in_the_runtime() {
    CLOCKS.is_kept();
}

#[test]
fn only_the_binary_prints() {
    TERMINAL.is_kept();
}
