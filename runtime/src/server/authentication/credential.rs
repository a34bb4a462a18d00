//! Extracts the credential of a security scheme from a request.

use std::fmt;

use http::header::{AUTHORIZATION, COOKIE};

use super::super::RequestContext;
use super::SchemeKind;
use crate::format::base64;
use crate::parameters::QueryPairs;
use crate::parameters::query::decode_query;

/// The credential of a request for one scheme.
#[derive(Clone, PartialEq, Eq)]
pub enum PresentedCredential {
    /// An API key, a token, or the part of `Authorization` after the name of another scheme.
    Secret(String),
    /// A user name and a password.
    UserPassword {
        /// The user name.
        name: String,
        /// The password.
        password: String,
    },
    /// The connection may have a credential, such as the certificate of the client.
    Connection,
}

/// Shows only the kind, because the rest is secret.
impl fmt::Debug for PresentedCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secret(_) => "Secret",
            Self::UserPassword { .. } => "UserPassword",
            Self::Connection => "Connection",
        })
    }
}

/// The credential of a request, if there is one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExtractedCredential {
    Absent,
    /// The request has a credential that no server could accept.
    Malformed,
    Present(PresentedCredential),
}

/// Returns the credential of a request for a scheme. A credential that occurs twice is malformed, because two
/// servers could read different ones.
pub(super) fn extract_credential(kind: SchemeKind, context: &RequestContext) -> ExtractedCredential {
    match kind {
        SchemeKind::Header(name) => {
            single_secret(context.headers().get_all(name).iter().map(|line| line.to_str().ok()))
        }
        SchemeKind::Query(name) => match QueryPairs::parse(context.uri().query().unwrap_or_default()) {
            Ok(pairs) => {
                let values: Vec<_> = pairs.values(name).map(decode_query).collect();
                single_secret(values.iter().map(Option::as_deref))
            }
            Err(_) => ExtractedCredential::Absent,
        },
        SchemeKind::Cookie(name) => {
            let lines = context.headers().get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
            let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
            single_secret(pairs.filter(|(key, _)| *key == name).map(|(_, value)| Some(value)))
        }
        SchemeKind::Basic => match authorization(context, "basic") {
            Some(value) => {
                value.and_then(decode_user_password).map_or(ExtractedCredential::Malformed, |credential| {
                    ExtractedCredential::Present(credential)
                })
            }
            None => ExtractedCredential::Absent,
        },
        SchemeKind::Bearer { .. } => single_secret(authorization(context, "bearer").into_iter()),
        SchemeKind::Authorization(word) => single_secret(authorization(context, word).into_iter()),
        SchemeKind::Connection => ExtractedCredential::Present(PresentedCredential::Connection),
    }
}

/// Returns a secret that occurs once. `None` is a value that cannot be decoded.
fn single_secret<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> ExtractedCredential {
    match (values.next(), values.next()) {
        (None, _) => ExtractedCredential::Absent,
        (Some(Some(value)), None) if !value.is_empty() => {
            ExtractedCredential::Present(PresentedCredential::Secret(value.to_owned()))
        }
        _ => ExtractedCredential::Malformed,
    }
}

/// Returns the part of `Authorization` after the scheme, which is compared without case (RFC 9110, 11.1).
/// Returns `None` if the header is missing or has another scheme, and `Some(None)` if it is malformed.
fn authorization<'a>(context: &'a RequestContext, scheme: &str) -> Option<Option<&'a str>> {
    let mut lines = context.headers().get_all(AUTHORIZATION).iter();
    let first = lines.next()?;
    let Some(line) = first.to_str().ok().filter(|_| lines.next().is_none()) else { return Some(None) };
    let (word, value) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    word.eq_ignore_ascii_case(scheme).then_some(Some(value.trim()))
}

/// Decodes the value of a basic credential (RFC 7617, 2).
fn decode_user_password(value: &str) -> Option<PresentedCredential> {
    let text = String::from_utf8(base64::decode(value)?).ok()?;
    let (name, password) = text.split_once(':')?;
    Some(PresentedCredential::UserPassword { name: name.to_owned(), password: password.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;

    fn extract(kind: SchemeKind, uri: &str, headers: &[(&str, &str)]) -> ExtractedCredential {
        let request = headers
            .iter()
            .fold(http::Request::get(uri), |request, (name, value)| request.header(*name, *value));
        let (parts, ()) = request.body(()).unwrap().into_parts();
        extract_credential(kind, &RequestContext::new(Arc::new(parts), None, Bytes::new()))
    }

    fn present(secret: &str) -> ExtractedCredential {
        ExtractedCredential::Present(PresentedCredential::Secret(secret.to_owned()))
    }

    #[test]
    fn credentials_are_found_at_the_location_of_their_scheme() {
        let bearer = SchemeKind::Bearer { token_url: "" };
        assert_eq!(extract(SchemeKind::Header("X-Key"), "/", &[("x-key", "k")]), present("k"));
        assert_eq!(extract(SchemeKind::Query("key"), "/?a=1&key=a%2Fb+c", &[]), present("a/b c"));
        assert_eq!(extract(SchemeKind::Cookie("sid"), "/", &[("cookie", "x=1; sid=a=b")]), present("a=b"));
        assert_eq!(extract(bearer, "/", &[("authorization", "BEARER  t ")]), present("t"));
        assert_eq!(extract(bearer, "/", &[("authorization", "Basic t")]), ExtractedCredential::Absent);
        assert_eq!(extract(SchemeKind::Query("key"), "/?a=1", &[]), ExtractedCredential::Absent);
        assert_eq!(
            extract(SchemeKind::Basic, "/", &[("authorization", "basic bWU6YTpi")]),
            ExtractedCredential::Present(PresentedCredential::UserPassword {
                name: "me".to_owned(),
                password: "a:b".to_owned()
            })
        );
    }

    #[test]
    fn repeated_and_empty_credentials_are_malformed() {
        let bearer = SchemeKind::Bearer { token_url: "" };
        let two = [("authorization", "Bearer a"), ("authorization", "Basic b")];
        assert_eq!(extract(bearer, "/", &two), ExtractedCredential::Malformed);
        assert_eq!(extract(bearer, "/", &[("authorization", "Bearer")]), ExtractedCredential::Malformed);
        assert_eq!(extract(SchemeKind::Query("key"), "/?key=a&key=b", &[]), ExtractedCredential::Malformed);
        assert_eq!(extract(SchemeKind::Query("key"), "/?key=", &[]), ExtractedCredential::Malformed);
    }
}
