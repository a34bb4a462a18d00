//! The version of an OpenAPI document, where it is not written as one: every later reader finds it in
//! the root.

use crate::{
    diagnostics::Diagnostic,
    tree::{Member, Place, SourceId, Tree, Value},
};

use super::span;

/// What is read where nobody says it.
const USUAL: &str = "3.1.0";

/// Gives the root of an OpenAPI document that does not say so its version: as a schema it would be
/// nothing but unknown keywords. One that is written in another way is what it says.
pub(super) fn settle(id: SourceId, tree: &mut Tree) -> Option<Diagnostic> {
    let is_document = ["info", "paths", "webhooks", "components"]
        .iter()
        .any(|key| tree.get(key).is_some_and(Tree::is_object));
    match tree.get("openapi") {
        Some(found) => {
            let version = stated(found);
            if version.is_none() && !is_document {
                return None;
            }
            let plain = match &found.value {
                Value::String(text) | Value::Number(text) => Some(text),
                _ => None,
            };
            let own = version.as_deref().unwrap_or(USUAL);
            if plain.is_some_and(|text| text == own) {
                return None;
            }
            let shown = plain.map_or(found.kind().to_owned(), |text| format!("`{text}`"));
            let place = Place { source: id, pointer: "/openapi".to_owned(), span: found.span };
            let message = format!("`openapi` must be a version like `3.1.0`, not {shown}");
            let problem = Diagnostic::error("invalid-openapi", message).at(place);
            let problem = problem.mended(format!("the document is read as OpenAPI {own}"));
            let value = Value::String(own.to_owned());
            let Value::Object(members) = &mut tree.value else { return None };
            let member = members.iter_mut().find(|member| member.key == "openapi")?;
            member.value.value = value;
            Some(problem)
        }
        None => unstated(id, tree),
    }
}

/// The version that a value says: what stands for itself, and else the first of OpenAPI 3 in it.
fn stated(found: &Tree) -> Option<String> {
    let text = match &found.value {
        Value::String(text) | Value::Number(text) => text.trim(),
        Value::Array(versions) => return versions.iter().find_map(stated),
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

fn unstated(id: SourceId, tree: &mut Tree) -> Option<Diagnostic> {
    let object = |key: &str| tree.get(key).is_some_and(Tree::is_object);
    let named = ["swagger", "$schema", "$id"].iter().any(|key| tree.get(key).is_some());
    if named || !object("info") || !object("paths") {
        return None;
    }
    let start = span(tree.span.start as usize, tree.span.start as usize + 1);
    let Value::Object(members) = &mut tree.value else { return None };
    let value = Tree { value: Value::String(USUAL.to_owned()), span: start };
    members.insert(0, Member { key: "openapi".to_owned(), key_span: start, value });
    let place = Place { source: id, pointer: String::new(), span: start };
    let message = "`info` and `paths` are those of an OpenAPI document, which must have `openapi`";
    let problem = Diagnostic::error("invalid-openapi", message).at(place);
    Some(problem.help("say which version it is: `openapi: 3.1.0`").mended("it is read as OpenAPI 3.1"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::load::yaml;

    #[test]
    fn versions_are_read_as_they_are_meant() {
        for (written, read, is_fault) in [
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
            let problem = settle(SourceId(0), &mut tree);
            let found = match &tree.get("openapi").unwrap().value {
                Value::String(text) | Value::Number(text) => text.clone(),
                other => panic!("{other:?}"),
            };
            assert_eq!((found.as_str(), problem.is_some()), (read, is_fault), "{written}");
            assert!(problem.is_none_or(|problem| !problem.is_fatal()), "{written}");
        }
        // A schema may have a member of that name.
        let mut tree = yaml::parse(SourceId(0), "type: object\nopenapi: null\n").0.unwrap();
        assert_eq!(settle(SourceId(0), &mut tree), None);
    }
}
