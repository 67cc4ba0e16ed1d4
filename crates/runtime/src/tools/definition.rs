//! What a tool is: its name, what a model is told about it, its parameters, and what runs.
//!
//! The JSON schema of the parameters is written from the same rows that arguments are checked against, so what a model
//! is told and what is accepted are the same.

use std::fmt;

use serde_json::{Map, Value, json};

use super::Call;
use super::waiting::Step;
use crate::desk::NotDone;

/// What calling a tool does to the team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// Something, and calling again with the same arguments does nothing more.
    Settles,
    /// Something, each time.
    Adds,
}

/// Whether an argument can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It cannot.
    Required,
    /// It can.
    Optional,
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text that is not empty.
    Text,
    /// A whole number from the first to the second, both included.
    Number(u64, u64),
    /// A list of 1 to so many texts, none of them empty.
    Texts(usize),
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What a model is told about it.
    pub about: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Whether it can be left out.
    pub need: Need,
}

/// One tool.
#[derive(Clone, Copy)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What a model is told about it.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// What calling it does.
    pub effect: Effect,
    pub(super) run: fn(&Call<'_>) -> Result<Step, NotDone>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Kind {
    /// What an argument of this kind is, in words: `a whole number of 0 or more`.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Text => "a text that is not empty".to_string(),
            Self::Number(least, u64::MAX) => format!("a whole number of {least} or more"),
            Self::Number(least, most) => format!("a whole number from {least} to {most}"),
            Self::Texts(most) => format!("a list of 1 to {most} texts, none of them empty"),
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::Text => json!({ "type": "string", "minLength": 1 }),
            Self::Number(least, u64::MAX) => json!({ "type": "integer", "minimum": least }),
            Self::Number(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Self::Texts(most) => json!({
                "type": "array",
                "items": { "type": "string", "minLength": 1 },
                "minItems": 1,
                "maxItems": most,
            }),
        }
    }
}

impl Param {
    pub(super) const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            about,
            kind,
            need: Need::Required,
        }
    }

    pub(super) const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            about,
            kind,
            need: Need::Optional,
        }
    }
}

impl Tool {
    /// The JSON schema of its parameters: an object that takes these and no others.
    #[must_use]
    pub fn schema(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        for param in self.params {
            let mut schema = param.kind.schema();
            schema["description"] = param.about.into();
            properties.insert(param.name.to_string(), schema);
        }
        let required: Vec<&str> = self
            .params
            .iter()
            .filter(|param| param.need == Need::Required)
            .map(|param| param.name)
            .collect();
        let mut schema = Map::new();
        schema.insert("type".to_string(), "object".into());
        schema.insert("properties".to_string(), properties.into());
        schema.insert("required".to_string(), required.into());
        schema.insert("additionalProperties".to_string(), false.into());
        schema
    }
}
