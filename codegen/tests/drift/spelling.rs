//! Tests of different notations with the same wire format, such as media types and operations without an id.

use crate::rules::{A, B, changes, document, operation, schema};

fn rules_and_messages(old: &str, new: &str) -> Vec<(&'static str, String)> {
    changes(old, new, true).into_iter().map(|change| (change.rule, change.message)).collect()
}

/// Creates a document with an operation whose request body and response have the given media types.
fn of(types: &[&str]) -> String {
    let content: Vec<String> =
        types.iter().map(|name| format!(r#""{name}":{{"schema":{{"type":"string"}}}}"#)).collect();
    let content = format!(r#""content":{{{}}}"#, content.join(","));
    operation(&format!(r#""requestBody":{{{content}}},"responses":{{"200":{{"description":"",{content}}}}}"#))
}

#[test]
fn json_with_a_charset_is_the_same_media_type() {
    let (bare, with_charset) = ("application/json", "application/json; charset=utf-8");
    assert_eq!(rules_and_messages(&of(&[bare]), &of(&[with_charset])), []);
    assert_eq!(rules_and_messages(&of(&[with_charset]), &of(&["Application/JSON;charset=UTF-8"])), []);
    assert_eq!(rules_and_messages(&of(&[bare, with_charset]), &of(&[bare])), []);
    // Media types with different values of the parameter `v` are distinct.
    let gone = rules_and_messages(&of(&["application/json;v=1"]), &of(&["application/json;v=2"]));
    let rules: Vec<&str> = gone.iter().map(|(rule, _)| *rule).collect();
    let [removed, added, lost, more] = rules.as_slice() else { panic!("{gone:#?}") };
    assert_eq!((*removed, *added), ("request-media-type-removed", "request-media-type-added"));
    assert_eq!((*lost, *more), ("response-media-type-removed", "response-media-type-added"));
}

#[test]
fn generated_operation_names_are_reported_as_such() {
    let of = |name: &str, id: &str| {
        document(&format!(
            r#""paths":{{"/a/{{{name}}}":{{"get":{{{id}"parameters":[{{"name":"{name}","in":"path","required":true,"schema":{{"type":"string"}}}}],"responses":{{}}}}}}}}"#
        ))
    };
    let found = rules_and_messages(&of("x", ""), &of("y", ""));
    let message =
        "the generated name of the operation without `operationId` changed from `getAByX` to `getAByY`";
    assert!(found.contains(&("operation-renamed", message.to_owned())), "{found:#?}");
    let found = rules_and_messages(&of("x", r#""operationId":"a","#), &of("x", r#""operationId":"b","#));
    assert_eq!(found, [("operation-renamed", "the `operationId` changed from `a` to `b`".to_owned())]);
}

/// Replacing a list of types by a union with one branch for each type is not a change if each keyword moves
/// to the branch of its type. The reverse is not a change either.
#[test]
fn type_lists_equal_branches_of_single_types() {
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
                    assert_eq!(rules_and_messages(&old, &new), [], "{old} {new}");
                }
            }
        }
    }
    let types = r#"{"type":["array","string"],"items":{"type":"string"},"maxLength":3}"#;
    let forms = r#"{"anyOf":[{"type":"string","maxLength":3},{"type":"array","items":{"type":"string"}}]}"#;
    assert_eq!(rules_and_messages(&schema(types), &schema(forms)), []);
    assert_eq!(rules_and_messages(&schema(forms), &schema(types)), []);
}

/// Replacing a list of types by a union is not reported. Changes of the limits or of the valid types at the
/// same time are reported by their own rules.
#[test]
fn changes_of_type_branches_have_their_own_rules() {
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

/// Returns the rule and the message of every change between two schemas of a property, including annotations.
fn property_changes(old: &str, new: &str) -> Vec<(&'static str, String)> {
    let within = |one: &str| schema(&format!(r#"{{"type":"object","properties":{{"m":{one}}}}}"#));
    rules_and_messages(&within(old), &within(new))
}

/// Returns the rules of the changes between two schemas of a property. Each rule is listed once, even if it
/// applies in both directions.
fn rules_of(old: &str, new: &str) -> Vec<&'static str> {
    let mut rules: Vec<&str> = property_changes(old, new).into_iter().map(|(rule, _)| rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// Replacing a list of types by a union is not a change if the annotations stay next to the union.
#[test]
fn annotations_around_a_union_apply_to_branches() {
    let around = [
        r#""default":"a""#,
        r#""readOnly":true"#,
        r#""writeOnly":true"#,
        r#""deprecated":true"#,
        r#""title":"t","description":"d","examples":["a"]"#,
        r#""format":"email""#,
        r#""contentEncoding":"base64","contentMediaType":"image/png""#,
        r#""x-foo":1"#,
        r#""default":"a","readOnly":true,"x-foo":1"#,
    ];
    for around in around {
        for (types, forms) in [
            (r#""type":["string","null"]"#, r#"[{"type":"string"},{"type":"null"}]"#),
            (r#""type":["string","integer"]"#, r#"[{"type":"string"},{"type":"integer"}]"#),
            (
                r#""type":["string","integer","null"]"#,
                r#"[{"anyOf":[{"type":"string"},{"type":"integer"}]},{"type":"null"}]"#,
            ),
            (r#""type":"string""#, r#"[{"type":"string"}]"#),
            (r#""type":["string","null"],"enum":["a",null]"#, r#"[{"enum":["a"]},{"type":"null"}]"#),
        ] {
            for keyword in ["anyOf", "oneOf"] {
                let (types, forms) =
                    (format!("{{{types},{around}}}"), format!(r#"{{"{keyword}":{forms},{around}}}"#));
                assert_eq!(property_changes(&types, &forms), [], "{types} {forms}");
                assert_eq!(property_changes(&forms, &types), [], "{forms} {types}");
            }
        }
    }
}

/// If a list of types is replaced by a union and an annotation next to it changes, the annotation is reported
/// once.
#[test]
fn changed_annotations_of_unions_are_reported_once() {
    let types = |around: &str| format!(r#"{{"type":["string","null"],{around}}}"#);
    let forms = |around: &str| format!(r#"{{"anyOf":[{{"type":"string"}},{{"type":"null"}}],{around}}}"#);
    for (old, new, rule) in [
        (r#""default":"a","readOnly":true"#, r#""default":"b","readOnly":true"#, "default-changed"),
        (r#""readOnly":true,"x-foo":1"#, r#""x-foo":1"#, "read-only-unset"),
        (r#""x-foo":1"#, r#""x-foo":1,"deprecated":true"#, "deprecated-set"),
        (r#""x-foo":1,"default":"a""#, r#""x-foo":2,"default":"a""#, "extension-changed"),
        (r#""default":"a","title":"t""#, r#""default":"a","title":"u""#, "editorial"),
    ] {
        for (old, new) in [(types(old), forms(new)), (forms(old), types(new))] {
            let found: Vec<&str> = property_changes(&old, &new).into_iter().map(|(rule, _)| rule).collect();
            assert_eq!(found, [rule], "{old} {new}");
        }
    }
    // An annotation that only one of several branches has is reported.
    let types = r#"{"type":["string","integer"],"x-foo":1}"#;
    let forms = r#"{"anyOf":[{"type":"string","deprecated":true},{"type":"integer"}],"x-foo":1}"#;
    assert_eq!(rules_of(types, forms), ["deprecated-set"]);
    assert_eq!(rules_of(forms, types), ["deprecated-unset"]);
}

/// Moving annotations into the only branch other than `null` is not a change, even if the branch is an
/// `enum`.
#[test]
fn annotations_of_a_single_branch_apply_to_the_location() {
    let list = |keywords: &str| format!(r#"{{"type":["string","null"],"enum":["a","b",null],{keywords}}}"#);
    let form = |keywords: &str| {
        format!(r#"{{"anyOf":[{{"type":"string","enum":["a","b"],{keywords}}},{{"type":"null"}}]}}"#)
    };
    let (a, b) = (r#""default":"a","x-foo":1"#, r#""default":"b","x-foo":1"#);
    for (old, new) in [(list(a), form(a)), (form(a), list(a))] {
        assert_eq!(property_changes(&old, &new), [], "{old} {new}");
    }
    for (old, new) in [(list(a), form(b)), (form(a), list(b)), (form(a), form(b))] {
        assert_eq!(rules_of(&old, &new), ["default-changed"], "{old} {new}");
    }
    let open = r#"{"anyOf":[{"type":"string","default":"a","x-foo":1},{"type":"null"}]}"#;
    assert_eq!(rules_of(&form(a), open), ["enum-dropped"]);
    assert_eq!(rules_of(open, &form(a)), ["enum-added"]);
    assert_eq!(rules_of(&form(b), open), ["default-changed", "enum-dropped"]);
}

type Form<'a> = &'a dyn Fn(&str) -> String;

/// Replacing a schema by a union with that schema as its only branch is not a change, even next to other
/// keywords.
#[test]
fn unions_with_one_branch_equal_the_branch() {
    let object =
        |of: &str| format!(r#"{{"type":"object","properties":{{"a":{{"type":"{of}"}}}},"x-foo":1}}"#);
    for keyword in ["anyOf", "oneOf"] {
        let form = |of: &str| format!(r#"{{"{keyword}":[{}]}}"#, object(of));
        for (old, new) in [(object("string"), form("string")), (form("string"), object("string"))] {
            assert_eq!(property_changes(&old, &new), [], "{old} {new}");
        }
        for (old, new) in [(object("string"), form("integer")), (form("string"), object("integer"))] {
            assert_eq!(rules_of(&old, &new), ["type-changed"], "{old} {new}");
        }
        // The union has sibling keywords.
        let more = r#""properties":{"b":{"type":"string"}},"required":["b"]"#;
        let beside = |of: &str| format!(r#"{{"type":"object",{more},"{keyword}":[{}]}}"#, object(of));
        let within = |of: &str| format!(r#"{{"allOf":[{},{{"type":"object",{more}}}]}}"#, form(of));
        let plain = |of: &str| format!(r#"{{"allOf":[{},{{"type":"object",{more}}}]}}"#, object(of));
        for (one, other) in [(&beside as Form, &within as Form), (&within, &plain), (&plain, &beside)] {
            assert_eq!(property_changes(&one("string"), &other("string")), [], "{keyword}");
            assert_eq!(property_changes(&other("string"), &one("string")), [], "{keyword}");
            assert_eq!(rules_of(&one("string"), &other("integer")), ["type-changed"], "{keyword}");
        }
        // A second branch is reported as added or removed.
        let (text, number) =
            (object("string"), r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#);
        let forms = |branches: &str| format!(r#"{{"type":"object","{keyword}":[{branches}]}}"#);
        let several = forms(&format!("{text},{number}"));
        assert!(rules_of(&forms(&text), &several).contains(&"branch-added"), "{keyword}");
        assert!(rules_of(&several, &forms(&text)).contains(&"branch-removed"), "{keyword}");
    }
}

/// Moving annotations between a union and its only branch other than `null` is not a change. If the union and
/// the branch have annotations, those of the union apply.
#[test]
fn annotations_may_move_between_union_and_branch() {
    let outside =
        |keywords: &str| format!(r#"{{"anyOf":[{{"type":"string"}},{{"type":"null"}}],{keywords}}}"#);
    let inside =
        |keywords: &str| format!(r#"{{"oneOf":[{{"type":"string",{keywords}}},{{"type":"null"}}]}}"#);
    let both =
        |out: &str, inn: &str| format!(r#"{{"anyOf":[{{"type":"string",{inn}}},{{"type":"null"}}],{out}}}"#);
    let types = |keywords: &str| format!(r#"{{"type":["string","null"],{keywords}}}"#);
    let (a, b) = (r#""default":"a","x-foo":1"#, r#""default":"b","x-foo":1"#);
    for (old, new) in [
        (outside(a), inside(a)),
        (inside(a), outside(a)),
        (both(a, b), outside(a)),
        (both(a, b), types(a)),
        (types(a), both(a, b)),
    ] {
        assert_eq!(property_changes(&old, &new), [], "{old} {new}");
    }
    for (old, new) in [
        (outside(a), inside(b)),
        (inside(a), outside(b)),
        (inside(a), inside(b)),
        (outside(a), outside(b)),
        (both(a, b), types(b)),
        (types(b), both(a, b)),
    ] {
        let found: Vec<&str> = property_changes(&old, &new).into_iter().map(|(rule, _)| rule).collect();
        assert_eq!(found, ["default-changed"], "{old} {new}");
    }
}

/// Moving the `xml` name between a union and its only branch other than `null` is not a change; changing the
/// name is.
#[test]
fn xml_names_may_move_between_union_and_branch() {
    let of = |one: &str| {
        operation(&format!(
            r#""requestBody":{{"content":{{"application/xml":{{"schema":{{"type":"object","properties":{{"m":{one}}}}}}}}}}},"responses":{{}}"#
        ))
    };
    let types = |name: &str| format!(r#"{{"type":["object","null"],"xml":{{"name":"{name}"}}}}"#);
    let outside = |name: &str| {
        format!(r#"{{"anyOf":[{{"type":"object"}},{{"type":"null"}}],"xml":{{"name":"{name}"}}}}"#)
    };
    let inside = |name: &str| {
        format!(r#"{{"anyOf":[{{"type":"object","xml":{{"name":"{name}"}}}},{{"type":"null"}}]}}"#)
    };
    let one = |name: &str| format!(r#"{{"oneOf":[{{"type":["object","null"],"xml":{{"name":"{name}"}}}}]}}"#);
    let notations = |name: &str| [types(name), outside(name), inside(name), one(name)];
    for old in notations("a") {
        for (same, other) in notations("a").into_iter().zip(notations("b")) {
            assert_eq!(rules_and_messages(&of(&old), &of(&same)), [], "{old} {same}");
            let found: Vec<&str> =
                rules_and_messages(&of(&old), &of(&other)).into_iter().map(|(rule, _)| rule).collect();
            assert_eq!(found, ["xml-changed"], "{old} {other}");
        }
    }
}

/// Replacing the formats `byte` and `binary` of OpenAPI 3.0 by the content keywords of OpenAPI 3.1 is not a
/// change (OpenAPI 3.1, 4.4.1.2).
#[test]
fn binary_formats_equal_content_keywords() {
    let byte = r#"{"type":"string","format":"byte"}"#;
    let encoded = r#"{"type":"string","contentEncoding":"base64"}"#;
    let both = r#"{"type":"string","format":"byte","contentEncoding":"base64"}"#;
    let binary = r#"{"type":"string","format":"binary"}"#;
    let media = r#"{"type":"string","contentMediaType":"application/octet-stream"}"#;
    for (old, new) in
        [(byte, encoded), (encoded, byte), (byte, both), (both, encoded), (binary, media), (media, binary)]
    {
        assert_eq!(property_changes(old, new), [], "{old} {new}");
    }
    let (plain, other) = (r#"{"type":"string"}"#, r#"{"type":"string","contentEncoding":"base16"}"#);
    assert_eq!(rules_of(byte, plain), ["format-removed"]);
    assert_eq!(rules_of(encoded, plain), ["content-changed"]);
    assert_eq!(rules_of(byte, other), ["content-changed", "format-removed"]);
    assert_eq!(rules_of(byte, binary), ["format-changed"]);
}

/// Replacing a numeric format by bounds does not break readers if the format can hold every number within the
/// bounds. The reverse replacement does not break writers.
#[test]
fn bounds_can_replace_a_numeric_format() {
    let format = r#"{"type":"integer","format":"int32"}"#;
    let bounds = r#"{"type":"integer","minimum":-2147483648,"maximum":2147483647}"#;
    let wide = r#"{"type":"integer","minimum":-2147483648,"maximum":2147483648}"#;
    let breaking = |old: &str, new: &str| -> Vec<(&'static str, bool, bool)> {
        let found = changes(&schema(old), &schema(new), false).into_iter();
        let formats = found.filter(|change| change.rule.contains("format"));
        formats.map(|change| (change.rule, change.readers == B, change.writers == B)).collect()
    };
    let is_read = |found: &[(&str, bool, bool)]| found.iter().any(|(_, readers, _)| *readers);
    let is_written = |found: &[(&str, bool, bool)]| found.iter().any(|(_, _, writers)| *writers);
    assert!(!is_read(&breaking(format, bounds)), "{:?}", breaking(format, bounds));
    assert!(is_read(&breaking(format, wide)));
    assert!(!is_written(&breaking(bounds, format)), "{:?}", breaking(bounds, format));
    assert!(is_written(&breaking(wide, format)));
}
