//! A signed-in member with an outbox in a file, and what stands around them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use exchange_client::{
    Clock, Environment, Exchange, Identity, InMemory, Outbox, Place, Session, Sleep,
    api::{
        Client, Transport,
        calls::{BlueprintsRead, OrgStockRead, ShipsRead, StockRead},
        operations::OperationId,
        runtime::{
            client::ReqwestTransport,
            operation::Operation,
            transport::{Delivery, Sending, TransportError, TransportFault},
        },
        scopes::Scope,
        types::{Blueprint, OrgStockEntry, Ship, StockLot},
    },
    changes::{Changes, Op},
    dpop::{SystemRandom, clock::Reading},
    outbox::{Policy, Written},
};
use exchange_client_sqlite::SqliteOutbox;
use exchange_service::{
    sandbox::Sandbox,
    time::{Clock as _, MovedClock, SystemClock},
};
use tempfile::TempDir;

/// The outcome of an area.
macro_rules! outcome {
    ($written:expr, $lane:ident) => {
        match $written {
            Written::$lane(outcome) => outcome,
            other => panic!("{other:?}"),
        }
    };
}
pub(super) use outcome;

pub(super) struct Desk {
    pub(super) sandbox: Sandbox,
    pub(super) outbox: Outbox,
    exchange: Exchange,
    loses: Arc<AtomicBool>,
    folder: TempDir,
}

impl Desk {
    /// A new sandbox, in which the member signed in with all scopes.
    pub(super) async fn open() -> Self {
        let sandbox = Sandbox::start().await.unwrap();
        let directory = sandbox.directory();
        let place = Place::new(&directory.issuer, &directory.gateway).unwrap();
        let identity =
            Identity::new("sandbox-client", "SandboxTest", "1.0.0", "https://client.example").unwrap();
        let clock = Waits { clock: sandbox.clock().clone(), begun: std::time::Instant::now() };
        let environment = Environment::new(clock, SystemRandom);
        let session = Session::builder(&place, &identity).credentials(InMemory::new());
        let session = session.environment(environment).open().await.unwrap();
        let login = session.sign_in(Scope::ALL).await.unwrap();
        sandbox.approve(login.user_code(), "sandbox-member").await.unwrap();
        login.finish().await.unwrap();
        let loses = Arc::new(AtomicBool::new(false));
        let network = Losing { below: ReqwestTransport::new().unwrap(), loses: Arc::clone(&loses) };
        let exchange = Exchange::builder(place, identity).transport(network).build(&session).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let outbox = outbox(&exchange, &folder);
        Self { sandbox, outbox, exchange, loses, folder }
    }

    /// The same with the outbox that is read from its file.
    pub(super) async fn restarted(self) -> Self {
        let outbox = outbox(&self.exchange, &self.folder);
        Self { outbox, ..self }
    }

    pub(super) const fn api(&self) -> &Client {
        self.exchange.api()
    }

    /// The next answer to a write does not come back.
    pub(super) fn lose_next_answer(&self) {
        self.loses.store(true, Ordering::Relaxed);
    }

    /// What becomes of changes that are sent now.
    pub(super) async fn written<O: Op>(&self, changes: Changes<O>) -> Written {
        let entry = self.outbox.enqueue(changes).await.unwrap()[0];
        let told = self.outbox.flush().await.unwrap();
        assert_eq!(told.last().unwrap().pulls(), Some(O::LANE), "{told:?}");
        self.outbox.outcome(entry).await.unwrap().unwrap()
    }

    pub(super) async fn blueprints(&self) -> Vec<Blueprint> {
        self.api().blueprints_read(BlueprintsRead::new()).await.unwrap().into_body().items
    }

    pub(super) async fn stock(&self) -> Vec<StockLot> {
        self.api().stock_read(StockRead::new()).await.unwrap().into_body().items
    }

    pub(super) async fn ships(&self) -> Vec<Ship> {
        self.api().ships_read(ShipsRead::new()).await.unwrap().into_body().items
    }

    /// The largest entry of this quality.
    pub(super) async fn entry(&self, quality: i64) -> OrgStockEntry {
        let page = self.api().org_stock_read(OrgStockRead::new()).await.unwrap().into_body();
        let lots = page.items.into_iter().filter(|lot| lot.quality.get() == quality);
        let entries = lots.flat_map(|lot| lot.entries.unwrap_or_default());
        entries.max_by_key(|entry| entry.quantity.amount.get().scaled(3)).unwrap()
    }

    /// The member signs in on the web, opens a link and confirms; says whether there was something to confirm.
    pub(super) async fn confirm(&self, link: &str) -> bool {
        let origin = self.sandbox.origin();
        let account =
            self.sandbox.directory().accounts.into_iter().find(|one| one.username == "sandbox-member");
        let account = account.unwrap();
        let (_, cookie, page) = browse("GET", &format!("{origin}/sign-in"), "", String::new()).await;
        let given =
            format!("csrf={}&username={}&password={}", csrf(&page), account.username, account.password);
        let (status, cookie, _) = browse("POST", &format!("{origin}/sign-in"), &cookie, given).await;
        assert_eq!(status, 303);
        let (status, _, page) = browse("GET", link, &cookie, String::new()).await;
        if status != 200 {
            return false;
        }
        let given = format!("csrf={}&decision=confirm", csrf(&page));
        browse("POST", link, &cookie, given).await.0 == 200
    }
}

fn outbox(exchange: &Exchange, folder: &TempDir) -> Outbox {
    let store = SqliteOutbox::open(folder.path()).unwrap();
    let environment = exchange.environment().clone();
    Outbox::new(exchange.api().core(), store, environment, "sandbox-member", Policy::default()).unwrap()
}

/// One request of a browser: status, cookie and page.
async fn browse(method: &str, address: &str, cookie: &str, form: String) -> (u16, String, String) {
    let request = http::Request::builder().method(method).uri(address).header("cookie", cookie);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let any = OperationId::ServiceDocument.operation();
    let request = request.body(Bytes::from(form)).unwrap();
    let answer = ReqwestTransport::new().unwrap().send(any, request).await.unwrap();
    let set = answer.headers().get("set-cookie").map(|set| set.to_str().unwrap().split(';').next().unwrap());
    let page = String::from_utf8(answer.body().to_vec()).unwrap();
    (answer.status().as_u16(), set.unwrap_or_default().to_owned(), page)
}

/// The token of a page's form.
fn csrf(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap_or_else(|| panic!("no form: {page}"));
    rest.split('"').next().unwrap().to_owned()
}

/// A network that can lose the answer to a write.
struct Losing {
    below: ReqwestTransport,
    loses: Arc<AtomicBool>,
}

impl Transport for Losing {
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        Box::pin(async move {
            let keyed = request.headers().contains_key("idempotency-key");
            let answer = self.below.send(operation, request).await;
            let succeeded = answer.as_ref().is_ok_and(|answer| answer.status().is_success());
            if keyed && succeeded && self.loses.swap(false, Ordering::Relaxed) {
                return Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown));
            }
            answer
        })
    }
}

/// The sandbox's time. Short waits move it on; long ones are limits, which nothing here comes to.
struct Waits {
    clock: MovedClock,
    begun: std::time::Instant,
}

impl Clock for Waits {
    fn now(&self) -> Reading {
        let moved = self.clock.now().since(SystemClock.now());
        Reading { wall: self.clock.now().unix(), monotonic: self.begun.elapsed() + moved }
    }

    fn sleep(&self, time: Duration) -> Sleep<'_> {
        Box::pin(async move {
            match time < Duration::from_secs(8) {
                true => self.clock.advance(time),
                false => tokio::time::sleep(time).await,
            }
        })
    }
}
