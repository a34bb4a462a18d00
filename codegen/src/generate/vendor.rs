//! What other tools write into contracts as `x-` members and everybody means alike: `x-nullable`,
//! `x-enum-varnames`, `x-enum-descriptions`, `x-extensible-enum`, `x-rust-type`.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::Json;

use super::options::is_owned_type;
use crate::{
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    schema::{
        Graph, Schema, SchemaId,
        values::{KNOWN, WORDS},
    },
    shape::{Body, ENUM_LIMIT, Shapes, TypeRef, constants},
    together::Facts,
};

/// Swagger's word for what OpenAPI 3.0 calls `nullable`.
pub(super) fn is_nullable(schema: &Schema) -> bool {
    schema.extensions.get("x-nullable") == Some(&Json::Bool(true))
}

/// Types that the contract names for its schemas, of the crates that the owner lets it name.
pub(super) fn types(
    config: &Config,
    graph: &Graph,
    replace: &mut BTreeMap<SchemaId, String>,
    diagnostics: &mut Diagnostics,
) {
    const OPTION: &str = "types.rust-types";
    let mut met = vec![false; config.types.rust_types.len()];
    for id in graph.ids() {
        let Some(path) = graph.schema(id).extensions.get("x-rust-type").and_then(named) else { continue };
        let first = path.trim_start_matches("::").split("::").next().unwrap_or(path);
        let Some(at) = config.types.rust_types.iter().position(|known| known == first) else { continue };
        met[at] = true;
        if !is_owned_type(path) {
            let message = format!("`x-rust-type` is no path of a type: `{path}`");
            let place = graph.schema(id).place.clone();
            diagnostics.push(
                Diagnostic::error("config", message)
                    .at(place)
                    .help("correct it, or take its crate out of `rust-types`"),
            );
            continue;
        }
        replace.entry(id).or_insert_with(|| path.to_owned());
    }
    for (name, _) in config.types.rust_types.iter().zip(met).filter(|(_, met)| !met) {
        diagnostics.push(
            Diagnostic::error(
                "config",
                format!("`{OPTION}` does nothing for `{name}`: no `x-rust-type` names a type of it"),
            )
            .maybe_at(config.place(OPTION, name))
            .help("correct the name of the crate, or remove it"),
        );
    }
}

/// `"crate::Ship"`, or typify's `{ "crate": "fleet", "version": "1", "path": "fleet::Ship" }`.
fn named(value: &Json) -> Option<&str> {
    value.as_str().or_else(|| value.as_object()?.get("path")?.as_str())
}

/// Says of names and descriptions of values, and of lists of known ones, what becomes of none of them.
pub(super) fn enumerations(graph: &Graph, shapes: &Shapes, implied: bool, diagnostics: &mut Diagnostics) {
    let named = numbers(graph, shapes, implied);
    for id in graph.ids() {
        let schema = graph.schema(id);
        let is_named = named.contains(&id);
        let list = schema.extensions.get(KNOWN).and_then(|list| stray(schema, list, is_named));
        let words = WORDS.into_iter().filter_map(|name| {
            let words = schema.extensions.get(name)?;
            fault(schema, name, words, is_named)
        });
        for (message, help) in list.into_iter().chain(words) {
            let problem = Diagnostic::warning("ignored", message).at(schema.place.clone());
            diagnostics.push(problem.help(help));
        }
    }
}

/// Schemas whose numbers are constants of a type.
fn numbers(graph: &Graph, shapes: &Shapes, implied: bool) -> BTreeSet<SchemaId> {
    let whole = shapes.types.iter().filter(|def| matches!(def.body, Body::Newtype(TypeRef::Int(_))));
    let facts = whole.map(|def| Facts::of(graph, &def.conj, implied));
    facts.filter(|facts| !constants(graph, facts).is_empty()).flat_map(|facts| facts.members).collect()
}

/// What is wrong with a list of known texts, and what to do about it.
fn stray(schema: &Schema, list: &Json, is_named: bool) -> Option<(String, &'static str)> {
    const TEXTS: &str = "list the texts that are known: `[\"first\", \"second\"]`";
    // The list of those that may come says as much.
    if schema.enumeration.is_some() || is_named {
        return None;
    }
    let Some(values) = list.as_array() else {
        return Some((format!("`{KNOWN}` must be a list of texts, and is passed over"), TEXTS));
    };
    let others = values.iter().filter(|value| value.as_str().is_none() && **value != Json::Null).count();
    let said = || format!("`{KNOWN}` has {others} entries that are no texts, and are passed over");
    (others > 0).then(|| (said(), TEXTS))
}

/// What is wrong with one of [`WORDS`], and what to do about it.
fn fault(schema: &Schema, name: &str, words: &Json, is_named: bool) -> Option<(String, &'static str)> {
    const EACH: &str = "give each value of the list its entry, in the same order";
    let values = schema.listed()?;
    let list = match words {
        Json::Array(words) => Some(words.as_slice()),
        Json::Object(_) => None,
        _ => return Some((format!("`{name}` must be a list of texts, and is passed over"), EACH)),
    };
    let texts = values.iter().filter(|value| value.as_str().is_some()).count();
    if texts == 0 && !is_named {
        let message = format!("`{name}` has no variants to name, and is passed over");
        return Some((
            message,
            "texts become variants, and whole numbers constants where they have names and their list is a schema \
             with a name; say in `description` what other values mean",
        ));
    }
    if texts > ENUM_LIMIT {
        let message = format!(
            "`{name}` is passed over: {texts} values are more than the {ENUM_LIMIT} that become variants"
        );
        return Some((message, "so long a list is checked text; say in `description` what the values mean"));
    }
    let list = list?;
    if schema.worded(list).is_none() {
        let message =
            format!("`{name}` has {} entries for {} values, and is passed over", list.len(), values.len());
        return Some((message, EACH));
    }
    let is_name = matches!(name, "x-enum-varnames" | "x-enumNames");
    let twice = list.iter().enumerate().find_map(|(at, word)| {
        let text = word.as_str().filter(|_| is_name)?;
        list.get(..at)?.contains(word).then_some(text)
    });
    twice.map(|text| {
        let message = format!("`{name}` calls several values `{text}`; they are told apart by their values");
        (message, "give each value a name of its own")
    })
}
