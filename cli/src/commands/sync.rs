//! `sync`: what is new of everything that this connection may read (LIM-17, WRT-08).

use exchange_client::{
    Area, Connection, Exchange,
    api::runtime::moment,
    changes::Lane,
    feed::{PageEvent, Phase},
    sync::Sync,
};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use super::App;
use crate::{
    args,
    failure::{Exit, Failure},
    output::{Look, Output},
    table::Table,
};

/// Where what a change set was about is read.
pub(super) const fn area_of(lane: Lane) -> Area {
    match lane {
        Lane::Blueprints => Area::Blueprints,
        Lane::Ships => Area::Ships,
        Lane::OrgStock => Area::OrgStock,
        _ => Area::Stock,
    }
}

pub(super) fn of(app: &App, exchange: &Exchange) -> Result<Sync, Failure> {
    Ok(Sync::new(exchange.api().clone(), app.replica()?.clone(), exchange.environment().clone()))
}

pub(super) async fn run(app: &App, args: &args::Sync, output: &mut Output) -> Result<Exit, Failure> {
    let exchange = app.exchange().await?;
    let connection = app.connection(&exchange, output).await?;
    let areas: Vec<Area> = Area::ALL.into_iter().filter(|area| connection.can(&area.scope())).collect();
    if areas.is_empty() {
        let next = "sign in again and --allow what you want to read";
        return Err(Failure::new(Exit::SignIn, "this connection may read nothing", next));
    }
    let sync = of(app, &exchange)?;
    for forgotten in sync.session(connection).await? {
        output.note(format!("forgotten: {} of {}", forgotten.entries, forgotten.collection.name()));
    }
    if args.watch {
        return watch(&sync, output).await;
    }
    let mut events = sync.events();
    let read = {
        let once = sync.once();
        tokio::pin!(once);
        loop {
            tokio::select! {
                biased;
                event = events.recv() => told(event, output)?,
                read = &mut once => break read,
            }
        }
    };
    while let Ok(event) = events.try_recv() {
        told(Ok(event), output)?;
    }
    finish(app, connection, &areas, &sync, read, output)
}

/// Until Ctrl-C.
async fn watch(sync: &Sync, output: &mut Output) -> Result<Exit, Failure> {
    let mut events = sync.events();
    let running = sync.run();
    tokio::pin!(running);
    loop {
        tokio::select! {
            event = events.recv() => told(event, output)?,
            () = &mut running => return Ok(Exit::Done),
        }
    }
}

fn told(event: Result<PageEvent, RecvError>, output: &mut Output) -> Result<(), Failure> {
    let Ok(event) = event else { return Ok(()) };
    let phase = if event.phase == Phase::Snapshot { "snapshot" } else { "feed" };
    let (changed, removed) = (event.changed.len(), event.removed.len() + event.gone.len());
    if output.is_json() {
        output.event(&json!({
            "event": "progress", "area": event.area.name(), "phase": phase, "changed": changed, "removed": removed,
            "complete": event.complete,
        }))?;
    } else {
        output.status(format!("reading {}: {changed} changed, {removed} gone", event.area));
    }
    Ok(())
}

/// What is here now, area by area; one area's trouble is told, and the others are there all the same.
fn finish(
    app: &App,
    _: &Connection,
    areas: &[Area],
    sync: &Sync,
    read: Result<(), exchange_client::Error>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let replica = app.replica()?;
    let status = sync.status().borrow().clone();
    let troubled = areas.iter().filter(|area| status.of(**area).error.is_some()).count();
    if let Err(error) = &read
        && troubled == areas.len()
    {
        return Err(error.clone().into());
    }
    let mut rows = Vec::new();
    for area in areas {
        let as_of = replica.freshness(*area)?.as_of;
        let as_of = as_of.and_then(|as_of| moment::text_of(i64::try_from(as_of.as_secs()).ok()?));
        rows.push((*area, replica.count(*area)?, as_of, status.of(*area).error));
    }
    if output.is_json() {
        let areas = rows.iter().map(|(area, count, as_of, error)| {
            let error = error.as_ref().map(ToString::to_string);
            (area.name().to_owned(), json!({ "entries": count, "asOf": as_of, "error": error }))
        });
        let areas: serde_json::Map<_, _> = areas.collect();
        output.json(&json!({ "event": "result", "areas": areas }));
    } else {
        let mut table = Table::new(&["AREA", ">ENTRIES", "AS OF", ""]);
        for (area, count, as_of, error) in &rows {
            let as_of = as_of.clone().unwrap_or_else(|| "not read yet".to_owned());
            let (look, what) = match error {
                Some(error) => (Look::Bad, error.to_string()),
                None => (Look::Good, "up to date".to_owned()),
            };
            table.painted([
                (Look::Plain, area.name().to_owned()),
                (Look::Plain, count.to_string()),
                (Look::Plain, as_of),
                (look, what),
            ]);
        }
        table.print(output);
    }
    match read {
        Ok(()) => Ok(Exit::Done),
        Err(error) => {
            output.complain(error);
            Ok(Exit::Partly)
        }
    }
}

impl App {
    /// Reads the feeds of what was written (WRT-08). What cannot be read now is read with the next `sync`.
    pub(super) async fn pull(&self, exchange: &Exchange, lanes: &[Lane], output: &mut Output) {
        let Some(connection) = self.connection.get() else { return };
        let Ok(sync) = of(self, exchange) else { return };
        let mut areas: Vec<Area> = lanes.iter().map(|lane| area_of(*lane)).collect();
        areas.sort_unstable();
        areas.dedup();
        areas.retain(|area| connection.can(&area.scope()));
        if areas.is_empty() || sync.session(connection).await.is_err() {
            return;
        }
        for area in areas {
            output.status(format!("reading {area}"));
            if let Err(error) = sync.area(area).await {
                output.warn(format!("what is new of {area} was not read: {error}"));
            }
        }
    }
}
