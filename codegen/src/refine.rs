//! What progenitor makes of the lowered document, compared with the calls.
//!
//! progenitor's scaffolding (client struct, hooks, types, errors, re-exports) is dropped whole;
//! of each method its decisions are read (`reading`) and compared with the [`Call`]. What does
//! not compare is an error: of two readings of a contract one is wrong. Nothing of progenitor's
//! text is passed on.

mod reading;

use std::{collections::BTreeSet, ops::RangeInclusive};

use quote::ToTokens;

use crate::{
    api::{Api, Operation, ParameterIn, Status},
    diagnostics::{Diagnostic, Diagnostics},
    lower::{Answers, BodyKind, Call, Lowered, Payload},
};

use self::reading::{Kind, Reading};

/// What progenitor's output says otherwise than the calls: methods that are missing, unknown,
/// or that send and read something else.
#[must_use]
pub fn compare(generated: syn::File, api: &Api, lowered: &Lowered) -> Diagnostics {
    let mut found = methods(generated);
    let mut problems = Diagnostics::new();
    for call in lowered.calls.iter().filter(|call| call.beyond.is_none()) {
        let operation = &api.operations[call.operation];
        let agreed = match found.iter().position(|item| item.sig.ident == call.method) {
            Some(position) => agree(&found.remove(position), operation, call),
            None => Err("there is no method".to_owned()),
        };
        if let Err(reason) = agreed {
            problems.push(
                Diagnostic::error(
                    "client-output",
                    format!("progenitor's output for `{}` is not as expected: {reason}", operation.id),
                )
                .at(operation.place.clone())
                .help("this is a defect of the generator; please report it with the operation"),
            );
        }
    }
    for item in found {
        let message = format!("progenitor made a method that no operation asks for: `{}`", item.sig.ident);
        problems.push(Diagnostic::error("client-output", message));
    }
    problems
}

/// The asynchronous methods of the client.
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

/// Whether method, path, places of arguments, body and statuses are those of the call.
fn agree(item: &syn::ImplItemFn, operation: &Operation, call: &Call) -> Result<(), String> {
    let reading = Reading::of(item)?;
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
    let form = call.body.as_ref().and_then(|body| body.forms.first());
    let body = match form.map(|form| form.kind) {
        None => "none",
        Some(BodyKind::Model | BodyKind::Json) => "json",
        Some(BodyKind::Form) => "form_urlencoded",
        Some(_) => "body",
    };
    same("body", reading.body.as_deref().unwrap_or("none"), body)?;
    // Several types of JSON are shown to it as one.
    let kind = |due: &Answers| match due.one.as_ref().or(due.cases.first().map(|case| &case.payload)) {
        Some(Payload::Json(_)) => Kind::Json,
        Some(Payload::Raw | Payload::Text) => Kind::Raw,
        Some(Payload::Nothing) | None => Kind::Nothing,
    };
    for (arms, due) in [(&reading.results, &call.results), (&reading.refusals, &call.refusals)] {
        if arms.iter().any(|arm| arm.kind != kind(due)) {
            return Err("a status has another kind of body than the contract gives it".to_owned());
        }
        let is: BTreeSet<u16> = arms.iter().flat_map(|arm| arm.from..=arm.to).collect();
        let results = std::ptr::eq(due, &call.results);
        let ranges = due.cases.iter().flat_map(|case| statuses(case.status, results));
        let due: BTreeSet<u16> = ranges.flatten().collect();
        if is != due {
            return Err("its statuses are others than the contract's".to_owned());
        }
    }
    if reading.results.is_empty() {
        return Err("no status is a result".to_owned());
    }
    // `&self`, the arguments, the body.
    let due = call.arguments.len() + usize::from(call.body.is_some()) + 1;
    if item.sig.inputs.len() != due {
        return Err(format!("it has {} arguments, not {due}", item.sig.inputs.len()));
    }
    Ok(())
}

/// The statuses that a key stands for.
fn statuses(status: Status, results: bool) -> Vec<RangeInclusive<u16>> {
    let class = |class: u8| u16::from(class) * 100..=u16::from(class) * 100 + 99;
    match status {
        Status::Code(code) => vec![code..=code],
        Status::Range(digit) => vec![class(digit)],
        Status::Default if results => vec![class(2)],
        Status::Default => vec![class(4), class(5)],
    }
}
