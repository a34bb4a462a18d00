//! The contract comparison: every rule once, and what must hold for any two contracts.

#[path = "drift/rules.rs"]
mod rules;
#[path = "drift/whole.rs"]
mod whole;
