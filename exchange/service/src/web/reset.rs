//! The page on which a member who forgot the password sets a new one, with a link from an administrator.

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::{HeaderMap, Method, StatusCode};
use maud::html;
use rusqlite::Connection;
use serde::Deserialize;

use super::account::{self, FieldError};
use super::csrf::CsrfToken;
use super::form::PageForm;
use super::layout::{self, PageWidth};
use super::session::{self, CookieKind};
use super::{WebState, render_message, text};
use crate::idp::accounts::PasswordError;
use crate::idp::guesses::{GuessAttempt, give_back, take_all};
use crate::idp::password_resets;
use crate::peer::PeerAddr;

const DONE_PATH: &str = "/reset-done";

pub(super) fn routes() -> Router<WebState> {
    Router::new().route("/reset/{secret}", get(show_form).post(set_password)).route(DONE_PATH, get(show_done))
}

#[derive(Deserialize)]
struct ResetForm {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    new: String,
    #[serde(default)]
    repeated: String,
}

async fn show_form(
    State(web): State<WebState>,
    headers: HeaderMap,
    peer: PeerAddr,
    Path(secret): Path<String>,
) -> Response {
    render_form(&web, &headers, peer, &secret, None).await
}

/// Returns the user name of the account of an unused link, or the page to send instead. Attempts to guess a link
/// count like attempts to guess a password.
async fn find_account(web: &WebState, peer: PeerAddr, secret: &str) -> Result<String, Box<Response>> {
    let now = web.provider().environment().now();
    let attempt = [(GuessAttempt::PasswordFromAddress, peer.network().to_string())];
    if take_all(web.provider().guesses(), &attempt, now).await.is_err() {
        let text = "Too many attempts. Try again in a minute.";
        return Err(Box::new(render_message(StatusCode::TOO_MANY_REQUESTS, "Please wait", None, text, None)));
    }
    let link = secret.to_owned();
    let find = move |connection: &Connection| password_resets::find_reset(connection, &link, now);
    match web.provider().store().read(find).await {
        Ok(Some((_, username))) => {
            give_back(web.provider().guesses(), &attempt).await;
            Ok(username)
        }
        Ok(None) => Err(Box::new(gone_page())),
        Err(error) => Err(Box::new(session::error_page(&error))),
    }
}

/// Renders the form for an unused link. As the sign-in form, it is bound to a secret in a cookie.
async fn render_form(
    web: &WebState,
    headers: &HeaderMap,
    peer: PeerAddr,
    secret: &str,
    error: Option<&FieldError>,
) -> Response {
    let username = match find_account(web, peer, secret).await {
        Ok(username) => username,
        Err(response) => return *response,
    };
    let cookie = CookieKind::Form.read_value(web, headers);
    let new_secret = || web.provider().environment().random_token::<32>();
    let form_secret = match cookie.clone().map_or_else(new_secret, Ok) {
        Ok(form_secret) => form_secret,
        Err(error) => return session::error_page(&error),
    };
    let body = html! {
        form .card method="post" {
            (CsrfToken::from_secret(&form_secret).hidden_field())
            p { "For the account " (text::name(&username)) ". All browsers that are signed in to it are signed out." }
            (account::render_new_password_fields(error))
            p .actions { button type="submit" { "Set the password" } }
        }
    };
    let status = if error.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let mut response =
        layout::render_with_width(PageWidth::Narrow, status, "Set a new password", None, &body);
    if cookie.is_none() {
        CookieKind::Form.write_value(web, Some(&form_secret), response.headers_mut());
    }
    response
}

async fn set_password(
    State(web): State<WebState>,
    method: Method,
    headers: HeaderMap,
    peer: PeerAddr,
    Path(secret): Path<String>,
    PageForm(form): PageForm<ResetForm>,
) -> Response {
    let is_ours = CookieKind::Form
        .read_value(&web, &headers)
        .is_some_and(|secret| CsrfToken::from_secret(&secret).matches(&form.csrf));
    if !is_ours || session::is_cross_site(&method, &headers) {
        return session::forged_form_page(None);
    }
    if let Err(error) = account::check_new_password(&form.new, &form.repeated) {
        return render_form(&web, &headers, peer, &secret, Some(&error)).await;
    }
    // The link is checked before the password is hashed, because hashing is expensive.
    if let Err(response) = find_account(&web, peer, &secret).await {
        return *response;
    }
    let (environment, now) = (web.provider().environment(), web.provider().environment().now());
    let hash = match web.passwords().hash_new_password(form.new, environment).await {
        Ok(hash) => hash,
        Err(PasswordError::Busy(_)) => {
            let text = "Too many passwords are being checked. Try again in a few seconds.";
            return render_message(StatusCode::TOO_MANY_REQUESTS, "Please wait", None, text, None);
        }
        Err(error) => return session::error_page(&error),
    };
    let work = move |connection: &Connection| password_resets::use_reset(connection, &secret, &hash, now);
    match web.provider().store().write(work).await {
        Ok(true) => {
            let mut response = Redirect::to(DONE_PATH).into_response();
            CookieKind::Form.write_value(&web, None, response.headers_mut());
            response
        }
        Ok(false) => gone_page(),
        Err(error) => session::error_page(&error),
    }
}

async fn show_done() -> Response {
    let body = html! {
        div .message.good role="status" tabindex="-1" autofocus { p { "Sign in with the new password." } }
        p { a .button href="/sign-in" { "Sign in" } }
    };
    layout::render_with_width(PageWidth::Narrow, StatusCode::OK, "The password is set", None, &body)
}

fn gone_page() -> Response {
    let text = "This link was used already, was replaced by a newer one, or has expired. Ask an administrator for another \
                one.";
    let next = Some(("/sign-in", "Sign in"));
    render_message(StatusCode::NOT_FOUND, "The link does not work", None, text, next)
}
