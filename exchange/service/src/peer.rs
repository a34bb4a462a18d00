//! Where a request comes from.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};

use axum::extract::FromRequestParts;
use http::Extensions;
use http::request::Parts;

/// The source address of a request: the peer's, or what a trusted proxy says of it.
///
/// Whoever accepts the connection puts it into the request's extensions; nothing else reads a header for
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(pub IpAddr);

impl Peer {
    /// The address that the request came with. Requests without one share the unspecified address, and
    /// so its limits: whoever forgets to say who asks gets less, not more.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or(Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED)))
    }

    /// Whether it is this machine itself.
    #[must_use]
    pub fn is_loopback(self) -> bool {
        self.0.to_canonical().is_loopback()
    }

    /// What limits count by: an IPv4 address, or the /64 network of an IPv6 address, for a single host
    /// has all the rest (LIM-04).
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

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-04: a host cannot be somebody else by another address of its own network.
    #[test]
    fn what_limits_count_by() {
        let network = |text: &str| Peer(text.parse().unwrap()).network();
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1:2:3"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(Peer::of(&Extensions::new()).network(), network("0.0.0.0"));
    }
}
