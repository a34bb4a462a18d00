//! The whole output of every case with operations, clients and servers included.
//!
//! Written by `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output`.
#![deny(warnings, clippy::all)]
#![allow(clippy::module_inception, reason = "one case is called like a module")]
#![allow(clippy::duplicate_mod, reason = "the case is compiled without them as well")]
#![allow(dead_code, reason = "what a test does not ask for is part of the output all the same")]

#[path = "../cases/command_line/expected"]
pub mod command_line {
    pub mod bodies;
    pub mod calls;
    pub mod cli;
    pub mod client;
    pub mod credentials;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod types;
}

#[path = "../cases/command_line_named/expected"]
pub mod command_line_named {
    pub mod bodies;
    pub mod calls;
    pub mod cli;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/credentials/expected"]
pub mod credentials {
    pub mod calls;
    pub mod client;
    pub mod credentials;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod types;
}

#[path = "../cases/dynamic_ref_generic/expected"]
pub mod dynamic_ref_generic {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/faults_operations/expected"]
pub mod faults_operations {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod responses;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/faults_paths/expected"]
pub mod faults_paths {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/faults_yaml/expected"]
pub mod faults_yaml {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/formats/expected"]
pub mod formats {
    pub mod calls;
    pub mod client;
    pub mod formats;
    pub mod json_schemas;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod strategies;
    pub mod types;
}

#[path = "../cases/hangar/expected"]
pub mod hangar {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod responses;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/idempotency_keys/expected"]
pub mod idempotency_keys {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/openapi_30/expected"]
pub mod openapi_30 {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/openapi_32/expected"]
pub mod openapi_32 {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/openapi_files/expected"]
pub mod openapi_files {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/operations/expected"]
pub mod operations {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/operations_all/expected"]
pub mod operations_all {
    pub mod bodies;
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod responses;
    pub mod schemas;
    pub mod server;
    pub mod types;
    pub mod webhook_calls;
    pub mod webhook_client;
    pub mod webhook_server;
    pub mod webhooks;
}

#[path = "../cases/operations_apart/expected"]
pub mod operations_apart {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/operations_odd/expected"]
pub mod operations_odd {
    pub mod bodies;
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/operations_unsendable/expected"]
pub mod operations_unsendable {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/overlays/expected"]
pub mod overlays {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/pages/expected"]
pub mod pages {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod types;
}

#[path = "../cases/streams/expected"]
pub mod streams {
    pub mod bodies;
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod responses;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/streams_typed/expected"]
pub mod streams_typed {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/union_of_children/expected"]
pub mod union_of_children {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}

#[path = "../cases/views/expected"]
pub mod views {
    pub mod call_views;
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
    pub mod views;
}

#[path = "../cases/wire/expected"]
pub mod wire {
    pub mod calls;
    pub mod client;
    pub mod models;
    pub mod operations;
    pub mod schemas;
    pub mod server;
    pub mod types;
}
