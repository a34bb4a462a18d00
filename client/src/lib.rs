//! A client of the exchange: everything between a program and the generated API.

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
mod handles;
mod identity;
mod keys;
mod lock;
mod oauth;
pub mod outbox;
mod pace;
mod place;
pub mod replica;
mod session;
mod state;
pub mod sync;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod tokens;
mod transport;
mod verdict;

pub use backoff::Backoff;
pub use catalogue::{Catalogue, CatalogueMemory, Lookup, MOST_REFERENCES, Resolution, UnreadableMemory};
pub use changes::{BlueprintChanges, Lane, OrgStockChanges, ShipChanges, StockChanges};
pub use connection::{Connection, Label, MachineNames, UnusableLabel, UpdateNeeded, label};
pub use credentials::{
    CredentialError, CredentialStore, Entry, InMemory, InsecureFile, Owner, SecretBytes, UnusableFolder,
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
pub use error::{Advice, Error, ErrorKind, kind_of};
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
pub use session::{DeviceLogin, Disconnected, LocalData, LoginProgress, Session, SessionBuilder, StepTaken};
pub use state::{End, Halt, SessionState};
pub use tokens::Later;
pub use transport::{Effort, Patience, Settings};
