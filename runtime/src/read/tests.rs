//! Tests of objects, unions and values as generated code deserializes and serializes them.

use std::borrow::Cow;

use serde::Serializer;

use super::*;
use crate::{JsonType, Nullable, Number, Secret};

#[derive(Debug, PartialEq)]
struct Item {
    id: i64,
    price: Option<Number>,
    note: Option<Nullable<String>>,
    extra: Map<Json>,
}

impl<'de> FromMap<'de> for Item {
    const EXPECTING: &'static str = "an item";

    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let (mut id, mut price, mut note, mut rest) = (None, None, None, Map::new());
        while let Some(key) = map.next_key::<MemberKey<'de>>()? {
            match key.as_str() {
                "id" => read_field(&mut map, &mut id, "id")?,
                "price" => read_field(&mut map, &mut price, "price")?,
                "note" => read_field(&mut map, &mut note, "note")?,
                _ => read_extra(&mut map, &mut rest, key)?,
            }
        }
        Ok(Self { id: require_field(id, "id")?, price, note, extra: rest })
    }
}

impl<'de> ReadJson<'de> for Item {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_object(deserializer)
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = MemberWriter::new(serializer)?;
        members.write_member("id", &self.id);
        members.write_optional("price", &self.price);
        members.write_optional("note", &self.note);
        members.write_extra(&self.extra, &["id", "price", "note"]);
        members.end()
    }
}

/// A recursive union with all kinds of tags.
#[derive(Debug, PartialEq)]
enum Shape {
    Item(Item),
    Group { inner: Box<Shape>, name: Option<String> },
    Flag(bool),
    Version(i64),
    Open(String, Map<Json>),
}

impl<'de> FromMap<'de> for Shape {
    const EXPECTING: &'static str = "a shape";

    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        read_tagged(map, "type", |tag, mut rest| match tag {
            TagValue::Text("item") => Item::from_map(rest).map(Self::Item),
            TagValue::Text("group") => {
                let (mut inner, mut name) = (None, None);
                while let Some(key) = rest.next_key::<MemberKey<'de>>()? {
                    match key.as_str() {
                        "inner" => read_field(&mut rest, &mut inner, "inner")?,
                        _ => read_field(&mut rest, &mut name, "name")?,
                    }
                }
                Ok(Self::Group { inner: require_field(inner, "inner")?, name })
            }
            // A variant may itself be a union.
            TagValue::Text("again") => read_tagged(rest, "kind", |kind, rest| match kind {
                TagValue::Text("item") => Item::from_map(rest).map(Self::Item),
                _ => Err(A::Error::custom("unknown kind")),
            }),
            TagValue::Bool(flag) => Ok(Self::Flag(flag)),
            TagValue::Int(version) => Ok(Self::Version(version)),
            TagValue::Text(_) | TagValue::Other | TagValue::Missing => {
                let text = rest.tag_text().to_owned();
                let (mut members, mut rest) = (Map::new(), rest.with_tag());
                while let Some(key) = rest.next_key::<MemberKey<'de>>()? {
                    read_extra(&mut rest, &mut members, key)?;
                }
                Ok(Self::Open(text, members))
            }
        })
    }
}

impl<'de> ReadJson<'de> for Shape {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_object(deserializer)
    }
}

#[derive(Debug, PartialEq)]
enum Loose {
    Text(String),
    Many(Vec<Loose>),
    Amount(Number),
    Item(Item),
}

impl<'de> ReadJson<'de> for Loose {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = peek_value(deserializer)?;
        Ok(match value.json_type() {
            JsonType::String => Self::Text(value.read_value()?),
            JsonType::Array => Self::Many(value.read_value()?),
            JsonType::Number => Self::Amount(value.read_value()?),
            JsonType::Object => Self::Item(value.read_value()?),
            JsonType::Null | JsonType::Boolean => return Err(value.type_error("a loose value")),
        })
    }
}

/// Reads a string from memory and as a stream, and compares the results.
fn read<T: for<'de> ReadJson<'de>>(text: &str) -> Result<T, String> {
    let mut streamed = serde_json::Deserializer::from_reader(text.as_bytes());
    let streamed = T::read_json(&mut streamed).and_then(|value| streamed.end().map(|()| value));
    let mut json = serde_json::Deserializer::from_str(text);
    let value = T::read_json(&mut json).and_then(|value| json.end().map(|()| value));
    assert_eq!(value.is_ok(), streamed.is_ok(), "{text}");
    value.map_err(|error| describe_error(&error))
}

fn item(id: i64) -> Item {
    Item { id, price: None, note: None, extra: Map::new() }
}

#[track_caller]
fn check<T: for<'de> ReadJson<'de> + PartialEq + fmt::Debug>(cases: &[(&str, Result<T, &str>)]) {
    for (text, expected) in cases {
        let found = read::<T>(text);
        let found = found.as_ref().map_err(String::as_str);
        assert_eq!(found, expected.as_ref().map_err(|error| *error), "{text}");
    }
}

#[test]
fn objects_distinguish_absent_from_null_and_keep_extras() {
    check(&[
        (r#"{"id":1}"#, Ok(item(1))),
        (r#"{"id":1,"price":12.30}"#, Ok(Item { price: Some(Number::from_decimal(1230, 2)), ..item(1) })),
        (r#"{"note":null,"id":1}"#, Ok(Item { note: Some(Nullable::Null), ..item(1) })),
        (r#"{"id":1,"note":"x"}"#, Ok(Item { note: Some(Nullable::Value("x".to_owned())), ..item(1) })),
        (r#"{"\u0069d":1}"#, Ok(item(1))),
        (r#"{"id":1,"price":null}"#, Err("invalid type, expected a number")),
        (r#"{"id":null}"#, Err("invalid type, expected an integer")),
        (r#"{"price":1}"#, Err("missing field `id`")),
        (r#"{"id":1,"id":1}"#, Err("duplicate field `id`")),
        (r#"{"id":1,"x":1,"x":1}"#, Err("duplicate member")),
        (r#"{"id":1,"x":{"y":1,"y":1}}"#, Err("duplicate member")),
        (r#"{"id":"confidential"}"#, Err("invalid type, expected an integer")),
        (r#""confidential""#, Err("invalid type, expected an item")),
        (r#"{"id":1,"note":5}"#, Err("invalid type, expected a string")),
    ]);
    let text = r#"{"id":1,"price":12.30,"note":null,"z":1.0,"a":{"c":[],"b":1e2}}"#;
    assert_eq!(serde_json::to_string(&read::<Item>(text).unwrap()).unwrap(), text);
    assert_eq!(serde_json::to_string(&item(1)).unwrap(), r#"{"id":1}"#);
}

#[test]
fn tags_may_be_at_any_position() {
    let full = Item {
        price: Some(Number::from_decimal(1230, 2)),
        note: Some(Nullable::Value("x\n".to_owned())),
        extra: Map::from_iter([("more".to_owned(), Json::from(vec![true.into()]))]),
        ..item(1)
    };
    let members = [r#""id":1"#, r#""price":12.30"#, r#""note":"x\n""#, r#""more":[true]"#];
    for at in 0..=members.len() {
        for tag in [r#""type":"item""#, r#""type" : "it\u0065m""#, r#""\u0074ype":"item""#] {
            let mut members = members.to_vec();
            members.insert(at, tag);
            let Ok(Shape::Item(found)) = read(&format!("{{{}}}", members.join(", "))) else {
                panic!("{members:?}");
            };
            assert_eq!(serde_json::to_string(&found).unwrap(), serde_json::to_string(&full).unwrap());
        }
    }
}

#[test]
fn tags_of_every_kind() {
    let open = |text: &str, members: &str| {
        let Ok(Json::Object(members)) = Json::parse(members.as_bytes()) else { panic!("{members}") };
        Shape::Open(text.to_owned(), members)
    };
    check(&[
        (r#"{"type":"again","kind":"item","id":1}"#, Ok(Shape::Item(item(1)))),
        (r#"{"id":1,"kind":"item","type":"again"}"#, Ok(Shape::Item(item(1)))),
        (r#"{"kind":"item","id":1,"type":"again"}"#, Ok(Shape::Item(item(1)))),
        (r#"{"type":true}"#, Ok(Shape::Flag(true))),
        (r#"{"type":2}"#, Ok(Shape::Version(2))),
        (r#"{"type":2.0}"#, Ok(Shape::Version(2))),
        (r#"{"a":1,"type":"new","b":2}"#, Ok(open("\"new\"", r#"{"type":"new","a":1,"b":2}"#))),
        (r#"{"type":2.5,"b":2}"#, Ok(open("2.5", r#"{"type":2.5,"b":2}"#))),
        (r#"{"b":2,"type":null}"#, Ok(open("null", r#"{"type":null,"b":2}"#))),
        (r#"{"type":{"x":1}}"#, Ok(open(r#"{"x":1}"#, r#"{"type":{"x":1}}"#))),
        (r#"{"type":"\"\\"}"#, Ok(open(r#""\"\\""#, r#"{"type":"\"\\"}"#))),
        (r#"{"a":1}"#, Err("missing field `type`")),
        ("{}", Err("missing field `type`")),
        (r#"{"type":"again"}"#, Err("missing field `kind`")),
        (r#"{"type":"item","id":1,"type":"item"}"#, Err("duplicate field `type`")),
        (r#"{"type":"new","type":"new"}"#, Err("duplicate field `type`")),
        (r#"{"id":1,"id":1,"type":"item"}"#, Err("duplicate field `id`")),
        (r#"{"id":1,"type":"item","id":1}"#, Err("duplicate field `id`")),
        (r#"{"type":"\ud800"}"#, Err("unexpected end of hex escape")),
        (r#"{"id":"confidential","type":"item"}"#, Err("invalid type, expected an integer")),
        ("[]", Err("invalid type, expected a shape")),
    ]);
    // The order of members is preserved, with the tag first.
    let Ok(Shape::Open(_, members)) = read(r#"{"a":1,"type":"new","b":2}"#) else { panic!() };
    assert!(members.keys().eq(["type", "a", "b"]));
}

use unions::{Choice, OptionalChoice};

#[allow(dead_code, unreachable_pub, private_interfaces, reason = "like generated code in a separate crate")]
mod unions {
    use super::{Holder, Item};

    #[derive(Debug, PartialEq)]
    pub enum OptionalChoice {
        Item(Item),
        Unknown(crate::Json),
    }

    crate::open_union! { OptionalChoice by optional_tag "type" { variants { Item = "item" | "thing" } } }

    #[derive(Debug, PartialEq)]
    pub enum Choice {
        Item(Item),
        Holder(Holder),
        Unknown(crate::Json),
    }

    crate::open_union! {
        Choice by discriminator "type" { variants { Item = "item", Holder = "holder" } }
    }
}

/// A recursive object.
#[derive(Debug, PartialEq)]
struct Holder {
    id: i64,
    inner: Option<Box<Choice>>,
    extra: Map<Json>,
}

impl<'de> FromMap<'de> for Holder {
    const EXPECTING: &'static str = "a holder";

    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let (mut id, mut inner, mut members) = (None, None, Map::new());
        while let Some(key) = map.next_key::<MemberKey<'de>>()? {
            match key.as_str() {
                "id" => read_field(&mut map, &mut id, "id"),
                "inner" => read_field(&mut map, &mut inner, "inner"),
                _ => read_extra(&mut map, &mut members, key),
            }?;
        }
        Ok(Self { id: require_field(id, "id")?, inner, extra: members })
    }
}

impl Serialize for Holder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = MemberWriter::new(serializer)?;
        members.write_member("id", &self.id);
        members.write_optional("inner", &self.inner);
        members.write_extra(&self.extra, &["id", "inner"]);
        members.end()
    }
}

/// Returns an item whose tag is stored among the other members.
fn tagged_item(tag: &str) -> Item {
    Item { extra: Map::from_iter([("type".to_owned(), Json::from(tag))]), ..item(1) }
}

#[test]
fn object_without_an_optional_tag_is_preserved() {
    let unknown = |text: &str| OptionalChoice::Unknown(Json::parse(text.as_bytes()).unwrap());
    check(&[
        (r#"{"type":"item","id":1}"#, Ok(OptionalChoice::Item(tagged_item("item")))),
        (r#"{"id":1,"type":"thing"}"#, Ok(OptionalChoice::Item(tagged_item("thing")))),
        (r#"{"id":1}"#, Ok(unknown(r#"{"id":1}"#))),
        ("{}", Ok(unknown("{}"))),
        (r#"{"a":1,"type":"new"}"#, Ok(unknown(r#"{"type":"new","a":1}"#))),
        (r#"{"type":null}"#, Ok(unknown(r#"{"type":null}"#))),
        (r#"{"type":"item"}"#, Err("missing field `id`")),
        (r#"{"id":1,"id":1}"#, Err("duplicate member")),
    ]);
}

#[test]
fn object_not_matching_its_tag_is_preserved() {
    let unknown = |text: &str| Choice::Unknown(Json::parse(text.as_bytes()).unwrap());
    check(&[
        (r#"{"type":"item","id":1}"#, Ok(Choice::Item(tagged_item("item")))),
        (r#"{"id":1,"typ\u0065":"it\u0065m"}"#, Ok(Choice::Item(tagged_item("item")))),
        (r#"{"id":"x","type":"item"}"#, Ok(unknown(r#"{"id":"x","type":"item"}"#))),
        (r#"{"type":"new","id":1}"#, Ok(unknown(r#"{"type":"new","id":1}"#))),
        (r#"{"id":1}"#, Ok(unknown(r#"{"id":1}"#))),
        (r#"{"type":"item","id":1,"type":"item"}"#, Err("duplicate field `type`")),
        (r#"{"type":"new","id":1,"id":2}"#, Err("duplicate member")),
        ("[]", Err("invalid type, expected an object (Choice)")),
    ]);
    // Only the object that does not match its tag is `Unknown`, because the enclosing object matches.
    let Ok(Choice::Holder(holder)) = read(r#"{"type":"holder","id":1,"inner":{"type":"holder"}}"#) else {
        panic!()
    };
    assert_eq!(holder.inner.as_deref(), Some(&unknown(r#"{"type":"holder"}"#)));
}

/// A document is scanned a fixed number of times, even if objects that do not match their tags are deeply
/// nested.
#[test]
fn nested_objects_that_do_not_match_their_tags_cost_linear_time() {
    let nested = |levels: usize, end: &str| {
        let start = r#"{"type":"holder","inner":"#.repeat(levels);
        format!("{start}{end}{}", "}".repeat(levels))
    };
    // If each level scanned the long innermost member, the cost would be its length times the number of
    // levels.
    let end = format!(r#"{{"type":"item","id":1,"text":"{}"}}"#, "x".repeat(10_000));
    for levels in [1, 10, 100] {
        let text = nested(levels, &end);
        let mut found = None;
        let effort = raw::json_index::read_effort::measure_bytes(|| {
            found = Some(Choice::read_json(&mut serde_json::Deserializer::from_str(&text)).unwrap());
        });
        assert_eq!(found, Some(Choice::Unknown(Json::parse(text.as_bytes()).unwrap())), "{levels} levels");
        assert!(effort <= 12 * text.len(), "{levels} levels: {effort} for {} bytes", text.len());
    }
    // The thread-local counter is restored, so that rereading works for the next document as well.
    let Ok(Choice::Holder(holder)) = read(&nested(1, "{}").replacen("{", "{\"id\":1,", 1)) else { panic!() };
    assert_eq!(holder.inner.as_deref(), Some(&Choice::Unknown(Json::Object(Map::new()))));
}

#[test]
fn unions_within_unions() {
    let text = r#"{"name":"out","inner":{"inner":{"id":1,"type":"item"},"type":"group"},"type":"group"}"#;
    let inner = Shape::Group { inner: Box::new(Shape::Item(item(1))), name: None };
    let outer = Shape::Group { inner: Box::new(inner), name: Some("out".to_owned()) };
    check(&[(text, Ok(outer))]);
}

/// Nested unions are limited, even though each level starts a new parser with a separate recursion limit.
#[test]
fn unions_within_unions_have_a_limit() {
    let nested = |levels: usize| {
        format!(
            r#"{}{{"id":1,"type":"item"}}{}"#,
            r#"{"inner":"#.repeat(levels),
            r#","type":"group"}"#.repeat(levels)
        )
    };
    assert!(read::<Shape>(&nested(100)).is_ok());
    assert_eq!(read::<Shape>(&nested(200)), Err("nested too deeply".to_owned()));
    assert_eq!(read::<Shape>(&nested(100_000)), Err("nested too deeply".to_owned()));
    let arrays = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert!(read::<Loose>(&arrays(128)).is_ok());
    assert_eq!(read::<Loose>(&arrays(129)), Err("nested too deeply".to_owned()));
    // Brackets in strings do not count as levels.
    assert!(read::<Loose>(&format!(r#"["{}\"[[["]"#, "[".repeat(1000))).is_ok());
}

#[test]
fn values_discriminated_by_json_type() {
    check(&[
        (r#" "a" "#, Ok(Loose::Text("a".to_owned()))),
        ("1.50", Ok(Loose::Amount(Number::from_decimal(150, 2)))),
        (
            r#"[["x"], 1]"#,
            Ok(Loose::Many(vec![
                Loose::Many(vec![Loose::Text("x".to_owned())]),
                Loose::Amount(Number::from_i64(1)),
            ])),
        ),
        (r#"{"id":1}"#, Ok(Loose::Item(item(1)))),
        ("true", Err("invalid type, expected a loose value")),
        ("null", Err("invalid type, expected a loose value")),
        (r#"{"id":"confidential"}"#, Err("invalid type, expected an integer")),
        ("[1,", Err("EOF while parsing a value")),
    ]);
}

#[test]
fn integers_may_have_a_point_but_no_fraction() {
    check::<i64>(&[
        ("1", Ok(1)),
        ("-1", Ok(-1)),
        ("1.0", Ok(1)),
        ("1e2", Ok(100)),
        ("-0", Ok(0)),
        ("-0.0", Ok(0)),
        ("9223372036854775807", Ok(i64::MAX)),
        ("-9223372036854775808", Ok(i64::MIN)),
        ("9007199254740991.0", Ok((1 << 53) - 1)),
        ("9223372036854775808", Err("integer out of range")),
        ("1.5", Err("not an integer")),
        ("9007199254740993.0", Ok((1 << 53) + 1)),
        ("1e18", Ok(1_000_000_000_000_000_000)),
        ("1.00000000000000000000000000000000001", Err("not an integer")),
        ("1e-1000000000", Err("not an integer")),
        ("1e1000000000", Err("integer out of range")),
        ("-9223372036854775809", Err("integer out of range")),
        (r#""1""#, Err("invalid type, expected an integer")),
        ("true", Err("invalid type, expected an integer")),
    ]);
    check::<u64>(&[
        ("18446744073709551615", Ok(u64::MAX)),
        ("-1", Err("integer out of range")),
        ("18446744073709551616", Err("integer out of range")),
    ]);
    check::<u8>(&[("255", Ok(255)), ("2.55e2", Ok(255)), ("256", Err("integer out of range"))]);
    check::<i8>(&[("-128", Ok(-128)), ("-129", Err("integer out of range"))]);
    check::<i128>(&[
        ("9007199254740993.0", Ok((1 << 53) + 1)),
        ("170141183460469231731687303715884105727", Ok(i128::MAX)),
        ("1e39", Err("integer out of range")),
    ]);
}

#[test]
fn containers_parse_their_content_by_the_same_rules() {
    check::<Vec<i64>>(&[
        ("[1.0, 2e0]", Ok(vec![1, 2])),
        ("[1, null]", Err("invalid type, expected an integer")),
    ]);
    check::<Vec<Nullable<u8>>>(&[("[null, 7.0]", Ok(vec![Nullable::Null, 7.into()]))]);
    check::<Map<i32>>(&[
        (r#"{"a":1.0}"#, Ok(Map::from_iter([("a".to_owned(), 1)]))),
        (r#"{"a":1,"a":1}"#, Err("duplicate member")),
    ]);
    check::<Box<(i32, String)>>(&[
        (r#"[1.0,"a"]"#, Ok(Box::new((1, "a".to_owned())))),
        ("[1]", Err("too few items, expected an array of 2 items")),
        (r#"[1,"a",2]"#, Err("too many items, expected an array of 2 items")),
        (r#"{"0":1}"#, Err("invalid type, expected an array of 2 items")),
    ]);
    check::<(u8, u8, u8, u8, u8, u8, u8, u8)>(&[("[1,2,3,4,5,6,7,8]", Ok((1, 2, 3, 4, 5, 6, 7, 8)))]);
    check::<Secret>(&[
        (r#""a""#, Ok("a".to_owned().into())),
        ("123", Err("a secret does not have the expected form")),
    ]);
    check::<Nullable<Json>>(&[
        ("null", Ok(Nullable::Null)),
        ("[null]", Ok(Nullable::Value(vec![Json::Null].into()))),
    ]);
    check::<(bool, f64)>(&[("[true, 9007199254740991.0]", Ok((true, 9007199254740991.0)))]);
}

#[test]
fn text_in_memory_is_not_copied() {
    let mut json = serde_json::Deserializer::from_str(r#" {"a": [1, 2]} "#);
    assert!(matches!(raw::read_raw_text(&mut json), Ok(Cow::Borrowed(r#"{"a": [1, 2]}"#))));
    let mut json = serde_json::Deserializer::from_slice(b"12.30");
    assert!(matches!(raw::read_raw_text(&mut json), Ok(Cow::Borrowed("12.30"))));
    let mut json = serde_json::Deserializer::from_str(r#""name""#);
    assert!(matches!(MemberKey::deserialize(&mut json), Ok(MemberKey(Cow::Borrowed("name")))));
}

#[test]
fn descriptions_leave_out_data_and_position() {
    #[derive(Debug, Deserialize)]
    enum Choice {
        #[serde(rename = "known")]
        Known,
    }
    let error = serde_json::from_str::<Choice>(r#""confidential""#).unwrap_err();
    assert_eq!(describe_error(&error), "unknown variant, expected `known`");
    assert!(matches!(serde_json::from_str(r#""known""#), Ok(Choice::Known)));
    let error = serde_json::from_str::<u8>(r#""a, expected b""#).unwrap_err();
    assert_eq!(describe_error(&error), "invalid type, expected u8");
    let error = serde_json::from_str::<u8>("300").unwrap_err();
    assert_eq!(describe_error(&error), "invalid value, expected u8");
    let error = serde_json::from_str::<u8>("[").unwrap_err();
    assert_eq!(describe_error(&error), "invalid type, expected u8");
    let error = serde_json::from_str::<Number>("1 x").unwrap_err();
    assert_eq!(describe_error(&error), "trailing characters");
}

/// The field `extra` is public, so it may contain a declared name. Serialization must not write such a member
/// twice.
#[test]
fn declared_name_among_extra_members_is_an_error() {
    let mut item = Item { id: 1, price: None, note: None, extra: Map::new() };
    item.extra.insert("new".to_owned(), Json::Null);
    assert_eq!(serde_json::to_string(&item).unwrap(), r#"{"id":1,"new":null}"#);
    assert!(is_disjoint(&item.extra, &["id", "price", "note"]));
    // The error does not depend on whether the field is present.
    for name in ["id", "price"] {
        let mut item = Item { id: 1, price: None, note: None, extra: Map::new() };
        item.extra.insert(name.to_owned(), Json::Null);
        assert!(!is_disjoint(&item.extra, &["id", "price", "note"]), "{name}");
        let error = serde_json::to_string(&item).unwrap_err().to_string();
        assert_eq!(error, "an extra member has the name of a declared member");
    }
}

/// Arrays and strings, where each string contains another document of this type, like a custom type that
/// parses during deserialization.
#[derive(Debug)]
enum Nested {
    Text(Box<Nested>),
    List(Vec<Nested>),
    Nothing,
}

impl<'de> ReadJson<'de> for Nested {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = peek_value(deserializer)?;
        Ok(match value.json_type() {
            JsonType::String => {
                let text: String = value.read_value()?;
                // The string is read by `read_document` and by another JSON parser.
                let whole =
                    read_document::<Self>(text.as_bytes(), depth::DEFAULT_DEPTH).map_err(D::Error::custom)?;
                if depth::measure_depth(text.as_bytes()) <= 100 {
                    let again = Self::read_json(&mut serde_json::Deserializer::from_str(&text));
                    again.map_err(D::Error::custom)?;
                }
                Self::Text(Box::new(whole))
            }
            JsonType::Array => Self::List(value.read_value()?),
            _ => Self::Nothing,
        })
    }
}

fn arrays(levels: usize, inner: &str) -> String {
    format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels))
}

/// An embedded document in a string has a separate nesting limit, even on a stack that was sized for the
/// outer document.
#[test]
fn embedded_document_has_its_own_nesting_limit() {
    let outer = |levels: usize, inner: &str| arrays(levels, &format!("{inner:?}"));
    for levels in [1, 100, 200, 500] {
        let read = |text: &str| read_document::<Nested>(outer(levels, text).as_bytes(), depth::DEFAULT_DEPTH);
        for inner in [100, 400] {
            assert!(read(&arrays(inner, "1")).is_ok(), "{levels} {inner}");
            assert!(read(&outer(inner, &outer(inner, &arrays(inner, "1")))).is_ok(), "{levels} {inner}");
        }
        assert!(read(&arrays(100_000, "1")).is_err(), "{levels}");
        assert!(read(&outer(100, &arrays(100_000, "1"))).is_err(), "{levels}");
    }
    let twice = outer(400, &outer(120, &arrays(120, "1")));
    let mut read = read_document::<Nested>(twice.as_bytes(), depth::DEFAULT_DEPTH).unwrap();
    let mut levels = 0;
    loop {
        read = match read {
            Nested::List(mut items) => items.remove(0),
            Nested::Text(inner) => *inner,
            Nested::Nothing => break,
        };
        levels += 1;
    }
    assert_eq!(levels, 400 + 1 + 120 + 1 + 120);
}

/// If a string in a deep document contains JSON text, the depth of this text is limited to that of a shallow
/// document, even though the enclosing document is read on a larger stack.
#[test]
fn string_within_a_deep_document_is_shallow() {
    #[derive(Debug)]
    struct Outer;
    impl<'de> ReadJson<'de> for Outer {
        fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let value = peek_value(deserializer)?;
            if value.json_type() == JsonType::String {
                let text: String = value.read_value()?;
                let mut json = serde_json::Deserializer::from_str(&text);
                json.disable_recursion_limit();
                Loose::read_json(&mut json).map_err(D::Error::custom)?;
            } else {
                value.read_value::<Vec<Outer>>()?;
            }
            Ok(Self)
        }
    }
    for levels in [1, 500] {
        let read = |inner: &str| {
            let text = arrays(levels, &format!("{inner:?}"));
            read_document::<Outer>(text.as_bytes(), depth::DEFAULT_DEPTH)
                .map_err(|error| describe_error(&error))
        };
        assert!(read(&arrays(128, "1")).is_ok());
        assert_eq!(read(&arrays(129, "1")).unwrap_err(), "nested too deeply");
        assert_eq!(read(&arrays(100_000, "1")).unwrap_err(), "nested too deeply");
    }
}

/// A document is scanned a fixed number of times, even if unions are deeply nested.
#[test]
fn nested_unions_cost_linear_effort() {
    use crate::raw::json_index::read_effort;
    let group = |levels: usize, filling: &str| {
        let tag = format!(r#","name":"{filling}","type":"group"}}"#);
        format!(r#"{}{{"id":1,"type":"item"}}{}"#, r#"{"inner":"#.repeat(levels), tag.repeat(levels))
    };
    let spent = |text: &str, read: &dyn Fn(&str) -> bool| {
        let spent = read_effort::measure_bytes(|| assert!(read(text)));
        assert!(spent <= 8 * text.len(), "{spent} for {}", text.len());
    };
    for levels in [1, 10, 100] {
        for filling in ["", "what stands behind each level is part of all around it"] {
            spent(&group(levels, filling), &|text| {
                Shape::read_json(&mut serde_json::Deserializer::from_str(text)).is_ok()
            });
        }
        let list = arrays(levels, &format!("1{}", ",[2.50]".repeat(1_000)));
        spent(&list, &|text| Loose::read_json(&mut serde_json::Deserializer::from_str(text)).is_ok());
    }
}
