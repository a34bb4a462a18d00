//! Conversions between [`Json`], `serde_json::Value` and plain values.

use serde_json::Value;

use super::{Json, JsonObject};
use crate::Number;

impl Json {
    /// Converts into a `serde_json::Value`.
    ///
    /// The conversion is lossy. A number is never kept as written. Its value is exact only if it fits into
    /// `i64`, `u64` or `f64`, and outside the range of `f64` it becomes `null`. The order of members depends
    /// on `serde_json`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => number_value(number),
            Self::String(text) => Value::String(text.clone()),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(members) => Value::Object(
                members.iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect(),
            ),
        }
    }
}

fn number_value(number: &Number) -> Value {
    if let Some(value) = number.as_i64() {
        return value.into();
    }
    if let Some(value) = number.as_u64() {
        return value.into();
    }
    serde_json::Number::from_f64(number.to_f64()).map_or(Value::Null, Value::Number)
}

fn from_number(number: &serde_json::Number) -> Json {
    if let Some(value) = number.as_i64() {
        return Json::Number(Number::from_i64(value));
    }
    // A `serde_json` number always prints as a valid JSON number, so parsing cannot fail.
    Number::parse(&number.to_string()).map_or(Json::Null, Json::Number)
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => from_number(&number),
            Value::String(text) => Self::String(text),
            Value::Array(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::Object(members.into_iter().map(|(name, value)| (name, Self::from(value))).collect())
            }
        }
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => from_number(number),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::Object(members.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect())
            }
        }
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<Number> for Json {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Self {
        Self::Array(items)
    }
}

impl From<JsonObject> for Json {
    fn from(members: JsonObject) -> Self {
        Self::Object(members)
    }
}
