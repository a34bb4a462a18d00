//! Finds schemas that no finite value satisfies, because each valid value would have to contain itself.
//!
//! No finite value satisfies
//! `{"properties": {"next": {"$ref": "#"}}, "required": ["next"], "type": "object"}`. The search computes a
//! least fixpoint: a schema has a finite value if all schemas that it requires have one. Keywords that
//! require no subschema (limits, patterns, `not`, `false`) are assumed to allow some value, so no schema is
//! reported for another reason.

use std::collections::{BTreeMap, BTreeSet, VecDeque, btree_map::Entry};

use super::{SchemaConjunction, SchemaFacts};
use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    schema::{Schema, SchemaGraph, SchemaId, TypeSet, keywords::Keyword},
};

/// The maximum number of schemas of a cycle that a diagnostic lists.
const MAX_SHOWN: usize = 6;

/// Returns the schemas that are part of a cycle of requirements. No finite value satisfies these schemas.
/// Adds a warning for each cycle.
///
/// `implied` is true if a schema with `properties` and without `type` describes an object.
pub(crate) fn find_infinite_schemas(
    graph: &SchemaGraph,
    implied: bool,
    problems: &mut Diagnostics,
) -> BTreeSet<SchemaId> {
    let without = schemas_without_value(graph, implied);
    let mut on_cycles = BTreeSet::new();
    for id in graph.ids().filter(|id| without.contains(id)) {
        if on_cycles.contains(&id) {
            continue;
        }
        let required = reachable_requirements(graph, implied, &without, id);
        let Some(cycle) = shortest_cycle(&required, id) else { continue };
        problems.push(report_cycle(graph, &cycle));
        on_cycles.extend(schemas_requiring(&required, id));
    }
    on_cycles
}

/// For each schema without a finite value, the schemas without a finite value that it requires.
type RequirementGraph = BTreeMap<SchemaId, Vec<SchemaId>>;

/// Returns the part of the requirement graph that is reachable from `start`.
fn reachable_requirements(
    graph: &SchemaGraph,
    implied: bool,
    without: &BTreeSet<SchemaId>,
    start: SchemaId,
) -> RequirementGraph {
    let mut found = RequirementGraph::new();
    let mut work = vec![start];
    while let Some(id) = work.pop() {
        if let Entry::Vacant(new) = found.entry(id) {
            let requirements =
                requirements_of(graph, id, implied).into_iter().flatten().filter(|id| without.contains(id));
            work.extend(new.insert(requirements.collect()).iter());
        }
    }
    found
}

/// Returns the schemas in the graph that require `start`, directly or transitively.
fn schemas_requiring(required: &RequirementGraph, start: SchemaId) -> BTreeSet<SchemaId> {
    let mut found = BTreeSet::new();
    let mut work = vec![start];
    while let Some(id) = work.pop() {
        if found.insert(id) {
            work.extend(
                required
                    .iter()
                    .filter(|(_, requirements)| requirements.contains(&id))
                    .map(|(dependent, _)| *dependent),
            );
        }
    }
    found
}

/// One requirement of a schema: at least one of these schemas must have a value.
type Alternatives = Vec<SchemaId>;

/// Returns the requirements that must be met for a schema to have a finite value.
fn requirements_of(graph: &SchemaGraph, id: SchemaId, implied: bool) -> Vec<Alternatives> {
    let schema = graph.schema(id);
    let mut requirements: Vec<Alternatives> = Vec::new();
    requirements.extend(schema.reference.map(|target| vec![target]));
    requirements
        .extend(schema.dynamic_reference.iter().filter(|d| d.anchor.is_none()).map(|d| vec![d.initial]));
    requirements.extend(schema.all_of.iter().map(|part| vec![*part]));
    requirements.extend([&schema.any_of, &schema.one_of].into_iter().filter(|all| !all.is_empty()).cloned());
    // A schema that is only a reference requires a value of its target, and scalars contain no other values.
    let scalar = schema
        .types
        .is_some_and(|types| types.intersection(TypeSet::OBJECT.union(TypeSet::ARRAY)).is_empty());
    if scalar || schema.is_constrained_only_by(&[Keyword::Ref]) {
        return requirements;
    }
    // Required properties may be declared in another part of an `allOf`, so all schemas that apply are
    // considered.
    let facts = SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schema(id), implied);
    if facts.allowed_literals(graph).is_some() {
        return requirements;
    }
    if facts.types == TypeSet::OBJECT {
        let required = facts.required_names(graph);
        let needed =
            facts.declared_properties(graph).into_iter().filter(|(name, ..)| required.contains(name));
        requirements.extend(needed.flat_map(|(_, always, _)| always).map(|id| vec![id]));
        let least =
            facts.unconditional.iter().filter_map(|id| graph.schema(*id).min_properties).max().unwrap_or(0);
        requirements.extend(
            facts
                .unconditional
                .iter()
                .filter_map(|id| any_property_requirement(graph, graph.schema(*id), least)),
        );
    } else if facts.types == TypeSet::ARRAY {
        let members = || facts.unconditional.iter().map(|id| graph.schema(*id));
        let least = members().filter_map(|s| s.min_items).max().unwrap_or(0);
        let least = usize::try_from(least).unwrap_or(usize::MAX);
        for schema in members() {
            requirements.extend(schema.prefix_items.iter().take(least).map(|id| vec![*id]));
            requirements
                .extend(schema.items.filter(|_| least > schema.prefix_items.len()).map(|id| vec![id]));
            let contains = schema.contains.iter().filter(|contains| contains.min != Some(0));
            requirements.extend(contains.map(|contains| vec![contains.schema]));
        }
    }
    requirements
}

/// Returns the requirement that `minProperties: least` causes: at least one schema of a property must have a
/// value. The schemas in `properties` are included only if they alone can reach `least` properties. Returns
/// `None` if there is no such requirement, for example because `additionalProperties` is absent.
fn any_property_requirement(graph: &SchemaGraph, schema: &Schema, least: u64) -> Option<Alternatives> {
    let others = schema.additional_properties.filter(|_| least > 0)?;
    let enough = usize::try_from(least).is_ok_and(|least| least <= schema.properties.len());
    let named = schema.properties.iter().filter(|_| enough).chain(&schema.pattern_properties);
    let mut alternatives: Alternatives = named.map(|(_, id)| *id).chain([others]).collect();
    // The schema `false` accepts no value, so it cannot satisfy the requirement.
    alternatives.retain(|id| graph.schema(*id).boolean != Some(false));
    (!alternatives.is_empty()).then_some(alternatives)
}

/// Returns the schemas that accept no finite value.
fn schemas_without_value(graph: &SchemaGraph, implied: bool) -> BTreeSet<SchemaId> {
    let all: Vec<Vec<Alternatives>> = graph.ids().map(|id| requirements_of(graph, id, implied)).collect();
    // For each schema, the indices of the schemas to check again after it turns out to have a value.
    let mut dependents: BTreeMap<SchemaId, Vec<usize>> = BTreeMap::new();
    for (at, requirements) in all.iter().enumerate() {
        for required in requirements.iter().flatten() {
            dependents.entry(*required).or_default().push(at);
        }
    }
    let ids: Vec<SchemaId> = graph.ids().collect();
    let mut without: BTreeSet<SchemaId> = ids.iter().copied().collect();
    let mut work: Vec<usize> = (0..ids.len()).collect();
    while let Some(at) = work.pop() {
        let (Some(id), Some(requirements)) = (ids.get(at), all.get(at)) else { continue };
        let satisfied =
            requirements.iter().all(|alternatives| alternatives.iter().any(|id| !without.contains(id)));
        if satisfied && without.remove(id) {
            work.extend(dependents.get(id).into_iter().flatten());
        }
    }
    without
}

/// Returns the shortest cycle of requirements that starts and ends at `start`, if there is one.
fn shortest_cycle(required: &RequirementGraph, start: SchemaId) -> Option<Vec<SchemaId>> {
    let mut from: BTreeMap<SchemaId, SchemaId> = BTreeMap::new();
    let mut work = VecDeque::from([start]);
    while let Some(at) = work.pop_front() {
        for &next in required.get(&at).into_iter().flatten() {
            if next == start {
                let mut path = vec![at];
                while let Some(before) = path.last().filter(|id| **id != start).and_then(|id| from.get(id)) {
                    path.push(*before);
                }
                path.reverse();
                return Some(path);
            }
            if let Entry::Vacant(new) = from.entry(next) {
                new.insert(at);
                work.push_back(next);
            }
        }
    }
    None
}

fn report_cycle(graph: &SchemaGraph, cycle: &[SchemaId]) -> Diagnostic {
    let name = |id: &SchemaId| format!("#{}", graph.schema(*id).location);
    let mut names: Vec<String> = cycle.iter().take(MAX_SHOWN).map(name).collect();
    if cycle.len() > MAX_SHOWN {
        names.push("…".to_owned());
    }
    names.extend(cycle.first().map(name));
    let message = format!(
        "no finite value is valid, because each of these schemas requires a value of the next one: {}",
        names.join(" → ")
    );
    let mut problem = Diagnostic::warning("no-finite-value", message)
        .help("leave one of these out of `required` (or `minItems`, `minProperties`), or let it be `null`");
    let places = cycle.iter().map(|id| graph.schema(*id).place.clone());
    for (at, place) in places.enumerate().take(MAX_SHOWN) {
        problem =
            if at == 0 { problem.with_place(place) } else { problem.with_label(place, "required here") };
    }
    problem
}

#[cfg(test)]
mod tests;
