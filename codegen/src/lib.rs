//! Skeleton.

pub mod resolve;
pub mod openapi;
pub mod load;
pub mod lower;
pub mod diagnostics;
pub mod pattern;
pub mod api;
pub mod client;
pub mod config;
pub mod emit;
pub mod names;
pub mod operations;
pub mod refine;
pub mod registry;
pub mod server;
pub mod rust_types;
pub mod schema;
pub mod shape;
pub mod tables;
pub mod tree;
pub mod generate;
pub mod render;
mod package;
