//! Determines the address of a client whose requests are forwarded by trusted proxies (LIM-04).

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// Returns the source address of a request. With trusted proxies, this is the entry of `X-Forwarded-For` that
/// the outermost trusted proxy added. It is counted from the end, because clients can forge all earlier
/// entries. Without trusted proxies, or if the entry is not an address, this is the address of the peer.
pub(super) fn client_address(headers: &HeaderMap, peer: IpAddr, trusted_hops: u8) -> IpAddr {
    let Some(back) = usize::from(trusted_hops).checked_sub(1) else { return peer };
    let lines: Vec<&str> =
        headers.get_all(FORWARDED_FOR).iter().map(|line| line.to_str().unwrap_or("")).collect();
    let entry = lines.iter().rev().flat_map(|line| line.rsplit(',')).nth(back);
    entry.and_then(parse_address).unwrap_or(peer)
}

/// Parses `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`, with or without a port.
fn parse_address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bare = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']')).unwrap_or(entry);
    bare.parse().ok().or_else(|| entry.parse::<SocketAddr>().ok().map(|with_port| with_port.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], trusted_hops: u8, expect: &str) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let source = client_address(&headers, "10.0.0.1".parse().unwrap(), trusted_hops);
        assert_eq!(source.to_string(), expect, "{lines:?} {trusted_hops}");
    }

    /// LIM-04: a client cannot choose its source address by sending the header.
    #[test]
    fn only_trusted_hops_are_used() {
        check(&["192.0.2.9"], 0, "10.0.0.1");
        check(&["192.0.2.9"], 1, "192.0.2.9");
        check(&["203.0.113.7, 192.0.2.9"], 1, "192.0.2.9");
        check(&["203.0.113.7", "192.0.2.9"], 1, "192.0.2.9");
        check(&["203.0.113.7, 192.0.2.9 , 10.0.0.2"], 2, "192.0.2.9");
        check(&["203.0.113.7", "192.0.2.9,10.0.0.2"], 2, "192.0.2.9");
    }

    #[test]
    fn invalid_address_falls_back_to_the_peer() {
        check(&[], 1, "10.0.0.1");
        check(&["192.0.2.9"], 2, "10.0.0.1");
        check(&["192.0.2.9, unknown"], 1, "10.0.0.1");
        check(&[""], 1, "10.0.0.1");
    }

    #[test]
    fn every_address_format_is_parsed() {
        check(&["192.0.2.9:1234"], 1, "192.0.2.9");
        check(&["2001:db8::1"], 1, "2001:db8::1");
        check(&["[2001:db8::1]"], 1, "2001:db8::1");
        check(&["[2001:db8::1]:1234"], 1, "2001:db8::1");
    }
}
