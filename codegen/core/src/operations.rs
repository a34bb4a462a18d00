//! Generates the module `operations`: a table of all operations and their properties.

mod bodies;
mod rows;
mod strings;
mod submodules;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

pub use bodies::request_bodies_module;
pub(crate) use bodies::{body_equality, whole_type};
pub(crate) use strings::{StringEnumItem, StringValue};
pub use submodules::{ModuleItems, Submodule};
pub(crate) use submodules::{call_gate, group_gate, imported_siblings};

use crate::{
    api::{self, Operation, StatusPattern},
    constraint_text::sanitize_comment,
    emit::{end_sentence, ident, rustdoc_markdown},
    names,
    plan::{
        OperationSide, ParameterRow, PlannedCall, ResponseOutcome, ResponsePayload, ResponseSet, RetrySafety,
        SCOPE, SidePlan,
    },
    rust_types::RustTypes,
    schema::SchemaGraph,
};
use rows::RowWriter;

impl OperationSide {
    /// Returns the name of the generated module with the types of request bodies.
    pub(crate) const fn bodies_module(self) -> &'static str {
        match self {
            Self::Paths => "bodies",
            Self::Webhooks => "webhook_bodies",
        }
    }

    /// Returns the name of the generated module with the structs of calls.
    pub(crate) const fn calls_module(self) -> &'static str {
        match self {
            Self::Paths => "calls",
            Self::Webhooks => "webhook_calls",
        }
    }

    /// Returns the name of the generated module with the enums of success and error responses.
    pub(crate) const fn answers_module(self) -> &'static str {
        match self {
            Self::Paths => "responses",
            Self::Webhooks => "webhook_responses",
        }
    }

    /// Returns the name of the generated module with the response headers that clients read.
    pub(crate) const fn headers_module(self) -> &'static str {
        match self {
            Self::Paths => "headers",
            Self::Webhooks => "webhook_headers",
        }
    }

    /// Returns the name of the generated module with the response headers that servers send.
    pub(crate) const fn sent_headers_module(self) -> &'static str {
        match self {
            Self::Paths => "response_headers",
            Self::Webhooks => "webhook_response_headers",
        }
    }

    /// Returns the name of the generated module with the operation table, and the name of the enum of
    /// operation ids in it.
    pub(crate) const fn table_names(self) -> (&'static str, &'static str) {
        match self {
            Self::Paths => ("operations", "OperationId"),
            Self::Webhooks => ("webhooks", "WebhookId"),
        }
    }
}

/// The runtime types to which the operation table refers, collected for its `use` declarations.
#[derive(Default)]
struct UsedRuntimeTypes {
    operation: BTreeSet<&'static str>,
    parameters: BTreeSet<&'static str>,
    types: bool,
    /// True if the table refers to the generated module `schemas`.
    schemas: bool,
}

/// Generates the module with the operation table of one side: `operations` or `webhooks`, a direct child of
/// the generated root.
pub fn operations_module(plan: &SidePlan<'_>, graph: &SchemaGraph, types: &dyn RustTypes) -> TokenStream {
    let order = plan.order.iter().map(|&index| Literal::usize_unsuffixed(index));
    let mut rows = RowWriter { graph, types, plan: Some(plan), used: UsedRuntimeTypes::default() };
    let shared = SharedParameters::from_plan(plan);
    let consts = shared.constant_items(&mut rows);
    let table: Vec<TokenStream> = plan
        .calls
        .iter()
        .zip(table_paths(plan))
        .map(|(call, path)| operation_row(call, path, &shared, &mut rows))
        .collect();
    let imports = import_items(&rows.used);
    let (_, id) = plan.side.table_names();
    let (every, list) = match plan.side {
        OperationSide::Paths => ("operations", "OPERATIONS"),
        OperationSide::Webhooks => ("webhooks and callbacks", "WEBHOOKS"),
    };
    let ids = StringEnumItem {
        name: id,
        doc: vec![format!("The {every}, by `operationId`.")],
        values: plan.calls.iter().map(id_value).collect(),
    };
    let ids = ids.to_tokens(false);
    let scopes = scopes_enum(plan);
    let (id, list) = (ident(id), ident(list));
    let about = match plan.side {
        OperationSide::Paths => " Every operation, in the order of the contract.",
        OperationSide::Webhooks => " Every webhook and callback, in the order of the contract.",
    };
    let search = match plan.side {
        OperationSide::Paths => " Every operation, to search by id or by method and path.",
        OperationSide::Webhooks => {
            " Every webhook and callback, to search by id; their paths are their names, without a leading `/`."
        }
    };
    quote! {
        #imports

        #consts

        #[doc = #about]
        #[rustfmt::skip]
        pub static #list: &[Operation] = &[#(#table),*];

        #[doc = #search]
        pub const TABLE: OperationTable = OperationTable::new(#list, &[#(#order),*]);

        #ids

        impl #id {
            /// Returns the description of the operation.
            #[must_use]
            pub const fn operation(self) -> &'static Operation {
                &#list[self as usize]
            }

            /// Returns the id of an operation in this table.
            #[must_use]
            pub fn from_operation(operation: &Operation) -> Option<Self> {
                operation.id.parse().ok()
            }
        }

        #scopes
    }
}

/// Generates rows of response headers, with the imports that they need.
pub(crate) fn header_rows<'r>(
    headers: impl Iterator<Item = &'r ParameterRow>,
    graph: &SchemaGraph,
    types: &dyn RustTypes,
) -> (Vec<TokenStream>, TokenStream) {
    let mut rows = RowWriter { graph, types, plan: None, used: UsedRuntimeTypes::default() };
    let headers: Vec<TokenStream> = headers.map(|row| rows.parameter_row(row)).collect();
    (headers, parameter_imports(&rows.used))
}

fn import_items(used: &UsedRuntimeTypes) -> TokenStream {
    let operation = used.operation.iter().copied().chain(["Operation", "OperationTable"]);
    let operation: BTreeSet<&str> = operation.collect();
    let operation = operation.into_iter().map(ident);
    let parameters = parameter_imports(used);
    quote! {
        use ::contract_runtime::operation::{#(#operation),*};
        #parameters
    }
}

/// Returns the imports of the runtime types in rows of parameters.
fn parameter_imports(used: &UsedRuntimeTypes) -> TokenStream {
    let parameters = (!used.parameters.is_empty()).then(|| {
        let parameters = used.parameters.iter().map(|name| ident(name));
        quote!(use ::contract_runtime::parameters::{#(#parameters),*};)
    });
    let types = used.types.then(|| {
        quote!(
            use ::contract_runtime::schema::TypeSet;
        )
    });
    let schemas = used.schemas.then(|| {
        quote!(
            use super::schemas;
        )
    });
    quote! {
        #parameters
        #types
        #schemas
    }
}

/// The names of the constants for parameters that several operations share.
struct SharedParameters<'p>(BTreeMap<&'p ParameterRow, Ident>);

impl<'p> SharedParameters<'p> {
    fn from_plan(plan: &'p SidePlan<'_>) -> Self {
        let mut counts: BTreeMap<&ParameterRow, usize> = BTreeMap::new();
        // The constants are named in document order, which determines the numbers that distinguish equal
        // names.
        let mut order: Vec<&ParameterRow> = Vec::new();
        for parameter in plan.calls.iter().flat_map(|call| &call.parameters) {
            let count = counts.entry(&parameter.row).or_default();
            *count += 1;
            if *count == 2 {
                order.push(&parameter.row);
            }
        }
        let wires: Vec<&str> = order.iter().map(|row| row.name.as_str()).collect();
        let mut names: Vec<String> = wires.iter().map(|wire| names::field_name(wire)).collect();
        names::make_distinct(&wires, &mut names);
        let named = order.into_iter().zip(names).map(|(row, name)| {
            let name = name.trim_end_matches('_').to_uppercase();
            // The suffix avoids clashes with the other names in the module.
            (row, format_ident!("{name}_PARAMETER"))
        });
        Self(named.collect())
    }

    fn constant_items(&self, rows: &mut RowWriter<'_>) -> TokenStream {
        let items = self.0.iter().map(|(row, name)| {
            let tokens = rows.parameter_row(row);
            quote!(const #name: Parameter = #tokens;)
        });
        items.collect()
    }
}

fn id_value(call: &PlannedCall<'_>) -> StringValue {
    let mut doc: Vec<String> = call
        .operation
        .summary
        .as_deref()
        .map(|text| rustdoc_markdown(&end_sentence(text)))
        .into_iter()
        .collect();
    doc.push(format!("`{}`", call.describe_place()));
    StringValue { wire: call.operation.id.clone(), name: call.id.clone(), doc }
}

/// Returns the path of each call in the table. For a webhook or callback, this is its name, or its operation
/// id if an earlier call has the same name and method.
fn table_paths<'a>(plan: &SidePlan<'a>) -> Vec<&'a str> {
    let mut taken = BTreeSet::new();
    let path = |call: &PlannedCall<'a>| {
        let Operation { id, method, path, route, .. } = call.operation;
        if plan.side == OperationSide::Paths {
            return route.as_str();
        }
        // A leading `/` is removed, because the runtime would treat the name as a path below the client's
        // base URL.
        let [name, id] = [path, id].map(|name| name.trim_start_matches('/'));
        [name, id].into_iter().find(|each| taken.insert((method, *each))).unwrap_or(id)
    };
    plan.calls.iter().map(path).collect()
}

fn operation_row(
    call: &PlannedCall<'_>,
    path: &str,
    shared: &SharedParameters<'_>,
    rows: &mut RowWriter<'_>,
) -> TokenStream {
    let Operation { id, method, tags, deprecated, servers, .. } = call.operation;
    let servers = servers.iter().map(|server| &server.url);
    let summary = call.operation.summary.as_deref().unwrap_or("");
    let (anonymous, scopes) = (call.anonymous, &call.scopes);
    let idempotent = call.requires_key;
    let repeat = ident(match call.retry {
        RetrySafety::Safe => "Safe",
        RetrySafety::Idempotent => "Idempotent",
        RetrySafety::Keyed => "Keyed",
        RetrySafety::ByMethod if call.operation.has_safe_method() => "Safe",
        RetrySafety::ByMethod if call.operation.has_idempotent_method() => "Idempotent",
        RetrySafety::ByMethod => "NonIdempotent",
    });
    rows.used.operation.insert("RepeatSafety");
    let parameters = call.parameters.iter().map(|parameter| match shared.0.get(&parameter.row) {
        Some(name) => quote!(#name),
        None => rows.parameter_row(&parameter.row),
    });
    let parameters: Vec<TokenStream> = parameters.collect();
    let body = match &call.body {
        Some(body) => {
            let body = rows.body_row(body, call.streams.body.as_ref());
            quote!(Some(#body))
        }
        None => quote!(None),
    };
    let responses = response_rows(call, rows);
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
            repeat: RepeatSafety::#repeat,
            deprecated: #deprecated,
            parameters: &[#(#parameters),*],
            body: #body,
            responses: &[#(#responses),*],
            servers: &[#(#servers),*],
        }
    }
}

/// Generates the table rows of the responses of a call, one for each status, success responses first. If the
/// contract describes no success response, the plan contains a case `2XX` that allows any content.
fn response_rows(call: &PlannedCall<'_>, rows: &mut RowWriter<'_>) -> Vec<TokenStream> {
    let mut out = Vec::new();
    let mut seen: Vec<StatusPattern> = Vec::new();
    for (answers, outcome) in
        [(&call.responses, ResponseOutcome::Success), (&call.errors, ResponseOutcome::Error)]
    {
        for case in &answers.cases {
            // `default` may be both a success and an error; it has only one row, which is marked as a
            // success.
            if seen.contains(&case.status) {
                continue;
            }
            seen.push(case.status);
            out.push(response_row(call, answers, case.status, outcome, rows));
        }
    }
    out
}

/// Returns the variant of the runtime's `StatusRange`, without the name of the enum.
pub(crate) fn status_variant(status: StatusPattern) -> TokenStream {
    match status {
        StatusPattern::Code(code) => {
            let code = Literal::u16_unsuffixed(code);
            quote!(Code(#code))
        }
        StatusPattern::Range(class) => {
            let class = Literal::u16_unsuffixed(u16::from(class));
            quote!(Class(#class))
        }
        StatusPattern::Default => quote!(Default),
    }
}

fn response_row(
    call: &PlannedCall<'_>,
    answers: &ResponseSet,
    status: StatusPattern,
    outcome: ResponseOutcome,
    rows: &mut RowWriter<'_>,
) -> TokenStream {
    rows.used.operation.extend(["ResponseKind", "ResponseSpec", "StatusRange"]);
    let statuses = status_variant(status);
    let word = ident(match outcome {
        ResponseOutcome::Success => "Success",
        ResponseOutcome::Error => "Error",
    });
    // All media types of the status belong to the row, including those that share a variant.
    let described = call.operation.responses.iter().find(|response| response.status == status);
    let cases: Vec<_> = answers.cases.iter().filter(|case| case.status == status).collect();
    let empty = cases.iter().all(|case| case.payload == ResponsePayload::Nothing);
    let contents: Vec<TokenStream> = match described {
        Some(described) if !empty => api::exchanged_media(&described.content)
            .map(|media| {
                let own = cases.iter().find(|case| case.media_types().any(|name| name == media.name));
                let streamed = call.streams.response.as_ref().filter(|_| outcome == ResponseOutcome::Success);
                let streamed = streamed.filter(|own| own.status == status && own.media_type == media.name);
                if let Some(streamed) = streamed {
                    return rows.stream_row(&media.name, &streamed.content);
                }
                let format = ident(match own.map(|case| &case.payload) {
                    Some(ResponsePayload::Json(_)) => "Json",
                    Some(ResponsePayload::Text) => "Text",
                    _ => "Bytes",
                });
                let schema = media.schema.filter(|_| format == "Json");
                rows.content_row(&media.name, &quote!(#format), schema)
            })
            .collect(),
        // A response without a description may have any content.
        None => vec![rows.content_row("*/*", &quote!(Bytes), None)],
        Some(_) => Vec::new(),
    };
    quote!(ResponseSpec { statuses: StatusRange::#statuses, kind: ResponseKind::#word, content: &[#(#contents),*] })
}

/// Generates the enum of OAuth scopes, or a re-export of the registry table that defines it. Returns `None`
/// if there are no scopes.
fn scopes_enum(plan: &SidePlan<'_>) -> Option<TokenStream> {
    if plan.scopes.is_empty() {
        return None;
    }
    if plan.scope_table {
        let (module, name) = (ident(&names::table_module(SCOPE)), ident(SCOPE));
        return Some(quote!(
            pub use super::#module::#name;
        ));
    }
    let wires: Vec<&str> = plan.scopes.iter().map(|(scope, _)| scope.as_str()).collect();
    let mut variants: Vec<String> = wires.iter().map(|wire| names::variant_name(wire)).collect();
    names::make_distinct(&wires, &mut variants);
    let values = plan.scopes.iter().zip(&variants).map(|((wire, doc), name)| {
        let doc = doc.as_deref().map(rustdoc_markdown).into_iter().collect();
        StringValue { wire: wire.clone(), name: name.clone(), doc }
    });
    let scopes = StringEnumItem {
        name: SCOPE,
        doc: vec!["The scopes that operations require.".to_owned()],
        values: values.collect(),
    };
    Some(scopes.to_tokens(false))
}

/// Returns `#[doc]` attributes for paragraphs of Markdown. Characters that comments must not contain are
/// escaped.
pub(crate) fn doc_attributes(paragraphs: &[String]) -> TokenStream {
    let text = sanitize_comment(&paragraphs.join("\n\n"));
    let lines = text.lines().map(str::trim_end);
    let lines = lines.map(|l| if l.is_empty() { String::new() } else { format!(" {l}") });
    quote!(#(#[doc = #lines])*)
}
