//! The device page (WEB-01 to WEB-03): the code, then what the client asks for, then yes or no.

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::{Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::RETRY_AFTER;
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{self, SignedIn};
use super::{Web, message, page};
use crate::idp::{Decision, LoginState, Undecided, UserCode, Waiting};
use crate::peer::Peer;
use crate::time::retry_after;

pub(super) fn routes() -> Router<Web> {
    // Whoever had to sign in again before a decision comes back to its address, and begins anew.
    let again = get(async || Redirect::to("/device"));
    Router::new().route("/device", get(form).post(look_up)).route("/device/decision", again.post(decide))
}

#[derive(Deserialize)]
struct Prefilled {
    #[serde(default)]
    user_code: String,
}

#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    user_code: String,
    #[serde(default)]
    decision: String,
}

/// A code that comes with the address is filled in and no more: the member still sees the warning, presses
/// the button and consents (WEB-02).
async fn form(member: SignedIn, Query(prefilled): Query<Prefilled>) -> Response {
    let shown = UserCode::typed(&prefilled.user_code).map(|code| code.shown()).unwrap_or_default();
    ask(&member, &shown, None, StatusCode::OK)
}

fn warning() -> Markup {
    html! {
        div .warning role="note" {
            p { strong { "Go on only with a code that your own device shows you now." } }
            p {
                "Did somebody send you this code or a link to this page? Then stop: whoever sent it would "
                "act in your name."
            }
        }
    }
}

/// The form. `code` is what stands in it already: what came with the address, or was typed before.
fn ask(member: &SignedIn, code: &str, error: Option<&str>, status: StatusCode) -> Response {
    let body = html! {
        (warning())
        form method="post" action="/device" {
            (member.csrf().field())
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
    page(status, "Connect a device", Some(member), &body)
}

async fn look_up(State(web): State<Web>, peer: Peer, member: SignedIn, Form(given): Form<Given>) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    let Some(code) = UserCode::typed(&given.user_code) else {
        return no_such_code(&member, &given.user_code);
    };
    match web.provider().waiting(&code, peer).await {
        Ok(waiting) => consent(&member, &code, &waiting, web.provider().config().idp.longest_days),
        Err(error) => undecided(&member, &given.user_code, &error),
    }
}

/// WEB-03: one line per capability, on every login.
fn consent(member: &SignedIn, code: &UserCode, waiting: &Waiting, days: u32) -> Response {
    let title = format!("Connect {}?", waiting.name);
    let body = html! {
        (warning())
        p { "Does your device show this code?" }
        p .code { (code.shown()) }
        h2 { (waiting.name) " asks to:" }
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
            (member.csrf().field())
            input type="hidden" name="user_code" value=(code.shown());
            p .actions {
                button type="submit" name="decision" value="approve" { "Connect" }
                button .plain type="submit" name="decision" value="decline" { "Decline" }
            }
        }
    };
    page(StatusCode::OK, &title, Some(member), &body)
}

async fn decide(State(web): State<Web>, peer: Peer, member: SignedIn, Form(given): Form<Given>) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    let decision = match given.decision.as_str() {
        "approve" => Decision::Approve,
        "decline" => Decision::Decline,
        _ => return session::forged(Some(&member)),
    };
    let Some(code) = UserCode::typed(&given.user_code) else {
        return no_such_code(&member, &given.user_code);
    };
    match (web.provider().decide(&code, peer, member.session(), decision).await, decision) {
        (Ok(waiting), Decision::Approve) => {
            let text = format!("You can go back to {} on your device now.", waiting.name);
            message(StatusCode::OK, "Connected", Some(&member), &text, None)
        }
        (Ok(waiting), Decision::Decline) => {
            let text = format!("{} was not connected.", waiting.name);
            message(StatusCode::OK, "Declined", Some(&member), &text, None)
        }
        (Err(error), _) => undecided(&member, &given.user_code, &error),
    }
}

/// What was typed stays, to be compared with the device.
fn no_such_code(member: &SignedIn, typed: &str) -> Response {
    let text = "There is no such code, or its time is over. Compare it with your device.";
    ask(member, typed, Some(text), StatusCode::NOT_FOUND)
}

fn undecided(member: &SignedIn, typed: &str, error: &Undecided) -> Response {
    match error {
        Undecided::NotFound => no_such_code(member, typed),
        Undecided::Decided(state) => {
            let text = match state {
                LoginState::Approved | LoginState::Consumed => "This code was approved before.",
                LoginState::Declined | LoginState::Pending => "This code was declined before.",
            };
            message(StatusCode::CONFLICT, "Already decided", Some(member), text, None)
        }
        Undecided::SignedOut => {
            let next = Some(("/sign-in?next=%2Fdevice", "Sign in"));
            let text = "Your session is over. Nothing was changed.";
            message(StatusCode::UNAUTHORIZED, "Please sign in again", None, text, next)
        }
        Undecided::Wait(wait) => {
            let seconds = retry_after(*wait);
            let text = format!("Too many codes were tried. Try again in {seconds} seconds.");
            let mut answer = ask(member, typed, Some(&text), StatusCode::TOO_MANY_REQUESTS);
            answer.headers_mut().insert(RETRY_AFTER, seconds.into());
            answer
        }
        Undecided::Unavailable => {
            let text = "The service cannot answer right now. Nothing was changed. Try again in a minute.";
            message(StatusCode::SERVICE_UNAVAILABLE, "Out of order", Some(member), text, None)
        }
        Undecided::Store(error) => session::failed(error),
    }
}
