//! Writes the documentation of client methods from descriptions in the contract.

use proc_macro2::TokenStream;
use quote::quote;

use super::ClientWriter;
use crate::{
    api::{Operation, ParameterIn, StatusPattern},
    calls::headers_link,
    constraint_text::{describe_schema_limits, sanitize_comment},
    emit,
    plan::{OperationSide, PlannedCall, ResponsePayload, ResponseSet, StreamContent, StreamPlan},
};

/// Returns the documentation of a client method as lines of Markdown.
pub(super) fn operation_lines(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Vec<String> {
    let operation = call.operation;
    let graph = writer.graph;
    let mut lines = Vec::new();
    let mut paragraph = |text: &str| {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(markdown_lines(text));
    };
    match (&operation.summary, &operation.description) {
        (Some(summary), Some(description)) => {
            paragraph(&emit::end_sentence(summary));
            if !description.starts_with(summary.trim_end_matches('.')) {
                paragraph(description);
            }
        }
        (Some(text), None) | (None, Some(text)) => paragraph(&emit::end_sentence(text)),
        (None, None) => {}
    }
    let scopes = describe_scopes(call);
    match &operation.callback {
        Some((caller, address)) => {
            paragraph(&format!("`{}`, a callback of `{caller}` to `{address}`{scopes}.", operation.method));
        }
        None => paragraph(&format!("`{}`{scopes}.", call.describe_place())),
    }
    if let Some(server) = operation.servers.first() {
        paragraph(&format!("Sent to `{}`, the operation's own server.", server.url));
    }
    if let Some(headers) = headers_link(writer.plan.side.headers_module(), call) {
        // A link to an item, which the conversion of descriptions would escape.
        lines.extend([String::new(), format!("Response headers: {headers}.")]);
    }
    let webhook = writer.plan.side == OperationSide::Webhooks;
    let body = call.body.as_ref().filter(|body| body.is_argument());
    let options = call.has_options();
    if call.required_parameters().next().is_some() || body.is_some() || options || webhook {
        lines.extend(["", "# Arguments", ""].map(str::to_owned));
        if webhook {
            lines.push("* `address`: URL of the receiver.".to_owned());
        }
        for (_, parameter) in call.required_parameters() {
            let place = match parameter.row.location {
                ParameterIn::Path => "path parameter",
                ParameterIn::Query => "query parameter",
                ParameterIn::Header => "header",
                ParameterIn::Cookie => "cookie",
                ParameterIn::QueryString => "the whole query string",
            };
            let mut facts = vec![format!("{place} `{}`", parameter.row.name)];
            let limits = parameter.row.schema.map(|id| describe_schema_limits(graph, id)).unwrap_or_default();
            if !limits.is_empty() {
                facts.push(limits);
            }
            if parameter.deprecated {
                facts.push("deprecated".to_owned());
            }
            let about = parameter.parameter.description.as_deref().unwrap_or_default();
            push_argument(
                &mut lines,
                parameter.field.as_deref().unwrap_or_default(),
                &facts.join(", "),
                about,
            );
        }
        if let Some(body) = body {
            let about = body.body.description.as_deref().unwrap_or_default();
            let sent = body.variants.iter().map(|variant| &body.contents[variant.sent].media.name);
            let names: Vec<String> = sent.map(|name| format!("`{name}`")).collect();
            let optional = if body.body.required { "" } else { ", or `None` for a request without a body" };
            push_argument(&mut lines, "body", &format!("{}{optional}", names.join(" or ")), about);
        }
        if options {
            lines.push("* `options`: optional parameters.".to_owned());
        }
    }
    lines.extend(["", "# Errors", ""].map(str::to_owned));
    lines.extend(error_lines(writer, call));
    lines
}

/// Inserts notes about streamed requests and responses before the section `# Errors` of a method's
/// documentation.
pub(super) fn add_stream_notes(lines: &mut Vec<String>, call: &PlannedCall<'_>) {
    let StreamPlan { response: answer, body, .. } = &call.streams;
    let mut more = Vec::new();
    if let Some(answer) = answer {
        let what = match answer.content {
            StreamContent::Bytes => "The response is streamed as bytes",
            StreamContent::Items(_) => "The response is streamed item by item",
        };
        more.push(format!(
            "{what}, from the `{}` response with media type `{}`.",
            answer.status.key(),
            answer.media_type
        ));
    }
    if let (Some(body), Some(own)) = (body, &call.body) {
        let media_type = &own.contents[body.content_index].media.name;
        more.push(format!("The body is streamed as `{media_type}`, and the request is not retried."));
    }
    let at = lines.iter().position(|line| line.starts_with("# ")).unwrap_or(lines.len());
    more.push(String::new());
    lines.splice(at..at, more);
}

fn push_argument(lines: &mut Vec<String>, name: &str, facts: &str, about: &str) {
    let mut about = markdown_lines(about).into_iter().filter(|line| !line.is_empty());
    match about.next() {
        Some(first) => lines.push(format!("* `{name}`: {facts}. {first}")),
        None => lines.push(format!("* `{name}`: {facts}.")),
    }
    lines.extend(about.map(|line| format!("  {line}")));
}

/// Returns a link to the type of the error response with this status, or `None` if it has no generated type.
fn refusal_link(writer: &ClientWriter<'_>, refusals: &ResponseSet, status: StatusPattern) -> Option<String> {
    let case = refusals.cases.iter().find(|case| case.status == status)?;
    match (&refusals.enum_name, &case.payload) {
        (Some(choice), _) => {
            let module = writer.plan.side.answers_module();
            let variant = &case.variant;
            Some(format!("[`{choice}::{variant}`](super::{module}::{choice}::{variant})"))
        }
        (None, ResponsePayload::Json(ty)) => {
            writer.types.type_name(ty).map(|name| format!("[`{name}`](super::types::{name})"))
        }
        (None, _) => None,
    }
}

fn error_lines(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let Operation { responses, .. } = call.operation;
    for response in responses {
        if !call.errors.cases.iter().any(|case| case.status == response.status) {
            continue;
        }
        let body = refusal_link(writer, &call.errors, response.status);
        let body = body.map(|name| format!(" with {name}")).unwrap_or_default();
        let status = match response.status {
            StatusPattern::Default if call.errors.cases.len() > 1 => {
                "any `4XX` or `5XX` that is not listed here".to_owned()
            }
            StatusPattern::Default => "any `4XX` or `5XX`".to_owned(),
            status => format!("`{}`", status.key()),
        };
        let mut about = markdown_lines(&response.description).into_iter().filter(|line| !line.is_empty());
        let first = about.next().map(|text| format!(": {text}")).unwrap_or_default();
        lines.push(format!("* [`Error::ErrorResponse`]{body} for {status}{first}"));
        lines.extend(about.map(|line| format!("  {line}")));
    }
    if call.body.is_some() || call.parameters.iter().any(|parameter| parameter.field.is_some()) {
        lines.push(
            "* [`Error::InvalidRequest`] if an argument or the body violates the contract; nothing is sent."
                .to_owned(),
        );
    }
    lines.push(
        "* [`Error::UnexpectedResponse`] for a response that the contract does not describe.".to_owned(),
    );
    lines.push("* [`Error::Transport`] if no response is received.".to_owned());
    lines
}

fn describe_scopes(call: &PlannedCall<'_>) -> String {
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

/// Converts documentation lines into `#[doc]` attributes, each with the leading space that `///` has.
pub(super) fn doc_attributes(lines: &[String]) -> TokenStream {
    let lines = lines.iter().map(|line| sanitize_comment(line));
    let lines = lines.map(|line| if line.is_empty() { line } else { format!(" {line}") });
    quote!(#(#[doc = #lines])*)
}

/// Converts a description from the contract to Markdown that is safe for rustdoc, split into lines.
pub(super) fn markdown_lines(text: &str) -> Vec<String> {
    emit::rustdoc_markdown(text).lines().map(str::to_owned).collect()
}
