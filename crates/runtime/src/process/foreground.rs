//! Who is in the foreground of a terminal: a shell that waits for commands, or a program.
//!
//! A wrapper script is a process called `sh` too, so the name alone tells nothing: a shell that was given a script or a
//! command runs a program, a shell that was given neither waits for somebody to type.

use super::table::{Entry, Table};

/// What runs in the foreground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// A shell at its prompt.
    Shell,
    /// Anything else.
    Program,
    /// There is no evidence.
    CannotTell,
}

/// The shells' names.
const SHELLS: [&str; 9] = [
    "bash", "sh", "dash", "zsh", "ksh", "mksh", "fish", "ash", "tcsh",
];

/// Looks who is in the foreground of the terminal of `pid`; `command` is the name that tmux has for it.
pub(crate) fn front(pid: u32, command: &str) -> Front {
    if !is_shell(command.as_bytes()) {
        return Front::Program;
    }
    front_in(&Table::default(), pid)
}

fn front_in(table: &Table, pid: u32) -> Front {
    let Entry::Found(stat) = table.entry(pid) else {
        return Front::CannotTell;
    };
    let Ok(leader) = u32::try_from(stat.foreground) else {
        return Front::CannotTell;
    };
    match table.command_line(leader) {
        Ok(words) if words.iter().all(Vec::is_empty) => Front::CannotTell,
        Ok(words) if waits(&words) => Front::Shell,
        Ok(_) => Front::Program,
        Err(_) => Front::CannotTell,
    }
}

fn is_shell(word: &[u8]) -> bool {
    let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or(word);
    let name = name.strip_prefix(b"-").unwrap_or(name);
    SHELLS.iter().any(|shell| shell.as_bytes() == name)
}

/// Whether this command line is a shell that was given nothing to run.
fn waits(words: &[Vec<u8>]) -> bool {
    let Some((shell, rest)) = words.split_first() else {
        return false;
    };
    if !is_shell(shell) {
        return false;
    }
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        match word.as_slice() {
            b"--rcfile" | b"--init-file" | b"-o" | b"+o" | b"-O" | b"+O" => {
                let _ = rest.next();
            }
            b"-c" => return false,
            long if long.starts_with(b"--") => {}
            short if short.starts_with(b"-") || short.starts_with(b"+") => {
                if short.contains(&b'c') {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Vec<u8>> {
        line.split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect()
    }

    #[test]
    fn a_shell_without_anything_to_run_waits() {
        for line in [
            "bash",
            "-bash",
            "/bin/sh",
            "bash --norc -i",
            "bash --rcfile /x/rc",
            "zsh -l",
            "sh +o history",
        ] {
            assert!(waits(&words(line)), "{line}");
        }
    }

    #[test]
    fn a_shell_with_a_script_or_a_command_is_a_program() {
        for line in [
            "sh /opt/agent/run",
            "bash -c agent",
            "bash -lc agent",
            "sh -e ./agent",
            "node agent",
        ] {
            assert!(!waits(&words(line)), "{line}");
        }
    }

    #[test]
    fn what_is_no_shell_by_name_is_a_program_and_a_lost_process_tells_nothing() {
        assert_eq!(front(u32::MAX, "node"), Front::Program);
        assert_eq!(front(u32::MAX, "bash"), Front::CannotTell);
    }
}
