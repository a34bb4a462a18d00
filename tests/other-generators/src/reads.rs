//! Predicts serde's behavior for a type without compiling it: whether the type accepts a value, and which
//! value it serializes. The rules are those of serde's derived implementations and of `serde_json`.

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::types::{
    AbsentField, EnumTagging, EnumVariant, FieldType, RecordField, RecordType, TypeDeclaration, TypeModel,
    ValueCheck, VariantContent,
};

/// The maximum number of types nested at the same JSON value.
const MAX_NESTING: u8 = 60;

impl TypeModel {
    /// Returns the value after deserialization and serialization; `None` if the type rejects it.
    pub(super) fn round_trip(&self, name: &str, value: &Value) -> Option<Value> {
        self.round_trip_declaration(name, value, MAX_NESTING)
    }

    fn round_trip_declaration(&self, name: &str, value: &Value, depth_left: u8) -> Option<Value> {
        let depth_left = depth_left.checked_sub(1)?;
        match self.get(name)? {
            TypeDeclaration::Record(record) => self.round_trip_record(record, value, depth_left),
            TypeDeclaration::Newtype(inner, checks) => self
                .round_trip_type(inner, value, depth_left)
                .filter(|value| checks.iter().all(|check| check.accepts(value))),
            TypeDeclaration::Enum(tagging, variants) => {
                self.round_trip_enum(tagging, variants, value, depth_left)
            }
        }
    }

    fn round_trip_type(&self, ty: &FieldType, value: &Value, depth_left: u8) -> Option<Value> {
        let nested = |ty: &FieldType, value: &Value| self.round_trip_type(ty, value, MAX_NESTING);
        match (ty, value) {
            (FieldType::Json, _)
            | (FieldType::Bool, Value::Bool(_))
            | (FieldType::String, Value::String(_))
            | (FieldType::Unit, Value::Null)
            | (FieldType::Option(_), Value::Null) => Some(value.clone()),
            (FieldType::Int(min, max), Value::Number(number)) => {
                let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))?;
                (*min..=*max).contains(&integer).then(|| value.clone())
            }
            (FieldType::Float, Value::Number(number)) => number.as_f64().map(Value::from),
            (FieldType::Formatted(format), Value::String(text)) => {
                format.is_match(text).then(|| value.clone())
            }
            (FieldType::Address, Value::String(text)) => {
                text.parse::<IpAddr>().is_ok().then(|| value.clone())
            }
            (FieldType::Option(inner), _) => self.round_trip_type(inner, value, depth_left),
            (FieldType::List(inner), Value::Array(items)) => {
                items.iter().map(|item| nested(inner, item)).collect::<Option<_>>().map(Value::Array)
            }
            (FieldType::Array(inner, count), Value::Array(items)) if items.len() == *count => {
                items.iter().map(|item| nested(inner, item)).collect::<Option<_>>().map(Value::Array)
            }
            (FieldType::Tuple(types), Value::Array(items)) if items.len() == types.len() => {
                let elements = types.iter().zip(items).map(|(ty, item)| nested(ty, item));
                elements.collect::<Option<_>>().map(Value::Array)
            }
            (FieldType::Map(key, inner), Value::Object(members)) => {
                let member = |(name, value): (&String, &Value)| {
                    nested(key, &Value::String(name.clone()))?;
                    Some((name.clone(), nested(inner, value)?))
                };
                members.iter().map(member).collect::<Option<_>>().map(Value::Object)
            }
            (FieldType::Named(name), _) => self.round_trip_declaration(name, value, depth_left),
            _ => None,
        }
    }

    fn round_trip_record(&self, record: &RecordType, value: &Value, depth_left: u8) -> Option<Value> {
        let rest = record.fields.iter().find(|field| field.rest);
        match value {
            Value::Object(members) => self.round_trip_fields(record, rest, members, depth_left),
            // Derived structs also deserialize from arrays.
            Value::Array(items) if rest.is_none() && items.len() <= record.fields.len() => {
                let members = record.fields.iter().zip(items);
                let members = members.map(|(field, item)| (field.wire.clone(), item.clone())).collect();
                let missing = record.fields.iter().skip(items.len());
                // Unlike an absent property, an absent array element does not become `None`.
                let may_be_absent = missing
                    .clone()
                    .all(|field| !matches!(field.absent, AbsentField::Rejected | AbsentField::Null));
                if may_be_absent { self.round_trip_fields(record, None, &members, depth_left) } else { None }
            }
            _ => None,
        }
    }

    fn round_trip_fields(
        &self,
        record: &RecordType,
        rest: Option<&RecordField>,
        members: &Map<String, Value>,
        depth_left: u8,
    ) -> Option<Value> {
        let mut out = Map::new();
        for field in record.fields.iter().filter(|field| !field.rest) {
            let value = match (members.get(&field.wire), field.absent) {
                (Some(value), _) => self.round_trip_type(&field.ty, value, MAX_NESTING)?,
                (None, AbsentField::Rejected) => return None,
                (None, AbsentField::Empty | AbsentField::Null) => self.default_value(&field.ty),
                // Only the presence of the default is tested, so any value stands for it.
                (None, AbsentField::DefaultValue) => {
                    out.insert(field.wire.clone(), Value::Bool(true));
                    continue;
                }
            };
            if !(field.skips_empty && is_empty(&field.ty, &value)) {
                out.insert(field.wire.clone(), value);
            }
        }
        let is_declared =
            |name: &String| record.fields.iter().any(|field| !field.rest && field.wire == *name);
        let mut others = members.iter().filter(|(name, _)| !is_declared(name));
        match rest {
            None if record.closed && others.next().is_some() => None,
            None => Some(Value::Object(out)),
            Some(field) => {
                let others = others.map(|(name, value)| (name.clone(), value.clone())).collect();
                let Value::Object(rest_members) =
                    self.round_trip_type(&field.ty, &Value::Object(others), depth_left)?
                else {
                    return None;
                };
                out.extend(rest_members);
                Some(Value::Object(out))
            }
        }
    }

    /// Returns the `Default` value of a type.
    fn default_value(&self, ty: &FieldType) -> Value {
        match ty {
            FieldType::List(_) => Value::Array(Vec::new()),
            FieldType::Map(..) => Value::Object(Map::new()),
            FieldType::Bool => Value::Bool(false),
            FieldType::String => Value::String(String::new()),
            FieldType::Int(..) => Value::from(0),
            FieldType::Float => Value::from(0.0),
            _ => Value::Null,
        }
    }

    fn round_trip_enum(
        &self,
        tagging: &EnumTagging,
        variants: &[EnumVariant],
        value: &Value,
        depth_left: u8,
    ) -> Option<Value> {
        let find_variant = |name: &str| variants.iter().find(|variant| variant.wire == name);
        match tagging {
            EnumTagging::Untagged => variants
                .iter()
                .find_map(|variant| self.round_trip_content(&variant.content, value, depth_left)),
            EnumTagging::External => match value {
                Value::String(name) => {
                    matches!(find_variant(name)?.content, VariantContent::Unit).then(|| value.clone())
                }
                Value::Object(members) if members.len() == 1 => {
                    let (name, inner) = members.iter().next()?;
                    let content = &find_variant(name)?.content;
                    let inner = self.round_trip_content(content, inner, depth_left)?;
                    if matches!(content, VariantContent::Unit) {
                        return Some(Value::String(name.clone()));
                    }
                    Some(Value::Object(Map::from_iter([(name.clone(), inner)])))
                }
                _ => None,
            },
            EnumTagging::Internal(tag) => {
                let mut members = value.as_object()?.clone();
                let name = members.remove(tag)?;
                let variant = find_variant(name.as_str()?)?;
                let inner = match &variant.content {
                    VariantContent::Unit => Value::Object(Map::new()),
                    content => self.round_trip_content(content, &Value::Object(members), depth_left)?,
                };
                let mut out = Map::from_iter([(tag.clone(), name)]);
                out.extend(inner.as_object()?.clone());
                Some(Value::Object(out))
            }
            EnumTagging::Adjacent(tag, content_key) => {
                let members = value.as_object()?;
                let name = members.get(tag)?;
                let mut out = Map::from_iter([(tag.clone(), name.clone())]);
                match (&find_variant(name.as_str()?)?.content, members.get(content_key)) {
                    (VariantContent::Unit, None | Some(Value::Null)) => {}
                    (content, Some(inner)) => {
                        out.insert(content_key.clone(), self.round_trip_content(content, inner, depth_left)?);
                    }
                    (_, None) => return None,
                }
                Some(Value::Object(out))
            }
        }
    }

    fn round_trip_content(&self, content: &VariantContent, value: &Value, depth_left: u8) -> Option<Value> {
        match content {
            VariantContent::Unit => value.is_null().then_some(Value::Null),
            VariantContent::Single(ty) => self.round_trip_type(ty, value, depth_left),
            VariantContent::Tuple(types) => {
                let items = value.as_array().filter(|items| items.len() == types.len())?;
                let elements =
                    types.iter().zip(items).map(|(ty, item)| self.round_trip_type(ty, item, MAX_NESTING));
                elements.collect::<Option<_>>().map(Value::Array)
            }
            VariantContent::Record(record) => self.round_trip_record(record, value, depth_left),
        }
    }
}

impl ValueCheck {
    fn accepts(&self, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        match self {
            Self::MaxLength(max) => text.chars().count() <= *max,
            Self::MinLength(min) => text.chars().count() >= *min,
            Self::Pattern(pattern) => pattern.find(text).is_some(),
            Self::AllowedValues(values) => values.contains(value),
            Self::ForbiddenValues(values) => !values.contains(value),
        }
    }
}

/// Returns true for the values that `skip_serializing_if` skips: `None`, an empty list, an empty map.
fn is_empty(ty: &FieldType, value: &Value) -> bool {
    match (ty, value) {
        (FieldType::Option(_), value) => value.is_null(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(members)) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a test failure")]
mod tests {
    use serde_json::{Value, json};

    use super::super::{process::GeneratorRunner, types::TypeModel};

    /// The compiled types of the same schemas.
    #[allow(warnings, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
    mod compiled {
        typify::import_types!("src/sample.json");
    }

    #[test]
    fn predictions_equal_the_compiled_types() {
        let sample: Value = serde_json::from_str(include_str!("sample.json")).unwrap();
        let generated = GeneratorRunner::in_process().run_typify(sample).unwrap();
        let types = TypeModel::parse(&generated.code).unwrap();
        let base = json!({ "name": "abc", "count": 1, "open": true });
        let mut values = vec![
            base.clone(),
            json!([]),
            json!(null),
            json!(["abc", 1]),
            json!({ "name": "abc", "count": 2 }),
        ];
        for (name, members) in [
            ("name", json!(["a", "äöüßé", "abcdef", 1, null])),
            ("code", json!(["AB", "ab", "", null])),
            ("count", json!([0, -1, 1.0, 1.5, 18446744073709551615u64, 1e30, "1"])),
            ("small", json!([0, 2147483647, 2147483648i64, -2147483649i64])),
            ("price", json!([1, 0.5, -3e20, "1"])),
            ("open", json!([false, null])),
            ("state", json!(["on", "ON", 1, { "on": null }, { "on": 1 }])),
            ("level", json!([1, 3, "1"])),
            ("tags", json!([[], ["a"], [1], "a", null])),
            ("words", json!([{}, { "a": 1 }, { "a": "b" }, []])),
            ("note", json!([null, "a", 1])),
            (
                "fare",
                json!([{ "kind": "full", "cents": 1 }, { "kind": "full" }, { "kind": "free", "x": 1 }, { "kind": "none" }, {}, "free"]),
            ),
            ("either", json!(["a", [1, 2], [1, "a"], {}, { "a": "b" }, { "b": 1 }, null, 3])),
            ("closed", json!([{}, { "a": "b" }, { "a": null }, { "b": 1 }, ["b"], []])),
            ("more", json!([{}, { "a": "b" }, { "a": "b", "c": true }, { "a": "b", "c": 1 }])),
            ("pair", json!([["a", 1], ["a"], ["a", 1, 2], [1, "a"]])),
            ("any", json!([null, 1, { "a": [] }])),
            ("undeclared", json!([1])),
        ] {
            for member in members.as_array().unwrap() {
                let mut value = base.clone();
                value[name] = member.clone();
                values.push(value);
            }
        }
        for value in values {
            let compiled = serde_json::from_value::<compiled::Everything>(value.clone()).ok();
            let compiled = compiled.map(|typed| serde_json::to_value(typed).unwrap());
            assert_eq!(types.round_trip("Everything", &value), compiled, "{value}");
        }
    }
}
