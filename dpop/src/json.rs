//! JSON objects whose members are unique: header, claims and keys of a proof.
//!
//! RFC 7515, 4 and RFC 7519, 4 let a reader refuse repeated names or take the last. Two readers that
//! choose differently see two proofs in one text, so here they are refused, at every depth. Of what
//! nobody here asks for (lists, fractions), only the kind is kept.

use std::{borrow::Cow, cell::Cell, fmt};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

/// The members of an object, in their order.
pub(crate) type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// A value, as far as proofs and keys need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json<'a> {
    Object(Members<'a>),
    Text(Cow<'a, str>),
    /// A whole number from 0 to 2⁶⁴ − 1, written without fraction and exponent.
    Whole(u64),
    Bool(bool),
    /// `null`, any other number, a list.
    Other,
}

/// Why a text is no such object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAnObject {
    /// No JSON, or JSON of another kind.
    Malformed,
    /// An object, somewhere, has two members of one name.
    Repeated,
}

/// Reads an object.
pub(crate) fn object(text: &[u8]) -> Result<Members<'_>, NotAnObject> {
    let repeated = Cell::new(false);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read = Reader { repeated: &repeated }.deserialize(&mut reader);
    match read.and_then(|value| reader.end().map(|()| value)) {
        Ok(Json::Object(members)) => Ok(members),
        _ if repeated.get() => Err(NotAnObject::Repeated),
        _ => Err(NotAnObject::Malformed),
    }
}

/// The member of this name.
pub(crate) fn member<'m, 'a>(members: &'m Members<'a>, name: &str) -> Option<&'m Json<'a>> {
    members.iter().find(|(each, _)| each == name).map(|(_, value)| value)
}

/// The member of this name, taken out of the object.
pub(crate) fn take<'a>(members: &mut Members<'a>, name: &str) -> Option<Json<'a>> {
    let at = members.iter().position(|(each, _)| each == name)?;
    Some(members.swap_remove(at).1)
}

/// Reads one value; says beside the error whether it was a repeated name.
#[derive(Clone, Copy)]
struct Reader<'c> {
    repeated: &'c Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Json<'de>;

    fn deserialize<D: serde::Deserializer<'de>>(self, input: D) -> Result<Self::Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON with unique member names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Self::Value, A::Error> {
        let mut members = Members::with_capacity(8);
        while let Some(Name(name)) = input.next_key()? {
            members.push((name, input.next_value_seed(self)?));
        }
        if unique(&members) {
            return Ok(Json::Object(members));
        }
        self.repeated.set(true);
        Err(serde::de::Error::custom("a member is repeated"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Self::Value, A::Error> {
        while input.next_element_seed(self)?.is_some() {}
        Ok(Json::Other)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Json::Whole(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Json::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Json::Other)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(value))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Other)
    }
}

/// A member's name, borrowed where it is written without escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Compares each with each where they are few, and sorted neighbours where somebody sent many.
fn unique(members: &Members<'_>) -> bool {
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

    fn check(text: &str, expect: Result<&[(&str, Json<'_>)], NotAnObject>) {
        let expect = expect.map(|list| {
            list.iter().map(|(name, value)| (Cow::from(*name), value.clone())).collect::<Vec<_>>()
        });
        assert_eq!(object(text.as_bytes()), expect, "{text}");
    }

    #[test]
    fn kinds_of_values() {
        let text = |text: &'static str| Json::Text(Cow::from(text));
        check("{}", Ok(&[]));
        check(" {\"a\" : \"b\"}\n", Ok(&[("a", text("b"))]));
        check(r#"{"\u0061":"\u0062"}"#, Ok(&[("a", text("b"))]));
        check(r#"{"a":{"b":true}}"#, Ok(&[("a", Json::Object(vec![("b".into(), Json::Bool(true))]))]));
        check(
            r#"{"a":0,"b":18446744073709551615}"#,
            Ok(&[("a", Json::Whole(0)), ("b", Json::Whole(u64::MAX))]),
        );
        for other in ["null", "-1", "-0", "1.0", "1e3", "18446744073709551616", "[]", "[1,{\"a\":1}]"] {
            check(&format!("{{\"a\":{other}}}"), Ok(&[("a", Json::Other)]));
        }
    }

    #[test]
    fn what_is_no_object() {
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
            check(text, Err(NotAnObject::Malformed));
        }
        check(&deep, Err(NotAnObject::Malformed));
        assert_eq!(object(b"{\"a\":\"\xff\"}"), Err(NotAnObject::Malformed));
        assert_eq!(object(br#"{"a":"\ud800"}"#), Err(NotAnObject::Malformed));
    }

    #[test]
    fn names_are_unique_at_every_depth() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":1}"#,
            r#"{"b":{"a":1,"a":2}}"#,
            r#"{"b":[[{"a":1,"c":0,"a":2}]]}"#,
        ] {
            check(text, Err(NotAnObject::Repeated));
        }
        let many = |last: &str| {
            let names: Vec<String> = (0..100).map(|n| format!("\"n{n}\":0")).collect();
            format!("{{{},\"{last}\":0}}", names.join(","))
        };
        assert_eq!(object(many("n50").as_bytes()), Err(NotAnObject::Repeated));
        assert_eq!(object(many("n100").as_bytes()).map(|members| members.len()), Ok(101));
    }
}
