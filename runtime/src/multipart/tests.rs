//! Encoding and decoding are inverse; malformed bodies are rejected.

use super::reader::parse_parts;
use super::*;
use crate::client::ApiClient;
use crate::media_type::find_parameter;
use crate::operation::{BodyFormat, BodySpec, ContentSpec, Operation};
use crate::parameters::ScalarType;
use crate::server::{IncomingRequest, RequestContext};
use crate::transport::{Delivery, ResponseFuture, Transport, TransportError, TransportFault};

const ROWS: &[PartSpec] = &[
    PartSpec {
        name: "title",
        encoding: PartEncoding::Text(ScalarType::Text),
        count: PartCount::Single,
        media_type: "",
        accepted: &[],
    },
    PartSpec {
        name: "size",
        encoding: PartEncoding::Text(ScalarType::Number),
        count: PartCount::Single,
        media_type: "",
        accepted: &[],
    },
    PartSpec {
        name: "count",
        encoding: PartEncoding::Text(ScalarType::Integer(None)),
        count: PartCount::Single,
        media_type: "",
        accepted: &[],
    },
    PartSpec {
        name: "tags",
        encoding: PartEncoding::Text(ScalarType::Text),
        count: PartCount::PerElement,
        media_type: "",
        accepted: &[],
    },
    PartSpec {
        name: "meta",
        encoding: PartEncoding::Json,
        count: PartCount::Single,
        media_type: "application/json",
        accepted: &[],
    },
    PartSpec {
        name: "file",
        encoding: PartEncoding::Binary,
        count: PartCount::Single,
        media_type: "image/png",
        accepted: &["image/png", "image/jpeg"],
    },
    PartSpec {
        name: "more",
        encoding: PartEncoding::Binary,
        count: PartCount::SingleOrPerElement,
        media_type: "",
        accepted: &[],
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

/// A part without a media type is accepted, and so is one that its row does not restrict.
#[test]
fn undeclared_media_types_of_parts_are_found() {
    let check = |name: &str, media_type: Option<&str>, is_accepted: bool| {
        let file = FilePart { media_type: media_type.map(str::to_owned), ..FilePart::from("x") };
        let fields = [MultipartField { name: name.to_owned(), file }];
        let found = find_unaccepted(ROWS, &fields).map(|row| row.name);
        assert_eq!(found, (!is_accepted).then_some("file"), "{name} {media_type:?}");
    };
    check("file", Some("image/png"), true);
    check("file", Some("Image/JPEG; q=1"), true);
    check("file", None, true);
    check("file", Some("image/gif"), false);
    check("file", Some("application/octet-stream"), false);
    check("file", Some("nonsense"), false);
    check("more", Some("image/gif"), true);
    check("other", Some("image/gif"), true);
}

/// Client and server reject the same parts: `415` on the server, an invalid argument of the client.
#[test]
fn client_and_server_reject_undeclared_media_types_of_parts() {
    static UPLOAD: Operation = Operation {
        id: "upload",
        method: "POST",
        path: "/pictures",
        body: Some(BodySpec {
            required: true,
            content: &[ContentSpec {
                media_type: "multipart/form-data",
                format: BodyFormat::Multipart(ROWS),
                schema: "",
                validator: None,
            }],
        }),
        ..Operation::EMPTY
    };
    let client = ApiClient::new("http://localhost", Unused);
    let fields = |media_type: &str| {
        vec![MultipartField {
            name: "file".to_owned(),
            file: FilePart::new("a", "x").with_media_type(media_type),
        }]
    };
    let request =
        |media_type: &str| client.request(&UPLOAD).multipart("multipart/form-data", &fields(media_type));
    let received = |media_type: &str| {
        let mut writer = MultipartWriter::new(ROWS);
        fields(media_type).write_parts(&mut writer);
        let (bytes, boundary) = body(writer);
        let head = http::Request::post("/pictures")
            .header("content-type", format!("multipart/form-data; boundary={boundary}"));
        let parts = head.body(()).unwrap().into_parts().0;
        let context = RequestContext::new(std::sync::Arc::new(parts), Some(&UPLOAD), bytes);
        IncomingRequest::new(&UPLOAD, context).unwrap().multipart_body::<Vec<MultipartField>>()
    };
    assert!(request("image/jpeg").into_stored().is_ok());
    assert!(received("image/jpeg").is_ok());
    let violations = request("image/gif").into_stored().unwrap_err();
    let found: Vec<_> = violations.iter().map(|violation| (&*violation.pointer, violation.keyword)).collect();
    assert_eq!(found, [("/file", "contentMediaType")]);
    let rejection = received("image/gif").unwrap_err();
    assert_eq!(rejection.to_string(), "the part file must be image/png or image/jpeg");
    assert_eq!((rejection.status(), rejection.header()), (415, None));
}

/// If the contract declares only a range for a file without a media type, the client derives the media type
/// or rejects the request.
#[test]
fn files_within_a_range_have_a_media_type() {
    const PICTURE: &[PartSpec] = &[PartSpec {
        name: "picture",
        encoding: PartEncoding::Binary,
        count: PartCount::Single,
        media_type: "",
        accepted: &["image/*"],
    }];
    static UPLOAD: Operation = Operation {
        id: "upload",
        method: "POST",
        path: "/pictures",
        body: Some(BodySpec {
            required: true,
            content: &[ContentSpec {
                media_type: "multipart/form-data",
                format: BodyFormat::Multipart(PICTURE),
                schema: "",
                validator: None,
            }],
        }),
        ..Operation::EMPTY
    };
    struct Upload(FilePart);
    impl Multipart for Upload {
        fn write_parts(&self, form: &mut MultipartWriter) {
            form.write_files("picture", &self.0);
        }
        fn read_parts(form: &MultipartReader) -> Option<Self> {
            form.read_files("picture").map(Self)
        }
    }
    let client = ApiClient::new("http://localhost", Unused);
    let sent = |file: FilePart| {
        let request = client.request(&UPLOAD).multipart("multipart/form-data", &Upload(file));
        let stored = request.into_stored().map_err(|violations| {
            let found =
                violations.into_iter().map(|v| format!("{}: {} ({})", v.pointer, v.keyword, v.schema));
            found.collect::<Vec<_>>().join("; ")
        })?;
        let body = String::from_utf8(stored.body.to_vec()).unwrap();
        Ok(body.lines().find_map(|line| line.strip_prefix("Content-Type: ")).unwrap().to_owned())
    };
    assert_eq!(sent(FilePart::new("a.png", "x")), Ok("image/png".to_owned()));
    assert_eq!(sent(FilePart::from("x").with_media_type("image/x-own")), Ok("image/x-own".to_owned()));
    let untyped = Err("/picture: contentMediaType (operation upload)".to_owned());
    assert_eq!(sent(FilePart::from("x")), untyped);
    assert_eq!(sent(FilePart::new("a.pdf", "x")), untyped);
    assert_eq!(sent(FilePart::new("a.png", "x").with_media_type("text/plain")), untyped);
}

/// A transport for clients that only build requests.
struct Unused;

impl Transport for Unused {
    fn send<'a>(&'a self, _: &'static Operation, _: http::Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(std::future::ready(Err(TransportError::new(TransportFault::Other, Delivery::NotSent))))
    }
}
