//! Nonces, the server's side: windows of time with a keyed hash (RFC 9449, 8, 9 and 11.2).
//!
//! A nonce says in which window it was handed out, in a way that only the holder of the key can make.
//! So nothing is stored, every answer can carry one, and all servers that share the key
//! accept each other's. The current and the previous window are accepted: with windows of five minutes a
//! nonce holds five to ten. A new key, as after a restart, makes all of them foreign.

use std::{fmt, time::Duration};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};
use zeroize::Zeroizing;

use super::Nonce;
use crate::{
    base64url,
    random::{Random, RandomError},
    time::UnixTime,
};

/// Bytes of the hash that a nonce shows; guessing one takes 2¹²⁷ tries on average.
const BYTES: usize = 16;
/// What the hash is over, so that the key's other uses, if it has any, give other values.
const LABEL: &[u8] = b"DPoP-Nonce 1\0";

/// The key of a server's nonces: 32 secret bytes, cleared when dropped.
#[derive(Clone)]
pub struct NonceKey(Zeroizing<[u8; 32]>);

impl NonceKey {
    /// A new key.
    ///
    /// # Errors
    /// When there are no random numbers.
    pub fn generate(random: &impl Random) -> Result<Self, RandomError> {
        let mut bytes = Zeroizing::new([0; 32]);
        random.fill(bytes.as_mut())?;
        Ok(Self(bytes))
    }

    /// A key that several processes share, or that outlives one: 32 bytes of a cryptographic generator, kept
    /// where secrets are kept; no password, and nothing that is used for anything else.
    ///
    /// Who shares it accepts the same nonces, and so the same proofs. That asks for three things more:
    ///
    /// - a [`ReplayStore`](crate::ReplayStore) that they share, too. With a store in each process every one of
    ///   them admits a stolen proof once; with one in memory and a key that outlives the process, a restart
    ///   forgets proofs that still count;
    /// - the same server name ([`NonceIssuer::new`]) and the same window ([`NonceIssuer::with_window`]), else
    ///   their nonces are foreign to each other, and clients are challenged whenever they change servers;
    /// - clocks that agree to a fraction of that window. A nonce of a window that has not begun elsewhere is
    ///   foreign there: one challenge more, nothing worse.
    ///
    /// A new key takes effect for all at once or challenges for a while whoever meets both; that is all that a
    /// change of keys needs.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

/// Hands out nonces and knows them again.
#[derive(Clone)]
pub struct NonceIssuer {
    /// With key, label and server already in it.
    mac: Hmac<Sha256>,
    window: Duration,
}

/// How old an accepted nonce is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceAge {
    /// Handed out in this window.
    Current,
    /// Handed out in the window before.
    Previous,
}

/// Why a proof is answered by a challenge: `use_dpop_nonce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NonceRefusal {
    /// The proof has no `nonce`, or one that is no text.
    #[error("the proof has no nonce")]
    Missing,
    /// The nonce is too old, another server's, or altered; which of them, nobody can tell.
    #[error("the nonce is not a current one of this server")]
    Foreign,
}

impl NonceIssuer {
    /// Five minutes.
    // A31
    pub const WINDOW: Duration = Duration::from_secs(300);

    /// Nonces of the server of this name: under one key, the nonces of two names are foreign to each
    /// other.
    #[must_use]
    pub fn new(key: &NonceKey, server: &str) -> Self {
        // A key shorter than a block is filled up with zeros: RFC 2104, 2.
        let mut block = Zeroizing::new([0; 64]);
        block[..32].copy_from_slice(key.0.as_ref());
        let mut mac = Hmac::<Sha256>::new((&*block).into());
        mac.update(LABEL);
        mac.update(&(server.len() as u64).to_be_bytes());
        mac.update(server.as_bytes());
        Self { mac, window: Self::WINDOW }
    }

    /// With windows of this length, at least a second.
    #[must_use]
    pub fn with_window(mut self, window: Duration) -> Self {
        self.window = window.max(Duration::from_secs(1));
        self
    }

    /// The nonce to hand out now: the same for everybody within a window.
    #[must_use]
    pub fn issue(&self, now: UnixTime) -> Nonce {
        Nonce(base64url::encode(&self.hash(self.number(now))).into())
    }

    /// Whether a proof's nonce is one of the two that are accepted.
    ///
    /// Takes the same time for every nonce of the right length, right or wrong.
    ///
    /// # Errors
    /// When it is missing or not accepted: answer with a challenge and [`issue`](Self::issue).
    pub fn check(&self, nonce: Option<&str>, now: UnixTime) -> Result<NonceAge, NonceRefusal> {
        let nonce = nonce.ok_or(NonceRefusal::Missing)?;
        let given = base64url::decode_array::<BYTES>(nonce).ok_or(NonceRefusal::Foreign)?;
        let number = self.number(now);
        let is = |number| given.ct_eq(&self.hash(number));
        // In the first window of all there is none before.
        let previous = number.checked_sub(1).map_or(Choice::from(0), is);
        let current = is(number);
        if current.into() {
            Ok(NonceAge::Current)
        } else if previous.into() {
            Ok(NonceAge::Previous)
        } else {
            Err(NonceRefusal::Foreign)
        }
    }

    /// Which window it is.
    fn number(&self, now: UnixTime) -> u128 {
        now.since_epoch().as_nanos() / self.window.as_nanos().max(1)
    }

    fn hash(&self, number: u128) -> [u8; BYTES] {
        let mut mac = self.mac.clone();
        mac.update(&number.to_be_bytes());
        let whole = mac.finalize().into_bytes();
        let mut hash = [0; BYTES];
        hash.copy_from_slice(&whole[..BYTES]);
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

    /// LIM-12, DPP-13, A31: five to ten minutes, whenever in its window it was handed out.
    #[test]
    fn a_nonce_holds_for_its_window_and_the_next() {
        use NonceAge::{Current, Previous};
        assert_eq!(START % 300, 0);
        let issuer = issuer(1, "gateway");
        for issued in [0, 1, 150_000, 299_999] {
            let nonce = issuer.issue(at(issued));
            for (asked, expect) in [
                (0, Ok(Current)),
                (issued, Ok(Current)),
                (299_999, Ok(Current)),
                (300_000, Ok(Previous)),
                (599_999, Ok(Previous)),
                (600_000, Err(NonceRefusal::Foreign)),
                (86_400_000, Err(NonceRefusal::Foreign)),
            ] {
                assert_eq!(issuer.check(Some(nonce.as_str()), at(asked)), expect, "{issued} {asked}");
            }
            // A clock that was stepped back: the nonce is of a window that has not begun.
            let before = UnixTime::from_millis(START * 1000 - 1);
            assert_eq!(issuer.check(Some(nonce.as_str()), before), Err(NonceRefusal::Foreign));
        }
    }

    /// DPP-17; list C: no nonce, another server's, altered in any bit.
    #[test]
    fn what_is_not_this_servers_is_foreign() {
        let issuer_ = issuer(1, "gateway");
        assert_eq!(issuer_.check(None, at(0)), Err(NonceRefusal::Missing));
        let check = |nonce: &str| issuer_.check(Some(nonce), at(0)).err();
        let foreign = Some(NonceRefusal::Foreign);
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

    /// List C: a nonce of two windows ago; and windows of another length, down to none.
    #[test]
    fn windows_have_the_length_that_was_asked_for() {
        let issuer = issuer(1, "gateway").with_window(Duration::from_secs(60));
        let nonce = issuer.issue(at(0));
        assert_eq!(issuer.check(Some(nonce.as_str()), at(119_999)), Ok(NonceAge::Previous));
        assert_eq!(issuer.check(Some(nonce.as_str()), at(120_000)), Err(NonceRefusal::Foreign));
        let shortest = issuer.with_window(Duration::ZERO);
        let nonce = shortest.issue(UnixTime::default());
        assert_eq!(shortest.check(Some(nonce.as_str()), UnixTime::from_secs(1)), Ok(NonceAge::Previous));
    }

    #[test]
    fn what_is_handed_out_is_a_nonce() {
        let issuer = issuer(1, "gateway");
        let nonce = issuer.issue(at(0));
        assert_eq!(Nonce::new(nonce.as_str()), Ok(nonce.clone()));
        assert_eq!(nonce.as_str().len(), 22);
        assert_eq!(format!("{nonce:?} {:?}", NonceKey::from_bytes([7; 32])), "Nonce(22 bytes) NonceKey(…)");
    }
}
