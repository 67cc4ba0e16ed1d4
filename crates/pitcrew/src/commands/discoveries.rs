//! `discoveries`: what the team has found.

use std::ops::ControlFlow;

use pitcrew_core::board::{Discovery, Filter};
use pitcrew_core::{Name, Refusal, Timestamp};
use pitcrew_runtime::desk::{Desk, News};
use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::span::{millis, parse as parse_span};
use crate::ui::{HEADING, Layout};

/// How many findings one call shows of what is new.
pub(crate) const AT_ONCE: usize = 50;

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Discoveries>("discoveries", "List what the team has found");

/// List what the team has found
///
/// All of it, oldest first, or what the conditions admit. With `--new` only what you were not shown before, first what
/// concerns your claims and tasks; that is noted, so each finding comes once.
#[derive(Debug, clap::Args)]
pub(crate) struct Discoveries {
    /// Only of this topic
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only what concerns this file or folder, or lies below it
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only since then: a span (30m) or a time (2026-11-30T16:00:00Z)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only what you were not shown before, and note that you were
    #[arg(long, conflicts_with_all = ["topic", "path", "since"])]
    new: bool,
}

impl Run for Discoveries {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let desk = team.desk();
        desk.roster()?;
        if self.new {
            context.ui.expect_a_reader()?;
            let me = context.me(&team)?;
            let news = desk.new_discoveries(&me, AT_ONCE)?;
            show_news(context, &news);
            hand_over(context, &desk, &me, &news)?;
            return Ok(Exit::Done);
        }
        let path = self
            .path
            .map(|path| context.file(&path, None))
            .transpose()?;
        let since = self
            .since
            .map(|since| instant(&since, desk.now()))
            .transpose()?;
        let filter = Filter {
            topic: self.topic,
            path,
            since,
        };
        if context.ui.json {
            let mut found = Vec::new();
            let damaged = desk.discoveries(&filter, &mut |discovery| {
                found.push(json!(discovery));
                ControlFlow::Continue(())
            })?;
            context.ui.json(&answer(found, damaged), Layout::Pretty);
            return Ok(Exit::Done);
        }
        let ui = &mut *context.ui;
        let damaged = desk.discoveries(&filter, &mut |discovery| {
            write(ui, &discovery);
            match ui.is_open() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        if damaged > 0 {
            let words = format!("{damaged} lines of discoveries.jsonl cannot be read");
            context.ui.say(&words);
        }
        Ok(Exit::Done)
    }
}

/// What was found, as JSON.
pub(crate) fn answer(found: Vec<Value>, damaged: u64) -> Value {
    let mut answer = json!({ "ok": true, "discoveries": found });
    if damaged > 0 {
        answer["damage"] = damaged.into();
    }
    answer
}

/// What is new, as JSON.
pub(crate) fn news_answer(news: &News) -> Value {
    json!({
        "ok": true,
        "discoveries": news.discoveries,
        "left": news.left,
        "missed": news.missed,
    })
}

/// The instant that a span before `now`, or a time, names.
pub(crate) fn instant(text: &str, now: Timestamp) -> Result<Timestamp, Refusal> {
    let ago = parse_span(text)
        .ok()
        .map(|span| now.plus_millis(-millis(span)));
    ago.or_else(|| Timestamp::parse(text)).ok_or_else(|| {
        Refusal::input(
            "since",
            "must be a span such as 30m, or a time such as 2026-11-30T16:00:00Z",
        )
    })
}

/// Takes back that `news` were shown when they could not be written: they come again.
pub(crate) fn hand_over(
    context: &mut Context<'_>,
    desk: &Desk<'_>,
    member: &Name,
    news: &News,
) -> Result<(), Halt> {
    context.ui.flush();
    if !context.ui.is_open() {
        desk.take_back_news(member, news)?;
    }
    Ok(())
}

fn show_news(context: &mut Context<'_>, news: &News) {
    if context.ui.json {
        context.ui.json(&news_answer(news), Layout::Pretty);
        return;
    }
    for discovery in &news.discoveries {
        write(context.ui, discovery);
    }
    if news.left > 0 {
        let words = format!("{} more: call it again", news.left);
        context.ui.say(&words);
    }
    if news.missed > 0 {
        let words = format!("{} older ones are kept no longer", news.missed);
        context.ui.say(&words);
    }
}

fn write(ui: &mut crate::ui::Ui, found: &Discovery) {
    let mut heading = format!("{}  {}  {}", found.topic, found.agent, found.timestamp);
    for path in &found.paths {
        heading.push_str("  ");
        heading.push_str(path.as_str());
    }
    let heading = pitcrew_core::visible::visible(&heading, pitcrew_core::visible::Lines::Fold);
    let heading = ui.styled(HEADING, &heading);
    ui.own_line(&heading);
    ui.text(&found.content);
}
