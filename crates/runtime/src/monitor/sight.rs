//! What one look sees of a project: its teams, their members in panes, and what those panes show.

use pitcrew_core::liveness::Verdict;
use pitcrew_core::monitor::{Lives, Scan, Shows, Sight, TeamSight, Who, Work};
use pitcrew_core::nudge::{Loops as Active, Standing};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{LocalStore, Project, StoreExt};

use super::panes::Panes;
use crate::clock::{Clock, Entropy};
use crate::desk::{Desk, NotDone};
use crate::loops::Loops;
use crate::panes::LivesRecord;
use crate::process::Presence;
use crate::wake::{NudgeRecord, PaneSeat};

/// A team of the project with what it needs to be asked.
pub(super) struct Open {
    pub(super) name: Name,
    pub(super) store: LocalStore,
}

/// A team as it stands, before its panes are looked at.
struct Standings {
    name: Name,
    standing: Standing,
    work: Work,
    lives: Lives,
    members: Vec<Seated>,
}

/// A member that sits in a pane.
struct Seated {
    member: Name,
    seat: PaneSeat,
    unread: u64,
    injected_at: Option<Timestamp>,
    due_at: Option<Timestamp>,
}

/// What one look is taken with.
#[derive(Clone, Copy)]
pub(super) struct Looker<'a> {
    pub(super) project: &'a Project,
    pub(super) clock: &'a dyn Clock,
    pub(super) entropy: &'a dyn Entropy,
}

/// What of `project` a monitor is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Whether a loop mode is active.
    pub loops: Active,
    /// The live teams, taken together: not shut down, not done, and with a member in a pane whose process may run or that
    /// is to be started again. None when no team is live.
    pub live: Option<Lives>,
}

impl Need {
    /// Whether there is something to watch: panes to be prompted, or members to be started again.
    #[must_use]
    pub fn is_there(self) -> bool {
        match self.live {
            None => false,
            Some(Lives::Renewed) => true,
            Some(Lives::Single) => self.loops == Active::Active,
        }
    }
}

/// Looks what there is to watch in `project`, without asking tmux.
#[must_use]
pub fn need(project: &Project, clock: &dyn Clock, entropy: &dyn Entropy) -> Need {
    let looker = Looker {
        project,
        clock,
        entropy,
    };
    let goes_on = |seated: &Seated| {
        let presence = seated.seat.pane.process.presence();
        let is_gone = matches!(presence, Presence::Gone | Presence::Recycled);
        !seated.member.is_leader() && (!is_gone || seated.due_at.is_some())
    };
    let teams = looker.teams();
    let standings = teams.iter().filter_map(|team| looker.standings(team).ok());
    let live: Vec<Lives> = standings
        .filter(|team| {
            team.standing == Standing::Live
                && team.work == Work::Open
                && team.members.iter().any(goes_on)
        })
        .map(|team| team.lives)
        .collect();
    Need {
        loops: looker.loops(),
        live: match live.contains(&Lives::Renewed) {
            true => Some(Lives::Renewed),
            false => live.first().copied(),
        },
    }
}

impl Looker<'_> {
    /// The teams of the project; none while they cannot be listed.
    pub(super) fn teams(&self) -> Vec<Open> {
        let names = self.project.teams().unwrap_or_default();
        let open = names.into_iter().map(|name| Open {
            store: self.project.team(&name),
            name,
        });
        open.collect()
    }

    /// Whether a loop mode is active.
    pub(super) fn loops(&self) -> Active {
        match Loops::of(self.project, self.clock).active().is_empty() {
            true => Active::Inactive,
            false => Active::Active,
        }
    }

    pub(super) fn desk<'t>(&'t self, team: &'t Open) -> Desk<'t> {
        Desk::new(&team.name, &team.store, self.clock, self.entropy)
    }

    /// Everything that is to be known for a decision.
    pub(super) fn scan(&self, panes: &impl Panes) -> Scan {
        let loops = self.loops();
        let teams = self.teams();
        // A team that cannot be read is looked at again by the next scan.
        let standings = teams.iter().filter_map(|team| self.standings(team).ok());
        let standings: Vec<Standings> = standings.collect();
        let seats = standings.iter().flat_map(|team| &team.members);
        let seats: Vec<&PaneSeat> = seats.map(|seated| &seated.seat).collect();
        let mut shown = match seats.is_empty() {
            true => Vec::new(),
            false => panes.look(&seats),
        }
        .into_iter();
        let teams = standings.iter().map(|team| {
            let sight = |seated: &Seated| Sight {
                who: Who {
                    team: team.name.clone(),
                    member: seated.member.clone(),
                },
                incarnation: seated.seat.incarnation,
                life: panes.life(&seated.seat),
                shows: shown.next().unwrap_or_else(nothing),
                unread: seated.unread,
                injected_at: seated.injected_at,
                due_at: seated.due_at,
            };
            TeamSight {
                standing: team.standing,
                work: team.work,
                lives: team.lives,
                members: team.members.iter().map(sight).collect(),
            }
        });
        Scan {
            loops,
            teams: teams.collect(),
        }
    }

    fn standings(&self, team: &Open) -> Result<Standings, NotDone> {
        let desk = self.desk(team);
        let roster = desk.roster()?;
        let standing = match desk.shut_down_at()? {
            Some(_) => Standing::Dissolved,
            None => Standing::Live,
        };
        if standing == Standing::Dissolved {
            return Ok(Standings {
                name: team.name.clone(),
                standing,
                work: Work::Done,
                lives: Lives::Single,
                members: Vec::new(),
            });
        }
        let board = desk.tasks()?;
        let work = match !board.tasks.is_empty() && board.all_done() {
            true => Work::Done,
            false => Work::Open,
        };
        Ok(Standings {
            name: team.name.clone(),
            standing,
            work,
            lives: lives(&roster),
            members: self.seated(&desk, &roster)?,
        })
    }

    /// The members that sit in panes, and the leader when its pane is known.
    fn seated(&self, desk: &Desk<'_>, roster: &Team) -> Result<Vec<Seated>, NotDone> {
        let names = roster.workers.iter();
        // A name that another program wrote and that breaks the naming rule has no files here.
        let names = names.filter_map(|member| Name::new(NameKind::Member, &member.name).ok());
        let lives_of_team = lives(roster);
        let mut seated = Vec::new();
        for member in names.chain([Name::leader()]) {
            let Some(seat) = desk.store().view::<PaneSeat>(&member)? else {
                continue;
            };
            let ledger = desk.store().view::<NudgeRecord>(&member);
            // One that cannot be read says of nobody that it is started again.
            let lives = desk.store().view::<LivesRecord>(&member).ok().flatten();
            let due_at = lives.and_then(|record| record.due_at(seat.incarnation));
            seated.push(Seated {
                due_at: due_at.filter(|_| lives_of_team == Lives::Renewed),
                unread: desk.waiting_mail(&member)?.unread,
                // A ledger that cannot be read counts as none, as it does when it is changed.
                injected_at: ledger
                    .ok()
                    .flatten()
                    .and_then(|record| record.0.injected_at),
                member,
                seat,
            });
        }
        Ok(seated)
    }
}

/// Whether members of a team are started again.
fn lives(roster: &Team) -> Lives {
    match roster.respawn().is_on() {
        true => Lives::Renewed,
        false => Lives::Single,
    }
}

fn nothing() -> Shows {
    Shows::Nothing("transport_failed", "nobody looked".to_string())
}

/// Whether a member of a team is gone for certain.
pub(super) fn is_gone(life: Verdict) -> bool {
    matches!(life, Verdict::Gone { .. })
}
