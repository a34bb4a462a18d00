//! Registered clients, for members who administer the service (IDP-04, GW-05): registered, suspended, let call again.
//!
//! To everybody else there is no such page. The `admin` commands do the same and more; what is done here is audited
//! as the member's (`member:ID`), not as that of an administrator at a command line.

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use exchange_api::scopes::Scope;
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;

use super::session::{self, SignedIn};
use super::{Web, absent, page};
use crate::admin::{self, AdminError, By, ListedClient, NewClient, Standing};
use crate::ids::ClientId;

/// Where the page is.
pub(super) const PATH: &str = "/clients";

/// The page.
pub(super) fn routes() -> Router<Web> {
    Router::new().route(PATH, get(show).post(decide))
}

/// What the form of a new client brings back; with what was wrong with it, when it is shown again.
#[derive(Clone, Debug, Default)]
struct Filled {
    id: String,
    name: String,
    min_version: String,
    scopes: BTreeSet<String>,
    wrong: Option<String>,
}

/// What one of the buttons asks for.
enum Asked {
    Register(Filled),
    Stand(ClientId, Standing),
}

impl Asked {
    /// Of its fields each of which but `scope` stands there once; none when no button was pressed, or several.
    fn read(fields: Vec<(String, String)>) -> Option<Self> {
        let (mut filled, mut pressed) = (Filled::default(), None);
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
            "suspend" => Some(Self::Stand(client.into(), Standing::Suspended)),
            _ => Some(Self::Stand(client.into(), Standing::Active)),
        }
    }

    fn apply(&self, database: &Connection, by: &By<'_>) -> Result<(), AdminError> {
        match self {
            Self::Register(Filled { id, name, min_version, scopes, .. }) => {
                let min_version = Some(min_version.clone()).filter(|version| !version.is_empty());
                let client = NewClient {
                    id: id.as_str().into(),
                    name: name.clone(),
                    scopes: scopes.clone(),
                    min_version,
                };
                admin::add_client(database, by, &client)
            }
            // Whom the command line took out is none that this page lets call again.
            Self::Stand(client, standing) => match admin::standing_of(database, client)? {
                Standing::Disabled => Err(AdminError::Unknown { what: "client", id: client.to_string() }),
                Standing::Active | Standing::Suspended => {
                    admin::set_standing(database, by, client, *standing)
                }
            },
        }
    }
}

async fn show(State(web): State<Web>, member: SignedIn) -> Response {
    if !member.administers() {
        return absent(Some(&member));
    }
    shown(&web, &member, &Filled::default(), StatusCode::OK).await
}

async fn shown(web: &Web, member: &SignedIn, filled: &Filled, status: StatusCode) -> Response {
    match web.provider().store().read(admin::list_clients).await {
        Ok(clients) => {
            let csrf = member.csrf().field();
            let (list, form) = (list(&clients, &csrf), form(filled, &csrf));
            // What is wrong is seen at once, however many there are.
            let body = if filled.wrong.is_some() {
                html! { (form) (list) }
            } else {
                html! { (list) (form) }
            };
            page(status, "Registered clients", Some(member), &body)
        }
        Err(error) => session::failed(&error),
    }
}

fn list(clients: &[ListedClient], csrf: &Markup) -> Markup {
    html! {
        @if clients.is_empty() { p { "No client is registered." } }
        ul .rows {
            @for ListedClient { id, name, state, scopes, .. } in clients {
                li {
                    p { strong { (name) } " " span .soft { (id) } @if *state == Standing::Suspended { " " strong .new { "suspended" } } }
                    details .hint {
                        summary { "May ask members for " (scopes.len()) " scopes" }
                        (scopes.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
                    }
                    @match state {
                        Standing::Active => (button("suspend", "Suspend", id, name, csrf)),
                        Standing::Suspended => (button("resume", "Let it call again", id, name, csrf)),
                        Standing::Disabled => p .hint { "It is not registered any more." },
                    }
                }
            }
        }
    }
}

fn button(field: &str, says: &str, id: &ClientId, name: &str, csrf: &Markup) -> Markup {
    html! {
        form method="post" action=(PATH) {
            (csrf)
            p .actions {
                button .plain type="submit" name=(field) value=(id) aria-label={ (says) ": " (name) } { (says) }
            }
        }
    }
}

fn form(filled: &Filled, csrf: &Markup) -> Markup {
    let Filled { id, name, min_version, scopes, wrong } = filled;
    html! {
        h2 { "Register a client" }
        form method="post" action=(PATH) {
            (csrf)
            @if let Some(wrong) = wrong { p .error role="alert" { "It was not registered: " (wrong) "." } }
            label for="id" { "Id" }
            input #id type="text" name="id" value=(id) required maxlength="64" autocomplete="off" autocapitalize="none"
                spellcheck="false" aria-describedby="id-hint";
            p #id-hint .hint { "Letters, digits, “-”, “.”, “_” and “~”. It never changes, and is no secret." }
            label for="name" { "Name" }
            input #name type="text" name="name" value=(name) required maxlength="100" autocomplete="off"
                aria-describedby="name-hint";
            p #name-hint .hint { "What members see when they connect it." }
            label for="min-version" { "Oldest version that is served" }
            input #min-version type="text" name="min-version" value=(min_version) maxlength="64" autocomplete="off"
                spellcheck="false" placeholder="2.1.0" aria-describedby="min-version-hint";
            p #min-version-hint .hint { "Left empty, every version is." }
            fieldset {
                legend { "What it may ask members for" }
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

async fn decide(
    State(web): State<Web>,
    member: SignedIn,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let csrf = fields.iter().find(|(name, _)| name == "csrf").map_or("", |(_, value)| value);
    if let Err(answer) = member.check(csrf) {
        return *answer;
    }
    if !member.administers() {
        return absent(Some(&member));
    }
    let Some(asked) = Asked::read(fields) else { return session::forged(Some(&member)) };
    let filled = match &asked {
        Asked::Register(filled) => filled.clone(),
        Asked::Stand(..) => Filled::default(),
    };
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let work = move |database: &Connection| asked.apply(database, &By::member(&id, now));
    match web.provider().store().write(work).await {
        Ok(()) => Redirect::to(PATH).into_response(),
        Err(error @ (AdminError::Wrong(_) | AdminError::Exists { .. })) => {
            let filled = Filled { wrong: Some(error.to_string()), ..filled };
            shown(&web, &member, &filled, StatusCode::UNPROCESSABLE_ENTITY).await
        }
        // What another administrator removed meanwhile is not on the page that follows.
        Err(AdminError::Unknown { .. }) => Redirect::to(PATH).into_response(),
        Err(error) => session::failed(&error),
    }
}
