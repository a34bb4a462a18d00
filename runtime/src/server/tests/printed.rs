//! What stands in a request or an answer reaches no log by `Debug`: not of one public type.

use http::HeaderMap;

use super::*;
use crate::multipart::{Field, File, Reader, Writer};
use crate::parameters::{Query, Sources};

#[test]
fn no_public_type_prints_what_it_holds() {
    let request = HttpRequest::post("/pets?limit=4711&hush=hush")
        .header("content-type", "application/json")
        .header("idempotency-key", "hush")
        .header("authorization", "hush")
        .body(())
        .unwrap();
    let (parts, ()) = request.into_parts();
    let query = Query::parse("limit=4711&hush=hush").unwrap();
    let sources = format!(
        "{:?}",
        Sources { path: ALL[0].path, parameters: ALL[0].parameters, parts: &parts, query: &query }
    );
    let context = Context::new(Arc::new(parts), Some(&ALL[0]), Bytes::from(r#"{"name":"hush"}"#));
    let call = Call::new(&ALL[0], context.clone()).unwrap();

    let mut headers = HeaderMap::new();
    headers.insert("set-cookie", HeaderValue::from_static("hush"));
    let answer = Answer { status: StatusCode::OK, headers: headers.clone(), body: "hush".into() };
    let refused = Refusal::new(StatusCode::CONFLICT, ())
        .with_header(HeaderName::from_static("set-cookie"), HeaderValue::from_static("hush"));
    let reply = Reply { status: None, headers, body: () };
    let field = Field { name: "file".to_owned(), file: File::new("hush", "hush") };
    let object = Json::Object([("file".to_owned(), Json::String("hush".to_owned()))].into_iter().collect());
    let mut writer = Writer::new(&[]);
    writer.fields(std::slice::from_ref(&field));
    let json = Json::parse(br#"{"name":"hush, a secret"}"#).unwrap();
    let violations = Validator::new(&TABLES, SchemaId(0)).validate(&json).unwrap_err();
    let rejection = Rejection::Invalid(violations.clone());
    let broken = BrokenAnswer::Body(StatusCode::OK, violations);

    let printed = [
        sources,
        format!("{query:?}"),
        format!("{context:?}"),
        format!("{call:?}"),
        format!("{answer:?}"),
        format!("{:?}", Refusal::<()>::written(answer)),
        format!("{refused:?} {:?}", refused.refused()),
        format!("{reply:?}"),
        format!("{field:?} {writer:?}"),
        format!("{:?}", Reader::new(&[], vec![field], object)),
        format!("{rejection:?} {rejection} {:?}", rejection.violations()),
        format!("{broken:?} {broken} {:?}", Event::BrokenAnswer(&broken)),
        format!("{:?}", Refusal::<()>::from(rejection)),
        format!("{:?}", RouterOptions::default()),
    ];
    for text in printed {
        assert!(!text.contains("hush") && !text.contains("4711"), "{text}");
    }
}

/// What was read as deep as a reader goes is held by its type as well.
#[test]
fn a_body_is_as_deep_as_its_reader_takes_it() {
    let body = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    static ANY: Operation = Operation {
        id: "any",
        method: "POST",
        path: "/any",
        body: Some(operation::Body {
            required: true,
            content: &[operation::Content {
                media_type: "application/json",
                format: Format::Json,
                schema: "",
                validator: None,
            }],
        }),
        ..Operation::NONE
    };
    for levels in [127, 128, 512] {
        let text = body(levels);
        let (parts, ()) = HttpRequest::post("/any").body(()).unwrap().into_parts();
        let context = Context::new(Arc::new(parts), Some(&ANY), Bytes::from(text.clone()));
        let read = Call::new(&ANY, context).unwrap().value::<Json>();
        assert_eq!(read.unwrap().to_string(), text, "{levels}");
        let object =
            Json::Object([("deep".to_owned(), Json::parse(text.as_bytes()).unwrap())].into_iter().collect());
        let read = Reader::new(&[], Vec::new(), object).value::<Json>("deep");
        assert_eq!(read.unwrap().to_string(), text, "{levels}");
    }
}
