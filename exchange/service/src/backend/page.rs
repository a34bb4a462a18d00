//! Pages of any area's collection, as answers have them (FED rows).

use std::sync::Arc;

use contract_runtime::Map;
use contract_runtime::server::Context;
use exchange_api::server::Refusal;
use exchange_api::types::{Cursor, RemovedBy, Tombstone};
use rusqlite::Connection;

use super::Backend;
use super::admission::{Admitted, asked};
use super::connection::timestamp;
use crate::catalogue::Index;
use crate::feed::{self, Author, Collection, Page, Removed};
use crate::store::StoreError;

/// Entries on a page when the reader does not say (LIM-14).
const USUAL: usize = 500;

/// Where a reader is, and how much is asked for.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<i64>,
}

/// What every area's page is made of (TYP-13).
#[derive(Debug)]
pub(super) struct Shown<T> {
    pub(super) items: Vec<T>,
    pub(super) removed: Vec<Tombstone>,
    pub(super) next_cursor: Cursor,
    pub(super) has_more: bool,
}

impl Backend {
    /// Reads a page of the collection that the caller has, with the catalogue that names its entries.
    pub(super) async fn page<C>(
        &self,
        reading: Reading,
        context: &Context,
        collection: impl FnOnce(&Admitted, Arc<Index>) -> C + Send + 'static,
    ) -> Result<Shown<C::Item>, Refusal>
    where
        C: Collection + Send + 'static,
        C::Item: Send + 'static,
    {
        let of = |_: &Connection, admitted: &Admitted, index| Ok(collection(admitted, index));
        let (shown, _) = self.page_of(reading, context, of).await?;
        Ok(shown)
    }

    /// The same for a collection that the store says more about; gives it back as it was read.
    pub(super) async fn page_of<C>(
        &self,
        reading: Reading,
        context: &Context,
        collection: impl FnOnce(&Connection, &Admitted, Arc<Index>) -> Result<C, StoreError> + Send + 'static,
    ) -> Result<(Shown<C::Item>, C), Refusal>
    where
        C: Collection + Send + 'static,
        C::Item: Send + 'static,
    {
        let (catalogue, now) = (self.catalogue.clone(), self.environment.now());
        let Reading { cursor, limit } = reading;
        let most = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(USUAL);
        let read = self.read(context, move |connection, admitted| {
            let collection = collection(connection, admitted, catalogue.at(connection)?)?;
            Ok((feed::page(connection, &collection, cursor.as_deref(), most, now)?, collection))
        });
        let (page, collection) = read.await?;
        let page = match page.settle(&self.store, now).await {
            Ok(page) => shown(page).map(|shown| (shown, collection)),
            Err(error) => Err(error),
        };
        let (asked, _) = asked(context)?;
        page.map_err(|error| asked.refuse(error.into()))
    }
}

fn shown<T>(page: Page<T>) -> Result<Shown<T>, StoreError> {
    let Page { items, removed, next, more } = page;
    let next_cursor = next.parse().map_err(|_| StoreError::Corrupt("a cursor of too many characters"))?;
    let removed = removed.into_iter().map(tombstone).collect::<Result<_, _>>()?;
    Ok(Shown { items, removed, next_cursor, has_more: more })
}

/// A tombstone as answers have it (TYP-14, TYP-15).
fn tombstone(removed: Removed) -> Result<Tombstone, StoreError> {
    let Removed { key, removal, tells_installation } = removed;
    let corrupt = |_| StoreError::Corrupt("a tombstone");
    let (client_id, installation_id) = match &removal.by {
        Author::Client { client, installation } => (
            Some(client.as_str().parse().map_err(corrupt)?),
            tells_installation.then(|| installation.as_str().parse()).transpose().map_err(corrupt)?,
        ),
        Author::Web | Author::App | Author::System => (None, None),
    };
    let channel = removal.by.channel().into();
    let removed_by = RemovedBy { channel, client_id, installation_id, extra: Map::new() };
    let key = key.parse().map_err(corrupt)?;
    Ok(Tombstone { key, removed_at: timestamp(removal.at)?, removed_by, extra: Map::new() })
}
