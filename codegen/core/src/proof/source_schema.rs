//! Combines the source schemas of a type into one document. Source schemas are the schemas of the contract
//! for which the type was generated.

use serde_json::{Value, json};

use crate::{
    analyzed_contract::AnalyzedContract,
    conjunction::{SchemaConjunction, SchemaFacts},
    schema::{SchemaGraph, TypeSet, document::SchemaDocumentWriter},
    shape::TypeDef,
};

/// Returns the source schemas of a type as one JSON Schema document. Returns `None` if the document is too
/// large for the proof engine or if the engine could misinterpret it.
///
/// If `assumed` is true, the JSON types that the option `implied-objects` implies are added.
pub(super) fn source_document(
    contract: &AnalyzedContract,
    writer: &SchemaDocumentWriter<'_>,
    def: &TypeDef,
    assumed: bool,
) -> Option<Value> {
    let mut document = writer.write_conjunction(&def.conj.ids)?;
    if def.conj.within != TypeSet::ALL {
        document["type"] = type_names(def.conj.within);
    }
    if assumed {
        let implied =
            |conj: &SchemaConjunction| implied_types(&contract.graph, conj, contract.options.implied_objects);
        if let Some(types) = implied(&def.conj) {
            document["type"] = type_names(types.intersection(def.conj.within));
        }
        let definitions = document.get_mut("$defs").and_then(Value::as_object_mut)?;
        for (name, schema) in definitions.iter_mut() {
            let types = writer.schema_id(name).and_then(|id| implied(&SchemaConjunction::from_schema(id)));
            if let (Some(types), Some(schema)) = (types, schema.as_object_mut()) {
                schema.insert("type".to_owned(), type_names(types));
            }
        }
    }
    Some(document)
}

/// Returns the JSON types of a conjunction, including the restrictions that other keywords than `type` imply.
/// Returns `None` if there are no such restrictions. `usual` is the option `implied-objects`.
fn implied_types(graph: &SchemaGraph, conj: &SchemaConjunction, usual: bool) -> Option<TypeSet> {
    let stated = SchemaFacts::stated_types(graph, conj);
    let read = SchemaFacts::from_conjunction(graph, conj, usual).types;
    (stated != read).then_some(read)
}

fn type_names(types: TypeSet) -> Value {
    json!(types.type_names())
}
