//! A scripted terminal program that stands in for an agent CLI: it draws like one, takes keys like one, and has a switch for
//! each way in which real ones are difficult.
//!
//! | part | what |
//! |---|---|
//! | `fake/settings.rs` | the switches |
//! | `fake/skin.rs` | how each profile's program looks |
//! | `fake/input.rs` | bytes of a terminal into keys and pastes |
//! | `fake/agent.rs` | what the program does with them |
//! | `fake/picture.rs` | one frame |
//! | `fake/stage.rs` | the terminal, the orders of a test, and the log |
//!
//! It writes down every byte that reaches it and everything that it shows, so a test can say what arrived where. A frame counts
//! as shown when the terminal has taken it.

pub mod agent;
pub mod input;
pub mod picture;
pub mod settings;
pub mod skin;
pub mod stage;
