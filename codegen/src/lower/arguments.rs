//! Parameters: how they are named and written in the lowered document.

use std::collections::BTreeSet;

use heck::ToSnakeCase;
use serde_json::{Value, json};

use super::{Lowering, TRANSPORT, exceed};
use crate::{
    api::{Operation, ParameterIn},
    load::uri,
    plan::{Call, Parameter},
    schema::Types,
    shape::{Body, Shapes, TypeRef},
    together::{Conj, Facts},
};

/// A parameter of a lowered operation.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name on the wire.
    pub wire: String,
    /// Where it stands.
    pub location: ParameterIn,
    /// What progenitor calls it.
    pub name: String,
}

impl Argument {
    fn of(wire: &str, location: ParameterIn) -> Self {
        Self { wire: wire.to_owned(), location, name: argument_name(wire) }
    }
}

/// The template of an operation's path alone, and what every request has in its query.
pub(crate) fn written(operation: &Operation) -> (String, Vec<(String, String)>) {
    let decoded = |text: &str| uri::decode(text).unwrap_or_else(|| text.to_owned());
    let pairs = operation.pairs().map(|(name, text)| (decoded(name), decoded(text)));
    (operation.template().to_owned(), pairs.collect())
}

/// A parameter of the query that is always the same.
pub(crate) fn pair(wire: &str, text: &str) -> Value {
    json!({ "name": wire, "in": "query", "required": true, "schema": { "type": "string", "enum": [text] } })
}

/// A key of `paths` that is not taken: what stands behind `#` is never sent.
pub(crate) fn free(path: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{path}#{number}"));
    let mut keys = std::iter::once(path.to_owned()).chain(numbered);
    keys.find(|key| !is_taken(key)).unwrap_or_else(|| path.to_owned())
}

impl Lowering<'_> {
    /// The lowered path, the arguments, the lowered parameters.
    pub(super) fn arguments(
        &mut self,
        call: &Call<'_>,
        beyond: &mut Option<String>,
    ) -> (String, Vec<Argument>, Vec<Value>) {
        // progenitor names an argument after its parameter, wherever that stands, and the body `body`.
        let mut seen = BTreeSet::new();
        if call.body.is_some() {
            seen.insert("body".to_owned());
        }
        let mut arguments = Vec::new();
        let mut add = |argument: Argument, beyond: &mut Option<String>| {
            if !seen.insert(argument.name.clone()) {
                exceed(beyond, format!("two of its arguments are called `{}`", argument.name));
            }
            arguments.push(argument);
        };
        let mut lowered = Vec::new();
        for parameter in &call.parameters {
            if parameter.field.is_none() && parameter.parameter.constant.is_none() {
                let what = format!("parameter `{}`", parameter.row.name);
                self.lose(&parameter.parameter.place, what, TRANSPORT);
                continue;
            }
            add(Argument::of(&parameter.row.name, parameter.row.location), beyond);
            lowered.push(self.argument(parameter, beyond));
        }
        let (path, pairs) = written(call.operation);
        for (wire, text) in pairs {
            add(Argument::of(&wire, ParameterIn::Query), beyond);
            lowered.push(pair(&wire, &text));
        }
        let listed: Vec<&str> = call.parameters.iter().map(|parameter| parameter.row.name.as_str()).collect();
        for hidden in call.operation.parameters.iter().filter(|p| !listed.contains(&p.name.as_str())) {
            let what = format!("parameter `{}`", hidden.name);
            self.lose(&hidden.place, what, TRANSPORT);
        }
        (path, arguments, lowered)
    }

    fn argument(&mut self, parameter: &Parameter<'_>, beyond: &mut Option<String>) -> Value {
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
        let mut schema = match row.schema {
            Some(schema) => self.schemas(&[schema]),
            None => json!({ "type": "string" }),
        };
        if let Some(members) = schema.as_object_mut().filter(|_| null) {
            members.remove("nullable");
        }
        let location = match row.location {
            ParameterIn::Path => "path",
            ParameterIn::Query | ParameterIn::QueryString => "query",
            ParameterIn::Header | ParameterIn::Cookie => "header",
        };
        json!({ "name": wire, "in": location, "required": row.required, "schema": schema })
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

/// What progenitor calls the argument for a parameter: its name in snake case, made an identifier.
pub(crate) fn argument_name(wire: &str) -> String {
    let plain = wire.replace('\'', "").replace(|c| !unicode_ident::is_xid_continue(c), "-");
    let name = match wire {
        "+1" => "plus1".to_owned(),
        "-1" => "minus1".to_owned(),
        _ => plain.to_snake_case(),
    };
    let starts = name.chars().next().is_some_and(unicode_ident::is_xid_start);
    let name = if starts { name } else { format!("x{name}") };
    if syn::parse_str::<syn::Ident>(&name).is_ok() && name != "gen" { name } else { format!("{name}_") }
}

/// A method's name that has not been given before.
pub(super) fn distinct(id: &str, seen: &mut BTreeSet<String>) -> String {
    let base = argument_name(id);
    let mut name = base.clone();
    let mut number = 1;
    while !seen.insert(name.clone()) {
        number += 1;
        // Of `type_` progenitor would make `type_2` all the same.
        name = format!("{}_{number}", base.trim_end_matches('_'));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands behind a path is of the query, and several operations of one path and method have keys of
    /// their own.
    #[test]
    fn a_key_is_a_path_and_a_number_at_most() {
        let operation = |route: &str| Operation { route: route.to_owned(), ..Operation::default() };
        let pairs = vec![("of".to_owned(), "a b".to_owned()), ("list".to_owned(), String::new())];
        assert_eq!(written(&operation("/rest?of=a%20b&list")), ("/rest".to_owned(), pairs));
        assert_eq!(written(&operation("/a/{x}")), ("/a/{x}".to_owned(), Vec::new()));
        assert_eq!(free("/a", |_| false), "/a");
        assert_eq!(free("/a", |key| key != "/a#3"), "/a#3");
    }

    #[test]
    fn methods_are_called_as_progenitor_calls_them() {
        let mut seen = BTreeSet::new();
        let names = ["listShips", "type", "list_ships", "Type"].map(|id| distinct(id, &mut seen));
        assert_eq!(names, ["list_ships", "type_", "list_ships_2", "type_2"]);
    }
}
