//! The generated module `server`: a trait to implement, a router that calls it.
//!
//! Generated code holds what differs between operations: the fields of a request, the type of
//! an answer, the status and media type it is written with. The order of steps, limits,
//! checks and failures are `contract_runtime::server`, the same for every contract.

mod answers;
mod requests;

use proc_macro2::TokenStream;
use quote::quote;

use answers::Answers;

use crate::{
    diagnostics::Diagnostics,
    emit::{ident, markdown},
    operations::{Contract, Plan, Side, doc, plan, sentence},
};

/// Writes the module `server` (or `webhook_server`), a direct child of the generated root
/// beside `operations` (or `webhooks`).
pub fn server(contract: Contract<'_>, diagnostics: &mut Diagnostics) -> TokenStream {
    let plans = plan(contract);
    let answers = plans.iter().map(|plan| answers::answers(contract, plan, diagnostics));
    let mut answers: Vec<Answers> = answers.collect();
    answers::share(&mut answers);
    answers::make_distinct(&plans, &mut answers);
    let alias = answers::commonest(&answers);
    let both = || plans.iter().zip(&answers);

    let uses = uses(contract, &answers);
    let alias_item = alias.as_ref().map(|problem| {
        quote! {
            /// Why most operations refuse: the contract's problem with its status.
            pub type Refusal = ::contract_runtime::server::Refusal<#problem>;
        }
    });
    let methods = both().map(|(plan, answers)| method(plan, answers, alias.as_ref()));
    let routes = both().map(|(plan, answers)| route(plan, answers));
    let items = both().map(|(plan, answers)| {
        let request = requests::request(contract, plan);
        let answer = answers.items();
        quote!(#request #answer)
    });
    let (about, router) = match contract.side {
        Side::Paths => (
            quote! {
                /// What this contract's server does, one method per operation.
            },
            quote! {
                /// Serves every operation of the contract.
                ///
                /// Each call is checked in this order: route, media type, size of the body, query and
                /// parameters, body. The first failure goes to [`Service::reject`].
                pub fn router<S: Service>(service: Arc<S>, options: RouterOptions) -> Router {
                    Endpoints::new(service, TABLE, options, S::reject)
                        #(#routes)*
                        .into_router()
                }
            },
        ),
        Side::Webhooks => (
            quote! {
                /// What receives this contract's webhooks and callbacks, one method for each.
            },
            quote! {
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
                    Endpoints::new(service, TABLE, options, S::reject)
                        #(#routes)*
                        .at(path)
                        .into_router()
                }
            },
        ),
    };
    quote! {
        #uses

        #alias_item

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

        #(#items)*
    }
}

/// The imports, each only when it is used.
fn uses(contract: Contract<'_>, answers: &[Answers]) -> TokenStream {
    let (table, id) = contract.side.table();
    let (table, id) = (ident(table), ident(id));
    if answers.is_empty() {
        return quote! {
            use ::std::sync::Arc;
            use ::contract_runtime::server::{Context, Endpoints, Rejection, Response, Router, RouterOptions};
            use super::#table::TABLE;
        };
    }
    quote! {
        use ::std::{future::Future, sync::Arc};
        use ::contract_runtime::operation::Operation;
        use ::contract_runtime::server::{
            self as runtime, Call, Context, Endpoints, Rejection, Reply, Request, Response, Router,
            RouterOptions,
        };
        use super::#table::{#id, TABLE};
    }
}

fn method(plan: &Plan<'_>, answers: &Answers, alias: Option<&TokenStream>) -> TokenStream {
    let about = doc(&documentation(plan));
    let name = ident(&plan.method_name);
    let request = ident(&plan.type_name);
    let success = answers.success_type();
    let refusal = answers.refusal_type(alias);
    let deprecated =
        plan.operation.deprecated.then(|| quote!(#[doc = ""] #[doc = " Deprecated by the contract."]));
    quote! {
        #about
        #deprecated
        fn #name(
            &self,
            request: #request,
        ) -> impl Future<Output = Result<#success, #refusal>> + Send {
            runtime::not_implemented(request)
        }
    }
}

fn documentation(plan: &Plan<'_>) -> Vec<String> {
    let operation = plan.operation;
    let mut paragraphs: Vec<String> = Vec::new();
    paragraphs.extend(operation.summary.as_deref().map(sentence));
    paragraphs.extend(operation.description.as_deref().map(markdown));
    paragraphs.push(format!("`{} {}`", operation.method, operation.path));
    paragraphs
}

fn route(plan: &Plan<'_>, answers: &Answers) -> TokenStream {
    let method = ident(&plan.method_name);
    let request = ident(&plan.type_name);
    let success = answers.success_arms();
    let refusal = answers.refusal_arm();
    quote! {
        .on(#request::OPERATION, |service, call| Box::pin(async move {
            match service.#method(#request::read(&call)?).await {
                #(#success)*
                #refusal
            }
        }))
    }
}

#[cfg(test)]
mod tests;
