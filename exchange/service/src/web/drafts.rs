//! The pages on which a member reviews and accepts the draft of a client, or an imported file (WEB-09 to
//! WEB-11, DRF-04, DRF-14).
//!
//! The address of a draft is a secret and works only once. Opening it creates a review of the member. The
//! review can be opened repeatedly until it is accepted or discarded.

mod blueprints;
pub(super) mod import;
pub(super) mod refinery;

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::{HeaderMap, Method, StatusCode};
use maud::{Markup, html};

use super::confirm::{self, describe_error};
use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{BackendState, WebState, overview, render_message, render_page, text};
use crate::backend::confirm::HandoffToken;
use crate::backend::drafts::{AcceptOutcome, BlueprintChoice, DraftReview, ReviewContent};
use crate::backend::{Backend, HandledOutcome};

/// The maximum size of a submitted review form, in bytes. It suffices for 2000 rows with a picked name each.
const MAX_FORM_BYTES: usize = 2 << 20;

/// The fields of a review form. A name can occur several times.
type ReviewFields = Vec<(String, String)>;

/// Returns a router with the pages for drafts and reviews. It must be merged with the other routers.
pub fn draft_routes(web: WebState, backend: Backend) -> Router {
    let pages = Router::new()
        .route("/draft/{handoff}", get(open_draft))
        .route("/review/{id}", get(show_review).post(submit_review))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .merge(refinery::routes())
        .merge(import::routes());
    super::with_page_layers(pages, &web).with_state(BackendState { web, backend })
}

async fn open_draft(
    State(pages): State<BackendState>,
    member: SignedInMember,
    method: Method,
    headers: HeaderMap,
    Path(handoff): Path<String>,
) -> Response {
    // A browser that prefetches the link must not open the draft.
    let looks_ahead = ["sec-purpose", "purpose"].iter().any(|name| headers.contains_key(*name));
    if method == Method::HEAD || looks_ahead {
        return StatusCode::NO_CONTENT.into_response();
    }
    match pages.backend.open_draft(member.member(), &HandoffToken::new(handoff)).await {
        Ok(Some(review)) => Redirect::to(&review_path(&review)).into_response(),
        Ok(None) => gone_page(&member),
        Err(error) => session::error_page(&error),
    }
}

/// Returns the path of a review.
pub(super) fn review_path(review: &str) -> String {
    format!("/review/{review}")
}

async fn show_review(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Path(id): Path<String>,
) -> Response {
    match pages.backend.load_review(member.member(), &id).await {
        Ok(Some(review)) => {
            let form = render_review(&review, &member, &ReviewFormState::default());
            render_page(StatusCode::OK, review_title(&review.content), Some(&member), &form)
        }
        Ok(None) => show_result(&pages.backend, &member, &id).await,
        Err(error) => session::error_page(&error),
    }
}

/// Renders the result of a review that the member accepted or discarded, for example in another tab.
async fn show_result(backend: &Backend, member: &SignedInMember, id: &str) -> Response {
    let (title, text) = match backend.find_outcome(member.member(), id).await {
        Ok(Some(HandledOutcome::BlueprintsAdded { applied, unchanged, not_applied })) => {
            ("Done", blueprints::describe_counts(applied, unchanged, not_applied))
        }
        Ok(Some(HandledOutcome::RefinerySaved)) => ("Done", "The refinery order is saved.".to_owned()),
        Ok(Some(HandledOutcome::ReviewDiscarded)) => {
            ("Discarded", "The draft was discarded. Nothing was changed.".to_owned())
        }
        Ok(_) => return gone_page(member),
        Err(error) => return session::error_page(&error),
    };
    let body = html! {
        div .message.good role="status" tabindex="-1" autofocus { p { (text) } }
        (confirm::back_link())
    };
    render_page(StatusCode::OK, title, Some(member), &body)
}

/// The errors and the previous input of a form that is rendered again.
#[derive(Default)]
struct ReviewFormState<'a> {
    errors: &'a [String],
    choice: Option<&'a BlueprintChoice>,
}

const fn review_title(reviewed: &ReviewContent) -> &'static str {
    match reviewed {
        ReviewContent::Blueprints { .. } => "Add these blueprints?",
        ReviewContent::Refinery { .. } => "Save this refinery order?",
    }
}

fn render_review(review: &DraftReview, member: &SignedInMember, filled: &ReviewFormState<'_>) -> Markup {
    let DraftReview { from, content: reviewed, expires_at } = review;
    html! {
        p {
            @match from {
                Some(client) => { (text::name(client)) " prepared this for you. " }
                None => { "Your file contains the following. " }
            }
            "Nothing has been changed yet."
        }
        @if !filled.errors.is_empty() {
            div .message.error role="alert" tabindex="-1" autofocus {
                ul { @for error in filled.errors { li { (text::sanitize(error)) } } }
            }
        }
        form .card method="post" {
            (member.csrf().hidden_field())
            @match reviewed {
                ReviewContent::Blueprints { new, held, unmatched, products } => {
                    (blueprints::render_rows(new, held, unmatched, products, filled.choice))
                }
                ReviewContent::Refinery { panel, materials, places } => {
                    (refinery::render_fields(panel, materials, places))
                }
            }
            p .hint { "Available until " (text::time(*expires_at)) ". You find it in the overview until then." }
            p .actions {
                @if has_content(reviewed) {
                    button type="submit" name="decision" value="take" { (accept_label(reviewed)) }
                }
                button .plain type="submit" name="decision" value="discard" formnovalidate { "Discard" }
            }
        }
    }
}

const fn accept_label(reviewed: &ReviewContent) -> &'static str {
    match reviewed {
        ReviewContent::Blueprints { .. } => "Add to my blueprints",
        ReviewContent::Refinery { .. } => "Save this order",
    }
}

/// Returns true if the review contains anything that can be accepted.
fn has_content(reviewed: &ReviewContent) -> bool {
    match reviewed {
        ReviewContent::Blueprints { new, unmatched, .. } => !new.is_empty() || !unmatched.is_empty(),
        ReviewContent::Refinery { .. } => true,
    }
}

async fn submit_review(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Path(id): Path<String>,
    PageForm(fields): PageForm<ReviewFields>,
) -> Response {
    let field = |name: &str| {
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    if let Err(response) = member.check_csrf(field("csrf")) {
        return *response;
    }
    let backend = &pages.backend;
    match field("decision") {
        "discard" => match backend.discard_review(member.member(), &id).await {
            Ok(true) => Redirect::to(&review_path(&id)).into_response(),
            Ok(false) => show_result(backend, &member, &id).await,
            Err(error) => session::error_page(&error),
        },
        "take" => match backend.load_review(member.member(), &id).await {
            Ok(Some(review)) => take_over(backend, &member, &id, review, &fields).await,
            Ok(None) => show_result(backend, &member, &id).await,
            Err(error) => session::error_page(&error),
        },
        _ => session::forged_form_page(Some(&member)),
    }
}

async fn take_over(
    backend: &Backend,
    member: &SignedInMember,
    id: &str,
    review: DraftReview,
    fields: &ReviewFields,
) -> Response {
    let choice = parse_choice(fields);
    let taken = match &review.content {
        ReviewContent::Blueprints { .. } => backend.accept_blueprints(member.member(), id, &choice).await,
        ReviewContent::Refinery { .. } => {
            backend.accept_refinery_order(member.member(), id, refinery::parse_panel(fields)).await
        }
    };
    let again = |reviewed: ReviewContent, errors: &[String]| {
        let review = DraftReview { content: reviewed, ..review.clone() };
        let form = render_review(&review, member, &ReviewFormState { errors, choice: Some(&choice) });
        render_page(StatusCode::UNPROCESSABLE_ENTITY, review_title(&review.content), Some(member), &form)
    };
    match taken {
        // The page of the review shows the result from now on.
        Ok(AcceptOutcome::Blueprints(_)) => Redirect::to(&review_path(id)).into_response(),
        Ok(AcceptOutcome::Refinery) => member.redirect_with(refinery::PATH, "The refinery order is saved."),
        Ok(AcceptOutcome::NothingChosen) => {
            again(review.content.clone(), &["Nothing is selected. Select at least one row.".to_owned()])
        }
        Ok(AcceptOutcome::UnknownPicks(names)) => {
            let error = |name: &String| format!("The name that you entered for “{name}” is not a blueprint.");
            again(review.content.clone(), &names.iter().map(error).collect::<Vec<_>>())
        }
        Ok(AcceptOutcome::InvalidForm(errors, reviewed)) => again(*reviewed, &errors),
        Ok(AcceptOutcome::Full) => {
            let text = "You have reached the maximum number of refinery orders. Delete one that you no longer \
                        need, then save this one.";
            let next = Some((refinery::PATH, "See my refinery orders"));
            render_message(StatusCode::CONFLICT, "Too many refinery orders", Some(member), text, next)
        }
        Ok(AcceptOutcome::Refused(code)) => {
            render_message(StatusCode::FORBIDDEN, "Not saved", Some(member), describe_error(code), None)
        }
        Ok(AcceptOutcome::NotFound) => show_result(backend, member, id).await,
        Err(error) => session::error_page(&error),
    }
}

/// Parses the selected rows and the picked names of a blueprint review.
fn parse_choice(fields: &ReviewFields) -> BlueprintChoice {
    let numbered = |name: &str, prefix: &str| name.strip_prefix(prefix)?.parse().ok();
    let take: BTreeSet<usize> = fields
        .iter()
        .filter(|(name, _)| name == "take")
        .filter_map(|(_, value)| value.parse().ok())
        .collect();
    let picks: BTreeMap<usize, String> =
        fields.iter().filter_map(|(name, value)| Some((numbered(name, "pick-")?, value.clone()))).collect();
    BlueprintChoice { take, picks }
}

fn gone_page(member: &SignedInMember) -> Response {
    let text = "There is nothing to review here: the draft was opened before, was replaced by a newer one, or has \
                expired. You find drafts that you opened in the overview. Otherwise, send it again from the application.";
    let next = Some((overview::PATH, "Go to the overview"));
    render_message(StatusCode::NOT_FOUND, "Nothing to review", Some(member), text, next)
}
