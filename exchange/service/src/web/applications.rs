//! The page of connected applications. It shows which clients may call the exchange for the member, what each
//! of them may do and which installations are new, and disconnects them (WEB-04 to WEB-06).

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use exchange_api::scopes::{Access, Scope};
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;
use serde::Deserialize;

use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{WebState, device, render_page, text, undo};
use crate::idp::installed::{
    ConnectedApplication, ConnectedInstallation, ConnectionTerms, acknowledge_installations,
    list_applications,
};
use crate::idp::{disconnect_client, disconnect_installation};
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::records::Actor;
use crate::store::StoreError;
use crate::time::Moment;

pub(super) const PATH: &str = "/applications";
const DISCONNECT_PATH: &str = "/applications/disconnect";

pub(super) fn routes() -> Router<WebState> {
    Router::new()
        .route(PATH, get(show_applications).post(submit_form))
        .route(DISCONNECT_PATH, get(show_question))
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

/// Loads the applications of a member.
async fn load_applications(
    web: &WebState,
    member: &SignedInMember,
) -> Result<Vec<ConnectedApplication>, StoreError> {
    let (id, config) = (member.member().clone(), web.provider().config().idp.clone());
    web.provider().store().read(move |database| list_applications(database, &id, &config)).await
}

async fn show_applications(State(web): State<WebState>, member: SignedInMember) -> Response {
    // Only the external provider knows whether the connections are active.
    let is_known = !web.provider().config().is_external();
    match load_applications(&web, &member).await {
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
            form .note.warning method="post" action=(PATH) {
                (csrf)
                p { "An application used your account from a new device. Disconnect it if you do not recognize it." }
                p .actions { button type="submit" name="seen" value=(newest.as_millis()) { "Confirm these devices" } }
            }
        }
        @for application in found {
            section .card { (render_application(application, is_known)) }
        }
        @if is_known {
            p .actions { a .button.plain href=(device::PATH) { "Connect a device" } }
        }
    }
}

fn render_application(application: &ConnectedApplication, is_known: bool) -> Markup {
    let ConnectedApplication { client, name, installations, awaited, is_suspended } = application;
    // The newest permissions, because connections of one client rarely differ.
    let terms =
        installations.iter().filter_map(|installed| installed.connection.as_ref()).chain(awaited).next();
    html! {
        h2 {
            (text::name(name))
            @if *is_suspended { " " span .badge.off { "suspended" } }
        }
        @if *is_suspended {
            p .hint { "An administrator suspended this application. It cannot use your account at present." }
        }
        @if let Some(terms) = terms { (render_scopes(terms.scopes.capabilities())) }
        ul .list {
            @for terms in awaited {
                li {
                    p { span .badge.new { "new" } " Connected on a device that has not used it yet." }
                    (render_end(terms))
                }
            }
            @for installed in installations {
                li { (render_installation(name, installed, terms, is_known)) }
            }
        }
        p .actions {
            a .button.danger.small href={ (DISCONNECT_PATH) "?client=" (query_value(client.as_str())) } {
                "Disconnect on all devices" span .visually-hidden { ": " (text::name(name)) }
            }
            a .button.plain.small href={ (undo::PATH) "?client=" (query_value(client.as_str())) } {
                "Undo changes" span .visually-hidden { " by " (text::name(name)) }
            }
        }
    }
}

/// Percent-encodes a value for a query. Ids of clients can contain any character that an administrator chose.
fn query_value(text: &str) -> String {
    session::percent_encode(text)
}

/// Renders an installation. The registered name of the client comes before the label of the installation,
/// because a label could imitate the name of another client (WEB-05).
fn render_installation(
    name: &str,
    installed: &ConnectedInstallation,
    shown: Option<&ConnectionTerms>,
    is_known: bool,
) -> Markup {
    let ConnectedInstallation { id, first_seen, last_seen, is_new, connection, .. } = installed;
    let differs = connection.as_ref().filter(|terms| shown.is_some_and(|shown| shown.scopes != terms.scopes));
    html! {
        div .split {
            div {
                p {
                    (text::name(name)) " " (render_label(installed))
                    @if *is_new { " " strong .badge.new { "new" } }
                }
                p .hint { "First used " (text::time(*first_seen)) ", last activity " (text::time(*last_seen)) "." }
                @match connection {
                    Some(terms) => (render_end(terms)),
                    None if is_known => p .hint { "Its connection has ended. Connect it again to keep using it." },
                    None => {}
                }
            }
            a .button.danger.small href={ (DISCONNECT_PATH) "?installation=" (query_value(id.as_str())) } {
                "Disconnect" span .visually-hidden { " " (text::name(name)) " " (render_label(installed)) }
            }
        }
        @if let Some(terms) = differs { (render_scopes(terms.scopes.capabilities())) }
    }
}

fn render_label(installed: &ConnectedInstallation) -> Markup {
    html! {
        @match &installed.label {
            Some(label) => (text::quoted(label)),
            None => span .soft { "without a label" },
        }
    }
}

/// Renders when a connection ends (LIM-08).
fn render_end(terms: &ConnectionTerms) -> Markup {
    let ConnectionTerms { ends_at, ends_with_session, ends_unused_at, .. } = terms;
    html! {
        p .hint {
            @if *ends_with_session {
                "Connected until you sign out, at the latest " (text::time(*ends_at)) "."
            } @else if ends_unused_at < ends_at {
                "Connected until " (text::time(*ends_at)) ", or until " (text::time(*ends_unused_at)) " if it is not used."
            } @else {
                "Connected until " (text::time(*ends_at)) "."
            }
        }
    }
}

/// Renders scopes in two groups: those that only read, and those that change data or prepare changes.
pub(super) fn render_scopes(scopes: impl Iterator<Item = &'static Scope>) -> Markup {
    let (reads, writes): (Vec<_>, Vec<_>) =
        scopes.partition(|scope| !matches!(scope.access(), Some(Access::Write | Access::Draft)));
    let group = |class: &str, title: &str, scopes: &[&'static Scope]| {
        html! {
            @if !scopes.is_empty() {
                div class=(class) {
                    h3 { (title) }
                    ul { @for line in scopes.iter().filter_map(|scope| scope.consent()) { li { (line) } } }
                }
            }
        }
    };
    html! {
        div .columns {
            (group("scopes read", "It can see", &reads))
            (group("scopes write", "It can change", &writes))
        }
    }
}

#[derive(Deserialize)]
struct DisconnectQuery {
    client: Option<String>,
    installation: Option<String>,
}

/// Renders the question before a disconnect, which cannot be undone.
async fn show_question(
    State(web): State<WebState>,
    member: SignedInMember,
    Query(query): Query<DisconnectQuery>,
) -> Response {
    let found = match load_applications(&web, &member).await {
        Ok(found) => found,
        Err(error) => return session::error_page(&error),
    };
    let csrf = member.csrf().hidden_field();
    let question = match (&query.client, &query.installation) {
        (Some(client), None) => found
            .iter()
            .find(|application| application.client.as_str() == client)
            .map(|application| render_client_question(application, &csrf)),
        (None, Some(id)) => found.iter().find_map(|application| {
            let found = application.installations.iter().find(|installed| installed.id.as_str() == id)?;
            Some(render_installation_question(&application.name, found, &csrf))
        }),
        _ => None,
    };
    match question {
        Some(body) => render_page(StatusCode::OK, "Disconnect for good?", Some(&member), &body),
        // In the meantime, it was disconnected, for example in another tab.
        None => Redirect::to(PATH).into_response(),
    }
}

fn render_client_question(application: &ConnectedApplication, csrf: &Markup) -> Markup {
    let ConnectedApplication { client, name, installations, awaited, .. } = application;
    html! {
        form .card method="post" action=(PATH) {
            (csrf)
            p {
                (text::name(name)) " loses access to your account on all devices ("
                (installations.len() + awaited.len()) "). To use it again, connect it with a new code."
            }
            p { "Data that it changed stays as it is." }
            p .actions {
                button .danger type="submit" name="client" value=(client) { "Disconnect on all devices" }
                a .button.plain href=(PATH) { "Keep it connected" }
            }
        }
    }
}

fn render_installation_question(name: &str, installed: &ConnectedInstallation, csrf: &Markup) -> Markup {
    html! {
        form .card method="post" action=(PATH) {
            (csrf)
            p {
                (text::name(name)) " " (render_label(installed)) " loses access to your account permanently. "
                "This installation can never be connected again; a new installation can."
            }
            p { "Data that it changed stays as it is." }
            p .actions {
                button .danger type="submit" name="installation" value=(installed.id) { "Disconnect for good" }
                a .button.plain href=(PATH) { "Keep it connected" }
            }
        }
    }
}

async fn submit_form(
    State(web): State<WebState>,
    member: SignedInMember,
    PageForm(form): PageForm<ApplicationsForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let message = match (&form.seen, &form.installation, &form.client) {
        (Some(_), ..) => "The devices are confirmed.",
        (_, Some(_), _) => "The application is disconnected on this device.",
        _ => "The application is disconnected on all devices.",
    };
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let work = move |database: &Connection| apply_button(database, &id, form, now);
    match web.provider().store().write(work).await {
        // If the installation belongs to another member or was already disconnected, the next page does not
        // list it.
        Ok(true) => member.redirect_with(PATH, message),
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
