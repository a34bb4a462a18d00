//! Assigns distinct names to the ids, methods, structs and fields of operations.

use std::collections::BTreeSet;

use super::{OperationSide, PlannedParameter};
use crate::{api::Operation, names};

/// The names of the methods that every generated client or server has. Methods of operations must not have
/// these names.
pub(super) const RESERVED_METHODS: &[&str] = &[
    "new",
    "base_url",
    "with_request_checks",
    "with_base_url_only",
    "with_stream_limits",
    "api_client",
    "reject",
    "clone",
    "fmt",
];

/// The names that are reserved in the struct of a call: its other fields, its constructor, and methods that a
/// setter would shadow.
const RESERVED_FIELDS: &[&str] = &["body", "api_client", "options", "new", "default", "clone"];

/// The name of the argument for the receiver's URL, which each method of a webhook sender has. Other
/// arguments must not have this name.
const ADDRESS: &str = "address";

/// The generated names of one operation.
#[derive(Clone, Debug)]
pub(super) struct OperationNames {
    pub(super) id: String,
    pub(super) method: String,
    pub(super) options: String,
    pub(super) call: String,
}

/// Returns the names of all operations, in the order of the operations.
pub(super) fn name_operations(operations: &[Operation]) -> Vec<OperationNames> {
    let wires: Vec<&str> = operations.iter().map(Operation::code_name).collect();
    let mut ids: Vec<String> = wires.iter().map(|wire| names::type_name(wire)).collect();
    let mut methods: Vec<String> = wires.iter().map(|wire| method_name(wire)).collect();
    names::make_distinct(&wires, &mut ids);
    names::make_distinct(&wires, &mut methods);
    // The structs for the arguments of an operation are in one module, so the names derived from `pet` and
    // `petCall` must be distinct.
    let mut taken: BTreeSet<String> = ids.iter().cloned().collect();
    let calls = ids.iter().map(|id| {
        let mut name = format!("{id}Call");
        while !taken.insert(name.clone()) {
            name.push_str("Call");
        }
        name
    });
    let calls: Vec<String> = calls.collect();
    let options = ids.iter().map(|id| {
        let mut name = format!("{id}Options");
        while !taken.insert(name.clone()) {
            name.push_str("Options");
        }
        name
    });
    let options: Vec<String> = options.collect();
    let all = ids.into_iter().zip(methods).zip(options).zip(calls);
    all.map(|(((id, method), options), call)| OperationNames { id, method, options, call }).collect()
}

/// Returns the method name of an operation, regardless of the names of other operations.
pub(crate) fn method_name(wire: &str) -> String {
    let name = names::field_name(wire);
    if RESERVED_METHODS.contains(&name.as_str()) { format!("call_{name}") } else { name }
}

/// Assigns distinct names to the fields of parameters. Clashing names get the parameter location as a prefix.
pub(super) fn name_fields(side: OperationSide, parameters: &mut [PlannedParameter<'_>]) {
    let mut named: Vec<&mut PlannedParameter<'_>> =
        parameters.iter_mut().filter(|p| p.field.is_some()).collect();
    let code_name = |p: &PlannedParameter<'_>| p.parameter.rust_name.as_ref().unwrap_or(&p.row.name).clone();
    let plain: Vec<String> = named.iter().map(|p| names::field_name(&code_name(p))).collect();
    let located = named.iter().zip(&plain).map(|(parameter, name)| {
        let clashes = plain.iter().filter(|other| *other == name).count() > 1;
        let taken =
            RESERVED_FIELDS.contains(&name.as_str()) || (side == OperationSide::Webhooks && name == ADDRESS);
        if clashes || taken {
            let location = parameter.row.location.as_str();
            names::field_name(&format!("{location}_{}", code_name(parameter)))
        } else {
            name.clone()
        }
    });
    let mut fields: Vec<String> = located.collect();
    let wires: Vec<&str> = named.iter().map(|p| p.parameter.name.as_str()).collect();
    names::make_distinct(&wires, &mut fields);
    for (parameter, field) in named.iter_mut().zip(fields) {
        parameter.field = Some(field);
    }
}
