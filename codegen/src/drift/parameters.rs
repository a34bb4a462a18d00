//! Compares parameters. They are matched by location and name; path parameters are matched by position.

use contract_codegen_core::{
    api::{Operation, Parameter, ParameterIn},
    schema::TypeSet,
};

use super::{
    comparison::Comparison,
    findings::PlacePair,
    flattened::FlattenedSchema,
    media::{MediaTypeKey, media_type_key},
    operations::{OperationPair, anonymous_path, optional_schema},
    proof::VersionSide,
    rules::{self, DriftRule},
    site::{ComparisonSite, StringScope, ValueUse},
};

/// A comparer for the parameters of an operation.
pub(super) struct ParameterComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    operation: &'c OperationPair<'g>,
}

impl<'c, 'g> ParameterComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, operation: &'c OperationPair<'g>) -> Self {
        Self { comparison, operation }
    }

    /// Matches the parameters of both versions, compares the pairs, and reports added, removed and moved
    /// parameters.
    pub(super) fn compare_parameters(&mut self) {
        let OperationPair { old, new, .. } = *self.operation;
        let path_parameters = match_placeholders(old, new);
        let mut added: Vec<&Parameter> = new.parameters.iter().collect();
        let mut removed = Vec::new();
        for before in &old.parameters {
            let renamed = path_parameters
                .iter()
                .find(|(was, _)| before.location == ParameterIn::Path && *was == before.name);
            let name = renamed.map_or(before.name.as_str(), |(_, is)| *is);
            let is_same = |after: &&Parameter| {
                after.location == before.location && same_name(after.location, &after.name, name)
            };
            match added.iter().position(is_same) {
                Some(index) => self.compare_parameter(before, added.remove(index)),
                None => removed.push(before),
            }
        }
        for before in removed {
            // A parameter has moved if the new version has the same name in another location.
            let has_same_name = |after: &&Parameter| same_name(after.location, &after.name, &before.name);
            let moved = added.iter().position(has_same_name).map(|index| added.remove(index));
            self.report_moved_or_removed(before, moved);
        }
        for after in added {
            let (rule, kind) = match after.required {
                true => (rules::PARAMETER_ADDED_REQUIRED, "required"),
                false => (rules::PARAMETER_ADDED_OPTIONAL, "optional"),
            };
            let message = format!("`{}` is new and {kind}", after.name);
            let places = (Some(&old.place), Some(&after.place));
            self.report(rule, places, &parameter_label(self.operation, after), message);
        }
    }

    fn report(&mut self, rule: &'static DriftRule, places: PlacePair<'_>, subject: &str, message: String) {
        self.operation.report(self.comparison, rule, places, subject, message);
    }

    fn report_moved_or_removed(&mut self, before: &'g Parameter, moved: Option<&'g Parameter>) {
        let (verb, preposition) = match self.operation.request_use() {
            ValueUse::Write => ("read", "from"),
            ValueUse::Read => ("sent", "in"),
        };
        let subject = parameter_label(self.operation, before);
        let Some(after) = moved else {
            let places = (Some(&before.place), Some(&self.operation.new.place));
            let message = format!("`{}` is no longer {verb}", before.name);
            self.report(rules::PARAMETER_REMOVED, places, &subject, message);
            return;
        };
        let message = format!(
            "`{}` is {verb} {preposition} the {} instead of the {}",
            before.name,
            location_name(after.location),
            location_name(before.location)
        );
        let places = (Some(&before.place), Some(&after.place));
        self.report(rules::PARAMETER_MOVED, places, &subject, message);
        self.compare_parameter_schemas(before, after);
    }

    fn compare_parameter_schemas(&mut self, before: &Parameter, after: &Parameter) {
        let (old, new) = (optional_schema(before.schema), optional_schema(after.schema));
        self.comparison.compare_schemas(&old, &new, &parameter_site(self.operation, before, after));
    }

    fn compare_parameter(&mut self, before: &'g Parameter, after: &'g Parameter) {
        let subject = parameter_label(self.operation, after);
        let places = (Some(&before.place), Some(&after.place));
        if before.name != after.name && after.location == ParameterIn::Path {
            let message =
                format!("the path parameter was renamed from `{}` to `{}`", before.name, after.name);
            self.report(rules::PATH_PARAMETER_RENAMED, places, &subject, message);
        }
        match (before.required, after.required) {
            (false, true) => {
                self.report(rules::PARAMETER_REQUIRED, places, &subject, "it became required".to_owned())
            }
            (true, false) => {
                self.report(rules::PARAMETER_OPTIONAL, places, &subject, "it became optional".to_owned())
            }
            _ => {}
        }
        if declared_style(before) != declared_style(after) {
            let is_scalar = self.is_scalar_parameter(before, after);
            let (rule, message) = if effective_style(before, is_scalar) == effective_style(after, is_scalar) {
                let message =
                    "`style`, `explode` or `allowReserved` changed, but values are decoded as before";
                (rules::SERIALIZATION_REWRITTEN, message)
            } else {
                let message = "`style`, `explode`, `allowReserved` or `content` changed";
                (rules::PARAMETER_STYLE_CHANGED, message)
            };
            self.report(rule, places, &subject, message.to_owned());
        }
        if before.location == ParameterIn::Query && before.allow_empty && !after.allow_empty {
            let message = "an empty value is no longer allowed".to_owned();
            self.report(rules::PARAMETER_STYLE_CHANGED, places, &subject, message);
        }
        if before.deprecated != after.deprecated {
            let message =
                if after.deprecated { "it became deprecated" } else { "it is no longer deprecated" };
            self.report(rules::PARAMETER_DEPRECATED, places, &subject, message.to_owned());
        }
        if before.description != after.description {
            self.report(rules::OPERATION_EDITORIAL, places, &subject, "its description changed".to_owned());
        }
        self.compare_parameter_schemas(before, after);
    }

    /// Returns true if both versions of a parameter accept only scalars. Every style serializes scalars
    /// without delimiters.
    fn is_scalar_parameter(&self, before: &Parameter, after: &Parameter) -> bool {
        let joined = TypeSet::ARRAY.union(TypeSet::OBJECT);
        let is_plain = |side, schema| {
            FlattenedSchema::from_schemas(self.comparison.graph(side), &optional_schema(schema))
                .types()
                .intersection(joined)
                .is_empty()
        };
        is_plain(VersionSide::Old, before.schema) && is_plain(VersionSide::New, after.schema)
    }
}

/// Returns the declared serialization of a parameter: `style`, `explode`, `allowReserved` and the media type
/// of `content`.
fn declared_style(parameter: &Parameter) -> (&str, bool, bool, Option<MediaTypeKey>) {
    let Parameter { style, explode, allow_reserved, content, .. } = parameter;
    (style, *explode, *allow_reserved, content.as_deref().map(media_type_key))
}

/// Returns the part of a parameter's serialization that affects the wire format. It excludes `allowReserved`,
/// because receivers decode percent-encoded names and values. All query styles count as equal for scalars,
/// because scalars have the same form in each of them (OpenAPI 3.1, 4.8.12.4).
fn effective_style(parameter: &Parameter, is_scalar: bool) -> (&str, bool, Option<MediaTypeKey>) {
    let (style, explode, _, content) = declared_style(parameter);
    let in_query = matches!(style, "form" | "spaceDelimited" | "pipeDelimited");
    let style = if is_scalar && in_query { "form" } else { style };
    // A scalar has no parts to join in `matrix` and `label` either.
    (style, explode && !is_scalar, content)
}

/// Returns the comparison site of a parameter. Scalars at this site are sent as plain strings, unless the
/// parameter uses `content`.
fn parameter_site(operation: &OperationPair<'_>, before: &Parameter, after: &Parameter) -> ComparisonSite {
    let at = ComparisonSite::new(parameter_label(operation, after), operation.request_use());
    let repeats_name = |parameter: &Parameter| {
        parameter.location == ParameterIn::Query && parameter.style == "form" && parameter.explode
    };
    match before.content.is_none() && after.content.is_none() {
        true if repeats_name(before) && repeats_name(after) => {
            at.with_string_scope(StringScope::RepeatedParameter)
        }
        true => at.with_string_scope(StringScope::Members),
        false => at,
    }
}

fn parameter_label(operation: &OperationPair<'_>, parameter: &Parameter) -> String {
    format!("{} {} {}", operation.label(), location_name(parameter.location), parameter.name)
}

const fn location_name(location: ParameterIn) -> &'static str {
    match location {
        ParameterIn::Path => "path",
        ParameterIn::Query => "query",
        ParameterIn::Header => "header",
        ParameterIn::Cookie => "cookie",
        ParameterIn::QueryString => "querystring",
    }
}

/// Returns true if two names are equal; header names are case-insensitive (RFC 9110, 5.1).
fn same_name(location: ParameterIn, one: &str, other: &str) -> bool {
    one == other || (location == ParameterIn::Header && one.eq_ignore_ascii_case(other))
}

/// Matches the path parameters of both versions by position, because their names are not sent. Returns pairs
/// of (old, new) names. If the paths differ in more than these names, parameters whose old name still exists
/// are omitted, because they are matched by name. Returns no pairs if the numbers of parameters differ.
fn match_placeholders<'g>(old: &'g Operation, new: &'g Operation) -> Vec<(&'g str, &'g str)> {
    let names =
        |path: &'g str| path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect::<Vec<_>>();
    let (before, after) = (names(&old.path), names(&new.path));
    let same_shape = anonymous_path(&old.path) == anonymous_path(&new.path);
    if before.len() != after.len() {
        return Vec::new();
    }
    let both = before.iter().zip(&after).filter(|(was, _)| same_shape || !after.contains(was));
    both.map(|(was, is)| (*was, *is)).collect()
}
