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
//! | [`serve`] | accepts, bounds and times out connections, and dispatches requests to a router | reads no token and no body |
//! | [`gateway`] | the order of checks (GW-01) as a list of stages | decides nothing about members' data |
//! | [`relay`] | carries checked requests to the backend: in process, or signed to another process | decides only whether a request comes from a gateway |
//! | [`backend`] | members, areas, change sets; one decision path for every write | knows a request's caller only by [`Caller`] |
//! | [`feed`] | changes of a collection since a reader's last page: streams, cursors, tombstones | knows no area |
//! | [`catalogue`] | resolves references, in memory | knows no member |
//! | [`idp`] | OAuth: device grant, tokens, refresh, revocation, keys | knows only the scopes of the areas |
//! | [`store`] | SQLite: one writer with group commit, concurrent readers, migrations, backup | knows no area |
//! | [`web`] | the member's pages: sign-in, consent, held batches, drafts and files, refinery orders, applications, undo, notices, profile, reservations; registered clients for administrators | decides nothing; a form is a request to the provider or the backend |
//! | [`shared`] | short-lived state that several processes would share, one narrow trait per purpose | not a general key-value store |
//! | [`admin`] | administration: clients, the switch, members, units, catalogue, terms, connections, keys, undo, audit | has no page and no route |
//! | [`sandbox`] | the whole exchange with seed data and a control interface | not used outside the sandbox |
//! | [`upkeep`] | deletes expired data, a bounded number of rows at a time | decides nothing that a request waits for |
//!
//! Time and randomness are injected through [`Environment`]; no other module reads a clock.

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
pub mod serve;
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
