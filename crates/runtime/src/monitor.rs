//! The monitor: the one background process of a project that prompts idle panes, sweeps for lost wakes, notices dead members
//! and starts those again whose team says so.
//!
//! | file | does |
//! |---|---|
//! | `monitor.rs` | starts it where it is needed, says whether it runs, ends it |
//! | `monitor/watcher.rs` | the process itself: looks every 5 s and does what core's machine orders |
//! | `monitor/undertaker.rs` | what follows when a member is gone |
//! | `monitor/sight.rs` | what one look sees of a project |
//! | `monitor/panes.rs` | panes as it needs them: tmux, or a script in tests |
//!
//! ```text
//! start of a loop, launch of a team ─▶ needed? ─▶ take the lock ─▶ a process with the lock as its standard input
//!                                       │ no        │ held: one runs
//! ```
//!
//! What always holds: one project has one monitor, because the lock is never free between starter and started; it dies
//! with its process. A monitor that ends gives the lock up *before* it looks a last time whether it is needed, so that
//! whoever made it needed meanwhile has one.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use pitcrew_core::Timestamp;
use pitcrew_core::monitor::Ending;
use pitcrew_core::nudge::Loops as Active;
use pitcrew_store::{Document, Place, Project, StoreExt, StoreFailure, Watching};
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, Entropy};
use crate::process::{Environment, Identity, Ladder, Mark, Presence, detach, reclaim};

mod panes;
mod sight;
mod undertaker;
mod watcher;

pub use panes::{Panes, TmuxPanes};
pub use sight::{Need, need};
pub use watcher::Watcher;

/// What of the caller's environment a monitor is given.
const KEPT: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_*",
    "TZ",
    "TMUX_TMPDIR",
    "TMPDIR",
    "XDG_*",
];

/// The words that a monitor is started with: its project behind the first, then the others.
const ROOT: &str = "--root";
const WATCH: [&str; 3] = ["team", "monitor", "run"];

/// How long a monitor may take to end when it is asked, in milliseconds. It may be typing.
const ASKED_MS: i64 = 4_000;

/// How often it is looked whether it has ended, in milliseconds.
const LOOK_MS: i64 = 20;

/// `monitor.json`: who watches the project, or watched it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MonitorRecord {
    /// Its process.
    pub process: Identity,
    /// When it began.
    pub started_at: Timestamp,
    /// When somebody asked it to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_requested_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why: a code of [`Ending`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Document for MonitorRecord {
    type Id = ();

    fn place((): &()) -> Place {
        Place::Monitor
    }
}

/// What came of making sure that there is a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ensured {
    /// One was started: its process.
    Started(u32),
    /// One runs.
    Running,
    /// No loop mode is active, and no live team starts its members again.
    NoLoop,
    /// No team is live.
    NoLiveTeam,
}

/// What came of asking a monitor to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// None ran.
    NotRunning,
    /// It has ended.
    Ended,
    /// It did not answer and was ended.
    Forced,
    /// It still runs.
    StillRunning,
}

/// Why it cannot be told whether there is a monitor.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// The project's state.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// It cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Makes sure that a monitor runs, if one is needed. `program` is this program, `caller` its environment;
/// `agents_need` are the variables that agents are handed when the monitor starts them again.
///
/// # Errors
/// [`MonitorError`]; no monitor was started then.
pub fn ensure(
    project: &Project,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
    program: &Path,
    caller: &Environment,
    agents_need: &[&str],
) -> Result<Ensured, MonitorError> {
    let need = need(project, clock, entropy);
    match need.live {
        _ if need.is_there() => {}
        _ if need.loops == Active::Inactive => return Ok(Ensured::NoLoop),
        _ => return Ok(Ensured::NoLiveTeam),
    }
    let Some(watching) = project.watch_over()? else {
        return Ok(Ensured::Running);
    };
    let base = caller
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let kept: Vec<&str> = KEPT
        .into_iter()
        .chain(agents_need.iter().copied())
        .collect();
    let environment = Environment::forwarding(base, &kept);
    let mut arguments: Vec<OsString> = vec![ROOT.into(), project.root().into()];
    arguments.extend(WATCH.map(OsString::from));
    let folder = Path::new("/");
    let started = detach(
        program,
        &arguments,
        folder,
        &environment,
        watching.into_handle(),
    );
    started
        .map(Ensured::Started)
        .map_err(|source| MonitorError::Start {
            program: program.display().to_string(),
            source,
        })
}

/// The project's root in the arguments of a monitor; `None` when they are not those of one.
pub(crate) fn root_in(arguments: &[OsString]) -> Option<&Path> {
    match arguments {
        [first, root, rest @ ..] if first == ROOT && rest == WATCH => Some(Path::new(root)),
        _ => None,
    }
}

/// Who watches `project`, if somebody does; `None` inside when that is not written down yet.
///
/// # Errors
/// When the lock cannot be reached.
pub fn running(project: &Project) -> Result<Option<Option<MonitorRecord>>, StoreFailure> {
    if !project.is_watched()? {
        return Ok(None);
    }
    let record = project.state().view::<MonitorRecord>(&())?;
    Ok(Some(record.filter(|record| record.ended_at.is_none())))
}

/// Asks the monitor of `project` to end, and ends it when it does not answer.
///
/// # Errors
/// When the project's state cannot be read or written.
pub async fn stop(project: &Project, clock: &dyn Clock) -> Result<Stopped, StoreFailure> {
    if !project.is_watched()? {
        return Ok(Stopped::NotRunning);
    }
    let begun = clock.monotonic();
    while clock.monotonic() - begun < ASKED_MS {
        ask(project, Timestamp::from_millis(clock.now()))?;
        panes::wait(LOOK_MS);
        if !project.is_watched()? {
            return Ok(Stopped::Ended);
        }
    }
    let record = project.state().view::<MonitorRecord>(&())?;
    let stuck = record.filter(|record| record.process.presence() == Presence::Alive);
    if let (Some(record), Ok(mark)) = (stuck, Mark::new("monitor-of-a-project")) {
        reclaim(&record.process, &mark, &Ladder::default()).await;
    }
    Ok(match project.is_watched()? {
        true => Stopped::StillRunning,
        false => Stopped::Forced,
    })
}

/// Leaves word that the monitor is to end. One that has just begun has not written who it is.
fn ask(project: &Project, now: Timestamp) -> Result<(), StoreFailure> {
    let asked = project
        .state()
        .update(&(), |slot: &mut Option<MonitorRecord>| match slot {
            Some(record) if record.ended_at.is_none() && record.stop_requested_at.is_none() => {
                record.stop_requested_at = Some(now);
                Ok(())
            }
            _ => Err(()),
        })?;
    // Nothing to ask, or asked already: looked at again by whoever waits.
    let (Ok(()) | Err(())) = asked;
    Ok(())
}

/// Watches `project` until there is nothing to watch any more, as the process that holds `watching`.
///
/// # Errors
/// When the project's state cannot be written.
pub fn watch<P: Panes>(
    watcher: &Watcher<'_, P>,
    watching: Watching,
) -> Result<Ending, StoreFailure> {
    let mut watching = watching;
    loop {
        let ending = watcher.watch_once()?;
        watching.release(watcher.project)?;
        let is_needed = ending != Ending::Asked && watcher.is_needed();
        match is_needed.then(|| watcher.project.watch_over()) {
            Some(again) => match again? {
                Some(again) => watching = again,
                // Whoever made it needed has started another one.
                None => return Ok(ending),
            },
            None => return Ok(ending),
        }
    }
}

#[cfg(test)]
mod tests;
