//! Tests of the gateway with an in-memory store and stand-ins for identity provider and backend.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

mod access_tokens;
mod bodies;
mod contract_files;
mod freshness;
mod harness;
mod hostile_requests;
mod keys;
mod limits;
mod pairs;
mod proof_encoding;
mod proof_requirements;
mod relays;
mod replays;
mod requests;
mod secrecy;
mod serving;
mod stand_ins;
