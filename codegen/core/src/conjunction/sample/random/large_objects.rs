//! Generates objects with hundreds of properties. The names are enumerated, because random names collide too
//! often and a search is too slow. A few values are reused for all properties.

use std::collections::BTreeMap;

use contract_runtime::{Json, Map};
use regex_syntax::hir::Hir;

use super::{MAX_TRIES, SchemaFacts, ValueGenerator, WORDS, objects::PropertyRules, strip_lookaround};
use crate::{
    conjunction::{
        SchemaConjunction,
        sample::{MAX_LENGTH, MAX_WEIGHT, spell_hir, value_count},
    },
    schema::{Schema, SchemaId, TypeSet},
};

/// The maximum number of properties of a generated object. Objects that require more are not generated.
pub(super) const MAX_MEMBERS: u64 = 10_000;
/// The number of values that are generated for properties with the same schemas. The properties use these
/// values in turn.
const MAX_VALUES_PER_KIND: usize = 8;

/// A scheme that derives property names from numbers.
enum NameScheme {
    /// Strings that match a pattern.
    Spelled(Hir),
    /// Digits after a prefix.
    Digits(String),
    /// Letters after a prefix.
    Letters(String),
    /// Digits before a suffix.
    Before(String),
    /// Random values of the `propertyNames` schemas.
    Drawn(SchemaConjunction),
}

impl ValueGenerator<'_> {
    /// Adds properties with enumerated names until the object has `property_count` properties. Does nothing
    /// if this number is so small that random names suffice, or greater than [`MAX_MEMBERS`].
    pub(super) fn add_counted_members(
        &self,
        all: &[&Schema],
        property_count: u64,
        level: u8,
        members: &mut Map<Json>,
    ) {
        if property_count <= WORDS.len() as u64
            || property_count > MAX_MEMBERS
            || members.len() as u64 >= property_count
        {
            return;
        }
        let rules = PropertyRules::from_schemas(all);
        let within =
            SchemaConjunction::from_schemas(rules.name_schemas.iter().copied()).within(TypeSet::STRING);
        let facts = SchemaFacts::from_conjunction(self.graph, &within, self.implied);
        let least =
            facts.unconditional_schemas(self.graph).filter_map(|schema| schema.min_length).max().unwrap_or(0);
        let Ok(least) = usize::try_from(least.min(MAX_LENGTH)) else { return };
        let own = facts.unconditional_schemas(self.graph).filter_map(|schema| schema.pattern.as_deref());
        let patterns = all.iter().flat_map(|schema| &schema.pattern_properties);
        let patterns = patterns.map(|(pattern, _)| pattern.as_str()).chain(own);
        let patterns = patterns.filter_map(|pattern| regex_syntax::parse(&strip_lookaround(pattern)).ok());
        let patterns: Vec<Hir> = patterns.collect();
        let mut stems: Vec<String> =
            patterns.iter().filter_map(|pattern| spell_hir(pattern, 1, &self.rng)).collect();
        stems.extend([self.rng.random_word().to_owned(), String::new()]);
        let mut schemes: Vec<NameScheme> = patterns.into_iter().map(NameScheme::Spelled).collect();
        for stem in stems {
            schemes.extend([
                NameScheme::Digits(stem.clone()),
                NameScheme::Letters(stem.clone()),
                NameScheme::Before(stem),
            ]);
        }
        let drawn = if rules.name_schemas.is_empty() { Vec::new() } else { vec![NameScheme::Drawn(within)] };
        let mut values: BTreeMap<Vec<SchemaId>, Vec<Json>> = BTreeMap::new();
        for (name, value) in members.iter() {
            values.entry(rules.schemas_for_name(name)).or_default().push(value.clone());
        }
        let weight_limit = MAX_WEIGHT / property_count;
        for value in values.values_mut() {
            value.retain(|value| value_count(value) <= weight_limit);
        }
        for schemes in [schemes, drawn] {
            let mut schemes: Vec<(NameScheme, u64)> = schemes.into_iter().map(|scheme| (scheme, 0)).collect();
            let mut number = 0;
            while !schemes.is_empty() {
                for (scheme, misses) in &mut schemes {
                    if members.len() as u64 >= property_count {
                        return;
                    }
                    let name = self.make_name(scheme, number, least, level);
                    let is_name = |name: &String| {
                        let json = Json::from(name.as_str());
                        !members.contains_key(name)
                            && rules.name_schemas.iter().all(|id| (self.valid)(*id, &json))
                    };
                    let value = name.filter(is_name).and_then(|name| {
                        let known = values.entry(rules.schemas_for_name(&name));
                        let known =
                            known.or_insert_with_key(|ids| self.generate_few(ids, weight_limit, level));
                        Some((known.get(members.len() % known.len().max(1))?.clone(), name))
                    });
                    *misses = if value.is_some() { 0 } else { *misses + 1 };
                    members.extend(value.map(|(value, name)| (name, value)));
                }
                schemes.retain(|(_, misses)| *misses < 4 * MAX_TRIES);
                number += 1;
            }
        }
    }

    fn make_name(&self, scheme: &NameScheme, number: u64, least: usize, level: u8) -> Option<String> {
        let width = |stem: &str| least.saturating_sub(stem.chars().count());
        match scheme {
            NameScheme::Spelled(pattern) => spell_hir(pattern, 1 + number % 8, &self.rng),
            NameScheme::Digits(stem) => Some(format!("{stem}{number:0>width$}", width = width(stem))),
            NameScheme::Letters(stem) => {
                Some(format!("{stem}{:a>width$}", base26_name(number), width = width(stem)))
            }
            NameScheme::Before(stem) => Some(format!("{number:0>width$}{stem}", width = width(stem))),
            NameScheme::Drawn(conj) => self.generate_at(conj, level)?.as_str().map(str::to_owned),
        }
    }

    /// Generates up to [`MAX_VALUES_PER_KIND`] values that the schemas accept, each with at most `most`
    /// nested values.
    fn generate_few(&self, ids: &[SchemaId], most: u64, level: u8) -> Vec<Json> {
        let drawn = (0..MAX_VALUES_PER_KIND).map_while(|_| self.generate_part(ids.to_vec(), level));
        drawn.filter(|value| value_count(value) <= most).collect()
    }
}

/// Formats a number in base 26 with the digits `a` to `z`.
fn base26_name(number: u64) -> String {
    let digits = std::iter::successors(Some(number), |left| left.checked_div(26).filter(|left| *left > 0));
    let digits = digits.map(|left| char::from(b'a' + u8::try_from(left % 26).unwrap_or(0)));
    digits.collect::<Vec<_>>().into_iter().rev().collect()
}
