//! The module around the methods.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Writer, docs, write};
use crate::{
    emit::ident,
    operations::{Side, mentions},
};

/// Puts the client together.
pub(super) fn assemble(writer: &Writer<'_>) -> TokenStream {
    let api = writer.api;
    let title = if api.title.is_empty() { "the interface" } else { &api.title };
    let what = match writer.side {
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
    if let Some(description) = api.description.as_ref().filter(|_| writer.side == Side::Paths) {
        lines.push(String::new());
        lines.extend(docs::markdown(description));
    }
    lines.push(String::new());
    lines.push("Cloning is cheap and shares the transport.".to_owned());
    let lines = lines.iter().map(|line| doc(line));
    let calls = writer.lowered.calls.iter().enumerate();
    let methods: Vec<TokenStream> = calls.map(|(index, call)| write::method(writer, index, call)).collect();
    let enums = &writer.enums.items;
    let raw = mentions(&quote!(#(#methods)* #enums), "Bytes");
    let bytes = raw.then(|| quote!(Bytes,));
    let (table, id) = writer.side.table();
    let (table, id) = (ident(table), ident(id));
    let name = ident(match writer.side {
        Side::Paths => "Client",
        Side::Webhooks => "Sender",
    });
    let servers =
        writer.lowered.calls.iter().any(|call| !writer.operations[call.operation].servers.is_empty());
    let base_only = (servers && writer.side == Side::Paths).then(|| {
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
    let start = match writer.side {
        Side::Paths => quote! {
            /// A client for the interface at `base_url` (scheme, host and, if there is one, the
            /// start of every path), reached through `transport`.
            pub fn new(base_url: &str, transport: impl Transport + 'static) -> Self {
                Self { core: Core::new(base_url, transport) }
            }
        },
        Side::Webhooks => quote! {
            /// A sender to whom each call says the address.
            pub fn new(transport: impl Transport + 'static) -> Self {
                Self { core: Core::new("", transport) }
            }
        },
    };
    let base_url = (writer.side == Side::Paths).then(|| {
        quote! {
            /// The address given to [`Client::new`].
            #[must_use]
            pub fn base_url(&self) -> &str {
                self.core.base_url()
            }
        }
    });
    quote! {
        use ::contract_runtime::{client::Core, transport::Transport};

        use super::#table::#id;

        pub use ::contract_runtime::client::{Answer, #bytes Error, RequestChecks};

        #(#lines)*
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

            #base_url

            #(#methods)*
        }

        #enums
    }
}

/// One line of documentation, with the space that `///` has before its text.
pub(crate) fn doc(line: &str) -> syn::Attribute {
    let line = if line.is_empty() { String::new() } else { format!(" {line}") };
    syn::parse_quote!(#[doc = #line])
}
