//! What reading a generated type lets through, as JSON Schema 2020-12.
//!
//! This follows `emit` and the runtime's `read`: extra members are kept, an absent optional
//! member is fine and `null` is not unless the type says so, integers may be written `1.0`.

use std::collections::BTreeSet;

use contract_runtime::schema::Certainty;
use serde_json::{Map, Value, json};

use crate::{
    schema::Types,
    shape::{Body, IntKind, Shapes, Struct, Tagged, TypeDef, TypeId, TypeRef},
};

/// 2^53: the proof engine compares numbers as `f64`. The types hold more, so what is proven with
/// this holds for them.
const EXACT: i64 = 1 << 53;

/// The schema of exactly what a type can hold, with the types that it mentions as `$defs`; `assumed` takes
/// integers of any size for held.
pub(super) fn accepted(shapes: &Shapes, id: TypeId, assumed: bool) -> Value {
    let writer = Writer::new(shapes, assumed);
    let mut definitions = Map::new();
    let mut waiting = vec![id];
    let mut seen = BTreeSet::from([id]);
    while let Some(next) = waiting.pop() {
        definitions.insert(key(next), writer.definition(next));
        for inner in mentioned(&shapes.get(next).body) {
            if seen.insert(inner) {
                waiting.push(inner);
            }
        }
    }
    json!({ "$schema": DIALECT, "$ref": link(id), "$defs": definitions })
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The name of a type below `$defs`.
pub(super) fn key(id: TypeId) -> String {
    format!("t{}", id.index())
}

fn link(id: TypeId) -> String {
    format!("#/$defs/{}", key(id))
}

struct Writer<'a> {
    shapes: &'a Shapes,
    assumed: bool,
}

impl<'a> Writer<'a> {
    const fn new(shapes: &'a Shapes, assumed: bool) -> Self {
        Self { shapes, assumed }
    }

    /// Whether reading a type would have to read itself first, without end: whether it is one of the
    /// types that stand at the very value that it stands at, however deep.
    fn is_endless(&self, id: TypeId) -> bool {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![id];
        while let Some(next) = waiting.pop() {
            let inside = same_value(&self.shapes.get(next).body);
            waiting.extend(inside.into_iter().filter(|&inner| seen.insert(inner)));
        }
        seen.contains(&id)
    }

    fn definition(&self, id: TypeId) -> Value {
        let body = self.body(self.shapes.get(id));
        // What never ends holds nothing; the other variants still hold what they hold.
        match &self.shapes.get(id).body {
            Body::Newtype(_) if self.is_endless(id) => Value::Bool(false),
            _ => body,
        }
    }

    fn body(&self, def: &TypeDef) -> Value {
        match &def.body {
            Body::Struct(body) => self.record(body),
            Body::Tagged(body) => self.tagged(body),
            Body::ByKind(variants) => {
                let variants =
                    variants.iter().map(|v| json!({ "allOf": [kinds(v.types), self.variant(&v.ty)] }));
                json!({ "anyOf": variants.collect::<Vec<_>>() })
            }
            Body::Enum(list) if list.open => json!({ "type": "string" }),
            Body::Enum(list) => {
                json!({ "enum": list.values.iter().map(|(wire, ..)| wire).collect::<Vec<_>>() })
            }
            Body::Newtype(inner) => self.ty(inner),
            Body::Pending => Value::Bool(false),
        }
    }

    fn record(&self, body: &Struct) -> Value {
        let properties: Map<String, Value> = body
            .fields
            .iter()
            .map(|field| {
                let value = match &field.constant {
                    Some(constant) if field.omitted => json!({ "const": constant.to_value() }),
                    _ => self.ty(&field.ty),
                };
                (field.wire.clone(), value)
            })
            .collect();
        let required: Vec<&str> = body.fields.iter().filter(|f| f.required).map(|f| &*f.wire).collect();
        let mut out = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            out["required"] = json!(required);
        }
        if let Some(additional) = &body.additional {
            out["additionalProperties"] = self.ty(additional);
        }
        out
    }

    fn tagged(&self, body: &Tagged) -> Value {
        let tag = &body.tag;
        let mut variants: Vec<Value> = body
            .variants
            .iter()
            .map(|variant| {
                let literals: Vec<Value> = variant.literals.iter().map(contract_runtime::Json::to_value).collect();
                let meant = json!({ "type": "object", "required": [tag], "properties": { tag: { "enum": literals } } });
                json!({ "allOf": [meant, self.variant(&variant.ty)] })
            })
            .collect();
        if body.certainty == Certainty::Meant {
            return json!({ "type": "object" });
        }
        if body.open {
            let known: Vec<Value> = body
                .variants
                .iter()
                .flat_map(|v| &v.literals)
                .map(contract_runtime::Json::to_value)
                .collect();
            let mut others = json!({ "type": "object", "properties": { tag: { "not": { "enum": known } } } });
            if body.certainty == Certainty::Required {
                others["required"] = json!([tag]);
            }
            variants.push(others);
        }
        json!({ "anyOf": variants })
    }

    /// A variant's type; one that leads back to its union holds nothing.
    fn variant(&self, ty: &TypeRef) -> Value {
        match here(ty) {
            Some(id) if self.is_endless(id) => Value::Bool(false),
            _ => self.ty(ty),
        }
    }

    fn ty(&self, ty: &TypeRef) -> Value {
        match ty {
            // A type of the owner's takes what the owner says.
            TypeRef::Json | TypeRef::Replaced(..) => Value::Bool(true),
            TypeRef::Bool => json!({ "type": "boolean" }),
            TypeRef::Int(_) if self.assumed => json!({ "type": "integer" }),
            TypeRef::Int(IntKind::I64) => {
                json!({ "type": "integer", "minimum": -EXACT, "maximum": EXACT })
            }
            TypeRef::Int(IntKind::U64) => json!({ "type": "integer", "minimum": 0, "maximum": EXACT }),
            TypeRef::Number => json!({ "type": "number" }),
            TypeRef::String | TypeRef::Secret => json!({ "type": "string" }),
            TypeRef::Named(id) => match self.shapes.types.get(*id) {
                Some(_) => json!({ "$ref": link(*id) }),
                None => Value::Bool(false),
            },
            TypeRef::Vec(inner) => json!({ "type": "array", "items": self.ty(inner) }),
            TypeRef::Map(inner) => json!({ "type": "object", "additionalProperties": self.ty(inner) }),
            TypeRef::Tuple(inner) => {
                let items: Vec<Value> = inner.iter().map(|ty| self.ty(ty)).collect();
                json!({ "type": "array", "prefixItems": items, "minItems": inner.len(), "maxItems": inner.len() })
            }
            TypeRef::Nullable(inner) => json!({ "anyOf": [{ "type": "null" }, self.ty(inner)] }),
            TypeRef::Boxed(inner) => self.ty(inner),
        }
    }
}

/// The JSON types that lead to a variant; readers do not tell whole numbers from others.
fn kinds(types: Types) -> Value {
    let all = [
        (Types::NULL, "null"),
        (Types::BOOLEAN, "boolean"),
        (Types::NUMBER, "number"),
        (Types::STRING, "string"),
        (Types::ARRAY, "array"),
        (Types::OBJECT, "object"),
    ];
    let names: Vec<&str> =
        all.iter().filter(|(kind, _)| !types.and(*kind).is_empty()).map(|(_, name)| *name).collect();
    json!({ "type": names })
}

/// The named type that stands where a type stands, not below it.
fn here(ty: &TypeRef) -> Option<TypeId> {
    match ty {
        TypeRef::Named(id) => Some(*id),
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => here(inner),
        _ => None,
    }
}

/// The named types at the value itself.
fn same_value(body: &Body) -> Vec<TypeId> {
    match body {
        Body::Tagged(t) => t.variants.iter().filter_map(|v| here(&v.ty)).collect(),
        Body::ByKind(v) => v.iter().filter_map(|v| here(&v.ty)).collect(),
        Body::Newtype(inner) => here(inner).into_iter().collect(),
        Body::Struct(_) | Body::Enum(_) | Body::Pending => Vec::new(),
    }
}

/// The types that a body mentions.
fn mentioned(body: &Body) -> Vec<TypeId> {
    fn add(ty: &TypeRef, out: &mut Vec<TypeId>) {
        match ty {
            TypeRef::Named(id) => out.push(*id),
            TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => add(t, out),
            TypeRef::Tuple(all) => all.iter().for_each(|t| add(t, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    match body {
        Body::Struct(s) => s.fields.iter().map(|f| &f.ty).chain(&s.additional).for_each(|t| add(t, &mut out)),
        Body::Tagged(t) => t.variants.iter().for_each(|v| add(&v.ty, &mut out)),
        Body::ByKind(v) => v.iter().for_each(|v| add(&v.ty, &mut out)),
        Body::Newtype(inner) => add(inner, &mut out),
        Body::Enum(_) | Body::Pending => {}
    }
    out
}
