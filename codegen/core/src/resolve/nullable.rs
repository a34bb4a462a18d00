//! Translates `nullable` of OpenAPI 3.0 to JSON Schema 2020-12.
//!
//! According to OpenAPI 3.0.3 ("Proposal: Clarify Nullable"), the keyword adds `null` to the `type` in the
//! same schema and has no other effect. It has no effect next to `$ref`, `allOf`, `anyOf` or `oneOf`, or if
//! an `enum` does not list `null`. Nevertheless, authors use it for "or null", and servers send `null`. The
//! default is the interpretation of the authors; [`NullableSemantics::Strict`] selects that of the
//! specification.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::Json;

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    schema::{
        Schema, SchemaGraph, SchemaId, SchemaOrigin, TypeSet,
        keywords::{Keyword, KeywordRole},
    },
    tree::{DocumentLocation, join_token},
};

/// The interpretation of `nullable: true` where OpenAPI 3.0 gives it no effect, such as next to `$ref`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum NullableSemantics {
    /// The schema accepts `null` in addition to its other values.
    #[default]
    OrNull,
    /// The keyword adds `null` to the `type` in the same schema, as the specification requires.
    Strict,
}

/// An occurrence of `nullable: true`: the schema that contains it, and the location of the keyword.
#[derive(Debug)]
pub(super) struct NullableKeyword {
    pub(super) schema: SchemaId,
    pub(super) place: DocumentLocation,
}

/// Makes every schema with `nullable: true` accept `null`. One note lists the occurrences that have no effect
/// according to the specification.
pub(super) fn apply_nullable(
    graph: &mut SchemaGraph,
    keywords: Vec<NullableKeyword>,
    problems: &mut Diagnostics,
) {
    let lone: BTreeSet<SchemaId> = keywords
        .iter()
        .map(|keyword| keyword.schema)
        .filter(|id| graph.schema(*id).is_constrained_only_by(&[]))
        .collect();
    let (alternatives, parts) = find_composed_uses(graph, &lone);
    let mut beyond: Vec<DocumentLocation> = Vec::new();
    for NullableKeyword { schema, place } in keywords {
        let more = if alternatives.contains(&schema) {
            // In `anyOf: [X, {nullable: true}]`, the second alternative accepts only `null`.
            schema_mut(graph, schema).types = Some(TypeSet::NULL);
            true
        } else if let Some(around) = parts.get(&schema) {
            // In `allOf: [X, {nullable: true}]`, the enclosing schema becomes nullable.
            accept_null(graph, *around, &place)
        } else {
            accept_null(graph, schema, &place)
        };
        if more {
            beyond.push(place);
        }
    }
    beyond.sort_by_key(|place| (place.source, place.span.start));
    let Some((first, others)) = beyond.split_first() else { return };
    let message = match beyond.len() {
        1 => "a `nullable` that has no effect in OpenAPI 3.0 is read as \"or null\"".to_owned(),
        count => format!("{count} `nullable` that have no effect in OpenAPI 3.0 are read as \"or null\""),
    };
    let help = "`nullable = \"strict\"` in `[types]` follows the specification, with a warning for each";
    problems.push(
        Diagnostic::note("nullable", message)
            .with_place(first.clone())
            .help(help)
            .with_related_places(others),
    );
}

/// Finds the uses of the schemas in `lone`, which have no keyword except `nullable`. Returns the schemas in
/// `lone` that are alternatives of `anyOf` or `oneOf`, and a map from those that are elements of an `allOf`
/// to the enclosing schema.
fn find_composed_uses(
    graph: &SchemaGraph,
    lone: &BTreeSet<SchemaId>,
) -> (BTreeSet<SchemaId>, BTreeMap<SchemaId, SchemaId>) {
    let mut alternatives = BTreeSet::new();
    let mut parts = BTreeMap::new();
    if lone.is_empty() {
        return (alternatives, parts);
    }
    for id in graph.ids() {
        let schema = graph.schema(id);
        alternatives.extend(schema.any_of.iter().chain(&schema.one_of).filter(|id| lone.contains(id)));
        parts.extend(schema.all_of.iter().filter(|part| lone.contains(part)).map(|part| (*part, id)));
    }
    (alternatives, parts)
}

/// Makes a schema accept `null`. Returns true if the schema would not accept `null` according to OpenAPI 3.0.
pub(crate) fn accept_null(graph: &mut SchemaGraph, id: SchemaId, place: &DocumentLocation) -> bool {
    let schema = schema_mut(graph, id);
    if schema.boolean == Some(false) {
        schema.boolean = None;
        schema.types = Some(TypeSet::NULL);
        return true;
    }
    if let Some(types) = &mut schema.types {
        *types = types.union(TypeSet::NULL);
    }
    let mut beyond = false;
    if let Some(values) = &mut schema.enumeration
        && !values.contains(&Json::Null)
    {
        values.push(Json::Null);
        beyond = true;
    }
    // Other keywords may also reject `null`: in-place applicators, and applicators for properties and items
    // of a schema without `type`, which imply a type.
    let implied = schema.types.is_none() && schema.enumeration.is_none();
    let refuses = |keyword: Keyword| match keyword.role() {
        KeywordRole::InPlace => true,
        KeywordRole::Below => implied,
        _ => keyword == Keyword::Const,
    };
    if !schema.keywords().any(|(keyword, _)| refuses(keyword)) {
        return beyond;
    }
    let null = Schema {
        place: place.clone(),
        resource: schema.resource,
        location: join_token(&schema.location, "nullable"),
        types: Some(TypeSet::NULL),
        ..Schema::default()
    };
    if let Some(target) = schema.reference
        && schema.is_constrained_only_by(&[Keyword::Ref])
    {
        schema.reference = None;
        schema.any_of = vec![target];
    } else if !schema.is_constrained_only_by(&[Keyword::AnyOf]) {
        // The validating keywords are moved into a new schema at the same location. The outer schema keeps
        // the name and the annotations.
        let inside = Schema {
            origin: SchemaOrigin::Inline,
            extensions: schema.extensions.clone(),
            discriminator: schema.discriminator.take(),
            implied_otherwise: schema.implied_otherwise,
            ..schema.with_keywords(|keyword| keyword.role().can_reject() || keyword == Keyword::Format)
        };
        let outside = Schema {
            origin: schema.origin.clone(),
            extensions: std::mem::take(&mut schema.extensions),
            ..schema.with_keywords(|keyword| !keyword.role().can_reject())
        };
        let inside = push_schema(graph, inside);
        *schema_mut(graph, id) = Schema { any_of: vec![inside], ..outside };
    }
    let null = push_schema(graph, null);
    schema_mut(graph, id).any_of.push(null);
    true
}

fn schema_mut(graph: &mut SchemaGraph, id: SchemaId) -> &mut Schema {
    &mut graph.schemas[id]
}

/// Appends a schema that does not occur in a document, after all schemas of documents.
fn push_schema(graph: &mut SchemaGraph, schema: Schema) -> SchemaId {
    graph.schemas.push(schema)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;
    use crate::resolve::tests::resolve_clean;

    /// If the schema `false` is made nullable, it accepts only `null`.
    #[test]
    fn nullable_false_accepts_null() {
        let mut graph = resolve_clean(&[("a.json", "false")]);
        let id = graph.ids().next().unwrap();
        let place = graph.schema(id).place.clone();
        assert!(accept_null(&mut graph, id, &place));
        assert_eq!((graph.schema(id).boolean, graph.schema(id).types), (None, Some(TypeSet::NULL)));
    }
}
