//! The page on which a member confirms a held batch (WEB-08, WRT-13).
//!
//! Whoever opens it sees what would happen, and nothing happens; one of its two buttons applies the batch
//! once, the other drops it. The address is a secret: it stands in no log and in no page but the sign-in page that
//! leads back to it.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Path, State};
use axum::response::Response;
use axum::routing::get;
use exchange_api::refusals::PlainCode;
use exchange_api::types::ChangeResult;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{self, SignedIn};
use super::{Backed, Web, message, page};
use crate::backend::confirm::Handoff;
use crate::backend::{Backend, Confirmed, Preview};

/// The page, to be merged with the others.
pub fn confirmations(web: Web, backend: Backend) -> Router {
    let pages = Router::new()
        .route("/confirm/{handoff}", get(show).post(decide))
        .layer(DefaultBodyLimit::max(16 << 10));
    super::framed(pages, &web).with_state(Backed { web, backend })
}

#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    decision: String,
}

async fn show(State(pages): State<Backed>, member: SignedIn, Path(handoff): Path<String>) -> Response {
    match pages.backend.preview(member.member(), &Handoff::new(handoff)).await {
        Ok(Some(preview)) => {
            let title = format!("Let {} remove this?", preview.client);
            page(StatusCode::OK, &title, Some(&member), &shown(&preview, &member.csrf().field()))
        }
        Ok(None) => gone(&member),
        Err(error) => session::failed(&error),
    }
}

async fn decide(
    State(pages): State<Backed>,
    member: SignedIn,
    Path(handoff): Path<String>,
    Form(given): Form<Given>,
) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    let handoff = Handoff::new(handoff);
    let said = |status, title, text: &str| message(status, title, Some(&member), text, None);
    match given.decision.as_str() {
        "confirm" => match pages.backend.confirm(member.member(), &handoff).await {
            Ok(Confirmed::Applied(result)) => said(StatusCode::OK, "Done", &told(&result)),
            Ok(Confirmed::Refused(code)) => said(StatusCode::FORBIDDEN, "Not applied", refused(code)),
            Ok(Confirmed::Gone) => gone(&member),
            Err(error) => session::failed(&error),
        },
        "discard" => match pages.backend.discard(member.member(), &handoff).await {
            Ok(true) => said(StatusCode::OK, "Discarded", "The request was dropped. Nothing was changed."),
            Ok(false) => gone(&member),
            Err(error) => session::failed(&error),
        },
        _ => session::forged(Some(&member)),
    }
}

fn shown(preview: &Preview, csrf: &Markup) -> Markup {
    let Preview { client, area, removed, more_removed, written, result, expires_at } = preview;
    html! {
        div .warning role="note" {
            p { strong { (client) } " wants to remove more of your " (area) " than usual. Nothing has been changed yet." }
        }
        ul {
            li { strong { (removed.len() + more_removed) } " would be removed" }
            @if *written > 0 {
                li { strong { (written) } " would be added or changed" }
            }
            @if result.not_applied > 0 {
                li { strong { (result.not_applied) } " would not be applied" }
            }
        }
        @if !removed.is_empty() {
            h2 { "Would be removed" }
            ul {
                @for name in removed { li { (name) } }
                @if *more_removed > 0 { li { "and " (more_removed) " more" } }
            }
        }
        p .hint { "The request waits until " time datetime=(expires_at) { (expires_at.to_the_minute()) } "." }
        form method="post" {
            (csrf)
            p .actions {
                button type="submit" name="decision" value="confirm" { "Apply these changes" }
                button .plain type="submit" name="decision" value="discard" { "Discard them" }
            }
        }
    }
}

fn told(result: &ChangeResult) -> String {
    let ChangeResult { applied, unchanged, not_applied, .. } = result;
    let mut said = match applied {
        1 => "1 change was applied.".to_owned(),
        applied => format!("{applied} changes were applied."),
    };
    if *unchanged > 0 {
        said.push_str(&format!(" Of {unchanged} more, everything was so already."));
    }
    if *not_applied > 0 {
        said.push_str(&format!(" {not_applied} could not be applied."));
    }
    said
}

pub(super) fn refused(code: PlainCode) -> &'static str {
    match code {
        PlainCode::ExchangeDisabled => "The exchange is switched off. Try again when it is back.",
        PlainCode::RegistryUnavailable => "The service cannot tell right now. Try again in a minute.",
        PlainCode::TermsNotAccepted => {
            "The terms have changed since you accepted them. Accept them in the web application, then try again."
        }
        PlainCode::PendingApproval => "Your registration awaits approval. Try again when it is approved.",
        PlainCode::NoRole => "You hold no role in the organisation any more. Nothing was changed.",
        PlainCode::ActingMemberRefused => "Your account may not change anything any more.",
        _ => "The application that sent this may not do it any more. Nothing was changed.",
    }
}

fn gone(member: &SignedIn) -> Response {
    let text = "There is nothing to confirm here: the request was confirmed or discarded before, replaced by a \
                newer one, or it waited for too long.";
    message(StatusCode::NOT_FOUND, "Nothing to confirm", Some(member), text, None)
}
