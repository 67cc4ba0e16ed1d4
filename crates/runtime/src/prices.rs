//! A user's own prices: a file of models in the project or at home, over the built-in table.
//!
//! ```toml
//! dated = "2026-11-30"                 # the day on which these were the prices
//! source = "the contract with X"       # where they were read
//!
//! [[models]]
//! model = "my-model"                   # with * at its end: every name that starts so
//! input = 1.25                         # dollars for a million tokens
//! output = 10.0
//! cached = 0.125                       # input from the provider's cache; left out: as input
//! cache_write = 1.5                    # input written to it; left out: as input
//! ```
//!
//! `dated` and `source` may stand in a model too. The project's entries win over those at home, both over the built-in
//! ones where a name fits equally well. A file that makes no sense is an error of whoever needs a price: money is
//! never reckoned with half a table.

use std::borrow::Cow;
use std::path::PathBuf;

use pitcrew_core::price::{BUILT_IN, Micros, Price, PriceTable};
use serde::Deserialize;

/// A file of prices that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct PriceFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin<'a> {
    /// The built-in table.
    BuiltIn,
    /// A file of the user.
    File(&'a PathBuf),
}

/// The prices in use, with where each comes from.
#[derive(Debug, Clone, Default)]
pub struct Prices {
    table: PriceTable,
    /// The user's own in order of precedence.
    own: Vec<(PathBuf, Price)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    dated: Option<String>,
    source: Option<String>,
    #[serde(default)]
    models: Vec<Model>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    model: String,
    input: f64,
    output: f64,
    cached: Option<f64>,
    cache_write: Option<f64>,
    dated: Option<String>,
    source: Option<String>,
}

fn dollars(key: &str, of: &str, usd: f64) -> Result<Micros, String> {
    Micros::from_usd(usd).ok_or_else(|| format!("{key} of {of} must be dollars, 0 or more"))
}

fn is_day(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

impl Model {
    fn price(self, file: &PriceFile) -> Result<Price, String> {
        let name = self.model;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err("a model needs a name on one line".to_string());
        }
        let missing =
            |key: &str| format!("{key} of {name} is missing: it may stand at the top of the file");
        let dated = self.dated.or_else(|| file.dated.clone());
        let dated = dated.ok_or_else(|| missing("dated"))?;
        if !is_day(&dated) {
            return Err(format!("dated of {name} must be a day such as 2026-11-30"));
        }
        let source = self.source.or_else(|| file.source.clone());
        let optional =
            |key: &str, usd: Option<f64>| usd.map(|usd| dollars(key, &name, usd)).transpose();
        Ok(Price {
            input: dollars("input", &name, self.input)?,
            output: dollars("output", &name, self.output)?,
            cached: optional("cached", self.cached)?,
            cache_write: optional("cache_write", self.cache_write)?,
            dated: Cow::Owned(dated),
            source: Cow::Owned(source.ok_or_else(|| missing("source"))?),
            model: Cow::Owned(name),
        })
    }
}

fn read(text: &str) -> Result<Vec<Price>, String> {
    let mut file: PriceFile = toml::from_str(text).map_err(|refused| refused.to_string())?;
    let models = std::mem::take(&mut file.models);
    let mut prices: Vec<Price> = Vec::with_capacity(models.len());
    for model in models {
        let price = model.price(&file)?;
        if prices.iter().any(|other| other.model == price.model) {
            return Err(format!("{} stands there twice", price.model));
        }
        prices.push(price);
    }
    Ok(prices)
}

impl Prices {
    /// The built-in prices under those of `files`, the first of which win.
    ///
    /// # Errors
    /// What is wrong with the first file that makes no sense.
    pub fn load(
        files: impl IntoIterator<Item = (PathBuf, String)>,
    ) -> Result<Self, PriceFileError> {
        let mut own = Vec::new();
        for (path, text) in files {
            let prices = read(&text).map_err(|why| PriceFileError {
                path: path.clone(),
                why,
            })?;
            own.extend(prices.into_iter().map(|price| (path.clone(), price)));
        }
        let table = PriceTable::with(own.iter().map(|(_, price)| price.clone()).collect());
        Ok(Self { table, own })
    }

    /// The table, for finding a model's price.
    #[must_use]
    pub fn table(&self) -> &PriceTable {
        &self.table
    }

    /// Every price in use, the user's own first. A built-in one whose very name a user's has is not in use.
    pub fn in_use(&self) -> impl Iterator<Item = (&Price, Origin<'_>)> {
        let own = self.own.iter().enumerate().filter(|(at, (_, price))| {
            let before = &self.own[..*at];
            !before.iter().any(|(_, other)| other.model == price.model)
        });
        let own = own.map(|(_, (path, price))| (price, Origin::File(path)));
        let replaced = |price: &&Price| self.own.iter().any(|(_, own)| own.model == price.model);
        let built_in = BUILT_IN.iter().filter(move |price| !replaced(price));
        own.chain(built_in.map(|price| (price, Origin::BuiltIn)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(texts: &[&str]) -> Result<Prices, String> {
        let files = texts.iter().enumerate();
        let files =
            files.map(|(n, text)| (PathBuf::from(format!("{n}.toml")), (*text).to_string()));
        Prices::load(files).map_err(|refused| refused.to_string())
    }

    const HEAD: &str = "dated = '2026-11-30'\nsource = 'a contract'\n";

    fn model(name: &str, input: &str) -> String {
        format!("{HEAD}[[models]]\nmodel = '{name}'\ninput = {input}\noutput = 4\n")
    }

    #[test]
    fn the_project_wins_over_home_and_both_over_the_built_in_table() {
        let (project, home) = (model("gpt-4o", "1.25"), model("gpt-4o", "9"));
        let prices = load(&[&project, &home]).unwrap();
        let found = prices.table().find("openai:gpt-4o").unwrap();
        assert_eq!(
            (found.input, &*found.source),
            (Micros::new(1_250_000), "a contract")
        );
        let mut in_use = prices.in_use().filter(|(price, _)| price.model == "gpt-4o");
        let (_, origin) = in_use.next().unwrap();
        assert_eq!(origin, Origin::File(&PathBuf::from("0.toml")));
        assert_eq!(in_use.next(), None);
        assert!(
            prices
                .in_use()
                .any(|(price, origin)| price.model == "gpt-4o-mini" && origin == Origin::BuiltIn)
        );
    }

    #[test]
    fn what_is_left_out_is_said_with_its_model() {
        let bare = "[[models]]\nmodel = 'm'\ninput = 1\noutput = 2\n";
        for (text, why) in [
            (bare.to_string(), "dated of m is missing"),
            (
                format!("dated = 'today'\nsource = 's'\n{bare}"),
                "must be a day",
            ),
            (
                format!("dated = '2026-11-30'\n{bare}"),
                "source of m is missing",
            ),
            (model("m", "-1"), "input of m must be dollars"),
            (model("m", "nan"), "input of m must be dollars"),
            (model("", "1"), "needs a name"),
            (format!("{}{}", model("m", "1"), bare), "stands there twice"),
            (
                format!("{HEAD}[[models]]\nmodel = 'm'\ninput = 1\n"),
                "output",
            ),
            (format!("{HEAD}price = 1\n"), "unknown field"),
        ] {
            let refused = load(&[&text]).unwrap_err();
            assert!(
                refused.starts_with("0.toml: ") && refused.contains(why),
                "{refused}"
            );
        }
        assert_eq!(load(&[""]).unwrap().in_use().count(), BUILT_IN.len());
    }
}
