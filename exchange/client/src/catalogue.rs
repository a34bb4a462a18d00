//! Resolves catalog references in batches, and remembers the key that the exchange returned for each. Also
//! reads the list of locations, once per session (RES-13, RES-15, TYP-03).

mod memory;

use std::{fmt, sync::Arc};

use exchange_api::{
    Client, Map,
    types::{
        CatalogEntry, CatalogKind, ItemRef, Location, ResolveRequest, ResolveResponse, ResolveResult,
        Warning, WarningCode,
    },
};
use tokio::sync::Mutex;

pub use self::memory::{CatalogMemory, CatalogMemoryError};
use crate::{
    error::{Error, ErrorKind},
    exchange::Exchange,
};

/// The maximum number of references in a request (RES-01).
pub const MAX_REFERENCES: usize = 500;

/// The result of resolving a reference (RES-13).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceResolution {
    /// The reference identifies this entry; send its `bt` from then on.
    Resolved(CatalogEntry),
    /// The reference matches several entries: let the member choose one, then call
    /// [`CatalogResolver::record_choice`].
    Ambiguous(Vec<CatalogEntry>),
    /// No entry matches: show the reference to the member, and do not send it in a change set.
    Unmatched,
}

impl ReferenceResolution {
    /// Returns the resolved entry, whose reference may be sent in a change set.
    #[must_use]
    pub const fn entry(&self) -> Option<&CatalogEntry> {
        match self {
            Self::Resolved(entry) => Some(entry),
            Self::Ambiguous(_) | Self::Unmatched => None,
        }
    }
}

/// A reference's lookup result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceLookup {
    /// The result of the lookup.
    pub resolution: ReferenceResolution,
    /// True if the exchange warned that the `locKey` was not resolved (RES-10).
    pub loc_key_unresolved: bool,
}

/// Resolves catalog references and caches the results. Also caches the list of locations, for the current
/// session.
pub struct CatalogResolver {
    api: Client,
    memory: std::sync::Mutex<CatalogMemory>,
    locations: Mutex<Option<Arc<[Location]>>>,
}

impl Exchange {
    /// Creates a resolver of catalog references. `memory` is [`CatalogMemory::default`], or the
    /// [snapshot](CatalogResolver::memory_snapshot) of an earlier process.
    ///
    /// ```
    /// # use exchange_client::{CatalogResolver, CatalogMemory, Exchange};
    /// fn open_catalog(exchange: &Exchange, file: &[u8]) -> CatalogResolver {
    ///     // If the file is corrupt, start with an empty memory.
    ///     exchange.catalog(CatalogMemory::from_json(file).unwrap_or_default())
    /// }
    /// ```
    #[must_use]
    pub fn catalog(&self, memory: CatalogMemory) -> CatalogResolver {
        CatalogResolver::new(self.api().clone(), memory)
    }
}

impl CatalogResolver {
    /// Creates a resolver with results from an earlier process; [`CatalogMemory::default`] has none.
    #[must_use]
    pub fn new(api: Client, memory: CatalogMemory) -> Self {
        Self { api, memory: std::sync::Mutex::new(memory), locations: Mutex::default() }
    }

    /// Resolves any number of references of one kind. Remembered references are not requested; the others are
    /// sent in requests of at most [`MAX_REFERENCES`]. Returns the results in the order of `references`, and
    /// remembers the resolved references.
    ///
    /// # Errors
    /// Returns the errors that every call can return. Results of earlier requests are remembered, so a
    /// repeated call resolves only the remaining references.
    pub async fn resolve(
        &self,
        kind: CatalogKind,
        references: &[ItemRef],
    ) -> Result<Vec<ReferenceLookup>, Error> {
        let mut found: Vec<Option<ReferenceLookup>> =
            references.iter().map(|reference| self.look_up_memory(kind, reference)).collect();
        let unknown: Vec<usize> = (0..references.len()).filter(|at| found[*at].is_none()).collect();
        for batch in unknown.chunks(MAX_REFERENCES) {
            let refs: Vec<ItemRef> = batch.iter().map(|at| strip_loc_key_prefix(&references[*at])).collect();
            let request = ResolveRequest { kind, refs, extra: Map::new() };
            let response = self.api.catalog_resolve(&request).await?.into_body();
            for (at, lookup) in batch.iter().zip(parse_lookups(response, batch.len())?) {
                if let Some(entry) = lookup.resolution.entry() {
                    self.lock_memory().learn(kind, &references[*at], entry.clone());
                }
                found[*at] = Some(lookup);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn look_up_memory(&self, kind: CatalogKind, reference: &ItemRef) -> Option<ReferenceLookup> {
        let entry = self.lock_memory().entry(kind, reference)?.clone();
        Some(ReferenceLookup { resolution: ReferenceResolution::Resolved(entry), loc_key_unresolved: false })
    }

    /// Records the entry that the member chose for an ambiguous reference.
    pub fn record_choice(&self, kind: CatalogKind, reference: &ItemRef, entry: CatalogEntry) {
        self.lock_memory().learn(kind, reference, entry);
    }

    /// Returns the reference in the form in which it is sent: all known fields, `locKey` without its `@`, and
    /// the `bt` if it is remembered (TYP-03).
    #[must_use]
    pub fn sendable(&self, kind: CatalogKind, reference: &ItemRef) -> ItemRef {
        let mut sent = strip_loc_key_prefix(reference);
        if sent.bt.is_none() {
            sent.bt = self.lock_memory().entry(kind, reference).map(|entry| entry.bt.clone());
        }
        sent
    }

    /// Returns a copy of the remembered results, to be stored with [`CatalogMemory::to_json`].
    #[must_use]
    pub fn memory_snapshot(&self) -> CatalogMemory {
        self.lock_memory().clone()
    }

    fn lock_memory(&self) -> std::sync::MutexGuard<'_, CatalogMemory> {
        self.memory.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns all locations that a stock lot or a ship can have, ordered by name. They are read once per
    /// session (RES-15).
    ///
    /// # Errors
    /// Returns the errors that every call can return. Errors are not cached: the next call reads the
    /// locations again.
    pub async fn locations(&self) -> Result<Arc<[Location]>, Error> {
        let mut locations = self.locations.lock().await;
        if let Some(known) = &*locations {
            return Ok(Arc::clone(known));
        }
        let list = self.api.catalog_locations().await?.into_body();
        let read: Arc<[Location]> = list.items.unwrap_or_default().into();
        *locations = Some(Arc::clone(&read));
        Ok(read)
    }

    /// Starts a new session, in which the locations are read again. Resolved references are kept.
    pub async fn begin_session(&self) {
        *self.locations.lock().await = None;
    }
}

/// Removes the leading `@` of a `locKey`, which must not be sent (TYP-03).
fn strip_loc_key_prefix(reference: &ItemRef) -> ItemRef {
    let mut sent = reference.clone();
    if let Some(key) = sent.loc_key.as_mut().filter(|key| key.starts_with('@')) {
        *key = key.trim_start_matches('@').to_owned();
    }
    sent
}

/// Checks that there is one result for each reference, in the order of the references, and converts the
/// results.
fn parse_lookups(response: ResolveResponse, expected_count: usize) -> Result<Vec<ReferenceLookup>, Error> {
    let ResolveResponse { results, warnings, .. } = response;
    let in_order = results.iter().enumerate().all(|(at, result)| match result {
        ResolveResult::Resolved(result) => usize::try_from(result.index) == Ok(at),
        ResolveResult::Ambiguous(result) => usize::try_from(result.index) == Ok(at),
        ResolveResult::Unmatched(result) => usize::try_from(result.index) == Ok(at),
        ResolveResult::Unknown(_) => true,
    });
    if results.len() != expected_count || !in_order {
        return Err(Error::new(
            ErrorKind::Protocol,
            "the response does not contain one result per reference, in order",
        ));
    }
    let resolution = |result| match result {
        ResolveResult::Resolved(result) => ReferenceResolution::Resolved(result.ref_),
        ResolveResult::Ambiguous(result) => {
            ReferenceResolution::Ambiguous(result.candidates.unwrap_or_default())
        }
        // A result that a later version adds does not identify an entry (CON-12).
        ResolveResult::Unmatched(_) | ResolveResult::Unknown(_) => ReferenceResolution::Unmatched,
    };
    let mut lookups: Vec<ReferenceLookup> = results
        .into_iter()
        .map(|result| ReferenceLookup { resolution: resolution(result), loc_key_unresolved: false })
        .collect();
    for warning in warnings.iter().flatten() {
        if let Some(lookup) = loc_key_unresolved(warning).and_then(|at| lookups.get_mut(at)) {
            lookup.loc_key_unresolved = true;
        }
    }
    Ok(lookups)
}

/// Returns the index of the reference that a `LOC_KEY_UNRESOLVED` warning is about (RES-10); `None` for other
/// warnings.
fn loc_key_unresolved(warning: &Warning) -> Option<usize> {
    if !matches!(warning.code, WarningCode::LocKeyUnresolved) {
        return None;
    }
    warning.pointer.as_str().strip_prefix("/refs/")?.strip_suffix("/locKey")?.parse().ok()
}

impl fmt::Debug for CatalogResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogResolver").field("known", &self.lock_memory().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use exchange_api::types::CatalogKey;

    use super::*;
    use crate::mock_gateway::{MockGateway, problem_response};

    fn named(name: &str) -> ItemRef {
        ItemRef::builder().name(name).build().unwrap()
    }

    fn entry(bt: &str) -> CatalogEntry {
        CatalogEntry::builder()
            .bt(CatalogKey::new(bt).unwrap())
            .name(format!("Name of {bt}"))
            .build()
            .unwrap()
    }

    fn json_response(results: &str) -> (u16, String) {
        (200, format!(r#"{{"results": [{results}], "warnings": []}}"#))
    }

    /// RES-13: references are resolved, ambiguous or unmatched; an unknown result counts as unmatched.
    #[tokio::test]
    async fn references_resolve_or_are_ambiguous() {
        let double = MockGateway::with_responses([json_response(
            r#"{"index": 0, "status": "resolved", "ref": {"bt": "b-1", "name": "One"}},
               {"index": 1, "status": "ambiguous", "candidates": [{"bt": "b-2", "name": "Two"}, {"bt": "b-3", "name": "Three"}]},
               {"index": 2, "status": "unmatched"},
               {"index": 3, "status": "later"}"#,
        )]);
        let catalogue = CatalogResolver::new(double.client(), CatalogMemory::default());
        let references = ["one", "two", "three", "four"].map(named);
        let found = catalogue.resolve(CatalogKind::Item, &references).await.unwrap();
        let entries = |at: usize| match &found[at].resolution {
            ReferenceResolution::Resolved(entry) => vec![entry.bt.as_str()],
            ReferenceResolution::Ambiguous(entries) => {
                entries.iter().map(|entry| entry.bt.as_str()).collect()
            }
            ReferenceResolution::Unmatched => Vec::new(),
        };
        assert_eq!(entries(0), ["b-1"]);
        assert_eq!(entries(1), ["b-2", "b-3"]);
        assert!(entries(2).is_empty() && entries(3).is_empty());
        assert_eq!(found.iter().filter(|lookup| lookup.resolution.entry().is_some()).count(), 1);
    }

    /// RES-13, TYP-03: once a reference is resolved, its key is sent and the reference is not requested
    /// again.
    #[tokio::test]
    async fn resolved_references_are_remembered() {
        let first =
            json_response(r#"{"index": 0, "status": "resolved", "ref": {"bt": "b-1", "name": "One"}}"#);
        let second = json_response(r#"{"index": 0, "status": "unmatched"}"#);
        let double = MockGateway::with_responses([first, second]);
        let catalogue = CatalogResolver::new(double.client(), CatalogMemory::default());
        let one = ItemRef::builder().name("One").loc_key("@item_One").build();
        // The contract does not permit such a key, but the game's files contain it.
        assert!(one.is_err());
        let mut one = named("One");
        one.loc_key = Some("@item_One".to_owned());
        catalogue.resolve(CatalogKind::Item, std::slice::from_ref(&one)).await.unwrap();
        assert_eq!(
            double.requests(),
            [
                r#"POST /exchange/v1/catalog/resolve {"kind":"ITEM","refs":[{"locKey":"item_One","name":"One"}]}"#
            ]
        );
        let sent = catalogue.sendable(CatalogKind::Item, &one);
        assert_eq!(sent.bt.as_ref().map(|bt| bt.as_str()), Some("b-1"));
        assert_eq!((sent.loc_key.as_deref(), sent.name.as_deref()), (Some("item_One"), Some("One")));
        // The same name of a different kind identifies a different entry.
        assert_eq!(catalogue.sendable(CatalogKind::Material, &one).bt, None);
        let again = catalogue.resolve(CatalogKind::Item, &[one, named("Two")]).await.unwrap();
        assert_eq!(again[0].resolution.entry().unwrap().bt.as_str(), "b-1");
        assert_eq!(again[1].resolution, ReferenceResolution::Unmatched);
        assert!(double.requests()[1].contains(r#"[{"name":"Two"}]"#), "{:?}", double.requests());
        // The member's choice is remembered like a resolved entry.
        catalogue.record_choice(CatalogKind::Item, &named("Two"), entry("b-2"));
        let picked = catalogue.resolve(CatalogKind::Item, &[named("Two")]).await.unwrap();
        assert_eq!(picked[0].resolution, ReferenceResolution::Resolved(entry("b-2")));
        assert_eq!((double.requests().len(), catalogue.memory_snapshot().len()), (2, 2));
    }

    /// RES-01: no request has more than 500 references. A repeated call after an error requests only the
    /// remaining ones.
    #[tokio::test]
    async fn references_are_sent_in_batches() {
        let results = |from: usize, to: usize| {
            let mut text = String::new();
            for (index, name) in (from..to).enumerate() {
                let comma = if index > 0 { "," } else { "" };
                let _ = write!(
                    text,
                    r#"{comma}{{"index": {index}, "status": "resolved", "ref": {{"bt": "b-{name}", "name": "n"}}}}"#
                );
            }
            json_response(&text)
        };
        let responses = [
            results(0, 500),
            problem_response(503, "EXCHANGE_DISABLED"),
            results(500, 1000),
            results(1000, 1001),
        ];
        let double = MockGateway::with_responses(responses);
        let catalogue = CatalogResolver::new(double.client(), CatalogMemory::default());
        let references: Vec<ItemRef> = (0..1001).map(|name| named(&name.to_string())).collect();
        let error = catalogue.resolve(CatalogKind::Item, &references).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        let found = catalogue.resolve(CatalogKind::Item, &references).await.unwrap();
        for (name, lookup) in found.iter().enumerate() {
            assert_eq!(lookup.resolution.entry().unwrap().bt.as_str(), format!("b-{name}"));
        }
        let sizes: Vec<_> = double.requests().iter().map(|line| line.matches("\"name\"").count()).collect();
        assert_eq!((found.len(), sizes), (1001, vec![500, 500, 500, 1]));
        assert!(catalogue.resolve(CatalogKind::Item, &[]).await.unwrap().is_empty());
    }

    /// RES-10: a warning is assigned to the reference that was resolved by its name.
    #[tokio::test]
    async fn warning_is_assigned_to_its_reference() {
        let body = r#"{"results": [{"index": 0, "status": "unmatched"}, {"index": 1, "status": "unmatched"}],
            "warnings": [{"pointer": "/refs/1/locKey", "code": "LOC_KEY_UNRESOLVED"},
                         {"pointer": "/refs/0/locKey", "code": "LATER"}, {"pointer": "/refs/7/locKey", "code": "LOC_KEY_UNRESOLVED"}]}"#;
        let double = MockGateway::with_responses([(200, body)]);
        let catalogue = CatalogResolver::new(double.client(), CatalogMemory::default());
        let found = catalogue.resolve(CatalogKind::Item, &["a", "b"].map(named)).await.unwrap();
        assert_eq!(found.iter().map(|found| found.loc_key_unresolved).collect::<Vec<_>>(), [false, true]);
    }

    /// A response is rejected unless it has exactly one result per reference, in order.
    #[tokio::test]
    async fn results_must_match_their_references() {
        let crossed = r#"{"index": 1, "status": "unmatched"}, {"index": 0, "status": "unmatched"}"#;
        let short = r#"{"index": 0, "status": "unmatched"}"#;
        for results in [crossed, short] {
            let double = MockGateway::with_responses([json_response(results)]);
            let catalogue = CatalogResolver::new(double.client(), CatalogMemory::default());
            let error = catalogue.resolve(CatalogKind::Item, &["a", "b"].map(named)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol);
        }
    }

    /// RES-15: locations are read once per session, even by concurrent calls. An error is not cached.
    #[tokio::test]
    async fn locations_are_read_once_per_session() {
        let list = (200, r#"{"items": [{"name": "Area 18"}, {"name": "Everus Harbor"}]}"#.to_owned());
        let double =
            MockGateway::with_responses([problem_response(503, "EXCHANGE_DISABLED"), list.clone(), list]);
        let catalogue = CatalogResolver::new(double.client(), CatalogMemory::default());
        assert!(catalogue.locations().await.is_err());
        let (one, two) = tokio::join!(catalogue.locations(), catalogue.locations());
        assert_eq!((one.unwrap().len(), two.unwrap()[0].name.as_str()), (2, "Area 18"));
        assert_eq!(double.requests().len(), 2);
        catalogue.begin_session().await;
        catalogue.locations().await.unwrap();
        assert_eq!(double.requests().len(), 3);
    }
}
