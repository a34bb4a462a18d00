//! A program that runs until Enter is pressed, with its own files and the platform's credential store. It
//! synchronizes feeds and sends the outbox in parallel.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run `cargo run -p
//! exchange-client-sqlite --example program`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::{env, io::stdin, path::PathBuf, sync::Arc};

use exchange_client::{
    Area, ClientIdentity, CredentialStore, Exchange, ExchangeAddress, InsecureFileCredentials, Replica,
    Session, SessionState, api::scopes::Scope,
};
use exchange_client_keyring::PlatformStore;
use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address =
        ExchangeAddress::from_variable(|name| env::var(name).ok())?.ok_or("set EXCHANGE_SANDBOX")?;
    let identity = ClientIdentity::new("sandbox-client", "Program", "1.0.0", "https://desk.example")?;
    // Use the platform's folders: the state folder for data without another copy, the cache folder for data
    // that can be read again.
    let folder = PathBuf::from(env::var_os("PROGRAM_FOLDER").unwrap_or_else(|| "exchange-program".into()));
    let (state, cache) = (folder.join("state"), folder.join("cache"));
    let secrets: Arc<dyn CredentialStore> = match env::var_os("INSECURE_FOLDER") {
        // This store is used only if the user selects it explicitly, never as a fallback.
        Some(folder) => Arc::new(InsecureFileCredentials::open(folder)?),
        None => Arc::new(PlatformStore::new()),
    };
    let session =
        Session::builder(&address, &identity).state_folder(&state).credentials(secrets).open().await?;
    if session.state() != SessionState::Active {
        let login = session.sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await?;
        println!("Open {} and type {}", login.verification_uri(), login.user_code());
        login.finish().await?;
    }

    let exchange = Exchange::builder(address, identity).build(&session)?;
    let connection = exchange.connection().await?;
    let replica = Replica::new(SqliteReplica::open(&cache)?);
    let sync = exchange.sync(&replica);
    // This deletes stored data that the member may not see, so it must precede the display of data.
    sync.begin_session(&connection).await?;
    let outbox = exchange.outbox(SqliteOutbox::open(&state)?, &connection)?;
    // Local data is deleted when the member disconnects.
    session.register_local_data(replica.clone());
    session.register_local_data(outbox.clone());

    let mut pages = sync.events();
    let events = async {
        while let Ok(page) = pages.recv().await {
            println!("{}: {} changed, {} removed", page.area, page.changed.len(), page.removed.len());
        }
    };
    println!("Press Enter to end it.");
    let enter = tokio::task::spawn_blocking(|| stdin().read_line(&mut String::new()));
    tokio::select! {
        // These futures send enqueued changes, read them back, read due areas, and delete expired data.
        _ = async { tokio::join!(outbox.run(), sync.follow_outbox(&outbox), sync.run()) } => {}
        () = events => {}
        _ = enter => {}
    }
    // The next start then needs no nonce challenge, and respects `Retry-After` times.
    session.save_state().await?;
    println!("{} lots are stored for the next start", replica.count(Area::Stock)?);
    Ok(())
}
