//! Selects the structs for which builders are generated.

use std::collections::BTreeSet;

use crate::{
    api::OpenApiDocument,
    config::BuilderScope,
    shape::{Shapes, TypeId, TypeRef},
};

/// Returns the types that the option `types.builders` selects. Builders are generated for the structs among
/// them.
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

/// Adds all types that a type contains, at any depth.
fn collect_reachable(shapes: &Shapes, ty: &TypeRef, found: &mut BTreeSet<TypeId>) {
    let mut waiting = Vec::new();
    ty.collect_named(&mut waiting);
    while let Some(id) = waiting.pop() {
        if found.insert(id) {
            shapes.get(id).body.type_refs().for_each(|ty| ty.collect_named(&mut waiting));
        }
    }
}
