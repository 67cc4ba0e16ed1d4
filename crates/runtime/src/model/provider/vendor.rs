//! Who serves a model, and where.

use std::fmt;

use genai::adapter::AdapterKind;

/// Who serves a model, by the format that is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// `openai:…`, and with a base URL whoever speaks the same.
    OpenAi,
    /// `anthropic:…`
    Anthropic,
    /// `gemini:…`
    Gemini,
    /// `ollama:…`, on this machine unless a base URL says otherwise.
    Ollama,
    /// Any other name: OpenAI's format at a base URL.
    Compatible,
}

const KNOWN: [Vendor; 4] = [
    Vendor::OpenAi,
    Vendor::Anthropic,
    Vendor::Gemini,
    Vendor::Ollama,
];

impl Vendor {
    /// The vendor of that name, as it stands before the `:` of a model.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        KNOWN.into_iter().find(|vendor| vendor.name() == name)
    }

    pub(super) fn names() -> String {
        KNOWN.map(Self::name).join(", ")
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Compatible => "compatible",
        }
    }

    /// The environment variable in which users keep its key; `None` where none is wanted.
    #[must_use]
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama | Self::Compatible => None,
        }
    }

    pub(super) fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Compatible => "https://api.openai.com/v1/",
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::Ollama => "http://localhost:11434/",
        }
    }

    pub(super) fn adapter(self) -> AdapterKind {
        match self {
            Self::OpenAi | Self::Compatible => AdapterKind::OpenAI,
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Gemini => AdapterKind::Gemini,
            Self::Ollama => AdapterKind::Ollama,
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
