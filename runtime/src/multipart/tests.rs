//! Encoding and decoding are inverse; malformed bodies are rejected.

use super::reader::parse_parts;
use super::*;
use crate::media_type::find_parameter;
use crate::parameters::ScalarType;

const ROWS: &[PartSpec] = &[
    PartSpec {
        name: "title",
        encoding: PartEncoding::Text(ScalarType::Text),
        count: PartCount::Single,
        media_type: "",
    },
    PartSpec {
        name: "size",
        encoding: PartEncoding::Text(ScalarType::Number),
        count: PartCount::Single,
        media_type: "",
    },
    PartSpec {
        name: "count",
        encoding: PartEncoding::Text(ScalarType::Integer(None)),
        count: PartCount::Single,
        media_type: "",
    },
    PartSpec {
        name: "tags",
        encoding: PartEncoding::Text(ScalarType::Text),
        count: PartCount::PerElement,
        media_type: "",
    },
    PartSpec {
        name: "meta",
        encoding: PartEncoding::Json,
        count: PartCount::Single,
        media_type: "application/json",
    },
    PartSpec {
        name: "file",
        encoding: PartEncoding::Binary,
        count: PartCount::Single,
        media_type: "image/png",
    },
    PartSpec {
        name: "more",
        encoding: PartEncoding::Binary,
        count: PartCount::SingleOrPerElement,
        media_type: "",
    },
];

fn body(writer: MultipartWriter) -> (Bytes, String) {
    let (bytes, boundary) = writer.into_bytes();
    (bytes.into(), boundary)
}

#[test]
fn parts_round_trip() {
    let mut writer = MultipartWriter::new(ROWS);
    writer.write_value("title", &"\u{e9} \"x\"\r\n--part");
    writer.write_value("size", &12);
    writer.write_value("count", &crate::Number::from_literal("5e2"));
    writer.write_value("tags", &["", "a,b"]);
    writer.write_value("meta", &serde_json::json!({"a": [1, null]}));
    let mut file = FilePart::new("a \"b\"\n\u{e9}.png", vec![0, 13, 10, 45, 45, 255]);
    file.headers.insert("x-id", HeaderValue::from_static("7"));
    writer.write_files("file", &file);
    writer.write_files("more", &vec![FilePart::from("one"), FilePart::new("two", "")]);
    writer.write_files("none", &None::<FilePart>);
    writer.write_value("absent", &None::<String>);
    let written = writer.fields.clone();
    let (bytes, boundary) = body(writer);
    let fields = parse_parts(&bytes, &boundary).unwrap();
    assert_eq!(fields, written);
    let object = resolve_json(ROWS, &fields, None).unwrap();
    let reader = MultipartReader::new(ROWS, fields, object);
    assert_eq!(reader.read_value::<String>("title").as_deref(), Some("\u{e9} \"x\"\r\n--part"));
    assert_eq!(reader.read_value::<i64>("size"), Some(12));
    assert_eq!(reader.read_value::<Json>("count"), Some(500.into()));
    assert_eq!(reader.read_value::<Vec<String>>("tags"), Some(vec![String::new(), "a,b".to_owned()]));
    assert_eq!(
        reader.read_value::<Json>("meta").map(|json| json.to_string()).as_deref(),
        Some(r#"{"a":[1,null]}"#)
    );
    assert_eq!(reader.read_optional::<String>("absent"), Some(None));
    let read: FilePart = reader.read_files("file").unwrap();
    assert_eq!((read.name, read.headers.len()), (file.name, 1));
    assert_eq!(read.media_type.as_deref(), Some("image/png"));
    assert_eq!(reader.read_files::<Vec<FilePart>>("more").map(|files| files.len()), Some(2));
    assert_eq!(reader.read_files::<FilePart>("more"), None);
    assert!(reader.undeclared_fields().is_empty());
}

use http::HeaderValue;

#[test]
fn files_count_as_octets() {
    let field = |name: &str, file: FilePart| MultipartField { name: name.to_owned(), file };
    let fields = [field("file", FilePart::from(vec![0, 255, 195, 169])), field("x", FilePart::from("1"))];
    let object = resolve_json(ROWS, &fields, None).unwrap();
    let Some(Json::String(text)) = object.pointer("/file").cloned() else { panic!("{object}") };
    assert_eq!(text.chars().count(), 4);
    assert_eq!(object.pointer("/x"), Some(&Json::String("1".to_owned())));
    // A field with one value cannot occur twice.
    let twice = [field("size", FilePart::from("1")), field("size", FilePart::from("2"))];
    assert_eq!(resolve_json(ROWS, &twice, None), Err(None));
}

#[test]
fn malformed_bodies_are_rejected() {
    let check = |body: &str, parts: Option<usize>| {
        let body = Bytes::copy_from_slice(body.as_bytes());
        assert_eq!(parse_parts(&body, "b").map(|fields| fields.len()), parts, "{body:?}");
    };
    check("--b--", Some(0));
    check("preamble\r\n--b\r\n\r\nx\r\n--b--\r\nepilogue", Some(1));
    check("--b \t\r\nA: 1\r\n\r\n\r\n--b--", Some(1));
    check("", None);
    check("--b", None);
    check("--b\r\n\r\nx", None);
    check("--b\r\n\r\nx\r\n--b", None);
    check("--b\r\nno colon\r\n\r\nx\r\n--b--", None);
    check("--bx\r\n\r\nx\r\n--b--", None);
    check(&format!("--b\r\nA: {}\r\n\r\nx\r\n--b--", "a".repeat(MAX_PART_HEADER_BYTES)), None);
    check(&format!("{}--b--", "--b\r\n\r\n\r\n".repeat(MAX_PARTS)), Some(MAX_PARTS));
    check(&format!("{}--b--", "--b\r\n\r\n\r\n".repeat(MAX_PARTS + 1)), None);
}

#[test]
fn attributes_are_unquoted() {
    let check = |text: &str, name: &str, expect: Option<&str>| {
        assert_eq!(find_parameter(text, name).as_deref(), expect, "{text}");
    };
    check("form-data; name=\"a;b\"; filename=\"x%22y\"", "filename", Some("x\"y"));
    check("form-data; name=\"a\\\"b\"", "name", Some("a\"b"));
    check("form-data; name=\"a\\b%5C\"; x=y", "name", Some("a\\b\\"));
    check("multipart/form-data; Boundary=abc ; x=y", "boundary", Some("abc"));
    check("multipart/form-data", "boundary", None);
    check("form-data; name=\"a", "name", None);
}
