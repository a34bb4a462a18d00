//! From bytes to parts, from parts to members.

use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::{Field, File, Files, MAX_HEADER, MAX_PARTS};
use crate::media::attribute;
use crate::operation::Part;
use crate::read::{self, Read};
use crate::{Json, depth};

/// The parts of a body, and the checked object that they are.
pub struct Reader {
    rows: &'static [Part],
    fields: Vec<Field>,
    object: Json,
}

impl Reader {
    pub(crate) const fn new(rows: &'static [Part], fields: Vec<Field>, object: Json) -> Self {
        Self { rows, fields, object }
    }

    /// A member; a list without parts is empty.
    #[must_use]
    pub fn value<T: for<'de> Read<'de> + Send>(&self, name: &str) -> Option<T> {
        let text = self.member(name).map_or_else(|| "[]".to_owned(), ToString::to_string);
        read::document(text.as_bytes(), depth::DEFAULT).ok()
    }

    /// A member that may be missing.
    #[must_use]
    pub fn optional<T: for<'de> Read<'de> + Send>(&self, name: &str) -> Option<Option<T>> {
        match self.member(name) {
            Some(_) => self.value(name).map(Some),
            None => Some(None),
        }
    }

    /// Files.
    #[must_use]
    pub fn files<F: Files>(&self, name: &str) -> Option<F> {
        F::of(self.fields.iter().filter(|field| field.name == name).map(|field| field.file.clone()).collect())
    }

    /// Parts that the contract does not declare.
    #[must_use]
    pub fn others(&self) -> Vec<Field> {
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

/// Counts: what parts hold, and what they are called, is the caller's.
impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("parts", &self.fields.len()).finish_non_exhaustive()
    }
}

/// Splits a body (RFC 2046, 5.1.1). `None` when it is malformed or beyond a limit.
pub(crate) fn parse(body: &Bytes, boundary: &str) -> Option<Vec<Field>> {
    let delimiter = format!("\r\n--{boundary}");
    let delimiter = delimiter.as_bytes();
    // The first one needs no line before it.
    let mut at = if body.starts_with(&delimiter[2..]) {
        delimiter.len() - 2
    } else {
        find(body, delimiter)? + delimiter.len()
    };
    let mut fields = Vec::new();
    loop {
        let rest = &body[at..];
        if rest.starts_with(b"--") {
            return Some(fields);
        }
        // Padding after the boundary is allowed.
        let line = find(rest, b"\r\n")?;
        if !rest[..line].iter().all(|byte| matches!(byte, b' ' | b'\t')) || fields.len() == MAX_PARTS {
            return None;
        }
        let start = at + line;
        let end = start + find(&body[start..], delimiter)?;
        fields.push(part(&body.slice(start..end))?);
        at = end + delimiter.len();
    }
}

/// One part: from the end of the line before its headers to the end of its content.
fn part(raw: &Bytes) -> Option<Field> {
    let limited = &raw[..raw.len().min(MAX_HEADER + 4)];
    let end = find(limited, b"\r\n\r\n")?;
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
    let name = attribute(disposition, "name").unwrap_or_default().into_owned();
    let file_name = attribute(disposition, "filename").map(std::borrow::Cow::into_owned);
    let file = File { bytes: raw.slice(end + 4..), name: file_name, media_type, headers };
    Some(Field { name, file })
}

/// The first place of something that begins with a line end or another rare byte.
fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
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
