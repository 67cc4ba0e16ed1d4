//! `--respawn`: whether members in panes whose agents ended are started again.

use pitcrew_core::restart::When;
use pitcrew_core::roster::{Respawn, Settings};
use pitcrew_core::span;

/// After which ends, as it is said on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum After {
    /// It stays as it is, until somebody restarts it
    Never,
    /// After an end that nobody wanted
    Crashed,
    /// After every end but that of its pane
    Always,
}

/// What a launch says about members that end.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Respawning {
    /// Start a member again whose agent ended; a monitor does it
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = After::Never)]
    respawn: After,
    /// At most so many times for one member, in so long a span
    #[arg(long, value_name = "N/SPAN", default_value = "3/10m", value_parser = limit)]
    respawn_limit: (u32, i64),
}

impl Respawning {
    /// What is kept of it; nothing where nobody is started again.
    pub(super) fn settings(&self) -> Option<Settings> {
        let when = match self.respawn {
            After::Never => return None,
            After::Crashed => When::AfterFailure,
            After::Always => When::Always,
        };
        let (most, within_ms) = self.respawn_limit;
        let respawn = Some(Respawn {
            when,
            most,
            within_ms,
        });
        Some(Settings {
            respawn,
            ..Settings::default()
        })
    }
}

/// Reads `3/10m`.
fn limit(text: &str) -> Result<(u32, i64), String> {
    let wrong = || format!("{text:?} is no limit: say it as 3/10m");
    let (most, within) = text.split_once('/').ok_or_else(wrong)?;
    let most = most.parse().map_err(|_| wrong())?;
    let within = span::read(within).filter(|ms| *ms > 0).ok_or_else(wrong)?;
    Ok((most, i64::try_from(within).map_err(|_| wrong())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_and_a_span() {
        assert_eq!(limit("3/10m"), Ok((3, 600_000)));
        assert_eq!(limit("1/30s"), Ok((1, 30_000)));
        for wrong in ["3", "3/", "/10m", "x/10m", "3/0s", "-1/10m"] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }
}
