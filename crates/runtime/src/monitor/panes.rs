//! Panes as the monitor needs them: looked at, rung, and opened anew for a member that is gone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pitcrew_core::Name;
use pitcrew_core::departure::Departure;
use pitcrew_core::liveness::{Doubt, Loss, Verdict};
use pitcrew_core::monitor::Shows;
use pitcrew_core::submit::{Foreground, Look, Pane};
use pitcrew_store::{LocalStore, Project};

use crate::desk::Desk;
use crate::panes::{Bell, Occasion, PaneError, Restarted, Site, Wakened, renew, wake_member};
use crate::process::{Blindness, Environment, Presence};
use crate::profile::PaneProfiles;
use crate::tmux::{PaneRecord, Tmux, TrustPolicy};
use crate::wake::{PaneSeat, WakeError};

/// What the monitor needs of panes. The real ones are [`TmuxPanes`].
pub trait Panes {
    /// What each of these panes shows, in their order: one look for all of them.
    fn look(&self, seats: &[&PaneSeat]) -> Vec<Shows>;

    /// Whether the process of a pane still runs.
    fn life(&self, seat: &PaneSeat) -> Verdict;

    /// How the process of a pane ended that has.
    fn departure(&self, seat: &PaneSeat) -> Departure;

    /// Starts a member anew whose life `incarnation` is over, if its policy says so now; answers whether it did.
    ///
    /// # Errors
    /// Why there is no new life. What the policy says to that is kept.
    fn renew(
        &self,
        desk: &Desk<'_>,
        store: &LocalStore,
        member: &Name,
        incarnation: u32,
    ) -> Result<Option<Restarted>, PaneError>;

    /// Rings for a member.
    ///
    /// # Errors
    /// When nobody can say what came of it.
    fn ring(
        &self,
        desk: &Desk<'_>,
        member: &Name,
        occasion: Occasion,
    ) -> Result<Wakened, WakeError>;

    /// Waits so many milliseconds.
    fn wait(&self, millis: i64);
}

/// Panes of tmux.
#[derive(Clone, Copy)]
pub struct TmuxPanes<'a> {
    /// tmux; the server of a pane is the one that its record names.
    pub tmux: &'a Tmux,
    /// How programs look and take a line.
    pub profiles: &'a PaneProfiles,
    /// The project.
    pub project: &'a Project,
    /// The monitor's environment: what a new agent is handed of it, its profile says.
    pub caller: &'a Environment,
    /// This program, for the gate.
    pub program: &'a Path,
}

impl Panes for TmuxPanes<'_> {
    fn look(&self, seats: &[&PaneSeat]) -> Vec<Shows> {
        let mut servers: BTreeMap<&PathBuf, Vec<usize>> = BTreeMap::new();
        for (place, seat) in seats.iter().enumerate() {
            let server = &seat.pane.server.socket_path;
            servers.entry(server).or_default().push(place);
        }
        let mut shown = vec![Shows::Nothing("transport_failed", String::new()); seats.len()];
        for (server, places) in servers {
            let panes: Vec<&PaneRecord> = places.iter().map(|place| &seats[*place].pane).collect();
            match self.tmux.at(server).look(&panes) {
                Ok(looks) => {
                    for (place, look) in places.into_iter().zip(looks) {
                        shown[place] = self.shows(seats[place], &look);
                    }
                }
                Err(failed) => {
                    for place in places {
                        shown[place] = Shows::Nothing("transport_failed", failed.to_string());
                    }
                }
            }
        }
        shown
    }

    fn life(&self, seat: &PaneSeat) -> Verdict {
        let unknown = |why| Verdict::Unknown { why };
        match seat.pane.process.presence() {
            Presence::Alive => Verdict::Alive,
            Presence::Gone => Verdict::Gone { why: Loss::Ended },
            Presence::Recycled => Verdict::Gone {
                why: Loss::Recycled,
            },
            Presence::CannotTell(Blindness::OtherNamespace) => unknown(Doubt::OtherNamespace),
            Presence::CannotTell(Blindness::NoTable) => unknown(Doubt::NoTable),
            Presence::CannotTell(Blindness::NoStartTime) => unknown(Doubt::NoStartTime),
        }
    }

    fn departure(&self, seat: &PaneSeat) -> Departure {
        let tmux = self.tmux.at(&seat.pane.server.socket_path);
        // A tmux that does not answer does not tell how.
        tmux.departure(&seat.pane).unwrap_or(Departure::Untold)
    }

    fn renew(
        &self,
        desk: &Desk<'_>,
        store: &LocalStore,
        member: &Name,
        incarnation: u32,
    ) -> Result<Option<Restarted>, PaneError> {
        let site = Site {
            project: self.project,
            desk: *desk,
            store,
            profiles: self.profiles,
            tmux: self.tmux,
            caller: self.caller,
            program: self.program,
            // Nobody is there who could say that the folder is trusted.
            trust: TrustPolicy::Ask,
        };
        renew(&site, member, incarnation)
    }

    fn ring(
        &self,
        desk: &Desk<'_>,
        member: &Name,
        occasion: Occasion,
    ) -> Result<Wakened, WakeError> {
        let bell = Bell {
            desk: *desk,
            root: self.project.root(),
            profiles: self.profiles,
            tmux: self.tmux,
        };
        wake_member(&bell, member, occasion)
    }

    fn wait(&self, millis: i64) {
        wait(millis);
    }
}

impl TmuxPanes<'_> {
    /// What a look means to whoever asks whether the pane idles.
    fn shows(&self, seat: &PaneSeat, look: &Look) -> Shows {
        let nothing = |code, why: &str| Shows::Nothing(code, why.to_string());
        let profile = match self.profiles.get(&seat.profile) {
            Ok(profile) => profile,
            Err(absent) => return Shows::Nothing("unknown_profile", absent.to_string()),
        };
        let is_shell = profile.submit.is_shell;
        match look.pane {
            Pane::Gone => nothing("pane_gone", "the pane is gone"),
            Pane::Dead => nothing("exited", "the pane's process has ended"),
            Pane::NotOurs => nothing("not_ours", "the pane belongs to another process"),
            Pane::ServerChanged => nothing("server_changed", "another tmux server answers"),
            Pane::Ours(_) if look.facts.in_mode == Some(true) => {
                nothing("in_copy_mode", "the pane is in a mode of tmux")
            }
            Pane::Ours(Foreground::Shell) if !is_shell => {
                nothing("bare_shell", "a shell is in the foreground")
            }
            Pane::Ours(_) => {
                let reading = profile.judge(&look.facts);
                Shows::Screen(reading.state, reading.why)
            }
        }
    }
}

/// Waits.
pub(super) fn wait(millis: i64) {
    let span = std::time::Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    #[expect(
        clippy::disallowed_methods,
        reason = "a screen tells nobody that it has changed"
    )]
    std::thread::sleep(span);
}
