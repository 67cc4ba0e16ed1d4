//! `team collect --dir`: the lanes of a delivery folder, in the reference's shape and words.
//!
//! | a lane | its status |
//! |---|---|
//! | has a result with text in it | `done` |
//! | has none yet | `working` |
//! | has an id that can name no file, or a result that is no plain file | `damaged`, with the reason |

use std::path::Path;

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_store::files::Delivery;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::no;
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// A lane as the manifest names it; what else it says is for those who launched it.
#[derive(Debug, Deserialize)]
struct Lane {
    id: String,
    #[serde(default)]
    name: Option<String>,
}

struct Collected {
    id: String,
    name: Option<String>,
    status: &'static str,
    output: String,
    why: Option<String>,
}

/// Writes what has been delivered into `dir`.
pub(super) fn collect(context: &mut Context<'_>, dir: &Path) -> Result<Exit, Halt> {
    let shown = dir.display().to_string();
    let delivery = Delivery::at(&context.environment.cwd.join(dir));
    let lanes = match delivery.manifest()? {
        Some(text) => match read_lanes(&text) {
            Ok(lanes) => lanes,
            Err(why) => {
                let message = format!("{shown}/manifest.json: {why}");
                let hint = "it is a list of lanes: [{\"id\": \"lane-a\", \"name\": \"Math\"}]";
                return Ok(no(context, &message, hint));
            }
        },
        None => Vec::new(),
    };
    if lanes.is_empty() {
        let message = format!("no manifest.json (or empty) in {shown} — was the team launched?");
        return Ok(no(context, &message, "check the folder's name"));
    }
    let lanes: Vec<Collected> = lanes
        .into_iter()
        .map(|lane| look(&delivery, lane))
        .collect();
    let done = lanes.iter().filter(|lane| lane.status == "done").count();
    if context.ui.json {
        let answer = json!({
            "dir": shown,
            "lanes": lanes.iter().map(value_of).collect::<Vec<Value>>(),
            "total": lanes.len(),
            "doneCount": done,
            "allDone": done == lanes.len(),
        });
        context.ui.json(&answer, Layout::Pretty);
    } else {
        write(context, &lanes, done);
    }
    Ok(Exit::Done)
}

fn read_lanes(text: &[u8]) -> Result<Vec<Lane>, String> {
    if text.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    pitcrew_core::json::read(text).map_err(|refused| refused.to_string())
}

fn look(delivery: &Delivery, lane: Lane) -> Collected {
    let result = Name::new(NameKind::Lane, &lane.id)
        .map_err(|refused| refused.to_string())
        .and_then(|name| {
            delivery
                .result(&name)
                .map_err(|failure| failure.to_string())
        });
    let (status, output, why) = match result {
        Ok(Some(text)) if !text.is_empty() => {
            let output = String::from_utf8_lossy(&text).into_owned();
            ("done", output, None)
        }
        Ok(_) => ("working", String::new(), None),
        Err(why) => ("damaged", String::new(), Some(why)),
    };
    Collected {
        id: lane.id,
        name: lane.name,
        status,
        output,
        why,
    }
}

fn value_of(lane: &Collected) -> Value {
    let mut value = Map::new();
    value.insert("id".to_string(), lane.id.as_str().into());
    if let Some(name) = &lane.name {
        value.insert("name".to_string(), name.as_str().into());
    }
    value.insert("status".to_string(), lane.status.into());
    value.insert("output".to_string(), lane.output.as_str().into());
    if let Some(why) = &lane.why {
        value.insert("why".to_string(), why.as_str().into());
    }
    Value::Object(value)
}

fn write(context: &mut Context<'_>, lanes: &[Collected], done: usize) {
    let all = if done == lanes.len() {
        " — ALL DONE"
    } else {
        ""
    };
    let total = lanes.len();
    context
        .ui
        .line(&format!("team collect: {done}/{total} delivered{all}"));
    for (place, lane) in lanes.iter().enumerate() {
        let label = match &lane.name {
            Some(name) => format!("{} ({name})", lane.id),
            None => lane.id.clone(),
        };
        let why = lane.why.as_ref().map(|why| format!(" ({why})"));
        if place > 0 {
            context.ui.line("");
        }
        context.ui.line(&format!(
            "── {label}: {}{} ──",
            lane.status,
            why.unwrap_or_default()
        ));
        if lane.status == "done" {
            context.ui.text(lane.output.trim_end());
        }
    }
}
