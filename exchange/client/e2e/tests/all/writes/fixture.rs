//! A test fixture: a signed-in member with an outbox in a file.

use bytes::Bytes;
use exchange_client::{
    Connection, Exchange, MemoryCredentials, Outbox, Session,
    api::{
        Client, Transport as _,
        calls::{BlueprintsReadOptions, OrgStockReadOptions, ShipsReadOptions, StockReadOptions},
        operations::OperationId,
        runtime::client::ReqwestTransport,
        scopes::Scope,
        types::{Blueprint, OrgStockEntry, Ship, StockLot},
    },
    changes::{ChangeOp, Changes},
    outbox::WriteOutcome,
};
use exchange_client_e2e::{
    LossyNetwork, MEMBER, SandboxClock, SleepMode, exchange_address, identity, sign_in,
};
use exchange_client_sqlite::SqliteOutbox;
use exchange_service::sandbox::Sandbox;
use tempfile::TempDir;

/// Extracts the outcome from a [`WriteOutcome`] of this area.
macro_rules! outcome {
    ($written:expr, $lane:ident) => {
        match $written {
            WriteOutcome::$lane(outcome) => outcome,
            other => panic!("{other:?}"),
        }
    };
}
pub(super) use outcome;

pub(super) struct WriteFixture {
    pub(super) sandbox: Sandbox,
    pub(super) outbox: Outbox,
    exchange: Exchange,
    connection: Connection,
    pub(super) network: LossyNetwork,
    folder: TempDir,
}

impl WriteFixture {
    /// Starts a sandbox and signs the member in with all scopes.
    pub(super) async fn open() -> Self {
        let sandbox = Sandbox::start().await.unwrap();
        let (address, identity) = (exchange_address(&sandbox), identity("sandbox-client"));
        let clock = SandboxClock::for_sandbox(&sandbox, SleepMode::AdvanceClock);
        let session = Session::builder(&address, &identity).credentials(MemoryCredentials::new());
        let session = session.environment(clock.environment()).open().await.unwrap();
        sign_in(&session, &sandbox, Scope::ALL).await.unwrap();
        let network = LossyNetwork::new();
        let exchange =
            Exchange::builder(address, identity).transport(network.clone()).build(&session).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let connection = exchange.connection().await.unwrap();
        let outbox = outbox(&exchange, &connection, &folder);
        Self { sandbox, outbox, exchange, connection, network, folder }
    }

    /// Opens the outbox again from its file.
    pub(super) async fn restarted(self) -> Self {
        let outbox = outbox(&self.exchange, &self.connection, &self.folder);
        Self { outbox, ..self }
    }

    pub(super) const fn api(&self) -> &Client {
        self.exchange.api()
    }

    /// Sends changes and returns their outcome.
    pub(super) async fn written<O: ChangeOp>(&self, changes: Changes<O>) -> WriteOutcome {
        let entry = self.outbox.enqueue(changes).await.unwrap()[0];
        let events = self.outbox.flush().await.unwrap();
        assert_eq!(events.last().unwrap().lane_to_pull(), Some(O::LANE), "{events:?}");
        self.outbox.load_outcome(entry).await.unwrap().unwrap()
    }

    pub(super) async fn blueprints(&self) -> Vec<Blueprint> {
        self.api().blueprints_read(BlueprintsReadOptions::new()).await.unwrap().into_body().items.unwrap()
    }

    pub(super) async fn stock(&self) -> Vec<StockLot> {
        self.api().stock_read(StockReadOptions::new()).await.unwrap().into_body().items.unwrap()
    }

    pub(super) async fn ships(&self) -> Vec<Ship> {
        self.api().ships_read(ShipsReadOptions::new()).await.unwrap().into_body().items.unwrap()
    }

    /// Returns the entry of this quality with the largest quantity.
    pub(super) async fn entry(&self, quality: i64) -> OrgStockEntry {
        let page = self.api().org_stock_read(OrgStockReadOptions::new()).await.unwrap().into_body();
        let lots = page.items.unwrap().into_iter().filter(|lot| lot.quality.get() == quality);
        let entries = lots.flat_map(|lot| lot.entries.unwrap_or_default());
        entries.max_by_key(|entry| entry.quantity.amount.get().to_scaled_i64(3)).unwrap()
    }

    /// Signs the member in to the web application, opens the link and confirms. Returns false if there was
    /// nothing to confirm.
    pub(super) async fn confirm(&self, link: &str) -> bool {
        let origin = self.sandbox.origin();
        let account = self.sandbox.directory().accounts.into_iter().find(|one| one.username == MEMBER);
        let account = account.unwrap();
        let (_, cookie, page) = browse("GET", &format!("{origin}/sign-in"), "", String::new()).await;
        let form =
            format!("csrf={}&username={}&password={}", csrf(&page), account.username, account.password);
        let (status, cookie, _) = browse("POST", &format!("{origin}/sign-in"), &cookie, form).await;
        assert_eq!(status, 303);
        let (status, _, page) = browse("GET", link, &cookie, String::new()).await;
        if status != 200 {
            return false;
        }
        let form = format!("csrf={}&decision=confirm", csrf(&page));
        browse("POST", link, &cookie, form).await.0 == 200
    }
}

fn outbox(exchange: &Exchange, connection: &Connection, folder: &TempDir) -> Outbox {
    exchange.outbox(SqliteOutbox::open(folder.path()).unwrap(), connection).unwrap()
}

/// Sends a request as a browser does. Returns the status, the cookie and the page.
async fn browse(method: &str, address: &str, cookie: &str, form: String) -> (u16, String, String) {
    let request = http::Request::builder().method(method).uri(address).header("cookie", cookie);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let any = OperationId::ServiceDocument.operation();
    let request = request.body(Bytes::from(form)).unwrap();
    let response = ReqwestTransport::new().unwrap().send(any, request).await.unwrap();
    let set =
        response.headers().get("set-cookie").map(|set| set.to_str().unwrap().split(';').next().unwrap());
    let page = String::from_utf8(response.body().to_vec()).unwrap();
    (response.status().as_u16(), set.unwrap_or_default().to_owned(), page)
}

/// Returns the CSRF token of the form on a page.
fn csrf(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap_or_else(|| panic!("no form: {page}"));
    rest.split('"').next().unwrap().to_owned()
}
