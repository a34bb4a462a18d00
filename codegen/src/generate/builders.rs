//! Which structs get a builder.

use std::collections::BTreeSet;

use crate::{
    api::Api,
    config::Builders,
    shape::{Body, Shapes, TypeId, TypeRef},
};

/// The structs that the option asks for.
pub(super) fn of(option: Builders, api: &Api, shapes: &Shapes) -> BTreeSet<TypeId> {
    let mut found = BTreeSet::new();
    match option {
        Builders::None => {}
        Builders::All => found.extend(shapes.ids()),
        Builders::Requests => {
            for operation in &api.operations {
                let bodies = operation.request_body.iter().flat_map(|b| &b.content);
                for schema in bodies.filter_map(|m| m.schema) {
                    reach(shapes, shapes.of(schema), &mut found);
                }
            }
        }
    }
    found
}

fn reach(shapes: &Shapes, ty: &TypeRef, found: &mut BTreeSet<TypeId>) {
    match ty {
        TypeRef::Named(id) => {
            if !found.insert(*id) {
                return;
            }
            match &shapes.get(*id).body {
                Body::Struct(s) => {
                    s.fields.iter().for_each(|f| reach(shapes, &f.ty, found));
                    s.additional.iter().for_each(|t| reach(shapes, t, found));
                }
                Body::Tagged(t) => t.variants.iter().for_each(|v| reach(shapes, &v.ty, found)),
                Body::ByKind(v) => v.iter().for_each(|v| reach(shapes, &v.ty, found)),
                Body::Newtype(inner) => reach(shapes, inner, found),
                Body::Enum(_) | Body::Pending => {}
            }
        }
        TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => {
            reach(shapes, t, found)
        }
        TypeRef::Tuple(inner) => inner.iter().for_each(|t| reach(shapes, t, found)),
        _ => {}
    }
}
