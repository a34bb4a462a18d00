//! Options become ids: every selector is settled against the contract, and one that names nothing
//! is an error.

use std::collections::{BTreeMap, BTreeSet};

use super::Project;
use crate::{
    api::Api,
    config::{Config, TypeOptions, Unsupported},
    diagnostics::{Diagnostic, Diagnostics},
    schema::{Graph, SchemaId},
    shape::{self, Body, Options, Shapes},
    subset::{reach, seeds},
    tables::PatternErrors,
};

/// Module names that generated code uses itself.
pub(crate) const RESERVED: &[&str] = &[
    "types",
    "schemas",
    "operations",
    "bodies",
    "client",
    "server",
    "webhooks",
    "webhook_bodies",
    "webhook_client",
    "webhook_server",
    "root",
    "lib",
];

impl Project {
    /// Settles every selector of the configuration; one that names nothing is an error.
    pub(super) fn options(&self, graph: &Graph, api: &Api, diagnostics: &mut Diagnostics) -> Options {
        let config = &self.config;
        let mut options = Options::from_types(&config.types);
        let problems = std::cell::RefCell::new(diagnostics);
        let find = |selector: &str, option: &str| -> Vec<SchemaId> {
            let found = select(graph, selector);
            if found.is_empty() {
                problems.borrow_mut().push(
                    Diagnostic::error("config", format!("`{option}` names a schema that the contract does not have: `{selector}`"))
                        .maybe_at(config.place(option.rsplit('.').next().unwrap_or(option), selector))
                        .help("a selector is the end of a schema's location, such as `problem.schema.json#/properties/status`; remove the option if the schema is gone"),
                );
            }
            found
        };
        for (selector, name) in &config.names {
            options.names.extend(find(selector, "names").into_iter().map(|id| (id, name.clone())));
        }
        for selector in &config.secrets {
            options.secrets.extend(find(selector, "secrets"));
        }
        for selector in &config.open {
            options.open.extend(find(selector, "open"));
        }
        for (selector, path) in &config.replace {
            options.replace.extend(find(selector, "replace").into_iter().map(|id| (id, path.clone())));
        }
        for selector in &config.types.unchecked {
            options.unchecked.extend(find(selector, "types.unchecked"));
        }
        for area in &config.areas {
            for wanted in &area.schemas {
                let found: Vec<SchemaId> = graph
                    .ids()
                    .filter(|&id| shape::stem(&graph.resource(graph.schema(id).resource).uri) == *wanted)
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
                    .maybe_at(config.place("[[area]]", &area.name))
                    .help("choose another name"),
                );
            }
        }
        tagged_areas(config, graph, api, &mut options, &mut problems.borrow_mut());
        options
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
                    .maybe_at(config.place("[[area]]", tag))
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

/// The schemas that have to refuse something for a document to be accepted.
fn turned(graph: &Graph, shapes: &Shapes) -> BTreeSet<SchemaId> {
    let tagged: BTreeSet<SchemaId> = shapes
        .types
        .iter()
        .filter_map(|def| match &def.body {
            Body::Tagged(tagged) => Some(tagged.holder),
            _ => None,
        })
        .collect();
    let mut inside = Vec::new();
    for id in graph.ids() {
        let schema = graph.schema(id);
        inside.extend(schema.not.iter().chain(&schema.condition));
        inside.extend(schema.contains.iter().filter(|c| c.max.is_some()).map(|c| c.schema));
        // A tag keeps branches apart whatever else they say; one branch has nothing to be apart from.
        if schema.one_of.len() > 1 && !tagged.contains(&id) {
            inside.extend(&schema.one_of);
        }
    }
    reach(graph, inside)
}

/// Says what becomes of patterns that no linear matcher can run.
pub(super) fn patterns(
    config: &TypeOptions,
    (graph, shapes, options): (&Graph, &Shapes, &Options),
    refused: PatternErrors,
    problems: &mut Diagnostics,
) {
    let turned = if refused.is_empty() { BTreeSet::new() } else { turned(graph, shapes) };
    let ids: BTreeSet<SchemaId> = refused.iter().map(|(id, ..)| *id).collect();
    for (id, source, error) in refused {
        let schema = graph.schema(id);
        let why = format!("pattern `{source}`: {}", error.reason);
        let problem = if schema.pattern.as_deref() != Some(&source) {
            // Left out, it would decide otherwise which members the schemas beside it are for.
            Diagnostic::error("unsupported", why)
                .help("write the key of `patternProperties` without look-around and back-references")
        } else if turned.contains(&id) {
            let why = format!("{why}; left out, it would refuse what the contract accepts");
            Diagnostic::error("unsupported", why).help(
                "it decides about a `not`, an `if`, a `maxContains` or a `oneOf` without a tag: write it \
                 without look-around and back-references, or move it out of there",
            )
        } else if options.unchecked.contains(&id) {
            Diagnostic::note("unsupported", format!("{why}; it is not checked, as `unchecked` says"))
        } else if config.unsupported == Unsupported::Keep {
            Diagnostic::warning("unsupported", format!("{why}; it is not checked"))
        } else {
            Diagnostic::error("unsupported", why).help(format!(
                "write it without look-around and back-references: they cannot be matched in linear time; \
                 or leave it unchecked, here with `unchecked = [{:?}]` below [types], everywhere with \
                 `unsupported = \"keep\"`",
                selector(graph, id)
            ))
        };
        problems.push(problem.at(schema.place.clone()));
    }
    for id in options.unchecked.difference(&ids) {
        if options.kept.as_ref().is_none_or(|kept| kept.contains(id)) {
            let message = "`unchecked` names a schema that has no pattern, or one that can be run";
            problems.push(
                Diagnostic::error("config", message)
                    .at(graph.schema(*id).place.clone())
                    .help("remove it from `unchecked` below [types]: it is checked"),
            );
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
