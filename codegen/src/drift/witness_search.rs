//! Searches for breaking changes that no rule reports, that is, for values that one version accepts and the
//! other refuses.
//!
//! Rules compare single keywords, but validity depends on all keywords together. The search tries values of
//! the sending version at each location for which no rule reports a breaking change, neither at the location
//! itself nor below it. A value is reported only if the sending version describes all of its properties,
//! because clients do not depend on undeclared properties.

use std::{cmp::Reverse, collections::BTreeSet};

use contract_codegen_core::{conjunction::sample::SampleEffort, schema::SchemaId};
use contract_runtime::Json;

use super::{
    comparison::Comparison,
    enumerations::format_value,
    flattened::FlattenedSchema,
    proof::{SchemaProver, VersionSide},
    rules,
    site::{ComparisonSite, ValueUse},
    verdicts::KeywordFacet,
    whole_values::{WholeValueChecker, WholeVerdict, Witness},
};

/// The maximum number of pairs with changed keywords for which values are tried.
const MAX_CHANGED_PAIRS: usize = 400;
/// The maximum number of pairs that differ only in subschemas and for which values are tried.
const MAX_UNCHANGED_PAIRS: usize = 12;
/// The maximum number of pairs for which many values are tried. If there are more pairs, fewer values are
/// tried for each pair.
const MAX_THOROUGH_PAIRS: usize = 60;

/// A pair of schemas that was compared keyword by keyword.
#[derive(Clone, Debug)]
pub(super) struct VisitedPair {
    pub(super) site: ComparisonSite,
    /// The node of the pair in the path graph.
    pub(super) node: usize,
    pub(super) old: Vec<SchemaId>,
    pub(super) new: Vec<SchemaId>,
}

/// A search for values that only one version accepts, over all pairs that were compared.
pub(super) struct WitnessSearch<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    /// The nodes of the path graph with a reported breaking change, and all ancestors of these nodes.
    broken: BTreeSet<usize>,
}

impl<'c, 'g> WitnessSearch<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>) -> Self {
        Self { comparison, broken: BTreeSet::new() }
    }

    /// Tries values for the pairs without a reported breaking change, and reports the values that break
    /// clients.
    pub(super) fn search_witnesses(&mut self, mut visited: Vec<VisitedPair>) {
        if self.comparison.enabled_prover(ValueUse::Read).is_none() || visited.is_empty() {
            return;
        }
        for node in self.comparison.findings().breaking_nodes() {
            self.comparison.findings().add_with_ancestors(node, &mut self.broken);
        }
        visited.retain(|each| !self.broken.contains(&each.node) && self.comparison.is_value_node(each.node));
        // Inner locations come first, so that the location nearest to the difference is reported.
        visited.sort_by_key(|each| Reverse(each.node));
        let is_quick = visited.len() > MAX_THOROUGH_PAIRS;
        let effort = if is_quick { SampleEffort::Quick } else { SampleEffort::Thorough };
        let identity = self.comparison.identity();
        let (unchanged, changed): (Vec<_>, Vec<_>) =
            visited.into_iter().partition(|each| match (each.old.as_slice(), each.new.as_slice()) {
                ([old], [new]) => identity.has_same_content(*old, *new),
                _ => false,
            });
        let changed = changed.into_iter().take(MAX_CHANGED_PAIRS);
        for pair in changed.chain(unchanged.into_iter().take(MAX_UNCHANGED_PAIRS)) {
            if !self.broken.contains(&pair.node) {
                self.search_pair(pair, effort);
            }
        }
    }

    fn search_pair(&mut self, visited: VisitedPair, effort: SampleEffort) {
        let VisitedPair { site, node, old, new } = visited;
        let sides = ((VersionSide::Old, old.as_slice()), (VersionSide::New, new.as_slice()));
        let (giving, refusing) = if site.value_use == ValueUse::Write { sides } else { (sides.1, sides.0) };
        let prover = self.comparison.prover(site.value_use);
        let Some(value) = prover.find_refused_value(giving, refusing, (site.value_use, site.types), effort)
        else {
            return;
        };
        let witness = Witness { value: value.clone(), site: site.clone(), whole: None };
        if WholeValueChecker::new(self.comparison).check_witness(&witness) == WholeVerdict::Refuted {
            return;
        }
        let pair = self.comparison.flatten_pair(&old, &new, &site);
        let shown = format_value(&value);
        let message = match site.value_use {
            ValueUse::Write => format!("the schema as a whole no longer accepts {shown}"),
            ValueUse::Read => {
                format!("the schema as a whole now accepts {shown}, which the old version rejects")
            }
        };
        let (facet, verdict) = (KeywordFacet::new(&[]), Some(Err(Some(value))));
        self.comparison.report_with_verdict(rules::VALUES_CHANGED, &pair, message, &facet, verdict);
        self.comparison.findings().add_with_ancestors(node, &mut self.broken);
    }
}

impl SchemaProver<'_> {
    /// Returns true if the schemas of one version describe all properties of a value, and if all of these
    /// properties are sent in the given direction.
    pub(super) fn describes_value(
        &self,
        (side, ids): (VersionSide, &[SchemaId]),
        usage: ValueUse,
        value: &Json,
    ) -> bool {
        let graph = self.graph(side);
        let programs = &graph.programs;
        let is_restrictive = |id: SchemaId| {
            let flat = FlattenedSchema::from_schemas(graph, &[id]);
            flat.is_restrictive(id)
        };
        match value {
            Json::Object(members) => {
                let active = self.active_schemas(side, ids, value);
                members.iter().all(|(name, inner)| {
                    let (mut below, mut declared) = (Vec::new(), Vec::new());
                    let mut is_known = false;
                    for id in &active {
                        let schema = graph.schema(*id);
                        is_known |= schema.required.iter().any(|other| other == name);
                        let before = below.len();
                        let own_properties = schema.properties.iter().filter(|(other, _)| other == name);
                        declared.extend(own_properties.clone().map(|(_, id)| *id));
                        let matching = schema.pattern_properties.iter();
                        let matching =
                            matching.filter(|(pattern, _)| programs.matches_pattern(pattern, name));
                        below.extend(own_properties.chain(matching).map(|(_, id)| *id));
                        if below.len() == before {
                            let others = schema.additional_properties.or(schema.unevaluated_properties);
                            below.extend(others.filter(|id| is_restrictive(*id)));
                        }
                    }
                    (is_known || !below.is_empty())
                        && !graph.is_never_sent(&declared, usage)
                        && self.describes_value((side, &below), usage, inner)
                })
            }
            Json::Array(items) => {
                let active = self.active_schemas(side, ids, value);
                items.iter().enumerate().all(|(at, item)| {
                    let item_schemas = active.iter().filter_map(|id| {
                        let schema = graph.schema(*id);
                        let by_place = schema.prefix_items.get(at).copied().or(schema.items);
                        by_place.or(schema.unevaluated_items)
                    });
                    let counted = active.iter().filter_map(|id| graph.schema(*id).contains.as_ref());
                    let counted = counted.map(|contains| contains.schema);
                    let counted = counted.filter(|id| self.accepts_value(side, &[*id], item));
                    let below: Vec<SchemaId> = item_schemas.chain(counted).collect();
                    self.describes_value((side, &below), usage, item)
                })
            }
            _ => true,
        }
    }

    /// Returns all schemas that apply to a value, including matching branches and the subschemas of matching
    /// conditions.
    fn active_schemas(&self, side: VersionSide, ids: &[SchemaId], value: &Json) -> BTreeSet<SchemaId> {
        let graph = self.graph(side);
        let fits = |id: &SchemaId| self.accepts_value(side, &[*id], value);
        let mut waiting = ids.to_vec();
        let mut active = BTreeSet::new();
        while let Some(id) = waiting.pop() {
            if !active.insert(id) {
                continue;
            }
            let schema = graph.schema(id);
            waiting.extend(schema.reference);
            waiting.extend(schema.dynamic_reference.as_ref().map(|dynamic| dynamic.initial));
            waiting.extend(&schema.all_of);
            waiting.extend(schema.any_of.iter().chain(&schema.one_of).copied().filter(|id| fits(id)));
            if let Some(condition) = &schema.condition {
                waiting.extend(if fits(condition) { schema.then } else { schema.otherwise });
            }
            let has = |name: &str| value.as_object().is_some_and(|members| members.contains_key(name));
            let beside = schema.dependent_schemas.iter().filter(|(name, _)| has(name));
            waiting.extend(beside.map(|(_, id)| *id));
        }
        active
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic on failure")]

    use contract_runtime::Json;

    use super::*;
    use crate::drift::{
        ContractVersion,
        directions::{DirectionProvers, DirectionViews},
        proof::TableStores,
    };

    #[test]
    fn sides_describe_only_values_they_declare_and_send() {
        const SCHEMA: &str = r#"{
            "type": "object", "required": ["r"],
            "properties": {
                "a": {"properties": {"b": {}}}, "l": {"items": {"properties": {"b": {}}}}, "k": {},
                "kept": {"readOnly": true}, "given": {"writeOnly": true}, "any": {"additionalProperties": {}},
                "texts": {"additionalProperties": {"type": "string"}}
            },
            "patternProperties": {"^x": {}},
            "anyOf": [{"required": ["k"], "properties": {"one": {}}}, {"properties": {"r": {}}}]
        }"#;
        let version = ContractVersion::from_strings(&[("a.json", "", SCHEMA)]).unwrap();
        let root: Vec<SchemaId> = version.graph.ids().take(1).collect();
        let directions = DirectionViews::from_versions(&version, &version);
        let tables = <[TableStores<'_>; 3]>::default();
        let provers = DirectionProvers::new(&directions, &tables);
        for (value, reads, writes) in [
            (r#"{}"#, true, true),
            (r#"{"r":1,"a":{"b":1},"x1":2,"l":[{"b":1},{}]}"#, true, true),
            (r#"{"a":{"c":1}}"#, false, false),
            (r#"{"l":[{},{"c":1}]}"#, false, false),
            (r#"{"y":1}"#, false, false),
            // The property `one` is described only if `k` is present.
            (r#"{"one":1}"#, false, false),
            (r#"{"k":1,"one":1}"#, true, true),
            (r#"{"any":{"c":1}}"#, false, false),
            (r#"{"texts":{"c":"1"}}"#, true, true),
            // Here, `readOnly` and `writeOnly` are annotations.
            (r#"{"kept":1,"given":1}"#, true, true),
        ] {
            let json = Json::parse(value.as_bytes()).unwrap();
            let describes =
                |usage| provers.for_direction(usage).describes_value((VersionSide::Old, &root), usage, &json);
            assert_eq!((describes(ValueUse::Read), describes(ValueUse::Write)), (reads, writes), "{value}");
        }
    }
}
