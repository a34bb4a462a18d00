//! The demonstration, from end to end: two installations of a client sign in, synchronise, change something, hear of
//! each other's changes, and one of them loses an answer and recovers. `cargo xtask demo` shows it on this machine's own
//! time; a test runs it in a time that nobody waits for, and holds it against the README.

use std::{
    collections::BTreeMap,
    error::Error as StdError,
    io::{self, Write},
};

use exchange_client::{
    Area, BlueprintChanges, DeviceLogin, Effort, Environment, Exchange, Identity, InMemory, Place, Replica,
    Session, StockChanges,
    api::{
        calls::{BlueprintsWriteCall, StockWriteCall},
        client::Call,
        scopes::Scope,
        types::{ChangeResult, Problem, QuantityUnit, StockLot},
    },
    changes::{Changes, Held, Op, known::Known, quantity},
    feed::{PageEvent, Phase},
    idempotency_key,
    sync::Sync,
};
use exchange_service::sandbox::Sandbox;
use tokio::sync::broadcast::Receiver;

use crate::{MEMBER, Network};

type Result<T = (), E = Box<dyn StdError>> = std::result::Result<T, E>;

/// What the member is asked for.
const CAPABILITIES: [Scope; 6] = [
    Scope::ExchangeBlueprintsRead,
    Scope::ExchangeBlueprintsWrite,
    Scope::ExchangeStockRead,
    Scope::ExchangeStockWrite,
    Scope::ExchangeHangarRead,
    Scope::ExchangeOrgstockRead,
];

/// Where the demonstration is told, and how.
#[derive(Debug)]
pub struct Stage<W> {
    /// What it is written to.
    pub out: W,
    /// Whether its headings stand out, by the sequences that terminals know.
    pub colour: bool,
}

impl<W: Write> Stage<W> {
    fn heading(&mut self, number: u8, text: &str) -> io::Result<()> {
        let (begin, end) = if self.colour { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
        writeln!(self.out, "\n{begin}{number}. {text}{end}")
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "   {text}")
    }
}

/// Shows all of it. Both installations have the clocks that `machine` gives them for the sandbox that was started.
///
/// # Errors
/// Whatever does not go as it is told: nothing here may fail.
pub async fn run(stage: &mut Stage<impl Write>, machine: impl Fn(&Sandbox) -> Environment) -> Result {
    stage.heading(
        1,
        "The exchange starts: identity provider, gateway, store, seeded members, all in this process",
    )?;
    let sandbox = Sandbox::start().await?;
    let (place, environment) = (crate::place(&sandbox), machine(&sandbox));
    let begun = environment.now().monotonic;
    stage.say(&format!("issuer   {}", place.issuer()))?;
    stage.say(&format!("gateway  {}", place.gateway()))?;

    stage.heading(2, "Two installations sign in: device codes, tokens bound to a key of each")?;
    let (desk, laptop) = tokio::try_join!(
        SigningIn::begin("desk", &place, &environment),
        SigningIn::begin("laptop", &place, &environment)
    )?;
    for one in [&desk, &laptop] {
        let (address, code) = (one.login.verification_uri(), one.login.user_code());
        stage.say(&format!("{:<7} open {address} and type {code}", one.name))?;
        sandbox.approve(code, MEMBER).await?;
    }
    let (desk, laptop) = tokio::try_join!(desk.finish(&place), laptop.finish(&place))?;
    for one in [&desk, &laptop] {
        stage.say(&format!("{:<7} is signed in as {MEMBER}", one.name))?;
    }

    stage.heading(
        3,
        "Both read what there is: a snapshot of each area, a page at a time, each page one commit",
    )?;
    for installation in [&desk, &laptop] {
        installation.sync.session(&installation.exchange.connection().await?).await?;
        installation.sync.once().await?;
        stage.say(&format!("{:<7} {}", installation.name, installation.holds()?))?;
    }

    stage.heading(4, "The desk adds a blueprint; the laptop hears of it from the feed, by one small page")?;
    let mut heard = laptop.sync.events();
    desk.add_blueprint("BP_CRAFT_SBXM_KNIFE_01", stage).await?;
    laptop.sync.area(Area::Blueprints).await?;
    laptop.tell(&mut heard, stage)?;

    stage.heading(5, "The laptop sets a stock lot; the desk hears of it")?;
    let mut heard = desk.sync.events();
    let lot = laptop.lot()?;
    laptop.set_stock(&lot, "142.5", stage).await?;
    desk.sync.area(Area::Stock).await?;
    desk.tell(&mut heard, stage)?;
    let seen = desk.sync.replica().lot(&lot.key)?.ok_or("the desk does not know the lot")?;
    stage.say(&format!("desk    sees {} SCU", seen.quantity.amount))?;

    stage.heading(6, "The laptop sets it again, and the answer is lost on the way")?;
    let lot = laptop.fresh(&lot).await?;
    laptop.network.lose("stock_write");
    let effort = laptop.set_stock(&lot, "150.25", stage).await?;
    stage.say("        (the connection was cut before the answer was read)")?;
    let (requests, waited) = (effort.requests, effort.waited.as_secs_f64());
    stage.say(&format!("laptop  sent it {requests} times under one key, {waited:.1} s apart"))?;
    let now = laptop.fresh(&lot).await?;
    let amount = &now.quantity.amount;
    stage.say(&format!("laptop  the lot holds {amount} SCU: it was done once, and answered twice"))?;

    stage.heading(7, "Both disconnect: revoked, forgotten, and the keys are gone")?;
    for installation in [&desk, &laptop] {
        let gone = installation.session.disconnect().await;
        if !gone.is_gone() {
            return Err(format!("{} kept something: {gone:?}", installation.name).into());
        }
        stage.say(&format!("{:<7} has {}; no token, no key", installation.name, installation.holds()?))?;
    }
    sandbox.stop().await;
    let seconds = environment.now().monotonic.saturating_sub(begun).as_secs_f64();
    writeln!(stage.out, "\nThat was everything, in {seconds:.1} s.")?;
    Ok(())
}

/// An installation whose member was not there yet.
struct SigningIn {
    name: &'static str,
    identity: Identity,
    session: Session,
    login: DeviceLogin,
}

impl SigningIn {
    async fn begin(name: &'static str, place: &Place, environment: &Environment) -> Result<Self> {
        let identity =
            Identity::new("sandbox-client", "ExchangeDemo", "1.0.0", "https://demo.example/about")?;
        let session = Session::builder(place, &identity).profile(name).credentials(InMemory::new());
        let session = session.environment(environment.clone()).open().await?;
        let login = session.sign_in(&CAPABILITIES).await?;
        Ok(Self { name, identity, session, login })
    }

    /// Waits until the member decided.
    async fn finish(self, place: &Place) -> Result<Installation> {
        let Self { name, identity, session, login } = self;
        login.finish().await?;
        let network = Network::new();
        let exchange =
            Exchange::builder(place.clone(), identity).transport(network.clone()).build(&session)?;
        let sync = exchange.sync(&Replica::in_memory());
        // What is read goes with the connection.
        session.keeps(sync.replica().clone());
        Ok(Installation { name, session, exchange, sync, network })
    }
}

/// One installation of a client, with a key, a replica and a way to the network of its own.
struct Installation {
    name: &'static str,
    session: Session,
    exchange: Exchange,
    sync: Sync,
    network: Network,
}

impl Installation {
    /// How much of each area is here.
    fn holds(&self) -> Result<String> {
        let count = |area: &Area| Ok(format!("{} {}", self.sync.replica().count(*area)?, area.name()));
        Ok(Area::ALL.iter().map(count).collect::<Result<Vec<_>>>()?.join(", "))
    }

    async fn add_blueprint(&self, record: &str, stage: &mut Stage<impl Write>) -> Result {
        let mut changes = BlueprintChanges::new();
        changes.add(Known { sc_record: Some(record.to_owned()), ..Known::default() }.item_ref()?)?;
        self.send::<_, BlueprintsWriteCall>(changes).await?;
        stage.say(&format!("{:<7} adds {record}", self.name))?;
        Ok(())
    }

    /// A lot of the member's of which there is one in every sandbox.
    fn lot(&self) -> Result<StockLot> {
        let lots = self.sync.replica().stock().collect::<Result<Vec<_>, _>>()?;
        let is_goods = |lot: &StockLot| lot.material.name.as_str() == "Sandbox Trade Goods" && !lot.stolen;
        let lot = lots.into_iter().find(|lot| is_goods(lot) && lot.quantity.unit == QuantityUnit::Scu);
        lot.ok_or_else(|| "the seed has no such lot".into())
    }

    /// The same lot as the exchange has it now.
    async fn fresh(&self, lot: &StockLot) -> Result<StockLot> {
        self.sync.area(Area::Stock).await?;
        self.sync.replica().lot(&lot.key)?.ok_or_else(|| "the lot is gone".into())
    }

    async fn set_stock(&self, lot: &StockLot, scu: &str, stage: &mut Stage<impl Write>) -> Result<Effort> {
        let mut changes = StockChanges::new();
        changes.set(Held::of(lot)?, quantity::scu(scu)?)?;
        let (held, name) = (&lot.quantity.amount, &lot.material.name);
        stage.say(&format!("{:<7} {name} at {}: {held} to {scu} SCU", self.name, lot.location.name))?;
        self.send::<_, StockWriteCall>(changes).await
    }

    /// Sends changes that fit into one batch under a key of their own, and asks that all of them are applied.
    async fn send<O: Op, C>(&self, changes: Changes<O>) -> Result<Effort>
    where
        C: Call<Success = ChangeResult, Refusal = Problem>,
    {
        let core = self.exchange.api().core();
        let batch = changes.batches(500)?.pop().ok_or("no batch")?;
        let stored = batch.stored(core, &idempotency_key(self.exchange.environment())?)?;
        let answer = core.repeat::<C>(&stored).await.map_err(exchange_client::Error::from)?;
        let effort = answer.extensions.get::<Effort>().cloned().unwrap_or_default();
        match batch.outcome(answer.into_body()).is_as_asked() {
            true => Ok(effort),
            false => Err("the exchange did not apply the change".into()),
        }
    }

    fn tell(&self, heard: &mut Receiver<PageEvent>, stage: &mut Stage<impl Write>) -> Result {
        let mut pages = BTreeMap::new();
        while let Ok(event) = heard.try_recv() {
            let feed = if event.phase == Phase::Feed { "feed" } else { "snapshot" };
            *pages.entry((event.area.name(), feed)).or_insert(0) += event.changed.len() + event.removed.len();
        }
        for ((area, feed), entries) in pages {
            stage.say(&format!("{:<7} {feed} of {area}: {entries} changed", self.name))?;
        }
        Ok(())
    }
}
