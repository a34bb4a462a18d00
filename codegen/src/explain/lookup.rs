//! Looks up the types, fields, schemas and operations that a name refers to.

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    generate::select_schemas,
    plan::{ContractPlan, OperationSide},
    resolve::suggest,
    shape::{TypeBody, TypeId, find_aliases},
};

use super::ExplainTarget;

/// Returns the items with the given name. Searches in this order and stops at the first result: types,
/// fields, operations, and schemas whose location ends with the name.
pub(super) fn find_targets(
    contract: &AnalyzedContract,
    plans: &ContractPlan<'_>,
    name: &str,
) -> Vec<ExplainTarget> {
    let shapes = &contract.shapes;
    if let Some(id) = find_type(contract, name) {
        return vec![ExplainTarget::Type(id)];
    }
    if let Some((owner, member)) = name.split_once('.')
        && let Some(id) = find_type(contract, owner)
        && let Some(index) = field_names(contract, id)
            .position(|(wire, rust)| wire == member || rust.trim_end_matches('_') == member)
    {
        return vec![ExplainTarget::Member(id, index)];
    }
    let called = plans.iter().filter_map(|plan| {
        let index = plan.calls.iter().position(|call| {
            let webhook = plan.side == OperationSide::Webhooks && call.operation.path == name;
            webhook
                || [&call.operation.id, &call.method, &call.client_path(), &call.name]
                    .into_iter()
                    .any(|own| own == name)
        });
        index.map(|index| ExplainTarget::Call(plan.side, index))
    });
    let called: Vec<ExplainTarget> = called.collect();
    if !called.is_empty() || !name.contains(['#', '/', '.']) {
        return called;
    }
    let mut out: Vec<ExplainTarget> = Vec::new();
    for id in select_schemas(&contract.graph, name) {
        let named = match shapes.type_of_schema(id) {
            contract_codegen_core::shape::TypeRef::Named(named) => ExplainTarget::Type(*named),
            _ => ExplainTarget::Schema(id),
        };
        if !out.contains(&named) {
            out.push(named);
        }
    }
    out
}

/// Returns the type with a name, or the type for which an alias with this name stands.
fn find_type(contract: &AnalyzedContract, name: &str) -> Option<TypeId> {
    let shapes = &contract.shapes;
    let own = shapes.ids().find(|&id| shapes.get(id).name == name);
    own.or_else(|| find_aliases(&contract.graph, shapes).get(name).copied())
}

fn field_names(contract: &AnalyzedContract, id: TypeId) -> impl Iterator<Item = (&str, &str)> {
    let fields = match &contract.shapes.get(id).body {
        TypeBody::Struct(body) => body.fields.as_slice(),
        _ => &[],
    };
    fields.iter().map(|field| (field.wire.as_str(), field.name.as_str()))
}

/// Returns the most similar name of a field, type or operation.
pub(super) fn nearest_name(
    contract: &AnalyzedContract,
    plans: &ContractPlan<'_>,
    name: &str,
) -> Option<String> {
    let shapes = &contract.shapes;
    let owner = name.split_once('.').map(|(owner, member)| (find_type(contract, owner), member));
    if let Some((Some(id), member)) = owner {
        let names = field_names(contract, id).flat_map(|(wire, rust)| [wire, rust]);
        return suggest::nearest_match(member, names).map(|near| format!("{}.{near}", shapes.get(id).name));
    }
    let types = shapes.types.iter().map(|def| def.name.as_str());
    let calls = plans.iter().flat_map(|plan| &plan.calls).map(|call| call.operation.id.as_str());
    let aliases = find_aliases(&contract.graph, shapes);
    let names = types.chain(aliases.keys().map(String::as_str)).chain(calls);
    suggest::nearest_match(name, names).map(str::to_owned)
}
