//! Hooks of agent CLIs: a member is shown its mail inside its own program, and its program tells what it does.
//!
//! | file | does |
//! |---|---|
//! | `hooks/table.rs` | where a CLI keeps its hooks and what stands there: the table `[hooks]` of a profile |
//! | `hooks/install.rs` | puts them into its settings beside what is there, and takes them out again |
//! | `hooks/ear.rs` | what is done when a hook is called: [`Ear`] |
//! | `hooks/page.rs` | the text that a hook shows |
//! | `hooks/record.rs` | what a member's hooks have told and shown |
//!
//! What always holds: mail that a hook has shown is acknowledged when the turn that had it in its input has ended by
//! itself, and not before; no message forces a second turn; what is written to a program is the one form that it reads.
//!
//! Not here: the rules (core's `hook`), files of settings (store), and printing.

use serde::Deserialize;
use serde_json::{Value, json};

mod ear;
mod install;
mod page;
mod record;
mod table;

pub use ear::{Ear, Showing, Wait};
pub use install::{
    HooksError, Installed, PutIn, TakenOut, installed, put_in, take_out, with_hooks,
};
pub use record::{HookRecord, is_waiting, told};
pub use table::{HookPut, HooksTable, UserFile};

/// What a hook is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A session begins.
    Begin,
    /// A turn begins: mail and findings are shown.
    Prompt,
    /// A tool was used, so that nothing is asked any more.
    Work,
    /// The program asks its user.
    Ask,
    /// A turn ends: new mail makes it go on.
    End,
    /// Beside an idle program: ends when there is mail, which begins a turn.
    Wait,
    /// The session is over.
    Leave,
    /// Before an edit: lines that others hold.
    Guard,
}

impl Act {
    /// Every one, with its word on the command line.
    pub const ALL: [(&'static str, Self); 8] = [
        ("begin", Self::Begin),
        ("prompt", Self::Prompt),
        ("work", Self::Work),
        ("ask", Self::Ask),
        ("end", Self::End),
        ("wait", Self::Wait),
        ("leave", Self::Leave),
        ("guard", Self::Guard),
    ];

    /// Its word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        let row = Self::ALL.iter().find(|(_, act)| *act == self);
        row.map_or("", |(word, _)| word)
    }
}

/// The form in which a program reads what its hooks print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `hookSpecificOutput.additionalContext`, by which a turn goes on too. Claude Code.
    Plain,
    /// `hookSpecificOutput.additionalContext`; a turn goes on by `block`. Codex.
    Nested,
    /// The same, but a turn goes on by `deny`. Gemini CLI.
    NestedDeny,
    /// `additionalContext` at the top; a turn goes on by `block`. Copilot CLI.
    Flat,
}

impl Dialect {
    /// What is printed so that `text` stands in the input of the turn that `event` begins.
    #[must_use]
    pub fn context(self, event: &str, text: &str) -> Value {
        match self {
            Self::Plain | Self::Nested | Self::NestedDeny => json!({
                "hookSpecificOutput": { "hookEventName": event, "additionalContext": text },
            }),
            Self::Flat => json!({ "additionalContext": text }),
        }
    }

    /// What is printed so that the turn that `event` would end goes on with `text`.
    #[must_use]
    pub fn go_on(self, event: &str, text: &str) -> Value {
        let decision = match self {
            Self::Plain => return self.context(event, text),
            Self::Nested | Self::Flat => "block",
            Self::NestedDeny => "deny",
        };
        json!({ "decision": decision, "reason": text })
    }

    /// What is printed so that a tool is not used, for `reason`. `None` where the program takes status 2 and the reason on
    /// standard error.
    #[must_use]
    pub fn refuse(self, reason: &str) -> Option<Value> {
        match self {
            Self::Plain | Self::Nested | Self::NestedDeny => None,
            // Status 2 refuses too, and keeps the reason from the model.
            Self::Flat => Some(json!({
                "permissionDecision": "deny", "permissionDecisionReason": reason,
            })),
        }
    }
}

/// Whether what a program tells a hook of [`Act::Ask`] is a question: some tell of other things by the same event.
#[must_use]
pub fn asks(said: &Value) -> bool {
    let kind = ["notification_type", "notificationType"]
        .iter()
        .find_map(|key| said[*key].as_str());
    kind.is_none_or(|kind| {
        let kind = kind.to_ascii_lowercase();
        ["permission", "elicitation", "input"]
            .iter()
            .any(|word| kind.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_given_the_form_that_it_reads() {
        assert_eq!(
            Dialect::Nested.context("UserPromptSubmit", "hi"),
            json!({"hookSpecificOutput": {
                "hookEventName": "UserPromptSubmit",
                "additionalContext": "hi",
            }})
        );
        assert_eq!(
            Dialect::Flat.context("x", "hi").to_string(),
            r#"{"additionalContext":"hi"}"#
        );
        assert_eq!(
            Dialect::NestedDeny.go_on("AfterAgent", "hi").to_string(),
            r#"{"decision":"deny","reason":"hi"}"#
        );
        assert_eq!(
            Dialect::Plain.go_on("Stop", "hi"),
            Dialect::Plain.context("Stop", "hi")
        );
        assert_eq!(Dialect::Flat.go_on("agentStop", "hi")["decision"], "block");
    }

    #[test]
    fn only_a_question_is_taken_for_one() {
        let told = |kind: &str| asks(&json!({ "notification_type": kind }));
        assert!(told("permission_prompt") && told("ToolPermission") && asks(&json!({})));
        assert!(!told("idle_prompt") && !told("agent_completed"));
    }
}
