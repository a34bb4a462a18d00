//! Lowers operations to OpenAPI 3.0.3. Constructs that OpenAPI 3.0.3 supports keep their wire format. Each
//! other construct is omitted and reported as a [`Loss`].

mod metadata;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use contract_runtime::{Json, media_type::MediaType};
use serde_json::{Map, Value, json};

use super::{
    losses::{Loss, LossList},
    names::SchemaNames,
    schemas::{LoweringContext, SchemaLowerer, TargetDialect},
};
pub use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    api::{self, Operation, Parameter, ParameterIn, Response, schemes::SecuritySchemeKind},
    load::uri,
    schema::{SchemaId, SchemaOrigin},
    shape::TypeRef,
    tree::{DocumentLocation, SourceId, join_token},
};

/// The methods that a path item of OpenAPI 3.0 supports.
const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];
/// The maximum number of nested schemas that are visited to determine the media type of a multipart part.
const MAX_PART_DEPTH: usize = 32;

/// A contract lowered to OpenAPI 3.0.3.
#[derive(Clone, Debug)]
pub struct LoweredDocument {
    /// The OpenAPI document.
    pub value: Value,
    /// The number of operations and webhooks in the contract.
    pub operations: usize,
    /// The number of operations and webhooks that the document omits.
    pub omitted: usize,
    /// Every construct that the document cannot express, including omitted operations.
    pub losses: Vec<Loss>,
}

/// Lowers all operations and components of a contract.
pub fn lower_contract(contract: &AnalyzedContract) -> LoweredDocument {
    let (graph, api) = (&contract.graph, &contract.api);
    let names = SchemaNames::from_contract(contract);
    let schemas = SchemaLowerer::new(graph, TargetDialect::OpenApi30);
    // The components that remain to be written: first those of the contract, then all others that are
    // referenced.
    let declared =
        names.iter().map(|(id, _)| id).filter(|id| graph.schema(*id).origin != SchemaOrigin::Inline);
    let pending = RefCell::new(declared.collect::<Vec<_>>());
    let mut link = |id: SchemaId| {
        pending.borrow_mut().push(id);
        format!("#/components/schemas/{}", names.get(id))
    };
    let mut losses = LossList::default();
    let mut lowerer = OperationLowerer { contract, schemas: &schemas, link: &mut link, losses: &mut losses };
    let mut omitted = 0;
    let schemes = lowerer.write_security_schemes();
    let document = DocumentLocation { source: api.source, ..DocumentLocation::default() };
    let info = lowerer.write_info(&child_location(&document, "info"));
    let (tags, root_fields) =
        (lowerer.write_tags(&document), lowerer.copy_fields(&document, &["externalDocs"]));
    let sources = (0u32..).map(SourceId).take(contract.sources.sources.len());
    let roots: Vec<DocumentLocation> =
        sources.map(|source| DocumentLocation { source, ..DocumentLocation::default() }).collect();
    let servers = lowerer.write_servers(&roots, &api.servers);
    let mut paths: BTreeMap<String, Value> = BTreeMap::new();
    // The path and the method of each written operation, by its id, for links.
    let mut by_id: BTreeMap<&str, (String, String)> = BTreeMap::new();
    for operation in &api.operations {
        if !lowerer.supports_method(operation) {
            omitted += 1;
            continue;
        }
        let method = operation.method.to_ascii_lowercase();
        let item = lowerer.write_complete_operation(operation, &schemes);
        let key = unused_path_key(&split_fixed_query(operation).0, |key| {
            paths.get(key).is_some_and(|path| path.get(&method).is_some())
        });
        by_id.insert(&operation.id, (key.clone(), method.clone()));
        let path_fields =
            lowerer.copy_fields(&parent_location(&operation.place), &["summary", "description"]);
        paths.entry(key).or_insert_with(|| Value::Object(path_fields))[method] = item;
    }
    for webhook in &api.webhooks {
        let callback = webhook.callback.as_ref();
        let caller = callback.and_then(|(id, expression)| Some((by_id.get(id.as_str())?, expression)));
        let Some(((path, method), expression)) = caller else {
            lowerer.losses.record(&webhook.place, "the webhook: OpenAPI 3.0 has no webhooks");
            omitted += 1;
            continue;
        };
        if !lowerer.supports_method(webhook) {
            omitted += 1;
            continue;
        }
        let item = lowerer.write_complete_operation(webhook, &schemes);
        if let Some(caller) = paths.get_mut(path).and_then(|item| item.get_mut(method)) {
            caller["callbacks"][&webhook.path][expression][webhook.method.to_ascii_lowercase()] = item;
        }
    }
    for operation in &api.operations {
        let written = by_id.get(&*operation.id).and_then(|(path, method)| paths.get(path)?.get(method));
        if let Some(written) = written {
            lowerer.report_shared_callbacks(operation, &written["callbacks"]);
        }
    }
    let mut components: BTreeMap<&str, Value> = BTreeMap::new();
    loop {
        let next = pending.borrow_mut().pop();
        let Some(id) = next else { break };
        let name = names.get(id);
        if !components.contains_key(name) {
            components.insert(name, Value::Null);
            let schema = lowerer.write_schema(id);
            components.insert(name, schema);
        }
    }
    let mut value = json!({
        "openapi": "3.0.3",
        "info": info,
        "paths": paths,
        "components": { "schemas": components },
    });
    if !api.servers.is_empty() {
        value["servers"] = servers;
    }
    if !schemes.is_empty() {
        value["components"]["securitySchemes"] = Value::Object(schemes);
    }
    if !tags.is_empty() {
        value["tags"] = Value::Array(tags);
    }
    extend_object(&mut value, root_fields);
    let operations = api.operations.len() + api.webhooks.len();
    LoweredDocument { value, operations, omitted, losses: losses.into_losses() }
}

/// Returns the path template of an operation without its query, and the name and value of each parameter in
/// that query.
pub fn split_fixed_query(operation: &Operation) -> (String, Vec<(String, String)>) {
    let decoded = |text: &str| uri::percent_decode(text).unwrap_or_else(|| text.to_owned());
    let pairs = operation.fixed_query_pairs().map(|(name, text)| (decoded(name), decoded(text)));
    (operation.path_template().to_owned(), pairs.collect())
}

/// Returns the Parameter Object of a required query parameter for which only `value` is valid.
pub fn fixed_query_parameter(name: &str, value: &str) -> Value {
    json!({ "name": name, "in": "query", "required": true, "schema": { "type": "string", "enum": [value] } })
}

/// Returns a key of `paths` for which `is_taken` returns false. The key is the path itself or, if it is
/// taken, the path followed by `#` and a number. Clients never send such a fragment.
pub fn unused_path_key(path: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{path}#{number}"));
    let mut keys = std::iter::once(path.to_owned()).chain(numbered);
    keys.find(|key| !is_taken(key)).unwrap_or_else(|| path.to_owned())
}

/// Returns the location of the value at the key or index `token` of the node at `location`.
fn child_location(location: &DocumentLocation, token: &str) -> DocumentLocation {
    DocumentLocation { pointer: join_token(&location.pointer, token), ..location.clone() }
}

/// Returns the location of the path item that contains an operation.
fn parent_location(location: &DocumentLocation) -> DocumentLocation {
    let pointer = location.pointer.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
    DocumentLocation { pointer, ..location.clone() }
}

fn extend_object(out: &mut Value, fields: Map<String, Value>) {
    out.as_object_mut().into_iter().for_each(|out| out.extend(fields.clone()));
}

/// The state of lowering the operations of a contract, including the recorded losses.
pub struct OperationLowerer<'a, 'w> {
    pub contract: &'a AnalyzedContract,
    pub schemas: &'w SchemaLowerer<'a>,
    /// A function that returns the `$ref` of a named schema.
    pub link: &'w mut dyn FnMut(SchemaId) -> String,
    pub losses: &'w mut LossList,
}

impl OperationLowerer<'_, '_> {
    fn record_loss(&mut self, location: &DocumentLocation, construct: String) {
        self.losses.record(location, construct);
    }

    fn supports_method(&mut self, operation: &Operation) -> bool {
        let is_supported = METHODS.contains(&operation.method.as_str());
        if !is_supported {
            let construct = format!("the operation: OpenAPI 3.0 has no method `{}`", operation.method);
            self.record_loss(&operation.place, construct);
        }
        is_supported
    }

    /// Writes the security schemes that OpenAPI 3.0 supports.
    fn write_security_schemes(&mut self) -> Map<String, Value> {
        let mut out = Map::new();
        for (name, raw) in &self.contract.api.security_schemes {
            let pointer = join_token("/components/securitySchemes", name);
            let location =
                DocumentLocation { source: self.contract.api.source, pointer, ..DocumentLocation::default() };
            let location = self.resolve_location(&location).map_or(location, |(location, _)| location);
            let supported_fields: &[&str] = match raw.pointer("/type").and_then(Json::as_str) {
                _ if SecuritySchemeKind::from_json(raw).is_err() => &[],
                Some("apiKey") => &["type", "description", "name", "in"],
                Some("http") => &["type", "description", "scheme", "bearerFormat"],
                Some("oauth2") if raw.pointer("/flows").is_some() => &["type", "description", "flows"],
                Some("openIdConnect") if raw.pointer("/openIdConnectUrl").is_some() => {
                    &["type", "description", "openIdConnectUrl"]
                }
                _ => &[],
            };
            let members = raw.as_object().into_iter().flat_map(|members| members.iter());
            let members = members.filter(|(key, _)| supported_fields.contains(key) || key.starts_with("x-"));
            let mut fields: Map<String, Value> =
                members.map(|(key, value)| (key.to_owned(), value.to_value())).collect();
            let flows = fields.get_mut("flows").and_then(Value::as_object_mut);
            let device_flow = flows.and_then(|flows| flows.remove("deviceAuthorization"));
            if device_flow.is_some() {
                self.record_loss(&location, format!("the device flow of the security scheme `{name}`"));
            }
            self.report_fields(
                &location,
                &["deprecated", "oauth2MetadataUrl"],
                &format!("the security scheme `{name}`"),
            );
            if supported_fields.is_empty() {
                self.record_loss(&location, format!("the security scheme `{name}`"));
            } else {
                out.insert(name.clone(), Value::Object(fields));
            }
        }
        out
    }

    /// Writes an operation with its documentation, security and other metadata.
    fn write_complete_operation(&mut self, operation: &Operation, schemes: &Map<String, Value>) -> Value {
        let mut out = self.write_operation(operation);
        for (key, text) in [("summary", &operation.summary), ("description", &operation.description)] {
            if let Some(text) = text {
                out[key] = json!(text);
            }
        }
        if !operation.tags.is_empty() {
            out["tags"] = json!(operation.tags);
        }
        if operation.deprecated {
            out["deprecated"] = json!(true);
        }
        if !operation.servers.is_empty() {
            let locations = [operation.place.clone(), parent_location(&operation.place)];
            out["servers"] = self.write_servers(&locations, &operation.servers);
        }
        extend_object(&mut out, self.copy_fields(&operation.place, &["externalDocs"]));
        let security = self.write_security(operation, schemes);
        if !security.is_empty() {
            out["security"] = Value::Array(security);
        }
        if operation.responses.is_empty() {
            self.record_loss(
                &operation.place,
                "the operation without responses: any response is allowed".to_owned(),
            );
            out["responses"] = json!({ "default": { "description": "" } });
        }
        out
    }

    /// Writes the security requirements of an operation. An alternative with an unsupported scheme is
    /// omitted, because a weaker alternative would admit callers that the contract rejects. If no alternative
    /// is fully supported, the supported part of each alternative is written, because an empty list would
    /// admit every caller.
    fn write_security(&mut self, operation: &Operation, schemes: &Map<String, Value>) -> Vec<Value> {
        let (mut complete, mut partial) = (Vec::new(), Vec::new());
        for alternative in &operation.security {
            let (supported, lost): (Vec<_>, Vec<_>) =
                alternative.iter().partition(|(name, _)| schemes.contains_key(name));
            let alternatives = if lost.is_empty() { &mut complete } else { &mut partial };
            let requirement: Map<_, _> =
                supported.into_iter().map(|(name, scopes)| (name.clone(), json!(scopes))).collect();
            if lost.is_empty() || !requirement.is_empty() {
                alternatives.push(Value::Object(requirement));
            }
            for (name, _) in lost {
                self.record_loss(&operation.place, format!("the security requirement `{name}`"));
            }
        }
        if complete.is_empty() { partial } else { complete }
    }

    /// Writes the requests and responses of an operation.
    pub fn write_operation(&mut self, operation: &Operation) -> Value {
        let mut out = json!({ "operationId": operation.id, "responses": {} });
        let parameters = operation.parameters.iter().filter_map(|parameter| self.write_parameter(parameter));
        let mut parameters: Vec<Value> = parameters.collect();
        parameters.extend(
            split_fixed_query(operation).1.iter().map(|(name, text)| fixed_query_parameter(name, text)),
        );
        if !parameters.is_empty() {
            out["parameters"] = Value::Array(parameters);
        }
        if let Some(body) = &operation.request_body {
            let content = self.write_content(&body.place, &body.content);
            out["requestBody"] = json!({ "required": body.required, "content": content });
            extend_object(&mut out["requestBody"], self.copy_fields(&body.place, &["description"]));
        }
        for response in &operation.responses {
            out["responses"][response.status.key()] = self.write_response(response);
        }
        out
    }

    fn write_parameter(&mut self, parameter: &Parameter) -> Option<Value> {
        let (name, location) = (&parameter.name, &parameter.place);
        let is_query = parameter.location == ParameterIn::Query;
        let styles: &[&str] = match parameter.location {
            ParameterIn::Path => &["simple", "label", "matrix"],
            ParameterIn::Query => &["form", "spaceDelimited", "pipeDelimited", "deepObject"],
            ParameterIn::Header => &["simple"],
            ParameterIn::Cookie => &["form"],
            ParameterIn::QueryString => {
                self.record_loss(location, format!("the parameter `{name}` for the whole query string"));
                return None;
            }
        };
        let mut out = json!({
            "name": name,
            "in": parameter.location.as_str(),
            "required": parameter.required || parameter.location == ParameterIn::Path,
        });
        extend_object(&mut out, self.copy_fields(location, &["description"]));
        if parameter.deprecated {
            out["deprecated"] = json!(true);
        }
        if is_query && parameter.allow_empty {
            out["allowEmptyValue"] = json!(true);
        }
        match (parameter.allow_reserved, is_query) {
            (true, true) => out["allowReserved"] = json!(true),
            (true, false) => self.record_loss(location, format!("`allowReserved` of the parameter `{name}`")),
            (false, _) => {}
        }
        for (part, _) in &parameter.encoding {
            self.record_loss(location, format!("the encoding of `{part}` in the parameter `{name}`"));
        }
        let schema = self.write_optional_schema(parameter.schema);
        let mut content = Map::new();
        if let Some(media_type) = &parameter.content {
            self.write_examples(
                &child_location(&child_location(location, "content"), media_type),
                Some(media_type),
                &mut content,
            );
            content.insert("schema".to_owned(), schema);
            out["content"] = json!({ media_type: content });
            return Some(out);
        }
        self.write_examples(location, None, &mut content);
        content.insert("schema".to_owned(), schema);
        extend_object(&mut out, content);
        if styles.contains(&parameter.style.as_str()) {
            out["style"] = json!(parameter.style);
            out["explode"] = json!(parameter.explode);
        } else {
            self.record_loss(location, format!("the style `{}` of the parameter `{name}`", parameter.style));
        }
        Some(out)
    }

    fn write_response(&mut self, response: &Response) -> Value {
        let mut out = json!({ "description": response.description });
        if !response.content.is_empty() {
            out["content"] = self.write_content(&response.place, &response.content);
        }
        for header in &response.headers {
            let schema = self.write_optional_schema(header.schema);
            let location = child_location(&child_location(&response.place, "headers"), &header.name);
            let mut fields = self.copy_fields(&location, &["description", "deprecated"]);
            fields.insert("required".to_owned(), json!(header.required));
            match &header.content {
                Some(name) => fields.insert("content".to_owned(), json!({ name: { "schema": schema } })),
                None => {
                    self.write_examples(&location, None, &mut fields);
                    fields.insert("explode".to_owned(), json!(header.explode));
                    fields.insert("schema".to_owned(), schema)
                }
            };
            out["headers"][&header.name] = Value::Object(fields);
        }
        let links = self.write_links(&response.place);
        if !links.is_empty() {
            out["links"] = Value::Object(links);
        }
        self.report_fields(&response.place, &["summary"], "a response");
        extend_object(&mut out, self.copy_fields(&response.place, &[]));
        out
    }

    fn write_content(&mut self, location: &DocumentLocation, media_types: &[api::MediaType]) -> Value {
        let mut out = Map::new();
        for media in media_types {
            let media_location = child_location(&child_location(location, "content"), &media.name);
            let mut fields = self.copy_fields(&media_location, &[]);
            self.write_examples(&media_location, Some(&media.name), &mut fields);
            self.report_fields(
                &media_location,
                &["prefixEncoding", "itemEncoding"],
                &format!("`{}`", media.name),
            );
            if let Some(id) = media.schema {
                let schema = if self.has_own_type(id) {
                    json!({ "$ref": (self.link)(id) })
                } else {
                    self.write_schema(id)
                };
                fields.insert("schema".to_owned(), schema);
            }
            if media.item_schema.is_some() {
                self.record_loss(location, format!("`itemSchema` of `{}`", media.name));
            }
            let encoding = self.write_encoding(&media_location, media);
            if !encoding.is_empty() {
                fields.insert("encoding".to_owned(), Value::Object(encoding));
            }
            out.insert(media.name.clone(), Value::Object(fields));
        }
        Value::Object(out)
    }

    fn write_encoding(&mut self, location: &DocumentLocation, media: &api::MediaType) -> Map<String, Value> {
        let mut out: Map<String, Value> = Map::new();
        for (part, raw) in &media.encoding {
            let mut fields = Map::new();
            for (key, value) in raw.as_object().into_iter().flat_map(|members| members.iter()) {
                match (key, value) {
                    ("contentType" | "style" | "explode" | "allowReserved", _) => {
                        fields.insert(key.to_owned(), value.to_value());
                    }
                    ("headers", Json::Object(headers)) => {
                        let write_header = |(name, _): (&str, _)| {
                            (name.to_owned(), self.write_part_header(location, part, name))
                        };
                        let headers = headers.iter().map(write_header).collect();
                        fields.insert(key.to_owned(), Value::Object(headers));
                    }
                    _ if key.starts_with("x-") => drop(fields.insert(key.to_owned(), value.to_value())),
                    _ => self.record_loss(location, format!("`{key}` of the part `{part}`")),
                }
            }
            out.insert(part.clone(), Value::Object(fields));
        }
        // OpenAPI 3.1 derives the media types of these parts from their schemas.
        if let Some(id) = media.schema.filter(|_| MediaType::parse(&media.name).is_multipart()) {
            let mut types = BTreeMap::new();
            self.collect_part_types(id, &mut BTreeSet::new(), &mut types);
            for (part, media_type) in types {
                let encoding = out.entry(part).or_insert_with(|| json!({}));
                if encoding.get("contentType").is_none() {
                    encoding["contentType"] = json!(media_type);
                }
            }
        }
        out
    }

    /// Collects the media types that the schemas of multipart properties declare (OpenAPI 3.1, 4.8.14.4). The
    /// key in `out` is the name of the property.
    fn collect_part_types(
        &self,
        id: SchemaId,
        seen: &mut BTreeSet<SchemaId>,
        out: &mut BTreeMap<String, String>,
    ) {
        if !seen.insert(id) {
            return;
        }
        let schema = self.contract.graph.schema(id);
        for (name, property) in &schema.properties {
            if let Some(media_type) = self.part_media_type(*property, 0) {
                out.entry(name.clone()).or_insert(media_type);
            }
        }
        schema
            .reference
            .iter()
            .chain(&schema.all_of)
            .for_each(|next| self.collect_part_types(*next, seen, out));
    }

    fn part_media_type(&self, id: SchemaId, depth: usize) -> Option<String> {
        let schema = self.contract.graph.schema(id);
        let declared = schema.content_media_type.clone().filter(|_| schema.content_encoding.is_none());
        let mut nested = schema.reference.iter().chain(&schema.items).filter(|_| depth < MAX_PART_DEPTH);
        declared.or_else(|| nested.find_map(|next| self.part_media_type(*next, depth + 1)))
    }

    /// Returns true if the schema of a body has its own Rust type. Such a schema is written as a component.
    fn has_own_type(&self, id: SchemaId) -> bool {
        let AnalyzedContract { graph, shapes, .. } = self.contract;
        graph.schema(id).reference.is_none() && matches!(shapes.type_of_schema(id), TypeRef::Named(_))
    }

    fn write_optional_schema(&mut self, id: Option<SchemaId>) -> Value {
        id.map_or_else(|| json!({}), |id| self.write_schema(id))
    }

    fn write_schema(&mut self, id: SchemaId) -> Value {
        let mut context = LoweringContext { link: &mut *self.link, lost: BTreeSet::new() };
        let out = self.schemas.write_schema(id, &mut context);
        let lost = context.lost;
        self.losses.record_keywords(&self.contract.graph, lost);
        out
    }
}

#[cfg(test)]
mod tests;
