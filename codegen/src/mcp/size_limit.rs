//! Limits the size of input schemas. Clients load the schemas of all tools into the context of a model, and bodies of
//! some contracts refer to hundreds of schemas.
//!
//! The entry point is [`limit_size`]. It replaces the schemas below some depth by their type and description.
//! Invariant: the result accepts every value that the original schema accepts. Requests are validated against the
//! contract before they are sent.

use std::collections::{BTreeMap, VecDeque};

use contract_codegen_core::{load::uri, tree::unescape_token};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// The maximum size of an input schema in bytes.
pub(super) const MAX_INPUT_SCHEMA: usize = 32 << 10;
/// The depths of properties and items that are tried, from the largest.
const DEPTHS: [usize; 9] = [12, 10, 8, 6, 5, 4, 3, 2, 1];
/// The size in bytes up to which a schema is not worth replacing.
const MIN_CUT_SIZE: usize = 160;
/// The sentence in the description of each replaced schema.
const CUT_NOTE: &str = "The parts of this value are omitted here to limit the size of the schema; a request with an \
                        invalid value is rejected with the violations.";

/// Keywords whose value is a schema of a part of the value.
const PART: [&str; 2] = ["items", "additionalProperties"];
/// Keywords whose value is an object of schemas of parts of the value.
const PARTS: [&str; 2] = ["properties", "patternProperties"];
/// Keywords whose value is an array of schemas of the same value.
const BRANCHES: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const DEFINITIONS: &str = "$defs";

/// Replaces the deepest parts of a schema if it is larger than [`MAX_INPUT_SCHEMA`].
pub(super) fn limit_size(schema: JsonObject) -> JsonObject {
    let whole = Value::Object(schema);
    if size_of(&whole) <= MAX_INPUT_SCHEMA {
        return into_object(whole);
    }
    let cut = DEPTHS.iter().map(|depth| cut_below(&whole, *depth));
    let mut smallest = None;
    for cut in cut {
        if size_of(&cut) <= MAX_INPUT_SCHEMA {
            return into_object(cut);
        }
        smallest = Some(cut);
    }
    into_object(smallest.unwrap_or(whole))
}

fn into_object(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}

fn size_of(value: &Value) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len())
}

/// Returns the schema without the parts below `depth`. The depth of a definition is that of its first reference.
fn cut_below(whole: &Value, depth: usize) -> Value {
    let definitions_of_whole = whole.get(DEFINITIONS);
    let mut cutter =
        DepthCutter { definitions: definitions_of_whole, queue: VecDeque::new(), depths: BTreeMap::new() };
    let mut document = cutter.cut(whole, depth);
    let mut definitions = JsonObject::new();
    while let Some((name, left)) = cutter.queue.pop_front() {
        if let Some(definition) = definitions_of_whole.and_then(|all| all.get(&name)) {
            let cut = cutter.cut(definition, left);
            definitions.insert(name, cut);
        }
    }
    if let Value::Object(members) = &mut document {
        members.remove(DEFINITIONS);
        if !definitions.is_empty() {
            members.insert(DEFINITIONS.to_owned(), Value::Object(definitions));
        }
    }
    document
}

struct DepthCutter<'w> {
    /// The definitions of the whole schema.
    definitions: Option<&'w Value>,
    /// The names of the definitions to write, each with its remaining depth.
    queue: VecDeque<(String, usize)>,
    /// The largest remaining depth of each definition so far.
    depths: BTreeMap<String, usize>,
}

impl DepthCutter<'_> {
    /// Returns a copy of a schema in which the parts below `left` levels are replaced.
    fn cut(&mut self, schema: &Value, left: usize) -> Value {
        let Value::Object(members) = schema else { return schema.clone() };
        let mut out = JsonObject::new();
        for (key, value) in members {
            let copy = match (key.as_str(), value) {
                (DEFINITIONS, _) => continue,
                ("$ref", Value::String(target)) => {
                    if let Some(name) = definition_name(target) {
                        self.request(&name, left);
                    }
                    value.clone()
                }
                // Replaced branches evaluate fewer properties and items, so that these keywords would reject more values.
                ("unevaluatedProperties" | "unevaluatedItems", _) => continue,
                (key, _) if PART.contains(&key) => self.cut_part(value, left),
                (key, Value::Object(parts)) if PARTS.contains(&key) => {
                    let parts = parts.iter().map(|(name, part)| (name.clone(), self.cut_part(part, left)));
                    Value::Object(parts.collect())
                }
                ("prefixItems", Value::Array(parts)) => {
                    Value::Array(parts.iter().map(|part| self.cut_part(part, left)).collect())
                }
                (key, Value::Array(branches)) if BRANCHES.contains(&key) => {
                    let cut: Vec<Value> = branches.iter().map(|branch| self.cut(branch, left)).collect();
                    if key == "oneOf" {
                        // Several branches may accept a value after their parts were replaced.
                        out.entry("anyOf").or_insert(Value::Array(cut));
                        continue;
                    }
                    Value::Array(cut)
                }
                (
                    "not" | "if" | "then" | "else" | "contains" | "propertyNames" | "dependentSchemas"
                    | "contentSchema",
                    _,
                ) => {
                    // A wider schema in `not` would reject more values, so these keywords are dropped if they contain
                    // references, whose targets may be replaced.
                    if contains_reference(value) {
                        continue;
                    }
                    value.clone()
                }
                _ => value.clone(),
            };
            out.insert(key.clone(), copy);
        }
        Value::Object(out)
    }

    /// Returns a part of a value at the next level, or its replacement.
    fn cut_part(&mut self, part: &Value, left: usize) -> Value {
        match left.checked_sub(1) {
            Some(left) => self.cut(part, left),
            None if size_of(part) <= MIN_CUT_SIZE && !contains_reference(part) => part.clone(),
            None => self.replacement(part),
        }
    }

    /// Returns a schema with the type and the description of another one, or of the target of its reference.
    fn replacement(&self, schema: &Value) -> Value {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(definition_name);
        let target = target.and_then(|name| self.definitions?.get(&name));
        let find = |key: &str| schema.get(key).or_else(|| target?.get(key));
        let description = find("description").and_then(Value::as_str);
        let text = description.map_or_else(|| CUT_NOTE.to_owned(), |text| format!("{text}\n\n{CUT_NOTE}"));
        let mut out = json!({ "description": text });
        if let Some(types) = find("type") {
            out["type"] = types.clone();
        }
        out
    }

    /// Requests a definition with at least this remaining depth.
    fn request(&mut self, name: &str, left: usize) {
        let is_new = self.depths.get(name).is_none_or(|known| *known < left);
        if is_new {
            self.depths.insert(name.to_owned(), left);
            self.queue.push_back((name.to_owned(), left));
        }
    }
}

fn contains_reference(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(key, value)| key == "$ref" || contains_reference(value))
        }
        Value::Array(elements) => elements.iter().any(contains_reference),
        _ => false,
    }
}

/// Returns the name of the definition to which a `$ref` refers.
fn definition_name(reference: &str) -> Option<String> {
    let token = uri::percent_decode(reference.strip_prefix("#/$defs/")?)?;
    Some(unescape_token(&token).into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic on failure")]

    use super::*;

    /// Returns a schema of nested definitions, each with so many properties.
    fn nested(levels: usize, properties: usize) -> JsonObject {
        let definition = |level: usize| {
            let scalar =
                |at: usize| (format!("text{at}"), json!({ "type": "string", "description": "A text." }));
            let mut members: JsonObject = (0..properties).map(scalar).collect();
            if level + 1 < levels {
                members
                    .insert("next".to_owned(), json!({ "$ref": format!("#/$defs/~1level%20{}", level + 1) }));
            }
            let schema = json!({ "type": "object", "description": "A level.", "properties": members,
                "additionalProperties": false, "unevaluatedProperties": false });
            (format!("/level {level}"), schema)
        };
        let definitions: JsonObject = (0..levels).map(definition).collect();
        let whole = json!({ "type": "object", "required": ["body"], "additionalProperties": false,
            "properties": { "body": { "oneOf": [{ "$ref": "#/$defs/~1level%200" }, { "type": "null" }] } },
            "$defs": definitions });
        into_object(whole)
    }

    /// A schema within the limit stays as it is. The deepest parts of a larger one are replaced, and all references
    /// have a target.
    #[test]
    fn deepest_parts_are_replaced() {
        let small = nested(3, 10);
        assert_eq!(limit_size(small.clone()), small);
        let large = nested(9, 100);
        let size = size_of(&Value::Object(large.clone()));
        let cut = Value::Object(limit_size(large));
        assert!(size > MAX_INPUT_SCHEMA && size_of(&cut) <= MAX_INPUT_SCHEMA, "{size} {}", size_of(&cut));
        let definitions = cut["$defs"].as_object().unwrap();
        assert!(definitions.len() > 1 && definitions.len() < 9, "{}", definitions.len());
        let last = &definitions[&format!("/level {}", definitions.len() - 1)]["properties"];
        assert_eq!((&last["next"]["type"], &last["text0"]["type"]), (&json!("object"), &json!("string")));
        assert_eq!(last["next"]["description"], format!("A level.\n\n{CUT_NOTE}"));
        assert_eq!(cut["required"], json!(["body"]));
    }

    /// Every value that the whole schema accepts is valid, so branches may overlap and unevaluated properties are
    /// permitted.
    #[test]
    fn replacements_only_widen() {
        let cut = Value::Object(limit_size(nested(9, 100))).to_string();
        assert!(
            !cut.contains("unevaluatedProperties") && !cut.contains("oneOf") && cut.contains("anyOf"),
            "{cut}"
        );
        let reference = json!({ "$ref": "#/$defs/a" });
        let schema = json!({ "not": reference, "if": reference, "properties": { "a": { "not": { "type": "null" } } } });
        let cut = cut_below(&schema, 4);
        assert_eq!(cut, json!({ "properties": { "a": { "not": { "type": "null" } } } }));
    }
}
