//! Where a pitcrew team keeps its state: one [`port`], its adapters, one conformance suite over all of them.
//!
//! Files are opened here and nowhere else in pitcrew.

pub mod documents;
pub mod failure;
pub mod port;

pub use documents::{Heartbeat, Offset, Shutdown};
pub use failure::StoreFailure;
pub use port::{
    Change, Cursor, Document, Durability, Kind, Log, Page, PageLine, Place, Store, StoreExt, Watch,
};
