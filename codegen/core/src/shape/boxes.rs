//! Inserts a `Box` where a type would contain itself or where a chain of nested types would be too long.

use super::{Shapes, TypeBody, TypeId, TypeRef};
use crate::arena::strongly_connected_components;

/// Boxes every field and variant whose type contains the enclosing type again, and breaks long chains of
/// nested types.
pub(super) fn insert_boxes(shapes: &mut Shapes) {
    let targets = shapes.types.map_ids(|id| {
        let mut out = Vec::new();
        inline_targets(&shapes.get(id).body, &mut out);
        out
    });
    let components = strongly_connected_components(&targets);
    for id in shapes.ids() {
        let component = components[id];
        let mut body = std::mem::replace(&mut shapes.types[id].body, TypeBody::Pending);
        for ty in inline_types_mut(&mut body) {
            box_matching(ty, &|inner| components[inner] == component && component.1);
        }
        shapes.types[id].body = body;
    }
    break_long_chains(shapes);
}

/// The maximum number of types that are nested without a pointer. The size of a value on the parser's stack
/// is the sum of their sizes.
const MAX_INLINE_DEPTH: usize = 16;

/// Inserts a box wherever the number of types that are nested without a pointer reaches [`MAX_INLINE_DEPTH`],
/// counted from the innermost type.
fn break_long_chains(shapes: &mut Shapes) {
    let mut depths = shapes.types.map_ids(|_| None::<usize>);
    for root in shapes.ids() {
        let mut work = vec![root];
        while let Some(&id) = work.last() {
            let mut inside = Vec::new();
            inline_targets(&shapes.types[id].body, &mut inside);
            let open: Vec<TypeId> = inside.iter().copied().filter(|t| depths[*t].is_none()).collect();
            if depths[id].is_some() || open.is_empty() {
                work.pop();
            } else {
                work.extend(open);
                continue;
            }
            if depths[id].is_some() {
                continue;
            }
            let depth = |id: &TypeId| depths[*id].unwrap_or_default();
            let full: Vec<TypeId> = inside.iter().copied().filter(|t| depth(t) >= MAX_INLINE_DEPTH).collect();
            let deepest = inside.iter().filter(|t| !full.contains(t)).map(depth).max();
            depths[id] = Some(deepest.map_or(1, |depth| depth + 1));
            for ty in inline_types_mut(&mut shapes.types[id].body) {
                box_matching(ty, &|inner| full.contains(&inner));
            }
        }
    }
}

fn box_matching(ty: &mut TypeRef, recursive: &dyn Fn(TypeId) -> bool) {
    match ty {
        TypeRef::Named(id) if recursive(*id) => *ty = TypeRef::Boxed(Box::new(ty.clone())),
        TypeRef::Nullable(inner) => box_matching(inner, recursive),
        TypeRef::Tuple(inner) => inner.iter_mut().for_each(|t| box_matching(t, recursive)),
        _ => {}
    }
}

/// Returns the types of the fields, variants or content of a body.
fn inline_types_mut(body: &mut TypeBody) -> Vec<&mut TypeRef> {
    match body {
        TypeBody::Struct(s) => s.fields.iter_mut().map(|f| &mut f.ty).collect(),
        TypeBody::Objects(t) => t.content_types_mut().collect(),
        TypeBody::ByKind(v) => v.iter_mut().map(|v| &mut v.ty).collect(),
        TypeBody::Newtype(inner) => vec![inner],
        TypeBody::Enum(_) | TypeBody::Pending => Vec::new(),
    }
}

/// Collects the named types that a body contains inline, that is, not in a box, an array or a map.
fn inline_targets(body: &TypeBody, out: &mut Vec<TypeId>) {
    collect_types(body, IndirectionMode::Stop, out);
}

/// The treatment of indirections in a traversal of types. Boxes, arrays and maps are indirections: their
/// content is on the heap.
#[derive(Clone, Copy)]
enum IndirectionMode {
    /// The traversal ends at an indirection.
    Stop,
    /// The traversal follows an indirection.
    Follow,
}

fn collect_types(body: &TypeBody, boxes: IndirectionMode, out: &mut Vec<TypeId>) {
    fn add(ty: &TypeRef, boxes: IndirectionMode, out: &mut Vec<TypeId>) {
        match (ty, boxes) {
            (TypeRef::Named(id), _) => out.push(*id),
            (TypeRef::Nullable(inner), _)
            | (TypeRef::Boxed(inner) | TypeRef::Vec(inner) | TypeRef::Map(inner), IndirectionMode::Follow) => {
                add(inner, boxes, out);
            }
            (TypeRef::Tuple(inner), _) => inner.iter().for_each(|t| add(t, boxes, out)),
            _ => {}
        }
    }
    match body {
        TypeBody::Struct(s) => {
            s.fields.iter().for_each(|f| add(&f.ty, boxes, out));
            // Undeclared properties are stored in a map, which is an indirection.
            if let (Some(others), IndirectionMode::Follow) = (&s.additional, boxes) {
                add(others, boxes, out);
            }
        }
        TypeBody::Objects(t) => t.contents().for_each(|(_, ty)| add(ty, boxes, out)),
        TypeBody::ByKind(v) => v.iter().for_each(|v| add(&v.ty, boxes, out)),
        TypeBody::Newtype(inner) => add(inner, boxes, out),
        TypeBody::Enum(_) | TypeBody::Pending => {}
    }
}

/// Returns the maximum nesting depth of types, including nesting through boxes, arrays and maps. The compiler
/// recurses to this depth to compute drop glue (E0320).
pub(super) fn nesting_depth(shapes: &Shapes) -> usize {
    let mut known = shapes.types.map_ids(|_| None);
    let mut deepest = 0;
    for id in shapes.ids() {
        // The depth of a type is computed from the depths of its fields, without recursion.
        let mut work = vec![id];
        while let Some(&at) = work.last() {
            let mut inner = Vec::new();
            collect_types(&shapes.get(at).body, IndirectionMode::Follow, &mut inner);
            known[at].get_or_insert(0);
            let open = inner.iter().find(|t| known[**t].is_none());
            match open {
                Some(&next) => work.push(next),
                None => {
                    let below = inner.iter().filter_map(|t| known[*t]).max();
                    known[at] = Some(1 + below.unwrap_or(0));
                    deepest = deepest.max(1 + below.unwrap_or(0));
                    work.pop();
                }
            }
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use crate::{generate::Project, load::Sources};

    /// Returns the nesting depth of a chain of types. `between` wraps the reference to the next type.
    fn depth(length: usize, between: impl Fn(&str) -> String) -> usize {
        let links: Vec<String> = (0..length)
            .map(|index| {
                let next = between(&format!("{{\"$ref\":\"#/$defs/t{}\"}}", index + 1));
                format!("\"t{index}\":{{\"type\":\"object\",\"properties\":{{\"next\":{next}}}}}")
            })
            .collect();
        let last = "\"type\":\"object\",\"properties\":{\"value\":{\"type\":\"string\"}}";
        let text = format!("{{\"$defs\":{{{},\"t{length}\":{{{last}}}}}}}", links.join(","));
        let sources = Sources::from_texts(&[("chain.json", "", &text)]).unwrap();
        Project::default().analyze_sources(sources).unwrap().shapes.nesting_depth()
    }

    /// A chain of types that are nested through arrays or maps has the same nesting depth as a chain of
    /// directly nested types.
    #[test]
    fn chains_through_arrays_and_maps_are_as_deep() {
        assert_eq!(depth(30, str::to_owned), 31);
        assert_eq!(depth(30, |next| format!("{{\"type\":\"array\",\"items\":{next}}}")), 31);
        assert_eq!(depth(30, |next| format!("{{\"type\":\"object\",\"additionalProperties\":{next}}}")), 31);
    }
}
