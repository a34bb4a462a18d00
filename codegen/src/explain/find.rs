//! What a name means: a type, a member, a place in the contract, an operation.

use super::Target;
use crate::{
    generate::select,
    plan::{Plans, Side},
    reading::Reading,
    resolve::suggest,
    shape::{Body, TypeId},
};

/// Everything of that name; types before schemas, operations last.
pub(super) fn find(contract: &Reading, plans: &Plans<'_>, name: &str) -> Vec<Target> {
    let shapes = &contract.shapes;
    if let Some(id) = shapes.ids().find(|&id| shapes.get(id).name == name) {
        return vec![Target::Type(id)];
    }
    if let Some((owner, member)) = name.split_once('.')
        && let Some(id) = shapes.ids().find(|&id| shapes.get(id).name == owner)
        && let Some(index) = members(contract, id)
            .position(|(wire, rust)| wire == member || rust.trim_end_matches('_') == member)
    {
        return vec![Target::Member(id, index)];
    }
    let called = plans.iter().filter_map(|plan| {
        let index = plan.calls.iter().position(|call| {
            let webhook = plan.side == Side::Webhooks && call.operation.path == name;
            webhook || [&call.operation.id, &call.method, &call.name].into_iter().any(|own| own == name)
        });
        index.map(|index| Target::Call(plan.side, index))
    });
    let called: Vec<Target> = called.collect();
    if !called.is_empty() || !name.contains(['#', '/', '.']) {
        return called;
    }
    let mut out: Vec<Target> = Vec::new();
    for id in select(&contract.graph, name) {
        let named = match shapes.of(id) {
            crate::shape::TypeRef::Named(named) => Target::Type(*named),
            _ => Target::Schema(id),
        };
        if !out.contains(&named) {
            out.push(named);
        }
    }
    out
}

fn members(contract: &Reading, id: TypeId) -> impl Iterator<Item = (&str, &str)> {
    let fields = match &contract.shapes.get(id).body {
        Body::Struct(body) => body.fields.as_slice(),
        _ => &[],
    };
    fields.iter().map(|field| (field.wire.as_str(), field.name.as_str()))
}

/// The nearest name that there is.
pub(super) fn nearest(contract: &Reading, plans: &Plans<'_>, name: &str) -> Option<String> {
    let shapes = &contract.shapes;
    let owner = name
        .split_once('.')
        .map(|(owner, member)| (shapes.ids().find(|&id| shapes.get(id).name == owner), member));
    if let Some((Some(id), member)) = owner {
        let names = members(contract, id).flat_map(|(wire, rust)| [wire, rust]);
        return suggest::nearest(member, names).map(|near| format!("{}.{near}", shapes.get(id).name));
    }
    let types = shapes.types.iter().map(|def| def.name.as_str());
    let calls = plans.iter().flat_map(|plan| &plan.calls).map(|call| call.operation.id.as_str());
    suggest::nearest(name, types.chain(calls)).map(str::to_owned)
}
