//! (see below)
pub mod clock;
pub mod process;
