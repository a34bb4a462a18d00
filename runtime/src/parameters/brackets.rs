//! Functions for bracketed names (`items[0][price]=1`) that encoding and decoding share.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ArrayNotation, NestedNotation, Parameter, ParameterStyle, ScalarType, ValueShape, WireConvention,
};
use crate::schema::TypeSet;

impl WireConvention {
    /// The convention for lists in the style `form`.
    pub(super) const REPEATED: Self = Self { nested: NestedNotation::Json, arrays: ArrayNotation::Repeat };

    /// The notation for a list that contains lists or objects, or `None` if it is encoded as JSON.
    #[cfg(feature = "client")]
    pub(super) const fn nested_lists(self) -> Option<ArrayNotation> {
        match (self.nested, self.arrays) {
            (NestedNotation::Json, _) => None,
            (NestedNotation::Indices, _) | (NestedNotation::Brackets, ArrayNotation::Comma) => {
                Some(ArrayNotation::Indices)
            }
            (NestedNotation::Brackets, arrays) => Some(arrays),
        }
    }
}

impl Parameter {
    /// Returns the convention, if lists and nested values are encoded as bracketed names.
    pub(super) fn bracket_convention(&self) -> Option<WireConvention> {
        let deep = self.style == ParameterStyle::DeepObject && !matches!(self.shape, ValueShape::Json);
        self.wire.or(deep.then_some(WireConvention::DEEP_OBJECT))
    }

    /// Returns true if a name in a query or form belongs to this parameter. This is the name of the
    /// parameter, or that name with brackets if lists and objects are encoded with brackets.
    pub(super) fn owns_name(&self, name: &str) -> bool {
        let Some(below) = name.strip_prefix(self.name) else { return false };
        let is_list = self.explode && matches!(self.shape, ValueShape::Array(_));
        match below.is_empty() {
            true => true,
            false if self.bracket_convention().is_some() => below.starts_with('['),
            false => is_list && is_index_suffix(below),
        }
    }
}

/// Returns true for the brackets of a list element, such as `[]` or `[7]`.
pub(super) fn is_index_suffix(below: &str) -> bool {
    let step = below.strip_prefix('[').and_then(|step| step.strip_suffix(']'));
    step.is_some_and(is_index)
}

/// Returns true for the content of a list element's brackets, which is empty or consists of digits.
pub(super) fn is_index(step: &str) -> bool {
    step.bytes().all(|byte| byte.is_ascii_digit())
}

/// The elements of a list, each with the indices of its pairs.
pub(super) type ElementGroups = Vec<Vec<usize>>;

/// Assigns pairs to the elements of a list, by their path below the list: `[0]`, `[]`, or none. Elements with
/// an index are sorted by the index. Without an index, a path that occurs again starts the next element.
/// Returns the elements, and for each pair the number of steps that belong to the list. Returns `None` if an
/// element is ambiguous.
pub(super) fn group_elements<S: AsRef<str> + Ord>(
    paths: &[&[S]],
    element: ValueShape,
) -> Option<(ElementGroups, Vec<usize>)> {
    let has_index = |path: &&[S]| first_step(path).is_some_and(|step| !step.is_empty() && is_index(step));
    let is_indexed = paths.iter().any(has_index);
    let mixed = is_indexed && !paths.iter().all(has_index);
    if mixed && paths.iter().all(|path| path.len() == 1 && first_step(path).is_some_and(is_index)) {
        return Some(((0..paths.len()).map(|at| vec![at]).collect(), vec![1; paths.len()]));
    }
    if is_indexed {
        let mut elements: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, path) in paths.iter().enumerate() {
            let index = first_step(path).filter(|step| !step.is_empty() && is_index(step))?.parse().ok()?;
            elements.entry(index).or_default().push(at);
        }
        return Some((elements.into_values().collect(), vec![1; paths.len()]));
    }
    let taken: Vec<usize> = paths.iter().map(|path| usize::from(first_step(path) == Some(""))).collect();
    let mut elements: ElementGroups = Vec::new();
    let mut seen: BTreeSet<&[S]> = BTreeSet::new();
    for (at, path) in paths.iter().enumerate() {
        let rest = path.get(taken[at]..).unwrap_or_default();
        let again = seen.contains(rest) && !repeats(element, rest);
        match elements.last_mut() {
            Some(element) if !rest.is_empty() && !again && !seen.contains(&[] as &[S]) => element.push(at),
            _ => {
                elements.push(vec![at]);
                seen.clear();
            }
        }
        seen.insert(rest);
    }
    Some((elements, taken))
}

fn first_step<S: AsRef<str>>(path: &[S]) -> Option<&str> {
    path.first().map(AsRef::as_ref)
}

/// Returns true if a value of the shape may contain this path more than once, because it is the path of a
/// list of scalars.
fn repeats<S: AsRef<str>>(shape: ValueShape, path: &[S]) -> bool {
    let Some((step, below)) = path.split_first() else { return matches!(shape, ValueShape::Array(_)) };
    let step = step.as_ref();
    match shape {
        ValueShape::Array(_) => below.is_empty() && step.is_empty(),
        ValueShape::List(element) => is_index(step) && repeats(*element, below),
        ValueShape::OneOf(shapes) => shapes.iter().any(|shape| repeats(*shape, path)),
        ValueShape::Object(_) | ValueShape::Map(..) | ValueShape::MapOf(..) => {
            shape.member(step).is_some_and(|shape| repeats(shape, below))
        }
        _ => shape.is_untyped() && path.last().is_some_and(|step| step.as_ref().is_empty()),
    }
}

impl ValueShape {
    /// Returns the shape of a member, if the shape defines it.
    pub(super) fn member(self, name: &str) -> Option<Self> {
        let (fields, others) = match self {
            Self::Object(fields) => (fields, None),
            Self::Map(fields, others) => (fields, Some(Self::Scalar(others))),
            Self::MapOf(fields, others) => (fields, Some(*others)),
            Self::OneOf(shapes) => return shapes.iter().find_map(|shape| shape.member(name)),
            _ => return None,
        };
        fields.iter().find(|(field, _)| *field == name).map(|(_, shape)| *shape).or(others)
    }

    /// Returns the shape of the list elements. If it is not defined, returns the shape of any scalar or JSON.
    pub(super) fn element(self) -> Self {
        match self {
            Self::Array(scalar) => Self::Scalar(scalar),
            Self::List(element) => *element,
            Self::OneOf(shapes) => shapes
                .iter()
                .find(|shape| matches!(shape, Self::Array(_) | Self::List(_)))
                .map_or(Self::Scalar(ScalarType::Any), |shape| shape.element()),
            _ => Self::Scalar(ScalarType::Any),
        }
    }

    /// Returns true if the value may be a list.
    pub(super) fn may_be_list(self) -> bool {
        match self {
            Self::Array(_) | Self::List(_) => true,
            Self::OneOf(shapes) => shapes.iter().any(|shape| shape.may_be_list()),
            _ => self.is_untyped(),
        }
    }

    /// Returns true if a single string without brackets is read as the list that it contains, provided that
    /// the string is a JSON array.
    #[cfg(feature = "client")]
    pub(super) fn reads_json_list(self) -> bool {
        match self {
            Self::List(_) => true,
            Self::OneOf(shapes) => {
                shapes.iter().find(|shape| shape.may_be_list()).is_some_and(|shape| shape.reads_json_list())
            }
            _ => false,
        }
    }

    /// Returns true if the value may be an object.
    #[cfg(feature = "client")]
    pub(super) fn may_be_object(self) -> bool {
        match self {
            Self::Object(_) | Self::Map(..) | Self::MapOf(..) => true,
            Self::OneOf(shapes) => shapes.iter().any(|shape| shape.may_be_object()),
            _ => self.is_untyped(),
        }
    }

    /// Returns true if the value may be a string.
    pub(super) fn may_be_string(self) -> bool {
        match self {
            Self::Scalar(ScalarType::Text) => true,
            Self::Scalar(ScalarType::Of(types)) => types.is_superset(TypeSet::STRING),
            Self::OneOf(shapes) => shapes.iter().any(|shape| shape.may_be_string()),
            _ => self.is_untyped(),
        }
    }

    /// Returns true if the value may be of any type.
    pub(super) fn is_untyped(self) -> bool {
        matches!(self, Self::Json | Self::Scalar(ScalarType::Any | ScalarType::Json))
    }
}
