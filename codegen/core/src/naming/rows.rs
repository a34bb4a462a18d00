//! Names the groups of rows in the validation tables, which are the constants of the generated module
//! `schemas`.
//!
//! Each resource, definition, component and operation begins a *group* of rows, so that a change to one of
//! them does not move the rows of another. A name consists of the file name and the path within the file:
//! `SHIP`, `PAGE_DEFS_SHIP_PAGE`, `OPENAPI_PARAMETERS_LIMIT`. It depends only on its own resource, except in
//! three cases, in which a new file renames the rows of another one:
//!
//! * a second file with the same stem whose URI has fewer segments, or as many segments and sorts first:
//!   the new file gets the name, and the other one is qualified with its folder (`OLD_SHIP`);
//! * a file `in-ship`, whose first row has the name of the constant for the number of the resource `ship`;
//! * a file with the name of a definition's row (`ship-defs-key`): the row of the definition gets a number.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use crate::{
    names,
    schema::{ResourceId, SchemaGraph, SchemaId, SchemaRemapping},
    tree::unescape_token,
};

/// The names of the groups of rows, which are assigned for the whole contract before schemas are removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowNames {
    /// The name of each resource. The key is the id, because a faulty contract may contain several resources
    /// with the same URI.
    resources: BTreeMap<ResourceId, String>,
    /// The name of each group. The key consists of the resource and the pointer at which the group begins;
    /// see [`head_of`].
    heads: BTreeMap<(ResourceId, String), String>,
}

impl RowNames {
    /// Assigns a name to every group of a contract.
    #[must_use]
    pub(crate) fn assign_names(graph: &SchemaGraph) -> Self {
        let mut names = Self::default();
        let mut taken = ReservedNames::default();
        let mut resources: Vec<ResourceId> = graph.resources.ids().collect();
        resources.sort_by_key(|&id| {
            let uri = graph.resource(id).uri.as_str();
            (uri.matches('/').count(), uri)
        });
        for &id in &resources {
            let uri = &graph.resource(id).uri;
            names.resources.insert(id, taken.reserve_resource(uri));
        }
        let mut heads: BTreeSet<(&str, &str, ResourceId)> = BTreeSet::new();
        for id in graph.ids() {
            let resource = graph.schema(id).resource;
            heads.insert((graph.resource(resource).uri.as_str(), head_of(graph, id), resource));
        }
        for (_, head, resource) in heads {
            let mut name = names.resource_name(resource).to_owned();
            if !head.is_empty() {
                for step in head.split('/').skip(1).filter(|step| *step != "components") {
                    name.push('_');
                    name.push_str(&names::constant_name(&unescape_token(step)));
                }
                name = taken.reserve_numbered(name);
            }
            names.heads.insert((resource, head.to_owned()), name);
        }
        names
    }

    /// Returns the names with the new resource ids after schemas were removed from the graph.
    #[must_use]
    pub(crate) fn moved(self, moved: &SchemaRemapping) -> Self {
        let resources = self.resources.into_iter();
        let heads = self.heads.into_iter();
        Self {
            resources: resources.filter_map(|(id, name)| Some((moved.resource(id)?, name))).collect(),
            heads: heads.filter_map(|((id, head), name)| Some(((moved.resource(id)?, head), name))).collect(),
        }
    }

    /// Returns the name of a resource, with which the names of its groups start.
    #[must_use]
    pub(crate) fn resource_name(&self, resource: ResourceId) -> &str {
        self.resources.get(&resource).map_or("", String::as_str)
    }

    /// Returns the name of a group, given its resource and the pointer at which it begins.
    #[must_use]
    pub(crate) fn group_name(&self, resource: ResourceId, head: &str) -> &str {
        self.heads.get(&(resource, head.to_owned())).map_or("", String::as_str)
    }
}

/// Returns the pointer at which the group of a schema begins: that of its definition, component or operation,
/// or else that of its resource.
#[must_use]
pub(crate) fn head_of(graph: &SchemaGraph, id: SchemaId) -> &str {
    let pointer = graph.schema(id).location.as_str();
    let steps = match pointer.split('/').nth(1) {
        Some("$defs" | "definitions") => 2,
        Some("components" | "paths" | "webhooks") => 3,
        _ => return "",
    };
    let end = pointer.match_indices('/').nth(steps).map_or(pointer.len(), |(at, _)| at);
    &pointer[..end]
}

/// Returns the names of pattern constants by pattern. A name is derived only from the pattern, so that a new
/// pattern does not rename others.
#[must_use]
pub(crate) fn pattern_names<'p>(
    sources: impl Iterator<Item = &'p String> + Clone,
) -> BTreeMap<&'p str, String> {
    let digest = |source: &str, bytes: usize| -> String {
        Sha256::digest(source).iter().take(bytes).map(|byte| format!("{byte:02X}")).collect()
    };
    let mut short: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources.clone() {
        *short.entry(digest(source, SHORT_DIGEST_BYTES)).or_default() += 1;
    }
    let name = |source: &str| {
        let own = digest(source, SHORT_DIGEST_BYTES);
        if short.get(&own) == Some(&1) { own } else { digest(source, LONG_DIGEST_BYTES) }
    };
    sources.map(|source| (source.as_str(), format!("{PATTERN_PREFIX}{}", name(source)))).collect()
}

const PATTERN_PREFIX: &str = "PATTERN_";

/// The number of digest bytes that usually distinguish the patterns of a contract.
const SHORT_DIGEST_BYTES: usize = 4;
/// The number of bytes of a full digest, for patterns whose short digests collide.
const LONG_DIGEST_BYTES: usize = 32;

/// Returns the name of the constant that holds the number of a resource, given the name of the resource's
/// first row.
#[must_use]
pub(crate) fn resource_constant(name: &str) -> String {
    format!("IN_{name}")
}

/// The names that are already assigned to resources and groups.
#[derive(Default)]
struct ReservedNames(BTreeSet<String>);

impl ReservedNames {
    fn is_free(&self, name: &str) -> bool {
        let digits = |rest: &str| {
            [2 * SHORT_DIGEST_BYTES, 2 * LONG_DIGEST_BYTES].contains(&rest.len())
                && rest.chars().all(|c| c.is_ascii_hexdigit())
        };
        !self.0.contains(name) && name != "TABLES" && !name.strip_prefix(PATTERN_PREFIX).is_some_and(digits)
    }

    /// Reserves a name for a resource: the stem of its file, qualified with folder names until it is unique.
    /// If the folders do not suffice, a number is added.
    fn reserve_resource(&mut self, uri: &str) -> String {
        let mut name = names::constant_name(&names::file_stem(uri));
        let path = uri.split_once("://").map_or(uri, |(_, path)| path);
        let mut folders = path.rsplit(['/', ':']).skip(1).filter(|folder| !folder.is_empty());
        let both = |name: &str| [name.to_owned(), resource_constant(name)];
        while !both(&name).iter().all(|name| self.is_free(name)) {
            let Some(folder) = folders.next() else { break };
            name = format!("{}_{name}", names::constant_name(folder));
        }
        let plain = name.clone();
        let mut number = 1_u32;
        while !both(&name).iter().all(|name| self.is_free(name)) {
            number += 1;
            name = format!("{plain}{number}");
        }
        self.0.extend(both(&name));
        name
    }

    fn reserve_numbered(&mut self, plain: String) -> String {
        let mut name = plain.clone();
        let mut number = 1_u32;
        while !self.is_free(&name) {
            number += 1;
            name = format!("{plain}{number}");
        }
        self.0.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        load::Sources,
        resolve::{ResolveOptions, resolve_documents},
    };

    fn graph(files: &[(&str, &str)]) -> SchemaGraph {
        let texts: Vec<(&str, &str, &str)> = files.iter().map(|(name, text)| (*name, "", *text)).collect();
        let mut sources = Sources::from_texts(&texts).unwrap();
        let (graph, _, problems) = resolve_documents(&mut sources, &ResolveOptions::default());
        assert!(!problems.has_errors(), "{problems}");
        graph
    }

    /// Returns the names of all resources and groups of a contract with these files, sorted.
    fn all(files: &[(&str, &str)]) -> Vec<String> {
        let names = RowNames::assign_names(&graph(files));
        let mut all: Vec<String> = names.heads.into_values().collect();
        all.sort_unstable();
        all
    }

    const KEYED: &str = r#"{"type": "object", "$defs": {"itemKey": {"type": "string"}, "größe": true}}"#;

    #[test]
    fn groups_are_named_by_file_and_path() {
        assert_eq!(
            all(&[("stock-lot.schema.json", KEYED)]),
            ["STOCK_LOT", "STOCK_LOT_DEFS_GRUF6UDFE", "STOCK_LOT_DEFS_ITEM_KEY"]
        );
        let api = r##"{"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {"/pets": {
            "get": {"responses": {"200": {"description": "a", "content": {"application/json": {"schema": {
                "$ref": "#/components/schemas/Pet"}}}}}}}},
            "components": {"schemas": {"Pet": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "parameters": {"limit": {"name": "limit", "in": "query", "schema": {"type": "integer"}}}}}"##;
        assert_eq!(
            all(&[("api.json", api)]),
            ["API_PARAMETERS_LIMIT", "API_PATHS_PETS_GET", "API_SCHEMAS_PET"]
        );
    }

    #[test]
    fn new_resources_rename_nothing() {
        let alone = all(&[("b/ship.json", KEYED)]);
        let first = all(&[("b/ship.json", KEYED), ("c/d/ship.json", KEYED), ("a/tank.json", KEYED)]);
        assert!(alone.iter().all(|name| first.contains(name)), "{alone:?} {first:?}");
        assert!(first.contains(&"D_SHIP".to_owned()), "{first:?}");
    }

    /// Adding a file renames the rows of another file in each of the three cases that the module
    /// documentation lists.
    #[test]
    fn three_kinds_of_files_rename_others() {
        let before = all(&[("b/ship.json", KEYED)]);
        assert_eq!(before, ["SHIP", "SHIP_DEFS_GRUF6UDFE", "SHIP_DEFS_ITEM_KEY"]);
        for (file, renamed) in [
            ("ship.json", vec!["B_SHIP", "B_SHIP_DEFS_GRUF6UDFE", "B_SHIP_DEFS_ITEM_KEY"]),
            ("in-ship.json", vec!["B_SHIP", "B_SHIP_DEFS_GRUF6UDFE", "B_SHIP_DEFS_ITEM_KEY"]),
            ("ship-defs-item-key.json", vec!["SHIP", "SHIP_DEFS_GRUF6UDFE", "SHIP_DEFS_ITEM_KEY2"]),
        ] {
            let graph = graph(&[("b/ship.json", KEYED), (file, "true")]);
            let names = RowNames::assign_names(&graph);
            let is_ship = |id: ResourceId| graph.resource(id).uri.ends_with("b/ship.json");
            let ship_names = names.heads.iter().filter(|((id, _), _)| is_ship(*id));
            let mut ship_names: Vec<&str> = ship_names.map(|(_, name)| name.as_str()).collect();
            ship_names.sort_unstable();
            assert_eq!(ship_names, renamed, "{file}");
        }
    }

    #[test]
    fn names_are_distinct_and_avoid_generator_names() {
        let odd = r#"{"$defs": {"a-b": true, "a_b": true}}"#;
        let files = [
            ("tables.json", odd),
            ("in-ship.json", odd),
            ("ship.json", odd),
            ("pattern-0123abcd.json", odd),
            ("ship-defs-a-b.json", odd),
        ];
        let found = all(&files);
        let distinct: BTreeSet<&String> = found.iter().collect();
        assert_eq!(distinct.len(), found.len(), "{found:?}");
        assert_eq!(found.len(), 3 * files.len());
        assert!(!found.contains(&"TABLES".to_owned()), "{found:?}");
        assert!(!found.contains(&"PATTERN_0123ABCD".to_owned()), "{found:?}");
        // `IN_SHIP` is the name of another file's row, so the resource `ship`, whose constant would have this
        // name, is renamed.
        assert!(found.contains(&"IN_SHIP".to_owned()), "{found:?}");
        assert!(found.contains(&"SHIP2_DEFS_A_B".to_owned()), "{found:?}");
    }

    /// Two resources with the same `$id` get different names for their rows.
    #[test]
    fn equal_identifiers_have_distinct_names() {
        let one = r#"{"$id": "https://x.y/a", "$defs": {"b": {"$id": "c"}, "d": {"$id": "c"}}}"#;
        let (graph, _) = crate::resolve::tests::resolve_graph(&[("one.json", one), ("two.json", one)]);
        let names = RowNames::assign_names(&graph);
        let distinct: BTreeSet<&String> = names.heads.values().chain(names.resources.values()).collect();
        assert_eq!((names.resources.len(), names.heads.len()), (6, 6), "{names:?}");
        assert_eq!(distinct.len(), 6, "{names:?}");
        let kept: BTreeSet<SchemaId> = graph.ids().skip(3).collect();
        let (part, moved) = graph.clone().retain_schemas(&kept);
        let remaining = names.clone().moved(&moved);
        for id in &kept {
            let before = graph.schema(*id).resource;
            let after = part.schema(moved.get(*id).unwrap()).resource;
            assert_eq!(remaining.resource_name(after), names.resource_name(before));
        }
    }

    #[test]
    fn pattern_names_are_independent() {
        let (one, other) = ("^a$".to_owned(), "^b$".to_owned());
        let both = [one.clone(), other];
        let names = pattern_names(both.iter());
        assert_eq!(pattern_names([one.clone()].iter())["^a$"], names["^a$"]);
        assert_ne!(names["^a$"], names["^b$"]);
    }
}
