//! Tests of the authentication in the router of the case `authentication`.

#![deny(warnings)]
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[rustfmt::skip]
#[path = "cases/authentication/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "cases/authentication/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "cases/authentication/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "cases/authentication/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "cases/authentication/expected/security_requirements.rs"]
pub mod security_requirements;
#[rustfmt::skip]
#[path = "cases/authentication/expected/server.rs"]
pub mod server;
#[rustfmt::skip]
#[path = "cases/authentication/expected/types.rs"]
pub mod types;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{body::Body, response::IntoResponse};
use calls::{BothCall, CertifiedCall, KindsCall, MaybeCall, OpenCall, ReadBoxCall, WriteBoxCall};
use contract_runtime::server::{
    ErrorResponse, Rejection, RequestContext, Response, RouterOptions, StatusCode,
    authentication::SecurityScheme,
};
use http::{HeaderMap, HeaderValue, Request, header::CONTENT_TYPE};
use serde_json::json;
use server::{Authenticate, AuthenticationError, Service, TokenGrant, authenticated_router, router};
use tower::ServiceExt;

/// The principal, which is the name of the scheme that authenticated the caller.
#[derive(Clone, Debug, PartialEq)]
struct Caller(String);

/// The certificate that a TLS layer puts into the extensions.
#[derive(Clone)]
struct PeerCertificate(&'static str);

#[derive(Default)]
struct Vault {
    verified: AtomicUsize,
}

/// Verifies a credential. Only `good` is valid; its principal is the name of the scheme.
fn accept(scheme: &str, credential: &str) -> Result<Caller, AuthenticationError> {
    match credential {
        "good" => Ok(Caller(scheme.to_owned())),
        "blocked" => Err(AuthenticationError::Forbidden),
        "down" => Err(Rejection::Internal.into()),
        "panic" => unreachable!("the verification panics"),
        _ => Err(AuthenticationError::Invalid),
    }
}

impl Authenticate for Vault {
    type Principal = Caller;

    async fn api_key(&self, key: &str, _: &RequestContext) -> Result<Caller, AuthenticationError> {
        accept("api-key", key)
    }

    async fn sid(&self, key: &str, _: &RequestContext) -> Result<Caller, AuthenticationError> {
        accept("sid", key)
    }

    async fn query_key(&self, key: &str, _: &RequestContext) -> Result<Caller, AuthenticationError> {
        Ok(Caller(format!("query-key {key}")))
    }

    async fn basic(
        &self,
        name: &str,
        password: &str,
        _: &RequestContext,
    ) -> Result<Caller, AuthenticationError> {
        accept(&format!("basic {name}"), password)
    }

    async fn digest(&self, credentials: &str, _: &RequestContext) -> Result<Caller, AuthenticationError> {
        accept("digest", credentials)
    }

    async fn person(&self, token: &str, _: &RequestContext) -> Result<Caller, AuthenticationError> {
        accept("person", token)
    }

    async fn oauth(
        &self,
        token: &str,
        _: &RequestContext,
    ) -> Result<TokenGrant<Caller>, AuthenticationError> {
        self.verified.fetch_add(1, Ordering::Relaxed);
        // Tokens such as `good:read write`.
        let (token, scope) = token.split_once(':').unwrap_or((token, ""));
        Ok(TokenGrant::from_scope(accept("oauth", token)?, &scope.replace(',', " ")))
    }

    async fn open_id(
        &self,
        token: &str,
        _: &RequestContext,
    ) -> Result<TokenGrant<Caller>, AuthenticationError> {
        match token {
            "id-token" => Ok(Caller("open-id".to_owned()).into()),
            _ => Err(AuthenticationError::Invalid),
        }
    }

    async fn certificate(&self, context: &RequestContext) -> Result<Option<Caller>, AuthenticationError> {
        let found = context.extension::<PeerCertificate>();
        found.map(|PeerCertificate(name)| accept("certificate", name)).transpose()
    }

    fn combine(&self, principals: Vec<Caller>) -> Result<Caller, AuthenticationError> {
        let names: Vec<String> = principals.into_iter().map(|Caller(name)| name).collect();
        match names.join(" and ") {
            both if both.ends_with("stranger") => Err(AuthenticationError::Forbidden),
            both => Ok(Caller(both)),
        }
    }

    fn challenge(&self, scheme: &SecurityScheme, _: &RequestContext) -> Option<String> {
        (scheme.name == "digest").then(|| r#"Digest realm="vault", nonce="n1""#.to_owned())
    }
}

fn caller(context: &RequestContext) -> Result<String, ErrorResponse<()>> {
    Ok(context.principal::<Caller>()?.0)
}

impl Service for Vault {
    /// Writes problem details (RFC 9457).
    fn reject(&self, _: &RequestContext, rejection: Rejection) -> Response {
        let status = StatusCode::from_u16(rejection.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let violations = rejection.violations();
        let errors = violations.iter().map(|it| json!({ "pointer": it.pointer, "message": it.message }));
        let problem = json!({
            "status": status.as_u16(),
            "title": status.canonical_reason(),
            "errors": errors.collect::<Vec<_>>(),
        });
        let media_type = (CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        let headers: HeaderMap = [media_type].into_iter().chain(rejection.header()).collect();
        (status, headers, problem.to_string()).into_response()
    }

    async fn open(&self, _: OpenCall, context: RequestContext) -> Result<(), ErrorResponse<()>> {
        assert_eq!(context.optional_principal::<Caller>(), None);
        Ok(())
    }

    async fn read_box(&self, _: ReadBoxCall, context: RequestContext) -> Result<String, ErrorResponse<()>> {
        caller(&context)
    }

    async fn write_box(&self, _: WriteBoxCall, context: RequestContext) -> Result<String, ErrorResponse<()>> {
        caller(&context)
    }

    async fn maybe(&self, _: MaybeCall, context: RequestContext) -> Result<String, ErrorResponse<()>> {
        if context.uri().query() == Some("required") {
            return caller(&context);
        }
        let found = context.optional_principal::<Caller>();
        Ok(found.map_or_else(|| "anonymous".to_owned(), |Caller(name)| name))
    }

    async fn both(&self, _: BothCall, context: RequestContext) -> Result<String, ErrorResponse<()>> {
        caller(&context)
    }

    async fn kinds(&self, _: KindsCall, context: RequestContext) -> Result<String, ErrorResponse<()>> {
        caller(&context)
    }

    async fn certified(
        &self,
        _: CertifiedCall,
        context: RequestContext,
    ) -> Result<String, ErrorResponse<()>> {
        caller(&context)
    }
}

/// Sends a request. Returns the status, the challenge and the body of the response. For a response with
/// problem details, checks the `status` in the body and returns an empty body.
async fn send(request: Request<Body>) -> (u16, String, String) {
    let vault = Arc::new(Vault::default());
    let router = authenticated_router(Arc::clone(&vault), vault, RouterOptions::default());
    let response = router.oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let challenge =
        response.headers().get("www-authenticate").map(|value| value.to_str().unwrap().to_owned());
    let is_problem =
        response.headers().get(CONTENT_TYPE).is_some_and(|value| value == "application/problem+json");
    let body = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
    let mut body = String::from_utf8(body.to_vec()).unwrap();
    if is_problem {
        let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(problem["status"], status, "{problem}");
        body.clear();
    }
    (status, challenge.unwrap_or_default(), body)
}

async fn get(path: &str, headers: &[(&str, &str)]) -> (u16, String, String) {
    let request =
        headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
    send(request.body(Body::empty()).unwrap()).await
}

/// Sends a GET request and asserts that its status is 200. Returns the body, which is the name of the caller.
async fn caller_of(path: &str, headers: &[(&str, &str)]) -> String {
    let (status, challenge, body) = get(path, headers).await;
    assert_eq!((status, challenge.as_str()), (200, ""), "{path} {headers:?}");
    body
}

const AUTHORIZATION: &str = "Authorization";

#[tokio::test]
async fn every_kind_of_scheme_gives_the_handler_its_principal() {
    assert_eq!(caller_of("/boxes/1", &[("X-Key", "good")]).await, "api-key");
    assert_eq!(caller_of("/boxes/1", &[(AUTHORIZATION, "bearer good:read")]).await, "oauth");
    assert_eq!(
        caller_of("/both?key=a%2Fb+c", &[("Cookie", "x=1; sid=good")]).await,
        "sid and query-key a/b c"
    );
    assert_eq!(caller_of("/kinds", &[(AUTHORIZATION, "Basic bWU6Z29vZA==")]).await, "basic me");
    assert_eq!(caller_of("/kinds", &[(AUTHORIZATION, "Bearer good")]).await, "person");
    assert_eq!(caller_of("/kinds", &[(AUTHORIZATION, "Bearer id-token")]).await, "open-id");
    assert_eq!(caller_of("/kinds", &[(AUTHORIZATION, "digest good")]).await, "digest");
    let request = Request::get("/certified").extension(PeerCertificate("good")).body(Body::empty()).unwrap();
    assert_eq!(send(request).await.2, "certificate");
    assert_eq!(get("/open", &[]).await.0, 204);
}

#[tokio::test]
async fn missing_credentials_are_challenged() {
    let realm = r#"realm="The \"Vault\"""#;
    let check = async |path: &str, expected: String| {
        assert_eq!(get(path, &[]).await, (401, expected, String::new()), "{path}");
    };
    check("/boxes/1", format!(r#"Bearer {realm}, scope="read", ApiKey {realm}, in="header", name="X-Key""#))
        .await;
    check(
        "/both",
        format!(r#"ApiKey {realm}, in="cookie", name="sid", ApiKey {realm}, in="query", name="key""#),
    )
    .await;
    let kinds =
        format!(r#"Basic {realm}, charset="UTF-8", Bearer {realm}, Digest realm="vault", nonce="n1""#);
    check("/kinds", kinds).await;
    check("/certified", format!("ClientCertificate {realm}")).await;
}

/// The router writes the challenge for an invalid or insufficient token, with the error codes of RFC 6750,
/// 3.1.
#[tokio::test]
async fn invalid_and_insufficient_tokens_are_challenged() {
    let realm = r#"realm="The \"Vault\"""#;
    let (status, challenge, _) = get("/boxes/1", &[(AUTHORIZATION, "Bearer bad")]).await;
    let expected = format!(
        r#"Bearer {realm}, error="invalid_token", scope="read", ApiKey {realm}, in="header", name="X-Key""#
    );
    assert_eq!((status, challenge), (401, expected));
    let (status, challenge, _) = get("/boxes/1", &[(AUTHORIZATION, "Bearer good:write")]).await;
    assert_eq!(
        (status, challenge),
        (403, format!(r#"Bearer {realm}, error="insufficient_scope", scope="read""#))
    );
    // The same token beside the key of another alternative.
    let headers = [(AUTHORIZATION, "Bearer good:write"), ("X-Key", "good")];
    assert_eq!(caller_of("/boxes/1", &headers).await, "api-key");
    assert_eq!(get("/boxes/1", &[("X-Key", "blocked")]).await, (403, String::new(), String::new()));
    assert_eq!(get("/boxes/1", &[("X-Key", "down")]).await.0, 500);
    assert_eq!(get("/boxes/1", &[("X-Key", "panic")]).await.0, 500);
}

#[tokio::test]
async fn malformed_and_repeated_credentials_are_invalid() {
    for headers in [
        [(AUTHORIZATION, "Basic bWU="), ("X", "")],
        [(AUTHORIZATION, "Basic ?"), ("X", "")],
        [(AUTHORIZATION, "Bearer"), ("X", "")],
        [(AUTHORIZATION, "Bearer good"), (AUTHORIZATION, "Bearer good")],
    ] {
        assert_eq!(get("/kinds", &headers).await.0, 401, "{headers:?}");
    }
    assert_eq!(get("/boxes/1", &[("X-Key", "good"), ("X-Key", "good")]).await.0, 401);
    assert_eq!(get("/both?key=a&key=b", &[("Cookie", "sid=good")]).await.0, 401);
}

/// A call needs the credentials of both schemes, and their principals must belong to one caller.
#[tokio::test]
async fn schemes_are_required_together() {
    assert_eq!(get("/both?key=1", &[]).await.0, 401);
    assert_eq!(get("/both", &[("Cookie", "sid=good")]).await.0, 401);
    assert_eq!(get("/both?key=1", &[("Cookie", "sid=bad")]).await.0, 401);
    assert_eq!(get("/both?key=stranger", &[("Cookie", "sid=good")]).await.0, 403);
}

/// If the contract permits anonymous calls, a call without credentials, or with a token without the required
/// scopes, is anonymous. A call with an invalid token is rejected.
#[tokio::test]
async fn optional_credentials_are_verified() {
    assert_eq!(caller_of("/maybe", &[]).await, "anonymous");
    assert_eq!(caller_of("/maybe", &[(AUTHORIZATION, "Bearer good:read")]).await, "anonymous");
    assert_eq!(caller_of("/maybe", &[(AUTHORIZATION, "Bearer good:admin")]).await, "oauth");
    assert_eq!(get("/maybe", &[(AUTHORIZATION, "Bearer bad")]).await.0, 401);
    assert_eq!(get("/maybe", &[(AUTHORIZATION, "Bearer blocked")]).await.0, 403);
    // A handler may require a principal.
    let challenge = r#"Bearer realm="The \"Vault\"", scope="admin""#.to_owned();
    assert_eq!(get("/maybe?required", &[]).await, (401, challenge, String::new()));
}

/// Credentials are verified after the route is found and before the media type, the body and the parameters
/// are checked.
#[tokio::test]
async fn credentials_are_verified_before_the_request() {
    let put = async |authorization: &str| {
        let request = Request::put("/boxes/x").header(AUTHORIZATION, authorization);
        send(request.header("content-type", "text/plain").body(Body::from("{")).unwrap()).await.0
    };
    assert_eq!(put("Bearer bad").await, 401);
    assert_eq!(put("Bearer good:read").await, 403);
    assert_eq!(put("Bearer good:read,write").await, 415);
    assert_eq!(get("/boxes/x", &[]).await.0, 401);
    assert_eq!(get("/boxes/x", &[("X-Key", "good")]).await.0, 400);
    assert_eq!(get("/nowhere", &[]).await.0, 404);
}

/// A handler that requires a principal fails in a router that verifies no credentials.
#[tokio::test]
async fn principals_require_an_authenticated_router() {
    let router = router(Arc::new(Vault::default()), RouterOptions::default());
    let request = Request::get("/boxes/1").header("X-Key", "good").body(Body::empty()).unwrap();
    assert_eq!(router.oneshot(request).await.unwrap().status().as_u16(), 500);
}
