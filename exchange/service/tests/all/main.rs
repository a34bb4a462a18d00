//! Integration tests of the service, one module per part.

mod backend;
mod client;
mod command;
mod crashes;
mod fixtures;
mod gateway;
mod idp;
mod instances;
mod kit;
mod parts;
mod proofs;
mod provoked;
mod sandbox;
mod secrecy;
mod upkeep;
