//! What a value of a generated type would hold, without compiling the type.
//!
//! Reading and writing follow the code that `emit` writes over the runtime's `read`: extra
//! members are kept, an absent optional member is fine and `null` is not unless the type says
//! so, a tag that belongs to a variant has no field. So what a type loses is seen here.

use contract_runtime::{Json, Map, Number, schema::Certainty};

use crate::{
    schema::Types,
    shape::{Body, IntKind, KindVariant, Shapes, StringEnum, Struct, Tagged, TypeId, TypeRef},
    together::type_of,
};

/// A value as a generated type holds it.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// Any JSON value.
    Json(Json),
    /// A value of a type of somebody else's.
    Foreign(Json),
    /// `bool`
    Bool(bool),
    /// `i64` or `u64`
    Int(i128),
    /// An exact decimal number.
    Number(Number),
    /// `String`
    String(String),
    /// A string that nothing prints.
    Secret(String),
    /// A `Nullable` without a value.
    Null,
    /// A `Nullable` with one.
    Value(Box<Held>),
    /// An array.
    Vec(Vec<Held>),
    /// An array of fixed length.
    Tuple(Vec<Held>),
    /// An object without declared members.
    Map(Vec<(String, Held)>),
    /// A struct: its fields, in order, and the other members.
    Struct(TypeId, Vec<Option<Held>>, Box<Held>),
    /// A variant of an enum, by its index.
    Variant(TypeId, usize, Box<Held>),
    /// An object whose tag an open union does not know.
    UnknownTag(TypeId, Json),
    /// A listed value of a string enumeration, by its index.
    Listed(TypeId, usize),
    /// A text that an open enumeration does not list.
    Unlisted(TypeId, String),
    /// A newtype.
    New(TypeId, Box<Held>),
}

/// How many types may stand at one and the same value. Real ones are a few; one that holds itself
/// without end holds nothing.
const NESTED: u8 = 100;

/// What a value of a type would hold of a JSON value; `None` when reading fails.
#[must_use]
pub fn read(shapes: &Shapes, ty: &TypeRef, json: &Json) -> Option<Held> {
    read_at(shapes, ty, json, NESTED)
}

/// What a value that is held is written as.
#[must_use]
pub fn write(shapes: &Shapes, held: &Held) -> Json {
    match held {
        Held::Json(json) | Held::Foreign(json) | Held::UnknownTag(_, json) => json.clone(),
        Held::Bool(value) => Json::Bool(*value),
        Held::Int(value) => Json::Number(whole(*value)),
        Held::Number(number) => Json::Number(number.clone()),
        Held::String(text) | Held::Secret(text) | Held::Unlisted(_, text) => Json::String(text.clone()),
        Held::Null => Json::Null,
        Held::Value(inner) | Held::New(_, inner) | Held::Variant(_, _, inner) => write(shapes, inner),
        Held::Vec(items) | Held::Tuple(items) => {
            Json::Array(items.iter().map(|item| write(shapes, item)).collect())
        }
        Held::Map(members) => {
            Json::Object(members.iter().map(|(name, value)| (name.clone(), write(shapes, value))).collect())
        }
        Held::Struct(id, fields, rest) => {
            let mut out = Map::new();
            if let Body::Struct(body) = &shapes.get(*id).body {
                for (field, value) in body.fields.iter().zip(fields) {
                    let value = match (&field.constant, field.omitted) {
                        (Some(constant), true) => Some(constant.clone()),
                        _ => value.as_ref().map(|value| write(shapes, value)),
                    };
                    value.map(|value| out.insert(field.wire.clone(), value));
                }
            }
            if let Held::Map(rest) = &**rest {
                for (name, value) in rest {
                    out.insert(name.clone(), write(shapes, value));
                }
            }
            Json::Object(out)
        }
        Held::Listed(id, at) => match &shapes.get(*id).body {
            Body::Enum(list) => {
                list.values.get(*at).map_or(Json::Null, |(wire, ..)| Json::String(wire.clone()))
            }
            _ => Json::Null,
        },
    }
}

/// Whether none of a struct's other members has the name of one that it declares.
#[cfg(test)]
pub(crate) fn is_apart(shapes: &Shapes, id: TypeId, rest: &Held) -> bool {
    let (Body::Struct(body), Held::Map(rest)) = (&shapes.get(id).body, rest) else { return true };
    !body.fields.iter().any(|field| rest.iter().any(|(name, _)| *name == field.wire))
}

/// Whether a value can be written: no struct in it has a member twice.
#[cfg(test)]
pub(crate) fn is_writable(shapes: &Shapes, held: &Held) -> bool {
    let inside = |held: &Held| is_writable(shapes, held);
    match held {
        Held::Struct(id, fields, rest) => {
            is_apart(shapes, *id, rest) && fields.iter().flatten().all(inside) && inside(rest)
        }
        Held::Map(members) => members.iter().all(|(_, value)| inside(value)),
        Held::Vec(items) | Held::Tuple(items) => items.iter().all(inside),
        Held::Value(inner) | Held::New(_, inner) | Held::Variant(_, _, inner) => inside(inner),
        _ => true,
    }
}

/// A machine integer, of one kind or the other, as a number.
pub(crate) fn whole(value: i128) -> Number {
    i64::try_from(value).map_or_else(|_| Number::from(u64::try_from(value).unwrap_or_default()), Number::int)
}

fn read_at(shapes: &Shapes, ty: &TypeRef, json: &Json, left: u8) -> Option<Held> {
    let inner = |ty: &TypeRef, json: &Json| read_at(shapes, ty, json, NESTED);
    Some(match (ty, json) {
        (TypeRef::Json, _) => Held::Json(json.clone()),
        (TypeRef::Replaced(..), _) => Held::Foreign(json.clone()),
        (TypeRef::Bool, Json::Bool(value)) => Held::Bool(*value),
        (TypeRef::Int(kind), Json::Number(number)) => Held::Int(match kind {
            IntKind::I64 => number.as_i64()?.into(),
            IntKind::U64 => number.as_u64()?.into(),
        }),
        (TypeRef::Number, Json::Number(number)) => Held::Number(number.clone()),
        (TypeRef::String, Json::String(text)) => Held::String(text.clone()),
        (TypeRef::Secret, Json::String(text)) => Held::Secret(text.clone()),
        (TypeRef::Nullable(_), Json::Null) => Held::Null,
        (TypeRef::Nullable(ty), _) => Held::Value(Box::new(read_at(shapes, ty, json, left)?)),
        (TypeRef::Boxed(ty), _) => read_at(shapes, ty, json, left)?,
        (TypeRef::Vec(ty), Json::Array(items)) => {
            Held::Vec(items.iter().map(|item| inner(ty, item)).collect::<Option<_>>()?)
        }
        (TypeRef::Tuple(types), Json::Array(items)) if types.len() == items.len() => {
            let each = types.iter().zip(items).map(|(ty, item)| inner(ty, item));
            Held::Tuple(each.collect::<Option<_>>()?)
        }
        (TypeRef::Map(ty), Json::Object(members)) => Held::Map(
            members
                .iter()
                .map(|(name, value)| Some((name.to_owned(), inner(ty, value)?)))
                .collect::<Option<_>>()?,
        ),
        (TypeRef::Named(id), _) => named(shapes, *id, json, left.checked_sub(1)?)?,
        _ => return None,
    })
}

fn named(shapes: &Shapes, id: TypeId, json: &Json, left: u8) -> Option<Held> {
    match &shapes.get(id).body {
        Body::Struct(body) => record(shapes, id, body, json),
        Body::Tagged(body) => tagged(shapes, id, body, json, left),
        Body::ByKind(variants) => {
            let at = variants.iter().position(|variant| is_kind(variant, json))?;
            let held = read_at(shapes, &variants[at].ty, json, left)?;
            Some(Held::Variant(id, at, Box::new(held)))
        }
        Body::Enum(list) => listed(id, list, json),
        Body::Newtype(inner) => Some(Held::New(id, Box::new(read_at(shapes, inner, json, left)?))),
        Body::Pending => None,
    }
}

fn record(shapes: &Shapes, id: TypeId, body: &Struct, json: &Json) -> Option<Held> {
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
            (Some(value), ..) => Some(read_at(shapes, &field.ty, value, NESTED)?),
            (None, ..) => None,
        });
    }
    let rest_type = body.additional.as_ref().unwrap_or(&TypeRef::Json);
    let others = members.iter().filter(|(name, _)| !body.fields.iter().any(|f| f.wire == *name));
    let rest =
        others.map(|(name, value)| Some((name.to_owned(), read_at(shapes, rest_type, value, NESTED)?)));
    Some(Held::Struct(id, fields, Box::new(Held::Map(rest.collect::<Option<_>>()?))))
}

fn tagged(shapes: &Shapes, id: TypeId, body: &Tagged, json: &Json, left: u8) -> Option<Held> {
    let tag = json.as_object()?.get(&body.tag);
    if tag.is_none() && body.certainty == Certainty::Required {
        return None;
    }
    let meant = tag.and_then(|tag| body.variants.iter().position(|variant| variant.literals.contains(tag)));
    let unknown = || body.open.then(|| Held::UnknownTag(id, json.clone()));
    let Some(at) = meant.or(body.otherwise) else { return unknown() };
    match read_at(shapes, &body.variants[at].ty, json, left) {
        Some(held) => Some(Held::Variant(id, at, Box::new(held))),
        None if body.certainty == Certainty::Meant => unknown(),
        None => None,
    }
}

/// Readers do not tell whole numbers from others.
fn is_kind(variant: &KindVariant, json: &Json) -> bool {
    let kind = type_of(json);
    let kind = if Types::NUMBER.contains(kind) { Types::INTEGER } else { kind };
    !variant.types.and(kind).is_empty()
}

fn listed(id: TypeId, list: &StringEnum, json: &Json) -> Option<Held> {
    let text = json.as_str()?;
    match list.values.iter().position(|(wire, ..)| wire == text) {
        Some(at) => Some(Held::Listed(id, at)),
        None => list.open.then(|| Held::Unlisted(id, text.to_owned())),
    }
}
