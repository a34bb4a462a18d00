//! The pages for signing in and out.

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, StatusCode};
use maud::html;
use serde::Deserialize;
use std::time::Duration;

use super::WebState;
use super::browser_name::browser_name;
use super::csrf::CsrfToken;
use super::form::PageForm;
use super::layout::{self, PageWidth};
use super::session::{self, CookieKind, SignedInMember};
use crate::idp::accounts::{self, PasswordError};
use crate::idp::guesses::{AttemptError, GuessAttempt, give_back, take_all};
use crate::idp::{sessions, sign_ins};
use crate::members::{self, RegistrationState as Registration};
use crate::peer::PeerAddr;
use crate::records::Actor;
use crate::store::StoreError;
use crate::time::retry_after;

const SIGNED_OUT_PATH: &str = "/signed-out";

pub(super) fn routes() -> Router<WebState> {
    // If the browser is already signed out, it is redirected to the sign-in page. After the sign-in, it
    // requests this address with `GET`.
    let again = get(async || Redirect::to("/"));
    Router::new()
        .route("/sign-in", get(show_sign_in).post(sign_in))
        .route("/sign-out", again.post(sign_out))
        .route(SIGNED_OUT_PATH, get(show_signed_out))
}

#[derive(Deserialize)]
struct SignInQuery {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct SignInForm {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    next: String,
}

async fn show_sign_in(
    State(web): State<WebState>,
    headers: HeaderMap,
    Query(target): Query<SignInQuery>,
) -> Response {
    match session::find_signed_in(&web, &headers, "/sign-in").await {
        Ok(Some(_)) => Redirect::to(local_path(&target.next)).into_response(),
        Ok(None) => render_sign_in(&web, &headers, &target.next, "", None, StatusCode::OK),
        Err(error) => session::error_page(&error),
    }
}

/// Renders the sign-in page. The form is bound to a secret in a cookie of the browser, so that another site
/// cannot sign the browser in.
fn render_sign_in(
    web: &WebState,
    headers: &HeaderMap,
    next: &str,
    username: &str,
    error: Option<&str>,
    status: StatusCode,
) -> Response {
    let found = CookieKind::Form.read_value(web, headers);
    let secret = match found.clone().map_or_else(|| web.provider().environment().random_token::<32>(), Ok) {
        Ok(secret) => secret,
        Err(error) => return session::error_page(&error),
    };
    let (invalid, described) = (error.map(|_| "true"), error.map(|_| "error"));
    let body = html! {
        form .card method="post" action="/sign-in" {
            (CsrfToken::from_secret(&secret).hidden_field())
            input type="hidden" name="next" value=(local_path(next));
            @if let Some(error) = error {
                p #error .field-error role="alert" { (error) }
            }
            label for="username" { "User name" }
            input #username type="text" name="username" value=(username) required
                autofocus[username.is_empty()] autocomplete="username" autocapitalize="none" spellcheck="false"
                maxlength="128" aria-invalid=[invalid] aria-describedby=[described];
            label for="password" { "Password" }
            input #password type="password" name="password" required autofocus[!username.is_empty()]
                autocomplete="current-password" maxlength="1024" aria-invalid=[invalid] aria-describedby=[described];
            p .actions { button type="submit" { "Sign in" } }
        }
        p .hint { "Forgot your password? An administrator can send you a link with which you set a new one." }
    };
    let mut response = layout::render_with_width(PageWidth::Narrow, status, "Sign in", None, &body);
    if found.is_none() {
        CookieKind::Form.write_value(web, Some(&secret), response.headers_mut());
    }
    response
}

async fn sign_in(
    State(web): State<WebState>,
    peer: PeerAddr,
    method: Method,
    headers: HeaderMap,
    PageForm(submitted): PageForm<SignInForm>,
) -> Response {
    let is_ours = CookieKind::Form
        .read_value(&web, &headers)
        .is_some_and(|secret| CsrfToken::from_secret(&secret).matches(&submitted.csrf));
    if !is_ours || session::is_cross_site(&method, &headers) {
        let text = "The page was open for too long. Please sign in again.";
        return render_sign_in(&web, &headers, &submitted.next, "", Some(text), StatusCode::FORBIDDEN);
    }
    let again = |text: &str, status| {
        render_sign_in(&web, &headers, &submitted.next, &submitted.username, Some(text), status)
    };
    let before = CookieKind::Session.read_value(&web, &headers);
    match check_sign_in(&web, peer, &submitted, before, browser_name(&headers)).await {
        Ok(secret) => {
            let mut response = Redirect::to(local_path(&submitted.next)).into_response();
            // The new session has a new secret, so that a leaked secret of the previous session is useless.
            CookieKind::Session.write_value(&web, Some(&secret), response.headers_mut());
            CookieKind::Form.write_value(&web, None, response.headers_mut());
            response
        }
        Err(SignInError::WrongCredentials) => {
            again("The user name or the password is wrong.", StatusCode::UNPROCESSABLE_ENTITY)
        }
        Err(SignInError::Wait(wait)) => {
            let seconds = retry_after(wait);
            let text = format!("Too many attempts. Try again in {seconds} seconds.");
            let mut response = again(&text, StatusCode::TOO_MANY_REQUESTS);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            response
        }
        Err(SignInError::Internal(why)) => session::error_page(&*why),
    }
}

/// The reason a password was not accepted.
pub(super) enum SignInError {
    WrongCredentials,
    Wait(Duration),
    Internal(Box<dyn std::error::Error + Send + Sync>),
}

impl From<AttemptError> for SignInError {
    fn from(error: AttemptError) -> Self {
        match error {
            AttemptError::Wait(wait) => Self::Wait(wait),
            AttemptError::Unavailable => Self::Internal(error.into()),
        }
    }
}

impl From<StoreError> for SignInError {
    fn from(error: StoreError) -> Self {
        Self::Internal(error.into())
    }
}

impl From<PasswordError> for SignInError {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Busy(wait) => Self::Wait(wait),
            PasswordError::Failed => Self::Internal(error.into()),
        }
    }
}

/// Counts the attempt, checks the user name and the password, and replaces the previous session of the
/// browser. Returns the secret of the new session.
///
/// An attempt that was not a wrong guess is refunded. The count is not reset, so a success does not allow
/// more guesses.
async fn check_sign_in(
    web: &WebState,
    peer: PeerAddr,
    submitted: &SignInForm,
    before: Option<String>,
    browser: Option<String>,
) -> Result<String, SignInError> {
    let (guesses, now) = (web.provider().guesses(), web.provider().environment().now());
    let username = accounts::normalize_username(&submitted.username);
    let attempts = password_attempts(peer, &username);
    if let Err(error) = take_all(guesses, &attempts, now).await {
        sign_ins::record_lockout(web.provider(), &username, peer);
        return Err(error.into());
    }
    let checked = begin_session(web, (&username, peer), submitted.password.clone(), before, browser).await;
    if !matches!(checked, Err(SignInError::WrongCredentials)) {
        give_back(guesses, &attempts).await;
    }
    checked
}

/// Returns the attempts that a check of an account's password counts.
pub(super) fn password_attempts(peer: PeerAddr, username: &str) -> [(GuessAttempt, String); 3] {
    let address = peer.network().to_string();
    [
        (GuessAttempt::PasswordFromAddress, address.clone()),
        // This limit is per address and account, so that an attacker at another address does not use up the
        // attempts of the owner.
        (GuessAttempt::AccountPasswordFromAddress, format!("{address} {username}")),
        (GuessAttempt::AccountPassword, username.to_owned()),
    ]
}

async fn begin_session(
    web: &WebState,
    (username, peer): (&str, PeerAddr),
    password: String,
    before: Option<String>,
    browser: Option<String>,
) -> Result<String, SignInError> {
    let (provider, environment) = (web.provider(), web.provider().environment().clone());
    let name = username.to_owned();
    let account = provider.store().read(move |database| accounts::find_account(database, &name)).await?;
    let (member, hash) = account.unzip();
    let is_correct = web.passwords().verify_password(password, hash).await?;
    let Some(member) = member.clone().filter(|_| is_correct) else {
        sign_ins::record_failure(provider, member, peer);
        return Err(SignInError::WrongCredentials);
    };
    let signed_in = member.clone();
    let life = Duration::from_secs(provider.config().idp.session_seconds);
    let work = move |database: &rusqlite::Connection| {
        let found = members::find_member(database, &member)?;
        // A disabled or deleted member gets the same response as for a wrong password.
        let Some(Registration::Active | Registration::Pending) = found.map(|found| found.state) else {
            return Ok::<_, StoreError>(None);
        };
        // The browser loses the secret of the previous session, so the member could not end that session
        // later (IDP-08).
        if let Some(before) = before
            && let Some(session) = sessions::find_session(database, &before, environment.now())?
        {
            sessions::end_session(database, &session, Actor::Member(&session.member), environment.now())?;
        }
        sign_ins::audit_success(database, &member, peer, environment.now())?;
        let (secret, session) = sessions::begin_session(database, &environment, &member, life)?;
        if let Some(browser) = browser {
            sessions::record_browser(database, &session, &browser)?;
        }
        Ok(Some(secret))
    };
    let begun = provider.store().write(work).await?;
    match &begun {
        Some(_) => sign_ins::record_success(&signed_in),
        None => sign_ins::record_failure(provider, Some(signed_in), peer),
    }
    begun.ok_or(SignInError::WrongCredentials)
}

#[derive(Deserialize)]
struct SignOutForm {
    #[serde(default)]
    csrf: String,
}

async fn sign_out(
    State(web): State<WebState>,
    peer: PeerAddr,
    member: SignedInMember,
    PageForm(submitted): PageForm<SignOutForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&submitted.csrf) {
        return *response;
    }
    let (session, now) = (member.session().clone(), web.provider().environment().now());
    let end = move |database: &rusqlite::Connection| {
        sign_ins::audit_sign_out(database, &session.member, peer, now)?;
        sessions::end_session(database, &session, Actor::Member(&session.member), now)
    };
    let ended = web.provider().store().write(end).await;
    if let Err(error) = ended {
        return session::error_page(&error);
    }
    let mut response = Redirect::to(SIGNED_OUT_PATH).into_response();
    CookieKind::Session.write_value(&web, None, response.headers_mut());
    response
}

/// Renders the page after a sign-out. A browser that is signed in sees the overview instead.
async fn show_signed_out(State(web): State<WebState>, headers: HeaderMap) -> Response {
    match session::find_signed_in(&web, &headers, SIGNED_OUT_PATH).await {
        Ok(Some(_)) => Redirect::to("/").into_response(),
        Ok(None) => {
            let body = html! {
                div .message.good role="status" tabindex="-1" autofocus {
                    p { "Applications that were connected only until you sign out are disconnected, too." }
                }
                p { a .button href="/sign-in" { "Sign in again" } }
            };
            layout::render_with_width(PageWidth::Narrow, StatusCode::OK, "You are signed out", None, &body)
        }
        Err(error) => session::error_page(&error),
    }
}

/// Returns `next` if it is a path on this origin, otherwise `/`.
fn local_path(next: &str) -> &str {
    let is_path = next.starts_with('/')
        && !next.starts_with("//")
        && next.len() <= 512
        && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_path { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::local_path;

    #[test]
    fn redirects_stay_on_this_origin() {
        for path in ["/device", "/device?user_code=WDJB-MJHT", "/confirm/a"] {
            assert_eq!(local_path(path), path);
        }
        let elsewhere =
            ["", "https://other.example", "//other.example", "/\\other.example", "device", "/a\r\nb", "/ä"];
        for other in elsewhere {
            assert_eq!(local_path(other), "/", "{other:?}");
        }
    }
}
