//! The least that a Rust program can do.

fn main() {}
