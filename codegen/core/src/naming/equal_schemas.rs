//! Finds equal anonymous schemas of properties and parameters with the same name, which share one type. The
//! type is named after the first of these schemas. The path names of the others become aliases, so that a
//! name never depends on other schemas.
//!
//! Annotations of the schema itself (`title`, `description`, `default`, `deprecated`) may differ, because
//! they are printed where the type is used. Annotations of its properties must be equal, because a type
//! documents each field once.

use std::collections::{BTreeMap, HashMap, HashSet};

use contract_runtime::Json;

use super::{
    TypeNames,
    local_names::{LocalKey, LocalNames},
    unexchanged_schemas,
};
use crate::{
    api::OpenApiDocument,
    options::SchemaOptions,
    schema::{
        ContainsConstraint, Discriminator, DynamicReference, Schema, SchemaGraph, SchemaId, SchemaRemapping,
    },
};

/// The classes of equal schemas found so far. The representative of a class is its first schema.
struct EqualityClasses<'a> {
    graph: &'a SchemaGraph,
    options: &'a SchemaOptions,
    names: &'a TypeNames,
    locals: LocalNames,
    /// The representative for each content. The key consists of the content without location and annotations,
    /// of whether the schema occurs only in requests, and of its local name.
    first: HashMap<(Schema, bool, LocalKey), SchemaId>,
    known: HashMap<SchemaId, SchemaId>,
    /// The first schema for each combination of a representative and annotations.
    described: HashMap<(SchemaId, SchemaMetadata), SchemaId>,
    open: HashSet<SchemaId>,
    /// True if a `$dynamicRef` may have different targets in different resources.
    dynamic: bool,
}

/// The annotations of a property's schema, which must be equal for the enclosing objects to be equal.
#[derive(PartialEq, Eq, Hash)]
struct SchemaMetadata {
    title: Option<String>,
    description: Option<String>,
    default: Option<Json>,
    deprecated: bool,
}

impl TypeNames {
    /// Sets `equals`: maps each anonymous schema that equals another one to the first of the equal schemas.
    pub(super) fn find_equal_schemas(
        &mut self,
        graph: &SchemaGraph,
        api: &OpenApiDocument,
        options: &SchemaOptions,
    ) {
        let dynamic = graph.resources.iter().any(|r| !r.dynamic_anchors.is_empty());
        let mut kinds = EqualityClasses {
            graph,
            options,
            names: self,
            locals: LocalNames::from_api(graph, api),
            first: HashMap::new(),
            known: HashMap::new(),
            described: HashMap::new(),
            open: HashSet::new(),
            dynamic,
        };
        let unexchanged = unexchanged_schemas(graph, api);
        let anonymous = graph.ids().filter(|id| {
            self.name_of(*id).is_none() && !self.aliases.contains_key(id) && !unexchanged.contains(id)
        });
        let firsts: BTreeMap<SchemaId, SchemaId> =
            anonymous.map(|id| (id, kinds.representative(id))).collect();
        let shared: HashSet<SchemaId> =
            firsts.iter().filter(|(id, first)| id != first).map(|(_, first)| *first).collect();
        self.equals = firsts.into_iter().filter(|(_, first)| shared.contains(first)).collect();
    }
}

/// Returns `equals` with the new ids after schemas were removed from the graph. The first remaining schema of
/// each class becomes its representative.
pub(super) fn remap_equals(
    equals: &BTreeMap<SchemaId, SchemaId>,
    moved: &SchemaRemapping,
) -> BTreeMap<SchemaId, SchemaId> {
    let mut firsts: BTreeMap<SchemaId, SchemaId> = BTreeMap::new();
    let left = equals.iter().filter_map(|(id, first)| Some((moved.get(*id)?, *first)));
    left.map(|(id, first)| (id, *firsts.entry(first).or_insert(id))).collect()
}

/// Returns true if an option selects this schema. Such a schema must not share the type of another one.
fn has_own_options(options: &SchemaOptions, id: SchemaId) -> bool {
    options.names.contains_key(&id)
        || options.secrets.contains(&id)
        || options.replace.contains_key(&id)
        || options.attributes.contains_key(&id)
        || options.open.contains(&id)
        || options.closed.contains(&id)
        || options.unchecked.contains(&id)
}

impl EqualityClasses<'_> {
    /// Returns the representative of a schema. Schemas with a name or with their own options, and recursive
    /// ones, represent only themselves.
    fn representative(&mut self, id: SchemaId) -> SchemaId {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let target = self.names.aliases.get(&id).copied().unwrap_or(id);
        let schema = self.graph.schema(target);
        if self.names.name_of(target).is_some()
            || has_own_options(self.options, id)
            || has_own_options(self.options, target)
            || schema.dynamic_reference.is_some()
            || !self.open.insert(target)
        {
            return target;
        }
        let content = (
            self.normalized_schema(schema),
            self.options.requests.contains(&target),
            self.locals.key(self.graph, target),
        );
        self.open.remove(&target);
        let first = *self.first.entry(content).or_insert(target);
        self.known.insert(id, first);
        first
    }

    /// Returns the first schema with the same content and the same annotations as this schema.
    fn described_representative(&mut self, id: SchemaId) -> SchemaId {
        let first = self.representative(id);
        let schema = self.graph.schema(id);
        let metadata = SchemaMetadata {
            title: schema.title.clone(),
            description: schema.description.clone(),
            default: schema.default.clone(),
            deprecated: schema.deprecated,
        };
        *self.described.entry((first, metadata)).or_insert(id)
    }

    /// Returns the content of a schema without its location and annotations, with subschemas replaced by
    /// their representatives.
    fn normalized_schema(&mut self, schema: &Schema) -> Schema {
        let named = |list: &[(String, SchemaId)], kinds: &mut Self| -> Vec<(String, SchemaId)> {
            list.iter().map(|(name, id)| (name.clone(), kinds.described_representative(*id))).collect()
        };
        let properties = named(&schema.properties, self);
        let pattern_properties = named(&schema.pattern_properties, self);
        let dependent_schemas = named(&schema.dependent_schemas, self);
        let discriminator = schema.discriminator.as_ref().map(|it| Discriminator {
            tag: it.tag.clone(),
            mapping: named(&it.mapping, self),
            default: it.default.map(|id| self.described_representative(id)),
            family: it.family.clone(),
        });
        let resource = if self.dynamic { schema.resource } else { Default::default() };
        let mut list = |list: &[SchemaId]| -> Vec<SchemaId> {
            list.iter().map(|id| self.described_representative(*id)).collect()
        };
        let prefix_items = list(&schema.prefix_items);
        let all_of = list(&schema.all_of);
        let any_of = list(&schema.any_of);
        let one_of = list(&schema.one_of);
        let mut one = |id: Option<SchemaId>| id.map(|id| self.described_representative(id));
        Schema {
            place: Default::default(),
            resource,
            location: String::new(),
            origin: Default::default(),
            boolean: schema.boolean,
            gap: schema.gap,
            is_generic: false,
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
            extensions: schema.type_relevant_extensions(),
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
            contains: schema.contains.as_ref().map(|contains| ContainsConstraint {
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
        shape::{TypeBody, TypeRef},
    };

    /// Equal anonymous schemas of properties with the same name share one type, which is named after the
    /// first of them, even if their own annotations differ. If annotations of their properties differ, they
    /// have separate types.
    #[test]
    fn equal_places_share_a_type() {
        let text = r#"{"type": "object", "properties": {
            "a": {"description": "One.", "type": "object", "properties": {"x": {"enum": ["p", "q"]}}},
            "inner": {"type": "object", "properties": {
                "a": {"description": "Two.", "type": "object", "properties": {"x": {"enum": ["p", "q"]}}},
                "b": {"type": "object", "properties": {"x": {"enum": ["p", "q"]}}}}},
            "c": {"type": "object", "properties": {"x": {"description": "Another.", "enum": ["p", "q"]}}},
            "d": {"type": "object", "properties": {"x": {"enum": ["p", "q"], "maxLength": 1}}}
        }}"#;
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        let mut names: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["Input", "InputA", "InputAx", "InputC", "InputD", "InputDx", "InputInner", "InputInnerB"]
        );
        let field = |name: &str, index: usize| {
            let def = contract.shapes.types.iter().find(|def| def.name == name).unwrap();
            let TypeBody::Struct(body) = &def.body else { panic!("{def:?}") };
            body.fields[index].ty.clone()
        };
        assert_eq!(field("Input", 0), field("InputInner", 0));
    }

    /// If one of two equal objects has a deprecated property, only the field of this object's type is
    /// deprecated, regardless of their order.
    #[test]
    fn deprecated_properties_distinguish_types() {
        for deprecated in ["a", "b"] {
            let inner = |property: &str| {
                let keyword = if property == deprecated { r#", "deprecated": true"# } else { "" };
                format!(
                    r#""{property}": {{"type": "object", "properties": {{"x": {{"type": "string"{keyword}}}}}}}"#
                )
            };
            let text = format!(r#"{{"type": "object", "properties": {{{}, {}}}}}"#, inner("a"), inner("b"));
            let sources = Sources::from_texts(&[("input.json", "", &text)]).unwrap();
            let contract = Project::default().analyze_sources(sources).unwrap();
            for (name, property) in [("InputA", "a"), ("InputB", "b")] {
                let def = contract.shapes.types.iter().find(|def| def.name == name).unwrap();
                let TypeBody::Struct(body) = &def.body else { panic!("{def:?}") };
                let field = contract.graph.schema(body.fields[0].described_by.unwrap());
                assert_eq!(field.deprecated, property == deprecated, "{name}, {deprecated} is deprecated");
            }
        }
    }

    /// If an option selects one of several equal schemas, this schema gets its own type, and the option does
    /// not affect the others.
    #[test]
    fn options_distinguish_types() {
        let text = r#"{"type": "object", "properties": {
            "a": {"type": "object", "properties": {"x": {"type": "string"}}},
            "b": {"type": "object", "properties": {
                "a": {"type": "object", "properties": {"x": {"type": "string"}}},
                "c": {"type": "object", "properties": {"a": {"type": "object", "properties": {"x": {"type": "string"}}}}}}}
        }}"#;
        let (shared, separate) = (vec!["Input", "InputA", "InputB", "InputBc"], |own: &'static str| {
            vec!["Input", "InputA", "InputB", own, "InputBc"]
        });
        for (options, mut names) in [
            ("", shared),
            ("derives = { '#/properties/b/properties/a' = ['Hash'] }", separate("InputBa")),
            ("attributes = { '#/properties/a' = ['#[doc(hidden)]'] }", separate("InputBa")),
            (
                "attributes = { '#/properties/b/properties/a/properties/x' = ['#[doc(hidden)]'] }",
                separate("InputBa"),
            ),
        ] {
            names.sort_unstable();
            let project = Project { config: toml::from_str(options).unwrap(), ..Project::default() };
            let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
            let contract = project.analyze_sources(sources).unwrap_or_else(|e| panic!("{options}: {e}"));
            let mut found: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
            found.sort_unstable();
            assert_eq!(found, names, "{options}");
        }
    }

    /// A type that combines several schemas keeps its own schemas in its conjunction, even if one of them has
    /// an equal schema elsewhere.
    #[test]
    fn conjunctions_keep_their_own_locations() {
        let text = r##"{"$defs": {
            "p": {"type": "object", "properties": {"id": {"type": "string"}, "kind": {"type": "string"}}},
            "u": {"allOf": [{"$ref": "#/$defs/p"}, {"properties": {"kind": {"enum": ["a", "b"]}, "x": true}}]}
        }}"##;
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        let kind = contract.shapes.types.iter().find(|def| def.name == "UKind").unwrap();
        let places: Vec<&str> =
            kind.conj.ids.iter().map(|id| contract.graph.schema(*id).location.as_str()).collect();
        assert_eq!(places, ["/$defs/p/properties/kind", "/$defs/u/allOf/1/properties/kind"]);
    }

    /// Schemas that differ only in extensions for the generated enum (known values and variant names) have
    /// separate types.
    #[test]
    fn value_labels_distinguish_types() {
        let text = r#"{"type": "object", "properties": {
            "a": {"type": "string", "x-extensible-enum": ["p"]},
            "b": {"type": "string", "x-internal": true},
            "c": {"enum": ["p", "q"], "x-enum-varnames": ["One", "Two"]},
            "d": {"enum": ["p", "q"], "x-enum-varnames": ["One"]},
            "e": {"enum": ["p", "q", null], "x-enum-varnames": ["Three", "Four"]}
        }}"#;
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        let places = contract.diagnostics.iter().filter_map(|each| each.place.as_ref());
        let pointers: Vec<&str> = places.map(|place| place.pointer.as_str()).collect();
        assert_eq!(pointers, ["/properties/d"]);
        let mut lists: Vec<Vec<&str>> = Vec::new();
        for def in &contract.shapes.types {
            match &def.body {
                TypeBody::Struct(body) => assert_eq!(body.fields[1].ty, TypeRef::String),
                TypeBody::Enum(list) => {
                    lists.push(list.values.iter().map(|(_, name, _)| name.as_str()).collect())
                }
                other => panic!("{other:?}"),
            }
        }
        lists.sort_unstable();
        assert_eq!(lists, [vec!["One", "Two"], vec!["P"], vec!["P", "Q"], vec!["Three", "Four"]]);
    }
}
