//! Decides how text becomes a value, by what the schemas of a place say together: parameters,
//! fields of forms, parts.

use std::cell::Cell;

use contract_runtime::{Json, media::MediaType};

use super::{Given, Row};
use crate::{
    api::{Parameter, ParameterIn},
    schema::{SchemaId, Types},
    together::{Conj, Facts},
};

/// How deep members are looked into at most, and how much less deep where that is too much: what nests
/// further is JSON text.
const DEPTHS: [usize; 7] = [32, 16, 8, 4, 3, 2, 1];

/// So many values an object is made of at most behind its own members: types that hold each other are more
/// with every step.
const PLACES: usize = 2_000;

/// So many values are listed.
const MANY: usize = 100;

/// What a parameter, or a field of a form, stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// One value.
    Scalar(Scalar),
    /// A list of values.
    Array(Scalar),
    /// An object: its members, and what others are where the contract says so.
    Object(Vec<(String, Shape)>, Option<Scalar>),
    /// One of several.
    OneOf(Vec<Shape>),
    /// A JSON document.
    Json,
    /// A form: its fields, and what others are.
    Form(Vec<Row>, Scalar),
}

/// One piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scalar {
    /// A string.
    Text,
    /// A number.
    Number,
    /// A whole number of at most so many digits, where its bounds say how many there can be.
    Integer(Option<u16>),
    /// A boolean.
    Boolean,
    /// Whatever it looks like.
    Any,
    /// One of these types.
    Of(Types),
    /// A JSON document.
    Json,
}

impl Scalar {
    /// Whether a text may stand for values of several types.
    const fn is_mixed(self) -> bool {
        matches!(self, Self::Any | Self::Of(_))
    }
}

impl Shape {
    /// The piece of text that it is, where it is one.
    const fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Whether a text may stand for several values, so that only the schema can tell.
    pub(super) fn is_ambiguous(&self) -> bool {
        match self {
            Self::Scalar(scalar) | Self::Array(scalar) => scalar.is_mixed(),
            Self::Object(fields, others) => {
                others.is_some_and(Scalar::is_mixed) || fields.iter().any(|(_, shape)| shape.is_ambiguous())
            }
            Self::OneOf(_) => true,
            Self::Json | Self::Form(..) => false,
        }
    }
}

/// How much further members are looked into.
struct Room<'r> {
    /// How many levels are left.
    depth: usize,
    /// How many of them are not counted: an object has as many members as the contract says.
    free: usize,
    /// How many values are left in all others together.
    places: &'r Cell<usize>,
}

impl Room<'_> {
    /// Takes a value; `None` where there is no room for it.
    fn take(&self) -> Option<()> {
        if self.free == 0 {
            self.places.set(self.places.get().checked_sub(1)?);
        }
        Some(())
    }

    /// What is left for members; `None` for none.
    const fn below(&self) -> Option<Self> {
        match self.depth.checked_sub(1) {
            Some(depth) => Some(Self { depth, free: self.free.saturating_sub(1), ..*self }),
            None => None,
        }
    }
}

/// Looks as deep as there is room, every member as deep as the others.
fn as_deep_as_it_can_be(look: impl Fn(&Room<'_>) -> Option<Shape>) -> Shape {
    let within = |depth| look(&Room { depth, free: 2, places: &Cell::new(PLACES) });
    DEPTHS.into_iter().find_map(within).unwrap_or(Shape::Json)
}

/// A declared member of an object.
pub(super) struct Member {
    /// Its name on the wire.
    pub(super) name: String,
    /// What describes it, as one place each: one for the schemas that always apply, or one for
    /// each branch that declares it.
    pub(super) places: Vec<Conj>,
    /// Whether every object has it.
    pub(super) required: bool,
}

impl Member {
    /// The schema that describes it, when it is one.
    pub(super) fn schema(&self) -> Option<SchemaId> {
        match self.places.as_slice() {
            [Conj { ids, .. }] => ids.first().copied().filter(|_| ids.len() == 1),
            _ => None,
        }
    }
}

impl Given<'_> {
    /// The shape of a parameter.
    pub(super) fn text_of(&self, parameter: &Parameter) -> Shape {
        if let Some(content) = &parameter.content {
            let media_type = MediaType::of(content);
            if parameter.location == ParameterIn::QueryString && media_type.is_form() {
                let (fields, others) = self.form(parameter.schema, &parameter.encoding);
                return Shape::Form(fields, others);
            }
            return if media_type.is_json() { Shape::Json } else { Shape::Scalar(Scalar::Text) };
        }
        parameter.schema.map_or(Shape::Scalar(Scalar::Text), |schema| self.text(&Conj::one(schema)))
    }

    /// The only texts that a parameter, or each element of a list, can be. None where there are others, where one
    /// is no plain value, and where they are too many to list.
    pub(super) fn values_of(&self, parameter: &Parameter) -> Vec<String> {
        let Some(schema) = parameter.schema.filter(|_| parameter.content.is_none()) else {
            return Vec::new();
        };
        let facts = self.facts(&Conj::one(schema));
        let is_list = facts.types.without(Types::NULL) == Types::ARRAY;
        let items = if is_list { self.items(&facts).map(|items| self.facts(&items)) } else { Some(facts) };
        let literals = items.and_then(|facts| facts.literals(self.graph)).unwrap_or_default();
        let text = |literal: &&Json| match literal {
            Json::String(text) => Some(text.clone()),
            Json::Number(_) | Json::Bool(_) => Some(literal.to_string()),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        };
        let values = literals.iter().filter(|literal| !literal.is_null()).map(text);
        values.collect::<Option<Vec<String>>>().filter(|all| all.len() <= MANY).unwrap_or_default()
    }

    /// The shape of a place. One where nothing is said about types holds plain values.
    pub(super) fn text(&self, place: &Conj) -> Shape {
        as_deep_as_it_can_be(|room| self.text_at(place, room))
    }

    /// What holds at a place.
    pub(super) fn facts(&self, place: &Conj) -> Facts {
        Facts::of(self.graph, place, self.implied_objects)
    }

    /// `None` where it takes more than there is room for.
    fn text_at(&self, place: &Conj, room: &Room) -> Option<Shape> {
        room.take()?;
        let facts = self.facts(place);
        // `null` has no text.
        let types = facts.types.without(Types::NULL);
        if types == Types::ALL.without(Types::NULL) {
            return Some(Shape::Scalar(Scalar::Any));
        }
        let plain = types.without(Types::ARRAY).without(Types::OBJECT);
        if plain == types && !plain.is_empty() {
            return Some(Shape::Scalar(self.scalar(plain, &facts)));
        }
        let Some(below) = room.below() else { return Some(Shape::Json) };
        let mut shapes = Vec::new();
        if !plain.is_empty() {
            shapes.push(Shape::Scalar(self.scalar(plain, &facts)));
        }
        if types.contains(Types::ARRAY) {
            shapes.push(Shape::Array(match self.items(&facts) {
                None => Scalar::Any,
                Some(items) => self.text_at(&items, &below)?.scalar().unwrap_or(Scalar::Json),
            }));
        }
        if types.contains(Types::OBJECT) {
            let fields = self.members(&facts).into_iter().map(|member| {
                // Lists of lists and unions inside of an object are JSON text.
                let shape = match self.text_within(&member, &below)? {
                    Shape::OneOf(_) | Shape::Array(Scalar::Json) => Shape::Json,
                    other => other,
                };
                Some((member.name, shape))
            });
            let fields = fields.collect::<Option<Vec<_>>>()?;
            let others = match self.others(&facts) {
                // Members that nobody names are all there is of it (JSON Schema, 10.3.2.3: what is absent is
                // as good as `true`). Beside declared ones they would take in what belongs to others.
                None if fields.is_empty() && self.is_open(&facts) => Some(Scalar::Any),
                None => None,
                Some(others) => Some(self.text_at(&others, &below)?.scalar().unwrap_or(Scalar::Json)),
            };
            shapes.push(Shape::Object(fields, others));
        }
        Some(match shapes.len() {
            0 => Shape::Scalar(Scalar::Any),
            1 => shapes.remove(0),
            _ => Shape::OneOf(shapes),
        })
    }

    fn scalar(&self, plain: Types, facts: &Facts) -> Scalar {
        if plain == Types::INTEGER {
            Scalar::Integer(self.digits(facts))
        } else if Types::NUMBER.contains(plain) {
            Scalar::Number
        } else if plain == Types::BOOLEAN {
            Scalar::Boolean
        } else if plain == Types::STRING {
            Scalar::Text
        } else {
            Scalar::Of(plain)
        }
    }

    /// How many digits a whole number can have by its bounds.
    fn digits(&self, facts: &Facts) -> Option<u16> {
        let schemas = || facts.members.iter().map(|&id| self.graph.schema(id));
        let least = schemas().filter_map(|s| s.minimum.as_ref().or(s.exclusive_minimum.as_ref())).max()?;
        let most = schemas().filter_map(|s| s.maximum.as_ref().or(s.exclusive_maximum.as_ref())).min()?;
        let widest = least.ceil()?.unsigned_abs().max(most.floor()?.unsigned_abs());
        u16::try_from(widest.checked_ilog10().unwrap_or(0) + 1).ok()
    }

    /// The shape of a member: what all branches that declare it agree on.
    pub(super) fn text_of_member(&self, member: &Member) -> Shape {
        as_deep_as_it_can_be(|room| self.text_within(member, room))
    }

    fn text_within(&self, member: &Member, room: &Room) -> Option<Shape> {
        let shapes = member.places.iter().map(|place| self.text_at(place, room));
        let mut shapes = shapes.collect::<Option<Vec<Shape>>>()?.into_iter();
        let first = shapes.next().unwrap_or(Shape::Scalar(Scalar::Any));
        Some(if shapes.all(|shape| shape == first) { first } else { Shape::Scalar(Scalar::Any) })
    }

    /// The place of a list's elements.
    pub(super) fn items(&self, facts: &Facts) -> Option<Conj> {
        let items = |ids: &[SchemaId]| -> Vec<SchemaId> {
            ids.iter().filter_map(|&id| self.graph.schema(id).items).collect()
        };
        let always = items(&facts.members);
        if always.is_empty() {
            return items(&facts.conditional).first().copied().map(Conj::one);
        }
        Some(Conj::all(always))
    }

    /// The declared members of an object, those of branches too.
    pub(super) fn members(&self, facts: &Facts) -> Vec<Member> {
        let required = facts.required(self.graph);
        let declared = facts.declared(self.graph).into_iter();
        let member = |(name, always, sometimes): (&str, Vec<SchemaId>, Vec<SchemaId>)| {
            let mut places: Vec<Conj> = match always.as_slice() {
                [] => sometimes.into_iter().map(Conj::one).collect(),
                always => vec![Conj::all(always.iter().copied())],
            };
            places.sort_unstable();
            places.dedup();
            Member { name: name.to_owned(), places, required: required.contains(name) }
        };
        declared.map(member).collect()
    }

    /// What `additionalProperties` says of members beside the declared ones, where it says something.
    pub(super) fn others(&self, facts: &Facts) -> Option<Conj> {
        let all = facts.members.iter().chain(&facts.conditional);
        let mut others = all.filter_map(|&id| self.graph.schema(id).additional_properties);
        others.find(|&others| self.graph.schema(others).boolean != Some(false)).map(Conj::one)
    }

    /// Whether members beside the declared ones may be allowed.
    fn is_open(&self, facts: &Facts) -> bool {
        let patterns = |&id: &SchemaId| !self.graph.schema(id).pattern_properties.is_empty();
        !self.is_closed(facts) || facts.members.iter().any(patterns)
    }

    /// Whether no members are allowed beside the declared ones.
    pub(super) fn is_closed(&self, facts: &Facts) -> bool {
        facts.members.iter().any(|&id| {
            let schema = self.graph.schema(id);
            let mut others = [schema.additional_properties, schema.unevaluated_properties].into_iter();
            others.any(|id| id.is_some_and(|id| self.graph.schema(id).boolean == Some(false)))
        })
    }
}
