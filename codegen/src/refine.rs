//! A second opinion: what progenitor makes of the lowered document, compared with the plan.
//!
//! Asked when somebody wants to know, and in tests; no output depends on it. progenitor's
//! scaffolding (client struct, hooks, types, errors, re-exports) is dropped whole; of each method
//! its decisions are read (`reading`) and compared with the [`Call`]. What does not compare is an
//! error: of two readings of a contract one is wrong.

mod engine;
pub(crate) mod reading;

use std::{collections::BTreeSet, ops::RangeInclusive};

use quote::ToTokens;
use serde_json::Value;

use crate::{
    api::{ParameterIn, Status},
    diagnostics::{Diagnostic, Diagnostics},
    lower::{Loss, Lowered, LoweredOperation, responses::shown},
    plan::{Answers, Call, Format, Outcome, Payload, Plan},
};

use self::reading::{Kind, Reading};

/// Runs progenitor over a document whose components, in order, are replaced by the types
/// `Lowered0`, `Lowered1` and so on: the code, or why there is none.
pub type Engine<'e> = dyn Fn(&Value, &[String]) -> Result<String, String> + Sync + 'e;

/// Runs progenitor over a lowered document. What it refuses is left out of the document and
/// becomes a loss; where it says something else than the plan is a diagnostic.
#[must_use]
pub fn second_opinion(plan: &Plan<'_>, lowered: &mut Lowered, engine: &Engine<'_>) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let generated = match engine::generate(lowered, engine) {
        Ok(file) => file,
        Err(failure) => {
            for (method, reason) in engine::culprits(lowered, engine) {
                leave_out(plan, lowered, &method, &reason);
            }
            match engine::generate(lowered, engine) {
                Ok(file) => file,
                Err(_) => {
                    let message = format!("progenitor cannot carry the operations together: {failure}");
                    problems.push(Diagnostic::note("client-engine", message));
                    return problems;
                }
            }
        }
    };
    problems.append(compare(generated, plan, lowered));
    problems
}

/// Leaves one operation out of the lowered document; its method is written all the same.
fn leave_out(plan: &Plan<'_>, lowered: &mut Lowered, method: &str, reason: &str) {
    let Some(own) = lowered.operations.iter_mut().find(|own| own.method == method) else { return };
    engine::keep_only(&mut lowered.document, &|operation| operation != method);
    let place = &plan.calls[own.call].operation.place;
    let inside = format!("{}/", place.pointer);
    lowered.losses.retain(|loss| {
        let within = loss.place.pointer == place.pointer || loss.place.pointer.starts_with(&inside);
        !within || loss.place.source != place.source
    });
    lowered.losses.push(Loss {
        place: place.clone(),
        engine: "progenitor",
        what: format!("the operation: progenitor refuses it: {reason}"),
        enforced: "written by the generator itself, without progenitor's word".to_owned(),
    });
    own.beyond = Some(reason.to_owned());
}

/// What progenitor's output says otherwise than the plan: methods that are missing, unknown,
/// or that send and read something else.
fn compare(generated: syn::File, plan: &Plan<'_>, lowered: &Lowered) -> Diagnostics {
    let mut found = methods(generated);
    let mut problems = Diagnostics::new();
    for own in lowered.operations.iter().filter(|own| own.beyond.is_none()) {
        let call = &plan.calls[own.call];
        let agreed = match found.iter().position(|item| item.sig.ident == own.method) {
            Some(position) => agree(&found.remove(position), own, call),
            None => Err("there is no method".to_owned()),
        };
        if let Err(reason) = agreed {
            let id = &call.operation.id;
            problems.push(
                Diagnostic::error(
                    "client-output",
                    format!("progenitor's output for `{id}` is not as expected: {reason}"),
                )
                .at(call.operation.place.clone())
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
pub(crate) fn methods(file: syn::File) -> Vec<syn::ImplItemFn> {
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
fn agree(item: &syn::ImplItemFn, own: &LoweredOperation, call: &Call<'_>) -> Result<(), String> {
    let reading = Reading::of(item)?;
    let same = |what: &str, is: &str, due: &str| {
        if is == due { Ok(()) } else { Err(format!("its {what} is `{is}`, not `{due}`")) }
    };
    same("method", &reading.verb.to_ascii_uppercase(), &call.operation.method)?;
    // progenitor writes two slashes as one; the path that is sent is the contract's own.
    let mut path = own.path.clone();
    for argument in &own.arguments {
        let wire = format!("{{{}}}", argument.wire);
        path = path.replace(&wire, &format!("{{{}}}", argument.name));
    }
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    same("path", &reading.path, &path)?;
    let due = |location: ParameterIn| {
        let mut names: Vec<&str> = own
            .arguments
            .iter()
            .filter(|argument| argument.location == location)
            .map(|argument| argument.wire.as_str())
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
    let sent = call.body.as_ref().and_then(|body| body.contents.get(body.variants.first()?.sent));
    let body = match sent.map(|content| &content.format) {
        None => "none",
        Some(Format::Model | Format::Json) => "json",
        Some(Format::Form(..)) => "form_urlencoded",
        Some(_) => "body",
    };
    same("body", reading.body.as_deref().unwrap_or("none"), body)?;
    // Several types of JSON are shown to it as one.
    let kind = |due: &Answers| match shown(due) {
        Some(Payload::Json(_)) => Kind::Json,
        Some(Payload::Bytes | Payload::Text) => Kind::Raw,
        Some(Payload::Nothing) | None => Kind::Nothing,
    };
    let sides = [
        (&reading.results, &call.answers, Outcome::Success),
        (&reading.refusals, &call.refusals, Outcome::Refusal),
    ];
    for (arms, due, outcome) in sides {
        if arms.iter().any(|arm| arm.kind != kind(due)) {
            return Err("a status has another kind of body than the contract gives it".to_owned());
        }
        let is: BTreeSet<u16> = arms.iter().flat_map(|arm| arm.from..=arm.to).collect();
        let ranges = due.cases.iter().flat_map(|case| statuses(case.status, outcome));
        let due: BTreeSet<u16> = ranges.flatten().collect();
        if is != due {
            return Err("its statuses are others than the contract's".to_owned());
        }
    }
    if reading.results.is_empty() {
        return Err("no status is a result".to_owned());
    }
    // `&self`, the arguments, the body.
    let due = own.arguments.len() + usize::from(call.body.is_some()) + 1;
    if item.sig.inputs.len() != due {
        return Err(format!("it has {} arguments, not {due}", item.sig.inputs.len()));
    }
    Ok(())
}

/// The statuses that a key stands for.
fn statuses(status: Status, outcome: Outcome) -> Vec<RangeInclusive<u16>> {
    let class = |class: u8| u16::from(class) * 100..=u16::from(class) * 100 + 99;
    match status {
        Status::Code(code) => vec![code..=code],
        Status::Range(digit) => vec![class(digit)],
        Status::Default if outcome == Outcome::Success => vec![class(2)],
        Status::Default => vec![class(4), class(5)],
    }
}
