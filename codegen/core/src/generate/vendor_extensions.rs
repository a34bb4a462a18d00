//! Interprets common vendor extensions: `x-nullable`, `x-enum-varnames`, `x-enum-descriptions`,
//! `x-extensible-enum` and `x-rust-type`.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::Json;

use super::options::is_owned_type;
use crate::{
    config::Config,
    conjunction::SchemaFacts,
    diagnostics::{Diagnostic, Diagnostics},
    resolve::suggest::help_nearest,
    schema::{
        Schema, SchemaGraph, SchemaId,
        values::{EXTENSIBLE_ENUM, VALUE_LABEL_EXTENSIONS},
    },
    shape::{MAX_ENUM_VARIANTS, Shapes, TypeBody, TypeRef, named_constants},
};

/// Returns true for `x-nullable: true`, the Swagger form of `nullable`.
pub(super) fn is_nullable(schema: &Schema) -> bool {
    schema.extensions.get("x-nullable") == Some(&Json::Bool(true))
}

/// Adds the types that schemas name by `x-rust-type` to `replace`. The extension is used only for crates
/// listed in `types.rust-types`.
pub(super) fn collect_rust_types(
    config: &Config,
    graph: &SchemaGraph,
    replace: &mut BTreeMap<SchemaId, String>,
    diagnostics: &mut Diagnostics,
) {
    const OPTION: &str = "types.rust-types";
    let mut crates = BTreeSet::new();
    let mut matched = vec![false; config.types.rust_types.len()];
    for id in graph.ids() {
        let Some(path) = graph.schema(id).extensions.get("x-rust-type").and_then(type_path) else { continue };
        let first = path.trim_start_matches("::").split("::").next().unwrap_or(path);
        crates.insert(first);
        let Some(at) = config.types.rust_types.iter().position(|known| known == first) else { continue };
        matched[at] = true;
        if !is_owned_type(path) {
            let message = format!("`x-rust-type` is not a valid type path: `{path}`");
            let place = graph.schema(id).place.clone();
            diagnostics.push(
                Diagnostic::error("config", message)
                    .with_place(place)
                    .help("correct it, or remove its crate from `rust-types`"),
            );
            continue;
        }
        replace.entry(id).or_insert_with(|| path.to_owned());
    }
    for (name, _) in config.types.rust_types.iter().zip(matched).filter(|(_, matched)| !matched) {
        diagnostics.push(
            Diagnostic::error(
                "config",
                format!("`{OPTION}` does nothing for `{name}`: no `x-rust-type` names a type of this crate"),
            )
            .with_optional_place(config.option_place(OPTION, name))
            .help(help_nearest(
                name,
                crates.iter().copied(),
                "correct the name of the crate, or remove it",
            )),
        );
    }
}

/// Returns the Rust path in an `x-rust-type`: the string itself, or `path` of typify's form
/// `{ "crate": "fleet", "version": "1", "path": "fleet::Ship" }`.
fn type_path(value: &Json) -> Option<&str> {
    value.as_str().or_else(|| value.as_object()?.get("path")?.as_str())
}

/// Reports `x-enum-…` and `x-extensible-enum` extensions that have no effect on the generated type.
pub(super) fn check_enum_extensions(
    graph: &SchemaGraph,
    shapes: &Shapes,
    implied: bool,
    diagnostics: &mut Diagnostics,
) {
    let named = named_number_schemas(graph, shapes, implied);
    for id in graph.ids() {
        let schema = graph.schema(id);
        let is_named = named.contains(&id);
        let list = schema
            .extensions
            .get(EXTENSIBLE_ENUM)
            .and_then(|list| known_values_problem(schema, list, is_named));
        let labels = VALUE_LABEL_EXTENSIONS.into_iter().filter_map(|name| {
            let labels = schema.extensions.get(name)?;
            enum_extension_problem(schema, name, labels, is_named)
        });
        for (message, help) in list.into_iter().chain(labels) {
            let problem = Diagnostic::warning("ignored", message).with_place(schema.place.clone());
            diagnostics.push(problem.help(help));
        }
    }
}

/// Returns the integer schemas whose values become named constants of their type.
fn named_number_schemas(graph: &SchemaGraph, shapes: &Shapes, implied: bool) -> BTreeSet<SchemaId> {
    let whole = shapes.types.iter().filter(|def| matches!(def.body, TypeBody::Newtype(TypeRef::Int(_))));
    let facts = whole.map(|def| SchemaFacts::from_conjunction(graph, &def.conj, implied));
    facts
        .filter(|facts| !named_constants(graph, facts).is_empty())
        .flat_map(|facts| facts.unconditional)
        .collect()
}

/// Returns the reason why an `x-extensible-enum` has no effect and a help text, or `None` if it is used.
fn known_values_problem(schema: &Schema, list: &Json, is_named: bool) -> Option<(String, &'static str)> {
    const TEXTS: &str = "list the known strings: `[\"first\", \"second\"]`";
    // The extension is redundant if `enum` lists the values.
    if schema.enumeration.is_some() || is_named {
        return None;
    }
    let Some(values) = list.as_array() else {
        return Some((format!("`{EXTENSIBLE_ENUM}` must be a list of strings and is ignored"), TEXTS));
    };
    let others = values.iter().filter(|value| value.as_str().is_none() && **value != Json::Null).count();
    let message = || format!("`{EXTENSIBLE_ENUM}` has {others} entries that are not strings and are ignored");
    (others > 0).then(|| (message(), TEXTS))
}

/// Returns the reason why one of the [`VALUE_LABEL_EXTENSIONS`] has no effect and a help text, or `None` if
/// it is used.
fn enum_extension_problem(
    schema: &Schema,
    name: &str,
    labels: &Json,
    is_named: bool,
) -> Option<(String, &'static str)> {
    const EACH: &str = "add one entry for each value, in the same order";
    let values = schema.listed_values()?;
    let list = match labels {
        Json::Array(labels) => Some(labels.as_slice()),
        Json::Object(_) => None,
        _ => return Some((format!("`{name}` must be a list of strings and is ignored"), EACH)),
    };
    let texts = values.iter().filter(|value| value.as_str().is_some()).count();
    if texts == 0 && !is_named {
        let message = format!("`{name}` has no variants to name and is ignored");
        return Some((
            message,
            "strings become variants, and integers of a named schema or of a list become constants; explain other values in `description`",
        ));
    }
    if texts > MAX_ENUM_VARIANTS {
        let message =
            format!("`{name}` is ignored: {texts} values exceed the limit of {MAX_ENUM_VARIANTS} variants");
        return Some((
            message,
            "a list of this length becomes a checked string; explain the values in `description`",
        ));
    }
    let list = list?;
    if schema.labeled_values(list).is_none() {
        let message =
            format!("`{name}` has {} entries for {} values and is ignored", list.len(), values.len());
        return Some((message, EACH));
    }
    let is_name = matches!(name, "x-enum-varnames" | "x-enumNames");
    let twice = list.iter().enumerate().find_map(|(at, word)| {
        let text = word.as_str().filter(|_| is_name)?;
        list.get(..at)?.contains(word).then_some(text)
    });
    twice.map(|text| {
        let message =
            format!("`{name}` gives several values the name `{text}`; their values distinguish the variants");
        (message, "give each value a unique name")
    })
}
