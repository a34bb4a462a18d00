//! What the types of a contract leave to `is_valid`, as something that violations can be held
//! against: whatever a type lets through has to be listed, itself or by what applies it.

use std::collections::BTreeSet;

use crate::{
    explain::{How, carried, constraint::only},
    reading::Reading,
    schema::{Graph, Schema, SchemaId},
};

/// The constraints that a type alone does not carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOpen {
    /// Location and keyword of each.
    listed: BTreeSet<(String, &'static str)>,
    /// Locations of the schemas that the listed ones apply.
    applied: BTreeSet<String>,
}

impl LeftOpen {
    /// Collects them.
    #[must_use]
    pub fn of(contract: &Reading) -> Self {
        let graph = &contract.graph;
        let mut open = Self::default();
        let mut seen = BTreeSet::new();
        for found in carried(contract).into_iter().filter(|found| found.how != How::Type) {
            open.listed.insert((graph.location(found.schema), found.keyword));
            let mut work = applied(graph, &only(graph.schema(found.schema), found.keyword));
            while let Some(id) = work.pop() {
                if seen.insert(id) {
                    open.applied.insert(graph.location(id));
                    work.extend(applied(graph, graph.schema(id)));
                }
            }
        }
        open
    }

    /// Whether a violation is by a constraint that is listed, or by one that a listed one applies;
    /// `location` and `keyword` as a violation names them.
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

/// The schemas that one can apply; a `$dynamicRef` to an anchor, every schema that bears it
/// (Core 8.2.3.2).
fn applied(graph: &Graph, schema: &Schema) -> Vec<SchemaId> {
    let mut all: Vec<SchemaId> = schema.children().collect();
    if let Some(name) = schema.dynamic_reference.as_ref().and_then(|dynamic| dynamic.anchor.as_ref()) {
        let anchors = graph.resources.iter().flat_map(|resource| &resource.dynamic_anchors);
        all.extend(anchors.filter(|(known, _)| known == name).map(|(_, id)| *id));
    }
    all
}
