//! The generated module `operations`: what the contract says of each operation, as a table.
//!
//! ```text
//! Api ──► plan (names, parameters, bodies; what is refused) ──► table, OperationId, Scope
//!                                                        └────► server interface
//! ```

mod bodies;
mod multipart;
mod order;
mod parameters;
mod plan;
mod reason;
mod strings;
mod types;

use contract_runtime::Json;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;

pub(crate) use bodies::{BodyPlan, BodyVariant, ContentPlan, Format, is_json, is_text, subtype};
pub(crate) use plan::{ParameterPlan, Plan, plan, validator, validator_option};
pub(crate) use reason::reason;
pub(crate) use strings::{StringEnum, StringValue};
pub use types::bodies;

use crate::{
    api::{Api, Operation, ParameterIn},
    config::OperationConfig,
    diagnostics::Diagnostics,
    emit::{ident, markdown},
    names,
    rust_types::RustTypes,
    schema::Graph,
};

/// What the operations of a contract are read from.
#[derive(Clone, Copy)]
pub struct Contract<'a> {
    /// All schemas.
    pub graph: &'a Graph,
    /// All operations.
    pub api: &'a Api,
    /// The types of the schemas.
    pub types: &'a dyn RustTypes,
    /// What the contract does not say.
    pub config: &'a OperationConfig,
    /// Which of its operations.
    pub side: Side,
}

/// Which operations of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Side {
    /// Those below `paths`, which clients call.
    #[default]
    Paths,
    /// Those below `webhooks`, and callbacks, which the interface itself calls.
    Webhooks,
}

impl Side {
    /// The module of request bodies.
    pub(crate) const fn bodies(self) -> &'static str {
        match self {
            Self::Paths => "bodies",
            Self::Webhooks => "webhook_bodies",
        }
    }

    /// The module of the table, and the enum of ids in it.
    pub(crate) const fn table(self) -> (&'static str, &'static str) {
        match self {
            Self::Paths => ("operations", "OperationId"),
            Self::Webhooks => ("webhooks", "WebhookId"),
        }
    }
}

impl<'a> Contract<'a> {
    /// The operations of its side.
    pub(crate) fn operations(&self) -> &'a [Operation] {
        match self.side {
            Side::Paths => &self.api.operations,
            Side::Webhooks => &self.api.webhooks,
        }
    }
}

impl std::fmt::Debug for Contract<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contract").field("api", self.api).finish_non_exhaustive()
    }
}

/// Writes the module `operations` (or `webhooks`), a direct child of the generated root.
///
/// `diagnostics` gets an error for two operations at one place.
pub fn operations(contract: Contract<'_>, diagnostics: &mut Diagnostics) -> TokenStream {
    let plans = plan(contract);
    let order = match contract.side {
        Side::Paths => order::order(contract.operations(), diagnostics),
        // Their paths are names; where each is received is the receiver's choice.
        Side::Webhooks => (0..plans.len()).collect(),
    };
    let order = order.into_iter().map(proc_macro2::Literal::usize_unsuffixed);
    let shared = Shared::of(&plans);
    let rows: Vec<TokenStream> = plans.iter().map(|plan| row(plan, &shared)).collect();
    let consts = shared.items();
    let imports = imports(&quote!(#consts #(#rows)*));
    let (_, id) = contract.side.table();
    let (every, list) = match contract.side {
        Side::Paths => ("operations", "OPERATIONS"),
        Side::Webhooks => ("webhooks and callbacks", "WEBHOOKS"),
    };
    let ids = StringEnum {
        name: id,
        doc: vec![format!("The {every}, by `operationId`.")],
        values: plans.iter().map(|plan| value(plan)).collect(),
    };
    let ids = ids.tokens(false);
    let scopes = (contract.side == Side::Paths).then(|| scopes(contract.api));
    let (id, list) = (ident(id), ident(list));
    let about = format!(
        " Every {}, in the order of the contract.",
        every.trim_end_matches('s').replace("webhooks and callback", "webhook and callback")
    );
    let search = match contract.side {
        Side::Paths => " Every operation, to search by id or by method and path.",
        Side::Webhooks => " Every webhook and callback, to search by id; their paths are their names.",
    };
    quote! {
        #imports

        #consts

        #[doc = #about]
        pub static #list: &[Operation] = &[#(#rows),*];

        #[doc = #search]
        pub const TABLE: Operations = Operations::new(#list, &[#(#order),*]);

        #ids

        impl #id {
            /// What the contract says of it.
            #[must_use]
            pub const fn operation(self) -> &'static Operation {
                &#list[self as usize]
            }
        }

        #scopes
    }
}

/// The imports that the table needs.
fn imports(table: &TokenStream) -> TokenStream {
    let used = |names: &[&str]| -> Vec<_> {
        names.iter().filter(|name| mentions(table, name)).map(|name| ident(name)).collect()
    };
    let operation = used(&["Body", "Content", "Format"]);
    let more = used(&["Part", "PartForm", "Parts"]);
    let parameters = used(&["Parameter", "Scalar", "Shape", "Style"]);
    let parameters =
        (!parameters.is_empty()).then(|| quote!(use ::contract_runtime::parameters::{#(#parameters),*};));
    let types = mentions(table, "Types").then(|| {
        quote!(
            use ::contract_runtime::schema::Types;
        )
    });
    quote! {
        use ::contract_runtime::operation::{#(#operation,)* Operation, Operations, #(#more),*};
        #parameters
        #types
    }
}

pub(crate) fn mentions(tokens: &TokenStream, name: &str) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => mentions(&group.stream(), name),
        _ => false,
    })
}

/// Parameters that several operations have alike, as constants.
struct Shared(Vec<(String, TokenStream, Ident)>);

impl Shared {
    fn of(plans: &[Plan<'_>]) -> Self {
        let mut counts: Vec<(String, TokenStream, &str, usize)> = Vec::new();
        for parameter in plans.iter().flat_map(|plan| &plan.parameters) {
            let tokens = parameter.tokens();
            let text = tokens.to_string();
            match counts.iter_mut().find(|(known, ..)| *known == text) {
                Some((.., count)) => *count += 1,
                None => counts.push((text, tokens, &parameter.parameter.name, 1)),
            }
        }
        counts.retain(|(.., count)| *count > 1);
        let wires: Vec<&str> = counts.iter().map(|(_, _, wire, _)| *wire).collect();
        let mut names: Vec<String> = wires.iter().map(|wire| names::field_name(wire)).collect();
        names::make_distinct(&wires, &mut names);
        let named = counts.iter().zip(names).map(|((text, tokens, ..), name)| {
            let name = name.trim_end_matches('_').to_uppercase();
            // Apart from the table's own names.
            (text.clone(), tokens.clone(), quote::format_ident!("{name}_PARAMETER"))
        });
        Self(named.collect())
    }

    fn items(&self) -> TokenStream {
        let items = self.0.iter().map(|(_, tokens, name)| quote!(const #name: Parameter = #tokens;));
        quote!(#(#items)*)
    }

    fn reference(&self, parameter: &ParameterPlan<'_>) -> TokenStream {
        let tokens = parameter.tokens();
        let text = tokens.to_string();
        match self.0.iter().find(|(known, ..)| *known == text) {
            Some((.., name)) => quote!(#name),
            None => tokens,
        }
    }
}

fn value(plan: &Plan<'_>) -> StringValue {
    let Operation { id, method, path, summary, .. } = plan.operation;
    let mut doc = vec![format!("`{method} {path}`")];
    doc.extend(summary.as_deref().map(sentence));
    doc.reverse();
    StringValue { wire: id.clone(), name: plan.type_name.clone(), doc }
}

fn row(plan: &Plan<'_>, shared: &Shared) -> TokenStream {
    let Operation { id, method, path, tags, deprecated, .. } = plan.operation;
    let summary = plan.operation.summary.as_deref().unwrap_or("");
    let anonymous = plan.operation.security.is_empty() || plan.operation.security.iter().any(Vec::is_empty);
    let scopes = alternatives(plan.operation);
    let idempotent = plan.idempotent;
    let parameters = plan.parameters.iter().map(|parameter| shared.reference(parameter));
    let body = match &plan.body {
        Some(body) => {
            let body = body.tokens();
            quote!(Some(#body))
        }
        None => quote!(None),
    };
    let mut success: Vec<u16> = plan
        .operation
        .responses
        .iter()
        .filter_map(|r| match r.status {
            crate::api::Status::Code(code) if code < 400 => Some(code),
            _ => None,
        })
        .collect();
    success.sort_unstable();
    success.dedup();
    let success = success.into_iter().map(proc_macro2::Literal::u16_unsuffixed);
    let servers = &plan.operation.servers;
    quote! {
        Operation {
            id: #id,
            method: #method,
            path: #path,
            tags: &[#(#tags),*],
            summary: #summary,
            anonymous: #anonymous,
            scopes: &[#(&[#(#scopes),*]),*],
            idempotent: #idempotent,
            deprecated: #deprecated,
            parameters: &[#(#parameters),*],
            body: #body,
            success: &[#(#success),*],
            servers: &[#(#servers),*],
        }
    }
}

/// The alternatives of scopes, each once. None when some alternative asks for no scope.
fn alternatives(operation: &Operation) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> = Vec::new();
    for alternative in &operation.security {
        let mut scopes: Vec<&str> =
            alternative.iter().flat_map(|(_, scopes)| scopes).map(String::as_str).collect();
        scopes.sort_unstable();
        scopes.dedup();
        if scopes.is_empty() {
            return Vec::new();
        }
        if !all.contains(&scopes) {
            all.push(scopes);
        }
    }
    all
}

/// The enum of scopes: those that security schemes declare, in their order, then those that
/// operations ask for beside them. Nothing when there are none.
fn scopes(api: &Api) -> Option<TokenStream> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |scope: &str, doc: Option<&str>| {
        if !all.iter().any(|(known, _)| known == scope) {
            let doc = doc.filter(|doc| !doc.is_empty()).map(markdown);
            all.push((scope.to_owned(), doc.into_iter().collect()));
        }
    };
    for (_, scheme) in &api.security_schemes {
        let Some(Json::Object(flows)) = scheme.pointer("/flows") else { continue };
        for (_, flow) in flows.iter() {
            let Some(Json::Object(scopes)) = flow.pointer("/scopes") else { continue };
            for (scope, doc) in scopes.iter() {
                add(scope, doc.as_str());
            }
        }
    }
    for scope in api.operations.iter().flat_map(alternatives).flatten() {
        add(scope, None);
    }
    if all.is_empty() {
        return None;
    }
    let wires: Vec<&str> = all.iter().map(|(scope, _)| scope.as_str()).collect();
    let mut variants: Vec<String> = wires.iter().map(|wire| names::variant_name(wire)).collect();
    names::make_distinct(&wires, &mut variants);
    let values = all.iter().zip(&variants).map(|((wire, doc), name)| StringValue {
        wire: wire.clone(),
        name: name.clone(),
        doc: doc.clone(),
    });
    let scopes = StringEnum {
        name: "Scope",
        doc: vec!["The scopes that operations ask for.".to_owned()],
        values: values.collect(),
    };
    Some(scopes.tokens(false))
}

/// A summary, which often ends without a full stop.
pub(crate) fn sentence(summary: &str) -> String {
    let text = markdown(summary);
    if text.ends_with(['.', '!', '?', ':']) { text } else { format!("{text}.") }
}

/// `#[doc]` attributes for paragraphs of Markdown.
pub(crate) fn doc(paragraphs: &[String]) -> TokenStream {
    let text = paragraphs.join("\n\n");
    let lines = text.lines().map(str::trim_end);
    let lines = lines.map(|l| if l.is_empty() { String::new() } else { format!(" {l}") });
    quote!(#(#[doc = #lines])*)
}

/// As Rust's and the contract's words call a location.
pub(crate) fn location_name(location: ParameterIn) -> (&'static str, proc_macro2::Ident) {
    match location {
        ParameterIn::Path => ("path", ident("Path")),
        ParameterIn::Query => ("query", ident("Query")),
        ParameterIn::Header => ("header", ident("Header")),
        ParameterIn::Cookie => ("cookie", ident("Cookie")),
    }
}

#[cfg(test)]
pub(crate) mod tests;
