//! The first help page: every command under a heading, a first team, the exit statuses and the environment.
//!
//! It is put together only for who asks for it. A newcomer reads it from the top and can follow it.

use std::ffi::OsString;
use std::fmt::Write;

use clap::Command;

use crate::commands::SECTIONS;
use crate::halt::Exit;

const FIRST_TEAM: &str = "\
A first team, by hand:
  pitcrew team init demo --member ann --member bob --task 'Read the README' --task 'List what it leaves out'
  pitcrew --as ann task claim                      take the next task; the answer has its claim token
  pitcrew --as ann send bob 'I have the README'    write to a member, or to leader
  pitcrew --as bob inbox                           read your mail; listing changes nothing
  pitcrew --as ann task done 1 'Two parts: …'      end your task with its result
  pitcrew team status demo                         see how the team stands
";

const ENVIRONMENT: &str = "\
Environment:
  PITCREW_ROOT   the project's root          PITCREW_AGENT  who speaks
  PITCREW_TEAM   the team that is meant      PITCREW_TOKEN  what proves it
  NO_COLOR       no colours
";

/// Whether the command line asks for the first page: nothing at all, or help before any command.
pub(super) fn is_asked_for(args: &[OsString]) -> bool {
    let mut words = args.iter().skip(1);
    match words.next() {
        None => true,
        Some(first) => {
            let is_help = |word: &OsString| word == "--help" || word == "-h" || word == "help";
            is_help(first) || (first.as_encoded_bytes().starts_with(b"-") && words.any(is_help))
        }
    }
}

/// `line` with the page as its help.
pub(super) fn write_into(line: Command) -> Command {
    line.help_template(template())
}

fn template() -> String {
    let mut page = String::from("{about}\n\n{usage-heading} {usage}\n");
    // Writing to a String cannot fail.
    for section in SECTIONS {
        let _ = writeln!(page, "\n{}:", section.heading);
        for entry in section.entries {
            let _ = writeln!(page, "  {:<13} {}", entry.name, entry.about);
        }
    }
    page.push_str("\n{options}\n\n");
    page.push_str(&footer());
    page.push_str("\n`pitcrew <command> --help` describes one command.\n");
    page
}

/// What stands below the commands and options: a first team, the exit statuses and the environment.
pub(crate) fn footer() -> String {
    let mut footer = String::from(FIRST_TEAM);
    footer.push_str("\nExit status:\n");
    for (exit, meaning) in Exit::TABLE {
        let _ = writeln!(footer, "  {:<5} {meaning}", exit as u8);
    }
    footer.push('\n');
    footer.push_str(ENVIRONMENT);
    footer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &[&str]) -> bool {
        let args: Vec<OsString> = line.iter().map(OsString::from).collect();
        is_asked_for(&args)
    }

    #[test]
    fn the_page_is_written_only_for_who_asks_for_it() {
        assert!(asked(&["pitcrew"]) && asked(&["omp", "--help"]) && asked(&["pitcrew", "help"]));
        assert!(asked(&["pitcrew", "--json", "-h"]));
        assert!(!asked(&["pitcrew", "send", "w1", "--help"]));
        assert!(!asked(&["pitcrew", "--as", "w1", "inbox"]));
    }
}
