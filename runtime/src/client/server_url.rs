//! Fills in the variables of a server's URL.

/// Returns the URL of a server: `template` with each `{name}` replaced by the value of that variable. Generated
/// packages call it for the types in their module `servers`.
///
/// A value cannot change the meaning of the text around it: characters that separate the parts of a URL are
/// percent-encoded, so that a value in the host cannot add another host or a path. Only a variable at the start
/// of the template is inserted unchanged, because it contains the scheme and the host (`{url}/v1`).
///
/// ```
/// use contract_runtime::client::server_url;
///
/// let url = server_url("https://{tenant}.example.com/{version}", &[("tenant", "acme"), ("version", "v1")]);
/// assert_eq!(url, "https://acme.example.com/v1");
/// ```
#[must_use]
pub fn server_url(template: &str, variables: &[(&str, &str)]) -> String {
    let mut url = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, (name, after))) = split_variable(rest) {
        url.push_str(before);
        match variables.iter().find(|(known, _)| *known == name) {
            Some((_, value)) if url.is_empty() && !after.starts_with("://") => url.push_str(value),
            Some((_, value)) => {
                let is_path = url.split_once("://").is_some_and(|(_, authority)| authority.contains('/'));
                push_encoded(&mut url, value, is_path);
            }
            None => url.push_str(&rest[before.len()..rest.len() - after.len()]),
        }
        rest = after;
    }
    url.push_str(rest);
    url
}

/// Splits at the first `{name}` into the text before it, the name, and the text after it.
fn split_variable(text: &str) -> Option<(&str, (&str, &str))> {
    let (before, after) = text.split_once('{')?;
    Some((before, after.split_once('}')?))
}

/// Adds a value, with all characters percent-encoded except unreserved ones (RFC 3986, 2.3), `:` and, in a path,
/// `/`.
fn push_encoded(url: &mut String, value: &str, is_path: bool) {
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                url.push(char::from(byte));
            }
            b'/' if is_path => url.push('/'),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
}

/// Returns the scheme, host and port of a URL, or of the template of one.
pub(super) fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find('/').map_or(url.len(), |at| host + at);
    &url[..end]
}

/// Returns true if a URL has the scheme, host and port of a server, with any values of the server's variables. A server
/// whose first variable contains the host has every URL; a server without a host has none.
pub(super) fn has_origin_of(template: &str, url: &str) -> bool {
    let template = origin(template);
    if template.contains("://") {
        matches_template(&template.to_ascii_lowercase(), &origin(url).to_ascii_lowercase())
    } else {
        template.starts_with('{')
    }
}

fn matches_template(template: &str, text: &str) -> bool {
    let Some((before, (_, after))) = split_variable(template) else { return template == text };
    let Some(value) = text.strip_prefix(before) else { return false };
    value.char_indices().any(|(end, _)| matches_template(after, &value[end..])) || matches_template(after, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_compared_with_any_values_of_variables() {
        for (server, url, expected) in [
            ("https://a.example/v1", "https://a.example", true),
            ("https://a.example", "https://A.example/v2", true),
            ("https://a.example", "https://a.example.org", false),
            ("https://a.example", "http://a.example", false),
            ("https://a.example", "https://a.example:8443", false),
            ("https://{a}.example/{b}", "https://x.example/y/z", true),
            ("https://{a}.{b}.example:{port}", "https://x.y.example:8443/v1", true),
            ("https://{a}-{b}.example", "https://x.example", false),
            ("https://{a}.example", "https://x/y.example", false),
            ("{scheme}://a.example", "http://a.example", true),
            ("{url}/v1", "http://localhost:4010", true),
            ("/v1", "http://localhost:4010", false),
            ("https://{a.example", "https://x.example", false),
        ] {
            assert_eq!(has_origin_of(server, url), expected, "{server} {url}");
        }
    }

    #[test]
    fn variables_are_filled_in() {
        for (template, variables, expected) in [
            ("https://a.example/v1", &[][..], "https://a.example/v1"),
            (
                "https://{a}.example:{port}/{b}",
                &[("a", "x"), ("port", "8443"), ("b", "v1/beta")],
                "https://x.example:8443/v1/beta",
            ),
            ("{scheme}://a.example", &[("scheme", "http")], "http://a.example"),
            ("{url}/v1", &[("url", "https://a.example:80")], "https://a.example:80/v1"),
            ("https://{a}{a}.example/{unknown}/{", &[("a", "x")], "https://xx.example/{unknown}/{"),
            // A value that contains a variable is not expanded again.
            ("https://{a}.example/{b}", &[("b", "{a}"), ("a", "x")], "https://x.example/%7Ba%7D"),
        ] {
            assert_eq!(server_url(template, variables), expected, "{template}");
        }
    }

    /// A value, such as a tenant that a user typed, cannot send requests to another host.
    #[test]
    fn values_stay_within_their_part() {
        for value in
            ["evil.example/", "evil.example/?", "evil.example#", "x@evil.example", "evil.example\\", "é"]
        {
            let url = server_url("https://{tenant}.example.com/{tenant}", &[("tenant", value)]);
            let (_, rest) = url.split_once("://").unwrap();
            let (host, path) = rest.split_once('/').unwrap();
            assert!(host.ends_with(".example.com"), "{url}");
            assert!(!host.contains(['@', '?', '#', '\\']) && !path.contains(['@', '?', '#', '\\']), "{url}");
        }
        let scheme = server_url("{scheme}://a.example", &[("scheme", "https://evil.example/?")]);
        assert_eq!(scheme, "https:%2F%2Fevil.example%2F%3F://a.example");
    }
}
