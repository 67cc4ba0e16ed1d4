//! `man`: the manual pages, one for each command.

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man as Page;
use serde_json::json;

use crate::cli::{self, Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Man>("man", "Write the manual pages");

/// Write the manual pages
///
/// Without options the first page goes to standard output: `pitcrew man | man -l -`.
#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// Write every page into this folder, as pitcrew.1, pitcrew-send.1, …
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Run for Man {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let mut line = cli::command().after_help(cli::page::footer());
        line.build();
        let Some(dir) = &self.dir else {
            let page = render(&line)?;
            if context.ui.json {
                let text = String::from_utf8_lossy(&page);
                let answer = json!({ "ok": true, "text": text });
                context.ui.json(&answer, Layout::Pretty);
            } else {
                context.ui.raw(&page);
            }
            return Ok(Exit::Done);
        };
        let mut pages = Vec::new();
        gather("", &line, &mut pages)?;
        let dir = context.environment.cwd.join(dir);
        for (name, page) in &pages {
            pitcrew_store::files::write_file(&dir, &format!("{name}.1"), page)?;
        }
        if context.ui.json {
            let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
            let answer = json!({ "ok": true, "dir": dir.display().to_string(), "pages": names });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            let (count, dir) = (pages.len(), dir.display());
            context.ui.line(&format!("wrote {count} pages into {dir}"));
        }
        Ok(Exit::Done)
    }
}

fn gather(above: &str, command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), Halt> {
    let name = match above {
        "" => command.get_name().to_string(),
        above => format!("{above}-{}", command.get_name()),
    };
    pages.push((name.clone(), render(command)?));
    for below in command.get_subcommands() {
        if below.get_name() != "help" {
            gather(&name, below, pages)?;
        }
    }
    Ok(())
}

fn render(command: &Command) -> Result<Vec<u8>, Halt> {
    let mut page = Vec::new();
    Page::new(command.clone())
        .render(&mut page)
        .map_err(|refused| Halt::System {
            what: "render a page",
            why: refused.to_string(),
        })?;
    Ok(page)
}
