//! Writes the types of each operation's response headers. The module `headers` contains the types that
//! clients read, and `response_headers` contains those that servers send. For webhooks, the modules are
//! `webhook_headers` and `webhook_response_headers`.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    constraint_text::describe_schema_limits,
    emit::{ident, rustdoc_markdown},
    operations::{doc_attributes, header_rows},
    plan::{HeaderStruct, PlannedCall, PlannedHeader, SidePlan},
    rust_types::{EqualityTraits, RustTypes, SetterArgument},
    schema::SchemaGraph,
};

/// Writes the module with the response headers that clients read; `None` if the contract declares no response
/// header.
pub fn headers_module(
    plan: &SidePlan<'_>,
    graph: &SchemaGraph,
    types: &dyn RustTypes,
) -> Option<TokenStream> {
    let (imports, items) = write_structs(plan, (graph, types), write_received)?;
    Some(quote! {
        use ::contract_runtime::client::{InvalidHeader, ReceivedHeaders, ResponseHeaders};
        #imports

        #items
    })
}

/// Writes the module with the response headers that servers send; `None` if the contract declares no response
/// header.
pub fn sent_headers_module(
    plan: &SidePlan<'_>,
    graph: &SchemaGraph,
    types: &dyn RustTypes,
) -> Option<TokenStream> {
    let (imports, items) = write_structs(plan, (graph, types), write_sent)?;
    Some(quote! {
        use ::contract_runtime::server::{DeclaredHeaders, HeaderWriter};
        #imports

        #items
    })
}

/// The schemas and their Rust types.
type TypeSources<'a> = (&'a SchemaGraph, &'a dyn RustTypes);

/// Writes each struct of response headers by calling `write`. Returns the imports that the rows of the
/// headers need, and the structs. Returns `None` if there are no response headers.
fn write_structs(
    plan: &SidePlan<'_>,
    sources: TypeSources<'_>,
    write: impl Fn(&HeaderStruct<'_>, &str, &[TokenStream], TypeSources<'_>) -> TokenStream,
) -> Option<(TokenStream, TokenStream)> {
    let mut named = BTreeSet::new();
    let of_calls = plan.calls.iter().filter_map(|call| {
        let own = call.headers.as_ref()?;
        let users =
            plan.calls.iter().filter(|call| call.headers.as_ref().is_some_and(|it| it.name == own.name));
        let more = match users.count() {
            0 | 1 => String::new(),
            2 => " and one more operation".to_owned(),
            users => format!(" and {} more operations", users - 1),
        };
        let about = format!("The headers of success responses of `{}`{more}.", call.describe_place());
        named.insert(&own.name).then_some((own, about))
    });
    let of_errors = plan.error_headers.iter().map(|errors| {
        (errors, "The headers of error responses. Each response has only some of them.".to_owned())
    });
    let structs: Vec<(&HeaderStruct<'_>, String)> = of_calls.chain(of_errors).collect();
    if structs.is_empty() {
        return None;
    }
    let rows = structs.iter().flat_map(|(own, _)| &own.headers).map(|header| &header.row);
    let (rows, imports) = header_rows(rows, sources.0, sources.1);
    let mut rows = rows.into_iter();
    let items = structs.iter().map(|(own, about)| {
        let rows: Vec<TokenStream> = rows.by_ref().take(own.headers.len()).collect();
        write(own, about, &rows, sources)
    });
    let items: TokenStream = items.collect();
    Some((imports, items))
}

/// Returns the name of the struct with which servers send these headers.
pub(crate) fn sent_headers_name(own: &HeaderStruct<'_>) -> String {
    format!("{}ResponseHeaders", own.name.strip_suffix("Headers").unwrap_or(&own.name))
}

/// Returns a link to the struct of the response headers of a call, for documentation in another module.
pub(crate) fn headers_link(module: &str, call: &PlannedCall<'_>) -> Option<String> {
    let name = &call.headers.as_ref()?.name;
    Some(format!("[`{name}`](super::{module}::{name})"))
}

/// Writes the type with a method for each header of a response.
fn write_received(
    own: &HeaderStruct<'_>,
    about: &str,
    rows: &[TokenStream],
    (graph, types): TypeSources<'_>,
) -> TokenStream {
    let about = doc_attributes(&[about.to_owned()]);
    let name = ident(&own.name);
    let methods = own.headers.iter().zip(rows).map(|(header, row)| {
        let errors = if header.row.required {
            "If the header is missing or invalid."
        } else {
            "If the header is invalid."
        };
        let errors = ["# Errors", errors].map(str::to_owned);
        let about =
            doc_attributes(&describe_header(header, graph).into_iter().chain(errors).collect::<Vec<_>>());
        let (method, ty) = (ident(&header.field), header_type(header, types));
        let (ty, read) = match header.row.required {
            true => (ty, quote!(required)),
            false => (quote!(Option<#ty>), quote!(optional)),
        };
        quote! {
            #about
            pub fn #method(&self) -> Result<#ty, InvalidHeader> {
                self.0.#read(&#row)
            }
        }
    });
    quote! {
        #about
        #[derive(Clone, Debug)]
        pub struct #name<'a>(ReceivedHeaders<'a>);

        impl #name<'_> { #(#methods)* }

        impl ResponseHeaders for #name<'_> {
            type Borrowed<'a> = #name<'a>;

            fn from_received(headers: ReceivedHeaders<'_>) -> #name<'_> {
                #name(headers)
            }
        }
    }
}

/// Writes the struct with the headers of a response that a server sends: required ones are arguments of `new`,
/// the others have setters.
fn write_sent(
    own: &HeaderStruct<'_>,
    about: &str,
    rows: &[TokenStream],
    (graph, types): TypeSources<'_>,
) -> TokenStream {
    let about = doc_attributes(&[about.to_owned()]);
    let name = ident(&sent_headers_name(own));
    let mut fields = TokenStream::new();
    let mut setters = TokenStream::new();
    let (mut arguments, mut values, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    for (header, row) in own.headers.iter().zip(rows) {
        let about = doc_attributes(&describe_header(header, graph));
        let (field, ty) = (ident(&header.field), header_type(header, types));
        let given = SetterArgument::for_type(&header.ty, types);
        let (argument, value) = given.type_and_value((&header.ty, &ty), &field, types);
        if header.row.required {
            fields.extend(quote!(#about pub #field: #ty,));
            arguments.push(quote!(#field: #argument));
            values.push(if given == SetterArgument::Plain { quote!(#field) } else { quote!(#field: #value) });
            writes.push(quote!(headers.write(&#row, &self.#field);));
            continue;
        }
        fields.extend(quote!(#about pub #field: Option<#ty>,));
        values.push(quote!(#field: None));
        writes.push(quote!(headers.write_optional(&#row, self.#field.as_ref());));
        setters.extend(quote! {
            #about
            #[must_use]
            pub fn #field(mut self, #field: #argument) -> Self {
                self.#field = Some(#value);
                self
            }
        });
    }
    let equality = own.headers.iter().map(|header| types.equality(&header.ty));
    let equality = EqualityTraits::weakest_of(equality).derive_list();
    let default = arguments.is_empty().then(|| quote!(Default,));
    let new = match arguments.is_empty() {
        true => quote! {
            /// Creates headers without any value.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }
        },
        false => quote! {
            /// Creates headers with the required values.
            #[must_use]
            pub fn new(#(#arguments),*) -> Self {
                Self { #(#values),* }
            }
        },
    };
    quote! {
        #about
        #[derive(Clone, Debug, #default #equality)]
        #[non_exhaustive]
        pub struct #name { #fields }

        impl #name {
            #new

            #setters
        }

        impl DeclaredHeaders for #name {
            fn write_headers(&self, headers: &mut HeaderWriter<'_>) {
                #(#writes)*
            }
        }
    }
}

fn header_type(header: &PlannedHeader<'_>, types: &dyn RustTypes) -> TokenStream {
    match header.header.schema {
        Some(schema) => types.schema_type(&header.ty, schema),
        None => types.rust_type(&header.ty),
    }
}

fn describe_header(header: &PlannedHeader<'_>, graph: &SchemaGraph) -> Vec<String> {
    let schema = header.header.schema;
    let described = schema.and_then(|schema| graph.schema(schema).description.as_deref());
    let described = header.header.description.as_deref().or(described);
    let limits = schema.map(|schema| describe_schema_limits(graph, schema)).unwrap_or_default();
    let limits = if limits.is_empty() { limits } else { format!(": {limits}") };
    let mut paragraphs: Vec<String> = described.map(rustdoc_markdown).into_iter().collect();
    paragraphs.push(format!("Header `{}`{limits}.", header.row.name));
    paragraphs
}
