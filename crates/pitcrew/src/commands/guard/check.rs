//! `guard check`: whether an edit, a commit or a patch touches lines that somebody else holds.
//!
//! Without a team named, every team of the project is asked: whoever speaks is itself in its own team and nobody in the
//! others. A project without a team holds no lines. Nothing is written.

use std::collections::BTreeSet;

use pitcrew_core::claim::{
    Called, Claim, Claims, FilePatch, FilePath, HeldLines, Lines, LinesHeld, Span,
};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::{Name, Refusal, Timestamp};
use pitcrew_runtime::desk::NotDone;
use pitcrew_runtime::git::WorkTree;
use pitcrew_runtime::guard::{Below, Change, Copies, Lookout, edited, in_main, patched, somehow};
use pitcrew_store::Project;
use pitcrew_store::files::Workspace;
use serde_json::json;

use super::tool::ToolUse;
use crate::cli::{Entry, Run};
use crate::commands::body::read_stdin;
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Check>(
    "check",
    "Say whether a change touches lines that others hold",
);

/// Say whether a change touches lines that others hold
///
/// Nothing is written. Without a team named, all teams of the project are asked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew guard check src/parser.rs --lines 120-180   before an edit
  pitcrew guard check --staged                        before a commit
  pitcrew guard check --range main..HEAD              a range of commits
  git diff | pitcrew guard check --diff -             a patch that is not applied yet
  pitcrew guard check --hook                          as the hook of an agent CLI, before an edit
Exit status 1 says that somebody else holds some of the lines; the answer names them. With --hook it is 2, by which
agent CLIs take a refusal.")]
pub(crate) struct Check {
    /// A file that is to be edited, from here
    #[arg(value_name = "FILE", required_unless_present_any = ["staged", "range", "diff", "hook"], conflicts_with_all = ["staged", "range", "diff", "hook"])]
    file: Option<String>,
    /// Which lines of it, first and last: 10-20; all of it if not given. May be repeated
    #[arg(long, value_name = "A-B", requires = "file")]
    lines: Vec<String>,
    /// What is about to be committed
    #[arg(long, conflicts_with_all = ["range", "diff", "hook"])]
    staged: bool,
    /// What a range of commits changed: base..head, or base...head from where they parted
    #[arg(
        long,
        value_name = "BASE..HEAD",
        conflicts_with = "diff",
        allow_hyphen_values = true
    )]
    range: Option<String>,
    /// A unified diff against the present files, its names from the project's root; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "hook")]
    diff: Option<String>,
    /// What an agent CLI tells its hook before a tool is used, as JSON on standard input; a refusal ends with status 2
    #[arg(long)]
    hook: bool,
}

/// One team's claims, and who looks at them.
struct Table {
    team: Name,
    /// `None` is nobody of this team.
    me: Option<Name>,
    claims: Claims,
    now: Timestamp,
}

impl Table {
    /// What others hold.
    fn others(&self) -> impl Iterator<Item = &Claim> {
        let held = self.claims.held(self.now);
        held.filter(|claim| Some(&claim.member) != self.me.as_ref())
    }
}

impl Run for Check {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let lines = self.lines.iter().map(|lines| parse(lines));
        let spans = lines.collect::<Result<Vec<Span>, Refusal>>()?;
        let is_commit = self.staged || self.range.is_some();
        let git = super::git(context);
        let tree = match is_commit {
            true => Some(git.work_tree()?),
            false => None,
        };
        if self.hook {
            let Some(refusal) = before_edit(context, &read_stdin()?)? else {
                return Ok(nothing(context, &[]));
            };
            // Whoever reads this is a model: its CLI hands it what stands on standard error.
            context.ui.say(&refusal);
            return Ok(Exit::Usage);
        }
        let project = project(context, tree.as_ref())?;
        let tables = tables(context, &project)?;
        let is_held = |file: &FilePath, below: Below| {
            let mut claims = tables.iter().flat_map(Table::others);
            claims.any(|claim| match below {
                Below::No => claim.file == *file,
                Below::Yes => claim.file.is_below(file),
            })
        };
        let changes = match (&tree, &self.range, self.diff.as_deref(), &self.file) {
            (Some(tree), Some(range), ..) => {
                let lookout = Lookout::new(&git, tree, &project, Copies::All)?;
                lookout.range(range, &is_held)?
            }
            (Some(tree), None, ..) => {
                let lookout = Lookout::new(&git, tree, &project, Copies::Kin)?;
                lookout.staged(&is_held)?
            }
            (None, _, Some(from), _) => {
                let text = match from {
                    "-" => read_stdin()?,
                    file => crate::commands::body::read_file(context, file.as_ref())?,
                };
                let files = FilePatch::parse(&text)
                    .map_err(|refused| Refusal::input("diff", &refused.to_string()))?;
                patched(&files, &Workspace::of(&project)?, &is_held)?
            }
            (None, _, None, Some(file)) => {
                let file = context.file(file, None)?;
                let here = Workspace::of(&project)?;
                vec![match spans.is_empty() {
                    true => somehow(file, &here)?,
                    false => edited(file, spans, &here)?,
                }]
            }
            (None, _, None, None) => Vec::new(),
        };
        let conflicts = conflicts(&tables, &changes);
        if conflicts.is_empty() {
            return Ok(nothing(context, &tables));
        }
        let facts = match is_commit {
            true => LinesHeld::by_commit(conflicts, &speaker(&tables)),
            false => LinesHeld::by_edit(conflicts),
        };
        Err(Refusal::LinesHeld(facts.into()).into())
    }
}

/// Why an edit must not be, by what an agent CLI tells its hook.
pub(super) fn before_edit(context: &mut Context<'_>, said: &str) -> Result<Option<String>, Halt> {
    let said = ToolUse::parse(said)?;
    let project = context.project(said.cwd())?;
    let tables = tables(context, &project)?;
    let changes = said.changes(context, &project)?;
    let conflicts = conflicts(&tables, &changes);
    if conflicts.is_empty() {
        return Ok(None);
    }
    let facts = LinesHeld::by_edit(conflicts);
    Ok(Some(format!("{facts}\nNext: {}", facts.next)))
}

/// Who is told what to do: a member, or else whoever started the team.
fn speaker(tables: &[Table]) -> Name {
    let mut known = tables.iter().filter_map(|table| table.me.clone());
    known
        .find(|me| !me.is_leader())
        .unwrap_or_else(Name::leader)
}

fn nothing(context: &mut Context<'_>, tables: &[Table]) -> Exit {
    if context.ui.json {
        let teams: Vec<&Name> = tables.iter().map(|table| &table.team).collect();
        let answer = json!({ "ok": true, "conflicts": [], "teams": teams });
        context.ui.json(&answer, Layout::Pretty);
    }
    Exit::Done
}

/// The lines that two numbers with a `-` between them name, or one number.
fn parse(text: &str) -> Result<Span, Refusal> {
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    Lines::parse(start, end).map(Span::from)
}

/// The project whose teams are asked. One without teams, in a linked work tree, is the one of the main work tree.
fn project(context: &mut Context<'_>, tree: Option<&WorkTree>) -> Result<Project, Halt> {
    let project = context.project(None)?;
    if let Some(tree) = tree
        && project.teams()?.is_empty()
        && let Some(main) = in_main(tree, Workspace::of(&project)?.root())
    {
        return Ok(Project::at(&main)?);
    }
    Ok(project)
}

/// The claims of the team that `--team` names, or of all.
fn tables(context: &Context<'_>, project: &Project) -> Result<Vec<Table>, Halt> {
    let teams = match context.flag_team() {
        Some(named) => vec![Name::new(NameKind::Team, named)?],
        None => project.teams()?,
    };
    let several = teams.len() > 1;
    let mut tables = Vec::new();
    for name in teams {
        let team = OpenTeam::of(project, name.clone());
        let desk = team.desk();
        let roster = desk.roster()?;
        let me = match context.may_speak_in(&name) {
            false => None,
            true => match desk.speaker(&roster, &context.credentials(&name)) {
                Ok(speaker) => Some(speaker.name),
                // Nobody says which team the member is of, so it is of the one that knows it.
                Err(NotDone::Refused(Refusal::UnknownSender { .. })) if several => None,
                Err(refused) => return Err(refused.into()),
            },
        };
        tables.push(Table {
            team: name.clone(),
            me,
            claims: desk.claims()?,
            now: desk.now(),
        });
    }
    Ok(tables)
}

/// What the changes touch of what others hold, each claim once.
fn conflicts(tables: &[Table], changes: &[Change]) -> Vec<HeldLines> {
    let called = match tables.len() {
        0 | 1 => Called::ByName,
        _ => Called::WithTeam,
    };
    let mut found = Vec::new();
    for table in tables {
        let mut named = BTreeSet::new();
        for change in changes {
            for claim in table.others().filter(|claim| change.is_of(&claim.file)) {
                if let Some(standing) = claim.touched_by(&change.touched)
                    && named.insert(claim.id)
                {
                    let held = HeldLines::new(&table.team, claim, standing, table.now);
                    found.push(HeldLines { called, ..held });
                }
            }
        }
    }
    found.sort_by(|one, two| (&one.file, one.lines).cmp(&(&two.file, two.lines)));
    found
}
