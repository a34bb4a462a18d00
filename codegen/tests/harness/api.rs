//! The whole output of the case `operations`, client and server included: what its `root.rs`
//! declares, without the features that a crate of its own would have.
#![deny(warnings, clippy::all)]
#![allow(clippy::duplicate_mod, reason = "the case is compiled without them as well")]
#![allow(dead_code, reason = "what a test does not ask for is part of the output all the same")]

#[path = "../cases/operations/expected/client.rs"]
pub mod client;
#[path = "../cases/operations/expected/models.rs"]
pub mod models;
#[path = "../cases/operations/expected/operations.rs"]
pub mod operations;
#[path = "../cases/operations/expected/schemas.rs"]
pub mod schemas;
#[path = "../cases/operations/expected/server.rs"]
pub mod server;
#[path = "../cases/operations/expected/types.rs"]
pub mod types;
