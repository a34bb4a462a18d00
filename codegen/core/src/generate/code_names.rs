//! Names for generated code that the user or the contract specifies: `[names]` for operations and the values
//! of enumerations, and `x-rust-name` in the contract.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::{Json, Map};

use super::options::select_schemas;
use crate::{
    api::OpenApiDocument,
    config::Config,
    conjunction::{SchemaConjunction, SchemaFacts},
    diagnostics::{Diagnostic, Diagnostics},
    names,
    options::{SchemaOptions, ValueName},
    plan::{ContractPlan, method_name, method_prefix},
    resolve::suggest::help_nearest,
    schema::{
        Schema, SchemaGraph, SchemaId,
        values::{VALUE_LABEL_EXTENSIONS, label_key},
    },
    shape::{Shapes, TypeBody},
};

const OPTION: &str = "names";
/// Separates the selector of a schema from a value of its enumeration.
const VALUE_SEPARATOR: &str = "/enum/";
/// The maximum number of values or operations that a help text lists.
const MAX_LISTED: usize = 5;

/// Returns the method and the path of a key such as `GET /users/{id}`, or the method and the name of a
/// webhook. A path may contain a `#`; any other key with a `#` selects a schema.
pub(super) fn operation_key(key: &str) -> Option<(&str, &str)> {
    let (method, path) = key.split_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_method && (path.starts_with('/') || !path.contains('#'))).then_some((method, path))
}

/// Applies the configured names of operations, and reports entries that match no operation. In the client of
/// a tag, the method of the operation has this name, and the names of its types start with the tag.
pub(super) fn apply_operation_names(
    config: &Config,
    api: &mut OpenApiDocument,
    diagnostics: &mut Diagnostics,
) {
    for (key, name) in &config.names {
        let Some((method, path)) = operation_key(key) else { continue };
        let all = api.operations.iter_mut().chain(&mut api.webhooks);
        let mut found = false;
        for operation in all.filter(|each| each.method == method && each.path == path) {
            let tag = operation.tags.first().filter(|tag| config.client.by_tag && !tag.is_empty());
            operation.rust_name = Some(match tag.map(|tag| method_prefix(tag)) {
                Some(prefix) if !names::field_name(name).starts_with(&prefix) => format!("{prefix}{name}"),
                _ => name.clone(),
            });
            found = true;
        }
        if found {
            continue;
        }
        let same_path = api.operations.iter().chain(&api.webhooks).filter(|each| each.path == path);
        let known: Vec<String> = same_path.map(|each| format!("`{} {path}`", each.method)).collect();
        let help = match known.as_slice() {
            [] => {
                let keys = api.operations.iter().chain(&api.webhooks);
                let keys: Vec<String> = keys.map(|each| format!("{} {}", each.method, each.path)).collect();
                help_nearest(
                    key,
                    keys.iter().map(String::as_str),
                    "write the method and the path as in the contract, such as `GET /users/{id}`; remove the entry if the operation is gone",
                )
            }
            known => format!("the path has {}", known.join(" and ")),
        };
        diagnostics.push(
            Diagnostic::error("config", format!("`{OPTION}` names no operation of the contract: `{key}`"))
                .with_optional_place(config.option_place(OPTION, key))
                .help(help),
        );
    }
}

/// Splits a key of the form `selector/enum/value`. Returns the schemas that the selector matches, and the
/// value. Returns `None` if the key has another form, or if the whole key is the selector of a schema.
pub(super) fn variant_key<'k>(graph: &SchemaGraph, key: &'k str) -> Option<(Vec<SchemaId>, &'k str)> {
    if !key.contains(VALUE_SEPARATOR) || !select_schemas(graph, key).is_empty() {
        return None;
    }
    let splits = key.match_indices(VALUE_SEPARATOR).map(|(at, found)| (&key[..at], &key[at + found.len()..]));
    let selected = splits.map(|(selector, value)| (select_schemas(graph, selector), value));
    selected.into_iter().find(|(schemas, _)| !schemas.is_empty())
}

/// Names the values of enumerations by adding the names to their schemas, as `x-enum-varnames` does. Reports
/// entries that name no value.
pub(super) fn apply_variant_names(
    config: &Config,
    graph: &mut SchemaGraph,
    diagnostics: &mut Diagnostics,
) -> BTreeMap<SchemaId, Vec<ValueName>> {
    let mut entries: BTreeMap<SchemaId, Vec<ValueName>> = BTreeMap::new();
    for (key, name) in &config.names {
        let Some((schemas, wanted)) = variant_key(graph, key) else { continue };
        let mut values: Vec<String> = Vec::new();
        for &id in &schemas {
            let facts = SchemaFacts::from_conjunction(
                graph,
                &SchemaConjunction::from_schema(id),
                config.types.implied_objects,
            );
            let literals = facts.allowed_literals(graph).unwrap_or_default();
            values.extend(literals.into_iter().map(|value| label_key(value).into_owned()));
            values.extend(graph.schema(id).known_strings().into_iter().flatten().map(str::to_owned));
        }
        let by_index = || wanted.parse::<usize>().ok().and_then(|at| values.get(at));
        let Some(value) = values.iter().find(|value| *value == wanted).or_else(by_index).cloned() else {
            let listed: Vec<String> =
                values.iter().take(MAX_LISTED).map(|value| format!("`{value}`")).collect();
            let help = match listed.as_slice() {
                [] => "the schema is not an enumeration; remove the entry".to_owned(),
                listed => {
                    let more = if values.len() > MAX_LISTED { ", …" } else { "" };
                    let known = format!("its values are {}{more}", listed.join(", "));
                    help_nearest(wanted, values.iter().map(String::as_str), known)
                }
            };
            let message = format!("`{OPTION}` names no value of the enumeration: `{wanted}`");
            let problem =
                Diagnostic::error("config", message).with_optional_place(config.option_place(OPTION, key));
            let place = schemas.first().map(|id| graph.schema(*id).place.clone());
            diagnostics.push(match place {
                Some(place) => problem.with_label(place, "the selected schema").help(help),
                None => problem.help(help),
            });
            continue;
        };
        for id in schemas {
            add_label(&mut graph.schemas[id], &value, name);
            let entry = ValueName { key: key.clone(), name: name.clone(), value: value.clone() };
            entries.entry(id).or_default().push(entry);
        }
    }
    entries
}

/// Adds the name of a value to the names that the schema declares.
fn add_label(schema: &mut Schema, value: &str, name: &str) {
    let [extension, ..] = VALUE_LABEL_EXTENSIONS;
    let mut labels: Map<Json> = match schema.extensions.get(extension) {
        Some(Json::Object(labels)) => labels.clone(),
        Some(Json::Array(list)) => {
            let values = schema.labeled_values(list).unwrap_or_default();
            let texts = values.into_iter().map(|value| label_key(value).into_owned());
            texts.zip(list.iter().cloned()).collect()
        }
        _ => Map::new(),
    };
    labels.insert(value.to_owned(), Json::String(name.to_owned()));
    schema.extensions.insert(extension.to_owned(), Json::Object(labels));
}

/// Reports configured names that no variant or constant has, because another variant already has the name, or
/// because the value has no variant.
pub(super) fn check_variant_names(
    config: &Config,
    graph: &SchemaGraph,
    shapes: &Shapes,
    options: &SchemaOptions,
    diagnostics: &mut Diagnostics,
) {
    for (id, entry) in options.value_names.iter().flat_map(|(id, all)| all.iter().map(move |each| (id, each)))
    {
        let expected = names::variant_name(&entry.name);
        let bodies = shapes
            .types
            .iter()
            .filter(|def| def.schema == Some(*id) || def.conj.ids.contains(id))
            .map(|def| &def.body);
        let mut found: Vec<&str> = Vec::new();
        let mut is_constant = false;
        for body in bodies {
            match body {
                TypeBody::Enum(body) => {
                    let same = body.values.iter().filter(|(wire, ..)| *wire == entry.value);
                    found.extend(same.map(|(_, name, _)| name.as_str()));
                }
                TypeBody::Newtype(_) => is_constant = true,
                _ => {}
            }
        }
        let (message, help) = if found.contains(&expected.as_str()) || (found.is_empty() && is_constant) {
            continue;
        } else if found.is_empty() {
            let message = format!(
                "`{OPTION}` does nothing for `{}`: the value does not become a variant of an enum",
                entry.key
            );
            (message, "only strings become variants; remove the entry")
        } else {
            let message = format!(
                "`{OPTION}` gives `{}` the name `{expected}`, which another variant or generated code already has",
                entry.value
            );
            (message, "choose another name")
        };
        diagnostics.push(
            Diagnostic::error("config", message)
                .with_optional_place(config.option_place(OPTION, &entry.key))
                .with_label(graph.schema(*id).place.clone(), "the selected schema")
                .help(help),
        );
    }
}

/// Reports configured names of operations that generated methods cannot have.
pub(super) fn check_operation_names(
    config: &Config,
    plans: &ContractPlan<'_>,
    diagnostics: &mut Diagnostics,
) {
    for call in plans.iter().flat_map(|plan| &plan.calls) {
        let operation = call.operation;
        let key = format!("{} {}", operation.method, operation.path);
        let Some(name) = config.names.get(&key) else { continue };
        let has_name = call.method == method_name(name) && call.id == names::type_name(name);
        if has_name || (call.accessor.is_some() && call.client_method == names::field_name(name)) {
            continue;
        }
        let message =
            format!("`{OPTION}` gives `{key}` the name `{name}`, which another operation already has");
        diagnostics.push(
            Diagnostic::error("config", message)
                .with_optional_place(config.option_place(OPTION, &key))
                .with_label(operation.place.clone(), "the operation")
                .help("choose another name, or name both operations"),
        );
    }
}

/// Returns the names of types from `x-rust-name`, with their schemas. The schemas of properties are left out,
/// because there the extension names the field.
pub(super) fn schema_names(graph: &SchemaGraph) -> Vec<(SchemaId, String)> {
    let properties: BTreeSet<SchemaId> = graph
        .ids()
        .flat_map(|id| graph.schema(id).properties.iter().map(|(_, property)| *property))
        .collect();
    let named = graph.ids().filter(|id| !properties.contains(id));
    named.filter_map(|id| Some((id, names::model_name(graph.schema(id).rust_name()?)))).collect()
}

#[cfg(test)]
mod tests {
    use crate::{config::OutputLayout, diagnostics::Diagnostics, generate::Project, load::Sources};

    const API: &str = r##"{
        "openapi": "3.1.0", "info": {"title": "Users", "version": "1"},
        "paths": {
            "/users/{id}": {
                "get": {"parameters": [
                    {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}, "x-rust-name": "userId"},
                    {"name": "f", "in": "query", "schema": {"type": "string"}, "x-rust-name": "filter"}
                ], "responses": {"200": {"description": "", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/User"}}}}}},
                "delete": {"operationId": "drop", "x-rust-name": "remove-user", "parameters": [
                    {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}
                ], "responses": {"204": {"description": ""}}}
            }
        },
        "components": {"schemas": {
            "User": {"type": "object", "x-rust-name": "Member", "properties": {
                "nm": {"type": "string", "x-rust-name": "fullName"},
                "st": {"$ref": "#/components/schemas/Status", "x-rust-name": "status"},
                "level": {"type": "integer", "enum": [1, 2]},
                "rate": {"type": "number", "enum": [1, 2.5]}
            }},
            "Status": {"type": "string", "enum": ["A", "B", "a/b", "10"], "x-enum-varnames": ["Alpha", "Beta", "Both", "Ten"]}
        }}
    }"##;

    fn generate(names: &str) -> Result<String, Diagnostics> {
        let mut project =
            Project { config: toml::from_str(&format!("[names]\n{names}\n")).unwrap(), ..Project::default() };
        project.config.output.layout = OutputLayout::File;
        let contract = project.analyze_sources(Sources::from_texts(&[("a.json", "", API)])?)?;
        Ok(project.generate_from(contract)?.files.0.into_values().collect())
    }

    #[test]
    fn keys_of_operations_are_recognized() {
        for (key, expected) in [
            ("GET /users/{id}", Some(("GET", "/users/{id}"))),
            ("POST /items#archived", Some(("POST", "/items#archived"))),
            ("POST itemArchived", Some(("POST", "itemArchived"))),
            ("API v1.yaml#/components/schemas/User", None),
            ("#/components/schemas/User", None),
            ("User", None),
        ] {
            assert_eq!(super::operation_key(key), expected, "{key}");
        }
    }

    #[test]
    fn operations_and_values_have_configured_names() {
        let code = generate(
            r##"
            "GET /users/{id}" = "user"
            "#/components/schemas/Status/enum/A" = "Active"
            "#/components/schemas/Status/enum/a/b" = "Mixed"
            "Status/enum/1" = "Blocked"
            "Status/enum/10" = "Tenth"
            "User/properties/level/enum/1" = "Lowest"
            "##,
        )
        .unwrap();
        let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "pub fn user( &self, user_id: &str, options: super::calls::UserOptions, )",
            "pub struct UserCall",
            "pub filter: Option<String>",
            "pub fn remove_user( &self, id: &str, )",
            "Active = \"A\"",
            "Blocked = \"B\"",
            "Mixed = \"a/b\"",
            "Tenth = \"10\"",
            "pub const LOWEST: Self = Self(1);",
            "pub struct Member",
            "pub full_name: Option<String>",
            "pub status: Option<Status>",
        ] {
            assert!(code.contains(expected), "{expected}\n{code}");
        }
        assert!(!code.contains("Alpha") && !code.contains("pub struct User "), "{code}");
    }

    /// An entry that names nothing, or whose name is taken, is an error.
    #[test]
    fn entries_without_effect_are_rejected() {
        for (names, message) in [
            ("\"GET /user\" = \"user\"", "names no operation of the contract: `GET /user`"),
            ("\"PUT /users/{id}\" = \"user\"", "the path has `GET /users/{id}` and `DELETE /users/{id}`"),
            (
                "\"GET /users/{id}\" = \"remove_user\"",
                "the name `remove_user`, which another operation already has",
            ),
            ("\"GET /users/{id}\" = \"a b\"", "`a b` is not a valid Rust name"),
            ("\"Status/enum/C\" = \"Gone\"", "names no value of the enumeration: `C`"),
            ("\"Status/enum/C\" = \"Gone\"", "its values are `A`, `B`, `a/b`, `10`"),
            (
                "\"Status/enum/A\" = \"Beta\"",
                "the name `Beta`, which another variant or generated code already has",
            ),
            ("\"User/enum/A\" = \"Active\"", "the schema is not an enumeration"),
            ("\"Nothing/enum/A\" = \"Active\"", "`names` selects no schema of the contract"),
            ("\"User/properties/rate/enum/1\" = \"First\"", "the value does not become a variant of an enum"),
        ] {
            let problems = generate(names).unwrap_err().render(false).replace("│", "");
            let problems = problems.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(problems.contains(message), "{names}: {problems}");
        }
    }
}
