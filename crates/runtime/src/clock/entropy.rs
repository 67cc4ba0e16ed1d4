//! Chance as a value: ids, tokens and jitter are drawn through [`Entropy`], so that tests are repeatable.
//!
//! [`SystemEntropy`] asks the operating system and can fail; a failure is returned, never replaced by something
//! guessable. [`SeededEntropy`] gives the same bytes for the same seed and is for tests and simulations only:
//! what it draws is no secret.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The operating system had no random bytes to give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes from the operating system: {reason}")]
pub struct EntropyError {
    /// What the system said.
    pub reason: String,
}

/// A source of random bytes.
pub trait Entropy: Send + Sync + fmt::Debug {
    /// Fills the whole buffer.
    ///
    /// # Errors
    /// When the source has nothing to give; the buffer's content is then unspecified.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError>;

    /// A fresh UUID of version 4, in its hyphenated lower-case form.
    ///
    /// # Errors
    /// As [`fill`](Entropy::fill).
    fn id(&self) -> Result<String, EntropyError> {
        let mut bytes = [0; 16];
        self.fill(&mut bytes)?;
        Ok(uuid::Builder::from_random_bytes(bytes)
            .into_uuid()
            .to_string())
    }

    /// A number from 0 to 1000, each as likely as the other: the jitter that back-off takes.
    ///
    /// # Errors
    /// As [`fill`](Entropy::fill).
    fn permille(&self) -> Result<u16, EntropyError> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        // The bias of the remainder is 1001 / 2^64.
        Ok((u64::from_le_bytes(bytes) % 1_001) as u16)
    }
}

/// The operating system's generator: fit for tokens and ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(buffer).map_err(|error| EntropyError {
            reason: error.to_string(),
        })
    }
}

/// A repeatable generator (SplitMix64). Its output is predictable: never use it for a token.
#[derive(Debug)]
pub struct SeededEntropy {
    state: AtomicU64,
}

impl SeededEntropy {
    /// The same seed gives the same bytes.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            state: AtomicU64::new(seed),
        }
    }

    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut mixed = self
            .state
            .fetch_add(STEP, Ordering::Relaxed)
            .wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_ids_and_another_seed_others() {
        let ids = |seed| {
            let entropy = SeededEntropy::new(seed);
            [entropy.id().unwrap(), entropy.id().unwrap()]
        };
        assert_eq!(ids(7), ids(7));
        assert_ne!(ids(7), ids(8));
        assert_ne!(ids(7)[0], ids(7)[1]);
    }

    #[test]
    fn an_id_is_a_version_4_uuid() {
        for entropy in [
            &SystemEntropy as &dyn Entropy,
            &SeededEntropy::new(1) as &dyn Entropy,
        ] {
            let id = uuid::Uuid::parse_str(&entropy.id().unwrap()).unwrap();
            assert_eq!(id.get_version_num(), 4);
        }
    }

    #[test]
    fn jitter_stays_within_its_thousandths() {
        let entropy = SeededEntropy::new(3);
        let drawn: Vec<u16> = (0..2_000).map(|_| entropy.permille().unwrap()).collect();
        assert!(drawn.iter().all(|jitter| *jitter <= 1_000));
        assert!(drawn.iter().any(|jitter| *jitter < 100));
        assert!(drawn.iter().any(|jitter| *jitter > 900));
    }
}
