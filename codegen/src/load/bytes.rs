//! Bytes as a text and its tree: encodings, and whether a text is JSON or YAML.
//!
//! Documents are UTF-8 (RFC 8259, 8.1; YAML 1.2.2, 5.2), and JSON where their names do not say YAML.
//! Where they are not, what they say is read all the same, as long as there is one way to.

use std::borrow::Cow;

use crate::{
    diagnostics::Diagnostic,
    tree::{Place, SourceId, Tree},
};

use super::{files, json, span, yaml};

/// Bytes that one document may have.
const MAX_BYTES: usize = 256 << 20;

/// Bytes as text and tree, with what is wrong with them.
pub(super) fn read(id: SourceId, name: &str, bytes: &[u8]) -> (String, Option<Tree>, Vec<Diagnostic>) {
    let fault = |at: usize, code, message: String| {
        Diagnostic::error(code, message).at(Place {
            source: id,
            pointer: String::new(),
            span: span(at, at + 1),
        })
    };
    if bytes.len() > MAX_BYTES {
        let message = format!("a document of more than {MAX_BYTES} bytes");
        return (String::new(), None, vec![fault(0, "unsupported", message)]);
    }
    let (text, spoilt) = decoded(bytes);
    let bare = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let marked = (bare.len() < text.len()).then_some(Spoilt::Mark);
    let (tree, mut problems) = parse(id, name, bare);
    problems.extend(spoilt.or(marked).map(|spoilt| {
        match spoilt {
            Spoilt::Mark => {
                fault(0, "encoding", "a byte order mark: save the file as UTF-8 without one".to_owned())
                    .mended("it is left out")
            }
            Spoilt::Wide => fault(0, "encoding", "the file is UTF-16: save it as UTF-8".to_owned())
                .mended("it is read as that"),
            Spoilt::Bytes(at) => {
                let at = at - (text.len() - bare.len());
                fault(at, "encoding", format!("byte {at} is not UTF-8"))
                    .help("save the file as UTF-8")
                    .mended("it is read as U+FFFD, and so is each that follows")
            }
        }
    }));
    (bare.to_owned(), tree, problems)
}

/// What is wrong with an encoding.
enum Spoilt {
    /// A byte order mark, which UTF-8 needs none of.
    Mark,
    /// UTF-16.
    Wide,
    /// Bytes that are no UTF-8, from here on.
    Bytes(usize),
}

fn decoded(bytes: &[u8]) -> (Cow<'_, str>, Option<Spoilt>) {
    let wide = match bytes {
        [0xff, 0xfe, rest @ ..] => Some((rest, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, rest @ ..] => Some((rest, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((rest, unit)) = wide {
        // Half a unit at the end is none.
        let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let text = char::decode_utf16(units).map(|each| each.unwrap_or(char::REPLACEMENT_CHARACTER));
        return (Cow::Owned(text.collect()), Some(Spoilt::Wide));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), None),
        Err(error) => (String::from_utf8_lossy(bytes), Some(Spoilt::Bytes(error.valid_up_to()))),
    }
}

/// A text as what its name says, or as YAML where it does not even begin as JSON does.
fn parse(id: SourceId, name: &str, text: &str) -> (Option<Tree>, Vec<Diagnostic>) {
    if files::is_yaml(name) {
        return yaml::parse(id, text);
    }
    let (tree, problems) = json::parse(id, text);
    let begins = text.trim_ascii_start().starts_with(['{', '[', '"']);
    if tree.is_some() || begins {
        return (tree, problems);
    }
    let (tree, mut found) = yaml::parse(id, text);
    // Any text is a scalar of YAML.
    match tree.filter(Tree::is_object) {
        Some(tree) if !found.iter().any(Diagnostic::is_fatal) => {
            let place = Place { source: id, pointer: String::new(), span: span(0, 1) };
            let message = "the document is YAML, which its name does not say: call it `….yaml`";
            found.push(Diagnostic::error("syntax", message).at(place).mended("it is read as YAML"));
            (Some(tree), found)
        }
        _ => (None, problems),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, bytes: &[u8], expected: Option<&str>, said: &[&str]) {
        let (_, tree, problems) = read(SourceId(0), name, bytes);
        let found: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
        assert_eq!(found, said, "{name} {bytes:?}: {problems:?}");
        assert_eq!(tree.map(|tree| tree.to_json().to_string()).as_deref(), expected, "{name} {bytes:?}");
        assert_eq!(expected.is_none(), problems.iter().any(Diagnostic::is_fatal), "{name} {bytes:?}");
    }

    #[test]
    fn encodings_cost_a_fault_and_no_document() {
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
        check("a.json", b"\xef\xbb\xbf{\"\xff\":1}", Some("{\"\u{fffd}\":1}"), &["encoding"]);
    }

    #[test]
    fn yaml_is_read_whatever_it_is_called() {
        for name in ["a.json", "a.txt", "a"] {
            check(name, b"# A.\na: {b: 1}\n", Some(r#"{"a":{"b":1}}"#), &["syntax"]);
            check(name, b"---\nopenapi: 3.1.0\n", Some(r#"{"openapi":"3.1.0"}"#), &["syntax"]);
            check(name, b"[1]", Some("[1]"), &[]);
            // Whoever begins as JSON does means JSON.
            check(name, b"{a: 1}", None, &["syntax"]);
            check(name, b"nothing of it", None, &["syntax"]);
            check(name, b"a: [1\n", None, &["syntax"]);
        }
    }
}
