//! One installation of a client: a program that is started, runs, ends at any moment, and is started again.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use exchange_client::{
    Area, BlueprintChanges, Connection, Environment, Exchange, Identity, InMemory, Lane, MemoryOutbox,
    OrgStockChanges, Outbox, OutboxEvent, Place, Replica, Session, SessionState, StockChanges,
    api::{
        scopes::Scope,
        types::{BookIn, HolderRef, ItemRef, Quality, UnitId},
    },
    changes::{Lot, known::Known, place, quantity},
    outbox::{Entry, EntryNumber, Found, State, Why},
    sync::{Doing, Sync},
    testkit::VirtualEnvironment,
};
use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};
use exchange_service::sandbox::Sandbox;
use tempfile::TempDir;

use super::{
    OWN_NOTE,
    wire::{Dice, Time, Watch, Wire, held},
};

pub(super) const MEMBER: &str = "sandbox-member";
/// Who signs in at the same machine now and then.
const OTHER: &str = "sandbox-member-2";
pub(super) const UNIT: &str = "unit-squadron";

/// What the member takes back now and then: one of these.
static OPTIONAL: [Scope; 4] = [
    Scope::ExchangeOrgstockDetails,
    Scope::ExchangeOrgstockRead,
    Scope::ExchangeOrgstockWrite,
    Scope::ExchangeStockWrite,
];

/// Where an installation keeps its things.
enum Stores {
    Memory { outbox: MemoryOutbox, replica: Replica },
    Files(TempDir),
}

/// A set that can be told from all others by what it leaves behind: nothing else has its quality.
#[derive(Debug)]
pub(super) struct Planted {
    pub(super) entry: EntryNumber,
    pub(super) lane: Lane,
    pub(super) quality: i64,
}

pub(super) struct Installation {
    name: &'static str,
    sandbox: Arc<Sandbox>,
    time: Time,
    dice: Dice,
    pub(super) wire: Wire,
    wrong_by: Arc<AtomicI64>,
    credentials: InMemory,
    stores: Stores,
    program: Program,
    /// What the exchange said when the member signed in first, which a program keeps over its restarts.
    connection: Connection,
    /// Who is signed in.
    pub(super) signed_in: &'static str,
    /// What the last sign-in did not allow.
    lacks: Option<&'static Scope>,
    pub(super) planted: Vec<Planted>,
    /// What was shown or could have been logged.
    pub(super) shown: String,
}

struct Program {
    session: Session,
    exchange: Exchange,
    outbox: Outbox,
    sync: Sync,
    knows_session: bool,
}

impl Installation {
    pub(super) async fn install(
        name: &'static str,
        sandbox: &Arc<Sandbox>,
        time: &Time,
        mut dice: Dice,
        in_files: bool,
    ) -> Self {
        let wire = Wire::new(sandbox, time, Dice(dice.roll()));
        let stores = if in_files {
            // In memory where there is such a place: schedules are not about how fast a disk is.
            let memory = PathBuf::from("/dev/shm");
            let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
            Stores::Files(tempfile::tempdir_in(base).unwrap())
        } else {
            Stores::Memory { outbox: MemoryOutbox::new(), replica: Replica::in_memory() }
        };
        let (wrong_by, credentials) = (Arc::default(), InMemory::new());
        let watch = Watch { time: time.clone(), wrong_by: Arc::clone(&wrong_by) };
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

    /// The program ends, wherever it is, and is started again.
    pub(super) async fn restart(&mut self) {
        self.wire.new_process(matches!(self.stores, Stores::Files(_)));
        let watch = Watch { time: self.time.clone(), wrong_by: Arc::clone(&self.wrong_by) };
        let Self { name, sandbox, wire, credentials, stores, .. } = self;
        let seed = self.dice.roll();
        let (session, exchange) = opened(name, sandbox, wire, watch, seed, credentials, stores).await;
        self.program = Program::begin(session, exchange, &self.connection, stores);
    }

    /// Its clock shows so many seconds too much from now on.
    pub(super) fn set_wrong_by(&self, seconds: i64) {
        if self.wrong_by.swap(seconds, Ordering::Relaxed) < seconds {
            self.wire.seen().set_forward = true;
        }
    }

    /// Somebody signs in, while nothing comes in between. A program may be slow to hear of it: it may have been another
    /// one of this profile.
    async fn sign_in(&mut self, who: &'static str, lacks: Option<&'static Scope>) {
        let scopes: Vec<Scope> = Scope::ALL.iter().filter(|scope| Some(*scope) != lacks).cloned().collect();
        let Program { session, exchange, .. } = &self.program;
        sign_in(session, exchange.environment(), &self.sandbox, &self.wire, who, &scopes).await;
        (self.signed_in, self.lacks) = (who, lacks);
        if who == MEMBER || self.dice.happens(50) {
            self.program.knows_session = false;
        }
    }

    /// Somebody else sits down at this machine, or the member comes back. What the member's outbox holds, stays there.
    pub(super) async fn change_places(&mut self) {
        self.sign_in(if self.signed_in == MEMBER { OTHER } else { MEMBER }, None).await;
    }

    /// The member signs in anew, and takes one capability back.
    pub(super) async fn allow_less(&mut self) {
        let which = usize::try_from(self.dice.below(OPTIONAL.len() as u64)).unwrap();
        self.sign_in(MEMBER, Some(&OPTIONAL[which])).await;
    }

    /// The member is there, and allows everything.
    pub(super) async fn come_back(&mut self) {
        if self.signed_in != MEMBER || self.lacks.is_some() {
            self.sign_in(MEMBER, None).await;
        }
    }

    /// By which the roster names this member.
    pub(super) async fn holder(&self) -> HolderRef {
        let roster = self.program.exchange.api().org_stock_members(&UNIT.parse().unwrap()).await.unwrap();
        let member = roster.into_body().items.into_iter().find(|member| member.name == "Sandbox Member");
        member.unwrap().ref_
    }

    /// Puts one SCU of a quality of its own into the pool.
    pub(super) async fn book_in(&mut self, holder: &HolderRef, quality: i64) {
        let book_in = BookIn::builder()
            .unit(UNIT.parse::<UnitId>().unwrap())
            .holder(holder.clone())
            .material(named("Sandbox Ore"))
            .location(place("Sandbox City Hangar").unwrap())
            .quality(Quality::new(quality).unwrap())
            .stolen(false)
            .quantity(quantity::scu("1").unwrap())
            .note(OWN_NOTE);
        let mut changes = OrgStockChanges::new();
        changes.push(book_in.build().unwrap()).unwrap();
        let entry = self.program.outbox.enqueue(changes).await.unwrap()[0];
        self.planted.push(Planted { entry, lane: Lane::OrgStock, quality });
    }

    /// Puts one SCU of a quality of its own into the member's stock.
    pub(super) async fn stock_up(&mut self, quality: i64) {
        let lot = Lot::new(named("Sandbox Ore"), place("Sandbox City Hangar").unwrap());
        let lot = lot.quality(u16::try_from(quality).unwrap()).unwrap();
        let mut changes = StockChanges::new();
        changes.set(lot.empty(), quantity::scu("1").unwrap()).unwrap();
        let entry = self.program.outbox.enqueue(changes).await.unwrap()[0];
        self.planted.push(Planted { entry, lane: Lane::Stock, quality });
    }

    pub(super) async fn learn(&self, product: &'static str) {
        let mut changes = BlueprintChanges::new();
        changes.add(named(product)).unwrap();
        self.program.outbox.enqueue(changes).await.unwrap();
    }

    /// The member wants everything read now.
    pub(super) fn ask(&self) {
        self.program.sync.ask();
    }

    /// Runs for so long and ends at any point; then the person in front of it does what was asked.
    pub(super) async fn run(&mut self, time: Duration) {
        let Program { session, exchange, outbox, sync, knows_session } = &mut self.program;
        let mut events = outbox.events();
        let connecting = async {
            while !*knows_session {
                let begun = async { sync.session(&exchange.connection().await?).await };
                match begun.await {
                    Ok(_) => *knows_session = true,
                    Err(error) => {
                        let wait = error.retry_after().unwrap_or_default().max(Duration::from_secs(30));
                        exchange.environment().sleep(wait).await;
                    }
                }
            }
        };
        let running = async { tokio::join!(connecting, outbox.run(), sync.follow(outbox), sync.run()) };
        let _ = tokio::time::timeout(time, running).await;
        while let Ok(event) = events.try_recv() {
            // The link is for the member alone, and shows nothing of itself.
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

    /// What only a person can do.
    async fn decide(&mut self) {
        if matches!(self.program.session.state(), SessionState::Ended(_)) {
            self.sign_in(self.signed_in, None).await;
        }
        let Program { outbox, sync, .. } = &self.program;
        outbox.resume().await.unwrap();
        if self.signed_in != MEMBER {
            // Who cannot compare what is not theirs.
            return;
        }
        for entry in outbox.entries().await.unwrap() {
            self.shown.push_str(&format!("{entry:?}\n"));
            let number = entry.number();
            match entry.state() {
                State::Unknown => {
                    // Until it can be looked at.
                    let read = sync.area(entry.lane().into()).await;
                    if read.is_ok() {
                        outbox.resolve(number, self.found(&entry)).await.unwrap();
                    }
                }
                State::Parked(Why::KeyReused) => panic!("{}: a key was used for two writes", self.name),
                State::Refused | State::NeedsRebase | State::Held => {
                    panic!("{}: {:?} {:?}", self.name, entry.state(), entry)
                }
                _ => {}
            }
        }
    }

    /// Whether the replica has what an entry asked for.
    fn found(&self, entry: &Entry) -> Found {
        let planted = self.planted.iter().find(|planted| planted.entry == entry.number());
        let replica = self.program.sync.replica();
        let is_there = match (entry.lane(), planted) {
            (Lane::OrgStock, Some(planted)) => {
                replica.org_stock().any(|lot| lot.unwrap().quality.get() == planted.quality)
            }
            (Lane::Stock, Some(planted)) => {
                replica.stock().any(|lot| lot.unwrap().quality.get() == planted.quality)
            }
            // Who has a blueprint already changes nothing by adding it.
            _ => false,
        };
        if is_there { Found::Applied } else { Found::Missing }
    }

    /// OST-14: nothing of the organisation that was read more than seven days ago.
    fn is_nothing_too_old(&self) {
        let replica = self.program.sync.replica();
        let freshness = replica.freshness(Area::OrgStock).unwrap();
        let now = self.program.exchange.environment().now().wall;
        if freshness
            .expires_at
            .is_some_and(|expires| now.saturating_since(expires) > Duration::from_secs(600))
        {
            assert_eq!(replica.count(Area::OrgStock).unwrap(), 0, "{}: kept for too long", self.name);
        }
    }

    /// OST-10, OST-14: what a capability showed went with it, once the program knows of the sign-in.
    fn has_what_it_may_read(&self) {
        if !self.program.knows_session {
            return;
        }
        if self.lacks == Some(&Scope::ExchangeOrgstockRead) {
            assert_eq!(self.pool(), 0, "{}: pools outlived the word of the member", self.name);
        }
        if self.lacks == Some(&Scope::ExchangeOrgstockDetails) {
            let mut lots = self.replica().org_stock().map(Result::unwrap);
            assert!(lots.all(|lot| lot.entries.is_none()), "{}: holders outlived it", self.name);
        }
    }

    /// Whether any byte of its files is this text.
    pub(super) fn has_in_files(&self, text: &str) -> bool {
        let Stores::Files(folder) = &self.stores else { return false };
        std::fs::read_dir(folder.path()).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        })
    }

    /// All that its files say, as far as it is text.
    pub(super) fn files(&self) -> String {
        let Stores::Files(folder) = &self.stores else { return String::new() };
        let files = std::fs::read_dir(folder.path()).unwrap();
        let bytes: Vec<u8> = files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether it is known of every change of a pool what became of it.
    pub(super) async fn has_sent_everything(&self) -> bool {
        let entries = self.program.outbox.entries().await.unwrap();
        entries.iter().all(|entry| entry.lane() != Lane::OrgStock || entry.state() == State::Done)
    }

    /// How many lots of the pools it has.
    pub(super) fn pool(&self) -> u64 {
        self.program.sync.replica().count(Area::OrgStock).unwrap()
    }

    /// Whether nothing is left to be sent, and all feeds are read to their ends.
    pub(super) async fn is_settled(&self) -> bool {
        let entries = self.program.outbox.entries().await.unwrap();
        if entries.iter().any(|entry| entry.state() != State::Done) || !self.program.knows_session {
            return false;
        }
        self.program.sync.ask();
        let read = self.program.sync.once().await;
        // What was asked to wait is not read by that.
        let status = self.program.sync.status();
        let status = status.borrow();
        let waits = |area| matches!(status.of(area).doing, Doing::BackingOff { .. });
        read.is_ok() && !Area::ALL.into_iter().any(waits)
    }

    /// Why it is not.
    pub(super) async fn unsettled(&self) -> String {
        let entries = self.program.outbox.entries().await.unwrap();
        let open: Vec<_> = entries.iter().filter(|entry| entry.state() != State::Done).collect();
        let status = self.program.sync.status();
        format!("{}: {:?} {open:?} {:?}", self.name, self.program.session.state(), *status.borrow())
    }

    pub(super) fn replica(&self) -> &Replica {
        self.program.sync.replica()
    }

    /// What the service has now.
    pub(super) async fn fresh(&self) -> Replica {
        let exchange = &self.program.exchange;
        let sync = exchange.sync(&Replica::in_memory());
        let clock = exchange.environment();
        let connection = patiently(clock, || exchange.connection()).await;
        sync.session(&connection).await.unwrap();
        patiently(clock, || sync.once()).await;
        sync.replica().clone()
    }
}

/// What the service asked for before the network was well still holds.
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
    panic!("it is asked to wait again and again");
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
    // The provider may have asked to wait.
    let login = patiently(clock, || session.sign_in(scopes)).await;
    held(sandbox.approve(login.user_code(), who)).await.unwrap();
    login.finish().await.unwrap();
    wire.seen().weather = weather;
}

/// A process begins.
async fn opened(
    name: &'static str,
    sandbox: &Arc<Sandbox>,
    wire: &Wire,
    watch: Watch,
    seed: u64,
    credentials: &InMemory,
    stores: &Stores,
) -> (Session, Exchange) {
    let place = Place::of_developer(|_| Some(sandbox.origin())).unwrap().unwrap();
    let identity = Identity::new("sandbox-client", "Schedules", "1.0.0", "https://client.example").unwrap();
    // Other numbers in each process: two of one seed would make the same proofs.
    let environment = Environment::new(watch, VirtualEnvironment::new(seed));
    let session = Session::builder(&place, &identity)
        .profile(name)
        .environment(environment)
        .credentials(credentials.clone())
        .transport(wire.clone());
    let session = match stores {
        Stores::Memory { .. } => session,
        Stores::Files(folder) => session.state_folder(folder.path()),
    };
    let session = session.open().await.unwrap();
    let exchange = Exchange::builder(place, identity).transport(wire.clone()).build(&session).unwrap();
    (session, exchange)
}

impl Program {
    /// What the program has of the exchange, as every program has it.
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
        session.keeps(replica.clone());
        session.keeps(outbox.clone());
        let sync = exchange.sync(&replica);
        Self { session, exchange, outbox, sync, knows_session: false }
    }
}

fn named(name: &str) -> ItemRef {
    Known { name: Some(name.to_owned()), ..Known::default() }.item_ref().unwrap()
}
