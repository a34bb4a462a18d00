//! A recursive type as the generator writes it: how deep it is read and checked.

use serde::Serializer;

use serde::de::MapAccess;

use super::*;
use crate::Number;
use crate::read::Key;
use crate::schema::{Keyword, Resource, ResourceId, Schema, SchemaId, Tables, Types};

/// `{"type": "object", "properties": {"inner": {"$ref": "#"}, "count": {"type": "integer", "minimum": 1}}}`
static TABLES: Tables = Tables {
    schemas: &[
        Schema {
            resource: ResourceId(0),
            location: "",
            keywords: &[
                Keyword::Type(Types::OBJECT),
                Keyword::Properties(&[("count", SchemaId(2)), ("inner", SchemaId(1))], 0),
            ],
        },
        Schema {
            resource: ResourceId(0),
            location: "/properties/inner",
            keywords: &[Keyword::Ref(SchemaId(0))],
        },
        Schema {
            resource: ResourceId(0),
            location: "/properties/count",
            keywords: &[Keyword::Type(Types::INTEGER), Keyword::Minimum(Number::int(1))],
        },
    ],
    resources: &[Resource { uri: "https://test.example/node", dynamic_anchors: &[] }],
};

#[derive(Debug, Default, PartialEq)]
struct Node {
    count: Option<i64>,
    inner: Option<Box<Node>>,
    extra: Map<Json>,
}

impl<'de> read::FromMap<'de> for Node {
    const EXPECTING: &'static str = "a node";

    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut node = Self::default();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            match key.as_str() {
                "count" => read::field(&mut map, &mut node.count, "count"),
                "inner" => read::field(&mut map, &mut node.inner, "inner"),
                _ => read::extra(&mut map, &mut node.extra, key),
            }?;
        }
        Ok(node)
    }
}

impl<'de> Read<'de> for Node {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read::object(deserializer)
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = read::Members::new(serializer)?;
        out.optional("count", &self.count);
        out.optional("inner", &self.inner);
        out.rest(&self.extra, &["count", "inner"]);
        out.end()
    }
}

impl Contract for Node {
    const VALIDATOR: Validator<'static> = Validator::new(&TABLES, SchemaId(0));

    fn is_valid(&self) -> bool {
        self.count.is_none_or(|count| count >= 1) && self.inner.as_ref().is_none_or(|inner| inner.is_valid())
    }
}

impl ReportUndeclared for Node {
    fn report_undeclared(&self, at: &Path<'_>, found: &mut Undeclared) {
        found.members(at, &self.extra);
    }
}

/// `levels` objects in one another.
fn document(levels: usize, innermost: &str) -> String {
    format!("{}{innermost}{}", r#"{"inner":"#.repeat(levels - 1), "}".repeat(levels - 1))
}

fn pointer(levels: usize, last: &str) -> String {
    "/inner".repeat(levels - 1) + last
}

#[test]
fn deep_documents_are_read_and_written_back() {
    for levels in [1, 127, 128, 129, 200, 512] {
        let text = document(levels, r#"{"count":1}"#);
        let node = Node::parse_valid(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&node).unwrap(), text);
    }
}

/// The bound is about the reader; of the document it says nothing.
#[test]
fn deeper_than_the_reader_follows_is_a_refusal_of_its_own() {
    let text = document(513, r#"{"count":0}"#);
    let Err(Rejected::TooDeep(error)) = Node::parse(text.as_bytes()) else { panic!("{} levels", 513) };
    assert_eq!((error.kind, error.pointer), (JsonErrorKind::TooDeep, pointer(513, "")));
    assert!(Node::parse_within(text.as_bytes(), 513).is_ok());

    let ten = document(10, "{}");
    assert!(Node::parse_within(ten.as_bytes(), 10).is_ok());
    assert!(matches!(Node::parse_within(ten.as_bytes(), 9), Err(Rejected::TooDeep(_))));
    // Members that no field has count on from where they stand.
    let both = document(100, &format!(r#"{{"new":{}}}"#, document(100, "1")));
    assert!(matches!(Node::parse_within(both.as_bytes(), 130), Err(Rejected::TooDeep(_))));
    assert!(matches!(Node::parse_within(both.as_bytes(), 198), Err(Rejected::TooDeep(_))));
    assert!(Node::parse_within(both.as_bytes(), 199).is_ok());
    // What is no JSON is that first, at any depth.
    let broken = document(300, "{]}");
    assert!(matches!(Node::parse(broken.as_bytes()), Err(Rejected::NotJson(_))));
    assert!(matches!(Node::parse(&b"[".repeat(1_000_000)), Err(Rejected::TooDeep(_))));
}

#[test]
fn unknown_members_are_as_deep_as_declared_ones() {
    for levels in [127, 128, 200, 511] {
        let text = format!(r#"{{"new":{}}}"#, document(levels, r#"{"count":0}"#));
        let node = Node::parse_valid(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&node).unwrap(), text);
    }
}

#[test]
fn violations_deep_inside_are_found() {
    let text = document(300, r#"{"count":0}"#);
    let Err(Rejected::Invalid(violations)) = Node::parse_valid(text.as_bytes()) else { panic!("no refusal") };
    let [one] = violations.as_slice() else { panic!("{violations}") };
    assert_eq!((one.pointer.as_str(), one.keyword), (pointer(300, "/count").as_str(), "minimum"));
    // A shape that the type cannot hold is explained at any depth too.
    let text = document(300, r#"{"count":"many"}"#);
    let Err(Rejected::Invalid(violations)) = Node::parse(text.as_bytes()) else { panic!("no refusal") };
    assert_eq!(violations.as_slice()[0].pointer, pointer(300, "/count"));
}

/// What nobody sent has no bound of a reader, and its two checks agree.
#[test]
fn values_built_in_code_are_checked_at_any_depth() {
    let built = |levels: usize, count: i64| {
        let innermost = Node { count: Some(count), ..Node::default() };
        (1..levels).fold(innermost, |inner, _| Node { inner: Some(Box::new(inner)), ..Node::default() })
    };
    for levels in [100, 129, 500, 1_000] {
        assert_eq!(built(levels, 1).validate(), Ok(()));
        let broken = built(levels, 0);
        let violations = broken.validate().unwrap_err();
        assert_eq!(violations.as_slice()[0].pointer, pointer(levels, "/count"));
        assert_eq!((broken.is_valid(), holds(&broken, Node::VALIDATOR)), (false, false));
        assert!(holds(&built(levels, 1), Node::VALIDATOR));
    }
}

#[test]
fn a_value_that_cannot_be_written_is_not_valid() {
    let mut node = Node { count: Some(0), ..Node::default() };
    node.extra.insert("count".to_owned(), Json::Number(Number::int(1)));
    let violations = node.validate().unwrap_err();
    assert_eq!(violations.as_slice()[0].keyword, "unwritable");
}

/// A type that is stricter than its schema is a mistake of the generator, which must not hide.
#[test]
#[cfg(debug_assertions)]
#[should_panic(
    expected = "a type refuses what its schema allows: https://test.example/node#/properties/inner"
)]
fn a_type_stricter_than_its_schema_is_noticed() {
    agree(&Ok(()), Validator::new(&TABLES, SchemaId(1)));
}

/// What is valid and beyond its type is named where it stands: of several the first, and none that a type can hold.
#[test]
fn numbers_beyond_their_type_are_found() {
    let large = "9223372036854775808";
    let many = |count: usize| vec![large; count].join(",");
    for (text, expected) in [
        (format!(r#"{{"count":{large}}}"#), "/count"),
        (
            format!(r#"{{"x":{large},"inner":{{"count":{large},"inner":{{"count":{large}}}}}}}"#),
            "/inner/count",
        ),
        (
            format!(r#"{{"inner":{{"count":2,"inner":{{"count":1e19}}}},"count":{large}}}"#),
            "/inner/inner/count",
        ),
        (format!(r#"{{"x":[{}],"count":{large},"y":{large}}}"#, many(1000)), "/count"),
        // Nor does it cost the length of a name once for each of many.
        (format!(r#"{{"{}":[{}],"count":{large}}}"#, "x".repeat(1 << 20), many(50_000)), "/count"),
    ] {
        let refused = Node::parse(text.as_bytes()).unwrap_err();
        let Rejected::Unrepresentable { pointer, .. } = &refused else { panic!("{text}: {refused}") };
        assert_eq!(pointer, expected, "{text}");
        assert!(!refused.to_string().contains(large));
    }
    assert!(Node::parse(format!(r#"{{"x":{large}}}"#).as_bytes()).is_ok());
}
