//! The page of connected applications. It shows which clients may call the exchange for the member and which
//! installations are new, and disconnects them (WEB-04 to WEB-06).

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;
use serde::Deserialize;

use super::session::{self, SignedInMember};
use super::{WebState, render_page, undo};
use crate::idp::installed::{
    ConnectedApplication, ConnectedInstallation, acknowledge_installations, list_applications,
};
use crate::idp::{disconnect_client, disconnect_installation};
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::records::Actor;
use crate::store::StoreError;
use crate::time::Moment;

pub(super) const PATH: &str = "/applications";

pub(super) fn routes() -> Router<WebState> {
    Router::new().route(PATH, get(show_applications).post(submit_form))
}

/// The fields of the form. Each button sends one of the optional fields.
#[derive(Deserialize)]
struct ApplicationsForm {
    #[serde(default)]
    csrf: String,
    /// Acknowledges the installations that were first seen up to this time, in milliseconds since the Unix
    /// epoch.
    seen: Option<i64>,
    installation: Option<String>,
    client: Option<String>,
}

async fn show_applications(State(web): State<WebState>, member: SignedInMember) -> Response {
    let id = member.member().clone();
    let found = web.provider().store().read(move |database| list_applications(database, &id)).await;
    // Only the external provider knows whether the connections are active.
    let is_known = !web.provider().config().is_external();
    match found {
        Ok(found) => render_page(
            StatusCode::OK,
            "Connected applications",
            Some(&member),
            &render_list(&found, is_known, &member.csrf().hidden_field()),
        ),
        Err(error) => session::error_page(&error),
    }
}

fn render_list(found: &[ConnectedApplication], is_known: bool, csrf: &Markup) -> Markup {
    let all = || found.iter().flat_map(|application| &application.installations);
    let newest = all().filter(|installed| installed.is_new).map(|installed| installed.first_seen).max();
    html! {
        @if found.is_empty() {
            p { "No application is connected to your account." }
        }
        @if let Some(newest) = newest {
            form .warning method="post" action=(PATH) {
                (csrf)
                p { "An application used your account from a new device. Disconnect it if you do not recognize it." }
                p .actions { button type="submit" name="seen" value=(newest.as_millis()) { "Confirm these devices" } }
            }
        }
        @for application in found {
            section { (render_application(application, is_known, csrf)) }
        }
    }
}

fn render_application(application: &ConnectedApplication, is_known: bool, csrf: &Markup) -> Markup {
    let ConnectedApplication { client, name, installations, is_awaited } = application;
    html! {
        h2 { (name) }
        @if *is_awaited {
            p .hint { strong .new { "new" } " Connected on a device that has not used it yet." }
        }
        @if !installations.is_empty() {
            ul {
                @for installed in installations {
                    li { (render_installation(name, installed, is_known, csrf)) }
                }
            }
        }
        form method="post" action=(PATH) {
            (csrf)
            p .actions {
                button .plain type="submit" name="client" value=(client) { "Disconnect " (name) " on all devices" }
            }
        }
        p { a href={ (undo::PATH) "?client=" (client) } { "Undo changes by " (name) } }
    }
}

/// Renders an installation. The registered name of the client comes before the label of the installation,
/// because a label could imitate the name of another client. The label is quoted, because the client chose
/// it.
fn render_installation(
    name: &str,
    installed: &ConnectedInstallation,
    is_known: bool,
    csrf: &Markup,
) -> Markup {
    let ConnectedInstallation { id, label, first_seen, last_seen, is_new, is_connected } = installed;
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
                p .hint { "Its connection has ended. Connect it again to keep using it." }
            }
            p .actions {
                button .plain type="submit" name="installation" value=(id)
                    aria-label={ "Disconnect " (name) " " (label) } { "Disconnect" }
            }
        }
    }
}

async fn submit_form(
    State(web): State<WebState>,
    member: SignedInMember,
    Form(form): Form<ApplicationsForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let work = move |database: &Connection| apply_button(database, &id, form, now);
    match web.provider().store().write(work).await {
        // If the installation belongs to another member or was already disconnected, the next page does not
        // list it.
        Ok(true) => Redirect::to(PATH).into_response(),
        Ok(false) => session::forged_form_page(Some(&member)),
        Err(error) => session::error_page(&error),
    }
}

/// Applies the action of the button that was pressed. Returns false for an invalid combination of fields.
fn apply_button(
    database: &Connection,
    member: &MemberId,
    form: ApplicationsForm,
    now: Moment,
) -> Result<bool, StoreError> {
    let actor = Actor::Member(member);
    match (form.seen, form.installation, form.client) {
        (Some(seen), None, None) => {
            acknowledge_installations(database, member, Moment::from_millis(seen), now)?
        }
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
