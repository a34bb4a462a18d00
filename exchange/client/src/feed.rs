//! Feeds: how the exchange's collections come here and stay equal to it (FED-01 to FED-11).
//!
//! A collection is read as a snapshot, page by page, and then as a feed of what changed since. [`Feed`] decides all
//! of it and does none of it: something that happened goes in ([`Input`]), the one thing to do next comes out
//! ([`Action`]). It is the same for every area, has neither a clock nor a network, and keeps nothing that is not in
//! the store, but for counting that it does not turn in circles.
//!
//! ```text
//!            Go ──► Read ──► Page ──► Commit ──► Committed ──► Read … ──► Done
//!                    │                   │
//!                    │ 410               └─► Superseded: another process was faster, go on from where it is
//!                    └─► Read without a cursor: a new snapshot
//! ```
//!
//! Every page is one [`Commit`](crate::replica::Commit): entries, tombstones and the place to read on from are stored together or
//! not at all, so that a program may be killed between any two of these steps (see [`ReplicaStore`](crate::replica::ReplicaStore)).

mod area;
pub(crate) mod commit;
mod machine;
#[cfg(any(test, feature = "testkit"))]
pub mod model;
mod position;
#[cfg(test)]
mod tests;

pub use area::{Area, Collection, Entry};
pub use machine::{Action, Change, Feed, Input, PageEvent, Phase, Step, StuckBecause};
pub use position::{Kept, Position, Reader};
