//! The generated module `server`: a trait to implement, a router that calls it.
//!
//! Generated code holds what differs between operations: how a request is read, the status and
//! media type that an answer is written with. The order of steps, limits, checks and failures
//! are `contract_runtime::server`, the same for every contract.

mod answers;
mod requests;

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    calls::{equality, read_type, refused_type},
    emit::{ident, markdown, sentence},
    operations::doc,
    plan::{Call, Plan, Side},
    rust_types::{Equality, RustTypes},
};

/// Writes the module `server` (or `webhook_server`), a direct child of the generated root
/// beside `operations` (or `webhooks`).
pub fn server(plan: &Plan<'_>, types: &dyn RustTypes) -> TokenStream {
    let writer = Writer { plan, types };
    let (table, id) = plan.side.table();
    let (table, id) = (ident(table), ident(id));
    let alias = plan.common.as_ref().map(|refused| {
        let ty = refused_type(plan.side, refused, types);
        quote! {
            /// Why most operations refuse: what the contract gives for it, with its status.
            pub type Refusal = ::contract_runtime::server::Refusal<#ty>;
        }
    });
    let methods = plan.served().map(|call| writer.method(call));
    let requests = plan.served().map(|call| writer.request(call));
    let incoming = writer.incoming();
    let about = match plan.side {
        Side::Paths => quote! {
            /// What this contract's server does, one method per operation.
        },
        Side::Webhooks => quote! {
            /// What receives this contract's webhooks and callbacks, one method for each.
        },
    };
    let router = router(plan.side);
    quote! {
        use ::std::{future::Future, sync::Arc};
        use ::contract_runtime::operation::Operation;
        use ::contract_runtime::server::{
            self as runtime, Call, Context, Endpoints, Handling, Rejection, Reply, Request, Response, Router,
            RouterOptions,
        };
        use super::#table::{#id, TABLE};

        #alias

        #about
        ///
        /// A method that is not written answers `Rejection::NotImplemented` through
        /// [`Service::reject`], so that a new operation breaks nobody.
        pub trait Service: Send + Sync + 'static {
            /// Turns what failed before or beside a method into an answer of the contract.
            ///
            /// The one place for that: missing parameters, invalid bodies, unknown paths,
            /// panics. [`Context::operation`] is `None` when no route was found.
            fn reject(&self, context: &Context, rejection: Rejection) -> Response;

            #(#methods)*
        }

        #router

        #incoming

        #(#requests)*
    }
}

fn router(side: Side) -> TokenStream {
    match side {
        Side::Paths => quote! {
            /// Serves every operation of the contract.
            ///
            /// Each call is checked in this order: route, media type, size of the body, query and
            /// parameters, body. The first failure goes to [`Service::reject`].
            pub fn router<S: Service>(service: Arc<S>, options: RouterOptions) -> Router {
                endpoints(service, options).into_router()
            }

            /// The same as single steps, for whoever has steps of its own between them.
            pub fn endpoints<S: Service>(service: Arc<S>, options: RouterOptions) -> Endpoints<S> {
                Endpoints::new(service, TABLE, options, S::reject, |service, call| {
                    Box::pin(async move { Incoming::read(call)?.answer(service, call).await })
                })
            }
        },
        Side::Webhooks => quote! {
            /// Receives every webhook and callback, each at the path that `path` gives for it:
            /// where that is, the receiver tells the sender.
            ///
            /// Each call is checked in this order: route, media type, size of the body, query and
            /// parameters, body. The first failure goes to [`Service::reject`].
            pub fn router<S: Service>(
                service: Arc<S>,
                path: impl Fn(&'static Operation) -> String,
                options: RouterOptions,
            ) -> Router {
                endpoints(service, path, options).into_router()
            }

            /// The same as single steps, for whoever has steps of its own between them.
            pub fn endpoints<S: Service>(
                service: Arc<S>,
                path: impl Fn(&'static Operation) -> String,
                options: RouterOptions,
            ) -> Endpoints<S> {
                let endpoints = Endpoints::new(service, TABLE, options, S::reject, |service, call| {
                    Box::pin(async move { Incoming::read(call)?.answer(service, call).await })
                });
                endpoints.at(path)
            }
        },
    }
}

struct Writer<'a> {
    plan: &'a Plan<'a>,
    types: &'a dyn RustTypes,
}

impl Writer<'_> {
    /// The struct of a call, in the module that both sides share.
    fn call_type(&self, call: &Call<'_>) -> TokenStream {
        let (module, name) = (ident(self.plan.side.calls()), ident(&call.name));
        quote!(super::#module::#name)
    }

    fn method(&self, call: &Call<'_>) -> TokenStream {
        let about = doc(&documentation(call));
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
        let refusal = match call.refusals.refused() {
            refused if refused == self.plan.common => quote!(Refusal),
            refused => {
                let ty = refused
                    .map_or_else(|| quote!(()), |refused| refused_type(self.plan.side, &refused, self.types));
                quote!(runtime::Refusal<#ty>)
            }
        };
        let deprecated =
            call.operation.deprecated.then(|| quote!(#[doc = ""] #[doc = " Deprecated by the contract."]));
        quote! {
            #about
            #deprecated
            fn #name(
                &self,
                call: #request,
                #body
                context: Context,
            ) -> impl Future<Output = Result<#success, #refusal>> + Send {
                runtime::not_implemented(#given)
            }
        }
    }

    /// The enum of all requests.
    fn incoming(&self) -> TokenStream {
        let id = ident(self.plan.side.table().1);
        let calls = || self.plan.served();
        let variants = calls().map(|call| {
            let (name, ty) = (ident(&call.id), self.call_type(call));
            let about = doc(&[format!("`{}`", call.place())]);
            quote!(#about #name(#ty))
        });
        let reads = calls().map(|call| {
            let name = ident(&call.id);
            quote!(Some(#id::#name) => Request::read(call).map(Self::#name))
        });
        let ids = calls().map(|call| {
            let name = ident(&call.id);
            quote!(Self::#name(_) => #id::#name)
        });
        let undeclared = calls().filter(|call| requests::holds_models(call)).map(|call| {
            let name = ident(&call.id);
            quote!(Self::#name(call) => call.undeclared(limit),)
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
            let (name, method) = (ident(&call.id), ident(&call.method));
            let arms = self.arms(call);
            let body = call.streams.body.as_ref().map(|_| quote!(call.pieces(),));
            quote! {
                Self::#name(request) => Box::pin(async move {
                    match service.#method(request, #body call.context()).await { #arms }
                })
            }
        });
        let unread = if served == self.plan.calls.len() { quote!(None) } else { quote!(_) };
        let large = (served > 1).then(|| {
            quote!(#[allow(clippy::large_enum_variant, reason = "one at a time is on its way; a pointer for each costs more than the space")])
        });
        let equality = Equality::of_all(calls().map(|call| equality(call, self.types))).derives();
        quote! {
            /// The request of any operation: read once, looked at by whoever has to, answered.
            #[derive(Clone, Debug, #equality)]
            #large
            pub enum Incoming { #(#variants),* }

            impl Incoming {
                /// Reads the request of a call.
                ///
                /// # Errors
                /// When its body is refused, or the call is of another table.
                pub fn read(call: &Call) -> Result<Self, Rejection> {
                    match #id::of(call.operation()) {
                        #(#reads,)*
                        #unread => Err(Rejection::NotFound),
                    }
                }

                /// Its operation.
                #[must_use]
                pub const fn id(&self) -> #id {
                    match self { #(#ids),* }
                }

                /// JSON Pointers of at most `limit` fields of the body that the contract does not
                /// declare, whatever their length.
                #[must_use]
                pub fn undeclared(&self, limit: usize) -> Vec<String> {
                    #undeclared
                }

                /// Hands it to the service's method and writes what that answers.
                pub fn answer<'a, S: Service>(self, service: &'a S, call: &'a Call) -> Handling<'a> {
                    match self { #(#answers,)* }
                }
            }
        }
    }
}

fn documentation(call: &Call<'_>) -> Vec<String> {
    let operation = call.operation;
    let mut paragraphs: Vec<String> = Vec::new();
    paragraphs.extend(operation.summary.as_deref().map(|text| markdown(&sentence(text))));
    paragraphs.extend(operation.description.as_deref().map(markdown));
    paragraphs.push(format!("`{}`", call.place()));
    paragraphs
}

#[cfg(test)]
mod tests;
