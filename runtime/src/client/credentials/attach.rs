//! Where a secret stands in a request.

use std::fmt;

use http::{
    HeaderName, HeaderValue, Uri,
    header::{AUTHORIZATION, COOKIE},
    uri::{InvalidUri, PathAndQuery},
};

use super::{Scheme, SchemeKind};
use crate::{format::base64, parameters::write::encoded};

/// A request that cannot hold its credentials, and was not sent. Prints none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unfit {
    /// The credential of this scheme has characters that its place cannot hold.
    Characters(&'static str),
    /// The credentials of these two schemes are needed at once, and have the same place.
    Clash(&'static str, &'static str),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Characters(scheme) => {
                write!(f, "the credential of `{scheme}` has characters that its place cannot hold")
            }
            Self::Clash(one, other) => {
                write!(f, "the credentials of `{one}` and `{other}` have the same place in a request")
            }
        }
    }
}

impl std::error::Error for Unfit {}

/// A place that cannot hold a text.
struct Refused;

/// Whether a request has one place for both.
pub(super) fn share_a_place(one: SchemeKind, other: SchemeKind) -> bool {
    match (one, other) {
        (SchemeKind::Query(one), SchemeKind::Query(other))
        | (SchemeKind::Cookie(one), SchemeKind::Cookie(other)) => one == other,
        _ => header_of(one).zip(header_of(other)).is_some_and(|(one, other)| one.eq_ignore_ascii_case(other)),
    }
}

/// Whether one secret looks the same by both.
pub(super) fn are_alike(one: SchemeKind, other: SchemeKind) -> bool {
    one == other || matches!((one, other), (SchemeKind::Bearer { .. }, SchemeKind::Bearer { .. }))
}

const fn header_of(kind: SchemeKind) -> Option<&'static str> {
    match kind {
        SchemeKind::Header(name) => Some(name),
        SchemeKind::Basic | SchemeKind::Bearer { .. } | SchemeKind::Authorization(_) => Some("authorization"),
        SchemeKind::Query(_) | SchemeKind::Cookie(_) | SchemeKind::Connection => None,
    }
}

/// Adds a secret where its scheme has it.
pub(super) fn attach<B>(scheme: &Scheme, secret: &str, request: &mut http::Request<B>) -> Result<(), Unfit> {
    add(scheme.kind, secret, request).map_err(|Refused| Unfit::Characters(scheme.name))
}

fn add<B>(kind: SchemeKind, secret: &str, request: &mut http::Request<B>) -> Result<(), Refused> {
    match kind {
        SchemeKind::Header(name) => {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| Refused)?;
            let value = header(secret.as_bytes())?;
            request.headers_mut().insert(name, value);
        }
        SchemeKind::Query(name) => {
            let name = format!("{}=", encoded(name, &[]));
            *request.uri_mut() =
                with_pair(request.uri(), &name, &encoded(secret, &[])).map_err(|_| Refused)?;
        }
        SchemeKind::Cookie(name) => cookie(name, secret, request)?,
        SchemeKind::Basic => authorization(&format!("Basic {}", base64::encode(secret.as_bytes())), request)?,
        SchemeKind::Bearer { .. } => authorization(&format!("Bearer {secret}"), request)?,
        SchemeKind::Authorization(word) => authorization(&format!("{word} {secret}"), request)?,
        SchemeKind::Connection => {}
    }
    Ok(())
}

/// A value that no HTTP library prints or compresses.
fn header(text: &[u8]) -> Result<HeaderValue, Refused> {
    let mut value = HeaderValue::from_bytes(text).map_err(|_| Refused)?;
    value.set_sensitive(true);
    Ok(value)
}

fn authorization<B>(text: &str, request: &mut http::Request<B>) -> Result<(), Refused> {
    let value = header(text.as_bytes())?;
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(())
}

/// RFC 6265, 4.2.1: one header, pairs between `; `; one of that name that is there, as a parameter of the
/// call, gives way. What no cookie can hold is refused, since nobody says how it would be encoded (4.1.1).
fn cookie<B>(name: &str, secret: &str, request: &mut http::Request<B>) -> Result<(), Refused> {
    let fits = |byte: u8| matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e);
    if !secret.bytes().all(fits) {
        return Err(Refused);
    }
    // In bytes: what others put there may be no text.
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
    let value = header(&line)?;
    request.headers_mut().insert(COOKIE, value);
    Ok(())
}

/// In the place of what the query has of that name: a link to a next page may repeat an older secret.
fn with_pair(uri: &Uri, name: &str, value: &str) -> Result<Uri, InvalidUri> {
    let (path, query) = (uri.path(), uri.query().unwrap_or_default());
    let kept = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with(name));
    let mut query: String = kept.map(|pair| format!("{pair}&")).collect();
    query.push_str(name);
    query.push_str(value);
    let text = format!("{path}?{query}");
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(text)?);
    // The other parts are those of an address that was whole.
    Ok(Uri::from_parts(parts).unwrap_or_else(|_| uri.clone()))
}
