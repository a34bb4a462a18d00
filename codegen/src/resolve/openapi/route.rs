//! Path templates: their placeholders and parameters settled, and what stands behind a path that no
//! path has. What follows `#` is never sent, so that it is a label alone; the pairs behind `?` are
//! parameters of the query, or sent with every request.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::operation::normal_path;

use crate::{
    api::{Operation, Parameter, ParameterIn},
    diagnostics::Diagnostic,
    load::uri,
    tree::Place,
};

use super::{Reader, parameter::shape};

const UNPAIRED: &str = "braces that do not pair";

/// What a key of `paths` says.
struct Written<'p> {
    /// The template of the path alone.
    path: &'p str,
    /// What stands behind `?`.
    query: Option<&'p str>,
    /// What stands behind `#`.
    label: Option<&'p str>,
}

/// A pair behind `?`.
struct Pair<'p> {
    name: String,
    /// As it is written; `None` where there is no `=`.
    value: Option<&'p str>,
}

impl<'p> Written<'p> {
    fn of(key: &'p str) -> Self {
        let (rest, label) = cut(key, b'#');
        let (path, query) = cut(rest, b'?');
        Self { path, query, label }
    }

    fn pairs(&self) -> impl Iterator<Item = Pair<'p>> {
        let each = self.query.unwrap_or_default().split('&');
        let pairs = each.map(|pair| match pair.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (pair, None),
        });
        pairs.filter(|(name, _)| !name.is_empty()).map(|(name, value)| Pair { name: decoded(name), value })
    }
}

impl Pair<'_> {
    /// As it stands in the query of a request. What is encoded already stays so.
    fn sent(&self) -> String {
        let name = encoded(&self.name);
        match self.value {
            Some(value) => format!("{name}={}", encoded(&decoded(value))),
            None => name,
        }
    }
}

/// What a part of a query says, which is read like a form's: a `+` is a space.
fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    uri::decode(&spaced).unwrap_or(spaced)
}

/// Everything but what is the same wherever it stands (RFC 3986, 2.3).
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(each).collect()
}

/// A key in front of a sign that is in no placeholder, and behind it.
fn cut(key: &str, sign: u8) -> (&str, Option<&str>) {
    let mut inside = false;
    let at = key.bytes().position(|each| {
        inside = each == b'{' || (inside && each != b'}');
        each == sign && !inside
    });
    match at.and_then(|at| key.split_at_checked(at)) {
        Some((before, behind)) => (before, behind.get(1..)),
        None => (key, None),
    }
}

/// What is wrong with a key of `paths`, and what is made of it (OpenAPI 3.2, 4.8.1: a path template has
/// neither query nor fragment).
pub(super) fn faults(key: &str) -> Vec<(String, &'static str)> {
    let written = Written::of(key);
    let mut found = Vec::new();
    if !key.starts_with('/') {
        found.push((format!("the path `{key}` must start with `/`"), "it is read with one"));
    }
    if written.query.is_some() {
        let message = format!("the path `{key}` has a query");
        found.push((message, "what stands in it is of the query of every request"));
    }
    if written.label.is_some() {
        let message = format!("the path `{key}` has a fragment, which is never sent");
        found.push((message, "the path ends before it"));
    }
    found
}

/// Paths and names of the query that have more than one value behind one path: they tell operations
/// apart.
pub(super) fn apart<'p>(keys: impl Iterator<Item = &'p str>) -> BTreeSet<(String, String)> {
    let mut values: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for written in keys.map(Written::of) {
        let literals = written.pairs().map(|pair| (pair.name, pair.value.unwrap_or_default()));
        for (name, value) in literals.filter(|(_, value)| !value.contains('{')) {
            values.entry((shape(written.path), name)).or_default().insert(decoded(value));
        }
    }
    values.retain(|_, values| values.len() > 1);
    values.into_keys().collect()
}

impl Reader<'_, '_> {
    /// An operation whose placeholders and path parameters are the same set, `None` where its path
    /// is no template.
    pub(super) fn template(&mut self, mut operation: Operation) -> Option<Operation> {
        let here = operation.place.clone();
        let path = operation.path.clone();
        let written = Written::of(&path);
        let placeholders = match placeholders(written.path) {
            Ok(placeholders) => placeholders,
            Err(reason) => {
                let message = format!("the path template `{path}` has {reason}");
                let problem = Diagnostic::error("invalid-openapi", message).at(here);
                self.problems.push(problem.mended("the operation is left out"));
                return None;
            }
        };
        let mut route = written.path.to_owned();
        let mut names: Vec<String> = Vec::new();
        let mut fault = |message: String, mend: String| {
            self.problems.push(Diagnostic::error("path-parameter", message).at(here.clone()).mended(mend));
        };
        for name in &placeholders {
            let taken = |name: &str| names.iter().any(|known| known == name);
            if !taken(name) {
                names.push((*name).to_owned());
                continue;
            }
            // Whoever writes it twice means two values: nothing asks for one of them twice.
            let own = (2..).map(|number| format!("{name}{number}"));
            let is_free = |own: &String| !taken(own) && !placeholders.contains(&own.as_str());
            let Some(own) = own.into_iter().find(is_free) else { continue };
            fault(
                format!("the path `{path}` holds `{{{name}}}` twice"),
                format!("the later one is called `{own}`"),
            );
            operation.path = renamed(&operation.path, name, &own);
            route = renamed(&route, name, &own);
            let first = declared(&operation).find(|parameter| parameter.name == *name).cloned();
            operation.parameters.extend(first.map(|first| Parameter { name: own.clone(), ..first }));
            names.push(own);
        }
        for name in &names {
            if !declared(&operation).any(|parameter| parameter.name == *name) {
                fault(
                    format!("`{{{name}}}` of the path `{path}` has no path parameter"),
                    "it is read as text".to_owned(),
                );
                operation.parameters.push(text(name, ParameterIn::Path, here.clone()));
            }
        }
        let mut kept: Vec<String> = Vec::new();
        // Parameters of the path that stand behind it.
        let mut moved: Vec<String> = Vec::new();
        for pair in written.pairs() {
            let known = operation
                .parameters
                .iter()
                .position(|each| each.location == ParameterIn::Query && each.name == pair.name);
            let value = pair.value.unwrap_or_default();
            let is_literal = !value.contains('{');
            match known {
                Some(at) if is_literal && self.apart.contains(&(shape(written.path), pair.name.clone())) => {
                    fault(
                        format!("the path `{path}` gives the parameter `{}` a value", pair.name),
                        "the parameter is left out, for the value tells this path from others".to_owned(),
                    );
                    kept.push(pair.sent());
                    operation.parameters.remove(at);
                }
                // What the path gives every request cannot be left out.
                Some(at) => {
                    if is_literal && pair.value.is_some() {
                        fault(
                            format!("the path `{path}` gives the parameter `{}` a value", pair.name),
                            format!("`{value}` is left out, and the parameter counts"),
                        );
                    }
                    operation.parameters[at].required = true;
                }
                None if is_literal => kept.push(pair.sent()),
                None => {
                    let inside = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
                    let own = declared(&operation).find(|each| Some(each.name.as_str()) == inside).cloned();
                    let own = own.unwrap_or_else(|| {
                        let message = format!("`{value}` of the path `{path}` has no path parameter");
                        fault(message, "it is read as text".to_owned());
                        text(&pair.name, ParameterIn::Query, here.clone())
                    });
                    if own.location == ParameterIn::Path && !names.contains(&own.name) {
                        moved.push(own.name.clone());
                    }
                    operation.parameters.push(Parameter {
                        name: pair.name,
                        location: ParameterIn::Query,
                        style: "form".to_owned(),
                        ..own
                    });
                }
            }
        }
        let is_moved = |each: &Parameter| each.location == ParameterIn::Path && moved.contains(&each.name);
        operation.parameters.retain(|each| !is_moved(each));
        let mark = if kept.is_empty() { "" } else { "?" };
        operation.route = format!("{}{mark}{}", normal_path(&route), kept.join("&"));
        let idle = |parameter: &Parameter| {
            parameter.location == ParameterIn::Path && !names.contains(&parameter.name)
        };
        for parameter in operation.parameters.iter().filter(|parameter| idle(parameter)) {
            let message =
                format!("the path `{path}` has no `{{{}}}` for this path parameter", parameter.name);
            let problem = Diagnostic::error("path-parameter", message)
                .at(parameter.place.clone())
                .mended("the parameter is left out");
            self.problems.push(problem.label(here.clone(), "in this operation"));
        }
        operation.parameters.retain(|parameter| !idle(parameter));
        Some(operation)
    }
}

fn declared(operation: &Operation) -> impl Iterator<Item = &Parameter> {
    operation.parameters.iter().filter(|parameter| parameter.location == ParameterIn::Path)
}

/// A parameter of which its name is all that is known.
fn text(name: &str, location: ParameterIn, place: Place) -> Parameter {
    let in_query = location == ParameterIn::Query;
    Parameter {
        place,
        name: name.to_owned(),
        location,
        required: true,
        deprecated: false,
        description: None,
        style: if in_query { "form" } else { "simple" }.to_owned(),
        explode: in_query,
        allow_reserved: false,
        allow_empty: false,
        schema: None,
        content: None,
        encoding: Vec::new(),
        constant: None,
    }
}

/// A template whose second placeholder of a name has another one.
fn renamed(path: &str, name: &str, own: &str) -> String {
    let mark = format!("{{{name}}}");
    let mut parts = path.splitn(3, &mark);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(first), Some(second), Some(rest)) => format!("{first}{mark}{second}{{{own}}}{rest}"),
        _ => path.to_owned(),
    }
}

/// The names between braces.
fn placeholders(path: &str) -> Result<Vec<&str>, &'static str> {
    let mut names = Vec::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, onward) = after.split_once('}').ok_or(UNPAIRED)?;
        if before.contains('}') || name.contains('{') {
            return Err(UNPAIRED);
        }
        if name.is_empty() {
            return Err("a placeholder without a name");
        }
        if name.contains('/') {
            return Err("a placeholder of more than a segment");
        }
        names.push(name);
        rest = onward;
    }
    if rest.contains('}') { Err(UNPAIRED) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::resolve::{openapi::tests::read, tests::shown};

    /// The route of `/a` with something behind it, its parameters, and what is said.
    fn routed(behind: &str, parameters: &str) -> (String, String, String) {
        let (_, api, problems) =
            read(&format!("paths:\n  '/a{behind}':\n    get: {{parameters: [{parameters}]}}\n"));
        let operation = api.operations.first().unwrap();
        let each = |each: &crate::api::Parameter| {
            format!("{} {}{}", each.location, each.name, if each.required { "" } else { "?" })
        };
        let parameters: Vec<String> = operation.parameters.iter().map(each).collect();
        (operation.route.clone(), parameters.join(", "), shown(&problems))
    }

    /// A fault each, and nothing that a client sends is lost.
    #[test]
    fn what_stands_behind_a_path_is_sent_or_a_label() {
        let path = |name: &str| format!("{{name: {name}, in: path, required: true, schema: {{}}}}");
        let query = |name: &str| format!("{{name: {name}, in: query, schema: {{}}}}");
        for (behind, parameters, route, found, faults) in [
            ("#A=b", query("A"), "/a", "query A?", 1),
            ("#", String::new(), "/a", "", 1),
            ("#x?y=z", String::new(), "/a", "", 1),
            ("?x=1", query("y"), "/a?x=1", "query y?", 1),
            ("?x=1&y&=z", String::new(), "/a?x=1&y", "", 1),
            // A server reads it like a form.
            (" ä/%2f%41%", String::new(), "/a%20%C3%A4/%2FA%25", "", 0),
            ("?x=a+b", String::new(), "/a?x=a%20b", "", 1),
            ("?x=a%20b/{c", String::new(), "/a", "query x", 2),
            ("?x=a b/c%2b", String::new(), "/a?x=a%20b%2Fc%2B", "", 1),
            // A parameter says more of a pair than the pair does.
            ("?x=1", query("x"), "/a", "query x", 2),
            ("?x", query("x"), "/a", "query x", 1),
            ("?x={y}", path("y"), "/a", "query x", 1),
            ("?x={y}&z={y}", path("y"), "/a", "query x, query z", 1),
            ("/{y}?x={y}", path("y"), "/a/{y}", "path y, query x", 1),
            ("?x={x}", query("x"), "/a", "query x", 1),
            ("?x={y}", String::new(), "/a", "query x", 2),
            ("?x=1#y", String::new(), "/a?x=1", "", 2),
            // Not behind the path.
            (
                "/{y?}/{z#}",
                format!("{}, {}", path("y?"), path("'z#'")),
                "/a/{y?}/{z#}",
                "path y?, path z#",
                0,
            ),
        ] {
            let (own, own_parameters, said) = routed(behind, &parameters);
            assert_eq!((own.as_str(), own_parameters.as_str()), (route, found), "{behind}");
            assert_eq!(said.lines().count(), faults, "{behind}: {said}");
        }
    }

    /// A value that one path has and another has not is no less than a parameter of that name.
    #[test]
    fn values_tell_paths_apart() {
        let path = |key: &str| {
            format!("  '{key}': {{get: {{parameters: [{{name: x, in: query, schema: {{}}}}]}}}}\n")
        };
        for (paths, routes) in [
            (["/a?x=1", "/a?x=2"], ["/a?x=1", "/a?x=2"]),
            (["/a?x", "/a?x=2"], ["/a?x", "/a?x=2"]),
            (["/a?x=1", "/a?x=1#b"], ["/a", "/a"]),
            (["/a?x=1", "/b?x=2"], ["/a", "/b"]),
            (["/a?x=1", "/a"], ["/a", "/a"]),
        ] {
            let (_, api, problems) = read(&format!("paths:\n{}{}", path(paths[0]), path(paths[1])));
            let found: Vec<&str> = api.operations.iter().map(|operation| operation.route.as_str()).collect();
            assert_eq!(found, routes, "{paths:?}");
            for operation in &api.operations {
                assert_eq!(operation.parameters.is_empty(), operation.route.contains('?'), "{paths:?}");
            }
            assert!(problems.to_string().contains("gives the parameter `x` a value"), "{problems}");
        }
    }

    /// Whoever reads it learns what is wrong with it.
    #[test]
    fn placeholders_have_names() {
        for (path, reason) in [
            ("/e/{}", "has a placeholder without a name"),
            ("/e/{a/b}", "has a placeholder of more than a segment"),
            ("/e/{a", "has braces that do not pair"),
            ("/e/a}", "has braces that do not pair"),
            ("/e/{a{b}}", "has braces that do not pair"),
        ] {
            let (_, api, problems) = read(&format!("paths: {{'{path}': {{get: {{responses: {{}}}}}}}}\n"));
            assert!(api.operations.is_empty() && !problems.has_fatal(), "{path}");
            assert!(problems.to_string().replace("\n  │ ", " ").contains(reason), "{path}: {problems}");
        }
    }
}
