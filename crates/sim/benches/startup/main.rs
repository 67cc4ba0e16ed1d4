//! What the binary promises about time and memory, measured as whole processes and printed as ratios of one run.
//!
//! `cargo bench -p pitcrew-sim --bench startup` builds the release binary, sets up teams in a private folder, runs all
//! subjects in turn, and prints medians, ratios with their promised limits, and the same as one line of JSON. It ends with
//! status 1 if a promise is broken.
//!
//! Options after `--`: `--runs N` (301) for the timed rounds, `--pitcrew PATH` to measure another binary.
//!
//! Only ratios of one run mean something: the machine's own noise is in both of their halves.

mod appenders;
mod memory;
mod programs;
mod report;
mod scene;
mod stopwatch;

use programs::{Invocation, Programs};
use report::{Promise, Report};
use scene::Scene;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use stopwatch::Subject;

/// A benchmark has one reader, who wants the whole story of a failure.
type Outcome<T> = Result<T, Box<dyn Error>>;

/// What is wanted on the command line.
struct Options {
    runs: usize,
    pitcrew: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: impl IntoIterator<Item = String>) -> Outcome<Self> {
        let mut options = Self {
            runs: 301,
            pitcrew: None,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} wants a value"));
            match argument.as_str() {
                "--runs" => options.runs = value()?.parse()?,
                "--pitcrew" => options.pitcrew = Some(PathBuf::from(value()?)),
                "--bench" => {}
                _ => return Err(format!("unknown option {argument}").into()),
            }
        }
        Ok(options)
    }
}

fn main() -> Outcome<ExitCode> {
    let options = Options::parse(std::env::args().skip(1))?;
    let folder = tempfile::tempdir()?;
    let programs = Programs::build(folder.path(), options.pitcrew)?;

    let mut report = Report::default();
    times(
        &programs,
        &folder.path().join("times"),
        options.runs,
        &mut report,
    )?;
    appenders::measure(&programs, &folder.path().join("appenders"), &mut report)?;
    memory::measure(&programs, &folder.path().join("memory"), &mut report)?;
    report.print();
    Ok(if report.is_kept() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Short commands against the least a process can cost, and against themselves on a long mailbox.
fn times(
    programs: &Programs,
    folder: &std::path::Path,
    runs: usize,
    report: &mut Report,
) -> Outcome<()> {
    let short = Scene::new(programs, &folder.join("short"))?;
    short.write_mailbox("b", 10, 10)?;
    short.settle("b", 10)?;
    short.write_pending_task()?;
    let long = Scene::new(programs, &folder.join("long"))?;
    long.write_mailbox("b", 100_000, 10)?;
    long.settle("b", 10)?;
    let fresh = Scene::new(programs, &folder.join("fresh"))?;
    let filled = Scene::new(programs, &folder.join("filled"))?;
    filled.write_mailbox("b", 100_000, 0)?;
    filled.settle("b", 0)?;

    let claim = short.command("a", ["task", "claim", "1"]);
    let subjects = vec![
        Subject::new("/bin/true", Invocation::new("/bin/true")),
        Subject::new("empty Rust program", Invocation::new(&programs.empty)),
        Subject::new(
            "--version",
            Invocation::new(&programs.pitcrew).args(["--version"]),
        ),
        Subject::new(
            "send",
            fresh.command("a", ["send", "b", "how far are you?"]),
        ),
        Subject::new(
            "send to 100,000",
            filled.command("a", ["send", "b", "how far are you?"]),
        ),
        Subject::new("inbox, 10 of 10", short.command("b", ["inbox"])),
        Subject::new("inbox, 10 of 100,000", long.command("b", ["inbox"])),
        Subject::new("task claim", claim).prepared(|| short.write_pending_task()),
    ];
    for time in stopwatch::alternate(&subjects, runs)? {
        report.time(time);
    }
    for (what, against, most) in [
        ("--version", "empty Rust program", 1.2),
        ("send", "--version", 2.0),
        ("inbox, 10 of 10", "--version", 2.0),
        ("task claim", "--version", 2.0),
        ("send to 100,000", "send", 1.2),
        ("inbox, 10 of 100,000", "inbox, 10 of 10", 2.0),
    ] {
        let ratio = report.median(what)? / report.median(against)?;
        report.promise(Promise::new(what, against, ratio, most));
    }
    Ok(())
}
