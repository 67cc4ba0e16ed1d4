//! A member as the command line names it: `NAME[:ROLE[:PROFILE]]`.

use std::str::FromStr;

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Recruit, Seat};

use crate::halt::Halt;

/// The words of one `--member`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemberWords {
    name: String,
    role: Option<String>,
    profile: Option<String>,
}

impl FromStr for MemberWords {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default().to_string();
        let mut more = || words.next().filter(|word| !word.is_empty());
        let (role, profile) = (more().map(str::to_string), more().map(str::to_string));
        if words.next().is_some() {
            return Err("a member is NAME, NAME:ROLE or NAME:ROLE:PROFILE".to_string());
        }
        Ok(Self {
            name,
            role,
            profile,
        })
    }
}

impl MemberWords {
    /// The member to be, with `role` when the words have none.
    pub(super) fn recruit(&self, role: &str) -> Result<Recruit, Halt> {
        Ok(Recruit {
            name: Name::new(NameKind::Member, &self.name)?,
            role: self.role.clone().unwrap_or_else(|| role.to_string()),
            seat: Seat::Headless,
            profile: self.profile.clone(),
            task_id: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_a_name_and_perhaps_a_role_and_a_profile() {
        let words = |text: &str| {
            let words: MemberWords = text.parse().unwrap();
            (words.name, words.role, words.profile)
        };
        assert_eq!(words("ann"), ("ann".into(), None, None));
        assert_eq!(
            words("ann:coder"),
            ("ann".into(), Some("coder".into()), None)
        );
        assert_eq!(words("ann::sh"), ("ann".into(), None, Some("sh".into())));
        assert!("a:b:c:d".parse::<MemberWords>().is_err());
    }
}
