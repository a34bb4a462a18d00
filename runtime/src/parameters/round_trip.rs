//! What a client writes a server reads back equal, for every style, explode and shape.

use http::{HeaderValue, header::COOKIE};

use super::{Location, Parameter, Query, Scalar, Shape, Sources, Style, write};
use crate::{Json, Number, schema::Types};

/// Texts that are hard to tell from syntax.
const TEXTS: [&str; 9] = ["a", "", "é 漢", "a/b?c#d&e=f+g", "%41%", "1.50", ".", "~-_.", "a;b:c"];

fn row(location: Location, style: Style, explode: bool, shape: Shape) -> Parameter {
    let plain = match location {
        Location::Path => Parameter::PATH,
        Location::Query => Parameter::QUERY,
        Location::Header => Parameter::HEADER,
        Location::Cookie => Parameter::COOKIE,
        Location::QueryString => Parameter::QUERY_STRING,
    };
    Parameter { name: "na me", style, explode, shape, ..plain }
}

/// The request that a value makes; `None` when it has no text there.
fn sent(row: &Parameter, value: &Json) -> Option<http::request::Parts> {
    let mut request = http::Request::builder();
    let mut path = "/a/x/b".to_owned();
    let pairs = |row: &Parameter| {
        let pairs = write::pairs(row, value).ok()?;
        Some(pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>())
    };
    match row.location {
        Location::Path => {
            let text = write::path(row, value).ok()?;
            // What the client refuses by itself: another path.
            if matches!(text.replace("%2E", ".").as_str(), "" | "." | "..") {
                return None;
            }
            path = format!("/a/{text}/b");
        }
        Location::Query => path = format!("/a/x/b?{}", pairs(row)?.join("&")),
        Location::QueryString => {
            path = format!("/a/x/b?{}", write::whole(row, value).ok()?.unwrap_or_default());
        }
        Location::Header => {
            if let Some(text) = write::header(row, value).ok()? {
                request = request.header("X-Name", HeaderValue::try_from(text).ok()?);
            }
        }
        Location::Cookie => {
            let cookies = pairs(row)?;
            if !cookies.is_empty() {
                // A map takes every cookie that belongs to nobody.
                let other = if matches!(row.shape, Shape::Map(..)) { "" } else { "other=1; " };
                request = request.header(COOKIE, format!("{other}{}", cookies.join("; ")));
            }
        }
    }
    Some(request.uri(path).body(()).unwrap().into_parts().0)
}

fn read(row: &Parameter, parts: &http::request::Parts) -> Option<Json> {
    let mut row = *row;
    if row.location == Location::Header {
        row.name = "X-Name";
    }
    let parameters: &'static [Parameter] = Box::leak(Box::new([row]));
    let query = Query::parse(parts.uri.query().unwrap_or("")).unwrap();
    let mut values = Sources { path: "/a/{na me}/b", parameters, parts, query: &query }.read().unwrap();
    values.remove(0)
}

fn check(row: &Parameter, value: &Json) -> bool {
    let Some(parts) = sent(row, value) else { return false };
    let shown = format!("{:?} {:?} explode={} {value} {parts:?}", row.location, row.style, row.explode);
    match read(row, &parts) {
        Some(read) => assert_eq!(read, *value, "{shown}"),
        // An empty list or object that is not required is left out.
        None => assert!(matches!(value.to_string().as_str(), "[]" | "{}"), "{shown}"),
    }
    true
}

const STYLES: [(Location, Style); 9] = [
    (Location::Path, Style::Simple),
    (Location::Path, Style::Label),
    (Location::Path, Style::Matrix),
    (Location::Query, Style::Form),
    (Location::Query, Style::SpaceDelimited),
    (Location::Query, Style::PipeDelimited),
    (Location::Query, Style::DeepObject),
    (Location::Header, Style::Simple),
    (Location::Cookie, Style::Form),
];

fn object(members: &[(&str, Json)]) -> Json {
    Json::Object(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

#[test]
fn every_style_and_shape_comes_back() {
    const MEMBERS: &[(&str, Shape)] = &[
        ("R", Shape::Scalar(Scalar::Text)),
        ("is it", Shape::Scalar(Scalar::Boolean)),
        ("n", Shape::Scalar(Scalar::Number)),
        ("whole", Shape::Scalar(Scalar::Integer(Some(3)))),
        ("deep", Shape::Json),
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
                check(Shape::Scalar(Scalar::Text), text(one));
                check(Shape::Json, text(one));
                for list in [vec![one], vec![one, "x"], vec!["x", one, one]] {
                    let list = Json::Array(list.into_iter().map(text).collect());
                    check(Shape::Array(Scalar::Text), list.clone());
                    check(Shape::Json, list);
                }
                let yes = Json::Bool(true);
                let deep = object(&[("a", Json::Array(vec![Json::Null, text(one)]))]);
                let whole = Json::Number(Number::literal("5e2"));
                let members = [("R", text(one)), ("is it", yes), ("whole", whole), ("deep", deep)];
                check(Shape::Object(MEMBERS), object(&members));
                check(Shape::Map(&[], Scalar::Text), object(&[("a b", text(one)), ("c", text("d"))]));
            }
            check(Shape::Array(Scalar::Text), Json::Array(Vec::new()));
            check(Shape::Object(MEMBERS), object(&[]));
            for whole in ["0", "5e2", "-5.0"] {
                let value = Json::parse(whole.as_bytes()).unwrap();
                check(Shape::Array(Scalar::Integer(None)), Json::Array(vec![value.clone(); 2]));
                check(Shape::Map(&[], Scalar::Integer(None)), object(&[("a", value.clone())]));
                check(Shape::Scalar(Scalar::Of(Types::INTEGER.or(Types::STRING))), value.clone());
                check(Shape::Scalar(Scalar::Integer(None)), value);
            }
            for number in ["0", "-1.50", "12345678901234567890.1", "true", "[1,-2.5]"] {
                let value = Json::parse(number.as_bytes()).unwrap();
                let shape = match value {
                    Json::Array(_) => Shape::Array(Scalar::Number),
                    Json::Bool(_) => Shape::Scalar(Scalar::Boolean),
                    _ => Shape::Scalar(Scalar::Of(Types::NUMBER.or(Types::STRING))),
                };
                check(shape, value);
            }
        }
    }
    // Most combinations have a text; those that have none are the ones that `parameters` lists.
    assert!(carried * 10 > tried * 8, "{carried} of {tried}");
}

#[test]
fn reserved_characters_come_back() {
    for explode in [false, true] {
        let row = Parameter {
            allow_reserved: true,
            ..row(Location::Query, Style::Form, explode, Shape::Array(Scalar::Text))
        };
        let list = Json::Array(TEXTS.iter().map(|text| Json::String((*text).to_owned())).collect());
        assert!(check(&row, &list));
    }
}

/// One of several shapes is told apart by its text: a list of two, a plain value.
#[test]
fn unions_come_back() {
    const EITHER: Shape = Shape::OneOf(&[Shape::Scalar(Scalar::Text), Shape::Array(Scalar::Text)]);
    for (location, style) in STYLES.into_iter().filter(|(_, style)| *style != Style::DeepObject) {
        for explode in [false, true] {
            if style == Style::Label && explode {
                continue;
            }
            let row = row(location, style, explode, EITHER);
            for value in [r#""a""#, r#"["a","b"]"#] {
                // Separators that are not encoded inside of a plain value say nothing.
                let plain = matches!(style, Style::SpaceDelimited | Style::PipeDelimited) && !explode;
                if !plain {
                    assert!(check(&row, &Json::parse(value.as_bytes()).unwrap()), "{row:?} {value}");
                }
            }
        }
    }
}

#[test]
fn nested_members_come_back_below_deep_object() {
    const INNER: Shape =
        Shape::Object(&[("x", Shape::Scalar(Scalar::Integer(None))), ("l", Shape::Array(Scalar::Text))]);
    let row = row(
        Location::Query,
        Style::DeepObject,
        true,
        Shape::Object(&[("a", INNER), ("tags", Shape::Array(Scalar::Text)), ("all", Shape::Json)]),
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

/// What anything may be comes back: lists repeat their name, what is inside of others is JSON text.
#[test]
fn open_values_come_back() {
    let open = Shape::Map(&[], Scalar::Any);
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
        let query = row(Location::Query, Style::Form, true, Shape::Scalar(Scalar::Any));
        assert_eq!(check(&query, &json), !value.contains("null"), "{value}");
    }
    // Lists of members that are lists themselves, or one of several.
    let lists = Shape::Map(&[("either", Shape::Json)], Scalar::Json);
    for value in [r#"{"k":[1,2],"either":["a","b"]}"#, r#"{"k":[1],"either":["a"]}"#, r#"{"either":"a"}"#] {
        let json = Json::parse(value.as_bytes()).unwrap();
        assert!(check(&row(Location::Query, Style::DeepObject, true, lists), &json), "{value}");
    }
}

/// Names beside declared members are those of others.
#[test]
fn what_the_client_sends_of_an_object_is_looked_for() {
    let declared = Shape::Object(&[("a", Shape::Scalar(Scalar::Text))]);
    let row = row(Location::Query, Style::Form, true, declared);
    let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
    assert!(check(&row, &json(r#"{"a":"1"}"#)));
    assert!(!check(&row, &json(r#"{"a":"1","b":"2"}"#)));
}

/// As deep as a document, whatever a sender writes.
#[test]
fn what_stands_below_deep_object_is_as_deep_as_a_document() {
    let row = row(Location::Query, Style::DeepObject, true, Shape::Map(&[], Scalar::Text));
    let parameters: &'static [Parameter] = Box::leak(Box::new([row]));
    let is_read = |levels: usize| {
        let uri = format!("/a/x/b?na+me{}=1", "[a]".repeat(levels));
        let (parts, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or("")).unwrap();
        Sources { path: "/a/x/b", parameters, parts: &parts, query: &query }.read().is_ok()
    };
    assert!(is_read(511));
    assert!(!is_read(512));
    assert!(!is_read(20_000));
}

/// OpenAPI 3.2, 4.12.1: a form, JSON, or a text, as the whole query.
#[test]
fn whole_queries_come_back() {
    const FIELDS: &[Parameter] = &[
        Parameter { name: "tags", shape: Shape::Array(Scalar::Text), ..Parameter::QUERY },
        Parameter { name: "limit", shape: Shape::Scalar(Scalar::Integer(None)), ..Parameter::QUERY },
        Parameter { name: "area", shape: Shape::Json, ..Parameter::QUERY },
    ];
    let whole = |shape| row(Location::QueryString, Style::Form, true, shape);
    let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
    for text in [
        r#"{"tags":["a&b","c d"],"limit":7,"area":{"x":[1,"="]},"other":"1"}"#,
        r#"{"tags":["only"]}"#,
        r#"{"limit":0}"#,
    ] {
        assert!(check(&whole(Shape::Form(FIELDS, Scalar::Text)), &json(text)), "{text}");
        assert!(check(&whole(Shape::Json), &json(text)), "{text}");
    }
    assert!(check(&whole(Shape::Scalar(Scalar::Text)), &json(r#""$.a[?(@.b == '=&')]""#)));
    let parts = sent(&whole(Shape::Form(FIELDS, Scalar::Text)), &json(r#"{"tags":["a","b c"]}"#)).unwrap();
    assert_eq!(parts.uri.query(), Some("tags=a&tags=b%20c"));
    let required = Parameter { required: true, ..whole(Shape::Form(FIELDS, Scalar::Text)) };
    assert!(sent(&required, &json("{}")).is_none());
}

/// OpenAPI 3.2, 4.12.3: nothing is encoded, and what a cookie cannot hold is refused.
#[test]
fn cookies_as_they_are_come_back() {
    for explode in [false, true] {
        let row = |shape| Parameter { name: "name", ..row(Location::Cookie, Style::Cookie, explode, shape) };
        let text = |text: &str| Json::String(text.to_owned());
        for one in ["", "a%41b", "x=y&z", "a/b?c"] {
            assert!(check(&row(Shape::Scalar(Scalar::Text)), &text(one)), "{one}");
            assert!(
                check(&row(Shape::Array(Scalar::Text)), &Json::Array(vec![text(one), text("b")])),
                "{one}"
            );
        }
        for one in ["a b", "a;b", "\"a\"", "ä", "a\\b"] {
            assert!(!check(&row(Shape::Scalar(Scalar::Text)), &text(one)), "{one}");
        }
        let listed = check(&row(Shape::Array(Scalar::Text)), &Json::Array(vec![text("a,b"), text("c")]));
        assert_eq!(listed, explode, "a comma stands between the elements of one text");
        let members = object(&[("R", text("100")), ("G", text("200"))]);
        assert!(check(&row(Shape::Map(&[], Scalar::Text)), &members));
    }
}
