//! The provider's endpoints over HTTP: discovery, keys, device logins, tokens, revocation.

use axum::Router;
use axum::extract::rejection::FormRejection;
use axum::extract::{DefaultBodyLimit, Form, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use exchange_api::oauth_errors::OauthError;
use exchange_api::scopes::Scope;
use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::form::Fields;
use super::provider::{DEVICE_GRANT, Provider, REFRESH_GRANT};
use super::refusal::{Refusal, json as uncached};
use super::scopes::OFFLINE_ACCESS;
use crate::observed::observed;
use crate::peer::Peer;

/// The largest form, in bytes.
const FORM: usize = 16 << 10;

/// All of them, at the paths that the issuer's address gives them.
pub fn router(provider: Provider) -> Router {
    let path = provider.config().issuer_path().to_owned();
    let at = |endpoint: &str| format!("{path}/{endpoint}");
    let endpoints = Router::new()
        // OpenID Connect Discovery 1.0, 4, and RFC 8414, 3: the same document, behind the path or before it.
        .route(&at(".well-known/openid-configuration"), get(discovery))
        .route(&format!("/.well-known/oauth-authorization-server{path}"), get(discovery))
        .route(&at("jwks"), get(keys))
        .route(&at("device_authorization"), post(begin))
        .route(&at("token"), post(token))
        .route(&at("revoke"), post(revoke))
        .layer(DefaultBodyLimit::max(FORM));
    observed(endpoints, provider.environment(), &provider.config().issuer).with_state(provider)
}

type Body = Result<Form<Vec<(String, String)>>, FormRejection>;

fn fields(body: Body) -> Result<Fields, Refusal> {
    match body {
        Ok(Form(fields)) => Fields::new(fields),
        Err(error) => {
            let said = match error.status() {
                StatusCode::PAYLOAD_TOO_LARGE => "the form is too large",
                _ => "the body is no form (application/x-www-form-urlencoded), or did not come in time",
            };
            Err(Refusal::new(OauthError::InvalidRequest, said))
        }
    }
}

/// IDP-01
async fn discovery(State(provider): State<Provider>) -> Response {
    let config = provider.config();
    let scopes: Vec<_> = Scope::ALL.iter().map(Scope::as_str).chain([OFFLINE_ACCESS]).collect();
    public(&json!({
        "issuer": config.issuer,
        "device_authorization_endpoint": config.endpoint("device_authorization"),
        "token_endpoint": config.endpoint("token"),
        "revocation_endpoint": config.endpoint("revoke"),
        "jwks_uri": config.endpoint("jwks"),
        "scopes_supported": scopes,
        "response_types_supported": [],
        "grant_types_supported": [DEVICE_GRANT, REFRESH_GRANT],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "subject_types_supported": ["public"],
        "dpop_signing_alg_values_supported": ["ES256"],
        "service_documentation": config.docs_url,
    }))
}

async fn keys(State(provider): State<Provider>) -> Response {
    match provider.published_keys().await {
        Ok(keys) => public(&keys),
        Err(error) => Refusal::Store(error).into_response(),
    }
}

async fn begin(State(provider): State<Provider>, peer: Peer, body: Body) -> Response {
    let answer = async { provider.begin(&fields(body)?, peer).await };
    answered(answer.await)
}

async fn token(State(provider): State<Provider>, peer: Peer, headers: HeaderMap, body: Body) -> Response {
    let answer = async { provider.token(&fields(body)?, &headers, peer).await };
    with_nonce(&provider, answered(answer.await))
}

async fn revoke(State(provider): State<Provider>, peer: Peer, headers: HeaderMap, body: Body) -> Response {
    let answer = async { provider.revoke(&fields(body)?, &headers, peer).await };
    let answer = answer.await.map(|()| json!({}));
    with_nonce(&provider, answered(answer))
}

fn answered(answer: Result<Value, Refusal>) -> Response {
    match answer {
        Ok(body) => uncached(StatusCode::OK, &body),
        Err(refusal) => refusal.into_response(),
    }
}

/// RFC 9449, 8.2: every answer brings the next proof's nonce.
fn with_nonce(provider: &Provider, mut answer: Response) -> Response {
    if let Some(nonce) = provider.nonce() {
        answer.headers_mut().insert(dpop_bound::http::DPOP_NONCE, (&nonce).into());
    }
    answer
}

/// What anybody may keep for a minute.
fn public(body: &Value) -> Response {
    let mut answer = uncached(StatusCode::OK, body);
    answer.headers_mut().remove(http::header::PRAGMA);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    answer
}
