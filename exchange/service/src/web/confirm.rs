//! The page on which a member confirms a held batch (WEB-08, WRT-13).
//!
//! Opening the page only shows a preview. One button applies the batch once, and the other discards it. The
//! address is a secret. It therefore appears in no log, and on no page except the sign-in page that leads
//! back to it.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Path, State};
use axum::response::Response;
use axum::routing::get;
use exchange_api::error_responses::PlainCode;
use exchange_api::{ChangeCounts, types::ChangeResult};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{self, SignedInMember};
use super::{BackendState, WebState, render_message, render_page};
use crate::backend::confirm::HandoffToken;
use crate::backend::{Backend, BatchPreview, ConfirmOutcome};

/// Returns a router with the confirmation page. It must be merged with the other routers.
pub fn confirmation_routes(web: WebState, backend: Backend) -> Router {
    let pages = Router::new()
        .route("/confirm/{handoff}", get(show_confirmation).post(submit_confirmation))
        .layer(DefaultBodyLimit::max(16 << 10));
    super::with_page_layers(pages, &web).with_state(BackendState { web, backend })
}

#[derive(Deserialize)]
struct ConfirmationForm {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    decision: String,
}

async fn show_confirmation(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Path(handoff): Path<String>,
) -> Response {
    match pages.backend.preview_batch(member.member(), &HandoffToken::new(handoff)).await {
        Ok(Some(preview)) => {
            let title = format!("Let {} remove this?", preview.client);
            render_page(
                StatusCode::OK,
                &title,
                Some(&member),
                &render_preview(&preview, &member.csrf().hidden_field()),
            )
        }
        Ok(None) => gone_page(&member),
        Err(error) => session::error_page(&error),
    }
}

async fn submit_confirmation(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Path(handoff): Path<String>,
    Form(form): Form<ConfirmationForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let handoff = HandoffToken::new(handoff);
    let respond = |status, title, text: &str| render_message(status, title, Some(&member), text, None);
    match form.decision.as_str() {
        "confirm" => match pages.backend.confirm_batch(member.member(), &handoff).await {
            Ok(ConfirmOutcome::Applied(result)) => respond(StatusCode::OK, "Done", &describe_result(&result)),
            Ok(ConfirmOutcome::Refused(code)) => {
                respond(StatusCode::FORBIDDEN, "Not applied", describe_error(code))
            }
            Ok(ConfirmOutcome::NotFound) => gone_page(&member),
            Err(error) => session::error_page(&error),
        },
        "discard" => match pages.backend.discard_batch(member.member(), &handoff).await {
            Ok(true) => {
                respond(StatusCode::OK, "Discarded", "The request was discarded. Nothing was changed.")
            }
            Ok(false) => gone_page(&member),
            Err(error) => session::error_page(&error),
        },
        _ => session::forged_form_page(Some(&member)),
    }
}

fn render_preview(preview: &BatchPreview, csrf: &Markup) -> Markup {
    let BatchPreview { client, area, removed, more_removed, written, result, expires_at } = preview;
    html! {
        div .warning role="note" {
            p { strong { (client) } " wants to remove more of your " (area) " than usual. Nothing has been changed yet." }
        }
        ul {
            li { strong { (removed.len() + more_removed) } " would be removed" }
            @if *written > 0 {
                li { strong { (written) } " would be added or changed" }
            }
            @if result.counts().not_applied > 0 {
                li { strong { (result.counts().not_applied) } " would not be applied" }
            }
        }
        @if !removed.is_empty() {
            h2 { "Would be removed" }
            ul {
                @for name in removed { li { (name) } }
                @if *more_removed > 0 { li { "and " (more_removed) " more" } }
            }
        }
        p .hint { "The request expires at " time datetime=(expires_at) { (expires_at.to_the_minute()) } "." }
        form method="post" {
            (csrf)
            p .actions {
                button type="submit" name="decision" value="confirm" { "Apply these changes" }
                button .plain type="submit" name="decision" value="discard" { "Discard these changes" }
            }
        }
    }
}

fn describe_result(result: &ChangeResult) -> String {
    let ChangeCounts { applied, unchanged, not_applied } = result.counts();
    let mut message = match applied {
        1 => "1 change was applied.".to_owned(),
        applied => format!("{applied} changes were applied."),
    };
    if unchanged > 0 {
        message.push_str(&format!(" {unchanged} needed no change."));
    }
    if not_applied > 0 {
        message.push_str(&format!(" {not_applied} could not be applied."));
    }
    message
}

pub(super) fn describe_error(code: PlainCode) -> &'static str {
    match code {
        PlainCode::ExchangeDisabled => "The exchange is switched off. Try again later.",
        PlainCode::RegistryUnavailable => "The service is temporarily unavailable. Try again in a minute.",
        PlainCode::TermsNotAccepted => {
            "The terms have changed since you accepted them. Accept them in the web application, then try again."
        }
        PlainCode::PendingApproval => "Your registration awaits approval. Try again when it is approved.",
        PlainCode::NoRole => "You no longer hold a role in the organization. Nothing was changed.",
        PlainCode::ActingMemberRefused => "Your account may no longer change anything.",
        _ => "The application that sent this request no longer has permission. Nothing was changed.",
    }
}

fn gone_page(member: &SignedInMember) -> Response {
    let text = "There is nothing to confirm here: the request was already confirmed or discarded, replaced by a \
                newer one, or has expired.";
    render_message(StatusCode::NOT_FOUND, "Nothing to confirm", Some(member), text, None)
}
