//! The catalogue of products, items, materials, ship types and locations, and the resolution of references to
//! its entries (RES rows).
//!
//! Entry point: [`Catalogue`], which keeps a [`CatalogueIndex`] in memory and rebuilds it when the revision
//! of the tables changes. Resolution is a pure function over an index: it reads no table and does not depend
//! on the member.

pub mod contents;
mod fuzzy;
mod index;
mod locations;
mod names;
mod products;
mod resolve;

pub use contents::{CatalogueContents, replace_contents};
pub use index::{CatalogueEntry, CatalogueIndex, shown_key};
pub use locations::{LocationIndex, WarehouseLocation};
pub use products::{ProductIndex, VariantMatching};
pub use resolve::{Resolution, ResolvedReference};

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rusqlite::Connection;

use crate::store::StoreError;

/// A cache of the index of the current catalogue.
#[derive(Default)]
pub struct Catalogue {
    index: ArcSwap<CatalogueIndex>,
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").finish_non_exhaustive()
    }
}

impl Catalogue {
    /// Returns the most recently built index. The tables may have changed since it was built.
    #[must_use]
    pub fn latest_index(&self) -> Arc<CatalogueIndex> {
        self.index.load_full()
    }

    /// Returns the index of the tables as visible to this connection. Rebuilds the index if the tables have
    /// changed.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the database fails.
    pub fn index_at(&self, connection: &Connection) -> Result<Arc<CatalogueIndex>, StoreError> {
        let revision = contents::load_revision(connection)?;
        let index = self.index.load_full();
        if index.revision() == revision {
            return Ok(index);
        }
        let index = Arc::new(CatalogueIndex::from_tables(connection, revision)?);
        self.index.store(Arc::clone(&index));
        Ok(index)
    }
}
