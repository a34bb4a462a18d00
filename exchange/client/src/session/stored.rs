//! The stored form of the tokens in the secret store, and the lifetime of an access token. This module
//! accesses neither the store nor a clock.

use std::{sync::Arc, time::Duration};

use dpop_bound::{AccessToken, UnixTime, clock::ClockReading};
use exchange_api::scopes::Scope;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zeroize::Zeroize as _;

use crate::{credentials::SecretBytes, oauth::RefreshToken};

/// The minimum time before its expiry at which a token is refreshed.
const REFRESH_MARGIN: Duration = Duration::from_secs(60);
/// The maximum random addition to [`REFRESH_MARGIN`], which spreads the refreshes of many clients.
const REFRESH_JITTER: Duration = Duration::from_secs(15);
/// The tolerated set-back of the wall clock. If the clock was set back further, stored times are invalid.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// A refresh token with its connection and the thumbprint of its key.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct StoredRefresh {
    /// The local id of the connection. A refresh keeps it, and a new login creates a new one.
    pub(super) connection: Box<str>,
    /// The thumbprint of the key to which the token is bound.
    pub(super) jkt: Box<str>,
    pub(super) token: RefreshToken,
}

/// An access token with its scopes and lifetime.
#[derive(Clone)]
pub(super) struct StoredAccess {
    pub(super) connection: Box<str>,
    pub(super) jkt: Box<str>,
    pub(super) token: Arc<AccessToken>,
    pub(super) scopes: Arc<[Scope]>,
    pub(super) lifetime: TokenLifetime,
}

/// The lifetime of a token by two clocks: the wall clock, which processes share, and the monotonic clock,
/// which cannot be set. The clock that reaches the end first applies, because an additional refresh is cheap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TokenLifetime {
    issued_at: UnixTime,
    refresh_at: (UnixTime, Duration),
    expires_at: (UnixTime, Duration),
}

impl TokenLifetime {
    /// Creates the lifetime of a token that was received now. `fraction`, a random number in `0.0..1.0`,
    /// determines how much earlier than [`REFRESH_MARGIN`] before its end the token is refreshed.
    pub(super) fn starting_at(now: ClockReading, expires_in: Duration, fraction: f64) -> Self {
        let margin = (REFRESH_MARGIN + REFRESH_JITTER.mul_f64(fraction.clamp(0.0, 1.0))).min(expires_in / 2);
        let at = |after| (now.wall.saturating_add(after), now.monotonic.saturating_add(after));
        Self { issued_at: now.wall, refresh_at: at(expires_in - margin), expires_at: at(expires_in) }
    }

    /// Creates the lifetime of a stored token, which another process may have stored.
    fn from_stored(now: ClockReading, issued: UnixTime, refresh: UnixTime, end: UnixTime) -> Self {
        let at = |moment: UnixTime| {
            // The remaining lifetime is never longer than at first, even if the wall clock was changed since.
            let left = moment.saturating_since(now.wall).min(moment.saturating_since(issued));
            (moment, now.monotonic.saturating_add(left))
        };
        Self { issued_at: issued, refresh_at: at(refresh), expires_at: at(end) }
    }

    /// Returns true if the token should be refreshed.
    pub(super) fn is_due(&self, now: ClockReading) -> bool {
        now.wall >= self.refresh_at.0 || now.monotonic >= self.refresh_at.1 || self.is_set_back(now)
    }

    /// Returns true if the token can still be used.
    pub(super) fn is_valid(&self, now: ClockReading) -> bool {
        now.wall < self.expires_at.0 && now.monotonic < self.expires_at.1 && !self.is_set_back(now)
    }

    /// Returns the time since the token was issued, by the wall clock.
    pub(super) fn age(&self, now: ClockReading) -> Duration {
        now.wall.saturating_since(self.issued_at)
    }

    fn is_set_back(&self, now: ClockReading) -> bool {
        now.wall.saturating_add(CLOCK_TOLERANCE) < self.issued_at
    }
}

#[derive(Serialize, Deserialize)]
struct RefreshRecord {
    connection: String,
    jkt: String,
    token: String,
}

impl Drop for RefreshRecord {
    fn drop(&mut self) {
        self.token.zeroize();
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccessRecord {
    connection: String,
    jkt: String,
    token: String,
    scopes: Vec<String>,
    /// The time of issue. All times of this record are milliseconds since 1970.
    issued_at: u64,
    refresh_at: u64,
    expires_at: u64,
}

impl Drop for AccessRecord {
    fn drop(&mut self) {
        self.token.zeroize();
    }
}

impl StoredRefresh {
    pub(super) fn to_bytes(&self) -> SecretBytes {
        let Self { connection, jkt, token } = self;
        serialize_record(&RefreshRecord {
            connection: (**connection).into(),
            jkt: (**jkt).into(),
            token: token.expose().into(),
        })
    }

    /// Parses a stored token; `None` if the bytes are invalid.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut wire: RefreshRecord = parse_record(bytes)?;
        Some(Self {
            connection: std::mem::take(&mut wire.connection).into(),
            jkt: std::mem::take(&mut wire.jkt).into(),
            token: RefreshToken::new(std::mem::take(&mut wire.token)),
        })
    }
}

impl StoredAccess {
    pub(super) fn to_bytes(&self) -> SecretBytes {
        let Self { connection, jkt, token, scopes, lifetime: life } = self;
        let millis = |time: UnixTime| u64::try_from(time.since_epoch().as_millis()).unwrap_or(u64::MAX);
        // The token is stored without the prefix `DPoP `.
        let token = token.authorization().get(5..).unwrap_or_default().to_owned();
        serialize_record(&AccessRecord {
            connection: (**connection).into(),
            jkt: (**jkt).into(),
            token,
            scopes: scopes.iter().map(ToString::to_string).collect(),
            issued_at: millis(life.issued_at),
            refresh_at: millis(life.refresh_at.0),
            expires_at: millis(life.expires_at.0),
        })
    }

    /// Parses a stored token; `None` if the bytes are invalid.
    pub(super) fn from_bytes(bytes: &[u8], now: ClockReading) -> Option<Self> {
        let mut wire: AccessRecord = parse_record(bytes)?;
        let [issued, refresh, end] =
            [wire.issued_at, wire.refresh_at, wire.expires_at].map(UnixTime::from_millis);
        Some(Self {
            connection: std::mem::take(&mut wire.connection).into(),
            jkt: std::mem::take(&mut wire.jkt).into(),
            token: Arc::new(AccessToken::new(std::mem::take(&mut wire.token)).ok()?),
            scopes: wire.scopes.iter().map(|scope| Scope::from(scope.as_str())).collect(),
            lifetime: TokenLifetime::from_stored(now, issued, refresh, end),
        })
    }

    /// Returns true if both tokens have the same connection and key.
    pub(super) fn belongs_to(&self, refresh: &StoredRefresh) -> bool {
        self.connection == refresh.connection && self.jkt == refresh.jkt
    }
}

fn serialize_record(wire: &impl Serialize) -> SecretBytes {
    // The capacity is so large that the buffer never grows, so no copies of the token stay in memory.
    let mut bytes = SecretBytes::new(Vec::with_capacity(16 << 10));
    // Serializing strings and numbers into memory cannot fail.
    let _ = serde_json::to_writer(&mut *bytes, wire);
    bytes
}

fn parse_record<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(monotonic: u64, wall: u64) -> ClockReading {
        ClockReading {
            wall: UnixTime::from_secs(1_790_000_000 + wall),
            monotonic: Duration::from_secs(monotonic),
        }
    }

    fn access(now: ClockReading, seconds: u64, fraction: f64) -> StoredAccess {
        StoredAccess {
            connection: "c".into(),
            jkt: "k".into(),
            token: Arc::new(AccessToken::new("hush").unwrap()),
            scopes: [Scope::ExchangeConnect, Scope::from("exchange.new")].into(),
            lifetime: TokenLifetime::starting_at(now, Duration::from_secs(seconds), fraction),
        }
    }

    /// IDP-19: a token is due for refresh 60 to 75 seconds before it expires.
    #[test]
    fn token_is_due_before_expiry() {
        let due = |seconds, fraction| {
            let life = access(at(0, 0), seconds, fraction).lifetime;
            (0..=seconds).find(|second| life.is_due(at(*second, *second)))
        };
        assert_eq!(due(300, 0.0), Some(240));
        assert_eq!(due(300, 0.999), Some(226));
        assert_eq!(due(60, 0.0), Some(30));
        assert_eq!(due(0, 0.0), Some(0));
        let life = access(at(0, 0), 300, 0.0).lifetime;
        assert!(life.is_valid(at(299, 299)) && !life.is_valid(at(300, 300)));
        assert_eq!(life.age(at(9, 9)), Duration::from_secs(9));
    }

    /// A clock that is changed, or that stops during a suspend, never prolongs the lifetime of a token.
    #[test]
    fn either_clock_expires_the_token() {
        let life = access(at(0, 0), 300, 0.0).lifetime;
        assert!(life.is_due(at(1, 240)) && !life.is_valid(at(1, 300)));
        assert!(life.is_due(at(240, 1)) && !life.is_valid(at(300, 1)));
        // A token is invalid if it was stored when the wall clock was ahead of its current time.
        let life = access(at(0, 7200), 300, 0.0).lifetime;
        assert!(life.is_due(at(0, 0)) && !life.is_valid(at(0, 0)));
    }

    #[test]
    fn stored_tokens_are_read_by_another_process() {
        let access_token = access(at(5, 0), 300, 0.5);
        let bytes = access_token.to_bytes();
        let read = StoredAccess::from_bytes(&bytes, at(1000, 100)).unwrap();
        assert_eq!((read.token.hash(), &read.scopes), (access_token.token.hash(), &access_token.scopes));
        assert!(!read.lifetime.is_due(at(1100, 200)) && read.lifetime.is_due(at(1133, 233)));
        assert!(read.lifetime.is_valid(at(1199, 299)) && !read.lifetime.is_valid(at(1200, 299)));
        let refresh =
            StoredRefresh { connection: "c".into(), jkt: "k".into(), token: RefreshToken::new("hush") };
        assert!(read.belongs_to(&refresh));
        assert!(StoredRefresh::from_bytes(&refresh.to_bytes()) == Some(refresh));
        assert!(
            StoredRefresh::from_bytes(b"hush").is_none()
                && StoredAccess::from_bytes(b"{}", at(0, 0)).is_none()
        );
    }
}
