//! [`MediaType`]: parsing and matching of media types and media ranges (RFC 9110, 8.3.1), shared by the
//! generator, clients and servers.

use std::borrow::Cow;

/// A borrowed media type or media range: `application/json; charset=utf-8`, `image/*`.
#[derive(Clone, Copy, Debug)]
pub struct MediaType<'t> {
    essence: &'t str,
    parameters: &'t str,
}

impl<'t> MediaType<'t> {
    /// Splits a string into essence and parameters. Never fails. A malformed string has no valid type, and no
    /// range contains it.
    #[must_use]
    pub fn parse(text: &'t str) -> Self {
        let (essence, parameters) = text.split_at(text.find(';').unwrap_or(text.len()));
        Self { essence: essence.trim(), parameters }
    }

    /// Returns the part before the parameters as written, for example `text/csv` in
    /// `text/csv; charset=utf-8`.
    #[must_use]
    pub const fn essence(&self) -> &'t str {
        self.essence
    }

    /// Returns the part before the slash, for example `text` in `text/csv`.
    #[must_use]
    pub fn top_level_type(&self) -> &'t str {
        self.essence.split_once('/').map_or(self.essence, |(kind, _)| kind)
    }

    /// Returns the part after the slash, for example `csv` in `text/csv`. Returns an empty string if there is
    /// no slash.
    #[must_use]
    pub fn subtype(&self) -> &'t str {
        self.essence.split_once('/').map_or("", |(_, subtype)| subtype)
    }

    /// Iterates over the parameters in order, with names as written and values unquoted.
    pub fn parameters(&self) -> impl Iterator<Item = (&'t str, Cow<'t, str>)> + use<'t> {
        parse_parameters(self.parameters)
    }

    /// Returns the unquoted value of a parameter such as `charset` or `boundary`. Names are case-insensitive.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<Cow<'t, str>> {
        find_parameter(self.parameters, name)
    }

    /// Returns true for the subtype `json` and the suffix `+json` (RFC 6839, 3.1).
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.subtype().eq_ignore_ascii_case("json") || self.has_suffix("+json")
    }

    /// Returns true for the type `text`, for `application/xml` and for the suffix `+xml`.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.top_level_type().eq_ignore_ascii_case("text")
            || self.has_essence("application/xml")
            || self.has_suffix("+xml")
    }

    /// Returns true for `text/plain`.
    #[must_use]
    pub fn is_plain_text(&self) -> bool {
        self.has_essence("text/plain")
    }

    /// Returns true for `application/x-www-form-urlencoded`.
    #[must_use]
    pub fn is_form(&self) -> bool {
        self.has_essence("application/x-www-form-urlencoded")
    }

    /// Returns true for `multipart/…` with any subtype.
    #[must_use]
    pub fn is_multipart(&self) -> bool {
        self.top_level_type().eq_ignore_ascii_case("multipart")
    }

    /// Returns true for a media range with a wildcard: `image/*`, `*/*`.
    #[must_use]
    pub fn is_range(&self) -> bool {
        self.essence.contains('*')
    }

    /// Returns a rank that grows with the number of wildcards. Of two ranges, the one with the smaller rank
    /// is more specific.
    #[must_use]
    pub fn wildcard_rank(&self) -> usize {
        2 * self.essence.matches('*').count() - usize::from(self.range_suffix().is_some())
    }

    /// Returns true if `other` equals this media type or is within this range. Ignores parameters.
    #[must_use]
    pub fn contains(&self, other: &MediaType<'_>) -> bool {
        let fits = |range: &str, other: &str| range == "*" || range.eq_ignore_ascii_case(other);
        let is_complete = !other.subtype().is_empty() && !self.subtype().is_empty();
        let subtype = match self.range_suffix() {
            Some(suffix) => other.has_suffix(suffix),
            None => fits(self.subtype(), other.subtype()),
        };
        is_complete && fits(self.top_level_type(), other.top_level_type()) && subtype
    }

    /// Returns `+json` for `application/*+json`. No RFC defines such ranges, but API descriptions use them.
    fn range_suffix(&self) -> Option<&'t str> {
        self.subtype().strip_prefix('*').filter(|suffix| suffix.starts_with('+'))
    }

    /// Returns true if the media type is a valid header value, that is, consists of visible ASCII and spaces.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        let visible = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        visible(self.essence) && visible(self.parameters)
    }

    fn has_essence(&self, essence: &str) -> bool {
        self.essence.eq_ignore_ascii_case(essence)
    }

    fn has_suffix(&self, suffix: &str) -> bool {
        let subtype = self.subtype();
        let at = subtype.len().checked_sub(suffix.len());
        at.and_then(|at| subtype.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
    }
}

/// Returns the media type to send for the media type or range `name` of an API description.
///
/// A message must not contain a range (RFC 9110, 8.3), so ranges map to a concrete type. `application/*+json`
/// maps to a type in the unregistered tree (RFC 6838, 3.4).
#[must_use]
pub fn concrete_media_type(name: &str) -> &str {
    let range = MediaType::parse(name);
    if !range.is_range() {
        name
    } else if range.range_suffix().is_some() && range.is_json() {
        "application/x.json+json"
    } else if range.is_json() {
        "application/json"
    } else if range.is_multipart() {
        "multipart/form-data"
    } else {
        "application/octet-stream"
    }
}

/// Returns the value of a parameter in `; name=a; filename="b"`, as in `Content-Type` and
/// `Content-Disposition`. Decodes quotes inside the value, which browsers write as `%22` and other clients as
/// `\"`.
pub(crate) fn find_parameter<'t>(parameters: &'t str, name: &str) -> Option<Cow<'t, str>> {
    parse_parameters(parameters).find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Iterates over all parameters until an unterminated quote. Skips parameters without a value.
fn parse_parameters(parameters: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    let next = |text| str::split_once(text, ';').map(|(_, rest)| rest);
    let mut left = next(parameters);
    std::iter::from_fn(move || {
        loop {
            let text = left.take()?;
            let (key, after) = text.split_at(text.find([';', '='])?);
            let Some(after) = after.strip_prefix('=') else {
                left = next(after);
                continue;
            };
            let after = after.trim_start();
            let (value, onward) = match after.strip_prefix('"') {
                Some(quoted) => split_quoted(quoted)?,
                None => {
                    let end = after.find(';').unwrap_or(after.len());
                    (Cow::Borrowed(after[..end].trim_end()), &after[end..])
                }
            };
            left = next(onward);
            return Some((key.trim(), value));
        }
    })
}

/// Splits at the closing quote. Returns the unescaped value and the rest after the quote.
fn split_quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut from = 0;
    let end = loop {
        let quote = from + text[from..].find('"')?;
        if !text[..quote].ends_with('\\') {
            break quote;
        }
        from = quote + 1;
    };
    Some((Cow::Borrowed(&text[..end]), &text[end + 1..])).map(|(raw, rest)| (unescape_quoted(raw), rest))
}

fn unescape_quoted(raw: Cow<'_, str>) -> Cow<'_, str> {
    if !raw.contains(['\\', '%']) {
        return raw;
    }
    let plain = raw.replace("\\\"", "\"").replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n");
    match plain.strip_suffix("%5C") {
        Some(start) => Cow::Owned(format!("{start}\\")),
        None => Cow::Owned(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_subtype_ignore_case_and_parameters() {
        let csv = MediaType::parse("text/csv ; charset=\"utf-8\"; header=present");
        assert_eq!((csv.essence(), csv.top_level_type(), csv.subtype()), ("text/csv", "text", "csv"));
        assert_eq!(csv.parameter("CHARSET").as_deref(), Some("utf-8"));
        assert_eq!(csv.parameter("header").as_deref(), Some("present"));
        assert_eq!(csv.parameter("boundary"), None);
        assert!(csv.is_text() && !csv.is_json());
        for json in ["application/json", "Application/Problem+JSON; a=b", "text/json"] {
            assert!(MediaType::parse(json).is_json(), "{json}");
        }
        for other in ["application/json2", "application/json-seq", "json", "", "+json"] {
            assert!(!MediaType::parse(other).is_json(), "{other}");
        }
        assert!(MediaType::parse("image/svg+xml").is_text());
    }

    #[test]
    fn parameters_are_split_only_outside_quotes() {
        let check = |text: &'static str, expect: &[(&str, &str)]| {
            let found: Vec<_> = MediaType::parse(text).parameters().collect();
            let found: Vec<_> = found.iter().map(|(name, value)| (*name, &**value)).collect();
            assert_eq!(found, expect, "{text}");
        };
        check("a/b", &[]);
        check("a/b; x=\"1;y=2\" ;z = 3 ; x=4", &[("x", "1;y=2"), ("z", "3"), ("x", "4")]);
        check("a/b; flag; ; x=1; y", &[("x", "1")]);
        check("a/b; x=1; y=\"2; z=3", &[("x", "1")]);
    }

    #[test]
    fn ranges_contain_matching_types() {
        let check = |range: &str, other: &str, expect: bool| {
            assert_eq!(MediaType::parse(range).contains(&MediaType::parse(other)), expect, "{range} {other}");
        };
        check("image/*", "image/png; q=1", true);
        check("*/*", "image/png", true);
        check("image/png", "IMAGE/PNG", true);
        check("image/*", "text/plain", false);
        check("image/*", "image/", false);
        check("image", "image", false);
        check("application/*+json", "application/problem+JSON; a=b", true);
        check("application/*+json", "application/*+json", true);
        check("application/*+json", "application/json", false);
        check("application/*+json", "text/x+json", false);
        let openness = |range| MediaType::parse(range).wildcard_rank();
        assert!(openness("a/b") < openness("a/*+json") && openness("a/*+json") < openness("a/*"));
        assert!(openness("a/*") < openness("*/*"));
    }

    #[test]
    fn concrete_type_of_a_range_is_contained_in_it() {
        for range in ["application/*+json", "*/json", "multipart/*", "*/*", "application/*", "*/*+json"] {
            let sent = MediaType::parse(concrete_media_type(range));
            assert!(MediaType::parse(range).contains(&sent) && !sent.is_range(), "{range}");
        }
        assert_eq!(concrete_media_type("text/csv; header=present"), "text/csv; header=present");
    }
}
