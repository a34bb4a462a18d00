//! The page with those parts of the member's profile that the exchange uses: the accepted terms, the handle
//! of the game account, and whether applications see the member's name (WEB-07, WEB-12).

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use exchange_api::types::AccountHandle;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{self, SignedInMember};
use super::{BackendState, render_page};
use crate::backend::MemberProfile;

pub(super) const PATH: &str = "/profile";

pub(super) fn routes() -> Router<BackendState> {
    Router::new().route(PATH, get(show_profile).post(submit_profile))
}

/// The fields of the forms on the page. Each form sends exactly one of the optional fields.
#[derive(Deserialize)]
struct ProfileForm {
    #[serde(default)]
    csrf: String,
    /// The version of the terms that the member accepts, which is the version that the page showed.
    terms: Option<String>,
    /// The handle of the game account.
    handle: Option<String>,
    /// Either `withhold` or `show`.
    name: Option<String>,
}

async fn show_profile(State(pages): State<BackendState>, member: SignedInMember) -> Response {
    render_profile(&pages, &member, None, StatusCode::OK).await
}

async fn render_profile(
    pages: &BackendState,
    member: &SignedInMember,
    typed: Option<&str>,
    status: StatusCode,
) -> Response {
    match pages.backend.load_profile(member.member()).await {
        Ok(profile) => render_page(
            status,
            "Your profile",
            Some(member),
            &render_fields(&profile, typed, &member.csrf().hidden_field()),
        ),
        Err(error) => session::error_page(&error),
    }
}

fn render_fields(profile: &MemberProfile, typed: Option<&str>, csrf: &Markup) -> Markup {
    let MemberProfile { handle, accepted, terms, withholds_name } = profile;
    html! {
        @if let Some(terms) = terms {
            h2 { "Terms" }
            @if accepted.as_ref() == Some(terms) {
                p { "You have accepted version " strong { (terms) } ", which is the current one." }
            } @else {
                form method="post" action=(PATH) {
                    (csrf)
                    p {
                        "Version " strong { (terms) } " is in force. Applications cannot act for you until you accept it."
                    }
                    p .actions { button type="submit" name="terms" value=(terms) { "Accept version " (terms) } }
                }
            }
        }
        h2 { "Game account" }
        form method="post" action=(PATH) {
            (csrf)
            @if typed.is_some() {
                p #error .error role="alert" { "This is not a handle: a handle has 3 to 60 letters, digits, “-” and “_”." }
            }
            label for="handle" { "Handle" }
            input #handle type="text" name="handle" value=(typed.or(handle.as_deref()).unwrap_or_default()) required
                autocomplete="off" spellcheck="false" maxlength="60" aria-invalid=[typed.map(|_| "true")]
                aria-describedby=(if typed.is_some() { "error hint" } else { "hint" });
            p #hint .hint {
                "Applications can check whether an account is yours. They never see your handle."
            }
            p .actions { button type="submit" { @if handle.is_some() { "Confirm" } @else { "Save" } } }
        }
        h2 { "Your name" }
        form method="post" action=(PATH) {
            (csrf)
            @if *withholds_name {
                p { "Applications do not see your name where you hold stock of a unit." }
                p .actions { button .plain type="submit" name="name" value="show" { "Show my name" } }
            } @else {
                p { "Applications see your name where you hold stock of a unit." }
                p .actions { button .plain type="submit" name="name" value="withhold" { "Hide my name" } }
            }
        }
    }
}

async fn submit_profile(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Form(form): Form<ProfileForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let (backend, id) = (&pages.backend, member.member());
    let done = match (form.terms, form.handle, form.name.as_deref()) {
        // If the terms have changed in the meantime, the next page shows the new version.
        (Some(terms), None, None) => backend.accept_terms(id, &terms).await.map(drop),
        (None, Some(typed), None) => match typed.trim().parse::<AccountHandle>() {
            Ok(handle) => backend.set_handle(id, &handle).await,
            Err(_) => {
                return render_profile(&pages, &member, Some(&typed), StatusCode::UNPROCESSABLE_ENTITY).await;
            }
        },
        (None, None, Some("withhold")) => backend.withhold_name(id, true).await.map(drop),
        (None, None, Some("show")) => backend.withhold_name(id, false).await.map(drop),
        _ => return session::forged_form_page(Some(&member)),
    };
    match done {
        Ok(()) => Redirect::to(PATH).into_response(),
        Err(error) => session::error_page(&error),
    }
}
