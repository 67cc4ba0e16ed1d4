//! `inbox --follow`: what is unread, and then each message as it comes.
//!
//! Nothing is consumed: whoever follows sees messages pass, whether somebody acknowledges them or not. Each is written
//! whole and at once, as a heading and its text or as one line of JSON.

use std::ops::ControlFlow;

use pitcrew_core::Name;
use pitcrew_core::mailbox::Message;
use pitcrew_runtime::desk::{Failure, NotDone, Which};
use pitcrew_store::{Change, Log, Place, StoreFailure};
use serde_json::{Map, Value};

use super::listing::heading;
use crate::commands::attention::{Attention, Event, SWEEP};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::ui::{Layout, Ui};

/// Follows the mailbox of `owner` until it is interrupted, nobody reads any more, or the team is gone.
pub(super) fn follow(
    context: &mut Context<'_>,
    team: &OpenTeam,
    owner: &Name,
) -> Result<Exit, Halt> {
    let desk = team.desk();
    let roster = desk.roster()?;
    let ui = &mut *context.ui;
    // What comes after this is reported, so nothing is missed between listing and watching.
    let attention = Attention::to(&team.store)?;
    let report = desk.list_mail(owner, Which::Unread, &mut |mail| {
        show(ui, &mail.message, &mail.line);
        Ok(if ui.is_open() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        })
    })?;
    let mut cursor = report.end;
    let concerns = |change: &Change| match change {
        Change::Log(Log::Mailbox(of)) => of == owner,
        Change::Document(Place::Team) | Change::Lagged => true,
        Change::Log(_) | Change::Document(_) => false,
    };
    while ui.is_open() {
        match attention.next(SWEEP)? {
            Event::Interrupted => return Ok(Exit::Interrupted),
            Event::Changed(change) if !concerns(&change) => continue,
            Event::Quiet | Event::Changed(_) => {}
        }
        // A team that was removed has no mail any more, and the mail of another in its place is not followed here.
        desk.still(&roster)?;
        let read = desk.mail_since(owner, cursor, &mut |message, line| show(ui, &message, line));
        cursor = match read {
            Ok(end) => end,
            Err(NotDone::Failed(Failure::Store(StoreFailure::LogTruncated {
                len,
                cursor,
                ..
            }))) => {
                ui.say(&format!(
                    "the mailbox was cut: it has {len} bytes now and was read up to byte {cursor}"
                ));
                len
            }
            Err(not_done) => return Err(not_done.into()),
        };
    }
    Ok(Exit::Done)
}

fn show(ui: &mut Ui, message: &Message, line: &[u8]) {
    if ui.json {
        let written: Map<String, Value> = pitcrew_core::json::read(line).unwrap_or_default();
        let mut object = Map::new();
        object.insert("type".to_string(), "message".into());
        object.extend(written);
        ui.json(&Value::Object(object), Layout::Compact);
    } else {
        heading(ui, message, "");
        ui.indented(&message.body);
    }
    ui.flush();
}
