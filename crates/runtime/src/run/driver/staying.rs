//! What pitcrew itself puts into the background: it outlives the turn in which a member asked for it.
//!
//! | meant to stay | known by |
//! |---|---|
//! | the monitor of a project | it runs the file that this run runs, its words are those of a monitor, and its standard input is the lock of the project that they name |
//! | a tmux server with panes of this project's teams | it runs the tmux that this run finds, and the record of a pane names it by number and start time |
//!
//! Always holds: no name, no variable and no file that a member can write keeps another program alive.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use pitcrew_core::Name;
use pitcrew_core::roster::Team;
use pitcrew_store::{Project, StoreExt};

use super::super::Setup;
use crate::monitor;
use crate::process::{Environment, Launch, Mark, Orphan};
use crate::wake::PaneSeat;

/// Whether an orphan was put into the background by pitcrew itself.
pub(super) fn is_meant_to_stay(orphan: &Orphan, setup: &Setup<'_>) -> bool {
    is_monitor(orphan) || is_server_of_panes(orphan, setup)
}

fn is_monitor(orphan: &Orphan) -> bool {
    let arguments = orphan.words().get(1..).unwrap_or_default();
    let Some(root) = monitor::root_in(arguments) else {
        return false;
    };
    orphan.is_this_program()
        && Project::at(root).is_ok_and(|project| orphan.reads_from(&project.monitor_lock()))
}

fn is_server_of_panes(orphan: &Orphan, setup: &Setup<'_>) -> bool {
    let tmux = tmux_of(&setup.variables);
    tmux.is_some_and(|tmux| orphan.runs(&tmux)) && is_recorded(orphan, setup.project)
}

/// Whether a pane of a team stands in this server. What cannot be read names none.
fn is_recorded(orphan: &Orphan, project: &Project) -> bool {
    let holds = |team: &Name| {
        let store = project.team(team);
        let roster = store.view::<Team>(&()).ok().flatten();
        let sits = |member: &Name| {
            let seat = store.view::<PaneSeat>(member).ok().flatten();
            let server = seat.and_then(|seat| seat.pane.server.server_process);
            server.is_some_and(|server| orphan.is(&server))
        };
        roster.is_some_and(|team| team.everybody().iter().any(sits))
    };
    project.teams().unwrap_or_default().iter().any(holds)
}

/// The tmux that this run's own environment finds.
fn tmux_of(variables: &[(OsString, OsString)]) -> Option<PathBuf> {
    let (_, path) = variables.iter().find(|(name, _)| name == "PATH")?;
    let environment = Environment::empty().set("PATH", path);
    let mark = Mark::new("only-a-look-around").ok()?;
    let launch = Launch::new(OsStr::new("tmux"), Path::new("/"), environment, mark);
    launch.locate().ok()
}
