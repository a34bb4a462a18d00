//! Path items: their operations, and the chain of path items that a `$ref` combines.

use std::collections::HashMap;

use super::{OpenApiNode, OpenApiReader, walk::LinkError};

const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// Returns the name of the fixed field that contains the operation of a method, such as `get`, or `None` for
/// other methods. Case is ignored.
pub(super) fn method_field(key: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|method| method.eq_ignore_ascii_case(key))
}

/// A path item with a chain of `$ref`s: first the target at the end of the chain, then the path items that
/// contain the references, up to the one in `paths`.
pub(super) struct PathItemLayers<'t>(Vec<OpenApiNode<'t>>);

impl<'t> PathItemLayers<'t> {
    /// Returns the field from the first path item of the chain that contains it.
    pub(super) fn get(&self, key: &str) -> Option<OpenApiNode<'t>> {
        self.0.iter().find_map(|layer| layer.get(key))
    }

    /// Returns the pointer of the target at the end of the chain.
    pub(super) fn pointer(&self) -> String {
        self.0.first().map(|target| target.pointer.clone()).unwrap_or_default()
    }

    /// Returns the operations of all path items of the chain with their methods. If several of them contain a
    /// method, the first takes precedence.
    pub(super) fn operations(&self) -> Vec<(&'t str, OpenApiNode<'t>)> {
        let mut all: Vec<(&str, OpenApiNode<'t>)> = Vec::new();
        for (method, operation) in self.0.iter().flat_map(path_item_operations) {
            if all.iter().all(|(known, _)| *known != method) {
                all.push((method, operation));
            }
        }
        all
    }

    /// Returns the fields of a path item that a path item before it in the chain also contains. `$ref`,
    /// `summary` and `description` may be repeated and are not returned. Each method in
    /// `additionalOperations` counts as a field.
    pub(super) fn repeated_fields(&self) -> Vec<RepeatedField<'t>> {
        let mut first: HashMap<&str, (usize, OpenApiNode<'t>)> = HashMap::new();
        let mut repeated = Vec::new();
        for (at, layer) in self.0.iter().enumerate() {
            let described = ["$ref", "summary", "description", "additionalOperations"];
            let fields = layer.members().filter(|(name, _)| !described.contains(name));
            let fields = fields.filter(|(name, _)| method_field(name).is_none());
            for (name, ignored) in fields.chain(path_item_operations(layer)) {
                match first.get(name) {
                    Some((before, used)) if *before < at => {
                        repeated.push(RepeatedField { name, ignored, used: used.clone() });
                    }
                    Some(_) => {}
                    None => drop(first.insert(name, (at, ignored))),
                }
            }
        }
        repeated
    }
}

/// A field of a path item that the target of its `$ref` also has.
pub(super) struct RepeatedField<'t> {
    /// The name of the field, or the method of an additional operation.
    pub(super) name: &'t str,
    pub(super) ignored: OpenApiNode<'t>,
    pub(super) used: OpenApiNode<'t>,
}

/// Returns the operations of a path item with their methods: first the fixed fields, then
/// `additionalOperations` of OpenAPI 3.2, whose keys are the methods as they are sent. A fixed field takes
/// precedence over a key that differs only in case.
fn path_item_operations<'t>(item: &OpenApiNode<'t>) -> Vec<(&'t str, OpenApiNode<'t>)> {
    let more = item.get("additionalOperations");
    let mut all: Vec<(&str, OpenApiNode<'t>)> = Vec::new();
    for (key, operation) in item.members() {
        let Some(field) = method_field(key) else { continue };
        let is_known = all.iter().any(|(known, _)| *known == field);
        if key == field || !(is_known || item.tree.get(field).is_some()) {
            all.push((field, operation));
        }
    }
    for (key, operation) in more.iter().flat_map(OpenApiNode::entries) {
        let field = method_field(key);
        if field.is_none_or(|field| all.iter().all(|(known, _)| *known != field)) {
            all.push((field.unwrap_or(key), operation));
        }
    }
    all
}

impl<'t> OpenApiReader<'_, 't> {
    /// Returns a path item and the targets of its `$ref`s, or `None` if the chain of references is circular.
    pub(super) fn path_item_layers(&self, item: &OpenApiNode<'t>) -> Option<PathItemLayers<'t>> {
        let chain = self.discovery.follow_links(item.source, &item.pointer, item.tree);
        if matches!(chain, Err(LinkError::Cycle)) {
            return None;
        }
        let mut layers = Vec::new();
        let mut spot = Some(item.clone());
        while let Some(layer) = spot {
            let next = self.discovery.link_target(&(layer.source, layer.pointer.clone()), layer.tree);
            spot =
                next.map(|(source, pointer, tree)| OpenApiNode { source, pointer: pointer.to_owned(), tree });
            layers.extend(Some(layer).filter(|layer| layer.tree.is_object()));
        }
        layers.reverse();
        Some(PathItemLayers(layers))
    }
}
