//! Connected applications: what may call for the member, what of it is new, and how it is disconnected
//! (WEB-04 to WEB-06).

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;
use serde::Deserialize;

use super::session::{self, SignedIn};
use super::{Web, page, undo};
use crate::idp::installed::{Application, Installed, acknowledge, applications};
use crate::idp::{disconnect_client, disconnect_installation};
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::records::Actor;
use crate::store::StoreError;
use crate::time::Moment;

/// Where the page is.
pub(super) const PATH: &str = "/applications";

/// The page.
pub(super) fn routes() -> Router<Web> {
    Router::new().route(PATH, get(show).post(decide))
}

/// Of its buttons the one that was pressed brings its field.
#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    csrf: String,
    /// What was new by then is not new any more.
    seen: Option<i64>,
    installation: Option<String>,
    client: Option<String>,
}

async fn show(State(web): State<Web>, member: SignedIn) -> Response {
    let id = member.member().clone();
    let found = web.provider().store().read(move |database| applications(database, &id)).await;
    // What connects to a provider elsewhere, only that one knows.
    let is_known = !web.provider().config().is_external();
    match found {
        Ok(found) => page(
            StatusCode::OK,
            "Connected applications",
            Some(&member),
            &list(&found, is_known, &member.csrf().field()),
        ),
        Err(error) => session::failed(&error),
    }
}

fn list(found: &[Application], is_known: bool, csrf: &Markup) -> Markup {
    let all = || found.iter().flat_map(|application| &application.installations);
    let newest = all().filter(|installed| installed.is_new).map(|installed| installed.first_seen).max();
    html! {
        @if found.is_empty() {
            p { "No application is connected to your account." }
        }
        @if let Some(newest) = newest {
            form .warning method="post" action=(PATH) {
                (csrf)
                p { "Something called for you for the first time. Disconnect what you do not know." }
                p .actions { button type="submit" name="seen" value=(newest.millis()) { "I know all of these" } }
            }
        }
        @for application in found {
            section { (one(application, is_known, csrf)) }
        }
    }
}

fn one(application: &Application, is_known: bool, csrf: &Markup) -> Markup {
    let Application { client, name, installations, is_awaited } = application;
    html! {
        h2 { (name) }
        @if *is_awaited {
            p .hint { strong .new { "new" } " Connected on a device on which it has not called yet." }
        }
        @if !installations.is_empty() {
            ul {
                @for installed in installations {
                    li { (device(name, installed, is_known, csrf)) }
                }
            }
        }
        form method="post" action=(PATH) {
            (csrf)
            p .actions {
                button .plain type="submit" name="client" value=(client) { "Disconnect " (name) " on all devices" }
            }
        }
        p { a href={ (undo::PATH) "?client=" (client) } { "Take back what " (name) " wrote" } }
    }
}

/// The client's registered name, followed by the installation's label: a label alone could claim to be another client.
/// It stands in quotes, since nothing else on the page is of the client's choosing.
fn device(name: &str, installed: &Installed, is_known: bool, csrf: &Markup) -> Markup {
    let Installed { id, label, first_seen, last_seen, is_new, is_connected } = installed;
    let time = |at: &Moment| html! { time datetime=(at) { (at.to_the_minute()) } };
    let label = label.as_ref().map_or_else(|| "without a label".to_owned(), |label| format!("“{label}”"));
    html! {
        form method="post" action=(PATH) {
            (csrf)
            p {
                strong { (name) } " " span .label { (label) }
                @if *is_new { " " strong .new { "new" } }
            }
            p .hint { "First seen " (time(first_seen)) ", last seen " (time(last_seen)) "." }
            @if is_known && !is_connected {
                p .hint { "Its connection has ended: it has to be connected anew before it can go on." }
            }
            p .actions {
                button .plain type="submit" name="installation" value=(id)
                    aria-label={ "Disconnect " (name) " " (label) } { "Disconnect" }
            }
        }
    }
}

async fn decide(State(web): State<Web>, member: SignedIn, Form(given): Form<Given>) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let work = move |database: &Connection| decided(database, &id, given, now);
    match web.provider().store().write(work).await {
        // What was disconnected before, or was never the member's, is not on the page that follows.
        Ok(true) => Redirect::to(PATH).into_response(),
        Ok(false) => session::forged(Some(&member)),
        Err(error) => session::failed(&error),
    }
}

/// Does what one of the buttons says; false when there is no such button.
fn decided(database: &Connection, member: &MemberId, given: Given, now: Moment) -> Result<bool, StoreError> {
    let actor = Actor::Member(member);
    match (given.seen, given.installation, given.client) {
        (Some(seen), None, None) => acknowledge(database, member, Moment::from_millis(seen), now)?,
        (None, Some(installation), None) => {
            disconnect_installation(database, actor, &InstallationId::new(installation), now)?;
        }
        (None, None, Some(client)) => {
            disconnect_client(database, actor, &ClientId::new(client), member, now)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
