//! Security schemes and scopes: declared, required, and granted by flows.

use contract_codegen::drift::ChangeLevel;

use crate::rules::{A, B, changes};

/// Builds a document with one operation that requires scopes of a scheme with flows.
fn text(asked: &str, flows: &str) -> String {
    format!(
        r#"{{"openapi":"3.1.0","info":{{"title":"t","version":"1.0.0"}},
            "paths":{{"/x":{{"get":{{"security":[{{"s":[{asked}]}}],"responses":{{}}}}}}}},
            "components":{{"securitySchemes":{{"s":{{"type":"oauth2","flows":{{{flows}}}}}}}}}}}"#
    )
}

/// Builds a flow of its name, the path of its `tokenUrl` and its scopes.
fn flow(name: &str, path: &str, scopes: &[&str]) -> String {
    let scopes: Vec<String> = scopes.iter().map(|scope| format!(r#""{scope}":"what it allows""#)).collect();
    let page = match name {
        "authorizationCode" => r#""authorizationUrl":"https://x.example/a","#,
        _ => "",
    };
    format!(r#""{name}":{{{page}"tokenUrl":"https://x.example/{path}","scopes":{{{}}}}}"#, scopes.join(","))
}

fn words(old: &str, new: &str) -> Vec<(&'static str, ChangeLevel, String)> {
    let all = changes(old, new, true).into_iter();
    all.map(|change| (change.rule, change.level(), change.message)).collect()
}

fn said(rule: &'static str, level: ChangeLevel, message: &str) -> (&'static str, ChangeLevel, String) {
    (rule, level, message.to_owned())
}

#[test]
fn a_scope_that_is_declared_costs_nobody_anything() {
    let (one, two) = (flow("clientCredentials", "t", &["r"]), flow("clientCredentials", "t", &["r", "w"]));
    let (before, after) = (text(r#""r""#, &one), text(r#""r""#, &two));
    assert_eq!(words(&before, &after), [said("scope-new", A, "`w` is new")]);
    assert_eq!(
        words(&after, &before),
        [said("scope-gone", B, "`w` is no longer declared; readers and writers of the old version may fail")]
    );
}

/// A declared scope is still granted.
#[test]
fn a_scope_that_no_operation_needs_any_more_may_still_be_asked_for() {
    let flow = flow("clientCredentials", "t", &["r", "w"]);
    let found = words(&text(r#""r","w""#, &flow), &text(r#""r""#, &flow));
    assert_eq!(found, [said("scope-released", A, "the scope `w` of `s` is no longer required")]);
}

#[test]
fn each_flow_is_compared_by_itself() {
    let both = ["r", "w"];
    let of = |client: &[&str], code: &[&str]| {
        let flows = [flow("clientCredentials", "t", client), flow("authorizationCode", "t", code)];
        text(r#""r""#, &flows.join(","))
    };
    assert_eq!(
        words(&of(&both, &both), &of(&["r"], &both)),
        [said(
            "scope-gone",
            B,
            "`clientCredentials` of `s` no longer grants `w`; readers and writers of the old version may fail"
        )]
    );
    assert_eq!(
        words(&of(&["r"], &both), &of(&both, &both)),
        [said("scope-new", A, "`clientCredentials` of `s` also grants `w`")]
    );
    let one = text(r#""r""#, &flow("authorizationCode", "t", &both));
    assert_eq!(
        words(&one, &of(&both, &both)),
        [said("security-alternative-added", A, "tokens from `clientCredentials` are accepted")]
    );
    assert_eq!(
        words(&of(&both, &both), &one),
        [said(
            "security-scheme-changed",
            B,
            "credentials of `s` may stop working: `clientCredentials` of `flows` is gone; readers and writers of the old version may fail"
        )]
    );
}

/// Two values that look the same when they are cut are printed completely.
#[test]
fn long_texts_are_told_apart() {
    let path = "a/very/long/path/that/goes/on/and/on/and/on/and/on/and/on";
    let of = |last: &str| text(r#""r""#, &flow("clientCredentials", &format!("{path}/{last}"), &["r"]));
    let found = words(&of("t"), &of("u"));
    let [(rule, level, message)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((*rule, *level), ("security-scheme-changed", B));
    assert!(
        message.contains(&format!("`tokenUrl` of `clientCredentials` is `\"https://x.example/{path}/u\"`"))
    );
}

/// A refresh URL that did not exist before does not affect clients.
#[test]
fn an_address_to_refresh_tokens_breaks_nobody() {
    let of = |refreshing: &str| {
        text(
            r#""r""#,
            &flow("clientCredentials", "t", &["r"])
                .replace(r#""tokenUrl""#, &format!(r#"{refreshing}"tokenUrl""#)),
        )
    };
    let with = |path: &str| format!(r#""refreshUrl":"https://x.example/{path}","#);
    assert_eq!(words(&of(""), &of(&with("r"))), []);
    for (old, new) in [(with("r"), String::new()), (with("r"), with("s"))] {
        let found = words(&of(&old), &of(&new));
        let [(rule, level, _)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((*rule, *level), ("security-scheme-changed", B));
    }
}
