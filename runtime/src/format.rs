//! [`StringFormat`]: the formats of JSON Schema 2020-12 (Validation, 7.3) as predicates on strings.
//!
//! The `format` keyword is an annotation unless the meta-schema enables assertion, in which case these
//! predicates apply. Each predicate scans its input once. Formats that need Unicode tables or a regex engine
//! (`idn-hostname`, `idn-email`, `regex`) are not implemented, and the generator reports a schema that
//! asserts one of them.

pub mod base64;

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::timestamp::Timestamp;

/// A format that can be asserted; see [`StringFormat::is_match`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StringFormat {
    /// `date-time`, RFC 3339, 5.6.
    DateTime,
    /// `date`, RFC 3339, 5.6.
    Date,
    /// `time`, RFC 3339, 5.6, with a time offset.
    Time,
    /// `duration`, RFC 3339, appendix A.
    Duration,
    /// `email`, RFC 5321, 4.1.2.
    Email,
    /// `hostname`, RFC 1123, 2.1. The Punycode after `xn--` is not decoded.
    Hostname,
    /// `ipv4`, RFC 2673, 3.2.
    Ipv4,
    /// `ipv6`, RFC 4291, 2.2.
    Ipv6,
    /// `uri`, RFC 3986, with a scheme.
    Uri,
    /// `uri-reference`, RFC 3986.
    UriReference,
    /// `iri`, RFC 3987, with a scheme.
    Iri,
    /// `iri-reference`, RFC 3987.
    IriReference,
    /// `uri-template`, RFC 6570.
    UriTemplate,
    /// `uuid`, RFC 4122.
    Uuid,
    /// `json-pointer`, RFC 6901, 5.
    JsonPointer,
    /// `relative-json-pointer`, draft-bhutton-relative-json-pointer-00.
    RelativeJsonPointer,
}

impl StringFormat {
    /// All supported formats.
    pub const ALL: &'static [Self] = &[
        Self::DateTime,
        Self::Date,
        Self::Time,
        Self::Duration,
        Self::Email,
        Self::Hostname,
        Self::Ipv4,
        Self::Ipv6,
        Self::Uri,
        Self::UriReference,
        Self::Iri,
        Self::IriReference,
        Self::UriTemplate,
        Self::Uuid,
        Self::JsonPointer,
        Self::RelativeJsonPointer,
    ];

    /// Returns a typical string that has the format.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::DateTime => "2024-05-06T07:08:09Z",
            Self::Date => "2024-05-06",
            Self::Time => "07:08:09Z",
            Self::Duration => "P1DT2H",
            Self::Email => "a@example.org",
            Self::Hostname => "example.org",
            Self::Ipv4 => "192.0.2.1",
            Self::Ipv6 => "2001:db8::1",
            Self::Uri => "https://example.org/",
            Self::UriReference => "../a",
            Self::Iri => "https://example.org/ä",
            Self::IriReference => "../ä",
            Self::UriTemplate => "/a/{b}",
            Self::Uuid => "00000000-0000-4000-8000-000000000000",
            Self::JsonPointer => "/a/0",
            Self::RelativeJsonPointer => "1/a",
        }
    }

    /// Returns the value of the `format` keyword for this format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DateTime => "date-time",
            Self::Date => "date",
            Self::Time => "time",
            Self::Duration => "duration",
            Self::Email => "email",
            Self::Hostname => "hostname",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Uri => "uri",
            Self::UriReference => "uri-reference",
            Self::Iri => "iri",
            Self::IriReference => "iri-reference",
            Self::UriTemplate => "uri-template",
            Self::Uuid => "uuid",
            Self::JsonPointer => "json-pointer",
            Self::RelativeJsonPointer => "relative-json-pointer",
        }
    }

    /// Returns the format for a value of the `format` keyword, if the format is supported.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.as_str() == name)
    }

    /// Returns true if the string has the named format, or if the format is not supported.
    #[must_use]
    pub fn is_match_by_name(name: &str, text: &str) -> bool {
        Self::from_name(name).is_none_or(|format| format.is_match(text))
    }

    /// Returns true if the string has this format.
    #[must_use]
    pub fn is_match(self, text: &str) -> bool {
        match self {
            Self::DateTime => Timestamp::parse(text).is_some(),
            Self::Date => text.len() == 10 && Timestamp::parse(&format!("{text}T00:00:00Z")).is_some(),
            Self::Time => Timestamp::parse(&format!("2000-01-01T{text}")).is_some(),
            Self::Duration => is_duration(text),
            Self::Email => is_email(text),
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Uri => is_uri(text, SchemeRule::Required, CharacterSet::Ascii),
            Self::UriReference => is_uri(text, SchemeRule::Optional, CharacterSet::Ascii),
            Self::Iri => is_uri(text, SchemeRule::Required, CharacterSet::Unicode),
            Self::IriReference => is_uri(text, SchemeRule::Optional, CharacterSet::Unicode),
            Self::UriTemplate => is_template(text),
            Self::Uuid => is_uuid(text),
            Self::JsonPointer => is_pointer(text),
            Self::RelativeJsonPointer => is_relative_pointer(text),
        }
    }
}

/// Checks an ISO 8601 duration. Units must follow each other without a gap (`P1Y2M`, but not `P1Y2D`), and
/// weeks cannot be combined with other units.
fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else { return false };
    let (date, time) = match rest.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (rest, None),
    };
    if time.is_none() && date.ends_with('W') {
        return are_units(date, "W");
    }
    let time_holds = time.is_none_or(|time| !time.is_empty() && are_units(time, "HMS"));
    time_holds && if date.is_empty() { time.is_some() } else { are_units(date, "YMD") }
}

/// Checks a list of numbers with units. Each unit must directly follow the previous one in `units`.
fn are_units(text: &str, units: &str) -> bool {
    let mut rest = text;
    let mut from: Option<usize> = None;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some((number, tail)) = rest.split_at_checked(digits) else { return false };
        let mut tail = tail.chars();
        let unit = tail.next().and_then(|unit| units.find(unit));
        match (unit, from) {
            (Some(unit), None) => from = Some(unit),
            (Some(unit), Some(before)) if unit == before + 1 => from = Some(unit),
            _ => return false,
        }
        if number.is_empty() {
            return false;
        }
        rest = tail.as_str();
    }
    from.is_some()
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_local = match local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => is_quoted(quoted),
        None => local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom)),
    };
    let is_domain = match domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(literal) => match literal.strip_prefix("IPv6:") {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => literal.parse::<Ipv4Addr>().is_ok(),
        },
        None => is_hostname(domain),
    };
    is_local && is_domain
}

/// Returns true for an `atext` byte (RFC 5322, 3.2.3).
fn is_atom(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

/// Checks the content of a quoted local part (RFC 5321, 4.1.2). It must be printable ASCII, with quotes and
/// backslashes escaped by a backslash.
fn is_quoted(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let holds = match byte {
            b'\\' => bytes.next().is_some_and(|next| (b' '..=b'~').contains(&next)),
            b'"' => false,
            _ => (b' '..=b'~').contains(&byte),
        };
        if !holds {
            return false;
        }
    }
    true
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[derive(Clone, Copy, PartialEq)]
enum SchemeRule {
    Required,
    Optional,
}

#[derive(Clone, Copy, PartialEq)]
enum CharacterSet {
    Ascii,
    Unicode,
}

/// Checks a URI (RFC 3986, 3 and 4.1) or, with non-ASCII characters, an IRI (RFC 3987, 2.2).
fn is_uri(text: &str, need: SchemeRule, letters: CharacterSet) -> bool {
    let (rest, fragment) = split_optional(text, '#');
    let (rest, query) = split_optional(rest, '?');
    let scheme = rest.split_once(':').filter(|(scheme, _)| is_scheme(scheme));
    let rest = match (scheme, need) {
        (Some((_, rest)), _) => rest,
        (None, SchemeRule::Required) => return false,
        (None, SchemeRule::Optional) => rest,
    };
    let is_path = |path: &str| consists_of(path, "/:@", letters);
    let hierarchy = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
            is_authority(authority, letters) && is_path(path)
        }
        // The first segment of a relative path must not look like a scheme.
        None => {
            let first = rest.split('/').next().unwrap_or_default();
            is_path(rest) && (scheme.is_some() || !first.contains(':'))
        }
    };
    let is_query = |text: &str| {
        let private =
            |c: char| matches!(c as u32, 0xE000..=0xF8FF | 0xF0000..=0xFFFFD | 0x10_0000..=0x10_FFFD);
        match letters {
            CharacterSet::Ascii => consists_of(text, "/?:@", letters),
            CharacterSet::Unicode => consists_of(&text.replace(private, "."), "/?:@", letters),
        }
    };
    hierarchy && query.is_none_or(is_query) && fragment.is_none_or(|text| consists_of(text, "/?:@", letters))
}

fn split_optional(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn is_authority(text: &str, letters: CharacterSet) -> bool {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", text),
    };
    let (host_holds, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((literal, port)) => (is_ip_literal(literal), port),
            None => return false,
        },
        None => {
            let end = host.find(':').unwrap_or(host.len());
            let (name, port) = host.split_at_checked(end).unwrap_or((host, ""));
            (consists_of(name, "", letters), port)
        }
    };
    let port_holds = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    consists_of(user, ":", letters) && host_holds && port_holds
}

/// Checks the content of a bracketed host (RFC 3986, 3.2.2): an IPv6 address or a future address version.
fn is_ip_literal(text: &str) -> bool {
    let future = text.strip_prefix(['v', 'V']).and_then(|rest| rest.split_once('.'));
    future.map_or_else(
        || text.parse::<Ipv6Addr>().is_ok(),
        |(version, rest)| {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !rest.is_empty()
                && !rest.contains('%')
                && consists_of(rest, ":", CharacterSet::Ascii)
        },
    )
}

/// Returns true if the string consists of unreserved characters, sub-delimiters, percent-encoded bytes and
/// the characters in `others`.
fn consists_of(text: &str, others: &str, letters: CharacterSet) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let holds = match c {
            '%' => (0..2).all(|_| chars.next().is_some_and(|c| c.is_ascii_hexdigit())),
            _ if c.is_ascii() => {
                c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=".contains(c) || others.contains(c)
            }
            _ => letters == CharacterSet::Unicode && is_ucschar(c),
        };
        if !holds {
            return false;
        }
    }
    true
}

/// Returns true for a `ucschar` (RFC 3987, 2.2).
fn is_ucschar(c: char) -> bool {
    let code = c as u32;
    match code {
        0xA0..=0xD7FF | 0xF900..=0xFDCF | 0xFDF0..=0xFFEF => true,
        0x1_0000..=0xE_FFFF => code & 0xFFFF <= 0xFFFD && !(0xE_0000..0xE_1000).contains(&code),
        _ => false,
    }
}

fn is_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let Some((literal, expression)) = rest.split_at_checked(at) else { return false };
        let Some((inside, after)) = expression.strip_prefix('{').and_then(|inside| inside.split_once('}'))
        else {
            return false;
        };
        if !is_template_literal(literal) || !is_expression(inside) {
            return false;
        }
        rest = after;
    }
    is_template_literal(rest)
}

/// Checks a literal of a URI template (RFC 6570, 2.1).
fn is_template_literal(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let holds = match c {
            '%' => (0..2).all(|_| chars.next().is_some_and(|c| c.is_ascii_hexdigit())),
            '"' | '<' | '>' | '\\' | '^' | '`' | '|' | ' ' => false,
            _ => !c.is_control(),
        };
        if !holds {
            return false;
        }
    }
    true
}

/// Checks an expression of a URI template (RFC 6570, 2.2 to 2.4), which has an optional operator and names
/// with modifiers.
fn is_expression(text: &str) -> bool {
    let names = text.strip_prefix(|c| "+#./;?&=,!@|".contains(c)).unwrap_or(text);
    names.split(',').all(|name| {
        let name = match name.split_once(':') {
            Some((name, length)) => {
                let is_count = (1..=4).contains(&length.len())
                    && !length.starts_with('0')
                    && length.bytes().all(|byte| byte.is_ascii_digit());
                if !is_count {
                    return false;
                }
                name
            }
            None => name.strip_suffix('*').unwrap_or(name),
        };
        name.split('.').all(|part| {
            let mut bytes = part.bytes();
            !part.is_empty()
                && std::iter::from_fn(|| {
                    bytes.next().map(|byte| match byte {
                        b'%' => bytes.by_ref().take(2).filter(u8::is_ascii_hexdigit).count() == 2,
                        _ => byte.is_ascii_alphanumeric() || byte == b'_',
                    })
                })
                .all(|holds| holds)
        })
    })
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_pointer(text: &str) -> bool {
    (text.is_empty() || text.starts_with('/'))
        && text.split('~').skip(1).all(|after| after.starts_with(['0', '1']))
}

/// Checks a relative JSON Pointer, which has a number of levels, an optional index offset, and then a pointer
/// or `#`.
fn is_relative_pointer(text: &str) -> bool {
    let after = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let fits = digits == 1 || (digits > 1 && !text.starts_with('0'));
        fits.then_some(digits)
    };
    let Some(rest) = after(text).and_then(|digits| text.get(digits..)) else { return false };
    let rest = match rest.strip_prefix(['+', '-']) {
        Some(moved) => match after(moved).and_then(|digits| moved.get(digits..)) {
            Some(rest) => rest,
            None => return false,
        },
        None => rest,
    };
    rest == "#" || is_pointer(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: StringFormat, good: &[&str], bad: &[&str]) {
        assert_eq!(StringFormat::from_name(format.as_str()), Some(format));
        good.iter().for_each(|text| assert!(format.is_match(text), "{text:?} is not a {}", format.as_str()));
        bad.iter().for_each(|text| assert!(!format.is_match(text), "{text:?} is a {}", format.as_str()));
    }

    #[test]
    fn times() {
        check(
            StringFormat::DateTime,
            &["1963-06-19T08:30:06.283185Z", "1998-12-31T23:59:60Z", "1998-12-31t15:59:60.1-08:00"],
            &["1998-12-31T23:58:60Z", "1990-02-31T15:59:59Z", "06/19/1963 08:30:06 PST", "1963-06-19", ""],
        );
        check(
            StringFormat::Date,
            &["1963-06-19", "2020-02-29"],
            &["2021-02-29", "06/19/1963", "1963-06-1", "1963-06-19T", "১963-06-1"],
        );
        check(
            StringFormat::Time,
            &["08:30:06Z", "23:59:60+00:00", "22:59:60-01:00", "08:30:06.5z"],
            &["08:30:06", "8:30:06Z", "24:00:00Z", "22:59:60Z", ""],
        );
        check(
            StringFormat::Duration,
            &["P4DT12H30M5S", "P1Y2M3D", "PT36H", "PT1H2M3S", "P4W", "P0D", "PT0S", "P1M", "P1YT1M"],
            &[
                "", "P", "PT", "P1", "PT1D", "P2D1Y", "P1Y2D", "PT1H2S", "P1Y2W", "P1D2H", "4DT1H", "P2S",
                "P১Y", "PW", "P1DT",
            ],
        );
    }

    #[test]
    fn addresses() {
        check(
            StringFormat::Email,
            &[
                "joe.bloggs@example.com",
                "te~st@example.com",
                "\"joe bloggs\"@example.com",
                "\"joe..b\\\"l\"@example.com",
                "joe@[127.0.0.1]",
                "joe@[IPv6:::1]",
            ],
            &[
                "2962",
                ".test@example.com",
                "te..st@example.com",
                "test.@example.com",
                "joe@[127.0.0.300]",
                "joe@exa mple",
                "@a",
                "a@",
                "\"a\"b\"@c",
                "jö@example.com",
            ],
        );
        let long = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
        check(
            StringFormat::Hostname,
            &["www.example.com", "xn--4gbwdl.xn--wgbh1c", "1host", "a", &long],
            &["", ".", "-a", "a-", "a..b", "a.", "not_valid", "ö.com", &format!("{long}b"), &"a".repeat(64)],
        );
        check(
            StringFormat::Ipv4,
            &["192.168.0.1"],
            &["127.0.0.0.1", "256.1.1.1", "127.0", "087.10.0.1", "1.2.3.4 ", "১.0.0.0"],
        );
        check(
            StringFormat::Ipv6,
            &["::1", "::", "1:2:3:4:5:6:7:8", "::ffff:192.168.0.1", "a::b"],
            &["12345::", "1::2::3", "1:2:3:4:5:6:7:8:9", ":1", "fe80::a%eth1", "::1/64"],
        );
        check(
            StringFormat::Uuid,
            &["2EB8AA08-aa98-11ea-b4aa-73b441d16380"],
            &[
                "2eb8aa08-aa98-11ea-b4aa-73b441d1638",
                "2eb8aa08aa9811eab4aa73b441d16380",
                "2eb8aa08-aa98-11ea-b4ga-73b441d16380",
            ],
        );
    }

    #[test]
    fn identifiers() {
        check(
            StringFormat::Uri,
            &[
                "http://foo.bar/?baz=qux#quux",
                "urn:oasis:names",
                "mailto:a@b.c",
                "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com",
                "ldap://[2001:db8::7]/c=GB?a?b",
                "http://a:",
                "s:",
                "http://[v1.a:b]",
            ],
            &[
                "//foo.bar",
                "/abs",
                "foo",
                "",
                "http:// a",
                ":// a",
                "http://a b",
                "bar,baz",
                "http://a\\b",
                "http://[::g]",
                "http://a:8x",
                "http://a/%zz",
                "http://ä.de",
                "1a:b",
                "http://a@b@[::1]c",
                "http://[::1",
                "a:#b#c",
            ],
        );
        check(
            StringFormat::UriReference,
            &["", "//foo.bar/?baz", "/abs", "foo", "?a", "#b", "./a:b", "a/b:c"],
            &["\\\\WINDOWS\\share", "a:b c", "1a:b", "abc\"", "#a\\b", "{a}"],
        );
        check(
            StringFormat::Iri,
            &["http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://a/?\u{e000}", "a:\u{10000}"],
            &["http://2001:0db8:85a3::8a2e", "/abs", "http://a/\u{e000}", "http://a/\u{fffe}", "âππ"],
        );
        check(StringFormat::IriReference, &["//ƒøø.ßår", "âππ", "#ƒrägmênt"], &["#ƒräg\\mênt", "\\\\ä"]);
        check(
            StringFormat::UriTemplate,
            &["http://a/{term:1}/{term}", "{+path,x}/here{?q*,a.b}", "a%20b", "", "{%41}"],
            &[
                "http://a/{term:1}/{term",
                "}",
                "{}",
                "{a:0}",
                "{a:10000}",
                "{a b}",
                "a b",
                "%2",
                "{a,}",
                "{a%4}",
                "{a..b}",
            ],
        );
    }

    #[test]
    fn pointers() {
        check(
            StringFormat::JsonPointer,
            &["", "/", "/foo/bar~0/baz~1/%a", "/ä"],
            &["a", "#", "/~", "/~2", "/foo~"],
        );
        check(
            StringFormat::RelativeJsonPointer,
            &["0", "1", "0#", "120/foo", "2/0/baz/~1", "0+1", "1-2/a#"],
            &["", "/foo", "01", "01#", "0##", "-1/a", "+1/a", "0a", "0+", "0+01"],
        );
    }
}
