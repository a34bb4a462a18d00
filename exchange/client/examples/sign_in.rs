//! Signs in with the device flow, as the member sees it: the code, the wait, the granted scopes, and
//! disconnecting.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example sign_in`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use exchange_client::{
    ClientIdentity, ErrorKind, ExchangeAddress, LoginProgress, MemoryCredentials, Session, api::scopes::Scope,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // If the variable is not set, a real program uses the address that it was built for.
    let address =
        ExchangeAddress::from_variable(|name| std::env::var(name).ok())?.ok_or("set EXCHANGE_SANDBOX")?;
    let identity = ClientIdentity::new("sandbox-client", "SignIn", "1.0.0", "https://desk.example")?;
    // Secrets in memory are lost when the program ends. A real program uses the platform's store and sets a
    // state folder.
    let session = Session::builder(&address, &identity).credentials(MemoryCredentials::new()).open().await?;
    println!("before    {:?}, secrets are kept in {}", session.state(), session.credential_store_name());

    let login = session.sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeHangarRead]).await?;
    println!("open      {}", login.verification_uri());
    println!("type      {} within {} s", login.user_code(), login.expires_in().as_secs());
    let print_progress = |progress| match progress {
        LoginProgress::Waiting { next, left } => {
            println!("waiting   next check in {} s, {} s left", next.as_secs(), left.as_secs());
        }
        LoginProgress::Unreachable { error, .. } => println!("waiting   {error}"),
        LoginProgress::ClockRunsFast => println!("look at   the clock of this computer: it runs fast"),
        _ => {}
    };
    match login.finish_with(print_progress).await {
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
        if gone.is_complete() { "nothing is left" } else { "look again" }
    );
    Ok(())
}
