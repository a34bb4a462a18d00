//! What an application wrote for the member, taken back on the member's own word: of which application and of when, then
//! what that would come to, and after the member's yes what came of it.

use std::time::Duration;

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::confirm::refused;
use super::session::{self, SignedIn};
use super::{Backed, message, page};
use crate::backend::undo::{Became, Hindrance, Mode, Outcome, UndoArea, UndoError, Writes, Wrote};
use crate::feed::Author;
use crate::ids::ClientId;
use crate::members;
use crate::time::Moment;

/// Where the page is.
pub(super) const PATH: &str = "/take-back";

/// How many entries are named at once.
const MOST: usize = 500;

/// How far back the form begins.
const DAY: Duration = Duration::from_secs(86_400);
const MINUTE: Duration = Duration::from_secs(60);

/// The page.
pub(super) fn routes() -> Router<Backed> {
    Router::new().route(PATH, get(show).post(decide))
}

#[derive(Deserialize)]
struct Asked {
    client: Option<String>,
}

/// The fields of the form, as they were typed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Given {
    csrf: String,
    /// `look`, or `undo`.
    decision: String,
    client: String,
    from: String,
    to: String,
}

async fn show(State(pages): State<Backed>, member: SignedIn, Query(asked): Query<Asked>) -> Response {
    let now = pages.web.provider().environment().now();
    let given = Given {
        client: asked.client.unwrap_or_default(),
        from: typed(now.minus(DAY)),
        to: typed(now),
        ..Given::default()
    };
    form(&pages, &member, &given, None).await
}

/// The form, filled in, with what is wrong in it.
async fn form(pages: &Backed, member: &SignedIn, given: &Given, wrong: Option<&str>) -> Response {
    let clients = match pages.backend.wrote_for(member.member()).await {
        Ok(clients) => clients,
        Err(error) => return session::failed(&error),
    };
    if clients.is_empty() {
        let text = "No application has written anything for you as far back as is remembered.";
        return message(StatusCode::OK, TITLE, Some(member), text, None);
    }
    if !given.client.is_empty() && named(&clients, &given.client).is_none() {
        let text = "This application has not written anything for you as far back as is remembered.";
        return message(StatusCode::OK, TITLE, Some(member), text, Some((PATH, "Choose another one")));
    }
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    page(status, TITLE, Some(member), &fields(&clients, given, wrong, &member.csrf().field()))
}

/// What an application is called that wrote something.
fn named<'c>(clients: &'c [Wrote], chosen: &str) -> Option<&'c str> {
    clients.iter().find(|wrote| wrote.client.as_str() == chosen).map(|wrote| &*wrote.name)
}

const TITLE: &str = "Take back what an application wrote";

fn fields(clients: &[Wrote], given: &Given, wrong: Option<&str>, csrf: &Markup) -> Markup {
    let Given { client: chosen, from, to, .. } = given;
    let moment = |name: &str, label: &str, value: &str| {
        html! {
            label for=(name) { (label) }
            input id=(name) type="text" name=(name) value=(value) maxlength="40" autocomplete="off"
                aria-describedby="hint";
        }
    };
    html! {
        form method="post" action=(PATH) {
            (csrf)
            @if let Some(wrong) = wrong {
                p .error role="alert" { (wrong) }
            }
            label for="client" { "Application" }
            select #client name="client" {
                @for Wrote { client, name } in clients {
                    option value=(client) selected[client.as_str() == chosen] { (name) }
                }
            }
            (moment("from", "From", from))
            (moment("to", "Up to", to))
            p #hint .hint { "A day such as 2026-11-22, or a minute of it such as 2026-11-22 09:30, in UTC." }
            p .hint {
                "Everything becomes again what it was before. What you or others changed since stays as it is. You see \
                 first what that comes to."
            }
            p .actions { button type="submit" name="decision" value="look" { "See what would be taken back" } }
        }
    }
}

async fn decide(State(pages): State<Backed>, member: SignedIn, Form(given): Form<Given>) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    let mode = match given.decision.as_str() {
        "look" => Mode::Preview,
        "undo" => Mode::Apply,
        _ => return session::forged(Some(&member)),
    };
    let (Some(from), Some(to)) = (read(&given.from, Edge::Begin), read(&given.to, Edge::End)) else {
        let said = "One of the moments cannot be read: write it like 2026-11-22, or 2026-11-22 09:30.";
        return form(&pages, &member, &given, Some(said)).await;
    };
    if from > to {
        return form(&pages, &member, &given, Some("It ends before it begins.")).await;
    }
    // What the application writes while the member looks is not in what they saw.
    let to = to.min(pages.web.provider().environment().now());
    // The same as for a client of theirs: who may not act does not.
    let id = member.member().clone();
    match pages.web.provider().store().read(move |database| members::acting(database, &id)).await {
        Ok(Ok(_)) => {}
        Ok(Err(code)) => {
            let text = refused(code);
            return message(StatusCode::FORBIDDEN, "Not taken back", Some(&member), text, None);
        }
        Err(error) => return session::failed(&error),
    }
    let clients = match pages.backend.wrote_for(member.member()).await {
        Ok(clients) => clients,
        Err(error) => return session::failed(&error),
    };
    let Some(name) = named(&clients, &given.client) else {
        return form(&pages, &member, &given, None).await;
    };
    let client = ClientId::new(given.client.as_str());
    let writes = Writes { client, member: member.member().clone(), from, to };
    let span = Span { name, clients: &clients, client: &given.client, from, to };
    let again = format!("{PATH}?client={}", given.client);
    match pages.backend.undo(writes, &UndoArea::ALL, mode).await {
        Ok(outcomes) => {
            let title = if mode == Mode::Preview { "Take this back?" } else { "Taken back" };
            page(StatusCode::OK, title, Some(&member), &told(&outcomes, mode, &span, &member.csrf().field()))
        }
        Err(UndoError::UnderWay) => {
            let text = "This is being looked at, or taken back, for you already, in another window perhaps. Wait a little, \
                        then try again.";
            let status = StatusCode::TOO_MANY_REQUESTS;
            message(status, "Please wait", Some(&member), text, Some((&again, "Try again")))
        }
        Err(UndoError::CutOff(error)) => {
            tracing::error!(%error, "an undo was cut off");
            let text = "It was cut off: part of it is taken back already. Look again, and go on.";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            message(status, "Not finished", Some(&member), text, Some((&again, "Look again")))
        }
        Err(UndoError::Forgotten(floor)) => {
            let whole = floor.plus(MINUTE - Duration::from_millis(1)).to_the_minute();
            let begin = format!("What was before {whole} is not remembered: begin then, or later.");
            let said = if mode == Mode::Apply { format!("Nothing was taken back. {begin}") } else { begin };
            form(&pages, &member, &given, Some(&said)).await
        }
        Err(UndoError::Store(error)) => session::failed(&error),
    }
}

/// What is taken back.
struct Span<'a> {
    /// What the application is called.
    name: &'a str,
    /// All that wrote for the member.
    clients: &'a [Wrote],
    client: &'a str,
    from: Moment,
    to: Moment,
}

fn told(outcomes: &[Outcome], mode: Mode, span: &Span<'_>, csrf: &Markup) -> Markup {
    let Span { name, clients, client, from, to } = span;
    let (done, stays): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.end.is_ok());
    let is_preview = mode == Mode::Preview;
    html! {
        p {
            "What " strong { (name) } " wrote for you from " time datetime=(from) { (from.to_the_minute()) } " to "
            time datetime=(to) { (to.to_the_minute()) } "."
        }
        @if outcomes.is_empty() {
            p { "There is nothing to take back." }
        }
        @if !done.is_empty() {
            h2 { @if is_preview { "Would be taken back" } @else { "Taken back" } " (" (done.len()) ")" }
            (list(&done, clients))
        }
        @if !stays.is_empty() {
            h2 { @if is_preview { "Would stay as it is" } @else { "Stays as it is" } " (" (stays.len()) ")" }
            (list(&stays, clients))
        }
        @if is_preview && !done.is_empty() {
            form method="post" action=(PATH) {
                (csrf)
                input type="hidden" name="client" value=(client);
                input type="hidden" name="from" value=(from);
                input type="hidden" name="to" value=(to);
                p .actions { button type="submit" name="decision" value="undo" { "Take it back" } }
            }
        }
        p { a href={ (PATH) "?client=" (client) } { "Choose another span" } }
    }
}

fn list(outcomes: &[&Outcome], clients: &[Wrote]) -> Markup {
    html! {
        ul {
            @for Outcome { area, name, end, .. } in outcomes.iter().take(MOST) {
                li { strong { (name) } ", " (called(*area)) ": " (came(end, clients)) }
            }
            @if outcomes.len() > MOST { li { "and " (outcomes.len() - MOST) " more" } }
        }
    }
}

const fn called(area: UndoArea) -> &'static str {
    match area {
        UndoArea::Blueprints => "your blueprints",
        UndoArea::Stock => "your stock",
        UndoArea::Ships => "your ships",
        UndoArea::OrgStock => "stock of your units",
    }
}

fn came(end: &Result<Became, Hindrance>, clients: &[Wrote]) -> String {
    match end {
        Ok(Became::PutBack) => "there again".to_owned(),
        Ok(Became::Removed) => "gone".to_owned(),
        Ok(Became::Changed) => "as it was before".to_owned(),
        Err(Hindrance::ChangedSince(Some(by))) => format!("changed since by {}", whom(by, clients)),
        Err(hindrance) => hindrance.to_string(),
    }
}

/// Who changed something of the member's, as the member knows them.
fn whom<'c>(by: &'c Author, clients: &'c [Wrote]) -> &'c str {
    match by {
        Author::Client { client, .. } => named(clients, client.as_str()).unwrap_or(client.as_str()),
        Author::Web => "you on a page",
        Author::App => "you in the mobile application",
        Author::System => "an administrator",
    }
}

/// Which end of a day or a minute is meant.
#[derive(Clone, Copy)]
enum Edge {
    Begin,
    End,
}

/// A moment as the form has it.
fn typed(at: Moment) -> String {
    at.to_the_minute().trim_end_matches(" UTC").to_owned()
}

/// A day or a minute of it as people type it, or a moment as machines write it.
fn read(text: &str, edge: Edge) -> Option<Moment> {
    let text = text.trim();
    let (moment, length) = match text.len() {
        10 => (text.parse(), DAY),
        16 => (format!("{}:00Z", text.replace(' ', "T")).parse(), MINUTE),
        _ => (text.parse(), Duration::from_millis(1)),
    };
    let begin: Moment = moment.ok()?;
    Some(match edge {
        Edge::Begin => begin,
        Edge::End => begin.plus(length - Duration::from_millis(1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WRT-03: whoever changed something is named as the member knows them.
    #[test]
    fn who_changed_it_since_is_named_as_people_know_them() {
        let clients = [Wrote { client: "c-2".into(), name: "Second client".to_owned() }];
        let client = |id: &str| Author::Client { client: id.into(), installation: "i-3".into() };
        for (by, expect) in [
            (Some(client("c-2")), "changed since by Second client"),
            (Some(client("c-gone")), "changed since by c-gone"),
            (Some(Author::Web), "changed since by you on a page"),
            (Some(Author::App), "changed since by you in the mobile application"),
            (Some(Author::System), "changed since by an administrator"),
            (None, "changed since"),
        ] {
            assert_eq!(came(&Err(Hindrance::ChangedSince(by)), &clients), expect);
        }
    }

    #[test]
    fn moments_are_read_as_people_type_them() {
        for (text, begin, end) in [
            ("2026-11-22", "2026-11-22T00:00:00Z", "2026-11-22T23:59:59.999Z"),
            (" 2026-11-22 09:30", "2026-11-22T09:30:00Z", "2026-11-22T09:30:59.999Z"),
            ("2026-11-22T09:30", "2026-11-22T09:30:00Z", "2026-11-22T09:30:59.999Z"),
            ("2026-11-22T09:30:01Z", "2026-11-22T09:30:01Z", "2026-11-22T09:30:01Z"),
        ] {
            let expect = [begin, end].map(|text| text.parse::<Moment>().ok());
            assert_eq!([read(text, Edge::Begin), read(text, Edge::End)], expect, "{text}");
        }
        for text in ["", "soon", "2026-13-01", "2026-11-22 9:30", "22.11.2026 09:30"] {
            assert_eq!(read(text, Edge::Begin), None, "{text}");
        }
        let at: Moment = "2026-11-22T09:30:01Z".parse().expect("a moment");
        assert_eq!(read(&typed(at), Edge::Begin), "2026-11-22T09:30:00Z".parse().ok());
    }
}
