//! Finds every schema: walks the documents position by position, registers what URIs and
//! anchors name, and follows references into places that nothing else led to.
//!
//! Nothing here recurses, so that no document can exhaust the stack; every position is
//! visited once, so that the work is linear in the input.

mod reach;
mod settle;

use std::collections::{HashMap, HashSet};

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    load::{Sources, files, identifier, uri},
    resolve::openapi::object::Kind,
    schema::{
        Origin,
        keywords::{Draft, Holds, Keyword},
    },
    tree::{Member, Place, SourceId, Span, Tree, join},
};

use self::reach::Asked;
use super::dialect::{Choice, Dialect, choose, version};

/// A schema position.
#[derive(Debug)]
pub(crate) struct Node<'t> {
    pub(crate) source: SourceId,
    pub(crate) pointer: String,
    pub(crate) tree: &'t Tree,
    pub(crate) resource: usize,
    pub(crate) dialect: Dialect,
    pub(crate) origin: Origin,
    /// `$ref`, once settled.
    pub(crate) reference: Option<usize>,
    /// `$dynamicRef`, once settled: the anchor when it is dynamic, the initial target.
    pub(crate) dynamic: Option<(Option<String>, usize)>,
}

impl Node<'_> {
    /// Whether nothing beside its reference can make a value invalid.
    fn is_only_a_reference(&self) -> bool {
        let decides = |member: &Member| {
            let keyword = Keyword::find(&member.key).filter(|keyword| self.dialect.knows(*keyword));
            keyword.is_some_and(|keyword| {
                let refers = matches!(keyword, Keyword::Ref | Keyword::DynamicRef | Keyword::RecursiveRef);
                !refers && keyword.role().decides()
            })
        };
        self.dialect.lonely_ref() || !self.tree.members().iter().any(decides)
    }

    /// Where a member of it stands.
    pub(crate) fn place(&self, member: &Member) -> Place {
        Place { source: self.source, pointer: join(&self.pointer, &member.key), span: member.value.span }
    }
}

/// A schema resource, or a document that is none.
#[derive(Debug)]
pub(crate) struct Resource<'t> {
    pub(crate) uri: String,
    pub(crate) source: SourceId,
    pub(crate) pointer: String,
    /// What names it: its `$id`, or all of it.
    pub(crate) named: Place,
    pub(crate) tree: &'t Tree,
    pub(crate) root: Option<usize>,
    pub(crate) dialect: Option<Dialect>,
    /// The pointer of what names its dialect: its own `$schema`, or that of what holds it.
    pub(crate) dialect_at: Option<String>,
    pub(crate) dynamic: Vec<(String, usize)>,
}

/// What a reference should lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// A schema, for the keyword of this node.
    Schema { node: usize, keyword: Keyword },
    /// An OpenAPI object.
    Object(Kind),
}

/// A reference that waits until what can be walked was walked.
#[derive(Debug)]
pub(crate) struct Pending<'t> {
    pub(crate) expect: Expect,
    pub(crate) reference: &'t str,
    pub(crate) resource: usize,
    pub(crate) dialect: Dialect,
    /// Of the reference's text.
    pub(crate) place: Place,
    /// Of the object that holds it.
    pub(crate) holder: String,
}

/// A position to visit.
#[derive(Debug)]
pub(crate) struct Job<'t> {
    pub(crate) what: What,
    pub(crate) source: SourceId,
    pub(crate) pointer: String,
    pub(crate) tree: &'t Tree,
    pub(crate) resource: usize,
    pub(crate) dialect: Dialect,
}

/// What stands at a position.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Schema(Origin),
    Object(Kind),
}

/// Everything known about the sources so far.
#[derive(Debug)]
pub(crate) struct Discovery<'t> {
    pub(crate) sources: &'t Sources,
    pub(crate) nodes: Vec<Node<'t>>,
    pub(crate) resources: Vec<Resource<'t>>,
    /// Per source: schema positions by pointer.
    pub(crate) schemas: Vec<HashMap<String, usize>>,
    pub(crate) uris: HashMap<String, usize>,
    /// By resource and name: the node, and whether the anchor is dynamic.
    pub(crate) anchors: HashMap<(usize, String), (usize, bool)>,
    /// OpenAPI objects that are references, and where these lead.
    pub(crate) links: HashMap<(SourceId, String), (SourceId, String)>,
    pub(crate) objects: HashSet<(SourceId, String, Kind)>,
    pub(crate) problems: Diagnostics,
    /// Documents that no source holds, and where they are asked for; they may be read on demand.
    pub(crate) missing: Vec<(String, Place)>,
    /// References without a target, reported unless another round settles them.
    pub(crate) lost: Vec<Diagnostic>,
    /// Schemas whose reference leads nowhere, with what it says.
    pub(crate) dangling: HashMap<usize, &'t str>,
    /// Per node: whether it is of the contract, since an input holds it or something leads to it.
    pub(crate) reached: Vec<bool>,
    pub(crate) asked: Asked,
    walked: Vec<bool>,
    queue: Vec<Job<'t>>,
    pending: Vec<Pending<'t>>,
}

impl<'t> Discovery<'t> {
    /// Walks all inputs and everything that they reach.
    pub(crate) fn run(sources: &'t Sources, fallback: Dialect) -> Self {
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
            asked: Asked::default(),
            walked: vec![false; sources.sources.len()],
            queue: Vec::new(),
            pending: Vec::new(),
        };
        discovery.documents();
        for id in sources.ids() {
            let input = sources.is_input(id);
            let openapi = sources.get(id).is_some_and(|source| source.tree.get("openapi").is_some());
            if input || openapi {
                discovery.walk(id, fallback, true);
            }
        }
        discovery.settle_all();
        discovery.leave_unreached();
        discovery
    }

    /// Every source is a resource, under all of its names.
    fn documents(&mut self) {
        for (id, source) in self.sources.ids().zip(&self.sources.sources) {
            let index = self.resources.len();
            let tree = &source.tree;
            let (pointer, span) = match identifier(tree) {
                Some(member) => (join("", &member.key), member.value.span),
                None => (String::new(), tree.span),
            };
            self.resources.push(Resource {
                uri: source.uri.clone(),
                source: id,
                pointer: String::new(),
                named: Place { source: id, pointer, span },
                tree,
                root: None,
                dialect: None,
                dialect_at: None,
                dynamic: Vec::new(),
            });
            // An embedded one is read where it stands.
            let named = identifier(tree).and_then(|member| Some((member, member.value.as_str()?)));
            if let Some((member, text)) = named
                && let Err(reason) = uri::resolve("file:///", text)
            {
                let message = format!("`{}` is not a URI reference: {reason}", member.key);
                let place = Place { source: id, pointer: join("", &member.key), span: member.value.span };
                let problem = Diagnostic::error("invalid-schema", message).at(place);
                self.problems.push(problem.mended("the document is known by where it lies"));
            }
            self.register(&source.uri, index);
        }
        for (name, id) in self.sources.names() {
            self.uris.entry(name.to_owned()).or_insert(id.0 as usize);
        }
    }

    fn register(&mut self, address: &str, resource: usize) {
        let first = *self.uris.entry(uri::key(address)).or_insert(resource);
        if first == resource {
            return;
        }
        let message = format!("the URI `{address}` already names another schema");
        let named = |index: usize| self.resources.get(index).map(|held| held.named.clone());
        let problem = Diagnostic::error("duplicate-id", message).maybe_at(named(resource));
        let first = named(first).into_iter();
        let problem = first.fold(problem, |problem, first| problem.label(first, "first here"));
        self.problems.push(problem.mended("the first counts"));
    }

    /// Queues the root of a source, once. `whole` when it should be read as what it looks
    /// like, not only as the object that a reference wants.
    fn walk(&mut self, id: SourceId, dialect: Dialect, whole: bool) {
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
        let is_openapi = version(tree).is_some_and(|version| version.starts_with("3."));
        let what = if let Some(found) = tree.get("swagger").filter(|_| !is_openapi) {
            let place = Place { source: id, pointer: "/swagger".to_owned(), span: found.span };
            let problem = Diagnostic::error("unsupported", "Swagger 2.0 documents are not read")
                .at(place)
                .help("convert it to OpenAPI 3.0 first, for example with `swagger2openapi`");
            self.problems.push(problem);
            return;
        } else if tree.get("openapi").is_some() {
            What::Object(Kind::Document)
        } else if self.sources.is_input(id) || files::is_contract(tree) {
            What::Schema(Origin::Root(stem(&source.name)))
        } else {
            return;
        };
        self.queue.push(Job { what, source: id, pointer: String::new(), tree, resource: index, dialect });
    }

    pub(crate) fn enqueue(&mut self, job: Job<'t>) {
        self.queue.push(job);
    }

    pub(crate) fn expect(&mut self, pending: Pending<'t>) {
        self.pending.push(pending);
    }

    fn drain(&mut self) {
        while let Some(job) = self.queue.pop() {
            match &job.what {
                What::Schema(_) => self.schema(job),
                What::Object(kind) => {
                    let kind = *kind;
                    self.object(kind, job);
                }
            }
        }
    }

    fn schema(&mut self, job: Job<'t>) {
        let Job { what, source, pointer, tree, mut resource, mut dialect } = job;
        let What::Schema(mut origin) = what else { return };
        let Some(known) = self.schemas.get_mut(source.0 as usize) else { return };
        let index = self.nodes.len();
        if known.contains_key(&pointer) {
            return;
        }
        known.insert(pointer.clone(), index);
        let lonely = dialect.lonely_ref() && tree.get("$ref").is_some();
        let mut root = self.resources.get(resource).is_some_and(|held| held.pointer == pointer);
        if let Some(member) = tree.member(dialect.id())
            && !lonely
            && !root
            && let Some(text) = member.value.as_str()
        {
            let place = Place { source, pointer: join(&pointer, &member.key), span: member.value.span };
            let embedded = self.embed(text, resource, &place, source, &pointer, tree);
            if let Some(embedded) = embedded {
                root = true;
                resource = embedded;
                if !matches!(origin, Origin::Component(_)) {
                    origin = Origin::Root(stem_of_uri(text));
                }
            }
        }
        if root {
            dialect = self.dialect(tree, resource, &pointer, dialect);
            if let Some(held) = self.resources.get_mut(resource) {
                held.root = Some(index);
                held.dialect = Some(dialect);
            }
        } else if let Some(member) = tree.member("$schema")
            && dialect.knows(Keyword::Schema)
        {
            let place = Place { source, pointer: join(&pointer, "$schema"), span: member.value.span };
            let message = "`$schema` belongs to the root of a schema resource, beside its `$id`";
            let problem = Diagnostic::error("invalid-schema", message).at(place);
            self.problems.push(problem.mended("it is not regarded"));
        }
        self.nodes.push(Node {
            source,
            pointer: pointer.clone(),
            tree,
            resource,
            dialect,
            origin,
            reference: None,
            dynamic: None,
        });
        let lonely = dialect.lonely_ref() && tree.get("$ref").is_some();
        if !lonely {
            self.anchors_of(index);
        }
        self.references_of(index);
        let children = children(tree, &pointer, dialect).into_iter().rev();
        self.queue.extend(children.map(|(pointer, tree, origin)| Job {
            what: What::Schema(origin),
            source,
            pointer,
            tree,
            resource,
            dialect,
        }));
    }

    /// Makes the resource of an embedded `$id`; `None` when the `$id` names none.
    fn embed(
        &mut self,
        text: &str,
        resource: usize,
        place: &Place,
        source: SourceId,
        pointer: &str,
        tree: &'t Tree,
    ) -> Option<usize> {
        let base = self.resources.get(resource).map(|held| held.uri.clone()).unwrap_or_default();
        match uri::resolve(&base, text) {
            Ok(absolute) => {
                if text.starts_with('#') {
                    return None;
                }
                let index = self.resources.len();
                self.resources.push(Resource {
                    uri: absolute.uri.clone(),
                    source,
                    pointer: pointer.to_owned(),
                    named: place.clone(),
                    tree,
                    root: None,
                    dialect: None,
                    dialect_at: self.resources.get(resource).and_then(|held| held.dialect_at.clone()),
                    dynamic: Vec::new(),
                });
                self.register(&absolute.uri, index);
                Some(index)
            }
            Err(reason) => {
                let message = format!("`$id` is not a URI reference: {reason}");
                let problem = Diagnostic::error("invalid-schema", message).at(place.clone());
                self.problems.push(problem.mended("it is left out"));
                None
            }
        }
    }

    /// The dialect of a resource root.
    fn dialect(&mut self, tree: &Tree, resource: usize, pointer: &str, inherited: Dialect) -> Dialect {
        let Some(member) = tree.member("$schema") else { return inherited };
        let Some(name) = member.value.as_str() else { return inherited };
        self.choose(name, resource, join(pointer, "$schema"), member.value.span).unwrap_or(inherited)
    }

    /// The dialect of a resource by the name at a pointer, or a problem.
    pub(crate) fn choose(
        &mut self,
        name: &str,
        resource: usize,
        pointer: String,
        span: Span,
    ) -> Option<Dialect> {
        let held = self.resources.get_mut(resource)?;
        held.dialect_at = Some(pointer.clone());
        let place = &Place { source: held.source, pointer, span };
        match choose(self.sources, name) {
            Choice::Known(dialect) => return Some(dialect),
            Choice::Missing(uri) => {
                let problem =
                    Diagnostic::error("unsupported", format!("the dialect `{name}`, which no input holds"))
                        .at(place.clone())
                        .mended("its schemas are read as others are")
                        .help(format!("mount its meta-schema: `{uri}` = a file"));
                self.missing.push((uri, place.clone()));
                self.lost.push(problem);
            }
            Choice::Unknown(vocabulary) => {
                let message = format!(
                    "the dialect `{name}` requires the vocabulary `{vocabulary}`, which is not known here"
                );
                self.problems.push(Diagnostic::error("unsupported", message).at(place.clone()).help(
                    "where its keywords decide nothing about values, say `false` for it in `$vocabulary`",
                ));
            }
            Choice::Refused(message) => {
                let problem = Diagnostic::error("unsupported", message).at(place.clone());
                self.problems.push(problem.mended("its schemas are read as others are"));
            }
        }
        None
    }

    fn anchors_of(&mut self, index: usize) {
        let Some(node) = self.nodes.get(index) else { return };
        let (tree, resource, dialect) = (node.tree, node.resource, node.dialect);
        let mut found: Vec<(&Member, String, bool)> = Vec::new();
        for member in tree.members() {
            let text = member.value.as_str();
            match (Keyword::find(&member.key), text) {
                (Some(Keyword::Anchor), Some(name)) if dialect.knows(Keyword::Anchor) => {
                    found.push((member, name.to_owned(), false));
                }
                (Some(Keyword::DynamicAnchor), Some(name)) if dialect.knows(Keyword::DynamicAnchor) => {
                    found.push((member, name.to_owned(), true));
                }
                // Up to draft-07, an `$id` that is a fragment was what `$anchor` is now.
                (_, Some(name)) if dialect.draft == Draft::Draft7 && member.key == dialect.id() => {
                    if let Some((_, fragment)) = name.split_once('#')
                        && !fragment.is_empty()
                    {
                        found.push((member, fragment.to_owned(), false));
                    }
                }
                (Some(Keyword::RecursiveAnchor), _)
                    if dialect.knows(Keyword::RecursiveAnchor) && member.value.as_bool() == Some(true) =>
                {
                    found.push((member, RECURSIVE.to_owned(), true));
                }
                _ => {}
            }
        }
        for (member, name, dynamic) in found {
            if dynamic && let Some(held) = self.resources.get_mut(resource) {
                held.dynamic.push((name.clone(), index));
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
            let place = Place { source: other.source, pointer: other.pointer.clone(), span: other.tree.span };
            let message = format!("the anchor `{name}` already names another schema of this resource");
            let problem = Diagnostic::error("duplicate-anchor", message)
                .at(node.place(member))
                .mended("the first counts");
            self.problems.push(problem.label(place, "first here"));
        }
    }

    fn references_of(&mut self, index: usize) {
        let Some(node) = self.nodes.get(index) else { return };
        for keyword in [Keyword::Ref, Keyword::DynamicRef, Keyword::RecursiveRef] {
            if !node.dialect.knows(keyword) {
                continue;
            }
            let Some(member) = node.tree.member(keyword.name()) else { continue };
            let Some(reference) = member.value.as_str() else { continue };
            self.pending.push(Pending {
                expect: Expect::Schema { node: index, keyword },
                reference,
                resource: node.resource,
                dialect: node.dialect,
                place: node.place(member),
                holder: node.pointer.clone(),
            });
        }
    }
}

/// The positions of schemas in a schema, by its keywords: pointer, tree, how it may be named.
fn children<'t>(tree: &'t Tree, pointer: &str, dialect: Dialect) -> Vec<(String, &'t Tree, Origin)> {
    let lonely = dialect.lonely_ref() && tree.get("$ref").is_some();
    let mut children = Vec::new();
    for member in tree.members() {
        let Some(keyword) = Keyword::find(&member.key).filter(|keyword| dialect.knows(*keyword)) else {
            continue;
        };
        let definitions = matches!(keyword, Keyword::Defs | Keyword::Definitions);
        if lonely && !definitions {
            continue;
        }
        let here = join(pointer, &member.key);
        let mut child =
            |tree: &'t Tree, pointer: String, origin: Origin| children.push((pointer, tree, origin));
        let value = &member.value;
        match keyword.holds() {
            Holds::Nothing => {}
            Holds::OneOrList if !value.elements().is_empty() => {
                for (at, element) in value.elements().iter().enumerate() {
                    child(element, format!("{here}/{at}"), Origin::Inline);
                }
            }
            Holds::One | Holds::OneOrList => {
                if is_schema(value) {
                    child(value, here, Origin::Inline);
                }
            }
            Holds::List => {
                for (at, element) in value.elements().iter().enumerate() {
                    child(element, format!("{here}/{at}"), Origin::Inline);
                }
            }
            Holds::Map | Holds::Dependencies => {
                for each in value.members() {
                    if keyword.holds() == Holds::Dependencies && !is_schema(&each.value) {
                        continue;
                    }
                    let origin =
                        if definitions { Origin::Definition(each.key.clone()) } else { Origin::Inline };
                    child(&each.value, join(&here, &each.key), origin);
                }
            }
        }
    }
    children
}

/// The anchor that stands for `$recursiveAnchor`; no `$dynamicAnchor` can have this name.
pub(crate) const RECURSIVE: &str = "$recursiveAnchor";

/// Whether a value can be a schema at all.
pub(crate) const fn is_schema(tree: &Tree) -> bool {
    tree.is_object() || tree.as_bool().is_some()
}

/// `v1/stock-lot.schema.json` → `stock-lot`
pub(crate) fn stem(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let bare = [".json", ".yaml", ".yml"].iter().find_map(|ending| last.strip_suffix(ending)).unwrap_or(last);
    bare.strip_suffix(".schema").unwrap_or(bare).to_owned()
}

fn stem_of_uri(id: &str) -> String {
    let bare = id.split(['#', '?']).next().unwrap_or(id).trim_end_matches('/');
    let last = bare.rsplit(['/', ':']).next().unwrap_or(bare);
    uri::decode(last).map_or_else(|| stem(last), |name| stem(&name))
}
