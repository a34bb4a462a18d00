//! A parser for JSON objects with unique member names: the header, claims and keys of a proof.
//!
//! RFC 7515, 4 and RFC 7519, 4 let a parser reject repeated names or use the last one. Two parsers with
//! different choices would see two proofs in one string, so this parser rejects repeated names at every
//! depth. Values that proofs do not use (arrays, fractions) are parsed but not stored.

use std::{borrow::Cow, cell::Cell, fmt};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

/// The members of an object, in document order.
pub(crate) type JsonMembers<'a> = Vec<(Cow<'a, str>, JsonValue<'a>)>;

/// A JSON value, reduced to the types that proofs and keys use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonValue<'a> {
    Object(JsonMembers<'a>),
    String(Cow<'a, str>),
    /// An integer from 0 to 2⁶⁴ − 1, written without fraction and exponent.
    Integer(u64),
    Bool(bool),
    /// `null`, any other number, or an array.
    Other,
}

/// The reason why the input is not a JSON object with unique names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonObjectError {
    /// The input is not JSON, or a JSON value other than an object.
    Malformed,
    /// An object at some depth has two members with the same name.
    Repeated,
}

/// Parses a JSON object.
pub(crate) fn parse_object(text: &[u8]) -> Result<JsonMembers<'_>, JsonObjectError> {
    let repeated = Cell::new(false);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read = ValueSeed { repeated: &repeated }.deserialize(&mut reader);
    match read.and_then(|value| reader.end().map(|()| value)) {
        Ok(JsonValue::Object(members)) => Ok(members),
        _ if repeated.get() => Err(JsonObjectError::Repeated),
        _ => Err(JsonObjectError::Malformed),
    }
}

/// Returns the member with this name.
pub(crate) fn get_member<'m, 'a>(members: &'m JsonMembers<'a>, name: &str) -> Option<&'m JsonValue<'a>> {
    members.iter().find(|(each, _)| each == name).map(|(_, value)| value)
}

/// Removes and returns the member with this name. Changes the order of the members.
pub(crate) fn take_member<'a>(members: &mut JsonMembers<'a>, name: &str) -> Option<JsonValue<'a>> {
    let at = members.iter().position(|(each, _)| each == name)?;
    Some(members.swap_remove(at).1)
}

/// The deserializer of one value. Sets a flag if the error is a repeated name.
#[derive(Clone, Copy)]
struct ValueSeed<'c> {
    repeated: &'c Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = JsonValue<'de>;

    fn deserialize<D: serde::Deserializer<'de>>(self, input: D) -> Result<Self::Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = JsonValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON with unique member names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Self::Value, A::Error> {
        let mut members = JsonMembers::with_capacity(8);
        while let Some(MemberName(name)) = input.next_key()? {
            members.push((name, input.next_value_seed(self)?));
        }
        if has_unique_names(&members) {
            return Ok(JsonValue::Object(members));
        }
        self.repeated.set(true);
        Err(serde::de::Error::custom("a member is repeated"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Self::Value, A::Error> {
        while input.next_element_seed(self)?.is_some() {}
        Ok(JsonValue::Other)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(JsonValue::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(JsonValue::String(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(JsonValue::Integer(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(JsonValue::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(JsonValue::Other)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(JsonValue::Bool(value))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(JsonValue::Other)
    }
}

/// A member's name, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns true if all names are distinct. Compares every pair of names in a small object, and sorts the
/// names of a large one.
fn has_unique_names(members: &JsonMembers<'_>) -> bool {
    const FEW: usize = 12;
    if members.len() <= FEW {
        return members
            .iter()
            .enumerate()
            .all(|(at, (name, _))| members[..at].iter().all(|(n, _)| n != name));
    }
    let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<&[(&str, JsonValue<'_>)], JsonObjectError>) {
        let expect = expect.map(|list| {
            list.iter().map(|(name, value)| (Cow::from(*name), value.clone())).collect::<Vec<_>>()
        });
        assert_eq!(parse_object(text.as_bytes()), expect, "{text}");
    }

    #[test]
    fn value_kinds() {
        let text = |text: &'static str| JsonValue::String(Cow::from(text));
        check("{}", Ok(&[]));
        check(" {\"a\" : \"b\"}\n", Ok(&[("a", text("b"))]));
        check(r#"{"\u0061":"\u0062"}"#, Ok(&[("a", text("b"))]));
        check(
            r#"{"a":{"b":true}}"#,
            Ok(&[("a", JsonValue::Object(vec![("b".into(), JsonValue::Bool(true))]))]),
        );
        check(
            r#"{"a":0,"b":18446744073709551615}"#,
            Ok(&[("a", JsonValue::Integer(0)), ("b", JsonValue::Integer(u64::MAX))]),
        );
        for other in ["null", "-1", "-0", "1.0", "1e3", "18446744073709551616", "[]", "[1,{\"a\":1}]"] {
            check(&format!("{{\"a\":{other}}}"), Ok(&[("a", JsonValue::Other)]));
        }
    }

    #[test]
    fn non_objects_are_rejected() {
        let deep = "{\"a\":".repeat(200) + "1" + &"}".repeat(200);
        for text in [
            "",
            "null",
            "[]",
            "\"a\"",
            "{",
            "{}x",
            "{} {}",
            "{'a':1}",
            "{\"a\":1,}",
            "\u{feff}{}",
            "{\"a\":NaN}",
        ] {
            check(text, Err(JsonObjectError::Malformed));
        }
        check(&deep, Err(JsonObjectError::Malformed));
        assert_eq!(parse_object(b"{\"a\":\"\xff\"}"), Err(JsonObjectError::Malformed));
        assert_eq!(parse_object(br#"{"a":"\ud800"}"#), Err(JsonObjectError::Malformed));
    }

    #[test]
    fn names_are_unique_at_every_depth() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":1}"#,
            r#"{"b":{"a":1,"a":2}}"#,
            r#"{"b":[[{"a":1,"c":0,"a":2}]]}"#,
        ] {
            check(text, Err(JsonObjectError::Repeated));
        }
        let many = |last: &str| {
            let names: Vec<String> = (0..100).map(|n| format!("\"n{n}\":0")).collect();
            format!("{{{},\"{last}\":0}}", names.join(","))
        };
        assert_eq!(parse_object(many("n50").as_bytes()), Err(JsonObjectError::Repeated));
        assert_eq!(parse_object(many("n100").as_bytes()).map(|members| members.len()), Ok(101));
    }
}
