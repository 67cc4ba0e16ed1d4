//! A run as a picture on the terminal: what happened scrolls by, how everybody stands is drawn anew below.
//!
//! ```text
//! 12:03:41 team audit is founded: 3 members, 4 tasks
//! 12:03:42 sizes: completed size-by-language: 4210 lines of kind rs
//! ⠹ audit  1 of 4 tasks  0:07
//!   ⠹ sizes  report                     3s  1 unread
//!     marks  idle
//! ```
//!
//! A line is never longer than the terminal is wide, and the picture never higher than the terminal: who is idle is
//! left out first.

use std::time::Duration;

use console::{Alignment, measure_text_width, pad_str};
use pitcrew_core::task::Status;
use pitcrew_core::visible::{Lines, visible};
use pitcrew_runtime::clock::utc_offset_s;
use pitcrew_runtime::run::event::{EndReason, Fact, Happened};
use pitcrew_runtime::run::scheduler::{SeatState, SeatView, StopReason};
use pitcrew_runtime::run::{Scene, Watcher};

use super::picture::Picture;
use super::words::{self, clock, count, span};
use crate::environment::Environment;
use crate::ui::{BAD, FAINT, HEADING, Ui};

/// How often the picture is drawn.
const PACE: Duration = Duration::from_millis(125);

const SPINNER: &[&str] = &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const PLAIN_SPINNER: &[&str] = &["|", "/", "-", "\\"];

/// The widest that the columns of names and states are, in columns of the terminal.
const WIDEST_NAME: usize = 24;
const WIDEST_STATE: usize = 40;

/// Rows of the terminal that are left to what scrolls by.
const SPARE_ROWS: usize = 6;

/// Draws a run on standard error.
pub(super) struct Live<'u> {
    ui: &'u Ui,
    picture: Picture,
    team: String,
    spinner: &'static [&'static str],
}

impl<'u> Live<'u> {
    pub(super) fn new(ui: &'u Ui, environment: &Environment) -> Self {
        Self {
            ui,
            spinner: if environment.shows_unicode() {
                SPINNER
            } else {
                PLAIN_SPINNER
            },
            picture: Picture::new(),
            team: String::new(),
        }
    }

    fn spinner(&self, now_ms: i64) -> &'static str {
        let frame = usize::try_from(now_ms.max(0) / 125).unwrap_or(0);
        self.spinner[frame % self.spinner.len()]
    }

    fn head(&self, scene: &Scene<'_>) -> String {
        let done = scene
            .board
            .tasks
            .iter()
            .filter(|task| task.status == Status::Completed);
        let failed = scene
            .board
            .tasks
            .iter()
            .filter(|task| task.status == Status::Failed);
        let (done, failed, total) = (done.count(), failed.count(), scene.board.tasks.len());
        let mut head = format!(
            "{} {}  {done} of {}",
            self.spinner(scene.now_ms),
            self.ui.styled_on_stderr(HEADING, &self.team),
            count(total, "task", "tasks")
        );
        if failed > 0 {
            let failed = format!("  {failed} failed");
            head.push_str(&self.ui.styled_on_stderr(BAD, &failed));
        }
        head.push_str(&format!("  {}", stopwatch(scene.elapsed_ms)));
        if scene.leader_unread > 0 {
            head.push_str(&format!("  {} unread for you", scene.leader_unread));
        }
        let ending = match scene.ending {
            None => return head,
            Some(EndReason::Interrupted) => "  ending; Ctrl-C kills",
            Some(EndReason::InterruptedTwice) => "  killing",
            Some(EndReason::ShutDown) => "  shut down",
            Some(EndReason::TimeLimit | EndReason::FirstFailure | EndReason::Broke) => "  ending",
        };
        head.push_str(&self.ui.styled_on_stderr(BAD, ending));
        head
    }

    fn row(&self, scene: &Scene<'_>, seat: &SeatView<'_>, widths: (usize, usize)) -> String {
        let (state, at_work) = doing(scene, seat);
        let mark = if at_work {
            self.spinner(scene.now_ms)
        } else {
            " "
        };
        let name = words::short(seat.name.as_str(), widths.0);
        let name = pad_str(&name, widths.0, Alignment::Left, Some("…"));
        let elapsed = match seat.state {
            SeatState::Running(since) => span(scene.now_ms - since),
            _ => String::new(),
        };
        let unread = match seat.mail.unread {
            0 => String::new(),
            unread => format!("  {unread} unread"),
        };
        let state = pad_str(&state, widths.1, Alignment::Left, Some("…"));
        let elapsed = pad_str(&elapsed, 6, Alignment::Right, None);
        let line = format!("  {mark} {name}  {state}  {elapsed}{unread}");
        let line = line.trim_end();
        match seat.state {
            SeatState::Running(_) => line.to_string(),
            SeatState::Stopped(_) => self.ui.styled_on_stderr(BAD, line),
            _ => self.ui.styled_on_stderr(FAINT, line),
        }
    }

    /// The members that there is room for: those at work, those that wait, then the others.
    fn shown<'s, 'v>(scene: &'s Scene<'v>, room: usize) -> Vec<&'s SeatView<'v>> {
        let rank = |seat: &SeatView<'_>| match seat.state {
            SeatState::Running(_) => 0,
            SeatState::Limited(_)
            | SeatState::HeldBack(_)
            | SeatState::Restarting(_)
            | SeatState::Retrying(_) => 1,
            SeatState::Stopped(_) => 2,
            SeatState::Idle => 3,
        };
        let mut chosen: Vec<usize> = (0..scene.seats.len()).collect();
        chosen.sort_by_key(|seat| rank(&scene.seats[*seat]));
        chosen.truncate(room);
        chosen.sort_unstable();
        chosen.into_iter().map(|seat| &scene.seats[seat]).collect()
    }
}

impl Watcher for Live<'_> {
    fn happened(&mut self, fact: &Happened<'_>) {
        if let Fact::RunStarted { team, .. } = fact.fact {
            self.team.clone_from(team);
        }
        let zone = utc_offset_s(fact.at.as_millis());
        if let Some(words) = words::of(fact.fact, zone) {
            let words = visible(&words, Lines::Fold).into_owned();
            let time = self.ui.styled_on_stderr(FAINT, &clock(fact.at, zone));
            self.picture.scroll(&format!("{time} {words}"));
        }
    }

    fn look(&mut self, scene: &Scene<'_>) {
        let room = self.picture.rows().saturating_sub(SPARE_ROWS).max(1);
        let shown = Self::shown(scene, room);
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let names = widest(&mut shown.iter().map(|seat| seat.name.as_str().len()));
        let states = widest(
            &mut shown
                .iter()
                .map(|seat| measure_text_width(&doing(scene, seat).0)),
        );
        let mut lines = vec![self.head(scene)];
        for seat in &shown {
            lines.push(self.row(
                scene,
                seat,
                (names.min(WIDEST_NAME), states.min(WIDEST_STATE)),
            ));
        }
        let hidden = scene.seats.len() - shown.len();
        if hidden > 0 {
            let more = format!("    and {hidden} more");
            lines.push(self.ui.styled_on_stderr(FAINT, &more));
        }
        self.picture.draw(&lines);
    }

    fn pace(&self) -> Option<Duration> {
        Some(PACE)
    }
}

impl Drop for Live<'_> {
    /// The picture goes, what scrolled by stays.
    fn drop(&mut self) {
        self.picture.clear();
    }
}

/// What a member does, and whether it is at work.
fn doing(scene: &Scene<'_>, seat: &SeatView<'_>) -> (String, bool) {
    let until = |at: i64| {
        let at = scene.now.plus_millis(at - scene.now_ms);
        clock(at, utc_offset_s(at.as_millis()))
    };
    let task = seat
        .task
        .map(|task| words::short(&visible(task, Lines::Fold), WIDEST_STATE));
    match (seat.state, task) {
        (SeatState::Running(_), Some(task)) => (task, true),
        (SeatState::Running(_), None) if seat.for_mail => ("reads mail".to_string(), true),
        (SeatState::Running(_), None) => ("works".to_string(), true),
        (SeatState::Idle, _) => ("idle".to_string(), false),
        (SeatState::Limited(at), _) => (format!("limit, until {}", until(at)), false),
        (SeatState::HeldBack(at), _) => (format!("rate limit, until {}", until(at)), false),
        (SeatState::Restarting(at), _) => {
            let words = format!("crashed, restart {} at {}", seat.restarts, until(at));
            (words, false)
        }
        (SeatState::Retrying(at), _) => (format!("again at {}", until(at)), false),
        (SeatState::Stopped(StopReason::OnlyTalk { .. }), _) => ("idle".to_string(), false),
        (SeatState::Stopped(reason), _) => (words::stop_words(reason), false),
    }
}

fn stopwatch(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..3_600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!(
            "{}:{:02}:{:02}",
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60
        ),
    }
}
