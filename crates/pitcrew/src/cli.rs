//! From the command line to one command and back to an exit status.
//!
//! Every command is one row of a table: a name, one sentence, its arguments and what runs. Arguments are described
//! only for the command that is called, and the help page is written only for who asks for it, since agents call short
//! commands hundreds of times and pay for every one.
//!
//! Nothing depends on the program's own name: it answers as `omp` too.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};

use crate::commands;
use crate::commands::loops;
use crate::commands::team::api;
use crate::commands::team::start::is_crew_word;
use crate::context::{Context, UNSAID};
use crate::environment::Environment;
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::ui::{Layout, Ui};

pub(crate) mod page;

/// One command, or a group of them.
pub(crate) struct Entry {
    /// The word on the command line.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    args: fn(Command) -> Command,
    run: fn(&ArgMatches, &mut Context<'_>) -> Result<Exit, Halt>,
    group: &'static [Entry],
}

/// What a command does with its arguments.
pub(crate) trait Run: Args + FromArgMatches {
    /// Does it. The answer is written through `context.ui`.
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt>;
}

impl Entry {
    /// The row of the command whose arguments are `A`.
    pub(crate) const fn new<A: Run>(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            args: A::augment_args,
            run: parse_and_run::<A>,
            group: &[],
        }
    }

    /// The row of a group of commands.
    pub(crate) const fn group(
        name: &'static str,
        about: &'static str,
        group: &'static [Entry],
    ) -> Self {
        Self {
            name,
            about,
            args: |command| command,
            run: |_, _| Ok(Exit::Usage),
            group,
        }
    }

    /// The commands of a group.
    #[cfg(test)]
    pub(crate) fn below(&self) -> &'static [Entry] {
        self.group
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
pub(crate) fn command() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .help_heading(EVERYWHERE)
            .global(true)
    };
    Command::new("pitcrew")
        .about("Lets several AI agents work as one team, on plain files and one binary.")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(
            text(
                "root",
                "DIR",
                "The project's root [env: PITCREW_ROOT]; else it is looked for from here upwards",
            )
            .value_parser(clap::value_parser!(PathBuf)),
        )
        .arg(text(
            "team",
            "TEAM",
            "The team that is meant [env: PITCREW_TEAM]; else the project's only one",
        ))
        .arg(text(
            "as",
            "MEMBER",
            "Who speaks: a member, or leader [env: PITCREW_AGENT]",
        ))
        .arg(
            Arg::new("json")
                .long("json")
                .help("Answer in JSON on standard output")
                .help_heading(EVERYWHERE)
                .global(true)
                .action(ArgAction::SetTrue),
        )
        .subcommands(commands::table().map(Entry::command))
}

const EVERYWHERE: &str = "Everywhere";

/// Finds the command that was called and runs it.
pub(crate) fn answer(environment: &Environment) -> ExitCode {
    let mut line = command();
    if page::is_asked_for(&environment.args) {
        line = page::write_into(line);
    }
    let matches = match line.try_get_matches_from(words(&environment.args)) {
        Ok(matches) => matches,
        Err(refused) => return refuse_usage(environment, &refused),
    };
    let mut ui = Ui::new(environment, matches.get_flag("json"));
    let exit = match find(&matches) {
        Some((entry, own)) => {
            let mut context = Context::new(environment, own, &mut ui);
            let done = readable(environment).and_then(|()| (entry.run)(own, &mut context));
            done.unwrap_or_else(|halt| {
                let halt = context.explain(halt);
                complain(context.ui, key_of(&matches), &halt)
            })
        }
        None => Exit::Usage,
    };
    for undone in UNSAID.take_undone() {
        ui.say(&format!("what was done stands, but {undone}"));
    }
    if let Some(lost) = UNSAID.take() {
        let words = format!(
            "what was done stands, but {} events about it could not be written: {}",
            lost.events, lost.why
        );
        ui.say(&words);
    }
    ExitCode::from(ui.finish(exit) as u8)
}

/// Refuses an environment that says who is meant in bytes that are no text.
fn readable(environment: &Environment) -> Result<(), Halt> {
    match environment.unreadable {
        None => Ok(()),
        Some(name) => Err(Halt::Input {
            what: name.to_string(),
            why: "not UTF-8; unset it or give it a name".to_string(),
        }),
    }
}

/// The command line with the word that `team 2:claude …` leaves out.
pub(crate) fn words(args: &[OsString]) -> Vec<OsString> {
    let mut words = args.to_vec();
    let text = |at: usize| {
        args.get(at)
            .and_then(|word| word.to_str())
            .unwrap_or_default()
    };
    let mut at = 1;
    let mut seen_team = false;
    while at < args.len() {
        match text(at) {
            "--root" | "--team" | "--as" | "--name" | "--tasks" => at += 2,
            "--" => break,
            word if word.starts_with('-') => at += 1,
            "team" if !seen_team => {
                seen_team = true;
                at += 1;
            }
            word if seen_team && is_crew_word(word) => {
                words.insert(at, "start".into());
                break;
            }
            _ => break,
        }
    }
    words
}

fn find(matches: &ArgMatches) -> Option<(&'static Entry, &ArgMatches)> {
    let (name, mut matches) = matches.subcommand()?;
    let mut entry = commands::table().find(|entry| entry.name == name)?;
    while !entry.group.is_empty() {
        let (name, below) = matches.subcommand()?;
        entry = entry.group.iter().find(|entry| entry.name == name)?;
        matches = below;
    }
    Some((entry, matches))
}

/// Help and version are answers; anything else that clap says is a usage error.
fn refuse_usage(environment: &Environment, refused: &clap::Error) -> ExitCode {
    let is_answer = matches!(
        refused.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if is_answer {
        // Clap writes to standard output itself, past the rest of what is written here.
        let written = refused
            .print()
            .and_then(|()| std::io::Write::flush(&mut std::io::stdout()));
        let exit = match written {
            Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => {
                Ui::new(environment, false)
                    .complain(&format!("cannot write the answer: {}", why.kind()), None);
                Exit::Failed
            }
            _ => Exit::Done,
        };
        return ExitCode::from(exit as u8);
    }
    let words = environment.args.iter().skip(1).map(|arg| arg.to_str());
    let words: Vec<&str> = words
        .map(Option::unwrap_or_default)
        .take_while(|arg| *arg != "--")
        .collect();
    let mut ui = Ui::new(environment, words.contains(&"--json"));
    let said = refused.render().to_string();
    let said = said.trim();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let exit = if api::is_meant(&words) {
        api::misunderstood(&mut ui, said)
    } else if let Some(mode) = loops::meant(&words).filter(|_| is_no_request(refused.kind())) {
        loops::misunderstood(&mut ui, mode)
    } else if ui.json {
        complain(&mut ui, "message", &Halt::Usage(said.to_string()))
    } else if refused.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = refused.print();
        Exit::Usage
    } else {
        // What was typed stands in it, so it goes the way of everything that others wrote.
        ui.complain(said, None);
        Exit::Usage
    };
    ExitCode::from(ui.finish(exit) as u8)
}

/// Whether a word is missing that says what is to be done, or is none that does.
fn is_no_request(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::InvalidSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// The key under which the reference's text stands when the command that was called is not done.
fn key_of(matches: &ArgMatches) -> &'static str {
    let called = matches.subcommand_name().unwrap_or_default();
    let mut sections = commands::SECTIONS.iter();
    let section = sections.find(|section| section.entries.iter().any(|entry| entry.name == called));
    section.map_or("message", |section| section.key)
}

/// Says why a command ended, in JSON on standard output or in words on standard error. `key` is the one for what was
/// understood and not done.
fn complain(ui: &mut Ui, key: &str, halt: &Halt) -> Exit {
    let row = hints::row(halt);
    if ui.json {
        let key = match halt {
            Halt::Usage(_) | Halt::Input { .. } => "message",
            _ => key,
        };
        ui.json(&failed_answer(key, None, halt), Layout::Pretty);
    } else {
        ui.complain(&halt.message(), Some(&row.hint));
    }
    row.exit
}

/// The JSON of what was not done: the reference's key and text, then our code, message and hint, then the facts.
/// `text` stands in for the text of the table, where one request of the reference has words of its own.
pub(crate) fn failed_answer(key: &str, text: Option<String>, halt: &Halt) -> Value {
    let row = hints::row(halt);
    let text = match key {
        "message" => halt.message(),
        _ => text.unwrap_or(row.reference),
    };
    let mut answer = json!({ "ok": false, key: text, "code": halt.code() });
    if key != "message" {
        answer["message"] = halt.message().into();
    }
    answer["hint"] = row.hint.into();
    if let Halt::Refused(refusal) = halt
        && let Ok(Value::Object(facts)) = serde_json::to_value(refusal)
    {
        for (name, fact) in facts {
            if answer.get(&name).is_none() {
                answer[name] = fact;
            }
        }
    }
    answer
}
