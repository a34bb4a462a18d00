//! Normalizes the version of an OpenAPI document, so that later stages find a valid `openapi` field in the
//! root.

use crate::{
    diagnostics::Diagnostic,
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember, SourceId},
};

use super::span;

/// The version that is assumed for documents without one.
const DEFAULT_VERSION: &str = "3.1.0";

/// Ensures that the root of an OpenAPI document contains `openapi` with a plain version. Returns the fault if
/// the field was corrected or inserted. Without the field, the document would be treated as a schema with
/// only unknown keywords.
pub(super) fn normalize_version(id: SourceId, tree: &mut DocumentNode) -> Option<Diagnostic> {
    let is_document = ["info", "paths", "webhooks", "components"]
        .iter()
        .any(|key| tree.get(key).is_some_and(DocumentNode::is_object));
    match tree.get("openapi") {
        Some(found) => {
            let version = stated_version(found);
            if version.is_none() && !is_document {
                return None;
            }
            let plain = match &found.value {
                NodeValue::String(text) | NodeValue::Number(text) => Some(text),
                _ => None,
            };
            let own = version.as_deref().unwrap_or(DEFAULT_VERSION);
            if plain.is_some_and(|text| text == own) {
                return None;
            }
            let shown = plain.map_or(found.kind_with_article().to_owned(), |text| format!("`{text}`"));
            let place = DocumentLocation { source: id, pointer: "/openapi".to_owned(), span: found.span };
            let message = format!("`openapi` must be a version like `3.1.0`, not {shown}");
            let problem = Diagnostic::error("invalid-openapi", message).with_place(place);
            let problem = problem.with_fallback(format!("the document is read as OpenAPI {own}"));
            let value = NodeValue::String(own.to_owned());
            let NodeValue::Object(members) = &mut tree.value else { return None };
            let member = members.iter_mut().find(|member| member.key == "openapi")?;
            member.value.value = value;
            Some(problem)
        }
        None => insert_missing_version(id, tree),
    }
}

/// Returns the version in a value of `openapi`: the whole value if it consists of digits and periods, or else
/// the first part of the string that starts with `3.`.
fn stated_version(found: &DocumentNode) -> Option<String> {
    let text = match &found.value {
        NodeValue::String(text) | NodeValue::Number(text) => text.trim(),
        NodeValue::Array(versions) => return versions.iter().find_map(stated_version),
        _ => return None,
    };
    let is_version = |text: &str| text.bytes().all(|each| each.is_ascii_digit() || each == b'.');
    if !text.is_empty() && is_version(text) {
        return Some(text.to_owned());
    }
    let from = text
        .match_indices("3.")
        .find(|(at, _)| !text[..*at].ends_with(|before: char| before.is_ascii_digit() || before == '.'));
    let version = &text[from?.0..];
    let end = version.find(|each: char| !(each.is_ascii_digit() || each == '.')).unwrap_or(version.len());
    let version = version[..end].trim_end_matches('.');
    (version.len() > 1).then(|| version.to_owned())
}

fn insert_missing_version(id: SourceId, tree: &mut DocumentNode) -> Option<Diagnostic> {
    let object = |key: &str| tree.get(key).is_some_and(DocumentNode::is_object);
    let named = ["swagger", "$schema", "$id"].iter().any(|key| tree.get(key).is_some());
    if named || !object("info") || !object("paths") {
        return None;
    }
    let start = span(tree.span.start as usize, tree.span.start as usize + 1);
    let NodeValue::Object(members) = &mut tree.value else { return None };
    let value = DocumentNode { value: NodeValue::String(DEFAULT_VERSION.to_owned()), span: start };
    members.insert(0, ObjectMember { key: "openapi".to_owned(), key_span: start, value });
    let place = DocumentLocation { source: id, pointer: String::new(), span: start };
    let message = "a document with `info` and `paths` must have `openapi`";
    let problem = Diagnostic::error("invalid-openapi", message).with_place(place);
    Some(problem.help("add the version: `openapi: 3.1.0`").with_fallback("it is read as OpenAPI 3.1"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::load::yaml;

    #[test]
    fn versions_are_normalized() {
        for (written, expected, is_fault) in [
            ("3.1.0", "3.1.0", false),
            ("3.0", "3.0", false),
            ("'2.0'", "2.0", false),
            ("4.0.0", "4.0.0", false),
            ("3.1.0-rc1", "3.1.0", true),
            ("v3.0.0", "3.0.0", true),
            ("' 3.0.1 '", "3.0.1", true),
            ("[3.0.0]", "3.0.0", true),
            ("OpenAPI 3.0.2", "3.0.2", true),
            ("1.3.0 of it", "3.1.0", true),
            ("''", "3.1.0", true),
            ("null", "3.1.0", true),
            ("{}", "3.1.0", true),
            ("v3.", "3.1.0", true),
        ] {
            let text = format!("openapi: {written}\ninfo: {{}}\npaths: {{}}\n");
            let mut tree = yaml::parse(SourceId(0), &text).0.unwrap();
            let problem = normalize_version(SourceId(0), &mut tree);
            let found = match &tree.get("openapi").unwrap().value {
                NodeValue::String(text) | NodeValue::Number(text) => text.clone(),
                other => panic!("{other:?}"),
            };
            assert_eq!((found.as_str(), problem.is_some()), (expected, is_fault), "{written}");
            assert!(problem.is_none_or(|problem| !problem.is_fatal()), "{written}");
        }
        // A schema with an unrelated member `openapi` is not changed.
        let mut tree = yaml::parse(SourceId(0), "type: object\nopenapi: null\n").0.unwrap();
        assert_eq!(normalize_version(SourceId(0), &mut tree), None);
    }
}
