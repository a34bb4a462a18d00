//! The command `exchange-service`.

fn main() {}
