//! The plan that the scheduler gets: members and tasks as the team file has them, in its words.

use pitcrew_core::restart::Policy;

use super::super::Setup;
use super::super::outfit::Gear;
use super::super::scheduler::{RunPlan, SeatPlan, TaskTerms};
use crate::teamfile::ProfileKind;

/// What is to be run.
pub(super) fn plan(setup: &Setup<'_>, gears: &[Gear]) -> RunPlan {
    let kind = |is_script: bool| match is_script {
        true => ProfileKind::Script,
        false => ProfileKind::Agent,
    };
    let seats = gears
        .iter()
        .map(|gear| SeatPlan {
            name: gear.name().clone(),
            kind: kind(gear.is_script()),
            profile: gear.entry.profile.clone(),
            answers_mail: gear.answers_mail(),
            restarts: Policy {
                most: gear.entry.restarts,
                ..Policy::default()
            },
            max_turns: gear.entry.max_turns,
        })
        .collect();
    let file = &setup.file;
    let terms = file.tasks.iter().map(|task| {
        let terms = TaskTerms {
            kind: kind(task.script.is_some()),
            retries: task.retries,
        };
        (task.id.to_string(), terms)
    });
    RunPlan {
        seats,
        tasks: terms.collect(),
        order: file.tasks.iter().map(|task| task.id.to_string()).collect(),
        after_failure: file.after_failure,
        time_limit_ms: file
            .time_limit
            .map(|limit| i64::try_from(limit.as_millis()).unwrap_or(i64::MAX)),
    }
}
