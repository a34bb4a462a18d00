//! A client of the exchange: everything between a program and the generated API.
//!
//! A member signs in by a device code; calls are signed, paced, and sent again where that is right; collections are
//! read as snapshots and followed by feeds into a replica; changes go through an outbox that sends each of them once.
//!
//! ```no_run
//! use exchange_client::{Exchange, Identity, InMemory, Place, Replica, Session, api::scopes::Scope};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let place = Place::new("https://id.example/realms/exchange", "https://api.example")?;
//! let identity = Identity::new("stock-list", "StockList", "1.0.0", "https://desk.example")?;
//! let session = Session::builder(&place, &identity).credentials(InMemory::new()).open().await?;
//!
//! // Shown on this device; the member decides on any other.
//! let login = session.sign_in(&[Scope::ExchangeStockRead]).await?;
//! println!("Open {} and type {}", login.verification_uri(), login.user_code());
//! login.finish().await?;
//!
//! let exchange = Exchange::builder(place, identity).build(&session)?;
//! let replica = Replica::in_memory();
//! let sync = exchange.sync(&replica);
//! sync.session(&exchange.connection().await?).await?;
//! sync.once().await?;
//! for lot in replica.stock() {
//!     let lot = lot?;
//!     println!("{} of {}", lot.quantity.amount, lot.material.name);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `exchange/client/examples` has a program for each task: `synced_list`, `sign_in`, `change_set`, `conflict`, `held`,
//! `first_ships`, `org_stock`, `feed`, `catalogue`, `demand`, `draft`, `envelope`, `handle_and_label`, `errors`;
//! `program`, which stays, and `outbox` are in `exchange/client/sqlite/examples`. They run against `cargo xtask sandbox`.
//!
//! # Where to find what
//!
//! | | rows | begin with |
//! |---|---|---|
//! | where the exchange is, who calls | IDP-02, IDP-03, CON-01, CLI-01 | [`Place`], [`Identity`] |
//! | sign-in, tokens, the end of a connection | IDP, DPP, CLI-03 | [`Session`], [`DeviceLogin`], [`SessionState`] |
//! | secrets and the key | IDP-18, DPP-07 | [`CredentialStore`], [`KeySource`] |
//! | every operation of the contract | | [`Exchange::api`], [`api`] |
//! | how long a call may take, and how it went | LIM-16 | [`Patience`], [`Effort`] |
//! | what this connection may do; its label | SVC | [`Exchange::connection`], [`Exchange::label`] |
//! | whose game account it is | SVC-15 | [`Exchange::handles`] |
//! | collections, kept equal | FED, LIM-17 | [`Exchange::sync`], [`Replica`]; by hand [`feed::Feed`] |
//! | merging, and ships of one's own for the first time | SHP | [`replica::merge_ship`], [`replica::FirstShips`] |
//! | changes, and what became of them | WRT, BPR, STK, SHP, OST | [`changes`], [`changes::Remedy`] |
//! | changes that are sent once | GW-12, WRT-08 | [`Exchange::outbox`] |
//! | names of things | RES | [`Exchange::catalogue`], [`changes::known`] |
//! | the demand of the organisation | DEM | [`Exchange::demand`] |
//! | drafts, and files of blueprints | DRF | [`Exchange::drafts`], [`Exchange::envelope`] |
//! | what went wrong | ERR, CLI-04 | [`Error`], [`ErrorKind`], [`Advice`] |
//! | time, sleep, random numbers | | [`Environment`] |
//!
//! Rows are those of the repository's `docs/requirements.md`.
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `reqwest` (default) | the network, with TLS by rustls; without it, a [`Transport`](api::Transport) is yours |
//! | `testkit` | `testkit`: a machine in virtual time, a scripted server that complains of what no server should see, and the rules of every [`replica::ReplicaStore`] as tests |
//!
//! Stores that outlive the process are in `exchange-client-sqlite` and, for secrets, `exchange-client-keyring`. All of it
//! runs within a tokio runtime.
//!
//! # What it never does
//!
//! * It shows no secret: tokens and keys have neither `Display` nor `Serialize`, links that work once print as
//!   `[secret]`, and errors, `Debug` and spans hold none of them, nor a query or a body.
//! * It signs nobody in by itself, and asks for a code neither by a timer nor in a loop (CLI-03).
//! * It sends no write again under another key unless somebody says so, and no proof twice (GW-12).
//! * It asks no server earlier than that server said, not even from the next process (for up to 90 days, where there is
//!   a [folder](SessionBuilder::state_folder) for its state), and follows no redirection.
//! * It keeps no secret in a place that nobody chose, and nothing of the organisation's longer than 7 days (OST-14).

mod backoff;
mod catalogue;
pub mod changes;
mod connection;
mod credentials;
mod demand;
#[cfg(test)]
mod double;
mod drafts;
mod envelope;
mod environment;
mod error;
mod exchange;
pub mod feed;
mod gates;
mod handles;
mod identity;
mod keys;
mod lock;
#[cfg(test)]
mod logged;
#[cfg(test)]
mod members;
mod oauth;
pub mod outbox;
mod pace;
mod place;
#[cfg(any(test, doctest))]
mod readme;
pub mod replica;
mod retention;
mod session;
mod state;
pub mod sync;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod tokens;
mod transport;
mod verdict;
mod whose;

pub use backoff::Backoff;
pub use catalogue::{Catalogue, CatalogueMemory, Lookup, MOST_REFERENCES, Resolution, UnreadableMemory};
pub use changes::{BlueprintChanges, Lane, OrgStockChanges, ShipChanges, StockChanges};
pub use connection::{Connection, Label, MachineNames, UnusableLabel, UpdateNeeded};
pub use credentials::{
    CredentialError, CredentialStore, Entry, InMemory, InsecureFile, Owner, SecretBytes, UnusableFolder,
    file_name,
};
pub use demand::{ByItems, ByMaterials, Demand, DemandCadence, DemandView, OpenDemand, Withheld};
/// Proofs: for keys, clocks and randomness of your own.
pub use dpop_bound as dpop;
pub use dpop_bound::UnixTime;
pub use drafts::{BlueprintStaging, Drafts, Handoff, RefineryStaging, idempotency_key};
pub use envelope::{
    CheckedEnvelope, EnvelopeBlueprint, EnvelopeBuilder, EnvelopeFault, MOST_BLUEPRINTS, MOST_BYTES,
    SealedEnvelope, UnusableEnvelope, check_envelope,
};
pub use environment::{Clock, Environment, Sleep};
pub use error::{Error, ErrorKind, kind_of};
pub use exchange::{Exchange, ExchangeBuilder};
pub use exchange_api as api;
pub use feed::Area;
pub use handles::{HandleCheck, Handles};
pub use identity::{Identity, UnusableIdentity};
pub use keys::KeySource;
pub use outbox::{MemoryOutbox, Outbox, OutboxEvent};
pub use pace::{Asked, Budget};
pub use place::{Place, SANDBOX_VARIABLE, UnusablePlace};
pub use replica::{MemoryReplica, Replica};
pub use session::{
    DeviceLogin, Disconnected, LocalData, LoginProgress, Noted, Session, SessionBuilder, StepTaken,
};
pub use state::{Advice, End, Halt, SessionState};
pub use tokens::Later;
pub use transport::{Effort, Patience, Settings};
