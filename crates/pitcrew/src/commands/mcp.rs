//! `mcp`: the team's tools for clients of the Model Context Protocol.

use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::mcp::{Served, serve_all, serve_one};
use crate::ui::Layout;

mod config;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Mcp>(
    "mcp",
    "Serve the team's tools to an agent over MCP, or print how to set that up",
);

/// Serve the team's tools to an agent over MCP, or print how to set that up
///
/// Without options it serves one member on standard input and output: an agent CLI starts it and speaks to it. The
/// member is the one of PITCREW_TOKEN or --as, as with every command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew mcp config claude --member alice
  pitcrew mcp --http --port 7077
Tools, resources and what each answers: docs/mcp.md.")]
pub(crate) struct Mcp {
    /// Serve every member of the team over HTTP on this machine, each by its own token; ends with Ctrl-C
    #[arg(long)]
    http: bool,
    /// With --http: the port; any free one if not given
    #[arg(long, value_name = "PORT", requires = "http")]
    port: Option<u16>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print what an agent CLI's configuration needs to have the team's tools
    Config(config::Config),
}

impl Run for Mcp {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        match self.action {
            Some(Action::Config(_)) if self.http => {
                let words = "either serve over --http or print a config; for a config give --http URL after it";
                return Err(Halt::Usage(words.to_string()));
            }
            Some(Action::Config(config)) => return config.run(context),
            None => {}
        }
        let project = context.project(None)?;
        let team = context.open_team()?;
        team.desk().roster()?;
        let who = context.credentials(&team.name);
        let served = Served::of(&project, team.name.clone(), team.store.clone())?;
        if self.http {
            context.leader_only(&team, "serve the whole team")?;
            let ui = &mut *context.ui;
            serve_all(&served, self.port.unwrap_or(0), |url| {
                match ui.json {
                    true => ui.json(&json!({ "ok": true, "url": url }), Layout::Compact),
                    false => ui.line(url),
                }
                ui.flush();
                ui.say(&format!(
                    "serving team {}: give each member's client the URL and its token",
                    team.name
                ));
            })?;
            return Ok(Exit::Done);
        }
        let me = context.me(&team)?;
        context
            .ui
            .say(&format!("serving {me} of team {}", team.name));
        serve_one(&served, who)?;
        Ok(Exit::Done)
    }
}
