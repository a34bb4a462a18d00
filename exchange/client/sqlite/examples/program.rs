//! A program that stays: files of its own, the platform's store for secrets, feeds and outbox side by side, until Enter.
//!
//! `cargo xtask sandbox`, then with the variable that it prints
//! `cargo run -p exchange-client-sqlite --example program`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::{env, io::stdin, path::PathBuf, sync::Arc};

use exchange_client::{
    Area, CredentialStore, Exchange, Identity, InsecureFile, Place, Replica, Session, SessionState,
    api::scopes::Scope,
};
use exchange_client_keyring::PlatformStore;
use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = Place::of_developer(|name| env::var(name).ok())?.ok_or("set EXCHANGE_SANDBOX")?;
    let identity = Identity::new("sandbox-client", "Program", "1.0.0", "https://desk.example")?;
    // Yours are the platform's: what nobody else has is state, what can be read again is cache.
    let folder = PathBuf::from(env::var_os("PROGRAM_FOLDER").unwrap_or_else(|| "exchange-program".into()));
    let (state, cache) = (folder.join("state"), folder.join("cache"));
    let secrets: Arc<dyn CredentialStore> = match env::var_os("INSECURE_FOLDER") {
        // Because somebody said so, and never because there is no store.
        Some(folder) => Arc::new(InsecureFile::open(folder)?),
        None => Arc::new(PlatformStore::new()),
    };
    let session =
        Session::builder(&place, &identity).state_folder(&state).credentials(secrets).open().await?;
    if session.state() != SessionState::Active {
        let login = session.sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await?;
        println!("Open {} and type {}", login.verification_uri(), login.user_code());
        login.finish().await?;
    }

    let exchange = Exchange::builder(place, identity).build(&session)?;
    let connection = exchange.connection().await?;
    let replica = Replica::new(SqliteReplica::open(&cache)?);
    let sync = exchange.sync(&replica);
    // Before anything is shown: what is kept here and is not this member's to see is forgotten.
    sync.session(&connection).await?;
    let outbox = exchange.outbox(SqliteOutbox::open(&state)?, &connection)?;
    // Whoever disconnects leaves nothing behind.
    session.keeps(replica.clone());
    session.keeps(outbox.clone());

    let mut pages = sync.events();
    let told = async {
        while let Ok(page) = pages.recv().await {
            println!("{}: {} changed, {} removed", page.area, page.changed.len(), page.removed.len());
        }
    };
    println!("Press Enter to end it.");
    let enter = tokio::task::spawn_blocking(|| stdin().read_line(&mut String::new()));
    tokio::select! {
        // Sends what is enqueued, reads back what was sent, reads what is due, forgets what is too old.
        _ = async { tokio::join!(outbox.run(), sync.follow(&outbox), sync.run()) } => {}
        () = told => {}
        _ = enter => {}
    }
    // So that the next start begins without a challenge, and no earlier than it may.
    session.save().await?;
    println!("{} lots are here for the next start", replica.count(Area::Stock)?);
    Ok(())
}
