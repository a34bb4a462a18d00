//! Values that a place probably accepts, made from what its schemas say; always the same ones.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap},
};

use contract_runtime::{Json, Map, Number, format::Format};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::{Conj, Facts, type_of};
use crate::schema::{Graph, Schema, SchemaId, Types};

#[cfg(feature = "mock")]
pub(crate) mod draw;

/// How deep a value may nest; recursive schemas end there.
const DEPTH: u8 = 7;
/// Values for one place, without those that only probe.
const MOST: usize = 64;
/// Values of a part that are tried before it counts as impossible.
const FEW: usize = 8;
/// Places that are looked at before it is enough: members of members of members multiply.
const EFFORT: u32 = 20_000;
/// Longer texts and lists show nothing more.
const LONGEST: u64 = 200;
/// Values within values of a list, since lists of lists of lists multiply.
const LARGEST: u64 = 100_000;

/// Values at the edges of what a place allows: least, most, every branch, every member.
///
/// `valid` judges parts, so that one that went wrong does not spoil the whole. `known` is what was found
/// before, of the same graph by the same judge.
pub(crate) fn values(
    graph: &Graph,
    conj: &Conj,
    implied: bool,
    effort: Effort,
    valid: &dyn Fn(SchemaId, &Json) -> bool,
    known: &Known,
) -> Vec<Json> {
    let (most, effort) = match effort {
        Effort::Thorough => (MOST, EFFORT),
        Effort::Quick => (MOST / 5, EFFORT / 100),
        Effort::Within(places) => (MOST / 5, places.min(EFFORT)),
    };
    let mut all =
        Sampler { graph, implied, valid, known, effort: Cell::new(effort) }.place(conj, DEPTH, most);
    all.truncate(2 * most);
    all
}

/// How much is tried.
#[derive(Clone, Copy)]
pub(crate) enum Effort {
    /// All that shows something.
    Thorough,
    /// A few values, soon.
    Quick,
    /// A few values, found among so many places.
    Within(u32),
}

/// Values of parts that hold no others, by their schemas and how many were asked for: most members are
/// such, and each stands in whatever leads to it.
#[derive(Debug, Default)]
pub(crate) struct Known(RefCell<HashMap<Asked, Vec<Json>>>);

type Asked = (Vec<SchemaId>, usize);

struct Sampler<'g> {
    graph: &'g Graph,
    implied: bool,
    valid: &'g dyn Fn(SchemaId, &Json) -> bool,
    known: &'g Known,
    effort: Cell<u32>,
}

impl<'g> Sampler<'g> {
    fn place(&self, conj: &Conj, depth: u8, most: usize) -> Vec<Json> {
        let facts = Facts::of(self.graph, conj, self.implied);
        let all: Vec<&Schema> = facts.members.iter().map(|&id| self.graph.schema(id)).collect();
        let fits = |value: &&Json| facts.types.contains(type_of(value));
        if let Some(values) = facts.literals(self.graph) {
            return values.into_iter().filter(fits).take(most).cloned().collect();
        }
        let given = all.iter().flat_map(|s| s.examples.iter().chain(&s.default));
        let mut out: Vec<Json> = given.filter(fits).take(most / 2).cloned().collect();
        let left = self.effort.get();
        let (Some(deeper), Some(left)) = (depth.checked_sub(1), left.checked_sub(1)) else { return out };
        self.effort.set(left);
        if let Some(&holder) = facts.holders.first() {
            let schema = self.graph.schema(holder);
            let branches: Vec<SchemaId> = schema.one_of.iter().chain(&schema.any_of).copied().collect();
            let share = most.div_ceil(branches.len().max(1)).max(2).min(most);
            for branch in branches {
                out.extend(self.place(&conj.choose(holder, branch), deeper, share));
            }
            self.strays(&facts, most, &mut out);
            return out;
        }
        let types = facts.types;
        let has = |kind: Types| !types.and(kind).is_empty();
        if has(Types::OBJECT) {
            self.objects(&facts, &all, deeper, most, &mut out);
        }
        if has(Types::ARRAY) {
            self.arrays(&all, deeper, most, &mut out);
        }
        if has(Types::STRING) {
            out.extend(strings(&all).into_iter().map(Json::String));
        }
        if has(Types::NUMBER) {
            numbers(&all, types.contains(Types::NUMBER), &mut out);
        }
        if has(Types::BOOLEAN) {
            out.extend([Json::Bool(true), Json::Bool(false)]);
        }
        if has(Types::NULL) {
            out.push(Json::Null);
        }
        out
    }

    /// Objects of one branch with a member that only another one declares: it may be anything.
    fn strays(&self, facts: &Facts, most: usize, out: &mut Vec<Json>) {
        let declared = facts.declared(self.graph);
        let elsewhere = declared.iter().filter(|(_, always, _)| always.is_empty());
        let Some(object) = out.iter().find_map(Json::as_object).filter(|_| most > 8).cloned() else { return };
        for (name, ..) in elsewhere.filter(|(name, ..)| !object.contains_key(name)) {
            out.extend(odd().into_iter().map(|value| {
                let mut with = object.clone();
                with.insert((*name).to_owned(), value);
                Json::Object(with)
            }));
        }
    }

    /// One or a few values of a part.
    fn part(&self, ids: &[SchemaId], depth: u8, most: usize) -> Vec<Json> {
        if ids.is_empty() {
            return vec![Json::Bool(true)];
        }
        let asked: Asked = (ids.to_vec(), most);
        if let Some(values) = self.known.0.borrow().get(&asked) {
            return values.clone();
        }
        let conj = Conj::all(ids.iter().copied());
        let tried = |most: usize| {
            let mut values = self.place(&conj, depth, most);
            values.retain(|value| ids.iter().all(|&id| (self.valid)(id, value)));
            values
        };
        let mut values = tried(most);
        if values.is_empty() && most < FEW {
            values = tried(FEW);
        }
        let values = spread(values, most);
        if self.effort.get() > 0 && depth > 0 && self.is_plain(&conj) {
            self.known.0.borrow_mut().insert(asked, values.clone());
        }
        values
    }

    /// Whether no other place stands in this one.
    fn is_plain(&self, conj: &Conj) -> bool {
        let facts = Facts::of(self.graph, conj, self.implied);
        facts.holders.is_empty() && facts.types.and(Types::OBJECT.or(Types::ARRAY)).is_empty()
    }

    fn objects(&self, facts: &Facts, all: &[&'g Schema], depth: u8, most: usize, out: &mut Vec<Json>) {
        let declared = facts.declared(self.graph);
        let applicable = |name: &str| -> Vec<SchemaId> {
            match declared.iter().find(|(known, ..)| *known == name) {
                Some((_, always, sometimes)) => always.iter().chain(sometimes).copied().collect(),
                None => all.iter().filter_map(|s| s.additional_properties).collect(),
            }
        };
        let mut least = Map::new();
        for name in facts.required(self.graph) {
            if let Some(value) = self.part(&applicable(name), depth, 1).pop() {
                least.insert(name.to_owned(), value);
            }
        }
        out.push(Json::Object(least.clone()));
        if most == 1 {
            return;
        }
        let mut full = least.clone();
        for (name, always, _) in &declared {
            // Every member alone, with more than one value: `null` and the like hide there.
            let values = self.part(&applicable(name), depth, 4);
            if let Some(value) = values.first()
                && !full.contains_key(name)
            {
                full.insert((*name).to_owned(), value.clone());
            }
            // Where only a condition declares a member, it may be anything when that does not hold.
            let odd = if always.is_empty() { odd() } else { Vec::new() };
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
            .filter_map(|(pattern, _)| text_of(pattern, 3, &End::First));
        for name in names.chain(["undeclared".to_owned()]) {
            for value in self.part(&others, depth, 3) {
                let mut with = least.clone();
                with.insert(name.clone(), value);
                out.push(Json::Object(with));
            }
        }
    }

    fn arrays(&self, all: &[&'g Schema], depth: u8, most: usize, out: &mut Vec<Json>) {
        let least = all.iter().filter_map(|s| s.min_items).max().unwrap_or(0);
        let greatest = all.iter().filter_map(|s| s.max_items).min();
        let prefix = all.iter().map(|s| s.prefix_items.len()).max().unwrap_or(0);
        let element = |at: usize| -> Vec<SchemaId> {
            all.iter().filter_map(|s| s.prefix_items.get(at).copied().or(s.items)).collect()
        };
        // Distinct ones where `uniqueItems` asks for them.
        let rest = self.part(&element(prefix), depth, if most == 1 { 2 } else { 6 });
        let largest = rest.iter().map(weight).max().unwrap_or(0);
        let lengths = [least, least.max(1), prefix as u64, prefix as u64 + 1, greatest.unwrap_or(2)];
        let lengths: BTreeSet<u64> = lengths
            .into_iter()
            .filter(|n| *n >= least && *n <= LONGEST.min(greatest.unwrap_or(LONGEST)))
            .filter(|n| n * largest <= LARGEST)
            .collect();
        for length in lengths {
            let items = (0..usize::try_from(length).unwrap_or(0)).map(|at| match at.checked_sub(prefix) {
                None => self.part(&element(at), depth, 1).pop(),
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

/// How many values a value is.
fn weight(value: &Json) -> u64 {
    let within: u64 = match value {
        Json::Array(items) => items.iter().map(weight).sum(),
        Json::Object(members) => members.values().map(weight).sum(),
        _ => 0,
    };
    1 + within
}

/// A few distinct values, of as many JSON types as there are.
fn spread(values: Vec<Json>, most: usize) -> Vec<Json> {
    let mut first: Vec<Json> = Vec::new();
    let mut rest: Vec<Json> = Vec::new();
    for value in values {
        let new = first.iter().all(|other| other.kind() != value.kind());
        if new {
            first.push(value);
        } else if rest.len() < most && !first.contains(&value) && !rest.contains(&value) {
            rest.push(value);
        }
    }
    first.into_iter().chain(rest).take(most).collect()
}

/// One value of each JSON type.
fn odd() -> Vec<Json> {
    let text = Json::String("odd".to_owned());
    let number = Json::Number(Number::decimal(15, 1));
    vec![text, number, Json::Bool(true), Json::Null, Json::Array(Vec::new()), Json::Object(Map::new())]
}

fn numbers(all: &[&Schema], fractions: bool, out: &mut Vec<Json>) {
    let bounds = all.iter().flat_map(|s| {
        [&s.minimum, &s.maximum, &s.exclusive_minimum, &s.exclusive_maximum, &s.multiple_of]
            .into_iter()
            .flatten()
    });
    let mut numbers: Vec<Number> = Vec::new();
    for bound in bounds {
        if let Some(whole) = bound.as_i64() {
            numbers.extend([whole, whole.saturating_add(1), whole.saturating_sub(1)].map(Number::int));
        }
        numbers.push(bound.clone());
    }
    numbers.extend([0, 1, -1, 7, 1000].map(Number::int));
    if fractions {
        numbers.extend([Number::decimal(5, 1), Number::decimal(-125, 2)]);
    } else {
        // A whole number however it is written.
        numbers.push(Number::literal("1.0"));
    }
    let format = |name: &str| all.iter().any(|s| s.format.as_deref() == Some(name));
    // Tools round the greatest of 64 bits up to `9223372036854776000`: what the format says counts.
    if format("int64") || format("int32") {
        numbers.retain(Number::is_within_i64);
    } else if format("uint64") {
        numbers.retain(Number::is_within_u64);
    }
    out.extend(numbers.into_iter().map(Json::Number));
}

fn strings(all: &[&Schema]) -> Vec<String> {
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
    let asserted = all.iter().filter_map(|s| s.asserted.map(Format::example));
    let mut out: Vec<String> = formats.chain(asserted).map(str::to_owned).collect();
    let lengths: BTreeSet<u64> = [least, greatest.unwrap_or(least), least.max(1), 8]
        .into_iter()
        .filter(|n| *n >= least && *n <= LONGEST.min(greatest.unwrap_or(LONGEST)))
        .collect();
    let pattern = all.iter().find_map(|s| s.pattern.as_deref());
    let pattern = pattern.map(|pattern| regex_syntax::parse(pattern).ok());
    for length in lengths {
        match &pattern {
            // Counted in code points, not in bytes.
            None => {
                let count = usize::try_from(length).unwrap_or(0);
                out.extend(["a", "ä"].map(|letter| letter.repeat(count)));
            }
            // What stands beside a repetition takes part of the length.
            Some(Some(pattern)) => {
                let counts = || length.saturating_sub(4)..=length;
                out.extend(counts().filter_map(|count| spelled(pattern, count, &End::First)));
                out.extend(counts().filter_map(|count| spelled(pattern, count, &End::Last)));
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

/// A text for a pattern as it is written.
fn text_of(pattern: &str, count: u64, choice: &dyn Choice) -> Option<String> {
    spelled(&regex_syntax::parse(pattern).ok()?, count, choice)
}

/// A text for a pattern; repetitions run as near to `count` times as they may. What takes too long, or grows
/// too long, is left off.
fn spelled(pattern: &Hir, count: u64, choice: &dyn Choice) -> Option<String> {
    let count = u32::try_from(count).ok()?;
    let mut speller = Speller { count, choice, left: EFFORT, text: String::new() };
    // As far as it came: whoever asked judges it.
    let _ = speller.spell(pattern);
    Some(speller.text)
}

/// Which of several characters or branches to take.
trait Choice {
    /// A character of a class.
    fn letter(&self, ranges: &[(char, char)]) -> Option<char>;

    /// One of so many branches.
    fn branch(&self, branches: usize) -> usize;
}

/// The first or the last of them.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// Writes a text for a pattern.
struct Speller<'c> {
    count: u32,
    choice: &'c dyn Choice,
    /// Parts of the pattern that may still be written: repetitions within repetitions multiply, also those
    /// of nothing.
    left: u32,
    text: String,
}

impl Speller<'_> {
    /// Writes a part; `None` when it is enough.
    fn spell(&mut self, hir: &Hir) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        match hir.kind() {
            HirKind::Literal(literal) => self.text.push_str(&String::from_utf8_lossy(&literal.0)),
            HirKind::Class(Class::Unicode(class)) => {
                let ranges: Vec<(char, char)> = class.ranges().iter().map(|r| (r.start(), r.end())).collect();
                self.text.extend(self.choice.letter(&ranges));
            }
            HirKind::Class(Class::Bytes(class)) => {
                self.text.extend(class.ranges().first().map(|r| char::from(r.start())));
            }
            HirKind::Repetition(repetition) => {
                let times = self.count.max(repetition.min);
                let times = repetition.max.map_or(times, |most| times.min(most));
                (0..times).try_for_each(|_| self.spell(&repetition.sub))?;
            }
            HirKind::Capture(capture) => self.spell(&capture.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.spell(part))?,
            HirKind::Alternation(parts) => {
                let part = parts.get(self.choice.branch(parts.len()));
                part.map_or(Some(()), |part| self.spell(part))?;
            }
            HirKind::Empty | HirKind::Look(_) => {}
        }
        (self.text.len() as u64 <= 4 * LONGEST).then_some(())
    }
}

impl Choice for End {
    /// One that can be read where there is one.
    fn letter(&self, ranges: &[(char, char)]) -> Option<char> {
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

    fn branch(&self, branches: usize) -> usize {
        match self {
            Self::First => 0,
            Self::Last => branches.saturating_sub(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A union of many large objects gives tens of thousands of values for the few that are wanted: compared
    /// with one another they would take minutes.
    #[test]
    fn a_few_of_many_values_are_chosen_without_comparing_all() {
        let object = |at: i64| -> Json {
            let members = (0..20).map(|name| (format!("member{name}"), Json::from(at)));
            Json::Object(members.collect())
        };
        let mut values: Vec<Json> = (0..200_000).map(object).collect();
        values.insert(1, object(0));
        values.push(Json::Null);
        assert_eq!(spread(values, 4), [object(0), Json::Null, object(1), object(2)]);
    }

    /// A pattern may ask for more than anybody can write, and for nothing again and again.
    #[test]
    fn no_pattern_is_spelled_without_an_end() {
        for pattern in
            ["^x{4294967295}$", r"(?:[^\s\S]{4000000000}){4000000000}", "(?:(?:){3000000000}){3000000000}"]
        {
            for choice in [End::First, End::Last] {
                let text = text_of(pattern, 8, &choice);
                assert!(text.is_none_or(|text| text.len() as u64 <= 4 * LONGEST + 4), "{pattern}");
            }
        }
        assert_eq!(text_of("^a{3}(?:b|c){2,9}$", 8, &End::Last).as_deref(), Some("aaacccccccc"));
    }
}
