//! Resolves `discriminator` values to schemas (OpenAPI 3.1, 4.8.25).

use std::collections::BTreeSet;

use crate::{
    conjunction::{SchemaConjunction, SchemaFacts},
    schema::{Discriminator, SchemaGraph, SchemaId, SchemaOrigin},
};

/// The maximum number of consecutive references that are followed from a branch.
const MAX_ALIASES: usize = 16;

/// Returns the tag values that select a branch: its mapping entries, or else the name of the branch's schema.
pub fn discriminator_values<'g>(
    graph: &'g SchemaGraph,
    discriminator: &'g Discriminator,
    branch: SchemaId,
) -> Vec<&'g str> {
    mapped_values(graph, discriminator, &resolve_aliases(graph, branch))
}

/// Returns the tag values that select `child`, a schema that extends `base`. If the child is an alias of the
/// base, values that the mapping assigns to the base itself are not included.
pub(crate) fn subtype_values<'g>(
    graph: &'g SchemaGraph,
    discriminator: &'g Discriminator,
    child: SchemaId,
    base: SchemaId,
) -> Vec<&'g str> {
    let own = resolve_aliases(graph, child).into_iter().take_while(|id| *id == child || *id != base);
    mapped_values(graph, discriminator, &own.collect::<Vec<_>>())
}

fn mapped_values<'g>(
    graph: &'g SchemaGraph,
    discriminator: &'g Discriminator,
    targets: &[SchemaId],
) -> Vec<&'g str> {
    let Discriminator { mapping, .. } = discriminator;
    let mapped = mapping.iter().filter(|(_, id)| targets.contains(id));
    let values: Vec<&str> = mapped.map(|(value, _)| value.as_str()).collect();
    if !values.is_empty() {
        return values;
    }
    let own = targets.iter().find_map(|id| match &graph.schema(*id).origin {
        SchemaOrigin::Component(name) | SchemaOrigin::Definition(name) => Some(name.as_str()),
        SchemaOrigin::Root(_) | SchemaOrigin::Inline => None,
    });
    own.filter(|own| mapping.iter().all(|(value, _)| value != own)).into_iter().collect()
}

/// Returns true if the `discriminator` declares a branch as the default, which is selected if the tag is
/// unmapped or missing.
pub(crate) fn is_default_branch(
    graph: &SchemaGraph,
    discriminator: &Discriminator,
    branch: SchemaId,
) -> bool {
    discriminator.default.is_some_and(|default| resolve_aliases(graph, branch).contains(&default))
}

/// Returns a branch, followed by the schemas to which it refers directly or transitively without further
/// keywords.
fn resolve_aliases(graph: &SchemaGraph, branch: SchemaId) -> Vec<SchemaId> {
    let mut all = vec![branch];
    let mut here = graph.schema(branch);
    while all.len() < MAX_ALIASES
        && here.is_bare()
        && let Some(next) = here.reference.or(match here.all_of.as_slice() {
            [only] => Some(*only),
            _ => None,
        })
    {
        all.push(next);
        here = graph.schema(next);
    }
    all
}

/// Returns each base schema, which has a `discriminator` and no union, together with the named schemas that
/// extend it by `$ref` or `allOf`. Base schemas that no schema extends are omitted.
pub fn find_families(graph: &SchemaGraph) -> Vec<(SchemaId, Vec<SchemaId>)> {
    let is_base = |id: &SchemaId| {
        let schema = graph.schema(*id);
        schema.discriminator.is_some() && schema.one_of.is_empty() && schema.any_of.is_empty()
    };
    let bases: Vec<SchemaId> = graph.ids().filter(is_base).collect();
    if bases.is_empty() {
        return Vec::new();
    }
    let mut takers = graph.schemas.map_ids(|_| Vec::new());
    for id in graph.ids() {
        let schema = graph.schema(id);
        schema.reference.iter().chain(&schema.all_of).for_each(|part| takers[*part].push(id));
    }
    let children = |base: SchemaId| {
        let mut found = BTreeSet::new();
        let mut waiting = vec![base];
        while let Some(id) = waiting.pop() {
            waiting.extend(takers[id].iter().filter(|taker| **taker != base && found.insert(**taker)));
        }
        // A named schema that only refers to another schema does not extend it.
        let is_child = |id: &SchemaId| {
            let schema = graph.schema(*id);
            let named = matches!(schema.origin, SchemaOrigin::Component(_) | SchemaOrigin::Definition(_));
            named && !(schema.reference.is_some() && schema.is_bare())
        };
        found.into_iter().filter(is_child).collect::<Vec<_>>()
    };
    let all = bases.into_iter().map(|base| (base, children(base)));
    all.filter(|(_, children)| !children.is_empty()).collect()
}

/// Returns the targets of schemas that consist only of a `$ref` and are not elements of `allOf`. Values of
/// these targets occur on their own, not as a part of a combined schema.
pub fn value_schemas(graph: &SchemaGraph) -> BTreeSet<SchemaId> {
    let parts: BTreeSet<SchemaId> =
        graph.ids().flat_map(|id| graph.schema(id).all_of.iter().copied()).collect();
    let references = graph.ids().filter(|id| graph.schema(*id).is_bare() && !parts.contains(id));
    references.filter_map(|id| graph.schema(id).reference).collect()
}

/// Returns true if the base schema, or else each of the schemas that extend it (`children`), requires the tag
/// property.
pub fn requires_tag(graph: &SchemaGraph, base: SchemaId, children: &[SchemaId]) -> bool {
    let Some(discriminator) = &graph.schema(base).discriminator else { return false };
    let requires = |id: SchemaId| {
        let facts = SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schema(id), true);
        facts.required_names(graph).contains(discriminator.tag.as_str())
    };
    requires(base) || children.iter().all(|child| requires(*child))
}
