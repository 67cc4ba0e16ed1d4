//! The decisions over a loop's document, which is `None` when there is none.

use alloc::borrow::ToOwned;
use alloc::string::ToString;

use super::{Loop, Mode, Opening, Over, Ralph, Ultraqa, Ultrawork, Verdict};
use crate::refusal::Refusal;

impl Ralph {
    /// After how many iterations a loop may stop when nobody says.
    pub const MAX_ITERATIONS: i64 = 10;

    /// A loop that begins.
    #[must_use]
    pub fn opened(opening: &Opening<'_>, max_iterations: i64) -> Self {
        Self {
            active: true,
            iteration: 0,
            max_iterations: Some(max_iterations),
            completed_slices: 0,
            started_at: opening.now.to_string(),
            prompt: opening.aim.to_owned(),
            session_id: opening.session_id.map(ToOwned::to_owned),
            project_path: opening.project_path.to_owned(),
        }
    }
}

impl Ultrawork {
    /// A loop that begins.
    #[must_use]
    pub fn opened(opening: &Opening<'_>, task_summary: Option<&str>, task_count: i64) -> Self {
        Self {
            active: true,
            objective: opening.aim.to_owned(),
            task_summary: task_summary.map(ToOwned::to_owned),
            started_at: opening.now.to_string(),
            session_id: opening.session_id.map(ToOwned::to_owned),
            project_path: opening.project_path.to_owned(),
            task_count: Some(task_count),
        }
    }
}

impl Ultraqa {
    /// After how many cycles a loop may stop when nobody says.
    pub const MAX_CYCLES: i64 = 5;

    /// A loop that begins.
    #[must_use]
    pub fn opened(opening: &Opening<'_>, max_cycles: i64) -> Self {
        Self {
            active: true,
            goal: opening.aim.to_owned(),
            cycle_count: 0,
            max_cycles: Some(max_cycles),
            started_at: opening.now.to_string(),
            session_id: opening.session_id.map(ToOwned::to_owned),
            project_path: opening.project_path.to_owned(),
            last_verdict: Some(Verdict::Pending),
        }
    }
}

impl Loop for Ralph {
    const MODE: Mode = Mode::Ralph;

    fn is_active(&self) -> bool {
        self.active
    }

    fn aim(&self) -> &str {
        &self.prompt
    }

    fn started_at(&self) -> &str {
        &self.started_at
    }
}

impl Loop for Ultrawork {
    const MODE: Mode = Mode::Ultrawork;

    fn is_active(&self) -> bool {
        self.active
    }

    fn aim(&self) -> &str {
        &self.objective
    }

    fn started_at(&self) -> &str {
        &self.started_at
    }
}

impl Loop for Ultraqa {
    const MODE: Mode = Mode::Ultraqa;

    fn is_active(&self) -> bool {
        self.active
    }

    fn aim(&self) -> &str {
        &self.goal
    }

    fn started_at(&self) -> &str {
        &self.started_at
    }
}

/// Begins `opened`. Answers the loop whose place it took.
///
/// # Errors
/// `invalid_input` without anything to do; `loop_active` when one goes on and is not to be replaced.
pub fn start<L: Loop + Clone>(
    slot: &mut Option<L>,
    opened: &L,
    over: Over,
) -> Result<Option<L>, Refusal> {
    if opened.aim().trim().is_empty() {
        return Err(Refusal::input("task", "must not be empty"));
    }
    match slot.as_ref().filter(|running| running.is_active()) {
        Some(running) if over == Over::Refuse => Err(Refusal::LoopActive {
            mode: L::MODE,
            since: running.started_at().to_owned(),
            aim: running.aim().to_owned(),
        }),
        _ => Ok(slot.replace(opened.clone())),
    }
}

/// Ends the loop, whatever it is in. Answers it, if there was one.
pub fn cancel<L: Loop>(slot: &mut Option<L>) -> Option<L> {
    slot.take()
}

/// One more slice of the task is done.
///
/// # Errors
/// `loop_inactive` without a loop, `loop_cleared` for one that goes on no longer.
pub fn tick(slot: &mut Option<Ralph>) -> Result<Ralph, Refusal> {
    let running = active(slot)?;
    running.completed_slices = running.completed_slices.saturating_add(1);
    Ok(running.clone())
}

/// A cycle ended with `verdict`. A pass ends the loop; the answer is the loop as it was then, not active any more.
///
/// # Errors
/// `loop_inactive` without a loop, `loop_cleared` for one that goes on no longer.
pub fn cycle(slot: &mut Option<Ultraqa>, verdict: Verdict) -> Result<Ultraqa, Refusal> {
    let running = active(slot)?;
    running.last_verdict = Some(verdict);
    if verdict != Verdict::Pass {
        return Ok(running.clone());
    }
    running.active = false;
    let passed = running.clone();
    *slot = None;
    Ok(passed)
}

fn active<L: Loop>(slot: &mut Option<L>) -> Result<&mut L, Refusal> {
    match slot {
        None => Err(Refusal::LoopInactive { mode: L::MODE }),
        Some(cleared) if !cleared.is_active() => Err(Refusal::LoopCleared { mode: L::MODE }),
        Some(running) => Ok(running),
    }
}
