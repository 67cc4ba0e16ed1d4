//! `who`: the members of a team, and what each has to do.

use pitcrew_core::Name;
use pitcrew_core::claim::Claim;
use pitcrew_core::task::{Status, Task};
use pitcrew_core::waiting::Waits;
use pitcrew_runtime::desk::apart;
use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::panes;
use crate::ui::{HEADING, Layout};

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Who>("who", "List the members: seat, role, task, unread mail");

/// List the members: seat, role, task, unread mail
///
/// Below a member stands how it is, when it sits in a pane, the lines that it holds, what it waits for (a reply, lines, a
/// task of others, its provider), and whom its messages do not wake for now, because the two only talk.
#[derive(Debug, clap::Args)]
pub(crate) struct Who {}

impl Run for Who {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let rows = members(context, &team)?;
        if context.ui.json {
            context.ui.json(
                &json!({ "ok": true, "team": team.name.as_str(), "members": rows }),
                Layout::Pretty,
            );
            return Ok(Exit::Done);
        }
        let heading = format!(
            "{:<16} {:<9} {:<12} {:<12} {:>6}",
            "member", "seat", "role", "task", "unread"
        );
        let heading = context.ui.styled(HEADING, &heading);
        context.ui.own_line(&heading);
        let mut said = Vec::new();
        for row in rows {
            let text = |key: &str| match row[key].as_str() {
                Some("") | None => "-".to_string(),
                Some(text) => text.to_string(),
            };
            let tasks: Vec<&str> = row["tasks"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let tasks = if tasks.is_empty() {
                "-".to_string()
            } else {
                tasks.join(",")
            };
            let line = format!(
                "{:<16} {:<9} {:<12} {:<12} {:>6}",
                text("name"),
                text("seat"),
                text("role"),
                tasks,
                row["unread"]
                    .as_u64()
                    .map_or("?".to_string(), |unread| unread.to_string())
            );
            context.ui.line(&line);
            if let (Some(pane), Some(state)) = (row["paneId"].as_str(), row["state"].as_str()) {
                let why = row["why"].as_str().unwrap_or_default();
                context.ui.line(&format!("  {state} in pane {pane}: {why}"));
            }
            for claim in row["claims"].as_array().into_iter().flatten() {
                context.ui.line(&holds(claim));
            }
            for wait in row["waiting"].as_array().into_iter().flatten() {
                let words = wait["words"].as_str().unwrap_or_default();
                let since = wait["since"].as_str();
                let since = since.map_or(String::new(), |since| format!(" since {since}"));
                context.ui.line(&format!("  waits {words}{since}"));
            }
            for damped in row["damped"].as_array().into_iter().flatten() {
                context.ui.line(&wakes_nobody(damped));
            }
            let unreadable = row["unreadable"].as_array().into_iter().flatten();
            for why in unreadable.filter_map(Value::as_str) {
                // What all members share is said once.
                if !said.iter().any(|said| said == why) {
                    context.ui.say(why);
                    said.push(why.to_string());
                }
            }
        }
        Ok(Exit::Done)
    }
}

/// Everybody who has a mailbox in the team, as JSON: the members in the order of the roster, then the leader. What
/// cannot be read is `null`, and `unreadable` says why.
pub(crate) fn members(context: &mut Context<'_>, team: &OpenTeam) -> Result<Vec<Value>, Halt> {
    let desk = team.desk();
    let (roster, board) = (desk.roster()?, desk.tasks()?);
    let standings = panes::standings(context, team, &roster)?;
    let (claims, now) = (apart(desk.claims())?, desk.now());
    // Why the claims cannot be read is said with them.
    let waits = apart(desk.waits())?.unwrap_or_default();
    let mut rows = Vec::new();
    for name in roster.everybody() {
        let unread = apart(desk.count_unread(&name))?;
        let member = roster.member(name.as_str());
        let holds = |task: &&Task| {
            task.status == Status::InProgress && task.owner.as_deref() == Some(name.as_str())
        };
        let tasks = board.tasks.iter().filter(holds);
        let tasks: Vec<&str> = tasks.map(|task| task.id.as_str()).collect();
        let held: Option<Vec<&Claim>> = claims.as_ref().ok().map(|claims| {
            let held = claims.held(now);
            held.filter(|claim| claim.member == name).collect()
        });
        let unreadable = [unread.as_ref().err(), claims.as_ref().err()];
        let unreadable = unreadable.into_iter().flatten();
        let mut unreadable: Vec<&String> = unreadable.chain(&waits.unreadable).collect();
        unreadable.dedup();
        let damped = waits.damped.iter().filter(|damped| damped.from == name);
        let damped: Vec<_> = damped.collect();
        let mut row = json!({
            "name": name.as_str(),
            "seat": member.map(|member| member.seat.unwrap_or_default()),
            "role": member.map(|member| member.role.as_str()),
            "profile": member.and_then(|member| member.profile.as_deref()),
            "incarnation": member.map(|member| member.incarnation),
            "tasks": tasks,
            "unread": unread.as_ref().ok(),
            "claims": held,
            "waiting": waiting(&waits.waits, &name),
        });
        if !damped.is_empty() {
            row["damped"] = json!(damped);
        }
        if !unreadable.is_empty() {
            row["unreadable"] = json!(unreadable);
        }
        if let Some(standing) = standings.iter().find(|standing| standing.member == name) {
            row["paneId"] = standing.seat.pane.pane_id.as_str().into();
            panes::describe(standing, &mut row);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// What a member waits for, as JSON.
fn waiting(waits: &[Waits], name: &Name) -> Vec<Value> {
    let own = waits.iter().filter(|wait| wait.member == *name);
    let value = |wait: &Waits| {
        let mut value = json!(wait);
        value["words"] = wait.words().into();
        value
    };
    own.map(value).collect()
}

/// One exchange that is damped, as the answer in JSON has it, on one line.
fn wakes_nobody(damped: &Value) -> String {
    format!(
        "  its messages do not wake {}: {} turns without progress",
        damped["to"].as_str().unwrap_or_default(),
        damped["turns"]
    )
}

/// One claim, as the answer in JSON has it, on one line.
fn holds(claim: &Value) -> String {
    let lines = &claim["lines"];
    format!(
        "  holds {} {}-{} until {}",
        claim["file"].as_str().unwrap_or_default(),
        lines["start"],
        lines["end"],
        claim["until"].as_str().unwrap_or_default()
    )
}
