//! Runs the demonstration of the exchange on this machine in real time; see `exchange_client_e2e::demo`.
//!
//! Start it with `cargo xtask demo`.

use std::{
    env,
    error::Error,
    io::{IsTerminal as _, stdout},
};

use exchange_client::Environment;
use exchange_client_e2e::demo::{DemoOutput, run};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let out = stdout();
    let colour = out.is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    run(&mut DemoOutput { out, colour }, |_| Environment::system()).await
}
