//! Who is behind a request: the cookie of a browser session, and the member whose it is.

use axum::extract::{FromRef, FromRequestParts};
use axum::response::{IntoResponse as _, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{COOKIE, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::csrf::Csrf;
use super::{ADMINISTRATORS, PAGES, Web, message};
use crate::config::Config;
use crate::idp::{Session, sessions};
use crate::ids::MemberId;
use crate::logging::causes;
use crate::members::{self, State};
use crate::records;
use crate::store::StoreError;

/// A member who is signed in.
///
/// As an extractor it sends others to the sign-in page, and refuses forms that another site sent.
#[derive(Clone, Debug)]
pub struct SignedIn {
    session: Session,
    name: String,
    csrf: Csrf,
    unread: u64,
    administers: bool,
}

impl SignedIn {
    /// The member.
    #[must_use]
    pub const fn member(&self) -> &MemberId {
        &self.session.member
    }

    /// The name that others see.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many notices there are that the member has not read.
    #[must_use]
    pub(super) const fn unread(&self) -> u64 {
        self.unread
    }

    /// Whether the member administers the service.
    #[must_use]
    pub(super) const fn administers(&self) -> bool {
        self.administers
    }

    /// The pages that lie open to the member, by their addresses and names.
    pub(super) fn pages(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        PAGES.into_iter().chain(ADMINISTRATORS.into_iter().filter(|_| self.administers))
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// What forms of this session bring back.
    #[must_use]
    pub const fn csrf(&self) -> &Csrf {
        &self.csrf
    }

    /// Checks what a form brought back, before anything else is done with it.
    ///
    /// # Errors
    /// The page to answer with.
    pub fn check(&self, csrf: &str) -> Result<(), Box<Response>> {
        if self.csrf.is(csrf) {
            return Ok(());
        }
        Err(Box::new(forged(Some(self))))
    }
}

impl<S> FromRequestParts<S> for SignedIn
where
    Web: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let web = Web::from_ref(state);
        if is_from_elsewhere(&parts.method, &parts.headers) {
            return Err(forged(None));
        }
        match of_cookie(&web, &parts.headers).await {
            Ok(Some(signed_in)) => Ok(signed_in),
            Ok(None) => {
                let next = match parts.method {
                    Method::GET | Method::HEAD => {
                        parts.uri.path_and_query().map_or("/", |path| path.as_str())
                    }
                    // A form is lost; its page asks for it again.
                    _ => parts.uri.path(),
                };
                Err(to_sign_in(next))
            }
            Err(error) => Err(failed(&error)),
        }
    }
}

/// To the sign-in page, and from there on to `next`.
fn to_sign_in(next: &str) -> Response {
    // What stands in a URL's query and is no letter or digit is encoded.
    let encoded: String =
        next.bytes()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect();
    Redirect::to(&format!("/sign-in?next={encoded}")).into_response()
}

/// The member of a request's cookie.
pub(super) async fn of_cookie(web: &Web, headers: &HeaderMap) -> Result<Option<SignedIn>, StoreError> {
    let Some(secret) = Cookie::Session.find(web, headers) else { return Ok(None) };
    let (csrf, now) = (Csrf::of(&secret), web.provider().environment().now());
    let work = move |database: &rusqlite::Connection| {
        let Some(session) = sessions::find(database, &secret, now)? else { return Ok(None) };
        let member = members::find(database, &session.member)?;
        let member = member.filter(|member| matches!(member.state, State::Active | State::Pending));
        let Some(member) = member else { return Ok(None) };
        let unread = records::count_unread(database, &member.id)?;
        let administers = member.is_admin && member.state == State::Active;
        Ok::<_, StoreError>(Some(SignedIn { session, name: member.name, csrf, unread, administers }))
    };
    web.provider().store().read(work).await
}

/// Whether a browser says that another site sent this form. `Origin` is of no use here: without a
/// referrer browsers write `null` for our own pages, too.
pub(crate) fn is_from_elsewhere(method: &Method, headers: &HeaderMap) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
        && headers
            .get("sec-fetch-site")
            .is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"))
}

/// The page for a form that is not ours, or no longer.
pub(super) fn forged(member: Option<&SignedIn>) -> Response {
    let text = "This form was not sent from its own page, or the page was open for too long. \
                Nothing was changed. Open the page again.";
    message(StatusCode::FORBIDDEN, "Please try again", member, text, Some(("/", "Go on")))
}

/// The page for when nobody can tell: the store cannot be asked, or a password not be checked.
pub(super) fn failed(error: &(dyn std::error::Error + 'static)) -> Response {
    tracing::error!(error = %causes(error), "a page could not be made");
    let text = "The service cannot answer right now. Nothing was changed. Try again in a minute.";
    message(StatusCode::SERVICE_UNAVAILABLE, "Out of order", None, text, None)
}

/// Our cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookie {
    /// The session's secret.
    Session,
    /// The secret behind the form of the sign-in page, before there is a session.
    Form,
}

impl Cookie {
    /// Its name. With `__Host-` browsers take it over TLS only, from this host only, for all paths.
    fn name(self, secure: bool) -> &'static str {
        match (self, secure) {
            (Self::Session, true) => "__Host-session",
            (Self::Session, false) => "session",
            (Self::Form, true) => "__Host-form",
            (Self::Form, false) => "form",
        }
    }

    /// Its value in a request, when there is exactly one of it and it is a secret of ours.
    pub(super) fn find(self, web: &Web, headers: &HeaderMap) -> Option<String> {
        let name = self.name(is_secure(web.provider().config()));
        let mut values = headers
            .get_all(COOKIE)
            .into_iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(each, _)| *each == name)
            .map(|(_, value)| value);
        match (values.next(), values.next()) {
            (Some(value), None) if is_secret(value) => Some(value.to_owned()),
            _ => None,
        }
    }

    /// Sets it; without a value it is taken away.
    pub(super) fn set(self, web: &Web, value: Option<&str>, headers: &mut HeaderMap) {
        let secure = is_secure(web.provider().config());
        let attributes = "Path=/; HttpOnly; SameSite=Lax";
        let mut text = match value {
            Some(value) => format!("{}={value}; {attributes}", self.name(secure)),
            None => format!("{}=; {attributes}; Max-Age=0", self.name(secure)),
        };
        if secure {
            text.push_str("; Secure");
        }
        if let Ok(mut value) = HeaderValue::from_str(&text) {
            value.set_sensitive(true);
            headers.append(SET_COOKIE, value);
        }
    }
}

fn is_secret(value: &str) -> bool {
    URL_SAFE_NO_PAD.decode(value).is_ok_and(|bytes| bytes.len() == 32)
}

/// Whether cookies are for TLS only: always, but for a service on this machine.
fn is_secure(config: &Config) -> bool {
    let Some(host) = config.web_origin().strip_prefix("http://") else { return true };
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    let loopback = host == "localhost"
        || host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    !loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_does_without_tls() {
        let check = |issuer: &str, expect: bool| {
            let config = Config { issuer: issuer.to_owned(), ..Config::default() };
            assert_eq!(is_secure(&config), expect, "{issuer}");
        };
        check("https://idp.example/a", true);
        check("http://idp.example/a", true);
        check("http://127.0.0.1.example:80", true);
        check("http://127.0.0.1:8080/idp", false);
        check("http://127.0.0.1", false);
        check("http://[::1]:8080/idp", false);
        check("http://[::1]", false);
        check("http://localhost:1", false);
    }
}
