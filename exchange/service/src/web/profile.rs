//! The member's profile, as far as the exchange goes by it: the terms, the game-account handle, and whether
//! applications are told the name (WEB-07, WEB-12).

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use exchange_api::types::AccountHandle;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{self, SignedIn};
use super::{Backed, page};
use crate::backend::Profile;

/// Where the page is.
pub(super) const PATH: &str = "/profile";

/// The page.
pub(super) fn routes() -> Router<Backed> {
    Router::new().route(PATH, get(show).post(decide))
}

#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    csrf: String,
    /// The version of the terms that is accepted: the one that was shown.
    terms: Option<String>,
    /// Sent with `handle` alone.
    handle: Option<String>,
    /// `withhold`, or `show`.
    name: Option<String>,
}

async fn show(State(pages): State<Backed>, member: SignedIn) -> Response {
    shown(&pages, &member, None, StatusCode::OK).await
}

async fn shown(pages: &Backed, member: &SignedIn, typed: Option<&str>, status: StatusCode) -> Response {
    match pages.backend.profile(member.member()).await {
        Ok(profile) => {
            page(status, "Your profile", Some(member), &fields(&profile, typed, &member.csrf().field()))
        }
        Err(error) => session::failed(&error),
    }
}

fn fields(profile: &Profile, typed: Option<&str>, csrf: &Markup) -> Markup {
    let Profile { handle, accepted, terms, withholds_name } = profile;
    html! {
        @if let Some(terms) = terms {
            h2 { "Terms" }
            @if accepted.as_ref() == Some(terms) {
                p { "You have accepted version " strong { (terms) } ", which is the current one." }
            } @else {
                form method="post" action=(PATH) {
                    (csrf)
                    p {
                        "Version " strong { (terms) } " holds now. Until you accept it, applications can do nothing for you."
                    }
                    p .actions { button type="submit" name="terms" value=(terms) { "Accept version " (terms) } }
                }
            }
        }
        h2 { "Game account" }
        form method="post" action=(PATH) {
            (csrf)
            @if typed.is_some() {
                p #error .error role="alert" { "This is no handle: it has 3 to 60 letters, digits, “-” and “_”." }
            }
            label for="handle" { "Handle" }
            input #handle type="text" name="handle" value=(typed.or(handle.as_deref()).unwrap_or_default()) required
                autocomplete="off" spellcheck="false" maxlength="60" aria-invalid=[typed.map(|_| "true")]
                aria-describedby=(if typed.is_some() { "error hint" } else { "hint" });
            p #hint .hint {
                "Applications ask whether the account that they see is yours, and are never told which it is."
            }
            p .actions { button type="submit" { @if handle.is_some() { "Confirm" } @else { "Save" } } }
        }
        h2 { "Your name" }
        form method="post" action=(PATH) {
            (csrf)
            @if *withholds_name {
                p { "Applications are not told your name where you hold stock of a unit." }
                p .actions { button .plain type="submit" name="name" value="show" { "Let them be told" } }
            } @else {
                p { "Applications are told your name where you hold stock of a unit." }
                p .actions { button .plain type="submit" name="name" value="withhold" { "Keep it from them" } }
            }
        }
    }
}

async fn decide(State(pages): State<Backed>, member: SignedIn, Form(given): Form<Given>) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    let (backend, id) = (&pages.backend, member.member());
    let done = match (given.terms, given.handle, given.name.as_deref()) {
        // Of terms that changed meanwhile the page that follows says so.
        (Some(terms), None, None) => backend.accept_terms(id, &terms).await.map(drop),
        (None, Some(typed), None) => match typed.trim().parse::<AccountHandle>() {
            Ok(handle) => backend.set_handle(id, &handle).await,
            Err(_) => return shown(&pages, &member, Some(&typed), StatusCode::UNPROCESSABLE_ENTITY).await,
        },
        (None, None, Some("withhold")) => backend.withhold_name(id, true).await.map(drop),
        (None, None, Some("show")) => backend.withhold_name(id, false).await.map(drop),
        _ => return session::forged(Some(&member)),
    };
    match done {
        Ok(()) => Redirect::to(PATH).into_response(),
        Err(error) => session::failed(&error),
    }
}
