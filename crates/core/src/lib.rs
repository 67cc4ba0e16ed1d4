//! The rules of a pitcrew team, and nothing else.
//!
//! A team is a value. A request is a question to that value. What happened is a list of facts. This crate
//! decides; it never opens a file, reads a clock or draws a random number. Time comes in as a [`Timestamp`],
//! ids come in as strings, and `#![no_std]` lets the compiler prove it.
//!
//! # Glossary: one word per idea
//!
//! | word | meaning | home |
//! |---|---|---|
//! | team | a named group with one state folder | [`roster::Team`] |
//! | member | one agent of a team, with a seat, a role and an incarnation | [`roster::Member`] |
//! | leader | the reserved mailbox name of whoever started the team; not a member | [`name::LEADER`] |
//! | message | `{id, from, to, body, timestamp}` in the recipient's mailbox | [`mailbox::Message`] |
//! | receipt | a fact about one message: delivered, dead-lettered, … | [`mailbox::Receipt`] |
//! | unread index | which messages of a mailbox are open, so that nobody reads all of it again | [`mailbox::Unread`] |
//! | task | a unit of work with a life cycle and a claim token | [`task::Task`] |
//! | claim token | the fencing token of a task: proves that the caller is its present owner | [`task::Task::claim_token`] |
//! | life | how a member is, since when, and whether its process still runs | [`liveness::Life`] |
//! | restart | whether and when a member that is not running is started again | [`restart::Restart`] |
//! | departure | how the agent of a member in a pane ended | [`departure::Departure`] |
//! | role | prompt, tool filter and iteration limit | [`role::Role`] |
//! | speaker | who a call speaks as, and whether that was proved | [`identity::Speaker`] |
//! | envelope | how a message is shown to a model | [`envelope`] |
//! | screen, state | what a pane shows, and what it is judged to be in | [`screen::judge`] |
//! | signature | how one program's screen looks, as data | [`screen::Signature`] |
//! | submission | one line put into a composer, through gates, and what came of it | [`submit::Submit`] |
//! | nudge | the short line that wakes a pane; never carries a body | [`nudge::Ledger`] |
//! | monitor | what is decided about panes from scan to scan, and why | [`monitor::Monitor`] |
//! | loop mode | while `ralph`, `ultrawork` or `ultraqa` is active, idle panes are prompted | [`loops::Mode`] |
//! | claim | one member's hold on a line range of a file, until a deadline | [`claim::Claim`] |
//! | waiting claim | a claim that stands in line for lines that another holds | [`claim::Waiting`] |
//! | file path | a path inside the project in the one form in which paths are compared | [`claim::FilePath`] |
//! | discovery | a finding shared with the team | [`board::Discovery`] |
//! | board | how much of the discoveries there is, and who was shown what | [`board::Board`] |
//! | limiter | what a team may spend, and how fast | [`limiter::Limiter`] |
//! | reservation | tokens, one request and money set aside before a model call | [`limiter::Reservation`] |
//! | price | what a model charges for its tokens; money is whole micro-dollars | [`price::Price`] |
//! | exchange | messages between members in turn, and requests that wait for an answer | [`exchange::Exchanges`] |
//! | waiting | who waits for whom, since when and why | [`waiting::Waits`] |
//! | event | a fact, published on a topic of its team | [`event::Event`] |
//! | refusal | an expected "no", with a stable code and the facts behind it | [`Refusal`] |
//!
//! Every machine is one file: states, decision functions, tests that name behaviour. A decision either changes
//! its state completely or refuses and leaves it exactly as it was; the store relies on that.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod board;
pub mod claim;
pub mod collate;
pub mod departure;
pub mod envelope;
pub mod event;
pub mod exchange;
pub mod hook;
pub mod identity;
pub mod json;
pub mod limiter;
pub mod liveness;
pub mod loops;
pub mod mailbox;
pub mod mask;
pub mod monitor;
pub mod name;
pub mod nudge;
pub mod price;
pub mod refusal;
pub mod restart;
pub mod role;
pub mod roster;
pub mod screen;
pub mod settings;
pub mod span;
pub mod submit;
pub mod task;
pub mod time;
pub mod visible;
pub mod waiting;

pub use name::{Name, TaskId};
pub use refusal::Refusal;
pub use time::Timestamp;
