//! Writes the trait `Authenticate`, which has a method for each of the contract's `securitySchemes`, and the
//! code that calls it.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::{
    credentials::{CredentialScheme, SecuritySchemeKind, method_names, used_schemes},
    emit::{ident, rustdoc_markdown},
    operations::doc_attributes,
    plan::{OperationSide, SidePlan},
};

/// The names of other methods of the trait, which methods of schemes must not have.
const RESERVED_METHODS: &[&str] = &["combine", "realm", "challenge"];

/// The parts of the module for the verification of credentials.
pub(super) struct AuthenticationItems {
    pub(super) imports: TokenStream,
    pub(super) items: TokenStream,
}

/// Returns the items for the verification of credentials, or `None` if no operation requires declared credentials.
/// Webhooks have no such items, because sender and receiver agree on the credentials.
pub(super) fn authentication_items(plan: &SidePlan<'_>) -> Option<AuthenticationItems> {
    let schemes = used_schemes(plan);
    if schemes.is_empty() || plan.side == OperationSide::Webhooks {
        return None;
    }
    let names = method_names(&schemes, RESERVED_METHODS);
    let methods = schemes.iter().zip(&names).map(|(scheme, name)| scheme_method(scheme, name));
    let arms =
        schemes.iter().zip(&names).enumerate().map(|(at, (scheme, name))| verify_arm(at, scheme, name));
    let requires_several =
        plan.calls.iter().any(|call| call.operation.security.iter().any(|alternative| alternative.len() > 1));
    let combine = requires_several.then(|| {
        quote! {
            /// Combines the principals of schemes that an operation requires together, in the order of the
            /// contract.
            ///
            /// # Errors
            /// If the principals do not belong together, for example the key of one account and the token of
            /// another.
            fn combine(&self, principals: Vec<Self::Principal>) -> Result<Self::Principal, AuthenticationError>;
        }
    });
    let combine_call = requires_several.then(|| {
        quote! {
            fn combine(&self, principals: Vec<A::Principal>) -> Result<A::Principal, AuthenticationError> {
                self.0.combine(principals)
            }
        }
    });
    let realm = plan.api.title.as_str();
    let imports = quote! {
        use ::contract_runtime::server::authentication::{
            PresentedCredential, SchemeVerifier, SecurityScheme, VerificationFuture,
        };

        pub use ::contract_runtime::server::authentication::{Authentication, AuthenticationError, TokenGrant};
    };
    let items = quote! {
        /// Verifies the credentials of requests, with one method for each of the contract's `securitySchemes`.
        ///
        /// [`authenticated_router`] calls the methods before the body is read, for the credentials that a
        /// request has and its operation accepts. It compares scopes, and rejects requests with `401` or `403`
        /// and a challenge. Handlers get the result by [`RequestContext::principal`].
        pub trait Authenticate: Send + Sync + 'static {
            /// The verified caller.
            type Principal: Clone + Send + Sync + 'static;

            #(#methods)*

            #combine

            /// Returns the `realm` of challenges: the title of the contract by default.
            fn realm(&self) -> String {
                #realm.to_owned()
            }

            /// Returns the challenge for a scheme in `WWW-Authenticate`, such as one with a nonce. `None` is the
            /// default challenge of the scheme, an empty string none.
            fn challenge(&self, scheme: &SecurityScheme, context: &RequestContext) -> Option<String> {
                let _ = (scheme, context);
                None
            }
        }

        /// Returns a router for all operations of the contract that verifies the credentials of requests.
        ///
        /// Each call is checked in this order: route, credentials, media type, size of the body, query and
        /// parameters, body. The first failure is passed to [`Service::reject`].
        pub fn authenticated_router<S: Service, A: Authenticate>(
            service: Arc<S>,
            authenticator: Arc<A>,
            options: RouterOptions,
        ) -> Router {
            endpoints(service, options).with_authentication(authentication(authenticator)).into_router()
        }

        /// Returns the authentication for [`Endpoints::with_authentication`], for servers that add steps of
        /// their own.
        pub fn authentication<A: Authenticate>(authenticator: Arc<A>) -> Authentication {
            Authentication::new(super::security_requirements::SECURITY, Verifier(authenticator))
        }

        struct Verifier<A>(Arc<A>);

        impl<A: Authenticate> SchemeVerifier for Verifier<A> {
            type Principal = A::Principal;

            fn verify<'a>(
                &'a self,
                scheme: usize,
                credential: PresentedCredential,
                context: &'a RequestContext,
            ) -> VerificationFuture<'a, A::Principal> {
                Box::pin(async move {
                    match (scheme, credential) {
                        #(#arms)*
                        _ => Err(AuthenticationError::Invalid),
                    }
                })
            }

            #combine_call

            fn realm(&self) -> String {
                self.0.realm()
            }

            fn challenge(&self, scheme: &SecurityScheme, context: &RequestContext) -> Option<String> {
                self.0.challenge(scheme, context)
            }
        }
    };
    Some(AuthenticationItems { imports, items })
}

/// Writes the method of a scheme.
fn scheme_method(scheme: &CredentialScheme<'_>, name: &str) -> TokenStream {
    let method = ident(name);
    let own = scheme.name;
    let (about, arguments) = match &scheme.kind {
        SecuritySchemeKind::Header(key) => {
            (format!("`{own}`: an API key in the header `{key}`."), quote!(key: &str,))
        }
        SecuritySchemeKind::Query(key) => {
            (format!("`{own}`: an API key in the query parameter `{key}`."), quote!(key: &str,))
        }
        SecuritySchemeKind::Cookie(key) => {
            (format!("`{own}`: an API key in the cookie `{key}`."), quote!(key: &str,))
        }
        SecuritySchemeKind::Basic => {
            (format!("`{own}`: a user name and a password."), quote!(name: &str, password: &str,))
        }
        SecuritySchemeKind::BearerToken { .. } if scheme.has_scopes => {
            (format!("`{own}`: a bearer token. Returns its principal and scopes."), quote!(token: &str,))
        }
        SecuritySchemeKind::BearerToken { .. } => (format!("`{own}`: a bearer token."), quote!(token: &str,)),
        SecuritySchemeKind::HttpScheme(word) => {
            (format!("`{own}`: the value after `{word}` in `Authorization`."), quote!(credentials: &str,))
        }
        SecuritySchemeKind::MutualTls => (
            format!(
                "`{own}`: a credential of the connection, such as a client certificate, which a layer puts into \
                 [`RequestContext::extensions`]. Returns `None` if there is none."
            ),
            TokenStream::new(),
        ),
    };
    let success = match &scheme.kind {
        SecuritySchemeKind::MutualTls => quote!(Option<Self::Principal>),
        _ if scheme.has_scopes => quote!(TokenGrant<Self::Principal>),
        _ => quote!(Self::Principal),
    };
    let deprecated = scheme.is_deprecated.then(|| "Deprecated by the contract.".to_owned());
    let about = [about].into_iter().chain(scheme.description.map(rustdoc_markdown)).chain(deprecated);
    let about = doc_attributes(&about.collect::<Vec<_>>());
    quote! {
        #about
        fn #method(
            &self,
            #arguments
            context: &RequestContext,
        ) -> impl Future<Output = Result<#success, AuthenticationError>> + Send;
    }
}

/// Writes the `match` arm that calls the method of a scheme.
fn verify_arm(at: usize, scheme: &CredentialScheme<'_>, name: &str) -> TokenStream {
    let (at, method) = (Literal::usize_unsuffixed(at), ident(name));
    let (pattern, arguments) = match &scheme.kind {
        SecuritySchemeKind::Basic => (quote!(UserPassword { name, password }), quote!(&name, &password,)),
        SecuritySchemeKind::MutualTls => (quote!(Connection), TokenStream::new()),
        _ => (quote!(Secret(secret)), quote!(&secret,)),
    };
    let call = quote!(self.0.#method(#arguments context).await);
    let result = match &scheme.kind {
        SecuritySchemeKind::MutualTls => quote!(#call.map(|principal| principal.map(TokenGrant::from))),
        _ if scheme.has_scopes => quote!(#call.map(Some)),
        _ => quote!(#call.map(|principal| Some(principal.into()))),
    };
    quote!((#at, PresentedCredential::#pattern) => #result,)
}
