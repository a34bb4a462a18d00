//! The pages with those parts of the member's profile that the exchange uses: the handle of the game account,
//! whether applications see the member's name, and the terms (WEB-07, WEB-12).

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use exchange_api::types::AccountHandle;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{BackendState, account, layout, render_page, terms, text};
use crate::backend::MemberProfile;

pub(super) const PATH: &str = "/profile";

/// The pages of the section `Account`.
const TABS: [(&str, &str); 3] =
    [(PATH, "Profile"), (account::PATH, "Password and sign-ins"), (terms::PATH, "Terms")];

pub(super) fn routes() -> Router<BackendState> {
    Router::new().route(PATH, get(show_profile).post(submit_profile))
}

/// Renders the links between the pages of the section `Account`.
pub(super) fn render_account_tabs(member: &SignedInMember) -> Markup {
    layout::render_tabs("Account", &TABS, member.path())
}

/// The fields of the forms on the page. Each form sends exactly one of the optional fields.
#[derive(Deserialize)]
struct ProfileForm {
    #[serde(default)]
    csrf: String,
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
        Ok(profile) => {
            let body = html! {
                (render_account_tabs(member))
                (render_fields(member.name(), &profile, typed, &member.csrf().hidden_field()))
            };
            render_page(status, "Your profile", Some(member), &body)
        }
        Err(error) => session::error_page(&error),
    }
}

fn render_fields(name: &str, profile: &MemberProfile, typed: Option<&str>, csrf: &Markup) -> Markup {
    let MemberProfile { handle, withholds_name, .. } = profile;
    html! {
        section .card {
            h2 { "Game account" }
            form method="post" action=(PATH) {
                (csrf)
                label for="handle" { "Handle" }
                @if typed.is_some() {
                    p #error .field-error role="alert" { "This is not a handle: a handle has 3 to 60 letters, digits, “-” and “_”." }
                }
                input #handle type="text" name="handle" value=(typed.or(handle.as_deref()).unwrap_or_default()) required
                    autocomplete="off" spellcheck="false" maxlength="60" autofocus[typed.is_some()]
                    aria-invalid=[typed.map(|_| "true")]
                    aria-describedby=(if typed.is_some() { "error hint" } else { "hint" });
                p #hint .hint {
                    "Applications can check whether an account is yours. They never see your handle."
                }
                p .actions { button type="submit" { @if handle.is_some() { "Confirm" } @else { "Save" } } }
            }
        }
        section .card {
            h2 { "Your name" }
            form method="post" action=(PATH) {
                (csrf)
                p { "Other members know you as " (text::name(name)) "." }
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
}

async fn submit_profile(
    State(pages): State<BackendState>,
    member: SignedInMember,
    PageForm(form): PageForm<ProfileForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let (backend, id) = (&pages.backend, member.member());
    let (done, message) = match (form.handle, form.name.as_deref()) {
        (Some(typed), None) => match typed.trim().parse::<AccountHandle>() {
            Ok(handle) => (backend.set_handle(id, &handle).await, "Your handle is saved."),
            Err(_) => {
                return render_profile(&pages, &member, Some(&typed), StatusCode::UNPROCESSABLE_ENTITY).await;
            }
        },
        (None, Some("withhold")) => {
            (backend.withhold_name(id, true).await.map(drop), "Applications no longer see your name.")
        }
        (None, Some("show")) => {
            (backend.withhold_name(id, false).await.map(drop), "Applications see your name again.")
        }
        _ => return session::forged_form_page(Some(&member)),
    };
    match done {
        Ok(()) => member.redirect_with(PATH, message),
        Err(error) => session::error_page(&error),
    }
}
