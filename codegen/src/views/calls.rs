//! Views over calls: the parameters that several operations take alike, to be read and replaced, and
//! the view that all of their answers have.

use super::{
    TypeView,
    problems::{Problems, list},
    unboxed,
};
use crate::{
    config::View,
    names,
    plan::{Call, Parameter, Payload, Plan, Refused},
    shape::{Shapes, TypeRef, text},
};

/// A trait over calls of clients: webhooks have none.
#[derive(Debug)]
pub struct CallView<'a> {
    /// What its owner says of it.
    pub view: &'a View,
    /// What all calls take.
    pub parameters: Vec<Shared<'a>>,
    /// What all of them refuse with, when that is one type.
    pub refused: Option<Refused>,
    /// The calls.
    pub calls: Vec<Viewed<'a>>,
}

/// A parameter that all calls of a view take.
#[derive(Debug)]
pub struct Shared<'a> {
    /// Its name on the wire.
    pub wire: String,
    /// The getter.
    pub name: String,
    /// What is said of it, when all calls say the same.
    pub doc: Option<&'a str>,
    /// Its type, in every call.
    pub ty: &'a TypeRef,
    /// Whether it may be left out.
    pub optional: bool,
}

/// A call of a view.
#[derive(Debug)]
pub struct Viewed<'a> {
    /// The struct of the call.
    pub name: &'a str,
    /// Its fields for the parameters of the view, in their order.
    pub fields: Vec<&'a str>,
}

pub(super) fn call_view<'a>(
    plan: &'a Plan<'a>,
    types: &[TypeView<'_>],
    shapes: &Shapes,
    problems: &mut Problems<'a, '_>,
) -> Option<CallView<'a>> {
    let view = problems.view;
    // What the part that is generated has not, or no client can send, is left out; what is listed
    // twice is there once.
    let calls = plan.calls.iter().filter(|call| view.operations.contains(&call.operation.id));
    let calls: Vec<&Call<'_>> = calls.filter(|call| call.unsendable.is_none()).collect();
    let first = *calls.first()?;
    if let Some(answer) = &view.answer {
        let known =
            problems.config.views.iter().any(|other| other.name == *answer && !other.types.is_empty());
        if !known {
            let message = format!("answers `{answer}`, which is no view over types");
            problems.say(("answer", answer), &message, "name a `[[view]]` that lists `types`");
            return None;
        }
        // Unless there is one, something is wrong with it, which is said already.
        let answered = types.iter().find(|other| other.view.name == *answer)?;
        let wrong = calls.iter().filter(|call| !answers(call, answered, shapes, problems)).count();
        if wrong > 0 {
            return None;
        }
    }
    let parameters = view.parameters.iter().map(|wire| shared(wire, first, &calls, shapes, problems));
    let parameters: Vec<Option<Shared<'_>>> = parameters.collect();
    let parameters = parameters.into_iter().collect::<Option<Vec<_>>>()?;
    let viewed = calls.iter().map(|call| {
        let fields = view.parameters.iter().map(|wire| found(call, wire)?.field.as_deref());
        Some(Viewed { name: &call.name, fields: fields.collect::<Option<_>>()? })
    });
    let viewed = viewed.collect::<Option<_>>()?;
    let refuses =
        |call: &Call<'_>, what: &Refused| call.refusals.refused().is_some_and(|own| own.is_as_rust(what));
    let refused = first.refusals.refused().filter(|what| calls.iter().all(|call| refuses(call, what)));
    Some(CallView { view, parameters, refused, calls: viewed })
}

/// A parameter, when all calls take it alike.
fn shared<'a>(
    wire: &str,
    first: &'a Call<'a>,
    calls: &[&'a Call<'a>],
    shapes: &Shapes,
    problems: &mut Problems<'_, '_>,
) -> Option<Shared<'a>> {
    let mut good = true;
    for call in calls.iter().filter(|call| found(call, wire).is_none()) {
        let id = &call.operation.id;
        let has = call.parameters.iter().filter(|parameter| parameter.field.is_some());
        let help = format!("`{id}` takes {}", list(has.map(|parameter| parameter.row.name.as_str())));
        let message = format!("names the parameter `{wire}`, which `{id}` does not take");
        problems.say(("parameters", wire), &message, &help);
        good = false;
    }
    let own = found(first, wire).filter(|_| good)?;
    let said = |call: &Call<'_>, parameter: &Parameter<'_>| {
        let need = if parameter.row.required { "required" } else { "optional" };
        format!("{need} `{}` in `{}`", text(shapes, &parameter.ty), call.operation.id)
    };
    let all = || calls.iter().filter_map(|call| Some((*call, found(call, wire)?)));
    let differs =
        |other: &Parameter<'_>| !other.ty.is_as_rust(&own.ty) || other.row.required != own.row.required;
    if let Some((call, other)) = all().find(|(_, other)| differs(other)) {
        let message = format!("cannot give `{wire}`: {} and {}", said(first, own), said(call, other));
        let help = "leave the parameter out, or make a view of the operations that agree";
        problems.say(("parameters", wire), &message, help);
        return None;
    }
    let doc = own.parameter.description.as_deref();
    let doc = doc.filter(|doc| all().all(|(_, other)| other.parameter.description.as_deref() == Some(doc)));
    let name = names::field_name(wire);
    Some(Shared { wire: wire.to_owned(), name, doc, ty: &own.ty, optional: !own.row.required })
}

/// The parameter of a call that a caller gives, wherever it stands.
fn found<'c, 'a>(call: &'c Call<'a>, wire: &str) -> Option<&'c Parameter<'a>> {
    call.parameters.iter().find(|parameter| parameter.row.name == wire && parameter.field.is_some())
}

/// Whether a call answers with one of the types of a view, and nothing else.
fn answers(
    call: &Call<'_>,
    answered: &TypeView<'_>,
    shapes: &Shapes,
    problems: &mut Problems<'_, '_>,
) -> bool {
    let one = call.answers.one.as_ref().filter(|_| !call.answers.optional);
    let ty = match one {
        Some(Payload::Json(ty)) => Some(ty),
        _ => None,
    };
    let is = |ty: &TypeRef| answered.types.iter().any(|(id, _)| *unboxed(ty) == TypeRef::Named(*id));
    if ty.is_some_and(is) {
        return true;
    }
    let (id, name) = (&call.operation.id, &answered.view.name);
    let said = ty.map_or_else(|| "no single type".to_owned(), |ty| format!("`{}`", text(shapes, ty)));
    let message = format!("is over `{id}`, which answers {said} and nothing of the view `{name}`");
    let help = format!("list the schema of its answer below `{name}`, or leave the operation out");
    problems.say(("operations", id), &message, &help);
    false
}
