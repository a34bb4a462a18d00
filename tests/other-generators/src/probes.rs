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
        keywords::{Keyword, KeywordValue},
    },
    tables::TableSet,
    tree::join_token,
};
use contract_runtime::{Json, Map, Number};

/// The maximum number of base documents that are mutated.
const MAX_BASES: usize = 12;
/// The maximum number of mutated documents that are validated for one schema.
const MAX_MUTATIONS: usize = 1_500;
/// The maximum number of mutation sites per document; nested unions can multiply them.
const MAX_SITES: usize = 1_000;
/// The maximum depth of mutation sites.
const MAX_DEPTH: u8 = 5;
/// The maximum length of generated strings and lists.
const MAX_LENGTH: u64 = 2_000;

/// A test document and the behavior that it tests.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) value: Json,
    pub(super) target: ProbeTarget,
}

/// The behavior that a probe tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProbeTarget {
    /// The valid document must be accepted.
    Valid,
    /// The type must check this rule, which is given by keyword and location. The document violates no other
    /// rule.
    Rule(&'static str, Arc<str>),
    /// The format of the schema must be checked.
    Format(SchemaId),
    /// A default must be filled in at a JSON Pointer.
    Default(SchemaId, String),
}

/// A value in a document, and the schemas that apply to it.
struct MutationSite<'a> {
    pointer: String,
    value: &'a Json,
    schemas: Vec<SchemaId>,
}

/// Generates all test documents for one schema.
pub(super) fn generate_probes(
    contract: &AnalyzedContract,
    tables: &TableSet<'_>,
    id: SchemaId,
    effort: SampleEffort,
) -> Vec<Probe> {
    let is_valid = |id: SchemaId, value: &Json| tables.is_valid(id, value);
    let implied_objects = contract.options.implied_objects;
    let mut bases = sample::edge_values(
        &contract.graph,
        &SchemaConjunction::from_schema(id),
        implied_objects,
        effort,
        &is_valid,
        &SampleCache::default(),
    );
    bases.retain(|value| tables.is_valid(id, value));
    // One document may test two behaviors.
    let mut seen: BTreeSet<(String, bool)> = BTreeSet::new();
    bases.retain(|value| seen.insert((value.to_string(), false)));
    let mut out: Vec<Probe> =
        bases.iter().map(|value| Probe { value: value.clone(), target: ProbeTarget::Valid }).collect();
    // Large documents come first, because they have the most mutation sites.
    bases.sort_by_key(|value| std::cmp::Reverse(value.to_string().len().min(4_000)));
    let walker = SiteWalker { contract, tables };
    let mut mutations = 0;
    'bases: for base in bases.iter().take(MAX_BASES) {
        let mut sites = Vec::new();
        walker.collect_sites(&SchemaConjunction::from_schema(id), base, String::new(), MAX_DEPTH, &mut sites);
        for site in &sites {
            for (value, target) in walker.mutate(base, site) {
                if mutations == MAX_MUTATIONS {
                    break 'bases;
                }
                if !seen.insert((value.to_string(), target.is_some())) {
                    continue;
                }
                mutations += 1;
                out.extend(classify_probe(tables, id, value, target));
            }
        }
    }
    out
}

/// Validates a mutated document and returns a probe if it tests exactly one property.
fn classify_probe(
    tables: &TableSet<'_>,
    id: SchemaId,
    value: Json,
    target: Option<ProbeTarget>,
) -> Option<Probe> {
    match (tables.validate(id, &value), target) {
        (Ok(()), Some(target)) => Some(Probe { value, target }),
        (Ok(()), None) => Some(Probe { value, target: ProbeTarget::Valid }),
        (Err(violations), _) => match violations.as_slice() {
            [one] if one.keyword != "depth" && one.keyword != "effort" => {
                Some(Probe { value, target: ProbeTarget::Rule(one.keyword, Arc::clone(&one.schema)) })
            }
            _ => None,
        },
    }
}

struct SiteWalker<'a> {
    contract: &'a AnalyzedContract,
    tables: &'a TableSet<'a>,
}

impl<'a> SiteWalker<'a> {
    /// Collects the values of a document that unnamed schemas describe. Named schemas are tested separately.
    fn collect_sites(
        &self,
        conjunction: &SchemaConjunction,
        value: &'a Json,
        pointer: String,
        depth: u8,
        out: &mut Vec<MutationSite<'a>>,
    ) {
        let Some(deeper) = depth.checked_sub(1).filter(|_| out.len() < MAX_SITES) else { return };
        let graph = &self.contract.graph;
        let facts = SchemaFacts::from_conjunction(graph, conjunction, self.contract.options.implied_objects);
        let is_inline = |id: &SchemaId| {
            let schema = graph.schema(*id);
            schema.origin == SchemaOrigin::Inline && schema.reference.is_none()
        };
        let schemas = || facts.unconditional.iter().map(|id| graph.schema(*id));
        for holder in &facts.open_unions {
            let schema = graph.schema(*holder);
            let branches = schema.one_of.iter().chain(&schema.any_of);
            for branch in branches.filter(|id| is_inline(id) && self.tables.is_valid(**id, value)) {
                self.collect_sites(
                    &conjunction.choose_branch(*holder, *branch),
                    value,
                    pointer.clone(),
                    deeper,
                    out,
                );
            }
        }
        let mut collect_below = |ids: BTreeSet<SchemaId>, value: &'a Json, token: &str| {
            let ids: Vec<SchemaId> = ids.into_iter().filter(is_inline).collect();
            if !ids.is_empty() {
                self.collect_sites(
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
                        declared.filter(|(property, _)| property == name).map(|(_, id)| *id).collect();
                    let patterns = schemas().flat_map(|schema| &schema.pattern_properties);
                    let matching = patterns.filter(|(pattern, _)| self.tables.is_match(pattern, name));
                    ids.extend(matching.map(|(_, id)| *id));
                    if ids.is_empty() {
                        ids.extend(schemas().filter_map(|schema| schema.additional_properties));
                    }
                    collect_below(ids, value, name);
                }
            }
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate().take(3) {
                    let ids = schemas().filter_map(|s| s.prefix_items.get(index).copied().or(s.items));
                    collect_below(ids.collect(), item, &index.to_string());
                }
            }
            _ => {}
        }
        out.push(MutationSite { pointer, value, schemas: facts.unconditional });
    }

    /// Returns copies of a document with one changed value, once for each change that a keyword may reject.
    fn mutate(&self, base: &Json, site: &MutationSite<'_>) -> Vec<(Json, Option<ProbeTarget>)> {
        let graph = &self.contract.graph;
        let mut values = Vec::new();
        let mut targeted = Vec::new();
        for id in &site.schemas {
            let schema = graph.schema(*id);
            values.extend(
                schema
                    .keywords()
                    .flat_map(|(keyword, constraint)| violating_values(keyword, constraint, site.value)),
            );
            if schema.format.is_some() && schema.asserted.is_none() && site.value.as_str().is_some() {
                targeted.push((Json::String("no such form".to_owned()), ProbeTarget::Format(*id)));
            }
            targeted.extend(self.without_defaults(schema, site));
        }
        if let Json::Object(members) = site.value {
            // Each property is removed once, and one undeclared property is added.
            values.extend(members.keys().map(|name| Json::Object(without_member(members, name))));
            values.extend(
                sample_values()
                    .into_iter()
                    .map(|value| Json::Object(with_member(members, "undeclared", value))),
            );
        }
        values.extend(sample_values());
        let replace_site = |value: Json| base.with_value_at(&site.pointer, value);
        let targeted =
            targeted.into_iter().filter_map(|(value, target)| Some((replace_site(value)?, Some(target))));
        targeted.chain(values.into_iter().filter_map(|value| Some((replace_site(value)?, None)))).collect()
    }

    /// Returns copies of an object, each without one property that has a default.
    fn without_defaults(&self, schema: &Schema, site: &MutationSite<'_>) -> Vec<(Json, ProbeTarget)> {
        let Json::Object(members) = site.value else { return Vec::new() };
        let has_default = |id: &SchemaId| self.contract.graph.schema(*id).default.is_some();
        let declared = schema.properties.iter().filter(|(_, id)| has_default(id));
        let remove_property = |(name, id): &(String, SchemaId)| {
            let pointer = join_token(&site.pointer, name);
            (Json::Object(without_member(members, name)), ProbeTarget::Default(*id, pointer))
        };
        declared.map(remove_property).collect()
    }
}

/// Returns replacement values that may violate a keyword.
fn violating_values(keyword: Keyword, constraint: KeywordValue<'_>, value: &Json) -> Vec<Json> {
    let number = |value: Number| Json::Number(value);
    let as_integer = |bound: &Number| bound.as_i64();
    match (keyword, constraint, value) {
        (
            Keyword::Minimum | Keyword::ExclusiveMinimum | Keyword::Maximum | Keyword::ExclusiveMaximum,
            KeywordValue::Number(bound),
            _,
        ) => {
            let near =
                as_integer(bound).or_else(|| bound.floor().and_then(|floor| i64::try_from(floor).ok()));
            let near = near.into_iter().flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]);
            near.map(Number::from_i64).chain([bound.clone()]).map(number).collect()
        }
        (Keyword::MultipleOf, KeywordValue::Number(factor), _) => {
            let near = as_integer(factor)
                .into_iter()
                .flat_map(|n| [n.saturating_add(1), n.saturating_mul(2).saturating_add(1)]);
            near.map(Number::from_i64)
                .chain([Number::from_decimal(5, 1), Number::from_literal("0.003")])
                .map(number)
                .collect()
        }
        (Keyword::MinLength, KeywordValue::Count(min), Json::String(text)) => {
            let count = usize::try_from(min.saturating_sub(1)).unwrap_or(0);
            vec![Json::String(text.chars().take(count).collect())]
        }
        (Keyword::MaxLength, KeywordValue::Count(max), Json::String(text)) if max < MAX_LENGTH => {
            let missing = (max + 1).saturating_sub(text.chars().count() as u64);
            let last = text.chars().last().unwrap_or('a').to_string();
            vec![Json::String(text.clone() + &last.repeat(usize::try_from(missing).unwrap_or(0)))]
        }
        (Keyword::Pattern, _, Json::String(text)) => {
            let variants =
                [String::new(), format!("{text}\u{7f}"), format!("\u{7f}{text}"), text.to_uppercase()];
            let replaced = text.chars().map(|letter| if letter.is_alphanumeric() { '~' } else { letter });
            variants.into_iter().chain([replaced.collect()]).map(Json::String).collect()
        }
        (Keyword::Enum | Keyword::Const, _, Json::String(text)) => vec![Json::String(format!("{text}~"))],
        (Keyword::Enum | Keyword::Const, _, Json::Number(_)) => vec![number(Number::from_i64(918_273))],
        (Keyword::MinItems, KeywordValue::Count(min), Json::Array(items)) => {
            let count = usize::try_from(min.saturating_sub(1)).unwrap_or(0);
            vec![Json::Array(items.iter().take(count).cloned().collect())]
        }
        (Keyword::MaxItems, KeywordValue::Count(max), Json::Array(items)) if max < MAX_LENGTH => {
            let count = usize::try_from(max).unwrap_or(0) + 1;
            vec![Json::Array(items.iter().cycle().take(count).cloned().collect())]
        }
        (Keyword::UniqueItems, _, Json::Array(items)) => {
            let first = items.first().map(|item| Json::Array(vec![item.clone(), item.clone()]));
            let more = items.first().map(|item| Json::Array(items.iter().chain([item]).cloned().collect()));
            first.into_iter().chain(more).collect()
        }
        (Keyword::Contains, _, Json::Array(items)) => {
            let mut out = vec![Json::Array(Vec::new())];
            out.extend(sample_values().into_iter().map(|value| Json::Array(vec![value; items.len().max(1)])));
            out
        }
        (Keyword::PrefixItems | Keyword::Items | Keyword::UnevaluatedItems, _, Json::Array(items)) => {
            let more = sample_values().into_iter();
            more.map(|value| Json::Array(items.iter().cloned().chain([value]).collect())).collect()
        }
        (Keyword::PropertyNames | Keyword::PatternProperties, _, Json::Object(members)) => {
            let names = ["", "~ ~", "UPPER", "lower", "0"];
            let value = members.values().next().cloned().unwrap_or(Json::Bool(true));
            names.into_iter().map(|name| Json::Object(with_member(members, name, value.clone()))).collect()
        }
        (Keyword::MaxProperties, KeywordValue::Count(max), Json::Object(members)) if max < MAX_LENGTH => {
            let mut more = members.clone();
            let value = members.values().next().cloned().unwrap_or(Json::Bool(true));
            for index in members.len() as u64..=max {
                more.insert(format!("undeclared{index}"), value.clone());
            }
            vec![Json::Object(more)]
        }
        (Keyword::MinProperties, _, Json::Object(_)) => vec![Json::Object(Map::new())],
        (Keyword::DependentRequired, KeywordValue::Needs(needs), Json::Object(members)) => {
            let add_property = |(name, _): &(String, Vec<String>)| {
                sample_values()
                    .into_iter()
                    .map(|value| Json::Object(with_member(members, name, value)))
                    .collect::<Vec<_>>()
            };
            needs.iter().flat_map(add_property).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns one value of each JSON type.
fn sample_values() -> Vec<Json> {
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

fn without_member(members: &Map<Json>, name: &str) -> Map<Json> {
    let mut rest = members.clone();
    rest.remove(name);
    rest
}

fn with_member(members: &Map<Json>, name: &str, value: Json) -> Map<Json> {
    let mut more = members.clone();
    more.insert(name.to_owned(), value);
    more
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a test failure")]
mod tests {
    use super::*;
    use contract_codegen_core::{generate::Project, load::Sources, tables::TableArenas};

    /// Calls a function with the root schema of a document.
    fn call_with_root<T>(
        text: &str,
        call: impl FnOnce(&AnalyzedContract, &TableSet<'_>, SchemaId) -> T,
    ) -> T {
        let sources = Sources::from_texts(&[("a.json", "https://a.example/a.json", text)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        let arenas = TableArenas::default();
        let tables = contract.build_tables(&arenas);
        let is_root = |id: &SchemaId| matches!(contract.graph.schema(*id).origin, SchemaOrigin::Root(_));
        let root = contract.graph.ids().find(is_root).unwrap();
        call(&contract, &tables, root)
    }

    #[test]
    fn large_factors_are_violated() {
        for factor in [i64::MAX, i64::MAX / 2 + 1, 3] {
            let text = format!(r#"{{"type": "integer", "multipleOf": {factor}}}"#);
            let probes = call_with_root(&text, |contract, tables, root| {
                generate_probes(contract, tables, root, SampleEffort::Thorough)
            });
            let is_violation = |probe: &Probe| matches!(probe.target, ProbeTarget::Rule("multipleOf", _));
            assert!(probes.iter().any(is_violation), "{factor}: {probes:?}");
        }
    }

    /// The number of mutation sites stays bounded if several unions apply to the same value.
    #[test]
    fn number_of_sites_is_bounded() {
        let union = format!(r#"{{"anyOf": [{}]}}"#, [r#"{"maxLength": 9}"#; 6].join(","));
        let unions = vec![union; 5].join(",");
        let text = format!(r#"{{"type": "string", "allOf": [{unions}]}}"#);
        let count = call_with_root(&text, |contract, tables, root| {
            let (value, mut out) = (Json::String("a".to_owned()), Vec::new());
            SiteWalker { contract, tables }.collect_sites(
                &SchemaConjunction::from_schema(root),
                &value,
                String::new(),
                MAX_DEPTH,
                &mut out,
            );
            out.len()
        });
        assert!((1..=MAX_SITES + usize::from(MAX_DEPTH)).contains(&count), "{count}");
    }
}
