//! Resolves the selectors of the configuration, which name schemas by the end of their location, to schema
//! ids. A selector that matches nothing is an error.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use syn::{
    Attribute, Type,
    parse::Parser as _,
    visit::{self, Visit},
};

use super::{Project, code_names, suggestions::nearest_selector, vendor_extensions};
use crate::{
    api::OpenApiDocument,
    config::Config,
    conjunction::{SchemaConjunction, SchemaFacts, discriminator, finite},
    diagnostics::{Diagnostic, Diagnostics},
    formats::FormatTypes,
    names,
    options::SchemaOptions,
    prune::operation_schemas,
    resolve::{nullable::accept_null, suggest::help_nearest},
    schema::{SchemaGraph, SchemaId, TypeSet, reachable::reachable_schemas},
    shape::{DefaultableTypes, Shapes, TypeBody, TypeDef, is_default_path, machine_kind_of},
};

/// The names of modules that are generated or reserved. An area cannot have one of these names.
pub const RESERVED: &[&str] = &[
    "types",
    "schemas",
    "json_schemas",
    "formats",
    "operations",
    "bodies",
    "calls",
    "responses",
    "headers",
    "response_headers",
    "servers",
    "cli",
    "client",
    "credentials",
    "security_requirements",
    "server",
    "webhooks",
    "webhook_bodies",
    "webhook_calls",
    "webhook_responses",
    "webhook_headers",
    "webhook_response_headers",
    "webhook_client",
    "webhook_server",
    "views",
    "call_views",
    "root",
    "lib",
    "runtime",
];

impl Project {
    /// Resolves every selector of the configuration to the ids of the schemas. Selectors that match no schema
    /// are reported.
    pub(super) fn resolve_options(
        &self,
        graph: &SchemaGraph,
        api: &OpenApiDocument,
        diagnostics: &mut Diagnostics,
    ) -> SchemaOptions {
        let config = &self.config;
        let mut options = SchemaOptions::from_types(&config.types);
        options.unconstructible = finite::find_infinite_schemas(graph, options.implied_objects, diagnostics);
        let problems = std::cell::RefCell::new(diagnostics);
        let find = |selector: &str, option: &str| {
            find_schemas(config, graph, selector, option, &mut problems.borrow_mut())
        };
        let of_schemas = config.names.iter().filter(|(key, _)| {
            code_names::operation_key(key).is_none() && code_names::variant_key(graph, key).is_none()
        });
        for (selector, name) in of_schemas {
            let mut found = find(selector, "names");
            // If `nullable` split a schema into a union with `null`, both parts have the same location; only
            // the first gets the name.
            let mut places = HashSet::new();
            found.retain(|id| places.insert(&graph.schema(*id).place));
            options.names.extend(found.into_iter().map(|id| (id, name.clone())));
        }
        for (id, name) in code_names::schema_names(graph) {
            options.names.entry(id).or_insert(name);
        }
        for selector in &config.secrets {
            options.secrets.extend(find(selector, "secrets"));
        }
        for selector in &config.open {
            options.open.extend(find(selector, "open"));
        }
        for selector in &config.closed {
            options.closed.extend(find(selector, "closed"));
        }
        options.requests = request_only_schemas(graph, api);
        for (selector, path) in &config.replace {
            if !is_owned_type(path) {
                problems.borrow_mut().push(
                    Diagnostic::error("config", format!("`replace` contains an invalid Rust type: `{path}`"))
                        .with_optional_place(config.option_place("replace", selector))
                        .help("write the path of a type without references, such as `crate::Money`"),
                );
                continue;
            }
            options.replace.extend(find(selector, "replace").into_iter().map(|id| (id, path.clone())));
        }
        for selector in config.types.machine_integers.selectors() {
            options.machine_schemas.extend(find(selector, MACHINE_INTEGERS));
        }
        for selector in &config.types.unchecked {
            options.unchecked.extend(find(selector, "types.unchecked"));
        }
        options.common_derives.extend(config.derives.get(ALL_TYPES).into_iter().flatten().cloned());
        for (selector, paths) in config.derives.iter().filter(|(selector, _)| *selector != ALL_TYPES) {
            for id in find(selector, "derives") {
                options.attributes.entry(id).or_default().push(derive_attribute(paths));
            }
        }
        for (selector, attributes) in &config.attributes {
            for id in find(selector, "attributes") {
                options.attributes.entry(id).or_default().extend(attributes.iter().cloned());
            }
        }
        check_attributes(config, &mut problems.borrow_mut());
        vendor_extensions::collect_rust_types(
            config,
            graph,
            &mut options.replace,
            &mut problems.borrow_mut(),
        );
        options.formats = resolve_formats(config, graph, &mut problems.borrow_mut());
        for (selector, settings) in &config.wire.schemas {
            let found = find(selector, "wire.schemas");
            options.wire.extend(found.iter().map(|id| (*id, *settings)));
            options.wire_selectors.insert(selector.clone(), found);
        }
        for selector in config.client.shown.iter().filter(|entry| crate::plan::is_selector(entry)) {
            options.shown.insert(selector.clone(), find(selector, "client.shown"));
        }
        for view in &config.views {
            let found = view.types.iter().flat_map(|selector| find(selector, "view.types"));
            options.views.push(found.collect());
        }
        for area in &config.areas {
            for wanted in &area.schemas {
                let found: Vec<SchemaId> = graph
                    .ids()
                    .filter(|&id| names::file_stem(&graph.resource(graph.schema(id).resource).uri) == *wanted)
                    .collect();
                let found = if found.is_empty() { find(wanted, "area.schemas") } else { found };
                options.areas.extend(found.into_iter().map(|id| (id, area.name.clone())));
            }
            if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(&area.name)) {
                problems.borrow_mut().push(
                    Diagnostic::error(
                        "config",
                        format!(
                            "`{}` is not a valid area name: generated code has a module with this name",
                            area.name
                        ),
                    )
                    .with_optional_place(config.option_place("area.name", &area.name))
                    .help("choose another name"),
                );
            }
        }
        crate::plan::check_operation_lists(config, api, &mut problems.borrow_mut());
        crate::plan::check_names(config, (graph, api), &options.shown, &mut problems.borrow_mut());
        crate::plan::check_idempotency_header(config, api, &mut problems.borrow_mut());
        assign_tagged_areas(config, graph, api, &mut options, &mut problems.borrow_mut());
        options
    }
}

/// The key in `derives` that selects every type.
const ALL_TYPES: &str = "*";

/// Returns true if the string is a Rust type that a field can own, without references.
pub(super) fn is_owned_type(text: &str) -> bool {
    let Ok(ty) = syn::parse_str::<Type>(text) else { return false };
    let mut unfit = OwnedTypeCheck(false);
    unfit.visit_type(&ty);
    !unfit.0
}

/// A visitor that detects parts of a type that a field cannot own, such as references. Its value is true if
/// it found one.
struct OwnedTypeCheck(bool);

impl Visit<'_> for OwnedTypeCheck {
    fn visit_type(&mut self, ty: &Type) {
        match ty {
            Type::Path(_) | Type::Tuple(_) | Type::Array(_) | Type::Paren(_) => visit::visit_type(self, ty),
            _ => self.0 = true,
        }
    }
}

fn derive_attribute(paths: &[String]) -> String {
    format!("#[derive({})]", paths.join(", "))
}

/// Reports a `derives` option for `Default` that cannot be satisfied: a selector that matches an enum, or the
/// selector `*` if no type of the contract can derive `Default`.
fn check_default_derives(
    config: &Config,
    graph: &SchemaGraph,
    shapes: &Shapes,
    diagnostics: &mut Diagnostics,
) {
    const OPTION: &str = "derives";
    for (selector, path) in
        config.derives.iter().flat_map(|(selector, paths)| paths.iter().map(move |path| (selector, path)))
    {
        if !is_default_path(path) {
            continue;
        }
        if selector == ALL_TYPES {
            let known = DefaultableTypes::from_shapes(shapes);
            if !shapes.types.iter().any(|def| known.has_default(&def.body)) {
                let message = format!("`{OPTION}` does nothing for `{path}`: no type can derive it");
                diagnostics.push(
                    Diagnostic::error("config", message)
                        .with_optional_place(config.option_place(OPTION, path))
                        .help("only structs and newtypes whose fields all implement it can derive it; remove the entry"),
                );
            }
            continue;
        }
        let found = select_schemas(graph, selector);
        let is_enum =
            |body: &TypeBody| matches!(body, TypeBody::Enum(_) | TypeBody::Objects(_) | TypeBody::ByKind(_));
        let names = |def: &&TypeDef| def.schema.iter().chain(&def.conj.ids).any(|id| found.contains(id));
        if let Some(def) = shapes.types.iter().filter(|def| is_enum(&def.body)).find(names) {
            let message = format!("`{OPTION}` cannot derive `{path}` for `{}`, which is an enum", def.name);
            let mut problem = Diagnostic::error("config", message)
                .with_optional_place(config.option_place(OPTION, selector))
                .help("an enum has no default variant; remove the entry, or implement the trait by hand");
            if let Some(schema) = def.schema {
                problem = problem.with_label(graph.schema(schema).place.clone(), "the selected schema");
            }
            diagnostics.push(problem);
        }
    }
}

/// Reports values of `derives` that are not Rust paths, and values of `attributes` that are not Rust
/// attributes.
fn check_attributes(config: &Config, diagnostics: &mut Diagnostics) {
    let derives = config
        .derives
        .values()
        .flatten()
        .map(|path| ("derives", path, derive_attribute(std::slice::from_ref(path))));
    let attributes = config.attributes.values().flatten().map(|text| ("attributes", text, text.clone()));
    for (option, text, attribute) in derives.chain(attributes) {
        let is_path = option != "derives" || syn::parse_str::<syn::Path>(text).is_ok();
        if !is_path
            || !matches!(Attribute::parse_outer.parse_str(&attribute), Ok(parsed) if parsed.len() == 1)
        {
            let help = if option == "derives" {
                "write a path, such as `serde::Deserialize`"
            } else {
                "write an attribute: `#[…]`"
            };
            diagnostics.push(
                Diagnostic::error("config", format!("`{option}` contains invalid Rust: `{text}`"))
                    .with_optional_place(config.option_place(option, text))
                    .help(help),
            );
        }
    }
}

/// Resolves the Rust types in `types.formats`. Reports unknown mappings and formats that no schema uses.
fn resolve_formats(config: &Config, graph: &SchemaGraph, diagnostics: &mut Diagnostics) -> FormatTypes {
    const OPTION: &str = "types.formats";
    let (formats, unknown) = FormatTypes::from_options(&config.types.formats);
    for (format, help) in unknown {
        diagnostics.push(
            Diagnostic::error("config", format!("`{OPTION}` has no type for `{format}`"))
                .with_optional_place(config.option_place(OPTION, &format))
                .help(help),
        );
    }
    for mapped in formats.iter() {
        if !graph.ids().any(|id| formats.for_schema(graph.schema(id)) == Some(mapped)) {
            let format = &mapped.format;
            let message = format!("`{OPTION}` does nothing for `{format}`: no schema has this format");
            let known = graph.ids().filter_map(|id| graph.schema(id).format.as_deref());
            diagnostics.push(
                Diagnostic::error("config", message)
                    .with_optional_place(config.option_place(OPTION, format))
                    .help(help_nearest(format, known, "correct its name, or remove it")),
            );
        }
    }
    formats
}

/// Returns the schemas that a selector matches, or reports an error at the option if there are none.
fn find_schemas(
    config: &Config,
    graph: &SchemaGraph,
    selector: &str,
    option: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<SchemaId> {
    let found = select_schemas(graph, selector);
    if found.is_empty() {
        diagnostics.push(
            Diagnostic::error("config", format!("`{option}` selects no schema of the contract: `{selector}`"))
                .with_optional_place(config.option_place(option, selector))
                .help(match nearest_selector(graph, selector) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "a selector is the end of a schema's location, such as `problem.schema.json#/properties/status`; remove the option if the schema is gone".to_owned(),
                }),
        );
    }
    found
}

/// Marks the schemas in `types.implied-otherwise`, for which the opposite of `types.implied-objects` applies.
/// Reports selectors that change the type of no schema.
pub(super) fn apply_implied_otherwise(
    config: &Config,
    graph: &mut SchemaGraph,
    diagnostics: &mut Diagnostics,
) {
    const OPTION: &str = "types.implied-otherwise";
    for selector in &config.types.implied_otherwise {
        let usual = config.types.implied_objects;
        let read = |graph: &SchemaGraph, id| {
            SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schema(id), usual).types
        };
        let found = find_schemas(config, graph, selector, OPTION, diagnostics);
        let before: Vec<TypeSet> = found.iter().map(|id| read(graph, *id)).collect();
        found.iter().for_each(|id| graph.schemas[*id].implied_otherwise = true);
        if !found.is_empty() && found.iter().zip(before).all(|(id, before)| read(graph, *id) == before) {
            diagnostics.push(
                Diagnostic::error("config", format!("`{OPTION}` does nothing for `{selector}`"))
                    .with_optional_place(config.option_place(OPTION, selector))
                    .help("the schema has a `type`, or no keyword that implies one; remove the option"),
            );
        }
    }
}

/// Determines which base schemas with a discriminator become enums of the schemas that extend them, and
/// records the extending schemas in the graph. The bases are those in `types.families` or, by default, those
/// that require their tag and to which a `$ref` outside of `allOf` refers.
pub(super) fn apply_families(config: &Config, graph: &mut SchemaGraph, diagnostics: &mut Diagnostics) {
    let named: Option<BTreeSet<SchemaId>> = config.types.families.as_ref().map(|named| {
        let named = named.iter();
        named.flat_map(|selector| find_schemas(config, graph, selector, FAMILIES, diagnostics)).collect()
    });
    let values = discriminator::value_schemas(graph);
    for (base, children) in discriminator::find_families(graph) {
        let selected = match &named {
            Some(named) => named.contains(&base),
            None if !values.contains(&base) => false,
            None if discriminator::requires_tag(graph, base, &children) => true,
            None => {
                note_optional_tag(graph, base, diagnostics);
                false
            }
        };
        if selected {
            graph.schemas[base].discriminator.iter_mut().for_each(|it| it.family.clone_from(&children));
        }
    }
}

/// Adds a note that a base schema becomes a struct instead of an enum, because its discriminator property is
/// not required.
fn note_optional_tag(graph: &SchemaGraph, base: SchemaId, diagnostics: &mut Diagnostics) {
    let schema = graph.schema(base);
    let Some(discriminator) = &schema.discriminator else { return };
    let message = format!(
        "the schema becomes a struct, not an enum of the schemas that extend it, because its `discriminator` property `{}` is not required",
        discriminator.tag
    );
    let help =
        format!("list `{}` in `families` of `[types]` to read it as an enum", shortest_selector(graph, base));
    diagnostics.push(
        Diagnostic::note("optional-discriminator", message).with_place(schema.place.clone()).help(help),
    );
}

const FAMILIES: &str = "types.families";
const MACHINE_INTEGERS: &str = "types.machine-integers";

/// Makes the schemas in the option `nullable`, and those with `x-nullable: true`, accept `null`. Reports
/// selectors of schemas that already accept it.
pub(super) fn allow_null(config: &Config, graph: &mut SchemaGraph, diagnostics: &mut Diagnostics) {
    let mut all = BTreeSet::new();
    for selector in &config.nullable {
        let found = find_schemas(config, graph, selector, "nullable", diagnostics);
        let refuses = |id: &SchemaId| {
            !SchemaFacts::stated_types(graph, &SchemaConjunction::from_schema(*id)).contains(TypeSet::NULL)
        };
        let refusing: Vec<SchemaId> = found.iter().copied().filter(refuses).collect();
        if refusing.is_empty()
            && let Some(first) = found.first()
        {
            diagnostics.push(
                Diagnostic::error("config", format!("`nullable` does nothing for `{selector}`"))
                    .with_optional_place(config.option_place("nullable", selector))
                    .with_label(graph.schema(*first).place.clone(), "the selected schema")
                    .help("the schema already accepts `null`; remove the option"),
            );
        }
        all.extend(refusing);
    }
    all.extend(graph.ids().filter(|id| {
        vendor_extensions::is_nullable(graph.schema(*id))
            && !SchemaFacts::stated_types(graph, &SchemaConjunction::from_schema(*id)).contains(TypeSet::NULL)
    }));
    for id in all {
        let place = graph.schema(id).place.clone();
        accept_null(graph, id, &place);
    }
}

/// Returns the schemas that are reachable from requests but not from responses or webhooks.
fn request_only_schemas(graph: &SchemaGraph, api: &OpenApiDocument) -> BTreeSet<SchemaId> {
    let mut requested = Vec::new();
    let mut others = Vec::new();
    for operation in &api.operations {
        requested.extend(operation.parameters.iter().filter_map(|p| p.schema));
        requested.extend(operation.request_body.iter().flat_map(|b| &b.content).flat_map(|m| m.schema_ids()));
        for response in &operation.responses {
            others.extend(response.content.iter().flat_map(|m| m.schema_ids()));
            others.extend(response.headers.iter().filter_map(|h| h.schema));
        }
    }
    others.extend(operation_schemas(graph, api.webhooks.iter()));
    let others = reachable_schemas(graph, others);
    reachable_schemas(graph, requested).into_iter().filter(|id| !others.contains(id)).collect()
}

/// Reports selectors of `derives` that match no type, and selectors of `attributes` that match neither a type
/// nor a field.
fn check_attribute_targets(
    config: &Config,
    graph: &SchemaGraph,
    shapes: &Shapes,
    diagnostics: &mut Diagnostics,
) {
    let mut types: BTreeSet<SchemaId> = BTreeSet::new();
    let mut fields: BTreeSet<SchemaId> = BTreeSet::new();
    for def in &shapes.types {
        types.extend(def.schema.iter().chain(&def.conj.ids));
        if let TypeBody::Struct(body) = &def.body {
            fields.extend(
                body.fields.iter().filter(|field| !field.omitted).filter_map(|field| field.described_by),
            );
        }
    }
    let derives = config.derives.keys().filter(|selector| *selector != ALL_TYPES);
    let derives = derives.map(|selector| ("derives", selector));
    for (option, selector) in derives.chain(config.attributes.keys().map(|selector| ("attributes", selector)))
    {
        let found = select_schemas(graph, selector);
        let is_met = |id: &SchemaId| types.contains(id) || (option == "attributes" && fields.contains(id));
        if let Some(first) = found.first()
            && !found.iter().any(is_met)
        {
            diagnostics.push(
                Diagnostic::error("config", format!("`{option}` does nothing for `{selector}`"))
                    .with_optional_place(config.option_place(option, selector))
                    .with_label(graph.schema(*first).place.clone(), "the selected schema")
                    .help("it becomes neither a type nor a field; remove the option"),
            );
        }
    }
}

/// Reports selectors of `derives`, `attributes`, `open`, `closed`, `types.families` and `types.machine-integers` that
/// match schemas but have no effect on them.
pub(super) fn check_unused_options(
    config: &Config,
    graph: &SchemaGraph,
    shapes: &Shapes,
    options: &SchemaOptions,
    diagnostics: &mut Diagnostics,
) {
    check_attribute_targets(config, graph, shapes, diagnostics);
    check_default_derives(config, graph, shapes, diagnostics);
    let decided = &shapes.used_overrides;
    let open = config
        .open
        .iter()
        .map(|selector| (selector, "open", "responses use it, so that unknown values are kept by default"));
    let closed = config.closed.iter().map(|selector| {
        (selector, "closed", "only requests use it, so that unknown values are rejected by default")
    });
    let enumerated = |already: &str| {
        format!(
            "it is neither a string enumeration nor a union whose branches all require the tag, or {already}; remove the option"
        )
    };
    let lists = open.chain(closed).map(|(selector, option, already)| (selector, option, enumerated(already)));
    let families = config.types.families.iter().flatten().map(|selector| {
        let help = "select an object schema with a `discriminator` and without `oneOf` and `anyOf`, which named schemas extend by `allOf` as values of the discriminator; or remove the option";
        (selector, FAMILIES, help.to_owned())
    });
    let integers = config.types.machine_integers.selectors().iter().map(|selector| {
        let help = "select an integer with the format `int32`, `uint32` or `uint64`, whose bounds are within the type; or remove the option";
        (selector, MACHINE_INTEGERS, help.to_owned())
    });
    for (selector, option, help) in lists.chain(families).chain(integers) {
        let found = select_schemas(graph, selector);
        if option == MACHINE_INTEGERS && found.iter().any(|id| machine_kind_of(graph, options, *id).is_some())
        {
            continue;
        }
        // A selector without schemas is not reported here, because the selection of operations may have
        // removed them.
        let Some(first) = found.first() else { continue };
        if found.iter().any(|id| decided.contains(id)) {
            continue;
        }
        diagnostics.push(
            Diagnostic::error("config", format!("`{option}` does nothing for `{selector}`"))
                .with_optional_place(config.option_place(option, selector))
                .with_label(graph.schema(*first).place.clone(), "the selected schema")
                .help(help),
        );
    }
}

/// Assigns schemas to areas by tag: a schema belongs to the area whose operations use it. It is not assigned
/// if another area lists it or if operations of several areas use it.
fn assign_tagged_areas(
    config: &Config,
    graph: &SchemaGraph,
    api: &OpenApiDocument,
    options: &mut SchemaOptions,
    problems: &mut Diagnostics,
) {
    let mut reached: Vec<(&str, BTreeSet<SchemaId>)> = Vec::new();
    for area in config.areas.iter().filter(|area| !area.tags.is_empty()) {
        for tag in &area.tags {
            if !api.operations.iter().any(|operation| operation.tags.contains(tag)) {
                let tags = api.operations.iter().flat_map(|operation| &operation.tags).map(String::as_str);
                problems.push(
                    Diagnostic::error(
                        "config",
                        format!("`area.tags` contains a tag that no operation has: `{tag}`"),
                    )
                    .with_optional_place(config.option_place("area.tags", tag))
                    .help(help_nearest(
                        tag,
                        tags,
                        "remove the tag from the area, or the area itself",
                    )),
                );
            }
        }
        let operations = api.operations.iter().filter(|o| o.tags.iter().any(|tag| area.tags.contains(tag)));
        reached.push((&area.name, reachable_schemas(graph, operation_schemas(graph, operations))));
    }
    let mut counts: BTreeMap<SchemaId, usize> = BTreeMap::new();
    reached.iter().flat_map(|(_, ids)| ids).for_each(|id| *counts.entry(*id).or_default() += 1);
    for (area, ids) in reached {
        for id in ids.into_iter().filter(|id| counts.get(id) == Some(&1)) {
            options.areas.entry(id).or_insert_with(|| area.to_owned());
        }
    }
}

/// Returns the schemas whose location ends with the selector.
#[must_use]
pub fn select_schemas(graph: &SchemaGraph, selector: &str) -> Vec<SchemaId> {
    let whole = |location: &str| {
        location.strip_suffix(selector).is_some_and(|before| {
            before.is_empty() || before.ends_with(['/', '#']) || selector.starts_with('#')
        })
    };
    graph
        .ids()
        .filter(|&id| {
            let location = graph.absolute_location(id);
            whole(&location) || whole(location.trim_end_matches('#'))
        })
        .collect()
}

/// Returns a short selector that matches only this schema: the pointer, or else the file name with the
/// pointer, or else the whole location.
#[must_use]
pub fn shortest_selector(graph: &SchemaGraph, id: SchemaId) -> String {
    let location = graph.absolute_location(id);
    let (uri, pointer) = location.split_once('#').unwrap_or((&location, ""));
    let short = format!("#{pointer}");
    if !pointer.is_empty() && select_schemas(graph, &short) == [id] {
        return short;
    }
    let file = uri.rsplit('/').next().unwrap_or(uri);
    let longer = if pointer.is_empty() { file.to_owned() } else { format!("{file}#{pointer}") };
    if select_schemas(graph, &longer) == [id] { longer } else { location }
}

#[cfg(test)]
mod tests {
    use super::TypeBody;
    use crate::{
        config::Config,
        generate::{AnalyzedContract, Project},
        load::Sources,
    };

    const API: &str = "
openapi: 3.1.0
info: { title: Fleet, version: '1' }
paths:
  /ships:
    post:
      operationId: ships/add
      parameters:
        - { $ref: '#/components/parameters/order' }
        - { name: Idempotency-Key, in: header, required: true, schema: { type: string } }
        - { name: X-Trace, in: header, schema: { type: string } }
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/New' } } } }
      responses:
        '200': { description: '', headers: { X-Left: { schema: { type: integer } } }, content: { application/json: { schema: { $ref: '#/components/schemas/Ship' } } } }
        '400': { description: '', content: { application/problem+json: { schema: { anyOf: [{ $ref: '#/components/schemas/Fault' }, { type: string }] } } } }
components:
  parameters:
    order: { name: order, in: query, schema: { enum: [up, down] } }
  schemas:
    New: { type: object, properties: { kind: { $ref: '#/components/schemas/Kind' }, via: { enum: [web, unknown] } } }
    Ship: { type: object, properties: { kind: { $ref: '#/components/schemas/Kind' }, format: { const: ship }, armed: { type: boolean }, rest: {} } }
    Kind: { enum: [cargo, scout] }
    Fault: { type: object, properties: { code: { type: string }, inner: { type: object, properties: { detail: { type: string } } } } }
    Base: { type: object, properties: { a: { type: string } } }
    Codes: { type: array, items: { type: string } }
    Pair: { type: array, prefixItems: [{ type: string }, { type: string }] }
    Later: { type: object, properties: { a: {} }, if: { required: [a] }, then: { properties: { b: { type: string } } } }
    Whole: { allOf: [{ $ref: '#/components/schemas/Base' }], properties: { b: { type: string } } }
";

    fn read(options: &str) -> Result<AnalyzedContract, String> {
        let config: Config = toml::from_str(options).unwrap();
        let project = Project { config, ..Project::default() };
        let sources = Sources::from_texts(&[("api.yaml", "", API)]).unwrap();
        project.analyze_sources(sources).map_err(|problems| problems.render(false))
    }

    /// Analyzes the test contract with these options. Returns the name of each enumeration, and true if it
    /// keeps unknown values.
    fn enumerations(options: &str) -> Vec<(String, bool)> {
        let contract = read(options).unwrap_or_else(|e| panic!("{e}"));
        let enums = contract.shapes.types.iter().filter_map(|def| match &def.body {
            TypeBody::Enum(list) => Some((def.name.clone(), list.open)),
            _ => None,
        });
        let mut enums: Vec<(String, bool)> = enums.collect();
        enums.sort();
        enums
    }

    /// CON-12: an enumeration that is used in a response keeps unknown values, even if requests use it as
    /// well. `open` and `closed` override this.
    #[test]
    fn response_enums_keep_unknown_values() {
        let expect = |via: bool, kind: bool| {
            let enums = [("Kind", kind), ("NewVia", via), ("Order", false), ("ShipFormat", true)];
            enums.map(|(name, open)| (name.to_owned(), open))
        };
        assert_eq!(enumerations(""), expect(false, true));
        assert_eq!(enumerations("open = ['#/components/schemas/New/properties/via']"), expect(true, true));
        assert_eq!(enumerations("closed = ['#/components/schemas/Kind']"), expect(false, false));
    }

    #[test]
    fn options_without_effect_are_rejected() {
        for options in [
            "open = ['#/components/schemas/Kind']",
            "closed = ['#/components/schemas/New/properties/via']",
            "open = ['#/components/schemas/Ship/properties/armed']",
            "closed = ['#/components/schemas/Ship/properties/armed']",
            "nullable = ['#/components/schemas/Ship/properties/rest']",
            "types.implied-otherwise = ['#/components/schemas/Kind']",
            "types.families = ['#/components/schemas/Base']",
            "types.machine-integers = ['#/components/schemas/Kind']",
            "types.formats = { uuid = 'uuid' }",
            "types.rust-types = ['fleet']",
            "attributes = { '#/components/schemas/Base' = ['#[doc(hidden)]'] }",
            "derives = { '#/components/schemas/Ship/properties/armed' = ['Default'] }",
            "secrets = ['#/components/schemas/Ship/properties/armed']",
            "secrets = ['#/components/schemas/Codes']",
            "secrets = ['#/components/schemas/Pair/prefixItems/0']",
            "secrets = ['#/components/schemas/Later/then/properties/b']",
            "secrets = ['#/components/schemas/Later/if']",
            "operations.idempotency-header = 'Idempotency-Kye'",
            "operations.hidden-headers = ['X-Nope']",
            "client.transport-headers = ['X-Nope']",
            "client.transport-headers = ['order']",
            "client.shown = ['nope']",
            "client.shown = ['detail']",
            "client.shown = ['#/components/schemas/Ship/properties/kind']",
        ] {
            let error = read(options).unwrap_err();
            assert!(error.contains("does nothing for"), "{options}: {error}");
        }
    }

    /// Header options match regardless of case, and `client.shown` accepts properties of error responses.
    #[test]
    fn existing_headers_and_properties_are_accepted() {
        let options = "operations.idempotency-header = 'idempotency-key'\noperations.hidden-headers = ['x-trace', 'x-left']\nclient.transport-headers = ['x-TRACE']\nclient.shown = ['code', 'inner', '#/components/schemas/Fault/properties/code']";
        read(options).unwrap_or_else(|e| panic!("{e}"));
        // If an error response allows any property, every name is accepted in `client.shown`.
        let config: Config = toml::from_str("client.shown = ['code']").unwrap();
        let free = "{openapi: 3.1.0, info: {title: '', version: ''}, paths: {/a: {get: {responses: {default: {description: '', content: {application/json: {}}}}}}}}";
        let sources = Sources::from_texts(&[("free.yaml", "", free)]).unwrap();
        let project = Project { config, ..Project::default() };
        project.analyze_sources(sources).unwrap_or_else(|e| panic!("{e}"));
    }

    /// `derives` of `Default` for `*` is accepted if any type can derive it; for a selected enum, or if all
    /// types are enums, it is an error.
    #[test]
    fn enums_have_no_default() {
        read("derives = { '*' = ['Default'] }").unwrap_or_else(|e| panic!("{e}"));
        let error =
            read("derives = { '#/components/schemas/Kind' = ['std::default::Default'] }").unwrap_err();
        assert!(error.contains("for `Kind`,") && error.contains("which is an enum"), "{error}");
        let config: Config = toml::from_str("derives = { '*' = ['Default'] }").unwrap();
        let sources = Sources::from_texts(&[("a.schema.json", "", r#"{"enum": ["a", "b"]}"#)]).unwrap();
        let problems = Project { config, ..Project::default() }.analyze_sources(sources).unwrap_err();
        let error = problems.render(false);
        assert!(error.contains("does nothing for `Default`"), "{error}");
    }

    #[test]
    fn invalid_rust_is_rejected() {
        for options in [
            "attributes = { '#/components/schemas/Ship' = ['Default'] }",
            "derives = { '*' = ['a b'] }",
            "types.formats = { uuid = 'jiff' }",
        ] {
            let error = read(options).unwrap_err();
            assert!(
                error.contains("contains invalid Rust") || error.contains("has no type for"),
                "{options}: {error}"
            );
        }
        let replaced = |path: &str| read(&format!("[replace]\n'#/components/schemas/Kind' = \"{path}\""));
        for path in [
            "crate::",
            "",
            "5",
            "fn",
            "crate::Money; pub struct X",
            "&str",
            "crate::Money<",
            "_",
            "Vec<&str>",
            "dyn Kind",
        ] {
            let error = replaced(path).unwrap_err();
            assert!(error.contains("`replace` contains an invalid Rust type"), "{path}: {error}");
        }
        for path in ["crate::Money", "::money::Money<'static, [u8; 4]>", "std::boxed::Box<(u8, crate::Kind)>"]
        {
            replaced(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    }

    /// The value `unknown` becomes the variant `UnknownValue`, because `Unknown` is reserved for unknown
    /// values, even if the enumeration is closed.
    #[test]
    fn variant_for_unknown_values_has_a_unique_name() {
        let contract = read("").unwrap();
        let via = contract.shapes.types.iter().find(|def| def.name == "NewVia").unwrap();
        let TypeBody::Enum(list) = &via.body else { panic!("{via:?}") };
        assert_eq!(
            list.values.iter().map(|(_, name, _)| name.as_str()).collect::<Vec<_>>(),
            ["Web", "UnknownValue"]
        );
    }

    /// A schema that is used only in `allOf` has no type, but the schema that includes it has one.
    #[test]
    fn base_used_only_in_all_of_has_no_type() {
        let contract = read("").unwrap();
        let names: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
        assert!(names.contains(&"Whole") && !names.contains(&"Base"), "{names:?}");
    }
}
