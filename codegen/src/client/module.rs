//! The module around the methods.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Writer, docs, pages, write};
use crate::{emit::ident, plan::Side};

/// Puts the client together.
pub(super) fn assemble(writer: &Writer<'_>) -> TokenStream {
    let (api, side) = (writer.plan.api, writer.plan.side);
    let title = if api.title.is_empty() { "the interface" } else { &api.title };
    let what = match side {
        Side::Paths => "client",
        Side::Webhooks => "sender of webhooks",
    };
    let mut lines = vec![format!(
        "The {what} of {title}{}.",
        match api.version.as_str() {
            "" => String::new(),
            version => format!(", version {version}"),
        }
    )];
    if let Some(description) = api.description.as_ref().filter(|_| side == Side::Paths) {
        lines.push(String::new());
        lines.extend(docs::markdown(description));
    }
    lines.push(String::new());
    lines.push("Cloning is cheap and shares the transport.".to_owned());
    let lines = docs::attributes(&lines);
    let sent = || writer.plan.calls.iter().filter(|call| call.unsendable.is_none());
    let methods = sent().map(|call| {
        let (whole, stream) = (write::method(writer, call), write::stream_method(writer, call));
        let pages = pages::methods(writer, call);
        quote!(#whole #stream #pages)
    });
    let calls = sent().map(|call| {
        let (whole, stream) = (write::call(writer, call), write::stream_call(writer, call));
        let pages = pages::call(writer, call);
        quote!(#whole #stream #pages)
    });
    let pages = pages::pages(writer);
    let stream_limits = writer.plan.streams.map(|_| {
        quote! {
            /// The same client, whose streams and their items may be so large.
            #[must_use]
            pub fn with_stream_limits(self, limits: ::contract_runtime::stream::StreamLimits) -> Self {
                Self { core: self.core.with_stream_limits(limits) }
            }
        }
    });
    let (table, id) = side.table();
    let (table, id) = (ident(table), ident(id));
    let name = ident(match side {
        Side::Paths => "Client",
        Side::Webhooks => "Sender",
    });
    let servers = sent().any(|call| !call.operation.servers.is_empty());
    let base_only = (servers && side == Side::Paths).then(|| {
        quote! {
            /// The same client with every request sent to the address given to [`Client::new`].
            /// Otherwise operations to which the contract gives a server of their own go to
            /// the first of those; one that is only a path replaces the address's path.
            #[must_use]
            pub fn with_base_url_only(self) -> Self {
                Self { core: self.core.with_base_url_only() }
            }
        }
    });
    let shown = &writer.config.shown;
    let shown = (!shown.is_empty()).then(|| quote!(.with_shown_members(&[#(#shown),*])));
    let start = match side {
        Side::Paths => quote! {
            /// A client for the interface at `base_url` (scheme, host and, if there is one, the
            /// start of every path), reached through `transport`.
            pub fn new(base_url: &str, transport: impl Transport + 'static) -> Self {
                Self { core: Core::new(base_url, transport) #shown }
            }
        },
        Side::Webhooks => quote! {
            /// A sender to whom each call says the address.
            pub fn new(transport: impl Transport + 'static) -> Self {
                Self { core: Core::new("", transport) #shown }
            }
        },
    };
    let base_url = (side == Side::Paths).then(|| {
        quote! {
            /// The address given to [`Client::new`].
            #[must_use]
            pub fn base_url(&self) -> &str {
                self.core.base_url()
            }
        }
    });
    // The table is named by calls alone.
    let table = sent().next().map(|_| {
        quote! {
            use ::contract_runtime::{client::{Request, Response}, operation::Operation};

            use super::#table::#id;
        }
    });
    quote! {
        use ::contract_runtime::{client::Core, transport::Transport};

        #table

        pub use ::contract_runtime::client::{Answer, Bytes, Call, Calling, Error, RequestChecks, Stored};

        #lines
        #[derive(Clone, Debug)]
        pub struct #name {
            core: Core,
        }

        impl #name {
            #start

            /// The same client with arguments and bodies checked before they are sent, which is how
            /// it begins, or not.
            #[must_use]
            pub fn with_request_checks(self, checks: RequestChecks) -> Self {
                Self { core: self.core.with_request_checks(checks) }
            }

            #base_only

            #stream_limits

            #base_url

            /// What sends calls that are kept as values, and repeats what was stored of one.
            #[must_use]
            pub const fn core(&self) -> &Core {
                &self.core
            }

            #(#methods)*
        }

        #(#calls)*

        #pages
    }
}
