//! `doctor`: looks at everything that pitcrew stands on, says what it found, and changes nothing.
//!
//! | part | what is looked at |
//! |---|---|
//! | `doctor/project.rs` | the root, the file system under it, the folders' modes |
//! | `doctor/teams.rs` | each team: its document, tasks, mailboxes, and what was left behind |
//! | `doctor/programs.rs` | tmux and the agents' programs |
//! | `doctor/panes.rs` | with `--profiles`: the programs of the pane profiles, against the versions whose screens were seen |

use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::{BAD, FAINT, GOOD, Layout, Ui};

mod panes;
mod programs;
mod project;
mod teams;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Doctor>(
    "doctor",
    "Check this machine, this project and its teams; changes nothing",
);

/// Check this machine, this project and its teams; changes nothing
///
/// Each line is one finding: ✓ is as it should be, · is worth knowing and stops nothing, ✗ needs a hand, and a hint says
/// which. The exit status is 3 when there is a ✗.
#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Only the profiles of agents in panes: is each program installed, and in a version whose screens were seen?
    #[arg(long)]
    profiles: bool,
}

/// How a finding is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Note,
    Bad,
}

/// One finding.
#[derive(Debug)]
struct Finding {
    about: String,
    state: State,
    what: String,
    hint: Option<String>,
}

/// What was found so far.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, state: State, about: &str, what: impl Into<String>, hint: Option<String>) {
        self.0.push(Finding {
            about: about.to_string(),
            state,
            what: what.into(),
            hint,
        });
    }

    fn good(&mut self, about: &str, what: impl Into<String>) {
        self.add(State::Good, about, what, None);
    }

    fn note(&mut self, about: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.add(State::Note, about, what, Some(hint.into()));
    }

    fn bad(&mut self, about: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.add(State::Bad, about, what, Some(hint.into()));
    }

    /// What a command would have said.
    fn halted(&mut self, about: &str, halt: &Halt) {
        let hint = crate::hints::row(halt).hint;
        self.bad(about, halt.message(), hint);
    }
}

impl Run for Doctor {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let mut findings = Findings::default();
        let project = context.project(None)?;
        if self.profiles {
            panes::look(context, &project, &mut findings);
        } else {
            project::look(context, &project, &mut findings);
            teams::look(&project, &mut findings);
            programs::look(context, &project, &mut findings);
        }
        let is_well = findings.0.iter().all(|finding| finding.state != State::Bad);
        if context.ui.json {
            let checks: Vec<Value> = findings.0.iter().map(value_of).collect();
            let answer = json!({ "ok": is_well, "checks": checks });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            findings
                .0
                .iter()
                .for_each(|finding| write(context.ui, finding));
        }
        Ok(if is_well { Exit::Done } else { Exit::Failed })
    }
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Bad => "bad",
        }
    }
}

fn value_of(finding: &Finding) -> Value {
    json!({
        "check": finding.about,
        "state": finding.state.word(),
        "message": finding.what,
        "hint": finding.hint,
    })
}

fn write(ui: &mut Ui, finding: &Finding) {
    let (style, sign) = match finding.state {
        State::Good => (GOOD, "✓"),
        State::Note => (FAINT, "·"),
        State::Bad => (BAD, "✗"),
    };
    let sign = ui.styled(style, sign);
    let text = format!("{}: {}", finding.about, finding.what);
    ui.raw(sign.as_bytes());
    ui.raw(b" ");
    ui.text(&text);
    if let Some(hint) = &finding.hint {
        ui.text(&format!("    {hint}"));
    }
}
