//! Lowers metadata outside of requests, responses and schemas: examples, servers, links, tags and `info`.
//! Metadata is copied unchanged, except for fields that OpenAPI 3.0 does not have.

use contract_codegen_core::{
    api::{Operation, Server},
    load::uri,
    resolve::lenient,
    schema::{SchemaId, document::to_exact_value},
    tree::{DocumentLocation, DocumentNode, ObjectMember},
};
use contract_runtime::{Json, media_type::MediaType};
use serde_json::{Map, Value, json};

use super::{OperationLowerer, child_location};

/// The maximum number of consecutive `$ref` that are followed.
const MAX_REFERENCES: usize = 32;

impl<'a> OperationLowerer<'a, '_> {
    /// Returns the node at a location. If the node is a `$ref` within the same document, returns the target
    /// and its location.
    pub fn resolve_location(
        &self,
        location: &DocumentLocation,
    ) -> Option<(DocumentLocation, &'a DocumentNode)> {
        let root = &self.contract.sources.get(location.source)?.tree;
        let mut location = location.clone();
        for _ in 0..MAX_REFERENCES {
            let tree = root.resolve_pointer(&location.pointer)?;
            location.span = tree.span;
            let Some(reference) = tree.get("$ref").and_then(DocumentNode::as_str) else {
                return Some((location, tree));
            };
            location.pointer = uri::percent_decode(reference.strip_prefix('#')?)?;
        }
        None
    }

    /// Returns the node at a path below a location, with its location. Follows a `$ref` within the same
    /// document at each step.
    fn resolve_path(
        &self,
        location: &DocumentLocation,
        tokens: &[&str],
    ) -> Option<(DocumentLocation, &'a DocumentNode)> {
        tokens.iter().try_fold(self.resolve_location(location)?, |(location, _), token| {
            self.resolve_location(&child_location(&location, token))
        })
    }

    /// Returns the given fields of the object at a location, and its extensions (`x-…`). Records a loss for
    /// each number that many parsers cannot represent.
    pub fn copy_fields(&mut self, location: &DocumentLocation, keys: &[&str]) -> Map<String, Value> {
        let Some((location, tree)) = self.resolve_location(location) else { return Map::new() };
        let mut out = Map::new();
        for member in tree.members() {
            if keys.contains(&&*member.key) || member.key.starts_with("x-") {
                match to_exact_value(&member.value.to_json()) {
                    Some(value) => drop(out.insert(member.key.clone(), value)),
                    None => self.record_loss(
                        &location,
                        format!("`{}`: a number that many parsers cannot represent", member.key),
                    ),
                }
            }
        }
        out
    }

    /// Reports the given fields of the object at a location as losses if they are present.
    pub fn report_fields(&mut self, location: &DocumentLocation, keys: &[&str], owner: &str) {
        let Some((location, tree)) = self.resolve_location(location) else { return };
        for key in keys.iter().filter(|key| tree.get(key).is_some()) {
            self.record_loss(&location, format!("`{key}` of {owner}"));
        }
    }

    /// Copies `example` and `examples` of the object at a location.
    pub fn write_examples(
        &mut self,
        location: &DocumentLocation,
        media_type: Option<&str>,
        out: &mut Map<String, Value>,
    ) {
        out.extend(self.copy_fields(location, &["example"]));
        let Some((container, tree)) = self.resolve_path(location, &["examples"]) else { return };
        let mut examples = Map::new();
        for member in tree.members() {
            let location = child_location(&container, &member.key);
            let mut fields =
                self.copy_fields(&location, &["summary", "description", "value", "externalValue"]);
            for key in ["dataValue", "serializedValue"] {
                let Some(value) = self.copy_fields(&location, &[key]).remove(key) else { continue };
                fields
                    .entry("value")
                    .or_insert_with(|| example_value(value, media_type.filter(|_| key == "serializedValue")));
            }
            if fields.contains_key("value") || fields.contains_key("externalValue") {
                examples.insert(member.key.clone(), Value::Object(fields));
            } else {
                self.record_loss(&location, format!("the example `{}`", member.key));
            }
        }
        if !examples.is_empty() {
            out.insert("examples".to_owned(), Value::Object(examples));
        }
    }

    /// Writes the given servers as Server Objects. Searches the `servers` lists at the given locations for an
    /// entry whose URL, with its variables substituted, is the URL of the server. Copies the fields of this
    /// entry or, if there is no such entry, writes only the URL.
    pub fn write_servers(&mut self, locations: &[DocumentLocation], servers: &[Server]) -> Value {
        let lists: Vec<_> =
            locations.iter().filter_map(|location| self.resolve_path(location, &["servers"])).collect();
        let server_nodes = || {
            lists.iter().flat_map(|(list, tree)| {
                let element_location = |index: usize| DocumentLocation {
                    pointer: format!("{}/{index}", list.pointer),
                    ..list.clone()
                };
                tree.elements().iter().enumerate().map(move |(index, tree)| (element_location(index), tree))
            })
        };
        let write_server = |Server { url, .. }: &Server| match server_nodes()
            .find(|(_, tree)| substitute_variables(tree).as_ref() == Some(url))
        {
            Some((location, tree)) => {
                self.report_fields(&location, &["name"], "a server");
                let mut fields = self.copy_fields(&location, &["url", "description"]);
                let variables = tree.get("variables").map(DocumentNode::members).unwrap_or_default().iter();
                let variables: Map<String, Value> = variables
                    .filter_map(|member| Some((member.key.clone(), write_variable(&member.value)?)))
                    .collect();
                if !variables.is_empty() {
                    fields.insert("variables".to_owned(), Value::Object(variables));
                }
                Value::Object(fields)
            }
            None => json!({ "url": url }),
        };
        servers.iter().map(write_server).collect()
    }

    /// Reports each callback of an operation that is missing in `written_callbacks` as a loss. Such a
    /// callback is shared by reference with another operation; a copy would declare a second callback.
    pub fn report_shared_callbacks(&mut self, operation: &Operation, written_callbacks: &Value) {
        let Some((container, tree)) = self.resolve_path(&operation.place, &["callbacks"]) else { return };
        let is_missing = |member: &&ObjectMember| {
            written_callbacks.get(&member.key).is_none() && !member.key.starts_with("x-")
        };
        for member in tree.members().iter().filter(is_missing) {
            self.record_loss(
                &child_location(&container, &member.key),
                format!("the callback `{}`, shared with another operation", member.key),
            );
        }
    }

    /// Copies those `links` of the response at a location whose targets are part of the document.
    pub fn write_links(&mut self, location: &DocumentLocation) -> Map<String, Value> {
        let Some((container, tree)) = self.resolve_path(location, &["links"]) else { return Map::new() };
        let mut out = Map::new();
        for member in tree.members() {
            let location = child_location(&container, &member.key);
            let keys = ["operationId", "parameters", "requestBody", "description"];
            let fields = self.copy_fields(&location, &keys);
            let operations = &self.contract.api.operations;
            let has_target =
                operations.iter().any(|each| fields.get("operationId").is_some_and(|id| *id == *each.id));
            self.report_fields(&location, &["server"], &format!("the link `{}`", member.key));
            if has_target {
                out.insert(member.key.clone(), Value::Object(fields));
            } else {
                self.record_loss(&location, format!("the link `{}`", member.key));
            }
        }
        out
    }

    /// Returns the Header Object of a header of a multipart part.
    pub fn write_part_header(&mut self, media: &DocumentLocation, part: &str, name: &str) -> Value {
        let Some((location, tree)) = self.resolve_path(media, &["encoding", part, "headers", name]) else {
            self.record_loss(media, format!("the definition of the header `{name}` of the part `{part}`"));
            return json!({ "schema": {} });
        };
        let mut fields = self.copy_fields(&location, &["description", "required", "deprecated", "explode"]);
        self.write_examples(&location, None, &mut fields);
        let content = tree.get("content").and_then(|content| content.members().first());
        let schema_owner = content.map_or_else(
            || location.clone(),
            |media| child_location(&child_location(&location, "content"), &media.key),
        );
        let schema = self.find_schema(&child_location(&schema_owner, "schema"));
        let schema = schema.map_or_else(|| json!({}), |id| self.write_schema(id));
        match content {
            Some(media) => fields.insert("content".to_owned(), json!({ &media.key: { "schema": schema } })),
            None => fields.insert("schema".to_owned(), schema),
        };
        Value::Object(fields)
    }

    fn find_schema(&mut self, location: &DocumentLocation) -> Option<SchemaId> {
        let graph = &self.contract.graph;
        let is_at_location = |id: &SchemaId| {
            let schema = &graph.schema(*id).place;
            schema.source == location.source && schema.pointer == location.pointer
        };
        let found = graph.ids().find(is_at_location);
        if found.is_none() && self.resolve_location(location).is_some() {
            self.record_loss(location, "the schema of a header".to_owned());
        }
        found
    }

    /// Returns the Info Object of the lowered document.
    pub fn write_info(&mut self, location: &DocumentLocation) -> Map<String, Value> {
        let mut out = self.copy_fields(location, &["description", "termsOfService", "contact", "license"]);
        self.report_fields(location, &["summary"], "`info`");
        self.report_fields(&child_location(location, "license"), &["identifier"], "the license");
        let license = out.get_mut("license").and_then(Value::as_object_mut);
        drop(license.and_then(|license| license.remove("identifier")));
        let api = &self.contract.api;
        out.insert("title".to_owned(), json!(api.title));
        out.insert("version".to_owned(), json!(api.version));
        out
    }

    /// Returns the Tag Objects of the lowered document.
    pub fn write_tags(&mut self, root: &DocumentLocation) -> Vec<Value> {
        let tag_list = self.resolve_path(root, &["tags"]);
        let mut out = Vec::new();
        for tag in &self.contract.api.tags {
            let mut fields = json!({ "name": tag.name });
            if let Some(text) = &tag.description {
                fields["description"] = json!(text);
            }
            let has_tag_name =
                |tree: &DocumentNode| tree.get("name").and_then(DocumentNode::as_str) == Some(&tag.name);
            if let Some((list, tree)) = &tag_list
                && let Some(index) = tree.elements().iter().position(has_tag_name)
            {
                let location =
                    DocumentLocation { pointer: format!("{}/{index}", list.pointer), ..list.clone() };
                self.report_fields(
                    &location,
                    &["summary", "parent", "kind"],
                    &format!("the tag `{}`", tag.name),
                );
                fields
                    .as_object_mut()
                    .into_iter()
                    .for_each(|fields| fields.extend(self.copy_fields(&location, &["externalDocs"])));
            }
            out.push(fields);
        }
        out
    }
}

/// Returns the value of an example. If `media_type` is JSON and `value` is a string that contains JSON,
/// returns the parsed JSON.
fn example_value(value: Value, media_type: Option<&str>) -> Value {
    let is_json = media_type.is_some_and(|name| MediaType::parse(name).is_json());
    let text = value.as_str().filter(|_| is_json);
    text.and_then(|text| to_exact_value(&Json::parse(text.as_bytes()).ok()?)).unwrap_or(value)
}

/// Returns the URL of a server with its variables substituted (OpenAPI 3.1, 4.8.5).
fn substitute_variables(server: &DocumentNode) -> Option<String> {
    let url = server.get("url").and_then(lenient::coerce_string)?.into_owned();
    let variables = server.get("variables").map(DocumentNode::members).unwrap_or_default();
    let substitute =
        |url: String, (name, default): (&String, String)| url.replace(&format!("{{{name}}}"), &default);
    let defaults = variables.iter().filter_map(|member| {
        Some((&member.key, member.value.get("default").and_then(lenient::coerce_string)?.into_owned()))
    });
    Some(defaults.fold(url, substitute))
}

/// Returns the Server Variable Object. Returns `None` if the required field `default` is missing.
fn write_variable(tree: &DocumentNode) -> Option<Value> {
    let mut out = json!({ "default": lenient::coerce_string(tree.get("default")?)? });
    let values = tree.get("enum").map(DocumentNode::elements).unwrap_or_default().iter();
    let values: Vec<_> = values.filter_map(lenient::coerce_string).collect();
    if !values.is_empty() {
        out["enum"] = json!(values);
    }
    if let Some(text) = tree.get("description").and_then(DocumentNode::as_str) {
        out["description"] = json!(text);
    }
    Some(out)
}
