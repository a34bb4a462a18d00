//! The first page after the sign-in: what awaits the member, and the form for the code of a device.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use exchange_api::types::DraftKind;
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;

use super::session::{self, SignedInMember};
use super::{WebState, applications, confirm, device, drafts, layout, notices, render_page, terms, text};
use crate::backend::drafts::OpenReview;
use crate::backend::{self, OpenBatch};
use crate::config::IdpConfig;
use crate::idp::installed::{ConnectedApplication, list_applications};
use crate::ids::MemberId;
use crate::members;
use crate::store::{StoreError, read_setting};
use crate::time::Moment;

pub(super) const PATH: &str = "/";

pub(super) fn routes() -> Router<WebState> {
    Router::new().route(PATH, get(show_overview))
}

/// What awaits a member.
struct Waiting {
    batches: Vec<OpenBatch>,
    reviews: Vec<OpenReview>,
    /// The names of applications with new devices.
    new_devices: Vec<String>,
    /// The version of the terms that the member has to accept.
    terms: Option<String>,
}

impl Waiting {
    fn load(
        connection: &Connection,
        member: &MemberId,
        config: &IdpConfig,
        now: Moment,
    ) -> Result<Self, StoreError> {
        let accepted = members::find_member(connection, member)?.and_then(|member| member.terms);
        let has_new = |application: &ConnectedApplication| {
            application.installations.iter().any(|installed| installed.is_new)
        };
        let applications = list_applications(connection, member, config)?;
        Ok(Self {
            batches: backend::list_batches(connection, member, now)?,
            reviews: backend::list_reviews(connection, member, now)?,
            new_devices: applications
                .into_iter()
                .filter(has_new)
                .map(|application| application.name)
                .collect(),
            terms: read_setting(connection, "terms")?.filter(|terms| accepted.as_ref() != Some(terms)),
        })
    }

    fn is_empty(&self) -> bool {
        let Self { batches, reviews, new_devices, terms } = self;
        batches.is_empty() && reviews.is_empty() && new_devices.is_empty() && terms.is_none()
    }
}

async fn show_overview(State(web): State<WebState>, member: SignedInMember) -> Response {
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let config = web.provider().config().idp.clone();
    let load = move |connection: &Connection| Waiting::load(connection, &id, &config, now);
    match web.provider().store().read(load).await {
        Ok(waiting) => {
            let body = html! {
                (render_waiting(&waiting, member.unread_count()))
                @if !web.provider().config().is_external() {
                    section .card {
                        h2 { "Connect a device" }
                        (device::render_code_form(&member, "", None, false))
                        p .hint { "Never enter a code that someone sent to you." }
                    }
                }
            };
            render_page(StatusCode::OK, "Overview", Some(&member), &body)
        }
        Err(error) => session::error_page(&error),
    }
}

fn render_waiting(waiting: &Waiting, unread: u64) -> Markup {
    let Waiting { batches, reviews, new_devices, terms } = waiting;
    html! {
        section .card {
            h2 { "Waiting for you" }
            @if waiting.is_empty() && unread == 0 {
                p .lead { "Nothing at present. Applications send you here when they need your confirmation." }
            } @else {
                ul .list {
                    @if let Some(version) = terms {
                        (render_item(
                            &html! { "Accept version " (text::name(version)) " of the terms. Until then, applications cannot act for you." },
                            None, terms::PATH, "Read and accept"))
                    }
                    @for OpenBatch { id, client, expires_at } in batches {
                        (render_item(
                            &html! { (text::name(client)) " wants to remove many entries at once." },
                            Some(*expires_at), &confirm::batch_path(*id), "Check and decide"))
                    }
                    @for OpenReview { id, from, kind, expires_at } in reviews {
                        (render_item(&describe_review(from.as_deref(), kind), Some(*expires_at), &drafts::review_path(id), "Review"))
                    }
                    @for name in new_devices {
                        (render_item(
                            &html! { (text::name(name)) " used your account from a new device." },
                            None, applications::PATH, "Check the device"))
                    }
                    @if unread > 0 {
                        (render_item(
                            &html! {
                                @if unread == 1 { "You have one unread notice." }
                                @else { "You have " (layout::render_count(unread)) " unread notices." }
                            },
                            None, notices::PATH, "Read"))
                    }
                }
            }
        }
    }
}

fn describe_review(from: Option<&str>, kind: &DraftKind) -> Markup {
    let content = match kind {
        DraftKind::Refinery => "a refinery order",
        _ => "blueprints",
    };
    html! {
        @match from {
            Some(client) => { (text::name(client)) " prepared " (content) " for you." }
            None => "You imported a file with blueprints.",
        }
    }
}

fn render_item(text: &Markup, expires_at: Option<Moment>, path: &str, action: &str) -> Markup {
    html! {
        li .split {
            div {
                p { (text) }
                @if let Some(expires_at) = expires_at { p .hint { "Expires " (text::time(expires_at)) } }
            }
            a .button.plain.small href=(path) { (action) }
        }
    }
}
