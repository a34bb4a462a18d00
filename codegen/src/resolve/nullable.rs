//! OpenAPI 3.0's `nullable`, in the words of 2020-12.
//!
//! By the letter (OpenAPI 3.0.3, "Proposal: Clarify Nullable") the word adds `null` to the `type`
//! beside it and does nothing else: not beside `$ref`, `allOf`, `anyOf` or `oneOf`, and not where
//! an `enum` fails to list `null`. Everybody who writes it means "or null", and sends `null`.
//! Here it is read as it is meant; [`Nullable::Strict`] reads the letter.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::Json;

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    schema::{
        Graph, Origin, Schema, SchemaId, Types,
        keywords::{Keyword, Role},
    },
    tree::{Place, join},
};

/// How `nullable: true` of OpenAPI 3.0 is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Nullable {
    /// Whatever stands beside it, or `null`.
    #[default]
    OrNull,
    /// By the letter: it adds `null` to the `type` beside it.
    Strict,
}

/// A `nullable: true`: the schema that has it, and where it stands.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) schema: SchemaId,
    pub(super) place: Place,
}

/// Makes every schema with the word accept `null`, and says where that is more than the letter.
pub(super) fn settle(graph: &mut Graph, words: Vec<Word>, problems: &mut Diagnostics) {
    let lone: BTreeSet<SchemaId> =
        words.iter().map(|word| word.schema).filter(|id| graph.schema(*id).decides_by(&[])).collect();
    let (alternatives, parts) = placed(graph, &lone);
    let mut beyond: Vec<Place> = Vec::new();
    for Word { schema, place } in words {
        let more = if alternatives.contains(&schema) {
            // `anyOf: [X, {nullable: true}]` is `X` or null.
            own(graph, schema).types = Some(Types::NULL);
            true
        } else if let Some(around) = parts.get(&schema) {
            // `allOf: [X, {nullable: true}]` too.
            or_null(graph, *around, &place)
        } else {
            or_null(graph, schema, &place)
        };
        if more {
            beyond.push(place);
        }
    }
    beyond.sort_by_key(|place| (place.source, place.span.start));
    let Some((first, others)) = beyond.split_first() else { return };
    let message = match beyond.len() {
        1 => "a `nullable` that has no effect by the letter of OpenAPI 3.0 is read as \"or null\"".to_owned(),
        count => format!(
            "{count} `nullable` that have no effect by the letter of OpenAPI 3.0 are read as \"or null\""
        ),
    };
    let help = "`nullable = \"strict\"` in `[types]` reads them by the letter, each with a warning";
    problems.push(Diagnostic::note("nullable", message).at(first.clone()).help(help).also(others));
}

/// Of schemas that say nothing beside the word: those that are alternatives of an `anyOf` or
/// `oneOf`, and those that are part of an `allOf`, with the schema around.
fn placed(graph: &Graph, lone: &BTreeSet<SchemaId>) -> (BTreeSet<SchemaId>, BTreeMap<SchemaId, SchemaId>) {
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

/// Makes a schema accept `null` beside what it accepts; whether the letter would not.
pub(crate) fn or_null(graph: &mut Graph, id: SchemaId, place: &Place) -> bool {
    let schema = own(graph, id);
    if schema.boolean == Some(false) {
        schema.boolean = None;
        schema.types = Some(Types::NULL);
        return true;
    }
    if let Some(types) = &mut schema.types {
        *types = types.or(Types::NULL);
    }
    let mut beyond = false;
    if let Some(values) = &mut schema.enumeration
        && !values.contains(&Json::Null)
    {
        values.push(Json::Null);
        beyond = true;
    }
    // What else may refuse `null`: schemas that are applied to it, and members without a `type`,
    // which are read as those of an object.
    let implied = schema.types.is_none() && schema.enumeration.is_none();
    let refuses = |keyword: Keyword| match keyword.role() {
        Role::InPlace => true,
        Role::Below => implied,
        _ => keyword == Keyword::Const,
    };
    if !schema.keywords().any(|(keyword, _)| refuses(keyword)) {
        return beyond;
    }
    let null = Schema {
        place: place.clone(),
        resource: schema.resource,
        location: join(&schema.location, "nullable"),
        types: Some(Types::NULL),
        ..Schema::default()
    };
    if let Some(target) = schema.reference
        && schema.decides_by(&[Keyword::Ref])
    {
        schema.reference = None;
        schema.any_of = vec![target];
    } else if !schema.decides_by(&[Keyword::AnyOf]) {
        // What decides moves into a schema of its own, at the same place; the name and what is
        // said about the value stay.
        let inside = Schema {
            origin: Origin::Inline,
            extensions: schema.extensions.clone(),
            discriminator: schema.discriminator.take(),
            implied_otherwise: schema.implied_otherwise,
            ..schema.with(|keyword| keyword.role().decides() || keyword == Keyword::Format)
        };
        let outside = Schema {
            origin: schema.origin.clone(),
            extensions: std::mem::take(&mut schema.extensions),
            ..schema.with(|keyword| !keyword.role().decides())
        };
        let inside = added(graph, inside);
        *own(graph, id) = Schema { any_of: vec![inside], ..outside };
    }
    let null = added(graph, null);
    own(graph, id).any_of.push(null);
    true
}

fn own(graph: &mut Graph, id: SchemaId) -> &mut Schema {
    &mut graph.schemas[id]
}

/// Schemas that no document has stand behind those that one has.
fn added(graph: &mut Graph, schema: Schema) -> SchemaId {
    graph.schemas.push(schema)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::resolve::tests::clean;

    /// Nothing or null is null.
    #[test]
    fn what_nothing_satisfies_is_null_then() {
        let mut graph = clean(&[("a.json", "false")]);
        let id = graph.ids().next().unwrap();
        let place = graph.schema(id).place.clone();
        assert!(or_null(&mut graph, id, &place));
        assert_eq!((graph.schema(id).boolean, graph.schema(id).types), (None, Some(Types::NULL)));
    }
}
