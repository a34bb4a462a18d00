//! Shared setup of the examples, which signs a member in to a sandbox.

use std::error::Error;

use exchange_client::{
    ClientIdentity, Exchange, ExchangeAddress, MemoryCredentials, Session, api::scopes::Scope,
};

/// A result for errors that the examples only print.
pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Signs a member in with these scopes. The examples `sign_in.rs` and `synced_list.rs` explain the steps.
pub(crate) async fn sign_in(scopes: &[Scope]) -> Result<Exchange> {
    let address =
        ExchangeAddress::from_variable(|name| std::env::var(name).ok())?.ok_or("set EXCHANGE_SANDBOX")?;
    let identity =
        ClientIdentity::new("sandbox-client", "ExchangeExamples", "1.0.0", "https://desk.example")?;
    let session = Session::builder(&address, &identity).credentials(MemoryCredentials::new()).open().await?;
    let login = session.sign_in(scopes).await?;
    println!("Open {} and type {}", login.verification_uri(), login.user_code());
    login.finish().await?;
    Ok(Exchange::builder(address, identity).build(&session)?)
}
