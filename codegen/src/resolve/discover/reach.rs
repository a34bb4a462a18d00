//! What of the documents is the contract: all that the inputs hold, and of others what something
//! leads to. What is wrong with the rest of a document that somebody else wrote costs nobody anything.

use std::collections::{HashMap, HashSet};

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    schema::Origin,
    tree::{Place, SourceId},
};

use super::{Discovery, children};

/// What leads into the documents that are no inputs.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Objects of OpenAPI: per document, by pointer.
    objects: HashMap<SourceId, Vec<String>>,
    /// Where the dialects of the schemas that are reached are named.
    dialects: HashSet<(SourceId, String)>,
}

impl Discovery<'_> {
    /// Notes which schemas are of the contract, and forgets what was said about all others.
    pub(super) fn leave_unreached(&mut self) {
        if self.sources.ids().all(|id| self.sources.is_input(id)) {
            self.reached = vec![true; self.nodes.len()];
            return;
        }
        self.asked.objects = self.objects_asked_for();
        self.reached = self.reach();
        self.asked.dialects = self.dialects_in_use();
        let stays = |problem: &Diagnostic| {
            // How a whole document is read, and which names it has, is part of what it says.
            let whole = |place: &Place| matches!(place.pointer.as_str(), "/openapi" | "/swagger");
            problem.code == "duplicate-id"
                || problem.place.as_ref().is_none_or(|place| whole(place) || self.counts(place))
        };
        let mut problems = Diagnostics::new();
        problems.extend(self.problems.iter().filter(|problem| stays(problem)).cloned());
        let lost = self.lost.iter().filter(|problem| stays(problem)).cloned().collect();
        let missing = self.missing.iter().filter(|(_, place)| self.counts(place)).cloned().collect();
        (self.problems, self.lost, self.missing) = (problems, lost, missing);
    }

    /// Objects of OpenAPI in documents that are no inputs, to which references lead: per document,
    /// by pointer.
    fn objects_asked_for(&self) -> HashMap<SourceId, Vec<String>> {
        let mut asked: HashMap<SourceId, Vec<String>> = HashMap::new();
        let mut links: Vec<_> = self.links.iter().collect();
        loop {
            let before = links.len();
            links.retain(|((source, holder), (target, pointer))| {
                let counts = self.sources.is_input(*source) || is_within(&asked, *source, holder);
                if counts {
                    asked.entry(*target).or_default().push(pointer.clone());
                }
                !counts
            });
            if links.len() == before {
                return asked;
            }
        }
    }

    fn reach(&self) -> Vec<bool> {
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
            let below = children(node.tree, &node.pointer, node.dialect).into_iter();
            let below = below.filter(|(.., origin)| !matches!(origin, Origin::Definition(_)));
            waiting.extend(below.filter_map(|(pointer, ..)| known?.get(&pointer).copied()));
            waiting.extend(node.reference);
            if let Some((anchor, target)) = &node.dynamic {
                waiting.push(*target);
                // Where it leads in the end is known to who evaluates it (Core 8.2.3.2).
                let bearers = self.resources.iter().flat_map(|resource| &resource.dynamic);
                let bearers = bearers.filter(|(name, _)| Some(name) == anchor.as_ref());
                waiting.extend(bearers.map(|(_, bearer)| *bearer));
            }
        }
        reached
    }

    /// The dialect of a schema counts with it, though it is named at the root that nothing leads to.
    fn dialects_in_use(&self) -> HashSet<(SourceId, String)> {
        let reached = self.nodes.iter().zip(&self.reached).filter(|(_, reached)| **reached);
        let named = reached.filter_map(|(node, _)| {
            let resource = self.resources.get(node.resource)?;
            Some((node.source, resource.dialect_at.clone()?))
        });
        named.collect()
    }

    /// Whether what stands at a place is of the contract.
    pub(crate) fn counts(&self, place: &Place) -> bool {
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

/// Whether a pointer is one of a document's, or leads on from one.
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
        resolve::{ResolveOptions, resolve, tests::shown},
    };

    /// Locations of what is read, and all problems.
    fn read(input: &str, offers: &[(&str, &str)]) -> (Vec<String>, String) {
        let mut sources = Sources::from_texts(&[("a.yaml", "https://x.y/a.yaml", input)]).unwrap();
        for (name, text) in offers {
            sources.offer(name, &format!("https://x.y/{name}"), text);
        }
        let (graph, _, problems) = resolve(&mut sources, &ResolveOptions::default());
        let location = |id| graph.location(id).trim_start_matches("https://x.y/").to_owned();
        (graph.ids().map(location).collect(), shown(&problems))
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
    fn of_a_document_that_is_referred_to_only_what_is_reached_is_read() {
        let (found, problems) = read("{ $ref: 'b.json#/$defs/used' }", &[("b.json", OTHER)]);
        assert_eq!(
            found,
            ["a.yaml#", "b.json#/$defs/used", "b.json#/$defs/used/items", "b.json#/$defs/inner"]
        );
        assert_eq!(problems, "");
        // By its root it is read as what the root says, without the definitions that nobody names.
        let (found, problems) = read("{ $ref: b.json }", &[("b.json", OTHER)]);
        assert_eq!(found, ["a.yaml#", "b.json#", "b.json#/properties/a"]);
        assert_eq!(problems, "invalid-schema /type\ninvalid-schema /properties/a/minLength");
        // Of an input all is read.
        let mut sources = Sources::from_texts(&[("b.json", "", OTHER)]).unwrap();
        let (.., problems) = resolve(&mut sources, &ResolveOptions::default());
        assert_eq!(problems.len(), 6, "{problems}");
    }

    /// How a schema is read is said at the root of its document, or of the resource around it, though
    /// nothing leads there.
    #[test]
    fn the_dialect_of_what_is_reached_is_asked_for() {
        let at = "{ $ref: 'b.json#/$defs/used' }";
        let other = r#"{ "$schema": "https://x.y/meta.json", "$defs": {
            "used": { "type": "string", "format": "email" },
            "own": { "$id": "own.json", "$schema": "https://json-schema.org/draft/2020-12/schema" },
            "same": { "$id": "same.json" } } }"#;
        let meta = |vocabulary: &str| {
            let core = "https://json-schema.org/draft/2020-12/vocab/core";
            format!(r#"{{ "$vocabulary": {{ "{core}": true, "{vocabulary}": true }} }}"#)
        };
        let asserting = meta("https://json-schema.org/draft/2020-12/vocab/format-assertion");
        let mut sources = Sources::from_texts(&[("a.yaml", "https://x.y/a.yaml", at)]).unwrap();
        sources.offer("b.json", "https://x.y/b.json", other);
        sources.offer("meta.json", "https://x.y/meta.json", &asserting);
        let (graph, _, problems) = resolve(&mut sources, &ResolveOptions::default());
        assert_eq!(shown(&problems), "");
        assert!(graph.schemas.iter().any(|schema| schema.asserted.is_some()));
        // Nobody may read it in another way.
        let unknown = meta("https://x.y/vocab");
        for (input, said) in [
            (at, "unsupported /$schema"),
            ("{ $ref: 'b.json#/$defs/same' }", "unsupported /$schema"),
            ("{ $ref: 'b.json#/$defs/own' }", ""),
        ] {
            assert_eq!(read(input, &[("b.json", other)]).1, said, "{input}");
            let offers = [("b.json", other), ("meta.json", &unknown)];
            assert_eq!(read(input, &offers).1, said, "{input}");
        }
        let mut sources = Sources::from_texts(&[("a.yaml", "https://x.y/a.yaml", at)]).unwrap();
        sources.offer("b.json", "https://x.y/b.json", other);
        sources.offer("meta.json", "https://x.y/meta.json", &unknown);
        assert!(resolve(&mut sources, &ResolveOptions::default()).2.has_fatal());
    }

    #[test]
    fn the_dialect_of_a_document_that_is_referred_to_is_asked_for() {
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

    /// Where a `$dynamicRef` leads depends on who asks: all that may be meant is there.
    #[test]
    fn what_a_dynamic_reference_may_mean_is_reached() {
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
    fn of_another_openapi_document_only_the_objects_that_are_named_are_read() {
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
