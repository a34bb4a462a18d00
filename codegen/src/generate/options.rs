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
    schema::{Graph, SchemaId},
    shape::{Body, Shapes, TypeDef},
    together::finite,
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
        let find = |selector: &str, option: &str| -> Vec<SchemaId> {
            let found = select(graph, selector);
            if found.is_empty() {
                problems.borrow_mut().push(
                    Diagnostic::error("config", format!("`{option}` names a schema that the contract does not have: `{selector}`"))
                        .maybe_at(config.place(option, selector))
                        .help("a selector is the end of a schema's location, such as `problem.schema.json#/properties/status`; remove the option if the schema is gone"),
                );
            }
            found
        };
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
        crate::plan::check_lists(&config.operations, api, &mut problems.borrow_mut());
        tagged_areas(config, graph, api, &mut options, &mut problems.borrow_mut());
        options
    }
}

impl Project {
    /// Says which `open` have no effect: unknown values are kept where a tag tells variants apart.
    pub(super) fn idle_open(&self, graph: &Graph, shapes: &Shapes, diagnostics: &mut Diagnostics) {
        let kept = |def: &TypeDef| match &def.body {
            Body::Tagged(tagged) => Some(tagged.holder),
            _ => None,
        };
        let effective: BTreeSet<SchemaId> = shapes.types.iter().filter_map(kept).collect();
        for selector in &self.config.open {
            // Nothing of a selector is left where another part of the contract was asked for.
            let ids = select(graph, selector);
            let Some(first) = ids.first() else { continue };
            if ids.iter().any(|id| effective.contains(id)) {
                continue;
            }
            let message =
                format!("`open` has no effect on `{selector}`, which is no union told apart by a tag");
            diagnostics.push(
                Diagnostic::error("config", message)
                    .maybe_at(self.config.place("open", selector))
                    .label(graph.schema(*first).place.clone(), "this is what it names")
                    .help("for an enumeration whose readers keep unknown values, write `anyOf` with the `enum` and `{\"type\": \"string\"}` in the contract; otherwise remove the selector"),
            );
        }
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
