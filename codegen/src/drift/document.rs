//! Schemas of a graph as one self-contained JSON document, for the engines of `proof`.

use std::collections::BTreeSet;

use contract_runtime::{Json, Number};
use serde_json::{Map, Value, json};

use crate::schema::{Graph, Schema, SchemaId, Types};

/// More schemas than this are not worth a proof: the engines grow faster than their input.
const LIMIT: usize = 300;

/// Writes documents. `prefix` keeps the definitions of two graphs apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) prefix: char,
}

impl Writer<'_> {
    /// Everything that the schemas say together; `None` when the engines could misread it.
    pub(crate) fn whole(&self, ids: &[SchemaId]) -> Option<Value> {
        let all: Vec<Value> = ids.iter().map(|id| self.link(*id)).collect();
        self.finish(json!({ "allOf": all }), ids)
    }

    /// Only what some keywords of each schema say, references and `allOf` followed before.
    pub(crate) fn only(&self, members: &[SchemaId], keywords: &[&str]) -> Option<Value> {
        let mut all = Vec::new();
        let mut reached = BTreeSet::new();
        for id in members {
            let Value::Object(mut written) = self.schema(*id)? else { continue };
            written.retain(|key, _| keywords.contains(&key.as_str()));
            if !written.is_empty() {
                all.push(Value::Object(written));
                reached.insert(*id);
            }
        }
        if all.is_empty() {
            return Some(json!({}));
        }
        let reached: Vec<SchemaId> = reached.into_iter().collect();
        self.finish(json!({ "allOf": all }), &reached)
    }

    /// Whether a schema has keywords that depend on those beside it.
    pub(crate) fn looks_around(&self, id: SchemaId) -> bool {
        let schema = self.graph.schema(id);
        schema.unevaluated_properties.is_some() || schema.unevaluated_items.is_some()
    }

    fn finish(&self, mut root: Value, ids: &[SchemaId]) -> Option<Value> {
        let mut definitions = Map::new();
        let mut waiting: Vec<SchemaId> = ids.to_vec();
        let mut seen: BTreeSet<SchemaId> = waiting.iter().copied().collect();
        while let Some(id) = waiting.pop() {
            if definitions.len() > LIMIT {
                return None;
            }
            definitions.insert(self.name(id), self.schema(id)?);
            for child in self.graph.schema(id).children() {
                if seen.insert(child) {
                    waiting.push(child);
                }
            }
        }
        let members = root.as_object_mut()?;
        members.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        members.insert("$defs".to_owned(), Value::Object(definitions));
        Some(root)
    }

    fn name(&self, id: SchemaId) -> String {
        format!("{}{}", self.prefix, id.index())
    }

    /// The schema that a definition was written for.
    pub(crate) fn id(&self, name: &str) -> Option<SchemaId> {
        self.graph.schemas.nth(name.strip_prefix(self.prefix)?.parse().ok()?)
    }

    fn address(&self, id: SchemaId) -> String {
        format!("#/$defs/{}", self.name(id))
    }

    fn link(&self, id: SchemaId) -> Value {
        json!({ "$ref": self.address(id) })
    }

    fn links(&self, ids: &[SchemaId]) -> Value {
        ids.iter().map(|id| self.link(*id)).collect()
    }

    fn named(&self, members: &[(String, SchemaId)]) -> Value {
        Value::Object(members.iter().map(|(name, id)| (name.clone(), self.link(*id))).collect())
    }

    /// One schema object, children as references; annotations left out.
    fn schema(&self, id: SchemaId) -> Option<Value> {
        let schema = self.graph.schema(id);
        if let Some(value) = schema.boolean {
            return Some(Value::Bool(value));
        }
        // What it means depends on the path by which it is reached.
        if schema.dynamic_reference.is_some() {
            return None;
        }
        let mut out = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                out.insert(key.to_owned(), value);
            }
        };
        let one = |id: Option<SchemaId>| id.map(|id| self.link(id));
        let many = |ids: &[SchemaId]| (!ids.is_empty()).then(|| self.links(ids));
        let map = |all: &[(String, SchemaId)]| (!all.is_empty()).then(|| self.named(all));
        put("$ref", schema.reference.map(|id| Value::String(self.address(id))));
        put("type", schema.types.map(types));
        for (key, number) in [
            ("minimum", &schema.minimum),
            ("maximum", &schema.maximum),
            ("exclusiveMinimum", &schema.exclusive_minimum),
            ("exclusiveMaximum", &schema.exclusive_maximum),
            ("multipleOf", &schema.multiple_of),
        ] {
            if let Some(number) = number {
                put(key, Some(exact(&Json::Number(number.clone()))?));
            }
        }
        for (key, count) in [
            ("minLength", schema.min_length),
            ("maxLength", schema.max_length),
            ("minItems", schema.min_items),
            ("maxItems", schema.max_items),
            ("minProperties", schema.min_properties),
            ("maxProperties", schema.max_properties),
            ("minContains", schema.contains.as_ref().and_then(|contains| contains.min)),
            ("maxContains", schema.contains.as_ref().and_then(|contains| contains.max)),
        ] {
            put(key, count.map(Value::from));
        }
        if let Some(values) = &schema.enumeration {
            put("enum", Some(Value::Array(values.iter().map(exact).collect::<Option<_>>()?)));
        }
        if let Some(value) = &schema.constant {
            put("const", Some(exact(value)?));
        }
        put("pattern", schema.pattern.clone().map(Value::String));
        put("uniqueItems", schema.unique_items.then_some(Value::Bool(true)));
        put("contains", one(schema.contains.as_ref().map(|contains| contains.schema)));
        put("prefixItems", many(&schema.prefix_items));
        put("items", one(schema.items));
        put("unevaluatedItems", one(schema.unevaluated_items));
        put("properties", map(&schema.properties));
        put("patternProperties", map(&schema.pattern_properties));
        put("additionalProperties", one(schema.additional_properties));
        put("unevaluatedProperties", one(schema.unevaluated_properties));
        put("propertyNames", one(schema.property_names));
        put("required", (!schema.required.is_empty()).then(|| json!(schema.required)));
        let dependent: Map<String, Value> =
            schema.dependent_required.iter().map(|(name, others)| (name.clone(), json!(others))).collect();
        put("dependentRequired", (!dependent.is_empty()).then_some(Value::Object(dependent)));
        put("dependentSchemas", map(&schema.dependent_schemas));
        put("allOf", many(&schema.all_of));
        put("anyOf", many(&schema.any_of));
        put("oneOf", many(&schema.one_of));
        put("not", one(schema.not));
        put("if", one(schema.condition));
        put("then", one(schema.then));
        put("else", one(schema.otherwise));
        Some(Value::Object(out))
    }
}

/// The same document for values of certain types only.
pub(crate) fn typed(mut document: Value, only: Types) -> Value {
    if let Some(members) = document.as_object_mut()
        && only != Types::ALL
    {
        members.insert("type".to_owned(), types(only));
    }
    document
}

fn types(types: Types) -> Value {
    let all = [
        (Types::NULL, "null"),
        (Types::BOOLEAN, "boolean"),
        (Types::NUMBER, "number"),
        (Types::INTEGER, "integer"),
        (Types::STRING, "string"),
        (Types::ARRAY, "array"),
        (Types::OBJECT, "object"),
    ];
    let mut left = types;
    let mut names = Vec::new();
    for (one, name) in all {
        if left.contains(one) {
            names.push(name);
            left = left.without(one);
        }
    }
    json!(names)
}

/// Whether a schema has one of some keywords.
pub(crate) fn says(schema: &Schema, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| match *keyword {
        "type" => schema.types.is_some(),
        "enum" => schema.enumeration.is_some(),
        "const" => schema.constant.is_some(),
        "minimum" => schema.minimum.is_some(),
        "maximum" => schema.maximum.is_some(),
        "exclusiveMinimum" => schema.exclusive_minimum.is_some(),
        "exclusiveMaximum" => schema.exclusive_maximum.is_some(),
        "multipleOf" => schema.multiple_of.is_some(),
        "minLength" => schema.min_length.is_some(),
        "maxLength" => schema.max_length.is_some(),
        "pattern" => schema.pattern.is_some(),
        "minItems" => schema.min_items.is_some(),
        "maxItems" => schema.max_items.is_some(),
        "uniqueItems" => schema.unique_items,
        "contains" => schema.contains.is_some(),
        "minProperties" => schema.min_properties.is_some(),
        "maxProperties" => schema.max_properties.is_some(),
        "additionalProperties" => schema.additional_properties.is_some(),
        "unevaluatedProperties" => schema.unevaluated_properties.is_some(),
        "unevaluatedItems" => schema.unevaluated_items.is_some(),
        "dependentRequired" => !schema.dependent_required.is_empty(),
        "dependentSchemas" => !schema.dependent_schemas.is_empty(),
        "anyOf" => !schema.any_of.is_empty(),
        "oneOf" => !schema.one_of.is_empty(),
        "not" => schema.not.is_some(),
        "if" => schema.condition.is_some(),
        _ => false,
    })
}

/// The value for `serde_json`, `None` when a number would become another one.
pub(crate) fn exact(value: &Json) -> Option<Value> {
    match value {
        Json::Number(number) => {
            let written = value.to_value();
            (Number::parse(&written.to_string()).ok()? == *number).then_some(written)
        }
        Json::Array(items) => items.iter().map(exact).collect::<Option<_>>().map(Value::Array),
        Json::Object(members) => {
            let members = members.iter().map(|(name, member)| Some((name.to_owned(), exact(member)?)));
            members.collect::<Option<_>>().map(Value::Object)
        }
        plain => Some(plain.to_value()),
    }
}
