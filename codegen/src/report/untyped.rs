//! Lists the fields whose type contains untyped JSON, with the reason.

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    conjunction::{SchemaConjunction, SchemaFacts},
    locations::LocationFormatter,
    schema::{Schema, SchemaId, TypeSet},
    shape::{StructField, TypeBody, TypeRef},
};

use crate::explain::reason;

/// A field whose type contains untyped JSON. Properties that the contract does not declare are not counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UntypedField {
    /// The name of the field, as `Type.field`.
    pub name: String,
    /// The location of the schema, as `file:line #/pointer`.
    pub place: String,
    /// The reason why the value has no type.
    pub reason: &'static str,
    /// True if the contract accepts any JSON value for the untyped part. False if the contract restricts the
    /// value but no Rust type represents it.
    pub is_open: bool,
}

/// Returns the untyped fields, and the number of all fields.
pub(super) fn find_untyped_fields(contract: &AnalyzedContract) -> (Vec<UntypedField>, usize) {
    let locations = LocationFormatter::new(contract);
    let (mut found, mut count) = (Vec::new(), 0);
    for def in &contract.shapes.types {
        let TypeBody::Struct(body) = &def.body else { continue };
        for field in body.fields.iter().filter(|field| !field.omitted) {
            count += 1;
            let Some(place) = untyped_place(contract, field) else { continue };
            let located = place.ids.last().or(field.conj.ids.last()).or(field.described_by.as_ref());
            let reason = reason::json_reason(contract, &place);
            found.push(UntypedField {
                name: format!("{}.{}", def.name, field.name),
                place: located
                    .map(|&id| locations.format_location(&contract.graph.schema(id).place))
                    .unwrap_or_default(),
                reason,
                is_open: is_open(contract, &place),
            });
        }
    }
    found.sort();
    (found, count)
}

/// Returns the schemas of the outermost part of a field's value that has no type. Returns `None` if the type
/// of the field contains no untyped JSON.
fn untyped_place(contract: &AnalyzedContract, field: &StructField) -> Option<SchemaConjunction> {
    if !holds_json(&field.ty) {
        return None;
    }
    let (mut ty, mut place) = (&field.ty, field.conj.clone());
    loop {
        let facts = SchemaFacts::from_conjunction(&contract.graph, &place, contract.options.implied_objects);
        let children = |child: &dyn Fn(&Schema) -> Option<SchemaId>| {
            let schemas = facts.unconditional_schemas(&contract.graph);
            SchemaConjunction::from_schemas(schemas.filter_map(child))
        };
        // If the value is a union of arrays or maps, its elements have no schema in common.
        let is_merged = !facts.open_unions.is_empty();
        ty = match ty {
            TypeRef::Vec(_) | TypeRef::Map(_) | TypeRef::Tuple(_) if is_merged => return Some(place),
            TypeRef::Json => return Some(place),
            TypeRef::Nullable(inner) => {
                place = place.within(facts.types.difference(TypeSet::NULL));
                inner
            }
            TypeRef::Boxed(inner) => inner,
            TypeRef::Vec(inner) => {
                place = children(&|schema| schema.items);
                inner
            }
            TypeRef::Map(inner) => {
                place = children(&|schema| schema.additional_properties);
                inner
            }
            TypeRef::Tuple(all) => {
                let at = all.iter().position(holds_json)?;
                place = children(&|schema| schema.prefix_items.get(at).copied().or(schema.items));
                all.get(at)?
            }
            _ => return None,
        };
    }
}

fn holds_json(ty: &TypeRef) -> bool {
    match ty {
        TypeRef::Json => true,
        TypeRef::Vec(inner) | TypeRef::Map(inner) | TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => {
            holds_json(inner)
        }
        TypeRef::Tuple(all) => all.iter().any(holds_json),
        _ => false,
    }
}

fn is_open(contract: &AnalyzedContract, place: &SchemaConjunction) -> bool {
    let facts = SchemaFacts::from_conjunction(&contract.graph, place, contract.options.implied_objects);
    facts.open_unions.is_empty()
        && !facts.has_dynamic_reference
        && (facts.unconditional.is_empty() || facts.types == TypeSet::ALL)
}
