//! Writes the client module: the client struct with its constructors and methods, and the implementations of
//! `Call` for all operations.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::{ClientWriter, docs, pages, write};
use crate::{
    api::Server,
    emit::{self, ident},
    load::uri,
    operations::{ModuleItems, Submodule, group_gate, imported_siblings, status_variant},
    plan::{ClientGroup, OperationSide, ShownFields, is_selector},
    servers,
};

/// Prints the setting with all servers of the contract. Returns `None` if no operation has a server on another host, and
/// if the document has no server with a host: the base URL is then unknown to the contract in any case.
fn contract_servers(writer: &ClientWriter<'_>) -> Option<TokenStream> {
    let of_operations = || writer.plan.calls.iter().flat_map(|call| &call.operation.servers);
    let has_host = |server: &Server| uri::is_absolute(&server.url);
    let of_document = || writer.plan.api.servers.iter();
    if !of_operations().any(has_host) || !of_document().any(has_host) {
        return None;
    }
    let all = of_document().chain(of_operations());
    let servers: BTreeSet<&str> = all.map(|server| server.template.as_str()).collect();
    Some(quote!(.with_contract_servers(&[#(#servers),*])))
}

/// Returns the calls that select the fields of error responses that messages show.
fn shown_fields(writer: &ClientWriter<'_>) -> TokenStream {
    let names: Vec<&String> = writer.config.shown.iter().filter(|entry| !is_selector(entry)).collect();
    let names = (!names.is_empty()).then(|| quote!(.with_shown_fields(&[#(#names),*])));
    let responses = writer.plan.shown.iter().map(|shown| {
        let ShownFields { operation, status, names } = shown;
        let statuses = status_variant(*status);
        quote! {
            ::contract_runtime::client::ResponseFields {
                operation: #operation,
                statuses: ::contract_runtime::operation::StatusRange::#statuses,
                fields: &[#(#names),*],
            }
        }
    });
    let responses: Vec<TokenStream> = responses.collect();
    let responses = (!responses.is_empty()).then(|| quote!(.with_response_fields(&[#(#responses),*])));
    quote!(#names #responses)
}

/// Returns the items of the client module.
pub(super) fn assemble_module(writer: &ClientWriter<'_>) -> ModuleItems {
    let (api, side) = (writer.plan.api, writer.plan.side);
    let title = if api.title.is_empty() { "the API" } else { &api.title };
    let what = match side {
        OperationSide::Paths => "client",
        OperationSide::Webhooks => "sender of webhooks",
    };
    let mut lines = vec![format!(
        "The {what} of {title}{}.",
        match api.version.as_str() {
            "" => String::new(),
            version => format!(", version {version}"),
        }
    )];
    if let Some(description) = api.description.as_ref().filter(|_| side == OperationSide::Paths) {
        lines.push(String::new());
        lines.extend(docs::markdown_lines(description));
    }
    lines.push(String::new());
    lines.push("Clones are cheap and share the transport.".to_owned());
    let lines = docs::doc_attributes(&lines);
    let sent = || writer.plan.calls.iter().filter(|call| call.unsendable_reason.is_none());
    let (methods, calls) = methods_and_calls(writer, None);
    let groups: Vec<Submodule> =
        writer.plan.groups.iter().filter_map(|group| group_module(writer, group)).collect();
    let accessors =
        writer.plan.groups.iter().filter(|group| groups.iter().any(|own| own.name == group.accessor));
    let accessors: Vec<TokenStream> = accessors.map(group_accessor).collect();
    let declarations = groups.iter().map(|group| {
        let name = ident(&group.name);
        let planned = writer.plan.groups.iter().find(|planned| planned.accessor == group.name);
        let gate = planned.and_then(group_gate);
        quote!(#gate pub mod #name;)
    });
    let siblings = imported_siblings(&groups);
    let pages = pages::page_impls(writer);
    let stream_limits = writer.plan.streams.map(|_| {
        quote! {
            /// Sets limits for streams and their items.
            #[must_use]
            pub fn with_stream_limits(self, limits: ::contract_runtime::stream::StreamLimits) -> Self {
                Self { inner: self.inner.with_stream_limits(limits) }
            }
        }
    });
    let (table, id) = side.table_names();
    let (table, id) = (ident(table), ident(id));
    let name = ident(match side {
        OperationSide::Paths => "Client",
        OperationSide::Webhooks => "Sender",
    });
    let servers = sent().any(|call| !call.operation.servers.is_empty());
    let contract_servers = (side == OperationSide::Paths).then(|| contract_servers(writer)).flatten();
    let base_only = (servers && side == OperationSide::Paths).then(|| {
        quote! {
            /// Sends every request to the base URL given to [`Client::new`]. Without this, an operation with its
            /// own servers uses the first of them if the base URL is a server of the contract. If that server is
            /// only a path, it replaces the path of the base URL.
            #[must_use]
            pub fn with_base_url_only(self) -> Self {
                Self { inner: self.inner.with_base_url_only() }
            }
        }
    });
    let shown = shown_fields(writer);
    // Evaluated when the generated code is compiled, so that it names the package that contains it.
    let agent = quote!(.with_user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"))));
    let base_url_doc = match servers::named_servers(api).first() {
        Some(first) => {
            let text = format!(
                " `base_url` is a server of the contract, such as [`{0}`](super::{0}), or another URL with scheme, host and, optionally, a path prefix.",
                first.path()
            );
            quote!(#[doc = ""] #[doc = #text])
        }
        None => {
            let text = " `base_url` consists of scheme, host and, optionally, a path prefix.";
            quote!(#[doc = ""] #[doc = #text])
        }
    };
    let start = match side {
        OperationSide::Paths => quote! {
            /// Creates a client for the API at `base_url`, which sends requests through `transport`.
            #base_url_doc
            pub fn new(base_url: impl Into<String>, transport: impl Transport + 'static) -> Self {
                Self { inner: ApiClient::new(base_url, transport) #contract_servers #agent #shown }
            }
        },
        OperationSide::Webhooks => quote! {
            /// Creates a sender; each call specifies the address of the receiver.
            pub fn new(transport: impl Transport + 'static) -> Self {
                Self { inner: ApiClient::new("", transport) #agent #shown }
            }
        },
    };
    let base_url = (side == OperationSide::Paths).then(|| {
        quote! {
            /// Returns the address given to [`Client::new`].
            #[must_use]
            pub fn base_url(&self) -> &str {
                self.inner.base_url()
            }
        }
    });
    // The operation table is imported only if there are calls.
    let table = sent().next().map(|_| {
        quote! {
            use ::contract_runtime::{client::{RawResponse, RequestBuilder}, operation::Operation};

            use super::#table::#id;
        }
    });
    let root = quote! {
        #(#declarations)*

        use ::contract_runtime::{client::ApiClient, transport::Transport};

        #table

        #siblings

        pub use ::contract_runtime::client::{
            Bytes, Call, Error, PendingCall, RequestChecks, Response, StoredRequest,
        };

        #lines
        #[derive(Clone, Debug)]
        pub struct #name {
            inner: ApiClient,
        }

        impl #name {
            #start

            /// Enables or disables validation of arguments and bodies before they are sent. It is enabled by
            /// default.
            #[must_use]
            pub fn with_request_checks(self, checks: RequestChecks) -> Self {
                Self { inner: self.inner.with_request_checks(checks) }
            }

            #base_only

            #stream_limits

            #base_url

            /// Returns the underlying client, which can send a call built as a struct and repeat a stored
            /// request.
            #[must_use]
            pub const fn api_client(&self) -> &ApiClient {
                &self.inner
            }

            #(#accessors)*

            #methods
        }

        #calls

        #pages
    };
    ModuleItems { root, groups }
}

/// Writes the methods of the calls of one group (or of the calls without a group), and the implementations of
/// `Call`.
fn methods_and_calls(writer: &ClientWriter<'_>, group: Option<&ClientGroup>) -> (TokenStream, TokenStream) {
    let accessor = group.map(|group| group.accessor.as_str());
    let calls = writer.plan.calls.iter().filter(|call| call.unsendable_reason.is_none());
    let calls = calls.filter(|call| call.accessor.as_deref() == accessor);
    let methods = calls.clone().map(|call| {
        let (whole, stream) = (write::write_method(writer, call), write::write_stream_method(writer, call));
        let pages = pages::paging_methods(writer, call);
        quote!(#whole #stream #pages)
    });
    let impls = calls.map(|call| {
        let (whole, stream) = (write::write_call(writer, call), write::write_stream_call(writer, call));
        let pages = pages::paged_call_impl(writer, call);
        quote!(#whole #stream #pages)
    });
    (methods.collect(), impls.collect())
}

/// Writes the module of a group. Returns `None` if the client can send none of its calls.
fn group_module(writer: &ClientWriter<'_>, group: &ClientGroup) -> Option<Submodule> {
    let (methods, calls) = methods_and_calls(writer, Some(group));
    if methods.is_empty() {
        return None;
    }
    let tag = emit::rustdoc_markdown(&group.tag);
    let mut lines = vec![format!("The operations with the tag `{tag}`.")];
    let declared = writer.plan.api.tags.iter().find(|tag| tag.name == group.tag);
    if let Some(description) = declared.and_then(|tag| tag.description.as_ref()) {
        lines.push(String::new());
        lines.extend(docs::markdown_lines(description));
    }
    lines.push(String::new());
    lines.push(format!("[`Client::{}`] returns it.", group.accessor));
    let lines = docs::doc_attributes(&lines);
    let name = ident(&group.type_name);
    let items = quote! {
        use super::*;

        #lines
        #[derive(Clone, Copy, Debug)]
        pub struct #name<'a> {
            pub(super) inner: &'a ApiClient,
        }

        impl<'a> #name<'a> {
            #methods
        }

        #calls
    };
    Some(Submodule {
        name: group.accessor.clone(),
        doc: format!("The operations with the tag `{tag}`."),
        items,
    })
}

/// Writes the method of the client that returns the client of a group.
fn group_accessor(group: &ClientGroup) -> TokenStream {
    let lines = docs::doc_attributes(&[format!(
        "Returns the operations with the tag `{}`.",
        emit::rustdoc_markdown(&group.tag)
    )]);
    let (method, name) = (ident(&group.accessor), ident(&group.type_name));
    let gate = group_gate(group);
    quote! {
        #gate
        #lines
        #[must_use]
        pub const fn #method(&self) -> #method::#name<'_> {
            #method::#name { inner: &self.inner }
        }
    }
}
