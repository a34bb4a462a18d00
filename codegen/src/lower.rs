//! Lowers operations to what progenitor reads of OpenAPI 3.0.3, and schemas to older dialects.
//!
//! Every type that a body mentions is a named component, and everything stands under the names that
//! it has on the wire. What progenitor would refuse, panic on or drop in silence is put into a form
//! that it carries, or the operation is left out of the document, which is decided here and not by
//! trying. Each thing the document cannot say is a [`Loss`] that names what says it instead. Nothing
//! that is generated depends on this; [`refine`](crate::refine) compares what progenitor makes of it
//! with the plan.

pub(crate) mod arguments;
mod components;
pub(crate) mod responses;
pub(crate) mod schemas;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};

use crate::{
    api::Operation,
    plan::{Body, Call, Content, Format, Plan, Side},
    schema::{Graph, SchemaId, keywords::Keyword},
    shape::{IntKind, Shapes, TypeRef},
    tree::Place,
};

use self::schemas::{Dialect, Schemas, Written};
pub use self::{arguments::Argument, components::Components};

/// Something of the contract that an engine cannot carry, and what carries it instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loss {
    /// Where the contract says it.
    pub place: Place,
    /// What cannot carry it: `progenitor`, or the words of `OpenAPI 3.0`.
    pub engine: &'static str,
    /// What that is.
    pub what: String,
    /// What enforces or restores it.
    pub enforced: String,
}

/// The lowered document and what it does not say.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// OpenAPI 3.0.3.
    pub document: Value,
    /// Its components, each of a type of ours.
    pub(crate) components: Components,
    /// One for each call that a client can send, in the plan's order.
    pub(crate) operations: Vec<LoweredOperation>,
    /// Everything that the document cannot say.
    pub losses: Vec<Loss>,
}

/// How one operation stands in the document.
#[derive(Clone, Debug)]
pub struct LoweredOperation {
    /// Index of its call in the plan.
    pub call: usize,
    /// Its `operationId`.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its parameters.
    pub arguments: Vec<Argument>,
    /// Why progenitor cannot carry it, and so cannot be asked about it.
    pub beyond: Option<String>,
}

/// Lowers the operations of a plan.
#[must_use]
pub fn lower(plan: &Plan<'_>, graph: &Graph, shapes: &Shapes) -> Lowered {
    let components = Components::default();
    let losses = Losses::default();
    let schemas = Schemas::new(graph, Dialect::OpenApi30);
    let mut lowering = Lowering { graph, shapes, schemas, components, losses };
    let mut paths: BTreeMap<String, Value> = BTreeMap::new();
    let mut operations = Vec::new();
    let mut names = BTreeSet::new();
    for (index, call) in plan.calls.iter().enumerate().filter(|(_, call)| call.unsendable.is_none()) {
        let before = lowering.losses.list.len();
        let method = arguments::distinct(&call.operation.id, &mut names);
        let (mut lowered, item) = lowering.operation(index, call, method);
        if plan.side == Side::Webhooks {
            lowered.beyond.get_or_insert_with(|| "it is a webhook".to_owned());
        }
        if lowered.beyond.is_none() {
            let verb = call.operation.method.to_ascii_lowercase();
            lowered.path = arguments::free(&lowered.path, |key| {
                paths.get(key).is_some_and(|path| path.get(&verb).is_some())
            });
            paths.entry(lowered.path.clone()).or_insert_with(|| json!({}))[verb] = item;
        }
        lowering.beyond(call.operation, &lowered, before);
        operations.push(lowered);
    }
    lowering.write_components();
    let document = json!({
        "openapi": "3.0.3",
        "info": { "title": plan.api.title, "version": plan.api.version },
        "paths": paths,
        "components": { "schemas": lowering.components.document() },
    });
    let Lowering { components, losses, .. } = lowering;
    Lowered { document, components, operations, losses: losses.list }
}

/// What was lost, each once: a parameter or response that operations share is one place.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    list: Vec<Loss>,
    /// The same, to find whether one is there.
    known: HashSet<Loss>,
}

impl Losses {
    pub(crate) fn add(
        &mut self,
        engine: &'static str,
        place: &Place,
        what: impl Into<String>,
        enforced: impl Into<String>,
    ) {
        let (what, enforced) = (what.into(), enforced.into());
        let loss = Loss { place: place.clone(), engine, what, enforced };
        if self.known.insert(loss.clone()) {
            self.list.push(loss);
        }
    }

    /// Keywords that a schema could not be written with.
    pub(crate) fn keywords(&mut self, graph: &Graph, lost: BTreeSet<(SchemaId, Keyword)>) {
        for (id, keyword) in lost {
            let what = format!("`{}`", keyword.name());
            self.add(OPENAPI, &graph.schema(id).place, what, "checked by what is generated");
        }
    }

    /// Takes back what came behind an index, but for what passes.
    fn take_back(&mut self, behind: usize, pass: impl Fn(&Loss) -> bool) {
        for loss in self.list.split_off(behind) {
            if pass(&loss) {
                self.list.push(loss);
            } else {
                self.known.remove(&loss);
            }
        }
    }

    pub(crate) fn into_list(self) -> Vec<Loss> {
        self.list
    }
}

/// What lowering one operation needs and adds to.
struct Lowering<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    schemas: Schemas<'a>,
    components: Components,
    losses: Losses,
}

impl Lowering<'_> {
    fn operation(&mut self, index: usize, call: &Call<'_>, method: String) -> (LoweredOperation, Value) {
        let mut beyond = None;
        let (path, arguments, parameters) = self.arguments(call, &mut beyond);
        let body = call.body.as_ref().map(|body| self.body(body, &mut beyond));
        let responses = self.responses(call, &mut beyond);
        let mut item = json!({ "operationId": method, "parameters": parameters, "responses": responses });
        if let Some(body) = body {
            item["requestBody"] = body;
        }
        (LoweredOperation { call: index, method, path, arguments, beyond }, item)
    }

    fn body(&mut self, body: &Body<'_>, beyond: &mut Option<String>) -> Value {
        let place = &body.body.place;
        let sent: Vec<&Content<'_>> =
            body.variants.iter().map(|variant| &body.contents[variant.sent]).collect();
        for content in &body.contents {
            let (name, chosen) = (&content.media.name, &sent[content.variant].media.name);
            if name != chosen {
                let what = format!("request body as `{name}`, of the same type as `{chosen}`");
                self.lose(place, what, format!("nothing: the client sends `{chosen}`"));
            }
        }
        let lowered = match sent.as_slice() {
            [content] => self.content(place, content, beyond),
            _ => {
                exceed(beyond, "its body has several media types");
                Value::Null
            }
        };
        if !body.body.required {
            self.lose(place, "a body that may be left out", "the body is an `Option`");
        }
        lowered
    }

    fn content(&mut self, place: &Place, content: &Content<'_>, beyond: &mut Option<String>) -> Value {
        let typed = |lowering: &mut Self| {
            let ty = content.media.schema.map_or(TypeRef::Json, |id| lowering.shapes.of(id).clone());
            reference(&lowering.component(&ty))
        };
        let (name, schema) = match &content.format {
            Format::Model | Format::Json => ("application/json", typed(self)),
            Format::Form(..) => {
                if !content.media.encoding.is_empty() {
                    exceed(beyond, "its form has an `encoding`");
                }
                ("application/x-www-form-urlencoded", typed(self))
            }
            Format::Multipart(..) => {
                exceed(beyond, "its body consists of parts");
                return Value::Null;
            }
            Format::Text | Format::Bytes => {
                ("application/octet-stream", json!({ "type": "string", "format": "binary" }))
            }
            Format::Typed => {
                exceed(beyond, format!("its body is any of `{}`", content.media.name));
                return Value::Null;
            }
        };
        if name != content.media.name {
            let what = format!("request media type `{}`, carried as `{name}`", content.media.name);
            self.lose(place, what, "the client sends the contract's own");
        }
        json!({ "required": true, "content": { name: { "schema": schema } } })
    }

    /// What is lost of an operation that progenitor is not shown is that it is not shown.
    fn beyond(&mut self, operation: &Operation, lowered: &LoweredOperation, before: usize) {
        let Some(reason) = &lowered.beyond else { return };
        self.losses.take_back(before, |loss| loss.enforced == TRANSPORT);
        let what = format!("the operation: {reason}");
        self.lose(&operation.place, what, "written by the generator itself, without progenitor's word");
    }

    /// The key of the component for a type.
    fn component(&mut self, ty: &TypeRef) -> String {
        self.components.key(self.graph, self.shapes, (ty.clone(), None))
    }

    /// Writes the schemas of all components, and of those that they refer to.
    fn write_components(&mut self) {
        let mut index = 0;
        while let Some((ty, schema)) = self.components.subject(index).cloned() {
            let written = match schema {
                Some(id) => self.schemas(&[id]),
                None => self.type_schema(&ty, true),
            };
            self.components.write(index, written);
            index += 1;
        }
    }

    /// What several schemas say together, references to others as those to components.
    fn schemas(&mut self, ids: &[SchemaId]) -> Value {
        let (graph, shapes) = (self.graph, self.shapes);
        let Self { schemas, components, .. } = self;
        let mut link = |target: SchemaId| {
            let ty = shapes.of(target).clone();
            let own = matches!(&ty, TypeRef::Named(id) if shapes.get(*id).schema == Some(target));
            let subject = (ty, (!own).then_some(target));
            format!("#/components/schemas/{}", components.key(graph, shapes, subject))
        };
        let mut written = Written { link: &mut link, lost: BTreeSet::new() };
        let mut all: Vec<Value> = ids.iter().map(|id| schemas.write(*id, &mut written)).collect();
        let lost = written.lost;
        self.losses.keywords(graph, lost);
        match (all.pop(), all.is_empty()) {
            (Some(one), true) => one,
            (Some(last), false) => json!({ "allOf": all.into_iter().chain([last]).collect::<Vec<_>>() }),
            (None, _) => json!({}),
        }
    }

    /// What a type says; `whole` where it is written out, not referred to.
    fn type_schema(&mut self, ty: &TypeRef, whole: bool) -> Value {
        match ty {
            TypeRef::Named(id) if whole => {
                let ids = self.shapes.get(*id).conj.ids.clone();
                self.schemas(&ids)
            }
            TypeRef::Named(_) => reference(&self.component(ty)),
            TypeRef::Replaced(_, schema) => self.schemas(&[*schema]),
            TypeRef::Json => json!({}),
            TypeRef::Bool => json!({ "type": "boolean" }),
            TypeRef::Int(IntKind::I64) => json!({ "type": "integer", "format": "int64" }),
            TypeRef::Int(IntKind::U64) => json!({ "type": "integer", "minimum": 0 }),
            TypeRef::Number => json!({ "type": "number" }),
            TypeRef::String | TypeRef::Secret => json!({ "type": "string" }),
            TypeRef::Vec(inner) => json!({ "type": "array", "items": self.type_schema(inner, false) }),
            TypeRef::Map(inner) => {
                json!({ "type": "object", "additionalProperties": self.type_schema(inner, false) })
            }
            TypeRef::Tuple(inner) => {
                json!({ "type": "array", "items": {}, "minItems": inner.len(), "maxItems": inner.len() })
            }
            TypeRef::Nullable(inner) => or_null(self.type_schema(inner, false)),
            TypeRef::Boxed(inner) => self.type_schema(inner, whole),
        }
    }

    fn lose(&mut self, place: &Place, what: impl Into<String>, enforced: impl Into<String>) {
        self.losses.add("progenitor", place, what, enforced);
    }
}

/// Says why progenitor cannot carry something, once.
fn exceed(beyond: &mut Option<String>, reason: impl Into<String>) {
    beyond.get_or_insert_with(|| reason.into());
}

/// A schema that accepts `null` as well. The word `nullable` adds it to the `type` beside it and does
/// nothing else (OpenAPI 3.0.3, 4.7.24.1).
fn or_null(mut schema: Value) -> Value {
    match schema.as_object_mut() {
        Some(members) if members.contains_key("type") => {
            members.insert("nullable".to_owned(), Value::Bool(true));
            schema
        }
        _ => json!({ "anyOf": [schema, { "enum": [null], "nullable": true }] }),
    }
}

fn reference(key: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{key}") })
}

/// Whose words are missing, where no engine is to blame.
pub(crate) const OPENAPI: &str = "OpenAPI 3.0";

/// Who supplies what is no argument.
const TRANSPORT: &str = "the transport supplies it";
