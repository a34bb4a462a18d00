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
        let sign_in = format!("{origin}/sign-in");
        let shown = browse("GET", &sign_in, "", String::new()).await;
        let form =
            format!("csrf={}&username={}&password={}", csrf(&shown.page), account.username, account.password);
        let signed_in = browse("POST", &sign_in, &shown.cookie, form).await;
        assert_eq!(signed_in.status, 303);
        let cookie = signed_in.cookie;
        // The link leads to the page of the batch, whose address does not contain the secret.
        let opened = browse("GET", link, &cookie, String::new()).await;
        assert_eq!(opened.status, 303);
        let address = format!("{origin}{}", opened.location);
        let shown = browse("GET", &address, &cookie, String::new()).await;
        if shown.status != 200 {
            return false;
        }
        let form = format!("csrf={}&decision=confirm", csrf(&shown.page));
        let confirmed = browse("POST", &address, &cookie, form).await;
        confirmed.status == 303 && format!("{origin}{}", confirmed.location) == address
    }
}

fn outbox(exchange: &Exchange, connection: &Connection, folder: &TempDir) -> Outbox {
    exchange.outbox(SqliteOutbox::open(folder.path()).unwrap(), connection).unwrap()
}

/// The parts of a response that a browser uses.
struct BrowserResponse {
    status: u16,
    cookie: String,
    location: String,
    page: String,
}

/// Sends a request as a browser does, without following redirects.
async fn browse(method: &str, address: &str, cookie: &str, form: String) -> BrowserResponse {
    let request = http::Request::builder().method(method).uri(address).header("cookie", cookie);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let any = OperationId::ServiceDocument.operation();
    let request = request.body(Bytes::from(form)).unwrap();
    let response = ReqwestTransport::new().unwrap().send(any, request).await.unwrap();
    let header = |name: &str| {
        response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    };
    BrowserResponse {
        status: response.status().as_u16(),
        cookie: header("set-cookie").split(';').next().unwrap_or_default().to_owned(),
        location: header("location"),
        page: String::from_utf8(response.body().to_vec()).unwrap(),
    }
}

/// Returns the CSRF token of the form on a page.
fn csrf(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap_or_else(|| panic!("no form: {page}"));
    rest.split('"').next().unwrap().to_owned()
}
