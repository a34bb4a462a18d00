//! Which schemas are only other names of others, and which keep a name and a type of their own.

use super::Names;
use crate::{
    options::Options,
    schema::{Graph, Origin, SchemaId},
};

/// References that are followed from one alias to the next.
const ALIASES: usize = 1000;

/// Whether the contract or its owner names a schema. One that is `true` or `false` says too
/// little for that, unless it is a document: then nothing else stands for the document.
pub(super) fn has_name(graph: &Graph, options: &Options, id: SchemaId) -> bool {
    let schema = graph.schema(id);
    match schema.origin {
        Origin::Root(_) => true,
        _ if schema.boolean.is_some() => false,
        Origin::Definition(_) | Origin::Component(_) => true,
        Origin::Inline => options.names.contains_key(&id),
    }
}

/// The schema of whose type this one is only another name, if there is one.
pub(super) fn alias_of(graph: &Graph, options: &Options, id: SchemaId) -> Option<SchemaId> {
    let target = points_to(graph, options, id)?;
    // What has a name keeps it, and its documentation, when nothing that it leads to has one.
    (!has_name(graph, options, id) || leads_to_a_name(graph, options, target)).then_some(target)
}

fn leads_to_a_name(graph: &Graph, options: &Options, start: SchemaId) -> bool {
    let mut at = start;
    // Cycles of references were refused when they were settled.
    for _ in 0..ALIASES {
        match (has_name(graph, options, at), points_to(graph, options, at)) {
            (true, _) => return true,
            (false, Some(next)) => at = next,
            (false, None) => return false,
        }
    }
    false
}

/// Where a schema that is nothing but a reference points, if it is one.
fn points_to(graph: &Graph, options: &Options, id: SchemaId) -> Option<SchemaId> {
    let schema = graph.schema(id);
    if !schema.is_bare() || options.replace.contains_key(&id) {
        return None;
    }
    let target = match (schema.reference, schema.all_of.as_slice()) {
        (Some(target), []) => target,
        (None, [part]) => *part,
        _ => return None,
    };
    // From a resource with dynamic anchors, `$dynamicRef`s behind the reference lead elsewhere
    // than from the target itself (Core 8.2.3.2).
    let anchors = &graph.resource(schema.resource).dynamic_anchors;
    let stays = graph.schema(target).resource == schema.resource;
    (stays || anchors.is_empty()).then_some(target)
}

impl Names {
    /// Settles which schemas are only other names, and which say nothing.
    pub(super) fn settle_aliases(&mut self, graph: &Graph, options: &Options) {
        for id in graph.ids() {
            let mut at = id;
            for _ in 0..ALIASES {
                match alias_of(graph, options, at) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            if at != id {
                self.aliases.insert(id, at);
            }
            if graph.schema(id).says_nothing() && !self.named.contains_key(&id) {
                self.silent.insert(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        generate::Project,
        load::Sources,
        shape::{Body, TypeRef},
    };

    /// What stands for a whole document has a type, however little the document says.
    #[test]
    fn every_document_has_a_type() {
        for text in
            ["true", "false", "{}", r#"{"allOf": [{"type": "string"}]}"#, r##"{"$ref": "#/x", "x": true}"##]
        {
            let sources = Sources::from_texts(&[("some-text.json", "", text)]).unwrap();
            let mut project = Project::default();
            project.config.types.unknown_keywords = crate::config::UnknownKeywords::Ignore;
            let contract = project.understand(sources).unwrap();
            let [def] = contract.shapes.types.as_slice() else { panic!("{text}: {:?}", contract.shapes) };
            assert_eq!(def.name, "SomeText", "{text}");
            assert!(
                matches!(def.body, Body::Newtype(TypeRef::Json | TypeRef::String)),
                "{text}: {:?}",
                def.body
            );
        }
    }
}
