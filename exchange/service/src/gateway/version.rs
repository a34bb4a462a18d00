//! The version of the client in the header `User-Agent` (ERR-16, CLI-01).

use semver::Version;

/// Returns true if the version in `User-Agent` is at least `oldest`. Returns false if the version is missing
/// or invalid.
pub(super) fn is_at_least(user_agent: Option<&str>, oldest: &Version) -> bool {
    let read = user_agent.and_then(parse_product_version);
    read.is_some_and(|version| version.cmp_precedence(oldest).is_ge())
}

/// Parses `<name>/<semver>` and ignores everything after the first space or tab.
fn parse_product_version(user_agent: &str) -> Option<Version> {
    let product = user_agent.split([' ', '\t']).next()?;
    let (name, version) = product.split_once('/')?;
    if name.is_empty() { None } else { Version::parse(version).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ERR-16: a pre-release is older than its release, and build metadata is ignored.
    #[test]
    fn client_versions_are_compared_by_precedence() {
        let oldest = Version::parse("1.4.0").unwrap();
        for (user_agent, expect) in [
            ("Client/1.4.0", true),
            ("Client/1.4.0 (+https://client.example)", true),
            ("Client/1.10.0 (+https://client.example)", true),
            ("Client/1.4.0+build.7", true),
            ("Client/1.4.1-rc.1", true),
            ("Client/1.4.0-rc.1", false),
            ("Client/1.3.99", false),
            ("Client/1.4", false),
            ("Client/v1.4.0", false),
            ("Client 1.4.0", false),
            ("/1.4.0", false),
            ("Client/", false),
            ("Other Client/1.4.0", false),
            ("", false),
        ] {
            assert_eq!(is_at_least(Some(user_agent), &oldest), expect, "{user_agent}");
        }
        assert!(!is_at_least(None, &oldest));
    }
}
