//! Writes the client module: the client struct with its constructors and methods, and the implementations of
//! `Call` for all operations.

use proc_macro2::TokenStream;
use quote::quote;

use super::{ClientWriter, docs, pages, write};
use crate::{emit::ident, plan::OperationSide};

/// Returns the items of the client module.
pub(super) fn assemble_module(writer: &ClientWriter<'_>) -> TokenStream {
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
    let methods = sent().map(|call| {
        let (whole, stream) = (write::write_method(writer, call), write::write_stream_method(writer, call));
        let pages = pages::paging_methods(writer, call);
        quote!(#whole #stream #pages)
    });
    let calls = sent().map(|call| {
        let (whole, stream) = (write::write_call(writer, call), write::write_stream_call(writer, call));
        let pages = pages::paged_call_impl(writer, call);
        quote!(#whole #stream #pages)
    });
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
    let base_only = (servers && side == OperationSide::Paths).then(|| {
        quote! {
            /// Sends every request to the address given to [`Client::new`]. By default, operations with
            /// servers of their own go to the first of those; a server that is only a path replaces the
            /// path of the address.
            #[must_use]
            pub fn with_base_url_only(self) -> Self {
                Self { inner: self.inner.with_base_url_only() }
            }
        }
    });
    let shown = &writer.config.shown;
    let shown = (!shown.is_empty()).then(|| quote!(.with_shown_fields(&[#(#shown),*])));
    let start = match side {
        OperationSide::Paths => quote! {
            /// Creates a client for the API at `base_url` (scheme, host and, optionally, a path prefix),
            /// which sends requests through `transport`.
            pub fn new(base_url: &str, transport: impl Transport + 'static) -> Self {
                Self { inner: ApiClient::new(base_url, transport) #shown }
            }
        },
        OperationSide::Webhooks => quote! {
            /// Creates a sender; each call specifies the address of the receiver.
            pub fn new(transport: impl Transport + 'static) -> Self {
                Self { inner: ApiClient::new("", transport) #shown }
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
    quote! {
        use ::contract_runtime::{client::ApiClient, transport::Transport};

        #table

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

            /// Returns the untyped client, which sends calls that are values and stored requests.
            #[must_use]
            pub const fn api_client(&self) -> &ApiClient {
                &self.inner
            }

            #(#methods)*
        }

        #(#calls)*

        #pages
    }
}
