//! `exchange-service serve` and `exchange-service config`: load the configuration, then run the service or
//! print the configuration.

mod notify;
mod reload;

use std::sync::Arc;
use std::time::Duration;

use exchange_service::Environment;
use exchange_service::app;
use exchange_service::config::{CONFIG_SCHEMA, Config, ConfigError, MemberNaming, to_commented_toml};
use exchange_service::logging::{LogControl, LogFormat, use_pseudonyms};
use exchange_service::sandbox::is_sandbox;
use exchange_service::serve::Server;
use exchange_service::serve::folder_lock::{FolderLock, FolderSharing};
use exchange_service::serve::monitoring::{GaugeSource, MetricsRecorder, Readiness, health_router};
use exchange_service::store::{Store, StoreLocation, StoreOptions};
use exchange_service::upkeep::Upkeep;
use figment::Figment;
use figment::providers::{Env, Format as _, Serialized, Toml};
use tokio::net::TcpListener;
use tokio::signal;

use super::{CommandError, ConfigArgs, PrintConfigArgs, ServeArgs, print_line};

/// The names of the environment variables that have the prefix `EXCHANGE_` and are not configuration values.
/// The prefix is omitted.
const RESERVED_VARIABLES: [&str; 3] = ["config", "log", "sandbox"];

/// Runs the service until a signal stops it.
pub(super) fn run_serve(args: &ServeArgs) -> Result<(), CommandError> {
    let config = Arc::new(load_config(&args.config)?);
    let log = super::init_log(LogFormat::Json, &config.log.level)?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| CommandError::failed("cannot start the async runtime")(&error))?;
    let served = runtime.block_on(serve_config(args, config, log));
    // This does not wait for a store that was not closed in time.
    runtime.shutdown_background();
    served
}

async fn serve_config(args: &ServeArgs, config: Arc<Config>, log: LogControl) -> Result<(), CommandError> {
    let undone = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
    let environment = Environment::system();
    let folder = config.serve.data.clone();
    // The folder is locked before the store is migrated, which would disturb a running process of an older version.
    let sharing = if args.shared_folder { FolderSharing::Shared } else { FolderSharing::Exclusive };
    let lock = FolderLock::acquire(&folder, config.serve.role, sharing).map_err(|error| undone(&error))?;
    let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.clone())));
    let store = store.map_err(|error| undone(&error))?;
    if !config.serve.sandbox_data && store.read(is_sandbox).await.map_err(|error| undone(&error))? {
        let message =
            format!("serve.data: {} contains sandbox data, whose passwords are public", folder.display());
        return Err(CommandError::Configuration(format!("{message}\n  -> use another folder")));
    }
    if config.log.members == MemberNaming::Pseudonym {
        use_pseudonyms(&store, &environment).await.map_err(|error| undone(&error))?;
    }
    let front = app::build_dispatcher(store.clone(), environment.clone(), Arc::clone(&config)).await;
    let front = front.map_err(|error| undone(&error))?;
    let upkeep = Upkeep::new(store.clone(), environment.clone(), Arc::clone(&config));
    let upkeep = upkeep.map_err(|error| undone(&error))?;
    let readiness = Readiness::new(store.clone(), environment.clone());
    let front = front.merge(health_router(readiness.clone()));
    let server = Server::new(front.clone(), &config, &environment).map_err(|error| undone(&error))?;
    if let Some(address) = config.serve.metrics {
        let metrics = MetricsRecorder::install().map_err(|error| undone(&error))?;
        let listener = bind_listener(address).await?;
        tokio::spawn(metrics.clone().run_upkeep());
        let gauges = GaugeSource::new(store.clone(), &config, &front, &server);
        let metrics = server.with_dispatcher(metrics.into_router(gauges));
        // A certificate is for the public name of the service, with which no scraper on this machine calls it.
        let metrics = if address.ip().is_loopback() { metrics.without_tls() } else { metrics };
        tokio::spawn(metrics.serve_until(listener, std::future::pending()));
    }
    if let Some(certificate) = server.certificate() {
        tokio::spawn(certificate.clone().watch());
    }
    let listener = bind_listener(config.serve.listen).await?;
    // The address is read from the listener, because the configured port may be 0, which selects a free port.
    let address = listener.local_addr().unwrap_or(config.serve.listen);
    let reloads = reload::Reloads {
        args: args.config.clone(),
        started_with: Arc::clone(&config),
        log,
        certificate: server.certificate().cloned(),
        gateway: front.gateway().cloned(),
    };
    let reloads = tokio::spawn(reloads.run());
    tracing::info!(%address, role = ?config.serve.role, version = env!("CARGO_PKG_VERSION"), "listening");
    notify::notify_manager("READY=1");
    let upkeep = tokio::spawn(upkeep.run());
    let drain = Duration::from_secs(config.serve.drain_seconds);
    let shutdown = Duration::from_secs(config.serve.shutdown_seconds);
    server
        .serve_until(listener, async move {
            stop_signal().await;
            readiness.mark_stopping();
            notify::notify_manager("STOPPING=1");
            tracing::info!(seconds = drain.as_secs(), "stopping after the drain time");
            // A second signal ends the drain time early.
            let _ = tokio::time::timeout(drain, stop_signal()).await;
        })
        .await;
    upkeep.abort();
    reloads.abort();
    if !store.close_within(shutdown).await {
        tracing::warn!(
            "the store is still in use: its write-ahead log remains, and every copy must include it"
        );
    }
    drop(lock);
    tracing::info!("stopped");
    Ok(())
}

async fn bind_listener(address: std::net::SocketAddr) -> Result<TcpListener, CommandError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| CommandError::Failed(format!("cannot listen on {address}: {error}")))
}

/// Waits for an interrupt or termination signal.
pub(super) async fn stop_signal() {
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

/// Loads the configuration. The file overrides the defaults, and the environment overrides the file.
pub(super) fn load_config(args: &ConfigArgs) -> Result<Config, CommandError> {
    let mut figment = Figment::from(Serialized::defaults(Config::default()));
    if let Some(file) = args.config_path() {
        if !file.is_file() {
            return Err(CommandError::Configuration(format!("file not found: {}", file.display())));
        }
        figment = figment.merge(Toml::file_exact(file));
    }
    let environment = Env::prefixed("EXCHANGE_")
        .ignore(&RESERVED_VARIABLES)
        .map(|key| key.as_str().replace("__", ".").replace('_', "-").into());
    let figment = figment.merge(environment);
    let config: Config = figment.extract().map_err(|error| {
        let each: Vec<String> = error.into_iter().map(|error| describe_parse_error(&error)).collect();
        CommandError::Configuration(each.join("\n"))
    })?;
    let errors = config.find_errors();
    if errors.is_empty() {
        return Ok(config);
    }
    let each: Vec<String> = errors.iter().map(|error| describe_config_error(&figment, error)).collect();
    Err(CommandError::Configuration(each.join("\n")))
}

/// Describes an unknown key or a value of the wrong type.
fn describe_parse_error(error: &figment::Error) -> String {
    let key = error.path.join(".");
    let from = error.metadata.as_ref().map_or_else(String::new, |from| value_origin(from, &key));
    let advice = "`exchange-service config` without a file prints every key with its default";
    format!("{key}{from}: {}\n  -> {advice}", error.kind)
}

/// Describes a value that is invalid by itself or in combination with others.
fn describe_config_error(figment: &Figment, ConfigError { key, reason, advice }: &ConfigError) -> String {
    let from = figment.find_metadata(key).map_or_else(String::new, |from| value_origin(from, key));
    format!("{key}{from}: {reason}\n  -> {advice}")
}

/// Describes the source of a value.
fn value_origin(from: &figment::Metadata, key: &str) -> String {
    match &from.source {
        Some(figment::Source::File(path)) => format!(" in {}", path.display()),
        None if from.name.contains("environment") => {
            let variable = key.to_uppercase().replace('-', "_").replace('.', "__");
            format!(" in the environment (EXCHANGE_{variable})")
        }
        // The value is a default.
        _ => String::new(),
    }
}

/// Prints the effective configuration, or its JSON Schema.
pub(super) fn print_config(args: &PrintConfigArgs) -> Result<(), CommandError> {
    if args.schema {
        print_line(CONFIG_SCHEMA.trim_end());
        return Ok(());
    }
    let config = load_config(&args.config)?;
    let text = to_commented_toml(&config)
        .map_err(|error| CommandError::failed("cannot write the configuration as TOML")(&error))?;
    print_line(CONFIG_HEAD);
    print_line(text.trim_end());
    Ok(())
}

const CONFIG_HEAD: &str = "\
# The configuration of exchange-service. Keys that are commented out are not set.
# For `per-member` in the table `limits`, the environment variable EXCHANGE_LIMITS__PER_MEMBER overrides the file.
# docs/operations.md explains the operation of the service.";
