//! The end-to-end demonstration. Two installations of a client sign in, synchronize, change data and receive
//! each other's changes, and one of them recovers from a lost response. `cargo xtask demo` runs it in real
//! time. A test runs it in virtual time and compares the output with the README.

use std::{
    collections::BTreeMap,
    error::Error as StdError,
    io::{self, Write},
};

use exchange_client::{
    Area, BlueprintChanges, CallStats, ClientIdentity, DeviceLogin, Environment, Exchange, ExchangeAddress,
    MemoryCredentials, Replica, Session, StockChanges,
    api::{
        calls::{BlueprintsWriteCall, StockWriteCall},
        client::Call,
        scopes::Scope,
        types::{ChangeResult, Problem, QuantityUnit, StockLot},
    },
    changes::{ChangeOp, Changes, ExpectedLot, known::KnownItem, quantity},
    feed::{FeedPhase, PageEvent},
    idempotency_key,
    sync::ReplicaSync,
};
use exchange_service::sandbox::Sandbox;
use tokio::sync::broadcast::Receiver;

use crate::{LossyNetwork, MEMBER};

type Result<T = (), E = Box<dyn StdError>> = std::result::Result<T, E>;

/// The scopes that both installations request.
const CAPABILITIES: [Scope; 6] = [
    Scope::ExchangeBlueprintsRead,
    Scope::ExchangeBlueprintsWrite,
    Scope::ExchangeStockRead,
    Scope::ExchangeStockWrite,
    Scope::ExchangeHangarRead,
    Scope::ExchangeOrgstockRead,
];

/// The output of the demonstration.
#[derive(Debug)]
pub struct DemoOutput<W> {
    /// The writer to which the output is written.
    pub out: W,
    /// True to emphasize headings with ANSI escape sequences.
    pub colour: bool,
}

impl<W: Write> DemoOutput<W> {
    fn print_heading(&mut self, number: u8, text: &str) -> io::Result<()> {
        let (begin, end) = if self.colour { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
        writeln!(self.out, "\n{begin}{number}. {text}{end}")
    }

    fn print_line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "   {text}")
    }
}

/// Runs the demonstration. `machine` returns the clocks of both installations for the sandbox that was
/// started.
///
/// # Errors
/// Returns an error if a step fails.
pub async fn run(stage: &mut DemoOutput<impl Write>, machine: impl Fn(&Sandbox) -> Environment) -> Result {
    stage.print_heading(
        1,
        "The exchange starts: identity provider, gateway, store, seeded members, all in this process",
    )?;
    let sandbox = Sandbox::start().await?;
    let (address, environment) = (crate::exchange_address(&sandbox), machine(&sandbox));
    let begun = environment.now().monotonic;
    stage.print_line(&format!("issuer   {}", address.issuer()))?;
    stage.print_line(&format!("gateway  {}", address.gateway()))?;

    stage.print_heading(2, "Two installations sign in: device codes, tokens bound to a key of each")?;
    let (desk, laptop) = tokio::try_join!(
        PendingLogin::begin("desk", &address, &environment),
        PendingLogin::begin("laptop", &address, &environment)
    )?;
    for one in [&desk, &laptop] {
        let (address, code) = (one.login.verification_uri(), one.login.user_code());
        stage.print_line(&format!("{:<7} open {address} and type {code}", one.name))?;
        sandbox.approve(code, MEMBER).await?;
    }
    let (desk, laptop) = tokio::try_join!(desk.finish(&address), laptop.finish(&address))?;
    for one in [&desk, &laptop] {
        stage.print_line(&format!("{:<7} is signed in as {MEMBER}", one.name))?;
    }

    stage.print_heading(
        3,
        "Both read what there is: a snapshot of each area, a page at a time, each page one commit",
    )?;
    for installation in [&desk, &laptop] {
        installation.sync.begin_session(&installation.exchange.connection().await?).await?;
        installation.sync.sync_once().await?;
        stage.print_line(&format!("{:<7} {}", installation.name, installation.count_entries()?))?;
    }

    stage.print_heading(
        4,
        "The desk adds a blueprint; the laptop hears of it from the feed, by one small page",
    )?;
    let mut events = laptop.sync.events();
    desk.add_blueprint("BP_CRAFT_SBXM_KNIFE_01", stage).await?;
    laptop.sync.sync_area(Area::Blueprints).await?;
    laptop.print_changes(&mut events, stage)?;

    stage.print_heading(5, "The laptop sets a stock lot; the desk hears of it")?;
    let mut events = desk.sync.events();
    let lot = laptop.find_lot()?;
    laptop.set_stock(&lot, "142.5", stage).await?;
    desk.sync.sync_area(Area::Stock).await?;
    desk.print_changes(&mut events, stage)?;
    let seen = desk.sync.replica().lot(&lot.key)?.ok_or("the desk does not know the lot")?;
    stage.print_line(&format!("desk    sees {} SCU", seen.quantity.amount))?;

    stage.print_heading(6, "The laptop sets it again, and the answer is lost on the way")?;
    let lot = laptop.reload_lot(&lot).await?;
    laptop.network.lose_next_response("stock_write");
    let effort = laptop.set_stock(&lot, "150.25", stage).await?;
    stage.print_line("        (the connection was cut before the answer was read)")?;
    let (requests, waited) = (effort.requests, effort.waited.as_secs_f64());
    stage.print_line(&format!("laptop  sent it {requests} times under one key, {waited:.1} s apart"))?;
    let now = laptop.reload_lot(&lot).await?;
    let amount = &now.quantity.amount;
    stage.print_line(&format!("laptop  the lot holds {amount} SCU: it was done once, and answered twice"))?;

    stage.print_heading(7, "Both disconnect: revoked, forgotten, and the keys are gone")?;
    for installation in [&desk, &laptop] {
        let gone = installation.session.disconnect().await;
        if !gone.is_complete() {
            return Err(format!("{} kept something: {gone:?}", installation.name).into());
        }
        stage.print_line(&format!(
            "{:<7} has {}; no token, no key",
            installation.name,
            installation.count_entries()?
        ))?;
    }
    sandbox.stop().await;
    let seconds = environment.now().monotonic.saturating_sub(begun).as_secs_f64();
    writeln!(stage.out, "\nThat was everything, in {seconds:.1} s.")?;
    Ok(())
}

/// An installation that waits for the approval of the member.
struct PendingLogin {
    name: &'static str,
    identity: ClientIdentity,
    session: Session,
    login: DeviceLogin,
}

impl PendingLogin {
    async fn begin(name: &'static str, address: &ExchangeAddress, environment: &Environment) -> Result<Self> {
        let identity =
            ClientIdentity::new("sandbox-client", "ExchangeDemo", "1.0.0", "https://demo.example/about")?;
        let session =
            Session::builder(address, &identity).profile(name).credentials(MemoryCredentials::new());
        let session = session.environment(environment.clone()).open().await?;
        let login = session.sign_in(&CAPABILITIES).await?;
        Ok(Self { name, identity, session, login })
    }

    /// Waits for the decision of the member.
    async fn finish(self, address: &ExchangeAddress) -> Result<Installation> {
        let Self { name, identity, session, login } = self;
        login.finish().await?;
        let network = LossyNetwork::new();
        let exchange =
            Exchange::builder(address.clone(), identity).transport(network.clone()).build(&session)?;
        let sync = exchange.sync(&Replica::in_memory());
        // The replica is deleted when the member disconnects.
        session.register_local_data(sync.replica().clone());
        Ok(Installation { name, session, exchange, sync, network })
    }
}

/// An installation of a client with its own key, replica and network.
struct Installation {
    name: &'static str,
    session: Session,
    exchange: Exchange,
    sync: ReplicaSync,
    network: LossyNetwork,
}

impl Installation {
    /// Returns the number of entries of each area, for display.
    fn count_entries(&self) -> Result<String> {
        let count = |area: &Area| Ok(format!("{} {}", self.sync.replica().count(*area)?, area.name()));
        Ok(Area::ALL.iter().map(count).collect::<Result<Vec<_>>>()?.join(", "))
    }

    async fn add_blueprint(&self, record: &str, stage: &mut DemoOutput<impl Write>) -> Result {
        let mut changes = BlueprintChanges::new();
        changes.add(KnownItem { sc_record: Some(record.to_owned()), ..KnownItem::default() }.item_ref()?)?;
        self.apply_changes::<_, BlueprintsWriteCall>(changes).await?;
        stage.print_line(&format!("{:<7} adds {record}", self.name))?;
        Ok(())
    }

    /// Returns a stock lot that exists in every sandbox.
    fn find_lot(&self) -> Result<StockLot> {
        let lots = self.sync.replica().stock().collect::<Result<Vec<_>, _>>()?;
        let is_goods = |lot: &StockLot| lot.material.name.as_str() == "Sandbox Trade Goods" && !lot.stolen;
        let lot = lots.into_iter().find(|lot| is_goods(lot) && lot.quantity.unit == QuantityUnit::Scu);
        lot.ok_or_else(|| "the seed has no such lot".into())
    }

    /// Reads the lot again from the exchange.
    async fn reload_lot(&self, lot: &StockLot) -> Result<StockLot> {
        self.sync.sync_area(Area::Stock).await?;
        self.sync.replica().lot(&lot.key)?.ok_or_else(|| "the lot is gone".into())
    }

    async fn set_stock(
        &self,
        lot: &StockLot,
        scu: &str,
        stage: &mut DemoOutput<impl Write>,
    ) -> Result<CallStats> {
        let mut changes = StockChanges::new();
        changes.set_quantity(ExpectedLot::from_stock_lot(lot)?, quantity::scu(scu)?)?;
        let (amount, name) = (&lot.quantity.amount, &lot.material.name);
        stage.print_line(&format!(
            "{:<7} {name} at {}: {amount} to {scu} SCU",
            self.name, lot.location.name
        ))?;
        self.apply_changes::<_, StockWriteCall>(changes).await
    }

    /// Sends changes that fit into one batch under a new key, and checks that all of them are applied.
    async fn apply_changes<O: ChangeOp, C>(&self, changes: Changes<O>) -> Result<CallStats>
    where
        C: Call<Success = ChangeResult, ErrorBody = Problem>,
    {
        let core = self.exchange.api().api_client();
        let batch = changes.into_batches(500)?.pop().ok_or("no batch")?;
        let stored = batch.to_stored_request(core, &idempotency_key(self.exchange.environment())?)?;
        let response = core.send_stored::<C>(&stored).await.map_err(exchange_client::Error::from)?;
        let effort = response.extensions().get::<CallStats>().cloned().unwrap_or_default();
        match batch.into_outcome(response.into_body()).is_satisfied() {
            true => Ok(effort),
            false => Err("the exchange did not apply the change".into()),
        }
    }

    fn print_changes(&self, events: &mut Receiver<PageEvent>, stage: &mut DemoOutput<impl Write>) -> Result {
        let mut pages = BTreeMap::new();
        while let Ok(event) = events.try_recv() {
            let feed = if event.phase == FeedPhase::Feed { "feed" } else { "snapshot" };
            *pages.entry((event.area.name(), feed)).or_insert(0) += event.changed.len() + event.removed.len();
        }
        for ((area, feed), entries) in pages {
            stage.print_line(&format!("{:<7} {feed} of {area}: {entries} changed", self.name))?;
        }
        Ok(())
    }
}
