//! Converts OpenAPI documents to [`OpenApiDocument`]s: follows references, adds defaults, and validates
//! rules. The entry point is `read_documents`.
//!
//! `object` defines the fields of every object, and `walk` visits the objects while references are resolved.
//! This module and `parameter` convert the visited objects. Of Link Objects, only the schemas are used.
//! Callbacks are converted to webhooks.

pub(crate) mod object;
pub(crate) mod parameter;
mod path_item;
mod route;
mod rules;
mod security;
pub(crate) mod walk;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use contract_runtime::{Json, Map, media_type};

use self::{
    object::{ObjectKind, is_extension},
    path_item::{RepeatedField, method_field},
    security::SecurityRequirements,
};

use crate::{
    api::{
        Example, MediaType, OpenApiDocument, Operation, RequestBody, Response, ResponseHeader, Server,
        ServerVariable, StatusPattern, TagDefinition, tokens::is_token,
    },
    diagnostics::{Diagnostic, Diagnostics},
    resolve::{dialect::openapi_version, discover::Discovery, lenient},
    schema::{
        SchemaId,
        values::{RUST_NAME, is_usable_name},
    },
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember, SourceId, join_token},
};

/// Converts every OpenAPI document among the inputs. The documents are returned in the order of their URIs.
pub(crate) fn read_documents(
    discovery: &Discovery<'_>,
    ids: &HashMap<usize, SchemaId>,
    problems: &mut Diagnostics,
) -> Vec<OpenApiDocument> {
    problems.extend(discovery.check_links());
    let mut roots: Vec<SourceId> = discovery
        .sources
        .ids()
        .filter(|id| discovery.sources.is_input(*id))
        .filter(|id| discovery.objects.contains(&(*id, String::new(), ObjectKind::Document)))
        .collect();
    roots.sort_by_key(|id| discovery.sources.get(*id).map(|source| source.uri.clone()));
    let mut apis = Vec::new();
    for id in roots {
        let Some(source) = discovery.sources.get(id) else { continue };
        let root = OpenApiNode { source: id, pointer: String::new(), tree: &source.tree };
        let paths = source.tree.get("paths").map_or(&[][..], DocumentNode::members);
        let apart = route::distinguishing_values(paths.iter().map(|path| path.key.as_str()));
        let references_override_descriptions =
            !openapi_version(&source.tree).is_some_and(|version| version.starts_with("3.0"));
        let mut reader = OpenApiReader {
            discovery,
            ids,
            problems,
            schemes: BTreeSet::new(),
            distinguishing_values: apart,
            references_override_descriptions,
        };
        apis.push(reader.read_api(&root));
    }
    apis
}

/// A value in an OpenAPI document, with its location.
#[derive(Clone, Debug)]
struct OpenApiNode<'t> {
    source: SourceId,
    pointer: String,
    tree: &'t DocumentNode,
}

impl<'t> OpenApiNode<'t> {
    /// Returns the value of a member, or `None` if it is absent or `null`.
    fn get(&self, key: &str) -> Option<Self> {
        let member = self.tree.member(key).filter(|member| member.value.value != NodeValue::Null);
        member.map(|member| self.member(member))
    }

    fn member(&self, member: &'t ObjectMember) -> Self {
        Self { source: self.source, pointer: join_token(&self.pointer, &member.key), tree: &member.value }
    }

    /// Iterates over the members of an object, except extensions (`x-…`).
    fn members(&self) -> impl Iterator<Item = (&'t str, Self)> {
        self.entries().filter(|(key, _)| !key.starts_with("x-"))
    }

    /// Iterates over all members of a map. Keys that start with `x-` are ordinary keys here, not extensions.
    fn entries(&self) -> impl Iterator<Item = (&'t str, Self)> {
        self.tree.members().iter().map(|member| (member.key.as_str(), self.member(member)))
    }

    /// Iterates over the media types in a `content` map. A key that starts with `x-` is a media type if it
    /// contains a slash, and an extension otherwise.
    fn media_entries(&self) -> impl Iterator<Item = (&'t str, Self)> {
        self.entries().filter(|(key, _)| !is_extension(ObjectKind::Content, key))
    }

    fn elements(&self) -> impl Iterator<Item = Self> {
        let each = |(at, tree)| Self { source: self.source, pointer: format!("{}/{at}", self.pointer), tree };
        self.tree.elements().iter().enumerate().map(each)
    }

    fn string_field(&self, key: &str) -> Option<String> {
        self.tree.get(key).and_then(lenient::coerce_string).map(|text| text.into_owned())
    }

    fn bool_field(&self, key: &str) -> bool {
        self.tree.get(key).and_then(lenient::coerce_bool).unwrap_or(false)
    }

    fn place(&self) -> DocumentLocation {
        DocumentLocation { source: self.source, pointer: self.pointer.clone(), span: self.tree.span }
    }
}

struct OpenApiReader<'a, 't> {
    discovery: &'a Discovery<'t>,
    ids: &'a HashMap<usize, SchemaId>,
    problems: &'a mut Diagnostics,
    /// The names of the schemes in `components.securitySchemes`.
    schemes: BTreeSet<String>,
    /// The pairs of a path and the name of a query parameter for which different keys of `paths` contain
    /// different literal values, as in `/a?x=1` and `/a?x=2`. Such a value distinguishes operations.
    distinguishing_values: BTreeSet<(String, String)>,
    /// True if a `description` next to a `$ref` overrides that of the target, as in OpenAPI 3.1 and later.
    references_override_descriptions: bool,
}

impl<'t> OpenApiReader<'_, 't> {
    fn read_api(&mut self, root: &OpenApiNode<'t>) -> OpenApiDocument {
        let info = root.get("info");
        let about = |key: &str| info.as_ref().and_then(|info| info.string_field(key));
        let mut api = OpenApiDocument {
            source: root.source,
            title: about("title").unwrap_or_default(),
            version: about("version").unwrap_or_default(),
            description: about("description"),
            ..OpenApiDocument::default()
        };
        let part = |name: &str| root.get(name).and_then(|part| self.follow_references(&part));
        let (components, paths) = (part("components"), part("paths"));
        if let Some(servers) = root.get("servers") {
            api.servers = parse_servers(&servers);
        }
        if let Some(tags) = root.get("tags") {
            self.read_tags(&tags, &mut api);
        }
        if let Some(schemes) = components.and_then(|components| components.get("securitySchemes")) {
            for (name, scheme) in schemes.entries() {
                self.schemes.insert(name.to_owned());
                if let Some(scheme) = self.follow_references(&scheme) {
                    api.security_schemes.push((name.to_owned(), scheme.tree.to_json()));
                }
            }
        }
        let security = match root.get("security") {
            Some(list) => self.read_security(&list).unwrap_or_else(security::unknown_requirements),
            None => Vec::new(),
        };
        if let Some(paths) = paths {
            self.report_equal_paths(&paths);
            for (path, item) in paths.members() {
                let rooted = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
                self.read_path_item(&rooted, &item, &security, true, &mut api.operations);
                self.read_callbacks(&item, &security, &mut api.webhooks);
            }
        }
        if let Some(webhooks) = root.get("webhooks") {
            for (name, item) in webhooks.entries() {
                self.read_path_item(name, &item, &security, false, &mut api.webhooks);
            }
        }
        self.make_ids_unique(&mut api);
        api
    }

    /// Converts tags (OpenAPI 3.2, 4.22). Each `parent` must be a tag of the document, and cycles are not
    /// allowed.
    fn read_tags(&mut self, tags: &OpenApiNode<'t>, api: &mut OpenApiDocument) {
        let mut places = Vec::new();
        for spot in tags.elements() {
            let Some(name) = spot.string_field("name") else { continue };
            let (summary, description) = (spot.string_field("summary"), spot.string_field("description"));
            let (parent, kind) = (spot.string_field("parent"), spot.string_field("kind"));
            places.push(spot.get("parent").unwrap_or(spot).place());
            api.tags.push(TagDefinition { name, summary, description, parent, kind });
        }
        for (at, place) in places.into_iter().enumerate() {
            let TagDefinition { name, parent: Some(parent), .. } = &api.tags[at] else { continue };
            let message = if !api.tags.iter().any(|tag| tag.name == *parent) {
                format!("the parent `{parent}` of the tag `{name}` is not a tag of the document")
            } else if api.tag_lineage(parent).any(|above| above == name) {
                format!("the tag `{name}` is its own ancestor")
            } else {
                continue;
            };
            let problem = Diagnostic::error("invalid-openapi", message).with_place(place);
            self.problems.push(problem.with_fallback("the tag has no parent"));
            api.tags[at].parent = None;
        }
    }

    /// Reports path templates that differ only in the names of their placeholders (OpenAPI 3.1, 4.8.8).
    fn report_equal_paths(&mut self, paths: &OpenApiNode<'t>) {
        let mut seen: BTreeMap<String, DocumentLocation> = BTreeMap::new();
        for member in paths.tree.members().iter().filter(|member| member.key.starts_with('/')) {
            let place = DocumentLocation { span: member.key_span, ..paths.member(member).place() };
            let shape = parameter::path_shape(&member.key);
            if let Some(first) = seen.get(&shape) {
                let message = format!("the path `{}` is equivalent to another one", member.key);
                let problem = Diagnostic::error("duplicate-path", message).with_place(place);
                let problem = problem.with_fallback("the operations of both are read");
                self.problems.push(problem.with_label(first.clone(), "first here"));
            } else {
                seen.insert(shape, place);
            }
        }
    }

    fn read_path_item(
        &mut self,
        path: &str,
        item: &OpenApiNode<'t>,
        security: &SecurityRequirements,
        templated: bool,
        out: &mut Vec<Operation>,
    ) {
        let Some(item) = self.path_item_layers(item) else { return };
        for RepeatedField { name, ignored, used } in item.repeated_fields() {
            // The behavior of fields in both objects is undefined (OpenAPI 3.1, 4.8.9).
            let message = format!("the path item and the target of its `$ref` both have `{name}`");
            let problem = Diagnostic::error("unsupported", message)
                .with_place(ignored.place())
                .with_label(used.place(), "in the target")
                .with_fallback(format!("`{name}` of the target is used"))
                .help("remove one of them");
            self.problems.push(problem);
        }
        let shared = item.get("parameters");
        for (method, operation) in item.operations() {
            let Some(operation) = self.follow_references(&operation) else { continue };
            let read = self.read_operation(path, method, &operation, shared.as_ref(), security);
            let read = if templated { self.resolve_template(read) } else { Some(read) };
            let Some(mut read) = read else { continue };
            if read.servers.is_empty() {
                read.servers = item.get("servers").map(|list| parse_servers(&list)).unwrap_or_default();
            }
            out.push(read);
        }
    }

    /// Converts the callbacks in the operations of a path item to webhooks, which are requests that the API
    /// sends. If the id of a callback is not unique, it is qualified with the id of its operation.
    fn read_callbacks(
        &mut self,
        item: &OpenApiNode<'t>,
        security: &SecurityRequirements,
        out: &mut Vec<Operation>,
    ) {
        let Some(item) = self.path_item_layers(item) else { return };
        let pointer = item.pointer();
        for (method, operation) in item.operations() {
            let Some(operation) = self.follow_references(&operation) else { continue };
            let Some(callbacks) = operation.get("callbacks") else { continue };
            let caller =
                operation.string_field("operationId").unwrap_or_else(|| make_operation_id(method, &pointer));
            for (name, callback) in callbacks.entries() {
                let Some(callback) = self.follow_references(&callback) else { continue };
                for (expression, item) in callback.members() {
                    let mut found = Vec::new();
                    self.read_path_item(name, &item, security, false, &mut found);
                    for each in &mut found {
                        // A callback that several operations share by reference is converted once.
                        if out.iter().any(|known| known.place == each.place) {
                            continue;
                        }
                        each.callback = Some((caller.clone(), expression.to_owned()));
                        let id = each.id.clone();
                        let taken = |id: &str| out.iter().any(|known| known.id == id);
                        if taken(&id) {
                            each.id = format!("{caller}-{id}");
                        }
                        out.push(each.clone());
                    }
                }
            }
        }
    }

    fn read_operation(
        &mut self,
        path: &str,
        method: &str,
        spot: &OpenApiNode<'t>,
        shared: Option<&OpenApiNode<'t>>,
        security: &SecurityRequirements,
    ) -> Operation {
        let mut operation = Operation {
            place: spot.place(),
            id: spot
                .string_field("operationId")
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| make_operation_id(&method.to_ascii_lowercase(), path)),
            // Methods are case-sensitive (RFC 9110, 9.1), so those in `additionalOperations` keep their
            // spelling.
            method: if method_field(method) == Some(method) {
                method.to_ascii_uppercase()
            } else {
                method.to_owned()
            },
            path: path.to_owned(),
            route: path.to_owned(),
            tags: spot.get("tags").map(|tags| string_list(tags.tree)).unwrap_or_default(),
            summary: spot.string_field("summary"),
            description: spot.string_field("description"),
            deprecated: spot.bool_field("deprecated"),
            parameters: self.merge_parameters(shared, spot.get("parameters").as_ref()),
            security: spot
                .get("security")
                .and_then(|list| self.read_security(&list))
                .unwrap_or_else(|| security.to_vec()),
            rust_name: read_rust_name(spot),
            extensions: collect_extensions(spot.tree),
            servers: spot.get("servers").map(|list| parse_servers(&list)).unwrap_or_default(),
            ..Operation::default()
        };
        operation.request_body = spot
            .get("requestBody")
            .and_then(|each| Some((self.follow_references(&each)?, each)))
            .filter(|(body, _)| body.get("content").is_some())
            .map(|(body, each)| RequestBody {
                place: body.place(),
                required: body.bool_field("required"),
                description: self.effective_description(&each),
                content: self.read_content(&body),
            });
        if let Some(responses) =
            spot.get("responses").and_then(|responses| self.follow_references(&responses))
        {
            for (key, each) in responses.members() {
                let Some(status) = parse_status(key) else { continue };
                if operation.responses.iter().any(|known| known.status == status) {
                    let message = format!("duplicate status `{key}` in a different case");
                    let problem = Diagnostic::error("invalid-openapi", message).with_place(each.place());
                    self.problems.push(problem.with_fallback("the first one is used"));
                    continue;
                }
                let Some(response) = self.follow_references(&each) else {
                    // The status is known, but the body is not.
                    operation.responses.push(unknown_response(&each, status));
                    continue;
                };
                operation.responses.push(Response {
                    place: response.place(),
                    status,
                    description: self.effective_description(&each).unwrap_or_default(),
                    content: self.read_content(&response),
                    headers: self.read_headers(&response),
                });
            }
        }
        operation
    }

    fn read_content(&mut self, spot: &OpenApiNode<'t>) -> Vec<MediaType> {
        let Some(content) = spot.get("content").and_then(|content| self.follow_references(&content)) else {
            return Vec::new();
        };
        let mut out: Vec<MediaType> = Vec::new();
        let each = content.media_entries().flat_map(|(names, media)| {
            split_media_types(names).into_iter().map(move |name| (name, media.clone()))
        });
        for (name, media) in each {
            let same = out.iter().any(|other| other.name.eq_ignore_ascii_case(name));
            if same {
                let message = format!("duplicate media type `{name}` in a different case");
                let problem = Diagnostic::error("invalid-openapi", message).with_place(media.place());
                self.problems.push(problem.with_fallback("the first one is used"));
                continue;
            }
            let media = self.follow_references(&media).unwrap_or(media);
            self.report_positional_encodings(name, &media);
            let encoding = media.get("encoding").map(|encoding| {
                encoding.entries().map(|(name, each)| (name.to_owned(), each.tree.to_json())).collect()
            });
            out.push(MediaType {
                name: name.to_owned(),
                schema: media.get("schema").and_then(|schema| self.schema_id(&schema)),
                item_schema: media.get("itemSchema").and_then(|schema| self.schema_id(&schema)),
                data_schema: media.get("itemSchema").and_then(|item| self.event_data_schema(&item)),
                encoding: encoding.unwrap_or_default(),
                examples: self.read_examples(&media),
                omitted: false,
            });
        }
        out
    }

    /// Returns `example`, followed by the entries of `examples` that have a value. The value may be `null`.
    fn read_examples(&self, spot: &OpenApiNode<'t>) -> Vec<Example> {
        let value = |holder: &OpenApiNode<'t>, key: &str| {
            let text = holder.tree.get(key).and_then(|value| value.as_str());
            let pairs = text.filter(|text| text.contains('=')).map(str::to_owned);
            Some((holder.member(holder.tree.member(key)?).place(), pairs))
        };
        let unnamed = value(spot, "example").map(|value| (String::new(), value, false));
        let named = spot.get("examples");
        let named = named.iter().flat_map(OpenApiNode::entries).filter_map(|(name, example)| {
            let example = self.follow_references(&example)?;
            let data = value(&example, "dataValue").or_else(|| value(&example, "value"));
            let whole = data.map(|value| (value, false));
            let (value, serialized) = whole.or_else(|| Some((value(&example, "serializedValue")?, true)))?;
            Some((name.to_owned(), value, serialized))
        });
        let all = unnamed.into_iter().chain(named);
        all.map(|(name, (place, pairs), serialized)| Example { name, place, serialized, pairs }).collect()
    }

    /// Warns about `prefixEncoding`, `itemEncoding` and encodings within an encoding, which are ignored
    /// (OpenAPI 3.2, 4.14.5).
    fn report_positional_encodings(&mut self, name: &str, media: &OpenApiNode<'t>) {
        const BY_POSITION: [&str; 2] = ["prefixEncoding", "itemEncoding"];
        let own = BY_POSITION.iter().filter_map(|key| Some((*key, media.get(key)?)));
        let mut found: Vec<(&str, OpenApiNode<'t>)> = own.collect();
        for (_, part) in media.get("encoding").iter().flat_map(OpenApiNode::entries) {
            let inside = BY_POSITION.iter().chain(&["encoding"]);
            found.extend(inside.filter_map(|key| Some((*key, part.get(key)?))));
        }
        for (key, spot) in found {
            let message = format!("`{key}` of `{name}` is ignored: parts are matched by name only");
            self.problems.push(
                Diagnostic::warning("ignored", message)
                    .with_place(spot.place())
                    .help("a body with unnamed or nested parts is read and written as bytes"),
            );
        }
    }

    /// Returns the schema of the JSON in the field `data` of a server-sent event, given the `itemSchema` that
    /// describes the event. Returns `None` if the item schema has branches; in that case, the event is parsed
    /// as a whole.
    fn event_data_schema(&self, item: &OpenApiNode<'t>) -> Option<SchemaId> {
        if ["oneOf", "anyOf", "allOf", "if"].iter().any(|key| item.get(key).is_some()) {
            return None;
        }
        let data = item.get("properties")?.get("data")?;
        let json = data
            .string_field("contentMediaType")
            .is_none_or(|name| media_type::MediaType::parse(&name).is_json());
        self.schema_id(&data.get("contentSchema").filter(|_| json)?)
    }

    fn read_headers(&mut self, spot: &OpenApiNode<'t>) -> Vec<ResponseHeader> {
        let Some(headers) = spot.get("headers") else { return Vec::new() };
        let mut out = Vec::new();
        for (name, each) in headers.entries() {
            if name.eq_ignore_ascii_case("content-type") {
                // A response header with the name `Content-Type` is ignored (OpenAPI 3.1, 4.8.17.1).
                let message = format!("the response header `{name}` is ignored: `content` describes it");
                self.problems.push(Diagnostic::note("ignored", message).with_place(each.place()));
                continue;
            }
            // `walk` has already reported the invalid name.
            if !is_token(name) {
                continue;
            }
            let Some(header) = self.follow_references(&each) else { continue };
            let (schema, content) = self.schema_or_content(&header, "a header");
            out.push(ResponseHeader {
                name: name.to_owned(),
                required: header.bool_field("required"),
                description: self.effective_description(&each),
                explode: header.bool_field("explode"),
                schema,
                content,
                examples: self.read_examples(&header),
            });
        }
        out
    }

    /// Makes the ids of all operations unique (OpenAPI 3.1, 4.8.10.1). A duplicate is replaced by an id that
    /// is derived from method and path.
    fn make_ids_unique(&mut self, api: &mut OpenApiDocument) {
        let mut seen: BTreeMap<String, DocumentLocation> = BTreeMap::new();
        let OpenApiDocument { operations, webhooks, .. } = api;
        let mut again = Vec::new();
        for operation in operations.iter_mut().chain(webhooks) {
            match seen.get(&operation.id) {
                Some(first) => again.push((operation, first.clone())),
                None => {
                    seen.insert(operation.id.clone(), operation.place.clone());
                }
            }
        }
        for (operation, first) in again {
            let own = make_operation_id(&operation.method.to_ascii_lowercase(), &operation.path);
            let numbered = (2..).map(|number| format!("{own}{number}"));
            let mut free = std::iter::once(own.clone()).chain(numbered).filter(|id| !seen.contains_key(id));
            let id = std::mem::replace(&mut operation.id, free.next().unwrap_or(own));
            seen.insert(operation.id.clone(), operation.place.clone());
            // If two paths refer to the same path item, it results in two operations with one id.
            let shared = first == operation.place;
            let message = if shared {
                format!("two paths share the operation `{id}`")
            } else {
                format!("duplicate operationId `{id}`")
            };
            let mut problem = Diagnostic::error("duplicate-operation", message)
                .with_place(operation.place.clone())
                .with_fallback(format!("this one is renamed to `{}`", operation.id));
            if !shared {
                problem = problem
                    .with_label(first, "first here")
                    .help("every operation needs its own `operationId`");
            }
            self.problems.push(problem);
        }
    }

    fn follow_references(&self, spot: &OpenApiNode<'t>) -> Option<OpenApiNode<'t>> {
        let (source, pointer, tree) =
            self.discovery.follow_links(spot.source, &spot.pointer, spot.tree).ok()?;
        tree.is_object().then_some(OpenApiNode { source, pointer, tree })
    }

    /// Returns the first `description` in a chain of references (OpenAPI 3.1, 4.8.23). In OpenAPI 3.0, fields
    /// next to a `$ref` are ignored (3.0, 4.7.23).
    fn effective_description(&self, spot: &OpenApiNode<'t>) -> Option<String> {
        let mut spot = spot.clone();
        loop {
            let next = self.discovery.link_target(&(spot.source, spot.pointer.clone()), spot.tree);
            let own = spot
                .string_field("description")
                .filter(|_| next.is_none() || self.references_override_descriptions);
            let (Some((source, pointer, tree)), None) = (next, &own) else { return own };
            spot = OpenApiNode { source, pointer: pointer.to_owned(), tree };
        }
    }

    fn schema_id(&self, spot: &OpenApiNode<'t>) -> Option<SchemaId> {
        let known = self.discovery.schemas.get(spot.source.0 as usize)?;
        self.ids.get(known.get(&spot.pointer)?).copied()
    }
}

/// Returns the entries of `servers` that have a `url`.
fn parse_servers(servers: &OpenApiNode<'_>) -> Vec<Server> {
    let parse = |server: OpenApiNode<'_>| {
        let template = server.string_field("url")?;
        let variables = server.get("variables");
        let variables =
            variables.iter().flat_map(OpenApiNode::entries).map(|(name, variable)| ServerVariable {
                name: name.to_owned(),
                default: variable.string_field("default").unwrap_or_default(),
                description: variable.string_field("description"),
                values: variable.get("enum").map(|values| string_list(values.tree)).unwrap_or_default(),
            });
        let variables: Vec<ServerVariable> = variables.collect();
        let with_default = |url: String, variable: &ServerVariable| {
            url.replace(&format!("{{{}}}", variable.name), &variable.default)
        };
        Some(Server {
            url: variables.iter().fold(template.clone(), with_default),
            template,
            name: server.string_field("name"),
            description: server.string_field("description"),
            variables,
        })
    };
    servers.elements().filter_map(parse).collect()
}

/// Returns a response with an arbitrary body, which replaces a response whose reference cannot be resolved.
fn unknown_response(spot: &OpenApiNode<'_>, status: StatusPattern) -> Response {
    let any = MediaType {
        name: "*/*".to_owned(),
        schema: None,
        item_schema: None,
        data_schema: None,
        encoding: Vec::new(),
        examples: Vec::new(),
        omitted: false,
    };
    Response {
        place: spot.place(),
        status,
        description: "The contract does not describe this response.".to_owned(),
        content: vec![any],
        headers: Vec::new(),
    }
}

/// Parses a key of `responses`: a status code, a range such as `2XX`, or `default`. Returns `None` for other
/// keys.
pub(crate) fn parse_status(key: &str) -> Option<StatusPattern> {
    match key.as_bytes() {
        b"default" => Some(StatusPattern::Default),
        [digit @ b'1'..=b'5', b'X' | b'x', b'X' | b'x'] => Some(StatusPattern::Range(digit - b'0')),
        [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9'] => key.parse().ok().map(StatusPattern::Code),
        _ => None,
    }
}

/// Splits a key of `content` into its comma-separated media types. The result is empty if the key is invalid,
/// which `walk` has already reported.
pub(crate) fn split_media_types(key: &str) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    // A quoted comma is part of a parameter.
    let is_between = |letter: char| {
        quoted ^= letter == '"' && !escaped;
        escaped = quoted && letter == '\\' && !escaped;
        letter == ',' && !quoted
    };
    let each: Vec<&str> = key.split(is_between).map(str::trim).collect();
    match each.iter().all(|name| is_media_type(name)) {
        true => each,
        // The comma may be part of an unquoted parameter.
        false if is_media_type(key) => vec![key],
        false => Vec::new(),
    }
}

/// Returns true if the name has a valid type and subtype (RFC 9110, 8.3.1). Parameters are not validated.
fn is_media_type(name: &str) -> bool {
    let essence = name.split(';').next().unwrap_or_default().trim();
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Returns the name in `x-rust-name`.
fn read_rust_name(spot: &OpenApiNode<'_>) -> Option<String> {
    spot.string_field(RUST_NAME).filter(|name| is_usable_name(name))
}

/// Derives an operation id: `GET /ships/{shipId}/crew` → `getShipsByShipIdCrew`
pub fn make_operation_id(method: &str, path: &str) -> String {
    let mut id = method.to_owned();
    for part in path.split('/') {
        let mut upper = true;
        for each in part.chars() {
            if each == '{' {
                id.push_str("By");
                upper = true;
            } else if !each.is_alphanumeric() {
                upper = true;
            } else if upper {
                id.extend(each.to_uppercase());
                upper = false;
            } else {
                id.push(each);
            }
        }
    }
    id
}

/// Returns the strings of an array, or a list that contains the given string.
fn string_list(tree: &DocumentNode) -> Vec<String> {
    let alone = lenient::coerce_string(tree).map(|_| tree);
    let each = tree.elements().iter().chain(alone);
    each.filter_map(|each| lenient::coerce_string(each).map(|text| text.into_owned())).collect()
}

fn collect_extensions(tree: &DocumentNode) -> Map<Json> {
    let own = tree.members().iter().filter(|member| member.key.starts_with("x-"));
    own.map(|member| (member.key.clone(), member.value.to_json())).collect()
}

#[cfg(test)]
mod tests;
