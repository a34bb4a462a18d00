//! Evaluation of the keywords that apply to array elements.

use std::collections::HashSet;
use std::hash::Hash;

use super::Keyword;
use super::SchemaId;
use super::evaluate::Evaluation;
use super::evaluate::SchemaApplication;
use super::evaluated::EvaluatedSet;
use super::sink::ProbeSink;
use super::sink::ViolationSink;
use crate::Json;

/// The maximum number of elements for which comparing all pairs is cheaper than hashing.
const MAX_PAIRWISE_ITEMS: usize = 8;

impl Evaluation<'_> {
    #[inline(never)]
    pub(super) fn apply_array_keyword<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        items: &[Json],
        keyword: &Keyword<'_>,
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        match keyword {
            Keyword::PrefixItems(schemas) => self.apply_prefix_items(sink, at, items, schemas, evaluated),
            Keyword::Items { schema, from } => self.apply_items(sink, at, items, (*schema, *from), evaluated),
            Keyword::Contains { schema, min, max } => {
                self.apply_contains(sink, at, items, *schema, (*min, *max), evaluated)
            }
            Keyword::UniqueItems => {
                let valid = is_unique(items);
                if !valid {
                    sink.record_violation(at.path, "uniqueItems", at.schema);
                }
                valid
            }
            _ => true,
        }
    }

    fn apply_prefix_items<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        items: &[Json],
        schemas: &[SchemaId],
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let mut valid = true;
        for (index, (item, id)) in items.iter().zip(schemas).enumerate() {
            if let Some(evaluated) = evaluated.as_deref_mut() {
                evaluated.mark(index);
            }
            if !self.apply_id(sink, *id, item, &at.path.index(index), at.scope, None) {
                valid = false;
                if self.is_finished(sink) {
                    break;
                }
            }
        }
        valid
    }

    fn apply_items<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        items: &[Json],
        (id, from): (SchemaId, usize),
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        // The elements before `from` are covered by `prefixItems` and are evaluated as well.
        if let Some(evaluated) = evaluated {
            evaluated.mark_all();
        }
        let mut valid = true;
        let schema = self.tables.schema(id);
        for (index, item) in items.iter().enumerate().skip(from) {
            if !self.apply_to_child(sink, at, schema, (item, &at.path.index(index)), "items") {
                valid = false;
                if self.is_finished(sink) {
                    break;
                }
            }
        }
        valid
    }

    fn apply_contains<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        items: &[Json],
        id: SchemaId,
        (min, max): (Option<u64>, Option<u64>),
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let least = min.unwrap_or(1);
        let mut count = 0;
        for (index, item) in items.iter().enumerate() {
            if self.apply_id(&mut ProbeSink, id, item, &at.path.index(index), at.scope, None) {
                count += 1;
                if let Some(evaluated) = evaluated.as_deref_mut() {
                    evaluated.mark(index);
                }
            }
            // After the result is certain, further matches matter only to `unevaluatedItems`.
            let decided = match max {
                Some(limit) => count > limit,
                None => count >= least,
            };
            if self.is_exhausted() || decided && evaluated.is_none() {
                break;
            }
        }
        let name = if count < least {
            // If no element matches, `contains` itself is violated.
            if count == 0 { "contains" } else { "minContains" }
        } else if max.is_some_and(|limit| count > limit) {
            "maxContains"
        } else {
            return true;
        };
        sink.record_violation(at.path, name, at.schema);
        false
    }

    #[inline(never)]
    pub(super) fn apply_unevaluated_items<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        items: &[Json],
        id: SchemaId,
        evaluated: &mut EvaluatedSet,
    ) -> bool {
        let mut valid = true;
        let schema = self.tables.schema(id);
        for (index, item) in items.iter().enumerate() {
            if evaluated.contains(index) {
                continue;
            }
            if !self.apply_to_child(sink, at, schema, (item, &at.path.index(index)), "unevaluatedItems") {
                valid = false;
                if self.is_finished(sink) {
                    break;
                }
            }
        }
        evaluated.mark_all();
        valid
    }
}

/// Returns true if no two elements are equal by JSON Schema equality, as `uniqueItems` requires (Validation
/// 6.4.3). Long arrays are hashed, so that the time remains linear. The standard library seeds the hash
/// randomly.
pub(super) fn is_unique<T: Eq + Hash>(items: &[T]) -> bool {
    if items.len() <= MAX_PAIRWISE_ITEMS {
        return items
            .iter()
            .enumerate()
            .all(|(index, item)| !items.iter().take(index).any(|other| other == item));
    }
    let mut known = HashSet::with_capacity(items.len());
    items.iter().all(|item| known.insert(item))
}
