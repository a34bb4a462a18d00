//! Generates test documents for a schema: valid documents and documents that violate exactly one rule. The
//! validation tables of the contract determine the rule.

use std::{collections::BTreeSet, sync::Arc};

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    conjunction::{
        SchemaConjunction, SchemaFacts,
        sample::{self, SampleCache, SampleEffort},
    },
    schema::{
        Schema, SchemaId, SchemaOrigin,
        keywords::{Keyword, KeywordValue as Held},
    },
    tables::TableSet,
    tree::join_token,
};
use contract_runtime::{Json, Map, Number};

/// Maximum number of base documents that are mutated.
const BASES: usize = 12;
/// Maximum number of mutated documents that are validated for one schema.
const MOST: usize = 1_500;
/// Maximum number of mutated places per document; nested unions can multiply them.
const MOST_PLACES: usize = 1_000;
/// Maximum depth of mutated places.
const DEPTH: u8 = 5;
/// Maximum length of generated strings and lists.
const LONGEST: u64 = 2_000;

/// A test document and the property that it tests.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) value: Json,
    pub(super) asks: Asks,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// A valid document must be read.
    Valid,
    /// The single rule that this document violates must be checked: keyword and location.
    Rule(&'static str, Arc<str>),
    /// The string must be validated against its `format`.
    Format(SchemaId),
    /// A default must be filled in at a JSON Pointer.
    Default(SchemaId, String),
}

/// A place in a document and the schemas that apply there.
struct Spot<'a> {
    pointer: String,
    value: &'a Json,
    members: Vec<SchemaId>,
}

/// Generates all test documents for one schema.
pub(super) fn probes(
    contract: &AnalyzedContract,
    tables: &TableSet<'_>,
    id: SchemaId,
    effort: SampleEffort,
) -> Vec<Probe> {
    let part = |id: SchemaId, value: &Json| tables.is_valid(id, value);
    let implied = contract.options.implied_objects;
    let mut bases = sample::edge_values(
        &contract.graph,
        &SchemaConjunction::from_schema(id),
        implied,
        effort,
        &part,
        &SampleCache::default(),
    );
    bases.retain(|value| tables.is_valid(id, value));
    // One document may serve two tests.
    let mut known: BTreeSet<(String, bool)> = BTreeSet::new();
    bases.retain(|value| known.insert((value.to_string(), false)));
    let mut out: Vec<Probe> =
        bases.iter().map(|value| Probe { value: value.clone(), asks: Asks::Valid }).collect();
    // Large documents first: they have the most places to mutate.
    bases.sort_by_key(|value| std::cmp::Reverse(value.to_string().len().min(4_000)));
    let walk = Walk { contract, tables };
    let mut judged = 0;
    'bases: for base in bases.iter().take(BASES) {
        let mut spots = Vec::new();
        walk.spots(&SchemaConjunction::from_schema(id), base, String::new(), DEPTH, &mut spots);
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

/// Validates a mutated document and returns a probe if it tests exactly one property.
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
    contract: &'a AnalyzedContract,
    tables: &'a TableSet<'a>,
}

impl<'a> Walk<'a> {
    /// Collects the places of a document that unnamed schemas describe. Named schemas are tested separately.
    fn spots(
        &self,
        conj: &SchemaConjunction,
        value: &'a Json,
        pointer: String,
        depth: u8,
        out: &mut Vec<Spot<'a>>,
    ) {
        let Some(deeper) = depth.checked_sub(1).filter(|_| out.len() < MOST_PLACES) else { return };
        let graph = &self.contract.graph;
        let facts = SchemaFacts::from_conjunction(graph, conj, self.contract.options.implied_objects);
        let inline = |id: &SchemaId| {
            let schema = graph.schema(*id);
            schema.origin == SchemaOrigin::Inline && schema.reference.is_none()
        };
        let schemas = || facts.unconditional.iter().map(|id| graph.schema(*id));
        for holder in &facts.open_unions {
            let schema = graph.schema(*holder);
            let branches = schema.one_of.iter().chain(&schema.any_of);
            for branch in branches.filter(|id| inline(id) && self.tables.is_valid(**id, value)) {
                self.spots(&conj.choose_branch(*holder, *branch), value, pointer.clone(), deeper, out);
            }
        }
        let mut below = |ids: BTreeSet<SchemaId>, value: &'a Json, token: &str| {
            let ids: Vec<SchemaId> = ids.into_iter().filter(inline).collect();
            if !ids.is_empty() {
                self.spots(
                    &SchemaConjunction::from_schemas(ids),
                    value,
                    join_token(&pointer, token),
                    deeper,
                    out,
                );
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
        out.push(Spot { pointer, value, members: facts.unconditional });
    }

    /// Returns copies of a document in which one place is changed, once for each change that a keyword
    /// there may reject.
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
            // Each property removed, and one undeclared property added.
            values.extend(members.keys().map(|name| Json::Object(without(members, name))));
            values.extend(odd().into_iter().map(|value| Json::Object(with(members, "undeclared", value))));
        }
        values.extend(odd());
        let place = |value: Json| base.with_value_at(&spot.pointer, value);
        let asked = asked.into_iter().filter_map(|(value, asks)| Some((place(value)?, Some(asks))));
        asked.chain(values.into_iter().filter_map(|value| Some((place(value)?, None)))).collect()
    }

    /// Returns copies of an object, each without one property that has a default.
    fn without_defaults(&self, schema: &Schema, spot: &Spot<'_>) -> Vec<(Json, Asks)> {
        let Json::Object(members) = spot.value else { return Vec::new() };
        let has = |id: &SchemaId| self.contract.graph.schema(*id).default.is_some();
        let declared = schema.properties.iter().filter(|(_, id)| has(id));
        let asks = |(name, id): &(String, SchemaId)| {
            let pointer = join_token(&spot.pointer, name);
            (Json::Object(without(members, name)), Asks::Default(*id, pointer))
        };
        declared.map(asks).collect()
    }
}

/// Returns replacement values that may violate a keyword.
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
            near.map(Number::from_i64).chain([bound.clone()]).map(number).collect()
        }
        (Keyword::MultipleOf, Held::Number(factor), _) => {
            let near = whole(factor)
                .into_iter()
                .flat_map(|n| [n.saturating_add(1), n.saturating_mul(2).saturating_add(1)]);
            near.map(Number::from_i64)
                .chain([Number::from_decimal(5, 1), Number::from_literal("0.003")])
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
        (Keyword::Enum | Keyword::Const, _, Json::Number(_)) => vec![number(Number::from_i64(918_273))],
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

/// Returns one value of each JSON type.
fn odd() -> Vec<Json> {
    vec![
        Json::String("odd".to_owned()),
        Json::Number(Number::from_i64(7)),
        Json::Number(Number::from_decimal(15, 1)),
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
    use contract_codegen_core::{generate::Project, load::Sources, tables::TableArenas};

    /// Calls a function with the root schema of a document.
    fn of_root<T>(text: &str, ask: impl FnOnce(&AnalyzedContract, &TableSet<'_>, SchemaId) -> T) -> T {
        let sources = Sources::from_texts(&[("a.json", "https://a.example/a.json", text)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        let arenas = TableArenas::default();
        let tables = contract.build_tables(&arenas);
        let is_root = |id: &SchemaId| matches!(contract.graph.schema(*id).origin, SchemaOrigin::Root(_));
        let root = contract.graph.ids().find(is_root).unwrap();
        ask(&contract, &tables, root)
    }

    #[test]
    fn factors_are_as_large_as_they_like() {
        for factor in [i64::MAX, i64::MAX / 2 + 1, 3] {
            let text = format!(r#"{{"type": "integer", "multipleOf": {factor}}}"#);
            let all = of_root(&text, |contract, tables, root| {
                probes(contract, tables, root, SampleEffort::Thorough)
            });
            let broken = |probe: &Probe| matches!(probe.asks, Asks::Rule("multipleOf", _));
            assert!(all.iter().any(broken), "{factor}: {all:?}");
        }
    }

    /// The number of places stays bounded if several unions apply to one place.
    #[test]
    fn unions_beside_each_other_are_not_multiplied() {
        let union = format!(r#"{{"anyOf": [{}]}}"#, [r#"{"maxLength": 9}"#; 6].join(","));
        let unions = vec![union; 5].join(",");
        let text = format!(r#"{{"type": "string", "allOf": [{unions}]}}"#);
        let places = of_root(&text, |contract, tables, root| {
            let (value, mut out) = (Json::String("a".to_owned()), Vec::new());
            Walk { contract, tables }.spots(
                &SchemaConjunction::from_schema(root),
                &value,
                String::new(),
                DEPTH,
                &mut out,
            );
            out.len()
        });
        assert!((1..=MOST_PLACES + usize::from(DEPTH)).contains(&places), "{places}");
    }
}
