//! SVC, CON-10: the service document, the installation label and the account check.

use exchange_api::types::AccountCheckResult;

use super::*;

/// SVC-01: the service document describes the token; of its properties, only `installationId` is optional.
#[test]
fn the_service_document_describes_the_token() {
    let whole = r#"{"apiVersion": "1.0", "capabilities": ["exchange.connect", "exchange.stock.read"],
        "installationId": "i", "limits": {"batchMaxOps": 500}, "deprecations": [],
        "docsUrl": "https://docs.example/", "minClientVersion": "1.2.3"}"#;
    let required = ["apiVersion", "capabilities", "docsUrl"];
    shape("SVC-01", "service-document", whole, &required);
    check(&[
        ("SVC-01", "service-document--exchangeScope", r#""exchange.later""#, VALID),
        ("SVC-01", "service-document--exchangeScope", r#""openid""#, &[("", "minLength"), ("", "pattern")]),
    ]);
}

/// CON-10: `apiVersion` is a string of the form `1.<minor>`.
#[test]
fn the_api_version_is_a_minor_of_1() {
    let document = |version: &str| {
        format!(
            r#"{{"apiVersion": {version}, "capabilities": [], "limits": {{"batchMaxOps": 500}},
            "deprecations": [], "docsUrl": "https://docs.example/", "minClientVersion": null}}"#
        )
    };
    let t = "service-document";
    check(&[
        ("CON-10", t, &document(r#""1.0""#), VALID),
        ("CON-10", t, &document(r#""1.17""#), VALID),
        ("CON-10", t, &document(r#""2.0""#), &[("/apiVersion", "pattern")]),
        ("CON-10", t, &document(r#""1""#), &[("/apiVersion", "pattern")]),
        ("CON-10", t, &document("1.0"), &[("/apiVersion", "type")]),
    ]);
    assert_eq!(schema(t)["properties"]["apiVersion"]["examples"], serde_json::json!(["1.0"]));
}

/// SVC-04: `batchMaxOps` is required and at most 500; the limits of a client are present only if the registry
/// sets them.
#[test]
fn limits_are_500_ops_and_those_of_the_client() {
    let t = "service-document--serviceLimits";
    let whole = r#"{"batchMaxOps": 500, "requestsPerMinute": 240, "writesPerDay": 1000}"#;
    shape("SVC-04", t, whole, &[]);
    check(&[
        ("SVC-04", t, r#"{"batchMaxOps": 501}"#, &[("/batchMaxOps", "maximum")]),
        ("SVC-04", t, r#"{"batchMaxOps": 500, "writesPerDay": null}"#, &[("/writesPerDay", "type")]),
        (
            "SVC-04",
            t,
            r#"{"batchMaxOps": 500, "requestsPerMinute": null}"#,
            &[("/requestsPerMinute", "type")],
        ),
    ]);
}

/// SVC-05: a deprecation names its feature. The minimum client version is a string or null, and never absent.
#[test]
fn deprecations_name_a_feature() {
    let whole = r#"{"feature": "f", "sunset": "2026-01-02T03:04:05Z", "link": "https://docs.example/f"}"#;
    shape("SVC-05", "service-document--deprecation", whole, &["feature"]);
    let document = |version: &str, deprecations: &str| {
        format!(
            r#"{{"apiVersion": "1.0", "capabilities": [], "limits": {{"batchMaxOps": 500}},
            "deprecations": {deprecations}, "docsUrl": "https://docs.example/", "minClientVersion": {version}}}"#
        )
    };
    let t = "service-document";
    check(&[
        ("SVC-05", t, &document("null", "[]"), VALID),
        ("SVC-05", t, &document(r#""2.0""#, r#"[{"feature": "f"}]"#), VALID),
        ("SVC-05", t, &document("2", "[]"), &[("/minClientVersion", "type")]),
        ("SVC-05", t, &document("null", "null"), &[("/deprecations", "type")]),
    ]);
}

/// SVC-08: only the label is required. The fields that the server sets are declared; a request may contain
/// them with any value, since they are ignored.
#[test]
fn labelling_an_installation_needs_only_the_label() {
    let t = "installation--labelledInstallation";
    let whole = r#"{"label": "Desk", "installationId": "i", "firstSeenAt": "2026-01-02T03:04:05Z",
        "lastSeenAt": "2026-01-02T03:04:05Z"}"#;
    shape("SVC-08", t, whole, &["label"]);
    for member in ["installationId", "firstSeenAt", "lastSeenAt"] {
        for value in ["null", "\"\"", "7.50", "[{}]", "{\"a\": null}", &letters(200)] {
            check(&[("SVC-08", t, &format!(r#"{{"label": "Desk", "{member}": {value}}}"#), VALID)]);
        }
        assert_eq!(schema("installation")["properties"][member]["readOnly"], true, "SVC-08: {member}");
        assert_eq!(schema(t)["properties"][member]["readOnly"], true, "SVC-08: {member}");
    }
    assert_eq!(members(t), members("installation"), "SVC-08");
    check(&[("SVC-08", t, r#"{"label": " Desk", "installationId": null}"#, &[("/label", "pattern")])]);
}

/// SVC-09, LIM-25, A24: a label has 1 to 40 letters, digits, `.`, `_`, `-` and spaces, and does not begin
/// with a space. Combining marks are not allowed. A letter that NFC splits into a letter and a mark (U+0958)
/// passes the schema; the server rejects it.
#[test]
fn a_label_is_a_short_name() {
    let t = "installation--installationLabel";
    let pattern: &[(&str, &str)] = &[("", "pattern")];
    check(&[
        ("LIM-25", t, r#""a""#, VALID),
        ("LIM-25", t, &letters(40), VALID),
        ("LIM-25", t, &letters(41), &[("", "maxLength")]),
        ("LIM-25", t, r#""""#, &[("", "minLength"), ("", "pattern")]),
        ("SVC-09", t, r#"".""#, VALID),
        ("SVC-09", t, r#""_x""#, VALID),
        ("SVC-09", t, r#""-x""#, VALID),
        ("SVC-09", t, r#""7 Desk_2.b-c""#, VALID),
        ("SVC-09", t, r#""Bär 漢字 ٣""#, VALID),
        ("SVC-09", t, r#"" a""#, pattern),
        ("SVC-09", t, r#""a ""#, VALID),
        ("SVC-09", t, r#""-  ""#, VALID),
        ("SVC-09", t, r#"" ""#, pattern),
        ("SVC-09", t, r#""e\u0301""#, pattern),
        ("SVC-09", t, r#""\u0958""#, VALID),
        ("SVC-09", t, r#""a – b""#, pattern),
        ("SVC-09", t, r#""a‐b""#, pattern),
        ("SVC-09", t, r#""a: b""#, pattern),
        ("SVC-09", t, r#""a/b""#, pattern),
        ("SVC-09", t, r#""a\tb""#, pattern),
        ("SVC-09", t, r#""a🚀""#, pattern),
    ]);
}

/// SVC-11: the installation in the response has all its properties.
#[test]
fn installation_response_is_complete() {
    let whole = r#"{"label": "Desk", "installationId": "i", "firstSeenAt": "2026-01-02T03:04:05Z",
        "lastSeenAt": "2026-01-02T03:04:06.5Z"}"#;
    let t = "installation";
    shape("SVC-11", t, whole, &["label", "installationId", "firstSeenAt", "lastSeenAt"]);
    check(&[("SVC-11", t, &whole.replace("03:04:05Z", "soon"), &[("/firstSeenAt", "pattern")])]);
}

/// SVC-13, LIM-25: a handle has 3 to 60 characters of `A-Za-z0-9_-`.
#[test]
fn a_handle_is_3_to_60_ascii_characters() {
    shape("SVC-13", "account-check-request", r#"{"handle": "Az09_-"}"#, &["handle"]);
    let t = "account-check-request--accountHandle";
    check(&[
        ("LIM-25", t, &letters(3), VALID),
        ("LIM-25", t, &letters(60), VALID),
        ("LIM-25", t, &letters(2), &[("", "minLength")]),
        ("LIM-25", t, &letters(61), &[("", "maxLength")]),
        ("SVC-13", t, r#""a b""#, &[("", "pattern")]),
        ("SVC-13", t, r#""a.b""#, &[("", "pattern")]),
        ("SVC-13", t, r#""äbc""#, &[("", "pattern")]),
        ("SVC-13", t, r#""abc\n""#, &[("", "pattern")]),
    ]);
}

/// SVC-14: the result is one of three words, and no response schema has a property for a handle.
#[test]
fn account_check_result_is_an_enumeration() {
    shape("SVC-14", "account-check-response", r#"{"result": "match"}"#, &["result"]);
    assert_eq!(members("account-check-response"), ["result"]);
    assert_eq!(texts(AccountCheckResult::ALL), ["match", "mismatch", "unknown"]);
    check(&[("SVC-14", "account-check-response", r#"{"result": "maybe"}"#, &[("/result", "enum")])]);
    let mut declared = Vec::new();
    for (name, schema) in schema_files() {
        objects(&schema, "", &mut |at, object| {
            if at.ends_with("/properties") && object.keys().any(|key| key.to_lowercase().contains("handle")) {
                declared.push(format!("{name}{at}"));
            }
        });
    }
    assert_eq!(declared, ["account-check-request.schema.json/properties"]);
}
