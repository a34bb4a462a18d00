//! OpenAPI documents as [`Api`]s: references followed, defaults filled in, rules checked.
//!
//! `object` holds the fields of every object, `walk` finds schemas while references are
//! settled, and this file and `parameter` read what the walk found. Links are read no further
//! than their schemas; callbacks become webhooks.

pub(crate) mod object;
pub(crate) mod parameter;
mod route;
mod security;
pub(crate) mod walk;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use contract_runtime::{Json, Map, media};

use self::{
    object::{Kind, is_extension},
    security::Requirements,
};

use crate::{
    api::{
        Api, Example, Header, MediaType, Operation, RequestBody, Response, Status, Tag, Variable,
        tokens::is_token,
    },
    diagnostics::{Diagnostic, Diagnostics},
    resolve::{dialect::version, discover::Discovery, lenient},
    schema::SchemaId,
    tree::{Member, Place, SourceId, Tree, Value, join},
};

const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// The field of a path item that a key is, in whatever case it is written.
fn method_field(key: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|method| method.eq_ignore_ascii_case(key))
}

/// The operations of a path item with their methods: those that have a field of their own, then
/// the `additionalOperations` of OpenAPI 3.2, whose methods stand in capitals as they are sent. One that
/// has a field is that field's, where it is not there.
fn operations<'t>(item: &Spot<'t>) -> Vec<(&'t str, Spot<'t>)> {
    let more = item.get("additionalOperations");
    let mut all: Vec<(&str, Spot<'t>)> = Vec::new();
    for (key, operation) in item.members() {
        let Some(field) = method_field(key) else { continue };
        let is_known = all.iter().any(|(known, _)| *known == field);
        if key == field || !(is_known || item.tree.get(field).is_some()) {
            all.push((field, operation));
        }
    }
    for (key, operation) in more.iter().flat_map(Spot::entries) {
        let field = method_field(key);
        if field.is_none_or(|field| all.iter().all(|(known, _)| *known != field)) {
            all.push((field.unwrap_or(key), operation));
        }
    }
    all
}

/// Reads every OpenAPI document among the inputs, in the order of their URIs.
pub(crate) fn read(
    discovery: &Discovery<'_>,
    ids: &HashMap<usize, SchemaId>,
    problems: &mut Diagnostics,
) -> Vec<Api> {
    problems.extend(discovery.check_links());
    let mut roots: Vec<SourceId> = discovery
        .sources
        .ids()
        .filter(|id| discovery.sources.is_input(*id))
        .filter(|id| discovery.objects.contains(&(*id, String::new(), Kind::Document)))
        .collect();
    roots.sort_by_key(|id| discovery.sources.get(*id).map(|source| source.uri.clone()));
    let mut apis = Vec::new();
    for id in roots {
        let Some(source) = discovery.sources.get(id) else { continue };
        let root = Spot { source: id, pointer: String::new(), tree: &source.tree };
        let paths = source.tree.get("paths").map_or(&[][..], Tree::members);
        let apart = route::apart(paths.iter().map(|path| path.key.as_str()));
        let references_say = !version(&source.tree).is_some_and(|version| version.starts_with("3.0"));
        let mut reader = Reader { discovery, ids, problems, schemes: BTreeSet::new(), apart, references_say };
        apis.push(reader.api(&root));
    }
    apis
}

/// A value and where it stands.
#[derive(Clone, Debug)]
struct Spot<'t> {
    source: SourceId,
    pointer: String,
    tree: &'t Tree,
}

impl<'t> Spot<'t> {
    /// A member; `null` is as good as none.
    fn get(&self, key: &str) -> Option<Self> {
        let member = self.tree.member(key).filter(|member| member.value.value != Value::Null);
        member.map(|member| self.member(member))
    }

    fn member(&self, member: &'t Member) -> Self {
        Self { source: self.source, pointer: join(&self.pointer, &member.key), tree: &member.value }
    }

    /// Members that are no extensions, of an object that may have some.
    fn members(&self) -> impl Iterator<Item = (&'t str, Self)> {
        self.entries().filter(|(key, _)| !key.starts_with("x-"))
    }

    /// All members, of a map: what its keys begin with is the author's choice.
    fn entries(&self) -> impl Iterator<Item = (&'t str, Self)> {
        self.tree.members().iter().map(|member| (member.key.as_str(), self.member(member)))
    }

    /// The entries of a `content`; what has a slash may begin as extensions do.
    fn media(&self) -> impl Iterator<Item = (&'t str, Self)> {
        self.entries().filter(|(key, _)| !is_extension(Kind::Content, key))
    }

    fn elements(&self) -> impl Iterator<Item = Self> {
        let each = |(at, tree)| Self { source: self.source, pointer: format!("{}/{at}", self.pointer), tree };
        self.tree.elements().iter().enumerate().map(each)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.tree.get(key).and_then(lenient::text).map(|text| text.into_owned())
    }

    fn flag(&self, key: &str) -> bool {
        self.tree.get(key).and_then(lenient::flag).unwrap_or(false)
    }

    fn place(&self) -> Place {
        Place { source: self.source, pointer: self.pointer.clone(), span: self.tree.span }
    }
}

struct Reader<'a, 't> {
    discovery: &'a Discovery<'t>,
    ids: &'a HashMap<usize, SchemaId>,
    problems: &'a mut Diagnostics,
    /// Names in `components.securitySchemes`.
    schemes: BTreeSet<String>,
    /// Paths and names of their queries by whose values they are told apart.
    apart: BTreeSet<(String, String)>,
    /// Whether what stands beside a `$ref` counts.
    references_say: bool,
}

impl<'t> Reader<'_, 't> {
    fn api(&mut self, root: &Spot<'t>) -> Api {
        let info = root.get("info");
        let about = |key: &str| info.as_ref().and_then(|info| info.text(key));
        let mut api = Api {
            source: root.source,
            title: about("title").unwrap_or_default(),
            version: about("version").unwrap_or_default(),
            description: about("description"),
            ..Api::default()
        };
        let part = |name: &str| root.get(name).and_then(|part| self.behind(&part));
        let (components, paths) = (part("components"), part("paths"));
        if let Some(servers) = root.get("servers") {
            api.servers = addresses(&servers);
            api.variables = variables(&servers);
        }
        if let Some(tags) = root.get("tags") {
            self.tags(&tags, &mut api);
        }
        if let Some(schemes) = components.and_then(|components| components.get("securitySchemes")) {
            for (name, scheme) in schemes.entries() {
                self.schemes.insert(name.to_owned());
                if let Some(scheme) = self.behind(&scheme) {
                    api.security_schemes.push((name.to_owned(), scheme.tree.to_json()));
                }
            }
        }
        let security = match root.get("security") {
            Some(list) => self.security(&list).unwrap_or_else(security::unknown),
            None => Vec::new(),
        };
        if let Some(paths) = paths {
            self.equal_paths(&paths);
            for (path, item) in paths.members() {
                let rooted = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
                self.item(&rooted, &item, &security, true, &mut api.operations);
                self.callbacks(&item, &security, &mut api.webhooks);
            }
        }
        if let Some(webhooks) = root.get("webhooks") {
            for (name, item) in webhooks.entries() {
                self.item(name, &item, &security, false, &mut api.webhooks);
            }
        }
        self.unique_ids(&mut api);
        api
    }

    /// OpenAPI 3.2, 4.22: a `parent` is a tag of the document, and none stands below itself.
    fn tags(&mut self, tags: &Spot<'t>, api: &mut Api) {
        let mut places = Vec::new();
        for spot in tags.elements() {
            let Some(name) = spot.text("name") else { continue };
            let (summary, description) = (spot.text("summary"), spot.text("description"));
            let (parent, kind) = (spot.text("parent"), spot.text("kind"));
            places.push(spot.get("parent").unwrap_or(spot).place());
            api.tags.push(Tag { name, summary, description, parent, kind });
        }
        for (at, place) in places.into_iter().enumerate() {
            let Tag { name, parent: Some(parent), .. } = &api.tags[at] else { continue };
            let message = if !api.tags.iter().any(|tag| tag.name == *parent) {
                format!("the parent of the tag `{name}` is `{parent}`, which is no tag of the document")
            } else if api.lineage(parent).any(|above| above == name) {
                format!("the tag `{name}` stands below itself")
            } else {
                continue;
            };
            let problem = Diagnostic::error("invalid-openapi", message).at(place);
            self.problems.push(problem.mended("it stands by itself"));
            api.tags[at].parent = None;
        }
    }

    /// OpenAPI 3.1, 4.8.8: templates that differ in the names of placeholders only are the same path.
    fn equal_paths(&mut self, paths: &Spot<'t>) {
        let mut seen: BTreeMap<String, Place> = BTreeMap::new();
        for member in paths.tree.members().iter().filter(|member| member.key.starts_with('/')) {
            let place = Place { span: member.key_span, ..paths.member(member).place() };
            let shape = parameter::shape(&member.key);
            if let Some(first) = seen.get(&shape) {
                let message = format!("the path `{}` is the same as another one", member.key);
                let problem = Diagnostic::error("duplicate-path", message).at(place);
                let problem = problem.mended("the operations of both are read");
                self.problems.push(problem.label(first.clone(), "first here"));
            } else {
                seen.insert(shape, place);
            }
        }
    }

    fn item(
        &mut self,
        path: &str,
        item: &Spot<'t>,
        security: &Requirements,
        templated: bool,
        out: &mut Vec<Operation>,
    ) {
        let Some(item) = self.behind(item) else { return };
        let shared = item.get("parameters");
        for (method, operation) in operations(&item) {
            let Some(operation) = self.behind(&operation) else { continue };
            let read = self.operation(path, method, &operation, shared.as_ref(), security);
            let read = if templated { self.template(read) } else { Some(read) };
            let Some(mut read) = read else { continue };
            if read.servers.is_empty() {
                read.servers = item.get("servers").map(|list| addresses(&list)).unwrap_or_default();
                read.variables = item.get("servers").map(|list| variables(&list)).unwrap_or_default();
            }
            out.push(read);
        }
    }

    /// The callbacks of a path item's operations: requests that the interface sends, as
    /// webhooks are. Each is named after its operation and itself.
    fn callbacks(&mut self, item: &Spot<'t>, security: &Requirements, out: &mut Vec<Operation>) {
        let Some(item) = self.behind(item) else { return };
        for (method, operation) in operations(&item) {
            let Some(operation) = self.behind(&operation) else { continue };
            let Some(callbacks) = operation.get("callbacks") else { continue };
            let caller = operation.text("operationId").unwrap_or_else(|| make_id(method, &item.pointer));
            for (name, callback) in callbacks.entries() {
                let Some(callback) = self.behind(&callback) else { continue };
                for (expression, item) in callback.members() {
                    let mut found = Vec::new();
                    self.item(name, &item, security, false, &mut found);
                    for each in &mut found {
                        // One that operations share by reference is one receiver.
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

    fn operation(
        &mut self,
        path: &str,
        method: &str,
        spot: &Spot<'t>,
        shared: Option<&Spot<'t>>,
        security: &Requirements,
    ) -> Operation {
        let mut operation = Operation {
            place: spot.place(),
            id: spot
                .text("operationId")
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| make_id(&method.to_ascii_lowercase(), path)),
            // Methods are told apart by case (RFC 9110, 9.1): `additionalOperations` has them as they are.
            method: if METHODS.contains(&method) { method.to_ascii_uppercase() } else { method.to_owned() },
            path: path.to_owned(),
            route: path.to_owned(),
            tags: spot.get("tags").map(|tags| texts(tags.tree)).unwrap_or_default(),
            summary: spot.text("summary"),
            description: spot.text("description"),
            deprecated: spot.flag("deprecated"),
            parameters: self.parameters(shared, spot.get("parameters").as_ref()),
            security: spot
                .get("security")
                .and_then(|list| self.security(&list))
                .unwrap_or_else(|| security.to_vec()),
            extensions: extensions(spot.tree),
            servers: spot.get("servers").map(|list| addresses(&list)).unwrap_or_default(),
            variables: spot.get("servers").map(|list| variables(&list)).unwrap_or_default(),
            ..Operation::default()
        };
        operation.request_body = spot
            .get("requestBody")
            .and_then(|each| Some((self.behind(&each)?, each)))
            .filter(|(body, _)| body.get("content").is_some())
            .map(|(body, each)| RequestBody {
                place: body.place(),
                required: body.flag("required"),
                description: self.description(&each),
                content: self.content(&body),
            });
        if let Some(responses) = spot.get("responses").and_then(|responses| self.behind(&responses)) {
            for (key, each) in responses.members() {
                let Some(status) = status(key) else { continue };
                if operation.responses.iter().any(|known| known.status == status) {
                    let message = format!("the status `{key}` is here twice, in another case");
                    let problem = Diagnostic::error("invalid-openapi", message).at(each.place());
                    self.problems.push(problem.mended("the first counts"));
                    continue;
                }
                let Some(response) = self.behind(&each) else {
                    // The status is known, what comes with it is not.
                    operation.responses.push(unknown_response(&each, status));
                    continue;
                };
                operation.responses.push(Response {
                    place: response.place(),
                    status,
                    description: self.description(&each).unwrap_or_default(),
                    content: self.content(&response),
                    headers: self.headers(&response),
                });
            }
        }
        operation
    }

    fn content(&mut self, spot: &Spot<'t>) -> Vec<MediaType> {
        let Some(content) = spot.get("content").and_then(|content| self.behind(&content)) else {
            return Vec::new();
        };
        let mut out: Vec<MediaType> = Vec::new();
        let each = content
            .media()
            .flat_map(|(names, media)| media_types(names).into_iter().map(move |name| (name, media.clone())));
        for (name, media) in each {
            let same = out.iter().any(|other| other.name.eq_ignore_ascii_case(name));
            if same {
                let message = format!("the media type `{name}` is here twice, in another case");
                let problem = Diagnostic::error("invalid-openapi", message).at(media.place());
                self.problems.push(problem.mended("the first counts"));
                continue;
            }
            let media = self.behind(&media).unwrap_or(media);
            self.positional(name, &media);
            let encoding = media.get("encoding").map(|encoding| {
                encoding.entries().map(|(name, each)| (name.to_owned(), each.tree.to_json())).collect()
            });
            out.push(MediaType {
                name: name.to_owned(),
                schema: media.get("schema").and_then(|schema| self.schema(&schema)),
                item_schema: media.get("itemSchema").and_then(|schema| self.schema(&schema)),
                data_schema: media.get("itemSchema").and_then(|item| self.event_data(&item)),
                encoding: encoding.unwrap_or_default(),
                examples: self.examples(&media),
            });
        }
        out
    }

    /// `example`, then what has a value among `examples`. `null` is a value here.
    fn examples(&self, spot: &Spot<'t>) -> Vec<Example> {
        let value = |holder: &Spot<'t>, key: &str| Some(holder.member(holder.tree.member(key)?).place());
        let unnamed = value(spot, "example").map(|place| (String::new(), place, false));
        let named = spot.get("examples");
        let named = named.iter().flat_map(Spot::entries).filter_map(|(name, example)| {
            let example = self.behind(&example)?;
            let data = value(&example, "dataValue").or_else(|| value(&example, "value"));
            let whole = data.map(|place| (place, false));
            let (place, serialized) = whole.or_else(|| Some((value(&example, "serializedValue")?, true)))?;
            Some((name.to_owned(), place, serialized))
        });
        let all = unnamed.into_iter().chain(named);
        all.map(|(name, place, serialized)| Example { name, place, serialized }).collect()
    }

    /// Says of encodings by position, and of those inside of others, that nothing is made of them
    /// (OpenAPI 3.2, 4.14.5).
    fn positional(&mut self, name: &str, media: &Spot<'t>) {
        const BY_POSITION: [&str; 2] = ["prefixEncoding", "itemEncoding"];
        let own = BY_POSITION.iter().filter_map(|key| Some((*key, media.get(key)?)));
        let mut found: Vec<(&str, Spot<'t>)> = own.collect();
        for (_, part) in media.get("encoding").iter().flat_map(Spot::entries) {
            let inside = BY_POSITION.iter().chain(&["encoding"]);
            found.extend(inside.filter_map(|key| Some((*key, part.get(key)?))));
        }
        for (key, spot) in found {
            let message = format!("`{key}` of `{name}` is passed over: parts are found by their names alone");
            self.problems.push(Diagnostic::warning("ignored", message).at(spot.place()).help(
                "a body of parts that have no names, or hold parts themselves, is read and written as bytes",
            ));
        }
    }

    /// The JSON in the `data` of an event that an `itemSchema` describes by itself; of one whose
    /// branches differ, the event is read as a whole.
    fn event_data(&self, item: &Spot<'t>) -> Option<SchemaId> {
        if ["oneOf", "anyOf", "allOf", "if"].iter().any(|key| item.get(key).is_some()) {
            return None;
        }
        let data = item.get("properties")?.get("data")?;
        let json = data.text("contentMediaType").is_none_or(|name| media::MediaType::of(&name).is_json());
        self.schema(&data.get("contentSchema").filter(|_| json)?)
    }

    fn headers(&mut self, spot: &Spot<'t>) -> Vec<Header> {
        let Some(headers) = spot.get("headers") else { return Vec::new() };
        let mut out = Vec::new();
        for (name, each) in headers.entries() {
            if name.eq_ignore_ascii_case("content-type") {
                // OpenAPI 3.1, 4.8.17.1.
                let message = format!("the response header `{name}` is described by `content`");
                self.problems.push(Diagnostic::note("ignored", message).at(each.place()));
                continue;
            }
            let Some(header) = self.behind(&each) else { continue };
            let (schema, content) = self.typed(&header, "a header");
            out.push(Header {
                name: name.to_owned(),
                required: header.flag("required"),
                description: self.description(&each),
                explode: header.flag("explode"),
                schema,
                content,
                examples: self.examples(&header),
            });
        }
        out
    }

    /// OpenAPI 3.1, 4.8.10.1: ids are unique among all operations. Another one of the same id is
    /// called after its method and path.
    fn unique_ids(&mut self, api: &mut Api) {
        let mut seen: BTreeMap<String, Place> = BTreeMap::new();
        let Api { operations, webhooks, .. } = api;
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
            let own = make_id(&operation.method.to_ascii_lowercase(), &operation.path);
            let numbered = (2..).map(|number| format!("{own}{number}"));
            let mut free = std::iter::once(own.clone()).chain(numbered).filter(|id| !seen.contains_key(id));
            let id = std::mem::replace(&mut operation.id, free.next().unwrap_or(own));
            seen.insert(operation.id.clone(), operation.place.clone());
            // One path item under two paths: its operations are two all the same.
            let shared = first == operation.place;
            let message = if shared {
                format!("`{id}` is one operation under two paths")
            } else {
                format!("the operationId `{id}` is used twice")
            };
            let mut problem = Diagnostic::error("duplicate-operation", message)
                .at(operation.place.clone())
                .mended(format!("this one is called `{}`", operation.id));
            if !shared {
                problem =
                    problem.label(first, "first here").help("every operation needs its own `operationId`");
            }
            self.problems.push(problem);
        }
    }

    fn behind(&self, spot: &Spot<'t>) -> Option<Spot<'t>> {
        let (source, pointer, tree) = self.discovery.behind(spot.source, &spot.pointer, spot.tree).ok()?;
        tree.is_object().then_some(Spot { source, pointer, tree })
    }

    /// What the first reference says that says something, else what they lead to (OpenAPI 3.1, 4.8.23). In
    /// 3.0 references say nothing (3.0, 4.7.23).
    fn description(&self, spot: &Spot<'t>) -> Option<String> {
        let mut spot = spot.clone();
        loop {
            let at = (spot.source, spot.pointer.clone());
            let next = self.discovery.links.get(&at).filter(|_| spot.tree.get("$ref").is_some());
            let own = spot.text("description").filter(|_| next.is_none() || self.references_say);
            let (Some((source, pointer)), None) = (next, &own) else { return own };
            let tree = self.discovery.sources.get(*source)?.tree.at(pointer)?;
            spot = Spot { source: *source, pointer: pointer.clone(), tree };
        }
    }

    fn schema(&self, spot: &Spot<'t>) -> Option<SchemaId> {
        let known = self.discovery.schemas.get(spot.source.0 as usize)?;
        self.ids.get(known.get(&spot.pointer)?).copied()
    }
}

/// `url` of each server, variables filled in with their defaults (OpenAPI 3.1, 4.8.5).
fn addresses(servers: &Spot<'_>) -> Vec<String> {
    let address = |server: Spot<'_>| {
        let mut url = server.text("url")?;
        for (name, variable) in server.get("variables").iter().flat_map(Spot::entries) {
            if let Some(default) = variable.text("default") {
                url = url.replace(&format!("{{{name}}}"), &default);
            }
        }
        Some(url)
    };
    servers.elements().filter_map(address).collect()
}

/// The variables of each server.
fn variables(servers: &Spot<'_>) -> Vec<Variable> {
    let each = |server: Spot<'_>| {
        let address = server.text("url")?;
        let variables = server.get("variables");
        let all = variables.iter().flat_map(Spot::entries).map(|(name, variable)| Variable {
            address: address.clone(),
            name: name.to_owned(),
            values: variable.get("enum").map(|values| texts(values.tree)).unwrap_or_default(),
        });
        Some(all.collect::<Vec<_>>())
    };
    servers.elements().filter_map(each).flatten().collect()
}

/// What is known of a response whose reference leads nowhere: any body.
fn unknown_response(spot: &Spot<'_>, status: Status) -> Response {
    let any = MediaType {
        name: "*/*".to_owned(),
        schema: None,
        item_schema: None,
        data_schema: None,
        encoding: Vec::new(),
        examples: Vec::new(),
    };
    Response {
        place: spot.place(),
        status,
        description: "The contract does not say what this holds.".to_owned(),
        content: vec![any],
        headers: Vec::new(),
    }
}

/// A key of `responses`.
pub(crate) fn status(key: &str) -> Option<Status> {
    match key.as_bytes() {
        b"default" => Some(Status::Default),
        [digit @ b'1'..=b'5', b'X' | b'x', b'X' | b'x'] => Some(Status::Range(digit - b'0')),
        [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9'] => key.parse().ok().map(Status::Code),
        _ => None,
    }
}

/// The media types that a key of `content` names: one, or several behind commas. What is none was said
/// where fields are checked, and is left out.
pub(crate) fn media_types(key: &str) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    // A comma in quotes is a parameter's own.
    let is_between = |letter: char| {
        quoted ^= letter == '"' && !escaped;
        escaped = quoted && letter == '\\' && !escaped;
        letter == ',' && !quoted
    };
    let each: Vec<&str> = key.split(is_between).map(str::trim).collect();
    match each.iter().all(|name| is_media_type(name)) {
        true => each,
        // Parameters are nobody's to judge.
        false if is_media_type(key) => vec![key],
        false => Vec::new(),
    }
}

/// RFC 9110, 8.3.1: two tokens, and parameters behind them, which are nobody's to judge.
fn is_media_type(name: &str) -> bool {
    let essence = name.split(';').next().unwrap_or_default().trim();
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// `GET /ships/{shipId}/crew` → `getShipsByShipIdCrew`
pub(crate) fn make_id(method: &str, path: &str) -> String {
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

/// The texts of a list, or the one that stands for a list.
fn texts(tree: &Tree) -> Vec<String> {
    let alone = lenient::text(tree).map(|_| tree);
    let each = tree.elements().iter().chain(alone);
    each.filter_map(|each| lenient::text(each).map(|text| text.into_owned())).collect()
}

fn extensions(tree: &Tree) -> Map<Json> {
    let own = tree.members().iter().filter(|member| member.key.starts_with("x-"));
    own.map(|member| (member.key.clone(), member.value.to_json())).collect()
}

#[cfg(test)]
mod tests;
