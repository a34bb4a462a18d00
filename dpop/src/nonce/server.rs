//! The nonces of a server: authentication codes of time windows (RFC 9449, 8, 9 and 11.2).
//!
//! A nonce is a keyed hash of the number of the window in which it was issued; only the holder of the key can
//! compute it. The server therefore stores nothing, can add a nonce to every response, and all servers with
//! the same key accept each other's nonces. The current and the previous window are accepted: with windows of
//! five minutes a nonce is valid for five to ten minutes. A new key, for example after a restart, invalidates
//! all nonces.

use std::{fmt, time::Duration};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};
use zeroize::Zeroizing;

use super::Nonce;
use crate::{
    base64url,
    random::{RandomError, RandomSource},
    time::UnixTime,
};

/// The number of hash bytes in a nonce. Guessing one takes 2¹²⁷ attempts on average.
const BYTES: usize = 16;
/// The prefix of the hash input, which separates nonces from other uses of the key.
const LABEL: &[u8] = b"DPoP-Nonce 1\0";

/// The key of a server's nonces: 32 secret bytes, cleared when dropped.
#[derive(Clone)]
pub struct NonceKey(Zeroizing<[u8; 32]>);

impl NonceKey {
    /// Generates a new key.
    ///
    /// # Errors
    /// Returns an error if the random number generator fails.
    pub fn generate(random: &impl RandomSource) -> Result<Self, RandomError> {
        let mut bytes = Zeroizing::new([0; 32]);
        random.fill(bytes.as_mut())?;
        Ok(Self(bytes))
    }

    /// Creates a key that several processes share or that outlives one process. Use 32 bytes of a
    /// cryptographic generator, store them as a secret, and use them for nothing else; do not derive them
    /// from a password.
    ///
    /// Processes that share a key accept the same nonces and therefore the same proofs. They also need:
    ///
    /// - a shared [`ReplayStore`](crate::ReplayStore). With one store per process, each process would admit a
    ///   stolen proof once. With a store in memory and a key that outlives the process, a restart would
    ///   forget proofs that are still valid;
    /// - the same server name ([`NonceIssuer::new`]) and the same window ([`NonceIssuer::with_window`]).
    ///   Otherwise they reject each other's nonces, and a client receives a challenge whenever it changes
    ///   servers;
    /// - clocks that agree to a fraction of that window. A nonce of a window that has not begun on another
    ///   server is rejected there, which costs one more challenge.
    ///
    /// To rotate the key, replace it on all processes. Clients that reach processes with different keys
    /// receive additional challenges in the meantime.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

/// An issuer and verifier of a server's nonces.
#[derive(Clone)]
pub struct NonceIssuer {
    /// The state after key, label and server name.
    mac: Hmac<Sha256>,
    window: Duration,
}

/// The window in which an accepted nonce was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceAge {
    /// Issued in the current window.
    Current,
    /// Issued in the previous window.
    Previous,
}

/// The reason for a nonce challenge (`use_dpop_nonce`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NonceError {
    /// The proof has no `nonce`, or one that is not a string.
    #[error("the proof has no nonce")]
    Missing,
    /// The nonce is expired, altered, or of another server. These cases cannot be distinguished.
    #[error("the nonce has expired or was not issued by this server")]
    Foreign,
}

impl NonceIssuer {
    /// The default length of a window: five minutes.
    // A31
    pub const DEFAULT_WINDOW: Duration = Duration::from_secs(300);

    /// Creates an issuer for the server with this name. Issuers with the same key but different names reject
    /// each other's nonces.
    #[must_use]
    pub fn new(key: &NonceKey, server: &str) -> Self {
        // A key that is shorter than a block is padded with zeros (RFC 2104, 2).
        let mut block = Zeroizing::new([0; 64]);
        block[..32].copy_from_slice(key.0.as_ref());
        let mut mac = Hmac::<Sha256>::new((&*block).into());
        mac.update(LABEL);
        mac.update(&(server.len() as u64).to_be_bytes());
        mac.update(server.as_bytes());
        Self { mac, window: Self::DEFAULT_WINDOW }
    }

    /// Sets the length of the windows, at least one second.
    #[must_use]
    pub fn with_window(mut self, window: Duration) -> Self {
        self.window = window.max(Duration::from_secs(1));
        self
    }

    /// Returns the nonce of the current window, which is the same for all clients.
    #[must_use]
    pub fn issue(&self, now: UnixTime) -> Nonce {
        Nonce(base64url::encode(&self.hash(self.window_number(now))).into())
    }

    /// Checks that a proof's nonce is the current or the previous one.
    ///
    /// Takes constant time for every nonce of the right length.
    ///
    /// # Errors
    /// Returns an error if the nonce is missing or not accepted. Respond with a challenge and the nonce of
    /// [`issue`](Self::issue).
    pub fn check_nonce(&self, nonce: Option<&str>, now: UnixTime) -> Result<NonceAge, NonceError> {
        let nonce = nonce.ok_or(NonceError::Missing)?;
        let decoded = base64url::decode_array::<BYTES>(nonce).ok_or(NonceError::Foreign)?;
        let number = self.window_number(now);
        let is = |number| decoded.ct_eq(&self.hash(number));
        // The first window since the epoch has no predecessor.
        let previous = number.checked_sub(1).map_or(Choice::from(0), is);
        let current = is(number);
        if current.into() {
            Ok(NonceAge::Current)
        } else if previous.into() {
            Ok(NonceAge::Previous)
        } else {
            Err(NonceError::Foreign)
        }
    }

    /// Returns the number of the window that contains `now`.
    fn window_number(&self, now: UnixTime) -> u128 {
        now.since_epoch().as_nanos() / self.window.as_nanos().max(1)
    }

    fn hash(&self, number: u128) -> [u8; BYTES] {
        let mut mac = self.mac.clone();
        mac.update(&number.to_be_bytes());
        let tag = mac.finalize().into_bytes();
        let mut hash = [0; BYTES];
        hash.copy_from_slice(&tag[..BYTES]);
        hash
    }
}

impl fmt::Debug for NonceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NonceKey(…)")
    }
}

impl fmt::Debug for NonceIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NonceIssuer").field("window", &self.window).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_790_000_100;

    fn issuer(key: u8, server: &str) -> NonceIssuer {
        NonceIssuer::new(&NonceKey::from_bytes([key; 32]), server)
    }

    fn at(millis: u64) -> UnixTime {
        UnixTime::from_millis(START * 1000 + millis)
    }

    /// LIM-12, DPP-13, A31: a nonce is valid in its window and in the next one, which is five to ten minutes.
    #[test]
    fn nonce_is_valid_in_its_window_and_the_next() {
        use NonceAge::{Current, Previous};
        assert_eq!(START % 300, 0);
        let issuer = issuer(1, "gateway");
        for issued in [0, 1, 150_000, 299_999] {
            let nonce = issuer.issue(at(issued));
            for (checked_at, expect) in [
                (0, Ok(Current)),
                (issued, Ok(Current)),
                (299_999, Ok(Current)),
                (300_000, Ok(Previous)),
                (599_999, Ok(Previous)),
                (600_000, Err(NonceError::Foreign)),
                (86_400_000, Err(NonceError::Foreign)),
            ] {
                assert_eq!(
                    issuer.check_nonce(Some(nonce.as_str()), at(checked_at)),
                    expect,
                    "{issued} {checked_at}"
                );
            }
            // If the clock is set back, the nonce belongs to a window that has not begun.
            let before = UnixTime::from_millis(START * 1000 - 1);
            assert_eq!(issuer.check_nonce(Some(nonce.as_str()), before), Err(NonceError::Foreign));
        }
    }

    /// DPP-17: a missing nonce, a nonce of another server, and a nonce with any bit altered are
    /// rejected.
    #[test]
    fn nonce_of_another_issuer_is_foreign() {
        let issuer_ = issuer(1, "gateway");
        assert_eq!(issuer_.check_nonce(None, at(0)), Err(NonceError::Missing));
        let check = |nonce: &str| issuer_.check_nonce(Some(nonce), at(0)).err();
        let foreign = Some(NonceError::Foreign);
        assert_eq!(check(issuer(2, "gateway").issue(at(0)).as_str()), foreign);
        assert_eq!(check(issuer(1, "identity").issue(at(0)).as_str()), foreign);
        let good = issuer_.issue(at(0));
        assert_eq!(check(good.as_str()), None);
        let bytes = base64url::decode_array::<BYTES>(good.as_str()).unwrap();
        for bit in 0..BYTES * 8 {
            let mut spoilt = bytes;
            spoilt[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(check(&base64url::encode(&spoilt)), foreign, "{bit}");
        }
        let text = good.as_str();
        for spoilt in ["", &text[1..], &format!("{text}="), &format!("{text}A"), &format!(" {text}"), "\0"] {
            assert_eq!(check(spoilt), foreign, "{spoilt:?}");
        }
    }

    /// The length of windows can be configured, even as zero, and a nonce expires after the next
    /// window.
    #[test]
    fn window_length_is_configurable() {
        let issuer = issuer(1, "gateway").with_window(Duration::from_secs(60));
        let nonce = issuer.issue(at(0));
        assert_eq!(issuer.check_nonce(Some(nonce.as_str()), at(119_999)), Ok(NonceAge::Previous));
        assert_eq!(issuer.check_nonce(Some(nonce.as_str()), at(120_000)), Err(NonceError::Foreign));
        let shortest = issuer.with_window(Duration::ZERO);
        let nonce = shortest.issue(UnixTime::default());
        assert_eq!(
            shortest.check_nonce(Some(nonce.as_str()), UnixTime::from_secs(1)),
            Ok(NonceAge::Previous)
        );
    }

    #[test]
    fn issued_nonce_is_well_formed() {
        let issuer = issuer(1, "gateway");
        let nonce = issuer.issue(at(0));
        assert_eq!(Nonce::new(nonce.as_str()), Ok(nonce.clone()));
        assert_eq!(nonce.as_str().len(), 22);
        assert_eq!(format!("{nonce:?} {:?}", NonceKey::from_bytes([7; 32])), "Nonce(22 bytes) NonceKey(…)");
    }
}
