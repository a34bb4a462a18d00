//! Configuration: every number that the contract leaves to whoever runs the service (⚙ in
//! `docs/decisions.md`), with its default.

mod check;

use std::time::Duration;

pub use check::Wrong;

use serde::{Deserialize, Serialize};

use crate::time::Moment;

/// How the service runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The gateway's public origin, exactly as clients have it in `htu` (A29).
    pub gateway_origin: String,
    /// The issuer: the identity provider's public origin and path.
    pub issuer: String,
    /// The origin of the member's pages, where it is not the issuer's. Needed when the issuer is elsewhere.
    pub pages_origin: Option<String>,
    /// The audience that access tokens for the gateway carry (IDP-07).
    pub audience: String,
    /// The root of the documentation site, for the service document (SVC-01).
    pub docs_url: String,
    /// What the gateway allows.
    pub limits: Limits,
    /// When a batch is held for the member's confirmation (LIM-21).
    pub guard: Guard,
    /// Drafts that clients stage for members (DRF-14, DRF-16).
    pub drafts: Drafts,
    /// The identity provider.
    pub idp: Idp,
    /// How long records are kept.
    pub retention: Retention,
    /// How connections are served.
    pub serve: Serve,
}

/// What the gateway allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Requests per minute and source address (LIM-04).
    pub per_address: u32,
    /// Requests per second whose token and proof are verified, of all addresses together that have proven nothing in
    /// the last ten minutes: a flood from many addresses waits for itself.
    pub newcomers_per_second: u32,
    /// Requests per minute, client and member, where the registry says nothing (LIM-18).
    pub per_member: u32,
    /// Requests per minute and client over all members (LIM-18).
    pub per_client: u32,
    /// Write requests per day, client and member, where the registry says nothing (LIM-19).
    pub writes_per_day: u32,
    /// Account checks per hour, client and member (LIM-05).
    pub account_checks_per_hour: u32,
    /// Largest body in bytes (LIM-23).
    pub body_bytes: usize,
    /// Largest head of a request in bytes (LIM-23): a larger one is `413 PAYLOAD_TOO_LARGE`, and one that
    /// exceeds it by more than 16 KiB, or has more than a hundred headers, a bare `431`.
    pub head_bytes: usize,
    /// Live proofs of one member (LIM-06).
    pub live_proofs_of_member: usize,
    /// Live proofs in all (LIM-06).
    pub live_proofs: usize,
    /// Change sets above 100 ops that run at once (LIM-02).
    pub large_sets: usize,
    /// How long the gateway waits for the backend, in seconds (LIM-03).
    pub relay_seconds: u64,
    /// How long answers are kept for a repetition, in seconds (LIM-22).
    pub idempotency_seconds: u64,
    /// Largest answer that is kept, in bytes (LIM-22).
    pub kept_answer_bytes: usize,
    /// Bytes of kept answers per client and member (LIM-20).
    pub kept_bytes_of_member: u64,
    /// Bytes of kept answers per client (LIM-20).
    pub kept_bytes_of_client: u64,
    /// Bytes of kept answers in all (LIM-20).
    pub kept_bytes: u64,
    /// New installations of one member in 24 hours from which on maintainers are warned (GW-05).
    pub new_installations: u32,
    /// Proxies in front whose word on a request's source is taken, counted from this process: how many
    /// entries at the end of `X-Forwarded-For` they wrote. None by default, and the header is not read.
    pub trusted_hops: u8,
    /// One answer in so many is checked against the contract before it is sent; 1 is all of them, 0 none.
    pub checked_answers: u32,
    /// Source addresses, members and clients whose requests are counted at once.
    pub counted: usize,
    /// Access tokens that are remembered as good until they end.
    pub known_tokens: u64,
    /// Bytes of bodies that are held at once.
    pub held_bytes: usize,
    /// How long a body may take to come once it is awaited, in seconds.
    pub body_seconds: u64,
}

impl Default for Limits {
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
pub struct Retention {
    /// What was before and after each change: so far back a client's writes can be undone. At least
    /// [`Guard::window_seconds`], which is counted in it.
    pub journal_days: u32,
    /// Who did what.
    pub audit_days: u32,
    /// What a member was told, once the member acknowledged it.
    pub notice_days: u32,
    /// What a member was told and never acknowledged.
    pub unread_notice_days: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { journal_days: 90, audit_days: 365, notice_days: 90, unread_notice_days: 365 }
    }
}

/// How connections are served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Serve {
    /// Which parts of the exchange this process runs: `all`, `gateway` or `backend`.
    pub role: Role,
    /// Where a gateway finds its backend, such as `http://127.0.0.1:8081`.
    pub backend: Option<String>,
    /// The address to listen on.
    pub listen: std::net::SocketAddr,
    /// The folder of the data; a gateway and its backend have the same one.
    pub data: std::path::PathBuf,
    /// Whether the data may be a sandbox's, whose passwords everybody knows: for tests that nobody else reaches.
    pub sandbox_data: bool,
    /// The address of `/metrics`, for those who may know; without one nobody is told.
    pub metrics: Option<std::net::SocketAddr>,
    /// Connections at once; more wait to be accepted.
    pub connections: usize,
    /// Connections at once of one address (an IPv6 address counts by its /64), more are closed. Left out, it is 1024
    /// for all but this machine's own, where a proxy may stand, and none behind `limits.trusted-hops`.
    pub connections_of_address: Option<usize>,
    /// How long a request's head may take to come, and how long a connection may rest, in seconds.
    pub head_seconds: u64,
    /// How long the other side may take nothing of what is written to it, in seconds.
    pub write_seconds: u64,
    /// How long a handshake may take, in seconds.
    pub handshake_seconds: u64,
    /// How long `/readyz` tells balancers that the service is stopping before it accepts no more connections, in
    /// seconds; a second signal ends it at once.
    pub drain_seconds: u64,
    /// How long requests under way have when the service is told to stop, in seconds.
    pub shutdown_seconds: u64,
    /// The certificate chain, as a PEM file; without one the service speaks plain HTTP, behind a proxy.
    pub certificate: Option<std::path::PathBuf>,
    /// The certificate's private key, as a PEM file.
    pub private_key: Option<std::path::PathBuf>,
}

/// The parts of the exchange that one process runs.
///
/// Parts in several processes share one folder of data, and so one machine: an idempotency key is claimed by
/// the gateway and completed in the transaction of the backend's write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// All of them.
    All,
    /// What clients and members reach: gateway, identity provider and pages. What passes the gateway goes on
    /// to [`Serve::backend`].
    Gateway,
    /// What gateways alone reach: the methods behind them, at an address that nobody else should reach.
    Backend,
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            role: Role::All,
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
pub struct Guard {
    /// The window, in seconds.
    pub window_seconds: u64,
    /// More removals than this are held.
    pub removals: u32,
    /// At least so many removals are held when they are also more than [`Guard::share`].
    pub removals_of_share: u32,
    /// One part in so many of what was there.
    pub share: u32,
    /// How long a held batch lives, in seconds.
    pub held_seconds: u64,
    /// The largest batch that is held, in bytes.
    pub held_bytes: usize,
}

impl Default for Guard {
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

/// Drafts that clients stage for members, and what members have open of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drafts {
    /// How long a handoff lives, in seconds (LIM-35).
    pub handoff_seconds: u64,
    /// The largest prepared draft that is handed off, in bytes (LIM-34).
    pub prepared_bytes: usize,
    /// Bytes of live drafts per client (DRF-16).
    pub bytes_of_client: u64,
    /// Bytes of live drafts in all (DRF-16).
    pub bytes: u64,
    /// How long a member has for a review that they opened, in seconds.
    pub review_seconds: u64,
}

impl Drafts {
    /// What a draft costs beside its bytes.
    pub(crate) const OVERHEAD: u64 = 512;
}

impl Default for Drafts {
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
pub struct Idp {
    /// How it words refusals of proofs.
    pub profile: Profile,
    /// Life of an access token, in seconds (LIM-07).
    pub access_token_seconds: u64,
    /// Life of a device code, in seconds (LIM-09).
    pub device_code_seconds: u64,
    /// How long a client waits between polls, in seconds (LIM-09).
    pub interval_seconds: u64,
    /// A connection ends when it is unused for so many days (LIM-08).
    pub unused_days: u32,
    /// A connection ends after so many days (LIM-08).
    pub longest_days: u32,
    /// How far behind a proof's `iat` may be, in seconds (A40).
    pub proof_past_seconds: u64,
    /// How far ahead a proof's `iat` may be, in seconds (A40).
    pub proof_future_seconds: u64,
    /// How long a browser session lasts, in seconds.
    pub session_seconds: u64,
    /// What one check of a password costs in memory, in KiB.
    pub password_kib: u32,
    /// How often a check of a password passes over that memory.
    pub password_passes: u32,
    /// The provider whose tokens are taken, where it is not the one in this process.
    pub external: Option<External>,
}

/// An OpenID provider elsewhere, in place of the one in this process; its issuer is [`Config::issuer`].
///
/// Its access tokens have to say when their member signed in (`auth_time`): of a client that a member disconnected
/// once, tokens that do not are refused for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct External {
    /// The `typ` of its access tokens: `at+jwt` (RFC 9068), or `JWT` where it knows no better.
    pub token_types: Vec<String>,
    /// How long it may take to answer, in seconds.
    pub wait_seconds: u64,
}

impl Default for External {
    fn default() -> Self {
        Self { token_types: vec!["at+jwt".to_owned()], wait_seconds: 5 }
    }
}

impl Default for Idp {
    fn default() -> Self {
        Self {
            profile: Profile::Keycloak,
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

/// How the identity provider words refusals of proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
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
            limits: Limits::default(),
            guard: Guard::default(),
            drafts: Drafts::default(),
            idp: Idp::default(),
            retention: Retention::default(),
            serve: Serve::default(),
        }
    }
}

impl Config {
    /// The origin of the member's pages: that of the issuer, unless it is another.
    #[must_use]
    pub fn web_origin(&self) -> &str {
        let issuers = self.issuer.split_at(self.end_of_origin()).0;
        self.pages_origin.as_deref().map_or(issuers, |origin| origin.trim_end_matches('/'))
    }

    /// The address of one of the identity provider's endpoints, by its name below the issuer.
    #[must_use]
    pub fn endpoint(&self, name: &str) -> String {
        format!("{}/{name}", self.issuer.trim_end_matches('/'))
    }

    /// The path of the issuer, without a slash at its end.
    #[must_use]
    pub fn issuer_path(&self) -> &str {
        self.issuer.split_at(self.end_of_origin()).1.trim_end_matches('/')
    }

    /// Whether the issuer's path is one that is read alike by everybody, and so can be served.
    #[must_use]
    pub fn has_plain_path(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        let path = self.issuer_path();
        path.bytes().all(plain) && path.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".."))
    }

    /// Whether tokens are those of a provider elsewhere.
    #[must_use]
    pub const fn is_external(&self) -> bool {
        self.idp.external.is_some()
    }

    fn end_of_origin(&self) -> usize {
        let authority = self.issuer.find("://").map_or(0, |at| at + 3);
        self.issuer[authority..].find('/').map_or(self.issuer.len(), |at| authority + at)
    }
}

impl Retention {
    /// What is older than this went out of the journal, at `now`.
    #[must_use]
    pub fn journal(&self, now: Moment) -> Moment {
        now.minus(days(self.journal_days))
    }

    /// What is older than this went out of the audit, at `now`.
    #[must_use]
    pub fn audit(&self, now: Moment) -> Moment {
        now.minus(days(self.audit_days))
    }

    /// Of what members were told this went, at `now`: what was acknowledged before the first moment, and what is older
    /// than the second and was not.
    #[must_use]
    pub fn notices(&self, now: Moment) -> (Moment, Moment) {
        (now.minus(days(self.notice_days)), now.minus(days(self.unread_notice_days)))
    }
}

fn days(days: u32) -> Duration {
    Duration::from_secs(u64::from(days) * 86_400)
}

impl Limits {
    /// What a kept answer costs beside its bytes.
    pub(crate) const ANSWER_OVERHEAD: u64 = 512;

    /// What each write reserves of what is kept: a budget that is smaller takes none (LIM-20).
    pub(crate) const fn reserved_bytes(&self) -> u64 {
        (self.kept_answer_bytes as u64).saturating_add(Self::ANSWER_OVERHEAD)
    }

    /// How long the gateway waits for the backend (LIM-03).
    #[must_use]
    pub const fn relay_wait(&self) -> Duration {
        Duration::from_secs(self.relay_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_pages_are() {
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
    fn where_the_endpoints_are() {
        let check = |issuer: &str, token: &str, plain: bool| {
            let config = Config { issuer: issuer.to_owned(), ..Config::default() };
            assert_eq!((&*config.endpoint("token"), config.has_plain_path()), (token, plain));
        };
        check("https://idp.example", "https://idp.example/token", true);
        check("https://idp.example/realms/one/", "https://idp.example/realms/one/token", true);
        for wrong in ["*x", ":x", "{x}", "a//b", "a/../b", "%61", "a b"] {
            check(&format!("http://h/{wrong}"), &format!("http://h/{wrong}/token"), false);
        }
    }
}
