//! `limits run`: set aside, run a command that calls a model, and settle from what it reports.
//!
//! | the command | what is booked |
//! |---|---|
//! | cannot be started, or is not wanted any more | nothing: the reservation is given back |
//! | reports what it used | that |
//! | reports nothing, or nonsense | the estimate, because it may have called the model |
//!
//! The reservation is renewed as long as the command runs, however long that is.
//!
//! The command's output is handed on as it comes. It runs as a group of its own, reads nothing, and ends with us: whoever
//! interrupts us has it asked to end, and killed the second time or by a SIGQUIT. From before the reservation on no
//! signal that can be caught leaves it behind.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::limiter::{Recorded, Report, ReservationId};
use pitcrew_core::{Name, Refusal};
use pitcrew_runtime::clock::{Pulse, SystemClock};
use pitcrew_runtime::desk::Admission;
use pitcrew_runtime::prices::Prices;
use pitcrew_runtime::process::{
    Capture, Ended, Environment, Group, Interrupts, Launch, Mark, Stream, Urgency,
};
use pitcrew_store::files::WorkerFiles;
use serde_json::json;

use super::acquire::Call;
use super::report::{self, UsageReport};
use super::{say, settle};
use crate::cli::{Entry, Run};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::prices;
use crate::ui::{Layout, hand_on};

/// The variable that names the file for the report.
const VARIABLE: &str = "PITCREW_USAGE";

/// The largest report that is read, in bytes: the last line of a chatty agent may be long.
const LARGEST_REPORT: usize = 1024 * 1024;

/// The bounds on how often a reservation is renewed.
const SOONEST: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(60);

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<RunCommand>("run", "Run a command that calls a model, inside the limits");

/// Run a command that calls a model, inside the limits
///
/// Sets aside what you estimate, runs the command, and books what it reports: a JSON object with `tokens` and `cost`,
/// or with the `usage` of an agent CLI, on the last line that it prints or in the file that PITCREW_USAGE names. What
/// reports nothing is booked as estimated.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  pitcrew limits run --tokens 20000 --cost 0.30 -- claude -p --output-format json 'Say hello'
Exit status 5 says that the command failed; what was booked stands on standard error, and in JSON on the last line.")]
pub(crate) struct RunCommand {
    #[command(flatten)]
    call: Call,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Run for RunCommand {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let me = context.me(&team)?;
        // Before anything is set aside: what is reported cannot be priced later by a file that makes no sense.
        let prices = prices::load(context)?;
        let mut watch = Watch::begin()?;
        let Some(admission) = self.call.admitted(context, &team, &me)? else {
            return Ok(Exit::Interrupted);
        };
        let id = match &admission {
            Admission::Reserved { id, .. } => Some(*id),
            Admission::Uncounted { .. } => None,
        };
        let job = Job {
            team: &team,
            member: &me,
            call: &self.call,
            prices,
            id,
            files: team.store.worker(&me),
            file: format!("usage-{}.json", team.desk().fresh_id()?),
        };
        job.files.write(&job.file, b"")?;
        let done = job.carry_out(context, &mut watch, &self.command);
        job.files.remove(&job.file)?;
        done
    }
}

/// What a command is followed with.
struct Watch {
    runtime: tokio::runtime::Runtime,
    interrupts: Interrupts,
}

impl Watch {
    fn begin() -> Result<Self, Halt> {
        let system = |what: &'static str| {
            move |refused: std::io::Error| Halt::System {
                what,
                why: refused.to_string(),
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(system("start the timers"))?;
        let interrupts = {
            let _inside = runtime.enter();
            Interrupts::listen().map_err(system("listen for Ctrl-C"))?
        };
        Ok(Self {
            runtime,
            interrupts,
        })
    }

    /// Whether somebody wanted the end before the command was started.
    fn is_unwanted(&mut self) -> bool {
        let come = self.interrupts.come();
        self.runtime.block_on(come).is_some()
    }
}

/// How a command ended, the end of what it printed, and whether somebody wanted it to end.
struct Done {
    ended: Ended,
    printed: Vec<u8>,
    interrupted: bool,
}

/// One command inside the limits.
struct Job<'a> {
    team: &'a OpenTeam,
    member: &'a Name,
    call: &'a Call,
    prices: Prices,
    id: Option<ReservationId>,
    files: WorkerFiles,
    /// The file for the report.
    file: String,
}

impl Job<'_> {
    fn carry_out(
        &self,
        context: &mut Context<'_>,
        watch: &mut Watch,
        command: &[OsString],
    ) -> Result<Exit, Halt> {
        if watch.is_unwanted() {
            self.give_back()?;
            context
                .ui
                .say("interrupted before the command was started; nothing is booked");
            return Ok(Exit::Interrupted);
        }
        let done = match self.start(context, watch, command) {
            Ok(done) => done,
            Err(halt) => {
                self.give_back()?;
                return Err(halt);
            }
        };
        let reported = match self.reported(&done.printed) {
            Ok(reported) => reported,
            Err(refused) => {
                context
                    .ui
                    .say(&format!("the report of usage makes no sense: {refused}"));
                None
            }
        };
        let recorded = self.settle(reported.as_ref())?;
        self.tell(context, &done.ended, recorded.as_ref());
        let ended = &done.ended;
        if context.ui.json {
            let answer = json!({
                "ok": ended.is_success(), "how": ended.how, "interrupted": done.interrupted,
                "reservation": self.id, "reported": reported.is_some(), "recorded": recorded,
            });
            context.ui.json(&answer, Layout::Compact);
        }
        Ok(match (ended.is_success(), done.interrupted) {
            (_, true) => Exit::Interrupted,
            (true, false) => Exit::Done,
            (false, false) => Exit::RunFailed,
        })
    }

    fn give_back(&self) -> Result<(), Halt> {
        if let Some(id) = self.id {
            self.team.desk().release_reservation(id, self.member)?;
        }
        Ok(())
    }

    /// Says what is left of the command and what was booked for it.
    fn tell(&self, context: &mut Context<'_>, ended: &Ended, recorded: Option<&Recorded>) {
        let remaining = ended.leftovers.remaining;
        if remaining > 0 {
            let words = format!("{remaining} of its processes run on, for they cannot be ended");
            context.ui.say(&words);
        }
        if let Some(recorded) = recorded {
            say(context.ui, &recorded.events);
            context.ui.say(&settle::in_words(recorded));
        }
    }

    /// Runs the command to its end.
    fn start(
        &self,
        context: &mut Context<'_>,
        watch: &mut Watch,
        command: &[OsString],
    ) -> Result<Done, Halt> {
        let launch = self.launch(context, command)?;
        context.ui.flush();
        let Watch {
            runtime,
            interrupts,
        } = watch;
        runtime.block_on(async {
            let group =
                Group::spawn(launch, Arc::new(SystemClock)).map_err(|refused| Halt::System {
                    what: "start the command",
                    why: refused.to_string(),
                })?;
            let mut interrupted = false;
            let mut alive = Pulse::every(self.renewals());
            let ended = loop {
                tokio::select! {
                    ended = group.ended() => break ended,
                    () = alive.beat() => self.renew(),
                    wish = interrupts.next() => {
                        interrupted = true;
                        match wish.urgency {
                            Urgency::First => {
                                context.ui.say("interrupted: the command is asked to end; once more kills it");
                                group.stop();
                            }
                            Urgency::Second | Urgency::Further(_) => {
                                context.ui.say("interrupted: the command is killed");
                                group.kill();
                            }
                        }
                    }
                }
            };
            let printed = group.tail(Stream::Stdout, LARGEST_REPORT);
            Ok(Done { ended, printed, interrupted })
        })
    }

    /// The command as it is started.
    fn launch(&self, context: &Context<'_>, command: &[OsString]) -> Result<Launch, Halt> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(Halt::Usage("which command?".to_string()));
        };
        let own = Environment::all_of(context.environment.variables());
        let mark = Mark::new(&self.team.desk().fresh_id()?)
            .map_err(|refused| Halt::System {
                what: "mark the command",
                why: refused.to_string(),
            })?
            .inside(own.value(Mark::VARIABLE));
        let environment = own.set(VARIABLE, self.files.path(&self.file));
        let capture = |stream| Capture::tail_only(LARGEST_REPORT).heard_by(hand_on(stream));
        let launch = Launch::new(program, &context.environment.cwd, environment, mark)
            .args(arguments)
            .stdout(capture(Stream::Stdout))
            .stderr(capture(Stream::Stderr));
        Ok(launch)
    }

    /// How often the reservation is renewed while the command runs: three times before it would lapse.
    fn renewals(&self) -> Duration {
        let limiter = self.team.desk().limiter();
        let ttl = limiter.map_or(0, |limiter| limiter.limits().reservation_ttl_ms);
        Duration::from_millis(ttl / 3).clamp(SOONEST, LATEST)
    }

    /// Keeps the reservation while the command runs.
    fn renew(&self) {
        if let Some(id) = self.id {
            // One that cannot be renewed now is at the next turn. Should it lapse, what is used is booked all the same.
            let _ = self.team.desk().renew_reservation(id, self.member);
        }
    }

    fn reported(&self, printed: &[u8]) -> Result<Option<UsageReport>, Refusal> {
        let text = self.files.tail(&self.file, LARGEST_REPORT as u64);
        let text = text.map_err(|failure| Refusal::input(VARIABLE, &failure.to_string()))?;
        match report::from_file(&text.unwrap_or_default(), self.prices.table())? {
            Some(reported) => Ok(Some(reported)),
            None => report::from_output(printed, self.prices.table()),
        }
    }

    /// Books what was reported, or else the estimate.
    fn settle(&self, reported: Option<&UsageReport>) -> Result<Option<Recorded>, Halt> {
        if self.id.is_none() {
            // Admitted without the limiter: there is nothing to settle.
            return Ok(None);
        }
        let model = reported.and_then(|reported| reported.model.as_deref());
        let recorded = self.team.desk().record(&Report {
            member: self.member,
            reservation: self.id,
            tokens: reported.map_or(self.call.tokens, |reported| reported.tokens),
            cost: reported.and_then(|reported| reported.cost),
            task: None,
            model: model.or(self.call.model.as_deref()),
        })?;
        Ok(Some(recorded))
    }
}
