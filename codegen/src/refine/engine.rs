//! The run of progenitor, which may fail or panic.

use std::panic::{self, AssertUnwindSafe};

use progenitor_impl::{GenerationSettings, Generator};
use serde_json::Value;

use crate::lower::{Components, Lowered};

/// Runs progenitor over a lowered document.
///
/// # Errors
/// What it says, in one sentence; a panic's message too.
pub(super) fn generate(lowered: &Lowered) -> Result<syn::File, String> {
    run(&lowered.document, &lowered.components)
}

/// The operations that fail each by itself, with what progenitor says. Meant for when the
/// whole document fails, which names no operation. Halves are tried and not each by itself:
/// few operations fail, and a run over many takes little longer than one over few.
pub(super) fn culprits(lowered: &Lowered) -> Vec<(String, String)> {
    let shown = lowered.operations.iter().filter(|own| own.beyond.is_none());
    let mut found = Vec::new();
    let mut open: Vec<Vec<&str>> = vec![shown.map(|own| own.method.as_str()).collect()];
    while let Some(group) = open.pop() {
        let mut document = lowered.document.clone();
        keep_only(&mut document, &|operation| group.contains(&operation));
        let Err(reason) = run(&document, &lowered.components) else { continue };
        match group.as_slice() {
            [] => {}
            [one] => found.push(((*one).to_owned(), reason)),
            several => {
                let (left, right) = several.split_at(several.len() / 2);
                open.extend([right.to_vec(), left.to_vec()]);
            }
        }
    }
    found
}

/// Removes the operations whose `operationId` does not pass.
pub(super) fn keep_only(document: &mut Value, pass: &dyn Fn(&str) -> bool) {
    let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) else { return };
    for item in paths.values_mut().filter_map(Value::as_object_mut) {
        item.retain(|_, operation| operation["operationId"].as_str().is_none_or(pass));
    }
    paths.retain(|_, item| item.as_object().is_none_or(|item| !item.is_empty()));
}

fn run(document: &Value, components: &Components) -> Result<syn::File, String> {
    let document: openapiv3::OpenAPI =
        serde_json::from_value(document.clone()).map_err(|error| error.to_string())?;
    let mut settings = GenerationSettings::default();
    for (index, component) in components.iter().enumerate() {
        let placeholder = Components::placeholder(index);
        settings.with_replacement(&component.key, placeholder, std::iter::empty());
    }
    let tokens = caught(|| Generator::new(&settings).generate_tokens(&document))?
        .map_err(|error| error.to_string())?;
    syn::parse2(tokens).map_err(|error| format!("its output is no Rust: {error}"))
}

/// Calls what may panic; the panic's message comes back.
fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    // Everything that `call` may leave half-changed was made for it and is dropped.
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
            .map_or_else(|| "it panics".to_owned(), |text| format!("it panics: {text}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::LoweredOperation;

    #[test]
    fn a_panic_becomes_a_reason() {
        let failed: Result<(), String> = caught(|| panic!("no {}", 7));
        assert_eq!(failed, Err("it panics: no 7".to_owned()));
        assert_eq!(caught(|| 1), Ok(1));
    }

    /// Two media types make progenitor panic; it says which operation only by chance.
    #[test]
    fn culprits_are_found() {
        let plain = |id: &str| serde_json::json!({ "operationId": id, "responses": {} });
        let mut odd = plain("odd");
        odd["requestBody"] = serde_json::json!({ "content": { "a/b": {}, "c/d": {} } });
        let own = |method: &str| LoweredOperation {
            call: 0,
            method: method.to_owned(),
            path: String::new(),
            arguments: Vec::new(),
            beyond: None,
        };
        let lowered = Lowered {
            document: serde_json::json!({
                "openapi": "3.0.3",
                "info": { "title": "", "version": "" },
                "paths": { "/even": { "get": plain("even") }, "/odd": { "post": odd } },
            }),
            components: Components::default(),
            operations: vec![own("even"), own("odd")],
            losses: Vec::new(),
        };
        assert!(generate(&lowered).is_err());
        let culprits = culprits(&lowered);
        assert_eq!(culprits.len(), 1);
        assert_eq!(culprits[0].0, "odd");
        assert!(culprits[0].1.contains("more media types than expected"), "{culprits:?}");
    }

    #[test]
    fn operations_are_removed_with_their_empty_paths() {
        let mut document = serde_json::json!({ "paths": {
            "/a": { "get": { "operationId": "a" }, "post": { "operationId": "b" } },
            "/c": { "get": { "operationId": "c" } },
        }});
        keep_only(&mut document, &|operation| operation == "b");
        assert_eq!(document, serde_json::json!({ "paths": { "/a": { "post": { "operationId": "b" } } } }));
    }
}
