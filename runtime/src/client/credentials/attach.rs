//! Adds secrets to requests at the location that the security scheme defines.

use std::fmt;

use http::{
    HeaderName, HeaderValue, Uri,
    header::{AUTHORIZATION, COOKIE},
    uri::{InvalidUri, PathAndQuery},
};

use super::{SchemeKind, SecurityScheme};
use crate::{format::base64, parameters::encode::percent_encode};

/// The error of a credential that cannot be sent as its scheme defines. The request was not sent. The error
/// contains no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidCredential {
    /// The credential for this scheme contains characters that are invalid at its location.
    InvalidCharacters(&'static str),
    /// The credentials of these two schemes are required together, but have the same location in the request.
    SameLocation(&'static str, &'static str),
}

impl fmt::Display for InvalidCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidCharacters(scheme) => {
                write!(f, "the credential of `{scheme}` contains characters that cannot be sent")
            }
            Self::SameLocation(one, other) => {
                write!(
                    f,
                    "the credentials of `{one}` and `{other}` conflict, because both are sent in the same place of the request"
                )
            }
        }
    }
}

impl std::error::Error for InvalidCredential {}

/// The error of a value that is invalid at its location in the request.
struct UnsendableValue;

/// Returns true if both schemes send their secret at the same location.
pub(super) fn share_location(one: SchemeKind, other: SchemeKind) -> bool {
    match (one, other) {
        (SchemeKind::Query(one), SchemeKind::Query(other))
        | (SchemeKind::Cookie(one), SchemeKind::Cookie(other)) => one == other,
        _ => header_name(one)
            .zip(header_name(other))
            .is_some_and(|(one, other)| one.eq_ignore_ascii_case(other)),
    }
}

/// Returns true if both schemes send a given secret in the same form.
pub(super) fn are_equivalent(one: SchemeKind, other: SchemeKind) -> bool {
    one == other || matches!((one, other), (SchemeKind::Bearer { .. }, SchemeKind::Bearer { .. }))
}

const fn header_name(kind: SchemeKind) -> Option<&'static str> {
    match kind {
        SchemeKind::Header(name) => Some(name),
        SchemeKind::Basic | SchemeKind::Bearer { .. } | SchemeKind::Authorization(_) => Some("authorization"),
        SchemeKind::Query(_) | SchemeKind::Cookie(_) | SchemeKind::Connection => None,
    }
}

/// Adds a secret to the header, query parameter or cookie of the security scheme. Fails if the secret
/// contains characters that are invalid there.
pub(super) fn attach_secret<B>(
    scheme: &SecurityScheme,
    secret: &str,
    request: &mut http::Request<B>,
) -> Result<(), InvalidCredential> {
    add_secret(scheme.kind, secret, request)
        .map_err(|UnsendableValue| InvalidCredential::InvalidCharacters(scheme.name))
}

fn add_secret<B>(
    kind: SchemeKind,
    secret: &str,
    request: &mut http::Request<B>,
) -> Result<(), UnsendableValue> {
    match kind {
        SchemeKind::Header(name) => {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| UnsendableValue)?;
            let value = sensitive_header(secret.as_bytes())?;
            request.headers_mut().insert(name, value);
        }
        SchemeKind::Query(name) => {
            let name = format!("{}=", percent_encode(name, &[]));
            *request.uri_mut() = with_query_pair(request.uri(), &name, &percent_encode(secret, &[]))
                .map_err(|_| UnsendableValue)?;
        }
        SchemeKind::Cookie(name) => set_cookie(name, secret, request)?,
        SchemeKind::Basic => {
            set_authorization(&format!("Basic {}", base64::encode(secret.as_bytes())), request)?
        }
        SchemeKind::Bearer { .. } => set_authorization(&format!("Bearer {secret}"), request)?,
        SchemeKind::Authorization(word) => set_authorization(&format!("{word} {secret}"), request)?,
        SchemeKind::Connection => {}
    }
    Ok(())
}

/// Creates a header value that HTTP libraries neither log nor compress.
fn sensitive_header(text: &[u8]) -> Result<HeaderValue, UnsendableValue> {
    let mut value = HeaderValue::from_bytes(text).map_err(|_| UnsendableValue)?;
    value.set_sensitive(true);
    Ok(value)
}

fn set_authorization<B>(text: &str, request: &mut http::Request<B>) -> Result<(), UnsendableValue> {
    let value = sensitive_header(text.as_bytes())?;
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(())
}

/// Adds a pair to the single `Cookie` header (RFC 6265, 4.2.1). It replaces a pair with the same name, such
/// as a parameter of the call. A value with characters that are invalid in cookies is rejected, because no
/// encoding is defined for them (4.1.1).
fn set_cookie<B>(name: &str, secret: &str, request: &mut http::Request<B>) -> Result<(), UnsendableValue> {
    let fits = |byte: u8| matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e);
    if !secret.bytes().all(fits) {
        return Err(UnsendableValue);
    }
    // Compared as bytes, because other cookies may not be UTF-8.
    let lines = request.headers().get_all(COOKIE).iter().map(HeaderValue::as_bytes);
    let pairs = lines.flat_map(|line| line.split(|byte| *byte == b';')).map(<[u8]>::trim_ascii);
    let is_named =
        |pair: &[u8]| pair.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
    let mut line = Vec::new();
    for pair in pairs.filter(|pair| !pair.is_empty() && !is_named(pair)) {
        line.extend_from_slice(pair);
        line.extend_from_slice(b"; ");
    }
    line.extend_from_slice(format!("{name}={secret}").as_bytes());
    let value = sensitive_header(&line)?;
    request.headers_mut().insert(COOKIE, value);
    Ok(())
}

/// Sets a query pair. It replaces a pair with the same name, because the link to a next page may repeat an
/// older secret.
fn with_query_pair(uri: &Uri, name: &str, value: &str) -> Result<Uri, InvalidUri> {
    let (path, query) = (uri.path(), uri.query().unwrap_or_default());
    let others = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with(name));
    let mut query: String = others.map(|pair| format!("{pair}&")).collect();
    query.push_str(name);
    query.push_str(value);
    let text = format!("{path}?{query}");
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(text)?);
    // This cannot fail, because a complete address with another query is still complete.
    Ok(Uri::from_parts(parts).unwrap_or_else(|_| uri.clone()))
}
