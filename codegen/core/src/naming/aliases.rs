//! Finds aliases, and decides which schemas have a name of their own. An alias is a schema that consists only
//! of a reference to another schema. It has no type of its own.

use super::TypeNames;
use crate::{
    options::SchemaOptions,
    schema::{SchemaGraph, SchemaId, SchemaOrigin},
};

/// The maximum number of consecutive references that are followed from an alias.
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

/// Returns the target of a schema that is an alias, or `None` if the schema has its own type.
pub(super) fn alias_of(graph: &SchemaGraph, options: &SchemaOptions, id: SchemaId) -> Option<SchemaId> {
    let target = reference_target(graph, options, id)?;
    // A named schema is an alias only if its target also has a name. Otherwise, its name and documentation
    // would be lost.
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

/// Returns the target of a schema whose only keyword is a `$ref` or an `allOf` with one element.
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
    // If the resource of the schema has dynamic anchors and the target is in another resource, a
    // `$dynamicRef` in the target may have another target than without this schema (Core 8.2.3.2), so the
    // schema is not an alias.
    let anchors = &graph.resource(schema.resource).dynamic_anchors;
    let stays = graph.schema(target).resource == schema.resource;
    (stays || anchors.is_empty()).then_some(target)
}

impl TypeNames {
    /// Records the final target of every alias, and every anonymous schema that accepts all values.
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

    /// Every document becomes a named type, even if it is a boolean, an empty schema or only a reference.
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
