//! Plans idempotency keys, according to the option `operations.idempotency-header`: determines the operations
//! that take a key, and adds the header parameter to operations that do not declare it.

use super::PlanInput;
use crate::{
    api::{OpenApiDocument, Operation, Parameter, ParameterIn, tokens::is_token},
    config::{Config, IdempotencyHeader, OperationConfig, OperationSelector},
    diagnostics::{Diagnostic, Diagnostics},
    prune::{check_selection, matches_selection, selector_place},
    resolve::suggest::help_nearest,
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
    match header {
        IdempotencyHeader::Declared(_) => {
            let mut all = api.operations.iter().chain(&api.webhooks);
            if !all.any(|each| key_parameter(header, api, each).is_some()) {
                let message =
                    format!("`{OPTION}` does nothing for `{name}`: no operation has this header parameter");
                let headers = api.operations.iter().chain(&api.webhooks).flat_map(|each| &each.parameters);
                let headers = headers.filter(|each| each.location == ParameterIn::Header);
                let help = help_nearest(
                    name,
                    headers.map(|each| each.name.as_str()),
                    format!(
                        "correct its name, or select the operations that accept it: `{{ name = {name:?}, operations = [{{ path = \"/**\" }}] }}`"
                    ),
                );
                diagnostics.push(Diagnostic::error("config", message).with_optional_place(place).help(help));
            }
        }
        IdempotencyHeader::Selected { operations, .. } if operations.is_empty() => {
            let message = format!("`{OPTION}` does nothing for `{name}`: `operations` is empty");
            diagnostics.push(
                Diagnostic::error("config", message)
                    .with_optional_place(place)
                    .help("select operations, or remove the option"),
            );
        }
        IdempotencyHeader::Selected { operations, .. } => {
            diagnostics
                .extend(operations.iter().filter_map(|each| check_selector(options, header, each, api)));
        }
    }
}

/// Returns an error if the selector has no effect, that is, if it gives no operation a key.
fn check_selector(
    options: &Config,
    header: &IdempotencyHeader,
    selector: &OperationSelector,
    api: &OpenApiDocument,
) -> Option<Diagnostic> {
    let unmatched = check_selection(options, OPTION, selector, api);
    if unmatched.is_some() {
        return unmatched;
    }
    let selected = |operation: &&Operation| matches_selection(api, selector, operation, false);
    let takes_key = |operation: &Operation| match declared_header(header, operation) {
        Some(found) => needs_key(found, operation),
        None => !operation.has_idempotent_method(),
    };
    let selected_webhook = |webhook: &&Operation| matches_selection(api, selector, webhook, true);
    // The header is not added to webhooks.
    let declares_key =
        |webhook: &Operation| declared_header(header, webhook).is_some_and(|found| needs_key(found, webhook));
    if api.operations.iter().filter(selected).any(takes_key)
        || api.webhooks.iter().filter(selected_webhook).any(declares_key)
    {
        return None;
    }
    let (reason, help) = match api.operations.iter().any(|operation| selected(&operation)) {
        true => (
            "the selected operations are idempotent without a key",
            "select operations with other methods, such as `POST`, or remove the selector",
        ),
        false => (
            "it selects only webhooks, and the header is added only to operations of `paths`",
            "declare the header parameter in the webhook, or remove the selector",
        ),
    };
    let place = selector_place(options, OPTION, selector);
    let name = header.name();
    Some(
        Diagnostic::error("config", format!("`{OPTION}` does nothing for {selector}: {reason}"))
            .with_optional_place(place.or_else(|| options.option_place(OPTION, name)))
            .help(help),
    )
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
    (needs_key(found, operation) && is_selected(header, api, operation)).then_some(found)
}

/// Returns true if the option selects the operation, its method is not idempotent, and it does not declare
/// the header.
fn lacks_header(header: &IdempotencyHeader, api: &OpenApiDocument, operation: &Operation) -> bool {
    matches!(header, IdempotencyHeader::Selected { .. })
        && !operation.has_idempotent_method()
        && declared_header(header, operation).is_none()
        && is_selected(header, api, operation)
}

fn is_selected(header: &IdempotencyHeader, api: &OpenApiDocument, operation: &Operation) -> bool {
    let IdempotencyHeader::Selected { operations, .. } = header else { return true };
    let is_webhook = !operation.path.starts_with('/');
    operations.iter().any(|each| matches_selection(api, each, operation, is_webhook))
}

/// Returns true unless the key is optional and the method is idempotent without it.
fn needs_key(header: &Parameter, operation: &Operation) -> bool {
    header.required || !operation.has_idempotent_method()
}

fn declared_header<'o>(header: &IdempotencyHeader, operation: &'o Operation) -> Option<&'o Parameter> {
    let mut headers = operation.parameters.iter().filter(|each| each.location == ParameterIn::Header);
    headers.find(|each| each.name.eq_ignore_ascii_case(header.name()))
}

#[cfg(test)]
mod tests;
