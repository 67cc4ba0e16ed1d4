//! How fast the coordination plane is through the desk and its stores: `cargo bench -p pitcrew-sim --bench plane`, or
//! one part of it with `-- memory` or `-- processes`.
//!
//! | part | what is timed |
//! |---|---|
//! | in memory | `acquire` and `record`, claims, on one core; the columns are what must not matter |
//! | processes | 8 processes, each 1,000 `acquire` and `record` on one folder, beside a bare locked read-change-rename |
//!
//! Each figure in memory is the best of a few rounds. Processes are timed in turn with their baseline, and the median
//! of the rounds counts.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, starts processes, prints, and may fail"
)]

mod memory;
mod processes;

use pitcrew_core::Timestamp;
use pitcrew_core::claim::{Case, FilePath, Lines};
use pitcrew_core::limiter::{Report, ReservationId};
use pitcrew_core::name::Name;
use pitcrew_core::price::Micros;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_runtime::desk::{Admission, Desk, LimitChange, Setting, Spending};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["child", job, n, folder] = words[..] {
        processes::child(job, n, folder.as_ref());
        return;
    }
    if !words.contains(&"processes") {
        memory::run();
    }
    if !words.contains(&"memory") {
        processes::run();
    }
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).expect("a good name")
}

fn file(text: &str) -> FilePath {
    FilePath::canonical(text, "/project", Case::Kept).expect("a good path")
}

fn lines(start: u64, end: u64) -> Lines {
    Lines::new(start, end).expect("a good range")
}

fn team() -> Team {
    Team::new(&name("t"), "", "", "/p", Timestamp::from_millis(0))
}

/// Every limit, none of which is ever reached.
fn limits() -> LimitChange {
    LimitChange {
        budget: Setting::To(Micros::MOST),
        member_budget: Setting::To(Micros::MOST),
        rpm: Setting::To(u64::MAX),
        tpm: Setting::To(u64::MAX),
        ..LimitChange::default()
    }
}

/// One call, from asking to settling.
fn call(desk: &Desk<'_>, member: &Name) {
    let spending = Spending {
        member,
        tokens: 100,
        cost: Some(Micros::new(1_000)),
        task: None,
        model: None,
    };
    let admission = desk.acquire(&spending).expect("admitted");
    let Admission::Reserved { id, .. } = admission else {
        return;
    };
    record(desk, member, id);
}

fn record(desk: &Desk<'_>, member: &Name, id: ReservationId) {
    let report = Report {
        member,
        reservation: Some(id),
        tokens: 80,
        cost: Some(Micros::new(900)),
        task: None,
        model: None,
    };
    desk.record(&report).expect("settled");
}
