//! Finds every schema: walks the documents, registers URIs and anchors, and follows references to positions
//! that no keyword identifies as a schema. The entry point is [`Discovery::run`].
//!
//! The walk uses a queue instead of recursion, so that no document can exhaust the stack. It visits every
//! position once, so its run time is linear in the size of the input.

mod reach;
mod references;

use std::collections::{HashMap, HashSet};

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    load::{Sources, files, identifier_member, is_openapi, uri},
    resolve::openapi::object::ObjectKind,
    schema::{
        SchemaOrigin,
        keywords::{Draft, Keyword, SubschemaForm},
    },
    tree::{DocumentLocation, DocumentNode, ObjectMember, SourceId, Span, join_token},
};

use self::reach::ReferencedParts;
use super::{
    dialect::{DialectLookup, SchemaDialect, find_dialect, openapi_version},
    dynamic::enclosing_pointers,
};

/// A position in a document that contains a schema, with its references.
#[derive(Debug)]
pub(crate) struct SchemaNode<'t> {
    pub(crate) source: SourceId,
    pub(crate) pointer: String,
    pub(crate) tree: &'t DocumentNode,
    pub(crate) resource: usize,
    pub(crate) dialect: SchemaDialect,
    pub(crate) origin: SchemaOrigin,
    /// The index of the node to which `$ref` refers, or `None` before the reference is resolved.
    pub(crate) reference: Option<usize>,
    /// The index of the node to which `$dynamicRef` initially refers (Core 8.2.3.2), with the name of the
    /// anchor if that node defines it as a `$dynamicAnchor`.
    pub(crate) dynamic: Option<(Option<String>, usize)>,
}

impl SchemaNode<'_> {
    /// Returns true if `$ref` is the only keyword of the schema that can make a value invalid.
    fn is_only_a_reference(&self) -> bool {
        let decides = |member: &ObjectMember| {
            let keyword =
                Keyword::find(&member.key).filter(|keyword| self.dialect.supports_keyword(*keyword));
            keyword.is_some_and(|keyword| {
                let refers = matches!(keyword, Keyword::Ref | Keyword::DynamicRef | Keyword::RecursiveRef);
                !refers && keyword.role().can_reject()
            })
        };
        self.dialect.ref_overrides_siblings() || !self.tree.members().iter().any(decides)
    }

    /// Returns the location of the value of a keyword in this schema.
    pub(crate) fn place(&self, member: &ObjectMember) -> DocumentLocation {
        member.place(self.source, &self.pointer)
    }
}

/// A schema resource (Core 8.2.1), or a whole document that is not a schema, such as an OpenAPI document.
#[derive(Debug)]
pub(crate) struct DiscoveredResource<'t> {
    pub(crate) uri: String,
    pub(crate) source: SourceId,
    pub(crate) pointer: String,
    /// The location of the `$id` or `$self` that names the resource, or of the whole document.
    pub(crate) named: DocumentLocation,
    pub(crate) tree: &'t DocumentNode,
    pub(crate) root: Option<usize>,
    pub(crate) dialect: Option<SchemaDialect>,
    /// The pointer of the `$schema` value that determines the dialect, in this resource or in an enclosing
    /// one.
    pub(crate) dialect_at: Option<String>,
    pub(crate) dynamic: Vec<(String, usize)>,
}

/// The type that the target of a reference must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedTarget {
    /// A schema. The reference is the value of `keyword` in the schema with the index `node`.
    Schema {
        node: usize,
        keyword: Keyword,
    },
    Object(ObjectKind),
}

/// A reference that is not resolved yet, because its target may not have been visited.
#[derive(Debug)]
pub(crate) struct PendingReference<'t> {
    pub(crate) expect: ExpectedTarget,
    pub(crate) reference: &'t str,
    pub(crate) resource: usize,
    pub(crate) dialect: SchemaDialect,
    /// The location of the string that contains the reference.
    pub(crate) place: DocumentLocation,
    /// The pointer of the object that contains the `$ref` or another reference.
    pub(crate) holder: String,
}

/// A position in a document that the walk has still to visit.
#[derive(Debug)]
pub(crate) struct VisitJob<'t> {
    pub(crate) what: VisitKind,
    pub(crate) source: SourceId,
    pub(crate) pointer: String,
    pub(crate) tree: &'t DocumentNode,
    pub(crate) resource: usize,
    pub(crate) dialect: SchemaDialect,
}

/// The type that the value at a position must have: a schema, or an object of OpenAPI.
#[derive(Clone, Debug)]
pub(crate) enum VisitKind {
    Schema(SchemaOrigin),
    Object(ObjectKind),
}

/// The state of the walk, and the schemas, anchors and references that it has found.
#[derive(Debug)]
pub(crate) struct Discovery<'t> {
    pub(crate) sources: &'t Sources,
    pub(crate) nodes: Vec<SchemaNode<'t>>,
    pub(crate) resources: Vec<DiscoveredResource<'t>>,
    /// For each source, the index of the node at each JSON Pointer.
    pub(crate) schemas: Vec<HashMap<String, usize>>,
    pub(crate) uris: HashMap<String, usize>,
    /// The node of each anchor, by resource index and anchor name. The flag is true for a `$dynamicAnchor`.
    pub(crate) anchors: HashMap<(usize, String), (usize, bool)>,
    /// The targets of `$ref`s between OpenAPI objects, as source and pointer, by the object with the `$ref`.
    pub(crate) links: HashMap<(SourceId, String), (SourceId, String)>,
    pub(crate) objects: HashSet<(SourceId, String, ObjectKind)>,
    pub(crate) problems: Diagnostics,
    /// The URIs of referenced documents that are not loaded, with the locations of the references.
    pub(crate) missing: Vec<(String, DocumentLocation)>,
    /// The diagnostics about unresolved references. They are dropped if the walk is repeated after more
    /// documents are loaded.
    pub(crate) lost: Vec<Diagnostic>,
    /// The `$ref`s of schemas that could not be resolved, by the index of the node.
    pub(crate) dangling: HashMap<usize, &'t str>,
    /// For each node, whether it belongs to the contract. Schemas of referenced documents belong to it only
    /// if they are reachable from an input.
    pub(crate) reached: Vec<bool>,
    pub(crate) asked: ReferencedParts,
    walked: Vec<bool>,
    queue: Vec<VisitJob<'t>>,
    pending: Vec<PendingReference<'t>>,
}

impl VisitJob<'_> {
    /// Returns the location of the value of a member of the visited object.
    pub(crate) fn member_place(&self, member: &ObjectMember) -> DocumentLocation {
        member.place(self.source, &self.pointer)
    }
}

impl<'t> Discovery<'t> {
    /// Walks all inputs and everything that is reachable from them.
    pub(crate) fn run(sources: &'t Sources, fallback: SchemaDialect) -> Self {
        let mut discovery = Self {
            sources,
            nodes: Vec::new(),
            resources: Vec::new(),
            schemas: sources.sources.iter().map(|_| HashMap::new()).collect(),
            uris: HashMap::new(),
            anchors: HashMap::new(),
            links: HashMap::new(),
            objects: HashSet::new(),
            problems: Diagnostics::new(),
            missing: Vec::new(),
            lost: Vec::new(),
            dangling: HashMap::new(),
            reached: Vec::new(),
            asked: ReferencedParts::default(),
            walked: vec![false; sources.sources.len()],
            queue: Vec::new(),
            pending: Vec::new(),
        };
        discovery.register_documents();
        for id in sources.ids() {
            let input = sources.is_input(id);
            let openapi = sources.get(id).is_some_and(|source| is_openapi(&source.tree));
            if input || openapi {
                discovery.queue_document(id, fallback, true);
            }
        }
        discovery.resolve_pending();
        discovery.drop_unreached_problems();
        discovery
    }

    /// Registers every source as a resource, with all of its URIs.
    fn register_documents(&mut self) {
        for (id, source) in self.sources.ids().zip(&self.sources.sources) {
            let index = self.resources.len();
            let tree = &source.tree;
            let whole = || DocumentLocation { source: id, pointer: String::new(), span: tree.span };
            self.resources.push(DiscoveredResource {
                uri: source.uri.clone(),
                source: id,
                pointer: String::new(),
                named: identifier_member(tree).map_or_else(whole, |member| member.place(id, "")),
                tree,
                root: None,
                dialect: None,
                dialect_at: None,
                dynamic: Vec::new(),
            });
            // An embedded resource is registered when it is visited.
            let named = identifier_member(tree).and_then(|member| Some((member, member.value.as_str()?)));
            if let Some((member, text)) = named
                && let Err(reason) = uri::resolve_reference("file:///", text)
            {
                let message = format!("invalid `{}`: {reason}", member.key);
                let problem = Diagnostic::error("invalid-schema", message).with_place(member.place(id, ""));
                self.problems.push(problem.with_fallback("the URI of its file is used"));
            }
            self.register_uri(&source.uri, index);
        }
        for (name, id) in self.sources.names() {
            self.uris.entry(name.to_owned()).or_insert(id.0 as usize);
        }
    }

    fn register_uri(&mut self, address: &str, resource: usize) {
        let first = *self.uris.entry(uri::normalized_key(address)).or_insert(resource);
        if first == resource {
            return;
        }
        let message = format!("the URI `{address}` already names another schema");
        let named = |index: usize| self.resources.get(index).map(|entry| entry.named.clone());
        let problem = Diagnostic::error("duplicate-id", message).with_optional_place(named(resource));
        let first = named(first).into_iter();
        let problem = first.fold(problem, |problem, first| problem.with_label(first, "first here"));
        self.problems.push(problem.with_fallback("the first one is used"));
    }

    /// Registers the dialect of a source and queues its root, unless the source was already visited. If
    /// `whole` is false, the root is not queued, because only the referenced object in it is visited.
    fn queue_document(&mut self, id: SourceId, dialect: SchemaDialect, whole: bool) {
        let index = id.0 as usize;
        let Some(source) = self.sources.get(id) else { return };
        if self.walked.get(index).copied().unwrap_or(true) {
            return;
        }
        if let Some(resource) = self.resources.get_mut(index) {
            resource.dialect = resource.dialect.or(Some(dialect));
        }
        if !whole {
            return;
        }
        if let Some(walked) = self.walked.get_mut(index) {
            *walked = true;
        }
        if self.sources.is_broken(id) {
            return;
        }
        let tree = &source.tree;
        let is_current = openapi_version(tree).is_some_and(|version| version.starts_with("3."));
        let what = if let Some(found) = tree.get("swagger").filter(|_| !is_current) {
            let place = DocumentLocation { source: id, pointer: "/swagger".to_owned(), span: found.span };
            let problem = Diagnostic::error("unsupported", "Swagger 2.0 documents are not supported")
                .with_place(place)
                .help("convert it to OpenAPI 3.0 first, for example with `swagger2openapi`");
            self.problems.push(problem);
            return;
        } else if is_openapi(tree) {
            VisitKind::Object(ObjectKind::Document)
        } else if self.sources.is_input(id) || files::is_contract(tree) {
            VisitKind::Schema(SchemaOrigin::Root(schema_stem(&source.name)))
        } else {
            return;
        };
        self.queue.push(VisitJob {
            what,
            source: id,
            pointer: String::new(),
            tree,
            resource: index,
            dialect,
        });
    }

    pub(crate) fn enqueue(&mut self, job: VisitJob<'t>) {
        self.queue.push(job);
    }

    pub(crate) fn add_pending(&mut self, pending: PendingReference<'t>) {
        self.pending.push(pending);
    }

    fn drain_queue(&mut self) {
        while let Some(job) = self.queue.pop() {
            match &job.what {
                VisitKind::Schema(_) => self.visit_schema(job),
                VisitKind::Object(kind) => {
                    let kind = *kind;
                    self.visit_object(kind, job);
                }
            }
        }
    }

    fn visit_schema(&mut self, job: VisitJob<'t>) {
        let VisitJob { what, source, pointer, tree, mut resource, mut dialect } = job;
        let VisitKind::Schema(mut origin) = what else { return };
        let Some(known) = self.schemas.get_mut(source.0 as usize) else { return };
        let index = self.nodes.len();
        if known.contains_key(&pointer) {
            return;
        }
        known.insert(pointer.clone(), index);
        let ignores_siblings = dialect.ref_overrides_siblings() && tree.get("$ref").is_some();
        let mut root = self.resources.get(resource).is_some_and(|entry| entry.pointer == pointer);
        if let Some(member) = tree.member(dialect.id_keyword())
            && !ignores_siblings
            && !root
            && let Some(text) = member.value.as_str()
        {
            let place = member.place(source, &pointer);
            let embedded = self.add_embedded_resource(text, resource, &place, source, &pointer, tree);
            if let Some(embedded) = embedded {
                root = true;
                resource = embedded;
                if !matches!(origin, SchemaOrigin::Component(_)) {
                    origin = SchemaOrigin::Root(uri_stem(text));
                }
            }
        }
        if root {
            dialect = self.resource_dialect(tree, resource, &pointer, dialect);
            if let Some(entry) = self.resources.get_mut(resource) {
                entry.root = Some(index);
                entry.dialect = Some(dialect);
            }
        } else if let Some(member) = tree.member("$schema")
            && dialect.supports_keyword(Keyword::Schema)
        {
            let place = member.place(source, &pointer);
            let message = "`$schema` is allowed only at the root of a schema resource, beside its `$id`";
            let problem = Diagnostic::error("invalid-schema", message).with_place(place);
            self.problems.push(problem.with_fallback("it is ignored"));
        }
        self.nodes.push(SchemaNode {
            source,
            pointer: pointer.clone(),
            tree,
            resource,
            dialect,
            origin,
            reference: None,
            dynamic: None,
        });
        let ignores_siblings = dialect.ref_overrides_siblings() && tree.get("$ref").is_some();
        if !ignores_siblings {
            self.collect_anchors(index);
        }
        self.collect_references(index);
        let children = child_positions(tree, &pointer, dialect).into_iter().rev();
        self.queue.extend(children.map(|(pointer, tree, origin)| VisitJob {
            what: VisitKind::Schema(origin),
            source,
            pointer,
            tree,
            resource,
            dialect,
        }));
    }

    /// Registers the resource of an embedded `$id`. Returns `None` if the `$id` is a fragment or invalid.
    fn add_embedded_resource(
        &mut self,
        text: &str,
        resource: usize,
        place: &DocumentLocation,
        source: SourceId,
        pointer: &str,
        tree: &'t DocumentNode,
    ) -> Option<usize> {
        let base = self.resources.get(resource).map(|entry| entry.uri.clone()).unwrap_or_default();
        match uri::resolve_reference(&base, text) {
            Ok(absolute) => {
                if text.starts_with('#') {
                    return None;
                }
                let index = self.resources.len();
                self.resources.push(DiscoveredResource {
                    uri: absolute.uri.clone(),
                    source,
                    pointer: pointer.to_owned(),
                    named: place.clone(),
                    tree,
                    root: None,
                    dialect: None,
                    dialect_at: self.resources.get(resource).and_then(|entry| entry.dialect_at.clone()),
                    dynamic: Vec::new(),
                });
                self.register_uri(&absolute.uri, index);
                Some(index)
            }
            Err(reason) => {
                let message = format!("invalid `$id`: {reason}");
                let problem = Diagnostic::error("invalid-schema", message).with_place(place.clone());
                self.problems.push(problem.with_fallback("it is left out"));
                None
            }
        }
    }

    /// Determines the dialect of a resource from the `$schema` of its root, or else uses that of the
    /// enclosing resource.
    fn resource_dialect(
        &mut self,
        tree: &DocumentNode,
        resource: usize,
        pointer: &str,
        inherited: SchemaDialect,
    ) -> SchemaDialect {
        let Some(member) = tree.member("$schema") else { return inherited };
        let Some(name) = member.value.as_str() else { return inherited };
        self.choose_dialect(name, resource, join_token(pointer, "$schema"), member.value.span)
            .unwrap_or(inherited)
    }

    /// Looks up the dialect that the value at a pointer identifies, and reports an unsupported dialect.
    pub(crate) fn choose_dialect(
        &mut self,
        name: &str,
        resource: usize,
        pointer: String,
        span: Span,
    ) -> Option<SchemaDialect> {
        let entry = self.resources.get_mut(resource)?;
        entry.dialect_at = Some(pointer.clone());
        let place = &DocumentLocation { source: entry.source, pointer, span };
        match find_dialect(self.sources, name) {
            DialectLookup::Known(dialect) => return Some(dialect),
            DialectLookup::Missing(uri) => {
                let problem =
                    Diagnostic::error("unsupported", format!("no input contains the dialect `{name}`"))
                        .with_place(place.clone())
                        .with_fallback("its schemas are read with the default dialect")
                        .help(format!(
                            "add the file of its meta-schema to `mounts`: \"{uri}\" = \"path/to/file\""
                        ));
                self.missing.push((uri, place.clone()));
                self.lost.push(problem);
            }
            DialectLookup::Unknown(vocabulary) => {
                let message = format!(
                    "the dialect `{name}` requires the vocabulary `{vocabulary}`, which is not supported"
                );
                self.problems.push(
                    Diagnostic::error("unsupported", message)
                        .with_place(place.clone())
                        .help("if its keywords do not validate values, set it to `false` in `$vocabulary`"),
                );
            }
            DialectLookup::Refused(message) => {
                let problem = Diagnostic::error("unsupported", message).with_place(place.clone());
                self.problems.push(problem.with_fallback("its schemas are read with the default dialect"));
            }
        }
        None
    }

    fn collect_anchors(&mut self, index: usize) {
        let Some(node) = self.nodes.get(index) else { return };
        let (tree, resource, dialect) = (node.tree, node.resource, node.dialect);
        let mut found: Vec<(&ObjectMember, String, bool)> = Vec::new();
        for member in tree.members() {
            let text = member.value.as_str();
            match (Keyword::find(&member.key), text) {
                (Some(Keyword::Anchor), Some(name)) if dialect.supports_keyword(Keyword::Anchor) => {
                    found.push((member, name.to_owned(), false));
                }
                (Some(Keyword::DynamicAnchor), Some(name))
                    if dialect.supports_keyword(Keyword::DynamicAnchor) =>
                {
                    found.push((member, name.to_owned(), true));
                }
                // Up to draft-07, a fragment in `$id` had the meaning of `$anchor`.
                (_, Some(name)) if dialect.draft == Draft::Draft7 && member.key == dialect.id_keyword() => {
                    if let Some((_, fragment)) = name.split_once('#')
                        && !fragment.is_empty()
                    {
                        found.push((member, fragment.to_owned(), false));
                    }
                }
                (Some(Keyword::RecursiveAnchor), _)
                    if dialect.supports_keyword(Keyword::RecursiveAnchor)
                        && member.value.as_bool() == Some(true) =>
                {
                    found.push((member, RECURSIVE_ANCHOR.to_owned(), true));
                }
                _ => {}
            }
        }
        for (member, name, dynamic) in found {
            if dynamic && let Some(entry) = self.resources.get_mut(resource) {
                entry.dynamic.push((name.clone(), index));
            }
            let first = *self.anchors.entry((resource, name.clone())).or_insert((index, dynamic));
            if first.0 == index {
                if dynamic {
                    self.anchors.insert((resource, name), (index, true));
                }
                continue;
            }
            let (Some(node), Some(other)) = (self.nodes.get(index), self.nodes.get(first.0)) else {
                continue;
            };
            // For dynamic anchors, each Schema Object of an OpenAPI document is a separate scope.
            let openapi = self.resources.get(resource).is_some_and(|held| is_openapi(held.tree));
            if dynamic && first.1 && openapi && self.schema_object(node) != self.schema_object(other) {
                continue;
            }
            let place = DocumentLocation {
                source: other.source,
                pointer: other.pointer.clone(),
                span: other.tree.span,
            };
            let message = format!("the anchor `{name}` already names another schema of this resource");
            let problem = Diagnostic::error("duplicate-anchor", message)
                .with_place(node.place(member))
                .with_fallback("the first one is used");
            self.problems.push(problem.with_label(place, "first here"));
        }
    }

    /// Returns the pointer of the outermost schema that contains this schema. In an OpenAPI document, the
    /// outermost schema is a Schema Object.
    fn schema_object<'n>(&self, node: &'n SchemaNode<'t>) -> Option<&'n str> {
        let known = self.schemas.get(node.source.0 as usize)?;
        enclosing_pointers(&node.pointer).find(|outer| known.contains_key(*outer))
    }

    fn collect_references(&mut self, index: usize) {
        let Some(node) = self.nodes.get(index) else { return };
        for keyword in [Keyword::Ref, Keyword::DynamicRef, Keyword::RecursiveRef] {
            if !node.dialect.supports_keyword(keyword) {
                continue;
            }
            let Some(member) = node.tree.member(keyword.name()) else { continue };
            let Some(reference) = member.value.as_str() else { continue };
            self.pending.push(PendingReference {
                expect: ExpectedTarget::Schema { node: index, keyword },
                reference,
                resource: node.resource,
                dialect: node.dialect,
                place: node.place(member),
                holder: node.pointer.clone(),
            });
        }
    }
}

/// Returns the subschemas of a schema, each with its pointer, its tree, and the origin from which the name of
/// its type is derived.
fn child_positions<'t>(
    tree: &'t DocumentNode,
    pointer: &str,
    dialect: SchemaDialect,
) -> Vec<(String, &'t DocumentNode, SchemaOrigin)> {
    let ignores_siblings = dialect.ref_overrides_siblings() && tree.get("$ref").is_some();
    let mut children = Vec::new();
    for member in tree.members() {
        let Some(keyword) = Keyword::find(&member.key).filter(|keyword| dialect.supports_keyword(*keyword))
        else {
            continue;
        };
        let definitions = matches!(keyword, Keyword::Defs | Keyword::Definitions);
        if ignores_siblings && !definitions {
            continue;
        }
        let here = join_token(pointer, &member.key);
        let mut child = |tree: &'t DocumentNode, pointer: String, origin: SchemaOrigin| {
            children.push((pointer, tree, origin))
        };
        let value = &member.value;
        match keyword.holds() {
            SubschemaForm::Nothing => {}
            SubschemaForm::OneOrList if !value.elements().is_empty() => {
                for (at, element) in value.elements().iter().enumerate() {
                    child(element, format!("{here}/{at}"), SchemaOrigin::Inline);
                }
            }
            SubschemaForm::One | SubschemaForm::OneOrList => {
                if is_schema(value) {
                    child(value, here, SchemaOrigin::Inline);
                }
            }
            SubschemaForm::List => {
                for (at, element) in value.elements().iter().enumerate() {
                    child(element, format!("{here}/{at}"), SchemaOrigin::Inline);
                }
            }
            SubschemaForm::Map | SubschemaForm::Dependencies => {
                for each in value.members() {
                    if keyword.holds() == SubschemaForm::Dependencies && !is_schema(&each.value) {
                        continue;
                    }
                    let origin = if definitions {
                        SchemaOrigin::Definition(each.key.clone())
                    } else {
                        SchemaOrigin::Inline
                    };
                    child(&each.value, join_token(&here, &each.key), origin);
                }
            }
        }
    }
    children
}

/// The anchor name for `$recursiveAnchor`, which cannot be the name of a `$dynamicAnchor`.
pub(crate) const RECURSIVE_ANCHOR: &str = "$recursiveAnchor";

/// Returns true if a value is an object or a boolean, as every schema is.
pub(crate) const fn is_schema(tree: &DocumentNode) -> bool {
    tree.is_object() || tree.as_bool().is_some()
}

/// Returns the stem of a file name. For example, `v1/stock-lot.schema.json` becomes `stock-lot`.
pub(crate) fn schema_stem(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let bare = [".json", ".yaml", ".yml"].iter().find_map(|ending| last.strip_suffix(ending)).unwrap_or(last);
    bare.strip_suffix(".schema").unwrap_or(bare).to_owned()
}

fn uri_stem(id: &str) -> String {
    let bare = id.split(['#', '?']).next().unwrap_or(id).trim_end_matches('/');
    let last = bare.rsplit(['/', ':']).next().unwrap_or(bare);
    uri::percent_decode(last).map_or_else(|| schema_stem(last), |name| schema_stem(&name))
}
