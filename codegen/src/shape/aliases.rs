//! Which schemas are only other names of others, and which keep a name and a type of their own.

use super::build::{Shaper, is_bare, says_nothing};
use crate::schema::{Origin, SchemaId};

/// References that are followed from one alias to the next.
const ALIASES: usize = 1000;

impl Shaper<'_> {
    /// Whether the contract or its owner names a schema. One that is `true` or `false` says too
    /// little for that, unless it is a document: then nothing else stands for the document.
    pub(super) fn has_name(&self, id: SchemaId) -> bool {
        let schema = self.graph.schema(id);
        match schema.origin {
            Origin::Root(_) => true,
            _ if schema.boolean.is_some() => false,
            Origin::Definition(_) | Origin::Component(_) => true,
            Origin::Inline => self.options.names.contains_key(&id),
        }
    }

    /// The schema of whose type this one is only another name, if there is one.
    pub(super) fn alias_of(&self, id: SchemaId) -> Option<SchemaId> {
        let target = self.points_to(id)?;
        // What has a name keeps it, and its documentation, when nothing that it leads to has one.
        (!self.has_name(id) || self.leads_to_a_name(target)).then_some(target)
    }

    fn leads_to_a_name(&self, start: SchemaId) -> bool {
        let mut at = start;
        // Cycles of references were refused when they were settled.
        for _ in 0..ALIASES {
            match (self.has_name(at), self.points_to(at)) {
                (true, _) => return true,
                (false, Some(next)) => at = next,
                (false, None) => return false,
            }
        }
        false
    }

    /// Where a schema that is nothing but a reference points, if it is one.
    fn points_to(&self, id: SchemaId) -> Option<SchemaId> {
        let schema = self.graph.schema(id);
        if !is_bare(schema) || self.options.replace.contains_key(&id) {
            return None;
        }
        let target = match (schema.reference, schema.all_of.as_slice()) {
            (Some(target), []) => target,
            (None, [part]) => *part,
            _ => return None,
        };
        // From a resource with dynamic anchors, `$dynamicRef`s behind the reference lead elsewhere
        // than from the target itself (Core 8.2.3.2).
        let anchors = &self.graph.resource(schema.resource).dynamic_anchors;
        let stays = self.graph.schema(target).resource == schema.resource;
        (stays || anchors.is_empty()).then_some(target)
    }

    /// Settles which schemas are only other names, and which say nothing.
    pub(super) fn settle_aliases(&mut self) {
        for id in self.graph.ids() {
            let mut at = id;
            for _ in 0..ALIASES {
                match self.alias_of(at) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            if at != id {
                self.shapes.aliases.insert(id, at);
            }
            if says_nothing(self.graph.schema(id)) && !self.names.contains_key(&id) {
                self.shapes.silent.insert(id);
            }
        }
        self.shapes.equals = self.equals().into_iter().collect();
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
