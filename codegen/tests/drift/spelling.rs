//! What is written otherwise and sent the same: media types, operations that have no id.

use crate::rules::{changes, document, operation};

fn words(old: &str, new: &str) -> Vec<(&'static str, String)> {
    changes(old, new, true).into_iter().map(|change| (change.rule, change.message)).collect()
}

/// A body and an answer of some media types.
fn of(types: &[&str]) -> String {
    let content: Vec<String> =
        types.iter().map(|name| format!(r#""{name}":{{"schema":{{"type":"string"}}}}"#)).collect();
    let content = format!(r#""content":{{{}}}"#, content.join(","));
    operation(&format!(r#""requestBody":{{{content}}},"responses":{{"200":{{"description":"",{content}}}}}"#))
}

#[test]
fn a_charset_of_json_is_no_other_media_type() {
    let (bare, said) = ("application/json", "application/json; charset=utf-8");
    assert_eq!(words(&of(&[bare]), &of(&[said])), []);
    assert_eq!(words(&of(&[said]), &of(&["Application/JSON;charset=UTF-8"])), []);
    assert_eq!(words(&of(&[bare, said]), &of(&[bare])), []);
    // Versions of a type are types.
    let gone = words(&of(&["application/json;v=1"]), &of(&["application/json;v=2"]));
    let rules: Vec<&str> = gone.iter().map(|(rule, _)| *rule).collect();
    let [removed, added, lost, more] = rules.as_slice() else { panic!("{gone:#?}") };
    assert_eq!((*removed, *added), ("request-media-type-removed", "request-media-type-added"));
    assert_eq!((*lost, *more), ("response-media-type-removed", "response-media-type-added"));
}

#[test]
fn a_name_that_nobody_gave_is_said_to_be_made() {
    let of = |name: &str, id: &str| {
        document(&format!(
            r#""paths":{{"/a/{{{name}}}":{{"get":{{{id}"parameters":[{{"name":"{name}","in":"path","required":true,"schema":{{"type":"string"}}}}],"responses":{{}}}}}}}}"#
        ))
    };
    let found = words(&of("x", ""), &of("y", ""));
    let said = "the operation has no `operationId`: generated code calls it `getAByY`, was `getAByX`";
    assert!(found.contains(&("operation-renamed", said.to_owned())), "{found:#?}");
    let found = words(&of("x", r#""operationId":"a","#), &of("x", r#""operationId":"b","#));
    assert_eq!(found, [("operation-renamed", "the operation is called `b`, was `a`".to_owned())]);
}
