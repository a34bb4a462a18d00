//! Determines the part of the documents that belongs to the contract: all of the inputs, and the parts of
//! other documents that are reachable from the inputs. Problems in other parts are dropped.

use std::collections::{HashMap, HashSet};

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    schema::SchemaOrigin,
    tree::{DocumentLocation, SourceId},
};

use super::{Discovery, child_positions};

/// The OpenAPI objects and dialect declarations outside the inputs that the contract uses.
#[derive(Debug, Default)]
pub(crate) struct ReferencedParts {
    /// The pointers of referenced OpenAPI objects, by document.
    objects: HashMap<SourceId, Vec<String>>,
    /// The location of each `$schema` value that determines the dialect of a schema of the contract.
    dialects: HashSet<(SourceId, String)>,
}

impl Discovery<'_> {
    /// Marks the schemas that belong to the contract, and drops the diagnostics about all other parts of
    /// documents.
    pub(super) fn drop_unreached_problems(&mut self) {
        if self.sources.ids().all(|id| self.sources.is_input(id)) {
            self.reached = vec![true; self.nodes.len()];
            return;
        }
        self.asked.objects = self.referenced_objects();
        self.reached = self.find_reached();
        self.asked.dialects = self.dialects_in_use();
        let stays = |problem: &Diagnostic| {
            // The version of a document affects all of it, so a problem with the version is always kept.
            let whole = |place: &DocumentLocation| matches!(place.pointer.as_str(), "/openapi" | "/swagger");
            problem.code == "duplicate-id"
                || problem.place.as_ref().is_none_or(|place| whole(place) || self.is_in_contract(place))
        };
        let mut problems = Diagnostics::new();
        problems.extend(self.problems.iter().filter(|problem| stays(problem)).cloned());
        let kept_unresolved = self.lost.iter().filter(|problem| stays(problem)).cloned().collect();
        let missing = self.missing.iter().filter(|(_, place)| self.is_in_contract(place)).cloned().collect();
        (self.problems, self.lost, self.missing) = (problems, kept_unresolved, missing);
    }

    /// Returns the pointers of referenced OpenAPI objects in documents other than inputs.
    fn referenced_objects(&self) -> HashMap<SourceId, Vec<String>> {
        let mut referenced: HashMap<SourceId, Vec<String>> = HashMap::new();
        let mut links: Vec<_> = self.links.iter().collect();
        loop {
            let before = links.len();
            links.retain(|((source, holder), (target, pointer))| {
                let counts = self.sources.is_input(*source) || is_within(&referenced, *source, holder);
                if counts {
                    referenced.entry(*target).or_default().push(pointer.clone());
                }
                !counts
            });
            if links.len() == before {
                return referenced;
            }
        }
    }

    fn find_reached(&self) -> Vec<bool> {
        let objects = &self.asked.objects;
        let mut reached = vec![false; self.nodes.len()];
        let roots = self.nodes.iter().enumerate().filter(|(_, node)| {
            self.sources.is_input(node.source) || is_within(objects, node.source, &node.pointer)
        });
        let mut waiting: Vec<usize> = roots.map(|(at, _)| at).collect();
        while let Some(at) = waiting.pop() {
            let (Some(node), Some(cell)) = (self.nodes.get(at), reached.get_mut(at)) else { continue };
            if std::mem::replace(cell, true) {
                continue;
            }
            let known = self.schemas.get(node.source.0 as usize);
            let below = child_positions(node.tree, &node.pointer, node.dialect).into_iter();
            let below = below.filter(|(.., origin)| !matches!(origin, SchemaOrigin::Definition(_)));
            waiting.extend(below.filter_map(|(pointer, ..)| known?.get(&pointer).copied()));
            waiting.extend(node.reference);
            if let Some((anchor, target)) = &node.dynamic {
                waiting.push(*target);
                // The dynamic scope is unknown at this stage, so every possible target is treated as
                // reachable (Core 8.2.3.2).
                let bearers = self.resources.iter().flat_map(|resource| &resource.dynamic);
                let bearers = bearers.filter(|(name, _)| Some(name) == anchor.as_ref());
                waiting.extend(bearers.map(|(_, bearer)| *bearer));
            }
        }
        reached
    }

    /// Returns the locations of the `$schema` values that determine the dialects of reachable schemas. An
    /// enclosing root with the `$schema` need not be reachable itself.
    fn dialects_in_use(&self) -> HashSet<(SourceId, String)> {
        let reached = self.nodes.iter().zip(&self.reached).filter(|(_, reached)| **reached);
        let named = reached.filter_map(|(node, _)| {
            let resource = self.resources.get(node.resource)?;
            Some((node.source, resource.dialect_at.clone()?))
        });
        named.collect()
    }

    /// Returns true if a location is in an input, in a reachable schema or referenced OpenAPI object, or is a
    /// `$schema` that determines the dialect of a reachable schema.
    pub(crate) fn is_in_contract(&self, place: &DocumentLocation) -> bool {
        if self.sources.is_input(place.source)
            || is_within(&self.asked.objects, place.source, &place.pointer)
            || self.asked.dialects.contains(&(place.source, place.pointer.clone()))
        {
            return true;
        }
        let known = self.schemas.get(place.source.0 as usize);
        let mut pointer = place.pointer.as_str();
        loop {
            if let Some(at) = known.and_then(|known| known.get(pointer)) {
                return self.reached.get(*at).copied().unwrap_or(false);
            }
            match pointer.rsplit_once('/') {
                Some((before, _)) => pointer = before,
                None => return false,
            }
        }
    }
}

/// Returns true if a pointer identifies one of the objects listed for `source`, or a value inside of such an
/// object.
fn is_within(objects: &HashMap<SourceId, Vec<String>>, source: SourceId, pointer: &str) -> bool {
    objects.get(&source).is_some_and(|all| {
        all.iter().any(|object| {
            pointer.strip_prefix(object.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::{
        load::Sources,
        resolve::{ResolveOptions, resolve_documents, tests::format_problems},
    };

    /// Resolves the document `input`, which may refer to the documents in `offers`. Returns the locations of
    /// all parsed schemas, and the problems.
    fn read(input: &str, offers: &[(&str, &str)]) -> (Vec<String>, String) {
        let mut sources = Sources::from_texts(&[("a.yaml", "https://x.y/a.yaml", input)]).unwrap();
        for (name, text) in offers {
            sources.offer(name, &format!("https://x.y/{name}"), text);
        }
        let (graph, _, problems) = resolve_documents(&mut sources, &ResolveOptions::default());
        let location = |id| graph.absolute_location(id).trim_start_matches("https://x.y/").to_owned();
        (graph.ids().map(location).collect(), format_problems(&problems))
    }

    const OTHER: &str = r##"{
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "nonsense",
        "properties": { "a": { "minLength": "two" } },
        "$defs": {
            "used": { "items": { "$ref": "#/$defs/inner" }, "$defs": { "idle": { "enum": 1 } } },
            "inner": { "$anchor": "in", "type": "string" },
            "lost": { "$ref": "nowhere.json" },
            "twice": { "$anchor": "in", "required": true }
        }
    }"##;

    #[test]
    fn only_reached_schemas_of_other_documents_are_read() {
        let (found, problems) = read("{ $ref: 'b.json#/$defs/used' }", &[("b.json", OTHER)]);
        assert_eq!(
            found,
            ["a.yaml#", "b.json#/$defs/used", "b.json#/$defs/used/items", "b.json#/$defs/inner"]
        );
        assert_eq!(problems, "");
        // If the root of another document is referenced, its properties are parsed, but not the definitions
        // to which nothing refers.
        let (found, problems) = read("{ $ref: b.json }", &[("b.json", OTHER)]);
        assert_eq!(found, ["a.yaml#", "b.json#", "b.json#/properties/a"]);
        assert_eq!(problems, "invalid-schema /type\ninvalid-schema /properties/a/minLength");
        // If the document is an input, all of its schemas are parsed.
        let mut sources = Sources::from_texts(&[("b.json", "", OTHER)]).unwrap();
        let (.., problems) = resolve_documents(&mut sources, &ResolveOptions::default());
        assert_eq!(problems.len(), 6, "{problems}");
    }

    /// A referenced definition has the dialect that the `$schema` of its document identifies, even if nothing
    /// refers to the root of the document.
    #[test]
    fn dialects_of_reached_schemas_are_loaded() {
        let reference = "{ $ref: 'b.json#/$defs/used' }";
        let other = r#"{ "$schema": "https://x.y/meta.json", "$defs": {
            "used": { "type": "string", "format": "email" },
            "own": { "$id": "own.json", "$schema": "https://json-schema.org/draft/2020-12/schema" },
            "same": { "$id": "same.json" } } }"#;
        let meta = |vocabulary: &str| {
            let core = "https://json-schema.org/draft/2020-12/vocab/core";
            format!(r#"{{ "$vocabulary": {{ "{core}": true, "{vocabulary}": true }} }}"#)
        };
        let asserting = meta("https://json-schema.org/draft/2020-12/vocab/format-assertion");
        let mut sources = Sources::from_texts(&[("a.yaml", "https://x.y/a.yaml", reference)]).unwrap();
        sources.offer("b.json", "https://x.y/b.json", other);
        sources.offer("meta.json", "https://x.y/meta.json", &asserting);
        let (graph, _, problems) = resolve_documents(&mut sources, &ResolveOptions::default());
        assert_eq!(format_problems(&problems), "");
        assert!(graph.schemas.iter().any(|schema| schema.asserted.is_some()));
        // If the meta-schema requires an unknown vocabulary, an error is reported.
        let unknown = meta("https://x.y/vocab");
        for (input, expected) in [
            (reference, "unsupported /$schema"),
            ("{ $ref: 'b.json#/$defs/same' }", "unsupported /$schema"),
            ("{ $ref: 'b.json#/$defs/own' }", ""),
        ] {
            assert_eq!(read(input, &[("b.json", other)]).1, expected, "{input}");
            let offers = [("b.json", other), ("meta.json", &unknown)];
            assert_eq!(read(input, &offers).1, expected, "{input}");
        }
        let mut sources = Sources::from_texts(&[("a.yaml", "https://x.y/a.yaml", reference)]).unwrap();
        sources.offer("b.json", "https://x.y/b.json", other);
        sources.offer("meta.json", "https://x.y/meta.json", &unknown);
        assert!(resolve_documents(&mut sources, &ResolveOptions::default()).2.has_fatal());
    }

    #[test]
    fn dialects_of_referenced_documents_are_loaded() {
        let other = "
openapi: 3.1.0
info: { title: B, version: '1' }
jsonSchemaDialect: https://x.y/meta.json
paths: {}
components: { schemas: { P: { type: string, format: email } } }
";
        let (_, problems) = read("{ $ref: 'b.yaml#/components/schemas/P' }", &[("b.yaml", other)]);
        assert_eq!(problems, "unsupported /jsonSchemaDialect");
        let (_, problems) = read("{ $ref: 'c.json' }", &[("b.yaml", other), ("c.json", "{}")]);
        assert_eq!(problems, "");
    }

    /// If a `$dynamicRef` may select several schemas, all of them are parsed.
    #[test]
    fn dynamic_reference_targets_are_reached() {
        let tree = r##"{ "$dynamicAnchor": "node", "items": { "$dynamicRef": "#node" } }"##;
        let own = r##"{ "$defs": {
            "used": { "$ref": "tree.json" },
            "own": { "$id": "own.json", "$dynamicAnchor": "node", "maxItems": 1 },
            "idle": { "maxItems": "none" } } }"##;
        let (found, problems) =
            read("{ $ref: 'b.json#/$defs/used' }", &[("b.json", own), ("tree.json", tree)]);
        assert_eq!(found, ["a.yaml#", "b.json#/$defs/used", "own.json#", "tree.json#", "tree.json#/items"]);
        assert_eq!(problems, "");
    }

    #[test]
    fn only_referenced_objects_of_other_documents_are_read() {
        let input = "
openapi: 3.1.0
info: { title: A, version: '1' }
paths:
  /a: { $ref: 'b.yaml#/paths/~1b' }
";
        let other = "
openapi: 3.0.3
info: { title: B, version: '1' }
paths:
  /b: { get: { parameters: [{ $ref: '#/components/parameters/p' }], responses: { '200': { description: '' } } } }
  /c: { get: { parameters: [{ name: q, in: nowhere }], responses: { '200': { $ref: gone.yaml } } } }
  /x: { $ref: '#/paths/~1y' }
  /y: { $ref: '#/paths/~1x' }
components:
  parameters:
    p: { name: p, in: query, schema: { $ref: '#/components/schemas/P' } }
  schemas:
    P: { type: string, nullable: true }
    Q: { type: 7, $ref: gone.json }
";
        let (found, problems) = read(input, &[("b.yaml", other)]);
        assert_eq!(found, ["b.yaml#/components/parameters/p/schema", "b.yaml#/components/schemas/P"]);
        assert_eq!(problems, "");
    }
}
