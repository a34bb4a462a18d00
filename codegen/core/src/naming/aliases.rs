//! Finds schemas that are only aliases of others, and schemas that have their own name and type.

use super::TypeNames;
use crate::{
    options::SchemaOptions,
    schema::{SchemaGraph, SchemaId, SchemaOrigin},
};

/// The maximum number of references that are followed from an alias.
const MAX_ALIAS_HOPS: usize = 1000;

/// Returns true if the contract or the configuration names a schema. A boolean schema has a name only if it
/// is a whole document, which would otherwise have no type.
pub(super) fn has_name(graph: &SchemaGraph, options: &SchemaOptions, id: SchemaId) -> bool {
    let schema = graph.schema(id);
    match schema.origin {
        SchemaOrigin::Root(_) => true,
        _ if schema.boolean.is_some() => false,
        SchemaOrigin::Definition(_) | SchemaOrigin::Component(_) => true,
        SchemaOrigin::Inline => options.names.contains_key(&id),
    }
}

/// Returns the schema for which this one is only an alias.
pub(super) fn alias_of(graph: &SchemaGraph, options: &SchemaOptions, id: SchemaId) -> Option<SchemaId> {
    let target = reference_target(graph, options, id)?;
    // A named schema keeps its name and documentation, unless its target also has a name.
    (!has_name(graph, options, id) || leads_to_a_name(graph, options, target)).then_some(target)
}

fn leads_to_a_name(graph: &SchemaGraph, options: &SchemaOptions, start: SchemaId) -> bool {
    let mut at = start;
    // `resolve` has already removed cycles of references.
    for _ in 0..MAX_ALIAS_HOPS {
        match (has_name(graph, options, at), reference_target(graph, options, at)) {
            (true, _) => return true,
            (false, Some(next)) => at = next,
            (false, None) => return false,
        }
    }
    false
}

/// Returns the target of a schema that is only a reference.
fn reference_target(graph: &SchemaGraph, options: &SchemaOptions, id: SchemaId) -> Option<SchemaId> {
    let schema = graph.schema(id);
    if !schema.is_bare() || options.replace.contains_key(&id) {
        return None;
    }
    let target = match (schema.reference, schema.all_of.as_slice()) {
        (Some(target), []) => target,
        (None, [part]) => *part,
        _ => return None,
    };
    // In a resource with dynamic anchors, a `$dynamicRef` in the target may resolve differently than if the
    // evaluation started at the target itself (Core 8.2.3.2).
    let anchors = &graph.resource(schema.resource).dynamic_anchors;
    let stays = graph.schema(target).resource == schema.resource;
    (stays || anchors.is_empty()).then_some(target)
}

impl TypeNames {
    /// Finds all aliases, and all anonymous schemas without constraints.
    pub(super) fn find_aliases(&mut self, graph: &SchemaGraph, options: &SchemaOptions) {
        for id in graph.ids() {
            let mut at = id;
            for _ in 0..MAX_ALIAS_HOPS {
                match alias_of(graph, options, at) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            if at != id {
                self.aliases.insert(id, at);
            }
            if graph.schema(id).is_unconstrained() && !self.named.contains_key(&id) {
                self.unconstrained.insert(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        generate::Project,
        load::Sources,
        shape::{TypeBody, TypeRef},
    };

    /// Every document has a type, even if it has no constraints.
    #[test]
    fn every_document_has_a_type() {
        for text in
            ["true", "false", "{}", r#"{"allOf": [{"type": "string"}]}"#, r##"{"$ref": "#/x", "x": true}"##]
        {
            let sources = Sources::from_texts(&[("some-text.json", "", text)]).unwrap();
            let mut project = Project::default();
            project.config.types.unknown_keywords = crate::config::UnknownKeywordSetting::Ignore;
            let contract = project.analyze_sources(sources).unwrap();
            let [def] = contract.shapes.types.as_slice() else { panic!("{text}: {:?}", contract.shapes) };
            assert_eq!(def.name, "SomeText", "{text}");
            assert!(
                matches!(def.body, TypeBody::Newtype(TypeRef::Json | TypeRef::String)),
                "{text}: {:?}",
                def.body
            );
        }
    }
}
