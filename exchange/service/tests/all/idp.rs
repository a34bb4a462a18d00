//! The identity provider over HTTP: valid, invalid and forged requests.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod admin;
mod clients_page;
mod device;
mod external;
pub(crate) mod forge;
mod forgeries;
mod model;
mod pages;
mod proofs;
mod refresh;
mod secrecy;
mod setup;
mod verifier;
mod world;
