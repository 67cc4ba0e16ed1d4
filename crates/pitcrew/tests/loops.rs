//! Loop modes: the reference's words and JSON, and what many processes do to them at once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

#[path = "loops/answers.rs"]
mod answers;
#[path = "loops/races.rs"]
mod races;
