//! Describes the values that a generated type can hold as a JSON Schema 2020-12 document, so that it can be
//! compared with the source schema of the type.
//!
//! The rules are those of `emit` and of parsing in the runtime: unknown properties are kept, optional
//! properties may be absent, `null` requires a nullable type, and integers may be spelled `1.0`.

use std::collections::BTreeSet;

use contract_runtime::schema::TagCertainty;
use serde_json::{Map, Value, json};

use crate::{
    schema::TypeSet,
    shape::{KindVariant, ObjectUnion, Shapes, StructBody, TypeBody, TypeDef, TypeId, TypeRef, VariantTag},
};

/// The largest magnitude in the accepted schema of an integer type: 2^53, because the proof engine compares
/// numbers as `f64`. The types can hold larger integers, so a proof for the smaller range is still valid.
const MAX_EXACT_INTEGER: i64 = 1 << 53;

/// Returns a schema that describes the values that a type can hold, with the referenced types in `$defs`.
/// Integers are limited to [`MAX_EXACT_INTEGER`]. If `assumed` is true, integers of any size are treated as
/// representable.
pub(super) fn accepted_schema(shapes: &Shapes, id: TypeId, assumed: bool) -> Value {
    let writer = AcceptedSchemaWriter::new(shapes, assumed);
    let mut definitions = Map::new();
    let mut waiting = vec![id];
    let mut seen = BTreeSet::from([id]);
    while let Some(next) = waiting.pop() {
        definitions.insert(definition_key(next), writer.write_definition(next));
        for inner in mentioned_types(&shapes.get(next).body) {
            if seen.insert(inner) {
                waiting.push(inner);
            }
        }
    }
    json!({ "$schema": DIALECT, "$ref": definition_reference(id), "$defs": definitions })
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the key of a type in `$defs`.
pub(super) fn definition_key(id: TypeId) -> String {
    format!("t{}", id.index())
}

fn definition_reference(id: TypeId) -> String {
    format!("#/$defs/{}", definition_key(id))
}

struct AcceptedSchemaWriter<'a> {
    shapes: &'a Shapes,
    assumed: bool,
}

impl<'a> AcceptedSchemaWriter<'a> {
    const fn new(shapes: &'a Shapes, assumed: bool) -> Self {
        Self { shapes, assumed }
    }

    /// Returns true if a type contains itself as the same value, for example a newtype of itself. Parsing it
    /// would recurse without consuming input.
    fn is_self_containing(&self, id: TypeId) -> bool {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![id];
        while let Some(next) = waiting.pop() {
            let inside = types_at_same_value(&self.shapes.get(next).body);
            waiting.extend(inside.into_iter().filter(|&inner| seen.insert(inner)));
        }
        seen.contains(&id)
    }

    fn write_definition(&self, id: TypeId) -> Value {
        let body = self.write_body(self.shapes.get(id));
        // A newtype that contains itself has no values.
        match &self.shapes.get(id).body {
            TypeBody::Newtype(_) if self.is_self_containing(id) => Value::Bool(false),
            _ => body,
        }
    }

    fn write_body(&self, def: &TypeDef) -> Value {
        match &def.body {
            TypeBody::Struct(body) => self.write_struct(body),
            TypeBody::Objects(body) if body.others.is_empty() => self.write_objects(body),
            TypeBody::Objects(body) => {
                let others = body.others.iter().map(|v| self.write_kind(v));
                json!({ "anyOf": others.chain([self.write_objects(body)]).collect::<Vec<_>>() })
            }
            TypeBody::ByKind(variants) => {
                json!({ "anyOf": variants.iter().map(|v| self.write_kind(v)).collect::<Vec<_>>() })
            }
            TypeBody::Enum(list) if list.open => json!({ "type": "string" }),
            TypeBody::Enum(list) => {
                json!({ "enum": list.values.iter().map(|(wire, ..)| wire).collect::<Vec<_>>() })
            }
            TypeBody::Newtype(inner) => self.write_type(inner),
            TypeBody::Pending => Value::Bool(false),
        }
    }

    fn write_kind(&self, variant: &KindVariant) -> Value {
        let items = json!({ "items": kind_schema(variant.items) });
        json!({ "allOf": [kind_schema(variant.types), items, self.write_variant(&variant.ty)] })
    }

    fn write_struct(&self, body: &StructBody) -> Value {
        let properties: Map<String, Value> = body
            .fields
            .iter()
            .map(|field| {
                let value = match &field.constant {
                    Some(constant) if field.omitted => json!({ "const": constant.to_value() }),
                    _ => self.write_type(&field.ty),
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
            out["additionalProperties"] = self.write_type(additional);
        }
        out
    }

    fn write_objects(&self, body: &ObjectUnion) -> Value {
        let Some(tag) = body.tag() else {
            let variants = body.variants.iter().map(|variant| self.write_variant(&variant.ty));
            // An open union can hold every object.
            let any = json!({ "type": "object" });
            return if body.open { any } else { json!({ "anyOf": variants.collect::<Vec<_>>() }) };
        };
        let VariantTag { name: tag, certainty, literals, .. } = tag;
        let mut variants: Vec<Value> = body
            .variants
            .iter()
            .zip(literals)
            .map(|(variant, literals)| {
                let literals: Vec<Value> = literals.iter().map(contract_runtime::Json::to_value).collect();
                let meant = json!({ "type": "object", "required": [tag], "properties": { tag: { "enum": literals } } });
                json!({ "allOf": [meant, self.write_variant(&variant.ty)] })
            })
            .collect();
        if *certainty == TagCertainty::Hint {
            return json!({ "type": "object" });
        }
        if body.open {
            let known: Vec<Value> = literals.iter().flatten().map(contract_runtime::Json::to_value).collect();
            let mut others = json!({ "type": "object", "properties": { tag: { "not": { "enum": known } } } });
            if *certainty == TagCertainty::Required {
                others["required"] = json!([tag]);
            }
            variants.push(others);
        }
        json!({ "anyOf": variants })
    }

    /// Writes the schema of a variant's type. The schema of a variant that contains its own union is `false`,
    /// because no value of it exists.
    fn write_variant(&self, ty: &TypeRef) -> Value {
        match direct_named_type(ty) {
            Some(id) if self.is_self_containing(id) => Value::Bool(false),
            _ => self.write_type(ty),
        }
    }

    fn write_type(&self, ty: &TypeRef) -> Value {
        match ty {
            // A type from outside the generated crate may accept anything.
            TypeRef::Json | TypeRef::Replaced(..) => Value::Bool(true),
            TypeRef::Bool => json!({ "type": "boolean" }),
            TypeRef::Int(_) if self.assumed => json!({ "type": "integer" }),
            TypeRef::Int(kind) => {
                let exact = |bound: i128| {
                    i64::try_from(bound)
                        .map_or(MAX_EXACT_INTEGER, |bound| bound.clamp(-MAX_EXACT_INTEGER, MAX_EXACT_INTEGER))
                };
                json!({ "type": "integer", "minimum": exact(kind.least()), "maximum": exact(kind.greatest()) })
            }
            TypeRef::Number => json!({ "type": "number" }),
            TypeRef::String | TypeRef::Secret => json!({ "type": "string" }),
            TypeRef::Named(id) => match self.shapes.types.get(*id) {
                Some(_) => json!({ "$ref": definition_reference(*id) }),
                None => Value::Bool(false),
            },
            TypeRef::Vec(inner) => json!({ "type": "array", "items": self.write_type(inner) }),
            TypeRef::Map(inner) => {
                json!({ "type": "object", "additionalProperties": self.write_type(inner) })
            }
            TypeRef::Tuple(inner) => {
                let items: Vec<Value> = inner.iter().map(|ty| self.write_type(ty)).collect();
                json!({ "type": "array", "prefixItems": items, "minItems": inner.len(), "maxItems": inner.len() })
            }
            TypeRef::Nullable(inner) => json!({ "anyOf": [{ "type": "null" }, self.write_type(inner)] }),
            TypeRef::Boxed(inner) => self.write_type(inner),
        }
    }
}

/// Returns a schema for the JSON types of a variant. Integers are not distinguished from other numbers.
fn kind_schema(types: TypeSet) -> Value {
    let all = [
        (TypeSet::NULL, "null"),
        (TypeSet::BOOLEAN, "boolean"),
        (TypeSet::NUMBER, "number"),
        (TypeSet::STRING, "string"),
        (TypeSet::ARRAY, "array"),
        (TypeSet::OBJECT, "object"),
    ];
    let names: Vec<&str> =
        all.iter().filter(|(kind, _)| !types.intersection(*kind).is_empty()).map(|(_, name)| *name).collect();
    json!({ "type": names })
}

/// Returns the named type inside nullable types and boxes, or `None` for a type that is not named.
fn direct_named_type(ty: &TypeRef) -> Option<TypeId> {
    match ty {
        TypeRef::Named(id) => Some(*id),
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => direct_named_type(inner),
        _ => None,
    }
}

/// Returns the named types in a body that represent the same value as the body.
fn types_at_same_value(body: &TypeBody) -> Vec<TypeId> {
    match body {
        TypeBody::Objects(t) => t.contents().filter_map(|(_, ty)| direct_named_type(ty)).collect(),
        TypeBody::ByKind(v) => v.iter().filter_map(|v| direct_named_type(&v.ty)).collect(),
        TypeBody::Newtype(inner) => direct_named_type(inner).into_iter().collect(),
        TypeBody::Struct(_) | TypeBody::Enum(_) | TypeBody::Pending => Vec::new(),
    }
}

/// Returns all named types that a body contains, at any depth of lists, maps and nullable types.
fn mentioned_types(body: &TypeBody) -> Vec<TypeId> {
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
        TypeBody::Struct(s) => {
            s.fields.iter().map(|f| &f.ty).chain(&s.additional).for_each(|t| add(t, &mut out))
        }
        TypeBody::Objects(t) => t.contents().for_each(|(_, ty)| add(ty, &mut out)),
        TypeBody::ByKind(v) => v.iter().for_each(|v| add(&v.ty, &mut out)),
        TypeBody::Newtype(inner) => add(inner, &mut out),
        TypeBody::Enum(_) | TypeBody::Pending => {}
    }
    out
}
