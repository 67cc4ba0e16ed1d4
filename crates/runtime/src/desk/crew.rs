//! Founding a team and changing who is in it.

use pitcrew_core::claim::EndCause;
use pitcrew_core::event::Fact;
use pitcrew_core::identity::hash_token;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Member, Recruit, Settings, Team};
use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_store::documents::Shutdown;
use pitcrew_store::{Reach, StoreExt};

use super::board::TaskBoard;
use super::planning::{TaskPlan, added};
use super::{Desk, NotDone};

/// What a new team is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Founding {
    /// What the team is for.
    pub goal: String,
    /// The role of members that have no other.
    pub role: String,
    /// The name for people.
    pub team_name: Option<String>,
    /// The project that the team works on.
    pub cwd: String,
    /// Limits and manners.
    pub settings: Option<Settings>,
}

/// A team with its members and tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The team.
    pub founding: Founding,
    /// Its members, in order.
    pub members: Vec<Recruit>,
    /// Its tasks.
    pub tasks: Vec<TaskPlan>,
}

/// A plan that every rule has agreed to, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blueprint {
    /// The team with its members.
    pub team: Team,
    /// Its tasks, in the order of the plan.
    pub tasks: Vec<(TaskId, Task)>,
}

/// A member that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// As it stood in the roster.
    pub member: Member,
    /// The tasks that it had, which are pending again.
    pub tasks: Vec<String>,
}

impl Desk<'_> {
    /// Decides what `plan` becomes, without writing anything.
    ///
    /// # Errors
    /// `member_exists`, `invalid_name`, and as [`Desk::add_tasks`] says.
    pub fn draw_up(&self, plan: &Plan) -> Result<Blueprint, NotDone> {
        let founding = &plan.founding;
        let mut team = Team::new(
            self.team,
            &founding.goal,
            &founding.role,
            &founding.cwd,
            self.now(),
        );
        team.team_name.clone_from(&founding.team_name);
        team.settings.clone_from(&founding.settings);
        for member in &plan.members {
            team.add(member.clone())?;
        }
        let tasks = self.lay_out(&team, &TaskBoard::default(), &plan.tasks)?;
        Ok(Blueprint { team, tasks })
    }

    /// Tells whoever follows that a team was made, with its tasks, by whoever made its place in one step.
    pub fn tell_founded(&self, blueprint: &Blueprint) {
        let mut members = blueprint.team.everybody();
        members.retain(|name| !name.is_leader());
        let founded = Fact::TeamFounded {
            members,
            tasks: blueprint.tasks.len() as u64,
        };
        let tasks = blueprint.tasks.iter().map(added);
        self.announce(&std::iter::once(founded).chain(tasks).collect::<Vec<_>>());
    }

    /// Founds the team in a store that is its own already: whole, or not at all when a member or a task cannot be. The
    /// team document is written in one step and before the tasks, so of several founders at once one wins. Where a
    /// project makes the team's place with everything in it in one step, [`Desk::draw_up`] says what that is.
    ///
    /// # Errors
    /// `team_exists`, and as [`Desk::draw_up`] says.
    pub fn found(&self, plan: &Plan) -> Result<Team, NotDone> {
        let blueprint = self.draw_up(plan)?;
        let team = &blueprint.team;
        self.store
            .update::<Team, (), Refusal>(&(), |slot| match slot {
                Some(there) => Err(Refusal::TeamExists {
                    team: there.name.clone(),
                }),
                None => {
                    *slot = Some(team.clone());
                    Ok(())
                }
            })??;
        self.write_tasks(blueprint.tasks.clone())
            .map_err(|unwritten| unwritten.why)?;
        self.tell_founded(&blueprint);
        Ok(blueprint.team)
    }

    /// Adds a member.
    ///
    /// # Errors
    /// As [`Team::add`] says, and `shut_down`.
    pub fn add_member(&self, recruit: &Recruit) -> Result<Team, NotDone> {
        self.takes_work()?;
        let team = self.change_roster(|team| team.add(recruit.clone()).map(|()| team.clone()))?;
        let member = recruit.name.clone();
        self.announce(&[Fact::MemberAdded { member }]);
        Ok(team)
    }

    /// Removes a member; its mailbox stays readable and takes no more mail. Its claims and reservations end with it, and
    /// the tasks that it has are pending again.
    ///
    /// # Errors
    /// As [`Team::remove`] says, and as [`Desk::end_member`] does; then the member is gone, and what it held ends by
    /// its own deadline, tasks on the leader's word.
    pub fn remove_member(&self, name: &str) -> Result<Removed, NotDone> {
        let now = self.now();
        let member = self.change_roster(|team| team.remove(name, now))?;
        // A name that another program wrote and that breaks the naming rule never held anything.
        if let Ok(name) = Name::new(NameKind::Member, &member.name) {
            let member = name.clone();
            self.announce(&[Fact::MemberRemoved { member }]);
            self.note_gone(&name);
            self.end_member(&name, EndCause::Dissolved)?;
        }
        let tasks = self.give_back_tasks(&member.name)?;
        Ok(Removed { member, tasks })
    }

    /// Puts back what `owner`, who is gone, has; answers which tasks that were.
    fn give_back_tasks(&self, owner: &str) -> Result<Vec<String>, NotDone> {
        let mut given_back = Vec::new();
        for task in self.tasks()?.tasks {
            let is_held = task.status == Status::InProgress;
            if !is_held || task.owner.as_deref() != Some(owner) {
                continue;
            }
            match self.take_back(&TaskId::new(&task.id)?, task.claim_token.as_deref()) {
                Ok(task) => given_back.push(task.id),
                // It ended or was taken over since it was looked at.
                Err(NotDone::Refused(_)) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(given_back)
    }

    /// Starts a new incarnation of a member and answers its token with the incarnation. The token is not kept
    /// anywhere, only its hash.
    ///
    /// # Errors
    /// `unknown_member`.
    pub fn issue_token(&self, name: &str) -> Result<(String, u32), NotDone> {
        let mut bytes = [0; 32];
        self.entropy.fill(&mut bytes)?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let hash = hash_token(&token);
        let incarnation = self.change_roster(|team| team.incarnate(name, hash.clone()))?;
        if let Ok(member) = Name::new(NameKind::Member, name) {
            self.announce(&[Fact::TokenIssued {
                member,
                incarnation,
            }]);
        }
        Ok((token, incarnation))
    }

    /// Ends a member's token: what still has it can speak for nobody any more.
    ///
    /// # Errors
    /// `unknown_member`.
    pub fn retire_token(&self, name: &str) -> Result<(), NotDone> {
        self.change_roster(|team| team.retire_token(name))
    }

    pub(crate) fn change_roster<A>(
        &self,
        mut step: impl FnMut(&mut Team) -> Result<A, Refusal>,
    ) -> Result<A, NotDone> {
        let changed = self
            .store
            .update::<Team, A, Refusal>(&(), |slot| match slot {
                Some(team) => step(team),
                None => Err(Refusal::TeamNotFound {
                    given: self.team.to_string(),
                    valid: Vec::new(),
                    nearest: None,
                }),
            })?;
        Ok(changed?)
    }

    /// When the team was shut down, if it was.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn shut_down_at(&self) -> Result<Option<String>, NotDone> {
        Ok(self
            .store
            .view::<Shutdown>(&())?
            .map(|shutdown| shutdown.shutdown_at))
    }

    /// Marks the team as shut down, and ends what its members hold. Its files stay readable. Again, the time of the
    /// first end stays.
    ///
    /// From then on the team takes no new work: no task is added, claimed or put back, no lines are claimed, nothing is
    /// set aside of a budget, no member is added. What was begun can be ended, and mail and findings go on, so that
    /// whoever ends something can say so. A run that goes on with the team takes the mark away.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn mark_shut_down(&self) -> Result<(), NotDone> {
        // What could not be ended is found before anything is written.
        self.claims()?;
        self.with_reservations()?;
        self.make_up(Reach::Everywhere);
        let shutdown = Shutdown {
            shutdown_at: self.now().to_string(),
        };
        let was_open = self.store.update::<Shutdown, bool, Refusal>(&(), |slot| {
            let was_open = slot.is_none();
            slot.get_or_insert_with(|| shutdown.clone());
            Ok(was_open)
        })??;
        if was_open {
            self.announce(&[Fact::TeamShutDown {}]);
        }
        self.end_everybody()
    }
}
