//! Writes the module `headers` (or `webhook_headers`): the response headers of each operation as a struct.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    constraint_text::describe_schema_limits,
    emit::{ident, rustdoc_markdown},
    operations::{doc_attributes, header_rows},
    plan::{HeaderStruct, PlannedCall, PlannedHeader, SidePlan},
    rust_types::{EqualityTraits, RustTypes},
    schema::SchemaGraph,
};

/// Writes the module with the structs of response headers; `None` if the contract declares no response header.
pub fn headers_module(
    plan: &SidePlan<'_>,
    graph: &SchemaGraph,
    types: &dyn RustTypes,
) -> Option<TokenStream> {
    let of_calls = plan.calls.iter().filter_map(|call| {
        let about = format!("The headers of success responses of `{}`.", call.describe_place());
        Some((call.headers.as_ref()?, about))
    });
    let of_errors = plan.error_headers.iter().map(|errors| {
        (errors, "The headers of error responses. Each response has only some of them.".to_owned())
    });
    let structs: Vec<(&HeaderStruct<'_>, String)> = of_calls.chain(of_errors).collect();
    if structs.is_empty() {
        return None;
    }
    let rows = structs.iter().flat_map(|(own, _)| &own.headers).map(|header| &header.row);
    let (rows, imports) = header_rows(rows, graph, types);
    let mut rows = rows.into_iter();
    let items: TokenStream = structs
        .iter()
        .map(|(own, about)| {
            let rows: Vec<TokenStream> = rows.by_ref().take(own.headers.len()).collect();
            write_struct(own, about, &rows, (graph, types))
        })
        .collect();
    let headers = || structs.iter().flat_map(|(own, _)| &own.headers);
    let required = headers().any(|header| header.row.required).then(|| quote!(required_header));
    let optional = headers().any(|header| !header.row.required).then(|| quote!(optional_header));
    let readers = optional.into_iter().chain(required);
    Some(quote! {
        use ::contract_runtime::client::{HeaderMap, InvalidHeader, #(#readers),*};
        #imports

        #items
    })
}

/// Returns a link to the struct of the response headers of a call, for documentation in another module.
pub(crate) fn headers_link(module: &str, call: &PlannedCall<'_>) -> Option<String> {
    let name = &call.headers.as_ref()?.name;
    Some(format!("[`{name}`](super::{module}::{name})"))
}

fn write_struct(
    own: &HeaderStruct<'_>,
    about: &str,
    rows: &[TokenStream],
    (graph, types): (&SchemaGraph, &dyn RustTypes),
) -> TokenStream {
    let about = doc_attributes(&[about.to_owned()]);
    let name = ident(&own.name);
    let fields = own.headers.iter().map(|header| {
        let about = doc_attributes(&describe_header(header, graph));
        let (field, ty) = (ident(&header.field), header_type(header, types));
        let ty = if header.row.required { ty } else { quote!(Option<#ty>) };
        quote!(#about pub #field: #ty,)
    });
    let values = own.headers.iter().zip(rows).map(|(header, row)| {
        let field = ident(&header.field);
        let read = ident(if header.row.required { "required_header" } else { "optional_header" });
        quote!(#field: #read(headers, &#row)?,)
    });
    let equality = own.headers.iter().map(|header| types.equality(&header.ty));
    let equality = EqualityTraits::weakest_of(equality).derive_list();
    quote! {
        #about
        #[derive(Clone, Debug, #equality)]
        #[non_exhaustive]
        pub struct #name { #(#fields)* }

        impl ::contract_runtime::client::ResponseHeaders for #name {
            fn from_headers(headers: &HeaderMap) -> Result<Self, InvalidHeader> {
                Ok(Self { #(#values)* })
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
