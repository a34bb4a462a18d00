//! Predicts serde's behavior for a type without compiling it: whether the type accepts a value, and which
//! value it serializes. The rules are those of serde's derived implementations and of `serde_json`.

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::types::{Absent, Declared, Field, Holds, Record, Rule, Tagging, Type, Types, Variant};

/// Maximum number of types nested at the same JSON value.
const NESTED: u8 = 60;

impl Types {
    /// Returns the value after deserialization and serialization; `None` if the type rejects it.
    pub(super) fn round(&self, name: &str, value: &Value) -> Option<Value> {
        self.declared(name, value, NESTED)
    }

    fn declared(&self, name: &str, value: &Value, left: u8) -> Option<Value> {
        let left = left.checked_sub(1)?;
        match self.get(name)? {
            Declared::Record(record) => self.record(record, value, left),
            Declared::Newtype(inner, rules) => {
                self.read(inner, value, left).filter(|value| rules.iter().all(|rule| rule.passes(value)))
            }
            Declared::Enum(tagging, variants) => self.choice(tagging, variants, value, left),
        }
    }

    fn read(&self, ty: &Type, value: &Value, left: u8) -> Option<Value> {
        let inside = |ty: &Type, value: &Value| self.read(ty, value, NESTED);
        match (ty, value) {
            (Type::Json, _)
            | (Type::Bool, Value::Bool(_))
            | (Type::Text, Value::String(_))
            | (Type::Unit, Value::Null)
            | (Type::Option(_), Value::Null) => Some(value.clone()),
            (Type::Int(least, most), Value::Number(number)) => {
                let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))?;
                (*least..=*most).contains(&whole).then(|| value.clone())
            }
            (Type::Float, Value::Number(number)) => number.as_f64().map(Value::from),
            (Type::Formatted(format), Value::String(text)) => format.is_match(text).then(|| value.clone()),
            (Type::Address, Value::String(text)) => text.parse::<IpAddr>().is_ok().then(|| value.clone()),
            (Type::Option(inner), _) => self.read(inner, value, left),
            (Type::List(inner), Value::Array(items)) => {
                items.iter().map(|item| inside(inner, item)).collect::<Option<_>>().map(Value::Array)
            }
            (Type::Array(inner, count), Value::Array(items)) if items.len() == *count => {
                items.iter().map(|item| inside(inner, item)).collect::<Option<_>>().map(Value::Array)
            }
            (Type::Tuple(types), Value::Array(items)) if items.len() == types.len() => {
                let each = types.iter().zip(items).map(|(ty, item)| inside(ty, item));
                each.collect::<Option<_>>().map(Value::Array)
            }
            (Type::Map(key, inner), Value::Object(members)) => {
                let member = |(name, value): (&String, &Value)| {
                    inside(key, &Value::String(name.clone()))?;
                    Some((name.clone(), inside(inner, value)?))
                };
                members.iter().map(member).collect::<Option<_>>().map(Value::Object)
            }
            (Type::Named(name), _) => self.declared(name, value, left),
            _ => None,
        }
    }

    fn record(&self, record: &Record, value: &Value, left: u8) -> Option<Value> {
        let rest = record.fields.iter().find(|field| field.rest);
        match value {
            Value::Object(members) => self.members(record, rest, members, left),
            // Derived structs also deserialize from arrays.
            Value::Array(items) if rest.is_none() && items.len() <= record.fields.len() => {
                let members = record.fields.iter().zip(items);
                let members = members.map(|(field, item)| (field.wire.clone(), item.clone())).collect();
                let missing = record.fields.iter().skip(items.len());
                // Unlike an absent property, an absent array element does not become `None`.
                let filled =
                    missing.clone().all(|field| !matches!(field.absent, Absent::Refused | Absent::Null));
                if filled { self.members(record, None, &members, left) } else { None }
            }
            _ => None,
        }
    }

    fn members(
        &self,
        record: &Record,
        rest: Option<&Field>,
        members: &Map<String, Value>,
        left: u8,
    ) -> Option<Value> {
        let mut out = Map::new();
        for field in record.fields.iter().filter(|field| !field.rest) {
            let value = match (members.get(&field.wire), field.absent) {
                (Some(value), _) => self.read(&field.ty, value, NESTED)?,
                (None, Absent::Refused) => return None,
                (None, Absent::Empty | Absent::Null) => self.empty(&field.ty),
                // The value itself is irrelevant, so any value will do.
                (None, Absent::Given) => {
                    out.insert(field.wire.clone(), Value::Bool(true));
                    continue;
                }
            };
            if !(field.skips_empty && is_empty(&field.ty, &value)) {
                out.insert(field.wire.clone(), value);
            }
        }
        let known = |name: &String| record.fields.iter().any(|field| !field.rest && field.wire == *name);
        let mut others = members.iter().filter(|(name, _)| !known(name));
        match rest {
            None if record.closed && others.next().is_some() => None,
            None => Some(Value::Object(out)),
            Some(field) => {
                let others = others.map(|(name, value)| (name.clone(), value.clone())).collect();
                let Value::Object(more) = self.read(&field.ty, &Value::Object(others), left)? else {
                    return None;
                };
                out.extend(more);
                Some(Value::Object(out))
            }
        }
    }

    /// Returns the `Default` value of a type.
    fn empty(&self, ty: &Type) -> Value {
        match ty {
            Type::List(_) => Value::Array(Vec::new()),
            Type::Map(..) => Value::Object(Map::new()),
            Type::Bool => Value::Bool(false),
            Type::Text => Value::String(String::new()),
            Type::Int(..) => Value::from(0),
            Type::Float => Value::from(0.0),
            _ => Value::Null,
        }
    }

    fn choice(&self, tagging: &Tagging, variants: &[Variant], value: &Value, left: u8) -> Option<Value> {
        let named = |name: &str| variants.iter().find(|variant| variant.wire == name);
        match tagging {
            Tagging::Untagged => variants.iter().find_map(|variant| self.held(&variant.holds, value, left)),
            Tagging::External => match value {
                Value::String(name) => matches!(named(name)?.holds, Holds::Nothing).then(|| value.clone()),
                Value::Object(members) if members.len() == 1 => {
                    let (name, inner) = members.iter().next()?;
                    let holds = &named(name)?.holds;
                    let inner = self.held(holds, inner, left)?;
                    if matches!(holds, Holds::Nothing) {
                        return Some(Value::String(name.clone()));
                    }
                    Some(Value::Object(Map::from_iter([(name.clone(), inner)])))
                }
                _ => None,
            },
            Tagging::Internal(tag) => {
                let mut members = value.as_object()?.clone();
                let name = members.remove(tag)?;
                let variant = named(name.as_str()?)?;
                let inner = match &variant.holds {
                    Holds::Nothing => Value::Object(Map::new()),
                    holds => self.held(holds, &Value::Object(members), left)?,
                };
                let mut out = Map::from_iter([(tag.clone(), name)]);
                out.extend(inner.as_object()?.clone());
                Some(Value::Object(out))
            }
            Tagging::Adjacent(tag, content) => {
                let members = value.as_object()?;
                let name = members.get(tag)?;
                let mut out = Map::from_iter([(tag.clone(), name.clone())]);
                match (&named(name.as_str()?)?.holds, members.get(content)) {
                    (Holds::Nothing, None | Some(Value::Null)) => {}
                    (holds, Some(inner)) => {
                        out.insert(content.clone(), self.held(holds, inner, left)?);
                    }
                    (_, None) => return None,
                }
                Some(Value::Object(out))
            }
        }
    }

    fn held(&self, holds: &Holds, value: &Value, left: u8) -> Option<Value> {
        match holds {
            Holds::Nothing => value.is_null().then_some(Value::Null),
            Holds::One(ty) => self.read(ty, value, left),
            Holds::Several(types) => {
                let items = value.as_array().filter(|items| items.len() == types.len())?;
                let each = types.iter().zip(items).map(|(ty, item)| self.read(ty, item, NESTED));
                each.collect::<Option<_>>().map(Value::Array)
            }
            Holds::Record(record) => self.record(record, value, left),
        }
    }
}

impl Rule {
    fn passes(&self, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        match self {
            Self::Longest(most) => text.chars().count() <= *most,
            Self::Shortest(least) => text.chars().count() >= *least,
            Self::Pattern(pattern) => pattern.find(text).is_some(),
            Self::Listed(values) => values.contains(value),
            Self::Excluded(values) => !values.contains(value),
        }
    }
}

/// Returns true for the values that `skip_serializing_if` skips: `None`, an empty list, an empty map.
fn is_empty(ty: &Type, value: &Value) -> bool {
    match (ty, value) {
        (Type::Option(_), value) => value.is_null(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(members)) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use serde_json::{Value, json};

    use super::super::{process::Engines, types::Types};

    /// The types of the same schemas, compiled.
    #[allow(warnings, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
    mod compiled {
        typify::import_types!("src/sample.json");
    }

    /// Predicted results equal those of the compiled types.
    #[test]
    fn values_fare_as_with_the_compiled_types() {
        let sample: Value = serde_json::from_str(include_str!("sample.json")).unwrap();
        let made = Engines::here().typify(sample).unwrap();
        let types = Types::of(&made.code).unwrap();
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
            let compiled = compiled.map(|held| serde_json::to_value(held).unwrap());
            assert_eq!(types.round("Everything", &value), compiled, "{value}");
        }
    }
}
