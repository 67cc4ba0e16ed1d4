//! What to run for one turn.
//!
//! [`Profile::plan_turn`] is pure: it names a program, its arguments, what goes to its standard input, which files
//! must be written before it starts, and its environment. What the system would not take (an argument that is too
//! long, a NUL) is refused here, with the way out, and not by a process that cannot be started.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::file::{ProbeTable, Via};
use super::template::{Argument, Slot};
use super::{EnvRules, Profile};
use crate::process::Input;

/// The longest argument that Linux takes, in bytes: 32 pages with the closing NUL.
const MAX_ARGUMENT: usize = 131_071;

/// How many bytes of a version's output are looked at.
const VERSION_OUTPUT: usize = 4_096;

/// Which session a turn belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionPlan<'a> {
    /// A new one. Some CLIs take an id for it: a UUID that was never used before, so that even a turn that is killed
    /// at once can be gone on with.
    Fresh {
        /// The id.
        id: &'a str,
    },
    /// One that a turn before reported.
    Resume {
        /// The id.
        id: &'a str,
    },
}

/// Which tools the CLI may use without asking. In a headless turn nobody can be asked, so anything else is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolGrant {
    /// What the CLI allows by itself.
    None,
    /// The team's own commands as well, where the CLI can tell them apart: mail and tasks, not `run`.
    #[default]
    Team,
    /// What the CLI offers. Only when the user said so (`allow_tools = true` in the team file).
    All,
}

/// What a turn is about.
#[derive(Debug, Clone, Copy)]
pub struct TurnInput<'a> {
    /// The prompt. Never empty: every CLI refuses an empty one.
    pub prompt: &'a str,
    /// Which session it belongs to.
    pub session: SessionPlan<'a>,
    /// Which tools it may use.
    pub tools: ToolGrant,
    /// Arguments that the team file adds.
    pub args: &'a [String],
    /// The script of a profile that [takes one](Profile::takes_script).
    pub script: Option<&'a str>,
    /// A private folder of this turn, for the prompt's file and the answer's.
    pub folder: &'a Path,
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPlan {
    /// The binary: a name to look up on PATH, or an absolute path.
    pub program: String,
    /// Its arguments, without itself.
    pub args: Vec<OsString>,
    /// What it reads on standard input.
    pub stdin: Input,
    /// Files to write before it starts.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The file that it writes its answer to; to be handed to [`read_turn`](Profile::read_turn).
    pub answer_file: Option<PathBuf>,
    /// Its environment.
    pub env: EnvRules,
    /// The session that the turn will be in, where that is known before it starts.
    pub session: Option<String>,
    /// How long it may take, in milliseconds, unless the team file says otherwise.
    pub time_limit_ms: i64,
}

impl TurnPlan {
    /// The name of the [answer file](Self::answer_file) in the turn's folder.
    #[must_use]
    pub fn answer_name(&self) -> Option<&str> {
        self.answer_file.as_ref()?.file_name()?.to_str()
    }
}

/// Why a turn cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The system would not take an argument of that length.
    #[error(
        "{what} makes an argument of {bytes} bytes, and the system takes {MAX_ARGUMENT}; a profile with \
         `turn.prompt = \"stdin\"` or \"file\" takes a prompt of any length, and a long script can call a file"
    )]
    ArgumentTooLong {
        /// What made it long.
        what: String,
        /// Its length.
        bytes: usize,
    },
    /// The system ends an argument at a NUL.
    #[error("{what} holds a NUL character, which no argument can hold")]
    Nul {
        /// What holds it.
        what: String,
    },
    /// The profile runs a script, and there is none.
    #[error("the profile `{profile}` runs a script, and the task has none")]
    NoScript {
        /// The profile.
        profile: String,
    },
    /// The profile has no way to go on with a session.
    #[error("the profile `{profile}` cannot go on with a session")]
    CannotResume {
        /// The profile.
        profile: String,
    },
}

impl Profile {
    /// What to run for the turn that `input` describes.
    ///
    /// # Errors
    /// [`PlanError`]; nothing is to be started then.
    pub fn plan_turn(&self, input: &TurnInput<'_>) -> Result<TurnPlan, PlanError> {
        let arguments = match (input.session, &self.turn.resume) {
            (SessionPlan::Fresh { .. }, _) => &self.turn.fresh,
            (SessionPlan::Resume { .. }, Some(resume)) => resume,
            (SessionPlan::Resume { .. }, None) => {
                return Err(PlanError::CannotResume {
                    profile: self.name.to_string(),
                });
            }
        };
        let mut args = Vec::new();
        for argument in arguments {
            let made = argument.filled(|slot| self.fill(slot, input))?;
            made.iter().try_for_each(|made| fits(argument, made))?;
            args.extend(made);
        }
        let prompt = input.prompt.as_bytes().to_vec();
        let (stdin, files) = match self.turn.prompt {
            Via::Stdin => (Input::Bytes(prompt), Vec::new()),
            Via::Argument => (Input::Nothing, Vec::new()),
            Via::File => (Input::Nothing, vec![(prompt_file(input), prompt)]),
        };
        let holds = |slot: Slot| arguments.iter().any(|argument| argument.holds(slot));
        let session = match input.session {
            SessionPlan::Fresh { id } => holds(Slot::NewSession).then(|| id.to_string()),
            SessionPlan::Resume { id } => Some(id.to_string()),
        };
        Ok(TurnPlan {
            program: self.program.clone(),
            args,
            stdin,
            files,
            answer_file: holds(Slot::AnswerFile).then(|| answer_file(input)),
            env: self.env.clone(),
            session,
            time_limit_ms: self.turn.time_limit_ms,
        })
    }

    fn fill(&self, slot: Slot, input: &TurnInput<'_>) -> Result<Vec<OsString>, PlanError> {
        let (SessionPlan::Fresh { id } | SessionPlan::Resume { id }) = input.session;
        let one = |text: &str| vec![OsString::from(text)];
        let many = |list: &[String]| list.iter().map(OsString::from).collect();
        Ok(match slot {
            Slot::Prompt => one(input.prompt),
            Slot::PromptFile => vec![prompt_file(input).into()],
            Slot::Session | Slot::NewSession => one(id),
            Slot::Script => match input.script {
                Some(script) => one(script),
                None => {
                    return Err(PlanError::NoScript {
                        profile: self.name.to_string(),
                    });
                }
            },
            Slot::AnswerFile => vec![answer_file(input).into()],
            Slot::Tools => match input.tools {
                ToolGrant::None => Vec::new(),
                ToolGrant::Team => many(&self.tools.team),
                ToolGrant::All => many(&self.tools.all),
            },
            Slot::Args => many(input.args),
        })
    }
}

fn prompt_file(input: &TurnInput<'_>) -> PathBuf {
    input.folder.join("prompt.md")
}

fn answer_file(input: &TurnInput<'_>) -> PathBuf {
    input.folder.join("answer")
}

fn fits(argument: &Argument, made: &OsStr) -> Result<(), PlanError> {
    let what = || {
        let slots: Vec<String> = argument.slots().map(|slot| slot.to_string()).collect();
        if slots.is_empty() {
            "the profile".into()
        } else {
            slots.join(" and ")
        }
    };
    if made.as_bytes().contains(&0) {
        return Err(PlanError::Nul { what: what() });
    }
    if made.len() > MAX_ARGUMENT {
        return Err(PlanError::ArgumentTooLong {
            what: what(),
            bytes: made.len(),
        });
    }
    Ok(())
}

/// How to ask a program for its version.
#[derive(Debug, Clone, Copy)]
pub struct Probe<'a> {
    pub(super) program: &'a str,
    pub(super) table: &'a ProbeTable,
}

impl Probe<'_> {
    /// The binary.
    #[must_use]
    pub fn program(&self) -> &str {
        self.program
    }

    /// The arguments that make it print its version and end.
    #[must_use]
    pub fn args(&self) -> &[String] {
        &self.table.args
    }

    /// The version that the profile was tried with, where that is known.
    #[must_use]
    pub fn measured(&self) -> Option<&str> {
        self.table.measured.as_deref()
    }

    /// The version in what it printed: the first number with a dot in it. `None` when there is none.
    #[must_use]
    pub fn read(&self, output: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(&output[..output.len().min(VERSION_OUTPUT)]);
        let (_, text) = text.split_once(self.table.after.as_str())?;
        let words =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == '+'));
        let version =
            |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        words
            .map(|word| word.trim_end_matches('.').trim_start_matches('v'))
            .find(|word| version(word))
            .map(str::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Profiles;
    use super::*;

    fn profile(text: &str) -> Profile {
        let text = format!(
            "version = 1\nname = 'x'\nprogram = 'x'\n{text}\n[answer]\nat = [{{ from = 'stdout' }}]\n"
        );
        Profiles::load([(PathBuf::from("x.toml"), text)], [])
            .get("x")
            .unwrap()
            .clone()
    }

    fn input(prompt: &str) -> TurnInput<'_> {
        TurnInput {
            prompt,
            session: SessionPlan::Fresh { id: "new-1" },
            tools: ToolGrant::None,
            args: &[],
            script: None,
            folder: Path::new("/f"),
        }
    }

    fn words(plan: &TurnPlan) -> Vec<&str> {
        plan.args.iter().map(|arg| arg.to_str().unwrap()).collect()
    }

    #[test]
    fn a_fresh_turn_and_a_resumed_one_have_their_own_arguments() {
        let profile = profile(
            "[turn]\nfresh = ['-p', '--id={new_session}', '{tools}', '{args}', '-']\nresume = ['-r', '{session}', '{tools}']\n\
             [tools]\nteam = ['--some']\nall = ['--yes', '--all']",
        );
        let args = ["--model".to_string(), "m".to_string()];
        let fresh = TurnInput {
            tools: ToolGrant::All,
            args: &args,
            ..input("hi")
        };
        let plan = profile.plan_turn(&fresh).unwrap();
        assert_eq!(
            words(&plan),
            ["-p", "--id=new-1", "--yes", "--all", "--model", "m", "-"]
        );
        assert_eq!(plan.session.as_deref(), Some("new-1"));
        assert_eq!(plan.stdin, Input::Bytes(b"hi".to_vec()));
        let resumed = TurnInput {
            session: SessionPlan::Resume { id: "old" },
            tools: ToolGrant::Team,
            ..input("hi")
        };
        let plan = profile.plan_turn(&resumed).unwrap();
        assert_eq!(words(&plan), ["-r", "old", "--some"]);
        assert_eq!(plan.session.as_deref(), Some("old"));
    }

    #[test]
    fn a_session_that_the_cli_names_itself_is_not_known_before() {
        let plan = profile("[turn]\nfresh = ['x']")
            .plan_turn(&input("hi"))
            .unwrap();
        assert_eq!(plan.session, None);
    }

    #[test]
    fn a_prompt_goes_in_as_an_argument_or_in_a_file() {
        let argument = profile("[turn]\nprompt = 'argument'\nfresh = ['-p', '{prompt}']");
        let plan = argument.plan_turn(&input("say {session}")).unwrap();
        assert_eq!(words(&plan), ["-p", "say {session}"]);
        assert_eq!(plan.stdin, Input::Nothing);
        let file = profile(
            "[turn]\nprompt = 'file'\nfresh = ['-f', '{prompt_file}', '-o', '{answer_file}']",
        );
        let plan = file.plan_turn(&input("hi")).unwrap();
        assert_eq!(words(&plan), ["-f", "/f/prompt.md", "-o", "/f/answer"]);
        assert_eq!(
            plan.files,
            [(PathBuf::from("/f/prompt.md"), b"hi".to_vec())]
        );
        assert_eq!(plan.answer_file, Some(PathBuf::from("/f/answer")));
    }

    #[test]
    fn an_argument_that_the_system_would_not_take_is_refused_with_the_way_out() {
        let argument = profile("[turn]\nprompt = 'argument'\nfresh = ['--prompt={prompt}']");
        let fits = "x".repeat(MAX_ARGUMENT - "--prompt=".len());
        assert!(argument.plan_turn(&input(&fits)).is_ok());
        let error = argument.plan_turn(&input(&format!("{fits}x"))).unwrap_err();
        assert_eq!(
            error,
            PlanError::ArgumentTooLong {
                what: "{prompt}".into(),
                bytes: 131_072
            }
        );
        assert!(
            error.to_string().contains("turn.prompt = \"stdin\""),
            "{error}"
        );
        assert!(matches!(
            argument.plan_turn(&input("a\0b")),
            Err(PlanError::Nul { .. })
        ));
        let stdin = profile("[turn]\nfresh = ['x']");
        let plan = stdin.plan_turn(&input(&"x\0".repeat(200_000))).unwrap();
        assert!(matches!(plan.stdin, Input::Bytes(bytes) if bytes.len() == 400_000));
    }

    #[test]
    fn a_shell_turn_needs_a_script_and_has_no_session() {
        let profiles = Profiles::built_in();
        let sh = profiles.get("sh").unwrap();
        assert!(sh.takes_script() && !sh.can_resume());
        assert_eq!(
            sh.plan_turn(&input("hi")),
            Err(PlanError::NoScript {
                profile: "sh".into()
            })
        );
        let plan = sh
            .plan_turn(&TurnInput {
                script: Some("echo ${HOME} {x}"),
                ..input("hi")
            })
            .unwrap();
        assert_eq!(
            (plan.program.as_str(), words(&plan)),
            ("sh", vec!["-c", "echo ${HOME} {x}", "sh"])
        );
        let resume = TurnInput {
            session: SessionPlan::Resume { id: "s" },
            script: Some("x"),
            ..input("hi")
        };
        assert_eq!(
            sh.plan_turn(&resume),
            Err(PlanError::CannotResume {
                profile: "sh".into()
            })
        );
    }

    #[test]
    fn versions_are_read_as_the_real_ones_print_them() {
        let profiles = Profiles::built_in();
        for (name, printed, version) in [
            ("claude", "2.1.332 (Claude Code)\n", "2.1.332"),
            ("codex", "codex-cli 0.171.0\n", "0.171.0"),
            (
                "copilot",
                "GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.\n",
                "1.0.102",
            ),
            ("gemini", "0.61.0\n", "0.61.0"),
            ("opencode", "1.18.33\n", "1.18.33"),
            ("qwen", "0.24.4\n", "0.24.4"),
        ] {
            let probe = profiles.get(name).unwrap().probe().unwrap();
            assert_eq!(
                probe.read(printed.as_bytes()).as_deref(),
                Some(version),
                "{name}"
            );
            assert_eq!(probe.measured(), Some(version), "{name}");
            assert_eq!(probe.read(b"no version here\xFF"), None);
        }
        assert!(profiles.get("sh").unwrap().probe().is_none());
    }
}
