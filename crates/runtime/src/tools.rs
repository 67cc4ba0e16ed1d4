//! The team's tools: what a model that is a member may do, each defined once for every face.
//!
//! A tool is a name, a description, parameters and what runs ([`Tool`]); [`TOOLS`] is the table of them. A model inside
//! a program, an MCP server and the documentation all read that table, so they cannot differ.
//!
//! | file | tools |
//! |---|---|
//! | `tools/messages.rs` | `peer_message` `broadcast_message` `list_team` |
//! | `tools/inbox.rs` | `read_messages` `ack_message` |
//! | `tools/findings.rs` | `share_discovery` `read_discoveries` |
//! | `tools/lines.rs` | `claim_region` `release_region` `list_claims` |
//! | `tools/work.rs` | `claim_task` `complete_task` `fail_task` `list_tasks` |
//! | `tools/spending.rs` | `limit_status` |
//!
//! Always holds: who calls is looked up anew for each call, so a member that was started again, or left, is refused at
//! once; its role is asked when tools are listed and again when one is called; arguments that make no sense are an
//! answer that names them, never a panic. What others wrote stands inside marks that it cannot close. Waiting is not
//! here: a call that would wait says for what ([`Step`]), and whoever called sits until that may have come.

use std::sync::Arc;

use pitcrew_core::Name;
use pitcrew_core::identity::Speaker;
use pitcrew_core::role::Role;
use pitcrew_core::roster::Team;
use pitcrew_store::Store;
use serde_json::{Map, Value};

use crate::clock::{Clock, Entropy};
use crate::desk::{Credentials, Desk, NotDone};

mod answer;
mod arguments;
mod changes;
mod definition;
mod files;
mod findings;
mod inbox;
mod lines;
mod messages;
mod refused;
mod spending;
mod table;
mod views;
mod waiting;
mod work;

pub use answer::{Answer, Verdict, enclosed};
pub use changes::{Changes, Listener};
pub use definition::{Effect, Kind, Need, Param, Tool};
pub use files::Files;
pub use table::{TOOLS, markdown};
pub use views::View;
pub use waiting::{Step, Wait};

use arguments::Args;

/// The tools of one member of one team.
#[derive(Clone)]
pub struct TeamTools {
    team: Name,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    who: Credentials,
    files: Files,
    role: Option<Arc<Role>>,
}

/// Whom the caller is, looked up for one call.
struct Caller {
    team: Team,
    speaker: Speaker,
    role: Role,
}

/// One call, as its handler sees it.
struct Call<'a> {
    desk: Desk<'a>,
    team: &'a Team,
    me: &'a Speaker,
    who: &'a Credentials,
    args: &'a Args,
    files: &'a Files,
}

impl Call<'_> {
    fn name(&self) -> &Name {
        &self.me.name
    }
}

impl TeamTools {
    /// The tools of the member that `who` proves or names, in `team`, whose state is in `store`. Whether there is such
    /// a member shows when the tools are listed or one is called.
    #[must_use]
    pub fn for_member(
        team: Name,
        who: Credentials,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        files: Files,
    ) -> Self {
        Self {
            team,
            store,
            clock,
            entropy,
            who,
            files,
            role: None,
        }
    }

    /// The same tools in this role, whatever the roster says: a program gives roles of its own, of which the roster
    /// knows the name alone.
    #[must_use]
    pub fn in_role(self, role: Arc<Role>) -> Self {
        Self {
            role: Some(role),
            ..self
        }
    }

    /// The desk that the tools ask.
    #[must_use]
    pub fn desk(&self) -> Desk<'_> {
        Desk::new(&self.team, &*self.store, &*self.clock, &*self.entropy)
    }

    /// The store behind the desk.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Who the tools speak as now.
    ///
    /// # Errors
    /// As [`Desk::speaker`] says.
    pub fn speaker(&self) -> Result<Speaker, NotDone> {
        Ok(self.caller()?.speaker)
    }

    /// The tools that the member's role allows, in the order of the table.
    ///
    /// # Errors
    /// As [`Desk::speaker`] says: somebody who is no member is offered nothing.
    pub fn list(&self) -> Result<Vec<&'static Tool>, NotDone> {
        Ok(self.caller()?.role.filter(TOOLS, |tool| tool.name))
    }

    /// Calls a tool and answers at once: where it would wait, the answer says that there is nothing yet.
    #[must_use]
    pub fn call(&self, name: &str, args: &Map<String, Value>) -> Answer {
        match self.begin(name, args) {
            Step::Answered(answer) => answer,
            Step::Waits(wait) => wait.over(),
        }
    }

    /// Calls a tool. Arguments that make no sense, a role that forbids it, a refusal and a failure are all answers.
    #[must_use]
    pub fn begin(&self, name: &str, args: &Map<String, Value>) -> Step {
        self.run(name, args)
            .unwrap_or_else(|not_done| Step::Answered(refused::answer(&not_done)))
    }

    fn run(&self, name: &str, args: &Map<String, Value>) -> Result<Step, NotDone> {
        let caller = self.caller()?;
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
            let offered = caller.role.filter(TOOLS, |tool| tool.name);
            return Ok(Step::Answered(refused::unknown_tool(name, &offered)));
        };
        caller.role.check(tool.name)?;
        let args = match Args::read(tool, args) {
            Ok(args) => args,
            Err(faults) => return Ok(Step::Answered(faults)),
        };
        (tool.run)(&Call {
            desk: self.desk(),
            team: &caller.team,
            me: &caller.speaker,
            who: &self.who,
            args: &args,
            files: &self.files,
        })
    }

    fn caller(&self) -> Result<Caller, NotDone> {
        let desk = self.desk();
        let team = desk.roster()?;
        let speaker = desk.speaker(&team, &self.who)?;
        let role = match &self.role {
            Some(role) => Role::clone(role),
            None => role_of(&team, &speaker.name),
        };
        Ok(Caller {
            team,
            speaker,
            role,
        })
    }
}

/// The role of `name`: its own, else the team's. A role that is not built in says nothing about tools; the leader may
/// use all.
fn role_of(team: &Team, name: &Name) -> Role {
    let own = team.member(name.as_str()).map(|member| member.role.trim());
    let word = match own {
        Some("") => team.role.trim(),
        Some(own) => own,
        None => "lead",
    };
    Role::built_in(word).unwrap_or_else(|| Role::new(word, ""))
}

#[cfg(test)]
mod tests;
