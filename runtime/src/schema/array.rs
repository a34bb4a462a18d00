//! The keywords that look into arrays.

use std::collections::HashSet;
use std::hash::Hash;

use super::Keyword;
use super::SchemaId;
use super::evaluate::At;
use super::evaluate::Run;
use super::seen::Seen;
use super::sink::Probe;
use super::sink::Sink;
use crate::Json;

/// Up to this length comparing all pairs is cheaper than hashing.
const FEW: usize = 8;

impl Run<'_> {
    #[inline(never)]
    pub(super) fn array<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        items: &[Json],
        keyword: &Keyword<'_>,
        seen: Option<&mut Seen>,
    ) -> bool {
        match keyword {
            Keyword::PrefixItems(schemas) => self.prefix_items(sink, at, items, schemas, seen),
            Keyword::Items { schema, from } => self.items(sink, at, items, (*schema, *from), seen),
            Keyword::Contains { schema, min, max } => {
                self.contains(sink, at, items, *schema, (*min, *max), seen)
            }
            Keyword::UniqueItems => {
                let held = unique(items);
                if !held {
                    sink.record(at.path, "uniqueItems", at.schema);
                }
                held
            }
            _ => true,
        }
    }

    fn prefix_items<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        items: &[Json],
        schemas: &[SchemaId],
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut held = true;
        for (index, (item, id)) in items.iter().zip(schemas).enumerate() {
            if let Some(seen) = seen.as_deref_mut() {
                seen.mark(index);
            }
            if !self.apply(sink, *id, item, &at.path.index(index), at.scope, None) {
                held = false;
                if self.over(sink) {
                    break;
                }
            }
        }
        held
    }

    fn items<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        items: &[Json],
        (id, from): (SchemaId, usize),
        seen: Option<&mut Seen>,
    ) -> bool {
        // The elements before `from` are those of `prefixItems`, also evaluated.
        if let Some(seen) = seen {
            seen.mark_all();
        }
        let mut held = true;
        let schema = self.tables.schema(id);
        for (index, item) in items.iter().enumerate().skip(from) {
            if !self.below(sink, at, schema, (item, &at.path.index(index)), "items") {
                held = false;
                if self.over(sink) {
                    break;
                }
            }
        }
        held
    }

    fn contains<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        items: &[Json],
        id: SchemaId,
        (min, max): (Option<u64>, Option<u64>),
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let least = min.unwrap_or(1);
        let mut count = 0;
        for (index, item) in items.iter().enumerate() {
            if self.apply(&mut Probe, id, item, &at.path.index(index), at.scope, None) {
                count += 1;
                if let Some(seen) = seen.as_deref_mut() {
                    seen.mark(index);
                }
            }
            // Which other elements match matters only to `unevaluatedItems`.
            let decided = match max {
                Some(most) => count > most,
                None => count >= least,
            };
            if self.gave_up() || decided && seen.is_none() {
                break;
            }
        }
        let name = if count < least {
            // Without any match `contains` itself is what fails.
            if count == 0 { "contains" } else { "minContains" }
        } else if max.is_some_and(|most| count > most) {
            "maxContains"
        } else {
            return true;
        };
        sink.record(at.path, name, at.schema);
        false
    }

    #[inline(never)]
    pub(super) fn unevaluated_items<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        items: &[Json],
        id: SchemaId,
        seen: &mut Seen,
    ) -> bool {
        let mut held = true;
        let schema = self.tables.schema(id);
        for (index, item) in items.iter().enumerate() {
            if seen.has(index) {
                continue;
            }
            if !self.below(sink, at, schema, (item, &at.path.index(index)), "unevaluatedItems") {
                held = false;
                if self.over(sink) {
                    break;
                }
            }
        }
        seen.mark_all();
        held
    }
}

/// Validation 6.4.3, by JSON Schema equality; hashed, so that a long array costs
/// no more than its length. The hash is keyed at random by the standard library.
pub(super) fn unique<T: Eq + Hash>(items: &[T]) -> bool {
    if items.len() <= FEW {
        return items
            .iter()
            .enumerate()
            .all(|(index, item)| !items.iter().take(index).any(|other| other == item));
    }
    let mut known = HashSet::with_capacity(items.len());
    items.iter().all(|item| known.insert(item))
}
