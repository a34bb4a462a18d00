//! The page of registered clients, on which members who administer the service register, suspend and resume
//! clients (IDP-04, GW-05).
//!
//! For all other members, the page does not exist. The `admin` commands have the same functions and more. The
//! audit attributes changes on this page to the member's id (`member:ID`), and changes at a command line to
//! an administrator.

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use exchange_api::scopes::Scope;
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;
use serde::Deserialize;

use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{WebState, applications, layout, not_found_page, render_page, text};
use crate::admin::{self, AdminContext, AdminError, ClientState, ListedClient, NewClient};
use crate::ids::ClientId;

pub(super) const PATH: &str = "/clients";
const SUSPEND_PATH: &str = "/clients/suspend";

pub(super) fn routes() -> Router<WebState> {
    Router::new().route(PATH, get(show_clients).post(submit_form)).route(SUSPEND_PATH, get(show_question))
}

/// The values of the registration form, and the error if the form is rendered again.
#[derive(Clone, Debug, Default)]
struct ClientForm {
    id: String,
    name: String,
    min_version: String,
    scopes: BTreeSet<String>,
    wrong: Option<String>,
}

/// The action of the button that was pressed.
enum ClientAction {
    Register(ClientForm),
    SetState(ClientId, ClientState),
}

impl ClientAction {
    /// Parses the fields of the form. Returns `None` if a field is unknown, if a field other than `scope` is
    /// repeated, or unless exactly one button was pressed.
    fn parse_fields(fields: Vec<(String, String)>) -> Option<Self> {
        let (mut filled, mut pressed) = (ClientForm::default(), None);
        for (name, value) in fields {
            let ours = match &*name {
                "id" => &mut filled.id,
                "name" => &mut filled.name,
                "min-version" => &mut filled.min_version,
                "scope" => {
                    filled.scopes.insert(value);
                    continue;
                }
                "register" | "suspend" | "resume" if pressed.is_none() => {
                    pressed = Some((name, value));
                    continue;
                }
                "csrf" => continue,
                _ => return None,
            };
            if !ours.is_empty() {
                return None;
            }
            *ours = value.trim().to_owned();
        }
        let (button, client) = pressed?;
        match &*button {
            "register" => Some(Self::Register(filled)),
            "suspend" => Some(Self::SetState(client.into(), ClientState::Suspended)),
            _ => Some(Self::SetState(client.into(), ClientState::Active)),
        }
    }

    fn apply(&self, database: &Connection, admin: &AdminContext<'_>) -> Result<(), AdminError> {
        match self {
            Self::Register(ClientForm { id, name, min_version, scopes, .. }) => {
                let min_version = Some(min_version.clone()).filter(|version| !version.is_empty());
                let client = NewClient {
                    id: id.as_str().into(),
                    name: name.clone(),
                    scopes: scopes.clone(),
                    min_version,
                };
                admin::add_client(database, admin, &client)
            }
            // A client that was removed at a command line cannot be resumed on this page.
            Self::SetState(client, standing) => match admin::client_state(database, client)? {
                ClientState::Disabled => Err(AdminError::NotFound { what: "client", id: client.to_string() }),
                ClientState::Active | ClientState::Suspended => {
                    admin::set_client_state(database, admin, client, *standing)
                }
            },
        }
    }
}

async fn show_clients(State(web): State<WebState>, member: SignedInMember) -> Response {
    if !member.administers() {
        return not_found_page(Some(&member));
    }
    render_clients_page(&web, &member, &ClientForm::default(), StatusCode::OK).await
}

async fn render_clients_page(
    web: &WebState,
    member: &SignedInMember,
    filled: &ClientForm,
    status: StatusCode,
) -> Response {
    match web.provider().store().read(admin::list_clients).await {
        Ok(clients) => {
            let csrf = member.csrf().hidden_field();
            let (list, form) = (render_clients(&clients, &csrf), render_form(filled, &csrf));
            // An error is shown at the top, so that it is visible even if the list is long.
            let body = if filled.wrong.is_some() {
                html! { (form) (list) }
            } else {
                html! { (list) (form) }
            };
            render_page(status, "Registered clients", Some(member), &body)
        }
        Err(error) => session::error_page(&error),
    }
}

fn render_clients(clients: &[ListedClient], csrf: &Markup) -> Markup {
    html! {
        @if clients.is_empty() { p { "No client is registered." } }
        @for ListedClient { id, name, state, scopes, .. } in clients {
            section .card {
                h2 {
                    (text::name(name)) " "
                    @match state {
                        ClientState::Active => span .badge.on { "active" },
                        ClientState::Suspended => span .badge.off { "suspended" },
                        ClientState::Disabled => span .badge { "no longer registered" },
                    }
                }
                p .soft { "Id: " (text::name(id.as_str())) }
                details {
                    summary { "May request " (scopes.len()) @if scopes.len() == 1 { " permission" } @else { " permissions" } }
                    (applications::render_scopes(Scope::ALL.iter().filter(|scope| scopes.contains(scope.as_str()))))
                }
                @match state {
                    ClientState::Active => {
                        p .actions {
                            a .button.danger.small href={ (SUSPEND_PATH) "?client=" (session::percent_encode(id.as_str())) } {
                                "Suspend" span .visually-hidden { ": " (text::name(name)) }
                            }
                        }
                    }
                    ClientState::Suspended => {
                        form method="post" action=(PATH) {
                            (csrf)
                            p .actions {
                                button .plain.small type="submit" name="resume" value=(id) {
                                    "Resume" span .visually-hidden { ": " (text::name(name)) }
                                }
                            }
                        }
                    }
                    ClientState::Disabled => {}
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct SuspendQuery {
    #[serde(default)]
    client: String,
}

/// Renders the question before a client is suspended, which stops it for all members.
async fn show_question(
    State(web): State<WebState>,
    member: SignedInMember,
    Query(query): Query<SuspendQuery>,
) -> Response {
    if !member.administers() {
        return not_found_page(Some(&member));
    }
    let clients = match web.provider().store().read(admin::list_clients).await {
        Ok(clients) => clients,
        Err(error) => return session::error_page(&error),
    };
    let found = clients
        .iter()
        .find(|client| client.id.as_str() == query.client && client.state == ClientState::Active);
    let Some(ListedClient { id, name, .. }) = found else { return Redirect::to(PATH).into_response() };
    let body = html! {
        form .card method="post" action=(PATH) {
            (member.csrf().hidden_field())
            p {
                (text::name(name)) " stops working for all members at once, and cannot be connected. "
                "Its connections are kept until you resume it."
            }
            p .actions {
                button .danger type="submit" name="suspend" value=(id) { "Suspend this client" }
                a .button.plain href=(PATH) { "Keep it active" }
            }
        }
    };
    render_page(StatusCode::OK, "Suspend this client?", Some(&member), &body)
}

fn render_form(filled: &ClientForm, csrf: &Markup) -> Markup {
    let ClientForm { id, name, min_version, scopes, wrong } = filled;
    html! {
        section .card {
        h2 { "Register a client" }
        form method="post" action=(PATH) {
            (csrf)
            @if let Some(wrong) = wrong {
                (layout::render_error(&format!("The client was not registered: {}.", text::sanitize(wrong)), true))
            }
            label for="id" { "Id" }
            input #id type="text" name="id" value=(id) required maxlength="64" autocomplete="off" autocapitalize="none"
                spellcheck="false" aria-describedby="id-hint";
            p #id-hint .hint { "Letters, digits, “-”, “.”, “_” and “~”. The id cannot be changed later, and is not secret." }
            label for="name" { "Name" }
            input #name type="text" name="name" value=(name) required maxlength="100" autocomplete="off"
                aria-describedby="name-hint";
            p #name-hint .hint { "Shown to members when they connect the client." }
            label for="min-version" { "Oldest supported version" }
            input #min-version type="text" name="min-version" value=(min_version) maxlength="64" autocomplete="off"
                spellcheck="false" placeholder="2.1.0" aria-describedby="min-version-hint";
            p #min-version-hint .hint { "Leave empty to support every version." }
            fieldset {
                legend { "Permissions that it may request" }
                @for scope in Scope::ALL {
                    label .check {
                        input type="checkbox" name="scope" value=(scope.as_str())
                            checked[scopes.contains(scope.as_str())];
                        span { (scope.consent().unwrap_or_default()) " " span .soft { (scope.as_str()) } }
                    }
                }
            }
            p .actions { button type="submit" name="register" value="yes" { "Register" } }
        }
        }
    }
}

async fn submit_form(
    State(web): State<WebState>,
    member: SignedInMember,
    PageForm(fields): PageForm<Vec<(String, String)>>,
) -> Response {
    let csrf = fields.iter().find(|(name, _)| name == "csrf").map_or("", |(_, value)| value);
    if let Err(response) = member.check_csrf(csrf) {
        return *response;
    }
    if !member.administers() {
        return not_found_page(Some(&member));
    }
    let Some(action) = ClientAction::parse_fields(fields) else {
        return session::forged_form_page(Some(&member));
    };
    let message = match &action {
        ClientAction::Register(_) => "The client is registered.",
        ClientAction::SetState(_, ClientState::Suspended) => "The client is suspended.",
        ClientAction::SetState(..) => "The client is active again.",
    };
    let filled = match &action {
        ClientAction::Register(filled) => filled.clone(),
        ClientAction::SetState(..) => ClientForm::default(),
    };
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let work = move |database: &Connection| action.apply(database, &AdminContext::for_member(&id, now));
    match web.provider().store().write(work).await {
        Ok(()) => member.redirect_with(PATH, message),
        Err(error @ (AdminError::Invalid(_) | AdminError::AlreadyExists { .. })) => {
            let filled = ClientForm { wrong: Some(error.to_string()), ..filled };
            render_clients_page(&web, &member, &filled, StatusCode::UNPROCESSABLE_ENTITY).await
        }
        // If another administrator has removed the client, the next page does not list it.
        Err(AdminError::NotFound { .. }) => Redirect::to(PATH).into_response(),
        Err(error) => session::error_page(&error),
    }
}
