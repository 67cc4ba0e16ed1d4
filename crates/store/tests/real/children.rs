//! The jobs of the children, and how a test follows one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use pitcrew_core::task::{Claimant, Readiness, Status, Task};
use pitcrew_core::time::Timestamp;
use pitcrew_store::local::Creation;
use pitcrew_store::{LocalStore, Log, Project, Rotation, Store, StoreExt, StoreFailure};

use super::{Counter, id, name, team};

const JOB: &str = "PITCREW_STORE_TEST_JOB";

/// What a child does, as words: the project's root first.
pub(crate) fn command(root: &Path, job: &[&str]) -> Command {
    let mut words = vec![root.to_str().unwrap()];
    words.extend(job);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "children::a_child_does_its_job", "--nocapture"])
        .env(JOB, words.join("\n"));
    command
}

/// The same child, started by a shell after `setup`.
pub(crate) fn command_after(setup: &str, root: &Path, job: &[&str]) -> Command {
    let child = command(root, job);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{setup}\nexec \"$@\""), "sh"])
        .arg(child.get_program())
        .args(child.get_args());
    for (key, value) in child.get_envs() {
        shell.env(key, value.unwrap());
    }
    shell
}

/// A running child and what it acknowledges.
pub(crate) struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next thing that the child acknowledged; `None` once it has ended.
    pub(crate) fn next(&mut self) -> Option<String> {
        loop {
            // A killed child may leave half a line, which acknowledges nothing.
            let line = self.lines.next()?.ok()?;
            if let Some(said) = line
                .strip_prefix("ack ")
                .and_then(|said| said.strip_suffix('.'))
            {
                return Some(said.to_owned());
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Everything that is still said, and whether the child ended well.
    pub(crate) fn finish(mut self) -> (Vec<String>, bool) {
        let said = std::iter::from_fn(|| self.next()).collect();
        (said, self.child.wait().unwrap().success())
    }
}

fn acknowledge(what: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ack {what}.").unwrap();
    out.flush().unwrap();
}

#[test]
fn a_child_does_its_job() {
    let Ok(job) = std::env::var(JOB) else {
        return;
    };
    let words: Vec<&str> = job.split('\n').collect();
    let root = Path::new(words[0]);
    let project = Project::at(root).unwrap();
    let store = project.team(&name("t"));
    match words[1..] {
        ["append", writer, count, pad] => append(&store, writer, number(count), number(pad)),
        ["event", writer, count] => event(store.clone(), writer, number(count)),
        ["append_until_full", pad] => append_until_full(&store, number(pad)),
        ["count", times, pad] => count(&store, number(times), number(pad)),
        ["claim", worker, tasks] => claim(&store, worker, number(tasks)),
        ["end", tasks] => end(&store, number(tasks)),
        ["create", given] => match project.create_team(&name(given), &team()).unwrap() {
            Creation::Created(_) => acknowledge("created"),
            Creation::Taken(by) => acknowledge(by),
        },
        ["try_everything"] => try_everything(&store, &project),
        _ => panic!("no such job: {job}"),
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap()
}

pub(crate) fn record(writer: &str, n: usize, pad: usize) -> String {
    let body = "b".repeat(pad);
    format!(
        r#"{{"type":"message","id":"{writer}-{n}","from":"{writer}","to":"w1","body":"{body}","timestamp":"t"}}"#
    )
}

fn append(store: &LocalStore, writer: &str, count: usize, pad: usize) {
    for n in 0..count {
        let record = record(writer, n, pad);
        store
            .append(&Log::Mailbox(name("w1")), &[record.as_bytes()])
            .unwrap();
        acknowledge(n);
    }
}

/// A log whose files are full after a few lines.
pub(crate) fn rotating(store: LocalStore) -> LocalStore {
    store.rotating(Rotation {
        at: 2_000,
        keep: 10_000,
    })
}

fn event(store: LocalStore, writer: &str, count: usize) {
    let store = rotating(store);
    for n in 0..count {
        let record = record(writer, n, 100);
        store.append(&Log::Events, &[record.as_bytes()]).unwrap();
        acknowledge(n);
    }
}

fn append_until_full(store: &LocalStore, pad: usize) {
    let failure = |n| {
        let record = record("x", n, pad);
        let appended = store.append(&Log::Mailbox(name("w1")), &[record.as_bytes()]);
        appended.err().map(|failure| (n, failure))
    };
    let (many, full) = (0..10_000)
        .find_map(failure)
        .expect("the disk is never full");
    for n in 0..many {
        acknowledge(n);
    }
    assert_only(store, many, pad);
    assert!(matches!(full, StoreFailure::Io { .. }), "{full:?}");
    acknowledge(full.code());
}

/// Checks that the log holds whole records only: those that were acknowledged.
pub(crate) fn assert_only(store: &LocalStore, acknowledged: usize, pad: usize) {
    let page = store.read(&Log::Mailbox(name("w1")), 0, 1 << 24).unwrap();
    assert_eq!(page.partial, 0, "what did not fit was taken back");
    let lines: Vec<&[u8]> = page.lines().map(|line| line.bytes).collect();
    let expected: Vec<String> = (0..acknowledged).map(|n| record("x", n, pad)).collect();
    assert!(expected.iter().map(String::as_bytes).eq(lines));
}

fn count(store: &LocalStore, times: usize, pad: usize) {
    for _ in 0..times {
        let counted = store.update(&(), |state: &mut Option<Counter>| {
            let counter = state.get_or_insert_default();
            counter.count += 1;
            counter.padding = "p".repeat(pad);
            Ok::<_, ()>(counter.count)
        });
        match counted {
            Ok(counted) => acknowledge(counted.unwrap()),
            Err(failure) => return acknowledge(failure.code()),
        }
    }
}

fn claim(store: &LocalStore, worker: &str, tasks: usize) {
    let worker = name(worker);
    for n in 0..tasks {
        let claimed = store.update(&id(&n.to_string()), |task: &mut Option<Task>| {
            let claimant = Claimant {
                name: &worker,
                token: format!("{worker}-{n}"),
                lease_ms: None,
                holding: 0,
                limit: None,
            };
            let now = Timestamp::from_millis(1_000);
            task.as_mut()
                .unwrap()
                .claim(&claimant, &Readiness::Ready, now)
        });
        match claimed.unwrap() {
            Ok(()) => acknowledge(n),
            Err(refused) => assert_eq!(refused.code(), "not_pending"),
        }
    }
}

/// Claims and ends one task after the other, and settles every end but each third.
fn end(store: &LocalStore, tasks: usize) {
    let worker = name("w1");
    let now = || Timestamp::from_millis(1_000);
    for n in 0..tasks {
        let (id, token) = (id(&n.to_string()), format!("w1-{n}"));
        let claimant = Claimant {
            name: &worker,
            token: token.clone(),
            lease_ms: None,
            holding: 0,
            limit: None,
        };
        let claimed = store.update(&id, |task: &mut Option<Task>| {
            let task = task.as_mut().unwrap();
            task.claim(&claimant, &Readiness::Ready, now())
        });
        claimed.unwrap().unwrap();
        let ended = store.update(&id, |task: &mut Option<Task>| {
            let task = task.as_mut().unwrap();
            task.finish(&token, Status::Failed, None, now())
        });
        ended.unwrap().unwrap();
        acknowledge(format_args!("ended {n}"));
        if n % 3 != 2 {
            store.settle(&id).unwrap();
            acknowledge(format_args!("settled {n}"));
        }
    }
}

/// Says how each kind of writing and reading went: a code, or `ok`.
fn try_everything(store: &LocalStore, project: &Project) {
    let say = |what: &str, failure: Option<StoreFailure>| {
        let code = failure.map_or("ok", |failure| failure.code());
        acknowledge(format_args!("{what} {code}"));
    };
    let one = |state: &mut Option<Counter>| {
        state.get_or_insert_default().count += 1;
        Ok::<_, ()>(())
    };
    let log = Log::Mailbox(name("w1"));
    say("append", store.append(&log, &[b"{}"]).err());
    say(
        "append_new",
        store.append(&Log::Mailbox(name("new")), &[b"{}"]).err(),
    );
    say("update", store.update(&(), one).err());
    say("create", project.create_team(&name("other"), &team()).err());
    say("remove", project.remove_team(&name("t")).err());
    say(
        "inbox",
        store.worker(&name("w1")).write("inbox.md", b"x").err(),
    );
    say("read", store.read(&log, 0, 100).err());
    say("view", store.view::<Counter>(&()).err());
    say("teams", project.teams().err());
}
