//! Puts a `Box` where a type would contain itself, or too many others in a row.

use super::{Body, Shapes, TypeDef, TypeId, TypeRef};
use crate::arena::ById;

/// Boxes every direct field that leads back to its own type.
pub(super) fn insert(shapes: &mut Shapes) {
    let components = components(shapes);
    for id in shapes.ids() {
        let component = components[id];
        let mut body = std::mem::replace(&mut shapes.types[id].body, Body::Pending);
        for ty in direct_mut(&mut body) {
            wrap(ty, &|inner| components[inner] == component && component.1);
        }
        shapes.types[id].body = body;
    }
    shorten(shapes);
}

/// How many types may hold each other without a pointer between: their sizes add up, on the
/// stack of whoever reads them.
const INLINE: usize = 16;

/// Breaks long chains of types that hold each other, counted from the innermost.
fn shorten(shapes: &mut Shapes) {
    let mut depths = shapes.types.map(|_| None::<usize>);
    for root in shapes.ids() {
        let mut work = vec![root];
        while let Some(&id) = work.last() {
            let mut inside = Vec::new();
            targets(&shapes.types[id].body, &mut inside);
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
            let full: Vec<TypeId> = inside.iter().copied().filter(|t| depth(t) >= INLINE).collect();
            let deepest = inside.iter().filter(|t| !full.contains(t)).map(depth).max();
            depths[id] = Some(deepest.map_or(1, |depth| depth + 1));
            for ty in direct_mut(&mut shapes.types[id].body) {
                wrap(ty, &|inner| full.contains(&inner));
            }
        }
    }
}

fn wrap(ty: &mut TypeRef, recursive: &dyn Fn(TypeId) -> bool) {
    match ty {
        TypeRef::Named(id) if recursive(*id) => *ty = TypeRef::Boxed(Box::new(ty.clone())),
        TypeRef::Nullable(inner) => wrap(inner, recursive),
        TypeRef::Tuple(inner) => inner.iter_mut().for_each(|t| wrap(t, recursive)),
        _ => {}
    }
}

/// The types that a body holds without a `Vec` or a map between.
fn direct_mut(body: &mut Body) -> Vec<&mut TypeRef> {
    match body {
        Body::Struct(s) => s.fields.iter_mut().map(|f| &mut f.ty).collect(),
        Body::Tagged(t) => t.variants.iter_mut().map(|v| &mut v.ty).collect(),
        Body::ByKind(v) => v.iter_mut().map(|v| &mut v.ty).collect(),
        Body::Newtype(inner) => vec![inner],
        Body::Enum(_) | Body::Pending => Vec::new(),
    }
}

/// The types that stand in a body itself, not behind a pointer.
fn targets(body: &Body, out: &mut Vec<TypeId>) {
    each(body, Boxes::End, out);
}

/// What a pointer is to somebody who follows types: a `Box`, an array, a map.
#[derive(Clone, Copy)]
enum Boxes {
    /// Something else begins behind it.
    End,
    /// It is seen through.
    Pass,
}

fn each(body: &Body, boxes: Boxes, out: &mut Vec<TypeId>) {
    fn add(ty: &TypeRef, boxes: Boxes, out: &mut Vec<TypeId>) {
        match (ty, boxes) {
            (TypeRef::Named(id), _) => out.push(*id),
            (TypeRef::Nullable(inner), _)
            | (TypeRef::Boxed(inner) | TypeRef::Vec(inner) | TypeRef::Map(inner), Boxes::Pass) => {
                add(inner, boxes, out);
            }
            (TypeRef::Tuple(inner), _) => inner.iter().for_each(|t| add(t, boxes, out)),
            _ => {}
        }
    }
    match body {
        Body::Struct(s) => {
            s.fields.iter().for_each(|f| add(&f.ty, boxes, out));
            // Always behind a map.
            if let (Some(others), Boxes::Pass) = (&s.additional, boxes) {
                add(others, boxes, out);
            }
        }
        Body::Tagged(t) => t.variants.iter().for_each(|v| add(&v.ty, boxes, out)),
        Body::ByKind(v) => v.iter().for_each(|v| add(&v.ty, boxes, out)),
        Body::Newtype(inner) => add(inner, boxes, out),
        Body::Enum(_) | Body::Pending => {}
    }
}

/// Strongly connected components (Tarjan, without recursion): the component of each type, and
/// whether it is a cycle.
fn components(shapes: &Shapes) -> ById<TypeDef, (TypeId, bool)> {
    let edges = shapes.types.map(|id| {
        let mut out = Vec::new();
        targets(&shapes.get(id).body, &mut out);
        out
    });
    let mut index = shapes.types.map(|_| usize::MAX);
    let mut low = shapes.types.map(|_| 0);
    let mut on_stack = shapes.types.map(|_| false);
    let mut stack = Vec::new();
    let mut result = shapes.types.map(|id| (id, false));
    let mut next = 0;
    for root in shapes.ids() {
        if index[root] != usize::MAX {
            continue;
        }
        let mut work = vec![(root, 0usize)];
        while let Some((node, edge)) = work.pop() {
            if edge == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&target) = edges[node].get(edge) {
                work.push((node, edge + 1));
                if index[target] == usize::MAX {
                    work.push((target, 0));
                } else if on_stack[target] {
                    low[node] = low[node].min(index[target]);
                }
                continue;
            }
            if let Some(&(parent, _)) = work.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                let mut members = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    members.push(member);
                    if member == node {
                        break;
                    }
                }
                let cycle = members.len() > 1 || edges[node].contains(&node);
                for member in members {
                    result[member] = (node, cycle);
                }
            }
        }
    }
    result
}

/// How many types stand inside each other at most. The compiler descends that far for what their
/// drop does (E0320), whatever pointers, arrays and maps stand between them.
pub(super) fn depth(shapes: &Shapes) -> usize {
    let mut known = shapes.types.map(|_| None);
    let mut deepest = 0;
    for id in shapes.ids() {
        // Without recursion: a type's depth is settled once those of its members are.
        let mut work = vec![id];
        while let Some(&at) = work.last() {
            let mut inner = Vec::new();
            each(&shapes.get(at).body, Boxes::Pass, &mut inner);
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

    /// A chain of types, each holding the next as `between` says.
    fn depth(length: usize, between: impl Fn(&str) -> String) -> usize {
        let links: Vec<String> = (0..length)
            .map(|at| {
                let next = between(&format!("{{\"$ref\":\"#/$defs/t{}\"}}", at + 1));
                format!("\"t{at}\":{{\"type\":\"object\",\"properties\":{{\"next\":{next}}}}}")
            })
            .collect();
        let last = "\"type\":\"object\",\"properties\":{\"value\":{\"type\":\"string\"}}";
        let text = format!("{{\"$defs\":{{{},\"t{length}\":{{{last}}}}}}}", links.join(","));
        let sources = Sources::from_texts(&[("chain.json", "", &text)]).unwrap();
        Project::default().understand(sources).unwrap().shapes.depth()
    }

    /// What the compiler descends through counts, whatever stands between.
    #[test]
    fn chains_through_arrays_and_maps_are_as_deep() {
        assert_eq!(depth(30, str::to_owned), 31);
        assert_eq!(depth(30, |next| format!("{{\"type\":\"array\",\"items\":{next}}}")), 31);
        assert_eq!(depth(30, |next| format!("{{\"type\":\"object\",\"additionalProperties\":{next}}}")), 31);
    }
}
