//! Changes: kept in the outbox first, then sent (GW-12); what became of them is told by [`told`].

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::Duration,
};

use exchange_client::{
    ErrorKind, SessionState,
    api::{Json, Rejected, operations::OperationId},
    changes::{Changes, Op},
    outbox::{Entry, EntryNumber, Outbox, OutboxEvent, State},
};
use tokio::time::Instant;

use super::{App, claims::Claims, input, not_covered, told};
use crate::{
    args::ops::{BlueprintOps, FromFile, OrgStockOps, Sending, ShipOps, StockOps},
    failure::{Exit, Failure},
    output::Output,
};

/// So many members that no op has are named at once.
const MOST_NAMED: usize = 10;

/// The ops of a command, and how they are sent.
pub(super) struct Typed {
    pub(super) ops: Vec<Json>,
    pub(super) sending: Sending,
}

fn typed(ops: Vec<Json>, sending: &Sending) -> Typed {
    Typed { ops, sending: sending.clone() }
}

async fn from_file(args: &FromFile) -> Result<Typed, Failure> {
    let json = Json::parse(&input(&args.file).await?)
        .map_err(|error| Failure::usage(format!("no JSON: {error}")))?;
    let ops = match json {
        Json::Array(ops) => ops,
        op => vec![op],
    };
    Ok(typed(ops, &args.sending))
}

pub(super) async fn blueprints(command: &BlueprintOps) -> Result<Typed, Failure> {
    Ok(match command {
        BlueprintOps::Add(args) => typed(args.ops(), &args.sending),
        BlueprintOps::Remove(args) => typed(args.ops(), &args.sending),
        BlueprintOps::Change(args) => from_file(args).await?,
    })
}

pub(super) async fn stock(command: &StockOps) -> Result<Typed, Failure> {
    Ok(match command {
        StockOps::Set(args) => typed(args.ops(), &args.sending),
        StockOps::Move(args) => typed(args.ops(), &args.sending),
        StockOps::Change(args) => from_file(args).await?,
    })
}

pub(super) async fn ships(command: &ShipOps) -> Result<Typed, Failure> {
    Ok(match command {
        ShipOps::Upsert(args) => typed(args.ops(), &args.sending),
        ShipOps::Link(args) => typed(args.ops(), &args.sending),
        ShipOps::Remove(args) => typed(args.ops(), &args.sending),
        ShipOps::Change(args) => from_file(args).await?,
    })
}

pub(super) async fn org_stock(command: &OrgStockOps) -> Result<Typed, Failure> {
    Ok(match command {
        OrgStockOps::BookIn(args) => typed(args.ops(), &args.sending),
        OrgStockOps::BookOut(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Sell(args) => typed(args.ops(), &args.sending),
        OrgStockOps::MoveLocation(args) => typed(args.ops(), &args.sending),
        OrgStockOps::MoveHolder(args) => typed(args.ops(), &args.sending),
        OrgStockOps::MovePool(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Note(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Stolen(args) => typed(args.ops(), &args.sending),
        OrgStockOps::Change(args) => from_file(args).await?,
    })
}

/// Sends what was typed, or asks what would become of it. What cannot be sent now is kept all the same.
pub(super) async fn send<O: Op>(app: &App, typed: Typed, output: &mut Output) -> Result<Exit, Failure> {
    output.if_broken_off(Some("nothing of it was kept or sent".to_owned()));
    let mut changes = Changes::<O>::new();
    for (at, op) in typed.ops.iter().enumerate() {
        let op = O::parse_valid(op.to_string().as_bytes()).map_err(|rejected| unusable(at, &rejected))?;
        match op.undeclared(MOST_NAMED) {
            unknown if unknown.is_empty() => changes.push(op)?,
            unknown => {
                let places: Vec<_> = unknown.iter().map(|place| format!("\n  /ops/{at}{place}")).collect();
                let what = format!("the contract knows no such member of an op:{}", places.concat());
                return Err(Failure::usage(what));
            }
        };
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
        output.is_whole();
        let sets = outbox.preview(changes).await?.iter().map(told::Set::of).collect();
        return told::preview(O::LANE, sets, output);
    }
    let turn = Turn::wait(app, output).await.inspect_err(|_| output.broken_off())?;
    let numbers = keep(&outbox, changes, output).await?;
    settle(app, &outbox, turn, &numbers, trouble, output).await
}

/// Keeps changes. The store goes on when nobody waits for it any more, so whoever breaks that off has to look.
async fn keep<O: Op>(
    outbox: &Outbox,
    changes: Changes<O>,
    output: &mut Output,
) -> Result<Vec<EntryNumber>, Failure> {
    output.if_broken_off(Some("it may be kept: `exchange outbox list` says".to_owned()));
    let numbers = outbox.enqueue(changes).await?;
    output.if_broken_off(kept(&numbers));
    Ok(numbers)
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
pub(super) fn passes(failure: &Failure) -> bool {
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

/// How long a run waits for its turn: longer than one that is not stuck takes.
const PATIENCE: Duration = Duration::from_secs(300);

/// How often it looks.
const LOOK: Duration = Duration::from_millis(50);

/// One run of this program after another sends, and tells what became of its own changes: each waits for its turn
/// before it keeps any. A run that is killed gives its turn away. Where files cannot be locked they go side by side.
pub(super) struct Turn(#[expect(dead_code, reason = "held until it is dropped")] Option<File>);

impl Turn {
    pub(super) async fn wait(app: &App, output: &mut Output) -> Result<Self, Failure> {
        Self::of(&app.config.folders.state.join("sending.lock"), output).await
    }

    async fn of(path: &Path, output: &mut Output) -> Result<Self, Failure> {
        let file = File::options().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|error| Failure::file(&path.display().to_string(), &error))?;
        let (begun, mut told) = (Instant::now(), false);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(Some(file))),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(_)) => return Ok(Self(None)),
            }
            if begun.elapsed() >= PATIENCE {
                let what = "another run of this program is sending, and comes to no end";
                return Err(Failure::new(Exit::Wait, what, "end it, or try again when it is done"));
            }
            if !std::mem::replace(&mut told, true) {
                output.going_on("another run of this program is sending: this one waits for its turn");
            }
            tokio::time::sleep(LOOK).await;
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
    let sent = match trouble {
        None => flushed(outbox, output).await,
        Some(trouble) => Err(trouble),
    };
    let claims = Claims::in_folder(&app.config.folders.state);
    let telling = told::gather(outbox, &claims, own, sent.as_deref()).await;
    // What cannot be told is kept all the same, and nobody has to send it again.
    let telling = telling.inspect_err(|_| output.broken_off())?;
    // Whoever reads what follows may take long.
    drop(turn);
    let told = told::tell(telling, outbox, output).await;
    let (exit, mut pulls) = told.inspect_err(|_| output.broken_off())?;
    output.is_whole();
    pulls.extend(sent.iter().flatten().filter_map(OutboxEvent::pulls));
    app.pull(&pulls, output).await;
    Ok(exit)
}

/// Sends what is due, with something to look at: changes of more ops than one may have are several.
async fn flushed(outbox: &Outbox, output: &mut Output) -> Result<Vec<OutboxEvent>, Failure> {
    output.status("sending");
    let is_due = |entry: &&Entry| matches!(entry.state(), State::Pending | State::Sending);
    // What cannot be counted is sent all the same.
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
                    output.progress(done.len().min(all), all, "changes are sent");
                }
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use exchange_client::{
        BlueprintChanges, Environment, MemoryOutbox,
        api::{Client, types::BlueprintOp},
        changes::{Lane, known::Known},
        outbox::{Keeping, NewRow, OutboxStore, Policy, Row},
        testkit::{ScriptedServer, VirtualEnvironment},
    };

    use super::*;
    use crate::output::{Color, Form};

    /// A store that comes to no end when something is to be kept.
    struct Slow(MemoryOutbox);

    impl OutboxStore for Slow {
        fn append(&self, _: Vec<NewRow>) -> Keeping<'_, Vec<u64>> {
            Box::pin(std::future::pending())
        }

        fn replace(&self, row: Row) -> Keeping<'_, bool> {
            self.0.replace(row)
        }

        fn remove(&self, number: u64, revision: u64) -> Keeping<'_, bool> {
            self.0.remove(number, revision)
        }

        fn settle(&self) -> Keeping<'_, ()> {
            self.0.settle()
        }

        fn row(&self, number: u64) -> Keeping<'_, Option<Row>> {
            self.0.row(number)
        }

        fn first<'a>(&'a self, owner: &'a str, lane: Lane) -> Keeping<'a, Option<Row>> {
            self.0.first(owner, lane)
        }

        fn rows<'a>(&'a self, owner: &'a str) -> Keeping<'a, Vec<Row>> {
            self.0.rows(owner)
        }
    }

    fn outbox(store: impl OutboxStore + 'static) -> Outbox {
        let server = ScriptedServer::gateway(&VirtualEnvironment::new(1));
        let client = Client::new(server.origin(), server.clone());
        Outbox::new(client.core(), store, Environment::system(), "i-1", Policy::default()).unwrap()
    }

    fn changes() -> Changes<BlueprintOp> {
        let known = Known { bt: Some("bp-1".parse().unwrap()), ..Known::default() };
        let mut changes = BlueprintChanges::new();
        changes.add(known.item_ref().unwrap()).unwrap();
        changes
    }

    /// Ctrl-C while a change is being kept promises nothing; afterwards it names it.
    #[tokio::test(start_paused = true)]
    async fn what_is_being_kept_may_be_kept() {
        let mut output = Output::new(Form::People, Color::Never);
        let slow = outbox(Slow(MemoryOutbox::new()));
        let kept = tokio::time::timeout(Duration::from_secs(1), keep(&slow, changes(), &mut output)).await;
        assert!(kept.is_err(), "nobody says so");
        assert_eq!(output.unfinished(), Some("it may be kept: `exchange outbox list` says"));
        keep(&outbox(MemoryOutbox::new()), changes(), &mut output).await.unwrap();
        let kept = "change 1 is kept: `exchange outbox show 1` says what became of it";
        assert_eq!(output.unfinished(), Some(kept));
    }

    /// Another run's turn is waited for, and not for ever.
    #[tokio::test(start_paused = true)]
    async fn a_turn_comes_or_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sending.lock");
        let mut output = Output::new(Form::People, Color::Never);
        let first = Turn::of(&path, &mut output).await.unwrap();
        let begun = Instant::now();
        let given_up = Turn::of(&path, &mut output).await.err().unwrap();
        assert_eq!((given_up.exit(), begun.elapsed()), (Exit::Wait, PATIENCE));
        let then = async {
            tokio::time::sleep(Duration::from_secs(100)).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(Turn::of(&path, &mut output), then);
        assert!(second.is_ok() && begun.elapsed() < PATIENCE + Duration::from_secs(101));
    }
}
