//! Selects the structs for which builders are generated.

use std::collections::BTreeSet;

use crate::{
    api::OpenApiDocument,
    config::BuilderScope,
    shape::{Shapes, TypeBody, TypeId, TypeRef},
};

/// Returns the types for which builders are generated: the structs that the option `types.builders` selects.
pub(super) fn select_builder_types(
    option: BuilderScope,
    api: &OpenApiDocument,
    shapes: &Shapes,
) -> BTreeSet<TypeId> {
    let mut found = BTreeSet::new();
    match option {
        BuilderScope::None => {}
        BuilderScope::All => found.extend(shapes.ids()),
        BuilderScope::Requests => {
            for operation in &api.operations {
                let bodies = operation.request_body.iter().flat_map(|b| &b.content);
                for schema in bodies.filter_map(|m| m.schema) {
                    collect_reachable(shapes, shapes.type_of_schema(schema), &mut found);
                }
            }
        }
    }
    found
}

fn collect_reachable(shapes: &Shapes, ty: &TypeRef, found: &mut BTreeSet<TypeId>) {
    match ty {
        TypeRef::Named(id) => {
            if !found.insert(*id) {
                return;
            }
            match &shapes.get(*id).body {
                TypeBody::Struct(s) => {
                    s.fields.iter().for_each(|f| collect_reachable(shapes, &f.ty, found));
                    s.additional.iter().for_each(|t| collect_reachable(shapes, t, found));
                }
                TypeBody::Objects(t) => {
                    t.variants.iter().for_each(|v| collect_reachable(shapes, &v.ty, found))
                }
                TypeBody::ByKind(v) => v.iter().for_each(|v| collect_reachable(shapes, &v.ty, found)),
                TypeBody::Newtype(inner) => collect_reachable(shapes, inner, found),
                TypeBody::Enum(_) | TypeBody::Pending => {}
            }
        }
        TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => {
            collect_reachable(shapes, t, found)
        }
        TypeRef::Tuple(inner) => inner.iter().for_each(|t| collect_reachable(shapes, t, found)),
        _ => {}
    }
}
