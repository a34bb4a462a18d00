//! Parses bytes into parts, and parts into fields.

use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::{FilePart, FileParts, MAX_PART_HEADER_BYTES, MAX_PARTS, MultipartField};
use crate::media_type::find_parameter;
use crate::operation::PartSpec;
use crate::read::{self, ReadJson};
use crate::{Json, depth};

/// The parts of a body with the validated object that they represent.
pub struct MultipartReader {
    rows: &'static [PartSpec],
    fields: Vec<MultipartField>,
    object: Json,
}

impl MultipartReader {
    pub(crate) const fn new(rows: &'static [PartSpec], fields: Vec<MultipartField>, object: Json) -> Self {
        Self { rows, fields, object }
    }

    /// Deserializes a field. A list without parts is empty.
    #[must_use]
    pub fn read_value<T: for<'de> ReadJson<'de> + Send>(&self, name: &str) -> Option<T> {
        let text = self.member(name).map_or_else(|| "[]".to_owned(), ToString::to_string);
        read::read_document(text.as_bytes(), depth::DEFAULT_DEPTH).ok()
    }

    /// Deserializes an optional field; `Some(None)` if it is absent.
    #[must_use]
    pub fn read_optional<T: for<'de> ReadJson<'de> + Send>(&self, name: &str) -> Option<Option<T>> {
        match self.member(name) {
            Some(_) => self.read_value(name).map(Some),
            None => Some(None),
        }
    }

    /// Returns the files of a field; `None` if `F` cannot hold that number of files, such as two files for a
    /// single [`FilePart`].
    #[must_use]
    pub fn read_files<F: FileParts>(&self, name: &str) -> Option<F> {
        F::from_files(
            self.fields.iter().filter(|field| field.name == name).map(|field| field.file.clone()).collect(),
        )
    }

    /// Returns the parts that the contract does not declare.
    #[must_use]
    pub fn undeclared_fields(&self) -> Vec<MultipartField> {
        let declared = |name: &str| self.rows.iter().any(|row| row.name == name);
        self.fields.iter().filter(|field| !declared(&field.name)).cloned().collect()
    }

    fn member(&self, name: &str) -> Option<&Json> {
        match &self.object {
            Json::Object(members) => members.get(name),
            _ => None,
        }
    }
}

/// Shows only the number of parts, because content and names may be confidential.
impl fmt::Debug for MultipartReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultipartReader").field("parts", &self.fields.len()).finish_non_exhaustive()
    }
}

/// Splits a body into its parts (RFC 2046, 5.1.1). `None` if it is malformed or exceeds a limit.
pub(crate) fn parse_parts(body: &Bytes, boundary: &str) -> Option<Vec<MultipartField>> {
    let delimiter = format!("\r\n--{boundary}");
    let delimiter = delimiter.as_bytes();
    // The first delimiter needs no preceding line break.
    let mut at = if body.starts_with(&delimiter[2..]) {
        delimiter.len() - 2
    } else {
        find_bytes(body, delimiter)? + delimiter.len()
    };
    let mut fields = Vec::new();
    loop {
        let rest = &body[at..];
        if rest.starts_with(b"--") {
            return Some(fields);
        }
        // White space after the boundary is allowed.
        let line = find_bytes(rest, b"\r\n")?;
        if !rest[..line].iter().all(|byte| matches!(byte, b' ' | b'\t')) || fields.len() == MAX_PARTS {
            return None;
        }
        let start = at + line;
        let end = start + find_bytes(&body[start..], delimiter)?;
        fields.push(parse_part(&body.slice(start..end))?);
        at = end + delimiter.len();
    }
}

/// Parses one part, from the line break before its headers to the end of its content.
fn parse_part(raw: &Bytes) -> Option<MultipartField> {
    let limited = &raw[..raw.len().min(MAX_PART_HEADER_BYTES + 4)];
    let end = find_bytes(limited, b"\r\n\r\n")?;
    let mut headers = HeaderMap::new();
    for line in raw[..end].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.is_empty() {
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(line[..colon].trim_ascii()).ok()?;
        headers.append(name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?);
    }
    let disposition = headers.remove(CONTENT_DISPOSITION);
    let disposition = disposition.as_ref().map(HeaderValue::as_bytes).unwrap_or_default();
    let disposition = std::str::from_utf8(disposition).ok()?;
    let media_type = headers.remove(CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok().map(str::to_owned));
    let name = find_parameter(disposition, "name").unwrap_or_default().into_owned();
    let file_name = find_parameter(disposition, "filename").map(std::borrow::Cow::into_owned);
    let file = FilePart { bytes: raw.slice(end + 4..), name: file_name, media_type, headers };
    Some(MultipartField { name, file })
}

/// Finds a needle that begins with a rare byte, such as a line break.
fn find_bytes(text: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.iter().position(|byte| *byte == first)?;
        if text[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
}
