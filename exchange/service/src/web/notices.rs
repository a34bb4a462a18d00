//! The page of unread notices: new and ended connections, held batches, and changes by other people to stock
//! that the member holds (WEB-04, GW-05, OST-19).

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;
use serde::Deserialize;

use super::session::{self, SignedInMember};
use super::{WebState, applications, render_page};
use crate::records::{NoticeActor, NoticeSubject, UnreadNotice, acknowledge_notices, list_unread};

pub(super) const PATH: &str = "/notices";

/// The maximum number of notices that are shown at once.
const MAX_SHOWN: usize = 50;

pub(super) fn routes() -> Router<WebState> {
    Router::new().route(PATH, get(show_notices).post(acknowledge_shown))
}

#[derive(Deserialize)]
struct NoticesForm {
    #[serde(default)]
    csrf: String,
    /// The numbers of the oldest and the newest notice that were shown.
    first: i64,
    last: i64,
}

async fn show_notices(State(web): State<WebState>, member: SignedInMember) -> Response {
    let id = member.member().clone();
    let found = web.provider().store().read(move |database| list_unread(database, &id, MAX_SHOWN)).await;
    match found {
        Ok(found) => render_page(
            StatusCode::OK,
            "Notices",
            Some(&member),
            &render_list(&found, &member.csrf().hidden_field()),
        ),
        Err(error) => session::error_page(&error),
    }
}

fn render_list(found: &[UnreadNotice], csrf: &Markup) -> Markup {
    let ([latest, ..], [.., first]) = (found, found) else {
        return html! { p { "You have no unread notices." } };
    };
    html! {
        ul .rows {
            @for UnreadNotice { at, kind, about, .. } in found {
                li {
                    (render_notice(kind, about))
                    p .hint { time datetime=(at) { (at.to_the_minute()) } }
                }
            }
        }
        @if found.len() >= MAX_SHOWN {
            p .hint { "Only the latest " (MAX_SHOWN) " are shown. Older ones appear once you mark these as read." }
        }
        form method="post" action=(PATH) {
            (csrf)
            input type="hidden" name="first" value=(first.number);
            input type="hidden" name="last" value=(latest.number);
            p .actions { button type="submit" { "Mark as read" } }
        }
    }
}

/// Renders the message of a notice. The label of an installation is quoted, because the client chose it.
fn render_notice(kind: &str, about: &NoticeSubject) -> Markup {
    let client = html! { strong { (about.client.as_deref().unwrap_or("An application")) } };
    let device = html! {
        @if let Some(label) = &about.label { span .label { "“" (label) "”" } } @else { "a device without a label" }
    };
    let look = html! { a href=(applications::PATH) { "Connected applications" } };
    match kind {
        "connected" => {
            html! { p { (client) " was connected to your account. You find it under " (look) "." } }
        }
        "new-installation" => html! {
            p { (client) " used your account for the first time from " (device) ". If you do not recognize it, disconnect it under " (look) "." }
        },
        "connection-reused" => html! {
            p {
                (client) " was disconnected on one of your devices, because a sign-in of that device was used twice. \
                 Unless you restored or copied its data, disconnect it on all devices under " (look) "."
            }
        },
        "client-disconnected" => html! { p { (client) " was disconnected on all devices." } },
        "installation-disconnected" => {
            html! { p { (client) " was disconnected on " (device) ", permanently." } }
        }
        "held-batch" => html! {
            p { (client) " wants to remove many entries at once. Nothing is removed until you open the link in the application and confirm." }
        },
        "writes-undone" => {
            html! { p { "An administrator undid changes that " (client) " made for you." } }
        }
        "org-stock.book-out" => render_holder_notice(about, "booked out stock that you hold for a unit."),
        "org-stock.sale" => render_holder_notice(about, "sold stock that you hold for a unit."),
        "org-stock.move" => {
            render_holder_notice(about, "moved stock that you hold for a unit, or held until then.")
        }
        "org-stock.undo" => html! {
            p {
                (render_actor(about)) " undid changes by " strong { (about.client.as_deref().unwrap_or("an application")) }
                " to stock that you hold for a unit, or held."
            }
        },
        other => html! { p { "Event of an unknown kind (" (other) ")." } },
    }
}

fn render_holder_notice(about: &NoticeSubject, did: &str) -> Markup {
    html! {
        p {
            (render_actor(about))
            @if let Some(client) = &about.client { ", through " (client) "," }
            " " (did)
        }
    }
}

fn render_actor(about: &NoticeSubject) -> Markup {
    match &about.by {
        Some(NoticeActor::Member(name)) => html! { strong { (name) } },
        Some(NoticeActor::Administrator) => html! { "An administrator" },
        None => html! { strong { "Someone" } },
    }
}

async fn acknowledge_shown(
    State(web): State<WebState>,
    member: SignedInMember,
    Form(form): Form<NoticesForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let shown = (form.first, form.last);
    let work = move |database: &Connection| acknowledge_notices(database, &id, shown, now);
    match web.provider().store().write(work).await {
        Ok(()) => Redirect::to(PATH).into_response(),
        Err(error) => session::error_page(&error),
    }
}
