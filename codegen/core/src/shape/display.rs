//! Formats types for messages and explanations.

use super::{Shapes, TypeAlias, TypeRef, place_alias};
use crate::{conjunction::SchemaConjunction, schema::SchemaGraph};

/// Formats a type in Rust notation, such as `Vec<Ship>`.
#[must_use]
pub fn display_type(shapes: &Shapes, ty: &TypeRef) -> String {
    display_aliased(shapes, ty, None)
}

/// Formats the type of a field or variant like [`display_type`]. If the location has an alias for the type,
/// the alias is used, as in generated code.
#[must_use]
pub fn display_place_type(
    graph: &SchemaGraph,
    shapes: &Shapes,
    ty: &TypeRef,
    conj: &SchemaConjunction,
) -> String {
    display_aliased(shapes, ty, place_alias(graph, shapes, ty, conj))
}

fn display_aliased(shapes: &Shapes, ty: &TypeRef, alias: Option<TypeAlias<'_>>) -> String {
    let of = |inner: &TypeRef| display_aliased(shapes, inner, alias);
    match ty {
        TypeRef::Json => "Json".to_owned(),
        TypeRef::Bool => "bool".to_owned(),
        TypeRef::Int(kind) => kind.name().to_owned(),
        TypeRef::Number => "Number".to_owned(),
        TypeRef::String => "String".to_owned(),
        TypeRef::Secret => "Secret".to_owned(),
        TypeRef::Named(id) => {
            let alias = alias.filter(|alias| alias.target == *id);
            alias.map_or(shapes.get(*id).name.as_str(), |alias| alias.name).to_owned()
        }
        TypeRef::Replaced(path, _) => path.clone(),
        TypeRef::Vec(inner) => format!("Vec<{}>", of(inner)),
        TypeRef::Map(inner) => format!("Map<{}>", of(inner)),
        TypeRef::Nullable(inner) => format!("Nullable<{}>", of(inner)),
        TypeRef::Boxed(inner) => format!("Box<{}>", of(inner)),
        TypeRef::Tuple(inner) => format!("({})", inner.iter().map(of).collect::<Vec<_>>().join(", ")),
    }
}
