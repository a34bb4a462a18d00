//! The catalogue: blueprints' products, items, materials, ship types and locations, and how a
//! reference finds one of them (RES rows).
//!
//! All of it is held in memory as an [`Index`], made of the tables and made anew when their revision
//! moves. Resolving is a plain function over an index: it reads no table and knows no member.

pub mod contents;
mod fuzzy;
mod index;
mod names;
mod places;
mod products;
mod resolve;

pub use contents::{Contents, replace};
pub use index::{Entry, Index, shown_key};
pub use places::{Place, Places};
pub use products::{Matching, Products};
pub use resolve::{Resolution, Resolved};

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rusqlite::Connection;

use crate::store::StoreError;

/// The index of the catalogue as it is now.
#[derive(Default)]
pub struct Catalogue {
    index: ArcSwap<Index>,
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").finish_non_exhaustive()
    }
}

impl Catalogue {
    /// The index that was made last; it may be of an earlier revision than the tables are.
    #[must_use]
    pub fn latest(&self) -> Arc<Index> {
        self.index.load_full()
    }

    /// The index of the tables as this connection sees them.
    ///
    /// # Errors
    /// What the database says.
    pub fn at(&self, connection: &Connection) -> Result<Arc<Index>, StoreError> {
        let revision = contents::revision(connection)?;
        let index = self.index.load_full();
        if index.revision() == revision {
            return Ok(index);
        }
        let index = Arc::new(Index::read(connection, revision)?);
        self.index.store(Arc::clone(&index));
        Ok(index)
    }
}
