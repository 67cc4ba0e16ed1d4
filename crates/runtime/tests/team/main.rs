//! The team inside a program, from outside: the spec's tables line by line, the faults of the field as the model sees
//! them, and what holds at any moment at which an agent can be stopped.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod faults_f;
mod faults_g;
mod lives;
mod spec;
mod spec_comms;
mod spec_limits;
mod spec_state;
mod stage;
mod stops;
