//! The exchange from end to end, on this machine alone: two installations of a client sign in, synchronise,
//! change something, hear of each other's changes, and one of them loses an answer and recovers.
//!
//! `cargo xtask demo`

#![allow(clippy::print_stdout, reason = "a demonstration shows what it does")]

use std::{collections::BTreeMap, error::Error as StdError, time::Instant};

use exchange_client::{
    Area, BlueprintChanges, Effort, Exchange, Identity, InMemory, Place, Replica, Session, StockChanges,
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
use exchange_client_e2e::{MEMBER, Network};
use exchange_service::sandbox::Sandbox;
use tokio::sync::broadcast::Receiver;

type Result<T, E = Box<dyn StdError>> = std::result::Result<T, E>;

/// What the member is asked for.
const CAPABILITIES: [Scope; 6] = [
    Scope::ExchangeBlueprintsRead,
    Scope::ExchangeBlueprintsWrite,
    Scope::ExchangeStockRead,
    Scope::ExchangeStockWrite,
    Scope::ExchangeHangarRead,
    Scope::ExchangeOrgstockRead,
];

#[tokio::main]
async fn main() -> Result<()> {
    let begun = Instant::now();
    heading(1, "The exchange starts: identity provider, gateway, store, seeded members, all in this process");
    let sandbox = Sandbox::start().await?;
    let place = exchange_client_e2e::place(&sandbox);
    say(&format!("issuer   {}", place.issuer()));
    say(&format!("gateway  {}", place.gateway()));

    heading(2, "Two installations sign in: device codes, tokens bound to a key of each");
    let (desk, laptop) = tokio::try_join!(
        Installation::sign_in("desk", &place, &sandbox),
        Installation::sign_in("laptop", &place, &sandbox)
    )?;

    heading(3, "Both read what there is: a snapshot of each area, a page at a time, each page one commit");
    for installation in [&desk, &laptop] {
        installation.sync.session(&installation.exchange.connection().await?).await?;
        installation.sync.once().await?;
        say(&format!("{:<7} {}", installation.name, installation.holds()?));
    }

    heading(4, "The desk adds a blueprint; the laptop hears of it from the feed, by one small page");
    let mut heard = laptop.sync.events();
    desk.add_blueprint("BP_CRAFT_SBXM_KNIFE_01").await?;
    laptop.sync.area(Area::Blueprints).await?;
    laptop.tell(&mut heard)?;

    heading(5, "The laptop sets a stock lot; the desk hears of it");
    let mut heard = desk.sync.events();
    let lot = laptop.lot()?;
    laptop.set_stock(&lot, "142.5").await?;
    desk.sync.area(Area::Stock).await?;
    desk.tell(&mut heard)?;
    let seen = desk.sync.replica().lot(&lot.key)?.ok_or("the desk does not know the lot")?;
    say(&format!("desk    sees {} SCU", seen.quantity.amount));

    heading(6, "The laptop sets it again, and the answer is lost on the way");
    let lot = laptop.fresh(&lot).await?;
    laptop.network.lose("stock_write");
    let effort = laptop.set_stock(&lot, "150.25").await?;
    say("        (the connection was cut before the answer was read)");
    let (requests, waited) = (effort.requests, effort.waited.as_secs_f64());
    say(&format!("laptop  sent it {requests} times under one key, {waited:.1} s apart"));
    let now = laptop.fresh(&lot).await?;
    say(&format!("laptop  the lot holds {} SCU: it was done once, and answered twice", now.quantity.amount));

    heading(7, "Both disconnect: revoked, forgotten, and the keys are gone");
    for installation in [&desk, &laptop] {
        let gone = installation.session.disconnect().await;
        if !gone.is_gone() {
            return Err(format!("{} kept something: {gone:?}", installation.name).into());
        }
        say(&format!("{:<7} has {}; no token, no key", installation.name, installation.holds()?));
    }
    sandbox.stop().await;
    println!("\nThat was everything, in {:.1} s.", begun.elapsed().as_secs_f64());
    Ok(())
}

fn heading(number: u8, text: &str) {
    println!("\n{number}. {text}");
}

fn say(text: &str) {
    println!("   {text}");
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
    async fn sign_in(name: &'static str, place: &Place, sandbox: &Sandbox) -> Result<Self> {
        let identity =
            Identity::new("sandbox-client", "ExchangeDemo", "1.0.0", "https://demo.example/about")?;
        let session =
            Session::builder(place, &identity).profile(name).credentials(InMemory::new()).open().await?;
        let login = session.sign_in(&CAPABILITIES).await?;
        say(&format!("{name:<7} open {} and type {}", login.verification_uri(), login.user_code()));
        sandbox.approve(login.user_code(), MEMBER).await?;
        login.finish().await?;
        let network = Network::new();
        let exchange =
            Exchange::builder(place.clone(), identity).transport(network.clone()).build(&session)?;
        let sync = exchange.sync(&Replica::in_memory());
        // What is read goes with the connection.
        session.keeps(sync.replica().clone());
        say(&format!("{name:<7} is signed in as {MEMBER}"));
        Ok(Self { name, session, exchange, sync, network })
    }

    /// How much of each area is here.
    fn holds(&self) -> Result<String> {
        let count = |area: &Area| Ok(format!("{} {}", self.sync.replica().count(*area)?, area.name()));
        Ok(Area::ALL.iter().map(count).collect::<Result<Vec<_>>>()?.join(", "))
    }

    async fn add_blueprint(&self, record: &str) -> Result<()> {
        let mut changes = BlueprintChanges::new();
        changes.add(Known { sc_record: Some(record.to_owned()), ..Known::default() }.item_ref()?)?;
        self.send::<_, BlueprintsWriteCall>(changes).await?;
        say(&format!("{:<7} adds {record}", self.name));
        Ok(())
    }

    /// A lot of the member's that is measured in SCU.
    fn lot(&self) -> Result<StockLot> {
        let lots = self.sync.replica().stock().collect::<Result<Vec<_>, _>>()?;
        let lot = lots.into_iter().find(|lot| lot.quantity.unit == QuantityUnit::Scu);
        lot.ok_or_else(|| "the seed has no lot in SCU".into())
    }

    /// The same lot as the exchange has it now.
    async fn fresh(&self, lot: &StockLot) -> Result<StockLot> {
        self.sync.area(Area::Stock).await?;
        self.sync.replica().lot(&lot.key)?.ok_or_else(|| "the lot is gone".into())
    }

    async fn set_stock(&self, lot: &StockLot, scu: &str) -> Result<Effort> {
        let mut changes = StockChanges::new();
        changes.set(Held::of(lot)?, quantity::scu(scu)?)?;
        let (held, name) = (&lot.quantity.amount, &lot.material.name);
        say(&format!("{:<7} {name} at {}: {held} to {scu} SCU", self.name, lot.location.name));
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

    fn tell(&self, heard: &mut Receiver<PageEvent>) -> Result<()> {
        let mut pages = BTreeMap::new();
        while let Ok(event) = heard.try_recv() {
            let feed = if event.phase == Phase::Feed { "feed" } else { "snapshot" };
            *pages.entry((event.area.name(), feed)).or_insert(0) += event.changed.len() + event.removed.len();
        }
        for ((area, feed), entries) in pages {
            say(&format!("{:<7} {feed} of {area}: {entries} changed", self.name));
        }
        Ok(())
    }
}
