//! The teams of a project: whether each can be read to its last byte, and what was left behind.

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::task::{Status, dependency_cycle};
use pitcrew_runtime::desk::{Desk, TaskBoard};
use pitcrew_store::Project;
use pitcrew_store::local::Oddity;

use super::Findings;
use super::project::modes;
use crate::context::OpenTeam;
use crate::halt::Halt;

/// Looks at every team.
pub(super) fn look(project: &Project, findings: &mut Findings) {
    match project.teams() {
        Ok(teams) if teams.is_empty() => findings.note(
            "teams",
            "none in this project",
            "found one with `pitcrew team init <name>`",
        ),
        Ok(teams) => {
            for name in teams {
                look_at(&OpenTeam::of(project, name), findings);
            }
        }
        Err(failure) => findings.halted("teams", &failure.into()),
    }
    match project.strays() {
        Ok(strays) => {
            for stray in strays {
                findings.note(
                    "teams",
                    format!("{} is no team", stray.display()),
                    "nothing reads it; remove it when nobody else needs it",
                );
            }
        }
        Err(failure) => findings.halted("teams", &failure.into()),
    }
}

fn look_at(team: &OpenTeam, findings: &mut Findings) {
    let about = format!("team {}", team.name);
    let desk = team.desk();
    let roster = match desk.roster() {
        Ok(roster) => roster,
        Err(not_done) => return findings.halted(&about, &not_done.into()),
    };
    let board = match desk.tasks() {
        Ok(board) => board,
        Err(not_done) => {
            findings.halted(&about, &not_done.into());
            TaskBoard::default()
        }
    };
    findings.good(
        &about,
        format!(
            "{} members, {} tasks",
            roster.workers.len(),
            board.tasks.len()
        ),
    );
    for task in &board.unreadable {
        findings.bad(
            &about,
            format!("task {} cannot be read: {}", task.id, task.why),
            format!(
                "mend or remove tasks/{}.json; nothing else is held up by it",
                task.id
            ),
        );
    }
    if let Some(cycle) = dependency_cycle(&board.tasks) {
        findings.bad(
            &about,
            format!("tasks wait for each other: {}", cycle.join(" -> ")),
            "take one of them out of the others' blocked_by; none of them can be claimed",
        );
    }
    if !team.name.folds_to(&roster.name) {
        findings.bad(
            &about,
            format!("config.json says that its name is {:?}", roster.name),
            "the folder's name counts; mend config.json",
        );
    }
    for member in &roster.workers {
        if let Err(refused) = Name::new(NameKind::Member, &member.name) {
            findings.bad(
                &about,
                format!("config.json names a member that cannot be one: {refused}"),
                "mend config.json; no mail reaches that member",
            );
        }
    }
    for owner in roster.everybody() {
        mailbox(&desk, &about, &owner, findings);
    }
    match team.store.oddities() {
        Ok(oddities) => {
            let folder = team.store.folder().display().to_string();
            modes(&about, &folder, &oddities, findings);
            left_behind(&about, &board, &oddities, findings);
        }
        Err(failure) => findings.halted(&about, &failure.into()),
    }
}

fn mailbox(desk: &Desk<'_>, about: &str, owner: &Name, findings: &mut Findings) {
    match desk.count_mail(owner) {
        Ok(mail) => {
            for damage in &mail.damage {
                findings.bad(
                    about,
                    format!(
                        "mailbox/{owner}.jsonl has damage at byte {} ({} bytes): {}",
                        damage.at, damage.len, damage.why
                    ),
                    "it was left as it is; every message around it is listed",
                );
            }
            let more = mail.damaged.saturating_sub(mail.damage.len() as u64);
            if more > 0 {
                findings.bad(
                    about,
                    format!("mailbox/{owner}.jsonl has {more} more damaged places"),
                    "they were left as they are; every message around them is listed",
                );
            }
        }
        Err(not_done) => findings.halted(about, &Halt::from(not_done)),
    }
}

fn left_behind(about: &str, board: &TaskBoard, oddities: &[Oddity], findings: &mut Findings) {
    let is_held = |id: &str| {
        let task = board.tasks.iter().find(|task| task.id == id);
        task.is_some_and(|task| task.status == Status::InProgress)
    };
    for oddity in oddities {
        match oddity {
            Oddity::Mark { path, task } if !is_held(task) => findings.note(
                about,
                format!("{} belongs to no claim", path.display()),
                "the next claim replaces it; a shutdown removes it",
            ),
            Oddity::Draft { path } => findings.note(
                about,
                format!("{} was never put into place", path.display()),
                "its writer died, or is writing right now; nothing reads it",
            ),
            Oddity::Link { path } => findings.bad(
                about,
                format!("{} is a link, or no plain file", path.display()),
                "remove it; pitcrew follows no link inside a team's folder",
            ),
            Oddity::Shared { path } => findings.bad(
                about,
                format!("{} has a second name (a hard link)", path.display()),
                "nothing is appended to it: put a copy of it in its place, under a name of its own",
            ),
            Oddity::Mark { .. } | Oddity::Open { .. } => {}
        }
    }
}
