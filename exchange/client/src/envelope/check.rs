//! Parsing of envelope files, and the detection of private and undeclared data in them.

use std::fmt;

use exchange_api::{Contract as _, DocumentError, Json, runtime::violation::Violations, types::Envelope};

use super::privacy;

/// The maximum size in bytes of a file for the web import (DRF-04).
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The maximum number of undeclared properties that are reported.
const MAX_UNDECLARED: usize = 50;

/// A valid envelope, and the properties that the member has to review before it is uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedEnvelope {
    envelope: Envelope,
    undeclared: Vec<String>,
    private: Vec<String>,
}

/// The reason a file is not an envelope. It contains JSON Pointers, but no values of the file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EnvelopeFault {
    /// The file is larger than [`MAX_BYTES`].
    TooLarge,
    /// The file is not a JSON document.
    NotJson(DocumentError),
    /// The `formatVersion` is not 1.x, because a newer program wrote the file (DRF-02).
    Version,
    /// The file violates the contract.
    Invalid(Violations),
}

impl fmt::Display for EnvelopeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("the file is larger than 8 MiB"),
            Self::NotJson(rejected) => rejected.fmt(f),
            Self::Version => f.write_str("/formatVersion: unsupported major version; only 1.x is supported"),
            Self::Invalid(violations) => {
                f.write_str("the file is not an envelope:")?;
                violations.iter().try_for_each(|violation| {
                    let pointer = if violation.pointer.is_empty() { "/" } else { &violation.pointer };
                    write!(f, "\n  {pointer}: {}", violation.keyword)
                })
            }
        }
    }
}

impl std::error::Error for EnvelopeFault {}

impl CheckedEnvelope {
    /// Returns the parsed envelope, including its undeclared properties.
    #[must_use]
    pub const fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Returns the parsed envelope, consuming the check result.
    #[must_use]
    pub fn into_envelope(self) -> Envelope {
        self.envelope
    }

    /// Returns JSON Pointers of the first fifty undeclared properties. They belong to a newer minor version,
    /// or the program that wrote the file added them; they may contain anything.
    #[must_use]
    pub fn undeclared_pointers(&self) -> &[String] {
        &self.undeclared
    }

    /// Returns JSON Pointers of strings that are file paths, which an envelope must not contain (DRF-03).
    #[must_use]
    pub fn private(&self) -> &[String] {
        &self.private
    }
}

/// Parses a file and validates it against the contract. Accepts each version 1.x (DRF-02).
///
/// # Errors
/// Returns an [`EnvelopeFault`] if the file is not an envelope.
pub fn check_envelope(bytes: &[u8]) -> Result<CheckedEnvelope, EnvelopeFault> {
    if bytes.len() > MAX_BYTES {
        return Err(EnvelopeFault::TooLarge);
    }
    // Some editors prepend a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let read = Envelope::parse_valid(bytes);
    let envelope = read.map_err(|rejected| match rejected {
        DocumentError::Invalid(violations) => {
            let version = |found: &exchange_api::runtime::violation::Violation| {
                found.pointer == "/formatVersion" && found.keyword == "pattern"
            };
            if violations.iter().any(version) {
                EnvelopeFault::Version
            } else {
                EnvelopeFault::Invalid(violations)
            }
        }
        rejected => EnvelopeFault::NotJson(rejected),
    })?;
    let private = Json::parse(bytes).map_or_else(|_| Vec::new(), |json| privacy::find_paths(&json));
    Ok(CheckedEnvelope { undeclared: envelope.undeclared_members(MAX_UNDECLARED), private, envelope })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(version: &str) -> String {
        format!(r#"{{"format": "svc.blueprints", {version} "items": [{{"ref": {{"name": "x"}}}}]}}"#)
    }

    /// DRF-02: each version 1.x is accepted. The version `01.0` and other major versions are rejected.
    #[test]
    fn every_1_x_version_is_accepted() {
        let check = |version: &str| check_envelope(envelope(version).as_bytes());
        for version in ["1.0", "1.1", "1.10", "1.007"] {
            let read = check(&format!(r#""formatVersion": "{version}","#)).unwrap();
            assert_eq!(
                (read.envelope().items.len(), read.private(), read.undeclared_pointers()),
                (1, &[][..], &[][..])
            );
        }
        assert!(check("").is_ok());
        for version in ["01.0", "2.0", "0.9", "1", "1.", "1.0.0", "11.0", " 1.0"] {
            let fault = check(&format!(r#""formatVersion": "{version}","#)).unwrap_err();
            assert_eq!(fault, EnvelopeFault::Version, "{version}");
            assert!(fault.to_string().starts_with("/formatVersion: unsupported major version"));
        }
        // The properties that a newer minor version adds are kept.
        let later = check(r#""formatVersion": "1.1", "later": 1,"#).unwrap();
        assert_eq!(later.undeclared_pointers(), ["/later"]);
        assert_eq!(later.into_envelope().extra.len(), 1);
    }

    /// DRF-01: violations are reported with their JSON Pointers.
    #[test]
    fn errors_have_locations() {
        let fault = |text: &str| check_envelope(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            fault(r#"{"format": "svc.ships", "items": [{"ref": {}}, {}]}"#),
            "the file is not an envelope:\n  /format: const\n  /items/0/ref: anyOf\n  /items/1/ref: required"
        );
        assert!(fault("{\n  \"format\": ").contains("line 2"), "{}", fault("{\n  \"format\": "));
        assert_eq!(fault(&" ".repeat(MAX_BYTES + 1)), "the file is larger than 8 MiB");
        assert!(check_envelope(format!("\u{feff}{}", envelope("")).as_bytes()).is_ok());
    }

    /// DRF-03: file paths are found in all strings, including undeclared properties.
    #[test]
    fn paths_are_named() {
        let text = r#"{"format": "svc.blueprints", "items": [{"ref": {"name": "x"}, "from": "C:\\logs\\game.log"}],
            "generator": {"name": "/opt/tool", "version": "1"}}"#;
        let checked = check_envelope(text.as_bytes()).unwrap();
        assert_eq!(checked.private(), ["/items/0/from", "/generator/name"]);
        assert_eq!(checked.undeclared_pointers(), ["/items/0/from"]);
    }
}
