//! Tests of webhooks and callbacks. The service sends their requests and clients respond, so readers and
//! writers are swapped.

use contract_codegen::drift::report;

use crate::rules::{A, B, Case, R, S, changes, check, document, operation};

/// Creates a document with one webhook.
fn webhook(members: &str) -> String {
    document(&format!(r#""paths":{{}},"webhooks":{{"w":{{"post":{{{}}}}}}}"#, whole(members)))
}

/// Creates a document with an operation that has the given operation as a callback.
fn callback(members: &str) -> String {
    let called = whole(members);
    operation(&format!(
        r#""operationId":"o","responses":{{}},"callbacks":{{"c":{{"{{$request.body#/url}}":{{"post":{{{called}}}}}}}}}"#
    ))
}

fn whole(members: &str) -> String {
    let answers = if members.contains("\"responses\"") { "" } else { r#","responses":{}"# };
    format!("{members}{answers}")
}

const HOOKS: &[Case] = &[
    (
        "parameter-added-optional",
        r#""parameters":[]"#,
        r#""parameters":[{"name":"p","in":"header","schema":{}}]"#,
        A,
        S,
    ),
    (
        "parameter-added-required",
        r#""parameters":[]"#,
        r#""parameters":[{"name":"p","in":"header","required":true,"schema":{}}]"#,
        A,
        S,
    ),
    (
        "parameter-removed",
        r#""parameters":[{"name":"p","in":"header","schema":{}}]"#,
        r#""parameters":[]"#,
        B,
        S,
    ),
    (
        "parameter-moved",
        r#""parameters":[{"name":"p","in":"query","schema":{}}]"#,
        r#""parameters":[{"name":"p","in":"header","schema":{}}]"#,
        B,
        S,
    ),
    (
        "parameter-required",
        r#""parameters":[{"name":"p","in":"header","schema":{}}]"#,
        r#""parameters":[{"name":"p","in":"header","required":true,"schema":{}}]"#,
        A,
        S,
    ),
    (
        "parameter-optional",
        r#""parameters":[{"name":"p","in":"header","required":true,"schema":{}}]"#,
        r#""parameters":[{"name":"p","in":"header","schema":{}}]"#,
        B,
        S,
    ),
    (
        "parameter-style-changed",
        r#""parameters":[{"name":"p","in":"query","schema":{"type":"array"}}]"#,
        r#""parameters":[{"name":"p","in":"query","explode":false,"schema":{"type":"array"}}]"#,
        B,
        S,
    ),
    (
        "request-body-added-optional",
        r#""summary":"""#,
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        A,
        S,
    ),
    (
        "request-body-added-required",
        r#""summary":"""#,
        r#""requestBody":{"required":true,"content":{"text/plain":{}}}"#,
        A,
        S,
    ),
    ("request-body-removed", r#""requestBody":{"content":{"text/plain":{}}}"#, r#""summary":"""#, B, S),
    (
        "request-body-required",
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        r#""requestBody":{"required":true,"content":{"text/plain":{}}}"#,
        A,
        S,
    ),
    (
        "request-body-optional",
        r#""requestBody":{"required":true,"content":{"text/plain":{}}}"#,
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        B,
        S,
    ),
    (
        "request-media-type-added",
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        r#""requestBody":{"content":{"text/plain":{},"text/csv":{}}}"#,
        B,
        S,
    ),
    (
        "request-media-type-removed",
        r#""requestBody":{"content":{"text/plain":{},"text/csv":{}}}"#,
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        A,
        S,
    ),
    (
        "response-added",
        r#""responses":{"200":{"description":""}}"#,
        r#""responses":{"200":{"description":""},"202":{"description":"","content":{"text/plain":{}}}}"#,
        S,
        A,
    ),
    (
        "response-named",
        r#""responses":{"4XX":{"description":""}}"#,
        r#""responses":{"4XX":{"description":""},"410":{"description":""}}"#,
        S,
        A,
    ),
    (
        "response-folded",
        r#""responses":{"4XX":{"description":""},"410":{"description":""}}"#,
        r#""responses":{"4XX":{"description":""}}"#,
        S,
        A,
    ),
    (
        "response-removed",
        r#""responses":{"200":{"description":""},"202":{"description":""}}"#,
        r#""responses":{"200":{"description":""}}"#,
        S,
        B,
    ),
    (
        "error-response-removed",
        r#""responses":{"200":{"description":""},"410":{"description":""}}"#,
        r#""responses":{"200":{"description":""}}"#,
        S,
        B,
    ),
    // The old version accepts other error statuses of the range in responses, which the new version does not
    // declare.
    (
        "error-response-removed",
        r#""responses":{"4XX":{"description":""}}"#,
        r#""responses":{"410":{"description":""}}"#,
        S,
        B,
    ),
    (
        "response-media-type-added",
        r#""responses":{"200":{"description":"","content":{"text/plain":{}}}}"#,
        r#""responses":{"200":{"description":"","content":{"text/plain":{},"text/csv":{}}}}"#,
        S,
        A,
    ),
    (
        "response-media-type-removed",
        r#""responses":{"200":{"description":"","content":{"text/plain":{},"text/csv":{}}}}"#,
        r#""responses":{"200":{"description":"","content":{"text/plain":{}}}}"#,
        S,
        B,
    ),
    (
        "response-header-added",
        r#""responses":{"200":{"description":""}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{}}}}}"#,
        S,
        A,
    ),
    (
        "response-header-required",
        r#""responses":{"200":{"description":""}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"required":true,"schema":{}}}}}"#,
        S,
        B,
    ),
    (
        "response-header-required",
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{}}}}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"required":true,"schema":{}}}}}"#,
        S,
        B,
    ),
    (
        "response-header-optional",
        r#""responses":{"200":{"description":"","headers":{"H":{"required":true,"schema":{}}}}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{}}}}}"#,
        S,
        A,
    ),
    (
        "response-header-removed",
        r#""responses":{"200":{"description":"","headers":{"H":{"required":true,"schema":{}}}}}"#,
        r#""responses":{"200":{"description":""}}"#,
        S,
        B,
    ),
    (
        "response-header-removed-optional",
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{}}}}}"#,
        r#""responses":{"200":{"description":""}}"#,
        S,
        B,
    ),
    // This rule has the same levels in operations and webhooks.
    ("operation-renamed", r#""operationId":"a""#, r#""operationId":"b""#, R, R),
];

#[test]
fn webhooks() {
    check(webhook, HOOKS);
}

#[test]
fn callbacks() {
    check(callback, HOOKS);
}

/// For a webhook, a removed parameter is reported as no longer sent; for an operation, as no longer read. A
/// removed error status of a webhook is breaking for writers.
#[test]
fn messages_depend_on_the_sender() {
    let with = r#""parameters":[{"name":"p","in":"header","schema":{}}]"#;
    let without = r#""parameters":[]"#;
    let found = changes(&webhook(with), &webhook(without), true);
    let messages: Vec<&str> = found.iter().map(|change| change.message.as_str()).collect();
    assert_eq!(
        messages,
        ["`p` is no longer sent; readers of the old version may receive something that they cannot handle"]
    );
    let found = changes(&operation(with), &operation(without), true);
    let messages: Vec<&str> = found.iter().map(|change| change.message.as_str()).collect();
    assert_eq!(
        messages,
        ["`p` is no longer read; values that writers of the old version send may be rejected or ignored"]
    );
    let without_error = r#""responses":{"200":{"description":""}}"#;
    let with_error = r#""responses":{"200":{"description":""},"410":{"description":""}}"#;
    let found = changes(&webhook(with_error), &webhook(without_error), true);
    let messages: Vec<&str> = found.iter().map(|change| change.message.as_str()).collect();
    assert_eq!(
        messages,
        ["410 was removed; values that writers of the old version send may be rejected or ignored"]
    );
    let reason = "The service no longer understands this response when receivers send it.";
    assert_eq!(found[0].reason, reason);
    let explanation = report::explain_rule(Some("error-response-removed")).unwrap();
    assert!(
        explanation.contains("In webhooks and callbacks") && explanation.contains("For writers: breaking"),
        "{explanation}"
    );
}
