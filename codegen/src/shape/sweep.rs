//! Takes out the types that nothing holds: bases that stand in an `allOf` alone, enumerations of a
//! tag that no field has.

use std::collections::BTreeSet;

use super::{Body, Shapes, TypeDef, TypeId, TypeRef};
use crate::{
    arena::{Arena, ById},
    schema::{Graph, Origin, SchemaId},
};

/// Keeps what `places` and the contract's own names lead to.
pub(super) fn sweep(graph: &Graph, shapes: &mut Shapes, places: &BTreeSet<SchemaId>) {
    let parts = parts(graph, shapes, places);
    let mut kept: BTreeSet<TypeId> = BTreeSet::new();
    let mut work: Vec<TypeId> = Vec::new();
    for id in shapes.ids() {
        let named = shapes.get(id).schema;
        work.extend(named.filter(|schema| !parts.contains(schema)).map(|_| id));
    }
    for &place in places {
        collect(shapes.of(place), &mut work);
    }
    while let Some(id) = work.pop() {
        if kept.insert(id) {
            shapes.get(id).body.places().for_each(|ty| collect(ty, &mut work));
        }
    }
    if kept.len() == shapes.types.len() {
        return;
    }
    let mut left = Arena::<TypeDef>::first_ids(kept.len());
    let numbers = shapes.types.map(|id| if kept.contains(&id) { left.next() } else { None });
    let types = std::mem::take(&mut shapes.types);
    let ids: Vec<TypeId> = types.ids().collect();
    for (id, mut def) in ids.into_iter().zip(types) {
        each_mut(&mut def.body, &mut |ty| renumber(ty, &numbers));
        if numbers[id].is_some() {
            shapes.types.push(def);
        } else if matches!(def.body, Body::Tagged(_)) {
            shapes.parts.push(def);
        }
    }
    shapes.places.retain(|_, ty| is_kept(ty, &numbers));
    shapes.places.values_mut().for_each(|ty| renumber(ty, &numbers));
}

/// The new id of each type that is left.
type Numbers = ById<TypeDef, Option<TypeId>>;

/// Definitions and components that others take in by `allOf`, or by a `$ref` with keywords beside
/// it, and that no value is by itself.
fn parts(graph: &Graph, shapes: &Shapes, places: &BTreeSet<SchemaId>) -> BTreeSet<SchemaId> {
    let end = |id: SchemaId| shapes.aliases.get(&id).copied().unwrap_or(id);
    let mut taken_in = BTreeSet::new();
    let mut whole: BTreeSet<SchemaId> = places.iter().map(|&id| end(id)).collect();
    for id in graph.ids() {
        // An alias takes nothing in: who uses it uses what it leads to.
        if shapes.aliases.contains_key(&id) {
            continue;
        }
        let schema = graph.schema(id);
        let inside: BTreeSet<SchemaId> = schema.reference.iter().chain(&schema.all_of).copied().collect();
        whole.extend(schema.children().filter(|child| !inside.contains(child)).map(end));
        taken_in.extend(inside.into_iter().map(end));
    }
    taken_in.retain(|id| {
        let named = matches!(graph.schema(*id).origin, Origin::Definition(_) | Origin::Component(_));
        named && !whole.contains(id)
    });
    taken_in
}

fn each_mut(body: &mut Body, change: &mut dyn FnMut(&mut TypeRef)) {
    match body {
        Body::Struct(body) => {
            body.fields.iter_mut().for_each(|f| change(&mut f.ty));
            body.additional.iter_mut().for_each(change);
        }
        Body::Tagged(body) => body.variants.iter_mut().for_each(|v| change(&mut v.ty)),
        Body::ByKind(variants) => variants.iter_mut().for_each(|v| change(&mut v.ty)),
        Body::Newtype(inner) => change(inner),
        Body::Enum(_) | Body::Pending => {}
    }
}

fn collect(ty: &TypeRef, out: &mut Vec<TypeId>) {
    match ty {
        TypeRef::Named(id) => out.push(*id),
        TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => collect(t, out),
        TypeRef::Tuple(all) => all.iter().for_each(|t| collect(t, out)),
        _ => {}
    }
}

fn is_kept(ty: &TypeRef, numbers: &Numbers) -> bool {
    let mut held = Vec::new();
    collect(ty, &mut held);
    held.iter().all(|id| numbers[*id].is_some())
}

/// A type by its new number; one that is gone is a string, since it stood where no field is or in
/// what is gone itself.
fn renumber(ty: &mut TypeRef, numbers: &Numbers) {
    match ty {
        TypeRef::Named(id) => match numbers[*id] {
            Some(number) => *id = number,
            None => *ty = TypeRef::String,
        },
        TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => renumber(t, numbers),
        TypeRef::Tuple(all) => all.iter_mut().for_each(|t| renumber(t, numbers)),
        _ => {}
    }
}
