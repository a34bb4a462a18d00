//! Compares the media type of a request with the one that an operation reads.

use http::{HeaderMap, header};

use crate::media::MediaType;
use crate::operation::{Body, Format};

/// Whether a body of this type is what the operation reads. Parameters such as `boundary`
/// do not matter, but `charset` does where text is read: everything here is UTF-8. Two
/// `Content-Type` headers are none.
#[must_use]
pub fn accepts(body: &Body, headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    let Ok(line) = line.to_str() else { return false };
    let Some(content) = body.of(line) else { return false };
    if matches!(content.format, Format::Bytes | Format::Multipart(_) | Format::Pieces) {
        return true;
    }
    let charset = MediaType::of(line).parameter("charset");
    charset
        .is_none_or(|own| ["utf-8", "utf8", "us-ascii"].iter().any(|known| known.eq_ignore_ascii_case(&own)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Content;

    #[test]
    fn media_types_are_compared_without_case_and_parameters() {
        let check = |expected: &'static str, format, sent: &str, fits: bool| {
            let content = Content { media_type: expected, format, schema: "", validator: None };
            let body = Body { required: true, content: Box::leak(Box::new([content])) };
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, sent.parse().unwrap());
            assert_eq!(accepts(&body, &headers), fits, "{expected} {sent}");
        };
        let json = "application/json";
        check(json, Format::Json, "application/json", true);
        check(json, Format::Json, "Application/JSON; charset=UTF-8", true);
        check(json, Format::Json, "application/json;charset=\"utf-8\"", true);
        check(json, Format::Json, "application/json; charset=latin1", false);
        check(json, Format::Json, "application/json2", false);
        check(json, Format::Json, "text/plain", false);
        check(json, Format::Json, "application/", false);
        check(json, Format::Json, "", false);
        check("image/*", Format::Bytes, "image/png; charset=x", true);
        check("*/*", Format::Bytes, "image/png", true);
        check("image/*", Format::Bytes, "text/plain", false);
        check("application/*+json", Format::Json, "application/vnd.x+json", true);
        check("application/*+json", Format::Json, "application/json", false);
    }
}
