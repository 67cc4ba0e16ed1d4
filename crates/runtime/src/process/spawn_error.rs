//! Why a process could not be started, as a closed list with stable codes.
//!
//! The system has few error numbers and uses each for several things: "no such file" may be the program, its
//! interpreter or the working folder. Here each has its own name and carries the facts that a person needs to mend
//! it. What always holds: after any of these, nothing runs.

use std::io;
use std::path::PathBuf;

/// Why a process could not be started. Nothing runs.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No such program.
    #[error("program {program:?} not found{}", in_folders(.searched))]
    ProgramNotFound {
        /// As it was asked for.
        program: String,
        /// The folders of `PATH`, in order; empty when the program was named by its path.
        searched: Vec<PathBuf>,
    },
    /// The file is there, but may not be run by us.
    #[error("{} may not be executed", .path.display())]
    ProgramNotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// The file is there, but the interpreter or loader that it names is not.
    #[error("{} names an interpreter that is not there", .path.display())]
    InterpreterNotFound {
        /// The file.
        path: PathBuf,
    },
    /// The file is neither a program of this machine nor a script with a `#!` line.
    #[error("{} is not a program of this machine", .path.display())]
    NotAProgram {
        /// The file.
        path: PathBuf,
    },
    /// The working folder is not there.
    #[error("working folder {} not found", .folder.display())]
    FolderNotFound {
        /// The folder.
        folder: PathBuf,
    },
    /// The working folder may not be entered.
    #[error("working folder {} may not be entered", .folder.display())]
    FolderNotUsable {
        /// The folder.
        folder: PathBuf,
    },
    /// Arguments and environment are longer than the system takes (131,071 bytes each on Linux).
    #[error("arguments and environment are too long: {total} bytes, the longest {longest}")]
    ArgumentsTooLong {
        /// All together, in bytes.
        total: usize,
        /// The longest argument or variable, in bytes.
        longest: usize,
    },
    /// An argument or variable contains a NUL byte.
    #[error("an argument or variable contains a NUL byte")]
    NulByte,
    /// The system has no process, memory or file descriptor left. Worth another try later.
    #[error("no process, memory or file descriptor left: {source}")]
    Exhausted {
        /// What the system said.
        source: io::Error,
    },
    /// We could not listen for the end of our children or for their output.
    #[error("cannot follow a process: {source}")]
    CannotFollow {
        /// What the system said.
        source: io::Error,
    },
    /// Anything else.
    #[error("{} could not be started: {source}", .path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn in_folders(searched: &[PathBuf]) -> String {
    if searched.is_empty() {
        return String::new();
    }
    let folders: Vec<String> = searched
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    format!(" in {}", folders.join(":"))
}

impl SpawnError {
    /// The stable code of this refusal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ProgramNotFound { .. } => "program_not_found",
            Self::ProgramNotExecutable { .. } => "program_not_executable",
            Self::InterpreterNotFound { .. } => "interpreter_not_found",
            Self::NotAProgram { .. } => "not_a_program",
            Self::FolderNotFound { .. } => "folder_not_found",
            Self::FolderNotUsable { .. } => "folder_not_usable",
            Self::ArgumentsTooLong { .. } => "arguments_too_long",
            Self::NulByte => "nul_byte",
            Self::Exhausted { .. } => "resources_exhausted",
            Self::CannotFollow { .. } => "cannot_follow",
            Self::Other { .. } => "cannot_start",
        }
    }

    /// Whether the same launch may succeed later without anybody changing it.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Exhausted { .. })
    }
}
