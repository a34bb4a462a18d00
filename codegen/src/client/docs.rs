//! Documentation of methods, from the contract's own words.

use proc_macro2::TokenStream;
use quote::quote;

use super::Writer;
use crate::{
    api::{Operation, ParameterIn, Status},
    emit,
    plan::{Answers, Call, Payload, Side},
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
            paragraph(&sentence(summary));
            if !description.starts_with(summary.trim_end_matches('.')) {
                paragraph(description);
            }
        }
        (Some(text), None) | (None, Some(text)) => paragraph(&sentence(text)),
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
            };
            let mut facts = vec![format!("`{}` {place}", parameter.row.name)];
            let limits = parameter.row.schema.map(|id| limits_of(graph, id)).unwrap_or_default();
            if !limits.is_empty() {
                facts.push(limits);
            }
            if parameter.parameter.deprecated {
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

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?', ':']) { text.to_owned() } else { format!("{text}.") }
}

/// CommonMark as rustdoc takes it without warnings or doctests: no indented code, fences
/// marked as text, brackets and angles outside of code taken literally, addresses as links.
pub(super) fn markdown(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut fenced = false;
    for line in emit::printable(text.trim()).lines() {
        let line = line.trim_end();
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            lines.push(if fenced { "```".to_owned() } else { "```text".to_owned() });
            fenced = !fenced;
        } else if fenced {
            lines.push(line.to_owned());
        } else {
            let indent = (line.len() - trimmed.len()).min(3);
            lines.push(format!("{}{}", &"   "[..indent], escape(trimmed)));
        }
    }
    if fenced {
        lines.push("```".to_owned());
    }
    lines
}

fn escape(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let balanced = line.matches('`').count().is_multiple_of(2);
    for (index, part) in line.split('`').enumerate() {
        if index > 0 {
            out.push('`');
        }
        if balanced && index % 2 == 1 {
            out.push_str(part);
            continue;
        }
        for word in part.split_inclusive(' ') {
            if word.starts_with("https://") || word.starts_with("http://") {
                let end = word.trim_end_matches([' ', '.', ',', ';', ')']).len();
                out.push_str(&format!("<{}>{}", &word[..end], &word[end..]));
                continue;
            }
            let link = word.contains("](");
            for character in word.chars() {
                if matches!(character, '<' | '>') || (!link && matches!(character, '[' | ']')) {
                    out.push('\\');
                }
                out.push(character);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_markdown_that_rustdoc_takes() {
        let check = |text: &str, expect: &[&str]| assert_eq!(markdown(text), expect);
        check("a <TOKEN> and `<kept>` [x]", &[r"a \<TOKEN\> and `<kept>` \[x\]"]);
        check("see https://a.example/b.", &["see <https://a.example/b>."]);
        check("    fn main() {}", &["fn main() {}"]);
        check("a\n\n        b", &["a", "", "   b"]);
        check("```\nx[0]\n```", &["```text", "x[0]", "```"]);
        check("a\tb\u{202e}c\r\nd\re", &["a    b\\u{202e}c", "d\\re"]);
    }
}
