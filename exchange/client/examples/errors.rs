//! Error handling: the kind, the advice, and the `Retry-After` time of an error.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example errors`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use std::time::Duration;

use exchange_client::{
    CallInitiator, ClientIdentity, Error, ErrorKind, Exchange, ExchangeAddress, RetryPolicy,
    api::{calls::ShipsReadOptions, scopes::Scope},
    changes::quantity,
};

#[tokio::main]
async fn main() -> common::Result {
    // The server is unreachable, and the retry policy allows only one attempt.
    let identity = ClientIdentity::new("sandbox-client", "Errors", "1.0.0", "https://desk.example")?;
    let nowhere = ExchangeAddress::new("http://127.0.0.1:9/idp", "http://127.0.0.1:9")?;
    let nowhere = Exchange::builder(nowhere, identity).build_signed_out()?;
    let once = RetryPolicy::new(1, Duration::from_secs(5), CallInitiator::Member);
    let call = nowhere.api().contract_openapi(Default::default()).with_extension(once);
    tell("a server that is not there", call.await.map_err(Error::from));

    // Without a session, the call is not sent.
    tell("a call before the sign-in", nowhere.api().service_document().await.map_err(Error::from));

    // The client detects a violation of the contract before it sends a request.
    tell("a quantity that is none", quantity::scu("-3"));

    // The member granted other scopes than the one for this call.
    let exchange = common::sign_in(&[Scope::ExchangeStockRead]).await?;
    let ships = exchange.api().ships_read(ShipsReadOptions::new()).await;
    tell("a capability that is missing", ships.map_err(Error::from));
    Ok(())
}

fn tell<T>(what: &str, result: Result<T, Error>) {
    let Err(error) = result else { return println!("{what}: nothing went wrong") };
    println!(
        "{what}\n  the line   {error}\n  its kind   {:?}\n  its advice {}",
        error.kind(),
        error.advice().message()
    );
    if let Some(code) = error.code() {
        println!("  its code   {code}, correlation id {}", error.correlation_id().unwrap_or("none"));
    }
    println!("  so         {}", next_step(&error));
}

/// Returns the reaction of a program. It depends only on the kind of the error.
fn next_step(error: &Error) -> String {
    match error.kind() {
        ErrorKind::SignInNeeded | ErrorKind::Ended(_) => {
            "offer to sign in, and wait for the member".to_owned()
        }
        ErrorKind::ScopeMissing => "offer to sign in again for this feature; the others go on".to_owned(),
        ErrorKind::Halted(halt) => format!("stop altogether: {}", halt.message()),
        ErrorKind::Busy | ErrorKind::QuotaExceeded => match error.retry_after() {
            Some(time) => format!("wait {} s: never less", time.as_secs()),
            None => "back off".to_owned(),
        },
        ErrorKind::Unreachable => "back off: nothing was sent".to_owned(),
        ErrorKind::OutcomeUnknown => "send it again under its key: an outbox does".to_owned(),
        ErrorKind::Conflict => "pull, merge, send it under a new key".to_owned(),
        ErrorKind::Invalid => "correct it; it is never sent again unchanged".to_owned(),
        _ => "show the line".to_owned(),
    }
}
