//! Encodes fields as parts, and parts as bytes.

use std::fmt;
use std::io::Write as _;

use serde::Serialize;

use super::{FilePart, FileParts, MultipartField};
use crate::Json;
use crate::operation::{PartCount, PartEncoding, PartSpec};
use crate::parameters::{ValueShape, scalar::normalize_integers};
use crate::random::random_u64;

/// Collects the parts of a multipart body.
pub struct MultipartWriter {
    rows: &'static [PartSpec],
    pub(crate) fields: Vec<MultipartField>,
    /// Names of fields that cannot be encoded.
    pub(crate) unencodable: Vec<&'static str>,
}

impl MultipartWriter {
    pub(crate) const fn new(rows: &'static [PartSpec]) -> Self {
        Self { rows, fields: Vec::new(), unencodable: Vec::new() }
    }

    /// Adds a field: no part for `None` and `null`, and one part for each element of a list if the contract
    /// defines it so.
    pub fn write_value(&mut self, name: &'static str, value: &impl Serialize) {
        let json = serde_json::to_vec(value).ok().and_then(|bytes| Json::parse(&bytes).ok());
        let Some(json) = json else { return self.unencodable.push(name) };
        let row = self.rows.iter().find(|row| row.name == name).copied();
        match json {
            Json::Null => {}
            Json::Array(items) if row.is_some_and(|row| row.count != PartCount::Single) => {
                for item in items {
                    self.write_part(name, row, &item);
                }
            }
            one => self.write_part(name, row, &one),
        }
    }

    fn write_part(&mut self, name: &str, row: Option<PartSpec>, value: &Json) {
        let text = match (value, row.map(|row| row.encoding)) {
            (Json::String(text), Some(PartEncoding::Text(_)) | None) => text.clone(),
            (value, Some(PartEncoding::Text(scalar))) => {
                normalize_integers(ValueShape::Scalar(scalar), value).to_string()
            }
            (value, _) => value.to_string(),
        };
        let mut file = FilePart::from(text);
        file.media_type = row.and_then(|row| row.default_media_type(&file)).map(str::to_owned);
        self.fields.push(MultipartField { name: name.to_owned(), file });
    }

    /// Adds the files of a field, with the contract's media type as default.
    pub fn write_files(&mut self, name: &'static str, files: &impl FileParts) {
        let row = self.rows.iter().find(|row| row.name == name);
        for file in files.files() {
            let mut file = file.clone();
            if file.media_type.is_none() {
                let usual = row.and_then(|row| row.default_media_type(&file));
                file.media_type = usual.map(str::to_owned);
            }
            self.fields.push(MultipartField { name: name.to_owned(), file });
        }
    }

    /// Adds parts that the contract does not declare.
    pub fn write_fields(&mut self, fields: &[MultipartField]) {
        self.fields.extend_from_slice(fields);
    }

    /// Returns the body and its boundary, which is random so that no content contains it.
    pub(crate) fn into_bytes(self) -> (Vec<u8>, String) {
        let boundary = format!("part-{:016x}{:016x}", random_u64(), random_u64());
        let size = self.fields.iter().map(|field| field.file.bytes.len() + 256).sum();
        let mut out = Vec::with_capacity(size);
        for MultipartField { name, file } in &self.fields {
            // Writing to a `Vec` does not fail.
            let _ = write!(
                out,
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
                quote_parameter(name)
            );
            if let Some(name) = &file.name {
                let _ = write!(out, "; filename=\"{}\"", quote_parameter(name));
            }
            out.extend_from_slice(b"\r\n");
            if let Some(media_type) = &file.media_type {
                let _ = write!(out, "Content-Type: {}\r\n", media_type.replace(['\r', '\n'], " "));
            }
            for (name, value) in &file.headers {
                let _ = write!(out, "{name}: ");
                out.extend_from_slice(value.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(&file.bytes);
            out.extend_from_slice(b"\r\n");
        }
        let _ = write!(out, "--{boundary}--\r\n");
        (out, boundary)
    }
}

/// Escapes a parameter as WHATWG HTML, 4.10.21.8 defines. A trailing backslash would escape the closing quote
/// in parsers that do not decode percent-encoding.
fn quote_parameter(text: &str) -> String {
    let quoted = text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    match quoted.strip_suffix('\\') {
        Some(start) => format!("{start}%5C"),
        None => quoted,
    }
}

/// Shows only the number of parts, because their content may be confidential.
impl fmt::Debug for MultipartWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultipartWriter").field("parts", &self.fields.len()).finish_non_exhaustive()
    }
}
