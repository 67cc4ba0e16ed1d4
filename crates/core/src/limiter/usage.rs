//! What was used, by the whole team and per member, task and model.
//!
//! Members are as many as the roster has. Tasks and models are as many as a team's life brings, so only the most
//! recently used are kept one by one and the others as one sum: the document stays small, and nothing is lost from
//! the totals.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::price::Micros;
use crate::time::Timestamp;

/// The most tasks that are kept one by one.
pub const TASKS: usize = 256;

/// The most models that are kept one by one.
pub const MODELS: usize = 64;

/// What was used. Settled calls only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Used {
    /// Money, in micro-dollars.
    pub cost: Micros,
    /// Tokens.
    pub tokens: u64,
    /// Requests.
    pub requests: u64,
}

impl Used {
    pub(super) fn call(tokens: u64, cost: Micros) -> Self {
        Self {
            cost,
            tokens,
            requests: 1,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.cost = self.cost.plus(other.cost);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.requests = self.requests.saturating_add(other.requests);
    }
}

/// What is set aside at this moment. Follows from the open reservations and is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Reserved {
    /// Money, in micro-dollars.
    pub cost: Micros,
    /// Tokens.
    pub tokens: u64,
    /// Requests.
    pub requests: u64,
}

impl Reserved {
    fn add(&mut self, tokens: u64, cost: Micros) {
        self.cost = self.cost.plus(cost);
        self.tokens = self.tokens.saturating_add(tokens);
        self.requests = self.requests.saturating_add(1);
    }

    fn take(&mut self, tokens: u64, cost: Micros) {
        self.cost = self.cost.minus(cost);
        self.tokens = self.tokens.saturating_sub(tokens);
        self.requests = self.requests.saturating_sub(1);
    }
}

/// One member's part, or the team's. Written as what was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Used", into = "Used")]
pub(super) struct Account {
    pub(super) used: Used,
    pub(super) reserved: Reserved,
}

impl From<Used> for Account {
    fn from(used: Used) -> Self {
        Self {
            used,
            reserved: Reserved::default(),
        }
    }
}

impl From<Account> for Used {
    fn from(account: Account) -> Self {
        account.used
    }
}

/// Sums under names of which there may be any number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// The most recently used names.
    rows: BTreeMap<String, Row>,
    /// All others together.
    #[serde(default, skip_serializing_if = "is_nothing")]
    earlier: Used,
}

fn is_nothing(used: &Used) -> bool {
    *used == Used::default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    cost: Micros,
    tokens: u64,
    requests: u64,
    last: Timestamp,
}

impl Tally {
    fn add(&mut self, name: &str, used: Used, now: Timestamp, most: usize) {
        if let Some(row) = self.rows.get_mut(name) {
            let mut sum = row.used();
            sum.add(used);
            *row = Row::of(sum, now.max(row.last));
            return;
        }
        if self.rows.len() >= most {
            let oldest = self.rows.iter().min_by_key(|(_, row)| row.last);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                let folded = self.rows.remove(&name).map(Row::used);
                self.earlier.add(folded.unwrap_or_default());
            }
        }
        self.rows.insert(name.to_string(), Row::of(used, now));
    }

    /// What was used under this name, as far as it is still kept by itself.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<Used> {
        self.rows.get(name).copied().map(Row::used)
    }

    /// The names that are kept one by one, with what was used under each.
    pub fn rows(&self) -> impl Iterator<Item = (&str, Used)> {
        self.rows
            .iter()
            .map(|(name, row)| (name.as_str(), row.used()))
    }

    /// What was used under all other names together.
    #[must_use]
    pub fn earlier(&self) -> Used {
        self.earlier
    }
}

impl Row {
    fn of(used: Used, last: Timestamp) -> Self {
        Self {
            cost: used.cost,
            tokens: used.tokens,
            requests: used.requests,
            last,
        }
    }

    fn used(self) -> Used {
        Used {
            cost: self.cost,
            tokens: self.tokens,
            requests: self.requests,
        }
    }
}

/// All sums of a team.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Books {
    pub(super) team: Account,
    pub(super) members: BTreeMap<Name, Account>,
    pub(super) tasks: Tally,
    pub(super) models: Tally,
}

impl Books {
    pub(super) fn member(&self, member: &Name) -> Account {
        self.members.get(member).copied().unwrap_or_default()
    }

    /// Changes a member's account. Looked up before it is made, because a name is copied only once that way.
    fn on_account(&mut self, member: &Name, change: impl FnOnce(&mut Account)) {
        if let Some(account) = self.members.get_mut(member) {
            return change(account);
        }
        let mut account = Account::default();
        change(&mut account);
        self.members.insert(member.clone(), account);
    }

    pub(super) fn set_aside(&mut self, member: &Name, tokens: u64, cost: Micros) {
        self.team.reserved.add(tokens, cost);
        self.on_account(member, |account| account.reserved.add(tokens, cost));
    }

    pub(super) fn give_back(&mut self, member: &Name, tokens: u64, cost: Micros) {
        self.team.reserved.take(tokens, cost);
        self.on_account(member, |account| account.reserved.take(tokens, cost));
    }

    /// Books a call.
    pub(super) fn book(
        &mut self,
        member: &Name,
        task: Option<&str>,
        model: Option<&str>,
        used: Used,
        now: Timestamp,
    ) {
        self.team.used.add(used);
        self.on_account(member, |account| account.used.add(used));
        if let Some(task) = task {
            self.tasks.add(task, used, now, TASKS);
        }
        if let Some(model) = model {
            self.models.add(model, used, now, MODELS);
        }
    }
}
