//! Tests with the OpenAPI contract of the example service in this repository.

use super::*;

#[test]
fn exchange_contract_has_no_errors() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let mut sources = Sources::from_files(&[root.join("openapi.json"), root.join("exchange")], &[]).unwrap();
    let options =
        ResolveOptions { unknown_keywords: UnknownKeywordPolicy::Deny, ..ResolveOptions::default() };
    let (graph, apis, problems) = resolve_documents(&mut sources, &options);
    assert!(!problems.has_errors(), "{problems}");
    assert!(graph.schemas.len() > 100);
    assert_eq!(apis.len(), 1);
}
