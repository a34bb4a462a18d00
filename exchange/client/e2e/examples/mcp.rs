//! Serves the operations of the exchange as tools for an AI agent, in the session of a member. The client signs each
//! request with DPoP, repeats it, and limits the rate, as for all other calls.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, and let an agent run
//! `cargo run -q -p exchange-client-e2e --example mcp`. The code for the sign-in is printed to standard error, because
//! standard output is used by the protocol.

use std::{
    error::Error,
    io::{Write as _, stderr},
    path::Path,
};

use contract_codegen::{
    Project,
    mcp::{ContractTools, ToolOptions, ToolServer},
};
use exchange_client::{
    ClientIdentity, Exchange, ExchangeAddress, MemoryCredentials, Session, api::scopes::Scope,
};

/// The contract of the exchange. Its codegen.toml selects the operations that read, such as a lookup with `POST`.
pub(crate) const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../schemas/codegen.toml");

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address =
        ExchangeAddress::from_variable(|name| std::env::var(name).ok())?.ok_or("set EXCHANGE_SANDBOX")?;
    let identity = ClientIdentity::new("sandbox-client", "ExchangeTools", "1.0.0", "https://desk.example")?;
    let session = Session::builder(&address, &identity).credentials(MemoryCredentials::new()).open().await?;
    let scopes = [Scope::ExchangeBlueprintsRead, Scope::ExchangeHangarRead, Scope::ExchangeStockRead];
    let login = session.sign_in(&scopes).await?;
    writeln!(stderr(), "Open {} and type {}", login.verification_uri(), login.user_code())?;
    login.finish().await?;
    let exchange = Exchange::builder(address, identity).build(&session)?;
    Ok(tool_server(&exchange)?.serve_stdio(|line| eprintln!("{line}")).await?)
}

/// Returns a server of tools that sends its requests with the transport of the client.
pub(crate) fn tool_server(exchange: &Exchange) -> Result<ToolServer, Box<dyn Error>> {
    let project = Project::from_config(Path::new(CONTRACT)).map_err(|problems| problems.to_string())?;
    let contract = project.read_contract().map_err(|problems| problems.to_string())?;
    let client = exchange.api().api_client();
    let options = ToolOptions { server: Some(client.base_url().to_owned()), ..ToolOptions::default() };
    let tools = ContractTools::new(project, contract, options);
    Ok(ToolServer::new(tools, client.transport().clone()))
}
