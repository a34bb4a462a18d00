//! What of a connection is kept in the secret store, and for how long an access token is used: no store, no
//! clock.

use std::{sync::Arc, time::Duration};

use dpop_bound::{AccessToken, UnixTime, clock::Reading};
use exchange_api::scopes::Scope;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zeroize::Zeroize as _;

use crate::{credentials::SecretBytes, oauth::RefreshToken};

/// How long before its end a token is refreshed, and by how much more at most, so that not everybody comes at
/// once.
const MARGIN: Duration = Duration::from_secs(60);
const SPREAD: Duration = Duration::from_secs(15);
/// By how much a wall clock may have been set back before times that were written down mean nothing any more.
const SET_BACK: Duration = Duration::from_secs(60);

/// A refresh token, with what it belongs to.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Refresh {
    /// The connection's id on this side: what tells one that was renewed from one that began anew.
    pub(super) connection: Box<str>,
    /// The thumbprint of the key that it is bound to.
    pub(super) jkt: Box<str>,
    pub(super) token: RefreshToken,
}

/// An access token, for as long as it holds.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) connection: Box<str>,
    pub(super) jkt: Box<str>,
    pub(super) token: Arc<AccessToken>,
    pub(super) scopes: Arc<[Scope]>,
    pub(super) life: Life,
}

/// From when to when a token holds: by the wall clock, which other processes share, and by the monotonic one,
/// which nobody sets. Whichever says first that it is over is believed: a refresh too many costs little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    issued: UnixTime,
    refresh: (UnixTime, Duration),
    end: (UnixTime, Duration),
}

impl Life {
    /// Of a token that came just now. `fraction` is a random number from 0 to below 1.
    pub(super) fn begin(now: Reading, expires_in: Duration, fraction: f64) -> Self {
        let margin = (MARGIN + SPREAD.mul_f64(fraction.clamp(0.0, 1.0))).min(expires_in / 2);
        let at = |after| (now.wall.saturating_add(after), now.monotonic.saturating_add(after));
        Self { issued: now.wall, refresh: at(expires_in - margin), end: at(expires_in) }
    }

    /// Of a token that another process, or an earlier one, wrote down.
    fn written(now: Reading, issued: UnixTime, refresh: UnixTime, end: UnixTime) -> Self {
        let at = |moment: UnixTime| {
            // Never longer than it was at first, wherever the wall clock was set to since.
            let left = moment.saturating_since(now.wall).min(moment.saturating_since(issued));
            (moment, now.monotonic.saturating_add(left))
        };
        Self { issued, refresh: at(refresh), end: at(end) }
    }

    /// Whether it is time for another.
    pub(super) fn is_due(&self, now: Reading) -> bool {
        now.wall >= self.refresh.0 || now.monotonic >= self.refresh.1 || self.is_set_back(now)
    }

    /// Whether it can still be used.
    pub(super) fn holds(&self, now: Reading) -> bool {
        now.wall < self.end.0 && now.monotonic < self.end.1 && !self.is_set_back(now)
    }

    /// How long ago it came.
    pub(super) fn age(&self, now: Reading) -> Duration {
        now.wall.saturating_since(self.issued)
    }

    fn is_set_back(&self, now: Reading) -> bool {
        now.wall.saturating_add(SET_BACK) < self.issued
    }
}

#[derive(Serialize, Deserialize)]
struct RefreshWire {
    connection: String,
    jkt: String,
    token: String,
}

impl Drop for RefreshWire {
    fn drop(&mut self) {
        self.token.zeroize();
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccessWire {
    connection: String,
    jkt: String,
    token: String,
    scopes: Vec<String>,
    /// Milliseconds since 1970.
    issued_at: u64,
    refresh_at: u64,
    expires_at: u64,
}

impl Drop for AccessWire {
    fn drop(&mut self) {
        self.token.zeroize();
    }
}

impl Refresh {
    pub(super) fn to_bytes(&self) -> SecretBytes {
        let Self { connection, jkt, token } = self;
        write(&RefreshWire {
            connection: (**connection).into(),
            jkt: (**jkt).into(),
            token: token.expose().into(),
        })
    }

    /// `None` when it is none that was written here.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut wire: RefreshWire = read(bytes)?;
        Some(Self {
            connection: std::mem::take(&mut wire.connection).into(),
            jkt: std::mem::take(&mut wire.jkt).into(),
            token: RefreshToken::new(std::mem::take(&mut wire.token)),
        })
    }
}

impl Access {
    pub(super) fn to_bytes(&self) -> SecretBytes {
        let Self { connection, jkt, token, scopes, life } = self;
        let millis = |time: UnixTime| u64::try_from(time.since_epoch().as_millis()).unwrap_or(u64::MAX);
        // `DPoP ` is not part of it.
        let token = token.authorization().get(5..).unwrap_or_default().to_owned();
        write(&AccessWire {
            connection: (**connection).into(),
            jkt: (**jkt).into(),
            token,
            scopes: scopes.iter().map(ToString::to_string).collect(),
            issued_at: millis(life.issued),
            refresh_at: millis(life.refresh.0),
            expires_at: millis(life.end.0),
        })
    }

    /// `None` when it is none that was written here.
    pub(super) fn read(bytes: &[u8], now: Reading) -> Option<Self> {
        let mut wire: AccessWire = read(bytes)?;
        let [issued, refresh, end] =
            [wire.issued_at, wire.refresh_at, wire.expires_at].map(UnixTime::from_millis);
        Some(Self {
            connection: std::mem::take(&mut wire.connection).into(),
            jkt: std::mem::take(&mut wire.jkt).into(),
            token: Arc::new(AccessToken::new(std::mem::take(&mut wire.token)).ok()?),
            scopes: wire.scopes.iter().map(|scope| Scope::from(scope.as_str())).collect(),
            life: Life::written(now, issued, refresh, end),
        })
    }

    /// Whether it is of this connection and key.
    pub(super) fn belongs_to(&self, refresh: &Refresh) -> bool {
        self.connection == refresh.connection && self.jkt == refresh.jkt
    }
}

fn write(wire: &impl Serialize) -> SecretBytes {
    // Large enough not to grow, so that nothing of it stays behind elsewhere.
    let mut bytes = SecretBytes::new(Vec::with_capacity(16 << 10));
    // Texts and numbers are written without fail, and into memory.
    let _ = serde_json::to_writer(&mut *bytes, wire);
    bytes
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(monotonic: u64, wall: u64) -> Reading {
        Reading { wall: UnixTime::from_secs(1_790_000_000 + wall), monotonic: Duration::from_secs(monotonic) }
    }

    fn access(now: Reading, seconds: u64, fraction: f64) -> Access {
        Access {
            connection: "c".into(),
            jkt: "k".into(),
            token: Arc::new(AccessToken::new("hush").unwrap()),
            scopes: [Scope::ExchangeConnect, Scope::from("exchange.new")].into(),
            life: Life::begin(now, Duration::from_secs(seconds), fraction),
        }
    }

    /// IDP-19: a minute before the end, and up to a quarter of one more.
    #[test]
    fn a_token_is_due_before_its_end() {
        let due = |seconds, fraction| {
            let life = access(at(0, 0), seconds, fraction).life;
            (0..=seconds).find(|second| life.is_due(at(*second, *second)))
        };
        assert_eq!(due(300, 0.0), Some(240));
        assert_eq!(due(300, 0.999), Some(226));
        assert_eq!(due(60, 0.0), Some(30));
        assert_eq!(due(0, 0.0), Some(0));
        let life = access(at(0, 0), 300, 0.0).life;
        assert!(life.holds(at(299, 299)) && !life.holds(at(300, 300)));
        assert_eq!(life.age(at(9, 9)), Duration::from_secs(9));
    }

    /// A clock that is set, or that stands while the machine sleeps, never makes a token last longer.
    #[test]
    fn either_clock_ends_it() {
        let life = access(at(0, 0), 300, 0.0).life;
        assert!(life.is_due(at(1, 240)) && !life.holds(at(1, 300)));
        assert!(life.is_due(at(240, 1)) && !life.holds(at(300, 1)));
        // What was written down by a clock that was ahead means nothing.
        let life = access(at(0, 7200), 300, 0.0).life;
        assert!(life.is_due(at(0, 0)) && !life.holds(at(0, 0)));
    }

    #[test]
    fn what_is_kept_is_read_by_another_process() {
        let own = access(at(5, 0), 300, 0.5);
        let bytes = own.to_bytes();
        let read = Access::read(&bytes, at(1000, 100)).unwrap();
        assert_eq!((read.token.hash(), &read.scopes), (own.token.hash(), &own.scopes));
        assert!(!read.life.is_due(at(1100, 200)) && read.life.is_due(at(1133, 233)));
        assert!(read.life.holds(at(1199, 299)) && !read.life.holds(at(1200, 299)));
        let refresh = Refresh { connection: "c".into(), jkt: "k".into(), token: RefreshToken::new("hush") };
        assert!(read.belongs_to(&refresh));
        assert!(Refresh::read(&refresh.to_bytes()) == Some(refresh));
        assert!(Refresh::read(b"hush").is_none() && Access::read(b"{}", at(0, 0)).is_none());
    }
}
