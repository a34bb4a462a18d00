//! Tests of changes whose effect cannot be read from the changed keyword alone: patterns are compared by the
//! strings that they match, unions by their branches, and discriminators by the branches that they select.
//! Similar tests cover conditions, statuses, sign-in, servers, and names of operations and schemas.

use contract_codegen::drift::{ChangeLevel, CompareOptions, ContractChange, ContractVersion, compare};

use crate::rules::{A, B, Case, R, S, changes, check, document, operation, schema};

const SCHEMAS: &[Case] = &[
    (
        "pattern-rewritten",
        r#"{"type":"string","pattern":"^[0-9]+$"}"#,
        r#"{"type":"string","pattern":"^\\d{1,}$"}"#,
        S,
        S,
    ),
    (
        "pattern-widened",
        r#"{"type":"string","pattern":"^[a-z]{3,60}$"}"#,
        r#"{"type":"string","pattern":"^[a-z]{2,80}$"}"#,
        B,
        A,
    ),
    (
        "pattern-narrowed",
        r#"{"type":"string","pattern":"^[a-z]{2,80}$"}"#,
        r#"{"type":"string","pattern":"^[a-z]{3,60}$"}"#,
        A,
        B,
    ),
    // The new pattern refuses line breaks, which `.` does not match, although both versions require two
    // characters.
    (
        "pattern-added",
        r#"{"type":"string","minLength":2}"#,
        r#"{"type":"string","minLength":2,"pattern":"^.{2}"}"#,
        A,
        B,
    ),
    (
        "condition-added-new-member",
        r#"{"type":"object","properties":{"b":{}}}"#,
        r#"{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{}},"if":{"required":["a"],"properties":{"a":{"const":"x"}}},"then":{"required":["b"]}}"#,
        A,
        A,
    ),
    // The condition tests the value `new`, which the old version refuses, so it matches no old value.
    (
        "condition-added-new-member",
        r#"{"type":"object","properties":{"a":{"anyOf":[{"const":"x"},{"type":"string","pattern":"^x-"}]},"b":{}}}"#,
        r#"{"type":"object","properties":{"a":{"anyOf":[{"enum":["x","new"]},{"type":"string","pattern":"^x-"}]},"b":{}},"if":{"required":["a"],"properties":{"a":{"const":"new"}}},"then":{"required":["b"]}}"#,
        A,
        A,
    ),
    // Without `required`, the condition also matches objects without `a`.
    (
        "condition-added",
        r#"{"type":"object","properties":{"b":{}}}"#,
        r#"{"type":"object","properties":{"a":{},"b":{}},"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]}}"#,
        A,
        B,
    ),
    (
        "condition-added",
        r#"{"type":"object","properties":{"b":{}}}"#,
        r#"{"type":"object","properties":{"a":{},"b":{}},"if":{"required":["a"]},"else":{"required":["b"]}}"#,
        A,
        B,
    ),
    // Strings match the condition, too, and the new version limits their length.
    (
        "condition-added",
        r#"{"type":["object","string"],"properties":{"b":{}}}"#,
        r#"{"type":["object","string"],"properties":{"a":{},"b":{}},"if":{"required":["a"]},"then":{"maxLength":3}}"#,
        A,
        B,
    ),
    (
        "condition-added",
        r#"{"type":"object","properties":{"p":{"type":["object","string"]},"b":{}}}"#,
        r#"{"type":"object","properties":{"p":{"type":["object","string"],"properties":{"a":{}}},"b":{}},"if":{"required":["p"],"properties":{"p":{"required":["a"]}}},"then":{"required":["b"]}}"#,
        A,
        B,
    ),
    (
        "condition-added-new-member",
        r#"{"type":["object","string"],"properties":{"b":{}}}"#,
        r#"{"type":["object","string"],"properties":{"a":{},"b":{}},"if":{"required":["a"]},"then":{"required":["b"]}}"#,
        A,
        A,
    ),
    // A branch of the old version already declares the property `a` that the condition tests.
    (
        "condition-added",
        r#"{"type":"object","anyOf":[{"properties":{"a":{}}},{"properties":{"c":{}}}]}"#,
        r#"{"type":"object","anyOf":[{"properties":{"a":{}}},{"properties":{"c":{}}}],"if":{"required":["a"]},"then":{"required":["b"]}}"#,
        A,
        B,
    ),
    (
        "dependency-added-new-member",
        r#"{"type":"object","properties":{"b":{}}}"#,
        r#"{"type":"object","properties":{"a":{},"b":{}},"dependentRequired":{"a":["b"]}}"#,
        A,
        A,
    ),
    (
        "dependency-added-new-member",
        r#"{"type":"object","properties":{"b":{}}}"#,
        r#"{"type":"object","properties":{"a":{},"b":{}},"dependentSchemas":{"a":{"required":["b"]}}}"#,
        A,
        A,
    ),
];

#[test]
fn schemas() {
    check(schema, SCHEMAS);
}

const DOCUMENTS: &[Case] = &[
    (
        "server-removed",
        r#""paths":{},"servers":[{"url":"https://a.example"}]"#,
        r#""paths":{},"servers":[{"url":"https://b.example"}]"#,
        B,
        B,
    ),
    (
        "server-added",
        r#""paths":{},"servers":[{"url":"https://a.example"}]"#,
        r#""paths":{},"servers":[{"url":"https://a.example"},{"url":"https://b.example"}]"#,
        A,
        A,
    ),
    // The operation uses the server of the document in the old version, and its own server in the new
    // version.
    (
        "server-removed",
        r#""servers":[{"url":"https://a.example"}],"paths":{"/x":{"get":{"responses":{}}}}"#,
        r#""servers":[{"url":"https://a.example"}],"paths":{"/x":{"get":{"servers":[{"url":"https://b.example"}],"responses":{}}}}"#,
        B,
        B,
    ),
];

#[test]
fn documents() {
    check(document, DOCUMENTS);
}

const OPERATIONS: &[Case] = &[
    (
        "security-alternative-removed",
        r#""security":[{"s":["a"]},{"k":[]}]"#,
        r#""security":[{"s":["a"]}]"#,
        B,
        B,
    ),
    (
        "security-alternative-removed",
        r#""security":[{"s":["a"]},{"k":[]},{}]"#,
        r#""security":[{"s":["a"]},{}]"#,
        B,
        B,
    ),
    ("sign-in-dropped", r#""security":[{"s":["a"]},{}]"#, r#""security":[{}]"#, A, A),
    (
        "response-folded",
        r#""responses":{"404":{"description":""},"default":{"description":""}}"#,
        r#""responses":{"default":{"description":""}}"#,
        A,
        S,
    ),
    (
        "response-named",
        r#""responses":{"200":{"description":""},"default":{"description":""}}"#,
        r#""responses":{"200":{"description":""},"404":{"description":""},"default":{"description":""}}"#,
        A,
        S,
    ),
    (
        "response-named",
        r#""responses":{"2XX":{"description":""}}"#,
        r#""responses":{"2XX":{"description":""},"201":{"description":""}}"#,
        A,
        S,
    ),
    (
        "response-added-success",
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}},"202":{"description":"","content":{"a/json":{"schema":{"type":"integer"}}}}}"#,
        B,
        S,
    ),
    // Next to success responses, `default` is the response for errors, so it does not cover the new status
    // 204.
    (
        "response-added-success",
        r#""responses":{"200":{"description":"","content":{"a/b":{}}},"default":{"description":""}}"#,
        r#""responses":{"200":{"description":"","content":{"a/b":{}}},"204":{"description":""},"default":{"description":""}}"#,
        B,
        S,
    ),
    // Readers of the response 200 can read the new response 201.
    (
        "response-added",
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}},"201":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}}}"#,
        A,
        S,
    ),
    // Readers of the response 200 can read its changed version and the new response 201, which have more
    // properties.
    (
        "response-added",
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"object","properties":{"a":{}}}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"object","properties":{"a":{},"b":{}}}}}},"201":{"description":"","content":{"a/json":{"schema":{"type":"object","properties":{"a":{},"b":{}}}}}}}"#,
        A,
        S,
    ),
    (
        "response-added",
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}},"201":{"description":"","content":{"a/json":{"schema":{"type":"string","maxLength":5}},"a/xml":{"schema":{"type":"integer"}}}}}"#,
        A,
        S,
    ),
    (
        "response-added-success",
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}},"201":{"description":"","content":{"a/xml":{"schema":{"type":"string"}}}}}"#,
        B,
        S,
    ),
    (
        "response-added-success",
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string","maxLength":5}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"a/json":{"schema":{"type":"string","maxLength":5}}}},"201":{"description":"","content":{"a/json":{"schema":{"type":"string"}}}}}"#,
        B,
        S,
    ),
    // The old entry `2XX` covers the status 200, which remains.
    (
        "response-narrowed",
        r#""responses":{"2XX":{"description":""}}"#,
        r#""responses":{"200":{"description":""}}"#,
        A,
        S,
    ),
    (
        "response-removed",
        r#""responses":{"2XX":{"description":""}}"#,
        r#""responses":{"302":{"description":""}}"#,
        B,
        S,
    ),
];

#[test]
fn operations() {
    check(operation, OPERATIONS);
}

/// Operations with the same method and path are matched, even if their ids changed or were exchanged.
#[test]
fn operations_are_matched_by_route() {
    let read = |routes: &[(&str, &str)]| {
        let one = |(path, id): &(&str, &str)| {
            format!(
                r#""{path}":{{"get":{{"operationId":"{id}","responses":{{"200":{{"description":""}}}}}}}}"#
            )
        };
        document(&format!(r#""paths":{{{}}}"#, routes.iter().map(one).collect::<Vec<_>>().join(",")))
    };
    let levels_of = |old: &[(&str, &str)], new: &[(&str, &str)]| {
        let found = changes(&read(old), &read(new), true);
        found.into_iter().map(|change| (change.rule, change.level())).collect::<Vec<_>>()
    };
    assert_eq!(
        levels_of(&[("/v1/a", "list")], &[("/v1/a", "listOld"), ("/v2/a", "list")]),
        [("operation-renamed", R), ("operation-added", A)]
    );
    assert_eq!(
        levels_of(&[("/a", "one"), ("/b", "two")], &[("/a", "two"), ("/b", "one")]),
        [("operation-renamed", R), ("operation-renamed", R)]
    );
    assert_eq!(levels_of(&[("/a", "one")], &[("/b", "one")]), [("operation-moved", B)]);
}

/// Path parameters are matched by position, because their names are not sent.
#[test]
fn path_parameters_are_matched_by_position() {
    let levels_of = |old: [(&str, &str); 2], new: [(&str, &str); 2]| {
        let read = |both: [(&str, &str); 2]| {
            let one = |(name, kind): (&str, &str)| {
                format!(r#"{{"name":"{name}","in":"path","required":true,"schema":{{"type":"{kind}"}}}}"#)
            };
            let [first, second] = both;
            document(&format!(
                r#""paths":{{"/x/{{{}}}/{{{}}}":{{"get":{{"operationId":"x","parameters":[{},{}],"responses":{{}}}}}}}}"#,
                first.0,
                second.0,
                one(first),
                one(second)
            ))
        };
        let found = changes(&read(old), &read(new), true);
        found.into_iter().map(|change| (change.rule, change.level())).collect::<Vec<_>>()
    };
    let (a, b) = (("a", "integer"), ("b", "string"));
    let renamed = ("path-parameter-renamed", R);
    // The integer `a` became a string named `b`, and vice versa.
    let swapped = levels_of([a, b], [b, a]);
    assert!(swapped.iter().any(|(rule, level)| *rule == "type-changed" && *level == B), "{swapped:?}");
    assert_eq!(levels_of([a, b], [("b", "integer"), ("c", "string")]), [renamed, renamed]);
    assert_eq!(levels_of([a, b], [a, ("c", "string")]), [renamed]);
}

/// An operation inherits the servers of its document. Declaring the same server in the operation is not a
/// change, even if another document of the contract declares a different server.
#[test]
fn operations_inherit_the_servers_of_their_document() {
    let read = |servers: &str| {
        let text = |paths: &str, server: &str| {
            format!(
                r#"{{"openapi":"3.1.0","info":{{"title":"t","version":"1"}},"servers":[{{"url":"{server}"}}],"paths":{{{paths}}}}}"#
            )
        };
        let first = text("", "https://a.example");
        let second = text(&format!(r#""/x":{{"get":{{{servers}"responses":{{}}}}}}"#), "https://b.example");
        ContractVersion::from_strings(&[("a.json", "", &first), ("b.json", "", &second)]).unwrap()
    };
    let own = read(r#""servers":[{"url":"https://b.example"}],"#);
    let found = compare(&read(""), &own, &CompareOptions::default()).changes;
    assert_eq!(found, [], "declaring the same server in the operation is not a change");
}

/// Returns all cases of this file. The cases in `named` contain no schemas. They list the rules that other
/// tests of this file cover.
pub(crate) fn all() -> Vec<Case> {
    let named = [
        ("schema-renamed", "", "", R, R),
        ("security-scheme-renamed", "", "", R, R),
        ("discriminator-added", "", "", A, B),
        ("discriminator-removed", "", "", B, A),
        ("discriminator-changed", "", "", B, B),
        ("discriminator-value-added", "", "", B, A),
        ("discriminator-value-removed", "", "", A, B),
    ];
    [SCHEMAS, DOCUMENTS, OPERATIONS, &named].concat()
}

/// Returns every change between two schemas that are used in a request and in a response.
fn compare_schemas(old: &str, new: &str) -> Vec<ContractChange> {
    changes(&schema(old), &schema(new), true)
}

#[test]
fn shortest_witnesses_are_shown_for_both_directions() {
    let pattern = |pattern: &str| format!(r#"{{"type":"string","pattern":"{pattern}"}}"#);
    let both = compare_schemas(&pattern("^[ab]{2}$"), &pattern("^[bc]+$"));
    let [change] = both.as_slice() else { panic!("{both:#?}") };
    assert_eq!((change.rule, change.readers, change.writers, change.proven), ("pattern-changed", B, B, true));
    let message = "the pattern changed from `^[ab]{2}$` to `^[bc]+$`; `\"b\"` is now valid; `\"aa\"` is no longer valid";
    assert!(change.message.starts_with(message), "{}", change.message);
}

/// If the string that distinguishes two patterns is refused by `not` in both versions, the message does not
/// show this string.
#[test]
fn strings_that_other_keywords_refuse_are_not_shown() {
    let text = |pattern: &str| format!(r#"{{"type":"string","pattern":"{pattern}","not":{{"const":"c"}}}}"#);
    for (old, new) in [("^[ab]$", "^[abc]$"), ("^[abc]$", "^[ab]$")] {
        let found = compare_schemas(&text(old), &text(new));
        let [change] = found.as_slice() else { panic!("{found:#?}") };
        let phrases = ["is now valid", "is no longer valid", r#""c""#];
        assert!(phrases.iter().all(|phrase| !change.message.contains(phrase)), "{}", change.message);
    }
}

#[test]
fn undecidable_patterns_are_reported_as_undecided() {
    let pattern =
        |n: u8, more: &str| format!(r#"{{"type":"string","pattern":"^(a|b)*a(a|b){{{n}}}{more}$"}}"#);
    for (old, new, reason) in [
        (pattern(40, ""), pattern(40, "|c"), "the automata are too large"),
        (pattern(2, ""), pattern(2, "(?=x)"), "cannot be matched in linear time"),
    ] {
        let found = compare_schemas(&old, &new);
        let [change] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!((change.rule, change.level(), change.proven), ("pattern-changed", B, false));
        assert!(
            change.message.contains("the patterns do not decide whether") && change.message.contains(reason),
            "{}",
            change.message
        );
    }
}

/// Rewriting an object schema without a change of the valid values is not reported, or only with the level
/// `same`.
#[test]
fn equivalent_schemas_are_not_changes() {
    let object = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
    let with = |more: &str| object.replacen('{', &format!("{{{more},"), 1);
    for (old, new) in [
        (object.to_owned(), with(r#""propertyNames":{"type":"string"}"#)),
        (object.to_owned(), with(r#""additionalProperties":{}"#)),
        (with(r#""additionalProperties":{}"#), with(r#""additionalProperties":true"#)),
        (object.to_owned(), with(r#""unevaluatedProperties":{}"#)),
        (object.to_owned(), with(r#""if":{"required":["a"]}"#)),
        (object.to_owned(), with(r#""if":{"required":["a"]},"then":{}"#)),
        (
            with(r#""patternProperties":{"^x-[0-9]$":{"type":"string"}}"#),
            with(r#""patternProperties":{"^x\\-\\d$":{"type":"string"}}"#),
        ),
    ] {
        let found = compare_schemas(&old, &new);
        assert!(found.iter().all(|change| change.level() == S), "{new}: {found:#?}");
        let found = compare_schemas(&new, &old);
        assert!(found.iter().all(|change| change.level() == S), "{new} to the old schema: {found:#?}");
    }
}

/// An added or removed property is reported in the same way if `additionalProperties` is missing, `{}` or
/// `true`.
#[test]
fn explicit_additional_properties_have_no_effect() {
    let object =
        |members: &str, more: &str| format!(r#"{{"type":"object","properties":{{{members}}}{more}}}"#);
    for more in ["", r#","additionalProperties":{}"#, r#","additionalProperties":true"#] {
        let (without, with) = (object("", more), object(r#""a":{"type":"string"}"#, more));
        let rules = |found: Vec<ContractChange>| found.iter().map(|change| change.rule).collect::<Vec<_>>();
        assert_eq!(rules(compare_schemas(&without, &with)), ["property-added"], "{more}");
        assert_eq!(rules(compare_schemas(&with, &without)), ["property-removed"], "{more}");
    }
}

/// An added `pattern` in `propertyNames` without a `type` is reported as `pattern-added`, with a string as
/// the witness.
#[test]
fn property_names_are_compared_as_strings() {
    let names = |pattern: &str| format!(r#"{{"type":"object","propertyNames":{{"pattern":"{pattern}"}}}}"#);
    let found = compare_schemas(r#"{"type":"object"}"#, &names("^[a-z]+$"));
    let [change] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((change.rule, change.witness.as_deref()), ("pattern-added", Some("\"\"")));
}

/// A change of `properties` within `propertyNames` is not reported, because names are strings without
/// properties.
#[test]
fn property_names_have_no_properties() {
    let names = |more: &str| {
        format!(r#"{{"type":"object","propertyNames":{{"properties":{{"a":{{"maxLength":{more}}}}}}}}}"#)
    };
    assert_eq!(compare_schemas(&names("2"), &names("3")), []);
}

/// If the schema `A` becomes `anyOf: [A, B]`, writers are not affected. Readers may receive values of the new
/// branch.
#[test]
fn single_schema_becomes_one_branch_of_several() {
    let text = |schema: &str| {
        format!(
            r##"{{"openapi":"3.1.0","info":{{"title":"t","version":"1.0.0"}},"paths":{{"/x":{{"post":{{
            "requestBody":{{"content":{{"application/json":{{"schema":{{"$ref":"#/components/schemas/S"}}}}}}}},
            "responses":{{"200":{{"description":"","content":{{"application/json":{{"schema":{{"$ref":"#/components/schemas/S"}}}}}}}}}}}}}}}},
            "components":{{"schemas":{{"S":{schema},
            "A":{{"type":"object","required":["a"],"properties":{{"a":{{"type":"string","default":"x"}}}}}},
            "B":{{"type":"object","required":["b"],"properties":{{"b":{{"type":"integer"}}}}}}}}}}}}"##
        )
    };
    let (a, b) = (r##"{"$ref":"#/components/schemas/A"}"##, r##"{"$ref":"#/components/schemas/B"}"##);
    let rules = |old: &str, new: &str| {
        let found = changes(&text(old), &text(new), true);
        let rules = found.iter().map(|change| (change.rule, change.readers, change.writers));
        (rules.collect::<Vec<_>>(), found)
    };
    let several = format!(r#"{{"anyOf":[{a},{b}]}}"#);
    let (levels, found) = rules(a, &several);
    assert_eq!(levels, [("branch-added", B, A)]);
    assert!(
        found[0]
            .message
            .starts_with("the branch B is now valid, too; readers of the old version may receive"),
        "{found:#?}"
    );
    assert!(found[0].witness.as_deref().is_some_and(|witness| witness.contains("\"b\"")), "{found:#?}");
    assert_eq!(rules(&several, a).0, [("branch-removed", A, B)]);
    // The union has a description, and its branches are in reverse order.
    let described = format!(r#"{{"description":"Either.","anyOf":[{b},{a}]}}"#);
    let effective = |(levels, _): (Vec<(&'static str, ChangeLevel, ChangeLevel)>, Vec<ContractChange>)| {
        levels.into_iter().filter(|(_, readers, writers)| *readers.max(writers) > S).collect::<Vec<_>>()
    };
    assert_eq!(effective(rules(a, &described)), [("branch-added", B, A)]);
    let nullable = format!(r#"{{"anyOf":[{a},{{"type":"null"}}]}}"#);
    assert_eq!(rules(a, &nullable).0, [("null-added", B, A)]);
    assert_eq!(
        rules(r#"{"type":"string"}"#, r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#).0,
        [("branch-added", B, A)]
    );
    // With `oneOf`, values that match both branches are refused.
    let (levels, found) = rules(a, &several.replace("anyOf", "oneOf"));
    assert_eq!(levels, [("branch-added", B, A), ("union-narrowed", S, B)], "{found:#?}");
    assert!(found[1].proven, "{found:#?}");
    let disjoint = r#"{"oneOf":[{"type":"string"},{"type":"integer"}]}"#;
    assert_eq!(rules(r#"{"type":"string"}"#, disjoint).0, [("branch-added", B, A)]);
    // A branch is added, and the other branch is narrower than the old schema.
    let longer = r#"{"anyOf":[{"type":"string","maxLength":5},{"type":"integer"}]}"#;
    assert_eq!(rules(r#"{"type":"string"}"#, longer).0, [("branch-added", B, A), ("length-narrowed", A, B)]);
}

/// `oneOf` refuses values that match two branches, so a branch that accepts more values narrows the union.
#[test]
fn overlapping_branches_of_one_of_narrow_the_union() {
    let worst_and_narrowed = |old: &str, new: &str| {
        let one_of = |forms: &str| format!(r#"{{"oneOf":[{forms}]}}"#);
        let found = compare_schemas(&one_of(old), &one_of(new));
        let worst = found.iter().map(|change| change.writers).max();
        let narrowed = found.into_iter().find(|change| change.rule == "union-narrowed");
        (worst, narrowed.map(|change| (change.writers, change.proven, change.witness.unwrap_or_default())))
    };
    let form = |name: &str| {
        format!(r#"{{"type":"object","required":["{name}"],"properties":{{"{name}":{{"const":1}}}}}}"#)
    };
    let (a, b, c) = (form("a"), form("b"), form("c"));
    let (old, new) = (format!("{a},{b}"), format!("{a},{b},{c}"));
    let both = r#"{"a":1,"c":1}"#.to_owned();
    assert_eq!(worst_and_narrowed(&old, &new), (Some(B), Some((B, true, both))));
    let (worst, narrowed) = worst_and_narrowed(
        r#"{"type":"string","maxLength":5},{"type":"string","minLength":6}"#,
        r#"{"type":"string","maxLength":8},{"type":"string","minLength":6}"#,
    );
    assert!(worst == Some(B) && narrowed.is_some_and(|(_, proven, witness)| proven && witness.len() == 8));
    // No value matches both branches if these have different types or tags, or forbid each other's
    // properties.
    for more in [
        r#"{"type":"integer"}"#,
        r#"{"type":"object","required":["c"],"properties":{"c":{}},"additionalProperties":false}"#,
        r#"{"type":"object","required":["a"],"properties":{"a":{"const":2},"b":false}}"#,
    ] {
        assert_eq!(worst_and_narrowed(&old, &format!("{old},{more}")), (Some(A), None), "{more}");
    }
    // An additional optional property makes the branch accept less, which does not affect the other branches.
    let less = a.replacen(r#""properties":{"#, r#""properties":{"x":{"type":"integer"},"#, 1);
    assert_eq!(worst_and_narrowed(&old, &format!("{less},{b}")), (Some(A), None));
    // A tag distinguishes all branches, so no value matches two of them.
    let tagged = |tag: &str, more: &str| {
        format!(
            r#"{{"type":"object","required":["kind"],"properties":{{"kind":{{"const":"{tag}"}}{more}}}}}"#
        )
    };
    let (old, new) = (tagged("a", ""), tagged("b", r#","x":{}"#));
    let third = format!("{old},{new},{}", tagged("c", ""));
    assert_eq!(worst_and_narrowed(&format!("{old},{new}"), &third), (Some(A), None));
}

/// If a value of the `discriminator` property selects a different branch, the change is breaking, although
/// the same values are valid.
#[test]
fn discriminator_mappings_are_compared() {
    let text = |schemas: [&str; 2], discriminator: &str| {
        let form = |name: &str| {
            let own = name[..1].to_lowercase();
            format!(
                r#""{name}":{{"type":"object","required":["kind"],"properties":{{"kind":{{"type":"string"}},"{own}":{{}}}}}}"#
            )
        };
        let [one, other] = schemas;
        let link = |name: &str| format!(r##"{{"$ref":"#/components/schemas/{name}"}}"##);
        format!(
            r##"{{"openapi":"3.1.0","info":{{"title":"t","version":"1"}},"paths":{{"/x":{{"post":{{
            "requestBody":{{"content":{{"a/json":{{"schema":{{"$ref":"#/components/schemas/U"}}}}}}}},
            "responses":{{"200":{{"description":"","content":{{"a/json":{{"schema":{{"$ref":"#/components/schemas/U"}}}}}}}}}}}}}}}},
            "components":{{"schemas":{{"U":{{"anyOf":[{},{}]{discriminator}}},{},{}}}}}}}"##,
            link(one),
            link(other),
            form(one),
            form(other)
        )
    };
    let pets = |discriminator: &str| text(["Dog", "Cat"], discriminator);
    let by = |tag: &str, mapping: &str| {
        format!(r#","discriminator":{{"propertyName":"{tag}","mapping":{{{mapping}}}}}"#)
    };
    let levels_of = |old: &str, new: &str| {
        let found = changes(old, new, true).into_iter().filter(|change| change.level() > S);
        found.map(|change| (change.rule, change.readers, change.writers)).collect::<Vec<_>>()
    };
    let (dog, cat) = (r#""dog":"Dog","#, r#""cat":"Cat""#);
    let old = pets(&by("kind", &format!("{dog}{cat}")));
    let hound = pets(&by("kind", &format!(r#""hound":"Dog",{cat}"#)));
    let changed = ("discriminator-changed", B, B);
    let value = ("discriminator-value-added", B, A);
    let removed = ("discriminator-value-removed", A, B);
    assert_eq!(levels_of(&old, &hound), [removed, value]);
    // Removing one of two values that select a branch is breaking only for writers.
    assert_eq!(levels_of(&pets(&by("kind", &format!(r#""hound":"Dog",{dog}{cat}"#))), &old), [removed]);
    assert_eq!(levels_of(&old, &pets(&by("kind", &format!(r#""hound":"Dog",{dog}{cat}"#)))), [value]);
    assert_eq!(levels_of(&old, &pets(&by("kind", r#""dog":"Cat","cat":"Dog""#))), [changed, changed]);
    assert_eq!(levels_of(&old, &pets(&by("type", &format!("{dog}{cat}")))), [changed]);
    assert_eq!(levels_of(&old, &pets("")), [("discriminator-removed", B, A)]);
    assert_eq!(levels_of(&pets(""), &old), [("discriminator-added", A, B)]);
    // The mapping may refer to the same branch in another notation.
    let links = r##""dog":"#/components/schemas/Dog","cat":"#/components/schemas/Cat""##;
    assert_eq!(levels_of(&old, &pets(&by("kind", links))), []);
    // Without a mapping, the name of a branch selects it; a mapping adds other names.
    assert_eq!(levels_of(&pets(&by("kind", "")), &pets(&by("kind", r#""Dog":"Dog","Cat":"Cat""#))), []);
    let renamed = levels_of(&pets(&by("kind", "")), &text(["Hound", "Cat"], &by("kind", "")));
    assert!(renamed.contains(&removed), "{renamed:?}");
    // `defaultMapping` selects the branch for other and missing values (OpenAPI 3.2).
    let other = |default: &str| {
        let by = by("kind", &format!("{dog}{cat}")).replace("}}", &format!("}}{default}}}"));
        pets(&by).replace("3.1.0", "3.2.0")
    };
    let (none, to_dog, to_cat) =
        (other(""), other(r#","defaultMapping":"Dog""#), other(r#","defaultMapping":"Cat""#));
    assert_eq!(levels_of(&none, &to_dog), [value]);
    assert_eq!(levels_of(&to_dog, &none), [removed]);
    assert_eq!(levels_of(&to_dog, &to_cat), [changed]);
    assert_eq!(levels_of(&to_dog, &other(r##","defaultMapping":"#/components/schemas/Dog""##)), []);
}

/// Removing a `discriminator` is not a change if constants distinguish the branches.
#[test]
fn redundant_discriminators_have_no_effect() {
    let of = |more: &str| {
        let form = |tag: &str| {
            format!(r#"{{"type":"object","required":["k"],"properties":{{"k":{{"const":"{tag}"}}}}}}"#)
        };
        format!(r#"{{"oneOf":[{},{}]{more}}}"#, form("a"), form("b"))
    };
    let found = compare_schemas(&of(r#","discriminator":{"propertyName":"k"}"#), &of(""));
    assert_eq!(found, []);
}

#[test]
fn messages_list_tokens_that_stop_working() {
    let messages = |old: &str, new: &str| {
        let security = |requirements: &str| operation(&format!(r#""security":{requirements}"#));
        let found = changes(&security(old), &security(new), true);
        let own =
            found.into_iter().filter(|change| change.subject.starts_with("POST") && change.level() == B);
        own.map(|change| change.difference).collect::<Vec<_>>()
    };
    assert_eq!(
        messages(r#"[{"s":["a"]}]"#, r#"[{"s":["a","b"]}]"#),
        ["tokens of `s` with `a` stop working: `b` of `s` is required too"]
    );
    // The new scope replaces the old one, so the message does not contain "too".
    assert_eq!(
        messages(r#"[{"s":["a"]}]"#, r#"[{"s":["b"]}]"#),
        ["tokens of `s` with `a` stop working: `b` of `s` is required"]
    );
    assert_eq!(
        messages(r#"[{"s":["a","c"]}]"#, r#"[{"s":["a","b"]}]"#),
        ["tokens of `s` with `a` and `c` stop working: `b` of `s` is required too"]
    );
    assert_eq!(
        messages(r#"[{"s":["a"]},{"k":[]}]"#, r#"[{"s":["a"]}]"#),
        ["calls with `k` stop working: `s` with `a` is required"]
    );
    assert_eq!(
        messages(r#"[{"k":[]}]"#, r#"[{"s":["a","b"]},{"k":[],"s":["a"]}]"#),
        ["calls with `k` stop working: `s` with `a` and `b`, or `k` together with `s` with `a` is required"]
    );
    assert_eq!(messages("[]", r#"[{"k":[]}]"#), ["calls without credentials are rejected; `k` is required"]);
    assert_eq!(messages(r#"[{"k":[]}]"#, r#"[{"k":[]},{"s":["a"]}]"#), Vec::<String>::new());
}

/// A security scheme that is renamed without another change is reported as renamed, not as breaking.
#[test]
fn renamed_schemes_do_not_affect_tokens() {
    let text = |schemes: &[(&str, &str)]| {
        let one = |(name, scheme): &(&str, &str)| {
            format!(r#""{name}":{{"type":"http","scheme":"{scheme}","description":"{name}"}}"#)
        };
        let declarations: Vec<String> = schemes.iter().map(one).collect();
        let first = schemes[0].0;
        format!(
            r#"{{"openapi":"3.1.0","info":{{"title":"t","version":"1"}},"components":{{"securitySchemes":{{{}}}}},
            "paths":{{"/x":{{"get":{{"security":[{{"{first}":[]}}],"responses":{{}}}}}}}}}}"#,
            declarations.join(",")
        )
    };
    let levels_of = |old: &[(&str, &str)], new: &[(&str, &str)]| {
        let found = changes(&text(old), &text(new), true).into_iter();
        found.map(|change| (change.rule, change.level())).filter(|(_, level)| *level > A).collect::<Vec<_>>()
    };
    assert_eq!(
        levels_of(&[("bearerAuth", "bearer")], &[("bearer", "bearer")]),
        [("security-scheme-renamed", R)]
    );
    assert_eq!(levels_of(&[("one", "bearer")], &[("other", "basic")]), [("security-changed", B)]);
    // If several schemes with the same content were added or removed, the new name cannot be determined, and
    // the change is breaking.
    let several = [("b", "bearer"), ("c", "bearer")];
    assert_eq!(levels_of(&[("a", "bearer")], &several), [("security-changed", B)]);
    assert_eq!(levels_of(&several, &[("a", "bearer")]), [("security-changed", B)]);
}

#[test]
fn messages_name_the_wider_status_entry() {
    let responses = |entries: &str| operation(&format!(r#""responses":{{{entries}}}"#));
    let (named, default) = (r#""404":{"description":""},"#, r#""default":{"description":""}"#);
    let both = responses(&format!("{named}{default}"));
    let message = |old: &str, new: &str| {
        let found = changes(old, new, true);
        found.into_iter().map(|change| change.message).collect::<Vec<_>>()
    };
    assert_eq!(
        message(&both, &responses(default)),
        ["404 no longer has its own entry and falls under default"]
    );
    assert_eq!(message(&responses(default), &both), ["404 now has its own entry, separate from default"]);
}

/// A changed `operationId` has the level `renamed` and requires a new minor version.
#[test]
fn new_names_have_their_own_level() {
    let named = |id: &str| {
        document(&format!(r#""paths":{{"/x":{{"get":{{"operationId":"{id}","responses":{{}}}}}}}}"#))
    };
    let read = |text: &str| ContractVersion::from_strings(&[("openapi.json", "", text)]).unwrap();
    let drift = compare(&read(&named("a")), &read(&named("b")), &CompareOptions::default());
    assert_eq!((drift.overall_level(), drift.required_bump().as_str()), (R, "minor"));
    assert!(A < R && R < B);
}

const THING: &str = r##"{"$id":"https://x.example/v1/thing","type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":5},"b":{"type":"integer"},"c":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"string"}}}"##;
const OTHER: &str = r#"{"$id":"https://x.example/v1/other","type":"array","items":{"enum":["x"]},"$defs":{"d":{"type":"number"}}}"#;

/// Root schemas are matched by content if neither their names nor their `$id` match.
#[test]
fn files_are_matched_by_content() {
    let read = |texts: &[(&str, &str)]| {
        let texts: Vec<(&str, &str, &str)> = texts.iter().map(|(name, text)| (*name, "", *text)).collect();
        ContractVersion::from_strings(&texts).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let old = read(&[("thing.json", THING), ("other.json", OTHER)]);
    let moved = |text: &str| text.replace("/v1/thing", "/v2/item").replace("/v1/other", "/v2/list");
    let tighter = moved(THING).replace("5", "4");
    let new = read(&[("item.json", &tighter), ("list.json", &moved(OTHER))]);
    let rules_and_subjects = |old: &ContractVersion, new: &ContractVersion| {
        let found = compare(old, new, &CompareOptions::default()).changes;
        found.into_iter().map(|change| (change.rule, change.subject)).collect::<Vec<_>>()
    };
    let described = |rule: &'static str, subject: &str| (rule, subject.to_owned());
    assert_eq!(
        rules_and_subjects(&old, &new),
        [
            described("id-changed", "other.json"),
            described("id-changed", "thing.json"),
            described("length-narrowed", "thing.json /a"),
        ]
    );
    // Without `$id`, `other.json` is matched by its name, and the renamed `thing.json` by its content.
    let bare = |text: &str| format!("{{{}", text.split_once(',').unwrap().1);
    let old = read(&[("thing.json", &bare(THING)), ("other.json", &bare(OTHER))]);
    let new = read(&[("item.json", &bare(&tighter)), ("other.json", &bare(OTHER))]);
    assert_eq!(
        rules_and_subjects(&old, &new),
        [described("schema-renamed", "thing.json"), described("length-narrowed", "thing.json /a")]
    );
}

/// A component schema that has the same content under another name is reported only as renamed.
#[test]
fn components_are_matched_by_content() {
    let text = |name: &str| {
        document(&format!(r##""paths":{{"/x":{{"get":{{"responses":{{"200":{{"description":"","content":{{"a/json":{{"schema":{{"$ref":"#/components/{name}"}}}}}}}}}}}}}}}}"##))
            .replacen("\"components\": {", &format!(r#""components": {{"schemas":{{"{}":{{"type":"string","maxLength":5}}}},"#, name.trim_start_matches("schemas/")), 1)
    };
    let found = changes(&text("schemas/A"), &text("schemas/B"), true);
    assert_eq!(
        found.iter().map(|change| (change.rule, change.level())).collect::<Vec<_>>(),
        [("schema-renamed", R)]
    );
}
