//! Media types (RFC 9110, 8.3.1): one reading of their text for whoever compares, writes or plans.

use std::borrow::Cow;

/// A media type or a range of them, as it is written: `application/json; charset=utf-8`, `image/*`.
#[derive(Clone, Copy, Debug)]
pub struct MediaType<'t> {
    essence: &'t str,
    parameters: &'t str,
}

impl<'t> MediaType<'t> {
    /// Reads a text. One that is no media type is of none and in no range.
    #[must_use]
    pub fn of(text: &'t str) -> Self {
        let (essence, parameters) = text.split_at(text.find(';').unwrap_or(text.len()));
        Self { essence: essence.trim(), parameters }
    }

    /// `text/csv` of `text/csv; charset=utf-8`, as written.
    #[must_use]
    pub const fn essence(&self) -> &'t str {
        self.essence
    }

    /// `text` of `text/csv`.
    #[must_use]
    pub fn kind(&self) -> &'t str {
        self.essence.split_once('/').map_or(self.essence, |(kind, _)| kind)
    }

    /// `csv` of `text/csv`; empty when there is none.
    #[must_use]
    pub fn subtype(&self) -> &'t str {
        self.essence.split_once('/').map_or("", |(_, subtype)| subtype)
    }

    /// Its parameters in their order: names as they are written, values without their quotes.
    pub fn parameters(&self) -> impl Iterator<Item = (&'t str, Cow<'t, str>)> + use<'t> {
        attributes(self.parameters)
    }

    /// The value of a parameter (`charset`, `boundary`), its quotes removed.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<Cow<'t, str>> {
        attribute(self.parameters, name)
    }

    /// Whether it is JSON (RFC 6839, 3.1).
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.subtype().eq_ignore_ascii_case("json") || self.has_suffix("+json")
    }

    /// Whether it is text: `text/…` and XML.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.kind().eq_ignore_ascii_case("text") || self.is("application/xml") || self.has_suffix("+xml")
    }

    /// Whether it is `application/x-www-form-urlencoded`.
    #[must_use]
    pub fn is_form(&self) -> bool {
        self.is("application/x-www-form-urlencoded")
    }

    /// Whether it consists of parts.
    #[must_use]
    pub fn is_multipart(&self) -> bool {
        self.kind().eq_ignore_ascii_case("multipart")
    }

    /// Whether it stands for several: `image/*`, `*/*`.
    #[must_use]
    pub fn is_range(&self) -> bool {
        self.essence.contains('*')
    }

    /// How much a range leaves open; the more literal of two is the smaller.
    #[must_use]
    pub fn openness(&self) -> usize {
        2 * self.essence.matches('*').count() - usize::from(self.suffix().is_some())
    }

    /// Whether the other is this one, or in this range. Parameters do not matter.
    #[must_use]
    pub fn contains(&self, other: &MediaType<'_>) -> bool {
        let fits = |own: &str, other: &str| own == "*" || own.eq_ignore_ascii_case(other);
        let whole = !other.subtype().is_empty() && !self.subtype().is_empty();
        let subtype = match self.suffix() {
            Some(suffix) => other.has_suffix(suffix),
            None => fits(self.subtype(), other.subtype()),
        };
        whole && fits(self.kind(), other.kind()) && subtype
    }

    /// `+json` of `application/*+json`: a range that no RFC has, and that contracts have all the same.
    fn suffix(&self) -> Option<&'t str> {
        self.subtype().strip_prefix('*').filter(|suffix| suffix.starts_with('+'))
    }

    /// Whether it can stand in a header: visible ASCII and spaces.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        let visible = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        visible(self.essence) && visible(self.parameters)
    }

    fn is(&self, essence: &str) -> bool {
        self.essence.eq_ignore_ascii_case(essence)
    }

    fn has_suffix(&self, suffix: &str) -> bool {
        let subtype = self.subtype();
        let at = subtype.len().checked_sub(suffix.len());
        at.and_then(|at| subtype.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
    }
}

/// What is sent where a contract names this: a range names none that a message could have (RFC 9110, 8.3).
/// The one in `application/*+json` is of the tree of those that nobody registers (RFC 6838, 3.4).
#[must_use]
pub fn concrete(name: &str) -> &str {
    let range = MediaType::of(name);
    if !range.is_range() {
        name
    } else if range.suffix().is_some() && range.is_json() {
        "application/x.json+json"
    } else if range.is_json() {
        "application/json"
    } else if range.is_multipart() {
        "multipart/form-data"
    } else {
        "application/octet-stream"
    }
}

/// A parameter of `; name=a; filename="b"`: what follows a media type or a disposition. Browsers
/// escape a quote as `%22`, others as `\"`.
pub(crate) fn attribute<'t>(parameters: &'t str, name: &str) -> Option<Cow<'t, str>> {
    attributes(parameters).find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// All of them, up to a quote that nothing closes; what has no value is none.
fn attributes(parameters: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
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
                Some(quoted) => unquote(quoted)?,
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

/// Up to the closing quote, and what follows it.
fn unquote(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut from = 0;
    let end = loop {
        let quote = from + text[from..].find('"')?;
        if !text[..quote].ends_with('\\') {
            break quote;
        }
        from = quote + 1;
    };
    Some((Cow::Borrowed(&text[..end]), &text[end + 1..])).map(|(raw, rest)| (plain(raw), rest))
}

fn plain(raw: Cow<'_, str>) -> Cow<'_, str> {
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
    fn parts_are_read_without_case_and_parameters() {
        let csv = MediaType::of("text/csv ; charset=\"utf-8\"; header=present");
        assert_eq!((csv.essence(), csv.kind(), csv.subtype()), ("text/csv", "text", "csv"));
        assert_eq!(csv.parameter("CHARSET").as_deref(), Some("utf-8"));
        assert_eq!(csv.parameter("header").as_deref(), Some("present"));
        assert_eq!(csv.parameter("boundary"), None);
        assert!(csv.is_text() && !csv.is_json());
        for json in ["application/json", "Application/Problem+JSON; a=b", "text/json"] {
            assert!(MediaType::of(json).is_json(), "{json}");
        }
        for other in ["application/json2", "application/json-seq", "json", "", "+json"] {
            assert!(!MediaType::of(other).is_json(), "{other}");
        }
        assert!(MediaType::of("image/svg+xml").is_text());
    }

    #[test]
    fn parameters_are_cut_outside_of_quotes_alone() {
        let check = |text: &'static str, expect: &[(&str, &str)]| {
            let found: Vec<_> = MediaType::of(text).parameters().collect();
            let found: Vec<_> = found.iter().map(|(name, value)| (*name, &**value)).collect();
            assert_eq!(found, expect, "{text}");
        };
        check("a/b", &[]);
        check("a/b; x=\"1;y=2\" ;z = 3 ; x=4", &[("x", "1;y=2"), ("z", "3"), ("x", "4")]);
        check("a/b; flag; ; x=1; y", &[("x", "1")]);
        check("a/b; x=1; y=\"2; z=3", &[("x", "1")]);
    }

    #[test]
    fn ranges_contain_what_they_name() {
        let check = |range: &str, other: &str, expect: bool| {
            assert_eq!(MediaType::of(range).contains(&MediaType::of(other)), expect, "{range} {other}");
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
        let openness = |range| MediaType::of(range).openness();
        assert!(openness("a/b") < openness("a/*+json") && openness("a/*+json") < openness("a/*"));
        assert!(openness("a/*") < openness("*/*"));
    }

    #[test]
    fn what_is_sent_for_a_range_is_in_it() {
        for range in ["application/*+json", "*/json", "multipart/*", "*/*", "application/*", "*/*+json"] {
            let sent = MediaType::of(concrete(range));
            assert!(MediaType::of(range).contains(&sent) && !sent.is_range(), "{range}");
        }
        assert_eq!(concrete("text/csv; header=present"), "text/csv; header=present");
    }
}
