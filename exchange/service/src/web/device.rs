//! The device page, on which a member enters a user code, reviews the requested scopes, and approves or
//! declines (WEB-01 to WEB-03).
//!
//! ```text
//! GET /device ─► POST /device ─► GET /device/consent ─► POST /device/decision ─► GET /device/consent
//! ```
//!
//! The consent page has an address that only this service can create for the session, so that a link cannot
//! skip the first page (WEB-02). After the decision, the same address shows the result.

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::RETRY_AFTER;
use maud::{Markup, html};
use serde::Deserialize;

use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{WebState, applications, layout, render_message, render_page, text};
use crate::idp::{DecidedLogin, DecisionError, LoginDecision, LoginState, PendingLogin, UserCode};
use crate::peer::PeerAddr;
use crate::time::retry_after;

pub(super) const PATH: &str = "/device";
const CONSENT_PATH: &str = "/device/consent";
/// The purpose of the MAC in the address of a consent page.
const CONSENT_PURPOSE: &str = "consent";

pub(super) fn routes() -> Router<WebState> {
    // If a member has to sign in again before the decision, the browser returns to this address, and the
    // member starts over.
    let again = get(async || Redirect::to(PATH));
    Router::new()
        .route(PATH, get(show_form).post(look_up))
        .route(CONSENT_PATH, get(show_consent))
        .route("/device/decision", again.post(submit_decision))
}

#[derive(Deserialize)]
struct PrefilledCode {
    #[serde(default)]
    user_code: String,
}

#[derive(Deserialize)]
struct DeviceForm {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    user_code: String,
    #[serde(default)]
    decision: String,
}

/// Renders the form for the code. A code in the address only fills in the field: the member still sees the
/// warning, submits the form and gives consent (WEB-02).
async fn show_form(member: SignedInMember, Query(prefilled): Query<PrefilledCode>) -> Response {
    let shown = UserCode::from_input(&prefilled.user_code).map(|code| code.to_display()).unwrap_or_default();
    render_form(&member, &shown, None, StatusCode::OK)
}

#[derive(Deserialize)]
struct ConsentQuery {
    #[serde(default)]
    user_code: String,
    #[serde(default)]
    proof: String,
}

fn render_warning() -> Markup {
    html! {
        div .note.warning role="note" {
            p { strong { "Continue only with a code that your own device shows right now." } }
            p { "If someone sent you the code or a link to this page, stop: they could act in your name." }
        }
    }
}

/// Renders the form for the code, with `code` filled in.
fn render_form(member: &SignedInMember, code: &str, error: Option<&str>, status: StatusCode) -> Response {
    let body = html! {
        (render_warning())
        div .card { (render_code_form(member, code, error, true)) }
    };
    render_page(status, "Connect a device", Some(member), &body)
}

/// Renders the form fields for a code.
pub(super) fn render_code_form(
    member: &SignedInMember,
    code: &str,
    error: Option<&str>,
    is_focused: bool,
) -> Markup {
    html! {
        form method="post" action=(PATH) {
            (member.csrf().hidden_field())
            label for="user_code" { "Code" }
            @if let Some(error) = error {
                p #error .field-error role="alert" { (error) }
            }
            input #user_code .code type="text" name="user_code" value=(code) required autofocus[is_focused]
                autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="64"
                aria-invalid=[error.map(|_| "true")]
                aria-describedby=(if error.is_some() { "error hint" } else { "hint" });
            p #hint .hint { "Eight letters, as your device shows them." }
            p .actions { button type="submit" { "Next" } }
        }
    }
}

async fn look_up(
    State(web): State<WebState>,
    peer: PeerAddr,
    member: SignedInMember,
    PageForm(submitted): PageForm<DeviceForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&submitted.csrf) {
        return *response;
    }
    let Some(code) = UserCode::from_input(&submitted.user_code) else {
        return no_such_code(&member, &submitted.user_code);
    };
    match web.provider().find_pending_login(&code, peer).await {
        Ok(_) | Err(DecisionError::AlreadyDecided(_) | DecisionError::Suspended(_)) => {
            to_consent(&member, &code)
        }
        Err(error) => decision_error_page(&member, &submitted.user_code, &error),
    }
}

/// Redirects to the consent page of a code.
fn to_consent(member: &SignedInMember, code: &UserCode) -> Response {
    let proof = member.keys().sign(CONSENT_PURPOSE, code.as_str());
    Redirect::to(&format!("{CONSENT_PATH}?user_code={}&proof={proof}", code.to_display())).into_response()
}

/// Renders the consent page, or the result if the login was decided.
async fn show_consent(
    State(web): State<WebState>,
    member: SignedInMember,
    Query(query): Query<ConsentQuery>,
) -> Response {
    let code = UserCode::from_input(&query.user_code)
        .filter(|code| member.keys().verify(CONSENT_PURPOSE, code.as_str(), &query.proof));
    // A link to this page, or a page of an earlier session, leads to the form for the code.
    let Some(code) = code else { return Redirect::to(PATH).into_response() };
    match web.provider().find_known_login(&code).await {
        Ok(waiting) => render_consent(&member, &code, &waiting, web.provider().config().idp.longest_days),
        Err(error) => decision_error_page(&member, &code.to_display(), &error),
    }
}

/// Renders the consent page with one line per scope. It is shown for every login (WEB-03).
fn render_consent(member: &SignedInMember, code: &UserCode, waiting: &PendingLogin, days: u32) -> Response {
    let body = html! {
        (render_warning())
        div .card {
            p { "Does your device show this code?" }
            p .code { (code.to_display()) }
            h2 { (text::name(&waiting.name)) " requests permission to:" }
            (applications::render_scopes(waiting.scopes.capabilities()))
            p .hint {
                @if waiting.scopes.is_offline() {
                    "It stays connected when you sign out here: until you disconnect it, in " (text::name(&waiting.name))
                    " itself or under Applications, or for " (days) " days at most."
                } @else {
                    "It stays connected until you sign out here, or until your sign-in ends by itself ("
                    (member.session().expires_at.to_the_minute()) ")."
                }
            }
            form method="post" action="/device/decision" {
                (member.csrf().hidden_field())
                input type="hidden" name="user_code" value=(code.to_display());
                p .actions {
                    button type="submit" name="decision" value="approve" { "Connect" }
                    button .plain type="submit" name="decision" value="decline" { "Decline" }
                }
            }
        }
    };
    render_page(StatusCode::OK, "Connect this application?", Some(member), &body)
}

async fn submit_decision(
    State(web): State<WebState>,
    peer: PeerAddr,
    member: SignedInMember,
    PageForm(submitted): PageForm<DeviceForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&submitted.csrf) {
        return *response;
    }
    let decision = match submitted.decision.as_str() {
        "approve" => LoginDecision::Approve,
        "decline" => LoginDecision::Decline,
        _ => return session::forged_form_page(Some(&member)),
    };
    let Some(code) = UserCode::from_input(&submitted.user_code) else {
        return no_such_code(&member, &submitted.user_code);
    };
    match web.provider().decide_login(&code, peer, member.session(), decision).await {
        // The consent page shows the result, also in a second tab.
        Ok(_) | Err(DecisionError::AlreadyDecided(_) | DecisionError::Suspended(_)) => {
            to_consent(&member, &code)
        }
        Err(error) => decision_error_page(&member, &submitted.user_code, &error),
    }
}

/// Renders the form with the code that the member typed, so that the member can compare it with the device.
fn no_such_code(member: &SignedInMember, typed: &str) -> Response {
    let text = "The code is unknown or has expired. Compare it with the one on your device.";
    render_form(member, typed, Some(text), StatusCode::NOT_FOUND)
}

/// Renders the result of a login.
fn render_decided(member: &SignedInMember, decided: &DecidedLogin) -> Response {
    let DecidedLogin { name, state, approved_by } = decided;
    let name = text::name(name);
    let (title, text) = match state {
        LoginState::Declined | LoginState::Pending => ("Declined", html! { (name) " was not connected." }),
        LoginState::Approved | LoginState::Consumed if approved_by.as_ref() == Some(member.member()) => {
            ("Connected", html! { "You can return to " (name) " on your device." })
        }
        LoginState::Approved | LoginState::Consumed => {
            ("Already connected", html! { "Another account has approved this code of " (name) "." })
        }
    };
    let body = html! {
        div .message.good[title == "Connected"] role="status" tabindex="-1" autofocus { p { (text) } }
        p { a href=(applications::PATH) { "See all connected applications" } }
    };
    render_page(StatusCode::OK, title, Some(member), &body)
}

fn decision_error_page(member: &SignedInMember, typed: &str, error: &DecisionError) -> Response {
    match error {
        DecisionError::NotFound => no_such_code(member, typed),
        DecisionError::AlreadyDecided(decided) => render_decided(member, decided),
        DecisionError::Suspended(name) => {
            let body = html! {
                (layout::render_error("Nothing was connected.", true))
                p { (text::name(name)) " is suspended. An administrator has to resume it before it can be connected." }
            };
            render_page(StatusCode::FORBIDDEN, "This application is suspended", Some(member), &body)
        }
        DecisionError::SignedOut => {
            let next = Some(("/sign-in?next=%2Fdevice", "Sign in"));
            let text = "Your session has ended. Nothing was changed.";
            render_message(StatusCode::UNAUTHORIZED, "Please sign in again", None, text, next)
        }
        DecisionError::Wait(wait) => {
            let seconds = retry_after(*wait);
            let text = format!("Too many codes were tried. Try again in {seconds} seconds.");
            let mut response = render_form(member, typed, Some(&text), StatusCode::TOO_MANY_REQUESTS);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            response
        }
        DecisionError::Unavailable => {
            let text = "The service is temporarily unavailable. Nothing was changed. Try again in a minute.";
            let title = "Temporarily unavailable";
            render_message(StatusCode::SERVICE_UNAVAILABLE, title, Some(member), text, None)
        }
        DecisionError::Store(error) => session::error_page(error),
    }
}
