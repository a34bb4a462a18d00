//! The module around the methods.

use proc_macro2::TokenStream;
use quote::quote;

use super::docs;
use crate::{
    api::Api,
    lower::{BodyForm, Lowered, Payload},
};

/// Puts the client together.
pub(super) fn assemble(api: &Api, lowered: &Lowered, methods: Vec<syn::ImplItemFn>) -> TokenStream {
    let title = if api.title.is_empty() { "the interface" } else { &api.title };
    let mut lines = vec![format!(
        "The client of {title}{}.",
        match api.version.as_str() {
            "" => String::new(),
            version => format!(", version {version}"),
        }
    )];
    if let Some(description) = &api.description {
        lines.push(String::new());
        lines.extend(docs::markdown(description));
    }
    lines.push(String::new());
    lines.push("Cloning is cheap and shares the transport.".to_owned());
    let lines = lines.iter().map(|line| doc(line));
    let raw = lowered.calls.iter().any(|call| {
        call.result == Payload::Raw
            || call.refusal == Payload::Raw
            || call.body.as_ref().is_some_and(|body| matches!(body.form, BodyForm::Raw))
    });
    let bytes = raw.then(|| quote!(Bytes,));
    quote! {
        use ::contract_runtime::{client::Core, transport::Transport};

        use super::operations::OperationId;

        pub use ::contract_runtime::client::{Answer, #bytes Error, RequestChecks};

        #(#lines)*
        #[derive(Clone, Debug)]
        pub struct Client {
            core: Core,
        }

        impl Client {
            /// A client for the interface at `base_url` (scheme, host and, if there is one, the
            /// start of every path), reached through `transport`.
            pub fn new(base_url: &str, transport: impl Transport + 'static) -> Self {
                Self { core: Core::new(base_url, transport) }
            }

            /// The same client with arguments and bodies checked before they are sent, which is how
            /// it begins, or not.
            #[must_use]
            pub fn with_request_checks(self, checks: RequestChecks) -> Self {
                Self { core: self.core.with_request_checks(checks) }
            }

            /// The address given to [`Client::new`].
            #[must_use]
            pub fn base_url(&self) -> &str {
                self.core.base_url()
            }

            #(#methods)*
        }
    }
}

/// One line of documentation, with the space that `///` has before its text.
pub(crate) fn doc(line: &str) -> syn::Attribute {
    let line = if line.is_empty() { String::new() } else { format!(" {line}") };
    syn::parse_quote!(#[doc = #line])
}
