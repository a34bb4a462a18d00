//! The page on which a member changes the password and ends browser sessions.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use http::header::RETRY_AFTER;
use maud::{Markup, html};
use rusqlite::Connection;
use serde::Deserialize;

use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::sign_in::{self, SignInError};
use super::{WebState, profile, render_page, text};
use crate::idp::accounts::{self, MIN_PASSWORD_CHARS};
use crate::idp::guesses::{give_back, take_all};
use crate::idp::sessions::{self, ListedSession};
use crate::idp::sign_ins;
use crate::ids::MemberId;
use crate::peer::PeerAddr;
use crate::records::{self, Actor, AuditEntry};
use crate::store::StoreError;
use crate::time::{Moment, retry_after};

pub(super) const PATH: &str = "/account";
const PASSWORD_PATH: &str = "/account/password";
const SESSIONS_PATH: &str = "/account/sessions";

pub(super) fn routes() -> Router<WebState> {
    Router::new()
        .route(PATH, get(show_account))
        .route(PASSWORD_PATH, get(show_account).post(change_password))
        .route(SESSIONS_PATH, get(show_account).post(end_sessions))
}

#[derive(Deserialize)]
struct PasswordForm {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    current: String,
    #[serde(default)]
    new: String,
    #[serde(default)]
    repeated: String,
}

#[derive(Deserialize)]
struct SessionsForm {
    #[serde(default)]
    csrf: String,
    /// The id of the session to end.
    session: Option<String>,
    /// Ends all sessions except this one.
    others: Option<String>,
}

/// A field of the password form with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldError {
    field: &'static str,
    message: String,
}

impl FieldError {
    pub(super) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }
}

async fn show_account(State(web): State<WebState>, member: SignedInMember) -> Response {
    render_account(&web, &member, None, StatusCode::OK).await
}

async fn render_account(
    web: &WebState,
    member: &SignedInMember,
    error: Option<&FieldError>,
    status: StatusCode,
) -> Response {
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let load = move |connection: &Connection| {
        let account = accounts::account_of_member(connection, &id)?;
        Ok::<_, StoreError>((account, sessions::list_sessions(connection, &id, now)?))
    };
    match web.provider().store().read(load).await {
        Ok((account, listed)) => {
            let body = html! {
                (profile::render_account_tabs(member))
                @if let Some((username, _)) = account {
                    (render_password_form(&username, error, &member.csrf().hidden_field()))
                }
                (render_sessions(&listed, member))
            };
            render_page(status, "Password and sign-ins", Some(member), &body)
        }
        Err(error) => session::error_page(&error),
    }
}

fn render_password_form(username: &str, error: Option<&FieldError>, csrf: &Markup) -> Markup {
    html! {
        section .card {
            h2 { "Change the password" }
            p { "Your user name is " (text::name(username)) "." }
            form method="post" action=(PASSWORD_PATH) {
                (csrf)
                (render_password_field("current", "Current password", "current-password", None, error))
                (render_new_password_fields(error))
                p .actions { button type="submit" { "Change the password" } }
            }
        }
    }
}

/// Renders the two fields for a new password.
pub(super) fn render_new_password_fields(error: Option<&FieldError>) -> Markup {
    let hint = format!("At least {MIN_PASSWORD_CHARS} characters. Several words are easy to remember.");
    html! {
        (render_password_field("new", "New password", "new-password", Some(&hint), error))
        (render_password_field("repeated", "New password again", "new-password", None, error))
    }
}

fn render_password_field(
    name: &'static str,
    label: &str,
    autocomplete: &str,
    hint: Option<&str>,
    error: Option<&FieldError>,
) -> Markup {
    let error = error.filter(|error| error.field == name);
    let (error_id, hint_id) = (format!("{name}-error"), format!("{name}-hint"));
    let described = match (error, hint) {
        (Some(_), Some(_)) => Some(format!("{error_id} {hint_id}")),
        (Some(_), None) => Some(error_id.clone()),
        (None, Some(_)) => Some(hint_id.clone()),
        (None, None) => None,
    };
    html! {
        label for=(name) { (label) }
        @if let Some(error) = error {
            p id=(error_id) .field-error role="alert" { (error.message) }
        }
        input id=(name) type="password" name=(name) required autocomplete=(autocomplete) maxlength="1024"
            autofocus[error.is_some()] aria-invalid=[error.map(|_| "true")] aria-describedby=[described];
        @if let Some(hint) = hint { p id=(hint_id) .hint { (hint) } }
    }
}

/// Checks a new password and its repetition.
///
/// # Errors
/// Returns the field with the error.
pub(super) fn check_new_password(new: &str, repeated: &str) -> Result<(), FieldError> {
    accounts::check_new_password(new)
        .map_err(|rule| FieldError::new("new", format!("Choose another one: {rule}.")))?;
    if new == repeated { Ok(()) } else { Err(FieldError::new("repeated", "The two new passwords differ.")) }
}

fn render_sessions(listed: &[ListedSession], member: &SignedInMember) -> Markup {
    let own = member.session().id();
    html! {
        section .card {
            h2 { "Where you are signed in" }
            ul .list {
                @for ListedSession { id, browser, auth_time, expires_at, bound_connections } in listed {
                    li .split {
                        div {
                            p {
                                (browser.as_deref().unwrap_or("Unknown browser"))
                                @if *id == own { " " span .badge.on { "this browser" } }
                            }
                            p .hint {
                                "Signed in " (text::time(*auth_time)) ", until " (text::time(*expires_at)) "."
                                @match bound_connections {
                                    0 => {}
                                    1 => " One application is connected until then.",
                                    count => { " " (count) " applications are connected until then." }
                                }
                            }
                        }
                        @if *id != own {
                            form method="post" action=(SESSIONS_PATH) {
                                (member.csrf().hidden_field())
                                button .danger.small type="submit" name="session" value=(id) {
                                    "End" span .visually-hidden { " the sign-in of " (text::time(*auth_time)) }
                                }
                            }
                        }
                    }
                }
            }
            @if listed.len() > 1 {
                form method="post" action=(SESSIONS_PATH) {
                    (member.csrf().hidden_field())
                    p .actions { button .danger type="submit" name="others" value="end" { "End all others" } }
                }
            }
        }
    }
}

async fn change_password(
    State(web): State<WebState>,
    peer: PeerAddr,
    member: SignedInMember,
    PageForm(form): PageForm<PasswordForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let again = async |error: FieldError, status| render_account(&web, &member, Some(&error), status).await;
    if let Err(error) = check_new_password(&form.new, &form.repeated) {
        return again(error, StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    match replace_password(&web, peer, &member, form).await {
        Ok(()) => member.redirect_with(PATH, "The password is changed. All other browsers are signed out."),
        Err(SignInError::WrongCredentials) => {
            let error = FieldError::new("current", "The current password is wrong.");
            again(error, StatusCode::UNPROCESSABLE_ENTITY).await
        }
        Err(SignInError::Wait(wait)) => {
            let seconds = retry_after(wait);
            let error =
                FieldError::new("current", format!("Too many attempts. Try again in {seconds} seconds."));
            let mut response = again(error, StatusCode::TOO_MANY_REQUESTS).await;
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            response
        }
        Err(SignInError::Internal(why)) => session::error_page(&*why),
    }
}

/// Checks the current password, with the same limits as a sign-in, and replaces it. Ends all other sessions.
async fn replace_password(
    web: &WebState,
    peer: PeerAddr,
    member: &SignedInMember,
    form: PasswordForm,
) -> Result<(), SignInError> {
    let (guesses, environment) = (web.provider().guesses(), web.provider().environment());
    let (id, now) = (member.member().clone(), environment.now());
    let find = {
        let id = id.clone();
        move |connection: &Connection| accounts::account_of_member(connection, &id)
    };
    let Some((username, hash)) = web.provider().store().read(find).await? else {
        return Err(SignInError::WrongCredentials);
    };
    let attempts = sign_in::password_attempts(peer, &username);
    if let Err(error) = take_all(guesses, &attempts, now).await {
        sign_ins::record_lockout(web.provider(), &username, peer);
        return Err(error.into());
    }
    let checked = web.passwords().verify_password(form.current, Some(hash.clone())).await;
    if !matches!(checked, Ok(false)) {
        give_back(guesses, &attempts).await;
    }
    if !checked? {
        sign_ins::record_failure(web.provider(), Some(id), peer);
        return Err(SignInError::WrongCredentials);
    }
    let new_hash = web.passwords().hash_new_password(form.new, environment).await?;
    let own = member.session().id();
    let replace = move |connection: &Connection| {
        // If the password was changed in the meantime, the check above is out of date.
        let current = accounts::account_of_member(connection, &id)?;
        if current.is_none_or(|(_, current)| current != hash) {
            return Ok::<_, StoreError>(false);
        }
        store_password(connection, &id, (&own, peer), &new_hash, now)?;
        Ok(true)
    };
    let is_replaced = web.provider().store().write(replace).await?;
    if is_replaced { Ok(()) } else { Err(SignInError::WrongCredentials) }
}

fn store_password(
    connection: &Connection,
    member: &MemberId,
    (own_session, source): (&str, PeerAddr),
    hash: &str,
    now: Moment,
) -> Result<(), StoreError> {
    accounts::set_password(connection, member, hash)?;
    sessions::end_sessions_where(connection, member, now, |session| session != own_session)?;
    records::notify_member(connection, now, member, "password-changed", member.as_str())?;
    let entry = AuditEntry { client: None, action: "password.change", subject: member.as_str(), detail: "" };
    records::record_audit_from(connection, now, Actor::Member(member), entry, Some(source))
}

async fn end_sessions(
    State(web): State<WebState>,
    member: SignedInMember,
    PageForm(form): PageForm<SessionsForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let (id, now, own) = (member.member().clone(), web.provider().environment().now(), member.session().id());
    let (chosen, message) = match (form.session, form.others) {
        (Some(session), None) => (Some(session), "The sign-in is ended."),
        (None, Some(_)) => (None, "All other sign-ins are ended."),
        _ => return session::forged_form_page(Some(&member)),
    };
    let end = move |connection: &Connection| {
        sessions::end_sessions_where(connection, &id, now, |session| {
            session != own && chosen.as_ref().is_none_or(|chosen| chosen == session)
        })
    };
    match web.provider().store().write(end).await {
        // If the session has ended already, the next page does not list it.
        Ok(_) => member.redirect_with(PATH, message),
        Err(error) => session::error_page(&error),
    }
}
