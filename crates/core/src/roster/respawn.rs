//! Whether members in panes whose agents ended are started again: a setting of the team, `settings.respawn`.

use serde::{Deserialize, Serialize};

use crate::restart::{Policy, When};

/// When members in panes are started again. Absent, they are not: an agent that is started again works without anybody
/// having looked at why the last one ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Respawn {
    /// After which ends.
    pub when: When,
    /// At most so many restarts of one member ...
    pub most: u32,
    /// ... in any span of so many milliseconds.
    pub within_ms: i64,
}

impl Default for Respawn {
    /// Never; what else a policy says is core's default.
    fn default() -> Self {
        let policy = Policy::default();
        Self {
            when: When::Never,
            most: policy.most,
            within_ms: policy.within_ms,
        }
    }
}

impl Respawn {
    /// Whether anybody is ever started again.
    #[must_use]
    pub fn is_on(self) -> bool {
        self.when != When::Never && self.most > 0
    }

    /// The whole policy, with the back-off that all members share.
    #[must_use]
    pub fn policy(self) -> Policy {
        Policy {
            when: self.when,
            most: self.most,
            within_ms: self.within_ms,
            ..Policy::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_started_again_unless_somebody_said_so() {
        assert!(!Respawn::default().is_on());
        let said: Respawn = serde_json::from_str(r#"{"when":"after_failure","later":1}"#).unwrap();
        assert!(said.is_on());
        assert_eq!(said.policy(), Policy::default());
        let none = Respawn { most: 0, ..said };
        assert!(!none.is_on());
    }
}
