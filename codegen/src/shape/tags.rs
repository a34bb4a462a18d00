//! What tells the branches of a union of objects apart: a member with constants of their own, or
//! what a `discriminator` says about them.

use contract_runtime::{Json, schema::Certainty};

use super::unions::Branch;
use crate::{
    options::Options,
    schema::{Discriminator, Graph, SchemaId},
    together::{Conj, Facts, meaning},
};

/// A member, and the values of it that mean each branch.
pub(super) struct Tag<'g> {
    pub(super) name: &'g str,
    pub(super) certainty: Certainty,
    pub(super) literals: Vec<Vec<Json>>,
    /// The branch that other values mean, and none.
    pub(super) otherwise: Option<usize>,
}

/// The member that every branch requires, and whose constants tell them apart.
pub(super) fn required<'g>(graph: &'g Graph, options: &Options, branches: &[Branch]) -> Option<Tag<'g>> {
    constant(graph, options, branches, Certainty::Required)
}

/// The surest that there is: what every branch requires, what is constant where it is there, what
/// the `discriminator` beside the branches says.
pub(super) fn surest<'g>(
    graph: &'g Graph,
    options: &Options,
    holder: SchemaId,
    branches: &[Branch],
) -> Option<Tag<'g>> {
    let discriminator = graph.schema(holder).discriminator.as_ref();
    required(graph, options, branches)
        .or_else(|| {
            let tag = discriminator?.tag.as_str();
            named(graph, options, tag, branches, Certainty::Present)
        })
        .or_else(|| meant(graph, options, discriminator?, branches))
        .or_else(|| constant(graph, options, branches, Certainty::Present))
}

fn constant<'g>(
    graph: &'g Graph,
    options: &Options,
    branches: &[Branch],
    certainty: Certainty,
) -> Option<Tag<'g>> {
    let candidates = branches.first()?.facts.declared(graph).into_iter().map(|(name, ..)| name);
    candidates.into_iter().find_map(|name| named(graph, options, name, branches, certainty))
}

/// The tag of a name, when its constants tell all branches apart.
fn named<'g>(
    graph: &Graph,
    options: &Options,
    name: &'g str,
    branches: &[Branch],
    certainty: Certainty,
) -> Option<Tag<'g>> {
    let mut literals: Vec<Vec<Json>> = Vec::new();
    for branch in branches {
        if certainty == Certainty::Required && !branch.facts.required(graph).contains(name) {
            return None;
        }
        let values: Vec<Json> = constants(graph, options, name, branch)?.into_iter().cloned().collect();
        let usable = values.iter().all(|v| match v {
            Json::String(_) | Json::Bool(_) => true,
            Json::Number(n) => n.as_i64().is_some(),
            _ => false,
        });
        if !usable || values.is_empty() || values.iter().any(|v| literals.iter().flatten().any(|o| o == v)) {
            return None;
        }
        literals.push(values);
    }
    Some(Tag { name, certainty, literals, otherwise: None })
}

/// The values that a branch leaves to a member, when it lists them.
pub(super) fn constants<'g>(
    graph: &'g Graph,
    options: &Options,
    name: &str,
    branch: &Branch,
) -> Option<Vec<&'g Json>> {
    let declared = branch.facts.declared(graph);
    let (_, always, _) = declared.into_iter().find(|(declared, ..)| *declared == name)?;
    Facts::of(graph, &Conj::all(always), options.implied_objects).literals(graph)
}

/// The tag of a `discriminator`, when a value of it means each branch.
fn meant<'g>(
    graph: &Graph,
    options: &Options,
    discriminator: &'g Discriminator,
    branches: &[Branch],
) -> Option<Tag<'g>> {
    let tag = &discriminator.tag;
    let mut literals = Vec::new();
    for branch in branches {
        let values = meaning::meant(graph, discriminator, branch.id).into_iter();
        let mut values: Vec<Json> = values.map(|value| Json::String(value.to_owned())).collect();
        // Where a branch lists values, no other one is of that branch.
        if let Some(listed) = constants(graph, options, tag, branch) {
            values.retain(|value| listed.contains(&value));
        }
        let taken = |value: &Json| literals.iter().any(|other: &Vec<Json>| other.contains(value));
        if values.is_empty() || values.iter().any(taken) {
            return None;
        }
        literals.push(values);
    }
    let otherwise = branches.iter().position(|each| meaning::is_default(graph, discriminator, each.id));
    Some(Tag { name: tag, certainty: Certainty::Meant, literals, otherwise })
}
