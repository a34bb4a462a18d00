//! The constraints that generated types do not enforce during parsing. Tests use this list to check that the
//! report covers every violation that a parsed value can have.

use std::collections::BTreeSet;

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    enforced_constraints::{EnforcedBy, collect_constraints, schema_with_keyword},
    schema::{Schema, SchemaGraph, SchemaId},
};

/// The constraints of a contract that the generated types do not enforce during parsing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnenforcedConstraints {
    /// The schema location and the keyword of each constraint.
    listed: BTreeSet<(String, &'static str)>,
    /// The locations of all subschemas that the listed constraints evaluate, such as the schema in `not`.
    applied: BTreeSet<String>,
}

impl UnenforcedConstraints {
    /// Collects the constraints of a contract that the Rust types do not enforce.
    #[must_use]
    pub fn for_contract(contract: &AnalyzedContract) -> Self {
        let graph = &contract.graph;
        let mut open = Self::default();
        let mut seen = BTreeSet::new();
        for found in
            collect_constraints(contract).into_iter().filter(|found| found.enforcement != EnforcedBy::Type)
        {
            open.listed.insert((graph.absolute_location(found.schema), found.keyword));
            let mut work =
                applied_schemas(graph, &schema_with_keyword(graph.schema(found.schema), found.keyword));
            while let Some(id) = work.pop() {
                if seen.insert(id) {
                    open.applied.insert(graph.absolute_location(id));
                    work.extend(applied_schemas(graph, graph.schema(id)));
                }
            }
        }
        open
    }

    /// Returns true if one of these constraints explains a violation. `location` and `keyword` are the schema
    /// and the keyword that are violated. They must be those of a listed constraint, or belong to a subschema
    /// that such a constraint evaluates.
    #[must_use]
    pub fn covers(&self, location: &str, keyword: &str) -> bool {
        let keyword = match keyword {
            "minContains" | "maxContains" => "contains",
            "then" | "else" => "if",
            other => other,
        };
        self.applied.contains(location)
            || self.listed.iter().any(|(listed, by)| listed == location && *by == keyword)
    }
}

/// Returns the subschemas that the validation of a schema may evaluate. A `$dynamicRef` to an anchor may
/// evaluate every schema with that anchor (Core 8.2.3.2).
fn applied_schemas(graph: &SchemaGraph, schema: &Schema) -> Vec<SchemaId> {
    let mut all: Vec<SchemaId> = schema.child_schemas().collect();
    if let Some(name) = schema.dynamic_reference.as_ref().and_then(|dynamic| dynamic.anchor.as_ref()) {
        let anchors = graph.resources.iter().flat_map(|resource| &resource.dynamic_anchors);
        all.extend(anchors.filter(|(known, _)| known == name).map(|(_, id)| *id));
    }
    all
}
