//! The exchange, whole: identity provider, gateway, backend and the member's pages, in one process
//! with nothing to install.
//!
//! A request passes from left to right; nothing on the right knows what stands left of it.
//!
//! ```text
//! serve ──► gateway ──► relay ──► backend ──► areas ──► store
//!   │         │ idp: tokens        │ members, registry, catalogue, feed, journal
//!   └──► idp ─┴► web pages ────────┘
//! ```
//!
//! | module | what it is | what it is not |
//! |---|---|---|
//! | [`serve`] | connections: accepted, bounded, timed, and given to a router | it reads no token and no body |
//! | [`gateway`] | the order of checks (GW-01) as a list of stages, and what each costs | it decides nothing about a member's data |
//! | [`relay`] | what passed to the backend: in this process, or signed to another one | it decides nothing but whose request it is |
//! | [`backend`] | members, areas, change sets; one decision path for every write | it reads no header but what [`Caller`] says |
//! | [`feed`] | what changed in a collection since a reader's last page: streams, cursors, tombstones | it knows no area |
//! | [`catalogue`] | what references resolve to, in memory | it knows no member |
//! | [`idp`] | OAuth: device grant, tokens, refresh, revocation, keys | it knows nothing of the exchange's areas but their scopes |
//! | [`store`] | SQLite: one writer with group commit, readers beside it, migrations, backup | it knows no area |
//! | [`web`] | the member's pages: sign-in, consent, held batches, drafts and files, refinery orders, applications, what they wrote taken back, notices, profile, reservations; registered clients for administrators | it decides nothing; a form is a request to the provider or the backend |
//! | [`shared`] | what several processes would share for a short while, one narrow trait per meaning | a general key-value store |
//! | [`admin`] | what an administrator changes and reads: clients, the switch, members, units, catalogue, terms, connections, keys, whose writes are undone, the audit | no page and no route |
//! | [`sandbox`] | the whole exchange, seeded, with its own control interface | nothing of it runs outside the sandbox |
//! | [`upkeep`] | what has had its time goes, a bounded piece at a time | it decides nothing that a request would wait for |
//!
//! Time and randomness come in through [`Environment`]; nothing else reads a clock.

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
mod observed;
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
pub mod time;
mod timed;
pub mod upkeep;
pub mod web;

pub use caller::Caller;
pub use environment::Environment;
