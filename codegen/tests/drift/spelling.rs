//! What is written otherwise and sent the same: media types, operations that have no id.

use crate::rules::{A, B, changes, document, operation, schema};

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

/// Several types, and one form for each: what holds of a type's values is compared where they are, `null` beside them.
#[test]
fn types_and_forms_of_them_say_the_same() {
    let lists = [
        (r#"{"type":["string","null"],"format":"date-time"}"#, r#"{"type":"string","format":"date-time"}"#),
        (
            r#"{"type":["array","null"],"items":{"type":"string"}}"#,
            r#"{"type":"array","items":{"type":"string"}}"#,
        ),
        (
            r#"{"type":["object","null"],"properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
        ),
        (r#"{"type":["integer","null"],"minimum":1}"#, r#"{"type":"integer","minimum":1}"#),
    ];
    for (types, form) in lists {
        for keyword in ["anyOf", "oneOf"] {
            let forms = format!(r#"{{"{keyword}":[{form},{{"type":"null"}}]}}"#);
            let null_first = format!(r#"{{"{keyword}":[{{"type":"null"}},{form}]}}"#);
            for (old, new) in [(types, &*forms), (&forms, types), (types, &null_first), (&null_first, types)]
            {
                let within =
                    |one: &str| schema(&format!(r#"{{"type":"object","properties":{{"m":{one}}}}}"#));
                for (old, new) in [(schema(old), schema(new)), (within(old), within(new))] {
                    assert_eq!(words(&old, &new), [], "{old} {new}");
                }
            }
        }
    }
    let types = r#"{"type":["array","string"],"items":{"type":"string"},"maxLength":3}"#;
    let forms = r#"{"anyOf":[{"type":"string","maxLength":3},{"type":"array","items":{"type":"string"}}]}"#;
    assert_eq!(words(&schema(types), &schema(forms)), []);
    assert_eq!(words(&schema(forms), &schema(types)), []);
}

/// What differs in one of the forms, or in which of them there are, is said as that.
#[test]
fn what_forms_of_types_change_is_said_where_it_is() {
    let found = |old: &str, new: &str| -> Vec<_> {
        let found = changes(&schema(old), &schema(new), false);
        found.into_iter().map(|change| (change.rule, change.readers, change.writers)).collect()
    };
    let (text, number) = (r#"{"type":"string","maxLength":3}"#, r#"{"type":"integer"}"#);
    let null = r#"{"type":"null"}"#;
    let nullable = r#"{"type":["string","null"],"maxLength":2}"#;
    assert_eq!(found(nullable, &format!(r#"{{"anyOf":[{text},{null}]}}"#)), [("length-widened", B, A)]);
    assert_eq!(
        found(nullable, &format!(r#"{{"anyOf":[{text},{number},{null}]}}"#)),
        [("branch-added", B, A), ("length-widened", B, A)]
    );
    let three = r#"{"type":["string","boolean","null"],"maxLength":3}"#;
    assert_eq!(found(three, &format!(r#"{{"anyOf":[{text},{null}]}}"#)), [("type-narrowed", A, B)]);
    assert_eq!(found(&format!(r#"{{"anyOf":[{text},{null}]}}"#), three), [("type-widened", B, A)]);
    let plain = r#"{"type":"string","maxLength":3}"#;
    assert_eq!(found(plain, &format!(r#"{{"anyOf":[{text},{null}]}}"#)), [("null-added", B, A)]);
}
