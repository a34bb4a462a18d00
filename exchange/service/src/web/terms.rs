//! The page with the terms that members must accept before clients may act for them (WEB-12, ERR-17).

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{BackendState, profile, render_page, text};
use crate::backend::MemberProfile;

pub(super) const PATH: &str = "/terms";

pub(super) fn routes() -> Router<BackendState> {
    Router::new().route(PATH, get(show_terms).post(accept_terms))
}

#[derive(Deserialize)]
struct TermsForm {
    #[serde(default)]
    csrf: String,
    /// The version that the member accepts, which is the version that the page showed.
    #[serde(default)]
    terms: String,
}

async fn show_terms(State(pages): State<BackendState>, member: SignedInMember) -> Response {
    match pages.backend.load_profile(member.member()).await {
        Ok(profile) => {
            let body = html! {
                (profile::render_account_tabs(&member))
                (render_terms(&profile, &member.csrf().hidden_field()))
            };
            render_page(StatusCode::OK, "Terms", Some(&member), &body)
        }
        Err(error) => session::error_page(&error),
    }
}

fn render_terms(profile: &MemberProfile, csrf: &Markup) -> Markup {
    let MemberProfile { accepted, terms, terms_text, .. } = profile;
    let Some(version) = terms else { return html! { p { "There are no terms to accept." } } };
    html! {
        @if accepted.as_ref() == Some(version) {
            p { "You have accepted version " (text::name(version)) ", which is the current one." }
        } @else {
            div .note.warning role="note" {
                p { "Version " (text::name(version)) " is in force. Applications cannot act for you until you accept it." }
            }
        }
        @match terms_text {
            Some(terms) => section .card {
                @for paragraph in paragraphs(terms) { p .prose { (text::sanitize_lines(paragraph)) } }
            },
            None => p .hint { "An administrator publishes the text of this version elsewhere." },
        }
        @if accepted.as_ref() != Some(version) {
            form method="post" action=(PATH) {
                (csrf)
                p .actions { button type="submit" name="terms" value=(version) { "Accept version " (text::isolate(version)) } }
            }
        }
    }
}

/// Splits a text at empty lines.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty())
}

async fn accept_terms(
    State(pages): State<BackendState>,
    member: SignedInMember,
    PageForm(form): PageForm<TermsForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    match pages.backend.accept_terms(member.member(), &form.terms).await {
        Ok(true) => member.redirect_with(PATH, "The terms are accepted."),
        // In the meantime, the terms have changed. The page shows the new version.
        Ok(false) => {
            member.redirect_with(PATH, "The terms have changed in the meantime. Nothing was accepted.")
        }
        Err(error) => session::error_page(&error),
    }
}
