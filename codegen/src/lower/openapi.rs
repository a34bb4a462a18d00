//! Lowers operations to OpenAPI 3.0.3. Supported constructs keep their wire format. Each unsupported
//! construct is omitted and reported as a [`Loss`].

mod beside;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use contract_runtime::{Json, media_type::MediaType};
use serde_json::{Map, Value, json};

use super::{
    losses::{Loss, Losses},
    names::Names,
    schemas::{Dialect, Schemas, Written},
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
/// Maximum depth to which the schema of a multipart part is followed.
const DEPTH: usize = 32;

/// A contract lowered to OpenAPI 3.0.3.
#[derive(Clone, Debug)]
pub struct Document {
    /// The OpenAPI document.
    pub value: Value,
    /// Number of operations and webhooks in the contract.
    pub operations: usize,
    /// Number of operations and webhooks that the document omits.
    pub left_out: usize,
    /// Every construct that the document cannot express, including omitted operations.
    pub losses: Vec<Loss>,
}

/// Lowers a contract.
pub fn document(contract: &AnalyzedContract) -> Document {
    let (graph, api) = (&contract.graph, &contract.api);
    let names = Names::as_written(contract);
    let schemas = Schemas::new(graph, Dialect::OpenApi30);
    // Components still to be written: first those of the contract, then all others that are referenced.
    let declared =
        names.iter().map(|(id, _)| id).filter(|id| graph.schema(*id).origin != SchemaOrigin::Inline);
    let asked = RefCell::new(declared.collect::<Vec<_>>());
    let mut link = |id: SchemaId| {
        asked.borrow_mut().push(id);
        format!("#/components/schemas/{}", names.get(id))
    };
    let mut losses = Losses::default();
    let mut words = Words { contract, schemas: &schemas, link: &mut link, losses: &mut losses };
    let mut left_out = 0;
    let schemes = words.schemes();
    let top = DocumentLocation { source: api.source, ..DocumentLocation::default() };
    let about = words.info(&below(&top, "info"));
    let (tags, root) = (words.tags(&top), words.copied(&top, &["externalDocs"]));
    let sources = (0u32..).map(SourceId).take(contract.sources.sources.len());
    let roots: Vec<DocumentLocation> =
        sources.map(|source| DocumentLocation { source, ..DocumentLocation::default() }).collect();
    let servers = words.servers(&roots, &api.servers);
    let mut paths: BTreeMap<String, Value> = BTreeMap::new();
    // The location of each operation by its id.
    let mut by_id: BTreeMap<&str, (String, String)> = BTreeMap::new();
    for operation in &api.operations {
        if !words.has_method(operation) {
            left_out += 1;
            continue;
        }
        let method = operation.method.to_ascii_lowercase();
        let item = words.whole(operation, &schemes);
        let key =
            free(&written(operation).0, |key| paths.get(key).is_some_and(|path| path.get(&method).is_some()));
        by_id.insert(&operation.id, (key.clone(), method.clone()));
        let about = words.copied(&above(&operation.place), &["summary", "description"]);
        paths.entry(key).or_insert_with(|| Value::Object(about))[method] = item;
    }
    for webhook in &api.webhooks {
        let callback = webhook.callback.as_ref();
        let caller = callback.and_then(|(id, expression)| Some((by_id.get(id.as_str())?, expression)));
        let Some(((path, method), expression)) = caller else {
            words.losses.add(&webhook.place, "the webhook: OpenAPI 3.0 has none");
            left_out += 1;
            continue;
        };
        if !words.has_method(webhook) {
            left_out += 1;
            continue;
        }
        let item = words.whole(webhook, &schemes);
        if let Some(caller) = paths.get_mut(path).and_then(|item| item.get_mut(method)) {
            caller["callbacks"][&webhook.path][expression][webhook.method.to_ascii_lowercase()] = item;
        }
    }
    for operation in &api.operations {
        let own = by_id.get(&*operation.id).and_then(|(path, method)| paths.get(path)?.get(method));
        if let Some(own) = own {
            words.shared_callbacks(operation, &own["callbacks"]);
        }
    }
    let mut components: BTreeMap<&str, Value> = BTreeMap::new();
    loop {
        let next = asked.borrow_mut().pop();
        let Some(id) = next else { break };
        let name = names.get(id);
        if !components.contains_key(name) {
            components.insert(name, Value::Null);
            let schema = words.schema(id);
            components.insert(name, schema);
        }
    }
    let mut value = json!({
        "openapi": "3.0.3",
        "info": about,
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
    extend(&mut value, root);
    let operations = api.operations.len() + api.webhooks.len();
    Document { value, operations, left_out, losses: losses.into_list() }
}

/// Returns the path template of an operation without its query, and the query parameters with fixed values.
pub fn written(operation: &Operation) -> (String, Vec<(String, String)>) {
    let decoded = |text: &str| uri::percent_decode(text).unwrap_or_else(|| text.to_owned());
    let pairs = operation.fixed_query_pairs().map(|(name, text)| (decoded(name), decoded(text)));
    (operation.path_template().to_owned(), pairs.collect())
}

/// Returns a query parameter with a fixed value.
pub fn pair(wire: &str, text: &str) -> Value {
    json!({ "name": wire, "in": "query", "required": true, "schema": { "type": "string", "enum": [text] } })
}

/// Returns an unused key of `paths`. A number after `#` makes it unique; clients never send a fragment.
pub fn free(path: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{path}#{number}"));
    let mut keys = std::iter::once(path.to_owned()).chain(numbered);
    keys.find(|key| !is_taken(key)).unwrap_or_else(|| path.to_owned())
}

/// Returns the location of a child.
fn below(place: &DocumentLocation, token: &str) -> DocumentLocation {
    DocumentLocation { pointer: join_token(&place.pointer, token), ..place.clone() }
}

/// Returns the location of the path item that contains an operation.
fn above(place: &DocumentLocation) -> DocumentLocation {
    let pointer = place.pointer.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
    DocumentLocation { pointer, ..place.clone() }
}

fn extend(out: &mut Value, more: Map<String, Value>) {
    out.as_object_mut().into_iter().for_each(|out| out.extend(more.clone()));
}

/// The context for writing operations.
pub struct Words<'a, 'w> {
    pub contract: &'a AnalyzedContract,
    pub schemas: &'w Schemas<'a>,
    /// Returns the `$ref` of a named schema.
    pub link: &'w mut dyn FnMut(SchemaId) -> String,
    pub losses: &'w mut Losses,
}

impl Words<'_, '_> {
    fn lose(&mut self, place: &DocumentLocation, what: String) {
        self.losses.add(place, what);
    }

    fn has_method(&mut self, operation: &Operation) -> bool {
        let known = METHODS.contains(&operation.method.as_str());
        if !known {
            let what = format!("the operation: OpenAPI 3.0 has no method `{}`", operation.method);
            self.lose(&operation.place, what);
        }
        known
    }

    /// Returns the security schemes that OpenAPI 3.0 supports.
    fn schemes(&mut self) -> Map<String, Value> {
        let mut out = Map::new();
        for (name, raw) in &self.contract.api.security_schemes {
            let pointer = join_token("/components/securitySchemes", name);
            let place =
                DocumentLocation { source: self.contract.api.source, pointer, ..DocumentLocation::default() };
            let place = self.behind(&place).map_or(place, |(place, _)| place);
            let kept: &[&str] = match raw.pointer("/type").and_then(Json::as_str) {
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
            let members = members.filter(|(key, _)| kept.contains(key) || key.starts_with("x-"));
            let mut own: Map<String, Value> =
                members.map(|(key, value)| (key.to_owned(), value.to_value())).collect();
            let flows = own.get_mut("flows").and_then(Value::as_object_mut);
            let device = flows.and_then(|flows| flows.remove("deviceAuthorization"));
            if device.is_some() {
                self.lose(&place, format!("the device flow of the security scheme `{name}`"));
            }
            self.lacks(
                &place,
                &["deprecated", "oauth2MetadataUrl"],
                &format!("the security scheme `{name}`"),
            );
            if kept.is_empty() {
                self.lose(&place, format!("the security scheme `{name}`"));
            } else {
                out.insert(name.clone(), Value::Object(own));
            }
        }
        out
    }

    /// Writes an operation with its documentation, security and other metadata.
    fn whole(&mut self, operation: &Operation, schemes: &Map<String, Value>) -> Value {
        let mut out = self.operation(operation);
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
            let places = [operation.place.clone(), above(&operation.place)];
            out["servers"] = self.servers(&places, &operation.servers);
        }
        extend(&mut out, self.copied(&operation.place, &["externalDocs"]));
        let security = self.security(operation, schemes);
        if !security.is_empty() {
            out["security"] = Value::Array(security);
        }
        if operation.responses.is_empty() {
            self.lose(&operation.place, "that no answer is described: any is".to_owned());
            out["responses"] = json!({ "default": { "description": "" } });
        }
        out
    }

    /// Writes the security requirements of an operation. An alternative with an unsupported scheme is
    /// omitted, because a weaker one would admit callers that the contract rejects. If no alternative is
    /// fully supported, the supported part of each is written, because an empty list would admit everyone.
    fn security(&mut self, operation: &Operation, schemes: &Map<String, Value>) -> Vec<Value> {
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        for alternative in &operation.security {
            let (kept, lost): (Vec<_>, Vec<_>) =
                alternative.iter().partition(|(name, _)| schemes.contains_key(name));
            let all = if lost.is_empty() { &mut whole } else { &mut parts };
            let kept: Map<_, _> =
                kept.into_iter().map(|(name, scopes)| (name.clone(), json!(scopes))).collect();
            if lost.is_empty() || !kept.is_empty() {
                all.push(Value::Object(kept));
            }
            for (name, _) in lost {
                self.lose(&operation.place, format!("that it asks for `{name}`"));
            }
        }
        if whole.is_empty() { parts } else { whole }
    }

    /// Writes the requests and responses of an operation.
    pub fn operation(&mut self, operation: &Operation) -> Value {
        let mut out = json!({ "operationId": operation.id, "responses": {} });
        let parameters = operation.parameters.iter().filter_map(|parameter| self.parameter(parameter));
        let mut parameters: Vec<Value> = parameters.collect();
        parameters.extend(written(operation).1.iter().map(|(name, text)| pair(name, text)));
        if !parameters.is_empty() {
            out["parameters"] = Value::Array(parameters);
        }
        if let Some(body) = &operation.request_body {
            let content = self.content(&body.place, &body.content);
            out["requestBody"] = json!({ "required": body.required, "content": content });
            extend(&mut out["requestBody"], self.copied(&body.place, &["description"]));
        }
        for response in &operation.responses {
            out["responses"][response.status.key()] = self.response(response);
        }
        out
    }

    fn parameter(&mut self, parameter: &Parameter) -> Option<Value> {
        let (name, place) = (&parameter.name, &parameter.place);
        let query = parameter.location == ParameterIn::Query;
        let styles: &[&str] = match parameter.location {
            ParameterIn::Path => &["simple", "label", "matrix"],
            ParameterIn::Query => &["form", "spaceDelimited", "pipeDelimited", "deepObject"],
            ParameterIn::Header => &["simple"],
            ParameterIn::Cookie => &["form"],
            ParameterIn::QueryString => {
                self.lose(place, format!("the parameter `{name}`, which is the whole query"));
                return None;
            }
        };
        let mut out = json!({
            "name": name,
            "in": parameter.location.as_str(),
            "required": parameter.required || parameter.location == ParameterIn::Path,
        });
        extend(&mut out, self.copied(place, &["description"]));
        if parameter.deprecated {
            out["deprecated"] = json!(true);
        }
        if query && parameter.allow_empty {
            out["allowEmptyValue"] = json!(true);
        }
        match (parameter.allow_reserved, query) {
            (true, true) => out["allowReserved"] = json!(true),
            (true, false) => self.lose(place, format!("`allowReserved` of the parameter `{name}`")),
            (false, _) => {}
        }
        for (part, _) in &parameter.encoding {
            self.lose(place, format!("the encoding of `{part}` in the parameter `{name}`"));
        }
        let schema = self.optional(parameter.schema);
        let mut shown = Map::new();
        if let Some(media_type) = &parameter.content {
            self.examples(&below(&below(place, "content"), media_type), Some(media_type), &mut shown);
            shown.insert("schema".to_owned(), schema);
            out["content"] = json!({ media_type: shown });
            return Some(out);
        }
        self.examples(place, None, &mut shown);
        shown.insert("schema".to_owned(), schema);
        extend(&mut out, shown);
        if styles.contains(&parameter.style.as_str()) {
            out["style"] = json!(parameter.style);
            out["explode"] = json!(parameter.explode);
        } else {
            self.lose(place, format!("the style `{}` of the parameter `{name}`", parameter.style));
        }
        Some(out)
    }

    fn response(&mut self, response: &Response) -> Value {
        let mut out = json!({ "description": response.description });
        if !response.content.is_empty() {
            out["content"] = self.content(&response.place, &response.content);
        }
        for header in &response.headers {
            let schema = self.optional(header.schema);
            let place = below(&below(&response.place, "headers"), &header.name);
            let mut own = self.copied(&place, &["description", "deprecated"]);
            own.insert("required".to_owned(), json!(header.required));
            match &header.content {
                Some(name) => own.insert("content".to_owned(), json!({ name: { "schema": schema } })),
                None => {
                    self.examples(&place, None, &mut own);
                    own.insert("explode".to_owned(), json!(header.explode));
                    own.insert("schema".to_owned(), schema)
                }
            };
            out["headers"][&header.name] = Value::Object(own);
        }
        let links = self.links(&response.place);
        if !links.is_empty() {
            out["links"] = Value::Object(links);
        }
        self.lacks(&response.place, &["summary"], "an answer");
        extend(&mut out, self.copied(&response.place, &[]));
        out
    }

    fn content(&mut self, place: &DocumentLocation, all: &[api::MediaType]) -> Value {
        let mut out = Map::new();
        for media in all {
            let at = below(&below(place, "content"), &media.name);
            let mut own = self.copied(&at, &[]);
            self.examples(&at, Some(&media.name), &mut own);
            self.lacks(&at, &["prefixEncoding", "itemEncoding"], &format!("`{}`", media.name));
            if let Some(id) = media.schema {
                let schema =
                    if self.is_type(id) { json!({ "$ref": (self.link)(id) }) } else { self.schema(id) };
                own.insert("schema".to_owned(), schema);
            }
            if media.item_schema.is_some() {
                self.lose(place, format!("`itemSchema` of `{}`", media.name));
            }
            let encoding = self.encoding(&at, media);
            if !encoding.is_empty() {
                own.insert("encoding".to_owned(), Value::Object(encoding));
            }
            out.insert(media.name.clone(), Value::Object(own));
        }
        Value::Object(out)
    }

    fn encoding(&mut self, place: &DocumentLocation, media: &api::MediaType) -> Map<String, Value> {
        let mut out: Map<String, Value> = Map::new();
        for (part, raw) in &media.encoding {
            let mut own = Map::new();
            for (key, value) in raw.as_object().into_iter().flat_map(|members| members.iter()) {
                match (key, value) {
                    ("contentType" | "style" | "explode" | "allowReserved", _) => {
                        own.insert(key.to_owned(), value.to_value());
                    }
                    ("headers", Json::Object(headers)) => {
                        let each =
                            |(name, _): (&str, _)| (name.to_owned(), self.part_header(place, part, name));
                        let headers = headers.iter().map(each).collect();
                        own.insert(key.to_owned(), Value::Object(headers));
                    }
                    _ if key.starts_with("x-") => drop(own.insert(key.to_owned(), value.to_value())),
                    _ => self.lose(place, format!("`{key}` of the part `{part}`")),
                }
            }
            out.insert(part.clone(), Value::Object(own));
        }
        // Media types of parts, which OpenAPI 3.1 derives from their schemas.
        if let Some(id) = media.schema.filter(|_| MediaType::parse(&media.name).is_multipart()) {
            let mut types = BTreeMap::new();
            self.parts(id, &mut BTreeSet::new(), &mut types);
            for (part, media_type) in types {
                let own = out.entry(part).or_insert_with(|| json!({}));
                if own.get("contentType").is_none() {
                    own["contentType"] = json!(media_type);
                }
            }
        }
        out
    }

    /// Collects the properties whose schemas determine their media type (OpenAPI 3.1, 4.8.14.4).
    fn parts(&self, id: SchemaId, seen: &mut BTreeSet<SchemaId>, out: &mut BTreeMap<String, String>) {
        if !seen.insert(id) {
            return;
        }
        let schema = self.contract.graph.schema(id);
        for (name, member) in &schema.properties {
            if let Some(media_type) = self.media_type(*member, 0) {
                out.entry(name.clone()).or_insert(media_type);
            }
        }
        schema.reference.iter().chain(&schema.all_of).for_each(|next| self.parts(*next, seen, out));
    }

    fn media_type(&self, id: SchemaId, depth: usize) -> Option<String> {
        let schema = self.contract.graph.schema(id);
        let own = schema.content_media_type.clone().filter(|_| schema.content_encoding.is_none());
        let mut inside = schema.reference.iter().chain(&schema.items).filter(|_| depth < DEPTH);
        own.or_else(|| inside.find_map(|next| self.media_type(*next, depth + 1)))
    }

    /// Returns true if a body has a type of its own and is therefore a component.
    fn is_type(&self, id: SchemaId) -> bool {
        let AnalyzedContract { graph, shapes, .. } = self.contract;
        graph.schema(id).reference.is_none() && matches!(shapes.type_of_schema(id), TypeRef::Named(_))
    }

    fn optional(&mut self, id: Option<SchemaId>) -> Value {
        id.map_or_else(|| json!({}), |id| self.schema(id))
    }

    fn schema(&mut self, id: SchemaId) -> Value {
        let mut written = Written { link: &mut *self.link, lost: BTreeSet::new() };
        let out = self.schemas.write(id, &mut written);
        let lost = written.lost;
        self.losses.keywords(&self.contract.graph, lost);
        out
    }
}

#[cfg(test)]
mod tests;
