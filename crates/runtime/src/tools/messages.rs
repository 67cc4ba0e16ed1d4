//! Writing to members, and who they are.

use pitcrew_core::mailbox::Draft;
use pitcrew_core::task::{Status, Task};
use serde_json::json;

use super::Call;
use super::answer::Answer;
use super::waiting::Step;
use crate::desk::{NotDone, Standing};

/// `peer_message`.
pub(super) fn peer_message(call: &Call<'_>) -> Result<Step, NotDone> {
    let draft = Draft::text(call.args.needed("content"));
    let to = call.args.needed("to");
    let sent = call.desk.send_as(call.team, call.me, to, &draft)?;
    let text = format!(
        "Sent to {to}: message {}. It is in {to}'s mailbox now; an answer comes to yours, see read_messages.",
        sent.id
    );
    let facts = json!({ "status": "sent", "to": sent.to, "message_id": sent.id });
    Ok(Answer::done(text, facts).into())
}

/// `broadcast_message`.
pub(super) fn broadcast_message(call: &Call<'_>) -> Result<Step, NotDone> {
    let draft = Draft::text(call.args.needed("content"));
    let outcomes = call.desk.broadcast_as(call.team, call.me, &draft)?.outcomes;
    let (mut sent, mut failed, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (to, outcome) in &outcomes {
        match outcome {
            Ok(message) => {
                names.push(to.to_string());
                sent.push(json!({ "to": to, "message_id": message.id }));
            }
            Err(why) => failed.push(json!({ "to": to, "why": why.to_string() })),
        }
    }
    let mut text = match names.as_slice() {
        [] => "Nobody got it.".to_string(),
        names => format!("Sent to {}.", names.join(", ")),
    };
    let missed: Vec<&str> = failed.iter().filter_map(|row| row["to"].as_str()).collect();
    if !missed.is_empty() {
        text.push_str(&format!(
            " It did not reach {}: send it to them again with peer_message.",
            missed.join(", ")
        ));
    }
    let facts = json!({ "status": "sent", "sent": sent, "failed": failed });
    Ok(match names.is_empty() && !missed.is_empty() {
        true => Answer::refused(text, facts),
        false => Answer::done(text, facts),
    }
    .into())
}

/// `list_team`.
pub(super) fn list_team(call: &Call<'_>) -> Result<Step, NotDone> {
    let board = call.desk.tasks()?;
    let is_shut = call.desk.shut_down_at()?.is_some();
    let mut members = Vec::new();
    let mut rows = Vec::new();
    for name in call.team.everybody() {
        let holds = |task: &&Task| {
            task.status == Status::InProgress && task.owner.as_deref() == Some(name.as_str())
        };
        let tasks = board.tasks.iter().filter(holds);
        let tasks: Vec<&str> = tasks.map(|task| task.id.as_str()).collect();
        let member = call.team.member(name.as_str());
        let role = member
            .map(|member| member.role.as_str())
            .filter(|role| !role.is_empty());
        let is_me = name.as_str() == call.name().as_str();
        let status = match (member, is_shut) {
            (None, _) => "leader",
            (Some(_), true) => "stopped",
            // Whoever calls runs, also where nothing was written down about it.
            (Some(_), false) if is_me => Standing::Running.word(),
            (Some(member), false) => call.desk.standing(&name, member.incarnation)?.word(),
        };
        let unread = call.desk.count_unread(&name)?;
        rows.push(row(is_me, name.as_str(), role, status, &tasks));
        members.push(json!({
            "name": name,
            "status": status,
            "role": role,
            "seat": member.map(|member| member.seat.unwrap_or_default()),
            "tasks": tasks,
            "unread": unread,
        }));
    }
    let text = format!(
        "Team {} has {} members:\n{}\nWrite to one with peer_message, to all with broadcast_message.",
        call.desk.team_id(),
        members.len().saturating_sub(1),
        rows.join("\n")
    );
    let facts = json!({ "status": "listed", "you": call.name(), "members": members });
    Ok(Answer::done(text, facts).into())
}

fn row(is_me: bool, name: &str, role: Option<&str>, status: &str, tasks: &[&str]) -> String {
    let role = role.map(|role| super::answer::quoted(role, 40));
    let mut row = format!("- {name}");
    if is_me {
        row.push_str(" (you)");
    }
    if let Some(role) = role {
        row.push_str(&format!(", {}", role.trim_matches('"')));
    }
    if status != Standing::Unknown.word() {
        row.push_str(&format!(", {status}"));
    }
    if !tasks.is_empty() {
        row.push_str(&format!(", works on {}", tasks.join(", ")));
    }
    row
}
