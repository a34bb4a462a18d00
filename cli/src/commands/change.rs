//! Changes: kept in the outbox first, then sent (GW-12); what became of them is told by [`told`].

use std::fs::{File, TryLockError};

use exchange_client::{
    ErrorKind, SessionState,
    api::{Json, Rejected, operations::OperationId},
    changes::{Changes, Op},
    outbox::{EntryNumber, Outbox, OutboxEvent},
};

use super::{App, claims::Claims, input, not_covered, told};
use crate::{
    args::ops::{BlueprintOps, FromFile, OrgStockOps, Sending, ShipOps, StockOps},
    failure::{Exit, Failure},
    output::Output,
};

/// The ops of a command, and how they are sent.
pub(super) struct Typed {
    pub(super) ops: Vec<Json>,
    pub(super) sending: Sending,
}

fn typed(ops: Vec<Json>, sending: &Sending) -> Result<Typed, Failure> {
    Ok(Typed { ops, sending: sending.clone() })
}

async fn from_file(args: &FromFile) -> Result<Typed, Failure> {
    let json = Json::parse(&input(&args.file).await?)
        .map_err(|error| Failure::usage(format!("no JSON: {error}")))?;
    let ops = match json {
        Json::Array(ops) => ops,
        op => vec![op],
    };
    typed(ops, &args.sending)
}

pub(super) async fn blueprints(command: &BlueprintOps) -> Result<Typed, Failure> {
    match command {
        BlueprintOps::Add(args) => typed(args.ops(), &args.sending),
        BlueprintOps::Remove(args) => typed(args.ops(), &args.sending),
        BlueprintOps::Change(args) => from_file(args).await,
    }
}

pub(super) async fn stock(command: &StockOps) -> Result<Typed, Failure> {
    match command {
        StockOps::Set(args) => typed(args.ops(), &args.sending),
        StockOps::Move(args) => typed(args.ops(), &args.sending),
        StockOps::Change(args) => from_file(args).await,
    }
}

pub(super) async fn ships(command: &ShipOps) -> Result<Typed, Failure> {
    match command {
        ShipOps::Upsert(args) => typed(args.ops(), &args.sending),
        ShipOps::Link(args) => typed(args.ops(), &args.sending),
        ShipOps::Remove(args) => typed(args.ops(), &args.sending),
        ShipOps::Change(args) => from_file(args).await,
    }
}

pub(super) async fn org_stock(command: &OrgStockOps) -> Result<Typed, Failure> {
    match command {
        OrgStockOps::BookIn(args) => typed(args.ops(), &args.sending),
        OrgStockOps::BookOut(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Sell(args) => typed(args.ops(), &args.sending),
        OrgStockOps::MoveLocation(args) => typed(args.ops(), &args.sending),
        OrgStockOps::MoveHolder(args) => typed(args.ops(), &args.sending),
        OrgStockOps::MovePool(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Note(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Stolen(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Change(args) => from_file(args).await,
    }
}

/// Sends what was typed, or asks what would become of it. What cannot be sent now is kept all the same.
pub(super) async fn send<O: Op>(app: &App, typed: Typed, output: &mut Output) -> Result<Exit, Failure> {
    output.if_broken_off(Some("nothing of it was kept or sent".to_owned()));
    let mut changes = Changes::<O>::new();
    for (at, op) in typed.ops.iter().enumerate() {
        let op = O::parse_valid(op.to_string().as_bytes()).map_err(|rejected| unusable(at, &rejected))?;
        changes.push(op)?;
    }
    let (outbox, trouble) = match begun(app, O::LANE.operation(), output).await {
        Ok(outbox) => (outbox, None),
        Err(trouble) if passes(&trouble) && !typed.sending.dry_run => match here::<O>(app).await? {
            Some(outbox) => (outbox, Some(trouble)),
            None => return Err(trouble),
        },
        Err(failure) => return Err(failure),
    };
    if typed.sending.dry_run {
        output.if_broken_off(None);
        let sets = outbox.preview(changes).await?.iter().map(told::Set::of).collect();
        return told::preview(O::LANE, sets, output);
    }
    let turn = Turn::wait(app, output).await?;
    let numbers = outbox.enqueue(changes).await?;
    settle(app, &outbox, turn, &numbers, trouble, output).await
}

async fn begun(app: &App, operation: OperationId, output: &mut Output) -> Result<Outbox, Failure> {
    let exchange = app.begin(operation, output).await?;
    let connection = app.connection(&exchange, output).await?;
    Ok(exchange.outbox(app.outbox_store()?, connection)?)
}

/// The outbox of an installation that is signed in and may change this area, as far as is known here.
async fn here<O: Op>(app: &App) -> Result<Option<Outbox>, Failure> {
    let session = app.session().await?;
    if session.state() != SessionState::Active {
        return Ok(None);
    }
    let (operation, granted) = (O::LANE.operation().operation(), session.scopes());
    if !operation.permits(|scope| granted.iter().any(|own| own.as_str() == scope)) {
        return Err(not_covered(operation));
    }
    app.outbox_here().await
}

/// Whether it is the way to the exchange, or the exchange at the moment, and nothing that was typed.
fn passes(failure: &Failure) -> bool {
    use ErrorKind::{Busy, OutcomeUnknown, Protocol, Unreachable};
    matches!(failure, Failure::Client(error) if matches!(error.kind(), Busy | OutcomeUnknown | Protocol | Unreachable))
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

/// One run of this program after another sends, and tells what became of its own changes: each waits for its turn
/// before it keeps any. A run that is killed gives its turn away. Where files cannot be locked they go side by side.
pub(super) struct Turn(#[expect(dead_code, reason = "held until it is dropped")] Option<File>);

impl Turn {
    pub(super) async fn wait(app: &App, output: &mut Output) -> Result<Self, Failure> {
        let path = app.config.folders.state.join("sending.lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| Failure::file(&path.display().to_string(), &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(Some(file))),
            Err(TryLockError::WouldBlock) => {
                output.status("another run of this program is sending");
                let locked = tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await;
                Ok(Self(locked.ok().and_then(Result::ok)))
            }
            Err(TryLockError::Error(_)) => Ok(Self(None)),
        }
    }
}

/// Sends what is due, unless there is trouble that makes that useless, and tells what became of it.
pub(super) async fn settle(
    app: &App,
    outbox: &Outbox,
    turn: Turn,
    own: &[EntryNumber],
    trouble: Option<Failure>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    output.if_broken_off(kept(own));
    output.status("sending");
    let sent = match trouble {
        None => outbox.flush().await.map_err(Failure::from),
        Some(trouble) => Err(trouble),
    };
    let claims = Claims::in_folder(&app.config.folders.state);
    let telling = told::gather(outbox, &claims, own, sent.as_deref()).await?;
    // Whoever reads what follows may take long.
    drop(turn);
    let (exit, mut pulls) = told::tell(telling, outbox, output).await?;
    output.if_broken_off(None);
    pulls.extend(sent.iter().flatten().filter_map(OutboxEvent::pulls));
    app.pull(&pulls, output).await;
    Ok(exit)
}

/// What is left behind when nobody waits any more.
fn kept(own: &[EntryNumber]) -> Option<String> {
    match own {
        [] => None,
        [one] => Some(format!("change {one} is kept: `exchange outbox show {one}` says what became of it")),
        several => Some(format!(
            "{} changes are kept: `exchange outbox list` says what became of them",
            several.len()
        )),
    }
}
