//! A service as the generator writes one, called through its router.

mod printed;

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{self, Poll};

use axum::body::Body;
use http::Request as HttpRequest;
use serde::{Serialize, Serializer, de::Deserializer};
use tower::ServiceExt;

use super::*;
use crate::contract::{ReportUndeclared, UndeclaredMembers};
use crate::operation::{self, BodyFormat, Operation, OperationTable, StatusRange};
use crate::parameters::{Parameter, ParameterLocation, ParameterStyle, ScalarType, ValueShape};
use crate::read::ReadJson;
use crate::schema::{
    Keyword, ResourceId, Schema, SchemaId, SchemaResource, SchemaTables, TypeSet, Validator,
};
use crate::violation::InstancePath;
use crate::{Contract, Json, Map};

static TABLES: SchemaTables = SchemaTables {
    schemas: &[
        Schema {
            resource: ResourceId(0),
            location: "/pet",
            keywords: &[Keyword::Type(TypeSet::OBJECT), Keyword::Properties(&[("name", SchemaId(1))], 0b1)],
        },
        Schema {
            resource: ResourceId(0),
            location: "/name",
            keywords: &[Keyword::Type(TypeSet::STRING), Keyword::MaxLength(5)],
        },
        Schema { resource: ResourceId(0), location: "/limit", keywords: &[Keyword::Type(TypeSet::INTEGER)] },
    ],
    resources: &[SchemaResource { uri: "test", dynamic_anchors: &[] }],
};

/// A model: any object with the declared field `name`.
#[derive(Debug)]
struct Pet(Map<Json>);

impl Serialize for Pet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> ReadJson<'de> for Pet {
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::read_json(deserializer).map(Self)
    }
}

impl Contract for Pet {
    const VALIDATOR: Validator<'static> = Validator::new(&TABLES, SchemaId(0));

    fn is_valid(&self) -> bool {
        Self::VALIDATOR.is_valid(&Json::Object(self.0.clone()))
    }
}

impl ReportUndeclared for Pet {
    fn report_undeclared(&self, at: &InstancePath<'_>, found: &mut UndeclaredMembers) {
        let mut extra = self.0.clone();
        extra.remove("name");
        found.add_all(at, &extra);
    }
}

static ALL: &[Operation] = &[
    Operation {
        id: "pet_write",
        method: "POST",
        path: "/pets",
        tags: &[],
        summary: "",
        anonymous: false,
        scopes: &[],
        idempotent: true,
        deprecated: false,
        parameters: &[
            Parameter {
                name: "Idempotency-Key",
                location: ParameterLocation::Header,
                required: true,
                style: ParameterStyle::Simple,
                explode: false,
                shape: ValueShape::Scalar(ScalarType::Text),
                validator: None,
                ..Parameter::HEADER
            },
            Parameter {
                name: "limit",
                location: ParameterLocation::Query,
                required: false,
                style: ParameterStyle::Form,
                explode: true,
                shape: ValueShape::Scalar(ScalarType::Number),
                validator: Some(Validator::new(&TABLES, SchemaId(2))),
                ..Parameter::QUERY
            },
        ],
        body: Some(operation::BodySpec {
            required: true,
            content: &[operation::ContentSpec {
                media_type: "application/json",
                format: BodyFormat::Json,
                schema: "test#/pet",
                validator: Some(Pet::VALIDATOR),
            }],
        }),
        responses: PET_ANSWERS,
        ..Operation::EMPTY
    },
    Operation { id: "pets_read", method: "GET", parameters: &[], body: None, ..PLAIN },
    Operation { id: "note", method: "PUT", path: "/note", body: Some(NOTE), ..PLAIN },
];

const PLAIN: Operation = Operation {
    id: "",
    method: "",
    path: "/pets",
    tags: &[],
    summary: "",
    anonymous: true,
    scopes: &[],
    idempotent: false,
    deprecated: false,
    parameters: &[],
    body: None,
    responses: PET_ANSWERS,
    ..Operation::EMPTY
};

const fn answer(
    statuses: StatusRange,
    outcome: operation::ResponseKind,
    content: &'static [operation::ContentSpec],
) -> operation::ResponseSpec {
    operation::ResponseSpec { statuses, kind: outcome, content }
}

const PET: operation::ContentSpec = operation::ContentSpec {
    media_type: "application/json",
    format: BodyFormat::Json,
    schema: "test#/pet",
    validator: Some(Pet::VALIDATOR),
};

const PET_ANSWERS: &[operation::ResponseSpec] = &[
    answer(StatusRange::Code(200), operation::ResponseKind::Success, const { &[PET, PLAIN_TEXT] }),
    answer(
        StatusRange::Default,
        operation::ResponseKind::Error,
        &[operation::ContentSpec { media_type: "application/problem+json", ..PET }],
    ),
];

const PLAIN_TEXT: operation::ContentSpec = operation::ContentSpec {
    media_type: "text/plain",
    format: BodyFormat::Text,
    schema: "",
    validator: None,
};

const NOTE: operation::BodySpec = operation::BodySpec { required: false, content: &[PLAIN_TEXT] };

struct PetWrite {
    limit: Option<i64>,
    body: Pet,
}

impl FromIncomingRequest for PetWrite {
    const OPERATION: &'static Operation = &ALL[0];

    fn from_request(call: &IncomingRequest) -> Result<Self, Rejection> {
        let _key: String = call.required_parameter(0)?;
        Ok(Self { limit: call.optional_parameter(1)?, body: call.json_body()? })
    }

    fn undeclared_members(&self, limit: usize) -> Vec<String> {
        self.body.undeclared_members(limit)
    }
}

struct Pets;

impl Pets {
    async fn pet_write(&self, request: PetWrite, context: RequestContext) -> Result<Pet, ErrorResponse<Pet>> {
        let undeclared = request.undeclared_members(9).join(" ");
        let mut pet = request.body;
        let name = pet.0.get("name").and_then(Json::as_str).unwrap_or("").to_owned();
        match name.as_str() {
            "panic" => std::panic::resume_unwind(Box::new("a handler's own fault")),
            "taken" => return Err(ErrorResponse::new(StatusCode::CONFLICT, pet)),
            "done" => return Err(ErrorResponse::new(StatusCode::ACCEPTED, pet)),
            "fine" => return Err(ErrorResponse::new(StatusCode::OK, pet)),
            "none" => return Err(Rejection::NotFound.into()),
            "again" => {
                let mut response = written("{ \"name\" :\"Rex\"}");
                response.status = StatusCode::OK;
                return Err(ErrorResponse::encoded(response));
            }
            "moved" => {
                let response = EncodedResponse { status: StatusCode::FOUND, ..written("{}") };
                return Err(ErrorResponse::encoded(response));
            }
            "media" => {
                let mut response = written("{}");
                response.headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
                return Err(ErrorResponse::encoded(response));
            }
            "break" => pet.0.insert("name".to_owned(), Json::Null),
            _ => pet.0.insert("undeclared".to_owned(), Json::String(undeclared)),
        };
        pet.0.insert("limit".to_owned(), Json::String(format!("{:?}", request.limit)));
        let agent = context.header("user-agent").unwrap_or("-").to_owned();
        pet.0.insert("agent".to_owned(), Json::String(agent));
        Ok(pet)
    }

    fn pets_read(&self) -> impl Future<Output = Result<Pet, ErrorResponse<Pet>>> + Send + use<> {
        not_implemented(())
    }

    fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response {
        if context.header("x-break").is_some() {
            std::panic::resume_unwind(Box::new("reject's own fault"));
        }
        let id = context.operation().map_or("-", |operation| operation.id);
        let shown = rejection.violations().into_iter().map(|v| format!(" {} {}", v.pointer, v.keyword));
        let text = format!("{id}: {rejection:.80}{}", shown.collect::<String>());
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = StatusCode::from_u16(rejection.status()).unwrap();
        response
    }
}

fn written(body: &'static str) -> EncodedResponse {
    let headers = [(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    EncodedResponse {
        status: StatusCode::OK,
        headers: HeaderMap::from_iter(headers),
        body: Bytes::from_static(body.as_bytes()),
    }
}

fn router(options: RouterOptions) -> Router {
    const TABLE: OperationTable = OperationTable::new(ALL, &[2, 0, 1]);
    const JSON: &str = "application/json";
    Endpoints::new(Arc::new(Pets), TABLE, options, Pets::reject, |service, call| {
        Box::pin(async move {
            match call.operation().id {
                "pet_write" => match service.pet_write(PetWrite::from_request(call)?, call.context()).await {
                    Ok(body) => call.write_json(200, JSON, TypedResponse::new(body)),
                    Err(error) => call.write_error(error, |reply| call.write_json(500, JSON, reply)),
                },
                "pets_read" => match service.pets_read().await {
                    Ok(body) => call.write_json(200, JSON, TypedResponse::new(body)),
                    Err(error) => call.write_error(error, |reply| call.write_json(500, JSON, reply)),
                },
                _ => {
                    let text = call.optional_text_body()?.unwrap_or("nothing".to_owned());
                    call.write_bytes(200, "text/plain", TypedResponse::new(text))
                }
            }
        })
    })
    .into_router()
}

fn write(body: &str) -> HttpRequest<Body> {
    HttpRequest::post("/pets?limit=10")
        .header("content-type", "application/json")
        .header("idempotency-key", "k")
        .body(Body::from(body.to_owned()))
        .unwrap()
}

async fn send_request(request: HttpRequest<Body>) -> String {
    let options =
        RouterOptions { body_limit: 100, response_checks: ResponseChecks::All, ..RouterOptions::default() };
    let response = router(options).oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let media = response.headers().get("content-type").map(|v| v.to_str().unwrap().to_owned());
    let bytes = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    format!("{status} {} {text}", media.unwrap_or("-".to_owned()))
}

/// A body without a known size.
struct Chunks(VecDeque<io::Result<Bytes>>);

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
    ) -> Poll<Option<io::Result<http_body::Frame<Bytes>>>> {
        Poll::Ready(self.0.pop_front().map(|chunk| chunk.map(http_body::Frame::data)))
    }
}

#[tokio::test]
async fn valid_call_reaches_its_handler() {
    let mut request = write(r#"{"name":"Rex","age":1}"#);
    request.headers_mut().insert("user-agent", HeaderValue::from_static("me"));
    let expect =
        r#"200 application/json {"name":"Rex","age":1,"undeclared":"/age","limit":"Some(10)","agent":"me"}"#;
    assert_eq!(send_request(request).await, expect);
}

#[tokio::test]
async fn invalid_body_is_rejected() {
    for (body, expect) in [
        (r#"{"name":"Rex"#, "400 - pet_write: the body is not well-formed"),
        ("", "400 - pet_write: the body is not well-formed"),
        (r#"{"name":""#, "400 - pet_write: the body is not well-formed"),
    ] {
        assert_eq!(send_request(write(body)).await, expect, "{body}");
    }
    let text = send_request(write(r#"{"name":"too long"}"#)).await;
    assert!(text.starts_with("400 - pet_write:") && text.ends_with(" /name maxLength"), "{text}");
    let text = send_request(write("[]")).await;
    assert!(text.ends_with("  type"), "{text}");
    let large = "x".repeat(101);
    assert_eq!(send_request(write(&large)).await, "413 - pet_write: the body is larger than 100 bytes");
}

#[tokio::test]
async fn a_body_without_an_announced_size_is_limited_too() {
    let chunks = (0..30).map(|_| Ok(Bytes::from_static(b"xxxxx")));
    let mut request = write("");
    *request.body_mut() = Body::new(Chunks(chunks.collect()));
    assert_eq!(send_request(request).await, "413 - pet_write: the body is larger than 100 bytes");
    let cut = [Ok(Bytes::from_static(b"{")), Err(io::Error::other("cut"))];
    let mut request = write("");
    *request.body_mut() = Body::new(Chunks(cut.into()));
    assert_eq!(send_request(request).await, "400 - pet_write: the body is incomplete");
}

#[tokio::test]
async fn the_order_is_route_media_type_size_parameters_body() {
    let mut request = write("not json");
    *request.uri_mut() = "/nowhere".parse().unwrap();
    assert_eq!(send_request(request).await, "404 - -: no such path");
    let mut request = write("not json");
    *request.method_mut() = http::Method::DELETE;
    assert_eq!(send_request(request).await, "405 - -: method not allowed; allowed: POST, GET, HEAD");
    let mut request = write(&"x".repeat(101));
    request.headers_mut().remove("content-type");
    assert_eq!(send_request(request).await, "415 - pet_write: the body must be application/json");
    let mut request = write("not json");
    request.headers_mut().remove("idempotency-key");
    *request.uri_mut() = "/pets?limit=x".parse().unwrap();
    let expect = "400 - pet_write: header /Idempotency-Key is required, query /limit must be an integer \
                  /Idempotency-Key required /limit type";
    assert_eq!(send_request(request).await, expect);
    let mut request = write("not json");
    *request.uri_mut() = "/pets?=x".parse().unwrap();
    assert_eq!(
        send_request(request).await,
        "400 - pet_write: the query must name each parameter, but parameter 1 has no name / propertyNames"
    );
}

#[tokio::test]
async fn rejections_and_failures_share_one_response_path() {
    let refused = r#"409 application/problem+json {"name":"taken"}"#;
    assert_eq!(send_request(write(r#"{"name":"taken"}"#)).await, refused);
    assert_eq!(send_request(write(r#"{"name":"none"}"#)).await, "404 - pet_write: no such path");
    assert_eq!(send_request(write(r#"{"name":"panic"}"#)).await, "500 - pet_write: internal error");
    let broken = "500 - pet_write: the response violates the contract";
    for name in ["break", "moved", "media", "fine", "done"] {
        assert_eq!(send_request(write(&format!(r#"{{"name":"{name}"}}"#))).await, broken, "{name}");
    }
    let get = HttpRequest::get("/pets").body(Body::empty()).unwrap();
    assert_eq!(send_request(get).await, "501 - pets_read: the operation is not implemented");
    let get = HttpRequest::get("/x").header("x-break", "1").body(Body::empty()).unwrap();
    assert_eq!(send_request(get).await, "500 - ");
}

/// A repeated request receives the stored bytes unchanged.
#[tokio::test]
async fn stored_response_is_sent_unchanged() {
    assert_eq!(send_request(write(r#"{"name":"again"}"#)).await, r#"200 application/json { "name" :"Rex"}"#);
}

/// The predicate selects the responses that are validated.
#[tokio::test]
async fn predicate_selects_validated_responses() {
    let of = |context: &RequestContext| context.header("x-check").is_some();
    let options =
        RouterOptions { response_checks: ResponseChecks::Where(Arc::new(of)), ..RouterOptions::default() };
    let router = router(options);
    let mut request = write(r#"{"name":"break"}"#);
    assert_eq!(router.clone().oneshot(write(r#"{"name":"break"}"#)).await.unwrap().status(), 200);
    request.headers_mut().insert("x-check", HeaderValue::from_static("1"));
    assert_eq!(router.oneshot(request).await.unwrap().status(), 500);
}

/// A relayed response may have any content: one beyond the nesting limit violates the contract.
#[test]
fn too_deep_relayed_response_is_invalid() {
    let check = |levels: usize| {
        let body = format!(r#"{{"name":"Rex","more":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        EncodedResponse { body: body.into(), ..written("") }.check_contract(&ALL[0])
    };
    assert!(check(crate::depth::MAX_DEPTH - 1).is_ok());
    assert!(matches!(check(60_000), Err(InvalidResponse::MediaType(_))));
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let head = HttpRequest::head("/pets").body(Body::empty()).unwrap();
    let response = router(RouterOptions::default()).oneshot(head).await.unwrap();
    assert_eq!(response.status(), 501);
    assert_eq!(response.headers()["content-length"], "43");
    assert_eq!(response.extensions().get::<&'static Operation>().unwrap().id, "pets_read");
    assert!(axum::body::to_bytes(response.into_body(), 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn optional_text_bodies() {
    let put = |body: &'static str| HttpRequest::put("/note").body(Body::from(body)).unwrap();
    assert_eq!(send_request(put("")).await, "200 text/plain nothing");
    assert_eq!(send_request(put("x")).await, "415 - note: the body must be text/plain");
    let mut typed = put("x");
    typed.headers_mut().insert("content-type", HeaderValue::from_static("text/plain"));
    assert_eq!(send_request(typed).await, "200 text/plain x");
}

/// Rejections have the headers that RFC 9110 requires for their status.
#[test]
fn rejections_have_the_headers_of_their_status() {
    let check = |rejection: Rejection, status: u16, expected: Option<(&str, &str)>| {
        let header = rejection.header();
        let header = header.as_ref().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
        assert_eq!((rejection.status(), header), (status, expected), "{rejection}");
    };
    let unauthorized = |challenge: &str| Rejection::Unauthorized { challenge: challenge.to_owned() };
    check(unauthorized("Bearer"), 401, Some(("www-authenticate", "Bearer")));
    check(unauthorized("Bearer\r\nX: y"), 401, None);
    check(Rejection::MethodNotAllowed { allowed: vec!["GET", "HEAD"] }, 405, Some(("allow", "GET, HEAD")));
    let expected = vec!["text/plain", "image/*"];
    check(
        Rejection::UnsupportedMediaType { expected, part: None },
        415,
        Some(("accept", "text/plain, image/*")),
    );
    check(Rejection::NotFound, 404, None);
    assert!(!format!("{}", unauthorized("Basic realm=\"secret\"")).contains("secret"));
}

#[tokio::test]
async fn hook_receives_details_of_internal_errors() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    let options = RouterOptions {
        on_event: Some(Arc::new(move |_: &RequestContext, event: ServerEvent<'_>| {
            ears.lock().unwrap().push(match event {
                ServerEvent::InvalidResponse(InvalidResponse::Body(_, violations)) => {
                    violations.iter().map(|v| v.pointer.clone()).collect()
                }
                ServerEvent::InvalidResponse(other) => format!("{other:?}"),
                ServerEvent::Panicked => "panic".to_owned(),
                other => format!("{other:?}"),
            });
        })),
        response_checks: ResponseChecks::All,
        ..RouterOptions::default()
    };
    let router = router(options);
    for body in [r#"{"name":"break"}"#, r#"{"name":"panic"}"#, r#"{"name":"fine"}"#] {
        assert_eq!(router.clone().oneshot(write(body)).await.unwrap().status(), 500);
    }
    assert_eq!(*heard.lock().unwrap(), ["/name", "panic", "SuccessStatus(200)"]);
}

/// The future of an unimplemented method is `Send`. The compiler must prove this for every operation of a
/// document with 700 operations over one chain of schemas.
#[test]
fn not_implemented_future_is_send() {
    fn sent<T>(response: impl Future<Output = Result<T, ErrorResponse<T>>> + Send) -> impl Sized {
        response
    }
    drop(sent::<std::rc::Rc<Pet>>(not_implemented(())));
}
