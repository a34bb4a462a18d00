//! Generates realistic random values: all declared properties, words, dates and numbers within bounds. Equal
//! seeds produce equal values. If a value fails validation, the generator retries without optional parts,
//! then computes a value exactly (`exact`) or repairs it (`objects`). The last resort is a boundary value of
//! [`super::edge_values`].

mod exact;
mod large_objects;
mod objects;

use std::cell::Cell;

use contract_runtime::{Json, Map, Number};

use super::{
    MAX_LENGTH, PatternChoice, SampleCache, SampleEffort, SchemaConjunction, SchemaFacts, add_numbers,
    candidate_strings, edge_values, spell_pattern, type_of,
};
use crate::schema::{Schema, SchemaGraph, SchemaId, TypeSet};

/// The maximum nesting depth; in the deeper half, only required parts are generated.
const MAX_LEVELS: u8 = 12;
/// The maximum number of generated values; after half of them, only required parts are generated.
const MAX_GENERATED_PLACES: u32 = 4_000;
/// The maximum number of attempts to generate an element or a name that differs from the previous ones.
const MAX_TRIES: u64 = 16;
/// The maximum length of a string whose only constraint is its length.
const MAX_WORDS_LENGTH: u64 = 1 << 16;
/// The effort of one search for a boundary value with `SampleEffort::Quick`, as a number of generated values.
const EDGE_VALUE_COST: u32 = 200;

const WORDS: &[&str] = &[
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris", "juniper", "kestrel",
    "linden", "maple", "north", "opal", "prairie", "quartz", "river", "slate", "tundra", "umber", "violet",
    "willow", "zephyr",
];

/// The settings for one random value.
#[derive(Clone, Copy, Debug)]
pub struct SampleRequest {
    /// The seed of the random numbers.
    pub seed: u64,
    /// True if examples and defaults in the schema take precedence over generated values.
    pub examples: bool,
}

/// Generates a value that all schemas of a conjunction accept. Returns `None` if no such value is found.
/// `valid` returns true if a schema accepts a value; it is called for the result and for its parts.
pub fn random_value(
    graph: &SchemaGraph,
    conj: &SchemaConjunction,
    implied: bool,
    request: SampleRequest,
    valid: &dyn Fn(SchemaId, &Json) -> bool,
) -> Option<Json> {
    let generator = ValueGenerator {
        graph,
        implied,
        valid,
        request,
        rng: SplitMix64::from_seed(request.seed),
        effort: Cell::new(MAX_GENERATED_PLACES),
    };
    let holds = |value: &Json| generator.is_accepted(conj, value);
    let edges = |effort| generator.find_edge_value(conj, effort, &holds);
    let sought = || {
        let value = edges(SampleEffort::Quick).or_else(|| edges(SampleEffort::Thorough))?;
        let holder = SchemaFacts::from_conjunction(graph, conj, implied)
            .open_unions
            .first()
            .map(|&id| graph.schema(id));
        Some(match holder {
            Some(holder) => generator.with_matching_tag(holder, value, &holds),
            None => value,
        })
    };
    generator.generate_at(conj, MAX_LEVELS).or_else(sought)
}

/// The pseudo-random number generator SplitMix64.
pub struct SplitMix64(Cell<u64>);

impl SplitMix64 {
    /// Creates a generator. Equal seeds produce equal sequences.
    pub const fn from_seed(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    fn next_u64(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `most`, or 0 if `most` is 0.
    pub fn next_below(&self, most: u64) -> u64 {
        self.next_u64() % most.max(1)
    }

    fn random_index(&self, length: usize) -> usize {
        usize::try_from(self.next_below(length as u64)).unwrap_or(0)
    }

    /// Returns a random English word.
    pub fn random_word(&self) -> &'static str {
        WORDS[self.random_index(WORDS.len())]
    }

    /// Iterates over a list, starting at a random element and wrapping around at the end.
    fn rotated<'l, T>(&self, list: &'l [T]) -> impl Iterator<Item = &'l T> + use<'l, T> {
        let (before, from) = list.split_at(self.random_index(list.len()));
        from.iter().chain(before)
    }
}

/// Random choices for a pattern, with a preference for alphanumeric characters.
impl PatternChoice for SplitMix64 {
    fn choose_char(&self, ranges: &[(char, char)]) -> Option<char> {
        let plain =
            |range: &&(char, char)| range.0.is_ascii_alphanumeric() && range.1.is_ascii_alphanumeric();
        let mut likely: Vec<(char, char)> = ranges.iter().filter(plain).copied().collect();
        // A class that excludes only a few letters is treated as one that contains all letters.
        let wide = |(first, last): &(char, char)| *first <= 'a' && 'z' <= *last;
        likely.extend(ranges.iter().any(wide).then_some(('a', 'z')));
        if likely.is_empty() {
            likely.extend_from_slice(ranges);
        }
        let (first, last) = *likely.get(self.random_index(likely.len()))?;
        let width = u64::from(u32::from(last) - u32::from(first)) + 1;
        let code = u32::from(first) + u32::try_from(self.next_below(width)).unwrap_or(0);
        char::from_u32(code).or(Some(first))
    }

    fn choose_branch(&self, branches: usize) -> usize {
        self.random_index(branches)
    }
}

struct ValueGenerator<'g> {
    graph: &'g SchemaGraph,
    implied: bool,
    valid: &'g dyn Fn(SchemaId, &Json) -> bool,
    request: SampleRequest,
    rng: SplitMix64,
    effort: Cell<u32>,
}

type ValuePredicate<'h> = &'h dyn Fn(&Json) -> bool;

impl<'g> ValueGenerator<'g> {
    fn is_accepted(&self, conj: &SchemaConjunction, value: &Json) -> bool {
        conj.within.contains(type_of(value)) && conj.ids.iter().all(|&id| (self.valid)(id, value))
    }

    /// Returns true if optional parts are generated: only in the outer half of the levels, and until half of
    /// the effort is used.
    fn adds_optional(&self, level: u8) -> bool {
        level > MAX_LEVELS / 2 && self.effort.get() > MAX_GENERATED_PLACES / 2
    }

    /// Generates a value that all schemas of a conjunction accept, or returns `None` if the attempts or the
    /// effort are exhausted. `level` counts down to 0 with the nesting depth.
    fn generate_at(&self, conj: &SchemaConjunction, level: u8) -> Option<Json> {
        self.effort.set(self.effort.get().checked_sub(1)?);
        let level = level.checked_sub(1)?;
        let facts = SchemaFacts::from_conjunction(self.graph, conj, self.implied);
        let all: Vec<&Schema> = facts.unconditional.iter().map(|&id| self.graph.schema(id)).collect();
        let holds = |value: &Json| self.is_accepted(conj, value);
        if let Some(literals) = facts.allowed_literals(self.graph) {
            return self.rng.rotated(&literals).copied().find(|value| holds(value)).cloned();
        }
        if self.request.examples {
            // The examples of a schema precede those of the schemas that it includes, because they are more
            // specific.
            let mut given = all.iter().rev().flat_map(|s| s.examples.iter().chain(&s.default));
            if let Some(given) = given.find(|value| holds(value)) {
                return Some(given.clone());
            }
        }
        if let Some(&holder) = facts.open_unions.first() {
            return self.generate_branch(conj, holder, level, &holds);
        }
        let order = [
            TypeSet::OBJECT,
            TypeSet::ARRAY,
            TypeSet::STRING,
            TypeSet::NUMBER,
            TypeSet::BOOLEAN,
            TypeSet::NULL,
        ];
        // If all JSON types are possible, a string is tried first.
        let open = facts.types == TypeSet::ALL;
        let first = open.then_some(TypeSet::STRING);
        let possible = |kind: &TypeSet| !facts.types.intersection(*kind).is_empty();
        first.into_iter().chain(order).filter(possible).find_map(|kind| match kind {
            TypeSet::OBJECT => self.generate_object(&facts, &all, level, &holds),
            TypeSet::ARRAY => self.generate_array(&all, level, &holds),
            TypeSet::STRING => self.generate_string(&all, &holds),
            TypeSet::NUMBER => self.generate_number(&all, facts.types.contains(TypeSet::NUMBER), &holds),
            TypeSet::BOOLEAN => self.rng.rotated(&[true, false]).copied().map(Json::Bool).find(holds),
            _ => Some(Json::Null).filter(holds),
        })
    }

    /// Returns the first boundary value that satisfies `holds`.
    fn find_edge_value(
        &self,
        conj: &SchemaConjunction,
        effort: SampleEffort,
        holds: ValuePredicate<'_>,
    ) -> Option<Json> {
        let all = edge_values(self.graph, conj, self.implied, effort, self.valid, &SampleCache::default());
        all.into_iter().find(holds)
    }

    /// Generates a value of a randomly selected branch of the union in `holder`. If this fails, tries the
    /// other branches; branches that allow only `null` are tried last.
    fn generate_branch(
        &self,
        conj: &SchemaConjunction,
        holder: SchemaId,
        level: u8,
        holds: ValuePredicate<'_>,
    ) -> Option<Json> {
        let schema = self.graph.schema(holder);
        let branches: Vec<SchemaId> = schema.one_of.iter().chain(&schema.any_of).copied().collect();
        let null = |id: &SchemaId| {
            SchemaFacts::from_conjunction(self.graph, &SchemaConjunction::from_schema(*id), self.implied)
                .types
                == TypeSet::NULL
        };
        let mut turned: Vec<SchemaId> = self.rng.rotated(&branches).copied().collect();
        turned.sort_by_key(null);
        let drawn = turned.into_iter().find_map(|branch| {
            self.generate_at(&conj.choose_branch(holder, branch), level).filter(|value| holds(value))
        });
        // In a union with a discriminator, the generated values may satisfy several branches, which `oneOf`
        // rejects. A boundary value is tried in this case.
        let found = drawn.or_else(|| {
            schema.discriminator.as_ref()?;
            self.effort.set(self.effort.get().checked_sub(EDGE_VALUE_COST)?);
            self.find_edge_value(conj, SampleEffort::Quick, holds)
        });
        found.map(|value| self.with_matching_tag(schema, value, holds))
    }

    /// Generates a value that all these schemas accept, or a random word if the list is empty.
    fn generate_part(&self, ids: Vec<SchemaId>, level: u8) -> Option<Json> {
        if ids.is_empty() {
            Some(Json::from(self.rng.random_word()))
        } else {
            self.generate_at(&SchemaConjunction::from_schemas(ids), level)
        }
    }

    fn generate_object(
        &self,
        facts: &SchemaFacts,
        all: &[&'g Schema],
        level: u8,
        holds: ValuePredicate<'_>,
    ) -> Option<Json> {
        let missing = all.iter().filter_map(|schema| schema.min_properties).max().unwrap_or(0);
        if missing > large_objects::MAX_MEMBERS {
            return None;
        }
        let required = facts.required_names(self.graph);
        let others = || all.iter().filter_map(|schema| schema.additional_properties);
        let declared = facts.declared_properties(self.graph);
        let mut least = Map::new();
        for name in &required {
            let known = declared.iter().find(|(known, ..)| known == name);
            let ids: Vec<SchemaId> = match known {
                Some((_, always, sometimes)) if always.is_empty() => {
                    sometimes.first().copied().into_iter().collect()
                }
                Some((_, always, _)) => always.clone(),
                None => others().collect(),
            };
            least.insert((*name).to_owned(), self.generate_part(ids, level)?);
        }
        let mut full = least.clone();
        let mut sometimes_too = Map::new();
        if self.adds_optional(level) {
            for (name, always, sometimes) in declared.iter().filter(|(name, ..)| !required.contains(name)) {
                let written = |id: &SchemaId| self.graph.schema(*id).write_only;
                // If examples are not used, optional properties are omitted at random.
                let left_out = !self.request.examples && self.rng.next_below(4) == 0;
                if left_out || always.iter().chain(sometimes).any(written) {
                    continue;
                }
                let only = if always.is_empty() {
                    sometimes.iter().take(1).copied().collect()
                } else {
                    always.clone()
                };
                let Some(value) = self.generate_part(only, level) else { continue };
                let kept = if always.is_empty() { &mut sometimes_too } else { &mut full };
                kept.insert((*name).to_owned(), value);
            }
        }
        let property_count =
            if full.is_empty() && self.adds_optional(level) { missing.max(1) } else { missing };
        for (members, property_count) in [(&mut full, property_count), (&mut least, missing)] {
            self.add_undeclared(all, property_count, level, members);
            self.add_counted_members(all, missing, level, members);
            self.add_shortest_names(all, missing, level, members);
        }
        let whole =
            full.iter().chain(sometimes_too.iter()).map(|(name, value)| (name.to_owned(), value.clone()));
        let whole: Map<Json> = whole.collect();
        let tried = [full, whole, least].map(Json::Object);
        let found = tried.iter().find(|value| holds(value)).cloned();
        found.or_else(|| tried.iter().find_map(|object| self.repair_object(facts, object, level, holds)))
    }

    /// Adds undeclared properties until the object has `wanted` properties.
    fn add_undeclared(&self, all: &[&'g Schema], wanted: u64, level: u8, members: &mut Map<Json>) {
        let patterns: Vec<&(String, SchemaId)> = all.iter().flat_map(|s| &s.pattern_properties).collect();
        let others: Vec<SchemaId> = all.iter().filter_map(|s| s.additional_properties).collect();
        if others.iter().any(|&id| self.graph.schema(id).boolean == Some(false)) && patterns.is_empty() {
            return;
        }
        let names: Vec<SchemaId> = all.iter().filter_map(|s| s.property_names).collect();
        // In very large objects, only a few properties get random names. `add_counted_members` adds the
        // others.
        let tries = if wanted > MAX_LENGTH { MAX_TRIES } else { wanted * 2 };
        for _ in 0..tries {
            if members.len() as u64 >= wanted {
                return;
            }
            let (name, ids) = match (self.rng.rotated(&patterns).next(), names.as_slice()) {
                (Some((pattern, id)), _) => {
                    (spell_pattern(pattern, 1 + self.rng.next_below(6), &self.rng), vec![*id])
                }
                (None, []) => (Some(self.rng.random_word().to_owned()), others.clone()),
                (None, names) => {
                    let conj = SchemaConjunction::from_schemas(names.iter().copied()).within(TypeSet::STRING);
                    let name =
                        self.generate_at(&conj, level).and_then(|name| name.as_str().map(str::to_owned));
                    (name, others.clone())
                }
            };
            let Some((name, value)) = name.zip(self.generate_part(ids, level)) else { return };
            members.insert(name, value);
        }
    }

    fn generate_array(&self, all: &[&'g Schema], level: u8, holds: ValuePredicate<'_>) -> Option<Json> {
        let least = all.iter().filter_map(|s| s.min_items).max().unwrap_or(0);
        // An array that requires more elements than the limit of the effort is not generated.
        if least > MAX_GENERATED_PLACES.into() {
            return None;
        }
        let most = all.iter().filter_map(|s| s.max_items).min().unwrap_or(MAX_LENGTH.max(least));
        let prefix = all.iter().map(|s| s.prefix_items.len()).max().unwrap_or(0);
        let distinct = all.iter().any(|s| s.unique_items);
        // Deeper arrays are shorter, because the number of values multiplies with each level.
        let usual = match (self.adds_optional(level), level + 2 >= MAX_LEVELS) {
            (true, true) => 1 + self.rng.next_below(3),
            (true, false) => 1,
            (false, _) => 0,
        };
        let length = usual.max(prefix as u64).max(least).min(most).min(MAX_GENERATED_PLACES.into());
        let mut items: Vec<Json> = Vec::new();
        let contained_schemas = all.iter().filter_map(|s| s.contains.as_ref());
        for contains in contained_schemas {
            for _ in 0..contains.min.unwrap_or(1).min(MAX_GENERATED_PLACES.into()) {
                items.extend(self.generate_at(&SchemaConjunction::from_schema(contains.schema), level));
            }
        }
        let mut tries = 0;
        while (items.len() as u64) < length && tries < MAX_TRIES + 4 * length {
            tries += 1;
            let at = items.len();
            let ids = all.iter().filter_map(|s| s.prefix_items.get(at).copied().or(s.items)).collect();
            let Some(item) = self.generate_part(ids, level) else { break };
            if !(distinct && items.contains(&item)) {
                items.push(item);
            }
        }
        let short = items.iter().take(usize::try_from(least).unwrap_or(usize::MAX)).cloned().collect();
        [items, short, Vec::new()].into_iter().map(Json::Array).find(holds)
    }

    fn generate_string(&self, all: &[&'g Schema], holds: ValuePredicate<'_>) -> Option<Json> {
        let least = all.iter().filter_map(|s| s.min_length).max().unwrap_or(0);
        let most = all.iter().filter_map(|s| s.max_length).min().unwrap_or(MAX_LENGTH.max(least));
        let mut found: Vec<String> =
            all.iter().filter_map(|s| self.formatted_string(s.format.as_deref()?)).collect();
        let encoded = |schema: &&&Schema| {
            schema.content_encoding.as_deref().is_some_and(|name| name.starts_with("base64"))
        };
        found.extend(all.iter().find(encoded).map(|_| "aGVsbG8=".to_owned()));
        let patterns: Vec<String> =
            all.iter().filter_map(|s| s.pattern.as_deref()).map(strip_lookaround).collect();
        if let Some(plain) = patterns.first() {
            let usual = [least, 1 + self.rng.next_below(8), 1, most.min(8), 0];
            found.extend(usual.into_iter().filter_map(|count| spell_pattern(plain, count, &self.rng)));
        }
        // If the pattern cannot be validated, this string of words is accepted.
        found.push(self.random_words(least, most));
        found.extend(candidate_strings(all));
        let drawn = found.iter().map(|text| Json::from(text.as_str())).find(holds);
        // A pattern without anchors allows any characters around the match.
        let padded = || {
            found.iter().find_map(|text| {
                let count = text.chars().count() as u64;
                let missing = least.checked_sub(count).filter(|missing| *missing > 0)?;
                let more = self.random_words(missing, most.saturating_sub(count));
                [format!("{text}{more}"), format!("{more}{text}")].map(Json::from).into_iter().find(holds)
            })
        };
        let longest = all.iter().filter_map(|s| s.max_length).min();
        let reckoned =
            || exact::shortest_string(&patterns, least, longest, &[]).map(Json::from).filter(holds);
        drawn.or_else(padded).or_else(reckoned)
    }

    /// Returns a string of random words with a length between `least` and `most`.
    fn random_words(&self, least: u64, most: u64) -> String {
        let mut text = self.rng.random_word().to_owned();
        while (text.len() as u64) < least.min(MAX_WORDS_LENGTH) {
            text.push(' ');
            text.push_str(self.rng.random_word());
        }
        text.truncate(usize::try_from(most.max(least)).unwrap_or(usize::MAX));
        text
    }

    /// Returns a random string in a known format, or `None` if the format is unknown.
    fn formatted_string(&self, format: &str) -> Option<String> {
        let Self { rng, .. } = self;
        let day = || {
            format!(
                "20{}-{:02}-{:02}",
                20 + rng.next_below(6),
                1 + rng.next_below(12),
                1 + rng.next_below(28)
            )
        };
        let time =
            || format!("{:02}:{:02}:{:02}Z", rng.next_below(24), rng.next_below(60), rng.next_below(60));
        Some(match format {
            "date-time" => format!("{}T{}", day(), time()),
            "date" => day(),
            "time" => time(),
            "duration" => format!("P{}D", 1 + rng.next_below(30)),
            "uri" | "iri" | "url" | "uri-reference" | "iri-reference" => {
                format!("https://example.org/{}", rng.random_word())
            }
            "uuid" => {
                let (high, low) = (rng.next_u64(), rng.next_u64());
                let variant = 0x8000 | (low >> 48 & 0x3fff);
                let (one, two, three) = (high >> 32, high >> 16 & 0xffff, 0x4000 | (high & 0xfff));
                format!("{one:08x}-{two:04x}-{three:04x}-{variant:04x}-{:012x}", low & 0xffff_ffff_ffff)
            }
            "email" | "idn-email" => format!("{}@example.org", rng.random_word()),
            "hostname" | "idn-hostname" => format!("{}.example.org", rng.random_word()),
            "ipv4" => format!("192.0.2.{}", 1 + rng.next_below(254)),
            "ipv6" => format!("2001:db8::{:x}", 1 + rng.next_below(0xfffe)),
            "json-pointer" => format!("/{}", rng.random_word()),
            "byte" => "aGVsbG8=".to_owned(),
            _ => return None,
        })
    }

    fn generate_number(
        &self,
        all: &[&'g Schema],
        fractions: bool,
        holds: ValuePredicate<'_>,
    ) -> Option<Json> {
        let whole = |bound: Option<i128>, otherwise| bound.unwrap_or(otherwise);
        let above = all.iter().flat_map(|s| {
            let exclusive = s.exclusive_minimum.as_ref().and_then(Number::floor).map(|least| least + 1);
            [s.minimum.as_ref().and_then(Number::ceil), exclusive].into_iter().flatten()
        });
        let below = all.iter().flat_map(|s| {
            let exclusive = s.exclusive_maximum.as_ref().and_then(Number::ceil).map(|most| most - 1);
            [s.maximum.as_ref().and_then(Number::floor), exclusive].into_iter().flatten()
        });
        let (above, below) = (above.max(), below.min());
        let low = whole(above, below.map_or(1, |most| most.min(1)));
        let high = whole(below, low.saturating_add(999)).min(low.saturating_add(999));
        let factor =
            all.iter().filter_map(|s| s.multiple_of.as_ref()).find_map(Number::as_i64).map_or(1, i128::from);
        let width = u64::try_from(high.saturating_sub(low)).unwrap_or(0).saturating_add(1);
        let drawn = low.saturating_add(i128::from(self.rng.next_below(width)));
        let multiple = drawn.div_euclid(factor.max(1)).saturating_mul(factor);
        let mut candidates = Vec::new();
        if fractions
            && drawn < high
            && let Ok(drawn) = i64::try_from(drawn)
        {
            let hundredths = i64::try_from(self.rng.next_below(100)).unwrap_or(0);
            candidates.extend(
                drawn.checked_mul(100).map(|all| Number::from_decimal(all.saturating_add(hundredths), 2)),
            );
        }
        let near = [multiple, multiple.saturating_add(factor), drawn, low, high];
        candidates.extend(near.into_iter().filter_map(|n| i64::try_from(n).ok()).map(Number::from_i64));
        let mut candidates: Vec<Json> = candidates.into_iter().map(Json::Number).collect();
        add_numbers(all, fractions, &mut candidates);
        let drawn = candidates.into_iter().find(holds);
        drawn.or_else(|| exact::exact_number(all, fractions, &self.rng).map(Json::Number).filter(holds))
    }
}

/// Removes lookaround groups from a pattern. They reject few strings, and the linear-time regular expression
/// engine does not support them.
fn strip_lookaround(pattern: &str) -> String {
    let mut out = String::new();
    let mut left = pattern;
    while let Some(first) = left.chars().next() {
        if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| left.starts_with(look)) {
            left = &left[group_end(left)..];
            continue;
        }
        // An escaped parenthesis does not open a group.
        let escaped = left.chars().nth(1).filter(|_| first == '\\').map_or(0, char::len_utf8);
        let (taken, rest) = left.split_at(first.len_utf8() + escaped);
        out.push_str(taken);
        left = rest;
    }
    out
}

/// Returns the byte offset of the end of the group at the start of a pattern.
fn group_end(text: &str) -> usize {
    let (mut depth, mut escaped, mut listed) = (0_u32, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => listed = true,
            ']' => listed = false,
            '(' if !listed => depth += 1,
            ')' if !listed => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !escaped {
            return at + letter.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two generators with equal seeds return equal sequences, and a sequence contains every number below the
    /// limit.
    #[test]
    fn sequences_depend_only_on_the_seed() {
        let sequence = |seed| -> Vec<u64> {
            let rng = SplitMix64::from_seed(seed);
            (0..64).map(|_| rng.next_below(8)).collect()
        };
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7), sequence(8));
        assert!((0..8).all(|each| sequence(1).contains(&each)), "{:?}", sequence(1));
        assert_eq!(SplitMix64::from_seed(3).rotated(&[1, 2, 3, 4]).count(), 4);
    }

    #[test]
    fn lookaround_is_stripped_from_patterns() {
        let check = |pattern, expect| assert_eq!(strip_lookaround(pattern), expect, "{pattern}");
        check("^(?![0-9a-f]{8}(-|$))^[a-z]([a-zA-Z0-9-]*[a-z])?$", "^^[a-z]([a-zA-Z0-9-]*[a-z])?$");
        check("^[a-z]+(?<!-)(?=[)(]|\\)x)é$", "^[a-z]+é$");
        check("\\(?!a", "\\(?!a");
        check("(?!a", "");
        check("a\\", "a\\");
    }

    #[test]
    fn generated_letters_are_readable() {
        let rng = SplitMix64::from_seed(1);
        for _ in 0..50 {
            let any = rng.choose_char(&[('\u{1}', '\u{10ffff}')]);
            assert!(any.is_some_and(|each| each.is_ascii_lowercase()), "{any:?}");
            assert!(matches!(rng.choose_char(&[('!', '#')]), Some('!'..='#')));
        }
        assert_eq!(rng.choose_char(&[]), None);
    }
}
