//! Whether a file is an envelope, and what is in it that should not be.

use std::fmt;

use exchange_api::{Contract as _, Json, Rejected, runtime::violation::Violations, types::Envelope};

use super::privacy;

/// The largest file that the web import takes (DRF-04).
pub const MOST_BYTES: usize = 8 * 1024 * 1024;

/// How many undeclared members are named.
const MOST_NAMED: usize = 50;

/// An envelope that was read: valid, with what somebody should look at before it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedEnvelope {
    envelope: Envelope,
    undeclared: Vec<String>,
    private: Vec<String>,
}

/// Why a file is no envelope. Names places, never values.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EnvelopeFault {
    /// It is larger than [`MOST_BYTES`].
    TooLarge,
    /// It is no JSON document, as the place says.
    NotJson(Rejected),
    /// Its `formatVersion` is not 1.x: it is of a later program (DRF-02).
    Version,
    /// It breaks the contract at these places.
    Invalid(Violations),
}

impl fmt::Display for EnvelopeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("the file is larger than 8 MiB"),
            Self::NotJson(rejected) => rejected.fmt(f),
            Self::Version => f.write_str("/formatVersion: unsupported major version, 1.x is read here"),
            Self::Invalid(violations) => {
                f.write_str("the file is no envelope:")?;
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
    /// What was read; members that nobody declared are kept.
    #[must_use]
    pub const fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The same by value.
    #[must_use]
    pub fn into_envelope(self) -> Envelope {
        self.envelope
    }

    /// Pointers of members that the contract does not declare, the first fifty: of a later minor version, or of
    /// whoever wrote the file, who may have put anything there.
    #[must_use]
    pub fn undeclared(&self) -> &[String] {
        &self.undeclared
    }

    /// Pointers of texts that are paths of files, which an envelope must not carry (DRF-03).
    #[must_use]
    pub fn private(&self) -> &[String] {
        &self.private
    }
}

/// Reads a file as the contract says: every 1.x alike (DRF-02), nothing wrong passed over.
///
/// # Errors
/// When it is no envelope; see [`EnvelopeFault`].
pub fn check_envelope(bytes: &[u8]) -> Result<CheckedEnvelope, EnvelopeFault> {
    if bytes.len() > MOST_BYTES {
        return Err(EnvelopeFault::TooLarge);
    }
    // Some editors begin files with a mark that is no part of them.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let read = Envelope::parse_valid(bytes);
    let envelope = read.map_err(|rejected| match rejected {
        Rejected::Invalid(violations) => {
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
    let private = Json::parse(bytes).map_or_else(|_| Vec::new(), |json| privacy::paths(&json));
    Ok(CheckedEnvelope { undeclared: envelope.undeclared(MOST_NAMED), private, envelope })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(version: &str) -> String {
        format!(r#"{{"format": "svc.blueprints", {version} "items": [{{"ref": {{"name": "x"}}}}]}}"#)
    }

    /// DRF-02: every 1.x alike, `01.0` and every other major not.
    #[test]
    fn every_one_x_is_read_alike() {
        let check = |version: &str| check_envelope(envelope(version).as_bytes());
        for version in ["1.0", "1.1", "1.10", "1.007"] {
            let read = check(&format!(r#""formatVersion": "{version}","#)).unwrap();
            assert_eq!(
                (read.envelope().items.len(), read.private(), read.undeclared()),
                (1, &[][..], &[][..])
            );
        }
        assert!(check("").is_ok());
        for version in ["01.0", "2.0", "0.9", "1", "1.", "1.0.0", "11.0", " 1.0"] {
            let fault = check(&format!(r#""formatVersion": "{version}","#)).unwrap_err();
            assert_eq!(fault, EnvelopeFault::Version, "{version}");
            assert!(fault.to_string().starts_with("/formatVersion: unsupported major version"));
        }
        // A later minor adds fields, which are kept.
        let later = check(r#""formatVersion": "1.1", "later": 1,"#).unwrap();
        assert_eq!(later.undeclared(), ["/later"]);
        assert_eq!(later.into_envelope().extra.len(), 1);
    }

    /// DRF-01: what is wrong is named by its place.
    #[test]
    fn faults_have_their_places() {
        let fault = |text: &str| check_envelope(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            fault(r#"{"format": "svc.ships", "items": [{"ref": {}}, {}]}"#),
            "the file is no envelope:\n  /format: const\n  /items/0/ref: anyOf\n  /items/1/ref: required"
        );
        assert!(fault("{\n  \"format\": ").contains("line 2"), "{}", fault("{\n  \"format\": "));
        assert_eq!(fault(&" ".repeat(MOST_BYTES + 1)), "the file is larger than 8 MiB");
        assert!(check_envelope(format!("\u{feff}{}", envelope("")).as_bytes()).is_ok());
    }

    /// DRF-03: paths are found wherever they stand, in members that nobody declared too.
    #[test]
    fn paths_are_named() {
        let text = r#"{"format": "svc.blueprints", "items": [{"ref": {"name": "x"}, "from": "C:\\logs\\game.log"}],
            "generator": {"name": "/opt/tool", "version": "1"}}"#;
        let checked = check_envelope(text.as_bytes()).unwrap();
        assert_eq!(checked.private(), ["/items/0/from", "/generator/name"]);
        assert_eq!(checked.undeclared(), ["/items/0/from"]);
    }
}
