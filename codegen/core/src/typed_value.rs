//! Interprets generated types: parses a JSON value into the form that a generated type would hold, and
//! serializes it again.
//!
//! The rules are those of the code that `emit` generates: unknown properties are kept, optional properties
//! may be absent, `null` requires a nullable type, and a tag that identifies a variant has no field. This
//! shows which data a type would lose, without compiling it.
//!
//! Only one rule differs. If several variants of a union without a tag match an object, generated code uses
//! the validation tables to select the variant, whereas this module uses the best variant that can hold the
//! object.

use std::cmp::Reverse;

use contract_runtime::{Json, Map, Number, schema::TagCertainty};

use crate::shape::{
    ObjectUnion, Shapes, StringEnum, StructBody, TypeBody, TypeId, TypeRef, VariantSelector, VariantTag,
};

/// A value in the form that a generated type holds.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedValue {
    Json(Json),
    /// A value of a type from outside the generated crate.
    Replaced(Json),
    Bool(bool),
    /// A machine integer such as `i64`.
    Int(i128),
    Number(Number),
    String(String),
    /// A string that is redacted when printed.
    Secret(String),
    Null,
    NonNull(Box<TypedValue>),
    Vec(Vec<TypedValue>),
    Tuple(Vec<TypedValue>),
    Map(Vec<(String, TypedValue)>),
    /// A struct, with its fields in order and its undeclared properties.
    Struct(TypeId, Vec<Option<TypedValue>>, Box<TypedValue>),
    /// A variant of an enum, by its index.
    Variant(TypeId, usize, Box<TypedValue>),
    /// An object of an open union that matches no variant.
    UnknownObject(TypeId, Json),
    /// A listed value of a string enum, by its index.
    Listed(TypeId, usize),
    /// A string that an open enum does not list.
    Unlisted(TypeId, String),
    Newtype(TypeId, Box<TypedValue>),
}

/// The maximum number of types that wrap the same value. Real contracts need only a few, but a newtype around
/// itself would recurse endlessly.
const MAX_NESTING: u8 = 100;

/// Parses a JSON value as a type. Returns `None` if the generated type would reject the value.
#[must_use]
pub fn read_value(shapes: &Shapes, ty: &TypeRef, json: &Json) -> Option<TypedValue> {
    read_at(shapes, ty, json, MAX_NESTING)
}

/// Serializes a typed value as JSON.
#[must_use]
pub fn write_value(shapes: &Shapes, typed: &TypedValue) -> Json {
    match typed {
        TypedValue::Json(json) | TypedValue::Replaced(json) | TypedValue::UnknownObject(_, json) => {
            json.clone()
        }
        TypedValue::Bool(value) => Json::Bool(*value),
        TypedValue::Int(value) => Json::Number(integer_number(*value)),
        TypedValue::Number(number) => Json::Number(number.clone()),
        TypedValue::String(text) | TypedValue::Secret(text) | TypedValue::Unlisted(_, text) => {
            Json::String(text.clone())
        }
        TypedValue::Null => Json::Null,
        TypedValue::NonNull(inner) | TypedValue::Newtype(_, inner) | TypedValue::Variant(_, _, inner) => {
            write_value(shapes, inner)
        }
        TypedValue::Vec(items) | TypedValue::Tuple(items) => {
            Json::Array(items.iter().map(|item| write_value(shapes, item)).collect())
        }
        TypedValue::Map(members) => Json::Object(
            members.iter().map(|(name, value)| (name.clone(), write_value(shapes, value))).collect(),
        ),
        TypedValue::Struct(id, fields, rest) => {
            let mut out = Map::new();
            if let TypeBody::Struct(body) = &shapes.get(*id).body {
                for (field, value) in body.fields.iter().zip(fields) {
                    let value = match (&field.constant, field.omitted) {
                        (Some(constant), true) => Some(constant.clone()),
                        _ => value.as_ref().map(|value| write_value(shapes, value)),
                    };
                    value.map(|value| out.insert(field.wire.clone(), value));
                }
            }
            if let TypedValue::Map(rest) = &**rest {
                for (name, value) in rest {
                    out.insert(name.clone(), write_value(shapes, value));
                }
            }
            Json::Object(out)
        }
        TypedValue::Listed(id, at) => match &shapes.get(*id).body {
            TypeBody::Enum(list) => {
                list.values.get(*at).map_or(Json::Null, |(wire, ..)| Json::String(wire.clone()))
            }
            _ => Json::Null,
        },
    }
}

/// Returns true if no undeclared property of a struct has the same name as a declared one.
#[cfg(test)]
pub(crate) fn has_disjoint_rest(shapes: &Shapes, id: TypeId, rest: &TypedValue) -> bool {
    let (TypeBody::Struct(body), TypedValue::Map(rest)) = (&shapes.get(id).body, rest) else { return true };
    !body.fields.iter().any(|field| rest.iter().any(|(name, _)| *name == field.wire))
}

/// Returns true if no struct in a value has a duplicate property. Only the serialized form of such a value
/// can be parsed again.
#[cfg(test)]
pub(crate) fn has_unique_members(shapes: &Shapes, typed: &TypedValue) -> bool {
    let inside = |typed: &TypedValue| has_unique_members(shapes, typed);
    match typed {
        TypedValue::Struct(id, fields, rest) => {
            has_disjoint_rest(shapes, *id, rest) && fields.iter().flatten().all(inside) && inside(rest)
        }
        TypedValue::Map(members) => members.iter().all(|(_, value)| inside(value)),
        TypedValue::Vec(items) | TypedValue::Tuple(items) => items.iter().all(inside),
        TypedValue::NonNull(inner) | TypedValue::Newtype(_, inner) | TypedValue::Variant(_, _, inner) => {
            inside(inner)
        }
        _ => true,
    }
}

/// Converts a machine integer of at most 64 bits to a number.
pub(crate) fn integer_number(value: i128) -> Number {
    i64::try_from(value)
        .map_or_else(|_| Number::from(u64::try_from(value).unwrap_or_default()), Number::from_i64)
}

fn read_at(shapes: &Shapes, ty: &TypeRef, json: &Json, left: u8) -> Option<TypedValue> {
    let inner = |ty: &TypeRef, json: &Json| read_at(shapes, ty, json, MAX_NESTING);
    Some(match (ty, json) {
        (TypeRef::Json, _) => TypedValue::Json(json.clone()),
        (TypeRef::Replaced(..), _) => TypedValue::Replaced(json.clone()),
        (TypeRef::Bool, Json::Bool(value)) => TypedValue::Bool(*value),
        (TypeRef::Int(kind), Json::Number(number)) => TypedValue::Int(kind.value_of(number)?),
        (TypeRef::Number, Json::Number(number)) => TypedValue::Number(number.clone()),
        (TypeRef::String, Json::String(text)) => TypedValue::String(text.clone()),
        (TypeRef::Secret, Json::String(text)) => TypedValue::Secret(text.clone()),
        (TypeRef::Nullable(_), Json::Null) => TypedValue::Null,
        (TypeRef::Nullable(ty), _) => TypedValue::NonNull(Box::new(read_at(shapes, ty, json, left)?)),
        (TypeRef::Boxed(ty), _) => read_at(shapes, ty, json, left)?,
        (TypeRef::Vec(ty), Json::Array(items)) => {
            TypedValue::Vec(items.iter().map(|item| inner(ty, item)).collect::<Option<_>>()?)
        }
        (TypeRef::Tuple(types), Json::Array(items)) if types.len() == items.len() => {
            let each = types.iter().zip(items).map(|(ty, item)| inner(ty, item));
            TypedValue::Tuple(each.collect::<Option<_>>()?)
        }
        (TypeRef::Map(ty), Json::Object(members)) => TypedValue::Map(
            members
                .iter()
                .map(|(name, value)| Some((name.to_owned(), inner(ty, value)?)))
                .collect::<Option<_>>()?,
        ),
        (TypeRef::Named(id), _) => read_named(shapes, *id, json, left.checked_sub(1)?)?,
        _ => return None,
    })
}

fn read_named(shapes: &Shapes, id: TypeId, json: &Json, left: u8) -> Option<TypedValue> {
    match &shapes.get(id).body {
        TypeBody::Struct(body) => read_struct(shapes, id, body, json),
        TypeBody::Objects(body) => read_objects(shapes, id, body, json, left),
        TypeBody::ByKind(variants) => {
            let at = variants.iter().position(|variant| variant.selects(json))?;
            let typed = read_at(shapes, &variants[at].ty, json, left)?;
            Some(TypedValue::Variant(id, at, Box::new(typed)))
        }
        TypeBody::Enum(list) => read_enum(id, list, json),
        TypeBody::Newtype(inner) => {
            Some(TypedValue::Newtype(id, Box::new(read_at(shapes, inner, json, left)?)))
        }
        TypeBody::Pending => None,
    }
}

fn read_struct(shapes: &Shapes, id: TypeId, body: &StructBody, json: &Json) -> Option<TypedValue> {
    let members = json.as_object()?;
    let mut fields = Vec::new();
    for field in &body.fields {
        let found = members.get(&field.wire);
        if field.required && found.is_none() {
            return None;
        }
        fields.push(match (found, &field.constant, field.omitted) {
            (Some(value), Some(constant), true) if value == constant => None,
            (Some(_), Some(_), true) => return None,
            (Some(value), ..) => Some(read_at(shapes, &field.ty, value, MAX_NESTING)?),
            (None, ..) => None,
        });
    }
    let rest_type = body.additional.as_ref().unwrap_or(&TypeRef::Json);
    let others = members.iter().filter(|(name, _)| !body.fields.iter().any(|f| f.wire == *name));
    let rest =
        others.map(|(name, value)| Some((name.to_owned(), read_at(shapes, rest_type, value, MAX_NESTING)?)));
    Some(TypedValue::Struct(id, fields, Box::new(TypedValue::Map(rest.collect::<Option<_>>()?))))
}

fn read_objects(
    shapes: &Shapes,
    id: TypeId,
    body: &ObjectUnion,
    json: &Json,
    left: u8,
) -> Option<TypedValue> {
    let Some(object) = json.as_object() else {
        let other = body.others.iter().position(|variant| variant.selects(json))?;
        let typed = read_at(shapes, &body.others[other].ty, json, left)?;
        return Some(TypedValue::Variant(id, body.variants.len() + other, Box::new(typed)));
    };
    let unknown = || body.open.then(|| TypedValue::UnknownObject(id, json.clone()));
    let read = |at: usize| {
        let typed = read_at(shapes, &body.variants.get(at)?.ty, json, left)?;
        Some(TypedValue::Variant(id, at, Box::new(typed)))
    };
    match &body.selector {
        VariantSelector::Members(forms) => {
            let fitting = (0..forms.len()).filter(|at| forms[*at].fits(object));
            let mut fitting: Vec<usize> = fitting.collect();
            // If several variants match equally well, the first of them is used, because the sort is stable.
            fitting.sort_by_key(|at| {
                let form = &forms[*at];
                (!form.fits_lists(object), Reverse(form.count_declared(object)))
            });
            fitting.into_iter().find_map(read).or_else(unknown)
        }
        VariantSelector::Tag(VariantTag { name, certainty, literals, default_variant }) => {
            let tag = object.get(name);
            if tag.is_none() && *certainty == TagCertainty::Required {
                return None;
            }
            let meant = tag.and_then(|tag| literals.iter().position(|values| values.contains(tag)));
            let Some(at) = meant.or(*default_variant) else { return unknown() };
            match read(at) {
                None if *certainty == TagCertainty::Hint => unknown(),
                found => found,
            }
        }
    }
}

fn read_enum(id: TypeId, list: &StringEnum, json: &Json) -> Option<TypedValue> {
    let text = json.as_str()?;
    match list.values.iter().position(|(wire, ..)| wire == text) {
        Some(at) => Some(TypedValue::Listed(id, at)),
        None => list.open.then(|| TypedValue::Unlisted(id, text.to_owned())),
    }
}
