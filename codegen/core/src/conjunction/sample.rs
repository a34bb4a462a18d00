//! Generates deterministic sample values for a conjunction of schemas. The caller validates them.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap},
};

use contract_runtime::{Json, Map, Number, format::StringFormat};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::{SchemaConjunction, SchemaFacts, type_of};
use crate::schema::{Schema, SchemaGraph, SchemaId, TypeSet};

pub mod random;

/// The nesting depth at which recursive schemas are cut off.
const MAX_DEPTH: u8 = 7;
/// The target number of values for one conjunction with `SampleEffort::Thorough`. The result contains at most
/// twice as many.
const MAX_VALUES: usize = 64;
/// The number of candidates in the second search for a part of a value, such as a property. The search is
/// repeated if the first one finds no valid candidate.
const RETRY_VALUES: usize = 8;
/// The maximum number of conjunctions for which values are generated in one search. The number multiplies
/// with each level of nested properties.
const MAX_PLACES: u32 = 20_000;
/// The maximum length of sampled strings and arrays; longer values would reveal no further problems.
const MAX_LENGTH: u64 = 200;
/// The maximum number of values in one array, including nested values. The number multiplies with each level
/// of nested arrays.
const MAX_WEIGHT: u64 = 100_000;

/// Returns candidates for boundary values of a conjunction: minimum, maximum, and values for each union
/// branch and each property. Some of them may be invalid.
///
/// `valid` validates the parts of which a value is composed, so that one invalid part does not invalidate the
/// whole value. `known` caches results of earlier calls with the same graph and the same `valid`.
pub fn edge_values(
    graph: &SchemaGraph,
    conj: &SchemaConjunction,
    implied: bool,
    effort: SampleEffort,
    valid: &dyn Fn(SchemaId, &Json) -> bool,
    known: &SampleCache,
) -> Vec<Json> {
    let (most, effort) = match effort {
        SampleEffort::Thorough => (MAX_VALUES, MAX_PLACES),
        SampleEffort::Quick => (MAX_VALUES / 5, MAX_PLACES / 100),
        SampleEffort::Within(places) => (MAX_VALUES / 5, places.min(MAX_PLACES)),
    };
    let mut all = EdgeSampler { graph, implied, valid, cache: known, effort: Cell::new(effort) }
        .values_at(conj, MAX_DEPTH, most);
    all.truncate(2 * most);
    all
}

/// The effort of a search for boundary values.
#[derive(Clone, Copy)]
pub enum SampleEffort {
    /// Tries all boundary values.
    Thorough,
    /// Tries a few values and visits few conjunctions.
    Quick,
    /// Tries a few values and visits at most this many conjunctions.
    Within(u32),
}

/// A cache of the values that were generated for parts without nested schemas, by their schemas and the
/// requested number of values. The same property often occurs in many parents.
#[derive(Debug, Default)]
pub struct SampleCache(RefCell<HashMap<SampleKey, Vec<Json>>>);

type SampleKey = (Vec<SchemaId>, usize);

struct EdgeSampler<'g> {
    graph: &'g SchemaGraph,
    implied: bool,
    valid: &'g dyn Fn(SchemaId, &Json) -> bool,
    cache: &'g SampleCache,
    effort: Cell<u32>,
}

impl<'g> EdgeSampler<'g> {
    fn values_at(&self, conj: &SchemaConjunction, depth: u8, most: usize) -> Vec<Json> {
        let facts = SchemaFacts::from_conjunction(self.graph, conj, self.implied);
        let all: Vec<&Schema> = facts.unconditional.iter().map(|&id| self.graph.schema(id)).collect();
        let fits = |value: &&Json| facts.types.contains(type_of(value));
        if let Some(values) = facts.allowed_literals(self.graph) {
            return values.into_iter().filter(fits).take(most).cloned().collect();
        }
        let given = all.iter().flat_map(|s| s.examples.iter().chain(&s.default));
        let mut out: Vec<Json> = given.filter(fits).take(most / 2).cloned().collect();
        let left = self.effort.get();
        let (Some(deeper), Some(left)) = (depth.checked_sub(1), left.checked_sub(1)) else { return out };
        self.effort.set(left);
        if let Some(&holder) = facts.open_unions.first() {
            let schema = self.graph.schema(holder);
            let branches: Vec<SchemaId> = schema.one_of.iter().chain(&schema.any_of).copied().collect();
            let share = most.div_ceil(branches.len().max(1)).max(2).min(most);
            for branch in branches {
                out.extend(self.values_at(&conj.choose_branch(holder, branch), deeper, share));
            }
            self.add_stray_properties(&facts, most, &mut out);
            return out;
        }
        let types = facts.types;
        let has = |kind: TypeSet| !types.intersection(kind).is_empty();
        if has(TypeSet::OBJECT) {
            self.add_objects(&facts, &all, deeper, most, &mut out);
        }
        if has(TypeSet::ARRAY) {
            self.add_arrays(&all, deeper, most, &mut out);
        }
        if has(TypeSet::STRING) {
            out.extend(candidate_strings(&all).into_iter().map(Json::String));
        }
        if has(TypeSet::NUMBER) {
            add_numbers(&all, types.contains(TypeSet::NUMBER), &mut out);
        }
        if has(TypeSet::BOOLEAN) {
            out.extend([Json::Bool(true), Json::Bool(false)]);
        }
        if has(TypeSet::NULL) {
            out.push(Json::Null);
        }
        out
    }

    /// For each property that only some branches of a union declare, adds copies of a generated object with
    /// this property, with one value of each JSON type.
    fn add_stray_properties(&self, facts: &SchemaFacts, most: usize, out: &mut Vec<Json>) {
        let declared = facts.declared_properties(self.graph);
        let elsewhere = declared.iter().filter(|(_, always, _)| always.is_empty());
        let Some(object) = out.iter().find_map(Json::as_object).filter(|_| most > 8).cloned() else { return };
        for (name, ..) in elsewhere.filter(|(name, ..)| !object.contains_key(name)) {
            out.extend(one_of_each_type().into_iter().map(|value| {
                let mut with = object.clone();
                with.insert((*name).to_owned(), value);
                Json::Object(with)
            }));
        }
    }

    /// Returns up to `most` values of a part, such as a property or an element, that its schemas accept.
    fn part_values(&self, ids: &[SchemaId], depth: u8, most: usize) -> Vec<Json> {
        if ids.is_empty() {
            return vec![Json::Bool(true)];
        }
        let key: SampleKey = (ids.to_vec(), most);
        if let Some(values) = self.cache.0.borrow().get(&key) {
            return values.clone();
        }
        let conj = SchemaConjunction::from_schemas(ids.iter().copied());
        let tried = |most: usize| {
            let mut values = self.values_at(&conj, depth, most);
            values.retain(|value| ids.iter().all(|&id| (self.valid)(id, value)));
            values
        };
        let mut values = tried(most);
        if values.is_empty() && most < RETRY_VALUES {
            values = tried(RETRY_VALUES);
        }
        let values = select_distinct(values, most);
        if self.effort.get() > 0 && depth > 0 && self.is_plain(&conj) {
            self.cache.0.borrow_mut().insert(key, values.clone());
        }
        values
    }

    /// Returns true if the conjunction has no nested schemas. Only the values of such conjunctions are
    /// cached.
    fn is_plain(&self, conj: &SchemaConjunction) -> bool {
        let facts = SchemaFacts::from_conjunction(self.graph, conj, self.implied);
        facts.open_unions.is_empty()
            && facts.types.intersection(TypeSet::OBJECT.union(TypeSet::ARRAY)).is_empty()
    }

    fn add_objects(
        &self,
        facts: &SchemaFacts,
        all: &[&'g Schema],
        depth: u8,
        most: usize,
        out: &mut Vec<Json>,
    ) {
        let declared = facts.declared_properties(self.graph);
        let applicable = |name: &str| -> Vec<SchemaId> {
            match declared.iter().find(|(known, ..)| *known == name) {
                Some((_, always, sometimes)) => always.iter().chain(sometimes).copied().collect(),
                None => all.iter().filter_map(|s| s.additional_properties).collect(),
            }
        };
        let mut least = Map::new();
        for name in facts.required_names(self.graph) {
            if let Some(value) = self.part_values(&applicable(name), depth, 1).pop() {
                least.insert(name.to_owned(), value);
            }
        }
        out.push(Json::Object(least.clone()));
        if most == 1 {
            return;
        }
        let mut full = least.clone();
        for (name, always, _) in &declared {
            // Objects that differ in the value of one property are added, to cover special values such as
            // `null`.
            let values = self.part_values(&applicable(name), depth, 4);
            if let Some(value) = values.first()
                && !full.contains_key(name)
            {
                full.insert((*name).to_owned(), value.clone());
            }
            // If a property is declared only in a condition, it may have any value when the condition does
            // not hold.
            let odd = if always.is_empty() { one_of_each_type() } else { Vec::new() };
            for value in values.into_iter().take(4).chain(odd) {
                let mut with = least.clone();
                with.insert((*name).to_owned(), value);
                out.push(Json::Object(with));
            }
        }
        out.push(Json::Object(full));
        let others = all.iter().filter_map(|s| s.additional_properties);
        let others: Vec<SchemaId> =
            others.chain(all.iter().flat_map(|s| s.pattern_properties.iter().map(|(_, id)| *id))).collect();
        let names = all
            .iter()
            .flat_map(|s| &s.pattern_properties)
            .filter_map(|(pattern, _)| spell_pattern(pattern, 3, &EndChoice::First));
        for name in names.chain(["undeclared".to_owned()]) {
            for value in self.part_values(&others, depth, 3) {
                let mut with = least.clone();
                with.insert(name.clone(), value);
                out.push(Json::Object(with));
            }
        }
    }

    fn add_arrays(&self, all: &[&'g Schema], depth: u8, most: usize, out: &mut Vec<Json>) {
        let least = all.iter().filter_map(|s| s.min_items).max().unwrap_or(0);
        let greatest = all.iter().filter_map(|s| s.max_items).min();
        let prefix = all.iter().map(|s| s.prefix_items.len()).max().unwrap_or(0);
        let element = |at: usize| -> Vec<SchemaId> {
            all.iter().filter_map(|s| s.prefix_items.get(at).copied().or(s.items)).collect()
        };
        // The values are distinct, in case `uniqueItems` requires this.
        let rest = self.part_values(&element(prefix), depth, if most == 1 { 2 } else { 6 });
        let largest = rest.iter().map(value_count).max().unwrap_or(0);
        let lengths = [least, least.max(1), prefix as u64, prefix as u64 + 1, greatest.unwrap_or(2)];
        let lengths: BTreeSet<u64> = lengths
            .into_iter()
            .filter(|n| *n >= least && *n <= MAX_LENGTH.min(greatest.unwrap_or(MAX_LENGTH)))
            .filter(|n| n * largest <= MAX_WEIGHT)
            .collect();
        for length in lengths {
            let items = (0..usize::try_from(length).unwrap_or(0)).map(|at| match at.checked_sub(prefix) {
                None => self.part_values(&element(at), depth, 1).pop(),
                Some(after) => rest.get(after % rest.len().max(1)).cloned(),
            });
            if let Some(items) = items.collect::<Option<Vec<_>>>() {
                out.push(Json::Array(items));
            }
            if most == 1 {
                return;
            }
        }
        if greatest != Some(0) && least <= 1 && prefix == 0 {
            out.extend(rest.into_iter().map(|value| Json::Array(vec![value])));
        }
    }
}

/// Returns the number of values in a JSON value: the value itself and all nested values.
fn value_count(value: &Json) -> u64 {
    let within: u64 = match value {
        Json::Array(items) => items.iter().map(value_count).sum(),
        Json::Object(members) => members.values().map(value_count).sum(),
        _ => 0,
    };
    1 + within
}

/// Selects distinct values that cover as many JSON types as possible.
fn select_distinct(values: Vec<Json>, most: usize) -> Vec<Json> {
    let mut first: Vec<Json> = Vec::new();
    let mut rest: Vec<Json> = Vec::new();
    for value in values {
        let new = first.iter().all(|other| other.json_type() != value.json_type());
        if new {
            first.push(value);
        } else if rest.len() < most && !first.contains(&value) && !rest.contains(&value) {
            rest.push(value);
        }
    }
    first.into_iter().chain(rest).take(most).collect()
}

/// Returns one value of each JSON type, for properties without a schema.
fn one_of_each_type() -> Vec<Json> {
    let text = Json::String("odd".to_owned());
    let number = Json::Number(Number::from_decimal(15, 1));
    vec![text, number, Json::Bool(true), Json::Null, Json::Array(Vec::new()), Json::Object(Map::new())]
}

fn add_numbers(all: &[&Schema], fractions: bool, out: &mut Vec<Json>) {
    let bounds = all.iter().flat_map(|s| {
        [&s.minimum, &s.maximum, &s.exclusive_minimum, &s.exclusive_maximum, &s.multiple_of]
            .into_iter()
            .flatten()
    });
    let mut numbers: Vec<Number> = Vec::new();
    for bound in bounds {
        if let Some(whole) = bound.as_i64() {
            numbers.extend([whole, whole.saturating_add(1), whole.saturating_sub(1)].map(Number::from_i64));
        }
        numbers.push(bound.clone());
    }
    numbers.extend([0, 1, -1, 7, 1000].map(Number::from_i64));
    if fractions {
        numbers.extend([Number::from_decimal(5, 1), Number::from_decimal(-125, 2)]);
    } else {
        // `1.0` is a valid integer as well, in decimal notation.
        numbers.push(Number::from_literal("1.0"));
    }
    let format = |name: &str| all.iter().any(|s| s.format.as_deref() == Some(name));
    // Some tools write the 64-bit maximum as the out-of-range `9223372036854776000`; the format takes
    // precedence.
    if format("int32") {
        numbers.retain(|n| *n >= Number::from(i32::MIN) && *n <= Number::from(i32::MAX));
    } else if format("uint32") {
        numbers.retain(|n| *n >= Number::from(0) && *n <= Number::from(u32::MAX));
    } else if format("int64") {
        numbers.retain(Number::is_within_i64);
    } else if format("uint64") {
        numbers.retain(Number::is_within_u64);
    }
    out.extend(numbers.into_iter().map(Json::Number));
}

fn candidate_strings(all: &[&Schema]) -> Vec<String> {
    let least = all.iter().filter_map(|s| s.min_length).max().unwrap_or(0);
    let greatest = all.iter().filter_map(|s| s.max_length).min();
    let formats = all.iter().filter_map(|s| match s.format.as_deref()? {
        "date-time" => Some("2024-05-06T07:08:09Z"),
        "date" => Some("2024-05-06"),
        "time" => Some("07:08:09Z"),
        "uri" | "iri" | "uri-reference" | "url" => Some("https://example.org/"),
        "uuid" => Some("00000000-0000-4000-8000-000000000000"),
        "email" => Some("a@example.org"),
        _ => None,
    });
    let asserted = all.iter().filter_map(|s| s.asserted.map(StringFormat::example));
    let mut out: Vec<String> = formats.chain(asserted).map(str::to_owned).collect();
    let lengths: BTreeSet<u64> = [least, greatest.unwrap_or(least), least.max(1), 8]
        .into_iter()
        .filter(|n| *n >= least && *n <= MAX_LENGTH.min(greatest.unwrap_or(MAX_LENGTH)))
        .collect();
    let pattern = all.iter().find_map(|s| s.pattern.as_deref());
    let pattern = pattern.map(|pattern| regex_syntax::parse(pattern).ok());
    for length in lengths {
        match &pattern {
            // The length is the number of code points, not of bytes.
            None => {
                let count = usize::try_from(length).unwrap_or(0);
                out.extend(["a", "ä"].map(|letter| letter.repeat(count)));
            }
            // The pattern may contain literals next to a repetition, so repetitions with slightly smaller
            // counts are tried.
            Some(Some(pattern)) => {
                let counts = || length.saturating_sub(4)..=length;
                out.extend(counts().filter_map(|count| spell_hir(pattern, count, &EndChoice::First)));
                out.extend(counts().filter_map(|count| spell_hir(pattern, count, &EndChoice::Last)));
            }
            Some(None) => {}
        }
    }
    let mut seen = BTreeSet::new();
    out.retain(|text| {
        let count = text.chars().count() as u64;
        count >= least && greatest.is_none_or(|most| count <= most) && seen.insert(text.clone())
    });
    out
}

/// Returns a string that matches a regular expression, with repetitions near `count`.
fn spell_pattern(pattern: &str, count: u64, choice: &dyn PatternChoice) -> Option<String> {
    spell_hir(&regex_syntax::parse(pattern).ok()?, count, choice)
}

/// Returns a string that matches a parsed pattern. Repetitions occur as close to `count` times as the pattern
/// allows. The string is cut off at the limits for work and length.
fn spell_hir(pattern: &Hir, count: u64, choice: &dyn PatternChoice) -> Option<String> {
    let count = u32::try_from(count).ok()?;
    let mut speller = PatternSpeller { count, choice, remaining_parts: MAX_PLACES, text: String::new() };
    // The result is not checked: if the string was cut off at a limit, the caller's validation rejects it.
    let _ = speller.write_part(pattern);
    Some(speller.text)
}

/// A policy for selecting characters and branches of a pattern.
trait PatternChoice {
    /// Selects a character from the ranges of a class.
    fn choose_char(&self, ranges: &[(char, char)]) -> Option<char>;

    /// Selects the index of one of `branches` alternatives.
    fn choose_branch(&self, branches: usize) -> usize;
}

/// A policy that selects the first or the last option.
#[derive(Clone, Copy)]
enum EndChoice {
    First,
    Last,
}

/// A builder for a string that matches a pattern.
struct PatternSpeller<'c> {
    count: u32,
    choice: &'c dyn PatternChoice,
    /// The number of pattern parts that may still be written. The limit is necessary because nested
    /// repetitions multiply, even those of an empty string.
    remaining_parts: u32,
    text: String,
}

impl PatternSpeller<'_> {
    /// Appends a string that matches one part of the pattern. Returns `None` if a limit is reached.
    fn write_part(&mut self, hir: &Hir) -> Option<()> {
        self.remaining_parts = self.remaining_parts.checked_sub(1)?;
        match hir.kind() {
            HirKind::Literal(literal) => self.text.push_str(&String::from_utf8_lossy(&literal.0)),
            HirKind::Class(Class::Unicode(class)) => {
                let ranges: Vec<(char, char)> = class.ranges().iter().map(|r| (r.start(), r.end())).collect();
                self.text.extend(self.choice.choose_char(&ranges));
            }
            HirKind::Class(Class::Bytes(class)) => {
                self.text.extend(class.ranges().first().map(|r| char::from(r.start())));
            }
            HirKind::Repetition(repetition) => {
                let times = self.count.max(repetition.min);
                let times = repetition.max.map_or(times, |most| times.min(most));
                (0..times).try_for_each(|_| self.write_part(&repetition.sub))?;
            }
            HirKind::Capture(capture) => self.write_part(&capture.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.write_part(part))?,
            HirKind::Alternation(parts) => {
                let part = parts.get(self.choice.choose_branch(parts.len()));
                part.map_or(Some(()), |part| self.write_part(part))?;
            }
            HirKind::Empty | HirKind::Look(_) => {}
        }
        (self.text.len() as u64 <= 4 * MAX_LENGTH).then_some(())
    }
}

impl PatternChoice for EndChoice {
    /// Selects a printable ASCII character if the class contains one.
    fn choose_char(&self, ranges: &[(char, char)]) -> Option<char> {
        if let Self::Last = self {
            let last = ranges.iter().rev().find(|(_, last)| last.is_ascii_graphic());
            return last.or(ranges.last()).map(|(_, last)| *last);
        }
        if ranges.iter().any(|(first, last)| (*first..=*last).contains(&'a')) {
            return Some('a');
        }
        let first = ranges.iter().find(|(first, _)| first.is_ascii_graphic());
        first.or(ranges.first()).map(|(first, _)| *first)
    }

    fn choose_branch(&self, branches: usize) -> usize {
        match self {
            Self::First => 0,
            Self::Last => branches.saturating_sub(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Selecting 4 distinct values from 200,000 large objects and `null` returns `null` and the first three
    /// distinct objects, without comparing all pairs.
    #[test]
    fn large_samples_avoid_pairwise_comparison() {
        let object = |value: i64| -> Json {
            let members = (0..20).map(|name| (format!("member{name}"), Json::from(value)));
            Json::Object(members.collect())
        };
        let mut values: Vec<Json> = (0..200_000).map(object).collect();
        values.insert(1, object(0));
        values.push(Json::Null);
        assert_eq!(select_distinct(values, 4), [object(0), Json::Null, object(1), object(2)]);
    }

    /// A string for a pattern that requires too many characters or repetitions is cut off at the limit.
    #[test]
    fn spelled_patterns_have_a_length_limit() {
        for pattern in
            ["^x{4294967295}$", r"(?:[^\s\S]{4000000000}){4000000000}", "(?:(?:){3000000000}){3000000000}"]
        {
            for choice in [EndChoice::First, EndChoice::Last] {
                let text = spell_pattern(pattern, 8, &choice);
                assert!(text.is_none_or(|text| text.len() as u64 <= 4 * MAX_LENGTH + 4), "{pattern}");
            }
        }
        assert_eq!(spell_pattern("^a{3}(?:b|c){2,9}$", 8, &EndChoice::Last).as_deref(), Some("aaacccccccc"));
    }
}
