//! Anonymous schemas that say the same: they share one type, named after the first of them.
//!
//! What a schema says of itself (`title`, `description`, `default`) may differ, since it is printed
//! where the schema stands; what it says of its members may not, since a type has one documentation
//! of each.

use std::collections::{HashMap, HashSet};

use super::build::Shaper;
use crate::schema::{Contains, DynamicReference, Schema, SchemaId};

/// Finds the first schema of each kind.
struct Kinds<'s, 'a> {
    shaper: &'s Shaper<'a>,
    /// The first schema that says something.
    first: HashMap<Schema, SchemaId>,
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
    default: Option<contract_runtime::Json>,
}

impl Shaper<'_> {
    /// For each anonymous schema that says what an earlier one says, the earlier one.
    pub(super) fn equals(&self) -> Vec<(SchemaId, SchemaId)> {
        let dynamic = self.graph.resources.iter().any(|r| !r.dynamic_anchors.is_empty());
        let mut kinds = Kinds {
            shaper: self,
            first: HashMap::new(),
            known: HashMap::new(),
            described: HashMap::new(),
            open: HashSet::new(),
            dynamic,
        };
        let all = self.graph.ids().filter(|id| !self.names.contains_key(id));
        all.filter_map(|id| Some((id, kinds.kind(id))).filter(|(id, first)| id != first)).collect()
    }

    /// Whether the owner decided something about exactly this schema.
    fn is_chosen(&self, id: SchemaId) -> bool {
        let options = self.options;
        options.names.contains_key(&id)
            || options.secrets.contains(&id)
            || options.replace.contains_key(&id)
            || options.open.contains(&id)
            || options.closed.contains(&id)
    }
}

impl Kinds<'_, '_> {
    /// The first schema that says what this one says: itself when it has a name, when the owner
    /// decided about it, or when it stands inside itself.
    fn kind(&mut self, id: SchemaId) -> SchemaId {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let shaper = self.shaper;
        let target = shaper.shapes.aliases.get(&id).copied().unwrap_or(id);
        let schema = shaper.graph.schema(target);
        if shaper.names.contains_key(&target)
            || shaper.is_chosen(id)
            || shaper.is_chosen(target)
            || schema.dynamic_reference.is_some()
            || !self.open.insert(target)
        {
            return target;
        }
        let said = self.said(target, schema);
        self.open.remove(&target);
        let first = *self.first.entry(said).or_insert(target);
        self.known.insert(id, first);
        first
    }

    /// The first schema that says this and is described in the same words.
    fn member(&mut self, id: SchemaId) -> SchemaId {
        let first = self.kind(id);
        let schema = self.shaper.graph.schema(id);
        let words = Words {
            title: schema.title.clone(),
            description: schema.description.clone(),
            default: schema.default.clone(),
        };
        *self.described.entry((first, words)).or_insert(id)
    }

    /// What a schema says, without where it stands and without what it says of itself.
    fn said(&mut self, id: SchemaId, schema: &Schema) -> Schema {
        let place = crate::tree::Place {
            // Requests and answers read differently.
            source: crate::tree::SourceId(u32::from(self.shaper.options.requests.contains(&id))),
            ..Default::default()
        };
        let named = |list: &[(String, SchemaId)], kinds: &mut Self| -> Vec<(String, SchemaId)> {
            list.iter().map(|(name, id)| (name.clone(), kinds.member(*id))).collect()
        };
        let properties = named(&schema.properties, self);
        let pattern_properties = named(&schema.pattern_properties, self);
        let dependent_schemas = named(&schema.dependent_schemas, self);
        let resource = if self.dynamic { schema.resource } else { Default::default() };
        let mut list = |list: &[SchemaId]| -> Vec<SchemaId> { list.iter().map(|id| self.member(*id)).collect() };
        let prefix_items = list(&schema.prefix_items);
        let all_of = list(&schema.all_of);
        let any_of = list(&schema.any_of);
        let one_of = list(&schema.one_of);
        let mut one = |id: Option<SchemaId>| id.map(|id| self.member(id));
        Schema {
            place,
            resource,
            location: String::new(),
            origin: Default::default(),
            boolean: schema.boolean,
            reference: one(schema.reference),
            dynamic_reference: schema.dynamic_reference.as_ref().map(|dynamic| DynamicReference {
                anchor: dynamic.anchor.clone(),
                initial: dynamic.initial,
            }),
            definitions: Vec::new(),
            title: None,
            description: None,
            default: None,
            examples: Vec::new(),
            deprecated: false,
            read_only: false,
            write_only: false,
            format: schema.format.clone(),
            content_encoding: schema.content_encoding.clone(),
            content_media_type: schema.content_media_type.clone(),
            content_schema: None,
            extensions: Default::default(),
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
    use crate::{generate::Project, load::Sources, shape::Body};

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
}
