//! `sync`: what is new of everything that this connection may read (LIM-17, WRT-08).

use std::{collections::BTreeMap, time::Duration};

use exchange_client::{
    Area, Connection, Error, ErrorKind, Exchange,
    api::codes::Code,
    changes::Lane,
    feed::{PageEvent, Phase},
    sync::{Sync, Trouble},
};
use serde_json::json;

use super::{App, written};
use crate::{
    args,
    failure::{Exit, Failure},
    output::{Look, Output},
    table::Table,
};

/// How often it is looked for what is too old while the program stays.
const LOOK: Duration = Duration::from_secs(3600);

pub(super) async fn run(app: &App, args: &args::Sync, output: &mut Output) -> Result<Exit, Failure> {
    let exchange = app.exchange().await?;
    let connection = app.connection(&exchange, output).await?;
    let areas: Vec<Area> = Area::ALL.into_iter().filter(|area| connection.can(&area.scope())).collect();
    if areas.is_empty() {
        let next = "sign in again and --allow what you want to read";
        return Err(Failure::new(Exit::SignIn, "this connection may read nothing", next));
    }
    let sync = app.read_for(&exchange, connection, output).await?;
    if args.watch {
        return watch(app, &sync, output).await;
    }
    let mut events = sync.events();
    let mut progress = Progress { areas: areas.len(), ..Progress::default() };
    let read = {
        let once = sync.once();
        tokio::pin!(once);
        loop {
            tokio::select! {
                biased;
                // What was missed is counted at the end.
                event = events.recv() => if let Ok(event) = event { progress.told(&event, output)? },
                read = &mut once => break read,
            }
        }
    };
    while let Ok(event) = events.try_recv() {
        progress.told(&event, output)?;
    }
    finish(&areas, &sync, read, output)
}

/// Until Ctrl-C, until nobody reads it, or until nothing can be read any more before the member does something.
async fn watch(app: &App, sync: &Sync, output: &mut Output) -> Result<Exit, Failure> {
    let (mut events, mut status) = (sync.events(), sync.status());
    let (mut progress, mut troubles) = (Progress::default(), Troubles::default());
    let running = sync.run();
    tokio::pin!(running);
    let mut due = app.environment.sleep(LOOK);
    loop {
        tokio::select! {
            biased;
            // What no feed tells of: changes that were decided, and copies of others who were signed in here.
            () = &mut due => {
                app.expire_or_warn(output).await;
                due = app.environment.sleep(LOOK);
            }
            event = events.recv() => if let Ok(event) = event {
                progress.told(&event, output)?;
                if event.complete {
                    progress.lasting(event.area, output);
                }
            },
            Ok(()) = status.changed() => {
                let status = status.borrow_and_update().clone();
                for area in Area::ALL {
                    troubles.told(area, status.of(area).error.as_ref(), output)?;
                }
            }
            // It never ends by itself.
            () = &mut running => return Ok(Exit::Done),
        }
        if !output.is_read() {
            // There is nothing to go on for.
            return Ok(Exit::Done);
        }
    }
}

/// How far each area is.
#[derive(Default)]
struct Progress {
    /// How many areas are read, where that has an end. How much is in one nobody knows before it is read.
    areas: usize,
    read: BTreeMap<Area, Read>,
}

#[derive(Clone, Copy, Default)]
struct Read {
    changed: usize,
    removed: usize,
    complete: bool,
}

impl Progress {
    fn told(&mut self, event: &PageEvent, output: &mut Output) -> Result<(), Failure> {
        let phase = if event.phase == Phase::Snapshot { "snapshot" } else { "feed" };
        let (changed, removed) = (event.changed.len(), event.removed.len() + event.gone.len());
        let read = self.read.entry(event.area).or_default();
        if read.complete {
            // Another round.
            *read = Read::default();
        }
        *read = Read {
            changed: read.changed + changed,
            removed: read.removed + removed,
            complete: event.complete,
        };
        if output.is_json() {
            output.event(&json!({
                "event": "progress", "area": event.area.name(), "phase": phase, "changed": changed,
                "removed": removed, "changedSoFar": read.changed, "complete": event.complete,
            }))?;
        } else if self.areas > 0 {
            let read = self.read.values().filter(|read| read.complete).count();
            output.progress(read, self.areas, format!("areas: {}", self.line()));
        } else {
            output.status(self.line());
        }
        Ok(())
    }

    /// All areas in a line: `blueprints 10, stock 1500 …`
    fn line(&self) -> String {
        let area = |(area, read): (&Area, &Read)| {
            let removed = if read.removed > 0 { format!(" -{}", read.removed) } else { String::new() };
            let more = if read.complete { "" } else { " \u{2026}" };
            format!("{area} {}{removed}{more}", read.changed)
        };
        self.read.iter().map(area).collect::<Vec<_>>().join(", ")
    }

    /// Where nobody sees the line that is written over, what an area came to is a line of its own.
    fn lasting(&self, area: Area, output: &mut Output) {
        let read = self.read.get(&area).copied().unwrap_or_default();
        if !output.is_json() && !output.has_status() {
            output.note(format!("{area}: {} changed, {} gone", read.changed, read.removed));
        }
    }
}

/// The trouble that each area is known to have, so that it is told once.
#[derive(Default)]
struct Troubles(BTreeMap<Area, (ErrorKind, Option<Code>)>);

impl Troubles {
    /// Whether this is another trouble than the area had.
    fn is_new(&mut self, area: Area, error: Option<&Error>) -> bool {
        let Some(error) = error else {
            self.0.remove(&area);
            return false;
        };
        let now = (error.kind(), error.code().cloned());
        self.0.insert(area, now.clone()) != Some(now)
    }

    fn told(&mut self, area: Area, error: Option<&Error>, output: &mut Output) -> Result<(), Failure> {
        let is_new = self.is_new(area, error);
        let Some(error) = error.filter(|_| is_new) else { return Ok(()) };
        let failure = Failure::from(error.clone());
        if Trouble::of(error.kind()) == Trouble::Session {
            return Err(failure);
        }
        let Some(told) = failure.envelope() else { return Ok(()) };
        if output.is_json() {
            output.event(&json!({ "event": "trouble", "area": area.name(), "error": told }))?;
        } else {
            output.warn(format!("{area} cannot be read now: {}", told.message));
            output.note(format!("  -> {}", told.next));
        }
        Ok(())
    }
}

/// What is here now, area by area; one area's trouble is told, and the others are there all the same.
fn finish(
    areas: &[Area],
    sync: &Sync,
    read: Result<(), Error>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let status = sync.status().borrow().clone();
    let errors: Vec<Error> = areas.iter().filter_map(|area| status.of(*area).error).collect();
    if let Some(error) = errors.iter().find(|error| Trouble::of(error.kind()) == Trouble::Session) {
        return Err(error.clone().into());
    }
    if let Err(error) = &read
        && errors.len() == areas.len()
    {
        return Err(error.clone().into());
    }
    let replica = sync.replica();
    let mut rows = Vec::new();
    for area in areas {
        let now = status.of(*area);
        let failure = now.error.map(Failure::from);
        let as_of = replica.freshness(*area)?.as_of.and_then(written);
        rows.push((*area, replica.count(*area)?, as_of, now.read_at.is_some(), failure));
    }
    if output.is_json() {
        let areas = rows.iter().map(|(area, count, as_of, is_read, failure)| {
            let error = failure.as_ref().and_then(Failure::envelope);
            (
                area.name().to_owned(),
                json!({ "entries": count, "asOf": as_of, "read": is_read, "error": error }),
            )
        });
        let areas: serde_json::Map<_, _> = areas.collect();
        output.json(&json!({ "event": "result", "areas": areas }));
    } else {
        let mut table = Table::new(&["AREA", ">ENTRIES", "AS OF", ""]);
        for (area, count, as_of, is_read, failure) in &rows {
            let (look, what) = match failure.as_ref().and_then(Failure::envelope) {
                Some(told) => (Look::Bad, told.message),
                None if *is_read => (Look::Good, "up to date".to_owned()),
                None => (Look::Warning, "not read".to_owned()),
            };
            table.painted([
                (Look::Plain, area.name().to_owned()),
                (Look::Plain, count.to_string()),
                (Look::Plain, as_of.clone().unwrap_or_else(|| "not read yet".to_owned())),
                (look, what),
            ]);
        }
        table.print(output);
    }
    match read {
        Ok(()) => Ok(Exit::Done),
        Err(error) => {
            Failure::from(error).tell(output);
            Ok(Exit::Partly)
        }
    }
}

impl App {
    /// Synchronisation for a connection that was just read: what is kept here and is not this connection's to see
    /// any more is forgotten, before anything is shown (OST-14).
    pub(super) async fn read_for(
        &self,
        exchange: &Exchange,
        connection: &Connection,
        output: &mut Output,
    ) -> Result<Sync, Failure> {
        let sync = exchange.sync(self.replica()?);
        for forgotten in sync.session(connection).await? {
            output.note(format!("forgotten: {} of {}", forgotten.entries, forgotten.collection.name()));
        }
        Ok(sync)
    }

    /// Reads the feeds of what was written (WRT-08). What cannot be read now is read with the next `sync`.
    pub(super) async fn pull(&self, lanes: &[Lane], output: &mut Output) {
        let (Some(exchange), Some(connection)) = (self.exchange.get(), self.connection.get()) else { return };
        let mut areas: Vec<Area> = lanes.iter().map(|lane| Area::from(*lane)).collect();
        areas.sort_unstable();
        areas.dedup();
        areas.retain(|area| connection.can(&area.scope()));
        if areas.is_empty() {
            return;
        }
        let Ok(sync) = self.read_for(exchange, connection, output).await else { return };
        for area in areas {
            output.status(format!("reading {area}"));
            if let Err(error) = sync.area(area).await {
                output.warn(format!("what is new of {area} was not read: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use exchange_client::{
        Identity, Patience, Place, Replica, Settings,
        outbox::{NewRow, OutboxStore as _},
        replica::{Commit, check},
        testkit::{Reply, START, ScriptedServer, Seen, VirtualEnvironment, signed_in},
    };
    use expect_test::expect;
    use tempfile::TempDir;

    use super::*;
    use crate::{
        config::{Config, Folders},
        output::{Color, Form},
    };

    /// The same trouble is told once, another anew, and again after it was gone.
    #[test]
    fn trouble_is_told_once() {
        let (offline, busy) = (Error::new(ErrorKind::Unreachable, "x"), Error::new(ErrorKind::Busy, "x"));
        let mut troubles = Troubles::default();
        assert!(troubles.is_new(Area::Stock, Some(&offline)) && troubles.is_new(Area::Ships, Some(&offline)));
        assert!(!troubles.is_new(Area::Stock, Some(&offline)));
        assert!(troubles.is_new(Area::Stock, Some(&busy)));
        assert!(!troubles.is_new(Area::Stock, None) && troubles.is_new(Area::Stock, Some(&busy)));
    }

    /// Synchronisation of blueprints and stock with a server that answers as it is told.
    async fn synchronisation(script: impl Fn(&Seen) -> Reply + Send + std::marker::Sync + 'static) -> Sync {
        synchronisation_on(&VirtualEnvironment::new(1), script).await
    }

    async fn synchronisation_on(
        machine: &VirtualEnvironment,
        script: impl Fn(&Seen) -> Reply + Send + std::marker::Sync + 'static,
    ) -> Sync {
        let gateway = ScriptedServer::gateway(machine);
        let document = r#"{"apiVersion": "1.0", "installationId": "i-1", "limits": {"batchMaxOps": 500}, "deprecations": [],
             "capabilities": ["exchange.connect", "exchange.blueprints.read", "exchange.stock.read"],
             "docsUrl": "https://docs.example", "minClientVersion": null}"#;
        gateway.answer(move |seen| match seen.operation {
            "service_document" => Reply::json(200, document),
            _ => script(seen),
        });
        let exchange =
            signed_in(gateway.origin(), gateway.clone(), &machine.environment(), Settings::default());
        let sync = exchange.sync(&Replica::in_memory());
        sync.session(&exchange.connection().await.unwrap()).await.unwrap();
        sync
    }

    const AREAS: [Area; 2] = [Area::Blueprints, Area::Stock];

    /// What keeps its things in folders of its own, on a machine in virtual time.
    fn program(home: &TempDir, machine: &VirtualEnvironment) -> App {
        let place = Place::new("https://identity.test", "https://gateway.test").unwrap();
        let identity = Identity::new("desk", "desk", "1.0.0", "https://desk.example").unwrap();
        let folder = |name: &str| home.path().join(name);
        let folders = Folders { state: folder("state"), cache: folder("cache") };
        let config = Config { place, identity, folders, profile: "default".to_owned() };
        let mut app = App::new(config, Patience::INTERACTIVE);
        app.environment = machine.environment();
        app
    }

    /// Whether a file of a folder has this text anywhere.
    fn holds(folder: &Path, text: &str) -> bool {
        std::fs::read_dir(folder).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        })
    }

    /// OST-14, LIM-38: what became of a change of the organisation's stock is kept for seven days, also where no command
    /// begins after that because one goes on.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_kept_too_long_while_the_program_stays() {
        let (home, machine) = (tempfile::tempdir().unwrap(), VirtualEnvironment::new(1));
        let app = program(&home, &machine);
        let (store, state) = (app.outbox_store().unwrap(), &app.config.folders.state);
        let week = Duration::from_secs(7 * 86_400);
        // It is seven days old after three hours and a half.
        let decided = (START.since_epoch() - week + Duration::from_secs(210 * 60)).as_millis();
        let row = NewRow {
            owner: "i-1".to_owned(),
            lane: Lane::OrgStock,
            head: format!(r#"{{"decided_at": {decided}}}"#),
            body: "a note of the organisation".into(),
        };
        let number = store.append(vec![row]).await.unwrap()[0];
        let mut row = store.row(number).await.unwrap().unwrap();
        row.done = true;
        assert!(store.replace(row).await.unwrap());
        let sync = synchronisation_on(&machine, |_| {
            Reply::json(200, r#"{"items": [], "removed": [], "hasMore": false, "nextCursor": "c"}"#)
        })
        .await;
        let mut output = Output::new(Form::People, Color::Never);
        for (minutes, is_kept) in [(85, true), (100, false)] {
            let going_on = watch(&app, &sync, &mut output);
            let ended = tokio::time::timeout(Duration::from_secs(minutes * 60), going_on).await;
            assert!(ended.is_err(), "nothing ends it");
            assert_eq!(holds(state, "a note of the organisation"), is_kept, "after {minutes} minutes");
            assert_eq!(store.row(number).await.unwrap().is_some(), is_kept);
        }
    }

    /// OST-14, LIM-38: what is of the organisation is not shown any more when it is seven days old, also by a command that
    /// began before that.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_shown_that_grew_too_old_meanwhile() {
        let (home, machine) = (tempfile::tempdir().unwrap(), VirtualEnvironment::new(1));
        let app = program(&home, &machine);
        let replica = app.replica().unwrap();
        let mut commit = Commit::of(Area::OrgStock, 0, check::kept(1, 1, "one"));
        commit.kept.since = Some(START);
        commit.upserts.push(check::row("1", Some("a"), None));
        replica.store().commit(&commit).unwrap();
        let (week, second) = (Duration::from_secs(7 * 86_400), Duration::from_secs(1));
        for (passing, left) in [(week - second, 1), (second, 0)] {
            machine.suspend(passing);
            assert_eq!(replica.count(Area::OrgStock).unwrap(), left);
        }
    }

    /// CLI-04, ERR-12, ERR-15: what ends or halts the session ends `--watch` with it.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_watched_when_nothing_can_be_read() {
        for (code, exit) in [(Code::ClientRevoked, Exit::SignIn), (Code::ClientSuspended, Exit::Refused)] {
            let refusal = code.clone();
            let sync = synchronisation(move |_| Reply::problem(refusal.clone())).await;
            let mut output = Output::new(Form::People, Color::Never);
            let home = tempfile::tempdir().unwrap();
            let app = program(&home, &VirtualEnvironment::new(2));
            let failure = watch(&app, &sync, &mut output).await.unwrap_err();
            assert_eq!(failure.exit(), exit, "{code}");
            assert_eq!(failure.envelope().unwrap().code, code.as_str());
        }
    }

    /// ERR-13, ERR-15: what is about the session is the whole outcome, whichever area met it.
    #[tokio::test(start_paused = true)]
    async fn what_stops_everything_is_no_partial_success() {
        for (code, exit) in
            [(Code::InstallationRevoked, Exit::SignIn), (Code::ClientSuspended, Exit::Refused)]
        {
            let refusal = code.clone();
            let sync = synchronisation(move |_| Reply::problem(refusal.clone())).await;
            let read = sync.once().await;
            let mut output = Output::new(Form::Json, Color::Never);
            let failure = finish(&AREAS, &sync, read, &mut output).unwrap_err();
            assert_eq!((failure.exit(), output.data()), (exit, ""), "{code}");
        }
    }

    /// One area's trouble is told as every other error; what was read is up to date, and nothing else.
    #[tokio::test(start_paused = true)]
    async fn only_what_was_read_is_up_to_date() {
        let sync = synchronisation(|seen| match seen.operation {
            "blueprints_read" => Reply::problem(Code::RelayBusy).retry_after("7"),
            _ => Reply::json(200, r#"{"items": [], "removed": [], "hasMore": false, "nextCursor": "c"}"#),
        })
        .await;
        let read = sync.once().await;
        let id = read.as_ref().unwrap_err().correlation_id().unwrap().to_owned();
        for (form, shown) in [
            (
                Form::People,
                expect![[r#"
            AREA        ENTRIES  AS OF
            blueprints        0  not read yet          the server refused: RELAY_BUSY (503): Busy with large change sets [correlation id <id>]
            stock             0  2026-09-21T14:15:00Z  up to date
            ships             0  not read yet          not read
        "#]],
            ),
            (
                Form::Json,
                expect![[r#"
            {"areas":{"blueprints":{"asOf":null,"entries":0,"error":{"code":"RELAY_BUSY","exit":6,"message":"the server refused: RELAY_BUSY (503): Busy with large change sets [correlation id <id>]","next":"wait, then try again","requestId":"<id>","retryAfterSeconds":7},"read":false},"ships":{"asOf":null,"entries":0,"error":null,"read":false},"stock":{"asOf":"2026-09-21T14:15:00Z","entries":0,"error":null,"read":true}},"event":"result"}
        "#]],
            ),
        ] {
            let mut output = Output::new(form, Color::Never);
            let areas = [Area::Blueprints, Area::Stock, Area::Ships];
            assert_eq!(finish(&areas, &sync, read.clone(), &mut output).unwrap(), Exit::Partly);
            shown.assert_eq(&output.data().replace(&id, "<id>"));
        }
    }
}
