//! Reloads parts of a running service on the signal HUP: the log level, the certificate and the registry.

use std::sync::Arc;

use exchange_service::config::Config;
use exchange_service::gateway::Gateway;
use exchange_service::logging::LogControl;
use exchange_service::serve::{ServerCertificate, log_reload};
use toml::{Table, Value};

use super::super::ConfigArgs;
use super::load_config;
use crate::cli::CommandError;

/// The keys that a reload applies. The paths of the certificate are only applied if the service was started with
/// a certificate.
const APPLIED_KEYS: [&str; 3] = ["log.level", "serve.certificate", "serve.private-key"];

/// The parts of a running service that can be reloaded.
pub(super) struct Reloads {
    /// The arguments from which the configuration is loaded again.
    pub(super) args: ConfigArgs,
    /// The configuration with which the service was started.
    pub(super) started_with: Arc<Config>,
    pub(super) log: LogControl,
    pub(super) certificate: Option<ServerCertificate>,
    pub(super) gateway: Option<Gateway>,
}

impl Reloads {
    /// Reloads at each signal, without end.
    #[cfg(unix)]
    pub(super) async fn run(self) {
        use tokio::signal::unix::{SignalKind, signal};
        let mut hangups = match signal(SignalKind::hangup()) {
            Ok(hangups) => hangups,
            Err(error) => {
                tracing::warn!(%error, "cannot receive the signal HUP");
                return;
            }
        };
        while hangups.recv().await.is_some() {
            self.reload();
        }
    }

    /// There is no such signal on this system.
    #[cfg(not(unix))]
    pub(super) async fn run(self) {
        std::future::pending::<()>().await;
    }

    /// Loads the configuration again and applies it. An invalid configuration changes nothing.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no signal on this system"))]
    fn reload(&self) {
        let config = match load_config(&self.args) {
            Ok(config) => config,
            Err(CommandError::Configuration(error) | CommandError::Failed(error)) => {
                tracing::error!(error, "reload.failed");
                return;
            }
        };
        if let Err(error) = self.log.set_level(&config.log.level) {
            tracing::error!(%error, "reload.failed");
            return;
        }
        if let (Some(certificate), Some(chain), Some(key)) =
            (&self.certificate, &config.serve.certificate, &config.serve.private_key)
        {
            log_reload(&certificate.reload_from(chain, key));
        }
        if let Some(gateway) = &self.gateway {
            gateway.reload_registry();
        }
        let restart = keys_for_restart(&self.started_with, &config, self.certificate.is_some());
        if !restart.is_empty() {
            tracing::warn!(keys = restart.join(", "), "reload.restart_required");
        }
        tracing::info!("reloaded");
    }
}

/// Returns the keys that have changed and that only a restart applies.
fn keys_for_restart(before: &Config, after: &Config, uses_tls: bool) -> Vec<String> {
    let tables = (Table::try_from(before), Table::try_from(after));
    let (Ok(before), Ok(after)) = tables else { return Vec::new() };
    let mut changed = Vec::new();
    compare_tables("", &before, &after, &mut changed);
    changed.retain(|key| !APPLIED_KEYS.contains(&key.as_str()) || (key.starts_with("serve.") && !uses_tls));
    changed
}

fn compare_tables(prefix: &str, before: &Table, after: &Table, changed: &mut Vec<String>) {
    let added = after.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(added) {
        match (before.get(key), after.get(key)) {
            (Some(Value::Table(before)), Some(Value::Table(after))) => {
                compare_tables(&format!("{prefix}{key}."), before, after, changed);
            }
            (before, after) if before != after => changed.push(format!("{prefix}{key}")),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_keys_are_listed() {
        let before = Config::default();
        let mut after = before.clone();
        assert!(keys_for_restart(&before, &after, true).is_empty());
        after.log.level = "debug".to_owned();
        after.serve.certificate = Some("chain.pem".into());
        after.limits.per_member = 7;
        after.pages_origin = Some("https://me.example".to_owned());
        after.idp.external = Some(exchange_service::config::ExternalIdpConfig::default());
        let keys = ["idp.external", "limits.per-member", "pages-origin"];
        assert_eq!(keys_for_restart(&before, &after, true), keys);
        let keys = ["idp.external", "limits.per-member", "serve.certificate", "pages-origin"];
        assert_eq!(keys_for_restart(&before, &after, false), keys);
    }
}
