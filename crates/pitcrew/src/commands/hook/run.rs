//! `hook run`: what the hooks call. It is quick, says nothing where there is nothing to say, and never breaks a turn.
//!
//! Only the guard refuses (status 2), and only whoever waits beside an idle program ends with 2, which is how that
//! program is told to begin a turn. Whatever else fails is written into the member's own log of hooks.

use pitcrew_runtime::hooks::{Act, Ear, HooksTable, asks};
use pitcrew_runtime::profile::ProfileAbsent;
use serde_json::Value;

use super::wait;
use crate::cli::{Entry, Run};
use crate::commands::body::read_stdin;
use crate::commands::guard;
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::profiles;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Called>("run", "What the hooks themselves call");

/// The log of what went wrong, in the member's folder.
const LOG: &str = "hooks.log";

/// So much of it is kept, in bytes.
const KEPT: u64 = 16 * 1024;

/// What the hooks themselves call
///
/// Reads what the agent CLI tells its hook as JSON on standard input, and answers in the form that this CLI reads. In a
/// session that is no member's it does nothing, except for `guard`.
#[derive(Debug, clap::Args)]
pub(crate) struct Called {
    /// The agent CLI's profile
    #[arg(value_name = "PROFILE")]
    profile: String,
    /// What the hook is for
    #[arg(value_name = "ACT", value_parser = Act::ALL.map(|(word, _)| word))]
    act: String,
}

/// A member whose program has called a hook.
pub(super) struct Caller {
    pub(super) team: OpenTeam,
    pub(super) member: pitcrew_core::Name,
    pub(super) incarnation: u32,
}

impl Run for Called {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let mut acts = Act::ALL.iter();
        let act = acts.find(|(word, _)| *word == self.act);
        let Some((_, act)) = act else {
            return Ok(Exit::Usage);
        };
        if *act == Act::Guard {
            return self.guard(context);
        }
        let environment = context.environment;
        if environment.agent.is_none() || environment.is_headless_turn() {
            return Ok(Exit::Done);
        }
        match self.hear(context, *act) {
            Ok(exit) => Ok(exit),
            Err(why) => {
                log(
                    context,
                    &format!("{} {}: {}", self.profile, self.act, why.message()),
                );
                Ok(Exit::Done)
            }
        }
    }
}

impl Called {
    /// How the program reads what its hooks print.
    fn table(&self, context: &mut Context<'_>) -> Result<HooksTable, Halt> {
        let project = context.project(None)?;
        let loaded = profiles::load(context.environment, project.root());
        let profile = loaded.profiles.get(&self.profile);
        let profile = profile.map_err(|absent: ProfileAbsent| Halt::Usage(absent.to_string()))?;
        let table = profile.hooks().cloned();
        table.ok_or_else(|| Halt::Usage(format!("the profile {} has no hooks", self.profile)))
    }

    fn guard(&self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let Some(refusal) = guard::before_edit(context, &read_stdin()?)? else {
            return Ok(Exit::Done);
        };
        match self.table(context)?.dialect.refuse(&refusal) {
            Some(answer) => {
                context.ui.whole(&format!("{answer}\n"));
                Ok(Exit::Done)
            }
            None => {
                context.ui.say(&refusal);
                Ok(Exit::Usage)
            }
        }
    }

    fn hear(&self, context: &mut Context<'_>, act: Act) -> Result<Exit, Halt> {
        let said: Value = serde_json::from_str(&read_stdin()?).unwrap_or_default();
        if act == Act::Ask && !asks(&said) {
            return Ok(Exit::Done);
        }
        let caller = Caller::of(context)?;
        let ear = Ear {
            desk: caller.team.desk(),
            member: &caller.member,
            incarnation: caller.incarnation,
            profile: &self.profile,
        };
        if act == Act::Wait {
            return wait::wait(context, &caller, &ear);
        }
        let Some(showing) = ear.hear(act)? else {
            return Ok(Exit::Done);
        };
        let table = self.table(context)?;
        let event = said["hook_event_name"]
            .as_str()
            .or_else(|| table.of(act).map(|put| put.on.as_str()));
        let event = event.unwrap_or_default();
        let answer = match showing.goes_on {
            true => table.dialect.go_on(event, &showing.text),
            false => table.dialect.context(event, &showing.text),
        };
        context.ui.whole(&format!("{answer}\n"));
        context.ui.flush();
        // Only what was handed over counts as shown.
        if context.ui.is_open() {
            ear.keep(&showing)?;
        }
        Ok(Exit::Done)
    }
}

impl Caller {
    fn of(context: &mut Context<'_>) -> Result<Self, Halt> {
        let team = context.open_team()?;
        let desk = team.desk();
        let roster = desk.roster()?;
        let member = desk
            .speaker(&roster, &context.credentials(&team.name))?
            .name;
        let row = roster.member(member.as_str());
        Ok(Self {
            incarnation: row.map_or(0, |row| row.incarnation),
            member,
            team,
        })
    }
}

/// Writes down what went wrong, in the member's folder where that is known. Where it cannot be written down it is said.
fn log(context: &mut Context<'_>, why: &str) {
    let written = write(context, why);
    if written.is_err() {
        context.ui.say(why);
    }
}

fn write(context: &mut Context<'_>, why: &str) -> Result<(), Halt> {
    let team = context.open_team()?;
    let desk = team.desk();
    let named = context.environment.agent.clone().unwrap_or_default();
    // The member as it calls itself: its token may be what is wrong.
    let member = desk.roster()?.worker(&named)?;
    let files = team.store.worker(&member);
    let mut text = files.tail(LOG, KEPT)?.unwrap_or_default();
    let line = format!("{} {}\n", desk.now(), why.replace('\n', " "));
    text.extend_from_slice(line.as_bytes());
    files.write(LOG, &text)?;
    Ok(())
}
