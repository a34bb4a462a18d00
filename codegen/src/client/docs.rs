//! Documentation of methods, from the contract's own words.

use proc_macro2::TokenStream;
use quote::quote;

use super::Writer;
use crate::{
    api::{Operation, ParameterIn, Status},
    emit,
    plan::{Answers, Call, Payload, Side, Streamed, Streams},
    words::limits_of,
};

/// The lines of a method's documentation.
pub(super) fn operation_lines(writer: &Writer<'_>, call: &Call<'_>) -> Vec<String> {
    let operation = call.operation;
    let graph = writer.graph;
    let mut lines = Vec::new();
    let mut paragraph = |text: &str| {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(markdown(text));
    };
    match (&operation.summary, &operation.description) {
        (Some(summary), Some(description)) => {
            paragraph(&emit::sentence(summary));
            if !description.starts_with(summary.trim_end_matches('.')) {
                paragraph(description);
            }
        }
        (Some(text), None) | (None, Some(text)) => paragraph(&emit::sentence(text)),
        (None, None) => {}
    }
    let scopes = scopes(call);
    match &operation.callback {
        Some((caller, address)) => {
            paragraph(&format!("`{}`, a callback of `{caller}` to `{address}`{scopes}.", operation.method));
        }
        None => paragraph(&format!("`{}`{scopes}.", call.place())),
    }
    if let Some(server) = operation.servers.first() {
        paragraph(&format!("Sent to `{server}`, a server of its own."));
    }
    let webhook = writer.plan.side == Side::Webhooks;
    let body = call.body.as_ref().filter(|body| body.body.required);
    let options = call.has_options();
    if call.required().next().is_some() || body.is_some() || options || webhook {
        lines.extend(["", "# Arguments", ""].map(str::to_owned));
        if webhook {
            lines.push("* `address`: where it is received.".to_owned());
        }
        for (_, parameter) in call.required() {
            let place = match parameter.row.location {
                ParameterIn::Path => "in the path",
                ParameterIn::Query => "in the query",
                ParameterIn::Header => "header",
                ParameterIn::Cookie => "cookie",
                ParameterIn::QueryString => "the whole query",
            };
            let mut facts = vec![format!("`{}` {place}", parameter.row.name)];
            let limits = parameter.row.schema.map(|id| limits_of(graph, id)).unwrap_or_default();
            if !limits.is_empty() {
                facts.push(limits);
            }
            if parameter.deprecated {
                facts.push("deprecated".to_owned());
            }
            let about = parameter.parameter.description.as_deref().unwrap_or_default();
            item(&mut lines, parameter.field.as_deref().unwrap_or_default(), &facts.join(", "), about);
        }
        if let Some(body) = body {
            let about = body.body.description.as_deref().unwrap_or_default();
            let sent = body.variants.iter().map(|variant| &body.contents[variant.sent].media.name);
            let names: Vec<String> = sent.map(|name| format!("`{name}`")).collect();
            item(&mut lines, "body", &names.join(" or "), about);
        }
        if options {
            lines.push("* `options`: what may be left out.".to_owned());
        }
    }
    lines.extend(["", "# Errors", ""].map(str::to_owned));
    lines.extend(errors(writer, call));
    lines
}

/// What is different where an operation's answer or body is in pieces; before its errors.
pub(super) fn add_stream(lines: &mut Vec<String>, call: &Call<'_>) {
    let Streams { answer, body, .. } = &call.streams;
    let mut more = Vec::new();
    if let Some(answer) = answer {
        let what = match answer.content {
            Streamed::Pieces => "Bytes are handed on as they come",
            Streamed::Items(_) => "Items are handed on as they come",
        };
        more.push(format!(
            "{what}: the answer is that of `{}` whose type is `{}`.",
            answer.status.key(),
            answer.media_type
        ));
    }
    if let (Some(body), Some(own)) = (body, &call.body) {
        let media_type = &own.contents[body.content_index].media.name;
        more.push(format!("The body is sent as `{media_type}` while it comes, and once."));
    }
    let at = lines.iter().position(|line| line.starts_with("# ")).unwrap_or(lines.len());
    more.push(String::new());
    lines.splice(at..at, more);
}

fn item(lines: &mut Vec<String>, name: &str, facts: &str, about: &str) {
    let mut about = markdown(about).into_iter().filter(|line| !line.is_empty());
    match about.next() {
        Some(first) => lines.push(format!("* `{name}`: {facts}. {first}")),
        None => lines.push(format!("* `{name}`: {facts}.")),
    }
    lines.extend(about.map(|line| format!("  {line}")));
}

/// What a refusal of a status is called, where it is one of ours.
fn link(writer: &Writer<'_>, refusals: &Answers, status: Status) -> Option<String> {
    let case = refusals.cases.iter().find(|case| case.status == status)?;
    match (&refusals.choice, &case.payload) {
        (Some(choice), _) => {
            let module = writer.plan.side.answers();
            let variant = &case.variant;
            Some(format!("[`{choice}::{variant}`](super::{module}::{choice}::{variant})"))
        }
        (None, Payload::Json(ty)) => {
            writer.types.name(ty).map(|name| format!("[`{name}`](super::types::{name})"))
        }
        (None, _) => None,
    }
}

fn errors(writer: &Writer<'_>, call: &Call<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let Operation { responses, .. } = call.operation;
    for response in responses {
        if !call.refusals.cases.iter().any(|case| case.status == response.status) {
            continue;
        }
        let body = link(writer, &call.refusals, response.status);
        let body = body.map(|name| format!(" with {name}")).unwrap_or_default();
        let status = match response.status {
            Status::Default if call.refusals.cases.len() > 1 => "any other `4XX` or `5XX`".to_owned(),
            Status::Default => "any `4XX` or `5XX`".to_owned(),
            status => format!("`{}`", status.key()),
        };
        let mut about = markdown(&response.description).into_iter().filter(|line| !line.is_empty());
        let first = about.next().map(|text| format!(": {text}")).unwrap_or_default();
        lines.push(format!("* [`Error::Answer`]{body} for {status}{first}"));
        lines.extend(about.map(|line| format!("  {line}")));
    }
    if call.body.is_some() || call.parameters.iter().any(|parameter| parameter.field.is_some()) {
        lines.push("* [`Error::InvalidRequest`] for what breaks the contract: it is not sent.".to_owned());
    }
    lines.push("* [`Error::Unreadable`] for any other answer, [`Error::Transport`] without one.".to_owned());
    lines
}

fn scopes(call: &Call<'_>) -> String {
    let alternatives = call.scopes.iter().map(|scopes| {
        let scopes: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
        scopes.join(" and ")
    });
    match alternatives.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => format!(", needs {one}"),
        many => format!(", needs one of {}", many.join(", ")),
    }
}

/// Lines of documentation, each with the space that `///` has before its text.
pub(super) fn attributes(lines: &[String]) -> TokenStream {
    let lines = lines.iter().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
    quote!(#(#[doc = #lines])*)
}

/// The lines of a text from the contract.
pub(super) fn markdown(text: &str) -> Vec<String> {
    emit::markdown(text).lines().map(str::to_owned).collect()
}
