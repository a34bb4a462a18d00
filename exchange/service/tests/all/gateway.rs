//! Tests of the gateway with an in-memory store and stand-ins for identity provider and backend.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

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
