//! What a whole profile must have, and what is wrong with one that has not.

use std::path::{Path, PathBuf};

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;

use super::{ProfileFile, Tools, Via};
use crate::profile::place::Place;
use crate::profile::template::{Argument, Slot};
use crate::profile::{EnvRules, Origin, Profile, Turn, UnknownProfile};

/// The version of this format.
const VERSION: i64 = 1;

/// A turn's limit when the file names none, in seconds.
const TIME_LIMIT_S: u32 = 1_800;

/// Why a profile's file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// It is no TOML, or a key is unknown or of the wrong type.
    #[error("{}:{line}:{column}: {message}", .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A key is missing or makes no sense beside the others.
    #[error("{}: `{key}`: {why}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The key, with its table.
        key: String,
        /// What is wrong.
        why: String,
    },
    /// `extends` names no profile.
    #[error("{}: `extends`: {unknown}", .path.display())]
    UnknownBase {
        /// The file.
        path: PathBuf,
        /// Which name, and which there are.
        unknown: UnknownProfile,
    },
    /// Profiles extend each other in a circle.
    #[error("{}: `extends`: {} extend each other", .path.display(), .circle.join(", "))]
    Circle {
        /// The file.
        path: PathBuf,
        /// The names in the circle.
        circle: Vec<String>,
    },
    /// Two files of one folder have the same name.
    #[error("{}: the name `{name}` is taken by {}", .path.display(), .other.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The file that has it.
        other: PathBuf,
    },
}

/// Makes a profile of the whole `table`.
///
/// # Errors
/// [`ProfileError::Invalid`].
pub(in crate::profile) fn build(
    path: &Path,
    origin: Origin,
    table: toml::Table,
) -> Result<Profile, ProfileError> {
    let invalid = |key: &str, why: String| ProfileError::Invalid {
        path: path.to_path_buf(),
        key: key.to_string(),
        why,
    };
    let file: ProfileFile = table
        .try_into()
        .map_err(|error: toml::de::Error| invalid("extends", error.message().into()))?;
    let checked = Checked(&file).all().err();
    if let Some((key, why)) = checked {
        return Err(invalid(key, why));
    }
    let given = file.name.unwrap_or_default();
    let name = Name::new(NameKind::Member, &given).map_err(|_| {
        invalid(
            "name",
            format!("`{given}` is no name ([A-Za-z0-9][A-Za-z0-9_-]{{0,63}})"),
        )
    })?;
    let arguments = |key: &str, list: &[String]| -> Result<Vec<Argument>, ProfileError> {
        list.iter()
            .map(|text| Argument::parse(text))
            .collect::<Result<_, _>>()
            .map_err(|why| invalid(key, why))
    };
    let turn = Turn {
        fresh: arguments("turn.fresh", &file.turn.fresh)?,
        resume: file
            .turn
            .resume
            .as_deref()
            .map(|list| arguments("turn.resume", list))
            .transpose()?,
        prompt: file.turn.prompt,
        time_limit_ms: i64::from(file.turn.time_limit_s.unwrap_or(TIME_LIMIT_S)) * 1_000,
    };
    if let Err((key, why)) = check_slots(&turn, &file.tools, &file.answer.at) {
        return Err(invalid(key, why));
    }
    Ok(Profile {
        name,
        origin,
        description: file.description,
        program: file.program,
        probe: file.probe,
        turn,
        tools: file.tools,
        env: EnvRules {
            set: file.env.set,
            forward: file.env.forward,
            drop: file.env.drop,
        },
        answer_required: file.answer.required,
        answer: file.answer.at,
        done: file.done.at,
        session: file.session,
        usage: file.usage,
        failure: file.failure.at,
        refusals: file.refusals.at,
        limits: file.limits,
        pane: file.pane,
        mcp: file.mcp,
        hooks: file.hooks,
    })
}

type Fault = (&'static str, String);

struct Checked<'a>(&'a ProfileFile);

impl Checked<'_> {
    fn all(&self) -> Result<(), Fault> {
        self.head()?;
        self.env()?;
        self.places()
    }

    fn head(&self) -> Result<(), Fault> {
        let file = self.0;
        match file.version {
            Some(VERSION) => {}
            Some(other) => {
                return Err((
                    "version",
                    format!("{other} is not known here, only {VERSION} is"),
                ));
            }
            None => {
                return Err((
                    "version",
                    format!("is missing; write `version = {VERSION}`"),
                ));
            }
        }
        if file.name.is_none() {
            return Err(("name", "is missing".into()));
        }
        if file.program.is_empty() {
            return Err(("program", "is missing".into()));
        }
        // A relative path would mean another program in every folder.
        if file.program.contains(['/', '\\']) && !Path::new(&file.program).is_absolute() {
            return Err((
                "program",
                "is a name to look up on PATH or an absolute path".into(),
            ));
        }
        if file.turn.fresh.is_empty() {
            return Err(("turn.fresh", "is missing".into()));
        }
        if file.turn.time_limit_s == Some(0) {
            return Err(("turn.time_limit_s", "must not be 0".into()));
        }
        Ok(())
    }

    fn env(&self) -> Result<(), Fault> {
        let env = &self.0.env;
        let odd = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        if let Some(name) = env
            .set
            .keys()
            .chain(&env.forward)
            .chain(&env.drop)
            .find(odd)
        {
            return Err(("env", format!("{name:?} is no name of a variable")));
        }
        if env.set.values().any(|value| value.contains('\0')) {
            return Err(("env.set", "a value holds a NUL".into()));
        }
        Ok(())
    }

    fn places(&self) -> Result<(), Fault> {
        let file = self.0;
        let resets: Vec<Place> = file
            .limits
            .resets
            .iter()
            .map(|reading| reading.at.clone())
            .collect();
        let usage: Vec<Place> = file.usage.iter().map(|usage| usage.at.clone()).collect();
        let all: [(&'static str, &[Place]); 10] = [
            ("answer.at", &file.answer.at),
            ("done.at", &file.done.at),
            ("session.at", &file.session.at),
            ("session.lost", &file.session.lost),
            ("usage.at", &usage),
            ("failure.at", &file.failure.at),
            ("refusals.at", &file.refusals.at),
            ("limits.at", &file.limits.at),
            ("limits.retrying", &file.limits.retrying),
            ("limits.resets", &resets),
        ];
        if file.answer.at.is_empty() {
            return Err(("answer.at", "is missing".into()));
        }
        for (key, places) in all {
            if let Some(fault) = places.iter().find_map(Place::fault) {
                return Err((key, fault.into()));
            }
        }
        Ok(())
    }
}

fn check_slots(turn: &Turn, tools: &Tools, answer: &[Place]) -> Result<(), Fault> {
    let lists = [
        ("turn.fresh", Some(&turn.fresh)),
        ("turn.resume", turn.resume.as_ref()),
    ];
    for (key, list) in lists
        .into_iter()
        .filter_map(|(key, list)| Some((key, list?)))
    {
        let has = |slot: Slot| list.iter().any(|argument| argument.holds(slot));
        let needs = |slot: Slot, why: &str| Err((key, format!("needs `{slot}`, because {why}")));
        if turn.prompt == Via::Argument && !has(Slot::Prompt) {
            return needs(Slot::Prompt, "`turn.prompt` is \"argument\"");
        }
        if turn.prompt != Via::Argument && has(Slot::Prompt) {
            return Err((
                key,
                "holds `{prompt}`, but `turn.prompt` is not \"argument\"".into(),
            ));
        }
        if (turn.prompt == Via::File) != has(Slot::PromptFile) {
            return Err((
                key,
                "holds `{prompt_file}` if and only if `turn.prompt` is \"file\"".into(),
            ));
        }
        let grants = !tools.team.is_empty() || !tools.all.is_empty();
        if grants && !has(Slot::Tools) {
            return needs(Slot::Tools, "[tools] grants some");
        }
        if answer.iter().any(Place::reads_answer_file) && !has(Slot::AnswerFile) {
            return needs(Slot::AnswerFile, "`answer.at` reads it");
        }
        match (key, has(Slot::Session), has(Slot::NewSession)) {
            ("turn.fresh", true, _) => {
                return Err((
                    key,
                    "has no `{session}` yet; `{new_session}` begins one".into(),
                ));
            }
            ("turn.resume", false, _) => return needs(Slot::Session, "it goes on with one"),
            ("turn.resume", _, true) => {
                return Err((key, "begins no session; `{session}` is the one".into()));
            }
            _ => {}
        }
    }
    Ok(())
}
