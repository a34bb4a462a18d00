//! Tests of the identity provider over HTTP, with valid, invalid and forged requests.
#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

mod account;
mod admin;
mod admin_members;
mod clients_page;
mod device;
mod external;
pub(crate) mod forge;
mod forgeries;
mod harness;
mod model;
mod pages;
mod proofs;
mod refresh;
mod secrecy;
mod setup;
mod sign_ins;
mod verifier;
