//! What the values of a `discriminator`'s member mean (OpenAPI 3.1, 4.8.25).

use std::collections::BTreeSet;

use crate::schema::{Discriminator, Graph, Origin, SchemaId};

/// How many references in a row are followed to the schema that a mapping names.
const FOLLOWED: usize = 16;

/// The values that mean a branch: those of the mapping, or of a branch that the mapping leaves out its
/// own name.
pub(crate) fn meant<'g>(
    graph: &'g Graph,
    discriminator: &'g Discriminator,
    branch: SchemaId,
) -> Vec<&'g str> {
    values(graph, discriminator, &targets(graph, branch))
}

/// The values that mean a child of `base`, of which it may be only another name.
pub(crate) fn meant_below<'g>(
    graph: &'g Graph,
    discriminator: &'g Discriminator,
    child: SchemaId,
    base: SchemaId,
) -> Vec<&'g str> {
    let own = targets(graph, child).into_iter().take_while(|id| *id == child || *id != base);
    values(graph, discriminator, &own.collect::<Vec<_>>())
}

fn values<'g>(graph: &'g Graph, discriminator: &'g Discriminator, targets: &[SchemaId]) -> Vec<&'g str> {
    let Discriminator { mapping, .. } = discriminator;
    let mapped = mapping.iter().filter(|(_, id)| targets.contains(id));
    let values: Vec<&str> = mapped.map(|(value, _)| value.as_str()).collect();
    if !values.is_empty() {
        return values;
    }
    let own = targets.iter().find_map(|id| match &graph.schema(*id).origin {
        Origin::Component(name) | Origin::Definition(name) => Some(name.as_str()),
        Origin::Root(_) | Origin::Inline => None,
    });
    own.filter(|own| mapping.iter().all(|(value, _)| value != own)).into_iter().collect()
}

/// Whether a branch is what other values mean, and none.
pub(crate) fn is_default(graph: &Graph, discriminator: &Discriminator, branch: SchemaId) -> bool {
    discriminator.default.is_some_and(|default| targets(graph, branch).contains(&default))
}

/// A branch and what it is only another name for.
fn targets(graph: &Graph, branch: SchemaId) -> Vec<SchemaId> {
    let mut all = vec![branch];
    let mut here = graph.schema(branch);
    while all.len() < FOLLOWED
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

/// The bases of a graph that a `discriminator` makes families of, and the schemas with a name that take
/// each in.
pub(crate) fn families(graph: &Graph) -> Vec<(SchemaId, Vec<SchemaId>)> {
    let is_base = |id: &SchemaId| {
        let schema = graph.schema(*id);
        schema.discriminator.is_some() && schema.one_of.is_empty() && schema.any_of.is_empty()
    };
    let bases: Vec<SchemaId> = graph.ids().filter(is_base).collect();
    if bases.is_empty() {
        return Vec::new();
    }
    let mut takers = graph.schemas.map(|_| Vec::new());
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
        // Another name of the base is no child.
        let is_child = |id: &SchemaId| {
            let schema = graph.schema(*id);
            let named = matches!(schema.origin, Origin::Component(_) | Origin::Definition(_));
            named && !(schema.reference.is_some() && schema.is_bare())
        };
        found.into_iter().filter(is_child).collect::<Vec<_>>()
    };
    let all = bases.into_iter().map(|base| (base, children(base)));
    all.filter(|(_, children)| !children.is_empty()).collect()
}
