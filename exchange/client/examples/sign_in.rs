//! A device login as a person sees it: the code, the wait, what was granted; and the end of the connection.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example sign_in`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use exchange_client::{ErrorKind, Identity, InMemory, LoginProgress, Place, Session, api::scopes::Scope};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A real program falls back to its own, pinned place here.
    let place = Place::of_developer(|name| std::env::var(name).ok())?.ok_or("set EXCHANGE_SANDBOX")?;
    let identity = Identity::new("sandbox-client", "SignIn", "1.0.0", "https://desk.example")?;
    // In memory nothing outlives the program. One that is kept gives a store of the platform, and a folder, too.
    let session = Session::builder(&place, &identity).credentials(InMemory::new()).open().await?;
    println!("before    {:?}, secrets are kept in {}", session.state(), session.secret_store());

    let login = session.sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeHangarRead]).await?;
    println!("open      {}", login.verification_uri());
    println!("type      {} within {} s", login.user_code(), login.expires_in().as_secs());
    let told = |progress| match progress {
        LoginProgress::Waiting { next, left } => {
            println!("waiting   next check in {} s, {} s left", next.as_secs(), left.as_secs());
        }
        LoginProgress::Unreachable { error, .. } => println!("waiting   {error}"),
        LoginProgress::ClockRunsFast => println!("look at   the clock of this computer: it runs fast"),
        _ => {}
    };
    match login.finish_with(told).await {
        Ok(()) => {}
        Err(error) if matches!(error.kind(), ErrorKind::Declined | ErrorKind::CodeExpired) => {
            println!("not now   {error}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    let granted: Vec<_> = session.scopes().iter().map(ToString::to_string).collect();
    println!("granted   {}", granted.join(", "));

    let gone = session.disconnect().await;
    println!(
        "after     {:?}, {}",
        session.state(),
        if gone.is_gone() { "nothing is left" } else { "look again" }
    );
    Ok(())
}
