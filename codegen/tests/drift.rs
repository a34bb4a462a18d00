//! Tests of the contract comparison: each rule, the properties that all comparisons have, and the command.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

#[path = "drift/command.rs"]
mod command;
#[path = "drift/directions.rs"]
mod directions;
#[path = "drift/formats.rs"]
mod formats;
#[path = "drift/forms.rs"]
mod forms;
#[path = "drift/hooks.rs"]
mod hooks;
#[path = "drift/impossible.rs"]
mod impossible;
#[path = "drift/large.rs"]
mod large;
#[path = "drift/lifecycle.rs"]
mod lifecycle;
#[path = "drift/lists.rs"]
mod lists;
#[path = "drift/meanings.rs"]
mod meanings;
#[path = "drift/newcomers.rs"]
mod newcomers;
#[path = "drift/others.rs"]
mod others;
#[path = "drift/pages.rs"]
mod pages;
#[path = "drift/places.rs"]
mod places;
#[path = "drift/plain.rs"]
mod plain;
#[path = "drift/proofs.rs"]
mod proofs;
#[path = "drift/revisions.rs"]
mod revisions;
#[path = "drift/rules.rs"]
mod rules;
#[path = "drift/schemes.rs"]
mod schemes;
#[path = "drift/spelling.rs"]
mod spelling;
#[path = "drift/unread.rs"]
mod unread;
#[path = "drift/whole.rs"]
mod whole;
#[path = "drift/wire.rs"]
mod wire;
