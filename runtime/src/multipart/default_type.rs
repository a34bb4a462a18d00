//! The media type of a part for which the caller sets none.

use super::FilePart;
use crate::media_type::MediaType;
use crate::operation::{PartEncoding, PartSpec};

/// The media type of unknown bytes.
const BYTES: &str = "application/octet-stream";

/// The media types of common file name extensions, for parts whose row accepts a range of media types.
const EXTENSIONS: &[(&str, &str)] = &[
    ("aac", "audio/aac"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("csv", "text/csv"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("heic", "image/heic"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("m4a", "audio/mp4"),
    ("md", "text/markdown"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

impl PartSpec {
    /// Returns the media type of a part for which the caller sets none. This is the media type of the
    /// contract, or `application/octet-stream` for a file if the contract declares none. If the contract
    /// declares only ranges for a file, it is the type of the file name's extension if the ranges contain it,
    /// or else `application/octet-stream` if the ranges contain that. Returns `None` if the ranges contain
    /// neither, and for text, which is `text/plain` without a header (RFC 7578, 4.4).
    pub(crate) fn default_media_type(&self, file: &FilePart) -> Option<&'static str> {
        if !self.media_type.is_empty() {
            return Some(self.media_type);
        }
        if self.encoding != PartEncoding::Binary {
            return None;
        }
        let by_name = file.name.as_deref().and_then(extension_type).filter(|_| !self.accepted.is_empty());
        by_name.into_iter().chain([BYTES]).find(|media_type| self.accepts(media_type))
    }

    /// Returns true if the contract allows a part with this media type.
    pub(super) fn accepts(&self, media_type: &str) -> bool {
        let own = MediaType::parse(media_type);
        self.accepted.is_empty() || self.accepted.iter().any(|range| MediaType::parse(range).contains(&own))
    }
}

fn extension_type(file_name: &str) -> Option<&'static str> {
    let (_, extension) = file_name.rsplit_once('.')?;
    let mut all = EXTENSIONS.iter();
    all.find(|(own, _)| own.eq_ignore_ascii_case(extension)).map(|(_, media_type)| *media_type)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::PartCount;
    use crate::parameters::ScalarType;

    #[test]
    fn media_types_of_parts_have_defaults() {
        let check = |encoding, media_type, accepted, name: &str, expect| {
            let row = PartSpec { name: "x", encoding, count: PartCount::Single, media_type, accepted };
            assert_eq!(row.default_media_type(&FilePart::new(name, "")), expect, "{row:?} {name}");
        };
        let text = PartEncoding::Text(ScalarType::Text);
        check(PartEncoding::Binary, "", &[], "a.png", Some(BYTES));
        check(PartEncoding::Binary, "image/png", &["image/png", "image/*"], "a.gif", Some("image/png"));
        check(PartEncoding::Binary, "", &["image/*"], "a.b.PNG", Some("image/png"));
        check(PartEncoding::Binary, "", &["image/*"], "a.pdf", None);
        check(PartEncoding::Binary, "", &["image/*"], "png", None);
        check(PartEncoding::Binary, "", &["*/*"], "a.pdf", Some("application/pdf"));
        check(PartEncoding::Binary, "", &["*/*"], "a", Some(BYTES));
        check(PartEncoding::Binary, "", &["image/*", BYTES], "a", Some(BYTES));
        check(PartEncoding::Json, "application/json", &[], "a.png", Some("application/json"));
        check(text, "", &[], "a.png", None);
        check(text, "", &["text/*"], "a.csv", None);
    }
}
