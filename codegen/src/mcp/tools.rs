//! Plans the tools of a contract, one for each operation: name, description, schemas and annotations.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use contract_codegen_core::{
    api::{self, ParameterIn, StatusPattern},
    names,
    plan::{
        BodyFormat, MediaTypePlan, MultipartPart, PartArity, PartForm, PlannedCall, PlannedParameter,
        RequestBodyPlan, StreamItem,
    },
    schema::{SchemaId, TypeSet, keywords::Keyword},
};
use contract_runtime::{
    media_type::MediaType,
    operation::{Operation, RepeatSafety},
};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::{
    json_schema::{Definitions, SchemaWriter},
    size_limit::limit_size,
};
use crate::mock::MockServer;

/// The name of the argument for the request body.
pub(super) const BODY: &str = "body";
/// The maximum length of the name of a tool. MCP permits 64 characters; the rest is for a number.
const MAX_TOOL_NAME: usize = 60;
/// The maximum length of the name of an argument. Some clients of MCP reject longer ones.
const MAX_ARGUMENT_NAME: usize = 60;
/// The maximum size of an output schema in bytes; a larger one is omitted. Clients load the schemas of all tools,
/// and the schemas of some contracts refer to hundreds of others.
const MAX_OUTPUT_SCHEMA: usize = 16 << 10;
/// The maximum number of references that are replaced by their target.
const MAX_REFERENCES: usize = 32;

/// A tool with the operation that it calls.
#[derive(Debug)]
pub(super) struct PlannedTool {
    /// The index of the operation.
    pub(super) at: usize,
    pub(super) tool: Tool,
    pub(super) arguments: Vec<ToolArgument>,
    pub(super) body: Option<ToolBody>,
}

/// An argument of a tool that is a parameter of its operation.
#[derive(Debug)]
pub(super) struct ToolArgument {
    pub(super) name: String,
    /// The index of the parameter.
    pub(super) parameter: usize,
    pub(super) is_required: bool,
}

/// The argument [`BODY`] of a tool.
#[derive(Debug)]
pub(super) struct ToolBody {
    /// The index of the media type that is sent.
    pub(super) content: usize,
    pub(super) form: BodyForm,
    pub(super) is_required: bool,
}

/// The form of the argument [`BODY`].
#[derive(Debug)]
pub(super) enum BodyForm {
    Json,
    /// An object, sent as a form.
    Form,
    /// An object, sent as parts.
    Multipart,
    /// An array, sent as a sequence of items.
    Items(StreamItem),
    Text,
    /// A file object; see [`file_schema`].
    File,
}

/// Plans the tools of all operations that clients can send.
pub(super) fn plan_tools(mock: &MockServer) -> Vec<PlannedTool> {
    let planner = ToolPlanner { mock, schemas: SchemaWriter::new(mock.contract()) };
    let names = tool_names(&mock.plan.calls);
    let calls = mock.plan.calls.iter().enumerate().zip(names);
    let sendable = calls.filter(|((_, call), _)| call.unsendable_reason.is_none());
    sendable.map(|((at, call), name)| planner.plan_tool(at, call, name)).collect()
}

/// Returns the names of the tools: the names of the generated methods, in ASCII.
fn tool_names(calls: &[PlannedCall<'_>]) -> Vec<String> {
    let ids: Vec<&str> = calls.iter().map(|call| call.operation.id.as_str()).collect();
    let mut tools: Vec<String> =
        calls.iter().map(|call| tool_name(&call.method, &call.operation.id)).collect();
    number_clashes(&ids, &mut tools);
    tools
}

/// Returns the name of a tool. The end of a long name is replaced by a hash of the operation's id.
fn tool_name(method: &str, id: &str) -> String {
    let name = names::constant_name(method).to_ascii_lowercase();
    if name.len() <= MAX_TOOL_NAME {
        return name;
    }
    let hash = crate::mock::mix_seed(0, &[id.as_bytes()]) >> 32;
    format!("{}_{hash:08x}", &name[..MAX_TOOL_NAME - 9])
}

/// Returns the names of the arguments for parameters. Characters that clients of MCP reject are replaced. Names that
/// clash get the location of the parameter as a prefix, and then a number.
fn argument_names(parameters: &[(&str, ParameterIn)], has_body: bool) -> Vec<String> {
    let plain: Vec<String> = parameters.iter().map(|(wire, _)| argument_name(wire)).collect();
    let is_taken =
        |name: &String| plain.iter().filter(|other| *other == name).count() > 1 || (has_body && name == BODY);
    let prefixed = plain.iter().zip(parameters).map(|(name, (_, location))| match is_taken(name) {
        true => format!("{}_{name}", location.as_str()),
        false => name.clone(),
    });
    let mut arguments: Vec<String> = prefixed.collect();
    let wires: Vec<&str> = parameters.iter().map(|(wire, _)| *wire).collect();
    number_clashes(&wires, &mut arguments);
    arguments
}

/// Adds a number to each name that is used again, in the order of the wire names.
fn number_clashes(wires: &[&str], names: &mut [String]) {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&at| wires[at]);
    let mut taken = BTreeSet::new();
    for at in order {
        let base = names[at].clone();
        let mut number = 1_u32;
        while !taken.insert(names[at].clone()) {
            number += 1;
            names[at] = format!("{base}_{number}");
        }
    }
}

fn argument_name(wire: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String = wire.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    let name = if name == wire { name.as_str() } else { name.trim_matches('_') };
    let name: String = name.chars().take(MAX_ARGUMENT_NAME).collect();
    if name.is_empty() { "argument".to_owned() } else { name }
}

/// Returns the schema of a file.
fn file_schema(has_name: bool, has_type: bool) -> Value {
    let mut schema = json!({
        "type": "object",
        "description": "A file. Either `text` or `base64` is its content.",
        "properties": {
            "text": { "type": "string" },
            "base64": { "type": "string", "contentEncoding": "base64" },
        },
        "oneOf": [{ "required": ["text"] }, { "required": ["base64"] }],
        "additionalProperties": false,
    });
    if has_name {
        schema["properties"]["filename"] = json!({ "type": "string" });
    }
    if has_type {
        schema["properties"]["content_type"] = json!({ "type": "string", "description": "The media type." });
    }
    schema
}

struct ToolPlanner<'m> {
    mock: &'m MockServer,
    schemas: SchemaWriter<'static>,
}

impl ToolPlanner<'_> {
    fn plan_tool(&self, at: usize, call: &'static PlannedCall<'static>, name: String) -> PlannedTool {
        let row = &self.mock.operations().all()[at];
        let body = call.body.as_ref().and_then(|body| self.plan_body(body));
        let shown = call.parameters.iter().enumerate().filter(|(_, parameter)| parameter.field.is_some());
        let shown: Vec<(usize, &PlannedParameter<'_>)> = shown.collect();
        let wires: Vec<(&str, ParameterIn)> = shown
            .iter()
            .map(|(_, parameter)| (parameter.row.name.as_str(), parameter.row.location))
            .collect();
        let names = argument_names(&wires, body.is_some());
        let arguments: Vec<ToolArgument> = shown
            .into_iter()
            .zip(names)
            .map(|((at, parameter), name)| ToolArgument {
                name,
                parameter: at,
                is_required: parameter.row.required,
            })
            .collect();
        let input = self.input_schema(call, &arguments, body.as_ref());
        let mut tool = Tool::new(name, describe_operation(call.operation), input);
        tool.title = call.operation.summary.clone().filter(|summary| !summary.is_empty());
        tool.output_schema = self.output_schema(call).map(Arc::new);
        tool.annotations = Some(annotations(row));
        PlannedTool { at, tool, arguments, body }
    }

    /// Selects the media type that is sent: JSON before forms, forms before texts and files.
    fn plan_body(&self, body: &'static RequestBodyPlan<'static>) -> Option<ToolBody> {
        let rank = |form: &BodyForm| match form {
            BodyForm::Json => 0,
            BodyForm::Items(_) => 1,
            BodyForm::Form => 2,
            BodyForm::Multipart => 3,
            BodyForm::Text => 4,
            BodyForm::File => 5,
        };
        let sent = body.variants.iter().map(|variant| variant.sent);
        let forms = sent.filter_map(|at| Some((at, self.body_form(body.contents.get(at)?))));
        let (content, form) = forms.min_by_key(|(at, form)| (rank(form), *at))?;
        Some(ToolBody { content, form, is_required: body.body.required })
    }

    fn body_form(&self, content: &MediaTypePlan<'static>) -> BodyForm {
        if let Some(item) = self.mock.item_type(content.media) {
            return BodyForm::Items(item);
        }
        match content.format {
            BodyFormat::Model | BodyFormat::Json => BodyForm::Json,
            BodyFormat::Form(..) => BodyForm::Form,
            BodyFormat::Multipart(..) => BodyForm::Multipart,
            BodyFormat::Text => BodyForm::Text,
            BodyFormat::Bytes | BodyFormat::Typed => BodyForm::File,
        }
    }

    fn input_schema(
        &self,
        call: &PlannedCall<'_>,
        arguments: &[ToolArgument],
        body: Option<&ToolBody>,
    ) -> JsonObject {
        let mut definitions = Definitions::default();
        let mut properties = JsonObject::new();
        let mut required: Vec<&str> = Vec::new();
        for argument in arguments {
            let parameter = &call.parameters[argument.parameter];
            let schema = self.argument_schema(parameter, &argument.name, &mut definitions);
            properties.insert(argument.name.clone(), schema);
            required.extend(argument.is_required.then_some(argument.name.as_str()));
        }
        if let (Some(planned), Some(body)) = (&call.body, body) {
            let mut schema = self.body_schema(&planned.contents[body.content], &body.form, &mut definitions);
            describe(&mut schema, planned.body.description.as_deref());
            properties.insert(BODY.to_owned(), schema);
            required.extend(body.is_required.then_some(BODY));
        }
        let mut input = JsonObject::new();
        input.insert("type".to_owned(), json!("object"));
        input.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            input.insert("required".to_owned(), json!(required));
        }
        input.insert("additionalProperties".to_owned(), json!(false));
        self.schemas.add_definitions(definitions, &mut input);
        limit_size(input)
    }

    /// Returns the schema of an argument, with the description of its parameter.
    fn argument_schema(
        &self,
        parameter: &PlannedParameter<'_>,
        name: &str,
        definitions: &mut Definitions,
    ) -> Value {
        let row = &parameter.row;
        let mut schema = row.schema.map_or_else(|| json!({}), |id| self.write_inline(id, definitions));
        let wire =
            (row.name != name).then(|| format!("The {} parameter `{}`.", row.location.as_str(), row.name));
        let own = parameter.parameter.description.clone();
        let texts: Vec<String> = own.into_iter().chain(wire).collect();
        describe(&mut schema, Some(texts.join("\n\n").as_str()).filter(|text| !text.is_empty()));
        if parameter.deprecated
            && let Value::Object(schema) = &mut schema
        {
            schema.insert("deprecated".to_owned(), json!(true));
        }
        schema
    }

    fn body_schema(
        &self,
        content: &MediaTypePlan<'_>,
        form: &BodyForm,
        definitions: &mut Definitions,
    ) -> Value {
        let whole = content.media.schema;
        let write = |id: SchemaId| self.write_inline(id, definitions);
        match (form, &content.format) {
            (BodyForm::Items(item), _) => {
                json!({ "type": "array", "items": item.schema.map_or_else(|| json!({}), write) })
            }
            (_, BodyFormat::Multipart(parts, _)) => self.multipart_schema(content, parts, definitions),
            (BodyForm::Text, _) => {
                let string = whole.filter(|id| self.mock.allows_string(*id)).map(write);
                let mut schema = string.unwrap_or_else(|| json!({}));
                if let Value::Object(schema) = &mut schema {
                    schema.insert("type".to_owned(), json!("string"));
                }
                schema
            }
            (BodyForm::File, format) => file_schema(false, matches!(format, BodyFormat::Typed)),
            (BodyForm::Form, _) => whole.map_or_else(|| json!({ "type": "object" }), write),
            _ => whole.map_or_else(|| json!({}), write),
        }
    }

    /// Returns the schema of a multipart body, in which files are objects.
    fn multipart_schema(
        &self,
        content: &MediaTypePlan<'_>,
        parts: &[MultipartPart],
        definitions: &mut Definitions,
    ) -> Value {
        let properties = parts.iter().map(|part| {
            let file = || file_schema(true, true);
            let schema = match (part.form, part.count) {
                (PartForm::Binary, PartArity::One) => file(),
                (PartForm::Binary, PartArity::Each) => json!({ "type": "array", "items": file() }),
                (PartForm::Binary, PartArity::OneOrEach) => {
                    json!({ "anyOf": [file(), { "type": "array", "items": file() }] })
                }
                _ => self.write_inline(part.schema, definitions),
            };
            (part.name.clone(), schema)
        });
        let properties: JsonObject = properties.collect();
        let required: Vec<&str> =
            parts.iter().filter(|part| part.required).map(|part| part.name.as_str()).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": !content.closed,
        })
    }

    /// Returns the schema of the result, if all success responses have the same JSON object as their body.
    fn output_schema(&self, call: &PlannedCall<'static>) -> Option<JsonObject> {
        let id = success_schema(call.operation).map(|id| self.resolve_alias(id))?;
        if self.mock.schema_facts(id).types != TypeSet::OBJECT {
            return None;
        }
        let mut definitions = Definitions::default();
        let Value::Object(mut schema) = self.schemas.write(id, &mut definitions) else { return None };
        schema.insert("type".to_owned(), json!("object"));
        self.schemas.add_definitions(definitions, &mut schema);
        let size = serde_json::to_vec(&schema).map_or(usize::MAX, |bytes| bytes.len());
        (size <= MAX_OUTPUT_SCHEMA).then_some(schema)
    }

    /// Returns a schema. If it only refers to another one, returns that one with the description of this one.
    fn write_inline(&self, id: SchemaId, definitions: &mut Definitions) -> Value {
        let mut schema = self.schemas.write(self.resolve_alias(id), definitions);
        describe(&mut schema, self.mock.contract().graph.schema(id).description.as_deref());
        schema
    }

    /// Follows a schema that only refers to another one.
    fn resolve_alias(&self, id: SchemaId) -> SchemaId {
        let graph = &self.mock.contract().graph;
        let target = |id: &SchemaId| {
            let schema = graph.schema(*id);
            schema.reference.filter(|_| schema.is_constrained_only_by(&[Keyword::Ref]))
        };
        std::iter::successors(Some(id), target).take(MAX_REFERENCES).last().unwrap_or(id)
    }
}

/// Sets the description of a schema.
fn describe(schema: &mut Value, description: Option<&str>) {
    let Some(description) = description.filter(|text| !text.is_empty()) else { return };
    match schema {
        Value::Bool(true) => *schema = json!({ "description": description }),
        Value::Object(schema) => drop(schema.insert("description".to_owned(), json!(description))),
        _ => {}
    }
}

/// Returns the schema of the body that all success responses have. Returns `None` if a success response has no body
/// or a body that is not a single JSON document.
fn success_schema(operation: &'static api::Operation) -> Option<SchemaId> {
    if operation.method == "HEAD" {
        return None;
    }
    let is_success =
        |status: StatusPattern| matches!(status, StatusPattern::Code(200..=299) | StatusPattern::Range(2));
    let is_described = operation.responses.iter().any(|response| is_success(response.status));
    let successes = operation.responses.iter().filter(|response| match response.status {
        StatusPattern::Default => !is_described,
        status => is_success(status),
    });
    let schemas = successes.map(|response| {
        let mut media = api::exchanged_media(&response.content);
        let (first, others) = (media.next()?, media.next());
        let is_document = MediaType::parse(&first.name).is_json() && first.item_schema.is_none();
        first.schema.filter(|_| is_document && others.is_none())
    });
    let schemas: Vec<SchemaId> = schemas.collect::<Option<_>>()?;
    let first = *schemas.first()?;
    schemas.iter().all(|schema| *schema == first).then_some(first)
}

fn describe_operation(operation: &api::Operation) -> Cow<'static, str> {
    let texts = [operation.summary.as_deref(), operation.description.as_deref()];
    let mut texts: Vec<&str> = texts.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
    texts.dedup();
    let place = format!("{} {}", operation.method, operation.path);
    if texts.is_empty() {
        texts.push(&place);
    }
    if operation.deprecated {
        texts.push("Deprecated.");
    }
    Cow::Owned(texts.join("\n\n"))
}

/// Returns the hints for clients. `POST` has no hint whether it deletes or overwrites data, so that clients assume it.
fn annotations(operation: &Operation) -> ToolAnnotations {
    let is_read_only = operation.repeat == RepeatSafety::Safe;
    let hints = ToolAnnotations::new()
        .read_only(is_read_only)
        .idempotent(operation.repeat.is_harmless())
        .open_world(true);
    let overwrites = !is_read_only && matches!(operation.method, "DELETE" | "PATCH" | "PUT");
    if overwrites { hints.destructive(true) } else { hints }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_arguments_are_accepted_by_clients_and_distinct() {
        let query = ParameterIn::Query;
        for (parameters, has_body, expected) in [
            (&[("page", query), ("X-Trace", ParameterIn::Header)][..], false, &["page", "X-Trace"][..]),
            (&[("filter[status]", query), ("$top", query)], false, &["filter_status", "top"]),
            (&[("id", ParameterIn::Path), ("id", query)], false, &["path_id", "query_id"]),
            (&[("body", query)], true, &["query_body"]),
            (&[("body", query)], false, &["body"]),
            (&[("[]", query), ("größe", query)], false, &["argument", "gr__e"]),
            (
                &[("a[b]", query), ("a.b", query), ("a(b)", query)],
                false,
                &["query_a_b_2", "a.b", "query_a_b"],
            ),
        ] {
            assert_eq!(argument_names(parameters, has_body), expected);
        }
    }

    #[test]
    fn long_names_of_tools_end_with_a_hash() {
        assert_eq!(tool_name("type_", "type"), "type");
        let long = "list_the_repositories_of_an_organization_that_a_team_with_a_name_administers";
        let (one, other) = (tool_name(long, "one"), tool_name(long, "other"));
        assert_eq!((one.len(), &one[..40]), (60, &long[..40]));
        assert_ne!(one, other);
        assert_eq!(tool_name("größe", "größe"), "gruf6udfe");
    }
}
