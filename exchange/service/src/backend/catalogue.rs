//! Handlers that resolve references and list locations (RES-01, RES-11, RES-15).

use contract_runtime::Map;
use contract_runtime::server::RequestContext;
use exchange_api::Contract as _;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{
    AmbiguousResult, CatalogEntry, CatalogKey, Location, LocationLink, LocationList, LocationName,
    ResolveRequest, ResolveResponse, ResolveResult, ResolvedResult, UexId, UnmatchedResult,
};

use super::Backend;
use super::change::WarningList;
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueEntry, CatalogueIndex, Resolution, ResolvedReference, WarehouseLocation};
use crate::store::StoreError;

/// The maximum length of a location's name, in characters.
const MAX_NAME_CHARS: usize = LocationName::MAX_LENGTH;

impl Backend {
    pub(super) async fn resolve_references(
        &self,
        body: ResolveRequest,
        context: &RequestContext,
    ) -> Result<ResolveResponse, ErrorResponse> {
        let catalogue = self.catalogue.clone();
        let index =
            self.read_admitted(context, move |connection, _| Ok(catalogue.index_at(connection)?)).await?;
        // This runs outside the store's closure, because fuzzy matching would block a reader thread.
        resolve_all(&index, &body).map_err(|_| contract_runtime::server::Rejection::Internal.into())
    }

    pub(super) async fn list_locations(
        &self,
        context: &RequestContext,
    ) -> Result<LocationList, ErrorResponse> {
        let catalogue = self.catalogue.clone();
        self.read_admitted(context, move |connection, _| {
            let index = catalogue.index_at(connection)?;
            let items =
                index.locations().visible_locations().iter().map(to_location).collect::<Result<_, _>>()?;
            Ok(LocationList { items: Some(items), extra: Map::new() })
        })
        .await
    }
}

fn resolve_all(index: &CatalogueIndex, body: &ResolveRequest) -> Result<ResolveResponse, StoreError> {
    let kind = EntryKind::from(&body.kind);
    let mut warnings = WarningList::unknown_fields(body.undeclared_members(WarningList::MAX_WARNINGS));
    let mut results = Vec::with_capacity(body.refs.len());
    for (position, reference) in (0_i64..).zip(&body.refs) {
        let ResolvedReference { resolution, loc_key_unresolved, .. } =
            index.resolve_reference(kind, reference);
        if loc_key_unresolved {
            warnings.push_unresolved_loc_key(&format!("/refs/{position}/locKey"));
        }
        results.push(match resolution {
            Resolution::Unique(found) => ResolveResult::Resolved(ResolvedResult {
                index: position,
                ref_: to_catalog_entry(found)?,
                extra: Map::new(),
            }),
            Resolution::Ambiguous(found) => {
                let candidates = found.into_iter().map(to_catalog_entry).collect::<Result<_, _>>()?;
                ResolveResult::Ambiguous(AmbiguousResult {
                    index: position,
                    candidates: Some(candidates),
                    extra: Map::new(),
                })
            }
            Resolution::Unmatched => {
                ResolveResult::Unmatched(UnmatchedResult { index: position, extra: Map::new() })
            }
        });
    }
    Ok(ResolveResponse { results, warnings: Some(warnings.into_list()), extra: Map::new() })
}

fn to_catalog_entry(found: &CatalogueEntry) -> Result<CatalogEntry, StoreError> {
    catalog_entry(&found.key, found.name.clone())
}

/// Creates the contract's catalogue entry from a name and a key that clients may see.
pub(super) fn catalog_entry(key: &str, name: String) -> Result<CatalogEntry, StoreError> {
    let bt = CatalogKey::new(key).map_err(|_| StoreError::Corrupt("invalid catalogue key"))?;
    Ok(CatalogEntry { bt, name, extra: Map::new() })
}

/// Returns the location with this key, as the contract's type. If the location no longer exists, its key
/// becomes the name.
pub(super) fn location_of(index: &CatalogueIndex, id: &str) -> Result<Location, StoreError> {
    if let Some(place) = index.locations().get(id) {
        return to_location(place);
    }
    let name: String = id.chars().take(MAX_NAME_CHARS).collect();
    let name = LocationName::new(name).map_err(|_| StoreError::Corrupt("invalid location key"))?;
    Ok(Location { name, uex: None, extra: Map::new() })
}

/// Converts a location into the contract's type.
fn to_location(place: &WarehouseLocation) -> Result<Location, StoreError> {
    let corrupt = |_| StoreError::Corrupt("invalid catalogue location");
    let uex = match place.external_link() {
        Some((kind, id)) => {
            Some(LocationLink { kind, id: UexId::new(id).map_err(corrupt)?, extra: Map::new() })
        }
        None => None,
    };
    Ok(Location { name: LocationName::new(place.name.as_str()).map_err(corrupt)?, uex, extra: Map::new() })
}
