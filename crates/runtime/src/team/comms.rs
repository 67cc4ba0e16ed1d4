//! Comms: the team's topics, and who says and hears what on them.
//!
//! | topic | built by | carries |
//! |---|---|---|
//! | `nous:team:<id>` | [`Comms::team_topic`] | broadcasts, findings, membership |
//! | `nous:team:<id>:context` | [`Comms::context_topic`] | changes of the shared state, such as claims |
//! | `nous:team:<id>:agent:<name>` | [`Comms::agent_topic`] | messages for one agent |
//! | `nous:team:<id>:agent:<name>:output` | [`Comms::output_topic`] | what that agent puts out; no agent listens to it |
//!
//! A message, a broadcast or a finding that is sent here goes through the store: it is in the next model call's input of
//! whom it is for, whether that agent listens at the moment or not, and on the topic exactly once. Anything else is
//! heard by whoever listens now and by nobody later.

use std::sync::Arc;

use pitcrew_core::identity::Speaker;
use pitcrew_core::mailbox::Draft;
use pitcrew_core::{Name, Refusal};

use super::bus::{Bus, Listening};
use super::error::TeamError;
use super::happening::Happening;
use super::home::Home;
use super::publisher::Publisher;
use crate::desk::Finding;

/// The topics of one team. A clone is the same.
#[derive(Clone)]
pub struct Comms {
    home: Home,
    publisher: Arc<Publisher>,
}

impl Comms {
    pub(crate) fn new(home: Home, publisher: Arc<Publisher>) -> Self {
        Self { home, publisher }
    }

    /// The bus behind the topics.
    #[must_use]
    pub fn bus(&self) -> &Bus {
        self.publisher.bus()
    }

    /// `nous:team:<id>`.
    #[must_use]
    pub fn team_topic(team_id: &str) -> String {
        format!("nous:team:{team_id}")
    }

    /// `nous:team:<id>:context`.
    #[must_use]
    pub fn context_topic(team_id: &str) -> String {
        format!("nous:team:{team_id}:context")
    }

    /// `nous:team:<id>:agent:<name>`.
    #[must_use]
    pub fn agent_topic(team_id: &str, name: &str) -> String {
        format!("nous:team:{team_id}:agent:{name}")
    }

    /// `nous:team:<id>:agent:<name>:output`.
    #[must_use]
    pub fn output_topic(team_id: &str, name: &str) -> String {
        format!("nous:team:{team_id}:agent:{name}:output")
    }

    /// Listens to the team's topic from now on.
    ///
    /// # Errors
    /// When the team's events cannot be read.
    pub fn subscribe_team(&self) -> Result<Listening, TeamError> {
        self.listen(&Self::team_topic(self.home.team().as_str()))
    }

    /// Listens to the context's topic from now on.
    ///
    /// # Errors
    /// When the team's events cannot be read.
    pub fn subscribe_context(&self) -> Result<Listening, TeamError> {
        self.listen(&Self::context_topic(self.home.team().as_str()))
    }

    /// Listens to the topic of one agent, who need not be there yet, from now on.
    ///
    /// # Errors
    /// When the team's events cannot be read.
    pub fn subscribe_agent(&self, name: &str) -> Result<Listening, TeamError> {
        self.listen(&Self::agent_topic(self.home.team().as_str(), name))
    }

    /// Listens to what one agent puts out from now on: text as it is written, tool calls, how it is.
    #[must_use]
    pub fn subscribe_output(&self, name: &str) -> Listening {
        self.bus()
            .subscribe(&Self::output_topic(self.home.team().as_str(), name))
    }

    fn listen(&self, topic: &str) -> Result<Listening, TeamError> {
        let listening = self.bus().subscribe(topic);
        self.publisher.follow()?;
        Ok(listening)
    }

    /// Publishes to the whole team. A broadcast and a finding are what they are: the one is in everybody's mailbox
    /// before this answers, the other on the board.
    ///
    /// # Errors
    /// `unknown_sender` when the sender is neither a member nor `leader`; what a message or a finding can be refused
    /// for.
    pub async fn broadcast_team(&self, happening: Happening) -> Result<(), TeamError> {
        match happening {
            Happening::TeamBroadcast { from, content } => {
                let sent = self.home.ask(move |desk| {
                    let team = desk.roster()?;
                    let name = team.sender(from.as_str())?;
                    let verified = false;
                    let speaker = Speaker { name, verified };
                    desk.broadcast_as(&team, &speaker, &Draft::text(content.as_str()))
                });
                for (_, outcome) in sent.await?.outcomes {
                    outcome?;
                }
                Ok(())
            }
            Happening::Discovery { from, discovery } => {
                let finding = Finding {
                    topic: discovery.topic,
                    content: discovery.content,
                    paths: discovery.paths,
                    ttl_ms: discovery.ttl_ms,
                };
                let shared = self.home.ask(move |desk| {
                    let from = desk.roster()?.sender(from.as_str())?;
                    desk.share_as(&from, &finding)
                });
                shared.await?;
                Ok(())
            }
            Happening::PeerMessage { .. } => Err(not_for("the team's topic")),
            other => {
                let topic = Self::team_topic(self.home.team().as_str());
                self.bus().publish(&topic, other);
                Ok(())
            }
        }
    }

    /// Publishes to the topic of one agent. A message is in its mailbox before this answers.
    ///
    /// # Errors
    /// `unknown_recipient` and `unknown_sender` with the names that there are; what a message can be refused for;
    /// `invalid_input` for a message that says to be for another.
    pub async fn send_to_agent(&self, name: &str, happening: Happening) -> Result<(), TeamError> {
        match happening {
            Happening::PeerMessage { from, to, content } => {
                if to.as_str() != name {
                    return Err(not_for("the topic of another agent"));
                }
                let sent = self.home.ask(move |desk| {
                    let team = desk.roster()?;
                    let name = team.sender(from.as_str())?;
                    let verified = false;
                    let speaker = Speaker { name, verified };
                    desk.send_as(&team, &speaker, to.as_str(), &Draft::text(content.as_str()))
                });
                sent.await?;
                Ok(())
            }
            Happening::TeamBroadcast { .. } | Happening::Discovery { .. } => {
                Err(not_for("the topic of one agent"))
            }
            other => {
                let topic = Self::agent_topic(self.home.team().as_str(), name);
                self.bus().publish(&topic, other);
                Ok(())
            }
        }
    }

    /// Publishes to the context's topic; answers how many listened.
    pub fn publish_context(&self, happening: Happening) -> usize {
        let topic = Self::context_topic(self.home.team().as_str());
        self.bus().publish(&topic, happening)
    }

    pub(crate) fn publish_output(&self, name: &Name, output: impl FnOnce() -> super::Output) {
        let topic = Self::output_topic(self.home.team().as_str(), name.as_str());
        if self.bus().is_heard(&topic) {
            self.bus().publish(&topic, Happening::Output(output()));
        }
    }
}

fn not_for(topic: &str) -> TeamError {
    Refusal::input("event", &format!("does not belong on {topic}")).into()
}
