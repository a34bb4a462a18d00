//! Determines the type aliases of types that several equal inline schemas share.
//!
//! Such a type has the name that follows from the location of the first of these schemas. For each of the
//! other locations, an alias has the name that follows from that location; types inside the shared type have
//! such aliases as well. Whether schemas happen to be equal therefore never changes a name.

use std::collections::{BTreeMap, BTreeSet};

use super::{Shapes, TypeAlias, TypeId, TypeRef};
use crate::{conjunction::SchemaConjunction, schema::SchemaGraph};

/// Returns the alias that a location with the schemas `conj` has for the generated type in `ty`, if there is
/// one.
#[must_use]
pub fn place_alias<'a>(
    graph: &SchemaGraph,
    shapes: &'a Shapes,
    ty: &TypeRef,
    conj: &SchemaConjunction,
) -> Option<TypeAlias<'a>> {
    match conj.ids.as_slice() {
        [place] => shapes.alias_at(graph, ty, *place),
        _ => None,
    }
}

/// Returns all aliases of the contract: the name of each, and the type for which it stands.
#[must_use]
pub fn find_aliases(graph: &SchemaGraph, shapes: &Shapes) -> BTreeMap<String, TypeId> {
    let taken: BTreeSet<&str> = shapes.types.iter().map(|def| def.name.as_str()).collect();
    let duplicates = shapes.duplicate_names.keys();
    let direct = duplicates.filter_map(|&place| shapes.alias_at(graph, shapes.type_of_schema(place), place));
    let direct: BTreeSet<TypeAlias<'_>> = direct.filter(|alias| !taken.contains(alias.name)).collect();
    let mut all: BTreeMap<String, TypeId> =
        direct.iter().map(|alias| (alias.name.to_owned(), alias.target)).collect();
    for alias in direct {
        for (name, target) in inner_aliases(shapes, alias) {
            if !taken.contains(name.as_str()) {
                all.entry(name).or_insert(target);
            }
        }
    }
    all
}

/// Returns aliases for the types inside an aliased type whose names start with the name of that type: in the
/// alias, the name of the alias replaces this prefix.
fn inner_aliases(shapes: &Shapes, alias: TypeAlias<'_>) -> Vec<(String, TypeId)> {
    let prefix = shapes.get(alias.target).name.as_str();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::from([alias.target]));
    let mut waiting = vec![alias.target];
    while let Some(id) = waiting.pop() {
        let mut inner = Vec::new();
        shapes.get(id).body.type_refs().for_each(|ty| ty.collect_named(&mut inner));
        for id in inner {
            let Some(rest) = shapes.get(id).name.strip_prefix(prefix) else { continue };
            if shapes.get(id).schema.is_none() && seen.insert(id) {
                found.push((format!("{}{rest}", alias.name), id));
                waiting.push(id);
            }
        }
    }
    found
}
