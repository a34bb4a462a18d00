//! The HTTP endpoints of the provider: discovery, keys, device authorization, tokens and revocation.

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

use super::form::FormFields;
use super::oauth_error_response::{OauthErrorResponse, json_response as uncached};
use super::provider::{DEVICE_GRANT, IdentityProvider, REFRESH_GRANT};
use super::scopes::OFFLINE_ACCESS;
use crate::peer::PeerAddr;
use crate::telemetry::with_telemetry;

const MAX_FORM_BYTES: usize = 16 << 10;

/// Returns a router with all endpoints below the path of the issuer.
pub fn router(provider: IdentityProvider) -> Router {
    let path = provider.config().issuer_path().to_owned();
    let at = |endpoint: &str| format!("{path}/{endpoint}");
    let endpoints = Router::new()
        // Both paths serve the same document: OpenID Connect Discovery 1.0 (section 4) requires it below the
        // issuer's path, and RFC 8414 (section 3) in front of the path.
        .route(&at(".well-known/openid-configuration"), get(serve_discovery))
        .route(&format!("/.well-known/oauth-authorization-server{path}"), get(serve_discovery))
        .route(&at("jwks"), get(serve_keys))
        .route(&at("device_authorization"), post(start_device_login))
        .route(&at("token"), post(issue_token))
        .route(&at("revoke"), post(revoke_token))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES));
    with_telemetry(endpoints, provider.environment()).with_state(provider)
}

type FormBody = Result<Form<Vec<(String, String)>>, FormRejection>;

fn parse_fields(body: FormBody) -> Result<FormFields, OauthErrorResponse> {
    match body {
        Ok(Form(fields)) => FormFields::new(fields),
        Err(error) => {
            let description = match error.status() {
                StatusCode::PAYLOAD_TOO_LARGE => "the form is too large",
                _ => "the body is not a form (application/x-www-form-urlencoded), or timed out",
            };
            Err(OauthErrorResponse::new(OauthError::InvalidRequest, description))
        }
    }
}

/// Serves the discovery document (IDP-01).
async fn serve_discovery(State(provider): State<IdentityProvider>) -> Response {
    let config = provider.config();
    let scopes: Vec<_> = Scope::ALL.iter().map(Scope::as_str).chain([OFFLINE_ACCESS]).collect();
    cacheable_response(&json!({
        "issuer": config.issuer,
        "device_authorization_endpoint": config.endpoint_url("device_authorization"),
        "token_endpoint": config.endpoint_url("token"),
        "revocation_endpoint": config.endpoint_url("revoke"),
        "jwks_uri": config.endpoint_url("jwks"),
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

async fn serve_keys(State(provider): State<IdentityProvider>) -> Response {
    match provider.published_keys().await {
        Ok(keys) => cacheable_response(&keys),
        Err(error) => OauthErrorResponse::Store(error).into_response(),
    }
}

async fn start_device_login(
    State(provider): State<IdentityProvider>,
    peer: PeerAddr,
    body: FormBody,
) -> Response {
    let response = async { provider.begin_device_login(&parse_fields(body)?, peer).await };
    render_response(response.await)
}

async fn issue_token(
    State(provider): State<IdentityProvider>,
    peer: PeerAddr,
    headers: HeaderMap,
    body: FormBody,
) -> Response {
    let response = async { provider.exchange_token(&parse_fields(body)?, &headers, peer).await };
    with_nonce(&provider, render_response(response.await))
}

async fn revoke_token(
    State(provider): State<IdentityProvider>,
    peer: PeerAddr,
    headers: HeaderMap,
    body: FormBody,
) -> Response {
    let response = async { provider.revoke_token(&parse_fields(body)?, &headers, peer).await };
    let response = response.await.map(|()| json!({}));
    with_nonce(&provider, render_response(response))
}

fn render_response(response: Result<Value, OauthErrorResponse>) -> Response {
    match response {
        Ok(body) => uncached(StatusCode::OK, &body),
        Err(error) => error.into_response(),
    }
}

/// Adds the nonce for the next proof to a response (RFC 9449, section 8.2).
fn with_nonce(provider: &IdentityProvider, mut response: Response) -> Response {
    if let Some(nonce) = provider.nonce() {
        response.headers_mut().insert(dpop_bound::http::DPOP_NONCE, (&nonce).into());
    }
    response
}

/// Creates a response that caches may keep for a minute.
fn cacheable_response(body: &Value) -> Response {
    let mut response = uncached(StatusCode::OK, body);
    response.headers_mut().remove(http::header::PRAGMA);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    response
}
