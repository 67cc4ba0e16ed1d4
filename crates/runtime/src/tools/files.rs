//! How a file that a model names becomes the one form in which claims and discoveries compare files.
//!
//! A relative path is meant from the project's root, whoever calls and over whichever transport: a server does not know
//! the folder that its client works in.

use std::path::{Path, PathBuf};

use pitcrew_core::Refusal;
use pitcrew_core::claim::{Case, FileLines, FilePath};
use pitcrew_store::files::Workspace;

use crate::desk::NotDone;

/// The files that a team works on.
#[derive(Debug, Clone)]
pub enum Files {
    /// Those of a project: the file system says what links and case come to.
    Of {
        /// The project's folder as the file system has it.
        workspace: Workspace,
        /// The same folder, absolute.
        root: PathBuf,
    },
    /// Names alone, below the absolute path `root`, for a team that works on no folder of this machine.
    Named {
        /// What the names stand below.
        root: String,
    },
}

impl Files {
    /// The file called `given`; `parameter` is named when it cannot be one.
    ///
    /// # Errors
    /// `outside_root`, `invalid_input`; when a folder on the way cannot be looked at.
    pub(crate) fn file(&self, given: &str, parameter: &str) -> Result<FilePath, NotDone> {
        let file = match self {
            Self::Of { workspace, root } => workspace.file(Path::new(given), root)?,
            Self::Named { root } => FilePath::canonical(given, root, Case::Kept),
        };
        Ok(file.map_err(|refused| match refused {
            Refusal::InvalidInput { why, .. } => Refusal::input(parameter, &why),
            other => other,
        })?)
    }

    /// What the file says now; `None` where there is none, it is no text, or only names are known.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub(crate) fn lines(&self, file: &FilePath) -> Result<Option<FileLines>, NotDone> {
        match self {
            Self::Of { workspace, .. } => {
                let text = workspace.text(file)?;
                Ok(text.as_deref().and_then(FileLines::of_text))
            }
            Self::Named { .. } => Ok(None),
        }
    }
}
