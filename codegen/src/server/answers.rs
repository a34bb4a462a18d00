//! Decides and writes what a method returns: the success, the refusal.
//!
//! A success is the body itself when the contract knows one success without headers, a
//! `Reply` when it has headers, an enum when there are several. A refusal holds the schema
//! of the `4XX`, `5XX` and `default` responses, an enum when they differ.

mod write;

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    api::{MediaType, Response, Status},
    diagnostics::{Diagnostic, Diagnostics},
    names,
    operations::{Contract, Plan, is_json, is_text, reason, subtype, validator},
};

/// What one operation answers.
pub(super) struct Answers {
    operation: String,
    success_enum: String,
    refusal_enum: String,
    /// Whether an earlier operation refuses alike, so that its enum is there already.
    shared: bool,
    successes: Vec<Case>,
    refusals: Vec<Case>,
}

/// One kind of answer.
struct Case {
    /// The variant, when there are several.
    name: String,
    doc: String,
    status: u16,
    payload: Payload,
    /// Whether the handler has a say in headers or status.
    reply: bool,
}

/// What an answer holds.
struct Payload {
    ty: TokenStream,
    media_type: String,
    writing: Writing,
}

enum Writing {
    Empty,
    Model,
    Value(Option<TokenStream>),
    Bytes,
}

/// Settles the answers of an operation.
pub(super) fn answers(contract: Contract<'_>, plan: &Plan<'_>, diagnostics: &mut Diagnostics) -> Answers {
    let responses = &plan.operation.responses;
    let is_success = |status: Status| match status {
        Status::Code(code) => code < 400,
        Status::Range(digit) => digit < 4,
        Status::Default => false,
    };
    let any_success = responses.iter().any(|response| is_success(response.status));
    let mut successes = Vec::new();
    let mut refusals: Vec<Case> = Vec::new();
    for response in responses {
        // Without a success of its own, `default` describes it too (OpenAPI 3.1, 4.8.16).
        let stands_in = !any_success && response.status == Status::Default;
        if is_success(response.status) || stands_in {
            successes.extend(cases(contract, response));
        }
        if !is_success(response.status) {
            // One media type is enough to refuse with: the contract's first JSON.
            let mut found = cases(contract, response);
            found.sort_by_key(|case| matches!(case.payload.writing, Writing::Bytes));
            if let [kept, _, ..] = found.as_slice() {
                let message = format!("the server refuses only with {}", kept.payload.media_type);
                let note = Diagnostic::note("unsupported-answer", message);
                diagnostics.push(note.at(response.place.clone()));
            }
            for case in found.into_iter().take(1) {
                if !refusals.iter().any(|known| known.payload.is_same(&case.payload)) {
                    refusals.push(case);
                }
            }
        }
    }
    if successes.is_empty() {
        successes.push(Case::empty(204));
    }
    if refusals.is_empty() {
        refusals.push(Case::empty(500));
    }
    for cases in [&mut successes, &mut refusals] {
        let wires: Vec<String> =
            cases.iter().map(|c| format!("{} {}", c.status, c.payload.media_type)).collect();
        let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
        let mut variants: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
        names::make_distinct(&wires, &mut variants);
        cases.iter_mut().zip(variants).for_each(|(case, name)| case.name = name);
    }
    Answers {
        operation: format!("{} {}", plan.operation.method, plan.operation.path),
        success_enum: format!("{}Answer", plan.type_name),
        refusal_enum: format!("{}Problem", plan.type_name),
        shared: false,
        successes,
        refusals,
    }
}

/// Keeps the enums' names apart from those of requests.
pub(super) fn make_distinct(plans: &[Plan<'_>], answers: &mut [Answers]) {
    let taken = |name: &str| plans.iter().any(|plan| plan.type_name == name);
    for answer in answers {
        for name in [&mut answer.success_enum, &mut answer.refusal_enum] {
            while taken(name) {
                name.push('s');
            }
        }
    }
}

/// Lets operations that refuse alike share one enum; the commonest has the plain name.
pub(super) fn share(answers: &mut [Answers]) {
    let mut users: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, answer) in answers.iter().enumerate().filter(|(_, answer)| answer.refusals.len() > 1) {
        let each = answer.refusals.iter();
        let each = each.map(|case| format!("{} {} {};", case.name, case.payload.media_type, case.payload.ty));
        users.entry(each.collect()).or_default().push(index);
    }
    let most = users.values().filter(|users| users.len() > 1);
    let most = most.max_by_key(|users| (users.len(), usize::MAX - users[0])).map(|users| users[0]);
    for users in users.values() {
        let first = users[0];
        if most == Some(first) {
            answers[first].refusal_enum = "Problem".to_owned();
        }
        let name = answers[first].refusal_enum.clone();
        for &index in &users[1..] {
            answers[index].refusal_enum.clone_from(&name);
            answers[index].shared = true;
        }
    }
}

/// The problem that most operations refuse with, one with a body before one without; none when
/// there is none.
pub(super) fn commonest(answers: &[Answers]) -> Option<TokenStream> {
    let mut counts: BTreeMap<String, (usize, &TokenStream)> = BTreeMap::new();
    for answer in answers {
        if let [one] = answer.refusals.as_slice() {
            let ty = &one.payload.ty;
            counts.entry(ty.to_string()).or_insert((0, ty)).0 += 1;
        }
    }
    let (_, (_, ty)) = counts.into_iter().max_by_key(|(_, (count, ty))| (ty.to_string() != "()", *count))?;
    Some(ty.clone())
}

/// One case per media type of a response that can be written.
fn cases(contract: Contract<'_>, response: &Response) -> Vec<Case> {
    let (status, word) = match response.status {
        Status::Code(code) => (code, reason(code)),
        Status::Range(digit) => (u16::from(digit) * 100, format!("Status{digit}xx")),
        Status::Default => (500, "Default".to_owned()),
    };
    // Where `default` stands in for a success, 200 is what it means.
    // What something around the handler writes is none of the handler's business.
    let hidden = &contract.config.hidden_headers;
    let hidden = |name: &str| hidden.iter().any(|hidden| hidden.eq_ignore_ascii_case(name));
    let own_headers = response.headers.iter().any(|header| !hidden(&header.name));
    let reply = own_headers || !matches!(response.status, Status::Code(_));
    let case = |media: Option<&MediaType>, payload| {
        let several = response.content.len() > 1;
        let name = match media.filter(|_| several) {
            Some(media) => names::variant_name(&format!("{word} {}", subtype(&media.name))),
            None => word.clone(),
        };
        // Which media type of a range it is, only the handler knows.
        let reply = reply || media.is_some_and(|media| media.name.contains('*'));
        Case { name, doc: response.description.clone(), status, payload, reply }
    };
    if response.content.is_empty() {
        return vec![case(None, Payload::empty())];
    }
    response.content.iter().map(|media| case(Some(media), payload(contract, media))).collect()
}

fn payload(contract: Contract<'_>, media: &MediaType) -> Payload {
    let media_type = media.name.clone();
    let (ty, writing) = match media.schema.filter(|_| is_json(&media.name)) {
        None if is_json(&media.name) => (quote!(::contract_runtime::Json), Writing::Value(None)),
        None if is_text(&media.name) => (quote!(String), Writing::Bytes),
        None => (quote!(runtime::Bytes), Writing::Bytes),
        Some(schema) => {
            let ty = contract.types.rust_type(schema);
            let model = contract.types.is_contract(schema);
            let value = || Writing::Value(validator(contract, schema));
            (ty, if model { Writing::Model } else { value() })
        }
    };
    Payload { ty, media_type, writing }
}

impl Payload {
    fn empty() -> Self {
        Self { ty: quote!(()), media_type: String::new(), writing: Writing::Empty }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.media_type == other.media_type && self.ty.to_string() == other.ty.to_string()
    }
}

impl Case {
    fn empty(status: u16) -> Self {
        Self { name: reason(status), doc: String::new(), status, payload: Payload::empty(), reply: false }
    }
}
