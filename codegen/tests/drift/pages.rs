//! Tests of the HTML report.

use std::{env, fs, path::Path};

use contract_codegen::drift::{
    CompareOptions, ContractDrift, ContractVersion,
    accepted::AcceptedChanges,
    compare,
    report::{ComparedVersions, ReportOptions, render_html},
};

const OLD: &str = "openapi: 3.1.0
info: { title: Shelf, version: 1.4.0 }
paths:
  /items/{id}:
    put:
      operationId: putItem
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/Item' } } } }
      responses:
        '200': { description: The item., content: { application/json: { schema: { $ref: '#/components/schemas/Item' } } } }
components:
  schemas:
    Item:
      type: object
      required: [code]
      properties:
        code: { type: string, pattern: '^[A-Z]{3,60}$' }
        note: { type: string }
";

fn version(text: &str) -> ContractVersion {
    ContractVersion::from_strings(&[("shelf.yaml", "", text)])
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// Compares two versions and renders the page. `accepted` is the text of `drift.toml`.
fn render(old: &str, new: &str, accepted: &str, view: &ReportOptions) -> (ContractDrift, String) {
    let (old, new) = (version(old), version(new));
    let mut drift = compare(&old, &new, &CompareOptions::default());
    let accepted = AcceptedChanges::parse("drift.toml", accepted).unwrap();
    accepted.apply(&mut drift, "2026-01-01".parse().unwrap());
    let page = render_html(&drift, ComparedVersions { old: &old, new: &new }, view);
    (drift, page)
}

/// The HTML page for a small contract equals the committed page. `UPDATE=1` writes the committed page.
#[test]
fn page_equals_the_expected_file() {
    let new = OLD.replace("1.4.0", "1.5.0").replace("putItem", "storeItem").replace("{3,60}", "{2,80}");
    let new = new.replace("        note: { type: string }\n", "        size: { type: integer }\n");
    let accepted = "[[accepted]]\nrule = \"property-removed\"\nplace = \"PUT /items/{id} body /note\"\n\
                    reason = \"No client reads <notes>.\"\nby = \"Ann\"\nexpires = 2026-12-31\n";
    let view = ReportOptions { within_major: true, ..ReportOptions::default() };
    let (_, page) = render(OLD, &new, accepted, &view);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drift/pages/shelf.html");
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert!(
        page == expected,
        "run UPDATE=1 cargo test -p contract-codegen --test drift, then review the diff"
    );
}

/// Strings of the contracts and of `drift.toml` cannot add elements or attributes to the page, and the page
/// refers to no other file.
#[test]
fn strings_of_contracts_are_escaped() {
    let attack = "\\\"'></pre></script><script>alert(1)</script><img src=x onerror=alert(2)>";
    let document = |values: &str, title: &str| {
        format!(
            r#"{{"openapi": "3.1.0", "info": {{"title": "{title}", "version": "{attack}{title}"}},
                "paths": {{"/{attack}": {{"get": {{"operationId": "{attack}",
                    "parameters": [{{"name": "{attack}", "in": "query", "schema": {{"enum": [{values}]}}}}],
                    "responses": {{"200": {{"description": "{attack}{title}"}}}}}}}}}}}}"#
        )
    };
    let (old, new) = (document(&format!("\"a\", \"{attack}\""), "1"), document("\"a\"", "2"));
    let view = ReportOptions {
        all: true,
        prefix: "<b>/".to_owned(),
        old_prefix: "<b>/".to_owned(),
        revision: Some("<i>".to_owned()),
        ..ReportOptions::default()
    };
    let entry = "[[accepted]]\nrule = \"pattern-added\"\nplace = \"<u>\"\nreason = \"<u>\"\n";
    let (drift, page) = render(&old, &new, entry, &view);
    assert!(drift.changes.len() >= 3 && drift.changes.iter().any(|change| change.witness.is_some()));
    for element in ["<img", "<b>", "<i>", "<u>", "<script>alert"] {
        assert!(!page.contains(element), "{element}\n{page}");
    }
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
    assert!(page.contains("&lt;img src=x onerror=alert(2)&gt;"), "{page}");
    for reference in ["src=\"", "href=\"", "url(", "@import", "http://", "https://"] {
        assert!(!page.contains(reference), "{reference}");
    }
}

/// Without scripts, the filters are hidden and all changes are readable; breaking changes are open.
#[test]
fn every_shown_change_has_one_element() {
    let new =
        OLD.replace("{3,60}", "{2,80}").replace("putItem", "storeItem").replace("The item.", "An item.");
    let (drift, page) = render(OLD, &new, "", &ReportOptions::default());
    assert_eq!(drift.changes.len(), 3, "{drift:#?}");
    assert_eq!(page.matches("<details class=\"finding").count(), 2);
    assert_eq!(page.matches(" open>").count(), 1, "{page}");
    assert!(!page.contains("\" class=\""), "an element has two class attributes\n{page}");
    assert!(page.contains("<form hidden>") && page.contains("<option value=\"pattern-widened\">"), "{page}");
    let (_, page) = render(OLD, &new, "", &ReportOptions { all: true, ..ReportOptions::default() });
    assert_eq!(page.matches("<details class=\"finding").count(), 3);
    let (_, page) = render(OLD, OLD, "", &ReportOptions::default());
    assert!(
        !page.contains("<form") && !page.contains("<script") && page.contains("The version need not change.")
    );
}
