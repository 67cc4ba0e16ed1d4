//! SharedState: the discovery board and the claims on lines of files, for a program.
//!
//! Both are in the team's store: they outlive this handle, the process and a restart of the team's parts, and a claim
//! made here is seen by `pitcrew claims` and the other way round. A claim ends by release, by its deadline, which is a
//! comparison and needs no timer, or with its holder. A keeper (`team/keeping.rs`) tells holders whose time is over.

use std::ops::ControlFlow;

use pitcrew_core::board::{Discovery, Filter};
use pitcrew_core::claim::{Claim, Lines, Mode, Outcome, Patience};
use pitcrew_core::{Name, Refusal};

use super::error::TeamError;
use super::home::Home;
use crate::desk::{ClaimWish, Credentials, Finding, NotDone};

/// What the team knows and who holds what. A clone is the same.
#[derive(Clone)]
pub struct SharedState {
    home: Home,
    claim_ttl_ms: u64,
}

impl SharedState {
    pub(crate) fn new(home: Home, claim_ttl_ms: u64) -> Self {
        Self { home, claim_ttl_ms }
    }

    /// Shares a finding of `agent`; each of the others is shown it once, in its next model call.
    ///
    /// # Errors
    /// `unknown_sender`; `invalid_input` for an empty topic or content.
    pub async fn share_discovery(
        &self,
        agent: &str,
        finding: Finding,
    ) -> Result<Discovery, TeamError> {
        let who = claimed(agent);
        let shared = self.home.ask(move |desk| desk.share(&who, &finding));
        Ok(shared.await?.discovery)
    }

    /// The findings that are kept, in the order in which they were shared.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn discoveries(&self) -> Result<Vec<Discovery>, TeamError> {
        let found = self.home.ask(|desk| {
            let mut found = Vec::new();
            desk.discoveries(&Filter::default(), &mut |discovery| {
                found.push(discovery);
                ControlFlow::Continue(())
            })?;
            Ok::<_, NotDone>(found)
        });
        Ok(found.await?)
    }

    /// Claims the lines `start..=end` of a file for `agent`. Another claim of the same agent on the file is replaced.
    ///
    /// # Errors
    /// [`TeamError::Conflict`] when another holds any of them; `invalid_range` unless `start <= end`; `outside_root` for
    /// a file that is not the project's; `unknown_sender`.
    pub async fn claim_region(
        &self,
        agent: &str,
        file: &str,
        start: u64,
        end: u64,
    ) -> Result<Claim, TeamError> {
        let (who, file) = (claimed(agent), file.to_string());
        let (home, ttl_ms) = (self.home.clone(), self.claim_ttl_ms);
        let held = self.home.ask(move |desk| {
            let file = home.files().file(&file, "file")?;
            let text = home.files().lines(&file)?;
            let wish = ClaimWish {
                lines: Lines::new(start, end)?,
                file,
                ttl_ms,
                mode: Mode::Replace,
                patience: Patience::None,
                text,
            };
            desk.claim_lines(&who, &wish)
        });
        match held.await?.outcome {
            Outcome::Held { claim } => Ok(claim),
            // A wish without patience never stands in line; were it to, the lines would be held by another.
            Outcome::Waiting { waiting, .. } => {
                let busy = format!("lines {} are held by another", waiting.lines);
                Err(Refusal::input("start_line", &busy).into())
            }
        }
    }

    /// Gives back what `agent` holds of a file.
    ///
    /// # Errors
    /// `unknown_member`; `not_claimed` when it holds nothing of it.
    pub async fn release_region(&self, agent: &str, file: &str) -> Result<(), TeamError> {
        let (agent, file, home) = (agent.to_string(), file.to_string(), self.home.clone());
        let released = self.home.ask(move |desk| {
            let agent = desk.roster()?.worker(&agent)?;
            let file = home.files().file(&file, "file")?;
            let text = home.files().lines(&file)?;
            desk.release_lines_on(&agent, &file, None, text.as_ref())
        });
        released.await?;
        Ok(())
    }

    /// The claims that hold now.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn claims(&self) -> Result<Vec<Claim>, TeamError> {
        let held = self.home.ask(|desk| {
            let now = desk.now();
            Ok::<_, NotDone>(desk.claims()?.held(now).cloned().collect::<Vec<Claim>>())
        });
        Ok(held.await?)
    }

    /// The claims that `agent` holds now.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn claims_of(&self, agent: &Name) -> Result<Vec<Claim>, TeamError> {
        let mut held = self.claims().await?;
        held.retain(|claim| claim.member == *agent);
        Ok(held)
    }
}

fn claimed(agent: &str) -> Credentials {
    Credentials {
        token: None,
        claimed: Some(agent.to_string()),
    }
}
