//! The pages on which a member reviews what a client prepared for them, or a file of their own, and takes it over
//! (WEB-09 to WEB-11, DRF-04, DRF-14).
//!
//! The address of a draft is a secret and works once: whoever opens it is sent on to the review, which is
//! theirs from then on and can be left and opened again until it is taken over or discarded.

mod blueprints;
pub(super) mod import;
pub(super) mod refinery;

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::{HeaderMap, Method, StatusCode};
use maud::{Markup, html};

use super::confirm::refused;
use super::session::{self, SignedIn};
use super::{Backed, Web, message, page};
use crate::backend::Backend;
use crate::backend::confirm::Handoff;
use crate::backend::drafts::{Choice, Review, Reviewed, TakenOver};

/// The largest form of a review: 2000 rows with a name picked for each.
const LARGEST_FORM: usize = 2 << 20;

/// What a review's form brings back: names may repeat.
type Fields = Vec<(String, String)>;

/// The pages, to be merged with the others.
pub fn drafts(web: Web, backend: Backend) -> Router {
    let pages = Router::new()
        .route("/draft/{handoff}", get(open))
        .route("/review/{id}", get(show).post(decide))
        .layer(DefaultBodyLimit::max(LARGEST_FORM))
        .merge(refinery::routes())
        .merge(import::routes());
    super::framed(pages, &web).with_state(Backed { web, backend })
}

async fn open(
    State(pages): State<Backed>,
    member: SignedIn,
    method: Method,
    headers: HeaderMap,
    Path(handoff): Path<String>,
) -> Response {
    // A browser that looks ahead has opened nothing.
    let looks_ahead = ["sec-purpose", "purpose"].iter().any(|name| headers.contains_key(*name));
    if method == Method::HEAD || looks_ahead {
        return StatusCode::NO_CONTENT.into_response();
    }
    match pages.backend.open_draft(member.member(), &Handoff::new(handoff)).await {
        Ok(Some(review)) => Redirect::to(&address(&review)).into_response(),
        Ok(None) => gone(&member),
        Err(error) => session::failed(&error),
    }
}

fn address(review: &str) -> String {
    format!("/review/{review}")
}

async fn show(State(pages): State<Backed>, member: SignedIn, Path(id): Path<String>) -> Response {
    match pages.backend.review(member.member(), &id).await {
        Ok(Some(review)) => {
            let form = shown(&review, &member, &Filled::default());
            page(StatusCode::OK, title(&review.reviewed), Some(&member), &form)
        }
        Ok(None) => gone(&member),
        Err(error) => session::failed(&error),
    }
}

/// What is told about a form that was sent before, and how it was filled in.
#[derive(Default)]
struct Filled<'a> {
    errors: &'a [String],
    choice: Option<&'a Choice>,
}

const fn title(reviewed: &Reviewed) -> &'static str {
    match reviewed {
        Reviewed::Blueprints { .. } => "Add these blueprints?",
        Reviewed::Refinery { .. } => "Keep this refinery order?",
    }
}

fn shown(review: &Review, member: &SignedIn, filled: &Filled<'_>) -> Markup {
    let Review { from, reviewed, expires_at } = review;
    html! {
        p {
            @match from {
                Some(client) => { strong { (client) } " prepared this for you. " }
                None => { "This is what your file holds. " }
            }
            "Nothing has been changed yet."
        }
        @if !filled.errors.is_empty() {
            div .error role="alert" {
                ul { @for error in filled.errors { li { (error) } } }
            }
        }
        form method="post" {
            (member.csrf().field())
            @match reviewed {
                Reviewed::Blueprints { new, held, unmatched, products } => {
                    (blueprints::rows(new, held, unmatched, products, filled.choice))
                }
                Reviewed::Refinery { panel, materials, places } => {
                    (refinery::fields(panel, materials, places))
                }
            }
            p .hint { "This waits for you until " time datetime=(expires_at) { (expires_at.to_the_minute()) } "." }
            p .actions {
                @if is_of_use(reviewed) {
                    button type="submit" name="decision" value="take" { (button(reviewed)) }
                }
                button .plain type="submit" name="decision" value="discard" formnovalidate { "Discard it" }
            }
        }
    }
}

const fn button(reviewed: &Reviewed) -> &'static str {
    match reviewed {
        Reviewed::Blueprints { .. } => "Add to my blueprints",
        Reviewed::Refinery { .. } => "Keep this order",
    }
}

/// Whether there is anything to take over.
fn is_of_use(reviewed: &Reviewed) -> bool {
    match reviewed {
        Reviewed::Blueprints { new, unmatched, .. } => !new.is_empty() || !unmatched.is_empty(),
        Reviewed::Refinery { .. } => true,
    }
}

async fn decide(
    State(pages): State<Backed>,
    member: SignedIn,
    Path(id): Path<String>,
    Form(fields): Form<Fields>,
) -> Response {
    let field = |name: &str| {
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    if let Err(answer) = member.check(field("csrf")) {
        return *answer;
    }
    let backend = &pages.backend;
    match field("decision") {
        "discard" => match backend.discard_review(member.member(), &id).await {
            Ok(true) => message(
                StatusCode::OK,
                "Discarded",
                Some(&member),
                "It was dropped. Nothing was changed.",
                None,
            ),
            Ok(false) => gone(&member),
            Err(error) => session::failed(&error),
        },
        "take" => match backend.review(member.member(), &id).await {
            Ok(Some(review)) => take(backend, &member, &id, review, &fields).await,
            Ok(None) => gone(&member),
            Err(error) => session::failed(&error),
        },
        _ => session::forged(Some(&member)),
    }
}

async fn take(backend: &Backend, member: &SignedIn, id: &str, review: Review, fields: &Fields) -> Response {
    let choice = choice(fields);
    let taken = match &review.reviewed {
        Reviewed::Blueprints { .. } => backend.take_blueprints(member.member(), id, &choice).await,
        Reviewed::Refinery { .. } => {
            backend.take_refinery_order(member.member(), id, refinery::panel(fields)).await
        }
    };
    let again = |reviewed: Reviewed, errors: &[String]| {
        let review = Review { reviewed, ..review.clone() };
        let form = shown(&review, member, &Filled { errors, choice: Some(&choice) });
        page(StatusCode::UNPROCESSABLE_ENTITY, title(&review.reviewed), Some(member), &form)
    };
    match taken {
        Ok(TakenOver::Blueprints(result)) => {
            message(StatusCode::OK, "Done", Some(member), &blueprints::told(&result), None)
        }
        Ok(TakenOver::Refinery) => {
            let next = Some((refinery::PATH, "See my refinery orders"));
            message(StatusCode::OK, "Done", Some(member), "The refinery order is kept.", next)
        }
        Ok(TakenOver::Nothing) => {
            again(review.reviewed.clone(), &["Nothing is chosen yet. Choose at least one row.".to_owned()])
        }
        Ok(TakenOver::Unknown(names)) => {
            let error = |name: &String| format!("What you wrote for “{name}” is no blueprint.");
            again(review.reviewed.clone(), &names.iter().map(error).collect::<Vec<_>>())
        }
        Ok(TakenOver::Wrong(errors, reviewed)) => again(*reviewed, &errors),
        Ok(TakenOver::Full) => {
            let text = "You have as many refinery orders as can be kept. Delete one that you do not need any \
                        more, then keep this one.";
            let next = Some((refinery::PATH, "See my refinery orders"));
            message(StatusCode::CONFLICT, "No room for this order", Some(member), text, next)
        }
        Ok(TakenOver::Refused(code)) => {
            message(StatusCode::FORBIDDEN, "Not taken over", Some(member), refused(code), None)
        }
        Ok(TakenOver::Gone) => gone(member),
        Err(error) => session::failed(&error),
    }
}

/// What was chosen in the form of blueprints.
fn choice(fields: &Fields) -> Choice {
    let numbered = |name: &str, prefix: &str| name.strip_prefix(prefix)?.parse().ok();
    let take: BTreeSet<usize> = fields
        .iter()
        .filter(|(name, _)| name == "take")
        .filter_map(|(_, value)| value.parse().ok())
        .collect();
    let picks: BTreeMap<usize, String> =
        fields.iter().filter_map(|(name, value)| Some((numbered(name, "pick-")?, value.clone()))).collect();
    Choice { take, picks }
}

fn gone(member: &SignedIn) -> Response {
    let text = "There is nothing to review here: it was opened, taken over or discarded before, replaced by newer \
                ones, or it waited for too long. Let the application send it again.";
    message(StatusCode::NOT_FOUND, "Nothing to review", Some(member), text, None)
}
