//! Changes: kept in the outbox first, then sent, and every op's outcome told (CLI-04, STK-18, WRT-14).

use exchange_client::{
    ErrorKind, Exchange,
    api::{Json, Rejected},
    changes::{Changes, Op, Outcome, Settled, Verdict},
    outbox::{EntryNumber, Outbox, OutboxEvent, Written},
};
use serde_json::{Value, json};

use super::{App, input};
use crate::{
    args::ops::{BlueprintOps, FromFile, OrgStockOps, Sending, ShipOps, StockOps},
    failure::{Exit, Failure},
    output::{Look, Output},
    table::Table,
};

/// The ops of a command, and how they are sent.
pub(super) struct Typed {
    pub(super) ops: Vec<Json>,
    pub(super) sending: Sending,
}

fn typed(ops: Vec<Json>, sending: &Sending) -> Result<Typed, Failure> {
    Ok(Typed { ops, sending: sending.clone() })
}

fn from_file(args: &FromFile) -> Result<Typed, Failure> {
    let json =
        Json::parse(&input(&args.file)?).map_err(|error| Failure::usage(format!("no JSON: {error}")))?;
    let ops = match json {
        Json::Array(ops) => ops,
        op => vec![op],
    };
    typed(ops, &args.sending)
}

pub(super) fn blueprints(command: &BlueprintOps) -> Result<Typed, Failure> {
    match command {
        BlueprintOps::Add(args) => typed(args.ops(), &args.sending),
        BlueprintOps::Remove(args) => typed(args.ops(), &args.sending),
        BlueprintOps::Change(args) => from_file(args),
    }
}

pub(super) fn stock(command: &StockOps) -> Result<Typed, Failure> {
    match command {
        StockOps::Set(args) => typed(args.ops(), &args.sending),
        StockOps::Move(args) => typed(args.ops(), &args.sending),
        StockOps::Change(args) => from_file(args),
    }
}

pub(super) fn ships(command: &ShipOps) -> Result<Typed, Failure> {
    match command {
        ShipOps::Upsert(args) => typed(args.ops(), &args.sending),
        ShipOps::Link(args) => typed(args.ops(), &args.sending),
        ShipOps::Remove(args) => typed(args.ops(), &args.sending),
        ShipOps::Change(args) => from_file(args),
    }
}

pub(super) fn org_stock(command: &OrgStockOps) -> Result<Typed, Failure> {
    match command {
        OrgStockOps::BookIn(args) => typed(args.ops(), &args.sending),
        OrgStockOps::BookOut(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Sell(args) => typed(args.ops(), &args.sending),
        OrgStockOps::MoveLocation(args) => typed(args.ops(), &args.sending),
        OrgStockOps::MoveHolder(args) => typed(args.ops(), &args.sending),
        OrgStockOps::MovePool(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Note(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Stolen(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Change(args) => from_file(args),
    }
}

/// Sends what was typed, or asks what would become of it.
pub(super) async fn send<O: Op>(app: &App, typed: Typed, output: &mut Output) -> Result<Exit, Failure> {
    let mut changes = Changes::<O>::new();
    for (at, op) in typed.ops.iter().enumerate() {
        let op = O::parse_valid(op.to_string().as_bytes()).map_err(|rejected| unusable(at, &rejected))?;
        changes.push(op)?;
    }
    let exchange = app.begin(O::LANE.operation(), output).await?;
    let outbox = app.outbox(&exchange)?;
    if typed.sending.dry_run {
        let outcomes = outbox.preview(changes).await?;
        let told: Vec<Told> = outcomes.iter().map(Told::of).collect();
        return Ok(print(&told, output));
    }
    let numbers = outbox.enqueue(changes).await?;
    settle(app, &exchange, &outbox, &numbers, output).await
}

/// Which op breaks the contract, and where.
fn unusable(at: usize, rejected: &Rejected) -> Failure {
    let what = match rejected {
        Rejected::Invalid(violations) => {
            let places: Vec<_> = violations
                .iter()
                .map(|found| format!("\n  /ops/{at}{}: {}", found.pointer, found.keyword))
                .collect();
            format!("the op breaks the contract:{}", places.concat())
        }
        rejected => format!("/ops/{at}: {rejected}"),
    };
    Failure::usage(what)
}

/// Sends what is due, and tells what became of these entries.
pub(super) async fn settle(
    app: &App,
    exchange: &Exchange,
    outbox: &Outbox,
    numbers: &[EntryNumber],
    output: &mut Output,
) -> Result<Exit, Failure> {
    output.status("sending");
    let events = outbox.flush().await?;
    let pulls: Vec<_> = events.iter().filter_map(OutboxEvent::pulls).collect();
    let mut told = Vec::new();
    let mut worst: Option<Failure> = None;
    let mut exit = Exit::Done;
    for event in events.iter().filter(|event| event.entry().is_some_and(|entry| numbers.contains(&entry))) {
        match event {
            OutboxEvent::Decided { written: Some(written), replayed, .. } => {
                if *replayed {
                    output.note("an earlier sending had arrived: this is its outcome");
                }
                told.push(Told::of_written(written));
            }
            OutboxEvent::Decided { .. } => {}
            OutboxEvent::Confirm { entry, .. } => {
                let what = "it removes so much that you have to confirm it; nothing was changed yet";
                output.warn(what);
                output.note(format!("  -> exchange outbox confirm {entry}"));
                exit = Exit::Conflict;
            }
            OutboxEvent::CompareAfterPull { entry, .. } => {
                output.warn(format!("nobody can tell whether change {entry} was carried out"));
                output.note("  -> run `exchange sync`, look, then `exchange outbox drop` or `retry` it");
                exit = Exit::Failed;
            }
            OutboxEvent::Rebase { entry, error, .. } | OutboxEvent::Refused { entry, error, .. } => {
                output.note(format!(
                    "change {entry} stays in the outbox: `exchange outbox drop {entry}` gives it up"
                ));
                worst = Some(error.clone().into());
            }
            OutboxEvent::Parked { entry, error, .. } | OutboxEvent::Waiting { entry, error, .. } => {
                output.note(format!(
                    "change {entry} is kept: `exchange outbox retry` sends it again, under the same key"
                ));
                worst = Some(error.clone().into());
            }
            OutboxEvent::Stuck { error } => worst = Some(error.clone().into()),
            _ => {}
        }
    }
    if let Some(failure) = worst {
        return Err(failure);
    }
    for number in numbers {
        // What was told has not to be kept.
        if let Err(error) = forget_decided(outbox, *number).await {
            output.warn(error);
        }
    }
    app.pull(exchange, &pulls, output).await;
    if told.is_empty() {
        return Ok(exit);
    }
    let printed = print(&told, output);
    Ok(if exit == Exit::Done { printed } else { exit })
}

async fn forget_decided(outbox: &Outbox, number: EntryNumber) -> Result<(), exchange_client::Error> {
    match outbox.outcome(number).await {
        Ok(Some(_)) => outbox.discard(number).await,
        Ok(None) => Ok(()),
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(()),
        Err(error) => Err(error),
    }
}

/// What became of one change set, without its area's types.
pub(super) struct Told {
    dry_run: bool,
    ops: Vec<ToldOp>,
    notices: Vec<String>,
    numbers: Value,
}

struct ToldOp {
    id: String,
    what: String,
    verdict: Verdict,
}

impl Told {
    fn of<O: Op>(outcome: &Outcome<O>) -> Self {
        let op = |settled: &Settled<O>| {
            let what = settled
                .op
                .to_json()
                .ok()
                .and_then(|json| Some(json.as_object()?.get("op")?.as_str()?.to_owned()));
            ToldOp {
                id: settled.op.id().map_or_else(String::new, |id| id.as_str().to_owned()),
                what: what.unwrap_or_default(),
                verdict: settled.verdict.clone(),
            }
        };
        Self {
            dry_run: outcome.dry_run,
            ops: outcome.ops.iter().map(op).collect(),
            notices: outcome.notices().iter().map(ToString::to_string).collect(),
            numbers: json!({
                "offersReduced": outcome.offers_reduced, "offersRemoved": outcome.offers_removed,
                "detachedFromMissions": outcome.detached_from_missions,
            }),
        }
    }

    pub(super) fn of_written(written: &Written) -> Self {
        match written {
            Written::Blueprints(outcome) => Self::of(outcome),
            Written::Stock(outcome) => Self::of(outcome),
            Written::Ships(outcome) => Self::of(outcome),
            Written::OrgStock(outcome) => Self::of(outcome),
            _ => Self { dry_run: false, ops: Vec::new(), notices: Vec::new(), numbers: Value::Null },
        }
    }
}

fn words(verdict: &Verdict) -> (Look, String, Option<String>) {
    match verdict {
        Verdict::Applied => (Look::Good, "applied".to_owned(), None),
        Verdict::Unchanged => (Look::Faint, "unchanged".to_owned(), None),
        Verdict::NotApplied { result, reason } => {
            let reason = reason.as_ref().map(|reason| reason.as_str().to_owned());
            (Look::Bad, result.as_str().to_owned(), reason)
        }
        _ => (Look::Warning, "unclear".to_owned(), None),
    }
}

/// Prints all of it, and says how it went.
pub(super) fn print(told: &[Told], output: &mut Output) -> Exit {
    let ops: Vec<&ToldOp> = told.iter().flat_map(|told| &told.ops).collect();
    let as_asked = ops.iter().filter(|op| op.verdict.is_as_asked()).count();
    let count = |wanted: &Verdict| ops.iter().filter(|op| op.verdict == *wanted).count();
    let dry_run = told.iter().any(|told| told.dry_run);
    if output.is_json() {
        let op = |op: &&ToldOp| {
            let (_, result, reason) = words(&op.verdict);
            json!({
                "opId": op.id, "op": op.what, "result": result, "reason": reason,
                "next": op.verdict.remedy().map(|remedy| remedy.text()),
            })
        };
        let numbers: Vec<_> = told.iter().map(|told| &told.numbers).collect();
        output.json(&json!({
            "dryRun": dry_run, "applied": count(&Verdict::Applied), "unchanged": count(&Verdict::Unchanged),
            "ops": ops.iter().map(op).collect::<Vec<_>>(), "sets": numbers,
        }));
    } else {
        let mut table = Table::new(&["OP", "", "RESULT", "WHY"]);
        for op in &ops {
            let (look, result, reason) = words(&op.verdict);
            let why = match (reason, op.verdict.remedy()) {
                (Some(reason), Some(remedy)) => format!("{reason}: {}", remedy.text()),
                (None, Some(remedy)) => remedy.text().to_owned(),
                (reason, None) => reason.unwrap_or_default(),
            };
            let row = [
                (Look::Plain, op.id.clone()),
                (Look::Plain, op.what.clone()),
                (look, result),
                (Look::Plain, why),
            ];
            table.painted(row);
        }
        table.print(output);
        if dry_run {
            output.note("a dry run: nothing was changed");
        }
    }
    for notice in told.iter().flat_map(|told| &told.notices) {
        output.warn(notice);
    }
    let needs_word = |op: &ToldOp| {
        op.verdict.remedy().is_some_and(|remedy| {
            remedy.needs_pull() || remedy == exchange_client::changes::Remedy::AskThenOverride
        })
    };
    match as_asked {
        all if all == ops.len() => Exit::Done,
        0 if ops.iter().any(|op| needs_word(op)) => Exit::Conflict,
        0 => Exit::Failed,
        _ => Exit::Partly,
    }
}
