//! Lowers metadata outside of requests, responses and schemas: examples, servers, links, tags and `info`.
//! Metadata is copied unchanged, except for fields that OpenAPI 3.0 does not have.

use contract_codegen_core::{
    api::Operation,
    load::uri,
    resolve::lenient,
    schema::{SchemaId, document::to_exact_value},
    tree::{DocumentLocation, DocumentNode, ObjectMember},
};
use contract_runtime::{Json, media_type::MediaType};
use serde_json::{Map, Value, json};

use super::{Words, below};

/// Maximum length of a chain of references.
const DEPTH: usize = 32;

impl<'a> Words<'a, '_> {
    /// Returns the node at a location. Follows references within the same document.
    pub fn behind(&self, place: &DocumentLocation) -> Option<(DocumentLocation, &'a DocumentNode)> {
        let root = &self.contract.sources.get(place.source)?.tree;
        let mut place = place.clone();
        for _ in 0..DEPTH {
            let tree = root.resolve_pointer(&place.pointer)?;
            place.span = tree.span;
            let Some(reference) = tree.get("$ref").and_then(DocumentNode::as_str) else {
                return Some((place, tree));
            };
            place.pointer = uri::percent_decode(reference.strip_prefix('#')?)?;
        }
        None
    }

    /// Returns the node at a path below a location. Follows references at each step.
    fn inside(
        &self,
        place: &DocumentLocation,
        tokens: &[&str],
    ) -> Option<(DocumentLocation, &'a DocumentNode)> {
        tokens.iter().try_fold(self.behind(place)?, |(place, _), token| self.behind(&below(&place, token)))
    }

    /// Copies the given fields of the object at a location, and its extensions.
    pub fn copied(&mut self, place: &DocumentLocation, keys: &[&str]) -> Map<String, Value> {
        let Some((place, tree)) = self.behind(place) else { return Map::new() };
        let mut out = Map::new();
        for member in tree.members() {
            if keys.contains(&&*member.key) || member.key.starts_with("x-") {
                match to_exact_value(&member.value.to_json()) {
                    Some(value) => drop(out.insert(member.key.clone(), value)),
                    None => {
                        self.lose(&place, format!("`{}`: its numbers are larger than many read", member.key))
                    }
                }
            }
        }
        out
    }

    /// Reports the given fields of the object at a location as losses if they are present.
    pub fn lacks(&mut self, place: &DocumentLocation, keys: &[&str], of: &str) {
        let Some((place, tree)) = self.behind(place) else { return };
        for key in keys.iter().filter(|key| tree.get(key).is_some()) {
            self.lose(&place, format!("`{key}` of {of}"));
        }
    }

    /// Copies `example` and `examples` of the object at a location.
    pub fn examples(
        &mut self,
        place: &DocumentLocation,
        media_type: Option<&str>,
        out: &mut Map<String, Value>,
    ) {
        out.extend(self.copied(place, &["example"]));
        let Some((all, tree)) = self.inside(place, &["examples"]) else { return };
        let mut named = Map::new();
        for member in tree.members() {
            let place = below(&all, &member.key);
            let mut own = self.copied(&place, &["summary", "description", "value", "externalValue"]);
            for key in ["dataValue", "serializedValue"] {
                let Some(value) = self.copied(&place, &[key]).remove(key) else { continue };
                own.entry("value")
                    .or_insert_with(|| data(value, media_type.filter(|_| key == "serializedValue")));
            }
            if own.contains_key("value") || own.contains_key("externalValue") {
                named.insert(member.key.clone(), Value::Object(own));
            } else {
                self.lose(&place, format!("the example `{}`", member.key));
            }
        }
        if !named.is_empty() {
            out.insert("examples".to_owned(), Value::Object(named));
        }
    }

    /// Writes the servers of the first location that has any. `urls` are those servers with their variables
    /// substituted.
    pub fn servers(&mut self, places: &[DocumentLocation], urls: &[String]) -> Value {
        let lists: Vec<_> = places.iter().filter_map(|place| self.inside(place, &["servers"])).collect();
        let all = || {
            lists.iter().flat_map(|(list, tree)| {
                let place = |at: usize| DocumentLocation {
                    pointer: format!("{}/{at}", list.pointer),
                    ..list.clone()
                };
                tree.elements().iter().enumerate().map(move |(at, tree)| (place(at), tree))
            })
        };
        let of = |url: &String| match all().find(|(_, tree)| filled(tree).as_ref() == Some(url)) {
            Some((place, tree)) => {
                self.lacks(&place, &["name"], "a server");
                let mut own = self.copied(&place, &["url", "description"]);
                let variables = tree.get("variables").map(DocumentNode::members).unwrap_or_default().iter();
                let variables: Map<String, Value> = variables
                    .filter_map(|member| Some((member.key.clone(), variable(&member.value)?)))
                    .collect();
                if !variables.is_empty() {
                    own.insert("variables".to_owned(), Value::Object(variables));
                }
                Value::Object(own)
            }
            None => json!({ "url": url }),
        };
        urls.iter().map(of).collect()
    }

    /// Reports the callbacks that an operation shares by reference with another operation of the document. A
    /// copy would declare a different callback.
    pub fn shared_callbacks(&mut self, operation: &Operation, written: &Value) {
        let Some((all, tree)) = self.inside(&operation.place, &["callbacks"]) else { return };
        let is_unsaid =
            |member: &&ObjectMember| written.get(&member.key).is_none() && !member.key.starts_with("x-");
        for member in tree.members().iter().filter(is_unsaid) {
            self.lose(
                &below(&all, &member.key),
                format!("the callback `{}` of one more operation", member.key),
            );
        }
    }

    /// Copies the `links` of the response at a location, if their targets are part of the document.
    pub fn links(&mut self, place: &DocumentLocation) -> Map<String, Value> {
        let Some((all, tree)) = self.inside(place, &["links"]) else { return Map::new() };
        let mut out = Map::new();
        for member in tree.members() {
            let place = below(&all, &member.key);
            let keys = ["operationId", "parameters", "requestBody", "description"];
            let own = self.copied(&place, &keys);
            let operations = &self.contract.api.operations;
            let known =
                operations.iter().any(|each| own.get("operationId").is_some_and(|id| *id == *each.id));
            self.lacks(&place, &["server"], &format!("the link `{}`", member.key));
            if known {
                out.insert(member.key.clone(), Value::Object(own));
            } else {
                self.lose(&place, format!("the link `{}`", member.key));
            }
        }
        out
    }

    /// Writes a header of a multipart part.
    pub fn part_header(&mut self, media: &DocumentLocation, part: &str, name: &str) -> Value {
        let Some((place, tree)) = self.inside(media, &["encoding", part, "headers", name]) else {
            self.lose(media, format!("what the header `{name}` of the part `{part}` is"));
            return json!({ "schema": {} });
        };
        let mut own = self.copied(&place, &["description", "required", "deprecated", "explode"]);
        self.examples(&place, None, &mut own);
        let content = tree.get("content").and_then(|content| content.members().first());
        let holder =
            content.map_or_else(|| place.clone(), |media| below(&below(&place, "content"), &media.key));
        let schema = self.schema_at(&below(&holder, "schema"));
        let schema = schema.map_or_else(|| json!({}), |id| self.schema(id));
        match content {
            Some(media) => own.insert("content".to_owned(), json!({ &media.key: { "schema": schema } })),
            None => own.insert("schema".to_owned(), schema),
        };
        Value::Object(own)
    }

    fn schema_at(&mut self, place: &DocumentLocation) -> Option<SchemaId> {
        let graph = &self.contract.graph;
        let is_there = |id: &SchemaId| {
            let own = &graph.schema(*id).place;
            own.source == place.source && own.pointer == place.pointer
        };
        let found = graph.ids().find(is_there);
        if found.is_none() && self.behind(place).is_some() {
            self.lose(place, "the schema".to_owned());
        }
        found
    }

    /// Writes `info`.
    pub fn info(&mut self, place: &DocumentLocation) -> Map<String, Value> {
        let mut out = self.copied(place, &["description", "termsOfService", "contact", "license"]);
        self.lacks(place, &["summary"], "`info`");
        self.lacks(&below(place, "license"), &["identifier"], "the license");
        let license = out.get_mut("license").and_then(Value::as_object_mut);
        drop(license.and_then(|license| license.remove("identifier")));
        let api = &self.contract.api;
        out.insert("title".to_owned(), json!(api.title));
        out.insert("version".to_owned(), json!(api.version));
        out
    }

    /// Writes `tags`.
    pub fn tags(&mut self, root: &DocumentLocation) -> Vec<Value> {
        let listed = self.inside(root, &["tags"]);
        let mut out = Vec::new();
        for tag in &self.contract.api.tags {
            let mut own = json!({ "name": tag.name });
            if let Some(text) = &tag.description {
                own["description"] = json!(text);
            }
            let is_own =
                |tree: &DocumentNode| tree.get("name").and_then(DocumentNode::as_str) == Some(&tag.name);
            if let Some((list, tree)) = &listed
                && let Some(at) = tree.elements().iter().position(is_own)
            {
                let place = DocumentLocation { pointer: format!("{}/{at}", list.pointer), ..list.clone() };
                self.lacks(&place, &["summary", "parent", "kind"], &format!("the tag `{}`", tag.name));
                own.as_object_mut()
                    .into_iter()
                    .for_each(|own| own.extend(self.copied(&place, &["externalDocs"])));
            }
            out.push(own);
        }
        out
    }
}

/// Returns the value of an example. With a JSON `media_type`, a string value is parsed as the serialized
/// form.
fn data(value: Value, media_type: Option<&str>) -> Value {
    let json = media_type.filter(|name| MediaType::parse(name).is_json());
    let text = value.as_str().filter(|_| json.is_some());
    text.and_then(|text| to_exact_value(&Json::parse(text.as_bytes()).ok()?)).unwrap_or(value)
}

/// Returns the URL of a server with its variables substituted (OpenAPI 3.1, 4.8.5).
fn filled(server: &DocumentNode) -> Option<String> {
    let url = server.get("url").and_then(lenient::coerce_string)?.into_owned();
    let variables = server.get("variables").map(DocumentNode::members).unwrap_or_default();
    let fill =
        |url: String, (name, default): (&String, String)| url.replace(&format!("{{{name}}}"), &default);
    let defaults = variables.iter().filter_map(|member| {
        Some((&member.key, member.value.get("default").and_then(lenient::coerce_string)?.into_owned()))
    });
    Some(defaults.fold(url, fill))
}

/// Writes a server variable; returns `None` without the required default.
fn variable(tree: &DocumentNode) -> Option<Value> {
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
