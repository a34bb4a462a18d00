//! The page of registered clients, on which members who administer the service register, suspend and resume
//! clients (IDP-04, GW-05).
//!
//! For all other members, the page does not exist. The `admin` commands have the same functions and more. The
//! audit attributes changes on this page to the member's id (`member:ID`), and changes at a command line to
//! an administrator.

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use exchange_api::scopes::Scope;
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;

use super::session::{self, SignedInMember};
use super::{WebState, not_found_page, render_page};
use crate::admin::{self, AdminContext, AdminError, ClientState, ListedClient, NewClient};
use crate::ids::ClientId;

pub(super) const PATH: &str = "/clients";

pub(super) fn routes() -> Router<WebState> {
    Router::new().route(PATH, get(show_clients).post(submit_form))
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
        ul .rows {
            @for ListedClient { id, name, state, scopes, .. } in clients {
                li {
                    p { strong { (name) } " " span .soft { (id) } @if *state == ClientState::Suspended { " " strong .new { "suspended" } } }
                    details .hint {
                        summary { "May request " (scopes.len()) " scopes" }
                        (scopes.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
                    }
                    @match state {
                        ClientState::Active => (render_button("suspend", "Suspend", id, name, csrf)),
                        ClientState::Suspended => (render_button("resume", "Resume", id, name, csrf)),
                        ClientState::Disabled => p .hint { "No longer registered." },
                    }
                }
            }
        }
    }
}

fn render_button(field: &str, label: &str, id: &ClientId, name: &str, csrf: &Markup) -> Markup {
    html! {
        form method="post" action=(PATH) {
            (csrf)
            p .actions {
                button .plain type="submit" name=(field) value=(id) aria-label={ (label) ": " (name) } { (label) }
            }
        }
    }
}

fn render_form(filled: &ClientForm, csrf: &Markup) -> Markup {
    let ClientForm { id, name, min_version, scopes, wrong } = filled;
    html! {
        h2 { "Register a client" }
        form method="post" action=(PATH) {
            (csrf)
            @if let Some(wrong) = wrong { p .error role="alert" { "The client was not registered: " (wrong) "." } }
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

async fn submit_form(
    State(web): State<WebState>,
    member: SignedInMember,
    Form(fields): Form<Vec<(String, String)>>,
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
    let filled = match &action {
        ClientAction::Register(filled) => filled.clone(),
        ClientAction::SetState(..) => ClientForm::default(),
    };
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let work = move |database: &Connection| action.apply(database, &AdminContext::for_member(&id, now));
    match web.provider().store().write(work).await {
        Ok(()) => Redirect::to(PATH).into_response(),
        Err(error @ (AdminError::Invalid(_) | AdminError::AlreadyExists { .. })) => {
            let filled = ClientForm { wrong: Some(error.to_string()), ..filled };
            render_clients_page(&web, &member, &filled, StatusCode::UNPROCESSABLE_ENTITY).await
        }
        // If another administrator has removed the client, the next page does not list it.
        Err(AdminError::NotFound { .. }) => Redirect::to(PATH).into_response(),
        Err(error) => session::error_page(&error),
    }
}
