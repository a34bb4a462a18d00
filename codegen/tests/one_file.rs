//! Tests of the layout `file`. The generated file is compiled with warnings as errors, both as a private
//! module and with `include!`. Its code must equal the code of the layout `modules`.
//!
//! `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output` updates the generated file.
#![deny(warnings)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "tests panic on failure"
)]

use std::path::Path;

use contract_codegen::{OutputFiles, Project, config::OutputLayout};
use contract_runtime::Contract as _;

#[rustfmt::skip]
#[path = "one_file/api.rs"]
mod api;
mod included {
    include!("one_file/api.rs");
}
#[path = "one_file/first_call.rs"]
mod first_call;

fn generate_files(layout: OutputLayout) -> OutputFiles {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/one_file");
    let mut project = Project { inputs: vec![folder.join("tickets.yaml")], ..Project::default() };
    project.config.output.layout = layout;
    project.generate().unwrap_or_else(|problems| panic!("{problems}")).files
}

#[test]
fn modules_equal_the_files_of_the_modules_layout() {
    let tokens = |items: Vec<syn::Item>| quote::quote!(#(#items)*).to_string();
    let one = generate_files(OutputLayout::File);
    let file = syn::parse_file(one.0.values().next().unwrap()).unwrap();
    let modules = generate_files(OutputLayout::Modules);
    let mut seen = Vec::new();
    for item in file.items {
        let syn::Item::Mod(module) = item else { panic!("an item is not a module") };
        let name = format!("{}.rs", module.ident);
        let alone = syn::parse_file(&modules.0[&name]).unwrap();
        assert_eq!(tokens(module.content.unwrap().1), tokens(alone.items), "{name}");
        seen.push(name);
    }
    let expected: Vec<&str> = modules
        .0
        .keys()
        .map(String::as_str)
        .filter(|name| ![".gitattributes", "root.rs"].contains(name))
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn types_parse_and_validate() {
    let text = br#"{"seat": 7, "fare": {"kind": "full", "price": 12.50}, "note": null}"#;
    let ticket = api::types::Ticket::parse(text).unwrap();
    assert!(ticket.is_valid());
    assert_eq!(ticket.seat, 7);
    let ticket = included::types::Ticket::parse(br#"{"seat": 700, "fare": {"kind": "free"}}"#).unwrap();
    assert!(!ticket.is_valid());
    assert_eq!(api::operations::OperationId::ReadTicket.operation().path, "/tickets/{id}");
}
