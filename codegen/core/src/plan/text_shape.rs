//! Determines the string form of parameters, form fields and multipart parts from their schemas. The string
//! form describes how a string, or several `name=value` pairs, represent a value.

use std::cell::Cell;

use contract_runtime::{Json, media_type::MediaType, parameters::WireConvention};

use super::{ParameterRow, PlanInput, wire::WireSite};
use crate::{
    api::{Parameter, ParameterIn},
    config::WireSettings,
    conjunction::{SchemaConjunction, SchemaFacts},
    schema::{SchemaId, TypeSet},
};

/// The maximum nesting depths, tried in this order until the shape is small enough. Properties below the selected depth
/// are encoded as JSON.
const MAX_DEPTHS: [usize; 7] = [32, 16, 8, 4, 3, 2, 1];

/// The maximum number of nested values in the shape of an object. With mutually nested types, the number
/// multiplies with each level.
const MAX_PLACES: usize = 2_000;

/// The maximum number of valid values that are listed for a parameter.
const MAX_LISTED_VALUES: usize = 100;

/// The structure of a value in its string form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextShape {
    Scalar(TextScalar),
    Array(TextScalar),
    /// An object, with its declared properties and, if they are allowed, the form of undeclared properties.
    Object(Vec<(String, TextShape)>, Option<TextScalar>),
    /// A list whose elements are not scalars. Their encoding is defined by a [`WireConvention`].
    List(Box<TextShape>),
    /// An object whose undeclared properties are not scalars. Contains its declared properties and the shape
    /// of undeclared ones. Their encoding is defined by a [`WireConvention`].
    MapOf(Vec<(String, TextShape)>, Box<TextShape>),
    OneOf(Vec<TextShape>),
    Json,
    /// The value of a `querystring` parameter whose `content` is a form. Contains its fields and the string
    /// form of undeclared fields.
    Form(Vec<ParameterRow>, TextScalar),
}

/// The string form of a single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextScalar {
    Text,
    Number,
    /// An integer, with its maximum number of digits if the bounds limit it.
    Integer(Option<u16>),
    Boolean,
    Any,
    OneOf(TypeSet),
    Json,
}

impl TextScalar {
    /// Returns true if a string may represent values of several types.
    const fn is_mixed(self) -> bool {
        matches!(self, Self::Any | Self::OneOf(_))
    }
}

impl TextShape {
    /// Returns the scalar if the shape is a single value.
    const fn as_scalar(&self) -> Option<TextScalar> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    fn is_untyped(&self) -> bool {
        *self == Self::Json
    }

    /// Returns true if a string may represent several values, such as the number `1` and the string `"1"`. Only the
    /// schema then determines the value.
    pub(super) fn is_ambiguous(&self) -> bool {
        match self {
            Self::Scalar(scalar) | Self::Array(scalar) => scalar.is_mixed(),
            Self::Object(fields, others) => {
                others.is_some_and(TextScalar::is_mixed)
                    || fields.iter().any(|(_, shape)| shape.is_ambiguous())
            }
            Self::List(inner) => inner.is_untyped() || inner.is_ambiguous(),
            Self::MapOf(fields, others) => {
                let mut shapes = fields.iter().map(|(_, shape)| shape).chain([&**others]);
                shapes.any(|shape| shape.is_untyped() || shape.is_ambiguous())
            }
            Self::OneOf(_) => true,
            Self::Json | Self::Form(..) => false,
        }
    }
}

/// The remaining budget for the expansion of nested properties.
struct DepthBudget<'r> {
    depth: usize,
    /// The number of further levels whose values are not counted. The first levels are exempt, because an
    /// object may have any number of direct properties.
    free: usize,
    /// The number of values that remain for all other levels together.
    places: &'r Cell<usize>,
    /// True if nested values have their own shape instead of being encoded as JSON.
    nested: bool,
}

impl DepthBudget<'_> {
    /// Counts a nested value. Returns `None` if the limit of nested values is reached.
    fn take_place(&self) -> Option<()> {
        if self.free == 0 {
            self.places.set(self.places.get().checked_sub(1)?);
        }
        Some(())
    }

    /// Returns the budget for properties one level deeper, or `None` if no deeper level is allowed.
    const fn one_level_down(&self) -> Option<Self> {
        match self.depth.checked_sub(1) {
            Some(depth) => Some(Self { depth, free: self.free.saturating_sub(1), ..*self }),
            None => None,
        }
    }
}

/// Calls `look` with decreasing depths of [`MAX_DEPTHS`], and returns the first shape that stays within the
/// limits.
fn deepest_fitting(nested: bool, look: impl Fn(&DepthBudget<'_>) -> Option<TextShape>) -> TextShape {
    let within = |depth| look(&DepthBudget { depth, free: 2, places: &Cell::new(MAX_PLACES), nested });
    MAX_DEPTHS.into_iter().find_map(within).unwrap_or(TextShape::Json)
}

/// A declared property of an object.
pub(super) struct DeclaredMember {
    pub(super) name: String,
    /// The schemas of the property's value: one conjunction if the schemas always apply, or else one for each
    /// branch that declares the property.
    pub(super) places: Vec<SchemaConjunction>,
    /// True if every object must contain the property.
    pub(super) required: bool,
}

impl DeclaredMember {
    /// Returns the schema of the property if only one schema describes it.
    pub(super) fn single_schema(&self) -> Option<SchemaId> {
        match self.places.as_slice() {
            [SchemaConjunction { ids, .. }] => ids.first().copied().filter(|_| ids.len() == 1),
            _ => None,
        }
    }
}

impl PlanInput<'_> {
    /// Returns the string form of a parameter, and the convention for its lists and nested values if that differs from
    /// the convention of OpenAPI.
    pub(super) fn parameter_shape(&self, parameter: &Parameter) -> (TextShape, Option<WireConvention>) {
        let usual = self.usual_shape(parameter);
        let schema = parameter
            .schema
            .filter(|_| parameter.content.is_none() && parameter.location == ParameterIn::Query);
        let Some(place) = schema.map(SchemaConjunction::from_schema) else { return (usual, None) };
        let site = WireSite {
            name: &parameter.name,
            examples: &parameter.examples,
            places: std::slice::from_ref(&place),
            in_form: false,
            form: WireSettings::default(),
            style: &parameter.style,
            explode: parameter.explode,
            usual,
        };
        self.wire_shape(site, || deepest_fitting(true, |room| self.shape_within(&place, room)))
    }

    /// Returns the string form of a parameter under the encoding that OpenAPI defines.
    fn usual_shape(&self, parameter: &Parameter) -> TextShape {
        if let Some(content) = &parameter.content {
            let media_type = MediaType::parse(content);
            if parameter.location == ParameterIn::QueryString && media_type.is_form() {
                let (fields, others) =
                    self.form_fields(parameter.schema, &parameter.encoding, &parameter.examples);
                return TextShape::Form(fields, others);
            }
        }
        self.described_shape(parameter.schema, parameter.content.as_deref())
    }

    /// Returns the string form of a value that a schema describes. `content` is the media type, if the string is
    /// a document.
    pub(super) fn described_shape(&self, schema: Option<SchemaId>, content: Option<&str>) -> TextShape {
        match (content, schema) {
            (Some(content), _) if MediaType::parse(content).is_json() => TextShape::Json,
            (None, Some(schema)) => self.shape_at(&SchemaConjunction::from_schema(schema)),
            _ => TextShape::Scalar(TextScalar::Text),
        }
    }

    /// Returns the valid strings of a parameter or, for a list parameter, of each element. The result is empty if other
    /// strings are valid as well, if a value is not a scalar, or if there are more than [`MAX_LISTED_VALUES`].
    pub(super) fn allowed_values(&self, parameter: &Parameter) -> Vec<String> {
        let Some(schema) = parameter.schema.filter(|_| parameter.content.is_none()) else {
            return Vec::new();
        };
        let facts = self.facts_of(&SchemaConjunction::from_schema(schema));
        let is_list = facts.types.difference(TypeSet::NULL) == TypeSet::ARRAY;
        let items =
            if is_list { self.items_of(&facts).map(|items| self.facts_of(&items)) } else { Some(facts) };
        let literals = items.and_then(|facts| facts.allowed_literals(self.graph)).unwrap_or_default();
        let text = |literal: &&Json| match literal {
            Json::String(text) => Some(text.clone()),
            Json::Number(_) | Json::Bool(_) => Some(literal.to_string()),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        };
        let values = literals.iter().filter(|literal| !literal.is_null()).map(text);
        values
            .collect::<Option<Vec<String>>>()
            .filter(|all| all.len() <= MAX_LISTED_VALUES)
            .unwrap_or_default()
    }

    /// Returns the string form of the value that a conjunction describes. A value without constraints is
    /// treated as a scalar.
    pub(super) fn shape_at(&self, place: &SchemaConjunction) -> TextShape {
        deepest_fitting(false, |room| self.shape_within(place, room))
    }

    pub(super) fn facts_of(&self, place: &SchemaConjunction) -> SchemaFacts {
        SchemaFacts::from_conjunction(self.graph, place, self.implied_objects)
    }

    /// Returns the string form of the value that a conjunction describes, or `None` if it exceeds the limits.
    fn shape_within(&self, place: &SchemaConjunction, room: &DepthBudget) -> Option<TextShape> {
        room.take_place()?;
        let facts = self.facts_of(place);
        // `null` has no string form.
        let types = facts.types.difference(TypeSet::NULL);
        if types == TypeSet::ALL.difference(TypeSet::NULL) {
            return Some(TextShape::Scalar(TextScalar::Any));
        }
        let plain = types.difference(TypeSet::ARRAY).difference(TypeSet::OBJECT);
        if plain == types && !plain.is_empty() {
            return Some(TextShape::Scalar(self.scalar_of(plain, &facts)));
        }
        let Some(below) = room.one_level_down() else { return Some(TextShape::Json) };
        let mut shapes = Vec::new();
        if !plain.is_empty() {
            shapes.push(TextShape::Scalar(self.scalar_of(plain, &facts)));
        }
        if types.contains(TypeSet::ARRAY) {
            let items = match self.items_of(&facts) {
                None => TextShape::Scalar(TextScalar::Any),
                Some(items) => self.shape_within(&items, &below)?,
            };
            shapes.push(match items.as_scalar() {
                None if room.nested => TextShape::List(Box::new(items)),
                scalar => TextShape::Array(scalar.unwrap_or(TextScalar::Json)),
            });
        }
        if types.contains(TypeSet::OBJECT) {
            let fields = self.members_of(&facts).into_iter().map(|member| {
                // Nested arrays and unions inside an object are encoded as JSON.
                let shape = match self.member_shape_within(&member, &below)? {
                    TextShape::OneOf(_) | TextShape::Array(TextScalar::Json) if !room.nested => {
                        TextShape::Json
                    }
                    other => other,
                };
                Some((member.name, shape))
            });
            let fields = fields.collect::<Option<Vec<_>>>()?;
            let mut nested_others = None;
            let others = match self.additional_members(&facts) {
                // An object without declared properties consists only of undeclared ones, because an absent
                // `additionalProperties` is equivalent to `true` (JSON Schema, 10.3.2.3). If there were
                // declared properties, undeclared ones would absorb other parameters.
                None if fields.is_empty() && self.is_open(&facts) => Some(TextScalar::Any),
                None => None,
                Some(others) => {
                    let shape = self.shape_within(&others, &below)?;
                    let scalar = shape.as_scalar();
                    if room.nested && scalar.is_none() {
                        nested_others = Some(shape);
                    }
                    Some(scalar.unwrap_or(TextScalar::Json))
                }
            };
            shapes.push(match nested_others {
                Some(others) => TextShape::MapOf(fields, Box::new(others)),
                None => TextShape::Object(fields, others),
            });
        }
        Some(match shapes.len() {
            0 => TextShape::Scalar(TextScalar::Any),
            1 => shapes.remove(0),
            _ => TextShape::OneOf(shapes),
        })
    }

    fn scalar_of(&self, plain: TypeSet, facts: &SchemaFacts) -> TextScalar {
        if plain == TypeSet::INTEGER {
            TextScalar::Integer(self.max_digits(facts))
        } else if TypeSet::NUMBER.contains(plain) {
            TextScalar::Number
        } else if plain == TypeSet::BOOLEAN {
            TextScalar::Boolean
        } else if plain == TypeSet::STRING {
            TextScalar::Text
        } else {
            TextScalar::OneOf(plain)
        }
    }

    /// Returns the maximum number of digits of an integer, derived from its bounds. Returns `None` if a bound is
    /// missing or too large.
    fn max_digits(&self, facts: &SchemaFacts) -> Option<u16> {
        let schemas = || facts.unconditional.iter().map(|&id| self.graph.schema(id));
        let least = schemas().filter_map(|s| s.minimum.as_ref().or(s.exclusive_minimum.as_ref())).max()?;
        let most = schemas().filter_map(|s| s.maximum.as_ref().or(s.exclusive_maximum.as_ref())).min()?;
        let widest = least.ceil()?.unsigned_abs().max(most.floor()?.unsigned_abs());
        u16::try_from(widest.checked_ilog10().unwrap_or(0) + 1).ok()
    }

    /// Returns the string form of a property, or [`TextScalar::Any`] if the branches have different forms.
    pub(super) fn member_shape(&self, member: &DeclaredMember) -> TextShape {
        deepest_fitting(false, |room| self.member_shape_within(member, room))
    }

    /// Returns the string form of a property in which each nested value has its own shape.
    pub(super) fn nested_member_shape(&self, member: &DeclaredMember) -> TextShape {
        deepest_fitting(true, |room| self.member_shape_within(member, room))
    }

    fn member_shape_within(&self, member: &DeclaredMember, room: &DepthBudget) -> Option<TextShape> {
        let shapes = member.places.iter().map(|place| self.shape_within(place, room));
        let mut shapes = shapes.collect::<Option<Vec<TextShape>>>()?.into_iter();
        let first = shapes.next().unwrap_or(TextShape::Scalar(TextScalar::Any));
        Some(if shapes.all(|shape| shape == first) { first } else { TextShape::Scalar(TextScalar::Any) })
    }

    /// Returns the conjunction of the schemas for an array's elements.
    pub(super) fn items_of(&self, facts: &SchemaFacts) -> Option<SchemaConjunction> {
        let items = |ids: &[SchemaId]| -> Vec<SchemaId> {
            ids.iter().filter_map(|&id| self.graph.schema(id).items).collect()
        };
        let always = items(&facts.unconditional);
        if always.is_empty() {
            return items(&facts.conditional).first().copied().map(SchemaConjunction::from_schema);
        }
        Some(SchemaConjunction::from_schemas(always))
    }

    /// Returns the declared properties of an object, including those that branches declare.
    pub(super) fn members_of(&self, facts: &SchemaFacts) -> Vec<DeclaredMember> {
        let required = facts.required_names(self.graph);
        let declared = facts.declared_properties(self.graph).into_iter();
        let member = |(name, always, sometimes): (&str, Vec<SchemaId>, Vec<SchemaId>)| {
            let mut places: Vec<SchemaConjunction> = match always.as_slice() {
                [] => sometimes.into_iter().map(SchemaConjunction::from_schema).collect(),
                always => vec![SchemaConjunction::from_schemas(always.iter().copied())],
            };
            places.sort_unstable();
            places.dedup();
            DeclaredMember { name: name.to_owned(), places, required: required.contains(name) }
        };
        declared.map(member).collect()
    }

    /// Returns the first schema in `additionalProperties` that explicitly allows undeclared properties, as a
    /// conjunction.
    pub(super) fn additional_members(&self, facts: &SchemaFacts) -> Option<SchemaConjunction> {
        let all = facts.unconditional.iter().chain(&facts.conditional);
        let mut others = all.filter_map(|&id| self.graph.schema(id).additional_properties);
        others
            .find(|&others| self.graph.schema(others).boolean != Some(false))
            .map(SchemaConjunction::from_schema)
    }

    /// Returns true if an object may contain properties that `properties` does not declare.
    fn is_open(&self, facts: &SchemaFacts) -> bool {
        let patterns = |&id: &SchemaId| !self.graph.schema(id).pattern_properties.is_empty();
        !self.is_closed(facts) || facts.unconditional.iter().any(patterns)
    }

    /// Returns true if undeclared properties are forbidden.
    pub(super) fn is_closed(&self, facts: &SchemaFacts) -> bool {
        facts.unconditional.iter().any(|&id| {
            let schema = self.graph.schema(id);
            let mut others = [schema.additional_properties, schema.unevaluated_properties].into_iter();
            others.any(|id| id.is_some_and(|id| self.graph.schema(id).boolean == Some(false)))
        })
    }
}
