//! The device page, on which a member enters a user code, reviews the requested scopes, and approves or
//! declines (WEB-01 to WEB-03).

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::{Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::RETRY_AFTER;
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{self, SignedInMember};
use super::{WebState, render_message, render_page};
use crate::idp::{DecisionError, LoginDecision, LoginState, PendingLogin, UserCode};
use crate::peer::PeerAddr;
use crate::time::retry_after;

pub(super) fn routes() -> Router<WebState> {
    // If a member has to sign in again before the decision, the browser returns to this address, and the
    // member starts over.
    let again = get(async || Redirect::to("/device"));
    Router::new()
        .route("/device", get(show_form).post(look_up))
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

fn render_warning() -> Markup {
    html! {
        div .warning role="note" {
            p { strong { "Continue only with a code that your own device shows right now." } }
            p {
                "If someone sent you the code or a link to this page, stop: they would be able to "
                "act in your name."
            }
        }
    }
}

/// Renders the form for the code, with `code` filled in.
fn render_form(member: &SignedInMember, code: &str, error: Option<&str>, status: StatusCode) -> Response {
    let body = html! {
        (render_warning())
        form method="post" action="/device" {
            (member.csrf().hidden_field())
            @if let Some(error) = error {
                p #error .error role="alert" { (error) }
            }
            label for="user_code" { "Code" }
            input #user_code .code type="text" name="user_code" value=(code) required autofocus
                autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="64"
                aria-invalid=[error.map(|_| "true")]
                aria-describedby=(if error.is_some() { "error hint" } else { "hint" });
            p #hint .hint { "Eight letters, as your device shows them." }
            p .actions { button type="submit" { "Next" } }
        }
    };
    render_page(status, "Connect a device", Some(member), &body)
}

async fn look_up(
    State(web): State<WebState>,
    peer: PeerAddr,
    member: SignedInMember,
    Form(submitted): Form<DeviceForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&submitted.csrf) {
        return *response;
    }
    let Some(code) = UserCode::from_input(&submitted.user_code) else {
        return no_such_code(&member, &submitted.user_code);
    };
    match web.provider().find_pending_login(&code, peer).await {
        Ok(waiting) => render_consent(&member, &code, &waiting, web.provider().config().idp.longest_days),
        Err(error) => decision_error_page(&member, &submitted.user_code, &error),
    }
}

/// Renders the consent page with one line per scope. It is shown for every login (WEB-03).
fn render_consent(member: &SignedInMember, code: &UserCode, waiting: &PendingLogin, days: u32) -> Response {
    let title = format!("Connect {}?", waiting.name);
    let body = html! {
        (render_warning())
        p { "Does your device show this code?" }
        p .code { (code.to_display()) }
        h2 { (waiting.name) " requests permission to:" }
        ul {
            @for scope in waiting.scopes.capabilities() {
                @if let Some(line) = scope.consent() {
                    li { (line) }
                }
            }
        }
        p .hint {
            @if waiting.scopes.is_offline() {
                "It stays connected when you sign out here: until you disconnect it, in " (waiting.name)
                " itself or under Connected applications, or for " (days) " days at most."
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
    };
    render_page(StatusCode::OK, &title, Some(member), &body)
}

async fn submit_decision(
    State(web): State<WebState>,
    peer: PeerAddr,
    member: SignedInMember,
    Form(submitted): Form<DeviceForm>,
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
    match (web.provider().decide_login(&code, peer, member.session(), decision).await, decision) {
        (Ok(waiting), LoginDecision::Approve) => {
            let text = format!("You can return to {} on your device.", waiting.name);
            render_message(StatusCode::OK, "Connected", Some(&member), &text, None)
        }
        (Ok(waiting), LoginDecision::Decline) => {
            let text = format!("{} was not connected.", waiting.name);
            render_message(StatusCode::OK, "Declined", Some(&member), &text, None)
        }
        (Err(error), _) => decision_error_page(&member, &submitted.user_code, &error),
    }
}

/// Renders the form with the code that the member typed, so that the member can compare it with the device.
fn no_such_code(member: &SignedInMember, typed: &str) -> Response {
    let text = "The code is unknown or has expired. Compare it with the one on your device.";
    render_form(member, typed, Some(text), StatusCode::NOT_FOUND)
}

fn decision_error_page(member: &SignedInMember, typed: &str, error: &DecisionError) -> Response {
    match error {
        DecisionError::NotFound => no_such_code(member, typed),
        DecisionError::AlreadyDecided(state) => {
            let text = match state {
                LoginState::Approved | LoginState::Consumed => "This code has already been approved.",
                LoginState::Declined | LoginState::Pending => "This code has already been declined.",
            };
            render_message(StatusCode::CONFLICT, "Already decided", Some(member), text, None)
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
            render_message(
                StatusCode::SERVICE_UNAVAILABLE,
                "Temporarily unavailable",
                Some(member),
                text,
                None,
            )
        }
        DecisionError::Store(error) => session::error_page(error),
    }
}
