//! The exchange from end to end, on this machine alone and in its own time: see `exchange_client_e2e::demo`.
//!
//! `cargo xtask demo`

use std::{
    env,
    error::Error,
    io::{IsTerminal as _, stdout},
};

use exchange_client::Environment;
use exchange_client_e2e::demo::{Stage, run};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let out = stdout();
    let colour = out.is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    run(&mut Stage { out, colour }, |_| Environment::system()).await
}
