//! An installation of a client: a program that is started, runs, is ended at any moment, and is started
//! again.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use exchange_client::{
    Area, BlueprintChanges, ClientIdentity, Connection, Environment, Exchange, ExchangeAddress, Lane,
    MemoryCredentials, MemoryOutbox, OrgStockChanges, Outbox, OutboxEvent, Replica, Session, SessionState,
    StockChanges,
    api::{
        scopes::Scope,
        types::{BookIn, HolderRef, ItemRef, Quality, UnitId},
    },
    changes::{LotSpec, known::KnownItem, location_by_name, quantity},
    outbox::{ComparisonResult, EntryNumber, EntryState, OutboxEntry, ParkReason},
    sync::{AreaActivity, ReplicaSync},
    testkit::VirtualEnvironment,
};
use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};
use exchange_service::sandbox::Sandbox;
use tempfile::TempDir;

use super::{
    OWN_NOTE,
    wire::{MachineClock, SplitMix64, Time, Wire, held},
};

pub(super) const MEMBER: &str = "sandbox-member";
/// The other member, who sometimes signs in at the same machine.
const OTHER: &str = "sandbox-member-2";
pub(super) const UNIT: &str = "unit-squadron";

/// The capabilities of which the member sometimes revokes one.
static OPTIONAL: [Scope; 4] = [
    Scope::ExchangeOrgstockDetails,
    Scope::ExchangeOrgstockRead,
    Scope::ExchangeOrgstockWrite,
    Scope::ExchangeStockWrite,
];

/// The stores of an installation.
enum Stores {
    Memory { outbox: MemoryOutbox, replica: Replica },
    Files(TempDir),
}

/// A change set that can be recognized by its effect, because no other change set uses its quality.
#[derive(Debug)]
pub(super) struct PlantedSet {
    pub(super) entry: EntryNumber,
    pub(super) lane: Lane,
    pub(super) quality: i64,
}

pub(super) struct Installation {
    name: &'static str,
    sandbox: Arc<Sandbox>,
    time: Time,
    dice: SplitMix64,
    pub(super) wire: Wire,
    wrong_by: Arc<AtomicI64>,
    credentials: MemoryCredentials,
    stores: Stores,
    program: Program,
    /// The service document of the member's first sign-in, which a program keeps across restarts.
    connection: Connection,
    /// The signed-in member.
    pub(super) signed_in: &'static str,
    /// The capability that is missing from the last sign-in.
    lacks: Option<&'static Scope>,
    pub(super) planted: Vec<PlantedSet>,
    /// All output that was displayed or logged.
    pub(super) shown: String,
}

struct Program {
    session: Session,
    exchange: Exchange,
    outbox: Outbox,
    sync: ReplicaSync,
    knows_session: bool,
}

impl Installation {
    pub(super) async fn install(
        name: &'static str,
        sandbox: &Arc<Sandbox>,
        time: &Time,
        mut dice: SplitMix64,
        in_files: bool,
    ) -> Self {
        let wire = Wire::new(sandbox, time, SplitMix64(dice.roll()));
        let stores = if in_files {
            // The files are in memory if possible, because schedules do not test the speed of a disk.
            let memory = PathBuf::from("/dev/shm");
            let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
            Stores::Files(tempfile::tempdir_in(base).unwrap())
        } else {
            Stores::Memory { outbox: MemoryOutbox::new(), replica: Replica::in_memory() }
        };
        let (wrong_by, credentials) = (Arc::default(), MemoryCredentials::new());
        let watch = MachineClock { time: time.clone(), wrong_by: Arc::clone(&wrong_by) };
        let (session, exchange) =
            opened(name, sandbox, &wire, watch, dice.roll(), &credentials, &stores).await;
        sign_in(&session, exchange.environment(), sandbox, &wire, MEMBER, Scope::ALL).await;
        let connection = patiently(exchange.environment(), || exchange.connection()).await;
        let program = Program::begin(session, exchange, &connection, &stores);
        Self {
            name,
            sandbox: Arc::clone(sandbox),
            time: time.clone(),
            dice,
            wire,
            wrong_by,
            credentials,
            stores,
            program,
            connection,
            signed_in: MEMBER,
            lacks: None,
            planted: Vec::new(),
            shown: String::new(),
        }
    }

    /// Ends the program at its current point and starts it again.
    pub(super) async fn restart(&mut self) {
        self.wire.new_process(matches!(self.stores, Stores::Files(_)));
        let watch = MachineClock { time: self.time.clone(), wrong_by: Arc::clone(&self.wrong_by) };
        let Self { name, sandbox, wire, credentials, stores, .. } = self;
        let seed = self.dice.roll();
        let (session, exchange) = opened(name, sandbox, wire, watch, seed, credentials, stores).await;
        self.program = Program::begin(session, exchange, &self.connection, stores);
    }

    /// Sets the clock ahead of the true time by this many seconds, or behind it if the number is negative.
    pub(super) fn set_clock_offset(&self, seconds: i64) {
        if self.wrong_by.swap(seconds, Ordering::Relaxed) < seconds {
            self.wire.seen().set_forward = true;
        }
    }

    /// Signs a member in without running the program meanwhile. The program may detect the sign-in late, as
    /// if another program with this profile had performed it.
    async fn sign_in(&mut self, who: &'static str, lacks: Option<&'static Scope>) {
        let scopes: Vec<Scope> = Scope::ALL.iter().filter(|scope| Some(*scope) != lacks).cloned().collect();
        let Program { session, exchange, .. } = &self.program;
        sign_in(session, exchange.environment(), &self.sandbox, &self.wire, who, &scopes).await;
        (self.signed_in, self.lacks) = (who, lacks);
        if who == MEMBER || self.dice.happens(50) {
            self.program.knows_session = false;
        }
    }

    /// Signs the other member in at this machine, or the member if the other one is signed in. The member's
    /// outbox keeps its entries.
    pub(super) async fn change_places(&mut self) {
        self.sign_in(if self.signed_in == MEMBER { OTHER } else { MEMBER }, None).await;
    }

    /// Signs the member in again without one capability.
    pub(super) async fn allow_less(&mut self) {
        let which = usize::try_from(self.dice.below(OPTIONAL.len() as u64)).unwrap();
        self.sign_in(MEMBER, Some(&OPTIONAL[which])).await;
    }

    /// Signs the member in with all capabilities.
    pub(super) async fn come_back(&mut self) {
        if self.signed_in != MEMBER || self.lacks.is_some() {
            self.sign_in(MEMBER, None).await;
        }
    }

    /// Returns the roster's reference to the member.
    pub(super) async fn holder(&self) -> HolderRef {
        let roster = self.program.exchange.api().org_stock_members(&UNIT.parse().unwrap()).await.unwrap();
        let member =
            roster.into_body().items.unwrap().into_iter().find(|member| member.name == "Sandbox Member");
        member.unwrap().ref_
    }

    /// Books one SCU of a unique quality into the pool.
    pub(super) async fn book_in(&mut self, holder: &HolderRef, quality: i64) {
        let book_in = BookIn::builder()
            .unit(UNIT.parse::<UnitId>().unwrap())
            .holder(holder.clone())
            .material(named("Sandbox Ore"))
            .location(location_by_name("Sandbox City Hangar").unwrap())
            .quality(Quality::new(quality).unwrap())
            .stolen(false)
            .quantity(quantity::scu("1").unwrap())
            .note(OWN_NOTE);
        let mut changes = OrgStockChanges::new();
        changes.push(book_in.build().unwrap()).unwrap();
        let entry = self.program.outbox.enqueue(changes).await.unwrap()[0];
        self.planted.push(PlantedSet { entry, lane: Lane::OrgStock, quality });
    }

    /// Adds one SCU of a unique quality to the member's stock.
    pub(super) async fn stock_up(&mut self, quality: i64) {
        let lot = LotSpec::new(named("Sandbox Ore"), location_by_name("Sandbox City Hangar").unwrap());
        let lot = lot.with_quality(u16::try_from(quality).unwrap()).unwrap();
        let mut changes = StockChanges::new();
        changes.set_quantity(lot.expecting_nothing(), quantity::scu("1").unwrap()).unwrap();
        let entry = self.program.outbox.enqueue(changes).await.unwrap()[0];
        self.planted.push(PlantedSet { entry, lane: Lane::Stock, quality });
    }

    pub(super) async fn learn(&self, product: &'static str) {
        let mut changes = BlueprintChanges::new();
        changes.add(named(product)).unwrap();
        self.program.outbox.enqueue(changes).await.unwrap();
    }

    /// Requests a synchronization, as a member can do.
    pub(super) fn ask(&self) {
        self.program.sync.request_sync();
    }

    /// Runs the program for this time and stops it at an arbitrary point. Then performs the actions that the
    /// program requires of a person.
    pub(super) async fn run(&mut self, time: Duration) {
        let Program { session, exchange, outbox, sync, knows_session } = &mut self.program;
        let mut events = outbox.events();
        let connecting = async {
            while !*knows_session {
                let begun = async { sync.begin_session(&exchange.connection().await?).await };
                match begun.await {
                    Ok(_) => *knows_session = true,
                    Err(error) => {
                        let wait = error.retry_after().unwrap_or_default().max(Duration::from_secs(30));
                        exchange.environment().sleep(wait).await;
                    }
                }
            }
        };
        let running =
            async { tokio::join!(connecting, outbox.run(), sync.follow_outbox(outbox), sync.run()) };
        let _ = tokio::time::timeout(time, running).await;
        while let Ok(event) = events.try_recv() {
            // The link is meant only for the member, and `Debug` does not print it.
            let error = match &event {
                OutboxEvent::Waiting { error, .. } => format!("{error} {error:?}"),
                _ => String::new(),
            };
            self.shown.push_str(&format!("{event:?} {error}\n"));
        }
        self.shown.push_str(&format!("{session:?} {exchange:?} {:?}\n", *sync.status().borrow()));
        self.has_what_it_may_read();
        self.decide().await;
        self.is_nothing_too_old();
    }

    /// Makes the decisions that the program requires of a person.
    async fn decide(&mut self) {
        if matches!(self.program.session.state(), SessionState::Ended(_)) {
            self.sign_in(self.signed_in, None).await;
        }
        let Program { outbox, sync, .. } = &self.program;
        outbox.resume_parked().await.unwrap();
        if self.signed_in != MEMBER {
            // The other member cannot compare entries that belong to the member.
            return;
        }
        for entry in outbox.entries().await.unwrap() {
            self.shown.push_str(&format!("{entry:?}\n"));
            let number = entry.number();
            match entry.state() {
                EntryState::Unknown => {
                    // The comparison requires that the feed was read successfully.
                    let read = sync.sync_area(entry.lane().into()).await;
                    if read.is_ok() {
                        outbox.resolve_unknown(number, self.found(&entry)).await.unwrap();
                    }
                }
                EntryState::Parked(ParkReason::KeyReused) => {
                    panic!("{}: a key was used for two writes", self.name)
                }
                EntryState::Refused | EntryState::NeedsRebase | EntryState::Held => {
                    panic!("{}: {:?} {:?}", self.name, entry.state(), entry)
                }
                _ => {}
            }
        }
    }

    /// Compares an entry's request with the replica.
    fn found(&self, entry: &OutboxEntry) -> ComparisonResult {
        let planted = self.planted.iter().find(|planted| planted.entry == entry.number());
        let replica = self.program.sync.replica();
        let is_there = match (entry.lane(), planted) {
            (Lane::OrgStock, Some(planted)) => {
                replica.org_stock().any(|lot| lot.unwrap().quality.get() == planted.quality)
            }
            (Lane::Stock, Some(planted)) => {
                replica.stock().any(|lot| lot.unwrap().quality.get() == planted.quality)
            }
            // The result `Missing` does no harm, because adding an existing blueprint changes nothing.
            _ => false,
        };
        if is_there { ComparisonResult::Applied } else { ComparisonResult::Missing }
    }

    /// OST-14: asserts that no organization data is older than seven days.
    fn is_nothing_too_old(&self) {
        let replica = self.program.sync.replica();
        let freshness = replica.freshness(Area::OrgStock).unwrap();
        let now = self.program.exchange.environment().now().wall;
        if freshness
            .expires_at
            .is_some_and(|expires| now.saturating_since(expires) > Duration::from_secs(600))
        {
            assert_eq!(
                replica.count(Area::OrgStock).unwrap(),
                0,
                "{}: organization data is too old",
                self.name
            );
        }
    }

    /// OST-10, OST-14: asserts that the data of a lost capability is deleted once the program has detected
    /// the sign-in.
    fn has_what_it_may_read(&self) {
        if !self.program.knows_session {
            return;
        }
        if self.lacks == Some(&Scope::ExchangeOrgstockRead) {
            assert_eq!(self.pool(), 0, "{}: pools are stored without their capability", self.name);
        }
        if self.lacks == Some(&Scope::ExchangeOrgstockDetails) {
            let mut lots = self.replica().org_stock().map(Result::unwrap);
            assert!(
                lots.all(|lot| lot.entries.is_none()),
                "{}: holders are stored without their capability",
                self.name
            );
        }
    }

    /// Returns true if a file contains this string.
    pub(super) fn has_in_files(&self, text: &str) -> bool {
        let Stores::Files(folder) = &self.stores else { return false };
        std::fs::read_dir(folder.path()).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        })
    }

    /// Returns the contents of all files as one string, in which invalid UTF-8 is replaced.
    pub(super) fn files(&self) -> String {
        let Stores::Files(folder) = &self.stores else { return String::new() };
        let files = std::fs::read_dir(folder.path()).unwrap();
        let bytes: Vec<u8> = files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns true if all changes of the pool are decided.
    pub(super) async fn has_sent_everything(&self) -> bool {
        let entries = self.program.outbox.entries().await.unwrap();
        entries.iter().all(|entry| entry.lane() != Lane::OrgStock || entry.state() == EntryState::Done)
    }

    /// Returns the number of lots in the pool.
    pub(super) fn pool(&self) -> u64 {
        self.program.sync.replica().count(Area::OrgStock).unwrap()
    }

    /// Returns true if no change is left to send and all feeds are read to their end.
    pub(super) async fn is_settled(&self) -> bool {
        let entries = self.program.outbox.entries().await.unwrap();
        if entries.iter().any(|entry| entry.state() != EntryState::Done) || !self.program.knows_session {
            return false;
        }
        self.program.sync.request_sync();
        let read = self.program.sync.sync_once().await;
        // An area with a `Retry-After` is not read by this call, so the status has to be checked as well.
        let status = self.program.sync.status();
        let status = status.borrow();
        let waits = |area| matches!(status.area(area).activity, AreaActivity::BackingOff { .. });
        read.is_ok() && !Area::ALL.into_iter().any(waits)
    }

    /// Returns a description of the work that is left.
    pub(super) async fn unsettled(&self) -> String {
        let entries = self.program.outbox.entries().await.unwrap();
        let open: Vec<_> = entries.iter().filter(|entry| entry.state() != EntryState::Done).collect();
        let status = self.program.sync.status();
        format!("{}: {:?} {open:?} {:?}", self.name, self.program.session.state(), *status.borrow())
    }

    pub(super) fn replica(&self) -> &Replica {
        self.program.sync.replica()
    }

    /// Returns a new replica with the current state of the service.
    pub(super) async fn fresh(&self) -> Replica {
        let exchange = &self.program.exchange;
        let sync = exchange.sync(&Replica::in_memory());
        let clock = exchange.environment();
        let connection = patiently(clock, || exchange.connection()).await;
        sync.begin_session(&connection).await.unwrap();
        patiently(clock, || sync.sync_once()).await;
        sync.replica().clone()
    }
}

/// Repeats a call while it has to wait because of a `Retry-After` from the time before the network was
/// repaired.
async fn patiently<T, F: Future<Output = Result<T, exchange_client::Error>>>(
    clock: &Environment,
    mut work: impl FnMut() -> F,
) -> T {
    for _ in 0..8 {
        match work().await {
            Ok(done) => return done,
            Err(error) => {
                let wait = error.retry_after().unwrap_or_else(|| panic!("{error}"));
                clock.sleep(wait).await;
            }
        }
    }
    panic!("the call has to wait too often");
}

async fn sign_in(
    session: &Session,
    clock: &Environment,
    sandbox: &Sandbox,
    wire: &Wire,
    who: &str,
    scopes: &[Scope],
) {
    let weather = std::mem::take(&mut wire.seen().weather);
    // The provider may have requested a wait.
    let login = patiently(clock, || session.sign_in(scopes)).await;
    held(sandbox.approve(login.user_code(), who)).await.unwrap();
    login.finish().await.unwrap();
    wire.seen().weather = weather;
}

/// Starts a process and opens its session.
async fn opened(
    name: &'static str,
    sandbox: &Arc<Sandbox>,
    wire: &Wire,
    watch: MachineClock,
    seed: u64,
    credentials: &MemoryCredentials,
    stores: &Stores,
) -> (Session, Exchange) {
    let address = ExchangeAddress::from_variable(|_| Some(sandbox.origin())).unwrap().unwrap();
    let identity =
        ClientIdentity::new("sandbox-client", "Schedules", "1.0.0", "https://client.example").unwrap();
    // Each process has a different random seed, because equal seeds would produce equal proofs.
    let environment = Environment::new(watch, VirtualEnvironment::new(seed));
    let session = Session::builder(&address, &identity)
        .profile(name)
        .environment(environment)
        .credentials(credentials.clone())
        .transport(wire.clone());
    let session = match stores {
        Stores::Memory { .. } => session,
        Stores::Files(folder) => session.state_folder(folder.path()),
    };
    let session = session.open().await.unwrap();
    let exchange = Exchange::builder(address, identity).transport(wire.clone()).build(&session).unwrap();
    (session, exchange)
}

impl Program {
    /// Creates the objects that every program needs.
    fn begin(session: Session, exchange: Exchange, connection: &Connection, stores: &Stores) -> Self {
        let (outbox, replica) = match stores {
            Stores::Memory { outbox, replica } => {
                (exchange.outbox(outbox.clone(), connection).unwrap(), replica.clone())
            }
            Stores::Files(folder) => {
                let replica = Replica::new(SqliteReplica::open(folder.path()).unwrap());
                let store = SqliteOutbox::open(folder.path()).unwrap();
                (exchange.outbox(store, connection).unwrap(), replica)
            }
        };
        session.register_local_data(replica.clone());
        session.register_local_data(outbox.clone());
        let sync = exchange.sync(&replica);
        Self { session, exchange, outbox, sync, knows_session: false }
    }
}

fn named(name: &str) -> ItemRef {
    KnownItem { name: Some(name.to_owned()), ..KnownItem::default() }.item_ref().unwrap()
}
