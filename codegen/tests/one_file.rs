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

use api::client::Client;
use contract_codegen::{OutputFiles, Project, config::OutputLayout};
use contract_runtime::{Contract as _, client::ReqwestTransport};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

#[rustfmt::skip]
#[path = "one_file/api.rs"]
mod api;
mod included {
    include!("one_file/api.rs");
}

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

/// Calls the operation as in the example of README.md.
async fn seat(address: &str) -> Result<i64, Box<dyn std::error::Error>> {
    let client = Client::new(address, ReqwestTransport::with_default_layers()?);
    let ticket = client.read_ticket("T-01").await?;
    println!("seat {}", ticket.seat);
    Ok(ticket.seat)
}

#[tokio::test]
async fn client_calls_a_server_over_tcp() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = async {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(connection.read_u8().await.unwrap());
        }
        let body = r#"{"seat": 7, "fare": {"kind": "free"}}"#;
        let head = format!("content-type: application/json\r\ncontent-length: {}", body.len());
        let response = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        connection.write_all(response.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    };
    let (seat, request) = tokio::join!(seat(&address), server);
    assert_eq!(seat.unwrap(), 7);
    assert!(request.starts_with("GET /tickets/T-01 HTTP/1.1\r\n"), "{request}");
}
