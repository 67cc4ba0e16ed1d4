//! Findings that members share: appended to one log, counted on the board, shown to each member once.
//!
//! Sharing is two steps, the line and then the board; a crash between them loses nothing, because whoever comes next
//! counts the lines that the board has not seen. The board may be deleted, and the log may be cut from outside: then
//! everybody is shown once more what is there.

use std::ops::ControlFlow;

use pitcrew_core::board::{Absorbed, Board, Discovery, Evicted, Filter, Found, Interest, Shown};
use pitcrew_core::claim::FilePath;
use pitcrew_core::event::Fact;
use pitcrew_core::task::Status;
use pitcrew_core::{Name, Refusal, TaskId, Timestamp};
use pitcrew_store::{Cursor, Log, Page, StoreExt, StoreFailure};

use super::index::each_line;
use super::{Credentials, Desk, NotDone};

/// How many bytes of the log are taken in at once.
const PAGE: usize = 256 * 1024;

/// How far ahead findings are looked for that concern a member.
const WINDOW: usize = 256;

/// How many bytes of the log are looked ahead at the most.
const WINDOW_BYTES: u64 = 4 * 1024 * 1024;

/// How often a step starts again when the board changed under it.
const ROUNDS: u32 = 100;

/// What somebody found, before it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finding {
    /// What it is about.
    pub topic: String,
    /// The finding.
    pub content: String,
    /// The files and folders that it concerns.
    pub paths: Vec<FilePath>,
    /// How long it is worth knowing, in milliseconds; `None` is for good.
    pub ttl_ms: Option<u64>,
}

/// A finding that was shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// The finding as it stands in the log.
    pub discovery: Discovery,
    /// Findings that are kept no longer since.
    pub evicted: Option<Evicted>,
}

/// What a member was not shown before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct News {
    /// The findings, first those that concern the member.
    pub discoveries: Vec<Discovery>,
    /// How many more there are, as far as was looked ahead.
    pub left: usize,
    /// How many it never saw and never will: they are kept no longer.
    pub missed: u64,
    given: Given,
}

/// What was noted as shown, for the case that it cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Given {
    from: (u64, u64),
    at: Vec<u64>,
}

/// What a member is to be shown, and what is needed to note that it was.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offer {
    /// The findings.
    pub news: News,
    from: Cursor,
    window: Vec<Found>,
    picks: Vec<usize>,
}

impl Desk<'_> {
    /// Shares a finding of whoever speaks.
    ///
    /// # Errors
    /// As [`Desk::speaker`] and [`Discovery::new`] say; a failure before the line is written means that nothing was.
    pub fn share(&self, who: &Credentials, finding: &Finding) -> Result<Shared, NotDone> {
        let agent = self.speaker(&self.roster()?, who)?.name;
        self.share_as(&agent, finding)
    }

    /// Shares a finding of a member that is known already.
    ///
    /// # Errors
    /// As [`Discovery::new`] says.
    pub fn share_as(&self, agent: &Name, finding: &Finding) -> Result<Shared, NotDone> {
        let now = self.now();
        let mut discovery = Discovery::new(agent, &finding.topic, &finding.content, now)?
            .about(finding.paths.clone())?;
        if let Some(ttl_ms) = finding.ttl_ms {
            discovery = discovery.for_a_while(ttl_ms)?;
        }
        let line = discovery
            .encode()
            .map_err(|refused| Refusal::input("content", &refused.to_string()))?;
        self.store.append(&Log::Discoveries, &[line.as_bytes()])?;
        // The line is durable. A board that stays behind is brought up by whoever looks next.
        let evicted = match self.count_discoveries() {
            Ok(absorbed) => absorbed.evicted,
            Err(_) => None,
        };
        let shared = Fact::DiscoveryShared {
            member: agent.clone(),
            subject: discovery.topic.clone(),
            length: discovery.content.len() as u64,
            paths: discovery.paths.clone(),
        };
        let gone = evicted.map(|evicted| Fact::DiscoveriesEvicted {
            count: evicted.count,
        });
        self.announce(&std::iter::once(shared).chain(gone).collect::<Vec<_>>());
        self.note_progress(agent);
        Ok(Shared { discovery, evicted })
    }

    /// The board as it is now.
    ///
    /// # Errors
    /// When it cannot be read. One that makes no sense counts as absent.
    pub fn discovery_board(&self) -> Result<Board, NotDone> {
        Ok(self.store.view::<Board>(&())?.unwrap_or_default())
    }

    /// Changes how many findings are kept.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn keep_discoveries(&self, cap: u64) -> Result<(), NotDone> {
        self.on_whole(|board: &mut Board| {
            board.set_cap(cap);
            Ok(())
        })
    }

    /// Hands every kept finding that `filter` admits to `each`, oldest first, until it says stop. Answers how many
    /// lines are no finding.
    ///
    /// # Errors
    /// When the log cannot be read, and whatever `each` answers.
    pub fn discoveries(
        &self,
        filter: &Filter,
        each: &mut dyn FnMut(Discovery) -> ControlFlow<()>,
    ) -> Result<u64, NotDone> {
        let now = self.now();
        let floor = self.discovery_board()?.floor();
        let mut damaged = 0;
        let mut look = |from: Cursor| {
            each_line(
                self.store,
                &Log::Discoveries,
                from,
                |line| match Discovery::decode(line.bytes) {
                    Ok(found) if filter.admits(&found, now) => each(found),
                    Ok(_) => ControlFlow::Continue(()),
                    Err(_) => {
                        damaged += u64::from(!line.bytes.trim_ascii().is_empty());
                        ControlFlow::Continue(())
                    }
                },
            )
        };
        match look(floor) {
            // Cut from outside: everything that is there is new.
            Err(StoreFailure::LogTruncated { .. }) => look(0)?,
            seen => seen?,
        };
        Ok(damaged)
    }

    /// Shows a member what it was not shown before, at most `limit` findings, and notes that it was. Asked by two
    /// processes of one member at once, each finding is given to one of them.
    ///
    /// # Errors
    /// When the log or the board cannot be read or kept.
    pub fn new_discoveries(&self, member: &Name, limit: usize) -> Result<News, NotDone> {
        self.count_discoveries()?;
        let interest = self.interest_of(member)?;
        for _ in 0..ROUNDS {
            let from = self.discovery_board()?.reading_from(member);
            let window = match self.findings_from(from) {
                Err(StoreFailure::LogTruncated { .. }) => {
                    self.restart_board()?;
                    continue;
                }
                window => window?,
            };
            let mut place = (0, 0);
            let shown = self.on_whole(|board: &mut Board| {
                place = board.place_of(member);
                // Built anew in between: the window would have a gap before it.
                let fits = board.reading_from(member) >= from;
                Ok(fits.then(|| board.show(member, &interest, &window, limit, self.now())))
            })?;
            if let Some(shown) = shown {
                return Ok(news(&window, shown, place));
            }
        }
        Err(unsteady())
    }

    /// Takes back that a member was shown `news`: the answer could not be handed over. They come again.
    ///
    /// # Errors
    /// When the log or the board cannot be read or kept; then they stay noted as shown.
    pub fn take_back_news(&self, member: &Name, news: &News) -> Result<(), NotDone> {
        let Given { from, at } = &news.given;
        if at.is_empty() {
            return Ok(());
        }
        // Cut from outside: the board is built anew, and they come again by that.
        let window = match self.findings_from(from.0) {
            Err(StoreFailure::LogTruncated { .. }) => return Ok(()),
            window => window?,
        };
        self.on_whole(|board: &mut Board| {
            board.take_back(member, *from, &window, at);
            Ok(())
        })
    }

    /// What a member was not shown before, at most `limit` findings, without noting that it was: whoever shows them says
    /// so with [`Desk::note_shown`] once that has happened.
    ///
    /// # Errors
    /// When the log or the board cannot be read or kept.
    pub fn offer_discoveries(&self, member: &Name, limit: usize) -> Result<Offer, NotDone> {
        self.count_discoveries()?;
        let interest = self.interest_of(member)?;
        for _ in 0..ROUNDS {
            let board = self.discovery_board()?;
            let from = board.reading_from(member);
            let window = match self.findings_from(from) {
                Err(StoreFailure::LogTruncated { .. }) => {
                    self.restart_board()?;
                    continue;
                }
                window => window?,
            };
            let shown = board.preview(member, &interest, &window, limit, self.now());
            let picks = shown.picks.clone();
            return Ok(Offer {
                news: news(&window, shown, board.place_of(member)),
                from,
                window,
                picks,
            });
        }
        Err(unsteady())
    }

    /// Notes that a member was shown what was offered to it.
    ///
    /// # Errors
    /// When the board cannot be kept.
    pub fn note_shown(&self, member: &Name, offer: &Offer) -> Result<(), NotDone> {
        if offer.picks.is_empty() {
            return Ok(());
        }
        self.on_whole(|board: &mut Board| {
            // A board that was built anew in between would have a gap before the window: it is shown once more.
            if board.reading_from(member) >= offer.from {
                board.note_shown(member, &offer.window, &offer.picks, self.now());
            }
            Ok(())
        })
    }

    /// How many findings a member was not shown yet, as far as one looks ahead. Changes nothing.
    ///
    /// # Errors
    /// When the log or the board cannot be read.
    pub fn count_new_discoveries(&self, member: &Name) -> Result<usize, NotDone> {
        let board = self.discovery_board()?;
        let from = board.reading_from(member);
        let window = match self.findings_from(from) {
            // Cut from outside: whoever is shown them next starts anew.
            Err(StoreFailure::LogTruncated { .. }) => return Ok(self.findings_from(0)?.len()),
            window => window?,
        };
        let shown = board.preview(member, &Interest::default(), &window, 0, self.now());
        Ok(shown.left)
    }

    /// What a member is busy with: the files of its claims and the tasks that it has.
    fn interest_of(&self, member: &Name) -> Result<Interest, NotDone> {
        let now: Timestamp = self.now();
        let claims = self.claims()?;
        let held = claims.held(now).filter(|claim| claim.member == *member);
        let mut files: Vec<FilePath> = held.map(|claim| claim.file.clone()).collect();
        files.dedup();
        let tasks = self.tasks()?.tasks.into_iter().filter(|task| {
            task.status == Status::InProgress && task.owner.as_deref() == Some(member.as_str())
        });
        let tasks = tasks.filter_map(|task| TaskId::new(&task.id).ok());
        Ok(Interest {
            files,
            tasks: tasks.collect(),
        })
    }

    /// The findings from `from` on, as many as one looks ahead.
    fn findings_from(&self, from: Cursor) -> Result<Vec<Found>, StoreFailure> {
        let mut found = Vec::new();
        each_line(self.store, &Log::Discoveries, from, |line| {
            if let Ok(discovery) = Discovery::decode(line.bytes) {
                found.push(Found {
                    at: line.at,
                    end: line.end,
                    discovery,
                });
            }
            match found.len() >= WINDOW || line.end - from >= WINDOW_BYTES {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(found)
    }

    /// Counts the lines of the log that the board has not seen.
    fn count_discoveries(&self) -> Result<Absorbed, NotDone> {
        let mut sum = Absorbed::default();
        let mut again = 0;
        loop {
            let from = self.discovery_board()?.scanned();
            let page: Page = match self.store.read(&Log::Discoveries, from, PAGE) {
                Ok(page) => page,
                Err(StoreFailure::LogTruncated { .. }) if again < ROUNDS => {
                    again += 1;
                    self.restart_board()?;
                    continue;
                }
                Err(failure) => return Err(failure.into()),
            };
            if page.bytes.is_empty() {
                return Ok(sum);
            }
            let absorbed = self.on_whole(|board: &mut Board| {
                let fits = board.scanned() >= page.base;
                let lines = page.lines().map(|line| (line.at, line.end, line.bytes));
                Ok(fits.then(|| board.absorb(lines)))
            })?;
            match absorbed {
                Some(absorbed) => add(&mut sum, absorbed),
                None if again < ROUNDS => again += 1,
                None => return Err(unsteady()),
            }
        }
    }

    fn restart_board(&self) -> Result<(), NotDone> {
        self.on_whole(|board: &mut Board| {
            board.restart();
            Ok(())
        })
    }
}

fn add(sum: &mut Absorbed, more: Absorbed) {
    sum.found += more.found;
    sum.damaged += more.damaged;
    sum.evicted = match (sum.evicted, more.evicted) {
        (Some(before), Some(now)) => Some(Evicted {
            count: before.count + now.count,
            floor: now.floor,
        }),
        (before, now) => now.or(before),
    };
}

fn news(window: &[Found], shown: Shown, from: (u64, u64)) -> News {
    let picked = || shown.picks.iter().filter_map(|at| window.get(*at));
    let at: Vec<u64> = picked().map(|found| found.at).collect();
    let given = match at.is_empty() {
        true => Given::default(),
        false => Given { from, at },
    };
    News {
        given,
        discoveries: picked().map(|found| found.discovery.clone()).collect(),
        left: shown.left,
        missed: shown.missed,
    }
}

/// The answer when the log is cut or the board removed again and again while somebody looks.
fn unsteady() -> NotDone {
    StoreFailure::CorruptDocument {
        place: Log::Discoveries.to_string(),
        why: "it changes under every look".to_string(),
    }
    .into()
}
