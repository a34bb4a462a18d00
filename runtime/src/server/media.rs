//! Compares the media type of a request with those that an operation accepts.

use http::{HeaderMap, header};

use crate::media_type::MediaType;
use crate::operation::{BodyFormat, BodySpec};

/// Returns true if the operation accepts a body with these headers.
///
/// Parameters such as `boundary` are ignored. `charset` must be compatible with UTF-8 where text is parsed.
/// Repeated `Content-Type` headers are not accepted.
#[must_use]
pub fn accepts(body: &BodySpec, headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    let Ok(line) = line.to_str() else { return false };
    let Some(content) = body.content_for(line) else { return false };
    if matches!(content.format, BodyFormat::Bytes | BodyFormat::Multipart(_) | BodyFormat::Stream) {
        return true;
    }
    let charset = MediaType::parse(line).parameter("charset");
    charset
        .is_none_or(|own| ["utf-8", "utf8", "us-ascii"].iter().any(|known| known.eq_ignore_ascii_case(&own)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::ContentSpec;

    #[test]
    fn media_types_are_compared_without_case_and_parameters() {
        let check = |expected: &'static str, format, sent: &str, fits: bool| {
            let content = ContentSpec { media_type: expected, format, schema: "", validator: None };
            let body = BodySpec { required: true, content: Box::leak(Box::new([content])) };
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, sent.parse().unwrap());
            assert_eq!(accepts(&body, &headers), fits, "{expected} {sent}");
        };
        let json = "application/json";
        check(json, BodyFormat::Json, "application/json", true);
        check(json, BodyFormat::Json, "Application/JSON; charset=UTF-8", true);
        check(json, BodyFormat::Json, "application/json;charset=\"utf-8\"", true);
        check(json, BodyFormat::Json, "application/json; charset=latin1", false);
        check(json, BodyFormat::Json, "application/json2", false);
        check(json, BodyFormat::Json, "text/plain", false);
        check(json, BodyFormat::Json, "application/", false);
        check(json, BodyFormat::Json, "", false);
        check("image/*", BodyFormat::Bytes, "image/png; charset=x", true);
        check("*/*", BodyFormat::Bytes, "image/png", true);
        check("image/*", BodyFormat::Bytes, "text/plain", false);
        check("application/*+json", BodyFormat::Json, "application/vnd.x+json", true);
        check("application/*+json", BodyFormat::Json, "application/json", false);
    }
}
