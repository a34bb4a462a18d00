//! Change feeds: the changes of a collection since the last page that a reader received (FED rows).
//!
//! A [`FeedStream`] is one ordered sequence of changes. The latest change of each key has a number that is
//! assigned in the transaction of the write, so the numbers follow the order of commits: a reader that sees
//! number *k* also sees all lower numbers.
//!
//! The position of a reader is a vector with one number for each stream of the collection. The vector is
//! stored in an authenticated cursor ([`cursor`]). Each page is read from one snapshot ([`read_page`]).
//! Removed entries remain as tombstones for 90 days ([`retention`]).
//!
//! This module does not depend on any area. Areas implement [`PagedCollection`].

pub mod cursor;
mod page;
pub mod retention;
mod stream;

pub use page::{
    CollectionPage, PageError, PagedCollection, PendingPage, RemovedEntry, StreamSource, read_page,
};
pub use stream::{ChangeAuthor, FeedStream, KeyChange, KeyRemoval, find_removals, record_changes};

use dpop_bound::RandomSource;
use rusqlite::Connection;

use crate::store::{StoreError, epoch};

/// Creates the store's epoch and the key that authenticates cursors, unless they exist. Must be called after
/// a store was opened or emptied.
///
/// # Errors
/// Returns [`StoreError::Random`] if the random number generator fails, or another [`StoreError`] if the
/// database fails.
pub fn prepare_store(connection: &Connection, random: &dyn RandomSource) -> Result<(), StoreError> {
    epoch::ensure_epoch(connection, random)?;
    cursor::ensure_cursor_key(connection, random)
}
