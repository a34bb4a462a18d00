//! The gateway with a store in memory, and stand-ins for provider and backend.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bodies;
mod contract_files;
mod keys;
mod limits;
mod list_a;
mod list_b;
mod list_c;
mod list_d;
mod list_e;
mod list_h;
mod pairs;
mod relays;
mod requests;
mod secrecy;
mod serving;
mod stand_ins;
mod world;
