//! The runs of progenitor, which may fail: as a whole, or operation by operation.

use serde_json::Value;

use super::Engine;
use crate::lower::{Components, Lowered};

/// Runs progenitor over a lowered document.
///
/// # Errors
/// What it says, in one sentence; a panic's message too.
pub(super) fn generate(lowered: &Lowered, engine: &Engine<'_>) -> Result<syn::File, String> {
    run(&lowered.document, &lowered.components, engine)
}

/// The operations that fail each by itself, with what progenitor says. Meant for when the
/// whole document fails, which names no operation. Halves are tried and not each by itself:
/// few operations fail, and a run over many takes little longer than one over few.
pub(super) fn culprits(lowered: &Lowered, engine: &Engine<'_>) -> Vec<(String, String)> {
    let shown = lowered.operations.iter().filter(|own| own.beyond.is_none());
    let mut found = Vec::new();
    let mut open: Vec<Vec<&str>> = vec![shown.map(|own| own.method.as_str()).collect()];
    while let Some(group) = open.pop() {
        let mut document = lowered.document.clone();
        keep_only(&mut document, &|operation| group.contains(&operation));
        let Err(reason) = run(&document, &lowered.components, engine) else { continue };
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

fn run(document: &Value, components: &Components, engine: &Engine<'_>) -> Result<syn::File, String> {
    let keys: Vec<String> = components.iter().map(|component| component.key.clone()).collect();
    let code = engine(document, &keys)?;
    syn::parse_str(&code).map_err(|error| format!("its output is no Rust: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::LoweredOperation;

    /// Two media types make progenitor fail; it says which operation only by chance.
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
        let engine = |document: &Value, _: &[String]| {
            let odd = document.to_string().contains("c/d");
            if odd { Err("more media types than expected".to_owned()) } else { Ok(String::new()) }
        };
        assert!(generate(&lowered, &engine).is_err());
        let culprits = culprits(&lowered, &engine);
        assert_eq!(culprits, [("odd".to_owned(), "more media types than expected".to_owned())]);
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
