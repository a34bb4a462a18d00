//! The browser session of a request: its cookies, and the extractor of the signed-in member.

use axum::extract::{FromRef, FromRequestParts};
use axum::response::{IntoResponse as _, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{COOKIE, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::csrf::CsrfToken;
use super::flash::FlashKey;
use super::layout::NavigationItem;
use super::{ADMIN_PAGES, MEMBER_PAGES, WebState, render_message};
use crate::config::Config;
use crate::idp::{BrowserSession, sessions};
use crate::ids::MemberId;
use crate::logging::error_chain;
use crate::members::{self, RegistrationState};
use crate::records;
use crate::store::StoreError;
use crate::telemetry::note_member;

/// A signed-in member.
///
/// The extractor redirects a request without a session to the sign-in page, and refuses form submissions from
/// other sites.
#[derive(Clone, Debug)]
pub struct SignedInMember {
    session: BrowserSession,
    name: String,
    csrf: CsrfToken,
    unread: u64,
    administers: bool,
    /// The path of the request.
    path: String,
    keys: FlashKey,
    /// The message of the last action, which the next page shows.
    flash: Option<String>,
    /// Whether cookies require TLS.
    secure: bool,
}

impl SignedInMember {
    /// Returns the member's id.
    #[must_use]
    pub const fn member(&self) -> &MemberId {
        &self.session.member
    }

    /// Returns the name that other members see.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of unread notices, which are counted only up to a maximum.
    #[must_use]
    pub(super) const fn unread_count(&self) -> u64 {
        self.unread
    }

    /// Returns true if the member may administer the service.
    #[must_use]
    pub(super) const fn administers(&self) -> bool {
        self.administers
    }

    /// Returns the pages in the member's navigation.
    pub(super) fn pages(&self) -> impl Iterator<Item = NavigationItem> {
        MEMBER_PAGES.into_iter().chain(ADMIN_PAGES.into_iter().filter(|_| self.administers))
    }

    /// Returns the path of the request.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the message of the last action, if it was not shown yet.
    pub(super) fn flash(&self) -> Option<&str> {
        self.flash.as_deref()
    }

    /// Returns the key that signs values for pages of this session.
    pub(super) const fn keys(&self) -> &FlashKey {
        &self.keys
    }

    /// Redirects to a page, which shows a message about the finished action (Post/Redirect/Get).
    pub(super) fn redirect_with(&self, path: &str, message: &str) -> Response {
        let mut response = Redirect::to(path).into_response();
        let value = self.keys.encode_message(message);
        CookieKind::Flash.write_secure(self.secure, Some(&value), response.headers_mut());
        response
    }

    /// Removes the message from the browser, because a page shows it.
    pub(super) fn forget_flash(&self, headers: &mut HeaderMap) {
        CookieKind::Flash.write_secure(self.secure, None, headers);
    }

    /// Returns the browser session.
    #[must_use]
    pub const fn session(&self) -> &BrowserSession {
        &self.session
    }

    /// Returns the CSRF token for the forms of this session.
    #[must_use]
    pub const fn csrf(&self) -> &CsrfToken {
        &self.csrf
    }

    /// Checks the CSRF token of a form. A handler must call this function before it processes the form.
    ///
    /// # Errors
    /// Returns the response to send if the token is wrong.
    pub fn check_csrf(&self, csrf: &str) -> Result<(), Box<Response>> {
        if self.csrf.matches(csrf) {
            return Ok(());
        }
        Err(Box::new(forged_form_page(Some(self))))
    }
}

impl<S> FromRequestParts<S> for SignedInMember
where
    WebState: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let web = WebState::from_ref(state);
        if is_cross_site(&parts.method, &parts.headers) {
            return Err(forged_form_page(None));
        }
        match find_signed_in(&web, &parts.headers, parts.uri.path()).await {
            Ok(Some(signed_in)) => {
                note_member(signed_in.member());
                Ok(signed_in)
            }
            Ok(None) => {
                let next = match parts.method {
                    Method::GET | Method::HEAD => {
                        parts.uri.path_and_query().map_or("/", |path| path.as_str())
                    }
                    // The submitted form is lost. After the sign-in, the member sees the page with the form.
                    _ => parts.uri.path(),
                };
                Err(to_sign_in(next))
            }
            Err(error) => Err(error_page(&error)),
        }
    }
}

/// Redirects to the sign-in page, which afterwards redirects to `next`.
fn to_sign_in(next: &str) -> Response {
    Redirect::to(&format!("/sign-in?next={}", percent_encode(next))).into_response()
}

/// Percent-encodes all bytes except ASCII letters and digits.
pub(super) fn percent_encode(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

/// Finds the signed-in member according to the session cookie, for a request with a path.
pub(super) async fn find_signed_in(
    web: &WebState,
    headers: &HeaderMap,
    path: &str,
) -> Result<Option<SignedInMember>, StoreError> {
    let Some(secret) = CookieKind::Session.read_value(web, headers) else { return Ok(None) };
    let (csrf, now) = (CsrfToken::from_secret(&secret), web.provider().environment().now());
    let (keys, path) = (FlashKey::from_secret(&secret), path.to_owned());
    let flash = CookieKind::Flash.read_value(web, headers).and_then(|value| keys.decode_message(&value));
    let secure = is_secure(web.provider().config());
    let work = move |database: &rusqlite::Connection| {
        let Some(session) = sessions::find_session(database, &secret, now)? else { return Ok(None) };
        let member = members::find_member(database, &session.member)?;
        let member = member
            .filter(|member| matches!(member.state, RegistrationState::Active | RegistrationState::Pending));
        let Some(member) = member else { return Ok(None) };
        let unread = records::count_unread(database, &member.id)?;
        let administers = member.is_admin && member.state == RegistrationState::Active;
        let name = member.name;
        let signed_in =
            SignedInMember { session, name, csrf, unread, administers, path, keys, flash, secure };
        Ok::<_, StoreError>(Some(signed_in))
    };
    web.provider().store().read(work).await
}

/// Returns true if the browser reports that another site submitted the form. The header `Origin` is not used:
/// a browser that sends no referrer also sends the origin `null` for pages of this service.
pub(crate) fn is_cross_site(method: &Method, headers: &HeaderMap) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
        && headers
            .get("sec-fetch-site")
            .is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"))
}

/// Renders the page for a form whose token is missing, wrong or expired.
pub(super) fn forged_form_page(member: Option<&SignedInMember>) -> Response {
    let text = "This form was not sent from its own page, or the page was open for too long. \
                Nothing was changed. Open the page again.";
    render_message(StatusCode::FORBIDDEN, "Please try again", member, text, Some(("/", "Go to the overview")))
}

/// Logs an error and renders the page for a temporary failure.
pub(super) fn error_page(error: &(dyn std::error::Error + 'static)) -> Response {
    tracing::error!(error = %error_chain(error), "page failed");
    let text = "The service is temporarily unavailable. Nothing was changed. Try again in a minute.";
    render_message(StatusCode::SERVICE_UNAVAILABLE, "Temporarily unavailable", None, text, None)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CookieKind {
    Session,
    /// The cookie with the secret of the sign-in form, which is needed before there is a session.
    Form,
    /// The cookie with a signed message for the next page.
    Flash,
}

impl CookieKind {
    /// Returns the name of the cookie. For a name with the prefix `__Host-`, browsers require TLS, this host
    /// and the path `/`.
    fn cookie_name(self, secure: bool) -> &'static str {
        match (self, secure) {
            (Self::Session, true) => "__Host-session",
            (Self::Session, false) => "session",
            (Self::Form, true) => "__Host-form",
            (Self::Form, false) => "form",
            (Self::Flash, true) => "__Host-message",
            (Self::Flash, false) => "message",
        }
    }

    /// Returns the value of the cookie if it occurs exactly once and, except for a message, has the form of a
    /// secret.
    pub(super) fn read_value(self, web: &WebState, headers: &HeaderMap) -> Option<String> {
        let name = self.cookie_name(is_secure(web.provider().config()));
        let mut values = headers
            .get_all(COOKIE)
            .into_iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(each, _)| *each == name)
            .map(|(_, value)| value);
        match (values.next(), values.next()) {
            (Some(value), None) if self == Self::Flash || is_secret(value) => Some(value.to_owned()),
            _ => None,
        }
    }

    /// Sets the cookie. Removes it if `value` is `None`.
    pub(super) fn write_value(self, web: &WebState, value: Option<&str>, headers: &mut HeaderMap) {
        self.write_secure(is_secure(web.provider().config()), value, headers);
    }

    fn write_secure(self, secure: bool, value: Option<&str>, headers: &mut HeaderMap) {
        let attributes = match self {
            // A message that no page has shown is out of date after a short time.
            Self::Flash if value.is_some() => "Path=/; HttpOnly; SameSite=Lax; Max-Age=120",
            _ => "Path=/; HttpOnly; SameSite=Lax",
        };
        let mut text = match value {
            Some(value) => format!("{}={value}; {attributes}", self.cookie_name(secure)),
            None => format!("{}=; {attributes}; Max-Age=0", self.cookie_name(secure)),
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

/// Returns true if cookies require TLS. This is always the case except for a service on a loopback address.
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
    fn only_loopback_works_without_tls() {
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
