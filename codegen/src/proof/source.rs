//! The schemas that a type was made for, as one document.

use serde_json::{Value, json};

use crate::{
    reading::Reading,
    schema::{Graph, Types, document::Writer},
    shape::TypeDef,
    together::{Conj, Facts},
};

/// What the schemas of a type say together; `None` when that is not worth a proof, or an engine could
/// misread it.
///
/// `assumed` writes out what `implied-objects` reads between the lines.
pub(super) fn document(
    contract: &Reading,
    writer: &Writer<'_>,
    def: &TypeDef,
    assumed: bool,
) -> Option<Value> {
    let mut document = writer.whole(&def.conj.ids)?;
    if def.conj.within != Types::ALL {
        document["type"] = names(def.conj.within);
    }
    if assumed {
        let implied = |conj: &Conj| implied(&contract.graph, conj, contract.options.implied_objects);
        if let Some(types) = implied(&def.conj) {
            document["type"] = names(types.and(def.conj.within));
        }
        let definitions = document.get_mut("$defs").and_then(Value::as_object_mut)?;
        for (name, schema) in definitions.iter_mut() {
            let types = writer.id(name).and_then(|id| implied(&Conj::one(id)));
            if let (Some(types), Some(schema)) = (types, schema.as_object_mut()) {
                schema.insert("type".to_owned(), names(types));
            }
        }
    }
    Some(document)
}

/// The types that keywords imply and no `type` states.
fn implied(graph: &Graph, conj: &Conj, usual: bool) -> Option<Types> {
    let stated = Facts::stated(graph, conj);
    let read = Facts::of(graph, conj, usual).types;
    (stated != read).then_some(read)
}

fn names(types: Types) -> Value {
    json!(types.names())
}
