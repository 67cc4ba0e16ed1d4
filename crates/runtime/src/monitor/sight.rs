//! What one look sees of a project: its teams, their members in panes, and what those panes show.

use pitcrew_core::Name;
use pitcrew_core::liveness::Verdict;
use pitcrew_core::monitor::{Scan, Shows, Sight, TeamSight, Who, Work};
use pitcrew_core::nudge::{Loops as Active, Standing};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_store::{LocalStore, Project, StoreExt};

use super::panes::Panes;
use crate::clock::{Clock, Entropy};
use crate::desk::{Desk, NotDone};
use crate::loops::Loops;
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
    members: Vec<Seated>,
}

/// A member that sits in a pane.
struct Seated {
    member: Name,
    seat: PaneSeat,
    unread: u64,
    injected_at: Option<pitcrew_core::Timestamp>,
}

/// What one look is taken with.
#[derive(Clone, Copy)]
pub(super) struct Looker<'a> {
    pub(super) project: &'a Project,
    pub(super) clock: &'a dyn Clock,
    pub(super) entropy: &'a dyn Entropy,
}

/// Whether a team of `project` is live: not shut down, not done, and with a member in a pane whose process may run.
#[must_use]
pub fn has_live_team(project: &Project, clock: &dyn Clock, entropy: &dyn Entropy) -> bool {
    let looker = Looker {
        project,
        clock,
        entropy,
    };
    let may_run = |seated: &Seated| {
        let presence = seated.seat.pane.process.presence();
        !seated.member.is_leader() && !matches!(presence, Presence::Gone | Presence::Recycled)
    };
    let teams = looker.teams();
    let mut standings = teams.iter().filter_map(|team| looker.standings(team).ok());
    standings.any(|team| {
        team.standing == Standing::Live
            && team.work == Work::Open
            && team.members.iter().any(may_run)
    })
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

    pub(super) fn desk<'t>(&'t self, team: &'t Open) -> Desk<'t> {
        Desk::new(&team.name, &team.store, self.clock, self.entropy)
    }

    /// Everything that is to be known for a decision.
    pub(super) fn scan(&self, panes: &impl Panes) -> Scan {
        let loops = match Loops::of(self.project, self.clock).active().is_empty() {
            true => Active::Inactive,
            false => Active::Active,
        };
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
            };
            TeamSight {
                standing: team.standing,
                work: team.work,
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
            members: self.seated(&desk, &roster)?,
        })
    }

    /// The members that sit in panes, and the leader when its pane is known.
    fn seated(&self, desk: &Desk<'_>, roster: &Team) -> Result<Vec<Seated>, NotDone> {
        let names = roster.workers.iter();
        // A name that another program wrote and that breaks the naming rule has no files here.
        let names = names.filter_map(|member| Name::new(NameKind::Member, &member.name).ok());
        let mut seated = Vec::new();
        for member in names.chain([Name::leader()]) {
            let Some(seat) = desk.store().view::<PaneSeat>(&member)? else {
                continue;
            };
            let ledger = desk.store().view::<NudgeRecord>(&member);
            seated.push(Seated {
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

fn nothing() -> Shows {
    Shows::Nothing("transport_failed", "nobody looked".to_string())
}

/// In words what happened to a process.
pub(super) fn loss_in_words(life: pitcrew_core::liveness::Loss) -> &'static str {
    use pitcrew_core::liveness::Loss;
    match life {
        Loss::Ended => "its process has ended",
        Loss::Recycled => "its process has ended, and another one has its number",
        Loss::Rebooted => "the machine was started again since",
    }
}

/// Whether a member of a team is gone for certain.
pub(super) fn is_gone(life: Verdict) -> bool {
    matches!(life, Verdict::Gone { .. })
}
