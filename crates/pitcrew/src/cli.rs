//! From the command line to one command and back to an exit status.
//!
//! Every command is one row of a table: a name, one sentence, its arguments and what runs. Arguments are described
//! only for the command that is called, since agents call short commands hundreds of times and pay for every one.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;

use crate::commands;
use crate::context::Context;
use crate::environment::Environment;
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::ui::{Layout, Ui};

/// One command, or a group of them.
pub struct Entry {
    /// The word on the command line.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    args: fn(Command) -> Command,
    run: fn(&ArgMatches, &mut Context<'_>) -> Result<Exit, Halt>,
    group: &'static [Entry],
}

/// What a command does with its arguments.
pub trait Run: Args + FromArgMatches {
    /// Does it. The answer is written through `context.ui`.
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt>;
}

impl Entry {
    /// The row of the command whose arguments are `A`.
    pub const fn new<A: Run>(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            args: A::augment_args,
            run: parse_and_run::<A>,
            group: &[],
        }
    }

    /// The row of a group of commands.
    pub const fn group(name: &'static str, about: &'static str, group: &'static [Entry]) -> Self {
        Self {
            name,
            about,
            args: |command| command,
            run: |_, _| Ok(Exit::Usage),
            group,
        }
    }

    /// The command as clap knows it. What stands below it is described when it is called.
    fn command(&'static self) -> Command {
        let command = Command::new(self.name).about(self.about);
        if self.group.is_empty() {
            return command.defer(self.args);
        }
        let command = command
            .subcommand_required(true)
            .arg_required_else_help(true);
        command.subcommands(self.group.iter().map(Self::command))
    }
}

fn parse_and_run<A: Run>(matches: &ArgMatches, context: &mut Context<'_>) -> Result<Exit, Halt> {
    let args = A::from_arg_matches(matches).map_err(|refused| Halt::Usage(refused.to_string()))?;
    args.run(context)
}

/// The whole command line as clap knows it.
pub fn command() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .global(true)
            .display_order(100)
    };
    Command::new("pitcrew")
        .about("Lets several AI agents work as one team, on plain files and one binary.")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(
            "A first team:  pitcrew run examples/audit.toml\n\
             Exit status:   0 done, 1 refused, 2 usage, 3 failed, 4 timed out, 5 a run with failures, 130 interrupted\n\
             Environment:   PITCREW_ROOT, PITCREW_TEAM, PITCREW_AGENT, PITCREW_TOKEN, NO_COLOR",
        )
        .arg(text("root", "DIR", "The project's root; else it is looked for from here upwards"))
        .arg(text("team", "TEAM", "The team that is meant [env: PITCREW_TEAM]"))
        .arg(text("as", "MEMBER", "Who speaks: a member, or leader [env: PITCREW_AGENT]"))
        .arg(
            Arg::new("json")
                .long("json")
                .help("Answer in JSON on standard output")
                .global(true)
                .action(ArgAction::SetTrue)
                .display_order(101),
        )
        .subcommands(commands::TABLE.iter().map(Entry::command))
}

/// Finds the command that was called and runs it.
pub fn answer(environment: &Environment) -> ExitCode {
    let matches = match command().try_get_matches_from(&environment.args) {
        Ok(matches) => matches,
        Err(refused) => return refuse_usage(environment, &refused),
    };
    let mut ui = Ui::new(environment, matches.get_flag("json"));
    let exit = match find(commands::TABLE, &matches) {
        Some((entry, matches)) => {
            let mut context = Context::new(environment, matches, &mut ui);
            match (entry.run)(matches, &mut context) {
                Ok(exit) => exit,
                Err(halt) => complain(&mut ui, &halt),
            }
        }
        None => Exit::Usage,
    };
    ui.flush();
    ExitCode::from(exit as u8)
}

fn find<'m>(
    table: &'static [Entry],
    matches: &'m ArgMatches,
) -> Option<(&'static Entry, &'m ArgMatches)> {
    let (name, matches) = matches.subcommand()?;
    let entry = table.iter().find(|entry| entry.name == name)?;
    if entry.group.is_empty() {
        Some((entry, matches))
    } else {
        find(entry.group, matches)
    }
}

/// Help and version are answers; anything else that clap says is a usage error.
fn refuse_usage(environment: &Environment, refused: &clap::Error) -> ExitCode {
    let is_answer = matches!(
        refused.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    let wants_json = environment.args.iter().any(|arg| arg == "--json");
    if wants_json && !is_answer {
        let mut ui = Ui::new(environment, true);
        let exit = complain(&mut ui, &Halt::Usage(refused.to_string()));
        ui.flush();
        return ExitCode::from(exit as u8);
    }
    // Clap writes help to standard output and errors to standard error itself.
    let _ = refused.print();
    ExitCode::from(if is_answer {
        Exit::Done as u8
    } else {
        Exit::Usage as u8
    })
}

/// Says why a command ended, in JSON on standard output or in words on standard error.
fn complain(ui: &mut Ui, halt: &Halt) -> Exit {
    let (message, hint) = (halt.message(), hints::hint(halt));
    if ui.json {
        ui.json(
            &failed_answer("error", hints::reference_text(halt), halt),
            Layout::Pretty,
        );
    } else {
        ui.complain(&message, Some(&hint));
    }
    halt.exit()
}

/// The JSON of a request that was not done: the reference's key and text, then ours, then the facts.
pub fn failed_answer(key: &str, text: String, halt: &Halt) -> serde_json::Value {
    let mut answer = json!({ "ok": false, key: text, "code": halt.code() });
    if key != "message" {
        answer["message"] = halt.message().into();
    }
    answer["hint"] = hints::hint(halt).into();
    if let Halt::Refused(refusal) = halt
        && let Ok(serde_json::Value::Object(facts)) = serde_json::to_value(refusal)
    {
        for (name, fact) in facts {
            if answer.get(&name).is_none() {
                answer[name] = fact;
            }
        }
    }
    answer
}
