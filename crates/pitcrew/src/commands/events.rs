//! `events`: what happened in a team, and what happens.
//!
//! Looking changes nothing. Whoever follows is told when it was so far behind that events are gone, and when the team
//! is removed: the last line is that, then the command has ended.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use pitcrew_core::event::{self, Event, Fact, Filter, Topic, What};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::{Name, Refusal, Timestamp};
use pitcrew_runtime::desk::{Desk, NotDone, Passed};
use pitcrew_store::{Change, Cursor, Log, Place};
use serde_json::{Value, json};

use super::attention::{self, Attention, SWEEP};
use super::discoveries::instant;
use crate::cli::{Entry, Run};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::ui::{FAINT, Layout, Ui};

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Events>("events", "Show what happened in the team, and follow it");

/// Show what happened in the team, and follow it
///
/// All that is kept, oldest first, or what the conditions admit; conditions of one kind add up, of several kinds all
/// must be met. Events hold ids, names and lengths, never the text of a message. With --follow it goes on as things
/// happen, and with --json each event is one line.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew events --member bob --since 10m
  pitcrew events --follow --type task_completed --type task_failed --json
What is there to be seen: pitcrew events --schema")]
pub(crate) struct Events {
    /// Go on as things happen; what happened before only with --since or --limit
    #[arg(long)]
    follow: bool,
    /// Only on this topic: team, context or agent:NAME
    #[arg(long, value_name = "TOPIC")]
    topic: Vec<String>,
    /// Only about this member
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Only of this type
    #[arg(long, value_name = "TYPE")]
    r#type: Vec<String>,
    /// Only since then: a span (30m) or a time (2026-11-30T16:00:00Z)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only the newest so many of what happened before
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print the page that describes every type, and nothing else
    #[arg(long, exclusive = true)]
    schema: bool,
}

impl Run for Events {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        if self.schema {
            context.ui.raw(event::page().as_bytes());
            return Ok(Exit::Done);
        }
        let team = context.open_team()?;
        let filter = self.filter(&team.desk())?;
        match (self.follow, context.ui.json) {
            (true, _) => self.follow(context, &team, &filter),
            (false, true) => {
                let mut seen = Vec::new();
                let passed = self.look_back(&team.desk(), &filter, &mut |event| {
                    seen.push(value(&team.name, &event));
                    ControlFlow::Continue(())
                })?;
                let mut answer = json!({ "ok": true, "events": seen });
                if passed.damaged > 0 {
                    answer["damage"] = passed.damaged.into();
                }
                context.ui.json(&answer, Layout::Pretty);
                Ok(Exit::Done)
            }
            (false, false) => {
                let ui = &mut *context.ui;
                let passed = self.look_back(&team.desk(), &filter, &mut |event| {
                    show(ui, &team.name, &event);
                    flow(ui)
                })?;
                complain_of(ui, passed);
                Ok(Exit::Done)
            }
        }
    }
}

fn flow(ui: &Ui) -> ControlFlow<()> {
    match ui.is_open() {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}

impl Events {
    fn filter(&self, desk: &Desk<'_>) -> Result<Filter, Halt> {
        let roster = desk.roster()?;
        if let Some(stranger) = Filter::strangers(&self.r#type).next() {
            let why = format!("`{stranger}` is no type of event; see `pitcrew events --schema`");
            return Err(Refusal::input("type", &why).into());
        }
        let member = |given: &str| {
            let is_former = roster.former.iter().any(|former| former.name == *given);
            match is_former {
                true => Name::new(NameKind::Member, given),
                false => roster.sender(given),
            }
        };
        let topic = |text: &String| match Topic::parse(text) {
            Some(Topic::Agent(name)) => member(name.as_str()).map(Topic::Agent),
            Some(known @ (Topic::Team | Topic::Context)) => Ok(known),
            Some(Topic::Other(_)) | None => Err(Refusal::input(
                "topic",
                "must be team, context or agent:NAME",
            )),
        };
        let since = self.since.as_ref();
        Ok(Filter {
            topics: self.topic.iter().map(topic).collect::<Result<_, _>>()?,
            member: self.member.as_deref().map(member).transpose()?,
            types: self.r#type.clone(),
            since: since.map(|since| instant(since, desk.now())).transpose()?,
        })
    }

    /// Hands what happened so far to `each`: all of it, or the newest of it.
    fn look_back(
        &self,
        desk: &Desk<'_>,
        filter: &Filter,
        each: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Passed, NotDone> {
        let Some(limit) = self.limit else {
            return desk.events_from(0, filter, each);
        };
        let mut newest = VecDeque::new();
        let passed = desk.events_from(0, filter, &mut |event| {
            newest.push_back(event);
            if newest.len() > limit {
                newest.pop_front();
            }
            ControlFlow::Continue(())
        })?;
        // Whoever reads them may go away; then the rest is not written.
        let _ = newest.into_iter().try_for_each(each);
        Ok(passed)
    }

    fn follow(
        &self,
        context: &mut Context<'_>,
        team: &OpenTeam,
        filter: &Filter,
    ) -> Result<Exit, Halt> {
        let (desk, ui) = (team.desk(), &mut *context.ui);
        // Watched from before the first look, so that nothing between the two is missed.
        let attention = Attention::to(&team.store)?;
        let mut cursor = match (&self.since, self.limit) {
            (None, None) => desk.events_end()?,
            _ => {
                let passed = self.look_back(&desk, filter, &mut |event| {
                    show(ui, &team.name, &event);
                    flow(ui)
                })?;
                passed.next
            }
        };
        ui.flush();
        while ui.is_open() {
            let passed = go_on(&desk, ui, filter, cursor)?;
            if passed.missed + passed.cuts > 0 && is_gone(&desk) {
                farewell(ui, team, desk.now());
                return Ok(Exit::Done);
            }
            complain_of(ui, passed);
            cursor = passed.next;
            match attention.next(SWEEP)? {
                attention::Event::Interrupted => return Ok(Exit::Interrupted),
                attention::Event::Changed(
                    Change::Log(Log::Events) | Change::Document(Place::Team) | Change::Lagged,
                )
                | attention::Event::Quiet => {}
                attention::Event::Changed(_) => continue,
            }
            if is_gone(&desk) {
                farewell(ui, team, desk.now());
                return Ok(Exit::Done);
            }
        }
        Ok(Exit::Done)
    }
}

/// Whether the team was removed, its events with it.
fn is_gone(desk: &Desk<'_>) -> bool {
    matches!(
        desk.roster(),
        Err(NotDone::Refused(Refusal::TeamNotFound { .. }))
    )
}

/// Shows what came since `cursor`, and answers where to go on.
fn go_on(desk: &Desk<'_>, ui: &mut Ui, filter: &Filter, cursor: Cursor) -> Result<Passed, NotDone> {
    let passed = desk.events_from(cursor, filter, &mut |event| {
        show(ui, desk.team_id(), &event);
        flow(ui)
    })?;
    ui.flush();
    Ok(passed)
}

/// The last thing that can be said of a team whose files are gone, its events with them.
fn farewell(ui: &mut Ui, team: &OpenTeam, at: Timestamp) {
    let last = Event {
        version: event::VERSION,
        at,
        topic: Topic::Team,
        what: What::Known(Fact::TeamDissolved {}),
    };
    show(ui, &team.name, &last);
    ui.flush();
}

fn complain_of(ui: &mut Ui, passed: Passed) {
    if passed.cuts > 0 {
        ui.say("events.jsonl was cut or replaced from outside; what is there now is shown from its beginning");
    }
    if passed.missed > 0 {
        let words = format!(
            "{} bytes of events are gone, because they came faster than they were read",
            passed.missed
        );
        ui.say(&words);
    }
    if passed.damaged > 0 {
        let words = format!("{} lines of events.jsonl cannot be read", passed.damaged);
        ui.say(&words);
    }
}

fn show(ui: &mut Ui, team: &Name, event: &Event) {
    if ui.json {
        return ui.json(&value(team, event), Layout::Compact);
    }
    let mut line = ui.styled(FAINT, &event.at.to_string());
    let mut add = |text: &str| {
        line.push_str("  ");
        line.push_str(&pitcrew_core::visible::visible(
            text,
            pitcrew_core::visible::Lines::Fold,
        ));
    };
    add(&event.topic.to_string());
    add(event.word());
    for (key, fact) in event.fields().iter() {
        add(&format!("{key}={}", words_of(fact)));
    }
    ui.own_line(&line);
}

fn words_of(fact: &Value) -> String {
    match fact {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(words_of).collect::<Vec<_>>().join(","),
        Value::Object(lines) if lines.contains_key("start") && lines.contains_key("end") => {
            format!("{}-{}", lines["start"], lines["end"])
        }
        other => other.to_string(),
    }
}

/// An event as it is written.
fn value(team: &Name, event: &Event) -> Value {
    let mut value = json!({
        "v": event.version,
        "at": event.at,
        "topic": event.topic.of(team),
        "type": event.word(),
    });
    for (key, fact) in event.fields().iter() {
        value[key] = fact.clone();
    }
    value
}
