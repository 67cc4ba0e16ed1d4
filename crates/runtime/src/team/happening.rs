//! What is heard on the bus: the spec's messages, every other fact of the team, and what an agent puts out.
//!
//! | event | topic |
//! |---|---|
//! | [`Happening::AgentJoined`] `AgentLeft` `AgentCrashed` `TeamDissolved` | the team's |
//! | [`Happening::TeamBroadcast`] `Discovery` | the team's |
//! | [`Happening::PeerMessage`] | the recipient's |
//! | [`Happening::Fact`]: claims, limits, tasks, receipts, waits | as the fact says |
//! | [`Happening::Output`] | the output of the agent, to which no agent listens |
//! | [`Happening::Said`] | wherever a program publishes it |
//! | [`Happening::Lagged`] | among the events of a listener that was too slow |

use pitcrew_core::Name;
use pitcrew_core::board::Discovery;
use pitcrew_core::event::Fact;
use serde_json::Value;

use super::agent::Output;

/// Something that is heard on a topic.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Happening {
    /// An agent was started: `{:agent_joined, name}`.
    AgentJoined {
        /// The agent.
        name: Name,
    },
    /// An agent finished, or was stopped: `{:agent_left, name}`.
    AgentLeft {
        /// The agent.
        name: Name,
        /// Why, in a few words.
        reason: Option<String>,
    },
    /// An agent ended in any other way: `{:agent_crashed, name, reason}`.
    AgentCrashed {
        /// The agent.
        name: Name,
        /// Why, in a few words.
        reason: String,
    },
    /// Every agent was ended: `{:team_dissolved, team_id}`.
    TeamDissolved {
        /// The team.
        team_id: Name,
    },
    /// A message for one agent: `{:peer_message, from, to, content}`.
    PeerMessage {
        /// The sender: a member or `leader`.
        from: Name,
        /// The recipient.
        to: Name,
        /// The text.
        content: String,
    },
    /// A message to everybody but its sender: `{:team_broadcast, from, content}`.
    TeamBroadcast {
        /// The sender: a member or `leader`.
        from: Name,
        /// The text.
        content: String,
    },
    /// A finding was shared: `{:discovery, from, discovery}`.
    Discovery {
        /// Who found it.
        from: Name,
        /// The finding.
        discovery: Discovery,
    },
    /// Anything else that the team's store says has happened.
    Fact(Fact),
    /// What an agent puts out while it works.
    Output(Output),
    /// What a program published for its own purposes.
    Said(Value),
    /// The listener was too slow: so many events before this one are lost to it.
    Lagged {
        /// How many.
        missed: u64,
    },
}
