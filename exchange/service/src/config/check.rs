//! Checks a parsed configuration for values that are invalid by themselves or in combination with others.

use std::fmt;

use argon2::Params;
use dpop_bound::{Htu, Origin};

use crate::logging::check_level;

use super::{Config, DraftsConfig, ExternalIdpConfig, ProcessRole};

/// An unusable configuration value, with advice for correcting it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The key as in the configuration file, such as `serve.backend`.
    pub key: &'static str,
    /// The reason the value is unusable.
    pub reason: String,
    /// Advice for correcting the value.
    pub advice: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.key, self.reason, self.advice)
    }
}

fn config_error(key: &'static str, reason: impl Into<String>, advice: &'static str) -> ConfigError {
    ConfigError { key, reason: reason.into(), advice }
}

const ORIGIN_ADVICE: &str =
    "write scheme, host and, if it is not the default, the port: https://exchange.example";

impl Config {
    /// Returns an error for every unusable value. The list is empty if the configuration can be used.
    #[must_use]
    pub fn find_errors(&self) -> Vec<ConfigError> {
        let mut all = Vec::new();
        self.check_addresses(&mut all);
        self.check_roles(&mut all);
        self.check_budgets(&mut all);
        self.check_nonzero(&mut all);
        self.check_sign_in(&mut all);
        self.check_retention(&mut all);
        if let Err(reason) = check_level(&self.log.level) {
            let advice = "write a level such as info, or levels by module: exchange_service=debug,info";
            all.push(config_error("log.level", reason, advice));
        }
        all
    }

    fn check_addresses(&self, all: &mut Vec<ConfigError>) {
        if let Err(error) = Origin::from_url(&self.gateway_origin) {
            all.push(config_error("gateway-origin", error.to_string(), ORIGIN_ADVICE));
        }
        let advice =
            "write the provider's address as in its discovery document: https://exchange.example/idp";
        if let Err(error) = Htu::from_url(&self.endpoint_url("token")) {
            all.push(config_error("issuer", error.to_string(), advice));
        } else if !self.is_external() && !self.has_plain_path() {
            let reason =
                "its path contains an empty segment or characters other than letters, digits and `-._~`";
            all.push(config_error("issuer", reason, advice));
        }
        match &self.pages_origin {
            Some(origin) => {
                if let Err(error) = Origin::from_url(origin.trim_end_matches('/')) {
                    all.push(config_error("pages-origin", error.to_string(), ORIGIN_ADVICE));
                }
            }
            None if self.is_external() => {
                let reason = "the issuer is external, so the pages of the exchange need their own address";
                all.push(config_error("pages-origin", reason, ORIGIN_ADVICE));
            }
            None => {}
        }
    }

    fn check_roles(&self, all: &mut Vec<ConfigError>) {
        let serve = &self.serve;
        match (serve.role, &serve.backend) {
            (ProcessRole::Gateway, None) => {
                let advice =
                    "write the address of the process with `role = \"backend\"`: http://127.0.0.1:8081";
                all.push(config_error("serve.backend", "a gateway needs its backend's address", advice));
            }
            (ProcessRole::Gateway, Some(base)) => {
                if let Err(error) = Origin::from_url(base.trim_end_matches('/')) {
                    all.push(config_error("serve.backend", error.to_string(), ORIGIN_ADVICE));
                }
            }
            (ProcessRole::All | ProcessRole::Backend, Some(_)) => {
                let advice = "remove it, or write `role = \"gateway\"`";
                all.push(config_error("serve.backend", "only a gateway has a remote backend", advice));
            }
            (ProcessRole::All | ProcessRole::Backend, None) => {}
        }
        let missing = match (&serve.certificate, &serve.private_key) {
            (Some(_), None) => "serve.private-key",
            (None, Some(_)) => "serve.certificate",
            _ => return,
        };
        all.push(config_error(missing, "TLS needs a certificate and its key", "set both files, or neither"));
    }

    /// Requires that the journal covers the guard's window, because the guard counts removals in the journal.
    fn check_retention(&self, all: &mut Vec<ConfigError>) {
        let Self { retention, guard, .. } = self;
        let stored = u64::from(retention.journal_days) * 86_400;
        if stored < guard.window_seconds {
            let reason = "the mass-change guard counts removals in the journal over a longer window";
            let advice = "write at least the number of days in `guard.window-seconds`";
            all.push(config_error("retention.journal-days", reason, advice));
        }
    }

    /// Requires that the budgets have room for the largest draft and the largest stored response. Otherwise,
    /// clients would be told to retry forever.
    fn check_budgets(&self, all: &mut Vec<ConfigError>) {
        let Self { drafts, limits, .. } = self;
        let draft = (drafts.prepared_bytes as u64).saturating_add(DraftsConfig::OVERHEAD_BYTES);
        let draft = ("a draft can take", draft, "write at least as much, or lower `drafts.prepared-bytes`");
        let response = limits.reserved_bytes();
        let advice = "write at least as much, or lower `limits.kept-answer-bytes`";
        let response = ("each write reserves", response, advice);
        for (key, budget, (what, needed, advice)) in [
            ("drafts.bytes-of-client", drafts.bytes_of_client, draft),
            ("drafts.bytes", drafts.bytes, draft),
            ("limits.kept-bytes-of-member", limits.kept_bytes_of_member, response),
            ("limits.kept-bytes-of-client", limits.kept_bytes_of_client, response),
            ("limits.kept-bytes", limits.kept_bytes, response),
        ] {
            if budget < needed {
                let reason = format!("{what} {needed} bytes, overhead included");
                all.push(config_error(key, reason, advice));
            }
        }
    }

    /// Requires that values are not 0 if 0 would disable the service.
    fn check_nonzero(&self, all: &mut Vec<ConfigError>) {
        let Self { limits, drafts, idp, serve, .. } = self;
        let numbers = [
            ("limits.body-bytes", limits.body_bytes as u64),
            ("limits.head-bytes", limits.head_bytes as u64),
            ("limits.live-proofs-of-member", limits.live_proofs_of_member as u64),
            ("limits.live-proofs", limits.live_proofs as u64),
            ("limits.relay-seconds", limits.relay_seconds),
            ("limits.body-seconds", limits.body_seconds),
            ("drafts.handoff-seconds", drafts.handoff_seconds),
            ("drafts.prepared-bytes", drafts.prepared_bytes as u64),
            ("drafts.review-seconds", drafts.review_seconds),
            ("idp.access-token-seconds", idp.access_token_seconds),
            ("idp.device-code-seconds", idp.device_code_seconds),
            ("idp.unused-days", idp.unused_days.into()),
            ("idp.longest-days", idp.longest_days.into()),
            ("idp.session-seconds", idp.session_seconds),
            ("serve.connections", serve.connections as u64),
            ("serve.head-seconds", serve.head_seconds),
            ("serve.write-seconds", serve.write_seconds),
            ("serve.handshake-seconds", serve.handshake_seconds),
        ];
        for (key, _) in numbers.into_iter().filter(|(_, number)| *number == 0) {
            all.push(config_error(key, "0 would refuse every request", "write at least 1"));
        }
    }

    /// Checks the cost of password hashing and the external provider.
    fn check_sign_in(&self, all: &mut Vec<ConfigError>) {
        let idp = &self.idp;
        if idp.password_kib < Params::MIN_M_COST {
            let reason = "the value is below the minimum memory of argon2";
            all.push(config_error("idp.password-kib", reason, "write at least 8; 19456 in production"));
        }
        if idp.password_passes < Params::MIN_T_COST {
            let reason = "argon2 needs at least one pass over its memory";
            all.push(config_error("idp.password-passes", reason, "write at least 1"));
        }
        let Some(ExternalIdpConfig { token_types, wait_seconds }) = &idp.external else { return };
        if token_types.is_empty() {
            let advice = "remove it, or name at least one: [\"at+jwt\"]";
            all.push(config_error("idp.external.token-types", "no access token would be accepted", advice));
        }
        if *wait_seconds == 0 {
            let reason = "with 0 every request to the provider would time out";
            all.push(config_error("idp.external.wait-seconds", reason, "write at least 1"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut Config), expect: &[&str]) {
        let mut config = Config::default();
        change(&mut config);
        let keys: Vec<_> = config.find_errors().iter().map(|error| error.key).collect();
        assert_eq!(keys, expect);
    }

    #[test]
    fn invalid_values_are_reported_by_key() {
        check(|_| {}, &[]);
        check(|config| config.gateway_origin = "exchange.example".to_owned(), &["gateway-origin"]);
        check(
            |config| config.gateway_origin = "https://exchange.example/path".to_owned(),
            &["gateway-origin"],
        );
        check(|config| config.issuer = "ftp://idp.example".to_owned(), &["issuer"]);
        check(|config| config.issuer = "https://idp.example/*x".to_owned(), &["issuer"]);
        check(|config| config.pages_origin = Some("https://me.example/".to_owned()), &[]);
        check(|config| config.pages_origin = Some("me.example".to_owned()), &["pages-origin"]);
        check(|config| config.idp.external = Some(ExternalIdpConfig::default()), &["pages-origin"]);
        let elsewhere = |role, backend: &str| {
            let backend = Some(backend.to_owned()).filter(|backend| !backend.is_empty());
            move |config: &mut Config| (config.serve.role, config.serve.backend) = (role, backend)
        };
        check(elsewhere(ProcessRole::Gateway, ""), &["serve.backend"]);
        check(elsewhere(ProcessRole::Gateway, "127.0.0.1:8081"), &["serve.backend"]);
        check(elsewhere(ProcessRole::Gateway, "http://127.0.0.1:8081/"), &[]);
        check(elsewhere(ProcessRole::Backend, "http://127.0.0.1:8081"), &["serve.backend"]);
        check(|config| config.serve.certificate = Some("chain.pem".into()), &["serve.private-key"]);
        check(|config| config.serve.private_key = Some("key.pem".into()), &["serve.certificate"]);
        check(|config| config.drafts.bytes = 1 << 18, &["drafts.bytes"]);
        check(|config| config.drafts.bytes = (1 << 18) + 512, &[]);
        check(|config| config.limits.kept_answer_bytes = (1 << 20) - 512, &[]);
        check(|config| config.limits.kept_answer_bytes = (1 << 20) - 511, &["limits.kept-bytes-of-member"]);
        let stored = ["limits.kept-bytes-of-member", "limits.kept-bytes-of-client", "limits.kept-bytes"];
        check(|config| config.limits.kept_answer_bytes = usize::MAX, &stored);
        let zeros = |config: &mut Config| {
            (config.limits.relay_seconds, config.serve.connections) = (0, 0);
        };
        check(zeros, &["limits.relay-seconds", "serve.connections"]);
        let costs = |config: &mut Config| (config.idp.password_kib, config.idp.password_passes) = (7, 0);
        check(costs, &["idp.password-kib", "idp.password-passes"]);
        check(|config| (config.idp.password_kib, config.idp.password_passes) = (8, 1), &[]);
        let external = |config: &mut Config| {
            config.pages_origin = Some("https://me.example".to_owned());
            config.idp.external = Some(ExternalIdpConfig { token_types: Vec::new(), wait_seconds: 0 });
        };
        check(external, &["idp.external.token-types", "idp.external.wait-seconds"]);
        check(|config| config.log.level = "exchange_service=loud".to_owned(), &["log.level"]);
        check(|config| config.retention.journal_days = 0, &["retention.journal-days"]);
        check(|config| config.guard.window_seconds = 90 * 86_400, &[]);
        check(|config| config.guard.window_seconds += 90 * 86_400, &["retention.journal-days"]);
    }
}
