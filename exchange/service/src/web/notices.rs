//! What the member was told: connections and devices that are new or ended, what waits for the member's word, and what
//! others did to the member's stock (WEB-04, GW-05, OST-19).

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;
use serde::Deserialize;

use super::session::{self, SignedIn};
use super::{Web, applications, page};
use crate::records::{About, Notice, Who, acknowledge, unread};

/// Where the page is.
pub(super) const PATH: &str = "/notices";

/// How many are shown at once.
const MOST: usize = 50;

/// The page.
pub(super) fn routes() -> Router<Web> {
    Router::new().route(PATH, get(show).post(decide))
}

#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    csrf: String,
    /// The numbers of the first and the last that were shown.
    first: i64,
    last: i64,
}

async fn show(State(web): State<Web>, member: SignedIn) -> Response {
    let id = member.member().clone();
    let found = web.provider().store().read(move |database| unread(database, &id, MOST)).await;
    match found {
        Ok(found) => page(StatusCode::OK, "Notices", Some(&member), &list(&found, &member.csrf().field())),
        Err(error) => session::failed(&error),
    }
}

fn list(found: &[Notice], csrf: &Markup) -> Markup {
    let ([latest, ..], [.., first]) = (found, found) else {
        return html! { p { "There is nothing that you have not read." } };
    };
    html! {
        ul .rows {
            @for Notice { at, kind, about, .. } in found {
                li {
                    (words(kind, about))
                    p .hint { time datetime=(at) { (at.to_the_minute()) } }
                }
            }
        }
        @if found.len() >= MOST {
            p .hint { "No more than " (MOST) " are shown: those before them follow once you have read these." }
        }
        form method="post" action=(PATH) {
            (csrf)
            input type="hidden" name="first" value=(first.number);
            input type="hidden" name="last" value=(latest.number);
            p .actions { button type="submit" { "I have read this" } }
        }
    }
}

/// What happened. What a client calls an installation stands in quotes, since it is of the client's choosing.
fn words(kind: &str, about: &About) -> Markup {
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
            p { (client) " called for you for the first time from " (device) ". If you do not know it, disconnect it under " (look) "." }
        },
        "connection-reused" => html! {
            p {
                (client) " was disconnected on one of your devices: somebody used what that device had used before. \
                 If nothing was restored or copied there, disconnect it on all devices under " (look) "."
            }
        },
        "client-disconnected" => html! { p { (client) " was disconnected on all devices." } },
        "installation-disconnected" => {
            html! { p { (client) " was disconnected on " (device) ", for good." } }
        }
        "held-batch" => html! {
            p { (client) " wants to remove much at once. Nothing of it is done until you open the link that it shows, and confirm." }
        },
        "writes-undone" => {
            html! { p { "An administrator took back what " (client) " had written for you." } }
        }
        "org-stock.book-out" => by(about, "booked out stock that you hold for a unit."),
        "org-stock.sale" => by(about, "sold stock that you hold for a unit."),
        "org-stock.move" => by(about, "moved stock that you hold for a unit, or that you held until then."),
        "org-stock.undo" => html! {
            p {
                (who(about)) " took back what " strong { (about.client.as_deref().unwrap_or("an application")) }
                " had changed of stock that you hold for a unit, or held."
            }
        },
        other => html! { p { "Something happened that this page has no words for (" (other) ")." } },
    }
}

fn by(about: &About, did: &str) -> Markup {
    html! {
        p {
            (who(about))
            @if let Some(client) = &about.client { ", through " (client) "," }
            " " (did)
        }
    }
}

fn who(about: &About) -> Markup {
    match &about.by {
        Some(Who::Member(name)) => html! { strong { (name) } },
        Some(Who::Administrator) => html! { "An administrator" },
        None => html! { strong { "Somebody" } },
    }
}

async fn decide(State(web): State<Web>, member: SignedIn, Form(given): Form<Given>) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let shown = (given.first, given.last);
    let work = move |database: &Connection| acknowledge(database, &id, shown, now);
    match web.provider().store().write(work).await {
        Ok(()) => Redirect::to(PATH).into_response(),
        Err(error) => session::failed(&error),
    }
}
