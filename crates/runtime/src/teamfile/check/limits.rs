//! What the file says about money and rates.

use pitcrew_core::price::Micros;
use toml::Spanned;

use super::super::raw::{Number, RawLimits, Text};
use super::{Checker, Known, unknown};
use crate::desk::{LimitChange, Setting};

/// How agents are told their model.
const MODEL_OPTIONS: [&str; 2] = ["--model", "-m"];

impl Checker<'_> {
    pub(super) fn limits(&mut self, members: &[Known], raw: RawLimits) -> LimitChange {
        let mut change = LimitChange {
            budget: self.dollars("limits.budget", raw.budget.as_ref()),
            member_budget: self.dollars("limits.member_budget", raw.member_budget.as_ref()),
            rpm: self.rate("limits.rpm", raw.rpm.as_ref()),
            tpm: self.rate("limits.tpm", raw.tpm.as_ref()),
            ..LimitChange::default()
        };
        for (name, budget) in &raw.member_budgets {
            let names = members.iter().map(|member| &member.entry.name);
            let member = names.clone().find(|known| known.as_str() == name.get_ref());
            let budget = self.dollars("limits.member_budgets", Some(budget));
            match member {
                Some(member) => change.member_budgets.push((member.clone(), budget)),
                None if self.unusable.contains(name.get_ref()) => {}
                None => {
                    let names = names.map(|name| name.as_str());
                    let why = unknown("member", name.get_ref(), names);
                    self.at(name, "limits.member_budgets", why);
                }
            }
        }
        change
    }

    fn dollars(&mut self, key: &str, given: Option<&Spanned<Number>>) -> Setting<Micros> {
        let Some(given) = given else {
            return Setting::Keep;
        };
        let amount = match *given.get_ref() {
            Number::Whole(dollars) => u64::try_from(dollars)
                .ok()
                .and_then(|dollars| Micros::parse_usd(&dollars.to_string())),
            Number::Part(dollars) => Micros::from_usd(dollars),
        };
        match amount {
            Some(amount) => Setting::To(amount),
            None => {
                let why = "must be an amount of dollars, such as 2.50";
                self.problem(given.span().start, key, why);
                Setting::Keep
            }
        }
    }

    fn rate(&mut self, key: &str, given: Option<&Spanned<u64>>) -> Setting<u64> {
        match given {
            None => Setting::Keep,
            Some(given) if *given.get_ref() == 0 => {
                let why = "nobody works with a limit of nothing";
                self.problem(given.span().start, key, why);
                Setting::Keep
            }
            Some(given) => Setting::To(*given.get_ref()),
        }
    }
}

/// The model that a member's turns are priced as: what the file says, else what its agent is told.
pub(super) fn model_of(given: Option<&Text>, args: &[Text]) -> Option<String> {
    if let Some(model) = given {
        return Some(model.get_ref().clone());
    }
    let mut args = args.iter().map(|arg| arg.get_ref().as_str());
    while let Some(arg) = args.next() {
        if MODEL_OPTIONS.contains(&arg) {
            return args.next().map(str::to_string);
        }
        if let Some(model) = arg.strip_prefix("--model=") {
            return Some(model.to_string());
        }
    }
    None
}
