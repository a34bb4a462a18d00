//! `sync`: reads the changes of all areas that this connection may read (LIM-17, WRT-08).

use std::{collections::BTreeMap, time::Duration};

use exchange_client::{
    Area, Connection, Error, ErrorKind, Exchange,
    api::codes::Code,
    changes::Lane,
    feed::{FeedPhase, PageEvent},
    sync::{ErrorScope, ReplicaSync},
};
use serde_json::json;

use super::{CommandContext, format_timestamp};
use crate::{
    args,
    error::{CommandError, ExitStatus},
    output::{Output, TextStyle},
    table::Table,
};

/// The interval at which `--watch` removes data that is too old.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(3600);

pub(super) async fn run_sync(
    context: &CommandContext,
    args: &args::SyncArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let exchange = context.exchange().await?;
    let connection = context.connection(&exchange, output).await?;
    let areas: Vec<Area> =
        Area::ALL.into_iter().filter(|area| connection.has_capability(&area.scope())).collect();
    if areas.is_empty() {
        let next = "sign in again with --allow and the areas to read";
        return Err(CommandError::new(
            ExitStatus::SignInRequired,
            "this connection may not read any area",
            next,
        ));
    }
    let sync = context.start_sync(&exchange, connection, output).await?;
    if args.watch {
        return watch_areas(context, &sync, output).await;
    }
    let mut events = sync.events();
    let mut progress = SyncProgress { areas: areas.len(), ..SyncProgress::default() };
    let read = {
        let once = sync.sync_once();
        tokio::pin!(once);
        loop {
            tokio::select! {
                biased;
                // Events that the receiver missed are included in the counts at the end.
                event = events.recv() => if let Ok(event) = event { progress.record_page(&event, output)? },
                read = &mut once => break read,
            }
        }
    };
    while let Ok(event) = events.try_recv() {
        progress.record_page(&event, output)?;
    }
    print_results(&areas, &sync, read, output)
}

/// Reads changes until Ctrl-C, until the reader closes the output, or until the member has to act.
async fn watch_areas(
    context: &CommandContext,
    sync: &ReplicaSync,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let (mut events, mut status) = (sync.events(), sync.status());
    let (mut progress, mut troubles) = (SyncProgress::default(), ReportedErrors::default());
    let running = sync.run();
    tokio::pin!(running);
    let mut due = context.environment.sleep(EXPIRY_INTERVAL);
    loop {
        tokio::select! {
            biased;
            // Outcomes that become too old, and entries of earlier installations, are not reported by any
            // feed.
            () = &mut due => {
                context.expire_or_warn(output).await;
                due = context.environment.sleep(EXPIRY_INTERVAL);
            }
            event = events.recv() => if let Ok(event) = event {
                progress.record_page(&event, output)?;
                if event.complete {
                    progress.print_complete(event.area, output);
                }
            },
            Ok(()) = status.changed() => {
                let status = status.borrow_and_update().clone();
                for area in Area::ALL {
                    troubles.report_error(area, status.area(area).error.as_ref(), output)?;
                }
            }
            // The loop of `run` never ends by itself.
            () = &mut running => return Ok(ExitStatus::Success),
        }
        if !output.is_open() {
            // The reader closed the standard output.
            return Ok(ExitStatus::Success);
        }
    }
}

/// The progress of each area.
#[derive(Default)]
struct SyncProgress {
    /// The number of areas to read, or zero for `--watch`. The size of an area is not known in advance.
    areas: usize,
    read: BTreeMap<Area, AreaProgress>,
}

#[derive(Clone, Copy, Default)]
struct AreaProgress {
    changed: usize,
    removed: usize,
    complete: bool,
}

impl SyncProgress {
    fn record_page(&mut self, event: &PageEvent, output: &mut Output) -> Result<(), CommandError> {
        let phase = if event.phase == FeedPhase::Snapshot { "snapshot" } else { "feed" };
        let (changed, removed) = (event.changed.len(), event.removed.len() + event.gone.len());
        let read = self.read.entry(event.area).or_default();
        if read.complete {
            // The previous round is complete, so a new one begins.
            *read = AreaProgress::default();
        }
        *read = AreaProgress {
            changed: read.changed + changed,
            removed: read.removed + removed,
            complete: event.complete,
        };
        if output.is_json() {
            output.write_event(&json!({
                "event": "progress", "area": event.area.name(), "phase": phase, "changed": changed,
                "removed": removed, "changedSoFar": read.changed, "complete": event.complete,
            }))?;
        } else if self.areas > 0 {
            let read = self.read.values().filter(|read| read.complete).count();
            output.show_progress(read, self.areas, format!("areas: {}", self.describe_progress()));
        } else {
            output.show_status(self.describe_progress());
        }
        Ok(())
    }

    /// Formats the progress of all areas on one line, such as `blueprints 10, stock 1500 …`.
    fn describe_progress(&self) -> String {
        let area = |(area, read): (&Area, &AreaProgress)| {
            let removed = if read.removed > 0 { format!(" -{}", read.removed) } else { String::new() };
            let more = if read.complete { "" } else { " \u{2026}" };
            format!("{area} {}{removed}{more}", read.changed)
        };
        self.read.iter().map(area).collect::<Vec<_>>().join(", ")
    }

    /// Prints the result of an area on a separate line if there is no status line.
    fn print_complete(&self, area: Area, output: &mut Output) {
        let read = self.read.get(&area).copied().unwrap_or_default();
        if !output.is_json() && !output.has_status() {
            output.print_note(format!("{area}: {} changed, {} removed", read.changed, read.removed));
        }
    }
}

/// The last reported error of each area. With it, an unchanged error is reported only once.
#[derive(Default)]
struct ReportedErrors(BTreeMap<Area, (ErrorKind, Option<Code>)>);

impl ReportedErrors {
    /// Records the error, and returns true if it differs from the last error of the area. `None` removes the
    /// last error and returns false.
    fn is_new(&mut self, area: Area, error: Option<&Error>) -> bool {
        let Some(error) = error else {
            self.0.remove(&area);
            return false;
        };
        let now = (error.kind(), error.code().cloned());
        self.0.insert(area, now.clone()) != Some(now)
    }

    fn report_error(
        &mut self,
        area: Area,
        error: Option<&Error>,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let is_new = self.is_new(area, error);
        let Some(error) = error.filter(|_| is_new) else { return Ok(()) };
        let failure = CommandError::from(error.clone());
        if ErrorScope::from_kind(error.kind()) == ErrorScope::Session {
            return Err(failure);
        }
        let Some(report) = failure.to_report() else { return Ok(()) };
        if output.is_json() {
            output.write_event(&json!({ "event": "trouble", "area": area.name(), "error": report }))?;
        } else {
            output.print_warning(format!("{area} cannot be read now: {}", report.message));
            output.print_note(format!("  -> {}", report.next));
        }
        Ok(())
    }
}

/// Prints the result of each area. An error of one area does not hide the results of the others.
fn print_results(
    areas: &[Area],
    sync: &ReplicaSync,
    read: Result<(), Error>,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let status = sync.status().borrow().clone();
    let errors: Vec<Error> = areas.iter().filter_map(|area| status.area(*area).error).collect();
    if let Some(error) =
        errors.iter().find(|error| ErrorScope::from_kind(error.kind()) == ErrorScope::Session)
    {
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
        let now = status.area(*area);
        let failure = now.error.map(CommandError::from);
        let as_of = replica.freshness(*area)?.as_of.and_then(format_timestamp);
        rows.push((*area, replica.count(*area)?, as_of, now.read_at.is_some(), failure));
    }
    if output.is_json() {
        let areas = rows.iter().map(|(area, count, as_of, is_read, failure)| {
            let error = failure.as_ref().and_then(CommandError::to_report);
            (
                area.name().to_owned(),
                json!({ "entries": count, "asOf": as_of, "read": is_read, "error": error }),
            )
        });
        let areas: serde_json::Map<_, _> = areas.collect();
        output.write_json(&json!({ "event": "result", "areas": areas }));
    } else {
        let mut table = Table::new(&["AREA", ">ENTRIES", "AS OF", ""]);
        for (area, count, as_of, is_read, failure) in &rows {
            let (style, what) = match failure.as_ref().and_then(CommandError::to_report) {
                Some(report) => (TextStyle::Bad, report.message),
                None if *is_read => (TextStyle::Good, "up to date".to_owned()),
                None => (TextStyle::Warning, "not read".to_owned()),
            };
            table.push_styled_row([
                (TextStyle::Plain, area.name().to_owned()),
                (TextStyle::Plain, count.to_string()),
                (
                    TextStyle::Plain,
                    as_of.as_ref().map_or_else(|| "not read yet".to_owned(), |at| output.times().format(at)),
                ),
                (style, what),
            ]);
        }
        table.print(output);
    }
    match read {
        Ok(()) => Ok(ExitStatus::Success),
        Err(error) => {
            CommandError::from(error).print(output);
            Ok(ExitStatus::PartialSuccess)
        }
    }
}

impl CommandContext {
    /// Creates the synchronization for a connection that was just requested. Data that this connection may no
    /// longer see is deleted first (OST-14).
    pub(super) async fn start_sync(
        &self,
        exchange: &Exchange,
        connection: &Connection,
        output: &mut Output,
    ) -> Result<ReplicaSync, CommandError> {
        let sync = exchange.sync(self.replica()?);
        for forgotten in sync.begin_session(connection).await? {
            output.print_note(format!(
                "local entries deleted: {} of {}",
                forgotten.entries,
                forgotten.collection.name()
            ));
        }
        Ok(sync)
    }

    /// Reads the changed areas (WRT-08). An area that cannot be read now is read by the next `sync`.
    pub(super) async fn pull_areas(&self, lanes: &[Lane], output: &mut Output) {
        let (Some(exchange), Some(connection)) = (self.exchange.get(), self.connection.get()) else { return };
        let mut areas: Vec<Area> = lanes.iter().map(|lane| Area::from(*lane)).collect();
        areas.sort_unstable();
        areas.dedup();
        areas.retain(|area| connection.has_capability(&area.scope()));
        if areas.is_empty() {
            return;
        }
        let Ok(sync) = self.start_sync(exchange, connection, output).await else { return };
        for area in areas {
            output.show_status(format!("reading {area}"));
            if let Err(error) = sync.sync_area(area).await {
                output.print_warning(format!("updates of {area} were not read: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use exchange_client::{
        ClientIdentity, ExchangeAddress, Replica, RetryPolicy, TransportSettings,
        outbox::{NewEntryRow, OutboxStore as _},
        replica::{AreaCommit, check},
        testkit::{
            RecordedRequest, START_TIME, ScriptedReply, ScriptedServer, VirtualEnvironment,
            signed_in_exchange,
        },
    };
    use expect_test::expect;
    use tempfile::TempDir;

    use super::*;
    use crate::{
        config::{Config, ProgramFolders},
        output::{ColorChoice, OutputFormat},
    };

    /// An unchanged error is reported once. A different error is reported, and so is the same error after a
    /// success.
    #[test]
    fn errors_are_reported_once() {
        let (offline, busy) = (Error::new(ErrorKind::Unreachable, "x"), Error::new(ErrorKind::Busy, "x"));
        let mut troubles = ReportedErrors::default();
        assert!(troubles.is_new(Area::Stock, Some(&offline)) && troubles.is_new(Area::Ships, Some(&offline)));
        assert!(!troubles.is_new(Area::Stock, Some(&offline)));
        assert!(troubles.is_new(Area::Stock, Some(&busy)));
        assert!(!troubles.is_new(Area::Stock, None) && troubles.is_new(Area::Stock, Some(&busy)));
    }

    /// Creates a synchronization of blueprints and stock with a scripted server.
    async fn synchronisation(
        script: impl Fn(&RecordedRequest) -> ScriptedReply + Send + std::marker::Sync + 'static,
    ) -> ReplicaSync {
        synchronisation_on(&VirtualEnvironment::new(1), script).await
    }

    async fn synchronisation_on(
        machine: &VirtualEnvironment,
        script: impl Fn(&RecordedRequest) -> ScriptedReply + Send + std::marker::Sync + 'static,
    ) -> ReplicaSync {
        let gateway = ScriptedServer::gateway(machine);
        let document = r#"{"apiVersion": "1.0", "installationId": "i-1", "limits": {"batchMaxOps": 500}, "deprecations": [],
             "capabilities": ["exchange.connect", "exchange.blueprints.read", "exchange.stock.read"],
             "docsUrl": "https://docs.example", "minClientVersion": null}"#;
        gateway.set_script(move |seen| match seen.operation {
            "service_document" => ScriptedReply::json(200, document),
            _ => script(seen),
        });
        let exchange = signed_in_exchange(
            gateway.origin(),
            gateway.clone(),
            &machine.environment(),
            TransportSettings::default(),
        );
        let sync = exchange.sync(&Replica::in_memory());
        sync.begin_session(&exchange.connection().await.unwrap()).await.unwrap();
        sync
    }

    const AREAS: [Area; 2] = [Area::Blueprints, Area::Stock];

    /// Creates a context with separate folders below `home`, on a machine with virtual time.
    fn program(home: &TempDir, machine: &VirtualEnvironment) -> CommandContext {
        let address = ExchangeAddress::new("https://identity.test", "https://gateway.test").unwrap();
        let identity = ClientIdentity::new("desk", "desk", "1.0.0", "https://desk.example").unwrap();
        let folder = |name: &str| home.path().join(name);
        let folders = ProgramFolders { state: folder("state"), cache: folder("cache") };
        let config = Config { address, identity, folders, profile: "default".to_owned() };
        let mut context = CommandContext::new(config, RetryPolicy::INTERACTIVE);
        context.environment = machine.environment();
        context
    }

    /// Returns true if any file of the folder contains the string.
    fn holds(folder: &Path, text: &str) -> bool {
        std::fs::read_dir(folder).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        })
    }

    /// OST-14, LIM-38: outcomes of org stock changes are deleted after seven days, even while a command is
    /// running.
    #[tokio::test(start_paused = true)]
    async fn old_outcomes_are_deleted_while_running() {
        let (home, machine) = (tempfile::tempdir().unwrap(), VirtualEnvironment::new(1));
        let context = program(&home, &machine);
        let (store, state) = (context.outbox_store().unwrap(), &context.config.folders.state);
        let week = Duration::from_secs(7 * 86_400);
        // The outcome will be seven days old after three and a half hours.
        let decided = (START_TIME.since_epoch() - week + Duration::from_secs(210 * 60)).as_millis();
        let row = NewEntryRow {
            owner: "i-1".to_owned(),
            lane: Lane::OrgStock,
            head: format!(r#"{{"decided_at": {decided}}}"#),
            body: "a note of the organisation".into(),
        };
        let number = store.append(vec![row]).await.unwrap()[0];
        let mut row = store.get_row(number).await.unwrap().unwrap();
        row.done = true;
        assert!(store.replace(row).await.unwrap());
        let sync = synchronisation_on(&machine, |_| {
            ScriptedReply::json(200, r#"{"items": [], "removed": [], "hasMore": false, "nextCursor": "c"}"#)
        })
        .await;
        let mut output = Output::new(OutputFormat::Text, ColorChoice::Never);
        for (minutes, is_kept) in [(85, true), (100, false)] {
            let going_on = watch_areas(&context, &sync, &mut output);
            let ended = tokio::time::timeout(Duration::from_secs(minutes * 60), going_on).await;
            assert!(ended.is_err(), "the command must keep running");
            assert_eq!(holds(state, "a note of the organisation"), is_kept, "after {minutes} minutes");
            assert_eq!(store.get_row(number).await.unwrap().is_some(), is_kept);
        }
    }

    /// OST-14, LIM-38: organization data is hidden once it is seven days old, even in a command that started
    /// earlier.
    #[tokio::test(start_paused = true)]
    async fn data_that_expires_while_running_is_hidden() {
        let (home, machine) = (tempfile::tempdir().unwrap(), VirtualEnvironment::new(1));
        let context = program(&home, &machine);
        let replica = context.replica().unwrap();
        let mut commit = AreaCommit::new(Area::OrgStock, 0, check::test_area_state(1, 1, "one"));
        commit.area_state.since = Some(START_TIME);
        commit.upserts.push(check::test_row("1", Some("a"), None));
        replica.store().commit(&commit).unwrap();
        let (week, second) = (Duration::from_secs(7 * 86_400), Duration::from_secs(1));
        for (passing, left) in [(week - second, 1), (second, 0)] {
            machine.suspend(passing);
            assert_eq!(replica.count(Area::OrgStock).unwrap(), left);
        }
    }

    /// CLI-04, ERR-12, ERR-15: an error that ends or halts the session also ends `--watch`.
    #[tokio::test(start_paused = true)]
    async fn ended_or_halted_session_ends_watch() {
        for (code, exit) in
            [(Code::ClientRevoked, ExitStatus::SignInRequired), (Code::ClientSuspended, ExitStatus::Refused)]
        {
            let error = code.clone();
            let sync = synchronisation(move |_| ScriptedReply::problem(error.clone())).await;
            let mut output = Output::new(OutputFormat::Text, ColorChoice::Never);
            let home = tempfile::tempdir().unwrap();
            let context = program(&home, &VirtualEnvironment::new(2));
            let failure = watch_areas(&context, &sync, &mut output).await.unwrap_err();
            assert_eq!(failure.exit_status(), exit, "{code}");
            assert_eq!(failure.to_report().unwrap().code, code.as_str());
        }
    }

    /// ERR-13, ERR-15: an error of the session is the result of the whole command, in whichever area it
    /// occurred.
    #[tokio::test(start_paused = true)]
    async fn session_error_is_no_partial_success() {
        for (code, exit) in [
            (Code::InstallationRevoked, ExitStatus::SignInRequired),
            (Code::ClientSuspended, ExitStatus::Refused),
        ] {
            let error = code.clone();
            let sync = synchronisation(move |_| ScriptedReply::problem(error.clone())).await;
            let read = sync.sync_once().await;
            let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
            let failure = print_results(&AREAS, &sync, read, &mut output).unwrap_err();
            assert_eq!((failure.exit_status(), output.data()), (exit, ""), "{code}");
        }
    }

    /// An error of one area is reported in its row, and only areas that were read are reported as up to date.
    #[tokio::test(start_paused = true)]
    async fn only_areas_that_were_read_are_up_to_date() {
        let sync = synchronisation(|seen| match seen.operation {
            "blueprints_read" => ScriptedReply::problem(Code::RelayBusy).with_retry_after("7"),
            _ => ScriptedReply::json(
                200,
                r#"{"items": [], "removed": [], "hasMore": false, "nextCursor": "c"}"#,
            ),
        })
        .await;
        let read = sync.sync_once().await;
        let id = read.as_ref().unwrap_err().correlation_id().unwrap().to_owned();
        for (form, shown) in [
            (
                OutputFormat::Text,
                expect![[r#"
            AREA        ENTRIES  AS OF
            blueprints        0  not read yet          the server rejected the request: RELAY_BUSY (503): Busy with large change sets [correlation id <id>]
            stock             0  2026-09-21T14:15:00Z  up to date
            ships             0  not read yet          not read
        "#]],
            ),
            (
                OutputFormat::Json,
                expect![[r#"
            {"areas":{"blueprints":{"asOf":null,"entries":0,"error":{"code":"RELAY_BUSY","exit":6,"message":"the server rejected the request: RELAY_BUSY (503): Busy with large change sets [correlation id <id>]","next":"wait, then try again","requestId":"<id>","retryAfterSeconds":7},"read":false},"ships":{"asOf":null,"entries":0,"error":null,"read":false},"stock":{"asOf":"2026-09-21T14:15:00Z","entries":0,"error":null,"read":true}},"event":"result"}
        "#]],
            ),
        ] {
            let mut output = Output::new(form, ColorChoice::Never);
            let areas = [Area::Blueprints, Area::Stock, Area::Ships];
            assert_eq!(
                print_results(&areas, &sync, read.clone(), &mut output).unwrap(),
                ExitStatus::PartialSuccess
            );
            shown.assert_eq(&output.data().replace(&id, "<id>"));
        }
    }
}
