//! The `Debug` output of public types shows no content of requests and responses.

use http::HeaderMap;

use super::*;
use crate::multipart::{FilePart, MultipartField, MultipartReader, MultipartWriter};
use crate::parameters::{ParameterReader, QueryPairs};

#[test]
fn debug_output_of_public_types_hides_content() {
    let request = HttpRequest::post("/pets?limit=4711&hush=hush")
        .header("content-type", "application/json")
        .header("idempotency-key", "hush")
        .header("authorization", "hush")
        .body(())
        .unwrap();
    let (parts, ()) = request.into_parts();
    let query = QueryPairs::parse("limit=4711&hush=hush").unwrap();
    let sources = format!(
        "{:?}",
        ParameterReader {
            template: ALL[0].path,
            parameters: ALL[0].parameters,
            parts: &parts,
            query: &query
        }
    );
    let context = RequestContext::new(Arc::new(parts), Some(&ALL[0]), Bytes::from(r#"{"name":"hush"}"#));
    let call = IncomingRequest::new(&ALL[0], context.clone()).unwrap();

    let mut headers = HeaderMap::new();
    headers.insert("set-cookie", HeaderValue::from_static("hush"));
    let response = EncodedResponse { status: StatusCode::OK, headers: headers.clone(), body: "hush".into() };
    let refused = ErrorResponse::new(StatusCode::CONFLICT, ())
        .with_header(HeaderName::from_static("set-cookie"), HeaderValue::from_static("hush"));
    let reply = TypedResponse { status: None, headers, declared_headers: (), body: () };
    let field = MultipartField { name: "file".to_owned(), file: FilePart::new("hush", "hush") };
    let object = Json::Object([("file".to_owned(), Json::String("hush".to_owned()))].into_iter().collect());
    let mut writer = MultipartWriter::new(&[]);
    writer.write_fields(std::slice::from_ref(&field));
    let json = Json::parse(br#"{"name":"hush, a secret"}"#).unwrap();
    let violations = Validator::new(&TABLES, SchemaId(0)).validate(&json).unwrap_err();
    let rejection = Rejection::InvalidBody(violations.clone());
    let broken = InvalidResponse::Body(StatusCode::OK, violations);

    let printed = [
        sources,
        format!("{query:?}"),
        format!("{context:?}"),
        format!("{call:?}"),
        format!("{response:?}"),
        format!("{:?}", ErrorResponse::<()>::encoded(response)),
        format!("{refused:?} {:?}", refused.as_typed()),
        format!("{reply:?}"),
        format!("{field:?} {writer:?}"),
        format!("{:?}", MultipartReader::new(&[], vec![field], object)),
        format!("{rejection:?} {rejection} {:?}", rejection.violations()),
        format!("{broken:?} {broken} {:?}", ServerEvent::InvalidResponse(&broken)),
        format!("{:?}", ErrorResponse::<()>::from(rejection)),
        format!("{:?}", RouterOptions::default()),
    ];
    for text in printed {
        assert!(!text.contains("hush") && !text.contains("4711"), "{text}");
    }
}

/// A value at the nesting limit of the parser fits its type.
#[test]
fn body_at_the_nesting_limit_is_accepted() {
    let body = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    static ANY: Operation = Operation {
        id: "any",
        method: "POST",
        path: "/any",
        body: Some(operation::BodySpec {
            required: true,
            content: &[operation::ContentSpec {
                media_type: "application/json",
                format: BodyFormat::Json,
                schema: "",
                validator: None,
            }],
        }),
        ..Operation::EMPTY
    };
    for levels in [127, 128, 512] {
        let text = body(levels);
        let (parts, ()) = HttpRequest::post("/any").body(()).unwrap().into_parts();
        let context = RequestContext::new(Arc::new(parts), Some(&ANY), Bytes::from(text.clone()));
        let read = IncomingRequest::new(&ANY, context).unwrap().value_body::<Json>();
        assert_eq!(read.unwrap().to_string(), text, "{levels}");
        let object =
            Json::Object([("deep".to_owned(), Json::parse(text.as_bytes()).unwrap())].into_iter().collect());
        let read = MultipartReader::new(&[], Vec::new(), object).read_value::<Json>("deep");
        assert_eq!(read.unwrap().to_string(), text, "{levels}");
    }
}
