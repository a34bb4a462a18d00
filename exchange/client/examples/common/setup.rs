//! What the examples share: a sandbox, and a member who signs in to it.

use std::error::Error;

use exchange_client::{Exchange, Identity, InMemory, Place, Session, api::scopes::Scope};

/// A result whose errors are only printed.
pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Lets the member sign in with these capabilities, as `sign_in` and `synced_list` show in full.
pub(crate) async fn sign_in(scopes: &[Scope]) -> Result<Exchange> {
    let place = Place::of_developer(|name| std::env::var(name).ok())?.ok_or("set EXCHANGE_SANDBOX")?;
    let identity = Identity::new("sandbox-client", "ExchangeExamples", "1.0.0", "https://desk.example")?;
    let session = Session::builder(&place, &identity).credentials(InMemory::new()).open().await?;
    let login = session.sign_in(scopes).await?;
    println!("Open {} and type {}", login.verification_uri(), login.user_code());
    login.finish().await?;
    Ok(Exchange::builder(place, identity).build(&session)?)
}
