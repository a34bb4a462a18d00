//! From a reference to an entry (RES-03 to RES-10).
//!
//! Keys before names: the first of `bt`, `scRecord`, `scGuid`, `uexId`, `locKey` that finds exactly one
//! entry is taken, then a name that does; what finds several only decides when nothing finds one.

use exchange_api::types::ItemRef;

use super::contents::Kind;
use super::fuzzy;
use super::index::{Entry, Index, Part};
use super::names::{canonical, folded, without_maker, without_pack_tags};

/// What a reference found.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution<'i> {
    /// Exactly one entry.
    One(&'i Entry),
    /// Several, or a guess: at most ten, the best first.
    Several(Vec<&'i Entry>),
    /// Nothing.
    Nothing,
}

/// What a reference found, and whether its `locKey` was of no use (RES-10).
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved<'i> {
    /// What it found.
    pub resolution: Resolution<'i>,
    /// Whether what it found is no match, only like the name (RES-09).
    pub is_guess: bool,
    /// Whether it has a `locKey` and none of its keys found exactly one entry.
    pub loc_key_unresolved: bool,
}

/// Places of entries that one way of looking found.
enum Found<'p> {
    Nothing,
    One(u32),
    Several(&'p [u32]),
    Like(Vec<u32>),
}

impl<'p> Found<'p> {
    fn of(places: Option<&'p Vec<u32>>) -> Self {
        match places.map(Vec::as_slice) {
            None | Some([]) => Self::Nothing,
            Some([only]) => Self::One(*only),
            Some(several) => Self::Several(several),
        }
    }

    fn or_else(self, next: impl FnOnce() -> Self) -> Self {
        if matches!(self, Self::Nothing) { next() } else { self }
    }
}

impl Index {
    /// What a reference of a kind finds.
    #[must_use]
    pub fn resolve(&self, kind: Kind, reference: &ItemRef) -> Resolved<'_> {
        let none = Resolved {
            resolution: Resolution::Nothing,
            is_guess: false,
            loc_key_unresolved: reference.loc_key.is_some(),
        };
        let Some(part) = self.part(kind) else { return none };
        let entry = |at: u32| part.entries.get(at as usize);
        let mut several: Option<Vec<u32>> = None;
        for found in part.by_keys(reference) {
            match found {
                Found::One(at) => {
                    let resolution = entry(at).map_or(Resolution::Nothing, Resolution::One);
                    return Resolved { resolution, loc_key_unresolved: false, ..none };
                }
                Found::Several(places) => drop(several.get_or_insert_with(|| places.to_vec())),
                Found::Nothing | Found::Like(_) => {}
            }
        }
        let by_name = reference.name.as_deref().map_or(Found::Nothing, |name| part.by_name(kind, name));
        let is_guess = several.is_none() && matches!(by_name, Found::Like(_));
        let candidates = match by_name {
            Found::One(at) => {
                let resolution = entry(at).map_or(Resolution::Nothing, Resolution::One);
                return Resolved { resolution, ..none };
            }
            Found::Several(places) => several.unwrap_or_else(|| places.to_vec()),
            Found::Like(places) => several.unwrap_or(places),
            Found::Nothing => several.unwrap_or_default(),
        };
        let candidates: Vec<&Entry> = candidates.into_iter().filter_map(entry).take(fuzzy::MOST).collect();
        if candidates.is_empty() {
            return none;
        }
        Resolved { resolution: Resolution::Several(candidates), is_guess, ..none }
    }

    /// The one entry that a reference resolves to, if there is exactly one: the same as [`resolve`](Self::resolve)
    /// says, without looking for what is only like its name.
    #[must_use]
    pub fn find(&self, kind: Kind, reference: &ItemRef) -> Option<&Entry> {
        let part = self.part(kind)?;
        let by_keys = part.by_keys(reference).into_iter().find(|found| matches!(found, Found::One(_)));
        let found = by_keys.or_else(|| Some(part.named(kind, reference.name.as_deref()?)))?;
        match found {
            Found::One(at) => part.entries.get(at as usize),
            Found::Nothing | Found::Several(_) | Found::Like(_) => None,
        }
    }
}

impl Part {
    /// What each key finds, in the order in which they count.
    fn by_keys<'p>(&'p self, reference: &ItemRef) -> [Found<'p>; 5] {
        let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        let key = reference.bt.as_ref().and_then(|key| self.by_key.get(key.as_str()));
        [
            key.map_or(Found::Nothing, |&at| Found::One(at)),
            Found::of(lower(&reference.sc_record).and_then(|record| self.by_record.get(&record))),
            Found::of(lower(&reference.sc_guid).and_then(|guid| self.by_guid.get(&guid))),
            Found::of(reference.uex_id.and_then(|id| self.by_uex.get(&id.get()))),
            Found::of(lower(&reference.loc_key).and_then(|key| self.by_loc_key.get(&key))),
        ]
    }

    /// What a name finds, or what is like it; of items nothing is.
    fn by_name<'p>(&'p self, kind: Kind, name: &str) -> Found<'p> {
        self.named(kind, name).or_else(|| match kind {
            Kind::Item => Found::Nothing,
            Kind::Blueprint | Kind::Material | Kind::ShipType => match self.likeness.like(name) {
                places if places.is_empty() => Found::Nothing,
                places => Found::Like(places),
            },
        })
    }

    /// What a name finds: each kind has a chain of its own, and the first link that finds anything ends it.
    fn named<'p>(&'p self, kind: Kind, name: &str) -> Found<'p> {
        let exact = |name: &str| Found::of(self.by_name.get(&folded(name)));
        let alias = |name: &str| Found::of(self.by_alias.get(&folded(name)));
        let canon = |name: &str| match canonical(name) {
            // Punctuation alone names nothing.
            empty if empty.is_empty() => Found::Nothing,
            name => Found::of(self.by_canonical.get(&name)),
        };
        match kind {
            Kind::Item => exact(name),
            Kind::Blueprint => exact(name).or_else(|| alias(name)).or_else(|| {
                let stripped = without_pack_tags(name);
                stripped.map_or(Found::Nothing, |name| exact(name).or_else(|| alias(name)))
            }),
            Kind::Material => exact(name).or_else(|| canon(name)).or_else(|| alias(name)),
            Kind::ShipType => canon(name).or_else(|| self.by_model(name)),
        }
    }

    /// Without the manufacturer, on either side.
    fn by_model<'p>(&'p self, name: &str) -> Found<'p> {
        let model = self.makers.iter().find_map(|maker| without_maker(name, maker)).unwrap_or(name);
        let model = canonical(model);
        if model.is_empty() { Found::Nothing } else { Found::of(self.by_model.get(&model)) }
    }
}
