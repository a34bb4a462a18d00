//! Plans idempotency keys, according to the option `operations.idempotency-header`: determines the operations
//! that take a key, and adds the header parameter to operations that do not declare it.

use super::PlanInput;
use crate::{
    api::{OpenApiDocument, Operation, Parameter, ParameterIn, tokens::is_token},
    config::{Config, IdempotencyHeader, OperationConfig},
    diagnostics::{Diagnostic, Diagnostics},
    prune::{check_selection, matches_selection},
};

const OPTION: &str = "operations.idempotency-header";

const DESCRIPTION: &str =
    "A key under which the server executes the request once. Clients send a random key if there is none.";

/// Adds the header parameter for the key to the operations that the option selects and that do not declare
/// it. Operations with an idempotent method, such as `PUT`, are skipped.
pub(crate) fn add_idempotency_headers(config: &OperationConfig, api: &mut OpenApiDocument) {
    let Some(header @ IdempotencyHeader::Selected { name, .. }) = &config.idempotency_header else { return };
    let takes: Vec<bool> = api.operations.iter().map(|each| lacks_header(header, api, each)).collect();
    for (operation, _) in api.operations.iter_mut().zip(takes).filter(|(_, takes)| *takes) {
        operation.parameters.push(Parameter {
            place: operation.place.clone(),
            name: name.clone(),
            rust_name: None,
            location: ParameterIn::Header,
            required: false,
            deprecated: false,
            description: Some(DESCRIPTION.to_owned()),
            style: "simple".to_owned(),
            explode: false,
            allow_reserved: false,
            allow_empty: false,
            schema: None,
            content: None,
            encoding: Vec::new(),
            examples: Vec::new(),
            constant: None,
        });
    }
}

/// Reports an error if the configured header name is invalid or if the option affects no operation.
pub(crate) fn check_idempotency_header(
    options: &Config,
    api: &OpenApiDocument,
    diagnostics: &mut Diagnostics,
) {
    let Some(header) = &options.operations.idempotency_header else { return };
    let name = header.name();
    let place = options.option_place(OPTION, name);
    if !is_token(name) {
        diagnostics.push(
            Diagnostic::error("config", format!("`{OPTION}` is not a valid header name: `{name}`"))
                .with_optional_place(place)
                .help("a header name consists of letters, digits and `-`"),
        );
        return;
    }
    if let IdempotencyHeader::Selected { operations, .. } = header {
        let problems: Vec<Diagnostic> =
            operations.iter().filter_map(|each| check_selection(options, OPTION, each, api)).collect();
        if !problems.is_empty() {
            diagnostics.extend(problems);
            return;
        }
    }
    let mut all = api.operations.iter().chain(&api.webhooks);
    if all.any(|each| key_parameter(header, api, each).is_some() || lacks_header(header, api, each)) {
        return;
    }
    let (why, help) = match header {
        IdempotencyHeader::Declared(_) => (
            "no operation has this header parameter",
            format!(
                "correct its name, or select the operations that accept it: `{{ name = {name:?}, operations = [{{ path = \"/**\" }}] }}`"
            ),
        ),
        IdempotencyHeader::Selected { .. } => (
            "the selected operations are idempotent without a key",
            "select operations with other methods, such as `POST`, or remove the option".to_owned(),
        ),
    };
    diagnostics.push(
        Diagnostic::error("config", format!("`{OPTION}` does nothing for `{name}`: {why}"))
            .with_optional_place(place)
            .help(help),
    );
}

impl PlanInput<'_> {
    /// Returns the header parameter for the idempotency key of an operation, if the operation takes a key.
    pub(super) fn key_parameter<'o>(&self, operation: &'o Operation) -> Option<&'o Parameter> {
        key_parameter(self.operations.idempotency_header.as_ref()?, self.api, operation)
    }
}

fn key_parameter<'o>(
    header: &IdempotencyHeader,
    api: &OpenApiDocument,
    operation: &'o Operation,
) -> Option<&'o Parameter> {
    let found = declared_header(header, operation)?;
    // An operation with an idempotent method needs no key, unless the contract requires it.
    let needs_key = found.required || !is_idempotent_method(operation);
    (needs_key && is_selected(header, api, operation)).then_some(found)
}

/// Returns true if the option selects an operation whose method is not idempotent and that does not declare
/// the header.
fn lacks_header(header: &IdempotencyHeader, api: &OpenApiDocument, operation: &Operation) -> bool {
    matches!(header, IdempotencyHeader::Selected { .. })
        && !is_idempotent_method(operation)
        && declared_header(header, operation).is_none()
        && is_selected(header, api, operation)
}

fn is_selected(header: &IdempotencyHeader, api: &OpenApiDocument, operation: &Operation) -> bool {
    let IdempotencyHeader::Selected { operations, .. } = header else { return true };
    let is_webhook = !operation.path.starts_with('/');
    operations.iter().any(|each| matches_selection(api, each, operation, is_webhook))
}

fn declared_header<'o>(header: &IdempotencyHeader, operation: &'o Operation) -> Option<&'o Parameter> {
    let mut headers = operation.parameters.iter().filter(|each| each.location == ParameterIn::Header);
    headers.find(|each| each.name.eq_ignore_ascii_case(header.name()))
}

/// Returns true for methods that are safe or idempotent (RFC 9110, 9.2.1 and 9.2.2).
fn is_idempotent_method(operation: &Operation) -> bool {
    matches!(operation.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY" | "PUT" | "DELETE")
}

#[cfg(test)]
mod tests;
