//! The layout `file`: compiled with warnings denied, both as a module and by `include!`, and the
//! same code as the modules that it stands for.
//!
//! That `one_file/api.rs` is what is generated is asked by `cases_output.rs`, which can write it anew:
//! `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output`.
#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

use std::path::Path;

use contract_codegen::{Files, Project, config::Layout};
use contract_runtime::Contract as _;

#[rustfmt::skip]
#[path = "one_file/api.rs"]
pub mod api;
pub mod included {
    include!("one_file/api.rs");
}

fn generated(layout: Layout) -> Files {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/one_file");
    let mut project = Project { inputs: vec![folder.join("tickets.yaml")], ..Project::default() };
    project.config.output.layout = layout;
    project.generate().unwrap_or_else(|problems| panic!("{problems}")).files
}

#[test]
fn each_module_holds_what_its_file_would() {
    let tokens = |items: Vec<syn::Item>| quote::quote!(#(#items)*).to_string();
    let one = generated(Layout::File);
    let file = syn::parse_file(one.0.values().next().unwrap()).unwrap();
    let modules = generated(Layout::Modules);
    let mut seen = Vec::new();
    for item in file.items {
        let syn::Item::Mod(module) = item else { panic!("something beside modules") };
        let name = format!("{}.rs", module.ident);
        let alone = syn::parse_file(&modules.0[&name]).unwrap();
        assert_eq!(tokens(module.content.unwrap().1), tokens(alone.items), "{name}");
        seen.push(name);
    }
    let expected: Vec<&str> =
        modules.0.keys().map(String::as_str).filter(|name| *name != "root.rs").collect();
    assert_eq!(seen, expected);
}

#[test]
fn it_reads_and_checks() {
    let text = br#"{"seat": 7, "fare": {"kind": "full", "price": 12.50}, "note": null}"#;
    let ticket = api::types::Ticket::parse(text).unwrap();
    assert!(ticket.is_valid());
    assert_eq!(ticket.seat, 7);
    let ticket = included::types::Ticket::parse(br#"{"seat": 700, "fare": {"kind": "free"}}"#).unwrap();
    assert!(!ticket.is_valid());
    assert_eq!(api::operations::OperationId::ReadTicket.operation().path, "/tickets/{id}");
}
