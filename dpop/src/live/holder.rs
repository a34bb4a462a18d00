//! Whose room a proof takes. There is no proof without a holder, so none has room without bounds.

use std::{net::IpAddr, time::Duration};

use sha2::{Digest as _, Sha256};

use super::{Caps, LiveRefusal, Name, name_of};

/// Who a live proof is counted for.
///
/// Keys cost nothing: whoever wants makes a new one for each request. Room is therefore counted for somebody
/// who cannot be made up, an account where a token names one, else the network address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder<'a> {
    /// The account that the request's token is for, over all its keys and clients: the token's `sub`, or
    /// whatever the server knows it by.
    Account(&'a str),
    /// Where nobody is known yet, at the endpoints of an authorization server: where the request comes from,
    /// and by which client.
    Source {
        /// The peer's address, or what a proxy that is trusted says of it. Of an IPv6 address the first 64
        /// bits count, for a single host has all the others; an IPv4 address written as IPv6 is that IPv4
        /// address.
        address: IpAddr,
        /// The client's id, if the server knows that client, else nothing. One that the request alone claims
        /// is no bound: it could be another each time.
        client: &'a str,
    },
}

impl Holder<'_> {
    /// How many proofs it may have. Zero counts as one.
    pub(super) fn cap(&self, caps: &Caps) -> usize {
        match self {
            Self::Account(_) => caps.per_account,
            Self::Source { .. } => caps.per_source,
        }
    }

    /// The refusal of one that has as many.
    pub(super) const fn full(&self, wait: Duration) -> LiveRefusal {
        match self {
            Self::Account(_) => LiveRefusal::AccountFull { wait },
            Self::Source { .. } => LiveRefusal::SourceFull { wait },
        }
    }

    /// What it is known by: no two holders have the same text behind the same tag.
    pub(super) fn name(&self) -> Name {
        let hash = Sha256::new();
        name_of(match self {
            Self::Account(account) => hash.chain_update(b"a").chain_update(account),
            Self::Source { address, client } => match address.to_canonical() {
                IpAddr::V4(address) => {
                    hash.chain_update(b"4").chain_update(address.octets()).chain_update(client)
                }
                IpAddr::V6(address) => {
                    let [network, _] = halves(address.octets());
                    hash.chain_update(b"6").chain_update(network).chain_update(client)
                }
            },
        })
    }
}

/// Network and host of an IPv6 address (RFC 4291, 2.5.1).
fn halves(octets: [u8; 16]) -> [[u8; 8]; 2] {
    let number = u128::from_be_bytes(octets);
    [(number >> 64) as u64, number as u64].map(u64::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source<'a>(address: &str, client: &'a str) -> Holder<'a> {
        Holder::Source { address: address.parse().unwrap(), client }
    }

    /// DPP-19: the network counts, and the client; what one host has many of does not.
    #[test]
    fn who_is_the_same() {
        let same = [
            (source("2001:db8::1", "c"), source("2001:db8::ffff:1:2:3", "c")),
            (source("::ffff:192.0.2.1", "c"), source("192.0.2.1", "c")),
        ];
        for (one, other) in same {
            assert_eq!(one.name(), other.name(), "{one:?} {other:?}");
        }
        let all = [
            Holder::Account(""),
            Holder::Account("c"),
            Holder::Account("4\0\0\0\0c"),
            source("0.0.0.0", "c"),
            source("0.0.0.0", ""),
            source("192.0.2.1", "c"),
            source("192.0.2.1", "d"),
            source("192.0.2.2", "c"),
            source("2001:db8::1", "c"),
            source("2001:db8::1", "d"),
            source("2001:db8:0:1::1", "c"),
            source("::", "c"),
        ];
        for (at, one) in all.iter().enumerate() {
            for other in &all[..at] {
                assert_ne!(one.name(), other.name(), "{one:?} {other:?}");
            }
        }
    }
}
