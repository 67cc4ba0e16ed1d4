//! `mcp config`: what an agent CLI's configuration needs to have the team's tools.
//!
//! The snippet alone is written to standard output; where it goes is said beside it. What it looks like is data of the
//! CLI's profile.

use pitcrew_core::Name;
use pitcrew_runtime::profile::{McpServer, McpTable, ProfileAbsent};
use serde_json::json;

use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::profiles;
use crate::ui::Layout;

/// Print what an agent CLI's configuration needs to have the team's tools
///
/// Without a token the member is served on its own word, where the team allows that.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew mcp config claude --member alice --new-token > .mcp.json
  pitcrew mcp config codex --member bob
  pitcrew mcp config gemini --member carl --new-token --http http://127.0.0.1:7077/mcp")]
pub(super) struct Config {
    /// The agent CLI: claude, codex, copilot, gemini, opencode, qwen, or a profile of your own
    #[arg(value_name = "PROFILE")]
    profile: String,
    /// The member whose tools they are; whoever speaks if not given
    #[arg(long, value_name = "MEMBER")]
    member: Option<String>,
    /// Start the member anew with a token and put it in; what was its token proves nothing any more
    #[arg(long)]
    new_token: bool,
    /// For a server that listens there already, instead of one that the CLI starts
    #[arg(long, value_name = "URL")]
    http: Option<String>,
}

impl Config {
    pub(super) fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let loaded = profiles::load(context.environment, project.root());
        let profile = loaded.profiles.get(&self.profile);
        let profile = profile.map_err(|absent: ProfileAbsent| Halt::Usage(absent.to_string()))?;
        let mcp = profile.mcp().ok_or_else(|| {
            let with = loaded
                .profiles
                .iter()
                .filter(|profile| profile.mcp().is_some());
            let with: Vec<&str> = with.map(|profile| profile.name().as_str()).collect();
            Halt::Usage(format!(
                "the profile {} has no table [mcp]; these have: {}",
                self.profile,
                with.join(", ")
            ))
        })?;
        let team = context.open_team()?;
        let (member, token) = self.member_and_token(context, &team)?;
        let root = project.root().to_string_lossy().into_owned();
        let entry = match (&self.http, &token) {
            (None, _) => {
                let mut env = vec![
                    ("PITCREW_ROOT", root),
                    ("PITCREW_TEAM", team.name.to_string()),
                    ("PITCREW_AGENT", member.to_string()),
                ];
                env.extend(token.clone().map(|token| ("PITCREW_TOKEN", token)));
                let program = context.environment.own_program()?;
                let program = program.to_string_lossy();
                mcp.entry(&McpServer::Started {
                    program: &program,
                    args: &["mcp"],
                    env: &env,
                })
            }
            (Some(url), Some(token)) => mcp.entry(&McpServer::Listening { url, token }),
            (Some(_), None) => {
                let words = "over HTTP a member needs its token; --new-token makes one";
                return Err(Halt::Usage(words.to_string()));
            }
        };
        let entry = entry
            .ok_or_else(|| Halt::Usage(format!("{} has no MCP servers over HTTP", self.profile)))?;
        let snippet = mcp.snippet(&entry);
        if context.ui.json {
            let answer = json!({
                "ok": true,
                "profile": self.profile,
                "member": member,
                "file": mcp.file,
                "snippet": snippet,
                "entry": entry,
            });
            context.ui.json(&answer, Layout::Pretty);
            return Ok(Exit::Done);
        }
        context.ui.whole(&snippet);
        self.say(context, mcp, &snippet, token.as_deref());
        Ok(Exit::Done)
    }

    /// Whose tools they are, and what proves it.
    fn member_and_token(
        &self,
        context: &mut Context<'_>,
        team: &OpenTeam,
    ) -> Result<(Name, Option<String>), Halt> {
        let desk = team.desk();
        let roster = desk.roster()?;
        let who = context.credentials(&team.name);
        let me = desk.speaker(&roster, &who)?.name;
        let member = match &self.member {
            Some(named) => roster.worker(named)?,
            None => me.clone(),
        };
        if self.new_token {
            context.leader_only(team, "give out tokens")?;
            let (token, _) = desk.issue_token(member.as_str())?;
            return Ok((member, Some(token)));
        }
        let token = who.token.filter(|_| member == me);
        Ok((member, token))
    }

    /// Says where it goes, and what is not in it.
    fn say(&self, context: &mut Context<'_>, mcp: &McpTable, snippet: &str, token: Option<&str>) {
        context.ui.say(&format!("for {}", mcp.file));
        if !mcp.note.is_empty() {
            context.ui.say(&mcp.note);
        }
        match token {
            Some(token) if !snippet.contains(token) => {
                context.ui.say(&format!(
                    "its token goes into the environment of the CLI: PITCREW_TOKEN={token}"
                ));
            }
            Some(_) => context
                .ui
                .say("it holds the member's token: keep it out of what you commit"),
            None => context
                .ui
                .say("it holds no token: --new-token makes one, so that its messages are verified"),
        }
    }
}
