//! How many agents of which kind, as one word: `2:claude`, `1:coder:codex`.

use std::str::FromStr;

/// The most members that one word starts.
const MOST: u32 = 64;

/// The word in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CrewWord {
    /// How many.
    pub(super) count: u32,
    /// Their role.
    pub(super) role: String,
    /// The profile of their program.
    pub(super) profile: String,
}

/// Whether `word` says how many agents are meant: a number, a colon, and more.
pub(crate) fn is_crew_word(word: &str) -> bool {
    match word.split_once(':') {
        Some((count, role)) => {
            let is_number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
            is_number && !role.is_empty() && !role.contains(char::is_whitespace)
        }
        None => false,
    }
}

impl FromStr for CrewWord {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (count, kind) = word.split_once(':').ok_or("say it as 2:claude")?;
        let count = count.parse().unwrap_or(u32::MAX);
        if count == 0 || count > MOST {
            return Err(format!("{word}: the number is from 1 to {MOST}"));
        }
        let (role, profile) = kind.split_once(':').unwrap_or((kind, kind));
        if role.is_empty() || profile.is_empty() || profile.contains(':') {
            return Err(format!("{word}: say N:PROFILE or N:ROLE:PROFILE"));
        }
        Ok(Self {
            count,
            role: role.to_owned(),
            profile: profile.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_count_role_and_profile() {
        let parts = |word: &str| {
            let word: CrewWord = word.parse()?;
            Ok::<_, String>((word.count, word.role, word.profile))
        };
        assert_eq!(parts("2:claude"), Ok((2, "claude".into(), "claude".into())));
        assert_eq!(
            parts("1:coder:codex"),
            Ok((1, "coder".into(), "codex".into()))
        );
        for wrong in [
            "0:claude",
            "65:claude",
            "99999999999:claude",
            "1::x",
            "1:a:b:c",
        ] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_task_is_no_crew_word() {
        for (word, expected) in [
            ("2:claude", true),
            ("0:claude", true),
            ("2:30 is the time", false),
            ("status", false),
            (":x", false),
            ("2:", false),
        ] {
            assert_eq!(is_crew_word(word), expected, "{word}");
        }
    }
}
