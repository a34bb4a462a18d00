//! References to the catalogue: looked up in batches, remembered with the key that the exchange gave them, and
//! the locations, read once in a session (RES-13, RES-15, TYP-03).

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

pub use self::memory::{CatalogueMemory, UnreadableMemory};
use crate::{
    error::{Error, ErrorKind},
    exchange::Exchange,
};

/// How many references one request takes (RES-01).
pub const MOST_REFERENCES: usize = 500;

/// What became of one reference (RES-13).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolution {
    /// It is this entry, whose `bt` is sent from then on.
    Resolved(CatalogEntry),
    /// It may be any of these: let the member pick, then tell [`Catalogue::picked`].
    Ambiguous(Vec<CatalogEntry>),
    /// It is nothing: show the member, and send it in no change set.
    Unmatched,
}

impl Resolution {
    /// Whether it may be sent in a change set.
    #[must_use]
    pub const fn entry(&self) -> Option<&CatalogEntry> {
        match self {
            Self::Resolved(entry) => Some(entry),
            Self::Ambiguous(_) | Self::Unmatched => None,
        }
    }
}

/// One reference and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lookup {
    /// What became of it.
    pub resolution: Resolution,
    /// Its `locKey` named no entry, and the name decided (RES-10).
    pub loc_key_unresolved: bool,
}

/// The catalogue as one session knows it.
pub struct Catalogue {
    api: Client,
    memory: std::sync::Mutex<CatalogueMemory>,
    locations: Mutex<Option<Arc<[Location]>>>,
}

impl Exchange {
    /// Names of things: looked up in batches, and remembered. `memory` is [`CatalogueMemory::default`], or what an
    /// earlier process [remembered](Catalogue::remember).
    ///
    /// ```
    /// # use exchange_client::{Catalogue, CatalogueMemory, Exchange};
    /// fn with_what_was_learnt(exchange: &Exchange, file: &[u8]) -> Catalogue {
    ///     // What cannot be read is learnt anew.
    ///     exchange.catalogue(CatalogueMemory::from_json(file).unwrap_or_default())
    /// }
    /// ```
    #[must_use]
    pub fn catalogue(&self, memory: CatalogueMemory) -> Catalogue {
        Catalogue::new(self.api().clone(), memory)
    }
}

impl Catalogue {
    /// Knows what was remembered before; [`CatalogueMemory::default`] is nothing.
    #[must_use]
    pub fn new(api: Client, memory: CatalogueMemory) -> Self {
        Self { api, memory: std::sync::Mutex::new(memory), locations: Mutex::default() }
    }

    /// Looks references of one kind up, as many as there are: those that are known already are not asked for,
    /// the others go in requests of at most [`MOST_REFERENCES`]. Answers in the order of `references`; what
    /// resolves is remembered.
    ///
    /// # Errors
    /// As every call. What earlier requests resolved is remembered all the same, so that asking again goes on.
    pub async fn resolve(&self, kind: CatalogKind, references: &[ItemRef]) -> Result<Vec<Lookup>, Error> {
        let mut found: Vec<Option<Lookup>> =
            references.iter().map(|reference| self.remembered(kind, reference)).collect();
        let unknown: Vec<usize> = (0..references.len()).filter(|at| found[*at].is_none()).collect();
        for batch in unknown.chunks(MOST_REFERENCES) {
            let refs: Vec<ItemRef> = batch.iter().map(|at| sendable(&references[*at])).collect();
            let request = ResolveRequest { kind, refs, extra: Map::new() };
            let answer = self.api.catalog_resolve(&request).await?.into_body();
            for (at, lookup) in batch.iter().zip(lookups(answer, batch.len())?) {
                if let Some(entry) = lookup.resolution.entry() {
                    self.memory().learn(kind, &references[*at], entry.clone());
                }
                found[*at] = Some(lookup);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn remembered(&self, kind: CatalogKind, reference: &ItemRef) -> Option<Lookup> {
        let entry = self.memory().entry(kind, reference)?.clone();
        Some(Lookup { resolution: Resolution::Resolved(entry), loc_key_unresolved: false })
    }

    /// The member picked an entry for a reference that may be several.
    pub fn picked(&self, kind: CatalogKind, reference: &ItemRef, entry: CatalogEntry) {
        self.memory().learn(kind, reference, entry);
    }

    /// The reference as it is sent: every field that is known, `locKey` without its `@`, and the stored `bt`
    /// once there is one (TYP-03).
    #[must_use]
    pub fn sendable(&self, kind: CatalogKind, reference: &ItemRef) -> ItemRef {
        let mut sent = sendable(reference);
        if sent.bt.is_none() {
            sent.bt = self.memory().entry(kind, reference).map(|entry| entry.bt.clone());
        }
        sent
    }

    /// What is known, to be stored: [`CatalogueMemory::to_json`].
    #[must_use]
    pub fn remember(&self) -> CatalogueMemory {
        self.memory().clone()
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, CatalogueMemory> {
        self.memory.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Every place that a stock lot or a ship can be at, ordered by name: read once in a session (RES-15).
    ///
    /// # Errors
    /// As every call; the next one asks again.
    pub async fn locations(&self) -> Result<Arc<[Location]>, Error> {
        let mut locations = self.locations.lock().await;
        if let Some(known) = &*locations {
            return Ok(Arc::clone(known));
        }
        let read: Arc<[Location]> = self.api.catalog_locations().await?.into_body().items.into();
        *locations = Some(Arc::clone(&read));
        Ok(read)
    }

    /// Another session begins: the locations are read again. References keep what was learned of them.
    pub async fn begin_session(&self) {
        *self.locations.lock().await = None;
    }
}

/// The form in which a reference goes: a `locKey` has no `@` on the wire (TYP-03).
fn sendable(reference: &ItemRef) -> ItemRef {
    let mut sent = reference.clone();
    if let Some(key) = sent.loc_key.as_mut().filter(|key| key.starts_with('@')) {
        *key = key.trim_start_matches('@').to_owned();
    }
    sent
}

/// One answer for each reference, in their order: anything else is no answer to what was asked.
fn lookups(answer: ResolveResponse, asked: usize) -> Result<Vec<Lookup>, Error> {
    let ResolveResponse { results, warnings, .. } = answer;
    let in_order = results.iter().enumerate().all(|(at, result)| match result {
        ResolveResult::Resolved(result) => usize::try_from(result.index) == Ok(at),
        ResolveResult::Ambiguous(result) => usize::try_from(result.index) == Ok(at),
        ResolveResult::Unmatched(result) => usize::try_from(result.index) == Ok(at),
        ResolveResult::Unknown(_) => true,
    });
    if results.len() != asked || !in_order {
        return Err(Error::new(
            ErrorKind::Protocol,
            "the answer is not one result for each reference, in order",
        ));
    }
    let resolution = |result| match result {
        ResolveResult::Resolved(result) => Resolution::Resolved(result.ref_),
        ResolveResult::Ambiguous(result) => Resolution::Ambiguous(result.candidates),
        // What a later version says of it does not make it known here (CON-12).
        ResolveResult::Unmatched(_) | ResolveResult::Unknown(_) => Resolution::Unmatched,
    };
    let mut lookups: Vec<Lookup> = results
        .into_iter()
        .map(|result| Lookup { resolution: resolution(result), loc_key_unresolved: false })
        .collect();
    for warning in &warnings {
        if let Some(lookup) = loc_key_unresolved(warning).and_then(|at| lookups.get_mut(at)) {
            lookup.loc_key_unresolved = true;
        }
    }
    Ok(lookups)
}

/// Which reference a warning of RES-10 is about.
fn loc_key_unresolved(warning: &Warning) -> Option<usize> {
    if !matches!(warning.code, WarningCode::LocKeyUnresolved) {
        return None;
    }
    warning.pointer.as_str().strip_prefix("/refs/")?.strip_suffix("/locKey")?.parse().ok()
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").field("known", &self.memory().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use exchange_api::types::CatalogKey;

    use super::*;
    use crate::double::{Double, problem};

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

    fn answer(results: &str) -> (u16, String) {
        (200, format!(r#"{{"results": [{results}], "warnings": []}}"#))
    }

    /// RES-13: resolved, ambiguous, unmatched, and what nobody knows yet.
    #[tokio::test]
    async fn a_reference_resolves_or_the_member_is_asked() {
        let double = Double::answering([answer(
            r#"{"index": 0, "status": "resolved", "ref": {"bt": "b-1", "name": "One"}},
               {"index": 1, "status": "ambiguous", "candidates": [{"bt": "b-2", "name": "Two"}, {"bt": "b-3", "name": "Three"}]},
               {"index": 2, "status": "unmatched"},
               {"index": 3, "status": "later"}"#,
        )]);
        let catalogue = Catalogue::new(double.client(), CatalogueMemory::default());
        let references = ["one", "two", "three", "four"].map(named);
        let found = catalogue.resolve(CatalogKind::Item, &references).await.unwrap();
        let entries = |at: usize| match &found[at].resolution {
            Resolution::Resolved(entry) => vec![entry.bt.as_str()],
            Resolution::Ambiguous(entries) => entries.iter().map(|entry| entry.bt.as_str()).collect(),
            Resolution::Unmatched => Vec::new(),
        };
        assert_eq!(entries(0), ["b-1"]);
        assert_eq!(entries(1), ["b-2", "b-3"]);
        assert!(entries(2).is_empty() && entries(3).is_empty());
        assert_eq!(found.iter().filter(|lookup| lookup.resolution.entry().is_some()).count(), 1);
    }

    /// RES-13, TYP-03: the stored key is sent from then on, and what is known is not asked for.
    #[tokio::test]
    async fn what_resolved_is_remembered() {
        let first = answer(r#"{"index": 0, "status": "resolved", "ref": {"bt": "b-1", "name": "One"}}"#);
        let second = answer(r#"{"index": 0, "status": "unmatched"}"#);
        let double = Double::answering([first, second]);
        let catalogue = Catalogue::new(double.client(), CatalogueMemory::default());
        let one = ItemRef::builder().name("One").loc_key("@item_One").build();
        // Such a key breaks the contract as it stands in the game's files.
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
        // Another kind of the same name is another entry.
        assert_eq!(catalogue.sendable(CatalogKind::Material, &one).bt, None);
        let again = catalogue.resolve(CatalogKind::Item, &[one, named("Two")]).await.unwrap();
        assert_eq!(again[0].resolution.entry().unwrap().bt.as_str(), "b-1");
        assert_eq!(again[1].resolution, Resolution::Unmatched);
        assert!(double.requests()[1].contains(r#"[{"name":"Two"}]"#), "{:?}", double.requests());
        // What the member picks is as good as what resolved.
        catalogue.picked(CatalogKind::Item, &named("Two"), entry("b-2"));
        let picked = catalogue.resolve(CatalogKind::Item, &[named("Two")]).await.unwrap();
        assert_eq!(picked[0].resolution, Resolution::Resolved(entry("b-2")));
        assert_eq!((double.requests().len(), catalogue.remember().len()), (2, 2));
    }

    /// RES-01: no request has more than 500 references, and asking again after a refusal goes on where it was.
    #[tokio::test]
    async fn many_references_go_in_batches() {
        let results = |from: usize, to: usize| {
            let mut text = String::new();
            for (index, name) in (from..to).enumerate() {
                let comma = if index > 0 { "," } else { "" };
                let _ = write!(
                    text,
                    r#"{comma}{{"index": {index}, "status": "resolved", "ref": {{"bt": "b-{name}", "name": "n"}}}}"#
                );
            }
            answer(&text)
        };
        let answers =
            [results(0, 500), problem(503, "EXCHANGE_DISABLED"), results(500, 1000), results(1000, 1001)];
        let double = Double::answering(answers);
        let catalogue = Catalogue::new(double.client(), CatalogueMemory::default());
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

    /// RES-10: a reference whose name decided is known by its warning.
    #[tokio::test]
    async fn a_warning_belongs_to_its_reference() {
        let body = r#"{"results": [{"index": 0, "status": "unmatched"}, {"index": 1, "status": "unmatched"}],
            "warnings": [{"pointer": "/refs/1/locKey", "code": "LOC_KEY_UNRESOLVED"},
                         {"pointer": "/refs/0/locKey", "code": "LATER"}, {"pointer": "/refs/7/locKey", "code": "LOC_KEY_UNRESOLVED"}]}"#;
        let double = Double::answering([(200, body)]);
        let catalogue = Catalogue::new(double.client(), CatalogueMemory::default());
        let found = catalogue.resolve(CatalogKind::Item, &["a", "b"].map(named)).await.unwrap();
        assert_eq!(found.iter().map(|found| found.loc_key_unresolved).collect::<Vec<_>>(), [false, true]);
    }

    /// An answer that is not one result for each reference belongs to nobody.
    #[tokio::test]
    async fn results_belong_to_their_references() {
        let crossed = r#"{"index": 1, "status": "unmatched"}, {"index": 0, "status": "unmatched"}"#;
        let short = r#"{"index": 0, "status": "unmatched"}"#;
        for results in [crossed, short] {
            let double = Double::answering([answer(results)]);
            let catalogue = Catalogue::new(double.client(), CatalogueMemory::default());
            let error = catalogue.resolve(CatalogKind::Item, &["a", "b"].map(named)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol);
        }
    }

    /// RES-15: once in a session, also when two ask at once; a refusal is not remembered.
    #[tokio::test]
    async fn locations_are_read_once_in_a_session() {
        let list = (200, r#"{"items": [{"name": "Area 18"}, {"name": "Everus Harbor"}]}"#.to_owned());
        let double = Double::answering([problem(503, "EXCHANGE_DISABLED"), list.clone(), list]);
        let catalogue = Catalogue::new(double.client(), CatalogueMemory::default());
        assert!(catalogue.locations().await.is_err());
        let (one, two) = tokio::join!(catalogue.locations(), catalogue.locations());
        assert_eq!((one.unwrap().len(), two.unwrap()[0].name.as_str()), (2, "Area 18"));
        assert_eq!(double.requests().len(), 2);
        catalogue.begin_session().await;
        catalogue.locations().await.unwrap();
        assert_eq!(double.requests().len(), 3);
    }
}
