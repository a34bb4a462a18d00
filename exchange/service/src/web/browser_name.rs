//! Describes a browser by its `User-Agent` header, so that members recognize their sessions.

use http::HeaderMap;
use http::header::USER_AGENT;

/// The names of browsers, by a part of the header. The first match counts, because browsers also contain the
/// names of those that they imitate.
const BROWSERS: [(&str, &str); 7] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// The names of systems, by a part of the header.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// Returns a description such as `Firefox on Linux`, or `None` for an unknown browser. The result contains no
/// part of the header.
pub(super) fn browser_name(headers: &HeaderMap) -> Option<String> {
    let agent = headers.get(USER_AGENT)?.to_str().ok()?;
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|(part, _)| agent.contains(part)).map(|(_, name)| *name)
    };
    let browser = find(&BROWSERS)?;
    Some(find(&SYSTEMS).map_or_else(|| browser.to_owned(), |system| format!("{browser} on {system}")))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn browsers_are_named() {
        let check = |agent: &'static str, expect: Option<&str>| {
            let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(agent))]);
            assert_eq!(browser_name(&headers).as_deref(), expect, "{agent}");
        };
        check(
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            Some("Firefox on Linux"),
        );
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0 \
                      Safari/537.36";
        check(chrome, Some("Chrome on Windows"));
        let safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1";
        check(safari, Some("Safari on iPhone"));
        check("curl/8.0", None);
        assert_eq!(browser_name(&HeaderMap::new()), None);
    }
}
