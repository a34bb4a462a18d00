//! Plans the client's methods, and lowers them to OpenAPI 3.0.3 for one engine.
//!
//! A [`Call`] is all that the client's writer needs of an operation. As a second opinion
//! progenitor reads the same operations from the lowered document, as far as it can carry
//! them, and [`refine`](crate::refine) compares the two. That document has no shapes: every
//! schema that an operation mentions is a named component. What progenitor would refuse, panic
//! on or drop in silence is put into a form that it carries, or the operation is left out of
//! the document, which is decided here and not by trying. Each thing the document cannot say is
//! a [`Loss`] that names what says it instead; what no client can send is a diagnostic.

mod arguments;
mod bodies;
mod components;
mod responses;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use serde_json::{Value, json};

use crate::{
    api::{Api, Operation, ParameterIn, Status},
    config::{ClientConfig, OperationConfig},
    diagnostics::{Diagnostic, Diagnostics},
    names,
    operations::{self, Plan, Side},
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
    /// Leave out, with a warning, what no client can send; otherwise an error.
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
    /// One for each operation that has a method, in document order.
    pub calls: Vec<Call>,
    /// Everything that the document cannot say.
    pub losses: Vec<Loss>,
    /// Operations that have no method: errors, or warnings when skipped.
    pub diagnostics: Diagnostics,
}

/// What is to become of an operation: all that the client's writer needs.
#[derive(Clone, Debug)]
pub struct Call {
    /// Index among the operations of the contract's side.
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
    /// What the method gives.
    pub results: Answers,
    /// What it refuses with.
    pub refusals: Answers,
    /// Why progenitor cannot carry it, and so cannot be asked about it.
    pub beyond: Option<String>,
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
    /// Whether it is a list, which is empty when it is left out.
    pub list: bool,
    /// Type of the value; of one element for a list.
    pub rust_type: TokenStream,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub struct Body {
    /// Whether it has to be given.
    pub required: bool,
    /// The type that stands for it.
    pub rust_type: TokenStream,
    /// What may be sent: one, or a variant of the type each.
    pub forms: Vec<BodyForm>,
}

/// One way of sending a body.
#[derive(Clone, Debug)]
pub struct BodyForm {
    /// The media type as the contract has it.
    pub media_type: String,
    /// The variant, when there are several.
    pub variant: String,
    /// What it is made of.
    pub kind: BodyKind,
}

/// What a body is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// JSON of a type that checks itself.
    Model,
    /// Other JSON.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// Parts.
    Multipart,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// Bytes of a media type that the caller chooses.
    Typed,
}

/// All answers of one kind, results or refusals.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// By status, and by media type where there are several.
    pub cases: Vec<Case>,
    /// What all of them hold, when that is one type.
    pub one: Option<Payload>,
    /// Whether some of them come without the body that others have.
    pub optional: bool,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its statuses.
    pub status: Status,
    /// The media type, when its status has several.
    pub media_type: Option<String>,
    /// What it holds.
    pub payload: Payload,
    /// The variant, where there are several types.
    pub variant: String,
    /// `description`
    pub doc: String,
}

/// What an answer holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payload {
    /// JSON of a component, by key.
    Json(String),
    /// Text.
    Text,
    /// Bytes of whatever media type.
    Raw,
    /// Nothing.
    Nothing,
}

/// Lowers a contract's operations for progenitor.
#[must_use]
pub fn lower(
    api: &Api,
    graph: &Graph,
    types: &dyn RustTypes,
    options: &ClientOptions,
    side: Side,
) -> Lowered {
    // What is to be said about the table is said where the table is written.
    let config = OperationConfig::default();
    let contract = operations::Contract { graph, api, types, config: &config, side };
    let plans = operations::plan(contract);
    let operations = contract.operations();
    let mut lowering =
        Lowering { graph, types, options, side, components: Components::default(), losses: Vec::new() };
    let mut paths: BTreeMap<String, Value> = BTreeMap::new();
    let mut calls = Vec::new();
    let mut diagnostics = Diagnostics::new();
    let mut places: BTreeSet<(&str, &str)> = BTreeSet::new();
    for ((index, plan), method) in plans.iter().enumerate().zip(method_names(operations)) {
        let operation = plan.operation;
        let before = lowering.losses.len();
        let lowered = lowering.operation(index, plan, method).and_then(|(call, item)| {
            // Webhooks have a name where others have a place.
            if side == Side::Paths && !places.insert((&operation.method, &operation.path)) {
                return Err("another operation has the same method and path".to_owned());
            }
            Ok((call, item))
        });
        let (mut call, item) = match lowered {
            Ok(lowered) => lowered,
            Err(reason) => {
                lowering.losses.truncate(before);
                diagnostics.push(refusal(operation, &reason, options));
                continue;
            }
        };
        if side == Side::Webhooks {
            call.beyond.get_or_insert_with(|| "it is a webhook".to_owned());
        }
        if call.beyond.is_none() {
            let verb = operation.method.to_ascii_lowercase();
            match paths.entry(call.path.clone()).or_insert_with(|| json!({})) {
                Value::Object(path) if !path.contains_key(&verb) => {
                    path.insert(verb, item);
                }
                _ => call.beyond = Some("its path differs from another in names only".to_owned()),
            }
        }
        lowering.beyond(operation, &call, before);
        calls.push(call);
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
    side: Side,
    components: Components,
    losses: Vec<Loss>,
}

impl Lowering<'_> {
    fn operation(&mut self, index: usize, plan: &Plan<'_>, method: String) -> Result<(Call, Value), String> {
        const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];
        let operation = plan.operation;
        if !METHODS.contains(&operation.method.as_str()) {
            return Err(format!("method `{}` is not supported", operation.method));
        }
        let mut beyond = None;
        let (path, arguments, parameters) = self.arguments(operation, &mut beyond)?;
        let body = self.body(plan, &mut beyond)?;
        let answers = self.responses(operation, &mut beyond);
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
            results: answers.results,
            refusals: answers.refusals,
            beyond,
        };
        Ok((call, item))
    }

    /// What is lost of an operation that progenitor is not shown is that it is not shown.
    fn beyond(&mut self, operation: &Operation, call: &Call, before: usize) {
        let Some(reason) = &call.beyond else { return };
        let own = self.losses.split_off(before);
        self.losses.extend(own.into_iter().filter(|loss| loss.enforced == TRANSPORT));
        let what = format!("the operation: {reason}");
        self.lose(&operation.place, what, "written by the generator itself, without progenitor's word");
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

/// Says why progenitor cannot carry something, once.
fn exceed(beyond: &mut Option<String>, reason: impl Into<String>) {
    beyond.get_or_insert_with(|| reason.into());
}

/// Who supplies what is no argument.
const TRANSPORT: &str = "the transport supplies it";

/// Names of the methods, distinct, none of those that every client has.
fn method_names(operations: &[Operation]) -> Vec<String> {
    const TAKEN: [&str; 4] = ["new", "base_url", "with_request_checks", "with_base_url_only"];
    let mut seen: BTreeSet<String> = TAKEN.iter().map(|&name| name.to_owned()).collect();
    operations.iter().map(|operation| distinct(&operation.id, &mut seen, "call")).collect()
}

/// A name that is no keyword and has not been given before, and that progenitor's own
/// conversion to snake case leaves as it is.
fn distinct(wire: &str, seen: &mut BTreeSet<String>, prefix: &str) -> String {
    let name = names::field_name(wire);
    let base = name.trim_end_matches('_');
    let clear = |name: &str| match syn::parse_str::<syn::Ident>(name) {
        Ok(_) => name.to_owned(),
        Err(_) => format!("{prefix}_{name}"),
    };
    let base = clear(base);
    let mut name = base.clone();
    let mut number = 1;
    while !seen.insert(name.clone()) {
        number += 1;
        name = if number == 2 { format!("{prefix}_{base}") } else { format!("{prefix}_{base}_{number}") };
    }
    name
}
