//! The sliding window: what was asked for within the last 60 seconds, as a ring of short buckets.
//!
//! An entry made at `t` counts until `t` + 60 s. Entries of one half second share a bucket, and a bucket counts until
//! its *newest* entry leaves. So the window is never laxer than a log of every entry, at most half a second stricter,
//! and has at most 121 buckets however many entries there are.
//!
//! Always holds: buckets are in order, no two of them of one half second; time that is passed in never goes back.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How long an entry counts, in milliseconds.
pub const WINDOW_MS: i64 = 60_000;

/// How much time shares a bucket, in milliseconds.
pub const BUCKET_MS: i64 = 500;

/// Newest entry in milliseconds since the epoch, tokens, requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Bucket(i64, u64, u64);

impl Bucket {
    fn slot(self) -> i64 {
        slot(self.0)
    }

    fn is_gone(self, now: Timestamp) -> bool {
        now.as_millis().saturating_sub(self.0) >= WINDOW_MS
    }
}

fn slot(ms: i64) -> i64 {
    ms.div_euclid(BUCKET_MS)
}

/// What a window holds, or what is to be held by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Load {
    /// Tokens.
    pub tokens: u64,
    /// Requests.
    pub requests: u64,
}

/// The window. Written as a list of `[newest entry in ms, tokens, requests]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Bucket>", into = "Vec<Bucket>")]
pub(super) struct Window {
    buckets: VecDeque<Bucket>,
    /// The sum of the buckets, so that asking costs nothing.
    sum: Load,
}

impl From<Vec<Bucket>> for Window {
    fn from(mut saved: Vec<Bucket>) -> Self {
        saved.sort_by_key(|bucket| bucket.0);
        let mut window = Self::default();
        for Bucket(at, tokens, requests) in saved {
            window.put(at, Load { tokens, requests });
        }
        window
    }
}

impl From<Window> for Vec<Bucket> {
    fn from(window: Window) -> Self {
        window.buckets.into()
    }
}

impl Window {
    fn put(&mut self, at: i64, load: Load) {
        self.sum.tokens = self.sum.tokens.saturating_add(load.tokens);
        self.sum.requests = self.sum.requests.saturating_add(load.requests);
        match self.buckets.back_mut() {
            Some(last) if last.slot() >= slot(at) => {
                last.0 = last.0.max(at);
                last.1 = last.1.saturating_add(load.tokens);
                last.2 = last.2.saturating_add(load.requests);
            }
            _ => self
                .buckets
                .push_back(Bucket(at, load.tokens, load.requests)),
        }
    }

    /// What counts at `now`.
    pub(super) fn load(&self, now: Timestamp) -> Load {
        let gone = self.buckets.iter().take_while(|bucket| bucket.is_gone(now));
        gone.fold(self.sum, |load, bucket| Load {
            tokens: load.tokens.saturating_sub(bucket.1),
            requests: load.requests.saturating_sub(bucket.2),
        })
    }

    /// Drops what counts no longer.
    pub(super) fn prune(&mut self, now: Timestamp) {
        while let Some(bucket) = self.buckets.front().filter(|bucket| bucket.is_gone(now)) {
            self.sum.tokens = self.sum.tokens.saturating_sub(bucket.1);
            self.sum.requests = self.sum.requests.saturating_sub(bucket.2);
            self.buckets.pop_front();
        }
    }

    /// Adds an entry made now.
    pub(super) fn add(&mut self, now: Timestamp, load: Load) {
        self.prune(now);
        self.put(now.as_millis(), load);
    }

    /// Replaces what the entry made at `at`, which still counts, is `before`, by `after`.
    pub(super) fn correct(&mut self, at: Timestamp, before: Load, after: Load) {
        let found = self
            .buckets
            .binary_search_by_key(&slot(at.as_millis()), |bucket| bucket.slot());
        let Some(bucket) = found.ok().and_then(|index| self.buckets.get_mut(index)) else {
            return;
        };
        let apply = |sum: u64, before: u64, after: u64| match after.checked_sub(before) {
            Some(more) => sum.saturating_add(more),
            None => sum.saturating_sub(before - after),
        };
        bucket.1 = apply(bucket.1, before.tokens, after.tokens);
        bucket.2 = apply(bucket.2, before.requests, after.requests);
        self.sum.tokens = apply(self.sum.tokens, before.tokens, after.tokens);
        self.sum.requests = apply(self.sum.requests, before.requests, after.requests);
    }

    /// When the window will hold at most `most`, measured by `part`, if nothing is added. `None` for now.
    pub(super) fn falls_to(
        &self,
        now: Timestamp,
        most: u64,
        part: impl Fn(Load) -> u64,
    ) -> Option<Timestamp> {
        let mut left = part(self.sum);
        let mut at = None;
        for Bucket(newest, tokens, requests) in &self.buckets {
            if left <= most {
                break;
            }
            left = left.saturating_sub(part(Load {
                tokens: *tokens,
                requests: *requests,
            }));
            at = Some(Timestamp::from_millis(*newest).plus_millis(WINDOW_MS));
        }
        at.filter(|at| *at > now)
    }

    /// Moves everything that counts at `before` to `now`, after the clock stepped back.
    pub(super) fn restart(&mut self, before: Timestamp, now: Timestamp) {
        let load = self.load(before);
        *self = Self::default();
        if load != Load::default() {
            self.put(now.as_millis(), load);
        }
    }

    #[cfg(test)]
    pub(super) fn buckets(&self) -> usize {
        self.buckets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn tokens(tokens: u64) -> Load {
        Load {
            tokens,
            requests: 1,
        }
    }

    #[test]
    fn an_entry_counts_for_exactly_sixty_seconds() {
        let mut window = Window::default();
        window.add(at(250), tokens(7));
        assert_eq!(window.load(at(60_249)), tokens(7));
        assert_eq!(window.load(at(60_250)), Load::default());
        window.prune(at(60_250));
        assert_eq!(window, Window::default());
    }

    #[test]
    fn a_bucket_counts_until_its_newest_entry_leaves() {
        let mut window = Window::default();
        window.add(at(0), tokens(1));
        window.add(at(499), tokens(1));
        window.add(at(500), tokens(1));
        assert_eq!(window.buckets(), 2);
        assert_eq!(window.load(at(60_498)).tokens, 3);
        assert_eq!(window.load(at(60_499)).tokens, 1);
        assert_eq!(window.load(at(60_500)).tokens, 0);
    }

    #[test]
    fn it_says_when_it_falls() {
        let mut window = Window::default();
        window.add(at(0), tokens(5));
        window.add(at(1_000), tokens(3));
        let falls = |most| window.falls_to(at(2_000), most, |load| load.tokens);
        assert_eq!(falls(8), None);
        assert_eq!(falls(3), Some(at(60_000)));
        assert_eq!(falls(2), Some(at(61_000)));
    }

    #[test]
    fn a_list_out_of_order_is_put_in_order() {
        let read = |json: &str| serde_json::from_str::<Window>(json).unwrap();
        assert_eq!(
            read("[[900,2,1],[100,1,1],[300,1,1]]"),
            read("[[300,2,2],[900,2,1]]")
        );
        let absurd = read("[[0,18446744073709551615,1],[9999,18446744073709551615,1]]");
        assert_eq!(absurd.load(at(60_000)).tokens, 0);
    }

    proptest! {
        #[test]
        fn it_is_never_laxer_than_a_log_and_at_most_a_bucket_stricter(
            steps in proptest::collection::vec((0i64..4_000, 0u64..50), 1..120),
        ) {
            let (mut window, mut log, mut now) = (Window::default(), Vec::new(), 0);
            for (wait, amount) in steps {
                now += wait;
                window.add(at(now), tokens(amount));
                log.push((now, amount));
                let within = |span: i64| -> u64 {
                    log.iter().filter(|(t, _)| now - t < span).map(|(_, n)| n).sum()
                };
                let held = window.load(at(now)).tokens;
                prop_assert!(held >= within(WINDOW_MS));
                prop_assert!(held <= within(WINDOW_MS + BUCKET_MS));
                prop_assert!(window.buckets() <= 121);
                let json = serde_json::to_string(&window).unwrap();
                prop_assert_eq!(&serde_json::from_str::<Window>(&json).unwrap(), &window);
            }
        }
    }
}
