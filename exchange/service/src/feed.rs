//! Change feeds: what changed in a collection since a reader's last page (FED rows).
//!
//! A [`Stream`] is one ordered feed. The latest change of each of its keys carries a number that is
//! given out in the write's own transaction, so the order of numbers is the order of commits: whoever
//! sees number *k* sees every number below it, and nothing has to be waited for.
//!
//! A reader's position is a vector: one number for each stream that its collection is made of, in a
//! cursor that nobody else can make ([`cursor`]). A page is one read over one snapshot ([`page()`]).
//! What is gone stays as a tombstone for 90 days ([`retention`]).
//!
//! This module knows no area: an area implements [`Collection`].

pub mod cursor;
mod page;
pub mod retention;
mod stream;

pub use page::{Collection, Page, PageError, Paged, Removed, Source, page};
pub use stream::{Author, Change, Removal, Stream, record, removals};

use dpop_bound::Random;
use rusqlite::Connection;

use crate::store::{StoreError, epoch};

/// Makes what cursors are sealed with, where a store does not have it yet: after it was opened, and
/// after it was emptied.
///
/// # Errors
/// What the database says, or that there are no random numbers.
pub fn prepare(connection: &Connection, random: &dyn Random) -> Result<(), StoreError> {
    epoch::settle(connection, random)?;
    cursor::settle_key(connection, random)
}
