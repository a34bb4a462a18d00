//! Tests that decoding is the inverse of encoding for every style, `explode` and shape.

use http::{HeaderValue, header::COOKIE};

use super::{
    Parameter, ParameterLocation, ParameterReader, ParameterStyle, QueryPairs, ScalarType, ValueShape, encode,
};
use crate::{Json, Number, schema::TypeSet};

/// Strings that contain syntactic characters.
const TEXTS: [&str; 9] = ["a", "", "é 漢", "a/b?c#d&e=f+g", "%41%", "1.50", ".", "~-_.", "a;b:c"];

fn row(location: ParameterLocation, style: ParameterStyle, explode: bool, shape: ValueShape) -> Parameter {
    let plain = match location {
        ParameterLocation::Path => Parameter::PATH,
        ParameterLocation::Query => Parameter::QUERY,
        ParameterLocation::Header => Parameter::HEADER,
        ParameterLocation::Cookie => Parameter::COOKIE,
        ParameterLocation::QueryString => Parameter::QUERY_STRING,
    };
    Parameter { name: "na me", style, explode, shape, ..plain }
}

/// Returns the request for a value, or `None` if the value cannot be encoded.
fn sent(row: &Parameter, value: &Json) -> Option<http::request::Parts> {
    let mut request = http::Request::builder();
    let mut path = "/a/x/b".to_owned();
    let pairs = |row: &Parameter| {
        let pairs = encode::write_pairs(row, value).ok()?;
        Some(pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>())
    };
    match row.location {
        ParameterLocation::Path => {
            let text = encode::write_path(row, value).ok()?;
            // The client rejects a value that would change the path.
            if matches!(text.replace("%2E", ".").as_str(), "" | "." | "..") {
                return None;
            }
            path = format!("/a/{text}/b");
        }
        ParameterLocation::Query => path = format!("/a/x/b?{}", pairs(row)?.join("&")),
        ParameterLocation::QueryString => {
            path = format!("/a/x/b?{}", encode::write_query_string(row, value).ok()?.unwrap_or_default());
        }
        ParameterLocation::Header => {
            if let Some(text) = encode::write_header(row, value).ok()? {
                request = request.header("X-Name", HeaderValue::try_from(text).ok()?);
            }
        }
        ParameterLocation::Cookie => {
            let cookies = pairs(row)?;
            if !cookies.is_empty() {
                // A map reads every cookie that belongs to no other parameter.
                let other = if matches!(row.shape, ValueShape::Map(..)) { "" } else { "other=1; " };
                request = request.header(COOKIE, format!("{other}{}", cookies.join("; ")));
            }
        }
    }
    Some(request.uri(path).body(()).unwrap().into_parts().0)
}

fn read(row: &Parameter, parts: &http::request::Parts) -> Option<Json> {
    let mut row = *row;
    if row.location == ParameterLocation::Header {
        row.name = "X-Name";
    }
    let parameters: &'static [Parameter] = Box::leak(Box::new([row]));
    let query = QueryPairs::parse(parts.uri.query().unwrap_or("")).unwrap();
    let mut values =
        ParameterReader { template: "/a/{na me}/b", parameters, parts, query: &query }.read_all().unwrap();
    values.remove(0)
}

fn check(row: &Parameter, value: &Json) -> bool {
    let Some(parts) = sent(row, value) else { return false };
    let shown = format!("{:?} {:?} explode={} {value} {parts:?}", row.location, row.style, row.explode);
    match read(row, &parts) {
        Some(read) => assert_eq!(read, *value, "{shown}"),
        // An empty list or object that is not required is omitted.
        None => assert!(matches!(value.to_string().as_str(), "[]" | "{}"), "{shown}"),
    }
    true
}

const STYLES: [(ParameterLocation, ParameterStyle); 9] = [
    (ParameterLocation::Path, ParameterStyle::Simple),
    (ParameterLocation::Path, ParameterStyle::Label),
    (ParameterLocation::Path, ParameterStyle::Matrix),
    (ParameterLocation::Query, ParameterStyle::Form),
    (ParameterLocation::Query, ParameterStyle::SpaceDelimited),
    (ParameterLocation::Query, ParameterStyle::PipeDelimited),
    (ParameterLocation::Query, ParameterStyle::DeepObject),
    (ParameterLocation::Header, ParameterStyle::Simple),
    (ParameterLocation::Cookie, ParameterStyle::Form),
];

fn object(members: &[(&str, Json)]) -> Json {
    Json::Object(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

#[test]
fn every_style_and_shape_round_trips() {
    const MEMBERS: &[(&str, ValueShape)] = &[
        ("R", ValueShape::Scalar(ScalarType::Text)),
        ("is it", ValueShape::Scalar(ScalarType::Boolean)),
        ("n", ValueShape::Scalar(ScalarType::Number)),
        ("whole", ValueShape::Scalar(ScalarType::Integer(Some(3)))),
        ("deep", ValueShape::Json),
    ];
    let text = |text: &str| Json::String(text.to_owned());
    let mut carried = 0;
    let mut tried = 0;
    for (location, style) in STYLES {
        for explode in [false, true] {
            let mut check = |shape, value: Json| {
                tried += 1;
                carried += usize::from(check(&row(location, style, explode, shape), &value));
            };
            for one in TEXTS {
                check(ValueShape::Scalar(ScalarType::Text), text(one));
                check(ValueShape::Json, text(one));
                for list in [vec![one], vec![one, "x"], vec!["x", one, one]] {
                    let list = Json::Array(list.into_iter().map(text).collect());
                    check(ValueShape::Array(ScalarType::Text), list.clone());
                    check(ValueShape::Json, list);
                }
                let yes = Json::Bool(true);
                let deep = object(&[("a", Json::Array(vec![Json::Null, text(one)]))]);
                let whole = Json::Number(Number::from_literal("5e2"));
                let members = [("R", text(one)), ("is it", yes), ("whole", whole), ("deep", deep)];
                check(ValueShape::Object(MEMBERS), object(&members));
                check(
                    ValueShape::Map(&[], ScalarType::Text),
                    object(&[("a b", text(one)), ("c", text("d"))]),
                );
            }
            check(ValueShape::Array(ScalarType::Text), Json::Array(Vec::new()));
            check(ValueShape::Object(MEMBERS), object(&[]));
            for whole in ["0", "5e2", "-5.0"] {
                let value = Json::parse(whole.as_bytes()).unwrap();
                check(ValueShape::Array(ScalarType::Integer(None)), Json::Array(vec![value.clone(); 2]));
                check(ValueShape::Map(&[], ScalarType::Integer(None)), object(&[("a", value.clone())]));
                check(
                    ValueShape::Scalar(ScalarType::Of(TypeSet::INTEGER.union(TypeSet::STRING))),
                    value.clone(),
                );
                check(ValueShape::Scalar(ScalarType::Integer(None)), value);
            }
            for number in ["0", "-1.50", "12345678901234567890.1", "true", "[1,-2.5]"] {
                let value = Json::parse(number.as_bytes()).unwrap();
                let shape = match value {
                    Json::Array(_) => ValueShape::Array(ScalarType::Number),
                    Json::Bool(_) => ValueShape::Scalar(ScalarType::Boolean),
                    _ => ValueShape::Scalar(ScalarType::Of(TypeSet::NUMBER.union(TypeSet::STRING))),
                };
                check(shape, value);
            }
        }
    }
    // Most combinations can be encoded. The documentation of the module `parameters` lists the others.
    assert!(carried * 10 > tried * 8, "{carried} of {tried}");
}

#[test]
fn reserved_characters_round_trip() {
    for explode in [false, true] {
        let row = Parameter {
            allow_reserved: true,
            ..row(
                ParameterLocation::Query,
                ParameterStyle::Form,
                explode,
                ValueShape::Array(ScalarType::Text),
            )
        };
        let list = Json::Array(TEXTS.iter().map(|text| Json::String((*text).to_owned())).collect());
        assert!(check(&row, &list));
    }
}

/// A value with several possible shapes is recognized by its encoding, for example as a list of two or as a
/// scalar.
#[test]
fn unions_round_trip() {
    const EITHER: ValueShape =
        ValueShape::OneOf(&[ValueShape::Scalar(ScalarType::Text), ValueShape::Array(ScalarType::Text)]);
    for (location, style) in STYLES.into_iter().filter(|(_, style)| *style != ParameterStyle::DeepObject) {
        for explode in [false, true] {
            if style == ParameterStyle::Label && explode {
                continue;
            }
            let row = row(location, style, explode, EITHER);
            for value in [r#""a""#, r#"["a","b"]"#] {
                // Unencoded separators in a scalar are ambiguous.
                let plain = matches!(style, ParameterStyle::SpaceDelimited | ParameterStyle::PipeDelimited)
                    && !explode;
                if !plain {
                    assert!(check(&row, &Json::parse(value.as_bytes()).unwrap()), "{row:?} {value}");
                }
            }
        }
    }
}

#[test]
fn nested_members_of_deep_object_round_trip() {
    const INNER: ValueShape = ValueShape::Object(&[
        ("x", ValueShape::Scalar(ScalarType::Integer(None))),
        ("l", ValueShape::Array(ScalarType::Text)),
    ]);
    let row = row(
        ParameterLocation::Query,
        ParameterStyle::DeepObject,
        true,
        ValueShape::Object(&[
            ("a", INNER),
            ("tags", ValueShape::Array(ScalarType::Text)),
            ("all", ValueShape::Json),
        ]),
    );
    let value = br#"{"a":{"x":1.0,"l":["p","q"]},"tags":["1",""],"all":[{"y":[1]}]}"#;
    assert!(check(&row, &Json::parse(value).unwrap()));
    let (parts, ()) = http::Request::get("/a/x/b?na+me[tags][]=1&na+me[tags][1]=2&na+me[a][l][0]=z")
        .body(())
        .unwrap()
        .into_parts();
    let read = read(&row, &parts).map(|json| json.to_string());
    assert_eq!(read.as_deref(), Some(r#"{"tags":["1","2"],"a":{"l":["z"]}}"#));
}

/// Values of any type round-trip: lists repeat their name, and nested values are encoded as JSON.
#[test]
fn values_of_any_type_round_trip() {
    let open = ValueShape::Map(&[], ScalarType::Any);
    let objects = [
        r#"{"k":1}"#,
        r#"{"k":[1,2]}"#,
        r#"{"k":[1,"a",true],"l":"x","m":-1.50}"#,
        r#"{"k":[[1],[2]],"l":{"a":{"b":[1,2],"c":"d"}},"e":{}}"#,
        r#"{"a b":"[not json","c":"{"}"#,
    ];
    for (location, style) in STYLES {
        for explode in [false, true] {
            for value in objects {
                let json = Json::parse(value.as_bytes()).unwrap();
                let is_sent = check(&row(location, style, explode, open), &json);
                assert!(is_sent || value.contains('['), "{location:?} {style:?} {explode} {value}");
            }
        }
    }
    for value in ["[1,2]", r#"["a",true,null]"#, r#"[{"a":1},[2]]"#] {
        let json = Json::parse(value.as_bytes()).unwrap();
        let query =
            row(ParameterLocation::Query, ParameterStyle::Form, true, ValueShape::Scalar(ScalarType::Any));
        assert_eq!(check(&query, &json), !value.contains("null"), "{value}");
    }
    // The members are lists that contain lists, or have one of several shapes.
    let lists = ValueShape::Map(&[("either", ValueShape::Json)], ScalarType::Json);
    for value in [r#"{"k":[1,2],"either":["a","b"]}"#, r#"{"k":[1],"either":["a"]}"#, r#"{"either":"a"}"#] {
        let json = Json::parse(value.as_bytes()).unwrap();
        assert!(
            check(&row(ParameterLocation::Query, ParameterStyle::DeepObject, true, lists), &json),
            "{value}"
        );
    }
}

/// Only the declared members of an object are read, because other names belong to other parameters.
#[test]
fn only_declared_names_of_an_object_are_read() {
    let declared = ValueShape::Object(&[("a", ValueShape::Scalar(ScalarType::Text))]);
    let row = row(ParameterLocation::Query, ParameterStyle::Form, true, declared);
    let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
    assert!(check(&row, &json(r#"{"a":"1"}"#)));
    assert!(!check(&row, &json(r#"{"a":"1","b":"2"}"#)));
}

/// `deepObject` names may be nested as deeply as JSON documents, but not more deeply.
#[test]
fn deep_object_has_the_nesting_limit_of_documents() {
    let row = row(
        ParameterLocation::Query,
        ParameterStyle::DeepObject,
        true,
        ValueShape::Map(&[], ScalarType::Text),
    );
    let parameters: &'static [Parameter] = Box::leak(Box::new([row]));
    let is_read = |levels: usize| {
        let uri = format!("/a/x/b?na+me{}=1", "[a]".repeat(levels));
        let (parts, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
        let query = QueryPairs::parse(parts.uri.query().unwrap_or("")).unwrap();
        ParameterReader { template: "/a/x/b", parameters, parts: &parts, query: &query }.read_all().is_ok()
    };
    assert!(is_read(511));
    assert!(!is_read(512));
    assert!(!is_read(20_000));
}

/// A form, a JSON document or a string round-trips as the complete query (OpenAPI 3.2, 4.12.1).
#[test]
fn whole_queries_round_trip() {
    const FIELDS: &[Parameter] = &[
        Parameter { name: "tags", shape: ValueShape::Array(ScalarType::Text), ..Parameter::QUERY },
        Parameter { name: "limit", shape: ValueShape::Scalar(ScalarType::Integer(None)), ..Parameter::QUERY },
        Parameter { name: "area", shape: ValueShape::Json, ..Parameter::QUERY },
    ];
    let whole = |shape| row(ParameterLocation::QueryString, ParameterStyle::Form, true, shape);
    let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
    for text in [
        r#"{"tags":["a&b","c d"],"limit":7,"area":{"x":[1,"="]},"other":"1"}"#,
        r#"{"tags":["only"]}"#,
        r#"{"limit":0}"#,
    ] {
        assert!(check(&whole(ValueShape::Form(FIELDS, ScalarType::Text)), &json(text)), "{text}");
        assert!(check(&whole(ValueShape::Json), &json(text)), "{text}");
    }
    assert!(check(&whole(ValueShape::Scalar(ScalarType::Text)), &json(r#""$.a[?(@.b == '=&')]""#)));
    let parts =
        sent(&whole(ValueShape::Form(FIELDS, ScalarType::Text)), &json(r#"{"tags":["a","b c"]}"#)).unwrap();
    assert_eq!(parts.uri.query(), Some("tags=a&tags=b%20c"));
    let required = Parameter { required: true, ..whole(ValueShape::Form(FIELDS, ScalarType::Text)) };
    assert!(sent(&required, &json("{}")).is_none());
}

/// Cookies in the style `cookie` are not encoded, and values with characters that are invalid in cookies are
/// rejected.
#[test]
fn unencoded_cookies_round_trip() {
    for explode in [false, true] {
        let row = |shape| Parameter {
            name: "name",
            ..row(ParameterLocation::Cookie, ParameterStyle::Cookie, explode, shape)
        };
        let text = |text: &str| Json::String(text.to_owned());
        for one in ["", "a%41b", "x=y&z", "a/b?c"] {
            assert!(check(&row(ValueShape::Scalar(ScalarType::Text)), &text(one)), "{one}");
            assert!(
                check(&row(ValueShape::Array(ScalarType::Text)), &Json::Array(vec![text(one), text("b")])),
                "{one}"
            );
        }
        for one in ["a b", "a;b", "\"a\"", "ä", "a\\b"] {
            assert!(!check(&row(ValueShape::Scalar(ScalarType::Text)), &text(one)), "{one}");
        }
        let listed =
            check(&row(ValueShape::Array(ScalarType::Text)), &Json::Array(vec![text("a,b"), text("c")]));
        assert_eq!(listed, explode, "commas separate the elements of an unexploded list");
        let members = object(&[("R", text("100")), ("G", text("200"))]);
        assert!(check(&row(ValueShape::Map(&[], ScalarType::Text)), &members));
    }
}
