//! The generated module `operations`: what the contract says of each operation, as a table.

mod bodies;
mod rows;
mod strings;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

pub use bodies::bodies;
pub(crate) use bodies::{equality as body_equality, whole_type};
pub(crate) use strings::{StringEnum, StringValue};

use crate::{
    api::{Operation, Status},
    emit::{ident, markdown, sentence},
    names,
    plan::{Answers, Call, Outcome, Payload, Plan, Repeat, Row, SCOPE, Side},
    rust_types::RustTypes,
    schema::Graph,
};
use rows::Rows;

impl Side {
    /// The module of request bodies.
    pub(crate) const fn bodies(self) -> &'static str {
        match self {
            Self::Paths => "bodies",
            Self::Webhooks => "webhook_bodies",
        }
    }

    /// The module of what each call is asked.
    pub(crate) const fn calls(self) -> &'static str {
        match self {
            Self::Paths => "calls",
            Self::Webhooks => "webhook_calls",
        }
    }

    /// The module of answers and refusals of several types.
    pub(crate) const fn answers(self) -> &'static str {
        match self {
            Self::Paths => "answers",
            Self::Webhooks => "webhook_answers",
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

/// Which of the runtime's types a table names.
#[derive(Default)]
struct Used {
    operation: BTreeSet<&'static str>,
    parameters: BTreeSet<&'static str>,
    types: bool,
    /// The generated module of tables.
    schemas: bool,
}

/// Writes the module `operations` (or `webhooks`), a direct child of the generated root.
pub fn operations(plan: &Plan<'_>, graph: &Graph, types: &dyn RustTypes) -> TokenStream {
    let order = plan.order.iter().map(|&index| Literal::usize_unsuffixed(index));
    let mut rows = Rows { graph, types, streams: plan.streams, used: Used::default() };
    let shared = Shared::of(plan);
    let consts = shared.items(&mut rows);
    let table: Vec<TokenStream> =
        plan.calls.iter().zip(paths(plan)).map(|(call, path)| row(call, path, &shared, &mut rows)).collect();
    let imports = imports(&rows.used);
    let (_, id) = plan.side.table();
    let (every, list) = match plan.side {
        Side::Paths => ("operations", "OPERATIONS"),
        Side::Webhooks => ("webhooks and callbacks", "WEBHOOKS"),
    };
    let ids = StringEnum {
        name: id,
        doc: vec![format!("The {every}, by `operationId`.")],
        values: plan.calls.iter().map(value).collect(),
    };
    let ids = ids.tokens(false);
    let scopes = scopes(plan);
    let (id, list) = (ident(id), ident(list));
    let about = match plan.side {
        Side::Paths => " Every operation, in the order of the contract.",
        Side::Webhooks => " Every webhook and callback, in the order of the contract.",
    };
    let search = match plan.side {
        Side::Paths => " Every operation, to search by id or by method and path.",
        Side::Webhooks => {
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
        pub const TABLE: Operations = Operations::new(#list, &[#(#order),*]);

        #ids

        impl #id {
            /// What the contract says of it.
            #[must_use]
            pub const fn operation(self) -> &'static Operation {
                &#list[self as usize]
            }

            /// The id of an operation of this table.
            #[must_use]
            pub fn of(operation: &Operation) -> Option<Self> {
                operation.id.parse().ok()
            }
        }

        #scopes
    }
}

fn imports(used: &Used) -> TokenStream {
    let operation = used.operation.iter().copied().chain(["Operation", "Operations"]);
    let operation: BTreeSet<&str> = operation.collect();
    let operation = operation.into_iter().map(ident);
    let parameters = (!used.parameters.is_empty()).then(|| {
        let parameters = used.parameters.iter().map(|name| ident(name));
        quote!(use ::contract_runtime::parameters::{#(#parameters),*};)
    });
    let types = used.types.then(|| {
        quote!(
            use ::contract_runtime::schema::Types;
        )
    });
    let schemas = used.schemas.then(|| {
        quote!(
            use super::schemas;
        )
    });
    quote! {
        use ::contract_runtime::operation::{#(#operation),*};
        #parameters
        #types
        #schemas
    }
}

/// Parameters that several operations have alike, as constants.
struct Shared<'p>(BTreeMap<&'p Row, Ident>);

impl<'p> Shared<'p> {
    fn of(plan: &'p Plan<'_>) -> Self {
        let mut counts: BTreeMap<&Row, usize> = BTreeMap::new();
        // In the order of the contract, by which names that clash are numbered.
        let mut order: Vec<&Row> = Vec::new();
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
            // Apart from the table's own names.
            (row, format_ident!("{name}_PARAMETER"))
        });
        Self(named.collect())
    }

    fn items(&self, rows: &mut Rows<'_>) -> TokenStream {
        let items = self.0.iter().map(|(row, name)| {
            let tokens = rows.parameter(row);
            quote!(const #name: Parameter = #tokens;)
        });
        items.collect()
    }
}

fn value(call: &Call<'_>) -> StringValue {
    let mut doc: Vec<String> =
        call.operation.summary.as_deref().map(|text| markdown(&sentence(text))).into_iter().collect();
    doc.push(format!("`{}`", call.place()));
    StringValue { wire: call.operation.id.clone(), name: call.id.clone(), doc }
}

/// What stands for the path of each call. Webhooks and callbacks have names there, of which receivers
/// make addresses; since several may have one name and method, all but the first go by their ids.
fn paths<'a>(plan: &Plan<'a>) -> Vec<&'a str> {
    let mut taken = BTreeSet::new();
    let path = |call: &Call<'a>| {
        let Operation { id, method, path, route, .. } = call.operation;
        if plan.side == Side::Paths {
            return route.as_str();
        }
        // The runtime takes what begins with `/` for a path below the client's address.
        let [name, id] = [path, id].map(|name| name.trim_start_matches('/'));
        [name, id].into_iter().find(|each| taken.insert((method, *each))).unwrap_or(id)
    };
    plan.calls.iter().map(path).collect()
}

fn row(call: &Call<'_>, path: &str, shared: &Shared<'_>, rows: &mut Rows<'_>) -> TokenStream {
    let Operation { id, method, tags, deprecated, servers, .. } = call.operation;
    let summary = call.operation.summary.as_deref().unwrap_or("");
    let (anonymous, scopes) = (call.anonymous, &call.scopes);
    let idempotent = call.keyed;
    let repeat = ident(match (call.repeat, method.as_str()) {
        (Repeat::Safe, _) | (Repeat::Method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY") => "Safe",
        (Repeat::Idempotent, _) | (Repeat::Method, "PUT" | "DELETE") => "Idempotent",
        (Repeat::Keyed, _) => "Keyed",
        (Repeat::Method, _) => "Once",
    });
    rows.used.operation.insert("Repeat");
    let parameters = call.parameters.iter().map(|parameter| match shared.0.get(&parameter.row) {
        Some(name) => quote!(#name),
        None => rows.parameter(&parameter.row),
    });
    let parameters: Vec<TokenStream> = parameters.collect();
    let body = match &call.body {
        Some(body) => {
            let body = rows.body(body, call.streams.body.as_ref());
            quote!(Some(#body))
        }
        None => quote!(None),
    };
    let responses = responses(call, rows);
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
            repeat: Repeat::#repeat,
            deprecated: #deprecated,
            parameters: &[#(#parameters),*],
            body: #body,
            responses: &[#(#responses),*],
            servers: &[#(#servers),*],
        }
    }
}

/// One row for each status, successes first; what the contract gives no success is `2XX` of any kind.
fn responses(call: &Call<'_>, rows: &mut Rows<'_>) -> Vec<TokenStream> {
    let mut out = Vec::new();
    let mut seen: Vec<Status> = Vec::new();
    for (answers, outcome) in [(&call.answers, Outcome::Success), (&call.refusals, Outcome::Refusal)] {
        for case in &answers.cases {
            // `default` may be both; its row says that it is a success too.
            if seen.contains(&case.status) {
                continue;
            }
            seen.push(case.status);
            out.push(response(call, answers, case.status, outcome, rows));
        }
    }
    out
}

fn response(
    call: &Call<'_>,
    answers: &Answers,
    status: Status,
    outcome: Outcome,
    rows: &mut Rows<'_>,
) -> TokenStream {
    rows.used.operation.extend(["Outcome", "Response", "Statuses"]);
    let statuses = match status {
        Status::Code(code) => {
            let code = Literal::u16_unsuffixed(code);
            quote!(Code(#code))
        }
        Status::Range(class) => {
            let class = Literal::u16_unsuffixed(u16::from(class));
            quote!(Class(#class))
        }
        Status::Default => quote!(Default),
    };
    let word = ident(match outcome {
        Outcome::Success => "Success",
        Outcome::Refusal => "Refusal",
    });
    // All names of a media type, those too that are read alike.
    let described = call.operation.responses.iter().find(|response| response.status == status);
    let cases: Vec<_> = answers.cases.iter().filter(|case| case.status == status).collect();
    let empty = cases.iter().all(|case| case.payload == Payload::Nothing);
    let contents: Vec<TokenStream> = match described {
        Some(described) if !empty => described
            .content
            .iter()
            .map(|media| {
                let own = cases.iter().find(|case| case.names().any(|name| name == media.name));
                let streamed = call.streams.answer.as_ref().filter(|_| outcome == Outcome::Success);
                let streamed = streamed.filter(|own| own.status == status && own.media_type == media.name);
                if let Some(streamed) = streamed {
                    return rows.streamed(&media.name, &streamed.content);
                }
                let format = ident(match own.map(|case| &case.payload) {
                    Some(Payload::Json(_)) => "Json",
                    Some(Payload::Text) => "Text",
                    _ => "Bytes",
                });
                let schema = media.schema.filter(|_| format == "Json");
                rows.content(&media.name, &quote!(#format), schema)
            })
            .collect(),
        // Nothing is said, so anything may be there.
        None => vec![rows.content("*/*", &quote!(Bytes), None)],
        Some(_) => Vec::new(),
    };
    quote!(Response { statuses: Statuses::#statuses, outcome: Outcome::#word, content: &[#(#contents),*] })
}

/// The enum of scopes, or where it is; nothing when there are none.
fn scopes(plan: &Plan<'_>) -> Option<TokenStream> {
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
        let doc = doc.as_deref().map(markdown).into_iter().collect();
        StringValue { wire: wire.clone(), name: name.clone(), doc }
    });
    let scopes = StringEnum {
        name: SCOPE,
        doc: vec!["The scopes that operations ask for.".to_owned()],
        values: values.collect(),
    };
    Some(scopes.tokens(false))
}

/// `#[doc]` attributes for paragraphs of Markdown.
pub(crate) fn doc(paragraphs: &[String]) -> TokenStream {
    let text = paragraphs.join("\n\n");
    let lines = text.lines().map(str::trim_end);
    let lines = lines.map(|l| if l.is_empty() { String::new() } else { format!(" {l}") });
    quote!(#(#[doc = #lines])*)
}
