//! What came of a run, as a table of its tasks and what else a person should know.

use std::path::Path;

use console::{Alignment, measure_text_width, pad_str, truncate_str};
use pitcrew_core::task::Status;
use pitcrew_core::visible::{Lines, visible};
use pitcrew_runtime::run::event::{MemberResult, Outcome, Report, TaskResult};
use pitcrew_runtime::run::scheduler::StopReason;

use super::words::{count, left_running, short, span, stopped};
use crate::ui::{BAD, FAINT, GOOD, HEADING, Ui};

/// The longest a result may be in the table when standard output is no terminal, in columns.
const WIDEST: usize = 100;

/// The narrowest that a result is cut to.
const NARROWEST: usize = 24;

/// The narrowest that a name is cut to.
const SHORTEST_NAME: usize = 8;

/// Writes the table and the words below it.
pub(super) fn write(ui: &mut Ui, here: &Path, report: &Report) {
    if !report.tasks.is_empty() {
        table(ui, report);
        ui.line("");
    }
    for task in &report.unreadable {
        ui.line(&format!("task {} cannot be read: {}", task.id, task.why));
    }
    for cut in &report.unfinished {
        let what = cut.task.as_deref().unwrap_or("its mail");
        ui.line(&format!(
            "{} did not finish {what}: it {}",
            cut.member,
            cut.outcome.word()
        ));
    }
    for left in &report.left_running {
        ui.line(&left_running(left));
    }
    for member in &report.members {
        if member.restarts > 0 {
            let times = count(member.restarts as usize, "time", "times");
            ui.line(&format!(
                "{}: crashed and was started again {times}",
                member.member
            ));
        }
        if let Some(reason) = member.stopped {
            let why = stopped(reason, member.stopped_detail.as_deref());
            ui.line(&format!("{}: {why}", member.member));
        }
    }
    if let Some(spending) = &report.spending {
        let left = spending
            .left
            .map_or_else(String::new, |left| format!(", {left} left"));
        ui.line(&format!(
            "spent    {} and {} tokens in all{left}{}",
            spending.spent,
            spending.tokens,
            at_hand(report, "limits status")
        ));
    }
    mail(ui, report);
    if let Some(folder) = &report.folder {
        outputs(ui, folder.strip_prefix(here).unwrap_or(folder), report);
    }
    let shown = |task: &&TaskResult| {
        matches!(task.status, Status::Completed | Status::Failed) && !task.gone
    };
    if let Some(last) = report.tasks.iter().rfind(shown) {
        ui.line(&format!(
            "results  pitcrew task show {} --result --team {}",
            last.task, report.team
        ));
    }
    verdict(ui, report);
}

/// How to look at something of the team with a command, as long as the team is there.
fn at_hand(report: &Report, command: &str) -> String {
    match &report.folder {
        Some(_) => format!(" (pitcrew {command} --team {})", report.team),
        None => String::new(),
    }
}

/// Where outputs stand, and whose are not there any more.
fn outputs(ui: &mut Ui, folder: &Path, report: &Report) {
    if report.members.iter().any(|member| member.folder.is_some()) {
        ui.line(&format!(
            "outputs  {}/workers/<member>/turn-*",
            folder.display()
        ));
    }
    for member in report.members.iter().filter(|member| member.lost_outputs) {
        ui.line(&format!(
            "{}: nothing that it printed is there any more",
            member.member
        ));
    }
}

fn table(ui: &mut Ui, report: &Report) {
    let head = ["task", "member", "status", "time", "result"].map(str::to_string);
    let rows: Vec<[String; 5]> = report.tasks.iter().map(row).collect();
    let widths = widths(&head, &rows, ui.columns());
    let cells = |row: &[String; 5]| -> [String; 5] {
        let aligned = |at: usize| {
            let side = if at == 3 {
                Alignment::Right
            } else {
                Alignment::Left
            };
            pad_str(&short(&row[at], widths[at]), widths[at], side, Some("…")).into_owned()
        };
        let result = truncate_str(&row[4], widths[4], "…").into_owned();
        [aligned(0), aligned(1), aligned(2), aligned(3), result]
    };
    let line = cells(&head).join("  ");
    let line = ui.styled(HEADING, line.trim_end());
    ui.own_line(&line);
    for (row, task) in rows.iter().zip(&report.tasks) {
        let mut cells = cells(row);
        let style = match task.status {
            Status::Completed => GOOD,
            Status::Failed => BAD,
            Status::Pending | Status::InProgress => FAINT,
        };
        cells[2] = ui.styled(style, &cells[2]);
        let line = cells.join("  ");
        ui.own_line(line.trim_end());
    }
}

/// How wide each column is: as its widest cell, unless the terminal is too narrow; then names give way first.
fn widths(head: &[String; 5], rows: &[[String; 5]], columns: Option<usize>) -> [usize; 5] {
    let mut widths: [usize; 5] = std::array::from_fn(|column| {
        let cells = std::iter::once(head).chain(rows);
        let widest = cells.map(|row| measure_text_width(&row[column])).max();
        widest.unwrap_or(0)
    });
    let Some(columns) = columns else {
        widths[4] = widths[4].min(WIDEST);
        return widths;
    };
    let taken = |widths: &[usize; 5]| widths[..4].iter().map(|width| width + 2).sum::<usize>();
    while taken(&widths) + NARROWEST > columns {
        let wider = usize::from(widths[1] > widths[0]);
        if widths[wider] <= SHORTEST_NAME {
            break;
        }
        widths[wider] -= 1;
    }
    widths[4] = columns.saturating_sub(taken(&widths)).max(NARROWEST);
    widths
}

fn row(task: &TaskResult) -> [String; 5] {
    let shown = |text: &str| visible(text, Lines::Fold).into_owned();
    let result = task.why.as_deref().or(task.result.as_deref());
    [
        shown(&task.task),
        shown(task.member.as_deref().unwrap_or("-")),
        task.status.word().to_string(),
        task.elapsed_ms.map_or_else(|| "-".to_string(), span),
        shown(result.unwrap_or("-")),
    ]
}

fn mail(ui: &mut Ui, report: &Report) {
    let mut unread: Vec<String> = Vec::new();
    if report.leader_unread > 0 {
        unread.push(format!(
            "you {}{}",
            report.leader_unread,
            at_hand(report, "inbox")
        ));
    }
    for member in report.members.iter().filter(|member| member.unread > 0) {
        unread.push(format!("{} {}", member.member, member.unread));
    }
    if !unread.is_empty() {
        ui.line(&format!("unread   {}", unread.join(", ")));
    }
    for member in &report.members {
        if member.dead_letters > 0 && report.folder.is_some() {
            let letters = usize::try_from(member.dead_letters).unwrap_or(usize::MAX);
            ui.line(&format!(
                "{} could not cope with {}: pitcrew inbox --dead --as {} --team {}",
                member.member,
                count(letters, "message", "messages"),
                member.member,
                report.team
            ));
        }
    }
    for member in report.members.iter().filter(|member| member.unanswered > 0) {
        let why = match (member.answers_mail, member.stopped) {
            (false, _) => "it has no on_mail script".to_string(),
            (true, Some(StopReason::OnlyTalk { turns })) => format!(
                "it had {} for such mail while no task changed; the same command lets it go on",
                count(turns as usize, "turn", "turns")
            ),
            (true, Some(_)) => "it takes no more turns in this run".to_string(),
            (true, None) => "the run ended before".to_string(),
        };
        let asked = usize::try_from(member.unanswered).unwrap_or(usize::MAX);
        ui.line(&format!(
            "{} has not answered {}: {why}",
            member.member,
            count(asked, "message", "messages")
        ));
    }
}

/// Whether the team's limits stopped it.
fn is_barred(member: &MemberResult) -> bool {
    matches!(
        member.stopped,
        Some(StopReason::OutOfBudget | StopReason::Denied)
    )
}

fn verdict(ui: &mut Ui, report: &Report) {
    let done = report
        .tasks
        .iter()
        .filter(|task| task.status == Status::Completed)
        .count();
    let total = report.tasks.len() + report.unreadable.len();
    let counted = format!("{done} of {} completed", count(total, "task", "tasks"));
    let took = span(report.elapsed_ms);
    let idle = report.members.iter().all(|member| member.turns == 0);
    let (style, text) = match report.outcome {
        Outcome::Completed if idle => (
            GOOD,
            format!("nothing was left to do: {counted} before this run"),
        ),
        Outcome::Completed => (GOOD, format!("{counted} in {took}")),
        Outcome::Incomplete => (BAD, format!("{counted} in {took}")),
        Outcome::ShutDown => {
            let at = report.shut_down_at.as_deref().unwrap_or("this run");
            let by = format!("shut down from elsewhere at {at} (team shutdown)");
            (BAD, format!("{by} after {took}: {counted}"))
        }
        Outcome::Interrupted => (BAD, format!("interrupted after {took}: {counted}")),
        Outcome::TimeLimit => (BAD, format!("out of time after {took}: {counted}")),
        Outcome::FirstFailure => (
            BAD,
            format!("ended by the first failure after {took}: {counted}"),
        ),
    };
    let text = ui.styled(style.bold(), &text);
    ui.own_line(&text);
    if report.broke.is_some() {
        // The complaint about that says what to do.
    } else if report.members.iter().any(is_barred) {
        ui.say("with other limits the same command goes on from here");
    } else if report.outcome != Outcome::Completed {
        ui.say("the same command goes on from here");
    } else if idle {
        ui.say("--fresh begins anew");
    }
}
