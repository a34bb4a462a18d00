//! From members to parts, from parts to bytes.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::Write as _;

use serde::Serialize;

use super::{Field, File, Files};
use crate::Json;
use crate::operation::{Part, PartForm, Parts};
use crate::parameters::{Shape, scalar::in_digits};

/// Collects the parts of a body.
pub struct Writer {
    rows: &'static [Part],
    pub(crate) fields: Vec<Field>,
    /// Members without a form.
    pub(crate) lost: Vec<&'static str>,
}

impl Writer {
    pub(crate) const fn new(rows: &'static [Part]) -> Self {
        Self { rows, fields: Vec::new(), lost: Vec::new() }
    }

    /// Adds a member: nothing for `None` and `null`, a part for each element of a list where
    /// the contract has it so.
    pub fn value(&mut self, name: &'static str, value: &impl Serialize) {
        let json = serde_json::to_vec(value).ok().and_then(|bytes| Json::parse(&bytes).ok());
        let Some(json) = json else { return self.lost.push(name) };
        let row = self.rows.iter().find(|row| row.name == name).copied();
        match json {
            Json::Null => {}
            Json::Array(items) if row.is_some_and(|row| row.parts != Parts::One) => {
                for item in items {
                    self.part(name, row, &item);
                }
            }
            one => self.part(name, row, &one),
        }
    }

    fn part(&mut self, name: &str, row: Option<Part>, value: &Json) {
        let text = match (value, row.map(|row| row.form)) {
            (Json::String(text), Some(PartForm::Text(_)) | None) => text.clone(),
            (value, Some(PartForm::Text(scalar))) => in_digits(Shape::Scalar(scalar), value).to_string(),
            (value, _) => value.to_string(),
        };
        let media_type = row.map(|row| row.media_type).filter(|media_type| !media_type.is_empty());
        let file = File { media_type: media_type.map(str::to_owned), ..File::from(text) };
        self.fields.push(Field { name: name.to_owned(), file });
    }

    /// Adds files.
    pub fn files(&mut self, name: &'static str, files: &impl Files) {
        let row = self.rows.iter().find(|row| row.name == name);
        let usual = row.map_or("", |row| row.media_type);
        let usual = if usual.is_empty() { "application/octet-stream" } else { usual };
        for file in files.each() {
            let mut file = file.clone();
            file.media_type.get_or_insert_with(|| usual.to_owned());
            self.fields.push(Field { name: name.to_owned(), file });
        }
    }

    /// Adds parts that the contract does not declare.
    pub fn fields(&mut self, fields: &[Field]) {
        self.fields.extend_from_slice(fields);
    }

    /// The body and its boundary. The boundary is random, so that no content can hold it.
    pub(crate) fn finish(self) -> (Vec<u8>, String) {
        let random = || RandomState::new().hash_one(0);
        let boundary = format!("part-{:016x}{:016x}", random(), random());
        let size = self.fields.iter().map(|field| field.file.bytes.len() + 256).sum();
        let mut out = Vec::with_capacity(size);
        for Field { name, file } in &self.fields {
            // Writing to a `Vec` does not fail.
            let _ = write!(out, "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(name));
            if let Some(name) = &file.name {
                let _ = write!(out, "; filename=\"{}\"", quoted(name));
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

/// As WHATWG HTML, 4.10.21.8 has it. A backslash at the end would escape the closing quote for
/// readers that know no percent-encoding there.
fn quoted(text: &str) -> String {
    let quoted = text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    match quoted.strip_suffix('\\') {
        Some(start) => format!("{start}%5C"),
        None => quoted,
    }
}

/// Counts: what parts hold is the caller's.
impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("parts", &self.fields.len()).finish_non_exhaustive()
    }
}
