//! Decodes and parses documents as JSON or YAML. The entry point is [`decode_document`].
//!
//! Documents should be encoded in UTF-8 (RFC 8259, 8.1; YAML 1.2.2, 5.2), and are JSON unless the file
//! extension selects YAML. A document that deviates from this is parsed with a fault if there is only one
//! interpretation.

use std::borrow::Cow;

use crate::{
    diagnostics::Diagnostic,
    tree::{DocumentLocation, DocumentNode, SourceId},
};

use super::{files, json, span, yaml};

/// The maximum size of a document in bytes.
const MAX_BYTES: usize = 256 << 20;

/// Decodes and parses a document. Returns its text, its tree (if it can be parsed), and all problems.
pub(super) fn decode_document(
    id: SourceId,
    name: &str,
    bytes: &[u8],
) -> (String, Option<DocumentNode>, Vec<Diagnostic>) {
    let fault = |at: usize, code, message: String| {
        Diagnostic::error(code, message).with_place(DocumentLocation {
            source: id,
            pointer: String::new(),
            span: span(at, at + 1),
        })
    };
    if bytes.len() > MAX_BYTES {
        let message = format!("the document is larger than {MAX_BYTES} bytes");
        return (String::new(), None, vec![fault(0, "unsupported", message)]);
    }
    let (text, mut errors) = decode_text(bytes);
    let bare = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mark = text.len() - bare.len();
    if mark > 0 {
        let message = "the file starts with a byte order mark: save it as UTF-8 without one".to_owned();
        errors.insert(0, EncodingError { at: 0, message, mend: "it is left out" });
    }
    let (tree, mut problems) = parse_text(id, name, bare);
    let to_fault = |EncodingError { at, message, mend }| {
        fault(at - mark.min(at), "encoding", message).with_fallback(mend)
    };
    problems.extend(errors.into_iter().map(to_fault));
    (bare.to_owned(), tree, problems)
}

/// An error in the encoding of a document, with the message and the fallback of its diagnostic.
struct EncodingError {
    /// The byte offset in the decoded text at which the error is reported.
    at: usize,
    message: String,
    mend: &'static str,
}

const REPLACEMENT_FALLBACK: &str = "it is read as U+FFFD, and so are later invalid bytes";

fn decode_text(bytes: &[u8]) -> (Cow<'_, str>, Vec<EncodingError>) {
    match bytes {
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), Vec::new()),
            Err(error) => {
                let at = error.valid_up_to();
                let message = format!("byte {at} is not UTF-8: save the file as UTF-8");
                (
                    String::from_utf8_lossy(bytes),
                    vec![EncodingError { at, message, mend: REPLACEMENT_FALLBACK }],
                )
            }
        },
    }
}

/// Decodes UTF-16 with `unit`, which determines the byte order. `bytes` starts with a byte order mark of two
/// bytes, which is skipped.
fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> (Cow<'_, str>, Vec<EncodingError>) {
    let message = "the file is UTF-16: save it as UTF-8".to_owned();
    let mut errors = vec![EncodingError { at: 0, message, mend: "it is read as UTF-16" }];
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let mut text = String::with_capacity(bytes.len());
    let mut count = 0;
    for each in char::decode_utf16(units) {
        if each.is_err() && errors.len() == 1 {
            let message = format!("byte {} is not UTF-16: a lone surrogate", 2 + 2 * count);
            errors.push(EncodingError { at: text.len(), message, mend: REPLACEMENT_FALLBACK });
        }
        let each = each.unwrap_or(char::REPLACEMENT_CHARACTER);
        count += each.len_utf16();
        text.push(each);
    }
    if !bytes.len().is_multiple_of(2) {
        let message = format!("byte {} is not UTF-16, which has an even number of bytes", 1 + bytes.len());
        errors.push(EncodingError { at: text.len(), message, mend: "it is left out" });
    }
    (Cow::Owned(text), errors)
}

/// Parses a document as YAML if its file extension selects YAML, and as JSON otherwise. If a document without
/// such an extension does not start like JSON, it is also tried as YAML.
fn parse_text(id: SourceId, name: &str, text: &str) -> (Option<DocumentNode>, Vec<Diagnostic>) {
    if files::is_yaml(name) {
        return yaml::parse(id, text);
    }
    let (tree, problems) = json::parse(id, text);
    let begins = text.trim_ascii_start().starts_with(['{', '[', '"']);
    if tree.is_some() || begins {
        return (tree, problems);
    }
    let (tree, mut found) = yaml::parse(id, text);
    // Any plain text is a valid YAML scalar, so a document that is tried as YAML must be an object.
    match tree.filter(DocumentNode::is_object) {
        Some(tree) if !found.iter().any(Diagnostic::is_fatal) => {
            let place = DocumentLocation { source: id, pointer: String::new(), span: span(0, 1) };
            let message = "the document is YAML without a YAML file extension: rename it to `….yaml`";
            found.push(
                Diagnostic::error("syntax", message).with_place(place).with_fallback("it is read as YAML"),
            );
            (Some(tree), found)
        }
        _ => (None, problems),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, bytes: &[u8], expected: Option<&str>, codes: &[&str]) {
        let (_, tree, problems) = decode_document(SourceId(0), name, bytes);
        let found: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
        assert_eq!(found, codes, "{name} {bytes:?}: {problems:?}");
        assert_eq!(tree.map(|tree| tree.to_json().to_string()).as_deref(), expected, "{name} {bytes:?}");
        assert_eq!(expected.is_none(), problems.iter().any(Diagnostic::is_fatal), "{name} {bytes:?}");
    }

    #[test]
    fn other_encodings_are_faults() {
        let utf16 = |text: &str, unit: fn(u16) -> [u8; 2], mark: [u8; 2]| -> Vec<u8> {
            mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect()
        };
        let text = "{\"a\":\"\u{e9}\u{1f600}\"}";
        check("a.json", text.as_bytes(), Some(text), &[]);
        check("a.json", &utf16(text, u16::to_le_bytes, [0xff, 0xfe]), Some(text), &["encoding"]);
        check("a.yaml", &utf16("a: b", u16::to_be_bytes, [0xfe, 0xff]), Some(r#"{"a":"b"}"#), &["encoding"]);
        check("a.json", b"{\"a\":\"\xe9\"}", Some("{\"a\":\"\u{fffd}\"}"), &["encoding"]);
        check("a.yaml", b"a: \xe9\xe9x\n", Some("{\"a\":\"\u{fffd}\u{fffd}x\"}"), &["encoding"]);
        check("a.json", b"\xef\xbb\xbf{}", Some("{}"), &["encoding"]);
        check("a.json", b"\xef\xbb\xbf{\"\xff\":1}", Some("{\"\u{fffd}\":1}"), &["encoding"; 2]);
    }

    /// Each encoding error results in one diagnostic with the byte offset in the file and its location in the
    /// text.
    #[test]
    fn encoding_errors_are_located() {
        let wide = |units: &[u16], rest: &[u8]| -> Vec<u8> {
            let units = units.iter().flat_map(|unit| unit.to_le_bytes());
            [0xff, 0xfe].into_iter().chain(units).chain(rest.iter().copied()).collect()
        };
        // The code units are a quote, a character of two units, half of a surrogate pair, and a quote.
        let halves = [0x22, 0xd83d, 0xde00, 0xd83d, 0x22];
        for (bytes, expected) in [
            (b"\xef\xbb\xbf\"\xff\xff\"".to_vec(), vec![(0, "mark"), (1, "byte 4 is not UTF-8")]),
            (b"\"\xff\"".to_vec(), vec![(1, "byte 1 is not UTF-8")]),
            (wide(&halves, b""), vec![(0, "is UTF-16"), (5, "byte 8 is not UTF-16")]),
            (wide(&[0x31], b"x"), vec![(0, "is UTF-16"), (1, "byte 4 is not UTF-16")]),
            (wide(&[0xfeff, 0x31], b""), vec![(0, "mark"), (0, "is UTF-16")]),
        ] {
            let (_, _, problems) = decode_document(SourceId(0), "a.json", &bytes);
            assert_eq!(problems.len(), expected.len(), "{bytes:?}: {problems:?}");
            for (problem, (offset, text)) in problems.iter().zip(expected) {
                let start = problem.place.as_ref().map(|place| place.span.start);
                assert!(start == Some(offset) && problem.message.contains(text), "{bytes:?}: {problem:?}");
            }
        }
    }

    #[test]
    fn yaml_is_parsed_with_any_extension() {
        for name in ["a.json", "a.txt", "a"] {
            check(name, b"# A.\na: {b: 1}\n", Some(r#"{"a":{"b":1}}"#), &["syntax"]);
            check(name, b"---\nopenapi: 3.1.0\n", Some(r#"{"openapi":"3.1.0"}"#), &["syntax"]);
            check(name, b"[1]", Some("[1]"), &[]);
            // A document that starts like JSON is not tried as YAML.
            check(name, b"{a: 1}", None, &["syntax"]);
            check(name, b"nothing of it", None, &["syntax"]);
            check(name, b"a: [1\n", None, &["syntax"]);
        }
    }
}
