//! The holder against whose limit a proof counts. Every proof has a holder, so no client can fill the store.

use std::{net::IpAddr, time::Duration};

use sha2::{Digest as _, Sha256};

use super::{RecordHash, ReplayError, ReplayLimits, truncate_hash};

/// The account or network source against whose limit a valid proof counts.
///
/// A key cannot be the basis of a limit, because a client can create a new one for each request. Proofs
/// therefore count against an identity that the client cannot invent: the account if the token names one,
/// otherwise the network address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProofHolder<'a> {
    /// The account of the request's token, over all its keys and clients: the token's `sub`, or another
    /// identifier that the server uses.
    Account(&'a str),
    /// The network source and client of a request without a known account, at the endpoints of an
    /// authorization server.
    Source {
        /// The peer's address, or the address that a trusted proxy reports. Only the first 64 bits of an IPv6
        /// address count, because a single host can use all addresses of that network. An IPv4-mapped IPv6
        /// address counts as the IPv4 address.
        address: IpAddr,
        /// The id of the client if the server has authenticated it, otherwise an empty string. An unverified
        /// id of the request would not limit anything, because it could differ each time.
        client: &'a str,
    },
}

impl ProofHolder<'_> {
    /// Returns the maximum number of proofs of this holder. The caller treats zero as one.
    pub(super) fn max_proofs(&self, limits: &ReplayLimits) -> usize {
        match self {
            Self::Account(_) => limits.per_account,
            Self::Source { .. } => limits.per_source,
        }
    }

    /// Returns the error for a holder that has reached its limit.
    pub(super) const fn limit_error(&self, wait: Duration) -> ReplayError {
        match self {
            Self::Account(_) => ReplayError::AccountFull { wait },
            Self::Source { .. } => ReplayError::SourceFull { wait },
        }
    }

    /// Returns the key of this holder in the store. The tags keep the kinds of holders distinct.
    pub(super) fn record_hash(&self) -> RecordHash {
        let hash = Sha256::new();
        truncate_hash(match self {
            Self::Account(account) => hash.chain_update(b"a").chain_update(account),
            Self::Source { address, client } => match address.to_canonical() {
                IpAddr::V4(address) => {
                    hash.chain_update(b"4").chain_update(address.octets()).chain_update(client)
                }
                IpAddr::V6(address) => {
                    let [network, _] = split_ipv6(address.octets());
                    hash.chain_update(b"6").chain_update(network).chain_update(client)
                }
            },
        })
    }
}

/// Splits an IPv6 address into network and host (RFC 4291, 2.5.1).
fn split_ipv6(octets: [u8; 16]) -> [[u8; 8]; 2] {
    let number = u128::from_be_bytes(octets);
    [(number >> 64) as u64, number as u64].map(u64::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source<'a>(address: &str, client: &'a str) -> ProofHolder<'a> {
        ProofHolder::Source { address: address.parse().unwrap(), client }
    }

    /// DPP-19: a holder is identified by its network and its client; the host part of an address is ignored.
    #[test]
    fn holder_identity() {
        let same = [
            (source("2001:db8::1", "c"), source("2001:db8::ffff:1:2:3", "c")),
            (source("::ffff:192.0.2.1", "c"), source("192.0.2.1", "c")),
        ];
        for (one, other) in same {
            assert_eq!(one.record_hash(), other.record_hash(), "{one:?} {other:?}");
        }
        let all = [
            ProofHolder::Account(""),
            ProofHolder::Account("c"),
            ProofHolder::Account("4\0\0\0\0c"),
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
                assert_ne!(one.record_hash(), other.record_hash(), "{one:?} {other:?}");
            }
        }
    }
}
