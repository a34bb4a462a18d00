//! Anonymous schemas that say the same: they share one type, named after the first of them.
//!
//! What a schema says of itself (`title`, `description`, `default`, `deprecated`) may differ, since it is printed
//! where the schema stands; what it says of its members may not, since a type has one documentation
//! of each.

use std::collections::{BTreeMap, HashMap, HashSet};

use contract_runtime::Json;

use super::Names;
use crate::{
    options::Options,
    schema::{Contains, Discriminator, DynamicReference, Graph, Moved, Schema, SchemaId},
};

/// Finds the first schema of each kind.
struct Kinds<'a> {
    graph: &'a Graph,
    options: &'a Options,
    names: &'a Names,
    /// The first schema that says something; requests and answers read differently.
    first: HashMap<(Schema, bool), SchemaId>,
    known: HashMap<SchemaId, SchemaId>,
    /// The first schema that says something and is described in some words.
    described: HashMap<(SchemaId, Words), SchemaId>,
    open: HashSet<SchemaId>,
    /// Whether a `$dynamicRef` can lead elsewhere in one resource than in another.
    dynamic: bool,
}

/// What a schema says of itself.
#[derive(PartialEq, Eq, Hash)]
struct Words {
    title: Option<String>,
    description: Option<String>,
    default: Option<Json>,
    deprecated: bool,
}

impl Names {
    /// Finds, for each anonymous schema that says what others say, the first of them.
    pub(super) fn settle_equals(&mut self, graph: &Graph, options: &Options) {
        let dynamic = graph.resources.iter().any(|r| !r.dynamic_anchors.is_empty());
        let mut kinds = Kinds {
            graph,
            options,
            names: self,
            first: HashMap::new(),
            known: HashMap::new(),
            described: HashMap::new(),
            open: HashSet::new(),
            dynamic,
        };
        let anonymous = graph.ids().filter(|id| self.of(*id).is_none() && !self.aliases.contains_key(id));
        let firsts: BTreeMap<SchemaId, SchemaId> = anonymous.map(|id| (id, kinds.kind(id))).collect();
        let shared: HashSet<SchemaId> =
            firsts.iter().filter(|(id, first)| id != first).map(|(_, first)| *first).collect();
        self.equals = firsts.into_iter().filter(|(_, first)| shared.contains(first)).collect();
    }

    /// Gives the name of a place to all that say the same, so that a part knows it too.
    pub(super) fn share_places(&mut self) {
        for (id, first) in &self.equals {
            if let Some(place) = self.places.get(first).cloned() {
                self.places.insert(*id, place);
            }
        }
    }
}

/// The first of those that are left.
pub(super) fn moved(equals: &BTreeMap<SchemaId, SchemaId>, moved: &Moved) -> BTreeMap<SchemaId, SchemaId> {
    let mut firsts: BTreeMap<SchemaId, SchemaId> = BTreeMap::new();
    let left = equals.iter().filter_map(|(id, first)| Some((moved.get(*id)?, *first)));
    left.map(|(id, first)| (id, *firsts.entry(first).or_insert(id))).collect()
}

/// Whether the owner decided something about exactly this schema.
fn is_chosen(options: &Options, id: SchemaId) -> bool {
    options.names.contains_key(&id)
        || options.secrets.contains(&id)
        || options.replace.contains_key(&id)
        || options.attributes.contains_key(&id)
        || options.open.contains(&id)
        || options.closed.contains(&id)
        || options.unchecked.contains(&id)
}

impl Kinds<'_> {
    /// The first schema that says what this one says: itself when it has a name, when the owner
    /// decided about it, or when it stands inside itself.
    fn kind(&mut self, id: SchemaId) -> SchemaId {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let target = self.names.aliases.get(&id).copied().unwrap_or(id);
        let schema = self.graph.schema(target);
        if self.names.of(target).is_some()
            || is_chosen(self.options, id)
            || is_chosen(self.options, target)
            || schema.dynamic_reference.is_some()
            || !self.open.insert(target)
        {
            return target;
        }
        let said = (self.said(schema), self.options.requests.contains(&target));
        self.open.remove(&target);
        let first = *self.first.entry(said).or_insert(target);
        self.known.insert(id, first);
        first
    }

    /// The first schema that says this and is described in the same words.
    fn member(&mut self, id: SchemaId) -> SchemaId {
        let first = self.kind(id);
        let schema = self.graph.schema(id);
        let words = Words {
            title: schema.title.clone(),
            description: schema.description.clone(),
            default: schema.default.clone(),
            deprecated: schema.deprecated,
        };
        *self.described.entry((first, words)).or_insert(id)
    }

    /// What a schema says, without where it stands and without what it says of itself.
    fn said(&mut self, schema: &Schema) -> Schema {
        let named = |list: &[(String, SchemaId)], kinds: &mut Self| -> Vec<(String, SchemaId)> {
            list.iter().map(|(name, id)| (name.clone(), kinds.member(*id))).collect()
        };
        let properties = named(&schema.properties, self);
        let pattern_properties = named(&schema.pattern_properties, self);
        let dependent_schemas = named(&schema.dependent_schemas, self);
        let discriminator = schema.discriminator.as_ref().map(|it| Discriminator {
            tag: it.tag.clone(),
            mapping: named(&it.mapping, self),
            default: it.default.map(|id| self.member(id)),
            family: it.family.clone(),
        });
        let resource = if self.dynamic { schema.resource } else { Default::default() };
        let mut list =
            |list: &[SchemaId]| -> Vec<SchemaId> { list.iter().map(|id| self.member(*id)).collect() };
        let prefix_items = list(&schema.prefix_items);
        let all_of = list(&schema.all_of);
        let any_of = list(&schema.any_of);
        let one_of = list(&schema.one_of);
        let mut one = |id: Option<SchemaId>| id.map(|id| self.member(id));
        Schema {
            place: Default::default(),
            resource,
            location: String::new(),
            origin: Default::default(),
            boolean: schema.boolean,
            gap: schema.gap,
            reference: one(schema.reference),
            dynamic_reference: schema
                .dynamic_reference
                .as_ref()
                .map(|dynamic| DynamicReference { anchor: dynamic.anchor.clone(), initial: dynamic.initial }),
            definitions: Vec::new(),
            title: None,
            description: None,
            default: None,
            examples: Vec::new(),
            deprecated: false,
            read_only: false,
            write_only: false,
            format: schema.format.clone(),
            asserted: schema.asserted,
            content_encoding: schema.content_encoding.clone(),
            content_media_type: schema.content_media_type.clone(),
            content_schema: None,
            extensions: schema.telling(),
            discriminator,
            implied_otherwise: schema.implied_otherwise,
            types: schema.types,
            enumeration: schema.enumeration.clone(),
            constant: schema.constant.clone(),
            minimum: schema.minimum.clone(),
            maximum: schema.maximum.clone(),
            exclusive_minimum: schema.exclusive_minimum.clone(),
            exclusive_maximum: schema.exclusive_maximum.clone(),
            multiple_of: schema.multiple_of.clone(),
            min_length: schema.min_length,
            max_length: schema.max_length,
            pattern: schema.pattern.clone(),
            min_items: schema.min_items,
            max_items: schema.max_items,
            unique_items: schema.unique_items,
            contains: schema.contains.as_ref().map(|contains| Contains {
                schema: one(Some(contains.schema)).unwrap_or(contains.schema),
                min: contains.min,
                max: contains.max,
            }),
            prefix_items,
            items: one(schema.items),
            unevaluated_items: one(schema.unevaluated_items),
            properties,
            pattern_properties,
            additional_properties: one(schema.additional_properties),
            unevaluated_properties: one(schema.unevaluated_properties),
            property_names: one(schema.property_names),
            required: schema.required.clone(),
            one_way: Vec::new(),
            min_properties: schema.min_properties,
            max_properties: schema.max_properties,
            dependent_required: schema.dependent_required.clone(),
            dependent_schemas,
            all_of,
            any_of,
            one_of,
            not: one(schema.not),
            condition: one(schema.condition),
            then: one(schema.then),
            otherwise: one(schema.otherwise),
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

    /// Equal anonymous types are one, named after the first place; what describes members
    /// differently is two, what describes itself differently is not.
    #[test]
    fn equal_places_share_a_type() {
        let text = r#"{"type": "object", "properties": {
            "a": {"description": "One.", "type": "object", "properties": {"x": {"enum": ["p", "q"]}}},
            "b": {"description": "Two.", "type": "object", "properties": {"x": {"enum": ["p", "q"]}}},
            "c": {"type": "object", "properties": {"x": {"description": "Another.", "enum": ["p", "q"]}}},
            "d": {"type": "object", "properties": {"x": {"enum": ["p", "q"], "maxLength": 1}}}
        }}"#;
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        let contract = Project::default().understand(sources).unwrap();
        let mut names: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["Input", "InputA", "InputAx", "InputC", "InputD", "InputDx"]);
        let input = contract.shapes.types.iter().find(|def| def.name == "Input").unwrap();
        let Body::Struct(body) = &input.body else { panic!("{input:?}") };
        assert_eq!(body.fields[0].ty, body.fields[1].ty);
    }

    /// Each field says itself whether it is deprecated, whichever of the equal places comes first.
    #[test]
    fn places_with_other_deprecated_members_are_others() {
        for deprecated in ["a", "b"] {
            let inner = |at: &str| {
                let said = if at == deprecated { r#", "deprecated": true"# } else { "" };
                format!(r#""{at}": {{"type": "object", "properties": {{"x": {{"type": "string"{said}}}}}}}"#)
            };
            let text = format!(r#"{{"type": "object", "properties": {{{}, {}}}}}"#, inner("a"), inner("b"));
            let sources = Sources::from_texts(&[("input.json", "", &text)]).unwrap();
            let contract = Project::default().understand(sources).unwrap();
            for (name, at) in [("InputA", "a"), ("InputB", "b")] {
                let def = contract.shapes.types.iter().find(|def| def.name == name).unwrap();
                let Body::Struct(body) = &def.body else { panic!("{def:?}") };
                let field = contract.graph.schema(body.fields[0].describe.unwrap());
                assert_eq!(field.deprecated, at == deprecated, "{name}, {deprecated} is deprecated");
            }
        }
    }

    /// What the owner puts on one place stands on no other.
    #[test]
    fn places_that_the_owner_dresses_are_others() {
        let text = r#"{"type": "object", "properties": {
            "a": {"type": "object", "properties": {"x": {"type": "string"}}},
            "b": {"type": "object", "properties": {"x": {"type": "string"}}},
            "c": {"type": "object", "properties": {"x": {"type": "string"}}}
        }}"#;
        for (options, names) in [
            ("", vec!["Input", "InputA"]),
            ("derives = { '#/properties/b' = ['Hash'] }", vec!["Input", "InputA", "InputB"]),
            ("attributes = { '#/properties/a' = ['#[doc(hidden)]'] }", vec!["Input", "InputA", "InputB"]),
            (
                "attributes = { '#/properties/b/properties/x' = ['#[doc(hidden)]'] }",
                vec!["Input", "InputA", "InputB"],
            ),
        ] {
            let project = Project { config: toml::from_str(options).unwrap(), ..Project::default() };
            let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
            let contract = project.understand(sources).unwrap_or_else(|e| panic!("{options}: {e}"));
            let mut found: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
            found.sort_unstable();
            assert_eq!(found, names, "{options}");
        }
    }

    /// What of several schemas is equal to another is told by where it stands itself.
    #[test]
    fn what_several_say_is_told_by_their_own_places() {
        let text = r##"{"$defs": {
            "p": {"type": "object", "properties": {"id": {"type": "string"}, "kind": {"type": "string"}}},
            "u": {"allOf": [{"$ref": "#/$defs/p"}, {"properties": {"kind": {"enum": ["a", "b"]}, "x": true}}]}
        }}"##;
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        let contract = Project::default().understand(sources).unwrap();
        let kind = contract.shapes.types.iter().find(|def| def.name == "UKind").unwrap();
        let places: Vec<&str> =
            kind.conj.ids.iter().map(|id| contract.graph.schema(*id).location.as_str()).collect();
        assert_eq!(places, ["/$defs/p/properties/kind", "/$defs/u/allOf/1/properties/kind"]);
    }

    /// What other tools say of values makes a type of a text, and names its variants.
    #[test]
    fn places_with_other_words_for_their_values_are_others() {
        let text = r#"{"type": "object", "properties": {
            "a": {"type": "string", "x-extensible-enum": ["p"]},
            "b": {"type": "string", "x-internal": true},
            "c": {"enum": ["p", "q"], "x-enum-varnames": ["One", "Two"]},
            "d": {"enum": ["p", "q"], "x-enum-varnames": ["One"]},
            "e": {"enum": ["p", "q", null], "x-enum-varnames": ["Three", "Four"]}
        }}"#;
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        let contract = Project::default().understand(sources).unwrap();
        let places = contract.diagnostics.iter().filter_map(|each| each.place.as_ref());
        let said: Vec<&str> = places.map(|place| place.pointer.as_str()).collect();
        assert_eq!(said, ["/properties/d"]);
        let mut lists: Vec<Vec<&str>> = Vec::new();
        for def in &contract.shapes.types {
            match &def.body {
                Body::Struct(body) => assert_eq!(body.fields[1].ty, TypeRef::String),
                Body::Enum(list) => {
                    lists.push(list.values.iter().map(|(_, name, _)| name.as_str()).collect())
                }
                other => panic!("{other:?}"),
            }
        }
        lists.sort_unstable();
        assert_eq!(lists, [vec!["One", "Two"], vec!["P"], vec!["P", "Q"], vec!["Three", "Four"]]);
    }
}
