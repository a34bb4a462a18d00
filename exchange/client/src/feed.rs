//! Feeds: the code that reads the collections of the exchange and keeps the local copies equal to them
//! (FED-01 to FED-11).
//!
//! A collection is first read as a snapshot, page by page, and then as a feed of changes. [`Feed`] is a state
//! machine without clock, network or other I/O: it takes an event ([`FeedInput`]) and returns the next action
//! ([`FeedAction`]). It is the same for every area. All its state is in the store, except the counters that
//! detect endless loops.
//!
//! ```text
//!            Begin ─► Read ──► Page ──► Commit ──► Committed ──► Read … ──► Done
//!                    │                   │
//!                    │ 410               └─► Superseded: another process was faster, continue from its position
//!                    └─► Read without a cursor: a new snapshot
//! ```
//!
//! Each page is one [`AreaCommit`](crate::replica::AreaCommit): entries, tombstones and the next position are
//! stored together or not at all. A program may therefore be killed between any two steps (see
//! [`ReplicaStore`](crate::replica::ReplicaStore)).

mod area;
pub(crate) mod commit;
mod machine;
#[cfg(any(test, feature = "testkit"))]
pub mod model;
mod position;
#[cfg(test)]
mod tests;

pub use area::{Area, Collection, FeedEntry};
pub use machine::{Feed, FeedAction, FeedInput, FeedPhase, FeedRemoval, FeedStep, LoopReason, PageEvent};
pub use position::{AreaState, FeedPosition, FeedReader};
