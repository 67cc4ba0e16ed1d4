//! Roles: prompt, tool filter and iteration limit of a member.
//!
//! The allow list wins over the deny list; without either every tool passes. The filter is applied when tools are
//! offered and again when one is called.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// Iterations of one run unless the role says otherwise.
pub const MAX_ITERATIONS: u32 = 15;

/// A role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// What a member with this role is told first.
    #[serde(default)]
    pub system_prompt: String,
    /// The only tools it may use; `None` is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools it may not use; `None` is none. Not looked at where there is an allow list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_tools: Option<Vec<String>>,
    /// Model calls in one run.
    #[serde(default = "max_iterations")]
    pub max_iterations: u32,
}

fn max_iterations() -> u32 {
    MAX_ITERATIONS
}

impl Role {
    /// A role that may use every tool.
    #[must_use]
    pub fn new(name: &str, system_prompt: &str) -> Self {
        Self {
            name: name.to_string(),
            system_prompt: system_prompt.to_string(),
            allowed_tools: None,
            denied_tools: None,
            max_iterations: MAX_ITERATIONS,
        }
    }

    /// Gathers and shares findings, and changes nothing.
    #[must_use]
    pub fn researcher() -> Self {
        let tools = [
            "search",
            "read_file",
            "web_fetch",
            "recall",
            "share_discovery",
            "peer_message",
            "broadcast_message",
            "list_team",
            "read_messages",
            "ack_message",
            "read_discoveries",
            "list_claims",
            "claim_task",
            "complete_task",
            "fail_task",
            "list_tasks",
            "limit_status",
        ];
        Self {
            allowed_tools: Some(tools.map(str::to_owned).to_vec()),
            ..Self::new(
                "researcher",
                "You research for your team. Find what is true about the question, share each finding with its \
                 source as soon as you have it, tell the teammate whom it concerns, and change no file.",
            )
        }
    }

    /// Writes code, and claims the lines before it edits them.
    #[must_use]
    pub fn coder() -> Self {
        let tools = ["delete_file", "drop_table"];
        Self {
            denied_tools: Some(tools.map(str::to_owned).to_vec()),
            ..Self::new(
                "coder",
                "You write code in a team. Claim the lines of a file before you edit them and release them when \
                 you are done. On a conflict ask the holder or take other work. Say what you changed and how you \
                 checked it.",
            )
        }
    }

    /// Splits the work, settles conflicts and answers for the result.
    #[must_use]
    pub fn lead() -> Self {
        Self {
            max_iterations: 20,
            ..Self::new(
                "lead",
                "You lead a team. Split the goal into tasks that can be done side by side, give each to one member, \
                 answer questions, settle conflicts over files, and put the results together.",
            )
        }
    }

    /// The built-in role of that name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        match name {
            "researcher" => Some(Self::researcher()),
            "coder" => Some(Self::coder()),
            "lead" => Some(Self::lead()),
            _ => None,
        }
    }

    /// Whether the role may use `tool`.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let lists = |list: &Vec<String>| list.iter().any(|name| name == tool);
        match (&self.allowed_tools, &self.denied_tools) {
            (Some(allowed), _) => lists(allowed),
            (None, Some(denied)) => !lists(denied),
            (None, None) => true,
        }
    }

    /// The tools of `offered` that the role may use, in their order.
    pub fn filter<'a, T>(&self, offered: &'a [T], name: impl Fn(&T) -> &str) -> Vec<&'a T> {
        offered
            .iter()
            .filter(|tool| self.allows(name(tool)))
            .collect()
    }

    /// Decides whether the role may call `tool`.
    ///
    /// # Errors
    /// `role_denied`.
    pub fn check(&self, tool: &str) -> Result<(), Refusal> {
        if self.allows(tool) {
            return Ok(());
        }
        Err(Refusal::RoleDenied {
            role: self.name.clone(),
            action: alloc::format!("call {tool}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(role: &Role, tool: &str, allowed: bool) {
        assert_eq!(role.allows(tool), allowed, "{} {tool}", role.name);
        assert_eq!(role.check(tool).is_ok(), allowed, "{} {tool}", role.name);
        assert_eq!(
            role.filter(&[tool], |tool| tool).len(),
            usize::from(allowed),
            "{} {tool}",
            role.name
        );
    }

    #[test]
    fn the_allow_list_wins_over_the_deny_list() {
        let role = Role {
            allowed_tools: Some(["a".to_string()].to_vec()),
            denied_tools: Some(["a".to_string(), "b".to_string()].to_vec()),
            ..Role::new("r", "")
        };
        check(&role, "a", true);
        check(&role, "b", false);
        check(&role, "c", false);
    }

    #[test]
    fn an_empty_allow_list_allows_nothing() {
        check(
            &Role {
                allowed_tools: Some(Vec::new()),
                ..Role::new("r", "")
            },
            "a",
            false,
        );
    }

    #[test]
    fn the_built_in_roles_are_the_spec_s() {
        check(&Role::researcher(), "search", true);
        check(&Role::researcher(), "read_messages", true);
        check(&Role::researcher(), "claim_region", false);
        check(&Role::researcher(), "delete_file", false);
        check(&Role::coder(), "delete_file", false);
        check(&Role::coder(), "drop_table", false);
        check(&Role::coder(), "anything", true);
        check(&Role::lead(), "anything", true);
        assert_eq!(Role::researcher().max_iterations, 15);
        assert_eq!(Role::coder().max_iterations, 15);
        assert_eq!(Role::lead().max_iterations, 20);
        assert_eq!(Role::built_in("pirate"), None);
    }
}
