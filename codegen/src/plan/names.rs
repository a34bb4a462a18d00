//! Names of operations: their ids, methods, structs and fields, distinct and settled once.

use std::collections::BTreeSet;

use super::{Parameter, Side};
use crate::{api::Operation, names};

/// Methods that every client or service has.
const METHODS: &[&str] = &[
    "new",
    "base_url",
    "with_request_checks",
    "with_base_url_only",
    "with_stream_limits",
    "core",
    "reject",
    "clone",
    "fmt",
];

/// What a struct of a call and its constructor have beside its parameters, and methods that a
/// setter would hide.
const FIELDS: &[&str] = &["body", "core", "options", "new", "default", "clone", "request"];

/// What a method of a sender has beside its parameters.
const ADDRESS: &str = "address";

/// The names of one operation.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) id: String,
    pub(super) method: String,
    pub(super) options: String,
    pub(super) call: String,
}

/// The names of all operations, in their order.
pub(super) fn names(operations: &[Operation]) -> Vec<Names> {
    let wires: Vec<&str> = operations.iter().map(|operation| operation.id.as_str()).collect();
    let mut ids: Vec<String> = wires.iter().map(|wire| names::type_name(wire)).collect();
    let mut methods: Vec<String> = wires.iter().map(|wire| method(wire)).collect();
    names::make_distinct(&wires, &mut ids);
    names::make_distinct(&wires, &mut methods);
    // Both structs of an operation stand in one module: `pet` and `petCall` have four names.
    let mut taken: BTreeSet<String> = ids.iter().cloned().collect();
    let calls = ids.iter().map(|id| {
        let mut name = format!("{id}Call");
        while !taken.insert(name.clone()) {
            name.push_str("Call");
        }
        name
    });
    let calls: Vec<String> = calls.collect();
    let all = ids.into_iter().zip(methods).zip(calls);
    all.map(|((id, method), call)| Names { options: id.clone(), id, method, call }).collect()
}

fn method(wire: &str) -> String {
    let name = names::field_name(wire);
    if METHODS.contains(&name.as_str()) { format!("call_{name}") } else { name }
}

/// Parameters take their own names; those that clash take their location's in front.
pub(super) fn name_fields(side: Side, parameters: &mut [Parameter<'_>]) {
    let mut named: Vec<&mut Parameter<'_>> = parameters.iter_mut().filter(|p| p.field.is_some()).collect();
    let plain: Vec<String> = named.iter().map(|p| names::field_name(&p.row.name)).collect();
    let located = named.iter().zip(&plain).map(|(parameter, name)| {
        let clashes = plain.iter().filter(|other| *other == name).count() > 1;
        let taken = FIELDS.contains(&name.as_str()) || (side == Side::Webhooks && name == ADDRESS);
        if clashes || taken {
            let location = parameter.row.location.as_str();
            names::field_name(&format!("{location}_{}", parameter.row.name))
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
