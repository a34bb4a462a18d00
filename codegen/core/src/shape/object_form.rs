//! The forms of the branches of an object union without a tag. The form of a branch describes the objects
//! that the branch accepts: their properties, and the JSON types and constants of these properties.
//!
//! Forms are derived when code is generated. To select a variant, parsing compares the object with the form
//! of each branch, and uses the validation tables only if several forms match.

use std::fmt;

use contract_runtime::{Json, Map};

use super::{tags::is_comparable_literal, unions::UnionBranch};
use crate::{
    conjunction::{SchemaConjunction, SchemaFacts, may_have_type},
    options::SchemaOptions,
    schema::{SchemaGraph, TypeSet},
};

/// The maximum number of properties that the description of a form lists.
const MAX_SHOWN_MEMBERS: usize = 5;

/// The form of the objects that a branch accepts: every accepted object has this form, but not every object
/// of this form is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectForm {
    /// The declared properties, in document order, followed by required properties that are not declared.
    pub members: Vec<MemberRule>,
    /// True if other properties are not allowed.
    pub closed: bool,
}

/// The rule for a property in an [`ObjectForm`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRule {
    /// The property name.
    pub name: String,
    /// True if the property must be present.
    pub required: bool,
    /// The JSON types that the value may have.
    pub types: TypeSet,
    /// The only values that the property may have. The list is empty if other values are allowed, or if a
    /// value is not a string, boolean or integer.
    pub literals: Vec<Json>,
    /// True for a tag, whose value selects the branch of every object that has this property. An object whose
    /// tag value is not in `literals` does not have this form.
    pub is_tag: bool,
}

impl ObjectForm {
    /// Derives the properties, JSON types and constants by which an object is recognized as a value of this
    /// branch.
    pub(super) fn of_branch(graph: &SchemaGraph, options: &SchemaOptions, branch: &UnionBranch) -> Self {
        let facts = &branch.facts;
        let required = facts.required_names(graph);
        let declared = facts.declared_properties(graph);
        let mut members: Vec<MemberRule> = Vec::new();
        for (name, always, _) in &declared {
            let place = SchemaConjunction::from_schemas(always.iter().copied());
            let value = SchemaFacts::from_conjunction(graph, &place, options.implied_objects);
            let (types, literals) = if always.is_empty() {
                (TypeSet::ALL, Vec::new())
            } else {
                (value.types, value.allowed_literals(graph).unwrap_or_default())
            };
            // If parsing cannot compare one of the allowed values, the form does not restrict the values.
            let literals: Vec<Json> = if literals.iter().copied().all(is_comparable_literal) {
                literals.into_iter().cloned().collect()
            } else {
                Vec::new()
            };
            members.push(MemberRule {
                name: (*name).to_owned(),
                required: required.contains(name),
                types,
                literals,
                is_tag: false,
            });
        }
        for name in required.iter().filter(|name| !declared.iter().any(|(declared, ..)| declared == *name)) {
            members.push(MemberRule {
                name: (*name).to_owned(),
                required: true,
                types: TypeSet::ALL,
                literals: Vec::new(),
                is_tag: false,
            });
        }
        // A form is closed if one of the schemas declares all properties of the form and forbids all others.
        let closed = facts.unconditional.iter().any(|&id| {
            let schema = graph.schema(id);
            schema.pattern_properties.is_empty()
                && schema.additional_properties.is_some_and(|rest| graph.schema(rest).boolean == Some(false))
                && members.iter().all(|rule| schema.properties.iter().any(|(name, _)| *name == rule.name))
        });
        Self { members, closed }
    }

    /// Returns true if only the object without properties has this form.
    pub(super) fn is_empty_object(&self) -> bool {
        self.closed && self.members.is_empty()
    }

    /// Returns true if an object has this form. A property with a single allowed value must have this value,
    /// and a tag must have one of its values. For other properties, the list of allowed values is ignored,
    /// because it may grow in future versions and unlisted values are kept.
    #[must_use]
    pub fn fits(&self, object: &Map<Json>) -> bool {
        let fits = |rule: &MemberRule| match object.get(&rule.name) {
            None => !rule.required,
            Some(value) => {
                rule.allows_type(value) && (rule.literals.len() != 1 && !rule.is_tag || rule.lists(value))
            }
        };
        self.members.iter().all(fits)
            && (!self.closed || object.keys().all(|name| self.members.iter().any(|rule| rule.name == *name)))
    }

    /// Returns true if the object has, for every property with a list of allowed values, one of these values
    /// or no value.
    #[must_use]
    pub fn fits_lists(&self, object: &Map<Json>) -> bool {
        self.members.iter().all(|rule| object.get(&rule.name).is_none_or(|value| rule.lists(value)))
    }

    /// Returns the number of properties of an object that the form declares.
    #[must_use]
    pub fn count_declared(&self, object: &Map<Json>) -> usize {
        object.keys().filter(|name| self.members.iter().any(|rule| rule.name == **name)).count()
    }
}

impl fmt::Display for ObjectForm {
    /// Formats the properties that characterize the form: ``with `id`, `login` ``, or ``that may have `meow`,
    /// … ``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |rules: Vec<&MemberRule>| {
            let mut names: Vec<String> =
                rules.iter().take(MAX_SHOWN_MEMBERS).map(|rule| format!("`{}`", rule.name)).collect();
            if rules.len() > MAX_SHOWN_MEMBERS {
                names.push("…".to_owned());
            }
            names.join(", ")
        };
        let required: Vec<&MemberRule> = self.members.iter().filter(|rule| rule.required).collect();
        if self.is_empty_object() {
            f.write_str("without properties")
        } else if required.is_empty() {
            write!(f, "that may have {}", quoted(self.members.iter().collect()))
        } else {
            write!(f, "with {}", quoted(required))
        }
    }
}

impl MemberRule {
    fn allows_type(&self, value: &Json) -> bool {
        may_have_type(value, self.types)
    }

    fn lists(&self, value: &Json) -> bool {
        self.literals.is_empty() || self.literals.contains(value)
    }
}
