//! `syn` passes over progenitor's output: its methods, made ours.
//!
//! progenitor's scaffolding (client struct, hooks, types, errors, re-exports) is dropped whole;
//! of each method its decisions are read (`reading`), compared with the contract, and then the
//! `passes` replace types, arguments, body and documentation. What does not compare is an
//! error: an engine that says something else than the contract is never passed on.

mod passes;
mod reading;

use quote::ToTokens;

use crate::{
    api::{Api, ParameterIn},
    diagnostics::{Diagnostic, Diagnostics},
    lower::{BodyForm, Call, List, Lowered, Payload},
    rust_types::RustTypes,
    schema::Graph,
};

use self::reading::{Kind, Reading};

/// What the passes look things up in.
#[derive(Clone, Copy)]
pub struct Contract<'a> {
    /// The operations.
    pub api: &'a Api,
    /// The schemas.
    pub graph: &'a Graph,
    /// Their types.
    pub types: &'a dyn RustTypes,
    /// The lowered document that progenitor was given.
    pub lowered: &'a Lowered,
    /// The variants of `OperationId`, for all operations.
    pub names: &'a [String],
}

/// A method on its way from progenitor's to ours.
struct Method<'a> {
    contract: Contract<'a>,
    call: &'a Call,
    reading: Reading,
    item: syn::ImplItemFn,
}

/// One step; an error says what the engine's output lacks.
type Pass = fn(&mut Method<'_>) -> Result<(), String>;

/// In this order: later ones rely on the names and types that earlier ones leave.
const PASSES: &[Pass] = &[
    agree,
    passes::our_types,
    passes::result_type,
    passes::arguments,
    passes::runtime_calls,
    passes::attributes,
    passes::documentation,
];

/// The methods of the client, in the order of the lowered document's calls.
///
/// # Errors
/// Methods that are missing, unknown, or do not say what the contract says.
pub fn refine(generated: syn::File, contract: &Contract<'_>) -> Result<Vec<syn::ImplItemFn>, Diagnostics> {
    let mut found = methods(generated);
    let mut done = Vec::new();
    let mut problems = Diagnostics::new();
    for call in &contract.lowered.calls {
        let operation = &contract.api.operations[call.operation];
        let refined = match found.iter().position(|item| item.sig.ident == call.method) {
            Some(position) => method(found.remove(position), call, contract),
            None => Err("there is no method".to_owned()),
        };
        match refined {
            Ok(item) => done.push(item),
            Err(reason) => problems.push(
                Diagnostic::error(
                    "client-output",
                    format!("progenitor's output for `{}` is not as expected: {reason}", operation.id),
                )
                .at(operation.place.clone())
                .help("this is a defect of the generator; please report it with the operation"),
            ),
        }
    }
    for item in found {
        let message = format!("progenitor made a method that no operation asks for: `{}`", item.sig.ident);
        problems.push(Diagnostic::error("client-output", message));
    }
    if problems.is_empty() { Ok(done) } else { Err(problems) }
}

fn method(item: syn::ImplItemFn, call: &Call, contract: &Contract<'_>) -> Result<syn::ImplItemFn, String> {
    let reading = Reading::of(&item)?;
    let mut method = Method { contract: *contract, call, reading, item };
    for pass in PASSES {
        pass(&mut method)?;
    }
    Ok(method.item)
}

/// Pass 0: keeps the asynchronous methods of the client, nothing else.
fn methods(file: syn::File) -> Vec<syn::ImplItemFn> {
    let mut found = Vec::new();
    for item in file.items {
        let syn::Item::Impl(block) = item else { continue };
        if block.trait_.is_some() || block.self_ty.to_token_stream().to_string() != "Client" {
            continue;
        }
        found.extend(block.items.into_iter().filter_map(|item| match item {
            syn::ImplItem::Fn(method) if method.sig.asyncness.is_some() => Some(method),
            _ => None,
        }));
    }
    found
}

/// Pass 1: method, path, places of arguments, body and statuses are those of the contract.
fn agree(method: &mut Method<'_>) -> Result<(), String> {
    let (call, reading) = (method.call, &method.reading);
    let operation = &method.contract.api.operations[call.operation];
    let same = |what: &str, is: &str, due: &str| {
        if is == due { Ok(()) } else { Err(format!("its {what} is `{is}`, not `{due}`")) }
    };
    same("method", &reading.verb.to_ascii_uppercase(), &operation.method)?;
    // progenitor writes two slashes as one; the path that is sent is the contract's own.
    let mut path = call.path.clone();
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    same("path", &reading.path, &path)?;
    let due = |location: ParameterIn| {
        let mut names: Vec<&str> = call
            .arguments
            .iter()
            .filter(|argument| argument.location == location)
            .map(|argument| argument.name.as_str())
            .collect();
        names.sort_unstable();
        names.join(", ")
    };
    let is = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort_unstable();
        names.join(", ")
    };
    same("query", &is(&reading.queries), &due(ParameterIn::Query))?;
    same("headers", &is(&reading.headers), &due(ParameterIn::Header))?;
    let body = match call.body.as_ref().map(|body| &body.form) {
        None => "none",
        Some(BodyForm::Json(_)) => "json",
        Some(BodyForm::Form(_)) => "form_urlencoded",
        Some(BodyForm::Raw) => "body",
    };
    same("body", reading.body.as_deref().unwrap_or("none"), body)?;
    let kind = |payload: &Payload| match payload {
        Payload::Json(_) => Kind::Json,
        Payload::Raw => Kind::Raw,
        Payload::Nothing => Kind::Nothing,
    };
    for (arm, due) in [(&reading.results, &call.result), (&reading.refusals, &call.refusal)] {
        if arm.iter().any(|arm| arm.kind != kind(due)) {
            return Err("a status has another kind of body than the contract gives it".to_owned());
        }
    }
    if reading.results.is_empty() {
        return Err("no status is a result".to_owned());
    }
    let lists = call
        .arguments
        .iter()
        .any(|argument| argument.list != List::No && argument.location != ParameterIn::Query);
    if lists { Err("a list stands outside of the query".to_owned()) } else { Ok(()) }
}
