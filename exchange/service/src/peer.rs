//! The source address of a request.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};

use axum::extract::FromRequestParts;
use http::Extensions;
use http::request::Parts;

/// The source address of a request: that of the connection, or the one that a trusted proxy reported.
///
/// The server that accepts the connection stores the address in the extensions of the request. No other code
/// reads a forwarding header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddr(pub IpAddr);

impl PeerAddr {
    /// Returns the address from the extensions. All requests without an address share the unspecified address
    /// and its limits. A missing address therefore results in stricter limits, not in looser ones.
    #[must_use]
    pub fn from_extensions(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or(Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED)))
    }

    /// Returns true for IPv4 and IPv6 loopback addresses, including IPv4-mapped ones.
    #[must_use]
    pub fn is_loopback(self) -> bool {
        self.0.to_canonical().is_loopback()
    }

    /// Returns the key by which limits are counted: the IPv4 address, or the /64 network of an IPv6 address.
    /// One host may use all addresses of its network (LIM-04).
    #[must_use]
    pub fn network(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                IpAddr::V6(network.into())
            }
            address => address,
        }
    }
}

impl<S: Sync> FromRequestParts<S> for PeerAddr {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::from_extensions(&parts.extensions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-04: a host cannot evade limits by using another address of its own network.
    #[test]
    fn limits_count_by_network_prefix() {
        let network = |text: &str| PeerAddr(text.parse().unwrap()).network();
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1:2:3"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(PeerAddr::from_extensions(&Extensions::new()).network(), network("0.0.0.0"));
    }
}
