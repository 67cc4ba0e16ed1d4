//! Tools from functions with typed arguments: the schema that a model is told is derived from the type that it is read into.

use std::future::Future;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::model::{ToolAnswer, ToolContext, ToolFn};

/// A tool called `name` that takes an `A`: a struct whose fields are the arguments, each with its doc comment as what a
/// model is told about it. With `#[serde(deny_unknown_fields)]` a misspelt one is refused. Arguments that are no `A` are an
/// answer that says why; `run` sees only good ones.
#[must_use]
pub fn typed<A, R, F>(name: &str, about: &str, run: F) -> ToolFn
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(A, ToolContext) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = ToolAnswer> + Send + 'static,
{
    let tool = name.to_string();
    ToolFn::new(name, about, schema::<A>(), move |arguments, context| {
        let (read, run) = (read::<A>(&tool, arguments), run.clone());
        // Made here, so that only the future has to be sent elsewhere and not what was read.
        let running = read.map(|arguments| run(arguments, context));
        async move {
            match running {
                Ok(running) => running.await,
                Err(refused) => refused,
            }
        }
    })
}

fn read<A: DeserializeOwned>(tool: &str, given: Map<String, Value>) -> Result<A, ToolAnswer> {
    if let Some(text) = given.get("not_json").and_then(Value::as_str) {
        let shown: String = text.chars().take(200).collect();
        return Err(ToolAnswer::refused(format!(
            "Not done: the arguments of {tool} were no JSON object: {shown:?}. Next: call it again with one."
        )));
    }
    serde_json::from_value(Value::Object(given)).map_err(|wrong| {
        ToolAnswer::refused(format!(
            "Not done: the arguments of {tool} make no sense: {wrong}. Next: mend them and call it again."
        ))
    })
}

/// The JSON schema of `A`, without references and without what no model needs.
fn schema<A: JsonSchema>() -> Map<String, Value> {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = match settings
        .into_generator()
        .into_root_schema_for::<A>()
        .to_value()
    {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    for key in ["$schema", "title", "description"] {
        schema.remove(key);
    }
    schema
}
