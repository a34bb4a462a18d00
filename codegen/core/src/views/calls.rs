//! Views over calls: traits over the parameters that several operations have in common, and over their
//! responses, whose types belong to a view over types.

use super::{
    TypeView,
    problems::{ViewProblems, quoted_list},
    strip_boxes,
};
use crate::{
    config::ViewConfig,
    names,
    plan::{ErrorType, PlannedCall, PlannedParameter, ResponsePayload, SidePlan},
    shape::{Shapes, TypeRef, display_type},
};

/// A view over client calls, for which a trait is generated. Webhooks are not supported.
#[derive(Debug)]
pub struct CallView<'a> {
    /// The `[[view]]` table of the view.
    pub view: &'a ViewConfig,
    /// The parameters that all calls have.
    pub parameters: Vec<SharedParameter<'a>>,
    /// The type of error responses, or `None` if it differs between the calls.
    pub error_type: Option<ErrorType>,
    /// The calls that implement the trait.
    pub calls: Vec<ViewedCall<'a>>,
}

/// A parameter that all calls of a view have with the same type.
#[derive(Debug)]
pub struct SharedParameter<'a> {
    /// The name of the parameter in the contract.
    pub wire: String,
    /// The name of the getter.
    pub name: String,
    /// The description of the parameter, if it is the same for all calls.
    pub doc: Option<&'a str>,
    /// The type of the parameter, which is the same for all calls.
    pub ty: &'a TypeRef,
    /// True if the parameter is optional.
    pub optional: bool,
}

/// A call that implements the trait of a view.
#[derive(Debug)]
pub struct ViewedCall<'a> {
    /// The name of the struct of the call.
    pub name: &'a str,
    /// The names of the struct's fields for the parameters of the view, in the order of these parameters.
    pub fields: Vec<&'a str>,
}

pub(super) fn call_view<'a>(
    plan: &'a SidePlan<'a>,
    types: &[TypeView<'_>],
    shapes: &Shapes,
    problems: &mut ViewProblems<'a, '_>,
) -> Option<CallView<'a>> {
    let view = problems.view;
    // Operations that are not selected or that the client cannot send are skipped.
    let calls = plan.calls.iter().filter(|call| view.operations.contains(&call.operation.id));
    let calls: Vec<&PlannedCall<'_>> = calls.filter(|call| call.unsendable_reason.is_none()).collect();
    let first = *calls.first()?;
    if let Some(answer) = &view.answer {
        let known =
            problems.config.views.iter().any(|other| other.name == *answer && !other.types.is_empty());
        if !known {
            let message = format!("has the `answer` `{answer}`, but no view over types has this name");
            problems.report(("answer", answer), &message, "name a `[[view]]` that lists `types`");
            return None;
        }
        // If the view over types was omitted, its problem has already been reported.
        let response_view = types.iter().find(|other| other.view.name == *answer)?;
        let mismatches =
            calls.iter().filter(|call| !answers_with_view(call, response_view, shapes, problems)).count();
        if mismatches > 0 {
            return None;
        }
    }
    let parameters =
        view.parameters.iter().map(|wire| shared_parameter(wire, first, &calls, shapes, problems));
    let parameters: Vec<Option<SharedParameter<'_>>> = parameters.collect();
    let parameters = parameters.into_iter().collect::<Option<Vec<_>>>()?;
    let viewed = calls.iter().map(|call| {
        let fields = view.parameters.iter().map(|wire| find_parameter(call, wire)?.field.as_deref());
        Some(ViewedCall { name: &call.name, fields: fields.collect::<Option<_>>()? })
    });
    let viewed = viewed.collect::<Option<_>>()?;
    let refuses = |call: &PlannedCall<'_>, what: &ErrorType| {
        call.errors.error_type().is_some_and(|own| own.is_same_rust_type(what))
    };
    let error_type = first.errors.error_type().filter(|what| calls.iter().all(|call| refuses(call, what)));
    Some(CallView { view, parameters, error_type, calls: viewed })
}

/// Returns the parameter `wire` if all calls have it with the same type. Otherwise, reports a difference and
/// returns `None`.
fn shared_parameter<'a>(
    wire: &str,
    first: &'a PlannedCall<'a>,
    calls: &[&'a PlannedCall<'a>],
    shapes: &Shapes,
    problems: &mut ViewProblems<'_, '_>,
) -> Option<SharedParameter<'a>> {
    let mut good = true;
    for call in calls.iter().filter(|call| find_parameter(call, wire).is_none()) {
        let id = &call.operation.id;
        let has = call.parameters.iter().filter(|parameter| parameter.field.is_some());
        let help = format!("`{id}` has {}", quoted_list(has.map(|parameter| parameter.row.name.as_str())));
        let message = format!("lists the parameter `{wire}`, which `{id}` does not have");
        problems.report(("parameters", wire), &message, &help);
        good = false;
    }
    let own = find_parameter(first, wire).filter(|_| good)?;
    let describe = |call: &PlannedCall<'_>, parameter: &PlannedParameter<'_>| {
        let need = if parameter.row.required { "required" } else { "optional" };
        format!("{need} `{}` in `{}`", display_type(shapes, &parameter.ty), call.operation.id)
    };
    let all = || calls.iter().filter_map(|call| Some((*call, find_parameter(call, wire)?)));
    let differs = |other: &PlannedParameter<'_>| {
        !other.ty.is_same_rust_type(&own.ty) || other.row.required != own.row.required
    };
    if let Some((call, other)) = all().find(|(_, other)| differs(other)) {
        let message = format!(
            "has incompatible types for `{wire}`: {} and {}",
            describe(first, own),
            describe(call, other)
        );
        let help = "omit the parameter, or use separate views for the incompatible operations";
        problems.report(("parameters", wire), &message, help);
        return None;
    }
    let doc = own.parameter.description.as_deref();
    let doc = doc.filter(|doc| all().all(|(_, other)| other.parameter.description.as_deref() == Some(doc)));
    let name = names::field_name(wire);
    Some(SharedParameter { wire: wire.to_owned(), name, doc, ty: &own.ty, optional: !own.row.required })
}

/// Returns the parameter `wire` of a call, or `None` if the call has no field for it.
fn find_parameter<'c, 'a>(call: &'c PlannedCall<'a>, wire: &str) -> Option<&'c PlannedParameter<'a>> {
    call.parameters.iter().find(|parameter| parameter.row.name == wire && parameter.field.is_some())
}

/// Returns true if the success responses of a call have a single type and this type belongs to the view
/// `answered`. Otherwise, reports an error.
fn answers_with_view(
    call: &PlannedCall<'_>,
    answered: &TypeView<'_>,
    shapes: &Shapes,
    problems: &mut ViewProblems<'_, '_>,
) -> bool {
    let one = call.responses.single.as_ref().filter(|_| !call.responses.optional);
    let ty = match one {
        Some(ResponsePayload::Json(ty)) => Some(ty),
        _ => None,
    };
    let is = |ty: &TypeRef| answered.types.iter().any(|(id, _)| *strip_boxes(ty) == TypeRef::Named(*id));
    if ty.is_some_and(is) {
        return true;
    }
    let (id, name) = (&call.operation.id, &answered.view.name);
    let found =
        ty.map_or_else(|| "no single type".to_owned(), |ty| format!("`{}`", display_type(shapes, ty)));
    let message = format!("is over `{id}`, but its response ({found}) is not a type of the view `{name}`");
    let help = format!("list the schema of the response in the view `{name}`, or omit the operation");
    problems.report(("operations", id), &message, &help);
    false
}
