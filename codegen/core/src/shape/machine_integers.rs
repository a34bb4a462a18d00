//! The option `types.machine-integers`: integers with the type of their format.

use contract_runtime::{Json, Number};

use super::IntKind;
use crate::{
    conjunction::{SchemaConjunction, SchemaFacts},
    options::SchemaOptions,
    schema::{Schema, SchemaGraph, SchemaId, TypeSet},
};

const FORMATS: [(&str, IntKind); 3] =
    [("int32", IntKind::I32), ("uint32", IntKind::U32), ("uint64", IntKind::U64)];

/// Returns the machine integer type that a format selects by `types.machine-integers`.
///
/// A format has no effect if a declared bound or a listed value is outside of its type. `int64` needs no
/// rule of its own.
pub(crate) fn machine_kind(
    graph: &SchemaGraph,
    options: &SchemaOptions,
    facts: &SchemaFacts,
) -> Option<IntKind> {
    let is_selected =
        options.machine_integers || facts.unconditional.iter().any(|id| options.machine_schemas.contains(id));
    if !is_selected {
        return None;
    }
    let schemas: Vec<&Schema> = facts.unconditional.iter().map(|&id| graph.schema(id)).collect();
    let is_format = |name: &str| schemas.iter().any(|s| s.format.as_deref() == Some(name));
    let (_, kind) = FORMATS.into_iter().find(|(name, _)| is_format(name))?;
    let is_within = |s: &&Schema| {
        let literals = s.enumeration.iter().flatten().chain(&s.constant).filter_map(Json::as_number);
        let mut limits = literals
            .filter(|number| number.is_integer())
            .map(Number::as_i128)
            .chain(s.minimum.iter().map(Number::ceil))
            .chain(s.maximum.iter().map(Number::floor))
            .chain(s.exclusive_minimum.iter().map(|n| n.floor()?.checked_add(1)))
            .chain(s.exclusive_maximum.iter().map(|n| n.ceil()?.checked_sub(1)));
        limits.all(|limit| limit.is_some_and(|limit| kind.contains(limit)))
    };
    schemas.iter().all(is_within).then_some(kind)
}

/// Returns the machine integer type of the values of a schema, or `None` if they are not integers, or if the option
/// does not apply to them.
pub(crate) fn machine_kind_of(graph: &SchemaGraph, options: &SchemaOptions, id: SchemaId) -> Option<IntKind> {
    let facts =
        SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schema(id), options.implied_objects);
    let is_integer = facts.types.difference(TypeSet::NULL) == TypeSet::INTEGER;
    if is_integer { machine_kind(graph, options, &facts) } else { None }
}

/// Adds the bounds of the machine integer types to the schemas to which the option applies, so that validation
/// rejects the values that the types cannot represent.
pub(crate) fn add_machine_bounds(graph: &mut SchemaGraph, options: &SchemaOptions) {
    let kinds: Vec<(SchemaId, IntKind)> =
        graph.ids().filter_map(|id| Some((id, machine_kind_of(graph, options, id)?))).collect();
    let number = |bound: i128| bound.to_string().parse::<Number>().ok();
    for (id, kind) in kinds {
        let schema = &mut graph.schemas[id];
        if schema.minimum.is_none() && schema.exclusive_minimum.is_none() {
            schema.minimum = number(kind.least());
        }
        if schema.maximum.is_none() && schema.exclusive_maximum.is_none() {
            schema.maximum = number(kind.greatest());
        }
    }
}
