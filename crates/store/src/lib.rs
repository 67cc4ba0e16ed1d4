//! Where a pitcrew team keeps its state: one [`port`], its adapters, one conformance suite over all of them.
//!
//! | module | what it is |
//! |---|---|
//! | [`port`] | what a store does: logs, documents, changes |
//! | [`memory`] | the port over typed states in this process |
//! | [`local`] | the port over a team's folder, shared with other processes and with the reference |
//! | [`documents`] | the documents that no rule of core owns |
//! | [`files`] | plain files that are no state: output, overlays, profiles, deliveries |
//! | `conformance` | what every adapter must show (feature `conformance`) |
//!
//! Files are opened here and nowhere else in pitcrew.

pub mod documents;
pub mod failure;
pub mod files;
pub mod local;
pub mod memory;
pub mod port;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;

mod changes;
mod layout;

pub use failure::StoreFailure;
pub use local::{Creation, LocalStore, Project, Rotation, Watching};
pub use memory::MemoryStore;
pub use port::{
    Change, Cursor, Document, Durability, Kind, Log, Page, PageLine, Place, Reach, Store, StoreExt,
    Watch,
};
