//! What is written is read back; what is no such body is refused.

use super::read::parse;
use super::*;
use crate::media::attribute;
use crate::parameters::Scalar;

const ROWS: &[Part] = &[
    Part { name: "title", form: PartForm::Text(Scalar::Text), parts: Parts::One, media_type: "" },
    Part { name: "size", form: PartForm::Text(Scalar::Number), parts: Parts::One, media_type: "" },
    Part { name: "count", form: PartForm::Text(Scalar::Integer(None)), parts: Parts::One, media_type: "" },
    Part { name: "tags", form: PartForm::Text(Scalar::Text), parts: Parts::Each, media_type: "" },
    Part { name: "meta", form: PartForm::Json, parts: Parts::One, media_type: "application/json" },
    Part { name: "file", form: PartForm::Binary, parts: Parts::One, media_type: "image/png" },
    Part { name: "more", form: PartForm::Binary, parts: Parts::OneOrEach, media_type: "" },
];

fn body(writer: Writer) -> (Bytes, String) {
    let (bytes, boundary) = writer.finish();
    (bytes.into(), boundary)
}

#[test]
fn what_is_written_is_read_back() {
    let mut writer = Writer::new(ROWS);
    writer.value("title", &"\u{e9} \"x\"\r\n--part");
    writer.value("size", &12);
    writer.value("count", &crate::Number::literal("5e2"));
    writer.value("tags", &["", "a,b"]);
    writer.value("meta", &serde_json::json!({"a": [1, null]}));
    let mut file = File::new("a \"b\"\n\u{e9}.png", vec![0, 13, 10, 45, 45, 255]);
    file.headers.insert("x-id", HeaderValue::from_static("7"));
    writer.files("file", &file);
    writer.files("more", &vec![File::from("one"), File::new("two", "")]);
    writer.files("none", &None::<File>);
    writer.value("absent", &None::<String>);
    let written = writer.fields.clone();
    let (bytes, boundary) = body(writer);
    let fields = parse(&bytes, &boundary).unwrap();
    assert_eq!(fields, written);
    let object = settle(ROWS, &fields, None).unwrap();
    let reader = Reader::new(ROWS, fields, object);
    assert_eq!(reader.value::<String>("title").as_deref(), Some("\u{e9} \"x\"\r\n--part"));
    assert_eq!(reader.value::<i64>("size"), Some(12));
    assert_eq!(reader.value::<Json>("count"), Some(500.into()));
    assert_eq!(reader.value::<Vec<String>>("tags"), Some(vec![String::new(), "a,b".to_owned()]));
    assert_eq!(
        reader.value::<Json>("meta").map(|json| json.to_string()).as_deref(),
        Some(r#"{"a":[1,null]}"#)
    );
    assert_eq!(reader.optional::<String>("absent"), Some(None));
    let read: File = reader.files("file").unwrap();
    assert_eq!((read.name, read.headers.len()), (file.name, 1));
    assert_eq!(read.media_type.as_deref(), Some("image/png"));
    assert_eq!(reader.files::<Vec<File>>("more").map(|files| files.len()), Some(2));
    assert_eq!(reader.files::<File>("more"), None);
    assert!(reader.others().is_empty());
}

use http::HeaderValue;

#[test]
fn files_count_as_octets() {
    let field = |name: &str, file: File| Field { name: name.to_owned(), file };
    let fields = [field("file", File::from(vec![0, 255, 195, 169])), field("x", File::from("1"))];
    let object = settle(ROWS, &fields, None).unwrap();
    let Some(Json::String(text)) = object.pointer("/file").cloned() else { panic!("{object}") };
    assert_eq!(text.chars().count(), 4);
    assert_eq!(object.pointer("/x"), Some(&Json::String("1".to_owned())));
    // A member that is one value cannot be there twice.
    let twice = [field("size", File::from("1")), field("size", File::from("2"))];
    assert_eq!(settle(ROWS, &twice, None), Err(None));
}

#[test]
fn malformed_bodies_are_refused() {
    let check = |body: &str, parts: Option<usize>| {
        let body = Bytes::copy_from_slice(body.as_bytes());
        assert_eq!(parse(&body, "b").map(|fields| fields.len()), parts, "{body:?}");
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
    check(&format!("--b\r\nA: {}\r\n\r\nx\r\n--b--", "a".repeat(MAX_HEADER)), None);
    check(&format!("{}--b--", "--b\r\n\r\n\r\n".repeat(MAX_PARTS)), Some(MAX_PARTS));
    check(&format!("{}--b--", "--b\r\n\r\n\r\n".repeat(MAX_PARTS + 1)), None);
}

#[test]
fn attributes_are_unquoted() {
    let check = |text: &str, name: &str, expect: Option<&str>| {
        assert_eq!(attribute(text, name).as_deref(), expect, "{text}");
    };
    check("form-data; name=\"a;b\"; filename=\"x%22y\"", "filename", Some("x\"y"));
    check("form-data; name=\"a\\\"b\"", "name", Some("a\"b"));
    check("form-data; name=\"a\\b%5C\"; x=y", "name", Some("a\\b\\"));
    check("multipart/form-data; Boundary=abc ; x=y", "boundary", Some("abc"));
    check("multipart/form-data", "boundary", None);
    check("form-data; name=\"a", "name", None);
}
