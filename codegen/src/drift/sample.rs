//! Values that a schema probably accepts; whether it does is checked by `proof`.

use contract_runtime::{Json, Map, Number};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::flat::Flat;
use crate::schema::{Graph, SchemaId, Types};

/// How deep a value may nest; recursive schemas end there.
const DEPTH: u8 = 6;
/// Values per schema.
const MOST: usize = 48;
/// Longer lists and texts prove nothing more, and nobody reads them.
const LONGEST: u64 = 300;

/// Values at the edges of what the schemas say together: least, most, every branch.
pub(super) fn samples(graph: &Graph, ids: &[SchemaId]) -> Vec<Json> {
    let mut values = variants(graph, ids, &[], DEPTH, MOST);
    values.truncate(MOST);
    values
}

/// As [`samples`], with the branch of one union already among `ids`.
pub(super) fn samples_of(graph: &Graph, ids: &[SchemaId], chosen: SchemaId) -> Vec<Json> {
    let mut values = variants(graph, ids, &[chosen], DEPTH, MOST);
    values.truncate(MOST);
    values
}

fn variants(graph: &Graph, ids: &[SchemaId], chosen: &[SchemaId], depth: u8, most: usize) -> Vec<Json> {
    let flat = Flat::of(graph, ids);
    if let Some(values) = flat.values() {
        return values.into_iter().take(most).cloned().collect();
    }
    let mut out: Vec<Json> =
        flat.schemas().flat_map(|schema| schema.examples.iter().cloned()).take(most).collect();
    if depth == 0 {
        return out;
    }
    if let Some(union) = flat.unions().into_iter().find(|union| !chosen.contains(&union.holder)) {
        let chosen = [chosen, &[union.holder]].concat();
        for branch in union.branches {
            if out.len() >= most {
                break;
            }
            let ids = [ids, &[*branch]].concat();
            out.extend(variants(graph, &ids, &chosen, depth - 1, most.div_ceil(2)));
        }
        return out;
    }
    let types = flat.types();
    if types.contains(Types::OBJECT) {
        objects(&flat, depth, most, &mut out);
    }
    if types.contains(Types::ARRAY) {
        arrays(&flat, depth, most, &mut out);
    }
    if types.contains(Types::STRING) {
        out.extend(strings(&flat).into_iter().map(Json::String));
    }
    if types.contains(Types::INTEGER) {
        numbers(&flat, types.contains(Types::NUMBER), &mut out);
    }
    if types.contains(Types::BOOLEAN) {
        out.extend([Json::Bool(false), Json::Bool(true)]);
    }
    if types.contains(Types::NULL) {
        out.push(Json::Null);
    }
    out
}

fn one(graph: &Graph, ids: &[SchemaId], depth: u8) -> Option<Json> {
    if ids.is_empty() {
        return Some(Json::Bool(true));
    }
    variants(graph, ids, &[], depth.checked_sub(1)?, 1).into_iter().next()
}

fn objects(flat: &Flat<'_>, depth: u8, most: usize, out: &mut Vec<Json>) {
    let build = |names: &[&str]| {
        let mut object = Map::new();
        for name in names {
            if let Some(value) = one(flat.graph, &flat.applicable(name), depth) {
                object.insert((*name).to_owned(), value);
            }
        }
        object
    };
    let mut required: Vec<&str> = Vec::new();
    for name in flat.schemas().flat_map(|schema| &schema.required) {
        if !required.contains(&name.as_str()) {
            required.push(name);
        }
    }
    let least = build(&required);
    out.push(Json::Object(least.clone()));
    if most == 1 {
        return;
    }
    if !flat.closed() {
        let mut more = least.clone();
        let other = one(flat.graph, &flat.applicable("undeclared"), depth).unwrap_or(Json::Null);
        more.insert("undeclared".to_owned(), other);
        out.push(Json::Object(more));
    }
    let declared = flat.declared();
    for name in declared.iter().filter(|name| !required.contains(name)) {
        let mut more = least.clone();
        if let Some(value) = one(flat.graph, &flat.applicable(name), depth) {
            more.insert((*name).to_owned(), value);
            out.push(Json::Object(more));
        }
    }
    out.push(Json::Object(build(&[required.as_slice(), declared.as_slice()].concat())));
}

fn arrays(flat: &Flat<'_>, depth: u8, most: usize, out: &mut Vec<Json>) {
    let least = flat.least(|schema| schema.min_items).unwrap_or(0);
    let greatest = flat.most(|schema| schema.max_items);
    let lengths = [Some(least), Some(least.max(1)), Some(least.max(2)), greatest];
    let mut done = Vec::new();
    for length in lengths.into_iter().flatten().filter(|length| *length <= 20) {
        if done.contains(&length) || greatest.is_some_and(|most| length > most) {
            continue;
        }
        done.push(length);
        let element = |at: u64| one(flat.graph, &flat.element(usize::try_from(at).ok()), depth);
        if let Some(items) = (0..length).map(element).collect::<Option<Vec<_>>>() {
            out.push(Json::Array(items));
        }
        if most == 1 {
            return;
        }
    }
}

fn numbers(flat: &Flat<'_>, fractions: bool, out: &mut Vec<Json>) {
    let texts = flat.schemas().flat_map(|schema| {
        [
            &schema.minimum,
            &schema.maximum,
            &schema.exclusive_minimum,
            &schema.exclusive_maximum,
            &schema.multiple_of,
        ]
    });
    let bounds: Vec<Number> = texts.flatten().cloned().collect();
    let mut all = Vec::new();
    for bound in &bounds {
        if let Some(whole) = bound.as_i64() {
            all.extend([whole, whole.saturating_add(1), whole.saturating_sub(1)].map(Number::int));
        }
        all.push(bound.clone());
    }
    all.extend([0, 1, -1, 1000].map(Number::int));
    if fractions {
        all.extend([Number::decimal(5, 1), Number::decimal(-5, 1)]);
    }
    let low = flat.lower();
    let high = flat.upper();
    all.retain(|number| {
        low.is_none_or(|bound| number > bound.value || (!bound.exclusive && number == bound.value))
            && high.is_none_or(|bound| number < bound.value || (!bound.exclusive && number == bound.value))
            && (fractions || number.is_integer())
    });
    out.extend(all.into_iter().map(Json::Number));
}

fn strings(flat: &Flat<'_>) -> Vec<String> {
    let least = flat.least(|schema| schema.min_length).unwrap_or(0);
    let greatest = flat.most(|schema| schema.max_length);
    let fits = |text: &String| {
        let count = text.chars().count() as u64;
        count >= least && greatest.is_none_or(|most| count <= most)
    };
    let formats = flat.texts(|schema| schema.format.as_ref());
    let formed = match formats.first() {
        Some(&"date-time") => Some("2024-05-06T07:08:09Z"),
        Some(&"date") => Some("2024-05-06"),
        Some(&("uri" | "iri" | "uri-reference")) => Some("https://example.org/"),
        Some(&"uuid") => Some("00000000-0000-4000-8000-000000000000"),
        Some(&"email") => Some("a@example.org"),
        _ => None,
    };
    let mut out: Vec<String> = formed.map(str::to_owned).into_iter().collect();
    let lengths = [Some(least), greatest, Some(least.max(1)), Some(0), Some(3), Some(12)];
    let lengths = lengths.into_iter().flatten().filter(|length| *length <= LONGEST);
    let patterns = flat.texts(|schema| schema.pattern.as_ref());
    for length in lengths {
        match patterns.first() {
            None => out.push("a".repeat(usize::try_from(length).unwrap_or(0))),
            Some(pattern) => {
                let Ok(hir) = regex_syntax::parse(pattern) else { continue };
                // A repetition alone reaches the length only by what is left beside it.
                for count in length.saturating_sub(4)..=length {
                    for end in [End::First, End::Last] {
                        let mut text = String::new();
                        spell(&hir, u32::try_from(count).unwrap_or(0), end, &mut text);
                        out.push(text);
                    }
                }
            }
        }
    }
    out.retain(fits);
    let mut seen = Vec::new();
    out.retain(|text| {
        !seen.contains(text) && {
            seen.push(text.clone());
            true
        }
    });
    out
}

/// Which of several characters or branches to take.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// A text that a pattern matches; repetitions run as near to `count` times as they may.
fn spell(hir: &Hir, count: u32, end: End, text: &mut String) {
    // Repetitions within repetitions multiply.
    if text.len() as u64 > 4 * LONGEST {
        return;
    }
    match hir.kind() {
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => {
            let ranges: Vec<(char, char)> = match class {
                Class::Unicode(class) => {
                    class.ranges().iter().map(|range| (range.start(), range.end())).collect()
                }
                Class::Bytes(class) => class
                    .ranges()
                    .iter()
                    .map(|range| (char::from(range.start()), char::from(range.end())))
                    .collect(),
            };
            text.extend(letter(&ranges, end));
        }
        HirKind::Repetition(repetition) => {
            let times = count.max(repetition.min);
            let times = repetition.max.map_or(times, |most| times.min(most));
            for _ in 0..times {
                spell(&repetition.sub, count, end, text);
            }
        }
        HirKind::Capture(capture) => spell(&capture.sub, count, end, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| spell(part, count, end, text)),
        HirKind::Alternation(parts) => {
            let part = match end {
                End::First => parts.first(),
                End::Last => parts.last(),
            };
            if let Some(part) = part {
                spell(part, count, end, text);
            }
        }
        HirKind::Empty | HirKind::Look(_) => {}
    }
}

/// A character of a class, one that can be read where there is one.
fn letter(ranges: &[(char, char)], end: End) -> Option<char> {
    if let End::Last = end {
        let last = ranges.iter().rev().find(|(_, last)| last.is_ascii_graphic());
        return last.or(ranges.last()).map(|(_, last)| *last);
    }
    if ranges.iter().any(|(first, last)| (*first..=*last).contains(&'a')) {
        return Some('a');
    }
    let first = ranges.iter().find(|(first, _)| first.is_ascii_graphic());
    first.or(ranges.first()).map(|(first, _)| *first)
}
