//! Writes schemas of a contract as self-contained JSON Schemas 2020-12: each `$ref` refers to the `$defs` of the same
//! document.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen_core::{analyzed_contract::AnalyzedContract, schema::SchemaId};
use serde_json::{Map, Value};

use crate::lower::{
    names::SchemaNames,
    schemas::{LoweringContext, SchemaLowerer, TargetDialect},
};

/// A writer of self-contained schemas of one contract.
#[derive(Debug)]
pub(super) struct SchemaWriter<'g> {
    lowerer: SchemaLowerer<'g>,
    names: SchemaNames,
}

/// A document under construction: the schemas to which it refers.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    linked: BTreeSet<SchemaId>,
}

impl<'g> SchemaWriter<'g> {
    pub(super) fn new(contract: &'g AnalyzedContract) -> Self {
        Self {
            lowerer: SchemaLowerer::new(&contract.graph, TargetDialect::Draft202012),
            names: SchemaNames::from_contract(contract),
        }
    }

    /// Returns a schema, and records the schemas to which it refers.
    pub(super) fn write(&self, id: SchemaId, definitions: &mut Definitions) -> Value {
        let mut link = |target: SchemaId| {
            definitions.linked.insert(target);
            format!("#/$defs/{}", escape_token(self.names.get(target)))
        };
        self.lowerer.write_schema(id, &mut LoweringContext { link: &mut link, lost: BTreeSet::new() })
    }

    /// Adds `$defs` with all schemas to which the document refers, directly and indirectly.
    pub(super) fn add_definitions(&self, mut definitions: Definitions, document: &mut Map<String, Value>) {
        let mut written: BTreeMap<SchemaId, Value> = BTreeMap::new();
        while let Some(id) = definitions.linked.iter().copied().find(|id| !written.contains_key(id)) {
            let schema = self.write(id, &mut definitions);
            written.insert(id, schema);
            definitions.linked.remove(&id);
        }
        if !written.is_empty() {
            let named = written.into_iter().map(|(id, schema)| (self.names.get(id).to_owned(), schema));
            document.insert("$defs".to_owned(), Value::Object(named.collect()));
        }
    }
}

/// Escapes a token of a JSON Pointer in a URI fragment (RFC 6901, 6).
fn escape_token(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'~' => escaped.push_str("~0"),
            b'/' => escaped.push_str("~1"),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => escaped.push(char::from(byte)),
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}
