//! Finds the property that distinguishes the branches of an object union. This is a property with distinct
//! constants in each branch, or the property of a `discriminator`.

use contract_runtime::{Json, schema::TagCertainty};

use super::unions::UnionBranch;
use crate::{
    conjunction::{SchemaConjunction, SchemaFacts, discriminator},
    options::SchemaOptions,
    schema::{Discriminator, SchemaGraph, SchemaId},
};

/// A property that distinguishes the branches of a union, with the values that select each branch.
pub(super) struct UnionTag<'g> {
    pub(super) name: &'g str,
    pub(super) certainty: TagCertainty,
    pub(super) literals: Vec<Vec<Json>>,
    /// The index of the branch that unmapped or missing values select.
    pub(super) otherwise: Option<usize>,
}

/// Finds a property that every branch requires and whose allowed values differ between the branches.
pub(super) fn required_tag<'g>(
    graph: &'g SchemaGraph,
    options: &SchemaOptions,
    branches: &[UnionBranch],
) -> Option<UnionTag<'g>> {
    constant_tag(graph, options, branches, TagCertainty::Required)
}

/// Finds the most reliable tag. The order of precedence is: a property that every branch requires with
/// distinct values, the property of the `discriminator` if its allowed values are distinct, the same property
/// with the values of the `mapping`, and another optional property with distinct values.
pub(super) fn strongest_tag<'g>(
    graph: &'g SchemaGraph,
    options: &SchemaOptions,
    holder: SchemaId,
    branches: &[UnionBranch],
) -> Option<UnionTag<'g>> {
    let discriminator = graph.schema(holder).discriminator.as_ref();
    required_tag(graph, options, branches)
        .or_else(|| {
            let tag = discriminator?.tag.as_str();
            tag_by_name(graph, options, tag, branches, TagCertainty::Present)
        })
        .or_else(|| discriminator_tag(graph, options, discriminator?, branches))
        .or_else(|| constant_tag(graph, options, branches, TagCertainty::Present))
}

fn constant_tag<'g>(
    graph: &'g SchemaGraph,
    options: &SchemaOptions,
    branches: &[UnionBranch],
    certainty: TagCertainty,
) -> Option<UnionTag<'g>> {
    let candidates = branches.first()?.facts.declared_properties(graph).into_iter().map(|(name, ..)| name);
    candidates.into_iter().find_map(|name| tag_by_name(graph, options, name, branches, certainty))
}

/// Returns the tag with this name if the schemas of every branch enumerate its values and no value occurs in
/// two branches.
fn tag_by_name<'g>(
    graph: &SchemaGraph,
    options: &SchemaOptions,
    name: &'g str,
    branches: &[UnionBranch],
    certainty: TagCertainty,
) -> Option<UnionTag<'g>> {
    let mut literals: Vec<Vec<Json>> = Vec::new();
    for branch in branches {
        if certainty == TagCertainty::Required && !branch.facts.required_names(graph).contains(name) {
            return None;
        }
        let values: Vec<Json> =
            allowed_tag_values(graph, options, name, branch)?.into_iter().cloned().collect();
        if !values.iter().all(is_comparable_literal)
            || values.is_empty()
            || values.iter().any(|v| literals.iter().flatten().any(|o| o == v))
        {
            return None;
        }
        literals.push(values);
    }
    Some(UnionTag { name, certainty, literals, otherwise: None })
}

/// Returns true if parsing can compare a property with this literal before it selects a type. This is the
/// case for strings, booleans and integers that fit into `i64`.
pub(super) fn is_comparable_literal(literal: &Json) -> bool {
    match literal {
        Json::String(_) | Json::Bool(_) => true,
        Json::Number(number) => number.as_i64().is_some(),
        Json::Null | Json::Array(_) | Json::Object(_) => false,
    }
}

/// Returns the values that a branch allows for a property, if they are enumerated.
pub(super) fn allowed_tag_values<'g>(
    graph: &'g SchemaGraph,
    options: &SchemaOptions,
    name: &str,
    branch: &UnionBranch,
) -> Option<Vec<&'g Json>> {
    let declared = branch.facts.declared_properties(graph);
    let (_, always, _) = declared.into_iter().find(|(declared, ..)| *declared == name)?;
    SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schemas(always), options.implied_objects)
        .allowed_literals(graph)
}

/// Returns the tag of a `discriminator`, with the values from its `mapping` and the schema names. Returns
/// `None` if a value selects several branches or if a branch has no value.
fn discriminator_tag<'g>(
    graph: &SchemaGraph,
    options: &SchemaOptions,
    discriminator: &'g Discriminator,
    branches: &[UnionBranch],
) -> Option<UnionTag<'g>> {
    let tag = &discriminator.tag;
    let mut literals = Vec::new();
    for branch in branches {
        let values = discriminator::discriminator_values(graph, discriminator, branch.id).into_iter();
        let mut values: Vec<Json> = values.map(|value| Json::String(value.to_owned())).collect();
        // If the schemas of a branch enumerate the values of the tag, other values do not select the branch.
        if let Some(listed) = allowed_tag_values(graph, options, tag, branch) {
            values.retain(|value| listed.contains(&value));
        }
        let taken = |value: &Json| literals.iter().any(|other: &Vec<Json>| other.contains(value));
        if values.is_empty() || values.iter().any(taken) {
            return None;
        }
        literals.push(values);
    }
    let otherwise =
        branches.iter().position(|each| discriminator::is_default_branch(graph, discriminator, each.id));
    Some(UnionTag { name: tag, certainty: TagCertainty::Hint, literals, otherwise })
}
