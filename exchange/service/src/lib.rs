//! A self-contained exchange server: identity provider, gateway, backend and member pages in one process.
//!
//! A request flows from left to right. No module depends on one to its left.
//!
//! ```text
//! serve ──► gateway ──► relay ──► backend ──► areas ──► store
//!   │         │ idp: tokens        │ members, registry, catalogue, feed, journal
//!   └──► idp ─┴► web pages ────────┘
//! ```
//!
//! | module | contents | limits |
//! |---|---|---|
//! | [`app`] | assembles all parts of one process over a store | |
//! | [`serve`] | accepts connections within limits and timeouts, and dispatches requests to a router | reads no token and no body |
//! | [`gateway`] | the checks of each request (GW-01), as a list of stages | decides nothing about members' data |
//! | [`relay`] | sends checked requests to the backend, in this process or, signed, in another one | checks only that a request comes from a gateway |
//! | [`backend`] | the areas of members' data; one write path for all change sets | identifies the caller of a request only by [`Caller`] |
//! | [`feed`] | the changes of a collection since a reader's last page: streams, cursors, tombstones | does not depend on any area |
//! | [`catalogue`] | resolves references with an index in memory | does not depend on the member |
//! | [`idp`] | OAuth 2.0: device grant, tokens, refresh, revocation, keys | depends only on the scopes of the areas |
//! | [`store`] | SQLite: one writer with group commit, concurrent readers, migrations, backup | does not depend on any area |
//! | [`web`] | the web pages: sign-in, consent, held batches, drafts and files, refinery orders, applications, undo, notices, profile, reservations; registered clients for administrators | decides nothing; a form calls the provider or the backend |
//! | [`shared`] | short-lived state that several processes would have to share, with one narrow trait per purpose | not a general key-value store |
//! | [`admin`] | administration: clients, the on/off switch, members, units, catalogue, terms, connections, keys, undo, audit | has no pages and no routes |
//! | [`sandbox`] | the whole exchange with seed data and a control interface | not used outside the sandbox |
//! | [`upkeep`] | deletes expired data, a limited number of rows at a time | no request waits for it |
//!
//! The clock and the source of random numbers are injected through [`Environment`]; no other module reads a
//! clock.

pub mod admin;
pub mod app;
pub mod backend;
pub mod caller;
pub mod catalogue;
pub mod config;
mod correlation;
pub mod environment;
pub mod feed;
pub mod gateway;
pub mod idempotency;
pub mod idp;
pub mod ids;
pub mod logging;
pub mod members;
pub mod names;
pub mod peer;
pub mod quota;
pub mod records;
pub mod registry;
pub mod relay;
pub mod sandbox;
mod secrets;
mod security_headers;
pub mod serve;
mod service_document;
pub mod shared;
mod shares;
pub mod store;
mod telemetry;
pub mod time;
mod timed_body;
pub mod upkeep;
pub mod web;

pub use caller::Caller;
pub use environment::Environment;
