//! Documents to ask others about: valid ones, and such as break one rule and no other. Which rule
//! that is, is what the contract's own tables say of the document.

use std::{collections::BTreeSet, sync::Arc};

use contract_runtime::{Json, Map, Number};

use crate::{
    reading::Reading,
    schema::{
        Origin, Schema, SchemaId,
        keywords::{Keyword, Value as Held},
    },
    tables::TableSet,
    together::{
        Conj, Facts,
        sample::{self, Effort, Known},
    },
    tree::join,
};

/// Documents that are changed at all their places.
const BASES: usize = 12;
/// Changed documents that are judged for one schema.
const MOST: usize = 1_500;
/// Places of a document that are changed: branches of unions in each other are many.
const MOST_PLACES: usize = 1_000;
/// Levels of a document that are changed.
const DEPTH: u8 = 5;
/// Longer texts and lists are not made.
const LONGEST: u64 = 2_000;

/// A document, and what is asked by it.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) value: Json,
    pub(super) asks: Asks,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// Whether a valid document is read.
    Valid,
    /// Whether a rule is checked that this document breaks, and no other: keyword, location.
    Rule(&'static str, Arc<str>),
    /// Whether a `format` is checked, which says what a text means.
    Format(SchemaId),
    /// Whether a default is filled in at a pointer.
    Default(SchemaId, String),
}

/// A place of a document, with what the contract says there.
struct Spot<'a> {
    pointer: String,
    value: &'a Json,
    members: Vec<SchemaId>,
}

/// Everything to ask about one schema.
pub(super) fn probes(contract: &Reading, tables: &TableSet<'_>, id: SchemaId, effort: Effort) -> Vec<Probe> {
    let part = |id: SchemaId, value: &Json| tables.is_valid(id, value);
    let implied = contract.options.implied_objects;
    let mut bases =
        sample::values(&contract.graph, &Conj::one(id), implied, effort, &part, &Known::default());
    bases.retain(|value| tables.is_valid(id, value));
    // The same document may ask two things.
    let mut known: BTreeSet<(String, bool)> = BTreeSet::new();
    bases.retain(|value| known.insert((value.to_string(), false)));
    let mut out: Vec<Probe> =
        bases.iter().map(|value| Probe { value: value.clone(), asks: Asks::Valid }).collect();
    // The largest have the most places.
    bases.sort_by_key(|value| std::cmp::Reverse(value.to_string().len().min(4_000)));
    let walk = Walk { contract, tables };
    let mut judged = 0;
    'bases: for base in bases.iter().take(BASES) {
        let mut spots = Vec::new();
        walk.spots(&Conj::one(id), base, String::new(), DEPTH, &mut spots);
        for spot in &spots {
            for (value, asks) in walk.changed(base, spot) {
                if judged == MOST {
                    break 'bases;
                }
                if !known.insert((value.to_string(), asks.is_some())) {
                    continue;
                }
                judged += 1;
                out.extend(judge(tables, id, value, asks));
            }
        }
    }
    out
}

/// What a changed document asks, if it is one thing.
fn judge(tables: &TableSet<'_>, id: SchemaId, value: Json, asks: Option<Asks>) -> Option<Probe> {
    match (tables.validate(id, &value), asks) {
        (Ok(()), Some(asks)) => Some(Probe { value, asks }),
        (Ok(()), None) => Some(Probe { value, asks: Asks::Valid }),
        (Err(violations), _) => match violations.as_slice() {
            [one] if one.keyword != "depth" && one.keyword != "effort" => {
                Some(Probe { value, asks: Asks::Rule(one.keyword, Arc::clone(&one.schema)) })
            }
            _ => None,
        },
    }
}

struct Walk<'a> {
    contract: &'a Reading,
    tables: &'a TableSet<'a>,
}

impl<'a> Walk<'a> {
    /// The places of a document that schemas without a name speak of: others are asked about by
    /// themselves.
    fn spots(&self, conj: &Conj, value: &'a Json, pointer: String, depth: u8, out: &mut Vec<Spot<'a>>) {
        let Some(deeper) = depth.checked_sub(1).filter(|_| out.len() < MOST_PLACES) else { return };
        let graph = &self.contract.graph;
        let facts = Facts::of(graph, conj, self.contract.options.implied_objects);
        let inline = |id: &SchemaId| {
            let schema = graph.schema(*id);
            schema.origin == Origin::Inline && schema.reference.is_none()
        };
        let schemas = || facts.members.iter().map(|id| graph.schema(*id));
        for holder in &facts.holders {
            let schema = graph.schema(*holder);
            let branches = schema.one_of.iter().chain(&schema.any_of);
            for branch in branches.filter(|id| inline(id) && self.tables.is_valid(**id, value)) {
                self.spots(&conj.choose(*holder, *branch), value, pointer.clone(), deeper, out);
            }
        }
        let mut below = |ids: BTreeSet<SchemaId>, value: &'a Json, token: &str| {
            let ids: Vec<SchemaId> = ids.into_iter().filter(inline).collect();
            if !ids.is_empty() {
                self.spots(&Conj::all(ids), value, join(&pointer, token), deeper, out);
            }
        };
        match value {
            Json::Object(members) => {
                for (name, value) in members.iter() {
                    let declared = schemas().flat_map(|schema| &schema.properties);
                    let mut ids: BTreeSet<SchemaId> =
                        declared.filter(|(known, _)| known == name).map(|(_, id)| *id).collect();
                    let patterns = schemas().flat_map(|schema| &schema.pattern_properties);
                    let matching = patterns.filter(|(pattern, _)| self.tables.is_match(pattern, name));
                    ids.extend(matching.map(|(_, id)| *id));
                    if ids.is_empty() {
                        ids.extend(schemas().filter_map(|schema| schema.additional_properties));
                    }
                    below(ids, value, name);
                }
            }
            Json::Array(items) => {
                for (at, item) in items.iter().enumerate().take(3) {
                    let ids = schemas().filter_map(|s| s.prefix_items.get(at).copied().or(s.items));
                    below(ids.collect(), item, &at.to_string());
                }
            }
            _ => {}
        }
        out.push(Spot { pointer, value, members: facts.members });
    }

    /// The document with one place changed, in every way that a keyword there may mind.
    fn changed(&self, base: &Json, spot: &Spot<'_>) -> Vec<(Json, Option<Asks>)> {
        let graph = &self.contract.graph;
        let mut values = Vec::new();
        let mut asked = Vec::new();
        for id in &spot.members {
            let schema = graph.schema(*id);
            values.extend(schema.keywords().flat_map(|(keyword, held)| breakers(keyword, held, spot.value)));
            if schema.format.is_some() && schema.asserted.is_none() && spot.value.as_str().is_some() {
                asked.push((Json::String("no such form".to_owned()), Asks::Format(*id)));
            }
            asked.extend(self.without_defaults(schema, spot));
        }
        if let Json::Object(members) = spot.value {
            // Each member gone, and one more.
            values.extend(members.keys().map(|name| Json::Object(without(members, name))));
            values.extend(odd().into_iter().map(|value| Json::Object(with(members, "undeclared", value))));
        }
        values.extend(odd());
        let place = |value: Json| base.replaced(&spot.pointer, value);
        let asked = asked.into_iter().filter_map(|(value, asks)| Some((place(value)?, Some(asks))));
        asked.chain(values.into_iter().filter_map(|value| Some((place(value)?, None)))).collect()
    }

    /// The value without a member that has a default.
    fn without_defaults(&self, schema: &Schema, spot: &Spot<'_>) -> Vec<(Json, Asks)> {
        let Json::Object(members) = spot.value else { return Vec::new() };
        let has = |id: &SchemaId| self.contract.graph.schema(*id).default.is_some();
        let declared = schema.properties.iter().filter(|(_, id)| has(id));
        let asks = |(name, id): &(String, SchemaId)| {
            let pointer = join(&spot.pointer, name);
            (Json::Object(without(members, name)), Asks::Default(*id, pointer))
        };
        declared.map(asks).collect()
    }
}

/// Values that a keyword may refuse in place of a value.
fn breakers(keyword: Keyword, held: Held<'_>, value: &Json) -> Vec<Json> {
    let number = |value: Number| Json::Number(value);
    let whole = |bound: &Number| bound.as_i64();
    match (keyword, held, value) {
        (
            Keyword::Minimum | Keyword::ExclusiveMinimum | Keyword::Maximum | Keyword::ExclusiveMaximum,
            Held::Number(bound),
            _,
        ) => {
            let near = whole(bound).or_else(|| bound.floor().and_then(|floor| i64::try_from(floor).ok()));
            let near = near.into_iter().flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]);
            near.map(Number::int).chain([bound.clone()]).map(number).collect()
        }
        (Keyword::MultipleOf, Held::Number(factor), _) => {
            let near = whole(factor)
                .into_iter()
                .flat_map(|n| [n.saturating_add(1), n.saturating_mul(2).saturating_add(1)]);
            near.map(Number::int)
                .chain([Number::decimal(5, 1), Number::literal("0.003")])
                .map(number)
                .collect()
        }
        (Keyword::MinLength, Held::Count(least), Json::String(text)) => {
            let most = usize::try_from(least.saturating_sub(1)).unwrap_or(0);
            vec![Json::String(text.chars().take(most).collect())]
        }
        (Keyword::MaxLength, Held::Count(most), Json::String(text)) if most < LONGEST => {
            let missing = (most + 1).saturating_sub(text.chars().count() as u64);
            let last = text.chars().last().unwrap_or('a').to_string();
            vec![Json::String(text.clone() + &last.repeat(usize::try_from(missing).unwrap_or(0)))]
        }
        (Keyword::Pattern, _, Json::String(text)) => {
            let ends = [String::new(), format!("{text}\u{7f}"), format!("\u{7f}{text}"), text.to_uppercase()];
            let plain = text.chars().map(|letter| if letter.is_alphanumeric() { '~' } else { letter });
            ends.into_iter().chain([plain.collect()]).map(Json::String).collect()
        }
        (Keyword::Enum | Keyword::Const, _, Json::String(text)) => vec![Json::String(format!("{text}~"))],
        (Keyword::Enum | Keyword::Const, _, Json::Number(_)) => vec![number(Number::int(918_273))],
        (Keyword::MinItems, Held::Count(least), Json::Array(items)) => {
            let most = usize::try_from(least.saturating_sub(1)).unwrap_or(0);
            vec![Json::Array(items.iter().take(most).cloned().collect())]
        }
        (Keyword::MaxItems, Held::Count(most), Json::Array(items)) if most < LONGEST => {
            let most = usize::try_from(most).unwrap_or(0) + 1;
            vec![Json::Array(items.iter().cycle().take(most).cloned().collect())]
        }
        (Keyword::UniqueItems, _, Json::Array(items)) => {
            let first = items.first().map(|item| Json::Array(vec![item.clone(), item.clone()]));
            let more = items.first().map(|item| Json::Array(items.iter().chain([item]).cloned().collect()));
            first.into_iter().chain(more).collect()
        }
        (Keyword::Contains, _, Json::Array(items)) => {
            let mut out = vec![Json::Array(Vec::new())];
            out.extend(odd().into_iter().map(|value| Json::Array(vec![value; items.len().max(1)])));
            out
        }
        (Keyword::PrefixItems | Keyword::Items | Keyword::UnevaluatedItems, _, Json::Array(items)) => {
            let more = odd().into_iter();
            more.map(|value| Json::Array(items.iter().cloned().chain([value]).collect())).collect()
        }
        (Keyword::PropertyNames | Keyword::PatternProperties, _, Json::Object(members)) => {
            let names = ["", "~ ~", "UPPER", "lower", "0"];
            let value = members.values().next().cloned().unwrap_or(Json::Bool(true));
            names.into_iter().map(|name| Json::Object(with(members, name, value.clone()))).collect()
        }
        (Keyword::MaxProperties, Held::Count(most), Json::Object(members)) if most < LONGEST => {
            let mut more = members.clone();
            let value = members.values().next().cloned().unwrap_or(Json::Bool(true));
            for at in members.len() as u64..=most {
                more.insert(format!("undeclared{at}"), value.clone());
            }
            vec![Json::Object(more)]
        }
        (Keyword::MinProperties, _, Json::Object(_)) => vec![Json::Object(Map::new())],
        (Keyword::DependentRequired, Held::Needs(needs), Json::Object(members)) => {
            let add = |(name, _): &(String, Vec<String>)| {
                odd().into_iter().map(|value| Json::Object(with(members, name, value))).collect::<Vec<_>>()
            };
            needs.iter().flat_map(add).collect()
        }
        _ => Vec::new(),
    }
}

/// One value of each JSON type.
fn odd() -> Vec<Json> {
    vec![
        Json::String("odd".to_owned()),
        Json::Number(Number::int(7)),
        Json::Number(Number::decimal(15, 1)),
        Json::Bool(true),
        Json::Null,
        Json::Array(Vec::new()),
        Json::Object(Map::new()),
    ]
}

fn without(members: &Map<Json>, name: &str) -> Map<Json> {
    let mut left = members.clone();
    left.remove(name);
    left
}

fn with(members: &Map<Json>, name: &str, value: Json) -> Map<Json> {
    let mut more = members.clone();
    more.insert(name.to_owned(), value);
    more
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use crate::{generate::Project, load::Sources, tables::Shelves};

    /// Asks about the root of a document.
    fn of_root<T>(text: &str, ask: impl FnOnce(&Reading, &TableSet<'_>, SchemaId) -> T) -> T {
        let sources = Sources::from_texts(&[("a.json", "https://a.example/a.json", text)]).unwrap();
        let contract = Project::default().understand(sources).unwrap();
        let shelves = Shelves::default();
        let tables = contract.tables(&shelves);
        let is_root = |id: &SchemaId| matches!(contract.graph.schema(*id).origin, Origin::Root(_));
        let root = contract.graph.ids().find(is_root).unwrap();
        ask(&contract, &tables, root)
    }

    #[test]
    fn factors_are_as_large_as_they_like() {
        for factor in [i64::MAX, i64::MAX / 2 + 1, 3] {
            let text = format!(r#"{{"type": "integer", "multipleOf": {factor}}}"#);
            let all =
                of_root(&text, |contract, tables, root| probes(contract, tables, root, Effort::Thorough));
            let broken = |probe: &Probe| matches!(probe.asks, Asks::Rule("multipleOf", _));
            assert!(all.iter().any(broken), "{factor}: {all:?}");
        }
    }

    /// Each of many unions at one place can be chosen with each of the others.
    #[test]
    fn unions_beside_each_other_are_not_multiplied() {
        let union = format!(r#"{{"anyOf": [{}]}}"#, [r#"{"maxLength": 9}"#; 6].join(","));
        let unions = vec![union; 5].join(",");
        let text = format!(r#"{{"type": "string", "allOf": [{unions}]}}"#);
        let places = of_root(&text, |contract, tables, root| {
            let (value, mut out) = (Json::String("a".to_owned()), Vec::new());
            Walk { contract, tables }.spots(&Conj::one(root), &value, String::new(), DEPTH, &mut out);
            out.len()
        });
        assert!((1..=MOST_PLACES + usize::from(DEPTH)).contains(&places), "{places}");
    }
}
