//! Resolves references to catalogue entries (RES-03 to RES-10).
//!
//! Keys take precedence over the name. The first of `bt`, `scRecord`, `scGuid`, `uexId` and `locKey` that
//! matches exactly one entry determines the result; if none does, the name determines it. Ambiguous keys
//! provide candidates only if the name does not match uniquely either.

use exchange_api::types::ItemRef;

use super::contents::EntryKind;
use super::fuzzy;
use super::index::{CatalogueEntry, CatalogueIndex, KindIndex};
use super::names::{canonical_name, fold_name, without_maker, without_pack_tags};

/// The result of resolving a reference.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution<'i> {
    /// Exactly one entry matches.
    Unique(&'i CatalogueEntry),
    /// Several entries match, or only entries with similar names were found. Contains at most ten, best match
    /// first.
    Ambiguous(Vec<&'i CatalogueEntry>),
    /// No entry matches.
    Unmatched,
}

/// The result of resolving a reference, with details for warnings.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedReference<'i> {
    /// The matching entries.
    pub resolution: Resolution<'i>,
    /// Whether the name of the reference is only similar to the names of the returned entries (RES-09).
    pub is_guess: bool,
    /// Whether the reference has a `locKey`, but none of its keys matches exactly one entry (RES-10).
    pub loc_key_unresolved: bool,
}

/// The positions of the entries that one lookup matches.
enum LookupMatch<'p> {
    Unmatched,
    Unique(u32),
    Ambiguous(&'p [u32]),
    Similar(Vec<u32>),
}

impl<'p> LookupMatch<'p> {
    fn from_positions(places: Option<&'p Vec<u32>>) -> Self {
        match places.map(Vec::as_slice) {
            None | Some([]) => Self::Unmatched,
            Some([only]) => Self::Unique(*only),
            Some(several) => Self::Ambiguous(several),
        }
    }

    fn or_else(self, next: impl FnOnce() -> Self) -> Self {
        if matches!(self, Self::Unmatched) { next() } else { self }
    }
}

impl CatalogueIndex {
    /// Resolves a reference to an entry of a kind. If nothing matches exactly, searches for similar names.
    #[must_use]
    pub fn resolve_reference(&self, kind: EntryKind, reference: &ItemRef) -> ResolvedReference<'_> {
        let none = ResolvedReference {
            resolution: Resolution::Unmatched,
            is_guess: false,
            loc_key_unresolved: reference.loc_key.is_some(),
        };
        let Some(part) = self.kind_index(kind) else { return none };
        let entry = |index: u32| part.entries.get(index as usize);
        let mut several: Option<Vec<u32>> = None;
        for found in part.match_keys(reference) {
            match found {
                LookupMatch::Unique(index) => {
                    let resolution = entry(index).map_or(Resolution::Unmatched, Resolution::Unique);
                    return ResolvedReference { resolution, loc_key_unresolved: false, ..none };
                }
                LookupMatch::Ambiguous(places) => drop(several.get_or_insert_with(|| places.to_vec())),
                LookupMatch::Unmatched | LookupMatch::Similar(_) => {}
            }
        }
        let by_name =
            reference.name.as_deref().map_or(LookupMatch::Unmatched, |name| part.match_name(kind, name));
        let is_guess = several.is_none() && matches!(by_name, LookupMatch::Similar(_));
        let candidates = match by_name {
            LookupMatch::Unique(index) => {
                let resolution = entry(index).map_or(Resolution::Unmatched, Resolution::Unique);
                return ResolvedReference { resolution, ..none };
            }
            LookupMatch::Ambiguous(places) => several.unwrap_or_else(|| places.to_vec()),
            LookupMatch::Similar(places) => several.unwrap_or(places),
            LookupMatch::Unmatched => several.unwrap_or_default(),
        };
        let candidates: Vec<&CatalogueEntry> =
            candidates.into_iter().filter_map(entry).take(fuzzy::MAX_SUGGESTIONS).collect();
        if candidates.is_empty() {
            return none;
        }
        ResolvedReference { resolution: Resolution::Ambiguous(candidates), is_guess, ..none }
    }

    /// Returns the entry if a reference matches exactly one. Differs from
    /// [`resolve_reference`](Self::resolve_reference) only in that it does not search for similar names.
    #[must_use]
    pub fn find_unique(&self, kind: EntryKind, reference: &ItemRef) -> Option<&CatalogueEntry> {
        let part = self.kind_index(kind)?;
        let by_keys =
            part.match_keys(reference).into_iter().find(|found| matches!(found, LookupMatch::Unique(_)));
        let found = by_keys.or_else(|| Some(part.match_exact_name(kind, reference.name.as_deref()?)))?;
        match found {
            LookupMatch::Unique(at) => part.entries.get(at as usize),
            LookupMatch::Unmatched | LookupMatch::Ambiguous(_) | LookupMatch::Similar(_) => None,
        }
    }
}

impl KindIndex {
    /// Looks up each key of a reference, in order of precedence.
    fn match_keys<'p>(&'p self, reference: &ItemRef) -> [LookupMatch<'p>; 5] {
        let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        let key = reference.bt.as_ref().and_then(|key| self.by_key.get(key.as_str()));
        [
            key.map_or(LookupMatch::Unmatched, |&at| LookupMatch::Unique(at)),
            LookupMatch::from_positions(
                lower(&reference.sc_record).and_then(|record| self.by_record.get(&record)),
            ),
            LookupMatch::from_positions(lower(&reference.sc_guid).and_then(|guid| self.by_guid.get(&guid))),
            LookupMatch::from_positions(reference.uex_id.and_then(|id| self.by_uex.get(&id.get()))),
            LookupMatch::from_positions(lower(&reference.loc_key).and_then(|key| self.by_loc_key.get(&key))),
        ]
    }

    /// Looks up a name. If nothing matches, searches for similar names, except for items.
    fn match_name<'p>(&'p self, kind: EntryKind, name: &str) -> LookupMatch<'p> {
        self.match_exact_name(kind, name).or_else(|| match kind {
            EntryKind::Item => LookupMatch::Unmatched,
            EntryKind::Blueprint | EntryKind::Material | EntryKind::ShipType => {
                match self.fuzzy.find_similar(name) {
                    places if places.is_empty() => LookupMatch::Unmatched,
                    places => LookupMatch::Similar(places),
                }
            }
        })
    }

    /// Looks up a name in the normal forms for its kind. The first form with a match determines the result.
    fn match_exact_name<'p>(&'p self, kind: EntryKind, name: &str) -> LookupMatch<'p> {
        let exact = |name: &str| LookupMatch::from_positions(self.by_name.get(&fold_name(name)));
        let alias = |name: &str| LookupMatch::from_positions(self.by_alias.get(&fold_name(name)));
        let canon = |name: &str| match canonical_name(name) {
            // A name without letters and digits matches nothing.
            empty if empty.is_empty() => LookupMatch::Unmatched,
            name => LookupMatch::from_positions(self.by_canonical.get(&name)),
        };
        match kind {
            EntryKind::Item => exact(name),
            EntryKind::Blueprint => exact(name).or_else(|| alias(name)).or_else(|| {
                let stripped = without_pack_tags(name);
                stripped.map_or(LookupMatch::Unmatched, |name| exact(name).or_else(|| alias(name)))
            }),
            EntryKind::Material => exact(name).or_else(|| canon(name)).or_else(|| alias(name)),
            EntryKind::ShipType => canon(name).or_else(|| self.match_model(name)),
        }
    }

    /// Looks up the name of a ship type without its manufacturer.
    fn match_model<'p>(&'p self, name: &str) -> LookupMatch<'p> {
        let model = self.makers.iter().find_map(|maker| without_maker(name, maker)).unwrap_or(name);
        let model = canonical_name(model);
        if model.is_empty() {
            LookupMatch::Unmatched
        } else {
            LookupMatch::from_positions(self.by_model.get(&model))
        }
    }
}
