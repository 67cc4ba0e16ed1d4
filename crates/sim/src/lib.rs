//! Equipment for tests and for trying things out, never part of the product: the fake agent.
//!
//! The benchmarks and the tests that need several crates live beside it.

pub mod fake;
