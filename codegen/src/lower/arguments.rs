//! Parameters: how they are named and written in the lowered document.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Lowering, TRANSPORT, exceed, reference};
use crate::{
    api::ParameterIn,
    names,
    plan::{Call, Parameter},
    schema::Types,
    shape::{Body, Shapes, TypeRef},
    together::{Conj, Facts},
    words::limits_of,
};

/// A parameter of a lowered operation.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its row.
    pub row: usize,
    /// Its lowered name.
    pub name: String,
}

impl Lowering<'_> {
    /// The lowered path, the arguments, the lowered parameters.
    pub(super) fn arguments(
        &mut self,
        call: &Call<'_>,
        beyond: &mut Option<String>,
    ) -> (String, Vec<Argument>, Vec<Value>) {
        // progenitor names an argument after its parameter, wherever that stands, and drops
        // the first of two with one name.
        let mut seen = BTreeSet::from(["body".to_owned()]);
        let mut path = call.operation.path.clone();
        let mut arguments = Vec::new();
        let mut lowered = Vec::new();
        for (row, parameter) in call.parameters.iter().enumerate() {
            if parameter.field.is_none() {
                let what = format!("parameter `{}`", parameter.row.name);
                self.lose(&parameter.parameter.place, what, TRANSPORT);
                continue;
            }
            let prefix = match parameter.row.location {
                ParameterIn::Path => "path",
                ParameterIn::Query => "query",
                ParameterIn::Header => "header",
                ParameterIn::Cookie => "cookie",
            };
            let wire = &parameter.row.name;
            let name = distinct(wire, &mut seen, prefix);
            if parameter.row.location == ParameterIn::Path {
                path = path.replace(&format!("{{{wire}}}"), &format!("{{{name}}}"));
            }
            lowered.push(self.argument(parameter, &name, beyond));
            arguments.push(Argument { row, name });
        }
        let listed: Vec<&str> = call.parameters.iter().map(|parameter| parameter.row.name.as_str()).collect();
        for hidden in call.operation.parameters.iter().filter(|p| !listed.contains(&p.name.as_str())) {
            let what = format!("parameter `{}`", hidden.name);
            self.lose(&hidden.place, what, TRANSPORT);
        }
        (path, arguments, lowered)
    }

    fn argument(&mut self, parameter: &Parameter<'_>, name: &str, beyond: &mut Option<String>) -> Value {
        let row = &parameter.row;
        let place = &parameter.parameter.place;
        let wire = &row.name;
        let query = row.location == ParameterIn::Query;
        let element = match &parameter.ty {
            TypeRef::Vec(element) => Some(&**element),
            _ => None,
        };
        let plain_style = matches!(
            (query, row.style.as_str()),
            (true, "form" | "spaceDelimited" | "pipeDelimited") | (false, "simple")
        );
        let scalar = |ty: &TypeRef| is_scalar(self.shapes, ty);
        if row.location == ParameterIn::Cookie {
            exceed(beyond, format!("`{wire}` is a cookie"));
        } else if let Some(media_type) = &parameter.parameter.content {
            exceed(beyond, format!("parameter `{wire}` is `{media_type}`"));
        } else if !plain_style || (element.is_some() && row.style != "form") {
            exceed(beyond, format!("parameter `{wire}` has the style `{}`", row.style));
        } else if !(scalar(&parameter.ty) || (query && element.is_some_and(scalar))) {
            exceed(
                beyond,
                format!("parameter `{wire}` is neither a plain value nor a list of such in the query"),
            );
        }
        let null = parameter.row.schema.is_some_and(|schema| {
            Facts::of(self.graph, &Conj::one(schema), true).types.contains(Types::NULL)
                && matches!(self.shapes.of(schema), TypeRef::Nullable(_))
        });
        if null {
            let what = format!("`null` for parameter `{wire}`");
            self.lose(place, what, "nothing: it has no form there; leave it out");
        }
        if row.allow_reserved {
            let what = format!("`allowReserved` of parameter `{wire}`");
            self.lose(place, what, "the client sends reserved characters as they are");
        }
        let limits = row.schema.map(|schema| limits_of(self.graph, schema)).unwrap_or_default();
        if !limits.is_empty() {
            let what = format!("limits of parameter `{wire}`: {limits}");
            self.lose(place, what, "checked before it is sent, by its schema");
        }
        let key = self.component(element.filter(|_| query).unwrap_or(&parameter.ty));
        let location = match row.location {
            ParameterIn::Path => "path",
            ParameterIn::Query => "query",
            ParameterIn::Header | ParameterIn::Cookie => "header",
        };
        json!({ "name": name, "in": location, "required": row.required, "schema": reference(&key) })
    }
}

/// Whether a value is one piece of text.
fn is_scalar(shapes: &Shapes, ty: &TypeRef) -> bool {
    match ty {
        TypeRef::Bool | TypeRef::Int(_) | TypeRef::Number | TypeRef::String => true,
        TypeRef::Named(id) => match &shapes.get(*id).body {
            Body::Enum(_) => true,
            Body::Newtype(inner) => is_scalar(shapes, inner),
            _ => false,
        },
        _ => false,
    }
}

/// A name that is no keyword and has not been given before, and that progenitor's own
/// conversion to snake case leaves as it is.
pub(super) fn distinct(wire: &str, seen: &mut BTreeSet<String>, prefix: &str) -> String {
    let name = names::field_name(wire);
    let base = name.trim_end_matches('_').to_owned();
    let base = if syn::parse_str::<syn::Ident>(&base).is_ok() { base } else { format!("{prefix}_{base}") };
    let mut name = base.clone();
    let mut number = 1;
    while !seen.insert(name.clone()) {
        number += 1;
        name = if number == 2 { format!("{prefix}_{base}") } else { format!("{prefix}_{base}_{number}") };
    }
    name
}
