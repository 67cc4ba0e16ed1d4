//! What was found: times, peaks, and ratios beside their promised limits. As a table for people and one line of JSON.

use crate::Outcome;
use crate::stopwatch::Time;
use serde_json::json;

/// A ratio and the most that it may be.
pub(crate) struct Promise {
    what: String,
    against: String,
    ratio: f64,
    most: f64,
}

impl Promise {
    pub(crate) fn new(what: &str, against: &str, ratio: f64, most: f64) -> Self {
        Self {
            what: what.to_owned(),
            against: against.to_owned(),
            ratio,
            most,
        }
    }

    fn is_kept(&self) -> bool {
        self.ratio <= self.most
    }
}

/// Everything of one run.
#[derive(Default)]
pub(crate) struct Report {
    times: Vec<Time>,
    peaks: Vec<(String, f64)>,
    promises: Vec<Promise>,
}

impl Report {
    pub(crate) fn time(&mut self, time: Time) {
        self.times.push(time);
    }

    /// A peak in KiB.
    pub(crate) fn peak(&mut self, name: String, kib: f64) {
        self.peaks.push((name, kib));
    }

    pub(crate) fn promise(&mut self, promise: Promise) {
        self.promises.push(promise);
    }

    pub(crate) fn median(&self, name: &str) -> Outcome<f64> {
        let time = self.times.iter().find(|time| time.name == name);
        Ok(time.ok_or_else(|| format!("{name} was not timed"))?.median)
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.promises.iter().all(Promise::is_kept)
    }

    #[expect(
        clippy::print_stdout,
        reason = "a benchmark's result is what it prints"
    )]
    pub(crate) fn print(&self) {
        println!(
            "{:<42}{:>9}{:>9}{:>9}",
            "whole process, ms", "median", "10 %", "90 %"
        );
        for time in &self.times {
            println!(
                "{:<42}{:>9.3}{:>9.3}{:>9.3}",
                time.name, time.median, time.low, time.high
            );
        }
        println!("\n{:<42}{:>9}", "peak memory", "KiB");
        for (name, kib) in &self.peaks {
            println!("{name:<42}{kib:>9.0}");
        }
        println!(
            "\n{:<42}{:<32}{:>7}{:>9}",
            "ratio of", "to", "is", "at most"
        );
        for promise in &self.promises {
            let Promise {
                what,
                against,
                ratio,
                most,
            } = promise;
            let broken = if promise.is_kept() { "" } else { "  BROKEN" };
            println!("{what:<42}{against:<32}{ratio:>7.2}{most:>9.1}{broken}");
        }
        println!("\n{}", self.json());
    }

    fn json(&self) -> serde_json::Value {
        let times: serde_json::Map<_, _> = self
            .times
            .iter()
            .map(|time| (time.name.to_owned(), json!(time.median)))
            .collect();
        let peaks: serde_json::Map<_, _> = self
            .peaks
            .iter()
            .map(|(name, kib)| (name.clone(), json!(kib)))
            .collect();
        let promises: Vec<_> = self.promises.iter().map(|promise| {
            let Promise { what, against, ratio, most } = promise;
            json!({"of": what, "to": against, "ratio": ratio, "at_most": most, "kept": promise.is_kept()})
        }).collect();
        json!({"median_ms": times, "peak_kib": peaks, "ratios": promises})
    }
}
