//! Runs typify on the schemas of a contract and reports the schemas that it rejects and how its types
//! handle test documents.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen::lower::{
    names::Names,
    schemas::{Dialect, Schemas, Written},
};
use contract_codegen_core::{
    analyzed_contract::AnalyzedContract, conjunction::sample::SampleEffort,
    enforced_constraints::collect_constraints, locations::LocationFormatter, schema::SchemaId,
    tables::TableArenas,
};
use contract_runtime::Json;
use serde_json::{Value, json};

use super::{
    Opinion, Refusal, Row,
    probes::{Asks, probes},
    process::{Endless, Engines, Made},
    types::Types,
};

/// Maximum number of typify runs; schemas that fail after these are reported as rejected.
const RUNS: usize = 400;
/// Number of schemas above which fewer test documents are generated per schema.
const MANY: usize = 400;
/// Maximum length in characters of a JSON value in a report.
const LONGEST: usize = 120;

/// The vocabulary in which a schema is written for typify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    /// All keywords of draft-07.
    Full,
    /// The keywords that draft-07 and OpenAPI 3.0 share.
    Fewer,
    /// No keywords: the schema accepts every value.
    None,
}

/// Runs typify on every schema and measures the resulting types.
pub(super) fn ask(contract: &AnalyzedContract, engines: &Engines, names: &Names) -> Opinion {
    let (pieces, refused) = made(contract, engines, names);
    Measuring::new(contract, names, refused).measure(pieces)
}

/// Groups of schemas, each with typify's output for it.
type Pieces = Vec<(Vec<SchemaId>, Made)>;

/// Runs typify on all schemas and returns its output and the rejected schemas.
fn made(
    contract: &AnalyzedContract,
    engines: &Engines,
    names: &Names,
) -> (Pieces, BTreeMap<SchemaId, String>) {
    let mut asking = Asking {
        full: Schemas::new(&contract.graph, Dialect::Draft7),
        fewer: Schemas::new(&contract.graph, Dialect::Plain),
        engines,
        names,
        words: names.iter().map(|(id, _)| (id, Words::Full)).collect(),
        refused: BTreeMap::new(),
        runs: 0,
        endless: Endless::default(),
    };
    let all: Vec<SchemaId> = names.iter().map(|(id, _)| id).collect();
    let mut pieces = asking.pieces(&all);
    if pieces.len() > 1
        && let Ok(made) = asking.run(&all)
    {
        pieces = vec![(all, made)];
    }
    (pieces, asking.refused)
}

struct Asking<'a> {
    full: Schemas<'a>,
    fewer: Schemas<'a>,
    engines: &'a Engines,
    names: &'a Names,
    words: BTreeMap<SchemaId, Words>,
    refused: BTreeMap<SchemaId, String>,
    runs: usize,
    endless: Endless,
}

impl Asking<'_> {
    /// Returns typify's output for a group of schemas. The group is split only if typify rejects it.
    fn pieces(&mut self, group: &[SchemaId]) -> Pieces {
        if let Some(reason) = self.refusal() {
            for id in group {
                self.words.insert(*id, Words::None);
                self.refused.entry(*id).or_insert_with(|| reason.clone());
            }
            return Vec::new();
        }
        let reason = match self.run(group) {
            Ok(made) => return vec![(group.to_vec(), made)],
            Err(reason) => reason,
        };
        match group {
            [] => Vec::new(),
            [one] => {
                let fewer = match self.words.get(one) {
                    Some(Words::Full) => Words::Fewer,
                    _ => Words::None,
                };
                self.words.insert(*one, fewer);
                self.refused.entry(*one).or_insert(reason);
                if fewer == Words::None { Vec::new() } else { self.pieces(group) }
            }
            _ => {
                let (left, right) = group.split_at(group.len() / 2);
                let mut pieces = self.pieces(left);
                pieces.extend(self.pieces(right));
                pieces
            }
        }
    }

    /// Returns the reason why no further runs are made, if a limit is reached.
    fn refusal(&self) -> Option<String> {
        let many = || (self.runs >= RUNS).then(|| format!("not asked: {RUNS} runs were made before"));
        self.endless.refusal().or_else(many)
    }

    /// Runs typify on a group of schemas. Schemas outside of the group accept every value.
    fn run(&mut self, group: &[SchemaId]) -> Result<Made, String> {
        let asked: BTreeSet<SchemaId> = group.iter().copied().collect();
        let mut link = |id: SchemaId| format!("#/definitions/{}", self.names.get(id));
        let mut definitions = serde_json::Map::new();
        for (id, name) in self.names.iter() {
            let words = if asked.contains(&id) { self.words.get(&id) } else { None };
            let mut written = Written { link: &mut link, lost: BTreeSet::new() };
            let schema = match words {
                Some(Words::Full) => self.full.write(id, &mut written),
                Some(Words::Fewer) => self.fewer.write(id, &mut written),
                _ => Value::Bool(true),
            };
            definitions.insert(name.to_owned(), schema);
        }
        self.runs += 1;
        self.endless.hear(self.engines.typify(json!({ "definitions": definitions })))
    }
}

/// The observations about one rule.
#[derive(Clone, Debug, Default)]
struct Seen {
    kept: usize,
    /// A document that violates the rule and was accepted.
    let_through: Option<Json>,
}

struct Measuring<'a> {
    contract: &'a AnalyzedContract,
    whereabouts: LocationFormatter<'a>,
    names: &'a Names,
    refused: BTreeMap<SchemaId, String>,
    rules: BTreeMap<(String, String), Seen>,
    formats: BTreeMap<SchemaId, bool>,
    defaults: BTreeMap<SchemaId, bool>,
    documents: Documents,
    /// Valid documents that typify's types rejected.
    narrow: Vec<Refusal>,
}

/// Counts of valid documents by outcome.
#[derive(Clone, Copy, Debug, Default)]
struct Documents {
    read: usize,
    refused: usize,
    /// Properties without a corresponding field.
    members: (usize, usize),
    /// Explicit `null` as opposed to an absent property.
    nulls: (usize, usize),
    /// The digits of numbers.
    numbers: (usize, usize),
    /// Absence of properties that the input did not contain.
    additions: (usize, usize),
}

impl<'a> Measuring<'a> {
    fn new(contract: &'a AnalyzedContract, names: &'a Names, refused: BTreeMap<SchemaId, String>) -> Self {
        Self {
            contract,
            whereabouts: LocationFormatter::new(contract),
            names,
            refused,
            rules: BTreeMap::new(),
            formats: BTreeMap::new(),
            defaults: BTreeMap::new(),
            documents: Documents::default(),
            narrow: Vec::new(),
        }
    }

    fn measure(mut self, pieces: Pieces) -> Opinion {
        let arenas = TableArenas::default();
        let tables = self.contract.build_tables(&arenas);
        let many = self.names.iter().count() > MANY;
        let effort = if many { SampleEffort::Within(100) } else { SampleEffort::Thorough };
        for (group, made) in pieces {
            let types = match Types::of(&made.code) {
                Ok(types) => types,
                Err(reason) => {
                    self.refused.extend(group.into_iter().map(|id| (id, reason.clone())));
                    continue;
                }
            };
            for id in group {
                let Some(name) = made.types.get(self.names.get(id)) else { continue };
                let mut narrow = None;
                for probe in probes(self.contract, &tables, id, effort) {
                    let out = types.round(name, &probe.value.to_value());
                    match probe.asks {
                        Asks::Valid => match out {
                            Some(out) => self.compare(&probe.value, &out),
                            None => {
                                self.documents.refused += 1;
                                narrow.get_or_insert(probe.value);
                            }
                        },
                        Asks::Rule(keyword, location) => {
                            let key = (keyword.to_owned(), location.to_string());
                            let seen = self.rules.entry(key).or_default();
                            match out {
                                Some(_) => drop(seen.let_through.get_or_insert(probe.value)),
                                None => seen.kept += 1,
                            }
                        }
                        Asks::Format(schema) => {
                            let kept = self.formats.entry(schema).or_insert(true);
                            *kept &= out.is_none();
                        }
                        Asks::Default(schema, pointer) => {
                            let Some(out) = out else { continue };
                            let kept = self.defaults.entry(schema).or_insert(true);
                            *kept &= out.pointer(&pointer).is_some();
                        }
                    }
                }
                if let Some(value) = narrow {
                    let place = self.place(id);
                    self.narrow.push(Refusal { place, reason: format!("cannot hold {}", short(&value)) });
                }
            }
        }
        self.opinion()
    }

    fn compare(&mut self, value: &Json, out: &Value) {
        let Ok(out) = Json::parse(out.to_string().as_bytes()) else { return };
        let mut lost = Lost::default();
        lost.look(value, &out);
        let documents = &mut self.documents;
        let count = |(kept, dropped): &mut (usize, usize), asked: bool, lost: bool| {
            *kept += usize::from(asked && !lost);
            *dropped += usize::from(lost);
        };
        documents.read += 1;
        count(&mut documents.members, lost.has.members, lost.members);
        count(&mut documents.nulls, lost.has.nulls, lost.nulls);
        count(&mut documents.numbers, lost.has.numbers, lost.numbers);
        count(&mut documents.additions, lost.has.members, lost.additions);
    }

    fn place(&self, id: SchemaId) -> String {
        self.whereabouts.format_location(&self.contract.graph.schema(id).place)
    }

    fn opinion(self) -> Opinion {
        let graph = &self.contract.graph;
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        let refused: Vec<String> = self.refused.keys().map(|id| graph.absolute_location(*id)).collect();
        let within = |location: &str| {
            let inside = |root: &String| {
                location
                    .strip_prefix(root.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || root.ends_with('#'))
            };
            refused.iter().any(inside)
        };
        let mut seen = self.rules.clone();
        for constraint in collect_constraints(self.contract) {
            let location = graph.absolute_location(constraint.schema);
            let row = Row::of(&mut rows, constraint.keyword);
            match seen.remove(&(constraint.keyword.to_owned(), location.clone())) {
                Some(Seen { let_through: None, .. }) => row.kept += 1,
                Some(Seen { kept, let_through: Some(value) }) => {
                    let at_times = if kept > 0 { "at times " } else { "" };
                    let place = self.place(constraint.schema);
                    row.drop_at(format!("{place} {at_times}lets {} through", short(&value)));
                }
                None if within(&location) => row.refused += 1,
                None => row.unasked += 1,
            }
        }
        for (construct, verdicts) in [("format", &self.formats), ("default", &self.defaults)] {
            for (id, kept) in verdicts {
                let row = Row::of(&mut rows, construct);
                if *kept { row.kept += 1 } else { row.drop_at(self.place(*id)) }
            }
        }
        let documents = self.documents;
        let told = [
            ("valid documents: members without a field", documents.members),
            ("valid documents: `null` against absent", documents.nulls),
            ("valid documents: digits of numbers", documents.numbers),
            ("valid documents: nothing added", documents.additions),
        ];
        let mut rows: Vec<Row> = rows.into_values().collect();
        let Documents { read: kept, refused, .. } = documents;
        rows.push(Row { construct: "valid documents".to_owned(), kept, refused, ..Row::default() });
        for (construct, (kept, dropped)) in told.into_iter().filter(|(_, (kept, dropped))| kept + dropped > 0)
        {
            rows.push(Row { construct: construct.to_owned(), kept, dropped, ..Row::default() });
        }
        let reasons = self
            .refused
            .iter()
            .map(|(id, reason)| Refusal { place: self.place(*id), reason: reason.clone() });
        let refusals = reasons.chain(self.narrow.iter().cloned()).collect();
        Opinion { engine: "typify", rows, refusals }
    }
}

/// The features of a document that a round trip may lose, and those that were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lost {
    has: Has,
    members: bool,
    nulls: bool,
    numbers: bool,
    additions: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Has {
    members: bool,
    nulls: bool,
    numbers: bool,
}

impl Lost {
    fn look(&mut self, value: &Json, out: &Json) {
        match (value, out) {
            (Json::Object(before), Json::Object(after)) => {
                for (name, value) in before.iter() {
                    self.has.members = true;
                    self.has.nulls |= value.is_null();
                    match after.get(name) {
                        Some(out) => self.look(value, out),
                        None if value.is_null() => self.nulls = true,
                        None => self.members = true,
                    }
                }
                self.additions |= after.keys().any(|name| !before.contains_key(name));
            }
            (Json::Array(before), Json::Array(after)) => {
                before.iter().zip(after).for_each(|(value, out)| self.look(value, out));
            }
            (Json::Number(before), Json::Number(after)) => {
                self.has.numbers = true;
                self.numbers |= before != after;
            }
            _ => {}
        }
    }
}

/// Renders a JSON value, truncated to one line of a report.
pub(super) fn short(value: &Json) -> String {
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
