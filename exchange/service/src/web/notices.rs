//! The page of notices: new and ended connections, held batches, and changes by other people to stock that the
//! member holds (WEB-04, GW-05, OST-19). Read notices stay in the list until they are deleted by their age.

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use rusqlite::Connection;
use serde::Deserialize;

use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{WebState, account, applications, overview, render_page, text};
use crate::records::{ListedNotice, NoticeActor, NoticeSubject, acknowledge_notices, list_notices};

pub(super) const PATH: &str = "/notices";

/// The number of notices on a page.
const PAGE_LENGTH: usize = 50;

pub(super) fn routes() -> Router<WebState> {
    Router::new().route(PATH, get(show_notices).post(acknowledge_shown))
}

#[derive(Deserialize)]
struct NoticesQuery {
    /// The number of the notice that follows the page; the page lists older ones.
    before: Option<i64>,
}

#[derive(Deserialize)]
struct NoticesForm {
    #[serde(default)]
    csrf: String,
    /// The numbers of the oldest and the newest notice that were shown.
    first: i64,
    last: i64,
}

async fn show_notices(
    State(web): State<WebState>,
    member: SignedInMember,
    Query(query): Query<NoticesQuery>,
) -> Response {
    let id = member.member().clone();
    let load = move |database: &Connection| list_notices(database, &id, query.before, PAGE_LENGTH + 1);
    match web.provider().store().read(load).await {
        Ok(found) => render_page(
            StatusCode::OK,
            "Notices",
            Some(&member),
            &render_list(&found, query.before.is_some(), &member.csrf().hidden_field()),
        ),
        Err(error) => session::error_page(&error),
    }
}

fn render_list(found: &[ListedNotice], is_older: bool, csrf: &Markup) -> Markup {
    let shown = found.get(..PAGE_LENGTH).unwrap_or(found);
    let ([latest, ..], [.., first]) = (shown, shown) else {
        return html! { p { "You have no notices." } };
    };
    html! {
        @if shown.iter().any(|notice| notice.is_unread) {
            form method="post" action=(PATH) {
                (csrf)
                input type="hidden" name="first" value=(first.number);
                input type="hidden" name="last" value=(latest.number);
                p { button .small type="submit" { "Mark as read" } }
            }
        }
        div .card {
            ul .list {
                @for ListedNotice { at, kind, about, is_unread, .. } in shown {
                    li {
                        div .unread[*is_unread] {
                            (render_notice(kind, about))
                            p .hint {
                                @if *is_unread { span .badge.new { "new" } " " }
                                (text::time(*at))
                            }
                        }
                    }
                }
            }
        }
        p .actions {
            @if is_older { a .button.plain.small href=(PATH) { "Newest notices" } }
            @if found.len() > PAGE_LENGTH {
                a .button.plain.small href={ (PATH) "?before=" (first.number) } { "Older notices" }
            }
        }
    }
}

/// Renders the message of a notice. The label of an installation is quoted, because the client chose it.
fn render_notice(kind: &str, about: &NoticeSubject) -> Markup {
    let client = html! {
        @match &about.client { Some(name) => (text::name(name)), None => "An application" }
    };
    let device = html! {
        @if let Some(label) = &about.label { (text::quoted(label)) } @else { "a device without a label" }
    };
    let look = html! { a href=(applications::PATH) { "Applications" } };
    match kind {
        "connected" => {
            html! { p { (client) " was connected to your account. You find it under " (look) "." } }
        }
        "new-installation" => html! {
            p { (client) " used your account from a new device: " (device) ". If you do not recognize it, disconnect it under " (look) "." }
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
            p {
                (client) " wants to remove many entries at once. Nothing is removed until you confirm. While the request waits, \
                 you find it in the " a href=(overview::PATH) { "overview" } "."
            }
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
                (render_actor(about)) " undid changes by "
                @match &about.client { Some(name) => (text::name(name)), None => "an application" }
                " to stock that you hold for a unit, or held."
            }
        },
        "password-changed" => html! {
            p { "Your password was changed. If this was not you, ask an administrator for a new one, and check " a href=(account::PATH) { "where you are signed in" } "." }
        },
        "password-reset" => html! {
            p { "Your password was set with a link from an administrator, and all browsers were signed out." }
        },
        other => html! { p { "Event of an unknown kind (" (text::sanitize(other)) ")." } },
    }
}

fn render_holder_notice(about: &NoticeSubject, did: &str) -> Markup {
    html! {
        p {
            (render_actor(about))
            @if let Some(client) = &about.client { ", through " (text::name(client)) "," }
            " " (did)
        }
    }
}

fn render_actor(about: &NoticeSubject) -> Markup {
    match &about.by {
        Some(NoticeActor::Member(name)) => text::name(name),
        Some(NoticeActor::Administrator) => html! { "An administrator" },
        None => html! { "Someone" },
    }
}

async fn acknowledge_shown(
    State(web): State<WebState>,
    member: SignedInMember,
    PageForm(form): PageForm<NoticesForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let (id, now) = (member.member().clone(), web.provider().environment().now());
    let shown = (form.first, form.last);
    let work = move |database: &Connection| acknowledge_notices(database, &id, shown, now);
    match web.provider().store().write(work).await {
        Ok(()) => member.redirect_with(PATH, "The notices are marked as read."),
        Err(error) => session::error_page(&error),
    }
}
