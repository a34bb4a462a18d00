//! Formats types for messages and explanations.

use super::{Shapes, TypeRef};

/// Formats a type in Rust notation, such as `Vec<Ship>`.
#[must_use]
pub fn display_type(shapes: &Shapes, ty: &TypeRef) -> String {
    let of = |inner: &TypeRef| display_type(shapes, inner);
    match ty {
        TypeRef::Json => "Json".to_owned(),
        TypeRef::Bool => "bool".to_owned(),
        TypeRef::Int(kind) => kind.name().to_owned(),
        TypeRef::Number => "Number".to_owned(),
        TypeRef::String => "String".to_owned(),
        TypeRef::Secret => "Secret".to_owned(),
        TypeRef::Named(id) => shapes.get(*id).name.clone(),
        TypeRef::Replaced(path, _) => path.clone(),
        TypeRef::Vec(inner) => format!("Vec<{}>", of(inner)),
        TypeRef::Map(inner) => format!("Map<{}>", of(inner)),
        TypeRef::Nullable(inner) => format!("Nullable<{}>", of(inner)),
        TypeRef::Boxed(inner) => format!("Box<{}>", of(inner)),
        TypeRef::Tuple(inner) => format!("({})", inner.iter().map(of).collect::<Vec<_>>().join(", ")),
    }
}
