//! A few earlier lines of the log, by which the part of it that is still there is found again after it was cut.
//!
//! At most [`LENGTH`] lines are kept, at distances that double when there are too many, so that they are spread over
//! the whole log however long it grows. The first line is always among them.

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use super::Mark;

/// The most lines that are kept.
pub(super) const LENGTH: usize = 16;

/// The distance that a trail starts with, in bytes.
const FIRST_STRIDE: u64 = 512;

/// The lines, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trail {
    stride: u64,
    marks: Vec<Mark>,
}

impl Default for Trail {
    fn default() -> Self {
        Self {
            stride: FIRST_STRIDE,
            marks: Vec::new(),
        }
    }
}

impl Trail {
    /// Takes note of a line, if it is far enough from the last one.
    pub(super) fn pass(&mut self, line: &Mark) {
        let next = self
            .marks
            .last()
            .map_or(0, |last| last.at.saturating_add(self.stride));
        if line.at < next {
            return;
        }
        if self.marks.len() >= LENGTH {
            let mut place = 0;
            self.marks.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride = self.stride.saturating_mul(2);
        }
        self.marks.push(line.clone());
    }

    /// The lines that are kept, newest first.
    pub(super) fn back(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter().rev()
    }

    /// Forgets the lines behind `at`.
    pub(super) fn cut(&mut self, at: u64) {
        self.marks.retain(|mark| mark.at <= at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::MessageKey;

    #[test]
    fn a_trail_is_short_starts_at_the_first_line_and_reaches_over_the_whole_log() {
        let digest = MessageKey::of("");
        let mut trail = Trail::default();
        for at in (0..1_000_000).step_by(100) {
            trail.pass(&Mark { at, digest });
            assert!(trail.marks.len() <= LENGTH);
        }
        let last = trail.marks.last().map_or(0, |mark| mark.at);
        assert_eq!(trail.marks[0].at, 0);
        assert!(last > 800_000 && trail.marks.len() > LENGTH / 2 - 1);
        trail.cut(500_000);
        assert!(trail.back().all(|mark| mark.at <= 500_000));
    }
}
