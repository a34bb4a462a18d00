//! Configuration: every value that the contract leaves to the operator (⚙ in `docs/decisions.md`), with its default.

mod check;

use std::time::Duration;

pub use check::ConfigError;

use serde::{Deserialize, Serialize};

use crate::time::Moment;

/// The configuration of a service process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The gateway's public origin, exactly as clients use it in `htu` (A29).
    pub gateway_origin: String,
    /// The issuer: the identity provider's public origin and path.
    pub issuer: String,
    /// The origin of the member's pages, if it differs from the issuer's. Required if the issuer is external.
    pub pages_origin: Option<String>,
    /// The audience of access tokens for the gateway (IDP-07).
    pub audience: String,
    /// The root of the documentation site, for the service document (SVC-01).
    pub docs_url: String,
    /// Limits of the gateway.
    pub limits: LimitsConfig,
    /// When a batch is held for the member's confirmation (LIM-21).
    pub guard: GuardConfig,
    /// Drafts that clients stage for members (DRF-14, DRF-16).
    pub drafts: DraftsConfig,
    /// The identity provider.
    pub idp: IdpConfig,
    /// How long records are kept.
    pub retention: RetentionConfig,
    /// How connections are served.
    pub serve: ServeConfig,
}

/// Limits of the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LimitsConfig {
    /// Requests per minute and source address (LIM-04).
    pub per_address: u32,
    /// Requests per second whose token and proof are verified, over all addresses without a valid proof in the last
    /// ten minutes. Bounds the cost of a flood from many addresses.
    pub newcomers_per_second: u32,
    /// Requests per minute, client and member, unless the registry sets another limit (LIM-18).
    pub per_member: u32,
    /// Requests per minute and client over all members (LIM-18).
    pub per_client: u32,
    /// Write requests per day, client and member, unless the registry sets another limit (LIM-19).
    pub writes_per_day: u32,
    /// Account checks per hour, client and member (LIM-05).
    pub account_checks_per_hour: u32,
    /// The maximum size of a body, in bytes (LIM-23).
    pub body_bytes: usize,
    /// The maximum size of a request head, in bytes (LIM-23). A larger head gets `413 PAYLOAD_TOO_LARGE`. A head that
    /// exceeds the limit by more than 16 KiB, or has more than a hundred headers, gets a bare `431`.
    pub head_bytes: usize,
    /// Used proofs remembered per member (LIM-06).
    pub live_proofs_of_member: usize,
    /// Used proofs remembered in total (LIM-06).
    pub live_proofs: usize,
    /// Change sets of more than 100 ops that run at once (LIM-02).
    pub large_sets: usize,
    /// The timeout of a call to the backend, in seconds (LIM-03).
    pub relay_seconds: u64,
    /// How long responses are stored for replays, in seconds (LIM-22).
    pub idempotency_seconds: u64,
    /// The largest response that is stored, in bytes (LIM-22).
    pub kept_answer_bytes: usize,
    /// Bytes of stored responses per client and member (LIM-20).
    pub kept_bytes_of_member: u64,
    /// Bytes of stored responses per client (LIM-20).
    pub kept_bytes_of_client: u64,
    /// Bytes of stored responses in total (LIM-20).
    pub kept_bytes: u64,
    /// New installations of one member in 24 hours above which maintainers are warned (GW-05).
    pub new_installations: u32,
    /// The number of trusted proxies in front of this process: as many entries at the end of `X-Forwarded-For` are
    /// trusted. With 0, the default, the header is ignored.
    pub trusted_hops: u8,
    /// One response in this number is checked against the contract before it is sent; 1 checks all, 0 none.
    pub checked_answers: u32,
    /// Source addresses, members and clients whose requests are counted at once.
    pub counted: usize,
    /// Verified access tokens that are cached.
    pub known_tokens: u64,
    /// Bytes of request bodies that are held in memory at once.
    pub held_bytes: usize,
    /// The timeout of a body, from when it is first read, in seconds.
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

/// How long records are kept, in days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RetentionConfig {
    /// The journal of changes: how far back a client's writes can be undone. At least
    /// [`GuardConfig::window_seconds`], because the guard counts in the journal.
    pub journal_days: u32,
    /// The audit.
    pub audit_days: u32,
    /// Notices that the member acknowledged.
    pub notice_days: u32,
    /// Notices that the member did not acknowledge.
    pub unread_notice_days: u32,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { journal_days: 90, audit_days: 365, notice_days: 90, unread_notice_days: 365 }
    }
}

/// Network and process settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServeConfig {
    /// The parts of the exchange that this process runs: `all`, `gateway` or `backend`.
    pub role: ProcessRole,
    /// The address of a gateway's backend, such as `http://127.0.0.1:8081`.
    pub backend: Option<String>,
    /// The address to listen on.
    pub listen: std::net::SocketAddr,
    /// The folder of the data. A gateway and its backend share one folder.
    pub data: std::path::PathBuf,
    /// Allows data of a sandbox, whose passwords are public. Only for tests on a private network.
    pub sandbox_data: bool,
    /// The address of `/metrics`, which must not be public. Without it no metrics are served.
    pub metrics: Option<std::net::SocketAddr>,
    /// Connections at once. Further ones wait to be accepted.
    pub connections: usize,
    /// Connections at once per address (IPv6: per /64 network). Further ones are closed. The default is 1024 for all
    /// addresses but loopback, where a proxy may run, and unlimited behind `limits.trusted-hops`.
    pub connections_of_address: Option<usize>,
    /// The timeout of a request head, and of an idle connection, in seconds.
    pub head_seconds: u64,
    /// The timeout of a write that the peer does not read, in seconds.
    pub write_seconds: u64,
    /// The timeout of a TLS handshake, in seconds.
    pub handshake_seconds: u64,
    /// How long `/readyz` reports that the service is stopping before the listener closes, in seconds. A second signal
    /// ends the wait.
    pub drain_seconds: u64,
    /// How long running requests may take after the listener has closed, in seconds.
    pub shutdown_seconds: u64,
    /// The certificate chain, as a PEM file. Without one the service uses plain HTTP, for use behind a proxy.
    pub certificate: Option<std::path::PathBuf>,
    /// The certificate's private key, as a PEM file.
    pub private_key: Option<std::path::PathBuf>,
}

/// The parts of the exchange that one process runs.
///
/// Several processes share one data folder, and therefore one machine: the gateway claims an idempotency key, and the
/// backend completes it in the transaction of its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessRole {
    /// All parts.
    All,
    /// The parts that clients and members reach: gateway, identity provider and pages. Requests that pass the gateway
    /// go to [`ServeConfig::backend`].
    Gateway,
    /// The part that only gateways call, at an address that must not be public.
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

/// When a batch is held for the member's confirmation (LIM-21, WRT-13).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GuardConfig {
    /// The window over which removals are counted, in seconds.
    pub window_seconds: u64,
    /// More removals than this are held.
    pub removals: u32,
    /// At least this many removals are held if they also exceed [`GuardConfig::share`].
    pub removals_of_share: u32,
    /// The fraction of the existing rows, as its denominator: 5 means one fifth.
    pub share: u32,
    /// How long a held batch can be confirmed, in seconds.
    pub held_seconds: u64,
    /// The largest batch that is held, in bytes.
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

/// Drafts that clients stage for members, and reviews that members have opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DraftsConfig {
    /// How long a handoff can be opened, in seconds (LIM-35).
    pub handoff_seconds: u64,
    /// The largest draft that can be handed off, in bytes (LIM-34).
    pub prepared_bytes: usize,
    /// Bytes of live drafts per client (DRF-16).
    pub bytes_of_client: u64,
    /// Bytes of live drafts in total (DRF-16).
    pub bytes: u64,
    /// How long a review stays open, in seconds.
    pub review_seconds: u64,
}

impl DraftsConfig {
    /// The storage that a draft occupies in addition to its bytes.
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

/// The identity provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdpConfig {
    /// How the provider reports refused proofs.
    pub profile: ProofProfile,
    /// The lifetime of an access token, in seconds (LIM-07).
    pub access_token_seconds: u64,
    /// The lifetime of a device code, in seconds (LIM-09).
    pub device_code_seconds: u64,
    /// The interval between two polls of a client, in seconds (LIM-09).
    pub interval_seconds: u64,
    /// A connection ends after this many days without use (LIM-08).
    pub unused_days: u32,
    /// A connection ends after this many days in any case (LIM-08).
    pub longest_days: u32,
    /// The maximum age of a proof's `iat`, in seconds (A40).
    pub proof_past_seconds: u64,
    /// The maximum time of a proof's `iat` in the future, in seconds (A40).
    pub proof_future_seconds: u64,
    /// The lifetime of a browser session, in seconds.
    pub session_seconds: u64,
    /// The memory of one password hash (argon2id), in KiB.
    pub password_kib: u32,
    /// The number of passes of one password hash over its memory.
    pub password_passes: u32,
    /// An external provider whose tokens are accepted instead of the built-in one's.
    pub external: Option<ExternalIdpConfig>,
}

/// An external OpenID provider that replaces the built-in one. Its issuer is [`Config::issuer`].
///
/// Its access tokens should contain the time of the member's sign-in (`auth_time`). Without it, tokens of a client that
/// a member has once disconnected are refused permanently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExternalIdpConfig {
    /// The accepted `typ` of access tokens: `at+jwt` (RFC 9068), or `JWT` for providers without RFC 9068.
    pub token_types: Vec<String>,
    /// The timeout of a request to the provider, in seconds.
    pub wait_seconds: u64,
}

impl Default for ExternalIdpConfig {
    fn default() -> Self {
        Self { token_types: vec!["at+jwt".to_owned()], wait_seconds: 5 }
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

/// How the identity provider reports refused proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofProfile {
    /// `invalid_request` for a late proof, and no nonce.
    Keycloak,
    /// `invalid_dpop_proof`, and `use_dpop_nonce` with a nonce (RFC 9449, 8).
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
        }
    }
}

impl Config {
    /// The origin of the member's pages: `pages-origin`, or the issuer's origin.
    #[must_use]
    pub fn web_origin(&self) -> &str {
        let issuers = self.issuer.split_at(self.end_of_origin()).0;
        self.pages_origin.as_deref().map_or(issuers, |origin| origin.trim_end_matches('/'))
    }

    /// Returns the address of a provider endpoint, by its name below the issuer.
    #[must_use]
    pub fn endpoint_url(&self, name: &str) -> String {
        format!("{}/{name}", self.issuer.trim_end_matches('/'))
    }

    /// The path of the issuer, without a trailing slash.
    #[must_use]
    pub fn issuer_path(&self) -> &str {
        self.issuer.split_at(self.end_of_origin()).1.trim_end_matches('/')
    }

    /// Returns true if the issuer's path has only characters and segments that can be routed unambiguously.
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
    /// The time before which journal entries are deleted.
    #[must_use]
    pub fn journal_cutoff(&self, now: Moment) -> Moment {
        now.minus(days_duration(self.journal_days))
    }

    /// The time before which audit entries are deleted.
    #[must_use]
    pub fn audit_cutoff(&self, now: Moment) -> Moment {
        now.minus(days_duration(self.audit_days))
    }

    /// The times before which notices are deleted: by acknowledgment for acknowledged ones, by creation for the others.
    #[must_use]
    pub fn notice_cutoffs(&self, now: Moment) -> (Moment, Moment) {
        (now.minus(days_duration(self.notice_days)), now.minus(days_duration(self.unread_notice_days)))
    }
}

fn days_duration(days: u32) -> Duration {
    Duration::from_secs(u64::from(days) * 86_400)
}

impl LimitsConfig {
    /// The storage that a stored response occupies in addition to its bytes.
    pub(crate) const ANSWER_OVERHEAD_BYTES: u64 = 512;

    /// The bytes that each write reserves in the response budgets. A smaller budget accepts no write (LIM-20).
    pub(crate) const fn reserved_bytes(&self) -> u64 {
        (self.kept_answer_bytes as u64).saturating_add(Self::ANSWER_OVERHEAD_BYTES)
    }

    /// The timeout of a call to the backend (LIM-03).
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
