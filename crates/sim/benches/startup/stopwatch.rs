//! Times whole processes in turn: every round runs each subject once, in another order, so that a slow second of the
//! machine falls on all of them.

use crate::Outcome;
use crate::programs::Invocation;
use std::time::{Duration, Instant};

/// One thing to time.
pub(crate) struct Subject<'a> {
    name: &'static str,
    invocation: Invocation,
    prepare: Box<dyn Fn() -> Outcome<()> + 'a>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(name: &'static str, invocation: Invocation) -> Self {
        Self {
            name,
            invocation,
            prepare: Box::new(|| Ok(())),
        }
    }

    /// Runs `prepare` before each run, outside its time.
    pub(crate) fn prepared(mut self, prepare: impl Fn() -> Outcome<()> + 'a) -> Self {
        self.prepare = Box::new(prepare);
        self
    }

    fn run(&self) -> Outcome<Duration> {
        (self.prepare)()?;
        let mut command = self.invocation.command();
        let began = now();
        let status = command.status()?;
        let took = began.elapsed();
        if !status.success() {
            // Once more, for its words.
            return Err(self
                .invocation
                .answer()
                .err()
                .unwrap_or_else(|| format!("{}: {status}", self.name).into()));
        }
        Ok(took)
    }
}

/// What one subject took, in milliseconds: the median, and the tenth and the ninetieth percentile.
pub(crate) struct Time {
    pub(crate) name: &'static str,
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Runs every subject `runs` times, after one run that warms up.
pub(crate) fn alternate(subjects: &[Subject<'_>], runs: usize) -> Outcome<Vec<Time>> {
    let mut times = vec![Vec::with_capacity(runs); subjects.len()];
    for subject in subjects {
        subject.run()?;
    }
    for round in 0..runs.max(1) {
        for turn in 0..subjects.len() {
            let at = (round + turn) % subjects.len();
            times[at].push(subjects[at].run()?.as_secs_f64() * 1e3);
        }
    }
    Ok(subjects
        .iter()
        .zip(times)
        .map(|(subject, times)| summary(subject.name, times))
        .collect())
}

/// Sums up what was measured of one thing, at least once.
pub(crate) fn summary(name: &'static str, mut times: Vec<f64>) -> Time {
    times.sort_by(f64::total_cmp);
    let at = |tenths: usize| times[(times.len() - 1) * tenths / 10];
    Time {
        name,
        median: at(5),
        low: at(1),
        high: at(9),
    }
}

/// The start of a span.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
