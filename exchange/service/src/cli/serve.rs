//! `exchange-service serve` and `exchange-service config`: load the configuration, then run the service or
//! print the configuration.

use std::sync::Arc;
use std::time::Duration;

use exchange_service::Environment;
use exchange_service::app;
use exchange_service::config::{Config, ConfigError};
use exchange_service::logging::LogFormat;
use exchange_service::sandbox::is_sandbox;
use exchange_service::serve::Server;
use exchange_service::serve::monitoring::{MetricsRecorder, Readiness, health_router};
use exchange_service::store::{Store, StoreLocation, StoreOptions};
use exchange_service::upkeep::Upkeep;
use figment::Figment;
use figment::providers::{Env, Format as _, Serialized, Toml};
use tokio::net::TcpListener;
use tokio::signal;

use super::{CommandError, ConfigArgs, print_line};

/// The names of the environment variables that have the prefix `EXCHANGE_` and are not configuration values.
/// The prefix is omitted.
const RESERVED_VARIABLES: [&str; 3] = ["config", "log", "sandbox"];

/// Runs the service until a signal stops it.
pub(super) fn run_serve(args: &ConfigArgs) -> Result<(), CommandError> {
    let config = Arc::new(load_config(args)?);
    super::init_log(LogFormat::Json)?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| CommandError::failed("cannot start the async runtime")(&error))?;
    let served = runtime.block_on(serve_config(config));
    // This does not wait for a store that was not closed in time.
    runtime.shutdown_background();
    served
}

async fn serve_config(config: Arc<Config>) -> Result<(), CommandError> {
    let undone = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
    let environment = Environment::system();
    let store = Store::open(&StoreOptions::new(StoreLocation::Folder(config.serve.data.clone())));
    let store = store.map_err(|error| undone(&error))?;
    if !config.serve.sandbox_data && store.read(is_sandbox).await.map_err(|error| undone(&error))? {
        let folder = config.serve.data.display();
        let message = format!("serve.data: {folder} contains sandbox data, whose passwords are public");
        return Err(CommandError::Configuration(format!("{message}\n  -> use another folder")));
    }
    let front = app::build_dispatcher(store.clone(), environment.clone(), Arc::clone(&config)).await;
    let front = front.map_err(|error| undone(&error))?;
    let upkeep = Upkeep::new(store.clone(), environment.clone(), Arc::clone(&config));
    let upkeep = upkeep.map_err(|error| undone(&error))?;
    let readiness = Readiness::new(store.clone());
    let front = front.merge(health_router(readiness.clone()));
    let server = Server::new(front, &config, &environment).map_err(|error| undone(&error))?;
    if let Some(address) = config.serve.metrics {
        let metrics = MetricsRecorder::install().map_err(|error| undone(&error))?;
        let listener = bind_listener(address).await?;
        tokio::spawn(metrics.clone().run_upkeep());
        let metrics =
            Server::new(metrics.into_router(), &config, &environment).map_err(|error| undone(&error))?;
        tokio::spawn(metrics.serve_until(listener, std::future::pending()));
    }
    let listener = bind_listener(config.serve.listen).await?;
    // The address is read from the listener, because the configured port may be 0, which selects a free port.
    let address = listener.local_addr().unwrap_or(config.serve.listen);
    tracing::info!(%address, role = ?config.serve.role, "listening");
    let upkeep = tokio::spawn(upkeep.run());
    let drain = Duration::from_secs(config.serve.drain_seconds);
    let shutdown = Duration::from_secs(config.serve.shutdown_seconds);
    server
        .serve_until(listener, async move {
            stop_signal().await;
            readiness.mark_stopping();
            tracing::info!(seconds = drain.as_secs(), "stopping after the drain time");
            // A second signal ends the drain time early.
            let _ = tokio::time::timeout(drain, stop_signal()).await;
        })
        .await;
    upkeep.abort();
    if !store.close_within(shutdown).await {
        tracing::warn!(
            "the store is still in use: its write-ahead log remains, and every copy must include it"
        );
    }
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

/// Prints the effective configuration.
pub(super) fn print_config(args: &ConfigArgs) -> Result<(), CommandError> {
    let config = load_config(args)?;
    let text = toml::to_string_pretty(&config)
        .map_err(|error| CommandError::failed("cannot write the configuration as TOML")(&error))?;
    print_line(text.trim_end());
    Ok(())
}
