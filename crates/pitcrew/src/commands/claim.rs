//! `claim`: hold lines of a file, so that nobody else edits them.

use std::time::Duration;

use pitcrew_core::claim::{
    Answer, Called, Claim, ClaimEvent, Conflict, HeldLines, Lines, Mode, Outcome, Patience,
    Standing, TTL_MS, Waiting,
};
use pitcrew_core::{Name, Refusal, Timestamp, span};
use pitcrew_runtime::clock::Clock;
use pitcrew_runtime::desk::{ClaimTurn, ClaimWish, moves_claims};
use pitcrew_store::Project;
use serde_json::json;

use super::attention::{Attention, Event, SWEEP};
use super::claims::shown;
use crate::cli::{Entry, Run};
use crate::context::{CLOCK, Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::span::{millis, parse as parse_span};
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<ClaimLines>(
    "claim",
    "Hold lines of a file, so that nobody else edits them",
);

/// Hold lines of a file, so that nobody else edits them
///
/// Lines count as your editor counts them, first and last included. A claim takes the place of your other lines in the
/// file and is renewed by claiming the same lines again. It follows its lines when others insert or delete above
/// them, as long as their content tells where they are. It ends when it is released, when its time is over, or with you.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew claim src/parser.rs 120 180
  pitcrew claim src/parser.rs 300 320 --extend --ttl 20m
  pitcrew claim src/parser.rs 120 180 --wait 10m
Exit status 1 says that somebody else holds or waits for some of the lines; the answer names them.")]
pub(crate) struct ClaimLines {
    /// The file, from here
    #[arg(value_name = "FILE")]
    file: String,
    /// The first line
    #[arg(value_name = "START", allow_negative_numbers = true)]
    start: String,
    /// The last line
    #[arg(value_name = "END", allow_negative_numbers = true)]
    end: String,
    /// How long the claim lasts: 90s, 10m, 1h; five minutes if not given
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    ttl: Option<Duration>,
    /// Keep your other lines of the file too
    #[arg(long)]
    extend: bool,
    /// Stand in line until the lines come free, at most so long; five minutes if no time is given
    #[arg(long, value_name = "TIMEOUT", num_args = 0..=1, default_missing_value = "5m", value_parser = parse_span)]
    wait: Option<Duration>,
}

impl Run for ClaimLines {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let lines = Lines::parse(&self.start, &self.end)?;
        let team = context.open_team()?;
        let until = |wait| team.desk().now().plus_millis(millis(wait));
        let file = context.file(&self.file, None)?;
        let wish = ClaimWish {
            text: context.file_lines(&file, None)?,
            file,
            lines,
            ttl_ms: self.ttl.map_or(TTL_MS, |ttl| millis(ttl).unsigned_abs()),
            mode: match self.extend {
                true => Mode::Extend,
                false => Mode::Replace,
            },
            patience: self
                .wait
                .map_or(Patience::None, |wait| Patience::Until(until(wait))),
        };
        let who = context.credentials(&team.name);
        let Answer { outcome, events } = team.desk().claim_lines(&who, &wish)?;
        match outcome {
            Outcome::Held { claim } => {
                tell_of_moves(context, &events, &claim);
                held(context, &team, &claim, was_renewed(&events))
            }
            Outcome::Waiting { waiting, behind } => {
                let line = Line {
                    team: &team,
                    wish,
                    waiting,
                };
                line.stand(context, &behind)
            }
        }
    }
}

/// Says that the member's own lines had moved, when the claim takes their place: whoever renews by old numbers would
/// lose them without a word.
fn tell_of_moves(context: &mut Context<'_>, events: &[ClaimEvent], made: &Claim) {
    for event in events {
        if let ClaimEvent::ClaimMoved { claim, from } = event
            && claim.member == made.member
            && claim.lines != made.lines
        {
            context.ui.say(&format!(
                "the lines that you claimed as {from} are {} now",
                claim.lines
            ));
        }
    }
}

fn was_renewed(events: &[ClaimEvent]) -> bool {
    let renewed = |event: &ClaimEvent| matches!(event, ClaimEvent::ClaimRenewed { .. });
    events.iter().any(renewed)
}

/// What the other teams of the project hold of the lines of `claim`. One whose claims cannot be read is left out: that
/// is for its own members, and for the guard, which refuses there.
fn in_other_teams(project: &Project, team: &Name, claim: &Claim) -> Result<Vec<HeldLines>, Halt> {
    let mut found = Vec::new();
    for name in project.teams()?.into_iter().filter(|name| name != team) {
        let other = OpenTeam::of(project, name);
        let (desk, now) = (other.desk(), now());
        let Ok(claims) = desk.claims() else {
            continue;
        };
        let meets = |held: &&Claim| held.file == claim.file && held.lines.overlaps(claim.lines);
        found.extend(claims.held(now).filter(meets).map(|held| HeldLines {
            called: Called::WithTeam,
            ..HeldLines::new(&other.name, held, Standing::Taken(held.lines), now)
        }));
    }
    Ok(found)
}

/// Says what is held now, and who of another team holds some of it too: teams keep their claims apart.
fn held(
    context: &mut Context<'_>,
    team: &OpenTeam,
    claim: &Claim,
    renewed: bool,
) -> Result<Exit, Halt> {
    let project = context.project(None)?;
    let others = in_other_teams(&project, &team.name, claim)?;
    if context.ui.json {
        let mut answer = json!({ "ok": true, "claim": shown(claim), "renewed": renewed });
        if !others.is_empty() {
            answer["other_teams"] = json!(others);
        }
        context.ui.json(&answer, Layout::Pretty);
        return Ok(Exit::Done);
    }
    let word = if renewed { "renewed" } else { "claimed" };
    let left = claim.until.millis_since(claim.since.max(now()));
    context.ui.line(&format!(
        "{word} {} {} until {} ({})",
        claim.file,
        claim.lines,
        claim.until,
        span::span(left.unsigned_abs())
    ));
    for other in &others {
        context.ui.say(&format!(
            "{other}: teams do not wait for each other, and the guard lets neither commit; agree with that team first"
        ));
    }
    Ok(Exit::Done)
}

fn now() -> Timestamp {
    Timestamp::from_millis(CLOCK.now())
}

/// A place in line.
struct Line<'a> {
    team: &'a OpenTeam,
    wish: ClaimWish,
    waiting: Waiting,
}

impl Line<'_> {
    fn stand(mut self, context: &mut Context<'_>, behind: &Conflict) -> Result<Exit, Halt> {
        context.ui.say(&format!("waiting: {behind}"));
        let attention = Attention::to(&self.team.store)?;
        let desk = self.team.desk();
        let me: Name = self.waiting.member.clone();
        loop {
            let again_at = match desk.claim_turn(self.waiting.ticket)? {
                ClaimTurn::Held(claim) => return held(context, self.team, &claim, false),
                ClaimTurn::Over => break,
                ClaimTurn::Waiting { again_at, .. } => again_at,
            };
            let left = again_at.map(|at| at.millis_since(desk.now()).max(1).unsigned_abs());
            let wait = left.map_or(SWEEP, Duration::from_millis).min(SWEEP);
            match attention.next(wait)? {
                Event::Interrupted => {
                    return match desk.withdraw_claim(&me, self.waiting.ticket)? {
                        ClaimTurn::Held(claim) => held(context, self.team, &claim, false),
                        ClaimTurn::Waiting { .. } | ClaimTurn::Over => Ok(Exit::Interrupted),
                    };
                }
                Event::Changed(change) if !moves_claims(&change) => {}
                // A team that was removed has nothing more to wait for.
                Event::Changed(_) | Event::Quiet => drop(desk.roster()?),
            }
        }
        // The time is over, or the lines came in another way. One more try says which, and who is in the way.
        self.wish.patience = Patience::None;
        self.wish.text = context.file_lines(&self.wish.file, None)?;
        let answer = desk.claim_lines(&context.credentials(&self.team.name), &self.wish)?;
        match answer.outcome {
            Outcome::Held { claim } => held(context, self.team, &claim, false),
            Outcome::Waiting { behind, .. } => Err(Refusal::ClaimConflict(behind.into()).into()),
        }
    }
}
