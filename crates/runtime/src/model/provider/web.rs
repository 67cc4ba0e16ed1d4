//! The connection: HTTP with the TLS of rustls, and the certificates that the system trusts.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(30);

/// Whose certificates are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those that the system trusts.
    System,
    /// Nobody's: every connection is a plain one.
    Nobody,
}

impl Trust {
    /// What connections to `url` need.
    pub(crate) fn for_url(url: &str) -> Self {
        match url.starts_with("http://") {
            true => Self::Nobody,
            false => Self::System,
        }
    }
}

/// A client's connections.
pub(crate) fn connection(trust: Trust) -> Result<reqwest::Client, String> {
    builder(trust)?
        .build()
        .map_err(|refused| format!("the connection cannot be made ready: {refused}"))
}

/// What such a client is made with.
pub(crate) fn builder(trust: Trust) -> Result<reqwest::ClientBuilder, String> {
    let failed = |refused: rustls::Error| format!("TLS cannot be made ready: {refused}");
    let provider = Arc::new(ring::default_provider());
    let open = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let verifying = match trust {
        Trust::System => open.with_platform_verifier().map_err(failed)?,
        Trust::Nobody => open.with_root_certificates(RootCertStore::empty()),
    };
    let config = verifying.with_no_client_auth();
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .connect_timeout(CONNECT))
}
