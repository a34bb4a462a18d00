//! Where a secret stands in a request.

use http::{
    HeaderName, HeaderValue, Uri,
    header::{AUTHORIZATION, COOKIE},
    uri::{InvalidUri, PathAndQuery},
};

use super::{Scheme, SchemeKind};
use crate::{format::base64, parameters::write::encoded};

/// A request that cannot hold its credential. Does not print it.
pub(super) type Unfit = &'static str;

const UNFIT: Unfit = "a credential has characters that its place cannot hold";

/// What a request cannot show at once.
pub(super) const CLASH: Unfit = "two credentials that are needed at once have the same place in a request";

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
    match scheme.kind {
        SchemeKind::Header(name) => {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| UNFIT)?;
            let value = header(secret)?;
            request.headers_mut().insert(name, value);
        }
        SchemeKind::Query(name) => {
            let name = format!("{}=", encoded(name, &[]));
            *request.uri_mut() = with_pair(request.uri(), &name, &encoded(secret, &[])).map_err(|_| UNFIT)?;
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
fn header(text: &str) -> Result<HeaderValue, Unfit> {
    let mut value = HeaderValue::from_str(text).map_err(|_| UNFIT)?;
    value.set_sensitive(true);
    Ok(value)
}

fn authorization<B>(text: &str, request: &mut http::Request<B>) -> Result<(), Unfit> {
    let value = header(text)?;
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(())
}

/// RFC 6265, 4.2.1: one header, pairs between `; `. What no cookie can hold is refused, since
/// nobody says how it would be encoded (4.1.1).
fn cookie<B>(name: &str, secret: &str, request: &mut http::Request<B>) -> Result<(), Unfit> {
    let fits = |byte: u8| matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e);
    if !secret.bytes().all(fits) {
        return Err(UNFIT);
    }
    let known = request.headers().get(COOKIE).and_then(|value| value.to_str().ok());
    let text = known.map_or_else(|| format!("{name}={secret}"), |known| format!("{known}; {name}={secret}"));
    let value = header(&text)?;
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
