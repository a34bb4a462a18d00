//! Sends the changes that a command makes to blueprints, stock, ships or org stock. Each change is stored in
//! the outbox before it is sent (GW-12). [`outcomes`] prints the results.

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::Duration,
};

use exchange_client::{
    ErrorKind, SessionState,
    api::{DocumentError, Json, operations::OperationId},
    changes::{ChangeOp, Changes},
    outbox::{EntryNumber, EntryState, Outbox, OutboxEntry, OutboxEvent},
};
use tokio::time::Instant;

use super::{
    CommandContext, candidates::read_candidates, held_stock::held_quantities, outcomes, read_input,
    report_claims::ReportClaims, scope_missing_error,
};
use crate::{
    args::{
        ops::{BlueprintOps, OpsFileArgs, OrgStockOps, SendOptions, ShipOps, StockOps},
        values::property,
    },
    error::{CommandError, ExitStatus},
    output::Output,
};

/// The maximum number of unknown properties that an error lists.
const MAX_NAMED_MEMBERS: usize = 10;

/// The ops of a command, and the options for sending them.
pub(super) struct ParsedOps {
    pub(super) ops: Vec<Json>,
    pub(super) sending: SendOptions,
    /// Whether the ops come from a file. Errors then contain JSON Pointers instead of arguments.
    pub(super) is_file: bool,
}

fn parsed_ops(ops: Vec<Json>, sending: &SendOptions) -> ParsedOps {
    ParsedOps { ops, sending: sending.clone(), is_file: false }
}

async fn read_ops_file(args: &OpsFileArgs) -> Result<ParsedOps, CommandError> {
    let json = Json::parse(&read_input(&args.file).await?)
        .map_err(|error| CommandError::from_input_file(&args.file, format!("invalid JSON: {error}")))?;
    let ops = match json {
        Json::Array(ops) => ops,
        op => vec![op],
    };
    Ok(ParsedOps { is_file: true, ..parsed_ops(ops, &args.sending) })
}

pub(super) async fn parse_blueprint_ops(command: &BlueprintOps) -> Result<ParsedOps, CommandError> {
    Ok(match command {
        BlueprintOps::Add(args) => parsed_ops(args.to_ops(), &args.sending),
        BlueprintOps::Remove(args) => parsed_ops(args.to_ops(), &args.sending),
        BlueprintOps::Change(args) => read_ops_file(args).await?,
    })
}

pub(super) async fn parse_stock_ops(
    context: &CommandContext,
    command: &StockOps,
) -> Result<ParsedOps, CommandError> {
    Ok(match command {
        StockOps::Set(args) => {
            let held = match args.needed_lot() {
                Some(lot) => held_quantities(context, [lot]).await?.into_iter().next().flatten(),
                None => None,
            };
            parsed_ops(args.to_ops(held), &args.sending)
        }
        StockOps::Move(args) => {
            let held = match args.needed_lots() {
                Some(lots) => held_quantities(context, lots).await?,
                None => [None, None],
            };
            parsed_ops(args.to_ops(held).map_err(CommandError::from_usage_error)?, &args.sending)
        }
        StockOps::Change(args) => read_ops_file(args).await?,
    })
}

pub(super) async fn parse_ship_ops(command: &ShipOps) -> Result<ParsedOps, CommandError> {
    Ok(match command {
        ShipOps::Upsert(args) => parsed_ops(args.to_ops(), &args.sending),
        ShipOps::Link(args) => parsed_ops(args.to_ops(), &args.sending),
        ShipOps::Remove(args) => parsed_ops(args.to_ops(), &args.sending),
        ShipOps::Change(args) => read_ops_file(args).await?,
    })
}

pub(super) async fn parse_org_stock_ops(command: &OrgStockOps) -> Result<ParsedOps, CommandError> {
    Ok(match command {
        OrgStockOps::BookIn(args) => parsed_ops(args.to_ops(), &args.sending),
        OrgStockOps::BookOut(args) => parsed_ops(args.to_ops(), &args.sending),
        OrgStockOps::Sell(args) => parsed_ops(args.to_ops(), &args.sending),
        OrgStockOps::MoveLocation(args) => parsed_ops(args.to_ops(), &args.sending),
        OrgStockOps::MoveHolder(args) => parsed_ops(args.to_ops(), &args.sending),
        OrgStockOps::MovePool(args) => parsed_ops(args.to_ops(), &args.sending),
        OrgStockOps::Note(args) => parsed_ops(args.to_ops(), &args.sending),
        OrgStockOps::Stolen(args) => parsed_ops(args.to_ops(), &args.sending),
        OrgStockOps::Change(args) => read_ops_file(args).await?,
    })
}

/// Sends the ops of a command, or previews them. Changes that cannot be sent now stay in the outbox.
pub(super) async fn send_ops<O: ChangeOp>(
    context: &CommandContext,
    typed: ParsedOps,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    output.set_interrupt_notice(Some("nothing was stored or sent".to_owned()));
    let mut changes = Changes::<O>::new();
    for (index, op) in typed.ops.iter().enumerate() {
        let op = O::parse_valid(op.to_string().as_bytes())
            .map_err(|rejected| invalid_op_error(index, &rejected, (!typed.is_file).then_some(op)))?;
        match op.undeclared_members(MAX_NAMED_MEMBERS) {
            unknown if unknown.is_empty() => changes.push(op)?,
            unknown => {
                let places: Vec<_> = unknown.iter().map(|place| format!("\n  /ops/{index}{place}")).collect();
                let what = format!("unknown properties in ops:{}", places.concat());
                return Err(CommandError::from_usage_error(what));
            }
        };
    }
    let (outbox, failure) = match open_outbox(context, O::LANE.operation(), output).await {
        Ok(outbox) => (outbox, None),
        Err(failure) if is_transient(&failure) && !typed.sending.dry_run => {
            match open_permitted_outbox::<O>(context).await? {
                Some(outbox) => (outbox, Some(failure)),
                None => return Err(failure),
            }
        }
        Err(failure) => return Err(failure),
    };
    if typed.sending.dry_run {
        output.clear_interrupt_notice();
        let previewed = outbox.preview_changes(changes).await?;
        let mut sets: Vec<_> = previewed.iter().map(outcomes::ChangeSetReport::from_outcome).collect();
        read_candidates(sets.iter_mut().flat_map(|set| &mut set.ops), context, output).await;
        return outcomes::print_preview(O::LANE, sets, output);
    }
    let send_lock =
        SendLock::acquire(context, output).await.inspect_err(|_| output.print_interrupt_notice())?;
    let numbers = enqueue_changes(&outbox, changes, output).await?;
    flush_and_report(context, &outbox, send_lock, &numbers, failure, output).await
}

/// Stores changes in the outbox. Storing may complete even after Ctrl-C, so until it is done, the interrupt
/// notice only states that the change may be stored.
async fn enqueue_changes<O: ChangeOp>(
    outbox: &Outbox,
    changes: Changes<O>,
    output: &mut Output,
) -> Result<Vec<EntryNumber>, CommandError> {
    output.set_interrupt_notice(Some(
        "the change may already be stored; check with `exchange outbox list`".to_owned(),
    ));
    let numbers = outbox.enqueue(changes).await?;
    output.set_interrupt_notice(kept_notice(&numbers));
    Ok(numbers)
}

async fn open_outbox(
    context: &CommandContext,
    operation: OperationId,
    output: &mut Output,
) -> Result<Outbox, CommandError> {
    let exchange = context.exchange_for_operation(operation, output).await?;
    let connection = context.connection(&exchange, output).await?;
    Ok(exchange.outbox(context.outbox_store()?, connection)?)
}

/// Opens the local outbox. Returns `None` if the installation is not signed in, and an error if it lacks the
/// scope for this area according to the saved scopes.
async fn open_permitted_outbox<O: ChangeOp>(
    context: &CommandContext,
) -> Result<Option<Outbox>, CommandError> {
    let session = context.session().await?;
    if session.state() != SessionState::Active {
        return Ok(None);
    }
    let (operation, granted) = (O::LANE.operation().operation(), session.scopes());
    if !operation.permits(|scope| granted.iter().any(|granted_scope| granted_scope.as_str() == scope)) {
        return Err(scope_missing_error(operation));
    }
    context.open_local_outbox().await
}

/// Returns true if the error is temporary, which means that it comes from the connection or from the
/// exchange, and not from the arguments.
pub(super) fn is_transient(failure: &CommandError) -> bool {
    use ErrorKind::{Busy, OutcomeUnknown, Protocol, Unreachable};
    matches!(failure, CommandError::Client(error) if matches!(error.kind(), Busy | OutcomeUnknown | Protocol | Unreachable))
}

/// Creates the error for an op that does not match the contract. It lists the argument of each violation, or its JSON
/// Pointer if the op comes from a file.
fn invalid_op_error(at: usize, rejected: &DocumentError, typed: Option<&Json>) -> CommandError {
    let what = match rejected {
        DocumentError::Invalid(violations) if typed.is_some() => {
            let name = |pointer: &str| argument_name(typed.and_then(|op| property(op, "op")), pointer);
            let places: Vec<_> = violations
                .iter()
                .map(|found| format!("{} ({})", name(&found.pointer), found.keyword))
                .collect();
            format!("invalid {}", places.join(", "))
        }
        DocumentError::Invalid(violations) => {
            let places: Vec<_> = violations
                .iter()
                .map(|found| format!("\n  /ops/{at}{}: {}", found.pointer, found.keyword))
                .collect();
            format!("the op does not match the contract:{}", places.concat())
        }
        rejected => format!("/ops/{at}: {rejected}"),
    };
    CommandError::from_usage_error(what)
}

/// Returns the name of the argument from which a property of an op comes.
fn argument_name(op: Option<&Json>, pointer: &str) -> String {
    let property = pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
    let is_lot = matches!(op, Some(Json::String(op)) if op == "set-quantity");
    let argument = match property {
        "material" => "MATERIAL",
        "ref" => "PRODUCT",
        "entry" => "ENTRY",
        "shipId" => "SHIP",
        "quantity" if is_lot => "--to",
        "expectedQuantity" => "--from",
        "location" => "place",
        "shipType" => "--type",
        "orgUnit" => "--unit",
        "orgUnitVersion" => "--unit-version",
        "fromJobOrders" => "--from-job-order",
        "fromMissions" => "--from-mission",
        "jobOrders" => "--job-order",
        "missions" => "--mission",
        "mergeScu" => "--merge",
        "" => return "arguments".to_owned(),
        other => {
            let mut option = String::from("--");
            for letter in other.chars() {
                if letter.is_ascii_uppercase() {
                    option.push('-');
                }
                option.push(letter.to_ascii_lowercase());
            }
            return option;
        }
    };
    argument.to_owned()
}

/// The maximum time to wait for the send lock. A run that is not stuck holds it for a shorter time.
const LOCK_TIMEOUT: Duration = Duration::from_secs(300);

/// The interval between attempts to acquire the lock.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The lock for sending changes and gathering their outcomes. A run of this program acquires it before it
/// stores changes, and only one run can hold it. The operating system releases it if a run is killed. If the
/// file system does not support locks, runs proceed in parallel.
pub(super) struct SendLock(#[expect(dead_code, reason = "keeps the file locked")] Option<File>);

impl SendLock {
    pub(super) async fn acquire(context: &CommandContext, output: &mut Output) -> Result<Self, CommandError> {
        Self::acquire_at(&context.config.folders.state.join("sending.lock"), output).await
    }

    async fn acquire_at(path: &Path, output: &mut Output) -> Result<Self, CommandError> {
        let file = File::options().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|error| CommandError::from_io_error(&path.display().to_string(), &error))?;
        let (begun, mut is_reported) = (Instant::now(), false);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(Some(file))),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(_)) => return Ok(Self(None)),
            }
            if begun.elapsed() >= LOCK_TIMEOUT {
                let what = "another run of this program has been sending for too long";
                return Err(CommandError::new(
                    ExitStatus::RetryLater,
                    what,
                    "stop it, or try again when it has ended",
                ));
            }
            if !std::mem::replace(&mut is_reported, true) {
                output.show_ongoing("waiting for another run of this program that is sending");
            }
            tokio::time::sleep(LOCK_POLL_INTERVAL).await;
        }
    }
}

/// Sends the due changes, unless an earlier error prevents that, and prints their outcomes.
pub(super) async fn flush_and_report(
    context: &CommandContext,
    outbox: &Outbox,
    send_lock: SendLock,
    own_entries: &[EntryNumber],
    failure: Option<CommandError>,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    output.set_interrupt_notice(kept_notice(own_entries));
    let sent = match failure {
        None => flush_outbox(outbox, output).await,
        Some(failure) => Err(failure),
    };
    let claims = ReportClaims::in_folder(&context.config.folders.state);
    let report = outcomes::gather_report(outbox, &claims, own_entries, sent.as_deref()).await;
    // The changes stay in the outbox without a report, so the user does not have to send them again.
    let mut report = report.inspect_err(|_| output.print_interrupt_notice())?;
    // Release the lock before printing, because a slow reader can block the output for a long time.
    drop(send_lock);
    read_candidates(report.ops_mut(), context, output).await;
    let result = outcomes::print_report(report, outbox, output).await;
    let (exit, mut pulls) = result.inspect_err(|_| output.print_interrupt_notice())?;
    output.clear_interrupt_notice();
    pulls.extend(sent.iter().flatten().filter_map(OutboxEvent::lane_to_pull));
    context.pull_areas(&pulls, output).await;
    Ok(exit)
}

/// Sends the due changes and displays progress.
async fn flush_outbox(outbox: &Outbox, output: &mut Output) -> Result<Vec<OutboxEvent>, CommandError> {
    output.show_status("sending");
    let is_due = |entry: &&OutboxEntry| matches!(entry.state(), EntryState::Pending | EntryState::Sending);
    // If the changes cannot be counted, they are sent without progress.
    let all = outbox.contents().await.map_or(0, |contents| contents.entries.iter().filter(is_due).count());
    let (mut events, mut done) = (outbox.events(), Vec::new());
    let sending = outbox.flush();
    tokio::pin!(sending);
    loop {
        tokio::select! {
            biased;
            sent = &mut sending => return Ok(sent?),
            event = events.recv() => {
                let entry = event.ok().and_then(|event| event.entry());
                done.extend(entry.filter(|entry| !done.contains(entry)));
                if all > 1 {
                    output.show_progress(done.len().min(all), all, "changes are sent");
                }
            }
        }
    }
}

/// Returns the notice for an interruption, which names the changes that stay in the outbox.
fn kept_notice(own_entries: &[EntryNumber]) -> Option<String> {
    match own_entries {
        [] => None,
        [one] => Some(format!("change {one} is stored: `exchange outbox show {one}` shows its state")),
        several => {
            Some(format!("{} changes are stored: `exchange outbox list` shows their states", several.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use exchange_client::{
        BlueprintChanges, Environment, MemoryOutbox,
        api::{Client, types::BlueprintOp},
        changes::{Lane, known::KnownItem},
        outbox::{EntryRow, NewEntryRow, OutboxPolicy, OutboxStore, StoreFuture},
        testkit::{ScriptedServer, VirtualEnvironment},
    };

    use super::*;
    use crate::output::{ColorChoice, OutputFormat};

    /// A store whose `append` never completes.
    struct SlowOutbox(MemoryOutbox);

    impl OutboxStore for SlowOutbox {
        fn append(&self, _: Vec<NewEntryRow>) -> StoreFuture<'_, Vec<u64>> {
            Box::pin(std::future::pending())
        }

        fn replace(&self, row: EntryRow) -> StoreFuture<'_, bool> {
            self.0.replace(row)
        }

        fn remove(&self, number: u64, revision: u64) -> StoreFuture<'_, bool> {
            self.0.remove(number, revision)
        }

        fn purge_removed(&self) -> StoreFuture<'_, ()> {
            self.0.purge_removed()
        }

        fn get_row(&self, number: u64) -> StoreFuture<'_, Option<EntryRow>> {
            self.0.get_row(number)
        }

        fn first_pending<'a>(&'a self, owner: &'a str, lane: Lane) -> StoreFuture<'a, Option<EntryRow>> {
            self.0.first_pending(owner, lane)
        }

        fn list_rows<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Vec<EntryRow>> {
            self.0.list_rows(owner)
        }
    }

    fn outbox(store: impl OutboxStore + 'static) -> Outbox {
        let server = ScriptedServer::gateway(&VirtualEnvironment::new(1));
        let client = Client::new(server.origin(), server.clone());
        Outbox::new(client.api_client(), store, Environment::system(), "i-1", OutboxPolicy::default())
            .unwrap()
    }

    fn changes() -> Changes<BlueprintOp> {
        let known = KnownItem { bt: Some("bp-1".parse().unwrap()), ..KnownItem::default() };
        let mut changes = BlueprintChanges::new();
        changes.add(known.item_ref().unwrap()).unwrap();
        changes
    }

    /// Errors name the argument that the member typed.
    #[test]
    fn properties_have_the_names_of_arguments() {
        let lot = Json::String("set-quantity".to_owned());
        for (op, pointer, expect) in [
            (Some(&lot), "/quantity/amount", "--to"),
            (None, "/quantity/amount", "--quantity"),
            (None, "/expectedQuantity", "--from"),
            (None, "/acquiredAt", "--acquired-at"),
            (None, "/terminal", "--terminal"),
            (None, "/material/name", "MATERIAL"),
            (None, "", "arguments"),
        ] {
            assert_eq!(argument_name(op, pointer), expect);
        }
    }

    /// If Ctrl-C interrupts storing a change, the notice states that the change may be stored. After that,
    /// the notice contains the number of the change.
    #[tokio::test(start_paused = true)]
    async fn interrupt_while_storing_is_uncertain() {
        let mut output = Output::new(OutputFormat::Text, ColorChoice::Never);
        let slow = outbox(SlowOutbox(MemoryOutbox::new()));
        let notice =
            tokio::time::timeout(Duration::from_secs(1), enqueue_changes(&slow, changes(), &mut output))
                .await;
        assert!(notice.is_err(), "storing does not complete");
        assert_eq!(
            output.interrupt_notice(),
            Some("the change may already be stored; check with `exchange outbox list`")
        );
        enqueue_changes(&outbox(MemoryOutbox::new()), changes(), &mut output).await.unwrap();
        let notice = "change 1 is stored: `exchange outbox show 1` shows its state";
        assert_eq!(output.interrupt_notice(), Some(notice));
    }

    /// A run waits until another run releases the lock, but only for a limited time.
    #[tokio::test(start_paused = true)]
    async fn send_lock_is_acquired_or_times_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sending.lock");
        let mut output = Output::new(OutputFormat::Text, ColorChoice::Never);
        let first = SendLock::acquire_at(&path, &mut output).await.unwrap();
        let start = Instant::now();
        let given_up = SendLock::acquire_at(&path, &mut output).await.err().unwrap();
        assert_eq!((given_up.exit_status(), start.elapsed()), (ExitStatus::RetryLater, LOCK_TIMEOUT));
        let then = async {
            tokio::time::sleep(Duration::from_secs(100)).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(SendLock::acquire_at(&path, &mut output), then);
        assert!(second.is_ok() && start.elapsed() < LOCK_TIMEOUT + Duration::from_secs(101));
    }
}
