//! Tests of valid and invalid registry tables.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{load::Sources, plan::tests::assert_contains};

fn run(config: &TableConfig, rows: &str) -> Result<TokenStream, String> {
    run_with(config, rows, &[])
}

fn run_with(config: &TableConfig, rows: &str, needed: &[&str]) -> Result<TokenStream, String> {
    // The loader requires that the file also contains a schema.
    let text = format!(r#"{{"$id":"https://example.org/t","$defs":{{}},"x-codes":{rows}}}"#);
    let sources = Sources::from_texts(&[("codes.json", "", &text)]).unwrap();
    let id = sources.ids().next().unwrap();
    let mut diagnostics = Diagnostics::new();
    diagnostics.attach_sources(&sources);
    let code = write_registry(config, id, &sources.get(id).unwrap().tree, needed, &mut diagnostics);
    match code {
        Some(code) => {
            syn::parse2::<syn::File>(code.clone()).unwrap();
            Ok(code)
        }
        None => Err(diagnostics.json_lines()),
    }
}

fn config() -> TableConfig {
    TableConfig {
        name: "Code".to_owned(),
        file: "codes.json".into(),
        rows: "/x-codes".to_owned(),
        key: "code".to_owned(),
        ..TableConfig::default()
    }
}

const ROWS: &str = r#"[
  {"code": "NOT_FOUND", "status": 404, "title": "Not found", "side": "caller", "retry": null, "headers": []},
  {"code": "BUSY", "status": 503, "title": "Busy", "side": "service", "retry": 70000, "headers": ["Retry-After"]}
]"#;

#[test]
fn closed_tables_return_values_directly() {
    let mut config = config();
    config.describe = Some("title".to_owned());
    config.enums.insert("side".to_owned(), "Side".to_owned());
    let code = run(&config, ROWS).unwrap();
    assert_contains(
        &code,
        r#"#[doc = " Not found"] #[doc = ""] #[doc = " The value `NOT_FOUND`."] NotFound"#,
    );
    assert_contains(
        &code,
        "struct CodeRow { status: u16, title: &'static str, side: Side, retry: Option<u32>, headers: &'static [&'static str] }",
    );
    assert_contains(
        &code,
        r#"Self::Busy => &CodeRow { status: 503, title: "Busy", side: Side::Service, retry: Some(70000), headers: &["Retry-After"] }"#,
    );
    assert_contains(&code, "pub const fn status(self) -> u16 { self.row().status }");
    assert_contains(&code, "pub enum Side");
    assert_contains(&code, "pub enum Code");
    assert_contains(&code, r#"closed_enum! { Code { values { NotFound = "NOT_FOUND", Busy = "BUSY" } } }"#);
}

#[test]
fn open_tables_keep_unknown_values() {
    let mut config = config();
    config.open = true;
    let code = run(&config, r#"[{"code": "UNKNOWN", "status": 1}, {"code": "a-b", "status": 2}]"#).unwrap();
    assert_contains(&code, "open_enum! { Code");
    assert_contains(&code, r#"UnknownValue = "UNKNOWN""#);
    assert_contains(&code, "pub fn status(&self) -> Option<u16> { self.row().map(|row| row.status) }");
    assert_contains(&code, r#"AB = "a-b""#);
}

#[test]
fn row_names_are_distinct() {
    let code = run(&config(), r#"[{"code": "a"}, {"code": "A"}, {"code": "+1"}]"#).unwrap();
    assert_contains(&code, r#"LowerA = "a", UpperA = "A", Plus1 = "+1""#);
}

#[test]
fn errors_have_a_location() {
    let check = |config: &TableConfig, rows: &str, pointer: &str, message: &str| {
        let error = run(config, rows).unwrap_err();
        assert!(error.contains(&format!(r#""pointer":"{pointer}""#)), "{error}");
        assert!(error.contains(message), "{error}");
    };
    check(&config(), r#"[{"code": "a"}, {"status": 1}]"#, "/x-codes/1", "no string in the key column `code`");
    check(&config(), r#"[{"code": "a"}, {"code": "a"}]"#, "/x-codes/1", "duplicate row for `a`");
    check(
        &config(),
        r#"[{"code": "a", "x": 1}, {"code": "b", "x": "1"}]"#,
        "/x-codes/1/x",
        "another type in previous rows",
    );
    check(&config(), r#"[{"code": "a", "x": {}}]"#, "/x-codes/0/x", "skip it with `skip`");
    check(&config(), r#"[{"code": "a", "x": 1.5}]"#, "/x-codes/0/x", "cannot contain a number");
    let mut invalid = config();
    invalid.skip.push("y".to_owned());
    check(&invalid, r#"[{"code": "a", "x": 1}]"#, "/x-codes/0", "no row has a column `y`");
    let mut invalid = config();
    invalid.rows = "/nothing".to_owned();
    check(&invalid, "[]", "", "at least one row");
    let mut invalid = config();
    invalid.enums.insert("x".to_owned(), "X".to_owned());
    check(&invalid, r#"[{"code": "a", "x": "two words"}]"#, "/x-codes/0", "is empty or has");
}

/// A table of scopes without a row for a scope that an operation requires is rejected.
#[test]
fn tables_without_a_required_row_are_rejected() {
    assert!(run_with(&config(), ROWS, &["BUSY", "NOT_FOUND"]).is_ok());
    let error = run_with(&config(), ROWS, &["BUSY", "GONE"]).unwrap_err();
    for word in ["table `Code` (codes.json)", "no row for `GONE`", "/x-codes", "add the row"] {
        assert!(error.contains(word), "no {word} in {error}");
    }
    assert!(!error.contains("`BUSY`"), "{error}");
}
