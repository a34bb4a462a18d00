//! Options become ids: every selector is settled against the contract, and one that names nothing
//! is an error.

use std::collections::{BTreeMap, BTreeSet};

use syn::{
    Attribute, Type,
    parse::Parser as _,
    visit::{self, Visit},
};

use super::{Project, vendor};
use crate::{
    api::Api,
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    formats::Formats,
    names,
    options::Options,
    prune::{reach, seeds},
    resolve::nullable::or_null,
    schema::{Graph, SchemaId, Types},
    shape::{Body, Defaults, Shapes, TypeDef, is_default},
    together::{Conj, Facts, finite, meaning},
};

/// Module names that generated code uses itself.
pub(crate) const RESERVED: &[&str] = &[
    "types",
    "schemas",
    "json_schemas",
    "formats",
    "operations",
    "bodies",
    "calls",
    "answers",
    "cli",
    "client",
    "credentials",
    "server",
    "webhooks",
    "webhook_bodies",
    "webhook_calls",
    "webhook_answers",
    "webhook_client",
    "webhook_server",
    "views",
    "call_views",
    "root",
    "lib",
    "runtime",
];

impl Project {
    /// Settles every selector of the configuration; one that names nothing is an error.
    pub(super) fn options(&self, graph: &Graph, api: &Api, diagnostics: &mut Diagnostics) -> Options {
        let config = &self.config;
        let mut options = Options::from_types(&config.types);
        options.endless = finite::endless(graph, options.implied_objects, diagnostics);
        let problems = std::cell::RefCell::new(diagnostics);
        let find =
            |selector: &str, option: &str| find(config, graph, selector, option, &mut problems.borrow_mut());
        for (selector, name) in &config.names {
            let mut found = find(selector, "names");
            // What decides beside a `nullable` stands at the same place, and has no name.
            let mut places = BTreeSet::new();
            found.retain(|id| places.insert(graph.location(*id)));
            options.names.extend(found.into_iter().map(|id| (id, name.clone())));
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
        options.requests = requests(graph, api);
        for (selector, path) in &config.replace {
            if !is_owned_type(path) {
                problems.borrow_mut().push(
                    Diagnostic::error("config", format!("`replace` holds what is no type of Rust: `{path}`"))
                        .maybe_at(config.place("replace", selector))
                        .help("write the path of a type that holds its value itself: `crate::Money`"),
                );
                continue;
            }
            options.replace.extend(find(selector, "replace").into_iter().map(|id| (id, path.clone())));
        }
        for selector in &config.types.unchecked {
            options.unchecked.extend(find(selector, "types.unchecked"));
        }
        options.everywhere.extend(config.derives.get(EVERY).into_iter().flatten().cloned());
        for (selector, paths) in config.derives.iter().filter(|(selector, _)| *selector != EVERY) {
            for id in find(selector, "derives") {
                options.attributes.entry(id).or_default().push(derive(paths));
            }
        }
        for (selector, attributes) in &config.attributes {
            for id in find(selector, "attributes") {
                options.attributes.entry(id).or_default().extend(attributes.iter().cloned());
            }
        }
        attributes(config, &mut problems.borrow_mut());
        vendor::types(config, graph, &mut options.replace, &mut problems.borrow_mut());
        options.formats = formats(config, graph, &mut problems.borrow_mut());
        for view in &config.views {
            let found = view.types.iter().flat_map(|selector| find(selector, "view.types"));
            options.views.push(found.collect());
        }
        for area in &config.areas {
            for wanted in &area.schemas {
                let found: Vec<SchemaId> = graph
                    .ids()
                    .filter(|&id| names::stem(&graph.resource(graph.schema(id).resource).uri) == *wanted)
                    .collect();
                let found = if found.is_empty() { find(wanted, "area.schemas") } else { found };
                options.areas.extend(found.into_iter().map(|id| (id, area.name.clone())));
            }
            if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(&area.name)) {
                problems.borrow_mut().push(
                    Diagnostic::error(
                        "config",
                        format!(
                            "no area can be called `{}`: generated code has a module of that name",
                            area.name
                        ),
                    )
                    .maybe_at(config.place("area.name", &area.name))
                    .help("choose another name"),
                );
            }
        }
        crate::plan::check_lists(config, api, &mut problems.borrow_mut());
        crate::plan::check_names(config, graph, api, &mut problems.borrow_mut());
        tagged_areas(config, graph, api, &mut options, &mut problems.borrow_mut());
        options
    }
}

/// What stands for every type in `derives`.
const EVERY: &str = "*";

/// Whether a text is a type that a field can hold, without a reference to what is held elsewhere.
pub(super) fn is_owned_type(text: &str) -> bool {
    let Ok(ty) = syn::parse_str::<Type>(text) else { return false };
    let mut unfit = Unfit(false);
    unfit.visit_type(&ty);
    !unfit.0
}

/// Whether there is anything in a type that no field can hold.
struct Unfit(bool);

impl Visit<'_> for Unfit {
    fn visit_type(&mut self, ty: &Type) {
        match ty {
            Type::Path(_) | Type::Tuple(_) | Type::Array(_) | Type::Paren(_) => visit::visit_type(self, ty),
            _ => self.0 = true,
        }
    }
}

fn derive(paths: &[String]) -> String {
    format!("#[derive({})]", paths.join(", "))
}

/// Asked for by name, a `Default` of an enumeration is an error; asked for everywhere it is for the
/// types that can have it, and an error where none can.
fn defaults(config: &Config, graph: &Graph, shapes: &Shapes, diagnostics: &mut Diagnostics) {
    const OPTION: &str = "derives";
    for (selector, path) in
        config.derives.iter().flat_map(|(selector, paths)| paths.iter().map(move |path| (selector, path)))
    {
        if !is_default(path) {
            continue;
        }
        if selector == EVERY {
            let known = Defaults::of(shapes);
            if !shapes.types.iter().any(|def| known.of_body(&def.body)) {
                let message = format!("`{OPTION}` does nothing for `{path}`: no type can have it");
                diagnostics.push(
                    Diagnostic::error("config", message)
                        .maybe_at(config.place(OPTION, path))
                        .help("structs and newtypes have it whose members all have; take it out"),
                );
            }
            continue;
        }
        let found = select(graph, selector);
        let is_enum = |body: &Body| matches!(body, Body::Enum(_) | Body::Tagged(_) | Body::ByKind(_));
        let names = |def: &&TypeDef| def.schema.iter().chain(&def.conj.ids).any(|id| found.contains(id));
        if let Some(def) = shapes.types.iter().filter(|def| is_enum(&def.body)).find(names) {
            let message = format!("`{OPTION}` asks for a `{path}` of `{}`, which is an enum", def.name);
            let mut problem = Diagnostic::error("config", message)
                .maybe_at(config.place(OPTION, selector))
                .help("no value of an enum is the usual one; take it out, or write it beside the type");
            if let Some(schema) = def.schema {
                problem = problem.label(graph.schema(schema).place.clone(), "this is what it names");
            }
            diagnostics.push(problem);
        }
    }
}

/// Whether what `derives` and `attributes` hold is Rust.
fn attributes(config: &Config, diagnostics: &mut Diagnostics) {
    let derives =
        config.derives.values().flatten().map(|path| ("derives", path, derive(std::slice::from_ref(path))));
    let attributes = config.attributes.values().flatten().map(|text| ("attributes", text, text.clone()));
    for (option, text, attribute) in derives.chain(attributes) {
        let is_path = option != "derives" || syn::parse_str::<syn::Path>(text).is_ok();
        if !is_path
            || !matches!(Attribute::parse_outer.parse_str(&attribute), Ok(parsed) if parsed.len() == 1)
        {
            let help =
                if option == "derives" { "write a path: `serde::Deserialize`" } else { "write `#[…]`" };
            diagnostics.push(
                Diagnostic::error("config", format!("`{option}` holds what is none of Rust: `{text}`"))
                    .maybe_at(config.place(option, text))
                    .help(help),
            );
        }
    }
}

/// The types of formats; one that no text of the contract has is an error.
fn formats(config: &Config, graph: &Graph, diagnostics: &mut Diagnostics) -> Formats {
    const OPTION: &str = "types.formats";
    let (formats, unknown) = Formats::settle(&config.types.formats);
    for (format, help) in unknown {
        diagnostics.push(
            Diagnostic::error("config", format!("`{OPTION}` has no type for `{format}`"))
                .maybe_at(config.place(OPTION, &format))
                .help(help),
        );
    }
    for mapped in formats.iter() {
        if !graph.ids().any(|id| formats.of(graph.schema(id)) == Some(mapped)) {
            let format = &mapped.format;
            let message = format!("`{OPTION}` does nothing for `{format}`: no schema has this format");
            diagnostics.push(
                Diagnostic::error("config", message)
                    .maybe_at(config.place(OPTION, format))
                    .help("correct its name, or remove it"),
            );
        }
    }
    formats
}

/// The schemas of a selector; one that names none is an error.
fn find(
    config: &Config,
    graph: &Graph,
    selector: &str,
    option: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<SchemaId> {
    let found = select(graph, selector);
    if found.is_empty() {
        diagnostics.push(
            Diagnostic::error("config", format!("`{option}` names a schema that the contract does not have: `{selector}`"))
                .maybe_at(config.place(option, selector))
                .help("a selector is the end of a schema's location, such as `problem.schema.json#/properties/status`; remove the option if the schema is gone"),
        );
    }
    found
}

/// Notes in the graph which schemas are read the other way than `implied-objects` says; of one
/// that reads the same either way, that is an error.
pub(super) fn imply(config: &Config, graph: &mut Graph, diagnostics: &mut Diagnostics) {
    const OPTION: &str = "types.implied-otherwise";
    for selector in &config.types.implied_otherwise {
        let usual = config.types.implied_objects;
        let read = |graph: &Graph, id| Facts::of(graph, &Conj::one(id), usual).types;
        let found = find(config, graph, selector, OPTION, diagnostics);
        let before: Vec<Types> = found.iter().map(|id| read(graph, *id)).collect();
        found.iter().for_each(|id| graph.schemas[*id].implied_otherwise = true);
        if !found.is_empty() && found.iter().zip(before).all(|(id, before)| read(graph, *id) == before) {
            diagnostics.push(
                Diagnostic::error("config", format!("`{OPTION}` does nothing for `{selector}`"))
                    .maybe_at(config.place(OPTION, selector))
                    .help("the schema has a `type`, or no keyword that speaks about one; remove the option"),
            );
        }
    }
}

/// Notes in the graph which bases become enums of their children.
pub(super) fn families(config: &Config, graph: &mut Graph, diagnostics: &mut Diagnostics) {
    if config.types.families.is_empty() {
        return;
    }
    let named = config.types.families.iter();
    let named: BTreeSet<SchemaId> =
        named.flat_map(|selector| find(config, graph, selector, FAMILIES, diagnostics)).collect();
    for (base, children) in meaning::families(graph).into_iter().filter(|(base, _)| named.contains(base)) {
        graph.schemas[base].discriminator.iter_mut().for_each(|it| it.family.clone_from(&children));
    }
}

const FAMILIES: &str = "types.families";

/// Makes the schemas accept `null` of which the owner says that they do; where the contract says so
/// already, that is an error.
pub(super) fn allow_null(config: &Config, graph: &mut Graph, diagnostics: &mut Diagnostics) {
    let mut all = BTreeSet::new();
    for selector in &config.nullable {
        let found = find(config, graph, selector, "nullable", diagnostics);
        let refuses = |id: &SchemaId| !Facts::stated(graph, &Conj::one(*id)).contains(Types::NULL);
        let refusing: Vec<SchemaId> = found.iter().copied().filter(refuses).collect();
        if refusing.is_empty()
            && let Some(first) = found.first()
        {
            diagnostics.push(
                Diagnostic::error("config", format!("`nullable` does nothing for `{selector}`"))
                    .maybe_at(config.place("nullable", selector))
                    .label(graph.schema(*first).place.clone(), "this is what it names")
                    .help("it accepts `null` already; remove the option"),
            );
        }
        all.extend(refusing);
    }
    all.extend(graph.ids().filter(|id| {
        vendor::is_nullable(graph.schema(*id)) && !Facts::stated(graph, &Conj::one(*id)).contains(Types::NULL)
    }));
    for id in all {
        let place = graph.schema(id).place.clone();
        or_null(graph, id, &place);
    }
}

/// The schemas that requests hold and nothing else: no answer, no webhook, and no document by
/// itself.
fn requests(graph: &Graph, api: &Api) -> BTreeSet<SchemaId> {
    let mut asked = Vec::new();
    let mut others = Vec::new();
    for operation in &api.operations {
        asked.extend(operation.parameters.iter().filter_map(|p| p.schema));
        asked.extend(operation.request_body.iter().flat_map(|b| &b.content).flat_map(|m| m.schemas()));
        for response in &operation.responses {
            others.extend(response.content.iter().flat_map(|m| m.schemas()));
            others.extend(response.headers.iter().filter_map(|h| h.schema));
        }
    }
    others.extend(seeds(graph, api.webhooks.iter()));
    let others = reach(graph, others);
    reach(graph, asked).into_iter().filter(|id| !others.contains(id)).collect()
}

/// Every selector of `derives` that names no type, and of `attributes` that names no field either, is
/// an error.
fn dressed(config: &Config, graph: &Graph, shapes: &Shapes, diagnostics: &mut Diagnostics) {
    let mut types: BTreeSet<SchemaId> = BTreeSet::new();
    let mut fields: BTreeSet<SchemaId> = BTreeSet::new();
    for def in &shapes.types {
        types.extend(def.schema.iter().chain(&def.conj.ids));
        if let Body::Struct(body) = &def.body {
            fields
                .extend(body.fields.iter().filter(|field| !field.omitted).filter_map(|field| field.describe));
        }
    }
    let derives = config.derives.keys().filter(|selector| *selector != EVERY);
    let derives = derives.map(|selector| ("derives", selector));
    for (option, selector) in derives.chain(config.attributes.keys().map(|selector| ("attributes", selector)))
    {
        let found = select(graph, selector);
        let is_met = |id: &SchemaId| types.contains(id) || (option == "attributes" && fields.contains(id));
        if let Some(first) = found.first()
            && !found.iter().any(is_met)
        {
            diagnostics.push(
                Diagnostic::error("config", format!("`{option}` does nothing for `{selector}`"))
                    .maybe_at(config.place(option, selector))
                    .label(graph.schema(*first).place.clone(), "this is what it names")
                    .help("no type is made of it, and no field; remove the option"),
            );
        }
    }
}

/// Every selector of `open`, `closed` and `families` that changes no type is an error.
pub(super) fn idle(config: &Config, graph: &Graph, shapes: &Shapes, diagnostics: &mut Diagnostics) {
    dressed(config, graph, shapes, diagnostics);
    defaults(config, graph, shapes, diagnostics);
    let decided = &shapes.decided;
    let open = config.open.iter().map(|selector| {
        (selector, "open", "answers hold it: unknown values are kept there without being asked for")
    });
    let closed = config.closed.iter().map(|selector| {
        (
            selector,
            "closed",
            "requests alone hold it: unknown values are refused there without being asked for",
        )
    });
    let enumerated = |already: &str| {
        format!(
            "it is no string enumeration and no union whose branches all require the tag, or {already}; remove the option"
        )
    };
    let lists = open.chain(closed).map(|(selector, option, already)| (selector, option, enumerated(already)));
    let families = config.types.families.iter().map(|selector| {
        let help = "a family is of an object with a `discriminator` and without `oneOf` and `anyOf`, which others with a name take in by `allOf`, and which a value of the discriminator means; remove the option";
        (selector, FAMILIES, help.to_owned())
    });
    for (selector, option, help) in lists.chain(families) {
        let found = select(graph, selector);
        // Nothing of a selector is left where another part of the contract was asked for.
        let Some(first) = found.first() else { continue };
        if found.iter().any(|id| decided.contains(id)) {
            continue;
        }
        diagnostics.push(
            Diagnostic::error("config", format!("`{option}` does nothing for `{selector}`"))
                .maybe_at(config.place(option, selector))
                .label(graph.schema(*first).place.clone(), "this is what it names")
                .help(help),
        );
    }
}

/// Puts what the operations of an area's tags reach into it, unless an area names it already or
/// another area's operations reach it too.
fn tagged_areas(
    config: &Config,
    graph: &Graph,
    api: &Api,
    options: &mut Options,
    problems: &mut Diagnostics,
) {
    let mut reached: Vec<(&str, BTreeSet<SchemaId>)> = Vec::new();
    for area in config.areas.iter().filter(|area| !area.tags.is_empty()) {
        for tag in &area.tags {
            if !api.operations.iter().any(|operation| operation.tags.contains(tag)) {
                problems.push(
                    Diagnostic::error(
                        "config",
                        format!("`area.tags` names a tag that no operation has: `{tag}`"),
                    )
                    .maybe_at(config.place("area.tags", tag))
                    .help("remove the tag from the area, or the area itself"),
                );
            }
        }
        let operations = api.operations.iter().filter(|o| o.tags.iter().any(|tag| area.tags.contains(tag)));
        reached.push((&area.name, reach(graph, seeds(graph, operations))));
    }
    let mut counts: BTreeMap<SchemaId, usize> = BTreeMap::new();
    reached.iter().flat_map(|(_, ids)| ids).for_each(|id| *counts.entry(*id).or_default() += 1);
    for (area, ids) in reached {
        for id in ids.into_iter().filter(|id| counts.get(id) == Some(&1)) {
            options.areas.entry(id).or_insert_with(|| area.to_owned());
        }
    }
}

/// The schemas whose location ends with a selector.
#[must_use]
pub fn select(graph: &Graph, selector: &str) -> Vec<SchemaId> {
    let whole = |location: &str| {
        location.strip_suffix(selector).is_some_and(|before| {
            before.is_empty() || before.ends_with(['/', '#']) || selector.starts_with('#')
        })
    };
    graph
        .ids()
        .filter(|&id| {
            let location = graph.location(id);
            whole(&location) || whole(location.trim_end_matches('#'))
        })
        .collect()
}

/// A selector that names this schema and no other.
#[must_use]
pub fn selector(graph: &Graph, id: SchemaId) -> String {
    let location = graph.location(id);
    let (uri, pointer) = location.split_once('#').unwrap_or((&location, ""));
    let short = format!("#{pointer}");
    if !pointer.is_empty() && select(graph, &short) == [id] {
        return short;
    }
    let file = uri.rsplit('/').next().unwrap_or(uri);
    let longer = if pointer.is_empty() { file.to_owned() } else { format!("{file}#{pointer}") };
    if select(graph, &longer) == [id] { longer } else { location }
}

#[cfg(test)]
mod tests {
    use super::Body;
    use crate::{
        config::Config,
        generate::{Project, Reading},
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

    fn read(options: &str) -> Result<Reading, String> {
        let config: Config = toml::from_str(options).unwrap();
        let project = Project { config, ..Project::default() };
        let sources = Sources::from_texts(&[("api.yaml", "", API)]).unwrap();
        project.understand(sources).map_err(|problems| problems.render(false))
    }

    /// Each enumeration, and whether it keeps what it does not know.
    fn enumerations(options: &str) -> Vec<(String, bool)> {
        let contract = read(options).unwrap_or_else(|e| panic!("{e}"));
        let all = contract.shapes.types.iter().filter_map(|def| match &def.body {
            Body::Enum(list) => Some((def.name.clone(), list.open)),
            _ => None,
        });
        let mut all: Vec<(String, bool)> = all.collect();
        all.sort();
        all
    }

    /// CON-12: what an answer can hold keeps what it does not know, whoever else holds it.
    #[test]
    fn answers_keep_what_they_do_not_know() {
        let expect = |via: bool, kind: bool| {
            let all = [("KindValue", kind), ("NewVia", via), ("Order", false), ("ShipFormat", true)];
            all.map(|(name, open)| (name.to_owned(), open))
        };
        assert_eq!(enumerations(""), expect(false, true));
        assert_eq!(enumerations("open = ['#/components/schemas/New/properties/via']"), expect(true, true));
        assert_eq!(enumerations("closed = ['#/components/schemas/Kind']"), expect(false, false));
    }

    #[test]
    fn an_option_that_does_nothing_is_refused() {
        for options in [
            "open = ['#/components/schemas/Kind']",
            "closed = ['#/components/schemas/New/properties/via']",
            "open = ['#/components/schemas/Ship/properties/armed']",
            "closed = ['#/components/schemas/Ship/properties/armed']",
            "nullable = ['#/components/schemas/Ship/properties/rest']",
            "types.implied-otherwise = ['#/components/schemas/Kind']",
            "types.families = ['#/components/schemas/Base']",
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
            "operations.idempotency-header = 'X-Trace'",
            "operations.hidden-headers = ['X-Nope']",
            "client.transport-headers = ['X-Nope']",
            "client.transport-headers = ['order']",
            "client.shown = ['nope']",
            "client.shown = ['detail']",
        ] {
            let error = read(options).unwrap_err();
            assert!(error.contains("does nothing for"), "{options}: {error}");
        }
    }

    /// Headers are the same however they are written, and members those of refusals.
    #[test]
    fn headers_and_members_that_are_there_are_named() {
        let options = "operations.idempotency-header = 'idempotency-key'\noperations.hidden-headers = ['x-trace', 'x-left']\nclient.transport-headers = ['x-TRACE']\nclient.shown = ['code', 'inner']";
        read(options).unwrap_or_else(|e| panic!("{e}"));
        // What may have any member may have this one.
        let config: Config = toml::from_str("client.shown = ['code']").unwrap();
        let free = "{openapi: 3.1.0, info: {title: '', version: ''}, paths: {/a: {get: {responses: {default: {description: '', content: {application/json: {}}}}}}}}";
        let sources = Sources::from_texts(&[("free.yaml", "", free)]).unwrap();
        let project = Project { config, ..Project::default() };
        project.understand(sources).unwrap_or_else(|e| panic!("{e}"));
    }

    /// `Default` of every type is for those that can have it.
    #[test]
    fn an_enumeration_has_no_default() {
        read("derives = { '*' = ['Default'] }").unwrap_or_else(|e| panic!("{e}"));
        let error =
            read("derives = { '#/components/schemas/Kind' = ['std::default::Default'] }").unwrap_err();
        assert!(error.contains("of `KindValue`"), "{error}");
        let config: Config = toml::from_str("derives = { '*' = ['Default'] }").unwrap();
        let sources = Sources::from_texts(&[("a.schema.json", "", r#"{"enum": ["a", "b"]}"#)]).unwrap();
        let problems = Project { config, ..Project::default() }.understand(sources).unwrap_err();
        let error = problems.render(false);
        assert!(error.contains("does nothing for `Default`"), "{error}");
    }

    #[test]
    fn what_is_none_of_rust_is_refused() {
        for options in [
            "attributes = { '#/components/schemas/Ship' = ['Default'] }",
            "derives = { '*' = ['a b'] }",
            "types.formats = { uuid = 'jiff' }",
        ] {
            let error = read(options).unwrap_err();
            assert!(
                error.contains("none of Rust") || error.contains("has no type for"),
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
            assert!(error.contains("`replace` holds what is no type of Rust"), "{path}: {error}");
        }
        for path in ["crate::Money", "::money::Money<'static, [u8; 4]>", "std::boxed::Box<(u8, crate::Kind)>"]
        {
            replaced(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    }

    /// A wire value may be called as the variant for all others is, in closed enumerations too.
    #[test]
    fn the_variant_for_all_others_has_its_name_for_itself() {
        let contract = read("").unwrap();
        let via = contract.shapes.types.iter().find(|def| def.name == "NewVia").unwrap();
        let Body::Enum(list) = &via.body else { panic!("{via:?}") };
        assert_eq!(
            list.values.iter().map(|(_, name, _)| name.as_str()).collect::<Vec<_>>(),
            ["Web", "UnknownValue"]
        );
    }

    /// A base that stands in an `allOf` alone is a part of other types and none itself.
    #[test]
    fn what_is_taken_in_alone_is_no_type() {
        let contract = read("").unwrap();
        let names: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
        assert!(names.contains(&"Whole") && !names.contains(&"Base"), "{names:?}");
    }
}
