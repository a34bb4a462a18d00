//! A sandbox with a member for whom everything waits: a held batch, a draft, a new device and notices.

use exchange_client::api::Contract as _;
use exchange_client::api::calls::StockReadOptions;
use exchange_client::api::scopes::Scope;
use exchange_client::api::types::{BlueprintDraft, LabelledInstallation, StockChangeSet};
use exchange_client::{DeviceLogin, Error, Exchange, MemoryCredentials, Session};
use exchange_client_e2e::{SandboxClock, SleepMode, exchange_address, identity, sign_in};
use exchange_service::sandbox::Sandbox;
use serde_json::json;

const SCOPES: [Scope; 6] = [
    Scope::ExchangeConnect,
    Scope::ExchangeBlueprintsRead,
    Scope::ExchangeBlueprintsWrite,
    Scope::ExchangeStockRead,
    Scope::ExchangeStockWrite,
    Scope::ExchangeDraftsBlueprints,
];

/// The member of the seed data who has stock, ships and blueprints.
pub(crate) const MEMBER: &str = "sandbox-member";
/// The member who administers the service.
pub(crate) const ADMIN: &str = "sandbox-admin";

pub(crate) fn password(account: &str) -> String {
    format!("{account}-pw-do-not-use-in-prod")
}

/// A running exchange and a connected client of [`MEMBER`].
pub(crate) struct Fixture {
    pub(crate) sandbox: Sandbox,
    clock: SandboxClock,
    exchange: Exchange,
}

impl Fixture {
    /// Starts the exchange and connects a client with a label.
    pub(crate) async fn start(label: &str) -> Self {
        let sandbox = Sandbox::start().await.expect("the sandbox starts");
        let clock = SandboxClock::for_sandbox(&sandbox, SleepMode::AdvanceClock);
        let session = open_session(&sandbox, &clock).await;
        sign_in(&session, &sandbox, &SCOPES).await.expect("the client signs in");
        let exchange = Exchange::builder(exchange_address(&sandbox), identity("sandbox-client"));
        let exchange = exchange.build(&session).expect("the client can be built");
        let body = json!({ "label": label }).to_string();
        let body = LabelledInstallation::parse(body.as_bytes()).expect("a valid label");
        exchange.api().installation_label(&body).await.expect("the label is stored");
        Self { sandbox, clock, exchange }
    }

    pub(crate) fn origin(&self) -> String {
        self.sandbox.origin()
    }

    /// Starts another device login and returns it with its user code.
    pub(crate) async fn begin_login(&self) -> DeviceLogin {
        let session = open_session(&self.sandbox, &self.clock).await;
        session.sign_in(&SCOPES).await.expect("the login starts")
    }

    /// Removes the whole stock of the member, which the exchange holds, and returns the path of the link. One
    /// op of the batch cannot be applied.
    pub(crate) async fn hold_batch(&self) -> String {
        let read =
            self.exchange.api().stock_read(StockReadOptions::new()).await.expect("the stock can be read");
        let lots = read.into_body().items.unwrap_or_default();
        let mut ops: Vec<_> = lots
            .iter()
            .map(|lot| {
                let unit = lot.quantity.unit.as_str();
                let amount: serde_json::Value =
                    serde_json::from_str(&lot.quantity.amount.get().to_json_text()).expect("a number");
                json!({
                    "op": "set-quantity", "material": { "name": lot.material.name.as_str() },
                    "location": { "name": lot.location.name.as_str() }, "quality": lot.quality.get(), "stolen": lot.stolen,
                    "quantity": { "amount": 0, "unit": unit }, "expectedQuantity": { "amount": amount, "unit": unit },
                })
            })
            .collect();
        let mut unknown = ops.first().expect("the member has stock").clone();
        unknown["material"]["name"] = json!("Unheard-of Ore");
        ops.push(unknown);
        let body = json!({ "ops": ops }).to_string();
        let set = StockChangeSet::parse(body.as_bytes()).expect("a valid change set");
        let refused = self.exchange.api().stock_write("browser-held-batch-1", &set).await;
        let error = refused.expect_err("the batch is held");
        let link = error.body().and_then(|problem| problem.confirmation_url.as_ref()).expect("a link");
        self.path_of(link.expose())
    }

    /// Stages a draft of blueprints and returns the path of its link.
    pub(crate) async fn stage_draft(&self) -> String {
        let items = [
            json!({ "ref": { "name": "Sandbox Knife" }, "acquiredAt": "2026-02-03T04:05:06Z" }),
            json!({ "ref": { "name": "Sandbox Rifle" } }),
            json!({ "ref": { "name": "Sandbox Knif" } }),
            json!({ "ref": { "name": "Something unknown" } }),
        ];
        let body = json!({ "format": "svc.blueprints", "formatVersion": "1.0", "items": items }).to_string();
        let draft = BlueprintDraft::parse(body.as_bytes()).expect("a valid draft");
        let staged = self.exchange.api().drafts_blueprints("browser-draft-0001", &draft).await;
        let staged = staged.map_err(Error::from).expect("the draft is staged").into_body();
        self.path_of(staged.frontend_url.expose())
    }

    fn path_of(&self, url: &str) -> String {
        url.strip_prefix(&self.origin()).expect("a page of the exchange").to_owned()
    }
}

async fn open_session(sandbox: &Sandbox, clock: &SandboxClock) -> Session {
    let (address, identity) = (exchange_address(sandbox), identity("sandbox-client"));
    let session = Session::builder(&address, &identity).credentials(MemoryCredentials::new());
    session.environment(clock.environment()).open().await.expect("the session opens")
}
