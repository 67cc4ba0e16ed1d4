//! Eight processes at a time append to one mailbox, and eight plain programs do the same to one file.

use crate::Outcome;
use crate::programs::{Invocation, Programs};
use crate::report::{Promise, Report};
use crate::scene::Scene;
use crate::stopwatch;
use std::path::Path;

const AT_ONCE: usize = 8;
const EACH: usize = 40;
const ROUNDS: usize = 7;

/// Appends in rounds, in turn; compares the medians.
pub(crate) fn measure(programs: &Programs, folder: &Path, report: &mut Report) -> Outcome<()> {
    let scene = Scene::new(programs, folder)?;
    let send = scene.command("a", ["send", "b", "how far are you?"]);
    send.answer()?;
    let line = std::fs::read_to_string(scene.mailbox("b"))?;
    let plain = Invocation::new(&programs.append)
        .arg(folder.join("plain.jsonl"))
        .arg(line.trim_end());

    let before = scene.lines("b")?;
    let (mut sends, mut plains) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plains.push(together(&plain)?);
        sends.push(together(&send)?);
    }
    let (arrived, expected) = (scene.lines("b")? - before, ROUNDS * AT_ONCE * EACH);
    if arrived != expected {
        return Err(format!("{arrived} of {expected} messages arrived").into());
    }
    let (what, against) = ("8 senders, one mailbox", "8 plain appenders, one file");
    report.time(stopwatch::summary(what, sends));
    report.time(stopwatch::summary(against, plains));
    report.promise(Promise::new(
        what,
        against,
        report.median(what)? / report.median(against)?,
        2.0,
    ));
    Ok(())
}

/// The milliseconds per append of one round.
#[expect(clippy::cast_precision_loss, reason = "a few hundred appends")]
fn together(invocation: &Invocation) -> Outcome<f64> {
    let one = || {
        (0..EACH).all(|_| {
            invocation
                .command()
                .status()
                .is_ok_and(|status| status.success())
        })
    };
    let began = stopwatch::now();
    let all_well = std::thread::scope(|scope| {
        let appenders: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(one)).collect();
        appenders
            .into_iter()
            .all(|appender| appender.join().unwrap_or(false))
    });
    let took = began.elapsed();
    if !all_well {
        return Err(format!("{} failed while {AT_ONCE} ran at once", invocation.line()).into());
    }
    Ok(took.as_secs_f64() * 1e3 / (AT_ONCE * EACH) as f64)
}
