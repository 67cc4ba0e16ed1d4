//! A shell's prompt: the cursor behind the last prompt on the screen, with a command half typed or none.
//!
//! A prompt is told by its end (`$`, `#`, `%`) and by its shape: no blanks but those of `(venv)` groups in front and of
//! a bracketed whole. A question of a program that happens to end the same way has blanks and is not taken for one.

use super::facts::Facts;
use super::fold::is_blank;
use super::signature::ShellLook;
use alloc::string::String;
use alloc::vec::Vec;

/// The most rows that a command is followed over.
const MOST_ROWS: usize = 20;

/// What stands at a shell's prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Prompt {
    /// Nothing.
    Empty,
    /// A command that was not sent yet.
    Draft(String),
}

impl ShellLook {
    /// Whether the process in the foreground is a shell.
    pub(super) fn runs(&self, facts: &Facts) -> Option<bool> {
        let command = facts.command.as_ref()?;
        Some(self.shells.iter().any(|shell| shell == command))
    }

    /// Reads the prompt at the cursor; `None` when there is none. A command that fills its row goes on in the next, so
    /// rows above are taken in as long as they are full and no prompt was found.
    pub(super) fn read(&self, facts: &Facts) -> Option<Prompt> {
        let cursor = facts.cursor?;
        let (x, y) = (usize::from(cursor.x), usize::from(cursor.y));
        let below = facts.rows.get(y + 1..)?;
        if below.iter().any(|row| !row.text.chars().all(is_blank)) {
            return None;
        }
        let columns = facts.columns();
        let mut signs: Vec<char> = Vec::new();
        for (above, row) in facts.rows[..=y].iter().rev().enumerate() {
            let mut row: Vec<char> = row.text.chars().collect();
            let full = row.len() >= columns && columns > 0;
            match above {
                0 if row.len() < x => row.resize(x, ' '),
                0 => {}
                _ if !full || above > MOST_ROWS => return None,
                _ => {}
            }
            row.append(&mut signs);
            signs = row;
            let typed = x + above * columns;
            if let Some(prompt) = self.read_line(&signs, typed) {
                return Some(prompt);
            }
        }
        None
    }

    /// Reads a line with a prompt and the cursor at `x`.
    fn read_line(&self, signs: &[char], x: usize) -> Option<Prompt> {
        if signs.starts_with(&['>', ' ']) && x >= 2 {
            return Some(Prompt::Draft(signs[2..].iter().collect()));
        }
        let end = (0..signs.len()).find(|at| self.ends_prompt(signs, *at))?;
        let typed = end + 2;
        if x < typed {
            return None;
        }
        let text: String = signs[typed..].iter().collect();
        if text.chars().all(is_blank) && x == typed {
            Some(Prompt::Empty)
        } else {
            Some(Prompt::Draft(text))
        }
    }

    /// Whether a prompt ends with the sign at `at`.
    fn ends_prompt(&self, signs: &[char], at: usize) -> bool {
        let mut buffer = [0; 4];
        let sign: &str = signs[at].encode_utf8(&mut buffer);
        self.ends.iter().any(|end| end == sign)
            && signs.get(at + 1).is_some_and(|next| *next == ' ')
            && is_prompt_head(&signs[..at])
    }
}

/// Whether `head` can stand before the end of a prompt.
fn is_prompt_head(mut head: &[char]) -> bool {
    while head.first() == Some(&'(') {
        let Some(close) = head.iter().position(|sign| *sign == ')') else {
            return false;
        };
        if head[..close].contains(&' ') || head.get(close + 1) != Some(&' ') {
            return false;
        }
        head = &head[close + 2..];
    }
    let bracketed = head.first() == Some(&'[') && head.last() == Some(&']');
    let blanks = head.iter().filter(|sign| is_blank(**sign)).count();
    blanks == 0 || (bracketed && blanks == 1)
}
