//! What an agent CLI's configuration says about an MCP server, as data: the table `[mcp]` of a profile.
//!
//! `stdio` and `http` are what stands in the CLI's own file, as TOML; it is written out as JSON or TOML by their
//! writers, so that quoting is always right. In it stand:
//!
//! | text | becomes |
//! |---|---|
//! | `{program}` | the program that serves, absolute |
//! | `{args}` as one element of a list | each of its arguments |
//! | `{env}` as a whole value | a table of variables |
//! | `{url}`, `{token}` | where the server listens, and what opens it |

use serde::Deserialize;
use toml::{Table, Value};

/// The form of a CLI's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpFormat {
    /// JSON.
    Json,
    /// TOML.
    Toml,
}

/// `[mcp]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpTable {
    /// Where it goes, for people.
    pub file: String,
    /// How it is written there.
    pub format: McpFormat,
    /// What else is to be known, for people.
    #[serde(default)]
    pub note: String,
    /// For a server that the CLI starts.
    pub stdio: Table,
    /// For one that listens; a CLI that cannot do that has none.
    #[serde(default)]
    pub http: Option<Table>,
}

/// The server that a CLI is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServer<'a> {
    /// The CLI starts it.
    Started {
        /// The program, absolute.
        program: &'a str,
        /// Its arguments.
        args: &'a [&'a str],
        /// Its variables, by name.
        env: &'a [(&'a str, String)],
    },
    /// It listens.
    Listening {
        /// Where.
        url: &'a str,
        /// The member's token.
        token: &'a str,
    },
}

impl McpTable {
    /// What goes into the CLI's configuration for `server`. `None` when the CLI has no such servers.
    #[must_use]
    pub fn entry(&self, server: &McpServer<'_>) -> Option<Table> {
        let template = match server {
            McpServer::Started { .. } => &self.stdio,
            McpServer::Listening { .. } => self.http.as_ref()?,
        };
        Some(filled_table(template, server))
    }

    /// The same as text, in the CLI's own format, with a line end.
    #[must_use]
    pub fn snippet(&self, entry: &Table) -> String {
        // A table of texts, numbers and lists can always be written in both.
        match self.format {
            McpFormat::Json => {
                let mut text = serde_json::to_string_pretty(entry).unwrap_or_default();
                text.push('\n');
                text
            }
            McpFormat::Toml => toml::to_string(entry).unwrap_or_default(),
        }
    }
}

fn filled_table(template: &Table, server: &McpServer<'_>) -> Table {
    let filled = |(key, value): (&String, &Value)| (key.clone(), filled(value, server));
    template.iter().map(filled).collect()
}

fn filled(value: &Value, server: &McpServer<'_>) -> Value {
    match (value, server) {
        (Value::Table(table), _) => Value::Table(filled_table(table, server)),
        (Value::Array(list), McpServer::Started { args, .. }) => {
            let elements = list.iter().flat_map(|element| match element.as_str() {
                Some("{args}") => args.iter().map(|arg| Value::from(*arg)).collect(),
                _ => vec![filled(element, server)],
            });
            Value::Array(elements.collect())
        }
        (Value::String(text), McpServer::Started { env, .. }) if text == "{env}" => {
            let row = |(name, value): &(&str, String)| ((*name).to_string(), value.clone().into());
            Value::Table(env.iter().map(row).collect())
        }
        (Value::String(text), McpServer::Started { program, .. }) => {
            Value::String(text.replace("{program}", program))
        }
        (Value::String(text), McpServer::Listening { url, token }) => {
            // One after the other would look into what was just put in.
            match text.split_once("{token}") {
                Some((before, after)) => Value::String(format!("{before}{token}{after}")),
                None => Value::String(text.replace("{url}", url)),
            }
        }
        (other, _) => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::Profiles;

    use super::*;

    const ODD: &str = "/a b/it's \"pitcrew\"\\{token}";

    fn started() -> McpServer<'static> {
        let env = vec![
            ("PITCREW_AGENT", "alice".to_string()),
            ("PITCREW_ROOT", ODD.to_string()),
        ];
        McpServer::Started {
            program: ODD,
            args: &["mcp"],
            env: env.leak(),
        }
    }

    fn texts(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) => found.push(text.clone()),
            serde_json::Value::Array(list) => list.iter().for_each(|value| texts(value, found)),
            serde_json::Value::Object(map) => map.values().for_each(|value| texts(value, found)),
            _ => {}
        }
    }

    #[test]
    fn each_agent_cli_is_told_the_program_its_argument_and_its_variables_whatever_is_in_them() {
        let profiles = Profiles::built_in();
        let with: Vec<_> = profiles
            .iter()
            .filter_map(|profile| Some((profile.name(), profile.mcp()?)))
            .collect();
        let names: Vec<&str> = with.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["claude", "codex", "copilot", "gemini", "opencode", "qwen"]
        );
        for (name, mcp) in with {
            let entry = mcp.entry(&started()).unwrap();
            let text = mcp.snippet(&entry);
            let read: serde_json::Value = match mcp.format {
                McpFormat::Json => serde_json::from_str(&text).unwrap(),
                McpFormat::Toml => {
                    serde_json::to_value(toml::from_str::<Table>(&text).unwrap()).unwrap()
                }
            };
            assert_eq!(read, serde_json::to_value(&entry).unwrap(), "{name}");
            let mut found = Vec::new();
            texts(&read, &mut found);
            assert_eq!(
                found.iter().filter(|text| *text == ODD).count(),
                2,
                "{name}: {text}"
            );
            assert!(
                found.contains(&"mcp".to_string()) && found.contains(&"alice".to_string()),
                "{name}"
            );
            let listening = McpServer::Listening {
                url: "http://127.0.0.1:7000/mcp",
                token: "secret{url}",
            };
            let text = mcp.snippet(&mcp.entry(&listening).unwrap());
            assert!(
                text.contains("\"http://127.0.0.1:7000/mcp\""),
                "{name}: {text}"
            );
            let named = name.as_str() == "codex";
            assert_eq!(
                text.contains("Bearer secret{url}\""),
                !named,
                "{name}: {text}"
            );
            assert_eq!(text.contains("PITCREW_TOKEN"), named, "{name}: {text}");
        }
    }
}
