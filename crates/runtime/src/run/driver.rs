//! The loop of a run: carries out what the scheduler orders, and hands in what happened.
//!
//! One thing at a time is taken in: an interrupt, the end of a turn, a change of the team's files, or the passing of
//! time. Everything that follows from it is carried out before the next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{Change, StoreFailure};
use tokio::sync::mpsc;

use super::allowance::Shown;
use super::ending::Totals;
use super::event::{EndReason, Fact, LeftRunning, Report, Unfinished, WaitReason};
use super::founding::Ground;
use super::outfit::Gear;
use super::scheduler::{
    Ending, Event, Finish, Moment, Order, Scheduler, SeatNo, SeatState, SeatView,
};
use super::turn::TURN_FOLDER;
use super::{RunError, Scene, Setup, Tools, Watcher, own};
use crate::clock::{Clock, Watch};
use crate::desk::{Desk, NotDone, Unsaid};
use crate::process::{Closed, Control, Ended, Interrupts, Orphan, Orphanage, Urgency};

mod books;
mod looking;
pub(super) mod notices;
mod orphans;
mod outcome;
mod plan;
mod staying;
mod turns;

/// The longest that the loop sleeps, so that a machine that slept is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(20);

/// A wait that takes so much longer than it was to take says that this program did not run.
const HELD_STILL: Duration = Duration::from_secs(2);

/// A wait whose end moves by no more than this is told once: members of one profile learn of one limit one by one.
const SAME_WAIT_MS: u64 = 500;

/// How many changes wait for the loop. The store's own queue is bounded too and reports lag.
const CHANGES: usize = 64;

/// A run in progress.
pub(super) struct Driver<'a> {
    setup: Setup<'a>,
    tools: Tools,
    ground: Ground,
    gears: Vec<Gear>,
    watcher: &'a mut dyn Watcher,
    scheduler: Scheduler,
    began_ms: i64,
    /// When this program was last seen to run, by the clock that stands still while the machine sleeps.
    seen_ms: i64,
    clocks: Watch,
    ends: (mpsc::Sender<TurnEnd>, mpsc::Receiver<TurnEnd>),
    leader_unread: u64,
    unread: Vec<u64>,
    usage: Totals,
    waits: BTreeMap<SeatNo, i64>,
    /// Whose last turn crashed, and who was really started again after one, how often.
    crashed: BTreeSet<SeatNo>,
    restarted: BTreeMap<SeatNo, u32>,
    limits: books::Seen,
    /// What models cost, and what turns have shown to cost.
    shown: Shown,
    /// Why the team's limits stopped a member, in their words.
    barred: BTreeMap<SeatNo, String>,
    unfinished: Vec<Unfinished>,
    left_running: Vec<LeftRunning>,
    /// Tasks that were there and are not any more.
    vanished: Vec<Task>,
    ending: Option<EndReason>,
    shut_down_at: Option<String>,
    broken: Option<NotDone>,
    noted: BTreeSet<String>,
    /// Events that could not be written down.
    unsaid: Unsaid,
    /// The members whose agents have joined and neither left nor crashed.
    joined: BTreeSet<Name>,
    /// Where the system hands over orphans, who may have left them, and those that are ended.
    orphanage: Result<Orphanage, Closed>,
    suspects: BTreeMap<(u32, u64), BTreeSet<Name>>,
    doomed: Vec<Orphan>,
    ended_orphans: BTreeSet<(u32, u64)>,
    collected_ms: i64,
}

/// The end of a member's process.
struct TurnEnd {
    seat: SeatNo,
    turn: u32,
    ended: Ended,
}

/// What the loop waits for.
enum Wake {
    Interrupted(Urgency),
    Ended(TurnEnd),
    Changed(Result<Change, StoreFailure>),
    Time,
}

/// The desk of a run, for whoever holds parts of the driver.
fn desk_of<'d>(
    setup: &'d Setup<'_>,
    ground: &'d Ground,
    tools: &'d Tools,
    unsaid: &'d Unsaid,
) -> Desk<'d> {
    let (clock, entropy) = (&*tools.clock, &tools.entropy);
    Desk::new(&setup.file.name, &ground.store, clock, entropy).noting(unsaid)
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        setup: Setup<'a>,
        tools: Tools,
        ground: Ground,
        mut gears: Vec<Gear>,
        watcher: &'a mut dyn Watcher,
    ) -> Result<Self, RunError> {
        for gear in &mut gears {
            gear.number = match latest_turn(gear).map_err(NotDone::from) {
                Ok(number) => number,
                // Its turns will say so.
                Err(failed) if own::is_a_members(&failed) => 0,
                Err(failed) => return Err(failed.into()),
            };
        }
        let plan = plan::plan(&setup, &gears);
        let clocks = Watch::start(&*tools.clock);
        let (began_ms, seen_ms) = (tools.clock.elapsed_since_boot(), tools.clock.monotonic());
        let now = Moment {
            ms: began_ms,
            wall: Timestamp::from_millis(tools.clock.now()),
        };
        let unread = vec![0; gears.len()];
        Ok(Self {
            scheduler: Scheduler::new(plan, now),
            shown: Shown::with(setup.prices.table().clone()),
            setup,
            tools,
            ground,
            gears,
            watcher,
            began_ms,
            seen_ms,
            clocks,
            ends: mpsc::channel(CHANGES),
            leader_unread: 0,
            unread,
            usage: Totals::new(),
            waits: BTreeMap::new(),
            crashed: BTreeSet::new(),
            restarted: BTreeMap::new(),
            limits: books::Seen::default(),
            barred: BTreeMap::new(),
            unfinished: Vec::new(),
            left_running: Vec::new(),
            vanished: Vec::new(),
            ending: None,
            shut_down_at: None,
            broken: None,
            noted: BTreeSet::new(),
            unsaid: Unsaid::new(),
            joined: BTreeSet::new(),
            orphanage: Orphanage::open(),
            suspects: BTreeMap::new(),
            doomed: Vec::new(),
            ended_orphans: BTreeSet::new(),
            collected_ms: seen_ms,
        })
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// When it cannot begin. What fails later stands in the report.
    pub(super) async fn drive(mut self, mut interrupts: Interrupts) -> Result<Report, RunError> {
        let cannot = |what| {
            move |refused: std::io::Error| RunError::System {
                what,
                why: refused.to_string(),
            }
        };
        let mut changes =
            looking::listen(&self.ground.store)?.map_err(cannot("start the watching thread"))?;
        self.begin()?;
        // Somebody may have wished it to end while it was made ready.
        tokio::task::yield_now().await;
        while let Some(wish) = interrupts.come().await {
            self.interrupted(wish.urgency);
        }
        loop {
            if let Some(finish) = self.carry_out() {
                self.end_orphans().await;
                return Ok(self.finish(&finish));
            }
            self.show();
            let sleep = self.sleep();
            let began_ms = self.seen_ms;
            let wake = tokio::select! {
                biased;
                wish = interrupts.next() => Wake::Interrupted(wish.urgency),
                Some(end) = self.ends.1.recv() => Wake::Ended(end),
                Some(change) = changes.recv() => Wake::Changed(change),
                () = tokio::time::sleep(sleep) => Wake::Time,
            };
            self.notice_sleep();
            self.notice_hold(began_ms, sleep);
            match wake {
                Wake::Interrupted(urgency) => self.interrupted(urgency),
                Wake::Ended(end) => self.ended(end),
                Wake::Changed(first) => {
                    let more = std::iter::from_fn(|| changes.try_recv().ok());
                    let all: Result<Vec<Change>, StoreFailure> =
                        std::iter::once(first).chain(more).collect();
                    self.changed(all);
                }
                Wake::Time => self.collect_orphans(),
            }
        }
    }

    fn now(&self) -> Moment {
        Moment {
            ms: self.tools.clock.elapsed_since_boot(),
            wall: Timestamp::from_millis(self.tools.clock.now()),
        }
    }

    fn desk(&self) -> Desk<'_> {
        desk_of(&self.setup, &self.ground, &self.tools, &self.unsaid)
    }

    fn tell(&mut self, fact: &Fact) {
        self.write_down(fact);
        self.tools.tell(&mut *self.watcher, fact);
    }

    fn handle(&mut self, event: Event) {
        let now = self.now();
        self.scheduler.handle(event, now);
    }

    /// Something of the team's files failed: the run ends in good order, as far as that goes.
    fn broke(&mut self, failed: NotDone) {
        if self.broken.is_none() {
            self.broken = Some(failed);
            self.handle(Event::Broke);
        }
    }

    /// Like [`Self::attempt`], for what concerns a member: a failure of a member's own files is answered in words, for
    /// the others go on.
    fn attempt_for_member<T>(&mut self, result: Result<T, NotDone>) -> Result<T, Option<String>> {
        match result {
            Ok(value) => Ok(value),
            Err(failed) if own::is_a_members(&failed) => Err(Some(own::in_full(&failed))),
            Err(failed) => {
                self.broke(failed);
                Err(None)
            }
        }
    }

    /// Says once what is wrong with a member's files where no turn can say it.
    fn note(&mut self, why: String) {
        if self.noted.insert(why.clone()) {
            self.tell(&Fact::Noted { note: why });
        }
    }

    fn attempt<T>(&mut self, result: Result<T, NotDone>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(failed) => {
                self.broke(failed);
                None
            }
        }
    }

    fn begin(&mut self) -> Result<(), RunError> {
        let board = self.desk().tasks()?;
        let open = board
            .tasks
            .iter()
            .filter(|task| task.status != Status::Completed)
            .count();
        let fact = Fact::RunStarted {
            run: self.ground.run.clone(),
            team: self.setup.file.name.to_string(),
            founding: self.ground.founded,
            members: self
                .gears
                .iter()
                .map(|gear| gear.name().to_string())
                .collect(),
            open,
            tasks: board.tasks.len(),
            folder: self.ground.store.folder().to_path_buf(),
        };
        self.tell(&fact);
        self.tell_who_is_not_found();
        self.handle(Event::Board(board));
        for seat in 0..self.gears.len() {
            self.look_at_mail(seat);
        }
        self.leader_unread = self.desk().count_unread(&Name::leader())?;
        self.look_at_limits();
        Ok(())
    }

    /// Carries out every order there is, and answers the last one of the run.
    fn carry_out(&mut self) -> Option<Finish> {
        loop {
            self.notice_hold(self.seen_ms, Duration::ZERO);
            let now = self.now();
            match self.scheduler.poll(now)? {
                Order::Start { seat, turn, work } => self.start(seat, turn, &work),
                Order::Stop(seat) => {
                    self.announce_ending();
                    self.with_group(seat, Control::stop);
                }
                Order::Kill(seat) => {
                    self.announce_ending();
                    self.with_group(seat, Control::kill);
                }
                Order::Settle {
                    seat,
                    turn,
                    task,
                    mail,
                } => self.settle(seat, turn, task, mail),
                Order::Look => self.look_at_everything(),
                Order::PutBack { seat, task } => self.put_back(seat, &task),
                Order::Retry(task) => self.retry(task),
                Order::Tell(seat, reason) => self.stopped(seat, reason),
                Order::Finish(finish) => {
                    // Where nobody was in a turn, nobody had to be stopped before.
                    self.announce_ending();
                    return Some(finish);
                }
            }
        }
    }

    fn interrupted(&mut self, urgency: Urgency) {
        let at_once = self.ending.is_some() || urgency != Urgency::First;
        self.ending = Some(match at_once {
            false => EndReason::Interrupted,
            true => EndReason::InterruptedTwice,
        });
        self.announce();
        self.handle(Event::Interrupted);
        if at_once {
            self.handle(Event::Interrupted);
        }
    }

    /// Says once why the run comes to its end by itself.
    fn announce_ending(&mut self) {
        let reason = match self.scheduler.ending() {
            Some(Ending::ShutDown) => EndReason::ShutDown,
            Some(Ending::TimeLimit) => EndReason::TimeLimit,
            Some(Ending::FirstFailure) => EndReason::FirstFailure,
            Some(Ending::Broke) => EndReason::Broke,
            Some(Ending::Interrupted) | None => return,
        };
        if self.ending.is_none() {
            self.ending = Some(reason);
            self.announce();
        }
    }

    fn announce(&mut self) {
        let Some(why) = self.ending else { return };
        let running = self
            .gears
            .iter()
            .filter(|gear| gear.turn.is_some())
            .map(|gear| gear.name().clone())
            .collect();
        self.tell(&Fact::Ending { why, running });
    }

    /// A wait, or one piece of work, that took much longer than it was to take says that this program was held still
    /// (Ctrl-Z). The run gets that time back, and the grace of a stop beside it, in which what ended meanwhile is taken
    /// in.
    fn notice_hold(&mut self, began_ms: i64, sleep: Duration) {
        self.seen_ms = self.tools.clock.monotonic();
        let took_ms = self.seen_ms.saturating_sub(began_ms);
        let ms = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let over_ms = took_ms.saturating_sub(ms(sleep));
        if over_ms > ms(HELD_STILL) {
            let back = over_ms.saturating_add(ms(self.setup.grace));
            self.handle(Event::Slept(back));
        }
    }

    fn sleep(&self) -> Duration {
        let now = self.now();
        let until = self.scheduler.deadline(now).map(|at| {
            let left = at.saturating_sub(now.ms).max(0);
            Duration::from_millis(u64::try_from(left).unwrap_or(0))
        });
        let pace = self.watcher.pace();
        [until, pace]
            .into_iter()
            .flatten()
            .fold(LONGEST_SLEEP, Duration::min)
    }

    /// Shows how things stand, and says once for whom a wait began.
    fn show(&mut self) {
        let now = self.now();
        let mut waits = BTreeMap::new();
        let mut news = Vec::new();
        for (seat, view) in self.scheduler.view(now).enumerate() {
            let (reason, at) = match view.state {
                SeatState::Limited(at) => (WaitReason::Limit, at),
                SeatState::HeldBack(at) => (WaitReason::RateLimit, at),
                SeatState::Restarting(at) => (WaitReason::Restart, at),
                SeatState::Retrying(at) => (WaitReason::Retry, at),
                SeatState::Running(_) | SeatState::Idle | SeatState::Stopped(_) => continue,
            };
            let told = self.waits.get(&seat).copied();
            let known = told.filter(|told| told.abs_diff(at) <= SAME_WAIT_MS);
            waits.insert(seat, known.unwrap_or(at));
            if known.is_none() {
                news.push(Fact::MemberWaits {
                    member: view.name.clone(),
                    reason,
                    restart: (reason == WaitReason::Restart).then_some(view.restarts),
                    until: now.wall.plus_millis(at.saturating_sub(now.ms)),
                });
            }
        }
        self.waits = waits;
        for fact in news {
            self.tell(&fact);
        }
        let seats: Vec<SeatView<'_>> = self.scheduler.view(now).collect();
        let scene = Scene {
            now: now.wall,
            now_ms: now.ms,
            elapsed_ms: now.ms.saturating_sub(self.began_ms),
            seats,
            board: self.scheduler.board(),
            leader_unread: self.leader_unread,
            ending: self.ending,
        };
        self.watcher.look(&scene);
    }
}

/// The number of a member's latest turn, by the folders that its turns left.
fn latest_turn(gear: &Gear) -> Result<u32, StoreFailure> {
    let names = gear.files.names()?;
    let numbers = names
        .iter()
        .filter_map(|name| name.strip_prefix(TURN_FOLDER)?.parse().ok());
    Ok(numbers.max().unwrap_or(0))
}
