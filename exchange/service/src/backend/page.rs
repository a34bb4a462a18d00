//! Reads a page of an area's collection and converts it into the parts of a response (FED rows).

use std::sync::Arc;

use contract_runtime::Map;
use contract_runtime::server::RequestContext;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{Cursor, RemovedBy, Tombstone};
use rusqlite::Connection;

use super::Backend;
use super::admission::{AdmittedCaller, request_context};
use super::connection::format_timestamp;
use crate::catalogue::CatalogueIndex;
use crate::feed::{self, ChangeAuthor, CollectionPage, PagedCollection, RemovedEntry};
use crate::store::StoreError;

/// The number of entries on a page if the request has no limit (LIM-14).
const DEFAULT_LIMIT: usize = 500;

#[derive(Clone, Debug)]
pub(super) struct PageRequest {
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<i64>,
}

/// The fields that the pages of all areas have (TYP-13).
#[derive(Debug)]
pub(super) struct PageResponse<T> {
    pub(super) items: Vec<T>,
    pub(super) removed: Vec<Tombstone>,
    pub(super) next_cursor: Cursor,
    pub(super) has_more: bool,
}

impl Backend {
    /// Reads a page of a collection that is created from the caller and the catalogue alone.
    pub(super) async fn read_page<C>(
        &self,
        reading: PageRequest,
        context: &RequestContext,
        collection: impl FnOnce(&AdmittedCaller, Arc<CatalogueIndex>) -> C + Send + 'static,
    ) -> Result<PageResponse<C::Item>, ErrorResponse>
    where
        C: PagedCollection + Send + 'static,
        C::Item: Send + 'static,
    {
        let of = |_: &Connection, admitted: &AdmittedCaller, index| Ok(collection(admitted, index));
        let (shown, _) = self.read_page_with(reading, context, of).await?;
        Ok(shown)
    }

    /// Reads a page of a collection that is created from the store's state. Also returns the collection.
    pub(super) async fn read_page_with<C>(
        &self,
        reading: PageRequest,
        context: &RequestContext,
        collection: impl FnOnce(&Connection, &AdmittedCaller, Arc<CatalogueIndex>) -> Result<C, StoreError>
        + Send
        + 'static,
    ) -> Result<(PageResponse<C::Item>, C), ErrorResponse>
    where
        C: PagedCollection + Send + 'static,
        C::Item: Send + 'static,
    {
        let (catalogue, now) = (self.catalogue.clone(), self.environment.now());
        let PageRequest { cursor, limit } = reading;
        let maximum = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(DEFAULT_LIMIT);
        let read = self.read_admitted(context, move |connection, admitted| {
            let collection = collection(connection, admitted, catalogue.index_at(connection)?)?;
            Ok((feed::read_page(connection, &collection, cursor.as_deref(), maximum, now)?, collection))
        });
        let (page, collection) = read.await?;
        let page = match page.store_cursor(&self.store, now).await {
            Ok(page) => to_response(page).map(|shown| (shown, collection)),
            Err(error) => Err(error),
        };
        let (request, _) = request_context(context)?;
        page.map_err(|error| request.error_response(error.into()))
    }
}

fn to_response<T>(page: CollectionPage<T>) -> Result<PageResponse<T>, StoreError> {
    let CollectionPage { items, removed, next_cursor: next, has_more: more } = page;
    let next_cursor = next.parse().map_err(|_| StoreError::Corrupt("cursor too long"))?;
    let removed = removed.into_iter().map(to_tombstone).collect::<Result<_, _>>()?;
    Ok(PageResponse { items, removed, next_cursor, has_more: more })
}

/// Converts a removed entry into the contract's tombstone (TYP-14, TYP-15).
fn to_tombstone(removed: RemovedEntry) -> Result<Tombstone, StoreError> {
    let RemovedEntry { key, removal, shows_installation: tells_installation } = removed;
    let corrupt = |_| StoreError::Corrupt("invalid tombstone");
    let (client_id, installation_id) = match &removal.by {
        ChangeAuthor::Client { client, installation } => (
            Some(client.as_str().parse().map_err(corrupt)?),
            tells_installation.then(|| installation.as_str().parse()).transpose().map_err(corrupt)?,
        ),
        ChangeAuthor::Web | ChangeAuthor::App | ChangeAuthor::System => (None, None),
    };
    let channel = removal.by.channel().into();
    let removed_by = RemovedBy { channel, client_id, installation_id, extra: Map::new() };
    let key = key.parse().map_err(corrupt)?;
    Ok(Tombstone { key, removed_at: format_timestamp(removal.at)?, removed_by, extra: Map::new() })
}
