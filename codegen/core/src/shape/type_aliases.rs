//! Determines the type aliases of types that several equal inline schemas share.
//!
//! The name of such a type is derived from the location of the first of these schemas. Each of the other
//! schemas has an alias, whose name is derived from its own location. The types inside the shared type have
//! such aliases as well. The names in generated code therefore do not depend on whether two schemas are
//! equal.

use std::collections::{BTreeMap, BTreeSet};

use super::{Shapes, TypeAlias, TypeId, TypeRef};
use crate::{conjunction::SchemaConjunction, schema::SchemaGraph};

/// Returns the alias of the named type in `ty` that is named after the location of the schema in `conj`, if
/// there is one. There is none if `conj` contains several schemas.
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

/// Returns the type of each alias of the contract, by the name of the alias.
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

/// Returns the aliases of types inside the type of `alias`. A type has such an alias if its name starts with
/// the name of the outer type; in the alias, this prefix is replaced by the name of the outer alias.
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
