//! Whether every text can be what it is to become: an argument, a variable, a prompt.
//!
//! No program can be handed a NUL character, and no single argument of 128 KiB; a task with one would fail in the run,
//! after the team was founded.

use super::super::raw::{RawFile, Text};
use super::Checker;

/// The longest argument or variable that Linux hands to a program, in bytes, without the NUL at its end.
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

const NUL: &str = "holds a NUL character, which no program can be handed";

impl Checker<'_> {
    /// Looks at every text of the file.
    pub(super) fn words(&mut self, file: &RawFile) {
        self.plain("goal", &file.goal);
        for member in &file.members {
            self.plain("members.prompt", &member.prompt);
            for (key, text) in [
                ("members.model", &member.model),
                ("members.role", &member.role),
                ("members.folder", &member.folder),
            ] {
                text.iter().for_each(|text| self.without_nul(key, text));
            }
            for argument in &member.args {
                self.argument("members.args", argument, 0);
            }
            if let Some(script) = &member.on_mail {
                self.argument("members.on_mail", script, 0);
            }
            for (name, value) in &member.env {
                let key = format!("members.env.{}", name.get_ref());
                // It is handed over as `NAME=value`.
                self.argument(&key, value, name.get_ref().len() + 1);
            }
        }
        for task in &file.tasks {
            self.without_nul("tasks.description", &task.description);
            if let Some(script) = &task.script {
                self.argument("tasks.script", script, 0);
            }
        }
    }

    /// A text whose place in the file is not known.
    fn plain(&mut self, key: &str, text: &str) {
        if text.contains('\0') {
            let word = key.rsplit('.').next().unwrap_or(key);
            let at = self.text.find(word).unwrap_or(0);
            self.problem(at, key, NUL);
        }
    }

    fn without_nul(&mut self, key: &str, text: &Text) {
        if text.get_ref().contains('\0') {
            self.at(text, key, NUL);
        }
    }

    fn argument(&mut self, key: &str, text: &Text, beside: usize) {
        self.without_nul(key, text);
        let length = text.get_ref().len() + beside;
        if length > LONGEST_ARGUMENT {
            let why = format!(
                "has {length} bytes, and no program can be handed more than {LONGEST_ARGUMENT} in one piece; put it \
                 into a file of the project"
            );
            self.at(text, key, why);
        }
    }
}
