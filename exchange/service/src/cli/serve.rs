//! `serve` and `config`.

use std::sync::Arc;
use std::time::Duration;

use exchange_service::Environment;
use exchange_service::app;
use exchange_service::config::{Config, Wrong};
use exchange_service::logging::Form;
use exchange_service::sandbox::is_sandbox;
use exchange_service::serve::Server;
use exchange_service::serve::watch::{Metrics, Readiness, health};
use exchange_service::store::{Options, Place, Store};
use exchange_service::upkeep::Upkeep;
use figment::Figment;
use figment::providers::{Env, Format as _, Serialized, Toml};
use tokio::net::TcpListener;
use tokio::signal;

use super::{ConfigArgs, Failure, say};

/// Variables of the same beginning that are no values of the configuration.
const OTHERS: [&str; 3] = ["config", "log", "sandbox"];

/// Serves until it is told to stop.
pub(super) fn run(args: &ConfigArgs) -> Result<(), Failure> {
    let config = Arc::new(configuration(args)?);
    super::log(Form::Json)?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::undone("cannot start")(&error))?;
    let served = runtime.block_on(serve(config));
    // A store that is not closed in time is not waited for here, either.
    runtime.shutdown_background();
    served
}

async fn serve(config: Arc<Config>) -> Result<(), Failure> {
    let undone = |error: &dyn std::fmt::Display| Failure::Undone(error.to_string());
    let environment = Environment::system();
    let store = Store::open(&Options::new(Place::Folder(config.serve.data.clone())));
    let store = store.map_err(|error| undone(&error))?;
    if !config.serve.sandbox_data && store.read(is_sandbox).await.map_err(|error| undone(&error))? {
        let folder = config.serve.data.display();
        let said = format!("serve.data: {folder} is a sandbox's: everybody knows its passwords");
        return Err(Failure::Configuration(format!("{said}\n  -> name another folder")));
    }
    let front = app::front(store.clone(), environment.clone(), Arc::clone(&config)).await;
    let front = front.map_err(|error| undone(&error))?;
    let upkeep = Upkeep::new(store.clone(), environment.clone(), Arc::clone(&config));
    let upkeep = upkeep.map_err(|error| undone(&error))?;
    let readiness = Readiness::new(store.clone());
    let front = front.merge(health(readiness.clone()));
    let server = Server::new(front, &config, &environment).map_err(|error| undone(&error))?;
    if let Some(address) = config.serve.metrics {
        let metrics = Metrics::install().map_err(|error| undone(&error))?;
        let listener = listen(address).await?;
        tokio::spawn(metrics.clone().add_up());
        let metrics = Server::new(metrics.router(), &config, &environment).map_err(|error| undone(&error))?;
        tokio::spawn(metrics.run(listener, std::future::pending()));
    }
    let listener = listen(config.serve.listen).await?;
    // The port may be one that the system chose.
    let address = listener.local_addr().unwrap_or(config.serve.listen);
    tracing::info!(%address, role = ?config.serve.role, "listening");
    let upkeep = tokio::spawn(upkeep.run());
    let drain = Duration::from_secs(config.serve.drain_seconds);
    let shutdown = Duration::from_secs(config.serve.shutdown_seconds);
    server
        .run(listener, async move {
            told_to_stop().await;
            readiness.stop();
            tracing::info!(seconds = drain.as_secs(), "stopping, as soon as balancers know");
            // Told again, it waits no longer.
            let _ = tokio::time::timeout(drain, told_to_stop()).await;
        })
        .await;
    upkeep.abort();
    if !store.close_within(shutdown).await {
        tracing::warn!(
            "the store is still being read: its log stays beside it, and belongs to every copy of it"
        );
    }
    tracing::info!("stopped");
    Ok(())
}

async fn listen(address: std::net::SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| Failure::Undone(format!("cannot listen on {address}: {error}")))
}

/// Interrupted, or terminated.
pub(super) async fn told_to_stop() {
    #[cfg(unix)]
    {
        use signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminated) => tokio::select! {
                _ = terminated.recv() => {}
                _ = signal::ctrl_c() => {}
            },
            Err(_) => {
                let _ = signal::ctrl_c().await;
            }
        }
    }
    #[cfg(not(unix))]
    let _ = signal::ctrl_c().await;
}

/// Defaults, then the file, then the environment.
pub(super) fn configuration(args: &ConfigArgs) -> Result<Config, Failure> {
    let mut figment = Figment::from(Serialized::defaults(Config::default()));
    if let Some(file) = args.file() {
        if !file.is_file() {
            return Err(Failure::Configuration(format!("there is no file {}", file.display())));
        }
        figment = figment.merge(Toml::file_exact(file));
    }
    let environment = Env::prefixed("EXCHANGE_")
        .ignore(&OTHERS)
        .map(|key| key.as_str().replace("__", ".").replace('_', "-").into());
    let figment = figment.merge(environment);
    let config: Config = figment.extract().map_err(|error| {
        let each: Vec<String> = error.into_iter().map(|error| unreadable(&error)).collect();
        Failure::Configuration(each.join("\n"))
    })?;
    let wrong = config.check();
    if wrong.is_empty() {
        return Ok(config);
    }
    let each: Vec<String> = wrong.iter().map(|wrong| unusable(&figment, wrong)).collect();
    Err(Failure::Configuration(each.join("\n")))
}

/// A value that is no value of its key, or a key that there is not.
fn unreadable(error: &figment::Error) -> String {
    let key = error.path.join(".");
    let from = error.metadata.as_ref().map_or_else(String::new, |from| origin(from, &key));
    let advice = "`exchange-service config` without a file prints every key, with a value that works";
    format!("{key}{from}: {}\n  -> {advice}", error.kind)
}

/// A value that does not go with the others.
fn unusable(figment: &Figment, Wrong { key, reason, advice }: &Wrong) -> String {
    let from = figment.find_metadata(key).map_or_else(String::new, |from| origin(from, key));
    format!("{key}{from}: {reason}\n  -> {advice}")
}

/// Where a value was found.
fn origin(from: &figment::Metadata, key: &str) -> String {
    match &from.source {
        Some(figment::Source::File(path)) => format!(" in {}", path.display()),
        None if from.name.contains("environment") => {
            let variable = key.to_uppercase().replace('-', "_").replace('.', "__");
            format!(" in the environment (EXCHANGE_{variable})")
        }
        // It was left as it is by default.
        _ => String::new(),
    }
}

/// Prints what holds.
pub(super) fn print_config(args: &ConfigArgs) -> Result<(), Failure> {
    let config = configuration(args)?;
    let text = toml::to_string_pretty(&config).map_err(|error| Failure::undone("cannot print")(&error))?;
    say(text.trim_end());
    Ok(())
}
