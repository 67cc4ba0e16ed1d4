//! `limits prices`: what models cost here, since when, and who says so.

use pitcrew_core::price::{Micros, Price};
use pitcrew_runtime::prices::Origin;
use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::prices;
use crate::ui::{HEADING, Layout, Ui};

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<ShowPrices>(
    "prices",
    "Show what models cost, since when, and who says so",
);

/// Show what models cost, since when, and who says so
///
/// In dollars for a million tokens. Prices of your own stand in .pitcrew/prices.toml of the project, or in
/// pitcrew/prices.toml of your configuration folder; the project's win. Each needs a day and a source.
#[derive(Debug, clap::Args)]
#[command(after_help = "A file of prices:
  dated = \"2026-11-30\"
  source = \"https://example.com/pricing\"
  [[models]]
  model = \"my-model\"
  input = 1.25
  output = 10.0
  cached = 0.125")]
pub(crate) struct ShowPrices {
    /// Only the price of this model, as it would be found
    #[arg(value_name = "MODEL")]
    model: Option<String>,
}

impl Run for ShowPrices {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let prices = prices::load(context)?;
        let mut rows: Vec<(&Price, Origin<'_>)> = prices.in_use().collect();
        if let Some(model) = &self.model {
            let found = prices.table().find(model);
            let found = found.ok_or_else(|| prices::unknown(&prices, model))?;
            rows.retain(|(price, _)| *price == found);
        }
        if context.ui.json {
            let rows: Vec<Value> = rows
                .iter()
                .map(|(price, from)| value(price, *from))
                .collect();
            context
                .ui
                .json(&json!({ "ok": true, "prices": rows }), Layout::Pretty);
            return Ok(Exit::Done);
        }
        let ui = &mut *context.ui;
        let columns = ["input", "output", "cached", "written"];
        let [input, output, cached, written] = columns.map(|column| format!("{column:>9}"));
        let heading = format!(
            "{:<24}{input}{output}{cached}{written}  {:<10}  from",
            "model", "dated"
        );
        let heading = ui.styled(HEADING, &heading);
        ui.own_line(&heading);
        for (price, from) in rows {
            write(ui, price, from);
        }
        Ok(Exit::Done)
    }
}

fn origin(from: Origin<'_>) -> String {
    match from {
        Origin::BuiltIn => "built in".to_string(),
        Origin::File(path) => path.display().to_string(),
    }
}

fn value(price: &Price, from: Origin<'_>) -> Value {
    let mut value = json!(price);
    value["from"] = origin(from).into();
    value
}

fn write(ui: &mut Ui, price: &Price, from: Origin<'_>) {
    let money = |money: Option<Micros>| {
        let text = money.map_or_else(|| "-".to_string(), |money| money.to_string());
        format!("{text:>9}")
    };
    let line = format!(
        "{:<24}{}{}{}{}  {:<10}  {}, {}",
        price.model,
        money(Some(price.input)),
        money(Some(price.output)),
        money(price.cached),
        money(price.cache_write),
        price.dated,
        origin(from),
        price.source
    );
    ui.line(&line);
}
