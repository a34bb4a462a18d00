//! Replaces each `$dynamicRef` by a reference to the schema that it selects.
//!
//! The selected schema depends on the path of evaluation, because the outermost schema resource that defines the anchor
//! takes precedence (Core 8.2.3.2). A schema that is reachable from several resources with different anchors is
//! therefore copied for each of them. After this step, validation and types no longer depend on the path.
//!
//! A *generic* schema, such as a page of items, has a `$dynamicRef` for a missing part, and often a
//! placeholder that defines the anchor. Other schemas *complete* it by a `$dynamicAnchor` of the same name.
//!
//! The whole of an OpenAPI document is one resource, in which an anchor should be defined only once. Nevertheless,
//! authors define the same anchor in each Schema Object that completes a generic schema. Each Schema Object of such a
//! document is therefore treated as a separate scope. In addition, if one Schema Object refers to another that
//! completes a generic schema, the latter keeps its own anchor: the items of a page of pages of persons are pages of
//! persons. The outermost anchor takes precedence only in a Schema Object that extends another one. A Schema Object
//! extends another one if its root includes it by `$ref` or `allOf`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::{
    arena::{Arena, ArenaMap},
    diagnostics::{Diagnostic, Diagnostics},
    schema::{Schema, SchemaGap, SchemaGraph, SchemaId, SchemaOrigin, keywords::Keyword},
    tree::SourceId,
};

use super::cycle::in_place_targets;

/// The maximum number of copies. A graph that would need more copies keeps its dynamic references.
const MAX_COPIES: usize = 20_000;

/// The schema that each anchor name selects.
type Bindings = BTreeMap<String, SchemaId>;

/// The index of a scope, in which anchor names are unique: a resource or, in an OpenAPI document, a Schema
/// Object.
type ScopeId = usize;

/// Replaces all dynamic references of a graph. `is_openapi` returns true if a source is an OpenAPI document.
/// If more than [`MAX_COPIES`] copies would be needed, that is reported and the graph is not changed.
pub(super) fn bind_dynamic_references(
    graph: &mut SchemaGraph,
    is_openapi: impl Fn(SourceId) -> bool,
    problems: &mut Diagnostics,
) {
    let Some(first) = graph.ids().find(|id| graph.schema(*id).dynamic_reference.is_some()) else { return };
    let binder = AnchorBinder::new(graph, is_openapi);
    let Some(bound) = binder.bind_all() else {
        let message = format!(
            "the schemas with `$dynamicRef` would need more than {MAX_COPIES} copies, one for each combination of anchors"
        );
        let problem = Diagnostic::error("unsupported", message)
            .with_place(graph.schema(first).place.clone())
            .with_fallback("the value of each `$dynamicRef` is any JSON and is validated at run time")
            .help("use fewer anchors in schemas that include each other");
        problems.push(problem);
        return;
    };
    for (id, schema) in bound.originals {
        graph.schemas[id] = schema;
    }
    for schema in bound.copies {
        graph.schemas.push(schema);
    }
    graph.resources.iter_mut().for_each(|resource| resource.dynamic_anchors.clear());
}

/// The schemas of a graph in which normal references replace the dynamic ones.
struct BoundSchemas {
    originals: Vec<(SchemaId, Schema)>,
    /// The copies of schemas, in the order of their ids, which follow the ids of the originals.
    copies: Vec<Schema>,
}

struct AnchorBinder<'g> {
    graph: &'g SchemaGraph,
    scopes: ArenaMap<Schema, ScopeId>,
    /// For each scope, the anchors that it defines and the schemas that they select.
    bindings: Vec<Bindings>,
    /// For each scope, the anchors that it completes in generic schemas of other scopes.
    completed: Vec<BTreeSet<String>>,
    /// True for the root schema of each scope, and for the schemas of the scope that the root applies to the same
    /// value. References from these schemas extend other scopes.
    extends: ArenaMap<Schema, bool>,
    /// The anchors that each schema may look up, directly or through the schemas that it applies.
    anchors: ArenaMap<Schema, BTreeSet<String>>,
    /// The id of each copy, by the original schema and the schemas that its anchors select.
    known: BTreeMap<(SchemaId, Bindings), SchemaId>,
    /// The copies whose content has still to be created, as original schema and selected schemas.
    waiting: Vec<(SchemaId, Bindings)>,
    ids: Box<dyn Iterator<Item = SchemaId>>,
}

impl<'g> AnchorBinder<'g> {
    fn new(graph: &'g SchemaGraph, is_openapi: impl Fn(SourceId) -> bool) -> Self {
        let AnchorScopes { scopes, are_objects } = find_scopes(graph, is_openapi);
        let mut bindings = vec![Bindings::new(); are_objects.len()];
        for (name, id) in graph.resources.iter().flat_map(|resource| &resource.dynamic_anchors) {
            if let Some(scope) = bindings.get_mut(scopes[*id]) {
                scope.entry(name.clone()).or_insert(*id);
            }
        }
        let ids = Arena::first_ids(graph.schemas.len() + MAX_COPIES).skip(graph.schemas.len());
        Self {
            graph,
            completed: completed_anchors(graph, &scopes, &are_objects, &bindings),
            extends: extending_schemas(graph, &scopes, are_objects.len()),
            scopes,
            bindings,
            anchors: find_anchors(graph),
            known: BTreeMap::new(),
            waiting: Vec::new(),
            ids: Box::new(ids),
        }
    }

    /// Binds all schemas. Returns `None` if more than [`MAX_COPIES`] copies would be needed.
    fn bind_all(mut self) -> Option<BoundSchemas> {
        let mut originals = Vec::new();
        let depends = |id: &SchemaId| !self.anchors[*id].is_empty() || self.is_dynamic(*id);
        let dependent: Vec<SchemaId> = self.graph.ids().filter(depends).collect();
        for id in dependent {
            let own = self.bindings.get(self.scopes[id]).cloned().unwrap_or_default();
            originals.push((id, self.bind_schema(id, &own)?));
        }
        let mut copies = Vec::new();
        while let Some((id, bindings)) = self.waiting.get(copies.len()).cloned() {
            let bound = self.bind_schema(id, &bindings)?;
            copies.push(Schema { origin: SchemaOrigin::Inline, definitions: Vec::new(), ..bound });
        }
        let generic = self.generic_schemas();
        originals.iter_mut().for_each(|(id, schema)| schema.is_generic = generic.contains(id));
        let others = generic.into_iter().filter(|id| self.anchors[*id].is_empty() && !self.is_dynamic(*id));
        let others: Vec<SchemaId> = others.collect();
        originals.extend(
            others.into_iter().map(|id| (id, Schema { is_generic: true, ..self.graph.schema(id).clone() })),
        );
        Some(BoundSchemas { originals, copies })
    }

    fn is_dynamic(&self, id: SchemaId) -> bool {
        self.graph.schema(id).dynamic_reference.is_some()
    }

    /// Returns the schema with normal references instead of dynamic ones, as it is evaluated if anchors
    /// select the schemas in `bindings`. Returns `None` if too many copies would be needed.
    fn bind_schema(&mut self, id: SchemaId, bindings: &Bindings) -> Option<Schema> {
        let mut schema = self.graph.schema(id).clone();
        let definitions = std::mem::take(&mut schema.definitions);
        if let Some(dynamic) = schema.dynamic_reference.take() {
            let selected = match &dynamic.anchor {
                Some(anchor) => {
                    bindings.get(anchor).copied().or_else(|| self.only_bearer(anchor, dynamic.initial))
                }
                None => Some(dynamic.initial),
            };
            match (selected, schema.reference) {
                (Some(target), None) => schema.reference = Some(target),
                (Some(target), Some(_)) => schema.all_of.push(target),
                // The anchor is ambiguous, and no enclosing Schema Object selects a schema.
                (None, _) => schema.gap = SchemaGap::Applicator,
            }
        }
        let mut is_complete = true;
        schema.replace_schemas(&mut |target| {
            let copy = self.copy_for(target, id, bindings);
            is_complete &= copy.is_some();
            copy
        });
        schema.definitions = definitions;
        is_complete.then_some(schema)
    }

    /// Returns `initial`, the initial target of a dynamic reference. Returns `None` if its resource defines the anchor
    /// several times, because the choice is then ambiguous.
    fn only_bearer(&self, anchor: &str, initial: SchemaId) -> Option<SchemaId> {
        let resource = self.graph.resource(self.graph.schema(initial).resource);
        let bearers = resource.dynamic_anchors.iter().filter(|(name, _)| name == anchor);
        Some(initial).filter(|_| bearers.count() < 2)
    }

    /// Returns the schema that the schema `user` must apply instead of `target` if anchors select the schemas
    /// in `bindings`: `target` itself if its own scope selects the same schemas, or else a copy of it. Returns
    /// `None` if too many copies would be needed.
    fn copy_for(&mut self, target: SchemaId, user: SchemaId, bindings: &Bindings) -> Option<SchemaId> {
        let used = &self.anchors[target];
        if used.is_empty() {
            return Some(target);
        }
        let (from, scope) = (self.scopes[user], self.scopes[target]);
        let own = self.bindings.get(scope);
        let own = || own.into_iter().flatten().filter(|(name, _)| used.contains(*name));
        let completed = self.completed.get(scope).filter(|_| scope != from && !self.extends[user]);
        let is_outer = |name: &String| completed.is_none_or(|completed| !completed.contains(name));
        let mut effective: Bindings =
            own().filter(|_| scope != from).map(|(name, id)| (name.clone(), *id)).collect();
        let outer = bindings.iter().filter(|(name, _)| used.contains(*name) && is_outer(name));
        effective.extend(outer.map(|(name, id)| (name.clone(), *id)));
        if effective.iter().eq(own()) {
            return Some(target);
        }
        let key = (target, effective);
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        let copy = self.ids.next()?;
        self.waiting.push(key.clone());
        self.known.insert(key, copy);
        Some(copy)
    }

    /// Returns the generic schemas and their placeholders. A schema other than the root of a document or
    /// resource is generic if it was copied and if, in its own scope, one of its anchors selects no schema or
    /// only a placeholder.
    fn generic_schemas(&self) -> BTreeSet<SchemaId> {
        let mut generic = BTreeSet::new();
        let copied: BTreeSet<SchemaId> = self.known.keys().map(|(id, _)| *id).collect();
        for id in copied.into_iter().filter(|id| is_part(self.graph, *id)) {
            let own = self.bindings.get(self.scopes[id]);
            let own = self.anchors[id].iter().map(|name| own.and_then(|own| own.get(name)).copied());
            for selected in own {
                if selected.is_none_or(|id| is_placeholder(self.graph, id)) {
                    generic.insert(id);
                    generic.extend(selected.filter(|id| is_part(self.graph, *id)));
                }
            }
        }
        generic
    }
}

/// Returns true unless a schema is a whole document or a resource with its own `$id`.
fn is_part(graph: &SchemaGraph, id: SchemaId) -> bool {
    !matches!(graph.schema(id).origin, SchemaOrigin::Root(_))
}

/// Returns true if a schema accepts every value or rejects every value, as the placeholder in a generic
/// schema does.
fn is_placeholder(graph: &SchemaGraph, id: SchemaId) -> bool {
    let schema = graph.schema(id);
    let refused = schema.not.filter(|_| schema.is_constrained_only_by(&[Keyword::Not]));
    schema.boolean == Some(false)
        || schema.is_unconstrained()
        || refused.is_some_and(|refused| graph.schema(refused).is_unconstrained())
}

/// The scopes of a graph.
struct AnchorScopes {
    scopes: ArenaMap<Schema, ScopeId>,
    /// For each scope, whether it is a Schema Object of an OpenAPI document.
    are_objects: Vec<bool>,
}

/// Finds the scope of each schema.
fn find_scopes(graph: &SchemaGraph, is_openapi: impl Fn(SourceId) -> bool) -> AnchorScopes {
    let is_document = |id: SchemaId| {
        let resource = graph.resource(graph.schema(id).resource);
        resource.root.is_none() && is_openapi(resource.source)
    };
    let positions: HashSet<(SourceId, &str)> = graph
        .ids()
        .filter(|id| is_document(*id))
        .map(|id| (graph.schema(id).place.source, graph.schema(id).place.pointer.as_str()))
        .collect();
    let mut numbers: HashMap<(usize, &str), ScopeId> = HashMap::new();
    let mut are_objects = Vec::new();
    let scopes = graph.schemas.map_ids(|id| {
        let schema = graph.schema(id);
        let pointer = schema.place.pointer.as_str();
        let is_object = is_document(id);
        let object = match is_object {
            true => enclosing_pointers(pointer)
                .find(|outer| positions.contains(&(schema.place.source, *outer)))
                .unwrap_or(pointer),
            false => "",
        };
        *numbers.entry((schema.resource.index(), object)).or_insert_with(|| {
            are_objects.push(is_object);
            are_objects.len() - 1
        })
    });
    AnchorScopes { scopes, are_objects }
}

/// Returns, for each scope, the anchors that it completes: a Schema Object completes an anchor if it defines
/// the anchor and does not refer to it. A placeholder completes nothing.
fn completed_anchors(
    graph: &SchemaGraph,
    scopes: &ArenaMap<Schema, ScopeId>,
    are_objects: &[bool],
    bindings: &[Bindings],
) -> Vec<BTreeSet<String>> {
    let completes = |(own, is_object): (&Bindings, &bool)| {
        let defined = own.iter().filter(|(_, id)| *is_object && !is_placeholder(graph, **id));
        defined.map(|(name, _)| name.clone()).collect()
    };
    let mut completed: Vec<BTreeSet<String>> = bindings.iter().zip(are_objects).map(completes).collect();
    for id in graph.ids() {
        let anchor = graph.schema(id).dynamic_reference.as_ref().and_then(|dynamic| dynamic.anchor.as_ref());
        if let (Some(anchor), Some(completed)) = (anchor, completed.get_mut(scopes[id])) {
            completed.remove(anchor);
        }
    }
    completed
}

/// Returns, for each schema, true if it is the root schema of its scope or if the root applies it to the same value,
/// directly or through other schemas of the scope. The root schema has the shortest pointer of its scope.
fn extending_schemas(
    graph: &SchemaGraph,
    scopes: &ArenaMap<Schema, ScopeId>,
    count: usize,
) -> ArenaMap<Schema, bool> {
    let mut roots: Vec<Option<SchemaId>> = vec![None; count];
    for id in graph.ids() {
        let length = |id: SchemaId| graph.schema(id).place.pointer.len();
        if let Some(root) = roots.get_mut(scopes[id])
            && root.is_none_or(|root| length(id) < length(root))
        {
            *root = Some(id);
        }
    }
    let mut extends = graph.schemas.map_ids(|_| false);
    let mut waiting: Vec<SchemaId> = roots.into_iter().flatten().collect();
    while let Some(id) = waiting.pop() {
        if !std::mem::replace(&mut extends[id], true) {
            waiting.extend(in_place_targets(graph, id).into_iter().filter(|to| scopes[*to] == scopes[id]));
        }
    }
    extends
}

/// Iterates over a pointer and the pointers of all enclosing values, outermost first.
pub(super) fn enclosing_pointers(pointer: &str) -> impl Iterator<Item = &str> {
    let ends = pointer.match_indices('/').map(|(at, _)| at).chain([pointer.len()]);
    ends.filter_map(|end| pointer.get(..end))
}

/// Returns the names of the anchors that each schema may look up, directly or through the schemas that it
/// applies.
fn find_anchors(graph: &SchemaGraph) -> ArenaMap<Schema, BTreeSet<String>> {
    let mut bearers: BTreeMap<&str, Vec<SchemaId>> = BTreeMap::new();
    for (name, id) in graph.resources.iter().flat_map(|resource| &resource.dynamic_anchors) {
        bearers.entry(name).or_default().push(*id);
    }
    let mut users: ArenaMap<Schema, Vec<SchemaId>> = graph.schemas.map_ids(|_| Vec::new());
    let mut anchors = graph.schemas.map_ids(|_| BTreeSet::new());
    let mut waiting = Vec::new();
    for id in graph.ids() {
        let schema = graph.schema(id);
        schema.child_schemas().for_each(|target| users[target].push(id));
        let anchor = schema.dynamic_reference.as_ref().and_then(|dynamic| dynamic.anchor.as_ref());
        if let Some(anchor) = anchor {
            bearers.get(anchor.as_str()).into_iter().flatten().for_each(|bearer| users[*bearer].push(id));
            anchors[id].insert(anchor.clone());
            waiting.push(id);
        }
    }
    while let Some(id) = waiting.pop() {
        let found = anchors[id].clone();
        for &user in &users[id] {
            let before = anchors[user].len();
            anchors[user].extend(found.iter().cloned());
            if anchors[user].len() > before {
                waiting.push(user);
            }
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{
        generate::Project,
        load::Sources,
        resolve::tests::{format_problems, resolve_graph},
        shape::{TypeBody, display_type},
    };

    /// Returns the number of diagnostics, and one line for each type: its name with its fields, or with the
    /// content of a newtype.
    fn check(files: &[(&str, &str)]) -> (usize, Vec<String>) {
        let texts: Vec<(&str, &str, &str)> = files.iter().map(|(name, text)| (*name, "", *text)).collect();
        let contract = Project::default().analyze_sources(Sources::from_texts(&texts).unwrap()).unwrap();
        let shapes = &contract.shapes;
        let types = shapes.ids().map(|id| match &shapes.get(id).body {
            TypeBody::Struct(body) => {
                let fields = body.fields.iter();
                let fields =
                    fields.map(|field| format!(" {}: {}", field.name, display_type(shapes, &field.ty)));
                format!("{}{}", shapes.get(id).name, fields.collect::<String>())
            }
            TypeBody::Newtype(inner) => {
                format!("{} = {}", shapes.get(id).name, display_type(shapes, inner))
            }
            _ => shapes.get(id).name.clone(),
        });
        let mut types: Vec<String> = types.collect();
        types.sort_unstable();
        assert!(contract.graph.schemas.iter().all(|schema| schema.dynamic_reference.is_none()));
        (contract.diagnostics.iter().count(), types)
    }

    const PAGES: &str = "
openapi: 3.1.0
info: { title: T, version: '1' }
paths: {}
components:
  schemas:
    Page:
      type: object
      properties: { items: { type: array, items: { $dynamicRef: '#T' } }, next: { $ref: '#/components/schemas/Page' } }
      $defs: { placeholder: { $dynamicAnchor: T, not: {} } }
    Person: { type: object, properties: { name: { type: string } } }
    PersonPage: { $ref: '#/components/schemas/Page', $defs: { item: { $dynamicAnchor: T, $ref: '#/components/schemas/Person' } } }
    ShipPage: { $ref: '#/components/schemas/Page', $defs: { item: { $dynamicAnchor: T, type: integer } } }
";

    /// `PersonPage` and `ShipPage`, which complete the generic schema `Page`, have types with their own item
    /// types. `Page` and its placeholder have no types.
    #[test]
    fn generic_schemas_are_completed() {
        let (problems, types) = check(&[("api.yaml", PAGES)]);
        let types: Vec<&str> = types.iter().map(String::as_str).collect();
        assert_eq!(problems, 0);
        assert!(types.contains(&"Person name: String"), "{types:?}");
        assert!(
            types.iter().any(|each| each.starts_with("PersonPage items: Vec<Person> next: ")),
            "{types:?}"
        );
        assert!(types.iter().any(|each| each.starts_with("ShipPage items: Vec<")), "{types:?}");
        assert!(
            !types.iter().any(|each| each.starts_with("Page ") || each.starts_with("Placeholder")),
            "{types:?}"
        );
        assert!(!types.iter().any(|each| each.contains("Json")), "{types:?}");
        // If a response uses the generic schema directly, the schema has a type.
        let used = PAGES.replace("paths: {}", "paths: { /a: { get: { responses: { '200': { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/Page' } } } } } } } }");
        let (_, types) = check(&[("api.yaml", &used)]);
        assert!(types.iter().any(|each| each.starts_with("Page ")), "{types:?}");
    }

    /// A Schema Object that completes a generic schema keeps its anchor where another Schema Object uses it as
    /// an item or a property. Where another Schema Object extends it, the outer anchor takes precedence.
    #[test]
    fn nested_uses_of_generic_schemas_keep_their_anchors() {
        let text = format!(
            "{PAGES}    Ship: {{ type: object, properties: {{ size: {{ type: integer }} }} }}
    PagePage: {{ $ref: '#/components/schemas/Page', $defs: {{ item: {{ $dynamicAnchor: T, $ref: '#/components/schemas/PersonPage' }} }} }}
    Book: {{ $ref: '#/components/schemas/Page', properties: {{ pages: {{ $ref: '#/components/schemas/PagePage' }} }}, $defs: {{ item: {{ $dynamicAnchor: T, $ref: '#/components/schemas/Ship' }} }} }}
    OtherPage: {{ allOf: [{{ $ref: '#/components/schemas/PersonPage' }}], $defs: {{ item: {{ $dynamicAnchor: T, $ref: '#/components/schemas/Ship' }} }} }}
"
        );
        let (problems, types) = check(&[("api.yaml", &text)]);
        assert_eq!(problems, 0);
        for expected in [
            "PersonPage items: Vec<Person> ",
            "PagePage items: Vec<PersonPage> ",
            "Book items: Vec<Ship> ",
            "OtherPage items: Vec<Ship> ",
        ] {
            assert!(types.iter().any(|each| each.starts_with(expected)), "{expected}: {types:?}");
        }
        assert!(types.iter().any(|each| each.starts_with("Book ") && each.ends_with(" pages: PagePage")));
    }

    /// Too many copies are reported, and the dynamic references stay.
    #[test]
    fn too_many_copies_are_reported() {
        const LEVELS: usize = 15;
        let leaf: Vec<String> = (0..LEVELS).map(|at| format!("p{at}: {{ $dynamicRef: '#T{at}' }}")).collect();
        let anchors: Vec<String> =
            (0..LEVELS).map(|at| format!("d{at}: {{ $dynamicAnchor: T{at} }}")).collect();
        let mut text = format!(
            "openapi: 3.1.0\ninfo: {{ title: T, version: '1' }}\npaths: {{}}\ncomponents:\n  schemas:\n    A{LEVELS}: &leaf {{ properties: {{ {} }}, $defs: {{ {} }} }}\n    B{LEVELS}: *leaf\n",
            leaf.join(", "),
            anchors.join(", ")
        );
        for at in 0..LEVELS {
            let next = at + 1;
            for (name, item) in [("A", "string"), ("B", "integer")] {
                text.push_str(&format!(
                    "    {name}{at}: {{ properties: {{ a: {{ $ref: '#/components/schemas/A{next}' }}, b: {{ $ref: '#/components/schemas/B{next}' }} }}, $defs: {{ item: {{ $dynamicAnchor: T{at}, type: {item} }} }} }}\n"
                ));
            }
        }
        let (graph, problems) = resolve_graph(&[("api.yaml", &text)]);
        let reported = format_problems(&problems);
        assert!(reported.starts_with("unsupported /components/schemas/A15/properties/p0"), "{reported}");
        assert!(graph.schemas.iter().any(|schema| schema.dynamic_reference.is_some()));
    }

    /// The outermost resource that defines the anchor takes precedence, even if the path of evaluation leads
    /// through resources without the anchor.
    #[test]
    fn the_outermost_anchor_is_selected() {
        let tree = r##"{"$id": "https://x.y/tree.json", "$dynamicAnchor": "node", "type": "object", "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}}}"##;
        let between = r##"{"$id": "https://x.y/between.json", "allOf": [{"$ref": "tree.json"}], "required": ["children"]}"##;
        let strict = r##"{"$id": "https://x.y/strict.json", "$dynamicAnchor": "node", "$ref": "between.json", "properties": {"size": {"type": "integer"}}}"##;
        let (problems, types) =
            check(&[("tree.json", tree), ("between.json", between), ("strict.json", strict)]);
        assert_eq!(problems, 0);
        assert_eq!(
            types,
            [
                "Between children: Vec<Tree>",
                "Strict children: Vec<Strict> size: i64",
                "Tree children: Vec<Tree>"
            ]
        );
    }
}
