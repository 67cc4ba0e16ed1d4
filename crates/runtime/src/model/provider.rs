//! Models of real providers: `openai:gpt-4o`, `anthropic:claude-…`, `gemini:…`, `ollama:…`, and whatever else speaks
//! OpenAI's format at a base URL.
//!
//! | file | what |
//! |---|---|
//! | `provider/vendor.rs` | who serves a model, and where |
//! | `provider/asking.rs` | a request in the client crate's words |
//! | `provider/hearing.rs` | the stream of an answer, put together |
//! | `provider/failing.rs` | what every failure comes to |
//! | `provider/web.rs` | the connection |
//!
//! Always holds: an answer that did not end is a failure, never a short answer; a call is over when its limit is, and one
//! whose answer falls silent before that; no failure shows the key. Nothing is opened before the first call. Making a
//! failed call again is the caller's: [`ModelError::is_transient`] says whether it may help.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use genai::chat::ChatOptions;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ModelSpec, ServiceTarget};
use pitcrew_core::price::PriceTable;
use tokio::time::{Instant, timeout_at};

use super::{Estimate, Model, ModelError, Pending, Reply, Request};
use crate::clock::{Clock, SystemClock};

mod asking;
mod failing;
mod hearing;
#[cfg(test)]
mod tests;
mod vendor;
pub(crate) mod web;

pub use vendor::Vendor;

use failing::Failing;

/// What an answer is expected to have at the most where nobody limits it, in tokens.
const ANSWER: u64 = 4_096;

/// How a provider is called.
#[derive(Clone)]
pub struct Settings {
    /// The key, if the provider wants one: [`Vendor::key_variable`] says where users keep it.
    pub key: Option<String>,
    /// Where it is served, instead of where the vendor serves it: `http://localhost:8080/v1/`.
    pub base_url: Option<String>,
    /// The most tokens of one answer.
    pub max_output_tokens: Option<u32>,
    /// How freely it chooses its words, as the provider understands the number.
    pub temperature: Option<f64>,
    /// How long a whole call may take.
    pub time_limit: Duration,
    /// How long an answer may be silent, also before its first word.
    pub silence_limit: Duration,
    /// What models cost.
    pub prices: PriceTable,
    /// Tells when a usage limit resets.
    pub clock: Arc<dyn Clock>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            key: None,
            base_url: None,
            max_output_tokens: None,
            temperature: None,
            time_limit: Duration::from_secs(600),
            silence_limit: Duration::from_secs(120),
            prices: PriceTable::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("key", &self.key.as_ref().map(|_| "…"))
            .field("base_url", &self.base_url)
            .field("max_output_tokens", &self.max_output_tokens)
            .field("time_limit", &self.time_limit)
            .finish_non_exhaustive()
    }
}

/// Why a model cannot be called at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The text is no `provider:model`.
    #[error("{given:?} is no model: write provider:model, as openai:gpt-4o")]
    NoModel {
        /// The text.
        given: String,
    },
    /// Nobody knows where that provider is.
    #[error(
        "the provider {provider:?} is unknown; known are {known}, and any other with a base URL"
    )]
    UnknownProvider {
        /// The provider.
        provider: String,
        /// Those that are known.
        known: String,
    },
    /// The provider wants a key and there is none.
    #[error("{vendor} wants a key: set {variable}")]
    NoKey {
        /// The provider.
        vendor: &'static str,
        /// Where users keep it.
        variable: &'static str,
    },
    /// The base URL is none.
    #[error("{url:?} is no base URL: it begins with http:// or https://")]
    BadUrl {
        /// The text.
        url: String,
    },
}

/// A model of a provider.
pub struct Provider {
    name: String,
    target: ServiceTarget,
    settings: Settings,
    options: ChatOptions,
    ending: hearing::Ending,
    results: asking::Results,
    client: OnceLock<Client>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Provider {
    /// The model called `name`, `provider:model`. A provider that is not known is taken to speak OpenAI's format at the
    /// base URL of the settings. Nothing is connected to yet.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(name: &str, settings: Settings) -> Result<Self, OpenError> {
        let no_model = || OpenError::NoModel {
            given: name.to_string(),
        };
        let (provider, model) = name.split_once(':').ok_or_else(no_model)?;
        if provider.is_empty() || model.trim().is_empty() {
            return Err(no_model());
        }
        let vendor = match (Vendor::named(provider), &settings.base_url) {
            (Some(vendor), _) => vendor,
            (None, Some(_)) => Vendor::Compatible,
            (None, None) => {
                return Err(OpenError::UnknownProvider {
                    provider: provider.to_string(),
                    known: Vendor::names(),
                });
            }
        };
        let base = base_url(vendor, settings.base_url.as_deref())?;
        let key = match (&settings.key, vendor.key_variable(), &settings.base_url) {
            (Some(key), _, _) => key.clone(),
            (None, Some(variable), None) => {
                return Err(OpenError::NoKey {
                    vendor: vendor.name(),
                    variable,
                });
            }
            // What is served elsewhere may want none; the format has a place for it all the same.
            (None, _, _) => "none".to_string(),
        };
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_tool_calls(true);
        if let Some(most) = settings.max_output_tokens {
            options = options.with_max_tokens(most);
        }
        if let Some(temperature) = settings.temperature {
            options = options.with_temperature(temperature);
        }
        Ok(Self {
            name: name.to_string(),
            target: ServiceTarget {
                endpoint: Endpoint::from_owned(base),
                auth: AuthData::Key(key),
                model: ModelIden::new(vendor.adapter(), model),
            },
            settings,
            options,
            ending: match vendor {
                Vendor::Gemini | Vendor::Ollama => hearing::Ending::Reason,
                _ => hearing::Ending::Event,
            },
            results: match vendor {
                Vendor::Ollama => asking::Results::Apart,
                _ => asking::Results::Together,
            },
            client: OnceLock::new(),
        })
    }

    fn client(&self) -> Result<&Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let unavailable = |why| ModelError::Unavailable { why };
        let trust = web::Trust::for_url(self.target.endpoint.base_url());
        let connection = web::connection(trust).map_err(unavailable)?;
        let built = Client::builder().with_reqwest(connection).build();
        let client = built.map_err(|refused| unavailable(refused.to_string()))?;
        Ok(self.client.get_or_init(|| client))
    }

    fn failing(&self) -> Failing<'_> {
        Failing {
            key: self.settings.key.as_deref(),
            clock: &*self.settings.clock,
        }
    }

    async fn answer(
        &self,
        request: &Request,
        written: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, ModelError> {
        let until = Instant::now() + self.settings.time_limit;
        let asked = self.client()?.exec_chat_stream(
            ModelSpec::Target(self.target.clone()),
            asking::chat(request, self.results),
            Some(&self.options),
        );
        let late = |limit: Duration| ModelError::TimedOut {
            after_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
        };
        let started = timeout_at(until, asked)
            .await
            .map_err(|_| late(self.settings.time_limit))?;
        let mut stream = started
            .map_err(|refused| self.failing().error(&refused))?
            .stream;
        let heard = hearing::hear(
            &mut stream,
            written,
            until,
            self.settings.silence_limit,
            self.ending,
            self.failing(),
        );
        let heard = heard.await.map_err(|stopped| match stopped {
            hearing::Stopped::Failed(error) => error,
            hearing::Stopped::Silent => late(self.settings.silence_limit),
            hearing::Stopped::Late => late(self.settings.time_limit),
        })?;
        let price = self.settings.prices.find(&self.name);
        heard.reply(request, price)
    }
}

fn base_url(vendor: Vendor, given: Option<&str>) -> Result<String, OpenError> {
    let url = given.unwrap_or_else(|| vendor.base_url());
    let is_url = url.starts_with("http://") || url.starts_with("https://");
    if !is_url || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(OpenError::BadUrl {
            url: url.to_string(),
        });
    }
    // The client crate joins by text, so a last segment without its slash would be lost.
    Ok(format!("{}/", url.trim_end_matches('/')))
}

impl Model for Provider {
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'a>(
        &'a self,
        request: &'a Request,
        written: &'a mut (dyn FnMut(&str) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(self.answer(request, written))
    }

    /// Four bytes read are one token; an answer is taken to be as long as it may be, so that a ceiling holds.
    fn estimate(&self, request: &Request) -> Estimate {
        let input = request.bytes() / 4 + 256;
        let output = self.settings.max_output_tokens.map_or(ANSWER, u64::from);
        let price = self.settings.prices.find(&self.name);
        Estimate {
            tokens: input.saturating_add(output),
            cost: price.map(|price| price.estimate(input, output)),
        }
    }
}
