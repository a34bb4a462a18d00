//! Resolves path templates: matches placeholders with parameters, and handles queries and fragments in keys
//! of `paths`, which OpenAPI does not allow. A fragment is dropped. The query pairs become parameters or are
//! sent with every request.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::operation::normalize_path;

use crate::{
    api::{Operation, Parameter, ParameterIn},
    diagnostics::Diagnostic,
    load::uri,
    tree::DocumentLocation,
};

use super::{OpenApiReader, parameter::path_shape};

const UNPAIRED: &str = "unbalanced braces";

/// A key of `paths`, split into path template, query and fragment.
struct PathKey<'p> {
    /// The path template without the query and the fragment.
    path: &'p str,
    /// The query after `?`.
    query: Option<&'p str>,
    /// The fragment after `#`.
    label: Option<&'p str>,
}

/// A name and value in the query of a key of `paths`, as in `/a?x=1`.
struct QueryPair<'p> {
    name: String,
    /// The value as it is spelled in the key, or `None` if the pair has no `=`.
    value: Option<&'p str>,
}

impl<'p> PathKey<'p> {
    fn of(key: &'p str) -> Self {
        let (rest, label) = split_outside_braces(key, b'#');
        let (path, query) = split_outside_braces(rest, b'?');
        Self { path, query, label }
    }

    fn query_pairs(&self) -> impl Iterator<Item = QueryPair<'p>> {
        let each = self.query.unwrap_or_default().split('&');
        let pairs = each.map(|pair| match pair.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (pair, None),
        });
        pairs
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| QueryPair { name: decode_query(name), value })
    }
}

impl QueryPair<'_> {
    /// Returns the pair as it is sent in requests: percent-encoded, with existing escapes kept.
    fn encode_pair(&self) -> String {
        let name = encode_query(&self.name);
        match self.value {
            Some(value) => format!("{name}={}", encode_query(&decode_query(value))),
            None => name,
        }
    }
}

/// Percent-decodes a name or value of a query, in which `+` is a space, as in form data.
fn decode_query(text: &str) -> String {
    let spaced = text.replace('+', " ");
    uri::percent_decode(&spaced).unwrap_or(spaced)
}

/// Percent-encodes all characters except unreserved ones (RFC 3986, 2.3).
fn encode_query(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(each).collect()
}

/// Splits a key of `paths` at the first character `sign` that is not inside a placeholder.
fn split_outside_braces(key: &str, sign: u8) -> (&str, Option<&str>) {
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

/// Returns the faults of a key of `paths`, with their fallbacks. A path template must contain neither a query
/// nor a fragment (OpenAPI 3.2, 4.8.1).
pub(super) fn path_faults(key: &str) -> Vec<(String, &'static str)> {
    let written = PathKey::of(key);
    let mut found = Vec::new();
    if !key.starts_with('/') {
        found.push((format!("the path `{key}` must start with `/`"), "a slash is added"));
    }
    if written.query.is_some() {
        let message = format!("the path `{key}` must not have a query");
        found.push((message, "it becomes part of the query of every request"));
    }
    if written.label.is_some() {
        let message = format!("the path `{key}` has a fragment, which is never sent");
        found.push((message, "the fragment is removed"));
    }
    found
}

/// Returns the pairs of a path and the name of a query parameter for which several keys of `paths` contain
/// different literal values, as in `/a?x=1` and `/a?x=2`. Such a value distinguishes operations.
pub(super) fn distinguishing_values<'p>(keys: impl Iterator<Item = &'p str>) -> BTreeSet<(String, String)> {
    let mut values: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for written in keys.map(PathKey::of) {
        let literals = written.query_pairs().map(|pair| (pair.name, pair.value.unwrap_or_default()));
        for (name, value) in literals.filter(|(_, value)| !value.contains('{')) {
            values.entry((path_shape(written.path), name)).or_default().insert(decode_query(value));
        }
    }
    values.retain(|_, values| values.len() > 1);
    values.into_keys().collect()
}

impl OpenApiReader<'_, '_> {
    /// Adjusts the path and the parameters of an operation, so that each placeholder has exactly one path
    /// parameter and vice versa. Returns `None` if the path template is malformed.
    pub(super) fn resolve_template(&mut self, mut operation: Operation) -> Option<Operation> {
        let here = operation.place.clone();
        let path = operation.path.clone();
        let written = PathKey::of(&path);
        let placeholders = match placeholder_names(written.path) {
            Ok(placeholders) => placeholders,
            Err(reason) => {
                let message = format!("the path template `{path}` has {reason}");
                let problem = Diagnostic::error("invalid-openapi", message).with_place(here);
                self.problems.push(problem.with_fallback("the operation is left out"));
                return None;
            }
        };
        let mut route = written.path.to_owned();
        let mut names: Vec<String> = Vec::new();
        let mut fault = |message: String, fallback: String| {
            self.problems.push(
                Diagnostic::error("path-parameter", message).with_place(here.clone()).with_fallback(fallback),
            );
        };
        for name in &placeholders {
            let taken = |name: &str| names.iter().any(|known| known == name);
            if !taken(name) {
                names.push((*name).to_owned());
                continue;
            }
            // A repeated placeholder may have two different values, so the second one is renamed.
            let own = (2..).map(|number| format!("{name}{number}"));
            let is_free = |own: &String| !taken(own) && !placeholders.contains(&own.as_str());
            let Some(own) = own.into_iter().find(is_free) else { continue };
            fault(
                format!("the path `{path}` contains `{{{name}}}` twice"),
                format!("the second one is renamed to `{own}`"),
            );
            operation.path = rename_second_placeholder(&operation.path, name, &own);
            route = rename_second_placeholder(&route, name, &own);
            let first = path_parameters(&operation).find(|parameter| parameter.name == *name).cloned();
            operation.parameters.extend(first.map(|first| Parameter { name: own.clone(), ..first }));
            names.push(own);
        }
        for name in &names {
            if !path_parameters(&operation).any(|parameter| parameter.name == *name) {
                fault(
                    format!("`{{{name}}}` of the path `{path}` has no path parameter"),
                    "it is read as a string".to_owned(),
                );
                operation.parameters.push(string_parameter(name, ParameterIn::Path, here.clone()));
            }
        }
        let mut kept: Vec<String> = Vec::new();
        // The names of path parameters that have no placeholder in the path but one in the query.
        let mut moved: Vec<String> = Vec::new();
        for pair in written.query_pairs() {
            let known = operation
                .parameters
                .iter()
                .position(|each| each.location == ParameterIn::Query && each.name == pair.name);
            let value = pair.value.unwrap_or_default();
            let is_literal = !value.contains('{');
            match known {
                Some(at)
                    if is_literal
                        && self
                            .distinguishing_values
                            .contains(&(path_shape(written.path), pair.name.clone())) =>
                {
                    fault(
                        format!("the path `{path}` gives the parameter `{}` a value", pair.name),
                        "the parameter is left out, since the value distinguishes this path from others"
                            .to_owned(),
                    );
                    kept.push(pair.encode_pair());
                    operation.parameters.remove(at);
                }
                // The query in the key makes this parameter required.
                Some(at) => {
                    if is_literal && pair.value.is_some() {
                        fault(
                            format!("the path `{path}` gives the parameter `{}` a value", pair.name),
                            format!("`{value}` is left out in favor of the parameter"),
                        );
                    }
                    operation.parameters[at].required = true;
                }
                None if is_literal => kept.push(pair.encode_pair()),
                None => {
                    let inside = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
                    let own =
                        path_parameters(&operation).find(|each| Some(each.name.as_str()) == inside).cloned();
                    let own = own.unwrap_or_else(|| {
                        let message = format!("`{value}` of the path `{path}` has no path parameter");
                        fault(message, "it is read as a string".to_owned());
                        string_parameter(&pair.name, ParameterIn::Query, here.clone())
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
        operation.route = format!("{}{mark}{}", normalize_path(&route), kept.join("&"));
        let idle = |parameter: &Parameter| {
            parameter.location == ParameterIn::Path && !names.contains(&parameter.name)
        };
        for parameter in operation.parameters.iter().filter(|parameter| idle(parameter)) {
            let message =
                format!("the path `{path}` has no `{{{}}}` for this path parameter", parameter.name);
            let problem = Diagnostic::error("path-parameter", message)
                .with_place(parameter.place.clone())
                .with_fallback("the parameter is left out");
            self.problems.push(problem.with_label(here.clone(), "in this operation"));
        }
        operation.parameters.retain(|parameter| !idle(parameter));
        Some(operation)
    }
}

fn path_parameters(operation: &Operation) -> impl Iterator<Item = &Parameter> {
    operation.parameters.iter().filter(|parameter| parameter.location == ParameterIn::Path)
}

/// Creates a required parameter without a schema, whose values are strings.
fn string_parameter(name: &str, location: ParameterIn, place: DocumentLocation) -> Parameter {
    let in_query = location == ParameterIn::Query;
    Parameter {
        place,
        name: name.to_owned(),
        rust_name: None,
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
        examples: Vec::new(),
        constant: None,
    }
}

/// Replaces the name of the second of two equal placeholders by `own`.
fn rename_second_placeholder(path: &str, name: &str, own: &str) -> String {
    let mark = format!("{{{name}}}");
    let mut parts = path.splitn(3, &mark);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(first), Some(second), Some(rest)) => format!("{first}{mark}{second}{{{own}}}{rest}"),
        _ => path.to_owned(),
    }
}

/// Returns the names of the placeholders in a path template, or an error message if the template is
/// malformed.
fn placeholder_names(path: &str) -> Result<Vec<&str>, &'static str> {
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
            return Err("a placeholder with a slash");
        }
        names.push(name);
        rest = onward;
    }
    if rest.contains('}') { Err(UNPAIRED) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::resolve::{openapi::tests::read, tests::format_problems};

    /// Reads an operation with the path `/a` followed by `suffix`. Returns its route, its parameters, and the
    /// problems.
    fn routed(suffix: &str, parameters: &str) -> (String, String, String) {
        let (_, api, problems) =
            read(&format!("paths:\n  '/a{suffix}':\n    get: {{parameters: [{parameters}]}}\n"));
        let operation = api.operations.first().unwrap();
        let format_parameter = |each: &crate::api::Parameter| {
            format!("{} {}{}", each.location, each.name, if each.required { "" } else { "?" })
        };
        let parameters: Vec<String> = operation.parameters.iter().map(format_parameter).collect();
        (operation.route.clone(), parameters.join(", "), format_problems(&problems))
    }

    /// A query or fragment in a key of `paths` is a fault. The fragment is dropped; the query pairs become
    /// required parameters or part of the route.
    #[test]
    fn queries_and_fragments_of_paths() {
        let path = |name: &str| format!("{{name: {name}, in: path, required: true, schema: {{}}}}");
        let query = |name: &str| format!("{{name: {name}, in: query, schema: {{}}}}");
        for (suffix, parameters, route, found, faults) in [
            ("#A=b", query("A"), "/a", "query A?", 1),
            ("#", String::new(), "/a", "", 1),
            ("#x?y=z", String::new(), "/a", "", 1),
            ("?x=1", query("y"), "/a?x=1", "query y?", 1),
            ("?x=1&y&=z", String::new(), "/a?x=1&y", "", 1),
            // Percent-escapes and `+` in a query are decoded as in form data.
            (" ä/%2f%41%", String::new(), "/a%20%C3%A4/%2FA%25", "", 0),
            ("?x=a+b", String::new(), "/a?x=a%20b", "", 1),
            ("?x=a%20b/{c", String::new(), "/a", "query x", 2),
            ("?x=a b/c%2b", String::new(), "/a?x=a%20b%2Fc%2B", "", 1),
            // A declared query parameter of the same name replaces the query pair and becomes required.
            ("?x=1", query("x"), "/a", "query x", 2),
            ("?x", query("x"), "/a", "query x", 1),
            ("?x={y}", path("y"), "/a", "query x", 1),
            ("?x={y}&z={y}", path("y"), "/a", "query x, query z", 1),
            ("/{y}?x={y}", path("y"), "/a/{y}", "path y, query x", 1),
            ("?x={x}", query("x"), "/a", "query x", 1),
            ("?x={y}", String::new(), "/a", "query x", 2),
            ("?x=1#y", String::new(), "/a?x=1", "", 2),
            // `?` and `#` inside placeholders do not begin a query or fragment.
            (
                "/{y?}/{z#}",
                format!("{}, {}", path("y?"), path("'z#'")),
                "/a/{y?}/{z#}",
                "path y?, path z#",
                0,
            ),
        ] {
            let (found_route, found_parameters, found_problems) = routed(suffix, &parameters);
            assert_eq!((found_route.as_str(), found_parameters.as_str()), (route, found), "{suffix}");
            assert_eq!(found_problems.lines().count(), faults, "{suffix}: {found_problems}");
        }
    }

    /// If two keys of `paths` differ only in a literal query value, the value stays in their routes, so that
    /// their operations are distinguishable.
    #[test]
    fn literal_values_distinguish_paths() {
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

    /// A path with a malformed placeholder results in no operation, and the message states what is malformed.
    #[test]
    fn placeholders_have_names() {
        for (path, reason) in [
            ("/e/{}", "has a placeholder without a name"),
            ("/e/{a/b}", "has a placeholder with a slash"),
            ("/e/{a", "has unbalanced braces"),
            ("/e/a}", "has unbalanced braces"),
            ("/e/{a{b}}", "has unbalanced braces"),
        ] {
            let (_, api, problems) = read(&format!("paths: {{'{path}': {{get: {{responses: {{}}}}}}}}\n"));
            assert!(api.operations.is_empty() && !problems.has_fatal(), "{path}");
            assert!(problems.to_string().replace("\n  │ ", " ").contains(reason), "{path}: {problems}");
        }
    }
}
