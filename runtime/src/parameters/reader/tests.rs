//! Tests of decoding with one table for each style. Validation is tested with the schema engine.

use super::*;
use crate::parameters::ParameterStyle;
use crate::schema::{
    Keyword, ResourceId, Schema, SchemaId, SchemaResource, SchemaTables, TypeSet, Validator,
};

static TABLES: SchemaTables = SchemaTables {
    schemas: &[Schema { resource: ResourceId(0), location: "", keywords: &[Keyword::Type(TypeSet::NUMBER)] }],
    resources: &[SchemaResource { uri: "test", dynamic_anchors: &[] }],
};

const fn number() -> Validator<'static> {
    Validator::new(&TABLES, SchemaId(0))
}

const fn parameter(
    name: &'static str,
    location: ParameterLocation,
    style: ParameterStyle,
    shape: ValueShape,
) -> Parameter {
    Parameter { name, location, required: false, style, explode: false, shape, ..Parameter::QUERY }
}

const fn exploded(mut parameter: Parameter) -> Parameter {
    parameter.explode = true;
    parameter
}

fn read(parameters: &'static [Parameter], uri: &str, headers: &[(&str, &str)]) -> String {
    let mut request = http::Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let query = QueryPairs::parse(parts.uri.query().unwrap_or("")).unwrap();
    match (ParameterReader { template: "/pets/{id}", parameters, parts: &parts, query: &query }).read_all() {
        Ok(values) => {
            let shown = values.into_iter().map(|v| v.map_or("-".to_owned(), |v| v.to_string()));
            shown.collect::<Vec<_>>().join(" ")
        }
        Err(faults) => {
            let shown = faults.iter().map(|f| format!("{} {} {}", f.location, f.pointer, f.keyword));
            shown.collect::<Vec<_>>().join("; ")
        }
    }
}

const FIELDS: &[(&str, ValueShape)] =
    &[("r", ValueShape::Scalar(ScalarType::Number)), ("on", ValueShape::Scalar(ScalarType::Boolean))];
const TEXT: ValueShape = ValueShape::Scalar(ScalarType::Text);
const NUMBERS: ValueShape = ValueShape::Array(ScalarType::Number);

#[test]
fn query_parameters_by_style() {
    const P: &[Parameter] = &[
        parameter("q", ParameterLocation::Query, ParameterStyle::Form, TEXT),
        exploded(parameter("n", ParameterLocation::Query, ParameterStyle::Form, NUMBERS)),
        parameter("c", ParameterLocation::Query, ParameterStyle::Form, ValueShape::Array(ScalarType::Text)),
        parameter("p", ParameterLocation::Query, ParameterStyle::PipeDelimited, NUMBERS),
        exploded(parameter(
            "f",
            ParameterLocation::Query,
            ParameterStyle::DeepObject,
            ValueShape::Object(FIELDS),
        )),
        exploded(parameter("o", ParameterLocation::Query, ParameterStyle::Form, ValueShape::Object(FIELDS))),
        parameter("j", ParameterLocation::Query, ParameterStyle::Form, ValueShape::Json),
    ];
    let check = |uri: &str, expect: &str| assert_eq!(read(P, uri, &[]), expect, "{uri}");
    check("/pets/1", "- - - - - - -");
    check("/pets/1?q=12&n=1&n=2.50&other=x", r#""12" [1,2.50] - - - - -"#);
    check("/pets/1?q=a+b%2B&c=a%2Cb,c&p=1|2", r#""a b+" - ["a,b","c"] [1,2] - - -"#);
    check("/pets/1?f[r]=1&f%5Bz%5D=9", r#"- - - - {"r":1,"z":"9"} - -"#);
    check("/pets/1?r=1&on=true", r#"- - - - - {"r":1,"on":true} -"#);
    check("/pets/1?j=%7B%22a%22:1%7D", r#"- - - - - - {"a":1}"#);
    check("/pets/1?q=1&q=2", "query /q type");
    check("/pets/1?j=%7B", "query /j type");
    check("/pets/1?f[r]=1&f[r]=2", "query /f type");
}

#[test]
fn path_header_and_cookie_parameters() {
    const P: &[Parameter] = &[
        parameter("id", ParameterLocation::Path, ParameterStyle::Simple, ValueShape::Scalar(ScalarType::Any)),
        parameter("X-Ids", ParameterLocation::Header, ParameterStyle::Simple, NUMBERS),
        parameter("X-One", ParameterLocation::Header, ParameterStyle::Simple, TEXT),
        parameter("sid", ParameterLocation::Cookie, ParameterStyle::Form, TEXT),
    ];
    let check = |uri: &str, headers: &[(&str, &str)], expect: &str| {
        assert_eq!(read(P, uri, headers), expect, "{uri}");
    };
    check("/pets/a%2Fb+c", &[], r#""a/b+c" - - -"#);
    check("/pets/7", &[("x-ids", "1, 2"), ("X-Ids", "3"), ("x-one", "%41")], r#"7 [1,2,3] "%41" -"#);
    check("/pets/true", &[("cookie", "a=1; sid=x%20y=")], r#"true - - "x y=""#);
    check("/pets/7", &[("x-one", "1"), ("x-one", "2")], "header /X-One type");
    check("/pets/7", &[("cookie", "sid=1; sid=2")], "cookie /sid type");
    check("/pets/%ff", &[], "path /id type");
}

/// An empty value counts as absent if `allowEmptyValue` is set (OpenAPI 3.1, 4.8.12.2.1).
#[test]
fn allow_empty_value_omits_the_parameter() {
    const NUMBER: Parameter = Parameter { name: "n", validator: Some(number()), ..Parameter::QUERY };
    const P: &[Parameter] = &[
        Parameter { allow_empty: true, ..NUMBER },
        Parameter { name: "t", allow_empty: true, ..Parameter::QUERY },
        Parameter { name: "l", allow_empty: true, shape: NUMBERS, explode: false, ..Parameter::QUERY },
    ];
    let check = |uri: &str, expect: &str| assert_eq!(read(P, uri, &[]), expect, "{uri}");
    check("/pets/1?n&t=&l=", r#"- "" []"#);
    check("/pets/1?n=", "- - -");
    check("/pets/1?n=%20", "query /n type");
    check("/pets/1?n=&n=", "query /n type");
    const OTHER: &[Parameter] = &[NUMBER];
    assert_eq!(read(OTHER, "/pets/1?n=", &[]), "query /n type");
}

#[test]
fn all_errors_are_reported_in_order() {
    const P: &[Parameter] = &[
        Parameter {
            required: true,
            ..parameter("a/b", ParameterLocation::Header, ParameterStyle::Simple, TEXT)
        },
        Parameter {
            validator: Some(number()),
            ..parameter(
                "limit",
                ParameterLocation::Query,
                ParameterStyle::Form,
                ValueShape::Scalar(ScalarType::Number),
            )
        },
    ];
    assert_eq!(read(P, "/pets/1?limit=x", &[]), "header /a~1b required; query /limit type");
}

#[test]
fn forms_become_objects() {
    const FIELD: Parameter = Parameter { explode: true, ..Parameter::QUERY };
    const FORM: &[Parameter] = &[
        Parameter { name: "n", shape: ValueShape::Scalar(ScalarType::Number), ..FIELD },
        Parameter { name: "tags", shape: ValueShape::Array(ScalarType::Text), ..FIELD },
        Parameter { name: "deep", shape: ValueShape::Json, ..FIELD },
    ];
    let check = |body: &str, expect: Option<&str>| {
        let read = read_form(FORM, ScalarType::Text, body).map(|json| json.to_string());
        assert_eq!(read.as_deref(), expect, "{body}");
    };
    check("n=1&tags=a&tags=b+c&x=2&deep=[1]", Some(r#"{"n":1,"tags":["a","b c"],"deep":[1],"x":"2"}"#));
    check("x=1&x=2", Some(r#"{"x":["1","2"]}"#));
    check("", Some("{}"));
    check("n=1&n=2", None);
    check("=1", None);
    check("deep={", None);
}

/// An integer beyond its bounds violates the bound, even if it has more digits than any permitted value.
#[test]
fn integers_beyond_the_bounds_violate_the_bound() {
    use crate::Number;

    static TABLES: SchemaTables = SchemaTables {
        schemas: &[Schema {
            resource: ResourceId(0),
            location: "/limit",
            keywords: &[
                Keyword::Type(TypeSet::INTEGER),
                Keyword::Minimum(Number::from_i64(-5)),
                Keyword::Maximum(Number::from_i64(50)),
            ],
        }],
        resources: &[SchemaResource { uri: "test", dynamic_anchors: &[] }],
    };
    const LIMIT: Parameter = Parameter {
        name: "limit",
        shape: ValueShape::Scalar(ScalarType::Integer(Some(2))),
        validator: Some(Validator::new(&TABLES, SchemaId(0))),
        ..Parameter::QUERY
    };
    let check = |sent: &str, keyword: &str, message: &str| {
        let (parts, ()) =
            http::Request::builder().uri(format!("/?limit={sent}")).body(()).unwrap().into_parts();
        let query = QueryPairs::parse(parts.uri.query().unwrap()).unwrap();
        let reader = ParameterReader { template: "/", parameters: &[LIMIT], parts: &parts, query: &query };
        let faults = reader.read_all().unwrap_err();
        let found: Vec<_> = faults.iter().map(|fault| (fault.keyword, fault.message())).collect();
        assert_eq!(found, [(keyword, message.to_owned())], "{sent}");
    };
    check("51", "maximum", "must be at most 50");
    check("100", "maximum", "must be at most 50");
    check("-100", "minimum", "must be at least -5");
    check("007", "type", "must be an integer");
    check("a", "type", "must be an integer");
}
