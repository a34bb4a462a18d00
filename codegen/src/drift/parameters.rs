//! Parameters, matched by place and name; placeholders of a path by their order.

use super::{
    finding::Comparer,
    flat::Flat,
    media::{Meaning, meaning},
    operations::{Calls, list, template},
    proof::Side,
    rules,
    subject::{Subject, Use},
};
use crate::{
    api::{Operation, Parameter, ParameterIn},
    schema::Types,
};

impl<'g> Comparer<'g> {
    /// Compares the parameters of an operation.
    pub(super) fn parameters(&mut self, calls: &Calls<'g>) {
        let Calls { old, new, answers, .. } = *calls;
        let usage = answers.reversed();
        let (done, preposition) = match usage {
            Use::Write => ("read", "from"),
            Use::Read => ("sent", "in"),
        };
        let placeholders = placeholders(old, new);
        let mut left: Vec<&Parameter> = new.parameters.iter().collect();
        let mut gone = Vec::new();
        for before in &old.parameters {
            let name = placeholders
                .iter()
                .find(|(was, _)| before.location == ParameterIn::Path && *was == before.name);
            let name = name.map_or(before.name.as_str(), |(_, is)| *is);
            let same = |after: &&Parameter| {
                after.location == before.location && same_name(after.location, &after.name, name)
            };
            match left.iter().position(same) {
                Some(at) => {
                    let after = left.remove(at);
                    self.parameter(calls, before, after);
                }
                None => gone.push(before),
            }
        }
        for before in gone {
            let base = subject(calls, before);
            // The same name elsewhere is the same parameter, moved.
            if let Some(at) =
                left.iter().position(|after| same_name(after.location, &after.name, &before.name))
            {
                let after = left.remove(at);
                let message = format!(
                    "`{}` is {done} {preposition} the {}, was {preposition} the {}",
                    before.name,
                    word(after.location),
                    word(before.location)
                );
                self.both(rules::PARAMETER_MOVED, (Some(&before.place), Some(&after.place)), &base, message);
                self.pair(&list(before.schema), &list(after.schema), &sent(calls, before, after));
            } else {
                let message = format!("`{}` is no longer {done}", before.name);
                self.both(rules::PARAMETER_REMOVED, (Some(&before.place), Some(&new.place)), &base, message);
            }
        }
        for after in left {
            let rule = if after.required {
                rules::PARAMETER_ADDED_REQUIRED
            } else {
                rules::PARAMETER_ADDED_OPTIONAL
            };
            let kind = if after.required { "required" } else { "optional" };
            let message = format!("`{}` is new and {kind}", after.name);
            self.both(rule, (Some(&old.place), Some(&after.place)), &subject(calls, after), message);
        }
    }

    fn parameter(&mut self, calls: &Calls<'g>, before: &'g Parameter, after: &'g Parameter) {
        let base = subject(calls, after);
        let places = (Some(&before.place), Some(&after.place));
        if before.name != after.name && after.location == ParameterIn::Path {
            let message = format!("the placeholder is called `{}`, was `{}`", after.name, before.name);
            self.both(rules::PATH_PARAMETER_RENAMED, places, &base, message);
        }
        match (before.required, after.required) {
            (false, true) => self.both(rules::PARAMETER_REQUIRED, places, &base, "it is required".to_owned()),
            (true, false) => {
                self.both(rules::PARAMETER_OPTIONAL, places, &base, "it may be left out".to_owned())
            }
            _ => {}
        }
        if written(before) != written(after) {
            let plain = self.is_plain(before, after);
            let (rule, message) = if wire(before, plain) == wire(after, plain) {
                let message = "`style`, `explode` or `allowReserved` changed, what is sent is read as before";
                (rules::SERIALIZATION_REWRITTEN, message)
            } else {
                let message = "`style`, `explode`, `allowReserved` or `content` changed";
                (rules::PARAMETER_STYLE_CHANGED, message)
            };
            self.both(rule, places, &base, message.to_owned());
        }
        if before.location == ParameterIn::Query && before.allow_empty && !after.allow_empty {
            let message = "it cannot be sent without a value any more".to_owned();
            self.both(rules::PARAMETER_STYLE_CHANGED, places, &base, message);
        }
        if before.deprecated != after.deprecated {
            let message =
                if after.deprecated { "it became deprecated" } else { "it is no longer deprecated" };
            self.both(rules::PARAMETER_DEPRECATED, places, &base, message.to_owned());
        }
        if before.description != after.description {
            self.both(rules::OPERATION_EDITORIAL, places, &base, "its description changed".to_owned());
        }
        self.pair(&list(before.schema), &list(after.schema), &sent(calls, before, after));
    }

    /// Whether both versions of a parameter are plain texts, which no style joins.
    fn is_plain(&self, before: &Parameter, after: &Parameter) -> bool {
        let joined = Types::ARRAY.or(Types::OBJECT);
        let is_plain =
            |side, schema| Flat::of(self.graph(side), &list(schema)).types().and(joined).is_empty();
        is_plain(Side::Old, before.schema) && is_plain(Side::New, after.schema)
    }
}

/// How a parameter says that it is written.
fn written(parameter: &Parameter) -> (&str, bool, bool, Option<Meaning>) {
    let Parameter { style, explode, allow_reserved, content, .. } = parameter;
    (style, *explode, *allow_reserved, content.as_deref().map(meaning))
}

/// What of that is seen in what is sent. Names and values are decoded alike however much of them was
/// escaped; a plain text is the same in every style of a query (OpenAPI 3.1, 4.8.12.4).
fn wire(parameter: &Parameter, plain: bool) -> (&str, bool, Option<Meaning>) {
    let (style, explode, _, content) = written(parameter);
    let in_query = matches!(style, "form" | "spaceDelimited" | "pipeDelimited");
    let style = if plain && in_query { "form" } else { style };
    // Of a plain text `matrix` and `label` join nothing either.
    (style, explode && !plain, content)
}

/// A parameter as what it is sent as.
fn sent(calls: &Calls<'_>, before: &Parameter, after: &Parameter) -> Subject {
    let at = Subject::new(subject(calls, after), calls.answers.reversed());
    if before.content.is_none() && after.content.is_none() { at.sent_as_texts() } else { at }
}

fn subject(calls: &Calls<'_>, parameter: &Parameter) -> String {
    format!("{} {} {}", calls.name(), word(parameter.location), parameter.name)
}

const fn word(location: ParameterIn) -> &'static str {
    match location {
        ParameterIn::Path => "path",
        ParameterIn::Query => "query",
        ParameterIn::Header => "header",
        ParameterIn::Cookie => "cookie",
        ParameterIn::QueryString => "querystring",
    }
}

/// Names of headers have no case (RFC 9110, 5.1).
fn same_name(location: ParameterIn, one: &str, other: &str) -> bool {
    one == other || (location == ParameterIn::Header && one.eq_ignore_ascii_case(other))
}

/// The placeholders of two paths by position: old, new. The names are not sent; where the paths do not
/// have the same shape, those that both have are what they were.
fn placeholders<'g>(old: &'g Operation, new: &'g Operation) -> Vec<(&'g str, &'g str)> {
    let names =
        |path: &'g str| path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect::<Vec<_>>();
    let (before, after) = (names(&old.path), names(&new.path));
    let same_shape = template(&old.path) == template(&new.path);
    if before.len() != after.len() {
        return Vec::new();
    }
    let both = before.iter().zip(&after).filter(|(was, _)| same_shape || !after.contains(was));
    both.map(|(was, is)| (*was, *is)).collect()
}
