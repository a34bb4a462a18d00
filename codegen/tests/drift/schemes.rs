//! Tests of changes of OAuth flows and of the scopes that contracts declare and require.

use contract_codegen::drift::ChangeLevel;

use crate::rules::{A, B, changes};

/// Creates a document with one operation that requires scopes of a scheme with flows.
fn text(required: &str, flows: &str) -> String {
    format!(
        r#"{{"openapi":"3.1.0","info":{{"title":"t","version":"1.0.0"}},
            "paths":{{"/x":{{"get":{{"security":[{{"s":[{required}]}}],"responses":{{}}}}}}}},
            "components":{{"securitySchemes":{{"s":{{"type":"oauth2","flows":{{{flows}}}}}}}}}}}"#
    )
}

/// Creates a flow with its name, the path of its `tokenUrl` and its scopes.
fn flow(name: &str, path: &str, scopes: &[&str]) -> String {
    let scopes: Vec<String> = scopes.iter().map(|scope| format!(r#""{scope}":"what it allows""#)).collect();
    let page = match name {
        "authorizationCode" => r#""authorizationUrl":"https://x.example/a","#,
        _ => "",
    };
    format!(r#""{name}":{{{page}"tokenUrl":"https://x.example/{path}","scopes":{{{}}}}}"#, scopes.join(","))
}

fn describe_changes(old: &str, new: &str) -> Vec<(&'static str, ChangeLevel, String)> {
    let found = changes(old, new, true).into_iter();
    found.map(|change| (change.rule, change.level(), change.message)).collect()
}

fn described(rule: &'static str, level: ChangeLevel, message: &str) -> (&'static str, ChangeLevel, String) {
    (rule, level, message.to_owned())
}

#[test]
fn declared_scopes_are_additive() {
    let (one, two) = (flow("clientCredentials", "t", &["r"]), flow("clientCredentials", "t", &["r", "w"]));
    let (before, after) = (text(r#""r""#, &one), text(r#""r""#, &two));
    assert_eq!(describe_changes(&before, &after), [described("scope-added", A, "`w` is new")]);
    assert_eq!(
        describe_changes(&after, &before),
        [described(
            "scope-removed",
            B,
            "`w` is no longer declared; readers and writers of the old version may fail"
        )]
    );
}

/// If an operation no longer requires a scope that is still declared, the change is additive.
#[test]
fn released_scopes_are_additive() {
    let flow = flow("clientCredentials", "t", &["r", "w"]);
    let found = describe_changes(&text(r#""r","w""#, &flow), &text(r#""r""#, &flow));
    assert_eq!(found, [described("scope-released", A, "the scope `w` of `s` is no longer required")]);
}

#[test]
fn flows_are_compared_separately() {
    let both = ["r", "w"];
    let of = |client: &[&str], code: &[&str]| {
        let flows = [flow("clientCredentials", "t", client), flow("authorizationCode", "t", code)];
        text(r#""r""#, &flows.join(","))
    };
    assert_eq!(
        describe_changes(&of(&both, &both), &of(&["r"], &both)),
        [described(
            "scope-removed",
            B,
            "`clientCredentials` of `s` no longer grants `w`; readers and writers of the old version may fail"
        )]
    );
    assert_eq!(
        describe_changes(&of(&["r"], &both), &of(&both, &both)),
        [described("scope-added", A, "`clientCredentials` of `s` also grants `w`")]
    );
    let one = text(r#""r""#, &flow("authorizationCode", "t", &both));
    assert_eq!(
        describe_changes(&one, &of(&both, &both)),
        [described("security-alternative-added", A, "tokens from `clientCredentials` are now accepted")]
    );
    assert_eq!(
        describe_changes(&of(&both, &both), &one),
        [described(
            "security-scheme-changed",
            B,
            "credentials of `s` may stop working: `clientCredentials` of `flows` was removed; readers and writers of the old version may fail"
        )]
    );
}

/// If two long values of `tokenUrl` differ only at the end, the message contains the whole value.
#[test]
fn long_values_are_printed_completely() {
    let path = "a/very/long/path/that/goes/on/and/on/and/on/and/on/and/on";
    let of = |last: &str| text(r#""r""#, &flow("clientCredentials", &format!("{path}/{last}"), &["r"]));
    let found = describe_changes(&of("t"), &of("u"));
    let [(rule, level, message)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((*rule, *level), ("security-scheme-changed", B));
    assert!(message.contains(&format!("` to `\"https://x.example/{path}/u\"`")));
}

/// Adding a `refreshUrl` to a flow is not a change; removing or changing it is breaking.
#[test]
fn added_refresh_urls_are_not_breaking() {
    let of = |refreshing: &str| {
        text(
            r#""r""#,
            &flow("clientCredentials", "t", &["r"])
                .replace(r#""tokenUrl""#, &format!(r#"{refreshing}"tokenUrl""#)),
        )
    };
    let with = |path: &str| format!(r#""refreshUrl":"https://x.example/{path}","#);
    assert_eq!(describe_changes(&of(""), &of(&with("r"))), []);
    for (old, new) in [(with("r"), String::new()), (with("r"), with("s"))] {
        let found = describe_changes(&of(&old), &of(&new));
        let [(rule, level, _)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((*rule, *level), ("security-scheme-changed", B));
    }
}
