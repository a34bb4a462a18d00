//! Options become ids: every selector is settled against the contract, and one that names nothing
//! is an error.

use std::collections::{BTreeMap, BTreeSet};

use super::Project;
use crate::{
    api::Api,
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    names,
    options::Options,
    prune::{reach, seeds},
    resolve::nullable::or_null,
    schema::{Graph, SchemaId, Types},
    together::{Conj, Facts, finite},
};

/// Module names that generated code uses itself.
pub(crate) const RESERVED: &[&str] = &[
    "types",
    "schemas",
    "operations",
    "bodies",
    "calls",
    "answers",
    "client",
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
            options.replace.extend(find(selector, "replace").into_iter().map(|id| (id, path.clone())));
        }
        for selector in &config.types.unchecked {
            options.unchecked.extend(find(selector, "types.unchecked"));
        }
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
            if RESERVED.contains(&area.name.as_str()) {
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
        tagged_areas(config, graph, api, &mut options, &mut problems.borrow_mut());
        options
    }
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
        asked.extend(operation.request_body.iter().flat_map(|b| &b.content).filter_map(|m| m.schema));
        for response in &operation.responses {
            others.extend(response.content.iter().filter_map(|m| m.schema));
            others.extend(response.headers.iter().filter_map(|h| h.schema));
        }
    }
    others.extend(seeds(graph, api.webhooks.iter()));
    let others = reach(graph, others);
    reach(graph, asked).into_iter().filter(|id| !others.contains(id)).collect()
}

/// Every selector of `open` and `closed` that changes no type is an error.
pub(super) fn idle(
    config: &Config,
    graph: &Graph,
    decided: &BTreeSet<SchemaId>,
    diagnostics: &mut Diagnostics,
) {
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
    for (selector, option, already) in open.chain(closed) {
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
                .help(format!(
                    "it is no string enumeration and no union whose branches all require the tag, or {already}; remove the option"
                )),
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
    use crate::{
        config::Config,
        generate::{Project, Reading},
        load::Sources,
        shape::Body,
    };

    const API: &str = "
openapi: 3.1.0
info: { title: Fleet, version: '1' }
paths:
  /ships:
    post:
      operationId: ships/add
      parameters: [{ $ref: '#/components/parameters/order' }]
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/New' } } } }
      responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Ship' } } } } }
components:
  parameters:
    order: { name: order, in: query, schema: { enum: [up, down] } }
  schemas:
    New: { type: object, properties: { kind: { $ref: '#/components/schemas/Kind' }, via: { enum: [web, unknown] } } }
    Ship: { type: object, properties: { kind: { $ref: '#/components/schemas/Kind' }, format: { const: ship }, armed: { type: boolean }, rest: {} } }
    Kind: { enum: [cargo, scout] }
    Base: { type: object, properties: { a: { type: string } } }
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
        ] {
            let error = read(options).unwrap_err();
            assert!(error.contains("does nothing for"), "{options}: {error}");
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
