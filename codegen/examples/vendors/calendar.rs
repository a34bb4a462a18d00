//! Events of a calendar: signs in, lists events over all pages, creates one with guests, moves it, and handles
//! the deletion of an event that does not exist.

use std::error::Error as StdError;

use crate::calendar::{
    calls::{CalendarEventsInsertOptions, CalendarEventsListOptions, CalendarEventsPatchOptions},
    client::{Client, Error},
    credentials::Credentials,
    runtime::transport::Transport,
    servers,
    types::{CalendarEventsListOrderBy, Event, EventAttendee, EventDateTime},
};

/// Runs all calls, and returns a line for each result.
pub(crate) async fn run(
    transport: impl Transport + 'static,
    token: &str,
) -> Result<Vec<String>, Box<dyn StdError>> {
    // The document requires both schemes, which describe one token.
    let credentials = Credentials::new().oauth2(token).oauth2c(token);
    let client = Client::new(servers::DEFAULT, credentials.wrap(transport));
    let events = client.events();
    let mut lines = Vec::new();

    let upcoming = CalendarEventsListOptions::new()
        .order_by(CalendarEventsListOrderBy::StartTime)
        .single_events(true)
        .time_min("2026-11-28T00:00:00Z")
        .max_results(2);
    let mut items = events.list_items("primary", upcoming);
    while let Some(event) = items.next().await {
        let event = event?;
        lines.push(event.summary.as_deref().unwrap_or("no title").to_owned());
    }

    let time = |time: &str| EventDateTime {
        date_time: Some(time.to_owned()),
        time_zone: Some("Europe/Berlin".to_owned()),
        ..Default::default()
    };
    let guest = |email: &str| EventAttendee { email: Some(email.to_owned()), ..Default::default() };
    let party = Event {
        summary: Some("New lamps".to_owned()),
        start: Some(time("2026-12-01T18:00:00+01:00")),
        end: Some(time("2026-12-01T20:00:00+01:00")),
        attendees: Some(vec![guest("ann@shop.example"), guest("ben@shop.example")]),
        ..Default::default()
    };
    let created = events.insert("primary", CalendarEventsInsertOptions::new().body(party)).await?;
    let id = created.id.as_deref().unwrap_or("missing");
    lines.push(format!("created {}", created.summary.as_deref().unwrap_or(id)));

    let later = Event { start: Some(time("2026-12-01T19:00:00+01:00")), ..Default::default() };
    let moved = events.patch("primary", id, CalendarEventsPatchOptions::new().body(later)).await?;
    lines.push(format!("moved {}", moved.status.as_deref().unwrap_or("event")));

    match events.delete("primary", "gone", Default::default()).await {
        Ok(response) => lines.push(response.status().to_string()),
        // The document lists only successes.
        Err(Error::UnexpectedResponse(response)) => lines.push(response.status().to_string()),
        Err(error) => return Err(error.into()),
    }
    Ok(lines)
}
