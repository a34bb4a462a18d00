//! Builds the schema graph from trees: resolves every reference and validates the form of every keyword.
//!
//! The entry point is [`resolve_documents`]. It walks the inputs (`discover`), loads referenced documents,
//! orders all schemas by URI and position, and parses each schema once (`parse`).

pub(crate) mod cycle;
pub(crate) mod dialect;
pub(crate) mod discover;
pub(crate) mod dynamic;
pub mod lenient;
pub(crate) mod locate;
pub(crate) mod nullable;
pub mod openapi;
pub(crate) mod parse;
pub mod suggest;

use std::{
    cell::OnceCell,
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use crate::{
    api::OpenApiDocument,
    arena::{Arena, Id},
    config::{self, TypeOptions},
    diagnostics::Diagnostics,
    load::{Sources, is_openapi},
    schema::{SchemaGap, SchemaGraph, SchemaResource},
    tree::SourceId,
};

use self::{dialect::SchemaDialect, discover::Discovery, parse::SchemaParser};

/// The treatment of keywords that the dialect does not define. Keywords that start with `x-` are always
/// accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UnknownKeywordPolicy {
    Deny,
    #[default]
    Warn,
    /// Unknown keywords are ignored, as JSON Schema specifies.
    Ignore,
}

pub use self::nullable::NullableSemantics;

/// Options that determine how the documents of a contract are interpreted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ResolveOptions {
    pub unknown_keywords: UnknownKeywordPolicy,
    pub nullable: NullableSemantics,
}

impl From<&TypeOptions> for ResolveOptions {
    fn from(options: &TypeOptions) -> Self {
        Self {
            unknown_keywords: match options.unknown_keywords {
                config::UnknownKeywordSetting::Deny => UnknownKeywordPolicy::Deny,
                config::UnknownKeywordSetting::Warn => UnknownKeywordPolicy::Warn,
                config::UnknownKeywordSetting::Ignore => UnknownKeywordPolicy::Ignore,
            },
            nullable: match options.nullable {
                config::NullableSetting::OrNull => NullableSemantics::OrNull,
                config::NullableSetting::Strict => NullableSemantics::Strict,
            },
        }
    }
}

/// Builds the graph of all inputs and of everything that is reachable from them, and one [`OpenApiDocument`]
/// for each OpenAPI document among the inputs, sorted by URI.
///
/// Referenced documents are loaded into `sources`. The graph is complete only if the diagnostics contain no
/// error. The diagnostics are sorted, and their source texts are attached.
pub fn resolve_documents(
    sources: &mut Sources,
    options: &ResolveOptions,
) -> (SchemaGraph, Vec<OpenApiDocument>, Diagnostics) {
    let mut problems = sources.notes.clone();
    let mut tried = BTreeSet::new();
    loop {
        let discovery = Discovery::run(sources, fallback_dialect(sources));
        let requested = discovery.missing.iter().filter(|(uri, _)| tried.insert(uri.clone()));
        let requested: Vec<(String, SourceId)> =
            requested.map(|(uri, place)| (uri.clone(), place.source)).collect();
        if !requested.is_empty() {
            drop(discovery);
            let mut more = false;
            for (uri, from) in requested {
                more |= sources.load_referenced(&uri, from, &mut problems);
            }
            if more {
                continue;
            }
            let discovery = Discovery::run(sources, fallback_dialect(sources));
            return assemble_graph(sources, &discovery, options, problems);
        }
        return assemble_graph(sources, &discovery, options, problems);
    }
}

/// Returns the dialect of schemas without `$schema`: that of OpenAPI 3.0 if there are OpenAPI documents and
/// all of them have version 3.0, or else the latest JSON Schema draft.
fn fallback_dialect(sources: &Sources) -> SchemaDialect {
    let versions = || sources.sources.iter().filter_map(|source| dialect::openapi_version(&source.tree));
    let old = versions().any(|version| version.starts_with("3.0"));
    if old && versions().all(|version| version.starts_with("3.0")) {
        SchemaDialect::OPENAPI_30
    } else {
        SchemaDialect::LATEST
    }
}

/// Returns true if schemas without `$schema` in this source use the dialect of OpenAPI 3.0: the source is an
/// OpenAPI 3.0 document, or a schema file without `$schema` to which the fallback dialect applies.
pub fn is_openapi_30(sources: &Sources, id: SourceId) -> bool {
    sources.get(id).is_some_and(|source| match dialect::openapi_version(&source.tree) {
        Some(version) => version.starts_with("3.0"),
        None => {
            source.tree.get("$schema").is_none()
                && fallback_dialect(sources).draft == SchemaDialect::OPENAPI_30.draft
        }
    })
}

fn assemble_graph(
    sources: &Sources,
    discovery: &Discovery<'_>,
    options: &ResolveOptions,
    mut problems: Diagnostics,
) -> (SchemaGraph, Vec<OpenApiDocument>, Diagnostics) {
    problems.append(discovery.problems.clone());
    problems.extend(discovery.lost.iter().cloned());
    let reached = |at: &usize| discovery.reached.get(*at).copied().unwrap_or(false);
    let (nodes, ids) = assign_ids((0..discovery.nodes.len()).filter(reached).collect(), |at| {
        discovery.nodes.get(at).map(|node| sort_key(sources, node.source, node.tree, &node.pointer))
    });
    let (held, resources) = assign_ids((0..discovery.resources.len()).collect(), |at| {
        discovery.resources.get(at).map(|held| sort_key(sources, held.source, held.tree, &held.pointer))
    });
    let mut parser = SchemaParser {
        discovery,
        ids: &ids,
        resources: &resources,
        options,
        nullable: Vec::new(),
        gap: SchemaGap::None,
        referring: OnceCell::new(),
        problems: Diagnostics::new(),
    };
    let mut graph = SchemaGraph::default();
    for (at, node) in nodes.iter().filter_map(|at| Some((*at, discovery.nodes.get(*at)?))) {
        graph.schemas.push(parser.parse_schema(at, node));
    }
    for resource in held.iter().filter_map(|at| discovery.resources.get(*at)) {
        let id = |node: usize| ids.get(&node).copied();
        graph.resources.push(SchemaResource {
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
    nullable::apply_nullable(&mut graph, parser.nullable, &mut problems);
    let is_in_openapi = |id| sources.get(id).is_some_and(|source| is_openapi(&source.tree));
    dynamic::bind_dynamic_references(&mut graph, is_in_openapi, &mut problems);
    cycle::cut_cycles(&mut graph, &mut problems);
    let apis = openapi::read_documents(discovery, &ids, &mut problems);
    problems.attach_sources(sources);
    problems.sort();
    (graph, apis, problems)
}

type SortKey<'a> = (&'a str, u32, Reverse<u32>, String);

/// Returns the sort key of a schema: the URI of its source, and then the position in the document. The values
/// of YAML aliases share a span, so they are ordered by pointer.
fn sort_key<'a>(
    sources: &'a Sources,
    source: SourceId,
    tree: &crate::tree::DocumentNode,
    pointer: &str,
) -> SortKey<'a> {
    let uri = sources.get(source).map_or("", |source| source.uri.as_str());
    (uri, tree.span.start, Reverse(tree.span.end), pointer.to_owned())
}

/// Sorts node indices by `key` and numbers the nodes in this order. Returns the sorted indices and a map from
/// each node index to its id.
fn assign_ids<K: Ord, T>(
    mut all: Vec<usize>,
    key: impl Fn(usize) -> K,
) -> (Vec<usize>, HashMap<usize, Id<T>>) {
    all.sort_by_cached_key(|at| key(*at));
    let ids = all.iter().copied().zip(Arena::first_ids(all.len())).collect();
    (all, ids)
}

#[cfg(test)]
pub(crate) mod tests;
