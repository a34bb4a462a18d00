//! A client library for the exchange: sign-in, signed and rate-limited calls, change feeds, a local replica,
//! and an outbox.
//!
//! A member signs in with a device code. Calls are signed, rate-limited, and retried where a retry is safe.
//! Collections are read into a replica as snapshots, which feeds keep up to date. Changes are sent by an
//! outbox, which applies each of them once.
//!
//! ```no_run
//! use exchange_client::{
//!     ClientIdentity, Exchange, ExchangeAddress, MemoryCredentials, Replica, Session, api::scopes::Scope,
//! };
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let address = ExchangeAddress::new("https://id.example/realms/exchange", "https://api.example")?;
//! let identity = ClientIdentity::new("stock-list", "StockList", "1.0.0", "https://desk.example")?;
//! let session = Session::builder(&address, &identity).credentials(MemoryCredentials::new()).open().await?;
//!
//! // Shown on this device; the member approves on any device.
//! let login = session.sign_in(&[Scope::ExchangeStockRead]).await?;
//! println!("Open {} and type {}", login.verification_uri(), login.user_code());
//! login.finish().await?;
//!
//! let exchange = Exchange::builder(address, identity).build(&session)?;
//! let replica = Replica::in_memory();
//! let sync = exchange.sync(&replica);
//! sync.begin_session(&exchange.connection().await?).await?;
//! sync.sync_once().await?;
//! for lot in replica.stock() {
//!     let lot = lot?;
//!     println!("{} of {}", lot.quantity.amount, lot.material.name);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `exchange/client/examples` has a program for each task: `synced_list`, `sign_in`, `change_set`,
//! `conflict`, `held`, `first_ships`, `org_stock`, `feed`, `catalogue`, `demand`, `draft`, `envelope`,
//! `handle_and_label`, `errors`. The programs `outbox` and `program`, which runs continuously, are in
//! `exchange/client/sqlite/examples`. All of them run against `cargo xtask sandbox`.
//!
//! # Overview
//!
//! | task | rows | start with |
//! |---|---|---|
//! | address of the exchange, identity of the client | IDP-02, IDP-03, CON-01, CLI-01 | [`ExchangeAddress`], [`ClientIdentity`] |
//! | sign-in, tokens, end of a connection | IDP, DPP, CLI-03 | [`Session`], [`DeviceLogin`], [`SessionState`] |
//! | secrets and the key | IDP-18, DPP-07 | [`CredentialStore`], [`KeySource`] |
//! | every operation of the contract | | [`Exchange::api`], [`api`] |
//! | retry policy and statistics of a call | LIM-16 | [`RetryPolicy`], [`CallStats`] |
//! | capabilities and label of the connection | SVC | [`Exchange::connection`], [`Exchange::set_label`] |
//! | checking game accounts | SVC-15 | [`Exchange::handles`] |
//! | synchronized collections | FED, LIM-17 | [`Exchange::sync`], [`Replica`]; low level: [`feed::Feed`] |
//! | merging, and the first upload of ships | SHP | [`replica::merge_ship`], [`replica::ShipMatchPlan`] |
//! | changes and their outcomes | WRT, BPR, STK, SHP, OST | [`changes`], [`changes::OpRemedy`] |
//! | changes that are applied once | GW-12, WRT-08 | [`Exchange::outbox`] |
//! | the catalog of names | RES | [`Exchange::catalog`], [`changes::known`] |
//! | the demand of the organization | DEM | [`Exchange::demand`] |
//! | drafts, and blueprint files | DRF | [`Exchange::drafts`], [`Exchange::envelope`] |
//! | errors | ERR, CLI-04 | [`Error`], [`ErrorKind`], [`Advice`] |
//! | time, sleep, random numbers | | [`Environment`] |
//!
//! The rows refer to `docs/requirements.md` in the repository.
//!
//! # Features
//!
//! | feature | effect |
//! |---|---|
//! | `reqwest` (default) | sends over the network, with TLS by rustls; without it, set a [`Transport`](api::Transport) |
//! | `testkit` | `testkit`: a machine in virtual time, a scripted server that reports every violation of the protocol, and tests for every [`replica::ReplicaStore`] |
//!
//! Persistent stores are in the crates `exchange-client-sqlite` and, for secrets, `exchange-client-keyring`.
//! All futures require a tokio runtime.
//!
//! # Guarantees
//!
//! * No secret is printed: tokens and keys have neither `Display` nor `Serialize`, one-time links print as
//!   `[secret]`, and errors, `Debug` output, and spans contain no secret, query, or body.
//! * No login starts automatically, neither by a timer nor in a loop (CLI-03).
//! * No write is sent again under another key unless the caller requests it, and no proof is sent twice
//!   (GW-12).
//! * No request is sent before the `Retry-After` time of the server has passed. With a [state
//!   folder](SessionBuilder::state_folder) this includes later processes, for up to 90 days. Redirects are
//!   not followed.
//! * No secret is stored in a location that the program did not choose, and no data of the organization is
//!   kept for longer than 7 days (OST-14).

mod address;
mod backoff;
#[cfg(test)]
mod captured_log;
mod catalogue;
pub mod changes;
mod connection;
mod credentials;
mod demand;
mod drafts;
mod envelope;
mod environment;
mod error;
mod exchange;
pub mod feed;
mod handles;
mod identity;
#[cfg(test)]
mod incomplete_responses;
mod keys;
#[cfg(test)]
mod mock_gateway;
mod oauth;
pub mod outbox;
mod ownership;
mod rate_limiter;
#[cfg(any(test, doctest))]
mod readme;
pub mod replica;
mod retention;
mod retry_after;
mod session;
mod state;
mod state_folder;
pub mod sync;
#[cfg(test)]
mod test_members;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod token_source;
mod transport;
mod verdict;

pub use address::{ExchangeAddress, ExchangeAddressError, SANDBOX_VARIABLE};
pub use backoff::Backoff;
pub use catalogue::{
    CatalogMemory, CatalogMemoryError, CatalogResolver, MAX_REFERENCES, ReferenceLookup, ReferenceResolution,
};
pub use changes::{BlueprintChanges, Lane, OrgStockChanges, ShipChanges, StockChanges};
pub use connection::{ComputerNames, Connection, Label, LabelError, RequiredUpdate};
pub use credentials::{
    CredentialEntry, CredentialError, CredentialFolderError, CredentialOwner, CredentialStore,
    InsecureFileCredentials, MemoryCredentials, SecretBytes, encode_file_name,
};
pub use demand::{
    Demand, DemandByItems, DemandByMaterials, DemandCadence, DemandView, DemandWithheld, OpenDemand,
};
/// DPoP proofs, for custom keys, clocks, and random sources.
pub use dpop_bound as dpop;
pub use dpop_bound::UnixTime;
pub use drafts::{BlueprintStaging, DraftHandoff, DraftStager, RefineryStaging, idempotency_key};
pub use envelope::{
    CheckedEnvelope, EnvelopeBlueprint, EnvelopeBuilder, EnvelopeError, EnvelopeFault, MAX_BLUEPRINTS,
    MAX_BYTES, SealedEnvelope, check_envelope,
};
pub use environment::{Clock, Environment, SleepFuture};
pub use error::{Error, ErrorKind, error_kind_for_code};
pub use exchange::{Exchange, ExchangeBuilder};
pub use exchange_api as api;
pub use feed::Area;
pub use handles::{HandleCheck, HandleChecker};
pub use identity::{ClientIdentity, ClientIdentityError};
pub use keys::KeySource;
pub use outbox::{MemoryOutbox, Outbox, OutboxEvent};
pub use rate_limiter::{CallInitiator, RateLimit};
pub use replica::{MemoryReplica, Replica};
pub use session::{
    ConnectionSummary, DeviceLogin, DisconnectReport, LocalData, LoginProgress, Session, SessionBuilder,
    StepOutcome,
};
pub use state::{Advice, EndReason, HaltReason, SessionState};
pub use token_source::BoxFuture;
pub use transport::{CallStats, RetryPolicy, TransportSettings};
