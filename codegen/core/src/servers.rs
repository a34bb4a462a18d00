//! Generates the module `servers`: a constant for each server of the contract, and a struct for each server
//! whose URL has variables.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    api::{OpenApiDocument, Server, ServerVariable},
    emit::{ident, rustdoc_markdown},
    load::uri,
    names,
    operations::{StringEnumItem, StringValue, doc_attributes},
};

/// The maximum number of words of a description that becomes the name of a server.
const MAX_NAME_WORDS: usize = 3;
/// Words of a description that do not distinguish servers.
const COMMON_WORDS: &[&str] =
    &["api", "endpoint", "environment", "host", "our", "server", "servers", "the", "url"];

/// A server with its generated item.
pub(crate) struct NamedServer<'a> {
    server: &'a Server,
    /// The name of the constant, or of the struct if the URL has variables.
    name: String,
}

impl NamedServer<'_> {
    /// Returns an expression for the argument of `Client::new`: `servers::PRODUCTION`.
    pub(crate) fn expression(&self) -> String {
        let path = self.path();
        if self.server.variables.is_empty() { path } else { format!("{path}::default()") }
    }

    /// Returns the path of the item in the package: `servers::PRODUCTION`.
    pub(crate) fn path(&self) -> String {
        format!("servers::{}", self.name)
    }

    fn to_tokens(&self, taken: &mut BTreeSet<String>) -> TokenStream {
        let Self { server, name } = self;
        let name = ident(name);
        let about = server.description.as_deref().map(rustdoc_markdown).filter(|text| !text.is_empty());
        if server.variables.is_empty() {
            let lines = doc_attributes(&[about.unwrap_or_else(|| format!("The server `{}`.", server.url))]);
            let url = &server.url;
            return quote!(#lines pub const #name: &str = #url;);
        }
        let lines: Vec<String> =
            [format!("The server `{}`.", server.template)].into_iter().chain(about).collect();
        let lines = doc_attributes(&lines);
        let wires: Vec<&str> = server.variables.iter().map(|variable| variable.name.as_str()).collect();
        let mut fields: Vec<String> = wires.iter().map(|wire| names::field_name(wire)).collect();
        names::make_distinct(&wires, &mut fields);
        let variables = server.variables.iter().zip(&fields);
        let variables: Vec<VariableItem> = variables
            .map(|(variable, field)| VariableItem::new(&self.name, variable, field, taken))
            .collect();
        let fields = variables.iter().map(|item| &item.field);
        let (defaults, pairs) =
            (variables.iter().map(|item| &item.default), variables.iter().map(|item| &item.pair));
        let enums = variables.iter().map(|item| &item.value_enum);
        let template = &server.template;
        quote! {
            #lines
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub struct #name {
                #(#fields,)*
            }

            impl Default for #name {
                /// Returns the server with the contract's default for each variable.
                fn default() -> Self {
                    Self { #(#defaults,)* }
                }
            }

            impl From<#name> for String {
                /// Returns the URL; separators in a value are percent-encoded.
                fn from(server: #name) -> Self {
                    ::contract_runtime::client::server_url(#template, &[#(#pairs),*])
                }
            }

            #(#enums)*
        }
    }
}

/// The parts of a struct for one variable of a server.
struct VariableItem {
    /// The declaration of the field.
    field: TokenStream,
    /// The initializer of the field in `default()`.
    default: TokenStream,
    /// The name of the variable and its value, as a string.
    pair: TokenStream,
    /// The enum of the field's values, if the contract lists them.
    value_enum: Option<TokenStream>,
}

impl VariableItem {
    fn new(owner: &str, variable: &ServerVariable, field: &str, taken: &mut BTreeSet<String>) -> Self {
        let ServerVariable { name: wire, default, description, values } = variable;
        let about = match description.as_deref().map(rustdoc_markdown) {
            Some(text) if !text.is_empty() => format!("`{wire}`: {text}"),
            _ => format!("`{wire}`"),
        };
        let about = doc_attributes(&[about]);
        let field = ident(field);
        if values.is_empty() {
            return Self {
                field: quote!(#about pub #field: String),
                default: quote!(#field: #default.to_owned()),
                pair: quote!((#wire, server.#field.as_str())),
                value_enum: None,
            };
        }
        let name = unused_name(format!("{owner}{}", names::variant_name(wire)), taken);
        let wires: Vec<&str> = values.iter().map(String::as_str).collect();
        let mut variants: Vec<String> = wires.iter().map(|value| names::variant_name(value)).collect();
        names::make_distinct(&wires, &mut variants);
        let at = wires.iter().position(|value| value == default).unwrap_or(0);
        let default = ident(variants.get(at).map_or("", String::as_str));
        let item = StringEnumItem {
            name: &name,
            doc: vec![format!("The values of `{wire}` in [`{owner}`].")],
            values: wires
                .iter()
                .zip(&variants)
                .map(|(wire, name)| StringValue {
                    wire: (*wire).to_owned(),
                    name: name.clone(),
                    doc: vec![format!("`{}`", rustdoc_markdown(wire))],
                })
                .collect(),
        };
        let (item, name) = (item.to_tokens(false), ident(&name));
        Self {
            field: quote!(#about pub #field: #name),
            default: quote!(#field: #name::#default),
            pair: quote!((#wire, server.#field.as_str())),
            value_enum: Some(item),
        }
    }
}

/// Returns the servers with an absolute URL, with distinct names. A server with the same URL template as an earlier
/// server is omitted.
pub(crate) fn named_servers(api: &OpenApiDocument) -> Vec<NamedServer<'_>> {
    let mut seen = BTreeSet::new();
    let absolute = api.servers.iter().filter(|server| uri::is_absolute(&server.url));
    let distinct = absolute.filter(|server| seen.insert(server.template.as_str()));
    let mut taken = BTreeSet::new();
    let named = distinct.enumerate().map(|(at, server)| {
        let words = server_words(server, at == 0);
        let name = match server.variables.is_empty() {
            true => names::constant_name(&words),
            false => format!("{}Server", names::variant_name(&words)),
        };
        NamedServer { server, name: unused_name(name, &mut taken) }
    });
    named.collect()
}

/// Generates the module, or returns `None` if no server has an absolute URL.
pub(crate) fn servers_module(api: &OpenApiDocument) -> Option<TokenStream> {
    let servers = named_servers(api);
    let mut taken: BTreeSet<String> = servers.iter().map(|server| server.name.clone()).collect();
    let items: Vec<TokenStream> = servers.iter().map(|server| server.to_tokens(&mut taken)).collect();
    (!items.is_empty()).then(|| quote!(#(#items)*))
}

/// Returns the words from which the name of a server is derived: its name, a short description, `default` for the
/// first server, or the words of its host.
fn server_words(server: &Server, is_first: bool) -> String {
    if let Some(name) = server.name.as_ref().filter(|name| name.contains(char::is_alphanumeric)) {
        return name.clone();
    }
    let about = server.description.as_deref().unwrap_or_default();
    let about = about.split(['(', ',', ':', ';', '.', '\n']).next().unwrap_or_default();
    let words: Vec<&str> = about
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !COMMON_WORDS.contains(&word.to_ascii_lowercase().as_str()))
        .collect();
    if (1..=MAX_NAME_WORDS).contains(&words.len()) {
        return words.join(" ");
    }
    if is_first {
        return "default".to_owned();
    }
    let host = server.template.split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
    let words = host.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the name, with a number if it is taken, and adds it to the taken names.
fn unused_name(name: String, taken: &mut BTreeSet<String>) -> String {
    let mut unused = name.clone();
    let mut number = 1;
    while !taken.insert(unused.clone()) {
        number += 1;
        unused = if name.ends_with(char::is_numeric) {
            format!("{name}_{number}")
        } else {
            format!("{name}{number}")
        };
    }
    unused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str, description: &str) -> Server {
        Server {
            url: url.to_owned(),
            template: url.to_owned(),
            description: (!description.is_empty()).then(|| description.to_owned()),
            ..Server::default()
        }
    }

    /// A server is named after its name, its description or its host, and never after its position.
    #[test]
    fn servers_have_stable_names() {
        let variable = ServerVariable {
            name: "region".to_owned(),
            default: "eu".to_owned(),
            ..ServerVariable::default()
        };
        let servers = vec![
            server("https://api.example/v1", ""),
            server("https://live.example", "Production server (live data)"),
            server("https://sandbox.example", "The sandbox environment."),
            server("https://sandbox.example", "The same again"),
            server("/relative", "Relative"),
            server("https://long.example/v2", "A server with a description that is too long for a name"),
            Server { name: Some("test-bed".to_owned()), ..server("https://test.example", "Sandbox") },
            Server {
                template: "https://{region}.example".to_owned(),
                variables: vec![variable],
                ..server("https://eu.example", "Regional")
            },
            server("https://other.example", "Sandbox"),
        ];
        let api = OpenApiDocument { servers, ..OpenApiDocument::default() };
        let names: Vec<String> = named_servers(&api).iter().map(NamedServer::expression).collect();
        assert_eq!(
            names,
            [
                "servers::DEFAULT",
                "servers::PRODUCTION",
                "servers::SANDBOX",
                "servers::LONG_EXAMPLE",
                "servers::TEST_BED",
                "servers::RegionalServer::default()",
                "servers::SANDBOX2",
            ]
        );
    }
}
