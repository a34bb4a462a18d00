//! Writes the module `server`: a trait to implement, and the router that calls it.
//!
//! Generated code contains only the differences between operations: how a request is parsed, and the status
//! and media type of each response. `contract_runtime::server` contains the order of steps, limits, checks
//! and error handling.

mod answers;
mod authentication;
mod requests;

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    calls::{call_equality, read_type, refused_type},
    config::Config,
    emit::{end_sentence, ident, rustdoc_markdown},
    operations::{ModuleItems, Submodule, call_gate, doc_attributes, group_gate, imported_siblings},
    plan::{ClientGroup, OperationSide, PlannedCall, SidePlan},
    rust_types::{EqualityTraits, RustTypes},
};

/// Writes the module `server` (or `webhook_server`), a direct child of the generated root beside `operations`
/// (or `webhooks`).
///
/// The code that parses the requests of a tag and calls the service is in a submodule.
pub fn server_module(plan: &SidePlan<'_>, types: &dyn RustTypes, config: &Config) -> ModuleItems {
    let writer = ServerWriter { plan, types };
    let (table, id) = plan.side.table_names();
    let (table, id) = (ident(table), ident(id));
    let alias = plan.common_error.as_ref().map(|refused| {
        let ty = refused_type(plan.side, refused, types);
        quote! {
            /// The error response of most operations: its body and status.
            pub type ErrorResponse = ::contract_runtime::server::ErrorResponse<#ty>;
        }
    });
    let methods = plan.served_calls().map(|call| writer.trait_method(call));
    let requests = plan.served_calls().filter(|call| call.accessor.is_none());
    let requests = requests.map(|call| writer.request_impl(call));
    let groups: Vec<Submodule> = plan.groups.iter().filter_map(|group| writer.group_module(group)).collect();
    let declarations = plan.groups.iter().filter(|group| groups.iter().any(|own| own.name == group.accessor));
    let declarations = declarations.map(|group| {
        let (gate, name) = (group_gate(group), ident(&group.accessor));
        quote!(#gate mod #name;)
    });
    let siblings = imported_siblings(&groups);
    let required = writer.required_feature();
    let incoming = writer.incoming_enum();
    let about = match plan.side {
        OperationSide::Paths => quote! {
            /// The server of this contract, with one method for each operation.
        },
        OperationSide::Webhooks => quote! {
            /// The receiver of the contract's webhooks and callbacks, with one method for each.
        },
    };
    let router = router_functions(plan.side);
    let authentication =
        config.has_authentication().then(|| authentication::authentication_items(plan)).flatten();
    let (imports, authentication) = authentication.map(|parts| (parts.imports, parts.items)).unzip();
    let root = quote! {
        #(#declarations)*

        #required

        use ::std::{future::Future, sync::Arc};
        use ::contract_runtime::operation::Operation;
        use ::contract_runtime::server::{
            self as runtime, Endpoints, FromIncomingRequest, HandlerFuture, IncomingRequest, Rejection,
            RequestContext, Response, Router, RouterOptions, TypedResponse,
        };
        use super::#table::{#id, TABLE};

        #siblings

        #imports

        #alias

        #about
        ///
        /// By default, a method returns `Rejection::NotImplemented` through [`Service::reject`], so that new
        /// operations do not break implementations.
        pub trait Service: Send + Sync + 'static {
            /// Converts a failure outside of the methods into a response: missing parameters, invalid bodies,
            /// unknown paths, panics.
            ///
            /// [`RequestContext::operation`] is `None` if no route was found.
            fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response;

            #(#methods)*
        }

        #router

        #authentication

        #incoming

        #(#requests)*
    };
    ModuleItems { root, groups }
}

fn router_functions(side: OperationSide) -> TokenStream {
    match side {
        OperationSide::Paths => quote! {
            /// Returns a router for all operations of the contract.
            ///
            /// Each call is checked in this order: route, media type, size of the body, query and
            /// parameters, body. The first failure is passed to [`Service::reject`].
            pub fn router<S: Service>(service: Arc<S>, options: RouterOptions) -> Router {
                endpoints(service, options).into_router()
            }

            /// Returns the endpoints of the router, for servers that add steps of their own.
            pub fn endpoints<S: Service>(service: Arc<S>, options: RouterOptions) -> Endpoints<S> {
                Endpoints::new(service, TABLE, options, S::reject, |service, request| {
                    Box::pin(async move { AnyCall::from_request(request)?.dispatch(service, request).await })
                })
            }
        },
        OperationSide::Webhooks => quote! {
            /// Returns a router for all webhooks and callbacks, each at the path that `path` returns. The
            /// receiver communicates these paths to the sender.
            ///
            /// Each call is checked in this order: route, media type, size of the body, query and
            /// parameters, body. The first failure is passed to [`Service::reject`].
            pub fn router<S: Service>(
                service: Arc<S>,
                path: impl Fn(&'static Operation) -> String,
                options: RouterOptions,
            ) -> Router {
                endpoints(service, path, options).into_router()
            }

            /// Returns the endpoints of the router, for servers that add steps of their own.
            pub fn endpoints<S: Service>(
                service: Arc<S>,
                path: impl Fn(&'static Operation) -> String,
                options: RouterOptions,
            ) -> Endpoints<S> {
                let endpoints = Endpoints::new(service, TABLE, options, S::reject, |service, request| {
                    Box::pin(async move { AnyCall::from_request(request)?.dispatch(service, request).await })
                });
                endpoints.with_webhook_paths(path)
            }
        },
    }
}

struct ServerWriter<'a> {
    plan: &'a SidePlan<'a>,
    types: &'a dyn RustTypes,
}

impl ServerWriter<'_> {
    /// Returns the path of the struct for a call, which client and server share.
    fn call_type(&self, call: &PlannedCall<'_>) -> TokenStream {
        let (module, name) = (ident(self.plan.side.calls_module()), ident(&call.name));
        quote!(super::#module::#name)
    }

    fn trait_method(&self, call: &PlannedCall<'_>) -> TokenStream {
        let about = doc_attributes(&doc_paragraphs(call));
        let name = ident(&call.method);
        let request = self.call_type(call);
        let success = self.success_type(call);
        let body = call.streams.body.as_ref().map(|body| {
            let ty = read_type(&body.content, self.types);
            quote!(body: #ty,)
        });
        let given = match &body {
            Some(_) => quote!((call, body, context)),
            None => quote!((call, context)),
        };
        let refusal = match call.errors.error_type() {
            refused if refused == self.plan.common_error => quote!(ErrorResponse),
            refused => {
                let ty = refused
                    .map_or_else(|| quote!(()), |refused| refused_type(self.plan.side, &refused, self.types));
                quote!(runtime::ErrorResponse<#ty>)
            }
        };
        let deprecated =
            call.operation.deprecated.then(|| quote!(#[doc = ""] #[doc = " Deprecated by the contract."]));
        let gate = call_gate(self.plan, call);
        quote! {
            #gate
            #about
            #deprecated
            fn #name(
                &self,
                call: #request,
                #body
                context: RequestContext,
            ) -> impl Future<Output = Result<#success, #refusal>> + Send {
                runtime::not_implemented(#given)
            }
        }
    }

    /// Returns the future that calls the method of the service with a request and encodes its result.
    fn answer(&self, call: &PlannedCall<'_>, value: &proc_macro2::Ident) -> TokenStream {
        let method = ident(&call.method);
        let arms = self.response_arms(call);
        let body = call.streams.body.as_ref().map(|_| quote!(request.read_stream(),));
        quote! {
            Box::pin(async move {
                match service.#method(#value, #body request.context()).await { #arms }
            })
        }
    }

    /// Writes the module of the calls of a tag. Returns `None` if none of them is served.
    fn group_module(&self, group: &ClientGroup) -> Option<Submodule> {
        let calls = self.plan.served_calls().filter(|call| call.accessor.as_ref() == Some(&group.accessor));
        let items: TokenStream = calls
            .map(|call| {
                let (request, ty) = (self.request_impl(call), self.call_type(call));
                let answer = self.answer(call, &ident("self"));
                quote! {
                    #request

                    impl #ty {
                        pub(super) fn dispatch<'a, S: Service>(
                            self,
                            service: &'a S,
                            request: &'a IncomingRequest,
                        ) -> HandlerFuture<'a> {
                            #answer
                        }
                    }
                }
            })
            .collect();
        let doc = format!("The calls with the tag `{}`.", rustdoc_markdown(&group.tag));
        (!items.is_empty()).then(|| Submodule {
            name: group.accessor.clone(),
            doc,
            items: quote!(use super::*; #items),
        })
    }

    /// Returns a `compile_error!` for builds that enable the feature of no tag. Returns `None` if tags have
    /// no features or if a call has no tag.
    fn required_feature(&self) -> Option<TokenStream> {
        let features: Vec<&String> =
            self.plan.groups.iter().filter_map(|group| group.feature.as_ref()).collect();
        let has_others = self.plan.served_calls().any(|call| call.accessor.is_none());
        (!features.is_empty() && !has_others).then(|| {
            let message = format!("the server requires the feature of a tag, such as `{}`", features[0]);
            quote!(#[cfg(not(any(#(feature = #features),*)))] compile_error!(#message);)
        })
    }

    /// Writes the enum `AnyCall`, which has one variant for the request of each operation.
    fn incoming_enum(&self) -> TokenStream {
        let id = ident(self.plan.side.table_names().1);
        let calls = || self.plan.served_calls();
        let variants = calls().map(|call| {
            let (name, ty) = (ident(&call.id), self.call_type(call));
            let about = doc_attributes(&[format!("`{}`", call.describe_place())]);
            let gate = call_gate(self.plan, call);
            quote!(#gate #about #name(#ty))
        });
        let reads = calls().map(|call| {
            let name = ident(&call.id);
            let gate = call_gate(self.plan, call);
            quote!(#gate Some(#id::#name) => FromIncomingRequest::from_request(request).map(Self::#name))
        });
        let ids = calls().map(|call| {
            let name = ident(&call.id);
            let gate = call_gate(self.plan, call);
            quote!(#gate Self::#name(_) => #id::#name)
        });
        let undeclared = calls().filter(|call| requests::holds_models(call)).map(|call| {
            let name = ident(&call.id);
            let gate = call_gate(self.plan, call);
            quote!(#gate Self::#name(call) => call.undeclared_members(limit),)
        });
        let undeclared: Vec<TokenStream> = undeclared.collect();
        let served = calls().count();
        let all = undeclared.len() == served;
        let undeclared = if undeclared.is_empty() {
            quote!({
                let _ = limit;
                Vec::new()
            })
        } else {
            let others = (!all).then(|| quote!(_ => Vec::new(),));
            quote!(match self { #(#undeclared)* #others })
        };
        let answers = calls().map(|call| {
            let (name, gate) = (ident(&call.id), call_gate(self.plan, call));
            match call.accessor {
                Some(_) => quote!(#gate Self::#name(call) => call.dispatch(service, request)),
                None => {
                    let answer = self.answer(call, &ident("call"));
                    quote!(Self::#name(call) => #answer)
                }
            }
        });
        let all_compiled = self.plan.groups.iter().all(|group| group.feature.is_none());
        let unread = if served == self.plan.calls.len() && all_compiled { quote!(None) } else { quote!(_) };
        let large = (served > 1).then(|| {
            quote!(#[allow(clippy::large_enum_variant, reason = "requests are handled one at a time; boxing each costs more than the space")])
        });
        let equality =
            EqualityTraits::weakest_of(calls().map(|call| call_equality(call, self.types))).derive_list();
        quote! {
            /// The parsed request of any operation, to inspect before it is handled.
            #[derive(Clone, Debug, #equality)]
            #large
            pub enum AnyCall { #(#variants),* }

            impl AnyCall {
                /// Parses the request of a call.
                ///
                /// # Errors
                /// Returns an error if the request is invalid or the call belongs to another table.
                pub fn from_request(request: &IncomingRequest) -> Result<Self, Rejection> {
                    match #id::from_operation(request.operation()) {
                        #(#reads,)*
                        #unread => Err(Rejection::NotFound),
                    }
                }

                /// Returns the operation of the request.
                #[must_use]
                pub const fn operation_id(&self) -> #id {
                    match self { #(#ids),* }
                }

                /// Returns JSON Pointers to undeclared fields of the body, at most `limit` of them.
                #[must_use]
                pub fn undeclared_members(&self, limit: usize) -> Vec<String> {
                    #undeclared
                }

                /// Calls the method of the service and writes its response.
                pub fn dispatch<'a, S: Service>(
                    self,
                    service: &'a S,
                    request: &'a IncomingRequest,
                ) -> HandlerFuture<'a> {
                    match self { #(#answers,)* }
                }
            }
        }
    }
}

fn doc_paragraphs(call: &PlannedCall<'_>) -> Vec<String> {
    let operation = call.operation;
    let mut paragraphs: Vec<String> = Vec::new();
    paragraphs.extend(operation.summary.as_deref().map(|text| rustdoc_markdown(&end_sentence(text))));
    paragraphs.extend(operation.description.as_deref().map(rustdoc_markdown));
    paragraphs.push(format!("`{}`", call.describe_place()));
    paragraphs
}

#[cfg(test)]
mod tests;
