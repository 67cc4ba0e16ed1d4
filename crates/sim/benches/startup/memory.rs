//! The peak of resident memory of `inbox`, with ten unread messages in mailboxes of any length: with what the binary keeps
//! beside a mailbox, and without it, as in a folder that another tool wrote.

use crate::Outcome;
use crate::programs::Programs;
use crate::report::{Promise, Report};
use crate::scene::Scene;
use std::path::Path;

const LENGTHS: [(&str, usize); 3] = [("10", 10), ("10,000", 10_000), ("1,000,000", 1_000_000)];
/// Allocators and page faults vary by this much; a mailbox of a million messages is some 290 MB.
const INDEPENDENT: f64 = 1.2;

/// Peaks for each length, against the shortest.
pub(crate) fn measure(programs: &Programs, folder: &Path, report: &mut Report) -> Outcome<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let mut first = None;
    for (name, length) in LENGTHS {
        let scene = Scene::new(programs, &folder.join(length.to_string()))?;
        scene.write_mailbox("b", length, 10)?;
        let found = peak(programs, &scene)?;
        scene.settle("b", 10)?;
        let settled = peak(programs, &scene)?;
        report.peak(format!("inbox of {name}, as found"), found);
        report.peak(format!("inbox of {name}"), settled);

        let (first_found, first_settled) = *first.get_or_insert((found, settled));
        if length > LENGTHS[0].1 {
            let against = format!("inbox of {}, peak memory", LENGTHS[0].0);
            let promise = |what: String, ratio| Promise::new(&what, &against, ratio, INDEPENDENT);
            report.promise(promise(
                format!("inbox of {name}, peak memory, as found"),
                found / first_found,
            ));
            report.promise(promise(
                format!("inbox of {name}, peak memory"),
                settled / first_settled,
            ));
        }
        std::fs::remove_dir_all(folder.join(length.to_string()))?;
    }
    Ok(())
}

/// The median of five peaks in KiB.
fn peak(programs: &Programs, scene: &Scene) -> Outcome<f64> {
    let inbox = scene.command("b", ["inbox"]).under(&programs.peak);
    let mut peaks = Vec::new();
    for _ in 0..5 {
        let answer = String::from_utf8(inbox.answer()?.stdout)?;
        match answer.trim().split_once(' ') {
            Some(("0", kib)) => peaks.push(kib.parse::<f64>()?),
            _ => return Err(format!("{} ended with wait status {answer}", inbox.line()).into()),
        }
    }
    peaks.sort_by(f64::total_cmp);
    Ok(peaks[2])
}
