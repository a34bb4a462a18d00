//! Runs typify on the schemas of a contract and reports the schemas that it rejects and how its types
//! handle test documents.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen::lower::{
    names::SchemaNames,
    schemas::{LoweringContext, SchemaLowerer, TargetDialect},
};
use contract_codegen_core::{
    analyzed_contract::AnalyzedContract, conjunction::sample::SampleEffort,
    enforced_constraints::collect_constraints, locations::LocationFormatter, schema::SchemaId,
    tables::TableArenas,
};
use contract_runtime::Json;
use serde_json::{Value, json};

use super::{
    ConstructRow, GeneratorReport, Rejection,
    probes::{ProbeTarget, generate_probes},
    process::{GeneratedCode, GeneratorRunner, TimeoutCounter},
    types::TypeModel,
};

/// The maximum number of typify runs. Schemas that remain after this number are reported as rejected.
const MAX_RUNS: usize = 400;
/// The number of schemas above which fewer test documents are generated per schema.
const MANY_SCHEMAS: usize = 400;
/// The maximum length in characters of a JSON value in a report.
const MAX_VALUE_LENGTH: usize = 120;

/// The vocabulary in which a schema is written for typify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeywordSet {
    /// All keywords of draft-07.
    Full,
    /// The keywords that draft-07 and OpenAPI 3.0 share.
    Shared,
    /// No keywords: the schema accepts every value.
    None,
}

/// Runs typify on every schema and measures the resulting types.
pub(super) fn measure_typify(
    contract: &AnalyzedContract,
    runner: &GeneratorRunner,
    names: &SchemaNames,
) -> GeneratorReport {
    let (groups, rejected) = generate_types(contract, runner, names);
    TypeMeasurement::new(contract, names, rejected).measure(groups)
}

/// Groups of schemas, each with typify's output for it.
type GeneratedGroups = Vec<(Vec<SchemaId>, GeneratedCode)>;

/// Runs typify on all schemas and returns its output and the rejected schemas.
fn generate_types(
    contract: &AnalyzedContract,
    runner: &GeneratorRunner,
    names: &SchemaNames,
) -> (GeneratedGroups, BTreeMap<SchemaId, String>) {
    let mut session = TypifySession {
        full: SchemaLowerer::new(&contract.graph, TargetDialect::Draft7),
        shared: SchemaLowerer::new(&contract.graph, TargetDialect::Plain),
        runner,
        names,
        keyword_sets: names.iter().map(|(id, _)| (id, KeywordSet::Full)).collect(),
        rejected: BTreeMap::new(),
        runs: 0,
        timeouts: TimeoutCounter::default(),
    };
    let schemas: Vec<SchemaId> = names.iter().map(|(id, _)| id).collect();
    let mut groups = session.generate_groups(&schemas);
    if groups.len() > 1
        && let Ok(generated) = session.run_group(&schemas)
    {
        groups = vec![(schemas, generated)];
    }
    (groups, session.rejected)
}

struct TypifySession<'a> {
    full: SchemaLowerer<'a>,
    shared: SchemaLowerer<'a>,
    runner: &'a GeneratorRunner,
    names: &'a SchemaNames,
    keyword_sets: BTreeMap<SchemaId, KeywordSet>,
    rejected: BTreeMap<SchemaId, String>,
    runs: usize,
    timeouts: TimeoutCounter,
}

impl TypifySession<'_> {
    /// Returns typify's output for a group of schemas. The group is split only if typify rejects it.
    fn generate_groups(&mut self, group: &[SchemaId]) -> GeneratedGroups {
        if let Some(reason) = self.limit_error() {
            for id in group {
                self.keyword_sets.insert(*id, KeywordSet::None);
                self.rejected.entry(*id).or_insert_with(|| reason.clone());
            }
            return Vec::new();
        }
        let reason = match self.run_group(group) {
            Ok(generated) => return vec![(group.to_vec(), generated)],
            Err(reason) => reason,
        };
        match group {
            [] => Vec::new(),
            [one] => {
                let reduced = match self.keyword_sets.get(one) {
                    Some(KeywordSet::Full) => KeywordSet::Shared,
                    _ => KeywordSet::None,
                };
                self.keyword_sets.insert(*one, reduced);
                self.rejected.entry(*one).or_insert(reason);
                if reduced == KeywordSet::None { Vec::new() } else { self.generate_groups(group) }
            }
            _ => {
                let (left, right) = group.split_at(group.len() / 2);
                let mut groups = self.generate_groups(left);
                groups.extend(self.generate_groups(right));
                groups
            }
        }
    }

    /// Returns the reason why no further runs are made, if a limit is reached.
    fn limit_error(&self) -> Option<String> {
        let run_limit =
            || (self.runs >= MAX_RUNS).then(|| format!("not run: the limit of {MAX_RUNS} runs is reached"));
        self.timeouts.limit_error().or_else(run_limit)
    }

    /// Runs typify on a group of schemas. Schemas outside of the group accept every value.
    fn run_group(&mut self, group: &[SchemaId]) -> Result<GeneratedCode, String> {
        let members: BTreeSet<SchemaId> = group.iter().copied().collect();
        let mut link = |id: SchemaId| format!("#/definitions/{}", self.names.get(id));
        let mut definitions = serde_json::Map::new();
        for (id, name) in self.names.iter() {
            let keyword_set = if members.contains(&id) { self.keyword_sets.get(&id) } else { None };
            let mut context = LoweringContext { link: &mut link, lost: BTreeSet::new() };
            let schema = match keyword_set {
                Some(KeywordSet::Full) => self.full.write_schema(id, &mut context),
                Some(KeywordSet::Shared) => self.shared.write_schema(id, &mut context),
                _ => Value::Bool(true),
            };
            definitions.insert(name.to_owned(), schema);
        }
        self.runs += 1;
        self.timeouts.count_timeout(self.runner.run_typify(json!({ "definitions": definitions })))
    }
}

/// The observations about one rule.
#[derive(Clone, Debug, Default)]
struct RuleObservations {
    /// The number of documents that violate the rule and are rejected.
    rejected: usize,
    /// A document that violates the rule and is accepted.
    accepted: Option<Json>,
}

struct TypeMeasurement<'a> {
    contract: &'a AnalyzedContract,
    formatter: LocationFormatter<'a>,
    names: &'a SchemaNames,
    rejected: BTreeMap<SchemaId, String>,
    rules: BTreeMap<(String, String), RuleObservations>,
    formats: BTreeMap<SchemaId, bool>,
    defaults: BTreeMap<SchemaId, bool>,
    documents: DocumentCounts,
    /// Valid documents that typify's types rejected.
    rejected_documents: Vec<Rejection>,
}

/// The results of round trips of valid documents. A pair consists of the number of documents that kept the
/// feature and the number that lost it.
#[derive(Clone, Copy, Debug, Default)]
struct DocumentCounts {
    accepted: usize,
    rejected: usize,
    /// Whether properties without a field are preserved: (kept, lost).
    properties: (usize, usize),
    /// Whether an explicit `null` stays distinct from an absent property: (kept, lost).
    nulls: (usize, usize),
    /// Whether all digits of numbers are preserved: (kept, lost).
    numbers: (usize, usize),
    /// Whether no property is added that the input did not contain: (kept, lost).
    additions: (usize, usize),
}

impl<'a> TypeMeasurement<'a> {
    fn new(
        contract: &'a AnalyzedContract,
        names: &'a SchemaNames,
        rejected: BTreeMap<SchemaId, String>,
    ) -> Self {
        Self {
            contract,
            formatter: LocationFormatter::new(contract),
            names,
            rejected,
            rules: BTreeMap::new(),
            formats: BTreeMap::new(),
            defaults: BTreeMap::new(),
            documents: DocumentCounts::default(),
            rejected_documents: Vec::new(),
        }
    }

    fn measure(mut self, groups: GeneratedGroups) -> GeneratorReport {
        let arenas = TableArenas::default();
        let tables = self.contract.build_tables(&arenas);
        let has_many_schemas = self.names.iter().count() > MANY_SCHEMAS;
        let effort = if has_many_schemas { SampleEffort::Within(100) } else { SampleEffort::Thorough };
        for (group, generated) in groups {
            let types = match TypeModel::parse(&generated.code) {
                Ok(types) => types,
                Err(reason) => {
                    self.rejected.extend(group.into_iter().map(|id| (id, reason.clone())));
                    continue;
                }
            };
            for id in group {
                let Some(name) = generated.types.get(self.names.get(id)) else { continue };
                let mut rejected_document = None;
                for probe in generate_probes(self.contract, &tables, id, effort) {
                    let out = types.round_trip(name, &probe.value.to_value());
                    match probe.target {
                        ProbeTarget::Valid => match out {
                            Some(out) => self.compare(&probe.value, &out),
                            None => {
                                self.documents.rejected += 1;
                                rejected_document.get_or_insert(probe.value);
                            }
                        },
                        ProbeTarget::Rule(keyword, location) => {
                            let key = (keyword.to_owned(), location.to_string());
                            let observations = self.rules.entry(key).or_default();
                            match out {
                                Some(_) => drop(observations.accepted.get_or_insert(probe.value)),
                                None => observations.rejected += 1,
                            }
                        }
                        ProbeTarget::Format(schema) => {
                            let kept = self.formats.entry(schema).or_insert(true);
                            *kept &= out.is_none();
                        }
                        ProbeTarget::Default(schema, pointer) => {
                            let Some(out) = out else { continue };
                            let kept = self.defaults.entry(schema).or_insert(true);
                            *kept &= out.pointer(&pointer).is_some();
                        }
                    }
                }
                if let Some(value) = rejected_document {
                    let location = self.location(id);
                    self.rejected_documents.push(Rejection {
                        location,
                        reason: format!("valid document {}", truncate_json(&value)),
                    });
                }
            }
        }
        self.into_report()
    }

    fn compare(&mut self, value: &Json, out: &Value) {
        let Ok(out) = Json::parse(out.to_string().as_bytes()) else { return };
        let mut losses = RoundTripLosses::default();
        losses.compare(value, &out);
        let documents = &mut self.documents;
        let count = |(kept, dropped): &mut (usize, usize), is_present: bool, is_lost: bool| {
            *kept += usize::from(is_present && !is_lost);
            *dropped += usize::from(is_lost);
        };
        documents.accepted += 1;
        count(&mut documents.properties, losses.present.properties, losses.properties);
        count(&mut documents.nulls, losses.present.nulls, losses.nulls);
        count(&mut documents.numbers, losses.present.numbers, losses.numbers);
        count(&mut documents.additions, losses.present.properties, losses.additions);
    }

    fn location(&self, id: SchemaId) -> String {
        self.formatter.format_location(&self.contract.graph.schema(id).place)
    }

    fn into_report(self) -> GeneratorReport {
        let graph = &self.contract.graph;
        let mut rows: BTreeMap<String, ConstructRow> = BTreeMap::new();
        let rejected_locations: Vec<String> =
            self.rejected.keys().map(|id| graph.absolute_location(*id)).collect();
        let is_in_rejected_schema = |location: &str| {
            let is_below = |root: &String| {
                location
                    .strip_prefix(root.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || root.ends_with('#'))
            };
            rejected_locations.iter().any(is_below)
        };
        let mut observations = self.rules.clone();
        for constraint in collect_constraints(self.contract) {
            let rule_location = graph.absolute_location(constraint.schema);
            let row = ConstructRow::entry(&mut rows, constraint.keyword);
            match observations.remove(&(constraint.keyword.to_owned(), rule_location.clone())) {
                Some(RuleObservations { accepted: None, .. }) => row.kept += 1,
                Some(RuleObservations { rejected, accepted: Some(value) }) => {
                    let frequency = if rejected > 0 { "sometimes " } else { "" };
                    let location = self.location(constraint.schema);
                    row.record_drop(format!("{location} {frequency}accepts {}", truncate_json(&value)));
                }
                None if is_in_rejected_schema(&rule_location) => row.rejected += 1,
                None => row.untested += 1,
            }
        }
        for (construct, results) in [("format", &self.formats), ("default", &self.defaults)] {
            for (id, kept) in results {
                let row = ConstructRow::entry(&mut rows, construct);
                if *kept { row.kept += 1 } else { row.record_drop(self.location(*id)) }
            }
        }
        let documents = self.documents;
        let features = [
            ("valid documents: properties without a field", documents.properties),
            ("valid documents: explicit `null`", documents.nulls),
            ("valid documents: digits of numbers", documents.numbers),
            ("valid documents: no added properties", documents.additions),
        ];
        let mut rows: Vec<ConstructRow> = rows.into_values().collect();
        let DocumentCounts { accepted: kept, rejected, .. } = documents;
        rows.push(ConstructRow {
            construct: "valid documents".to_owned(),
            kept,
            rejected,
            ..ConstructRow::default()
        });
        for (construct, (kept, dropped)) in
            features.into_iter().filter(|(_, (kept, dropped))| kept + dropped > 0)
        {
            rows.push(ConstructRow {
                construct: construct.to_owned(),
                kept,
                dropped,
                ..ConstructRow::default()
            });
        }
        let schema_rejections = self
            .rejected
            .iter()
            .map(|(id, reason)| Rejection { location: self.location(*id), reason: reason.clone() });
        let rejections = schema_rejections.chain(self.rejected_documents.iter().cloned()).collect();
        GeneratorReport { generator: "typify", rows, rejections }
    }
}

/// The features of a document that a round trip can lose, and those that it lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RoundTripLosses {
    present: DocumentFeatures,
    properties: bool,
    nulls: bool,
    numbers: bool,
    additions: bool,
}

/// Which of the features that a round trip can lose occur in a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DocumentFeatures {
    properties: bool,
    nulls: bool,
    numbers: bool,
}

impl RoundTripLosses {
    fn compare(&mut self, value: &Json, out: &Json) {
        match (value, out) {
            (Json::Object(before), Json::Object(after)) => {
                for (name, value) in before.iter() {
                    self.present.properties = true;
                    self.present.nulls |= value.is_null();
                    match after.get(name) {
                        Some(out) => self.compare(value, out),
                        None if value.is_null() => self.nulls = true,
                        None => self.properties = true,
                    }
                }
                self.additions |= after.keys().any(|name| !before.contains_key(name));
            }
            (Json::Array(before), Json::Array(after)) => {
                before.iter().zip(after).for_each(|(value, out)| self.compare(value, out));
            }
            (Json::Number(before), Json::Number(after)) => {
                self.present.numbers = true;
                self.numbers |= before != after;
            }
            _ => {}
        }
    }
}

/// Renders a JSON value, truncated to one line of a report.
pub(super) fn truncate_json(value: &Json) -> String {
    let text = value.to_string();
    if text.chars().count() <= MAX_VALUE_LENGTH {
        return text;
    }
    text.chars().take(MAX_VALUE_LENGTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
