//! Preferences of a request for the status, the example and the media type of its response.

use contract_codegen_core::api;
use contract_runtime::media_type::MediaType;
use http::HeaderMap;

/// The `Prefer` header (RFC 7240), with the preferences that Prism supports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestPreferences {
    /// `code=404`: the status of the response.
    pub(super) code: Option<u16>,
    /// `example=NAME`: the name of the example to send.
    pub(super) example: Option<String>,
    /// `dynamic=true`: whether the body is generated and no example is used.
    pub(super) dynamic: bool,
}

impl RequestPreferences {
    /// Parses the `Prefer` headers of a request. Unknown and invalid preferences are ignored, as the RFC
    /// requires.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let mut preferences = Self::default();
        let lines = headers.get_all("prefer").iter().filter_map(|line| line.to_str().ok());
        for (name, value) in lines.flat_map(split_outside_quotes).filter_map(|each| each.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                // A status below 200 is not a final response (RFC 9110, 15.2).
                "code" => preferences.code = value.parse().ok().filter(|code| (200..=599).contains(code)),
                "example" => preferences.example = Some(value.to_owned()),
                "dynamic" => preferences.dynamic = value.eq_ignore_ascii_case("true"),
                _ => {}
            }
        }
        preferences
    }

    /// Returns the value of the `Preference-Applied` header; empty if there are no preferences.
    pub(super) fn applied_header(&self) -> String {
        let code = self.code.map(|code| format!("code={code}"));
        let example = self.example.as_ref().map(|name| format!("example=\"{name}\""));
        let dynamic = self.dynamic.then(|| "dynamic=true".to_owned());
        [code, example, dynamic].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Splits a header line at commas and semicolons outside quotes.
fn split_outside_quotes(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |letter| {
        quoted ^= letter == '"';
        !quoted && matches!(letter, ',' | ';')
    })
}

/// Selects the media type of a response with the highest quality in `Accept` (RFC 9110, 12.5.1), and returns
/// it with its concrete name. If several media types have the same quality, the first one is selected.
/// Returns `None` if `Accept` matches no media type of the response.
pub(super) fn negotiate_media_type<'m>(
    headers: &HeaderMap,
    content: &'m [api::MediaType],
) -> Option<(&'m api::MediaType, String)> {
    let lines: Vec<&str> = headers.get_all("accept").iter().filter_map(|line| line.to_str().ok()).collect();
    let lines = if lines.is_empty() { vec!["*/*"] } else { lines };
    let ranges: Vec<(MediaType<'_>, f32)> = lines
        .iter()
        .flat_map(|line| line.split(','))
        .map(|range| {
            let range = MediaType::parse(range.trim());
            let quality = range.parameter("q").and_then(|q| q.trim().parse().ok());
            (range, quality.unwrap_or(1.0))
        })
        .collect();
    let mut best: Option<(&api::MediaType, String, f32)> = None;
    for media in api::exchanged_media(content) {
        let own = MediaType::parse(&media.name);
        // If several ranges in `Accept` match the media type, the most specific range determines its quality.
        let fitting = ranges.iter().filter(|(range, _)| range.contains(&own) || own.contains(range));
        let Some((range, quality)) = fitting.min_by_key(|(range, _)| range.wildcard_rank()) else { continue };
        if *quality > 0.0 && best.as_ref().is_none_or(|(.., most)| quality > most) {
            let full = if own.is_range() && !range.is_range() { range.essence() } else { &media.name };
            best = Some((media, concrete_media_type(full), *quality));
        }
    }
    best.map(|(media, name, _)| (media, name))
}

/// Returns a concrete media type in a range such as `text/*`. A name that is not a range is returned
/// unchanged.
fn concrete_media_type(name: &str) -> String {
    let media = MediaType::parse(name);
    match (media.is_range(), media.top_level_type()) {
        (false, _) => name.to_owned(),
        (true, "text") => "text/plain".to_owned(),
        (true, "image") => "image/png".to_owned(),
        (true, "audio") => "audio/mpeg".to_owned(),
        (true, "video") => "video/mp4".to_owned(),
        (true, _) => "application/octet-stream".to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic on failure")]
mod tests {
    use super::*;

    fn headers(name: &'static str, lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (name.parse().unwrap(), line.parse().unwrap())).collect()
    }

    #[test]
    fn preferences_are_parsed_in_every_spelling() {
        let check = |lines: &[&str], code, example: Option<&str>, dynamic| {
            let example = example.map(str::to_owned);
            assert_eq!(
                RequestPreferences::from_headers(&headers("prefer", lines)),
                RequestPreferences { code, example, dynamic },
                "{lines:?}"
            );
        };
        check(&["code=404"], Some(404), None, false);
        check(&["Code=404, example=\"a cat\"", "dynamic=TRUE"], Some(404), Some("a cat"), true);
        check(&["example=\"a; b, c\", code=200"], Some(200), Some("a; b, c"), false);
        check(&["respond-async; wait=10", "code=x, dynamic=false"], None, None, false);
        check(&["code=9"], None, None, false);
        check(&["code=100"], None, None, false);
        check(&["code=199"], None, None, false);
        check(&["code=200"], Some(200), None, false);
        check(&[], None, None, false);
    }

    #[test]
    fn media_type_with_the_best_accept_quality_is_chosen() {
        let all = ["application/json", "text/csv", "image/*"].map(|name| api::MediaType {
            name: name.to_owned(),
            schema: None,
            item_schema: None,
            data_schema: None,
            encoding: Vec::new(),
            examples: Vec::new(),
            omitted: false,
        });
        let check = |accept: &[&str], expect: Option<&str>| {
            let found = negotiate_media_type(&headers("accept", accept), &all).map(|(_, name)| name);
            assert_eq!(found.as_deref(), expect, "{accept:?}");
        };
        check(&[], Some("application/json"));
        check(&["*/*"], Some("application/json"));
        check(&["text/*"], Some("text/csv"));
        check(&["application/json;q=0.5, text/csv"], Some("text/csv"));
        check(&["application/json;q=0.5", "text/csv;q=0.4"], Some("application/json"));
        check(&["image/webp"], Some("image/webp"));
        check(&["image/*"], Some("image/png"));
        check(&["application/json;q=0, */*"], Some("text/csv"));
        check(&["application/xml"], None);
    }
}
