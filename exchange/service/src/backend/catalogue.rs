//! Resolving references and listing locations (RES-01, RES-11, RES-15).

use contract_runtime::Map;
use contract_runtime::server::Context;
use exchange_api::Contract as _;
use exchange_api::server::Refusal;
use exchange_api::types::{
    AmbiguousResult, CatalogEntry, CatalogKey, Location, LocationLink, LocationList, LocationName,
    ResolveRequest, ResolveResponse, ResolveResult, ResolvedResult, UexId, UnmatchedResult,
};

use super::Backend;
use super::change::Warnings;
use crate::catalogue::contents::Kind;
use crate::catalogue::{Entry, Index, Place, Resolution, Resolved};
use crate::store::StoreError;

/// The longest name of a location.
const LONGEST_NAME: usize = LocationName::MAX_LENGTH;

impl Backend {
    pub(super) async fn resolve(
        &self,
        body: ResolveRequest,
        context: &Context,
    ) -> Result<ResolveResponse, Refusal> {
        let catalogue = self.catalogue.clone();
        let index = self.read(context, move |connection, _| Ok(catalogue.at(connection)?)).await?;
        // Beside the store: likeness takes its time.
        resolve_all(&index, &body).map_err(|_| contract_runtime::server::Rejection::Internal.into())
    }

    pub(super) async fn locations(&self, context: &Context) -> Result<LocationList, Refusal> {
        let catalogue = self.catalogue.clone();
        self.read(context, move |connection, _| {
            let index = catalogue.at(connection)?;
            let items = index.places().all().iter().map(location).collect::<Result<_, _>>()?;
            Ok(LocationList { items, extra: Map::new() })
        })
        .await
    }
}

fn resolve_all(index: &Index, body: &ResolveRequest) -> Result<ResolveResponse, StoreError> {
    let kind = Kind::from(&body.kind);
    let mut warnings = Warnings::unknown_fields(body.undeclared(Warnings::MOST));
    let mut results = Vec::with_capacity(body.refs.len());
    for (at, reference) in (0_i64..).zip(&body.refs) {
        let Resolved { resolution, loc_key_unresolved, .. } = index.resolve(kind, reference);
        if loc_key_unresolved {
            warnings.loc_key(&format!("/refs/{at}/locKey"));
        }
        results.push(match resolution {
            Resolution::One(found) => {
                ResolveResult::Resolved(ResolvedResult { index: at, ref_: entry(found)?, extra: Map::new() })
            }
            Resolution::Several(found) => {
                let candidates = found.into_iter().map(entry).collect::<Result<_, _>>()?;
                ResolveResult::Ambiguous(AmbiguousResult { index: at, candidates, extra: Map::new() })
            }
            Resolution::Nothing => ResolveResult::Unmatched(UnmatchedResult { index: at, extra: Map::new() }),
        });
    }
    Ok(ResolveResponse { results, warnings: warnings.into_list(), extra: Map::new() })
}

fn entry(found: &Entry) -> Result<CatalogEntry, StoreError> {
    shown(&found.key, found.name.clone())
}

/// A key and a name as answers have them.
pub(super) fn shown(key: &str, name: String) -> Result<CatalogEntry, StoreError> {
    let bt = CatalogKey::new(key).map_err(|_| StoreError::Corrupt("a key of the catalogue"))?;
    Ok(CatalogEntry { bt, name, extra: Map::new() })
}

/// The location of a key as answers have it; its key in the place of its name when there is none any more.
pub(super) fn location_of(index: &Index, id: &str) -> Result<Location, StoreError> {
    if let Some(place) = index.places().get(id) {
        return location(place);
    }
    let name: String = id.chars().take(LONGEST_NAME).collect();
    let name = LocationName::new(name).map_err(|_| StoreError::Corrupt("a location's key"))?;
    Ok(Location { name, uex: None, extra: Map::new() })
}

/// A location as answers have it.
fn location(place: &Place) -> Result<Location, StoreError> {
    let corrupt = |_| StoreError::Corrupt("a location of the catalogue");
    let uex = match place.link() {
        Some((kind, id)) => {
            Some(LocationLink { kind, id: UexId::new(id).map_err(corrupt)?, extra: Map::new() })
        }
        None => None,
    };
    Ok(Location { name: LocationName::new(place.name.as_str()).map_err(corrupt)?, uex, extra: Map::new() })
}
