//! The configuration: every value that the contract leaves to the operator (⚙ in `docs/decisions.md`), with
//! its default.

mod check;
mod document;
#[cfg(test)]
mod json_schema;
mod log;

use std::time::Duration;

pub use check::ConfigError;
pub use document::{CONFIG_SCHEMA, to_commented_toml};
pub use log::{LogConfig, MemberNaming};

use dpop_bound::ProofWindow;
use serde::{Deserialize, Serialize};

use crate::time::Moment;

/// The configuration of a service process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The gateway's public origin, exactly as clients write it in the claim `htu` of their proofs (A29).
    pub gateway_origin: String,
    /// The issuer, which consists of the identity provider's public origin and path.
    pub issuer: String,
    /// The origin of the members' web pages, if it differs from the origin of the issuer. Required if the
    /// issuer is external.
    #[cfg_attr(test, schemars(example = "https://members.exchange.example"))]
    pub pages_origin: Option<String>,
    /// The audience of access tokens for the gateway (IDP-07).
    pub audience: String,
    /// The root URL of the documentation site, as reported in the service document (SVC-01).
    pub docs_url: String,
    /// The limits of the gateway.
    pub limits: LimitsConfig,
    /// The rules by which a batch is held for the member's confirmation (LIM-21).
    pub guard: GuardConfig,
    /// The limits of the drafts that clients stage for members (DRF-14, DRF-16).
    pub drafts: DraftsConfig,
    /// The settings of the identity provider.
    pub idp: IdpConfig,
    /// The retention periods of records.
    pub retention: RetentionConfig,
    /// The network and process settings.
    pub serve: ServeConfig,
    /// The log.
    pub log: LogConfig,
}

/// The limits of the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LimitsConfig {
    /// The maximum number of requests per minute and source address (LIM-04).
    pub per_address: u32,
    /// The maximum number of token and proof verifications per second for all newcomers together. Newcomers
    /// are addresses that sent no valid proof in the last ten minutes. This bounds the cost of a flood from
    /// many addresses.
    pub newcomers_per_second: u32,
    /// The maximum number of requests per minute, client and member, unless the registry sets another limit
    /// (LIM-18).
    pub per_member: u32,
    /// The maximum number of requests per minute and client, for all members together (LIM-18).
    pub per_client: u32,
    /// The maximum number of write requests per day, client and member, unless the registry sets another
    /// limit (LIM-19).
    pub writes_per_day: u32,
    /// The maximum number of account checks per hour, client and member (LIM-05).
    pub account_checks_per_hour: u32,
    /// The maximum size of a request body, in bytes (LIM-23).
    pub body_bytes: usize,
    /// The maximum size of a request head, in bytes (LIM-23). A larger head gets `413 PAYLOAD_TOO_LARGE`. A head that
    /// exceeds the limit by more than 16 KiB, or has more than a hundred headers, gets a bare `431`.
    pub head_bytes: usize,
    /// The maximum number of used proofs that are stored per member (LIM-06).
    pub live_proofs_of_member: usize,
    /// The maximum number of used proofs that are stored in total (LIM-06).
    pub live_proofs: usize,
    /// The maximum number of change sets with more than 100 ops that run at once (LIM-02).
    pub large_sets: usize,
    /// The timeout of a call to the backend, in seconds (LIM-03).
    pub relay_seconds: u64,
    /// The period for which responses are stored for retries of a request, in seconds (LIM-22).
    pub idempotency_seconds: u64,
    /// The maximum size of a response that is stored, in bytes (LIM-22).
    pub kept_answer_bytes: usize,
    /// The maximum number of bytes of stored responses per client and member (LIM-20).
    pub kept_bytes_of_member: u64,
    /// The maximum number of bytes of stored responses per client (LIM-20).
    pub kept_bytes_of_client: u64,
    /// The maximum number of bytes of stored responses in total (LIM-20).
    pub kept_bytes: u64,
    /// The number of new installations of one member within 24 hours above which maintainers are warned
    /// (GW-05).
    pub new_installations: u32,
    /// The number of trusted proxies in front of this process. This number of entries at the end of
    /// `X-Forwarded-For` is trusted. With the default of 0, the header is ignored.
    pub trusted_hops: u8,
    /// The sampling interval of response checks: one of this many responses is checked against the contract
    /// before it is sent. 1 checks all responses, 0 checks none.
    #[cfg_attr(test, schemars(extend("default" = 100)))]
    pub checked_answers: u32,
    /// The maximum number of source addresses, members and clients whose requests are counted at once.
    pub counted: usize,
    /// The maximum number of verified access tokens that are cached.
    pub known_tokens: u64,
    /// The maximum number of bytes of request bodies that are in memory at once.
    pub held_bytes: usize,
    /// The timeout of a request body, in seconds, counted from the first read.
    pub body_seconds: u64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            per_address: 120,
            newcomers_per_second: 500,
            per_member: 120,
            per_client: 1200,
            writes_per_day: 500,
            account_checks_per_hour: 10,
            body_bytes: 2 << 20,
            head_bytes: 64 << 10,
            live_proofs_of_member: 600,
            live_proofs: 100_000,
            large_sets: 4,
            relay_seconds: 30,
            idempotency_seconds: 86_400,
            kept_answer_bytes: 32 << 10,
            kept_bytes_of_member: 1 << 20,
            kept_bytes_of_client: 16 << 20,
            kept_bytes: 64 << 20,
            new_installations: 5,
            trusted_hops: 0,
            checked_answers: if cfg!(debug_assertions) { 1 } else { 100 },
            counted: 100_000,
            known_tokens: 20_000,
            held_bytes: 128 << 20,
            body_seconds: 20,
        }
    }
}

/// The retention periods of records, in days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RetentionConfig {
    /// The retention period of the journal of changes. A client's writes can be undone within this period. It
    /// must cover at least `guard.window-seconds`, because the guard counts removals in the journal.
    pub journal_days: u32,
    /// The retention period of audit entries.
    pub audit_days: u32,
    /// The retention period of acknowledged notices.
    pub notice_days: u32,
    /// The retention period of unacknowledged notices.
    pub unread_notice_days: u32,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { journal_days: 90, audit_days: 365, notice_days: 90, unread_notice_days: 365 }
    }
}

/// Network and process settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServeConfig {
    /// The parts of the exchange that this process runs: `all`, `gateway` or `backend`.
    pub role: ProcessRole,
    /// The address of the backend, such as `http://127.0.0.1:8081`; only for a gateway.
    #[cfg_attr(test, schemars(example = "http://127.0.0.1:8081"))]
    pub backend: Option<String>,
    /// The address to listen on.
    #[cfg_attr(test, schemars(with = "String"))]
    pub listen: std::net::SocketAddr,
    /// The data folder. A gateway and its backend share one folder.
    pub data: std::path::PathBuf,
    /// Whether the data folder may contain the data of a sandbox, whose passwords are public. Only for tests
    /// on a private network.
    pub sandbox_data: bool,
    /// The address of `/metrics`, which must not be public. Without an address, no metrics are served.
    #[cfg_attr(test, schemars(example = "127.0.0.1:9090"))]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub metrics: Option<std::net::SocketAddr>,
    /// The maximum number of concurrent connections. Further connections are not accepted until one is
    /// closed.
    pub connections: usize,
    /// The maximum number of concurrent connections per address (IPv6: per /64 network). Further connections
    /// are closed. By default, the limit is 1024, except for loopback addresses, where a proxy may run, and
    /// behind `limits.trusted-hops`, where there is no limit.
    #[cfg_attr(test, schemars(example = 1024))]
    pub connections_of_address: Option<usize>,
    /// The timeout for receiving a request head, and for an idle connection, in seconds.
    pub head_seconds: u64,
    /// The timeout of a write that makes no progress because the peer does not read, in seconds.
    pub write_seconds: u64,
    /// The timeout of a TLS handshake, in seconds.
    pub handshake_seconds: u64,
    /// The period in which `/readyz` reports that the service is stopping before the listener is closed, in
    /// seconds. A second signal ends this period.
    pub drain_seconds: u64,
    /// The maximum time for running requests after the listener was closed, in seconds.
    pub shutdown_seconds: u64,
    /// The path of the certificate chain, a PEM file. Without it, the service uses plain HTTP and needs a
    /// proxy in front that provides TLS.
    #[cfg_attr(test, schemars(example = "/etc/exchange/tls/chain.pem"))]
    pub certificate: Option<std::path::PathBuf>,
    /// The path of the certificate's private key, a PEM file.
    #[cfg_attr(test, schemars(example = "/etc/exchange/tls/key.pem"))]
    pub private_key: Option<std::path::PathBuf>,
}

/// The parts of the exchange that one process runs.
///
/// Several processes share one data folder, and must therefore run on one machine: the gateway claims an
/// idempotency key, and the backend completes the claim in the transaction of its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProcessRole {
    /// All parts.
    All,
    /// The parts that clients and members reach: the gateway, the identity provider and the web pages.
    /// Requests that pass the gateway are sent to `serve.backend`.
    Gateway,
    /// The backend, which only gateways call, at an address that must not be public.
    Backend,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            role: ProcessRole::All,
            backend: None,
            listen: std::net::SocketAddr::from(([127, 0, 0, 1], 8080)),
            data: std::path::PathBuf::from("exchange-data"),
            sandbox_data: false,
            metrics: None,
            connections: 16_384,
            connections_of_address: None,
            head_seconds: 30,
            write_seconds: 30,
            handshake_seconds: 10,
            drain_seconds: 5,
            shutdown_seconds: 30,
            certificate: None,
            private_key: None,
        }
    }
}

/// The rules by which a batch is held for the member's confirmation (LIM-21, WRT-13).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GuardConfig {
    /// The length of the window in which removals are counted, in seconds.
    pub window_seconds: u64,
    /// The maximum number of removals in the window, including those of the batch. A batch that exceeds this
    /// maximum is held.
    pub removals: u32,
    /// The minimum number of removals in the window for which `guard.share` applies: from this number
    /// on, a batch is also held if the removals exceed the fraction.
    pub removals_of_share: u32,
    /// The denominator of the fraction of existing entries that removals may not exceed: 5 means one fifth.
    pub share: u32,
    /// The period in which a held batch can be confirmed, in seconds.
    pub held_seconds: u64,
    /// The maximum size of a batch that can be held, in bytes.
    pub held_bytes: usize,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self {
            window_seconds: 86_400,
            removals: 25,
            removals_of_share: 5,
            share: 5,
            held_seconds: 1800,
            held_bytes: 512 << 10,
        }
    }
}

/// The limits of the drafts that clients stage for members, and of the reviews that members open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DraftsConfig {
    /// The period in which a draft can be opened with its handoff, in seconds (LIM-35).
    pub handoff_seconds: u64,
    /// The maximum size of a draft, in bytes (LIM-34).
    pub prepared_bytes: usize,
    /// The maximum number of bytes of unexpired drafts per client (DRF-16).
    pub bytes_of_client: u64,
    /// The maximum number of bytes of unexpired drafts in total (DRF-16).
    pub bytes: u64,
    /// The period in which a review can be accepted, in seconds.
    pub review_seconds: u64,
}

impl DraftsConfig {
    /// The number of bytes that a draft occupies in addition to its content.
    pub(crate) const OVERHEAD_BYTES: u64 = 512;
}

impl Default for DraftsConfig {
    fn default() -> Self {
        Self {
            handoff_seconds: 1800,
            prepared_bytes: 256 << 10,
            bytes_of_client: 16 << 20,
            bytes: 64 << 20,
            review_seconds: 86_400,
        }
    }
}

/// The settings of the identity provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdpConfig {
    /// How the provider reports rejected proofs.
    pub profile: ProofProfile,
    /// The lifetime of an access token, in seconds (LIM-07).
    pub access_token_seconds: u64,
    /// The lifetime of a device code, in seconds (LIM-09).
    pub device_code_seconds: u64,
    /// The minimum interval between two polls of a device login, in seconds (LIM-09).
    pub interval_seconds: u64,
    /// The number of days without use after which a connection ends (LIM-08).
    pub unused_days: u32,
    /// The number of days after which a connection ends even if it is used (LIM-08).
    pub longest_days: u32,
    /// The maximum age of a proof according to its `iat`, in seconds (A40).
    pub proof_past_seconds: u64,
    /// The maximum time by which the `iat` of a proof may be in the future, in seconds (A40).
    pub proof_future_seconds: u64,
    /// The lifetime of a browser session, in seconds.
    pub session_seconds: u64,
    /// The memory used by one password hash (argon2id), in KiB.
    pub password_kib: u32,
    /// The number of passes that one password hash makes over its memory.
    pub password_passes: u32,
    /// The external provider whose tokens are accepted instead of those of the built-in provider.
    pub external: Option<ExternalIdpConfig>,
}

/// An external OpenID provider that replaces the built-in provider. Its issuer is `issuer`.
///
/// Its access tokens should contain the time of the member's sign-in (`auth_time`). Otherwise, once a member
/// has disconnected a client, all tokens of that client and member are rejected permanently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExternalIdpConfig {
    /// The accepted values of the header `typ` of access tokens: `at+jwt` (RFC 9068), or `JWT` for providers
    /// that do not implement RFC 9068.
    pub token_types: Vec<String>,
    /// The timeout of a request to the provider, in seconds.
    pub wait_seconds: u64,
}

impl Default for ExternalIdpConfig {
    fn default() -> Self {
        Self { token_types: vec!["at+jwt".to_owned()], wait_seconds: 5 }
    }
}

impl IdpConfig {
    /// Returns the accepted difference between the `iat` of a proof and the provider's time.
    #[must_use]
    pub const fn proof_window(&self) -> ProofWindow {
        ProofWindow::from_secs(self.proof_past_seconds, self.proof_future_seconds)
    }
}

impl Default for IdpConfig {
    fn default() -> Self {
        Self {
            profile: ProofProfile::Keycloak,
            access_token_seconds: 300,
            device_code_seconds: 600,
            interval_seconds: 5,
            unused_days: 30,
            longest_days: 90,
            proof_past_seconds: 25,
            proof_future_seconds: 15,
            session_seconds: 12 * 3600,
            password_kib: 19 << 10,
            password_passes: 2,
            external: None,
        }
    }
}

/// How the identity provider reports rejected proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProofProfile {
    /// Reports a late proof as `invalid_request`, without a nonce.
    Keycloak,
    /// Reports `invalid_dpop_proof`, or `use_dpop_nonce` with a nonce (RFC 9449, section 8).
    Rfc9449,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            gateway_origin: "http://127.0.0.1:8080".to_owned(),
            issuer: "http://127.0.0.1:8080/idp".to_owned(),
            pages_origin: None,
            audience: "exchange-gateway".to_owned(),
            docs_url: "https://docs.exchange.example/".to_owned(),
            limits: LimitsConfig::default(),
            guard: GuardConfig::default(),
            drafts: DraftsConfig::default(),
            idp: IdpConfig::default(),
            retention: RetentionConfig::default(),
            serve: ServeConfig::default(),
            log: LogConfig::default(),
        }
    }
}

impl Config {
    /// Returns the origin of the members' web pages: `pages-origin`, or the origin of the issuer.
    #[must_use]
    pub fn web_origin(&self) -> &str {
        let issuers = self.issuer.split_at(self.end_of_origin()).0;
        self.pages_origin.as_deref().map_or(issuers, |origin| origin.trim_end_matches('/'))
    }

    /// Returns the URL of an endpoint of the provider, by its name below the issuer.
    #[must_use]
    pub fn endpoint_url(&self, name: &str) -> String {
        format!("{}/{name}", self.issuer.trim_end_matches('/'))
    }

    /// Returns the path of the issuer, without a trailing slash.
    #[must_use]
    pub fn issuer_path(&self) -> &str {
        self.issuer.split_at(self.end_of_origin()).1.trim_end_matches('/')
    }

    /// Returns true if the characters and segments of the issuer's path can be routed unambiguously.
    #[must_use]
    pub fn has_plain_path(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        let path = self.issuer_path();
        path.bytes().all(plain) && path.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".."))
    }

    /// Returns true if an external provider issues the tokens.
    #[must_use]
    pub const fn is_external(&self) -> bool {
        self.idp.external.is_some()
    }

    fn end_of_origin(&self) -> usize {
        let authority = self.issuer.find("://").map_or(0, |at| at + 3);
        self.issuer[authority..].find('/').map_or(self.issuer.len(), |at| authority + at)
    }
}

impl RetentionConfig {
    /// Returns the time before which journal entries are deleted.
    #[must_use]
    pub fn journal_cutoff(&self, now: Moment) -> Moment {
        now.minus(days_duration(self.journal_days))
    }

    /// Returns the time before which audit entries are deleted.
    #[must_use]
    pub fn audit_cutoff(&self, now: Moment) -> Moment {
        now.minus(days_duration(self.audit_days))
    }

    /// Returns the times before which notices are deleted. The first applies to acknowledged notices, by the
    /// time of acknowledgment; the second applies to all others, by the time of creation.
    #[must_use]
    pub fn notice_cutoffs(&self, now: Moment) -> (Moment, Moment) {
        (now.minus(days_duration(self.notice_days)), now.minus(days_duration(self.unread_notice_days)))
    }
}

fn days_duration(days: u32) -> Duration {
    Duration::from_secs(u64::from(days) * 86_400)
}

impl LimitsConfig {
    /// The number of bytes that a stored response occupies in addition to its content.
    pub(crate) const ANSWER_OVERHEAD_BYTES: u64 = 512;

    /// Returns the number of bytes that each write reserves in the budgets for stored responses. With a
    /// smaller budget, no write would be accepted (LIM-20).
    pub(crate) const fn reserved_bytes(&self) -> u64 {
        (self.kept_answer_bytes as u64).saturating_add(Self::ANSWER_OVERHEAD_BYTES)
    }

    /// Returns the timeout of a call to the backend (LIM-03).
    #[must_use]
    pub const fn relay_timeout(&self) -> Duration {
        Duration::from_secs(self.relay_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_origin_has_a_default() {
        let check = |issuer: &str, pages: Option<&str>, origin: &str, path: &str| {
            let (issuer, pages_origin) = (issuer.to_owned(), pages.map(str::to_owned));
            let config = Config { issuer, pages_origin, ..Config::default() };
            assert_eq!((config.web_origin(), config.issuer_path()), (origin, path));
        };
        check("https://idp.example/realms/one/", None, "https://idp.example", "/realms/one");
        check("https://idp.example", None, "https://idp.example", "");
        check("http://[::1]:80/idp", None, "http://[::1]:80", "/idp");
        check("https://idp.example/a", Some("https://me.example/"), "https://me.example", "/a");
    }

    #[test]
    fn endpoint_paths_follow_the_issuer() {
        let check = |issuer: &str, token: &str, plain: bool| {
            let config = Config { issuer: issuer.to_owned(), ..Config::default() };
            assert_eq!((&*config.endpoint_url("token"), config.has_plain_path()), (token, plain));
        };
        check("https://idp.example", "https://idp.example/token", true);
        check("https://idp.example/realms/one/", "https://idp.example/realms/one/token", true);
        for invalid in ["*x", ":x", "{x}", "a//b", "a/../b", "%61", "a b"] {
            check(&format!("http://h/{invalid}"), &format!("http://h/{invalid}/token"), false);
        }
    }
}
