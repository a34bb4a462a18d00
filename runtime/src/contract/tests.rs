//! Tests of the depth limits for parsing and validation, with a recursive type as the generator emits it.

use serde::Serializer;

use serde::de::MapAccess;

use super::*;
use crate::Number;
use crate::read::MemberKey;
use crate::schema::{Keyword, ResourceId, Schema, SchemaId, SchemaResource, SchemaTables, TypeSet};

/// The tables of the following schema:
/// `{"type": "object", "properties": {"inner": {"$ref": "#"}, "count": {"type": "integer", "minimum": 1}}}`
static TABLES: SchemaTables = SchemaTables {
    schemas: &[
        Schema {
            resource: ResourceId(0),
            location: "",
            keywords: &[
                Keyword::Type(TypeSet::OBJECT),
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
            keywords: &[Keyword::Type(TypeSet::INTEGER), Keyword::Minimum(Number::from_i64(1))],
        },
    ],
    resources: &[SchemaResource { uri: "https://test.example/node", dynamic_anchors: &[] }],
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
        while let Some(key) = map.next_key::<MemberKey<'de>>()? {
            match key.as_str() {
                "count" => read::read_field(&mut map, &mut node.count, "count"),
                "inner" => read::read_field(&mut map, &mut node.inner, "inner"),
                _ => read::read_extra(&mut map, &mut node.extra, key),
            }?;
        }
        Ok(node)
    }
}

impl<'de> ReadJson<'de> for Node {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read::read_object(deserializer)
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = read::MemberWriter::new(serializer)?;
        out.write_optional("count", &self.count);
        out.write_optional("inner", &self.inner);
        out.write_extra(&self.extra, &["count", "inner"]);
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
    fn report_undeclared(&self, at: &InstancePath<'_>, found: &mut UndeclaredMembers) {
        found.add_all(at, &self.extra);
    }
}

/// Returns a document of `levels` nested objects.
fn document(levels: usize, innermost: &str) -> String {
    format!("{}{innermost}{}", r#"{"inner":"#.repeat(levels - 1), "}".repeat(levels - 1))
}

fn pointer(levels: usize, last: &str) -> String {
    "/inner".repeat(levels - 1) + last
}

#[test]
fn deep_documents_round_trip() {
    for levels in [1, 127, 128, 129, 200, 512] {
        let text = document(levels, r#"{"count":1}"#);
        let node = Node::parse_valid(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&node).unwrap(), text);
    }
}

/// A document beyond the depth limit has a separate error, which implies nothing about the validity of the
/// document.
#[test]
fn nesting_limit_has_its_own_error() {
    let text = document(513, r#"{"count":0}"#);
    let Err(DocumentError::TooDeep(error)) = Node::parse(text.as_bytes()) else { panic!("{} levels", 513) };
    assert_eq!((error.kind, error.pointer), (JsonErrorKind::TooDeep, pointer(513, "")));
    assert!(Node::parse_with_depth(text.as_bytes(), 513).is_ok());

    let ten = document(10, "{}");
    assert!(Node::parse_with_depth(ten.as_bytes(), 10).is_ok());
    assert!(matches!(Node::parse_with_depth(ten.as_bytes(), 9), Err(DocumentError::TooDeep(_))));
    // The levels of an undeclared member add to the level of its parent.
    let both = document(100, &format!(r#"{{"new":{}}}"#, document(100, "1")));
    assert!(matches!(Node::parse_with_depth(both.as_bytes(), 130), Err(DocumentError::TooDeep(_))));
    assert!(matches!(Node::parse_with_depth(both.as_bytes(), 198), Err(DocumentError::TooDeep(_))));
    assert!(Node::parse_with_depth(both.as_bytes(), 199).is_ok());
    // A syntax error takes precedence over the depth limit, at any depth.
    let broken = document(300, "{]}");
    assert!(matches!(Node::parse(broken.as_bytes()), Err(DocumentError::NotJson(_))));
    assert!(matches!(Node::parse(&b"[".repeat(1_000_000)), Err(DocumentError::TooDeep(_))));
}

#[test]
fn unknown_members_may_be_as_deep_as_declared_ones() {
    for levels in [127, 128, 200, 511] {
        let text = format!(r#"{{"new":{}}}"#, document(levels, r#"{"count":0}"#));
        let node = Node::parse_valid(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&node).unwrap(), text);
    }
}

#[test]
fn violations_deep_inside_are_found() {
    let text = document(300, r#"{"count":0}"#);
    let Err(DocumentError::Invalid(violations)) = Node::parse_valid(text.as_bytes()) else {
        panic!("accepted")
    };
    let [one] = violations.as_slice() else { panic!("{violations}") };
    assert_eq!((one.pointer.as_str(), one.keyword), (pointer(300, "/count").as_str(), "minimum"));
    // A value that the type cannot represent violates the schema and is located at any depth.
    let text = document(300, r#"{"count":"many"}"#);
    let Err(DocumentError::Invalid(violations)) = Node::parse(text.as_bytes()) else { panic!("accepted") };
    assert_eq!(violations.as_slice()[0].pointer, pointer(300, "/count"));
}

/// Values built in code have no depth limit, and `is_valid` agrees with `validate`.
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
        assert_eq!((broken.is_valid(), satisfies_schema(&broken, Node::VALIDATOR)), (false, false));
        assert!(satisfies_schema(&built(levels, 1), Node::VALIDATOR));
    }
}

#[test]
fn unserializable_value_is_invalid() {
    let mut node = Node { count: Some(0), ..Node::default() };
    node.extra.insert("count".to_owned(), Json::Number(Number::from_i64(1)));
    let violations = node.validate().unwrap_err();
    assert_eq!(violations.as_slice()[0].keyword, "unwritable");
}

/// A type that is stricter than its schema is a generator bug, so debug builds panic.
#[test]
#[cfg(debug_assertions)]
#[should_panic(
    expected = "a type rejects a value that its schema accepts: https://test.example/node#/properties/inner"
)]
fn a_type_stricter_than_its_schema_is_noticed() {
    debug_assert_rejected(&Ok(()), Validator::new(&TABLES, SchemaId(1)));
}

/// If a document is valid except for numbers that the type cannot represent, the error contains the location
/// of the first such number. Large numbers that the type can represent, such as those in undeclared
/// properties, are not reported.
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
        // The cost does not grow with the length of a name times the number of values below it.
        (format!(r#"{{"{}":[{}],"count":{large}}}"#, "x".repeat(1 << 20), many(50_000)), "/count"),
    ] {
        let error = Node::parse(text.as_bytes()).unwrap_err();
        let DocumentError::Unrepresentable { pointer, .. } = &error else { panic!("{text}: {error}") };
        assert_eq!(pointer, expected, "{text}");
        assert!(!error.to_string().contains(large));
    }
    assert!(Node::parse(format!(r#"{{"x":{large}}}"#).as_bytes()).is_ok());
}

/// Undeclared members can be read as a type, and a value that does not fit the type is an error.
#[test]
fn undeclared_members_are_read_as_a_type() {
    let node = Node::parse(br#"{"owner":"Ada","tags":["a","b"],"child":{"count":2},"size":1.5}"#).unwrap();
    assert_eq!(node.extra.get_as::<String>("owner").unwrap().as_deref(), Some("Ada"));
    assert_eq!(node.extra.get_as::<Vec<String>>("tags").unwrap().unwrap(), ["a", "b"]);
    assert_eq!(node.extra.get_as::<Node>("child").unwrap().unwrap().count, Some(2));
    assert_eq!(node.extra.get_as::<i64>("none").unwrap(), None);
    assert!(matches!(
        node.extra.get_as::<i64>("size").unwrap_err(),
        DocumentError::Unrepresentable { pointer, .. } if pointer.is_empty()
    ));
}

/// A value that is read from `Json` equals the value that is parsed from the string.
#[test]
fn values_are_read_from_json() {
    let text = r#"{"inner":{"count":7},"more":[1.50]}"#;
    let json: Json = text.parse().unwrap();
    let node = Node::from_json(&json).unwrap();
    assert_eq!(node, Node::parse(text.as_bytes()).unwrap());
    assert!(node.to_json().unwrap().strict_eq(&json));
    let error = Node::from_json(&Json::from("text")).unwrap_err();
    assert!(
        matches!(error, DocumentError::Invalid(violations) if violations.iter().any(|v| v.keyword == "type"))
    );
}
