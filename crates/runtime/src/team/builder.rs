//! Building a team: what it is called, where its state is, what it may spend; then [`TeamBuilder::start`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pitcrew_core::limiter::WhenUnreachable;
use pitcrew_core::price::Micros;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::restart::{Policy, When};
use pitcrew_core::roster::{Settings, Team as Roster};
use pitcrew_core::{Name, Refusal, Timestamp, claim};
use pitcrew_store::documents::Shutdown;
use pitcrew_store::files::Workspace;
use pitcrew_store::{Creation, MemoryStore, Project, Store, StoreExt};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::bus::Bus;
use super::comms::Comms;
use super::coordinator::{Coordinator, Office, QUEUE, Roll};
use super::deps::TeamDeps;
use super::error::TeamError;
use super::home::Home;
use super::keeping::{Kept, Moved, keep};
use super::lifeline::Lifeline;
use super::publisher::Publisher;
use super::rate_limiter::RateLimiter;
use super::registry::Registry;
use super::routed::{Bells, RoutedStore};
use super::shared_state::SharedState;
use super::supervision::{Ending, Part, supervise};
use super::watching::watch;
use super::{Inner, Team};
use crate::clock::{Clock, Entropy, SystemClock, SystemEntropy};
use crate::desk::{Desk, Founding, LimitChange, NotDone, Plan, Setting};
use crate::process::Identity;
use crate::tools::Files;

/// A team to be. Everything but the id has a default.
#[must_use = "a team begins with `start`"]
pub struct TeamBuilder {
    team_id: String,
    team_name: Option<String>,
    goal: String,
    budget: Option<f64>,
    member_budget: Option<f64>,
    rpm: Option<u64>,
    tpm: Option<u64>,
    fail_open: Option<WhenUnreachable>,
    place: PlaceOf,
    bus: Bus,
    registry: Registry,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    claim_ttl_ms: u64,
    policy: Policy,
}

/// Where a team's state is.
enum PlaceOf {
    Memory,
    Store(Arc<dyn Store>, Option<PathBuf>),
    Project(PathBuf),
}

impl TeamBuilder {
    pub(super) fn new(team_id: &str) -> Self {
        Self {
            team_id: team_id.to_string(),
            team_name: None,
            goal: String::new(),
            budget: None,
            member_budget: None,
            rpm: None,
            tpm: None,
            fail_open: None,
            place: PlaceOf::Memory,
            bus: Bus::new(),
            registry: Registry::new(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            claim_ttl_ms: claim::TTL_MS,
            policy: Policy {
                when: When::Always,
                first_ms: 50,
                longest_ms: 2_000,
                most: 3,
                within_ms: 5_000,
                settle_ms: 5_000,
            },
        }
    }

    /// The name for people; the id if there is none.
    pub fn team_name(mut self, name: impl Into<String>) -> Self {
        self.team_name = Some(name.into());
        self
    }

    /// What the team is for.
    pub fn goal(mut self, goal: impl Into<String>) -> Self {
        self.goal = goal.into();
        self
    }

    /// What the team may spend in all, in dollars.
    pub fn budget(mut self, usd: f64) -> Self {
        self.budget = Some(usd);
        self
    }

    /// What each member may spend in all, in dollars.
    pub fn member_budget(mut self, usd: f64) -> Self {
        self.member_budget = Some(usd);
        self
    }

    /// Requests of the whole team in any 60 seconds.
    pub fn rpm(mut self, requests: u64) -> Self {
        self.rpm = Some(requests);
        self
    }

    /// Tokens of the whole team in any 60 seconds.
    pub fn tpm(mut self, tokens: u64) -> Self {
        self.tpm = Some(tokens);
        self
    }

    /// What happens to a model call while the limits cannot be read; it is refused unless said otherwise.
    pub fn when_limiter_unreachable(mut self, choice: WhenUnreachable) -> Self {
        self.fail_open = Some(choice);
        self
    }

    /// The store that keeps the team; memory if none is named. A team that is in it is gone on with.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        let root = match self.place {
            PlaceOf::Store(_, root) => root,
            PlaceOf::Project(root) => Some(root),
            PlaceOf::Memory => None,
        };
        self.place = PlaceOf::Store(store, root);
        self
    }

    /// The project whose state folder keeps the team, and whose files its agents work on: `pitcrew` commands there and
    /// this team see one another.
    pub fn project(mut self, root: impl AsRef<Path>) -> Self {
        let root = root.as_ref().to_path_buf();
        self.place = match self.place {
            PlaceOf::Store(store, _) => PlaceOf::Store(store, Some(root)),
            PlaceOf::Memory | PlaceOf::Project(_) => PlaceOf::Project(root),
        };
        self
    }

    /// The bus that carries the team's topics; one of its own if none is named.
    pub fn bus(mut self, bus: Bus) -> Self {
        self.bus = bus;
        self
    }

    /// The registry in which the team's names are; one of its own if none is named.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// The team's clock; the machine's if none is named.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The team's chance; the system's if none is named.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// How long a claim through [`SharedState`] holds unless renewed, in milliseconds; five minutes if not said.
    pub fn claim_ttl_ms(mut self, ttl_ms: u64) -> Self {
        self.claim_ttl_ms = ttl_ms;
        self
    }

    /// How often and how soon the team's own parts are started again.
    pub fn restart_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Founds the team, or goes on with the one that its store holds, and starts its parts, the Coordinator last. To be
    /// called inside a tokio runtime.
    ///
    /// # Errors
    /// `invalid_name`; `invalid_input` for limits that make no sense; [`TeamError::AlreadyExists`] when the registry has
    /// a team of that id; when the store cannot be written.
    pub async fn start(self) -> Result<Team, TeamError> {
        let name = Name::new(NameKind::Team, &self.team_id)?;
        let limits = self.limits()?;
        let team_name: Arc<str> = self.team_name.as_deref().unwrap_or(&self.team_id).into();
        let now = Timestamp::from_millis(self.clock.now());
        let own = matches!(self.place, PlaceOf::Memory);
        let (store, files) = self.open(&name, now)?;
        let bells: Arc<Bells> = Arc::default();
        let moved: Arc<Moved> = Arc::default();
        let publisher = Arc::new(Publisher::new(
            name.clone(),
            Arc::clone(&store),
            self.bus.clone(),
        ));
        let routed: Arc<dyn Store> = Arc::new(RoutedStore::new(
            Arc::clone(&store),
            Arc::clone(&bells),
            Arc::clone(&publisher),
            Arc::clone(&moved),
        ));
        let home = Home::new(
            name.clone(),
            routed,
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
            files,
        );
        let plan = self.plan();
        let fail_open = self.fail_open;
        let is_on = home
            .ask(move |desk| prepare(desk, &plan, &limits, fail_open))
            .await?;
        let comms = Comms::new(home.clone(), Arc::clone(&publisher));
        let lifeline: Arc<Lifeline> = Arc::default();
        let (requests, queue) = mpsc::channel(QUEUE);
        let coordinator = Coordinator::new(
            name.clone(),
            Arc::clone(&team_name),
            requests,
            Arc::clone(&lifeline),
        );
        let shared_state = SharedState::new(home.clone(), self.claim_ttl_ms);
        let limiter = is_on.then(|| RateLimiter::new(home.clone()));
        let deps = Arc::new(TeamDeps {
            team_id: name.clone(),
            team_name,
            team_role: None,
            shared_state: shared_state.clone(),
            rate_limiter: limiter.clone(),
            team_coordinator: coordinator.clone(),
            comms: comms.clone(),
            agent_name: Name::leader(),
        });
        let office = Arc::new(Office {
            home: home.clone(),
            comms: comms.clone(),
            bells: Arc::clone(&bells),
            process: Identity::own(),
            deps,
            roll: Mutex::new(Roll::default()),
            requests: Mutex::new(queue),
        });
        let mut parts = Vec::new();
        if !own {
            parts.push(watching(&name, store, Arc::clone(&bells), publisher));
        }
        parts.push(keeper("shared_state", &name, Kept::Claims, &home, &moved));
        if is_on {
            parts.push(keeper("rate_limiter", &name, Kept::Limits, &home, &moved));
        }
        parts.push(coordinating(&name, office));
        let stop = CancellationToken::new();
        let inner = Arc::new(Inner {
            shared_state,
            limiter,
            comms,
            coordinator,
            bells,
            registry: self.registry.clone(),
            lifeline: Arc::clone(&lifeline),
            home,
            _stop: stop.clone().drop_guard(),
            token: stop.clone(),
            stopped: OnceLock::new(),
        });
        self.registry.enter(&name, &inner)?;
        let supervised = supervise(parts, self.policy, self.clock, self.entropy, stop);
        let supervisor = tokio::spawn(async move {
            match supervised.await {
                Ending::Stopped => lifeline.cut("it was shut down"),
                Ending::GaveUp { part, why, reason } => {
                    lifeline.cut(&format!("{part} failed too often ({reason:?}): {why}"));
                }
            }
        });
        // Set once, here.
        let _ = inner.stopped.set(Mutex::new(Some(supervisor)));
        Ok(Team::of(inner))
    }

    fn limits(&self) -> Result<LimitChange, TeamError> {
        let money = |field: &str, usd: Option<f64>| match usd {
            None => Ok(Setting::Keep),
            Some(usd) => Micros::from_usd(usd)
                .map(Setting::To)
                .ok_or_else(|| Refusal::input(field, "must be a number of dollars, 0 or more")),
        };
        let whole = |limit: Option<u64>| limit.map_or(Setting::Keep, Setting::To);
        Ok(LimitChange {
            budget: money("budget", self.budget)?,
            member_budget: money("member_budget", self.member_budget)?,
            rpm: whole(self.rpm),
            tpm: whole(self.tpm),
            ..LimitChange::default()
        })
    }

    fn plan(&self) -> Plan {
        let settings = self.fail_open.map(|choice| Settings {
            limiter_unreachable: Some(choice),
            ..Settings::default()
        });
        Plan {
            founding: Founding {
                goal: self.goal.clone(),
                role: String::new(),
                team_name: self.team_name.clone(),
                cwd: String::new(),
                settings,
            },
            ..Plan::default()
        }
    }

    fn open(&self, name: &Name, now: Timestamp) -> Result<(Arc<dyn Store>, Files), TeamError> {
        let files_of = |root: &Path| -> Result<(Project, Files), TeamError> {
            let project = Project::at(root)?;
            let files = Files::Of {
                workspace: Workspace::of(&project)?,
                root: project.root().to_path_buf(),
            };
            Ok((project, files))
        };
        let named = || Files::Named {
            root: "/".to_string(),
        };
        match &self.place {
            PlaceOf::Memory => Ok((Arc::new(MemoryStore::new()), named())),
            PlaceOf::Store(store, None) => Ok((Arc::clone(store), named())),
            PlaceOf::Store(store, Some(root)) => Ok((Arc::clone(store), files_of(root)?.1)),
            PlaceOf::Project(root) => {
                let (project, files) = files_of(root)?;
                let store = project.team(name);
                if store.view::<Roster>(&())?.is_some() {
                    return Ok((Arc::new(store), files));
                }
                let cwd = project.root().display().to_string();
                let mut team = Roster::new(name, &self.goal, "", &cwd, now);
                team.team_name.clone_from(&self.team_name);
                match project.create_team(name, &team)? {
                    Creation::Created(store) => Ok((Arc::new(store), files)),
                    Creation::Taken(taken) if taken == name.as_str() => {
                        Ok((Arc::new(project.team(name)), files))
                    }
                    Creation::Taken(team) => Err(Refusal::TeamExists { team }.into()),
                }
            }
        }
    }
}

/// Founds the team if it is not there, takes away that it was shut down, sets what was given of its limits. Answers
/// whether it has any.
fn prepare(
    desk: &Desk<'_>,
    plan: &Plan,
    limits: &LimitChange,
    fail_open: Option<WhenUnreachable>,
) -> Result<bool, NotDone> {
    if desk.store().view::<Roster>(&())?.is_none() {
        match desk.found(plan) {
            // Somebody else founded it in between.
            Ok(_) | Err(NotDone::Refused(Refusal::TeamExists { .. })) => {}
            Err(why) => return Err(why),
        }
    }
    if desk.shut_down_at()?.is_some() {
        desk.store().update::<Shutdown, (), Refusal>(&(), |slot| {
            *slot = None;
            Ok(())
        })??;
    }
    if let Some(choice) = fail_open {
        desk.set_limiter_unreachable(choice)?;
    }
    if *limits != LimitChange::default() {
        return Ok(desk.set_limits(limits)?.is_on());
    }
    Ok(desk.limiter()?.limits().is_on())
}

fn watching(
    name: &Name,
    store: Arc<dyn Store>,
    bells: Arc<Bells>,
    publisher: Arc<Publisher>,
) -> Part {
    Part {
        name: format!("team_watch_{name}"),
        begin: Box::new(move |stop| {
            let (store, bells) = (Arc::clone(&store), Arc::clone(&bells));
            Box::pin(watch(store, bells, Arc::clone(&publisher), stop))
        }),
    }
}

fn keeper(word: &str, name: &Name, kept: Kept, home: &Home, moved: &Arc<Moved>) -> Part {
    let (home, moved) = (home.clone(), Arc::clone(moved));
    Part {
        name: format!("team_{word}_{name}"),
        begin: Box::new(move |stop| Box::pin(keep(kept, home.clone(), Arc::clone(&moved), stop))),
    }
}

fn coordinating(name: &Name, office: Arc<Office>) -> Part {
    Part {
        name: format!("team_coordinator_{name}"),
        begin: Box::new(move |stop| Box::pin(super::coordinator::run(Arc::clone(&office), stop))),
    }
}
