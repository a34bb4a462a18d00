//! OpenAPI 3.1 → 3.0.3 for one engine: the document that progenitor can carry.
//!
//! progenitor decides client methods and nothing else, so the lowered document has no shapes:
//! every schema that an operation mentions is a named component, replaced by a type of ours.
//! What progenitor would refuse, panic on or drop in silence (`codegen-notes.md`, 1.1 and 2)
//! is put into a form that it carries, and [`refine`](crate::refine) restores the rest from
//! the [`Call`]s. Each thing the document cannot say is a [`Loss`] that names what says it
//! instead; an operation that cannot be carried at all is a diagnostic.

mod arguments;
mod bodies;
mod components;
mod responses;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use serde_json::{Value, json};

use crate::{
    api::{Api, Operation, ParameterIn},
    config::ClientConfig,
    diagnostics::{Diagnostic, Diagnostics},
    names,
    rust_types::RustTypes,
    schema::{Graph, SchemaId},
    tree::Place,
};

pub use self::components::Components;

/// What a contract's owner decides about the client.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// Header and cookie parameters that the transport supplies, by name in any case: they
    /// are no arguments. `DPoP`, `X-Correlation-Id`.
    pub transport_parameters: Vec<String>,
    /// Leave out, with a warning, what the engine cannot carry; otherwise an error.
    pub skip_unsupported: bool,
}

impl From<&ClientConfig> for ClientOptions {
    fn from(config: &ClientConfig) -> Self {
        Self {
            transport_parameters: config.transport_headers.clone(),
            skip_unsupported: config.skip_unsupported,
        }
    }
}

/// Something of the contract that an engine cannot carry, and what carries it instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where the contract says it.
    pub place: Place,
    /// The engine: `progenitor`.
    pub engine: &'static str,
    /// What it cannot carry.
    pub what: String,
    /// What enforces or restores it.
    pub enforced: String,
}

/// The lowered document and what it does not say.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// OpenAPI 3.0.3; printed by `contract-codegen lower`.
    pub document: Value,
    /// Its components, each replaced by a type of ours.
    pub components: Components,
    /// One for each operation in the document, in document order.
    pub calls: Vec<Call>,
    /// Everything that the document cannot say.
    pub losses: Vec<Loss>,
    /// Operations that are not in the document: errors, or warnings when skipped.
    pub diagnostics: Diagnostics,
}

/// What is to become of an operation, beside what the engine decides.
#[derive(Clone, Debug)]
pub struct Call {
    /// Index in [`Api::operations`].
    pub operation: usize,
    /// Name of the method, which is also the lowered `operationId`.
    pub method: String,
    /// The lowered path.
    pub path: String,
    /// Path arguments in the order of the template, then the others in document order.
    pub arguments: Vec<Argument>,
    /// The body.
    pub body: Option<Body>,
    /// Media types for `Accept`, when an answer has any.
    pub accept: Option<String>,
    /// Type of the result, as the lowered document gives it.
    pub result: Payload,
    /// Whether some successful statuses come without the body that others have.
    pub result_optional: bool,
    /// Type of a refusal.
    pub refusal: Payload,
}

/// A parameter that is an argument.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Index in [`Operation::parameters`].
    pub parameter: usize,
    /// Name of the argument, and of the lowered parameter.
    pub name: String,
    /// Where it goes.
    pub location: ParameterIn,
    /// Whether it has to be given.
    pub required: bool,
    /// How a list is written.
    pub list: List,
    /// Type of the value; of one element for a list.
    pub rust_type: TokenStream,
}

/// How the values of an argument are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// It is one value.
    No,
    /// `a=1&a=2`
    Repeated,
    /// `a=1,2`
    Joined,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub struct Body {
    /// The media type as the contract has it.
    pub media_type: String,
    /// Whether it has to be given.
    pub required: bool,
    /// What it is made of.
    pub form: BodyForm,
}

/// What a body is made of.
#[derive(Clone, Debug)]
pub enum BodyForm {
    /// JSON of a schema, or any JSON.
    Json(Option<SchemaId>),
    /// `application/x-www-form-urlencoded` of a schema.
    Form(SchemaId),
    /// Bytes.
    Raw,
}

/// What an answer holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payload {
    /// JSON of a component, by key.
    Json(String),
    /// Bytes of whatever media type.
    Raw,
    /// Nothing.
    Nothing,
}

/// Lowers a contract's operations for progenitor.
#[must_use]
pub fn lower(api: &Api, graph: &Graph, types: &dyn RustTypes, options: &ClientOptions) -> Lowered {
    let mut lowering =
        Lowering { graph, types, options, components: Components::default(), losses: Vec::new() };
    let mut paths: BTreeMap<String, Value> = BTreeMap::new();
    let mut calls = Vec::new();
    let mut diagnostics = Diagnostics::new();
    for (index, (operation, method)) in api.operations.iter().zip(method_names(api)).enumerate() {
        let before = lowering.losses.len();
        let lowered = lowering.operation(index, operation, method).and_then(|(call, item)| {
            let verb = operation.method.to_ascii_lowercase();
            match paths.entry(call.path.clone()).or_insert_with(|| json!({})) {
                Value::Object(path) if !path.contains_key(&verb) => {
                    path.insert(verb, item);
                    Ok(call)
                }
                _ => Err("another operation has the same method and path".to_owned()),
            }
        });
        match lowered {
            Ok(call) => calls.push(call),
            Err(reason) => {
                lowering.losses.truncate(before);
                diagnostics.push(refusal(operation, &reason, options));
            }
        }
    }
    let document = json!({
        "openapi": "3.0.3",
        "info": { "title": api.title, "version": api.version },
        "paths": paths,
        "components": { "schemas": lowering.components.document(graph) },
    });
    let Lowering { components, losses, .. } = lowering;
    Lowered { document, components, calls, losses, diagnostics }
}

/// An operation that has no method in the client.
pub(crate) fn refusal(operation: &Operation, reason: &str, options: &ClientOptions) -> Diagnostic {
    let message = format!("`{}` has no method in the client: {reason}", operation.id);
    let diagnostic = if options.skip_unsupported {
        Diagnostic::warning("client-unsupported", message)
    } else {
        Diagnostic::error("client-unsupported", message)
            .help("set `skip-unsupported` under `[client]` to generate the others without it")
    };
    diagnostic.at(operation.place.clone())
}

/// What lowering one operation needs and adds to.
struct Lowering<'a> {
    graph: &'a Graph,
    types: &'a dyn RustTypes,
    options: &'a ClientOptions,
    components: Components,
    losses: Vec<Loss>,
}

impl Lowering<'_> {
    fn operation(
        &mut self,
        index: usize,
        operation: &Operation,
        method: String,
    ) -> Result<(Call, Value), String> {
        const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];
        if !METHODS.contains(&operation.method.as_str()) {
            return Err(format!("method `{}` is not supported", operation.method));
        }
        let (path, arguments, parameters) = self.arguments(operation)?;
        let body = self.body(operation)?;
        let answers = self.responses(operation)?;
        let mut item = json!({
            "operationId": method,
            "parameters": parameters,
            "responses": answers.document,
        });
        let body = body.map(|(body, lowered)| {
            item["requestBody"] = lowered;
            body
        });
        let call = Call {
            operation: index,
            method,
            path,
            arguments,
            body,
            accept: answers.accept,
            result: answers.result,
            result_optional: answers.result_optional,
            refusal: answers.refusal,
        };
        Ok((call, item))
    }

    /// The key of the component for a schema.
    fn component(&mut self, schema: SchemaId) -> String {
        self.components.key(self.types.rust_type(schema), Some(schema))
    }

    /// The key of the component for any JSON value.
    fn any(&mut self) -> String {
        self.components.key(quote::quote!(::contract_runtime::Json), None)
    }

    fn lose(&mut self, place: &Place, what: impl Into<String>, enforced: impl Into<String>) {
        let (what, enforced) = (what.into(), enforced.into());
        let loss = Loss { place: place.clone(), engine: "progenitor", what, enforced };
        // A parameter or response that operations share is one place.
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }
}

/// `application/json`, `application/…+json`, parameters aside.
fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.ends_with("/json") || essence.ends_with("+json")
}

/// Names of the methods, distinct, none of those that every client has.
fn method_names(api: &Api) -> Vec<String> {
    const TAKEN: [&str; 3] = ["new", "base_url", "with_request_checks"];
    let mut seen: BTreeSet<String> = TAKEN.iter().map(|&name| name.to_owned()).collect();
    api.operations.iter().map(|operation| distinct(&operation.id, &mut seen, "call")).collect()
}

/// A name that neither needs `r#` nor has been given before, and that progenitor's own
/// conversion to snake case leaves as it is.
fn distinct(wire: &str, seen: &mut BTreeSet<String>, prefix: &str) -> String {
    let name = names::field_name(wire);
    let base = match name.strip_prefix("r#") {
        Some(keyword) => format!("{prefix}_{keyword}"),
        None => name.trim_end_matches('_').to_owned(),
    };
    let clear = |name: &str| match syn::parse_str::<syn::Ident>(name) {
        Ok(_) => name.to_owned(),
        Err(_) => format!("{prefix}_{name}"),
    };
    let base = clear(&base);
    let mut name = base.clone();
    let mut number = 1;
    while !seen.insert(name.clone()) {
        number += 1;
        name = if number == 2 { format!("{prefix}_{base}") } else { format!("{prefix}_{base}_{number}") };
    }
    name
}
