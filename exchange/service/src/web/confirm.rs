//! The page on which a member confirms a held batch (WEB-08, WRT-13).
//!
//! The link of the client contains a secret and leads to the page of the batch, whose address does not. The
//! page shows every change before it is made. One button applies the batch once, and the other discards it.
//! Afterwards, the page shows the result until the batch would have expired.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use exchange_api::error_responses::PlainCode;
use exchange_api::reasons::Reason;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{BackendState, WebState, layout, overview, render_message, render_page, text};
use crate::backend::confirm::{BatchId, HandoffToken};
use crate::backend::{
    Backend, BatchDescription, BatchPreview, ConfirmOutcome, EntryChange, HandledOutcome, RefusedOp,
};

/// Returns a router with the confirmation page. It must be merged with the other routers.
pub fn confirmation_routes(web: WebState, backend: Backend) -> Router {
    let pages = Router::new()
        .route("/confirm/{handoff}", get(open_link))
        .route("/held/{id}", get(show_confirmation).post(submit_confirmation))
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

/// Returns the path of the page of a held batch.
pub(super) fn batch_path(id: BatchId) -> String {
    format!("/held/{id}")
}

/// Redirects from the link of the client to the page of the batch, so that the secret does not stay in the
/// address bar.
async fn open_link(_: SignedInMember, Path(handoff): Path<String>) -> Response {
    Redirect::to(&batch_path(BatchId::from(&HandoffToken::new(handoff)))).into_response()
}

async fn show_confirmation(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Path(id): Path<String>,
) -> Response {
    let Some(batch) = BatchId::parse(&id) else { return gone_page(&member) };
    match pages.backend.preview_batch(member.member(), batch).await {
        Ok(Some(preview)) => render_preview(&member, &preview, None),
        Ok(None) => show_result(&pages.backend, &member, &id).await,
        Err(error) => session::error_page(&error),
    }
}

/// Renders the result of a batch that the member confirmed or discarded.
async fn show_result(backend: &Backend, member: &SignedInMember, id: &str) -> Response {
    match backend.find_outcome(member.member(), id).await {
        Ok(Some(HandledOutcome::BatchApplied { client, area, applied, unchanged, description })) => {
            let body = html! {
                div .message.good role="status" tabindex="-1" autofocus {
                    p { (describe_counts(applied, unchanged, description.refused.len())) }
                }
                p { (text::name(&client)) " sent these changes of your " (area) ", and you confirmed them." }
                (render_description(&description, Tense::Past))
                (back_link())
            };
            render_page(StatusCode::OK, "Done", Some(member), &body)
        }
        Ok(Some(HandledOutcome::BatchDiscarded { client })) => {
            let body = html! {
                div .message.good role="status" tabindex="-1" autofocus {
                    p { "The changes of " (text::name(&client)) " were discarded. Nothing was changed." }
                }
                (back_link())
            };
            render_page(StatusCode::OK, "Discarded", Some(member), &body)
        }
        Ok(_) => gone_page(member),
        Err(error) => session::error_page(&error),
    }
}

pub(super) fn back_link() -> Markup {
    html! { p { a href=(overview::PATH) { "Go to the overview" } } }
}

async fn submit_confirmation(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Path(id): Path<String>,
    PageForm(form): PageForm<ConfirmationForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let Some(batch) = BatchId::parse(&id) else { return gone_page(&member) };
    // If the batch was handled before, for example in another tab, the page shows how.
    let to_result = || Redirect::to(&batch_path(batch)).into_response();
    match form.decision.as_str() {
        "confirm" => match pages.backend.confirm_batch(member.member(), batch).await {
            Ok(ConfirmOutcome::Applied(_)) => to_result(),
            Ok(ConfirmOutcome::Refused(code)) => {
                refused_page(&pages.backend, &member, batch, describe_error(code)).await
            }
            Ok(ConfirmOutcome::NotFound) => show_result(&pages.backend, &member, &id).await,
            Err(error) => session::error_page(&error),
        },
        "discard" => match pages.backend.discard_batch(member.member(), batch).await {
            Ok(true) => to_result(),
            Ok(false) => show_result(&pages.backend, &member, &id).await,
            Err(error) => session::error_page(&error),
        },
        _ => session::forged_form_page(Some(&member)),
    }
}

/// Renders the batch again, with the reason that it was not applied.
async fn refused_page(backend: &Backend, member: &SignedInMember, batch: BatchId, reason: &str) -> Response {
    match backend.preview_batch(member.member(), batch).await {
        Ok(Some(preview)) => render_preview(member, &preview, Some(reason)),
        Ok(None) => gone_page(member),
        Err(error) => session::error_page(&error),
    }
}

fn render_preview(member: &SignedInMember, preview: &BatchPreview, refused: Option<&str>) -> Response {
    let BatchPreview { client, area, description, expires_at, .. } = preview;
    let body = html! {
        @if let Some(reason) = refused { (layout::render_error(reason, true)) }
        div .note.warning role="note" {
            p { (text::name(client)) " wants to remove more of your " (area) " than usual. Nothing has been changed yet." }
            ul {
                li { strong { (description.removed_count()) } " would be removed" }
                @if description.written_count() > 0 {
                    li { strong { (description.written_count()) } " would be added or changed" }
                }
                @if !description.refused.is_empty() {
                    li { strong { (description.refused.len()) } " would not be applied" }
                }
            }
            p { "The request expires at " (text::time(*expires_at)) "." }
        }
        (render_description(description, Tense::Future))
        form .card method="post" {
            (member.csrf().hidden_field())
            p { "Applied changes cannot be taken back here. Under Applications, you can undo changes of an application later." }
            p .actions {
                button type="submit" name="decision" value="confirm" { "Apply these changes" }
                button .plain type="submit" name="decision" value="discard" { "Discard these changes" }
            }
        }
    };
    let status = if refused.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    render_page(status, "Apply these changes?", Some(member), &body)
}

/// Whether changes are described before or after they were made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tense {
    Future,
    Past,
}

fn render_description(description: &BatchDescription, tense: Tense) -> Markup {
    let BatchDescription { changes, refused } = description;
    let (removed, written): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.removed);
    let past = tense == Tense::Past;
    html! {
        (render_changes(if past { "Removed" } else { "Would be removed" }, &removed))
        (render_changes(if past { "Added or changed" } else { "Would be added or changed" }, &written))
        @if !refused.is_empty() {
            section .card {
                table {
                    caption { @if past { "Not applied" } @else { "Would not be applied" } " (" (refused.len()) ")" }
                    thead { tr { th scope="col" { "Entry" } th scope="col" { "Reason" } } }
                    tbody {
                        @for RefusedOp { name, reason } in refused {
                            tr {
                                th scope="row" { (text::name(name)) }
                                td { (describe_reason(reason)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn render_changes(title: &str, changes: &[&EntryChange]) -> Markup {
    let has_place = changes.iter().any(|change| change.place.is_some());
    let has_amounts = changes.iter().any(|change| change.before.is_some() || change.after.is_some());
    html! {
        @if !changes.is_empty() {
            section .card {
                table {
                    caption { (title) " (" (changes.len()) ")" }
                    thead {
                        tr {
                            th scope="col" { "Entry" }
                            @if has_place { th scope="col" { "Place" } }
                            @if has_amounts { th scope="col" { "Before" } th scope="col" { "After" } }
                        }
                    }
                    tbody {
                        @for EntryChange { name, place, before, after, .. } in changes {
                            tr {
                                th scope="row" { (text::name(name)) }
                                @if has_place {
                                    td data-label="Place" { @if let Some(place) = place { (text::sanitize(place)) } @else { "–" } }
                                }
                                @if has_amounts {
                                    td data-label="Before" { @if let Some(before) = before { (text::sanitize(before)) } @else { "–" } }
                                    td data-label="After" {
                                        @if let Some(after) = after { (text::sanitize(after)) } @else { span .gone { "removed" } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn describe_counts(applied: i64, unchanged: i64, not_applied: usize) -> String {
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

/// Describes the reason that an op is not applied.
fn describe_reason(reason: &str) -> &'static str {
    match Reason::from(reason) {
        Reason::Unmatched => "It is not in the catalogue, or it is not yours.",
        Reason::Ambiguous => "Several entries of the catalogue match.",
        Reason::DefaultNotRemovable => "Every member has this blueprint, so it cannot be removed.",
        Reason::RemovedElsewhere => "It was removed by you, by another application or on another device.",
        Reason::LocationUnknown => "The place is no warehouse location.",
        Reason::UnitMismatch => "The amount has the wrong unit.",
        Reason::StolenMarkingDisabled => "Stock cannot be marked as stolen at present.",
        Reason::VersionConflict => "It has changed since the application read it.",
        Reason::StockEarmarked => "The amount is reserved.",
        Reason::LinkTargetTaken => "The ship is linked to another entry of the application.",
        Reason::OrgUnitNotAllowed => "You do not belong to the unit.",
        Reason::OrgUnitVersionConflict => "Its unit has changed since the application read it.",
        Reason::NotPermitted => "You may not change this stock.",
        Reason::HolderUnknown => "The holder does not belong to the unit.",
        Reason::InsufficientStock => "There is less than the requested amount.",
        Reason::StockOffered => "The amount is offered on the Material Exchange.",
        Reason::OverAllocation => "More would be reserved than there is.",
        Reason::EarmarkTargetInvalid => "The job order or mission does not accept it.",
        _ => "The exchange did not accept it.",
    }
}

pub(super) fn describe_error(code: PlainCode) -> &'static str {
    match code {
        PlainCode::ExchangeDisabled => "The exchange is switched off. Try again later.",
        PlainCode::RegistryUnavailable => "The service is temporarily unavailable. Try again in a minute.",
        PlainCode::TermsNotAccepted => {
            "The terms have changed since you accepted them. Accept them under Account, then try again."
        }
        PlainCode::PendingApproval => "Your registration awaits approval. Try again when it is approved.",
        PlainCode::NoRole => "You no longer hold a role in the organization. Nothing was changed.",
        PlainCode::ActingMemberRefused => "Your account may no longer change anything.",
        PlainCode::ClientSuspended => "The application is suspended. Nothing was changed.",
        _ => "The application that sent this request no longer has permission. Nothing was changed.",
    }
}

fn gone_page(member: &SignedInMember) -> Response {
    let text = "There is nothing to confirm here: the request was replaced by a newer one of the application, or has \
                expired. Nothing was changed.";
    render_message(
        StatusCode::NOT_FOUND,
        "Nothing to confirm",
        Some(member),
        text,
        Some((overview::PATH, "Go to the overview")),
    )
}
