//! Trees to the schema graph: every reference settled, every keyword's form checked.
//!
//! [`resolve`] walks the inputs (`discover`), reads more documents when references ask for
//! them, orders what it found by URI and position, and parses each schema once (`parse`).

pub(crate) mod cycle;
pub(crate) mod dialect;
pub(crate) mod discover;
pub(crate) mod lenient;
pub(crate) mod locate;
pub(crate) mod nullable;
pub mod openapi;
pub(crate) mod parse;
pub(crate) mod suggest;

use std::{
    cell::OnceCell,
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use crate::{
    api::Api,
    arena::{Arena, Id},
    config::{self, TypeOptions},
    diagnostics::Diagnostics,
    load::Sources,
    schema::{Gap, Graph, Resource},
    tree::SourceId,
};

use self::{dialect::Dialect, discover::Discovery, parse::Parser};

/// What to say about a keyword that the dialect does not know. `x-` members are never unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UnknownKeywords {
    /// An error.
    Deny,
    /// A warning.
    #[default]
    Warn,
    /// Nothing, as JSON Schema itself says.
    Ignore,
}

pub use self::nullable::Nullable;

/// How documents are read.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ResolveOptions {
    /// Unknown keywords of schemas.
    pub unknown_keywords: UnknownKeywords,
    /// `nullable` of OpenAPI 3.0.
    pub nullable: Nullable,
}

impl From<&TypeOptions> for ResolveOptions {
    fn from(options: &TypeOptions) -> Self {
        Self {
            unknown_keywords: match options.unknown_keywords {
                config::UnknownKeywords::Deny => UnknownKeywords::Deny,
                config::UnknownKeywords::Warn => UnknownKeywords::Warn,
                config::UnknownKeywords::Ignore => UnknownKeywords::Ignore,
            },
            nullable: match options.nullable {
                config::Nullable::OrNull => Nullable::OrNull,
                config::Nullable::Strict => Nullable::Strict,
            },
        }
    }
}

/// Builds the graph of all inputs and what they reach, and one [`Api`] per OpenAPI document
/// among the inputs, by URI.
///
/// Documents that references ask for are read and added to `sources`. The graph is whole only
/// when the diagnostics hold no error; they are sorted and carry their excerpts.
pub fn resolve(sources: &mut Sources, options: &ResolveOptions) -> (Graph, Vec<Api>, Diagnostics) {
    let mut problems = sources.notes.clone();
    let mut tried = BTreeSet::new();
    loop {
        let discovery = Discovery::run(sources, fallback(sources));
        let asked = discovery.missing.iter().filter(|(uri, _)| tried.insert(uri.clone()));
        let asked: Vec<(String, SourceId)> = asked.map(|(uri, place)| (uri.clone(), place.source)).collect();
        if !asked.is_empty() {
            drop(discovery);
            let mut more = false;
            for (uri, from) in asked {
                more |= sources.demand(&uri, from, &mut problems);
            }
            if more {
                continue;
            }
            let discovery = Discovery::run(sources, fallback(sources));
            return finish(sources, &discovery, options, problems);
        }
        return finish(sources, &discovery, options, problems);
    }
}

/// The dialect of schemas that name none: OpenAPI 3.0's when that is the only API around.
fn fallback(sources: &Sources) -> Dialect {
    let versions = || sources.sources.iter().filter_map(|source| dialect::version(&source.tree));
    let old = versions().any(|version| version.starts_with("3.0"));
    if old && versions().all(|version| version.starts_with("3.0")) {
        Dialect::OPENAPI_30
    } else {
        Dialect::LATEST
    }
}

/// Whether schemas of a document that name no dialect are those of OpenAPI 3.0.
pub(crate) fn is_openapi_30(sources: &Sources, id: SourceId) -> bool {
    sources.get(id).is_some_and(|source| match dialect::version(&source.tree) {
        Some(version) => version.starts_with("3.0"),
        None => source.tree.get("$schema").is_none() && fallback(sources).draft == Dialect::OPENAPI_30.draft,
    })
}

fn finish(
    sources: &Sources,
    discovery: &Discovery<'_>,
    options: &ResolveOptions,
    mut problems: Diagnostics,
) -> (Graph, Vec<Api>, Diagnostics) {
    problems.append(discovery.problems.clone());
    problems.extend(discovery.lost.iter().cloned());
    let reached = |at: &usize| discovery.reached.get(*at).copied().unwrap_or(false);
    let (nodes, ids) = order((0..discovery.nodes.len()).filter(reached).collect(), |at| {
        discovery.nodes.get(at).map(|node| key(sources, node.source, node.tree, &node.pointer))
    });
    let (held, resources) = order((0..discovery.resources.len()).collect(), |at| {
        discovery.resources.get(at).map(|held| key(sources, held.source, held.tree, &held.pointer))
    });
    let mut parser = Parser {
        discovery,
        ids: &ids,
        resources: &resources,
        options,
        nullable: Vec::new(),
        gap: Gap::None,
        referring: OnceCell::new(),
        problems: Diagnostics::new(),
    };
    let mut graph = Graph::default();
    for (at, node) in nodes.iter().filter_map(|at| Some((*at, discovery.nodes.get(*at)?))) {
        graph.schemas.push(parser.schema(at, node));
    }
    for resource in held.iter().filter_map(|at| discovery.resources.get(*at)) {
        let id = |node: usize| ids.get(&node).copied();
        graph.resources.push(Resource {
            uri: resource.uri.clone(),
            source: resource.source,
            root: resource.root.and_then(id),
            dynamic_anchors: resource
                .dynamic
                .iter()
                .filter_map(|(name, node)| Some((name.clone(), id(*node)?)))
                .collect(),
        });
    }
    problems.append(parser.problems);
    nullable::settle(&mut graph, parser.nullable, &mut problems);
    cycle::cut(&mut graph, &mut problems);
    let apis = openapi::read(discovery, &ids, &mut problems);
    problems.attach(sources);
    problems.sort();
    (graph, apis, problems)
}

type Key<'a> = (&'a str, u32, Reverse<u32>, String);

/// Sources by URI, then the order of the document; aliases of YAML, which share spans, by pointer.
fn key<'a>(sources: &'a Sources, source: SourceId, tree: &crate::tree::Tree, pointer: &str) -> Key<'a> {
    let uri = sources.get(source).map_or("", |source| source.uri.as_str());
    (uri, tree.span.start, Reverse(tree.span.end), pointer.to_owned())
}

/// Sorted positions, and for each position the id of what stands there.
fn order<K: Ord, T>(mut all: Vec<usize>, key: impl Fn(usize) -> K) -> (Vec<usize>, HashMap<usize, Id<T>>) {
    all.sort_by_cached_key(|at| key(*at));
    let ids = all.iter().copied().zip(Arena::first_ids(all.len())).collect();
    (all, ids)
}

#[cfg(test)]
pub(crate) mod tests;
