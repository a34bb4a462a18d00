//! Integration tests of the service, one module per part.

mod backend;
mod client;
mod command;
mod crashes;
mod error_coverage;
mod fixtures;
mod gateway;
mod idp;
mod instances;
mod parts;
mod proofs;
mod sandbox;
mod secrecy;
mod support;
mod upkeep;
