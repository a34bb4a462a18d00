//! The page on which a member undoes the writes of an application. The member selects the application and a
//! time span, and reviews a preview. After the undo, the preview of the same span shows what is left.

use std::time::Duration;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::confirm::describe_error;
use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{BackendState, render_message, render_page, text};
use crate::backend::undo::{
    RevertEffect, UndoArea, UndoConflict, UndoError, UndoMode, UndoOutcome, UndoSelection, WritingClient,
};
use crate::feed::ChangeAuthor;
use crate::ids::ClientId;
use crate::members;
use crate::time::Moment;

pub(super) const PATH: &str = "/take-back";

/// The maximum number of entries that are listed.
const MAX_LISTED: usize = 500;

const DAY: Duration = Duration::from_secs(86_400);
const MINUTE: Duration = Duration::from_secs(60);

pub(super) fn routes() -> Router<BackendState> {
    Router::new().route(PATH, get(show_undo).post(submit_undo))
}

/// The fields of the form, as submitted.
#[derive(Default, Deserialize)]
#[serde(default)]
struct UndoForm {
    csrf: String,
    client: String,
    from: String,
    to: String,
}

/// Renders the form, or a preview if the address contains a time span.
async fn show_undo(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Query(query): Query<UndoForm>,
) -> Response {
    let now = pages.web.provider().environment().now();
    if !query.from.is_empty() || !query.to.is_empty() {
        return run_undo(&pages, &member, &query, UndoMode::Preview).await;
    }
    let submitted = UndoForm { from: format_moment(now.minus(DAY)), to: format_moment(now), ..query };
    render_form(&pages, &member, &submitted, None).await
}

/// Renders the form with its current values, and with an error if there is one.
async fn render_form(
    pages: &BackendState,
    member: &SignedInMember,
    submitted: &UndoForm,
    wrong: Option<&str>,
) -> Response {
    let clients = match pages.backend.list_writing_clients(member.member()).await {
        Ok(clients) => clients,
        Err(error) => return session::error_page(&error),
    };
    if clients.is_empty() {
        let text = "No application has made changes for you in the recorded period.";
        return render_message(StatusCode::OK, TITLE, Some(member), text, None);
    }
    if !submitted.client.is_empty() && client_name(&clients, &submitted.client).is_none() {
        let text = "This application has made no changes for you in the recorded period.";
        return render_message(StatusCode::OK, TITLE, Some(member), text, Some((PATH, "Select another one")));
    }
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    render_page(status, TITLE, Some(member), &render_fields(&clients, submitted, wrong))
}

/// Returns the name of a client that wrote data for the member, if it is in the list.
fn client_name<'c>(clients: &'c [WritingClient], chosen: &str) -> Option<&'c str> {
    clients.iter().find(|wrote| wrote.client.as_str() == chosen).map(|wrote| &*wrote.name)
}

const TITLE: &str = "Undo an application's changes";

fn render_fields(clients: &[WritingClient], submitted: &UndoForm, wrong: Option<&str>) -> Markup {
    let UndoForm { client: chosen, from, to, .. } = submitted;
    let moment = |name: &str, label: &str, value: &str| {
        html! {
            label for=(name) { (label) }
            input id=(name) type="text" name=(name) value=(value) maxlength="40" autocomplete="off"
                autofocus[wrong.is_some() && name == "from"] aria-invalid=[wrong.map(|_| "true")]
                aria-describedby=(if wrong.is_some() { "error hint" } else { "hint" });
        }
    };
    html! {
        form .card method="get" action=(PATH) {
            @if let Some(wrong) = wrong {
                p #error .field-error role="alert" { (wrong) }
            }
            label for="client" { "Application" }
            select #client name="client" {
                @for WritingClient { client, name } in clients {
                    option value=(client) selected[client.as_str() == chosen] { (text::isolate(name)) }
                }
            }
            (moment("from", "From", from))
            (moment("to", "Up to", to))
            p #hint .hint { "A day such as 2026-11-22, or a minute of it such as 2026-11-22 09:30, in UTC." }
            p .hint {
                "Entries are restored to their state before the changes. Entries that you or others changed since stay \
                 unchanged. You see a preview first."
            }
            p .actions { button type="submit" { "Preview" } }
        }
    }
}

async fn submit_undo(
    State(pages): State<BackendState>,
    member: SignedInMember,
    PageForm(submitted): PageForm<UndoForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&submitted.csrf) {
        return *response;
    }
    run_undo(&pages, &member, &submitted, UndoMode::Apply).await
}

async fn run_undo(
    pages: &BackendState,
    member: &SignedInMember,
    submitted: &UndoForm,
    mode: UndoMode,
) -> Response {
    let (Some(from), Some(to)) =
        (parse_moment(&submitted.from, SpanEdge::Begin), parse_moment(&submitted.to, SpanEdge::End))
    else {
        let message = "Invalid time: write it like 2026-11-22 or 2026-11-22 09:30.";
        return render_form(pages, member, submitted, Some(message)).await;
    };
    if from > to {
        return render_form(pages, member, submitted, Some("The end is before the beginning.")).await;
    }
    // Writes after the preview are not undone.
    let to = to.min(pages.web.provider().environment().now());
    // A member must meet the same conditions as for calls of a client: a member who may not act cannot undo.
    let id = member.member().clone();
    match pages.web.provider().store().read(move |database| members::find_acting_member(database, &id)).await
    {
        Ok(Ok(_)) => {}
        Ok(Err(code)) => {
            let text = describe_error(code);
            return render_message(StatusCode::FORBIDDEN, "Not undone", Some(member), text, None);
        }
        Err(error) => return session::error_page(&error),
    }
    let clients = match pages.backend.list_writing_clients(member.member()).await {
        Ok(clients) => clients,
        Err(error) => return session::error_page(&error),
    };
    let Some(name) = client_name(&clients, &submitted.client) else {
        return render_form(pages, member, submitted, None).await;
    };
    let client = ClientId::new(submitted.client.as_str());
    let writes = UndoSelection { client, member: member.member().clone(), from, to };
    let span = UndoSpan { name, clients: &clients, client: &submitted.client, from, to };
    let again = format!("{PATH}?client={}", session::percent_encode(&submitted.client));
    match pages.backend.undo_writes(writes, &UndoArea::ALL, mode).await {
        Ok(outcomes) if mode == UndoMode::Preview => {
            let body = render_outcomes(&outcomes, &span, &member.csrf().hidden_field());
            render_page(StatusCode::OK, "Undo these changes?", Some(member), &body)
        }
        // The preview of the same span shows what is left.
        Ok(outcomes) => {
            let done = outcomes.iter().filter(|outcome| outcome.result.is_ok()).count();
            member.redirect_with(&span.preview_path(), &describe_counts(done, outcomes.len() - done))
        }
        Err(UndoError::InProgress) => {
            let text = "A preview or undo is already running for you, perhaps in another window. Wait a moment, \
                        then try again.";
            let status = StatusCode::TOO_MANY_REQUESTS;
            render_message(status, "Please wait", Some(member), text, Some((&again, "Try again")))
        }
        Err(UndoError::Interrupted(error)) => {
            tracing::error!(%error, "undo interrupted");
            let text =
                "The undo was interrupted: some changes are undone already. Preview again to continue.";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            render_message(status, "Not finished", Some(member), text, Some((&again, "Preview again")))
        }
        Err(UndoError::JournalTruncated(floor)) => {
            let earliest = floor.plus(MINUTE - Duration::from_millis(1)).to_the_minute();
            let begin = format!("Changes before {earliest} are no longer recorded: begin then, or later.");
            let message =
                if mode == UndoMode::Apply { format!("Nothing was undone. {begin}") } else { begin };
            render_form(pages, member, submitted, Some(&message)).await
        }
        Err(UndoError::Store(error)) => session::error_page(&error),
    }
}

struct UndoSpan<'a> {
    name: &'a str,
    /// All clients that wrote data for the member.
    clients: &'a [WritingClient],
    client: &'a str,
    from: Moment,
    to: Moment,
}

impl UndoSpan<'_> {
    /// Returns the path of the preview.
    fn preview_path(&self) -> String {
        let [client, from, to] =
            [self.client, &self.from.to_string(), &self.to.to_string()].map(session::percent_encode);
        format!("{PATH}?client={client}&from={from}&to={to}")
    }
}

/// Describes the numbers of entries that were undone and that stay unchanged.
fn describe_counts(done: usize, kept: usize) -> String {
    let mut message = match done {
        1 => "1 change is undone.".to_owned(),
        done => format!("{done} changes are undone."),
    };
    if kept > 0 {
        message.push_str(&format!(" {kept} stay as they are, for the reasons below."));
    }
    message
}

fn render_outcomes(outcomes: &[UndoOutcome], span: &UndoSpan<'_>, csrf: &Markup) -> Markup {
    let UndoSpan { name, clients, client, from, to } = span;
    let (done, stays): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.result.is_ok());
    html! {
        p {
            "Changes that " (text::name(name)) " made for you from " (text::time(*from)) " to " (text::time(*to)) "."
        }
        @if outcomes.is_empty() {
            p { "There is nothing to undo." }
        }
        @if !done.is_empty() {
            section .card {
                h2 { "Would be undone (" (done.len()) ")" }
                (render_outcome_list(&done, clients))
            }
        }
        @if !stays.is_empty() {
            section .card {
                h2 { "Stays unchanged (" (stays.len()) ")" }
                (render_outcome_list(&stays, clients))
            }
        }
        @if !done.is_empty() {
            form method="post" action=(PATH) {
                (csrf)
                input type="hidden" name="client" value=(client);
                input type="hidden" name="from" value=(from);
                input type="hidden" name="to" value=(to);
                p .actions { button type="submit" { "Undo" } }
            }
        }
        p { a href={ (PATH) "?client=" (session::percent_encode(client)) } { "Select another period" } }
    }
}

fn render_outcome_list(outcomes: &[&UndoOutcome], clients: &[WritingClient]) -> Markup {
    html! {
        ul {
            @for UndoOutcome { area, name, result, .. } in outcomes.iter().take(MAX_LISTED) {
                li { (text::name(name)) ", " (area_label(*area)) ": " (text::sanitize(&describe_end(result, clients))) }
            }
            @if outcomes.len() > MAX_LISTED { li { "and " (outcomes.len() - MAX_LISTED) " more" } }
        }
    }
}

const fn area_label(area: UndoArea) -> &'static str {
    match area {
        UndoArea::Blueprints => "your blueprints",
        UndoArea::Stock => "your stock",
        UndoArea::Ships => "your ships",
        UndoArea::OrgStock => "stock of your units",
    }
}

fn describe_end(end: &Result<RevertEffect, UndoConflict>, clients: &[WritingClient]) -> String {
    match end {
        Ok(RevertEffect::Restored) => "restored".to_owned(),
        Ok(RevertEffect::Removed) => "removed".to_owned(),
        Ok(RevertEffect::Changed) => "back to its earlier state".to_owned(),
        Err(UndoConflict::ChangedSince(Some(by))) => {
            format!("changed afterwards by {}", author_name(by, clients))
        }
        Err(conflict) => conflict.to_string(),
    }
}

/// Returns the name by which the member knows the author of a change.
fn author_name<'c>(by: &'c ChangeAuthor, clients: &'c [WritingClient]) -> &'c str {
    match by {
        ChangeAuthor::Client { client, .. } => {
            client_name(clients, client.as_str()).unwrap_or(client.as_str())
        }
        ChangeAuthor::Web => "you on a page",
        ChangeAuthor::App => "you in the mobile application",
        ChangeAuthor::System => "an administrator",
    }
}

/// The edge of a typed day or minute: its start or its end.
#[derive(Clone, Copy)]
enum SpanEdge {
    Begin,
    End,
}

/// Formats a moment as in the form fields.
fn format_moment(moment: Moment) -> String {
    moment.to_the_minute().trim_end_matches(" UTC").to_owned()
}

/// Parses a day, a minute of a day, or an RFC 3339 timestamp.
fn parse_moment(text: &str, edge: SpanEdge) -> Option<Moment> {
    let text = text.trim();
    let (moment, length) = match text.len() {
        10 => (text.parse(), DAY),
        16 => (format!("{}:00Z", text.replace(' ', "T")).parse(), MINUTE),
        _ => (text.parse(), Duration::from_millis(1)),
    };
    let begin: Moment = moment.ok()?;
    Some(match edge {
        SpanEdge::Begin => begin,
        SpanEdge::End => begin.plus(length - Duration::from_millis(1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WRT-03: the author of a later change is shown under the name that the member knows.
    #[test]
    fn later_author_is_named_for_the_member() {
        let clients = [WritingClient { client: "c-2".into(), name: "Second client".to_owned() }];
        let client = |id: &str| ChangeAuthor::Client { client: id.into(), installation: "i-3".into() };
        for (by, expect) in [
            (Some(client("c-2")), "changed afterwards by Second client"),
            (Some(client("c-gone")), "changed afterwards by c-gone"),
            (Some(ChangeAuthor::Web), "changed afterwards by you on a page"),
            (Some(ChangeAuthor::App), "changed afterwards by you in the mobile application"),
            (Some(ChangeAuthor::System), "changed afterwards by an administrator"),
            (None, "changed afterwards"),
        ] {
            assert_eq!(describe_end(&Err(UndoConflict::ChangedSince(by)), &clients), expect);
        }
    }

    #[test]
    fn typed_moments_are_parsed() {
        for (text, begin, end) in [
            ("2026-11-22", "2026-11-22T00:00:00Z", "2026-11-22T23:59:59.999Z"),
            (" 2026-11-22 09:30", "2026-11-22T09:30:00Z", "2026-11-22T09:30:59.999Z"),
            ("2026-11-22T09:30", "2026-11-22T09:30:00Z", "2026-11-22T09:30:59.999Z"),
            ("2026-11-22T09:30:01Z", "2026-11-22T09:30:01Z", "2026-11-22T09:30:01Z"),
        ] {
            let expect = [begin, end].map(|text| text.parse::<Moment>().ok());
            assert_eq!(
                [parse_moment(text, SpanEdge::Begin), parse_moment(text, SpanEdge::End)],
                expect,
                "{text}"
            );
        }
        for text in ["", "soon", "2026-13-01", "2026-11-22 9:30", "22.11.2026 09:30"] {
            assert_eq!(parse_moment(text, SpanEdge::Begin), None, "{text}");
        }
        let time: Moment = "2026-11-22T09:30:01Z".parse().expect("the moment is valid");
        assert_eq!(parse_moment(&format_moment(time), SpanEdge::Begin), "2026-11-22T09:30:00Z".parse().ok());
    }
}
