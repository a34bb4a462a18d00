//! What the values of a `discriminator`'s member mean (OpenAPI 3.1, 4.8.25).

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
    let Discriminator { mapping, .. } = discriminator;
    let targets = targets(graph, branch);
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
