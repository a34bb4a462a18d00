//! Validates rules of OpenAPI that concern several fields of an object. A violation affects the generated
//! code only if its diagnostic contains a fallback.

use crate::{
    diagnostics::Diagnostic,
    resolve::{
        discover::{Discovery, VisitJob},
        lenient,
    },
    tree::{DocumentLocation, DocumentNode},
};

use super::object::ObjectKind;

impl ObjectKind {
    /// Returns groups of mutually exclusive fields: an object of this type must have at most one field of
    /// each group.
    const fn exclusive_fields(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Example => &[&["value", "externalValue", "serializedValue"], &["dataValue", "value"]],
            Self::Parameter | Self::Header | Self::MediaType => &[&["example", "examples"]],
            Self::Link => &[&["operationRef", "operationId"]],
            Self::License => &[&["identifier", "url"]],
            _ => &[],
        }
    }
}

impl<'t> Discovery<'t> {
    /// Checks the rules for the fields of one object, depending on its type, and warns about each violation.
    pub(super) fn check_rules(&mut self, kind: ObjectKind, job: &VisitJob<'t>) {
        for group in kind.exclusive_fields() {
            let mut present = group.iter().filter_map(|field| job.tree.member(field));
            if let (Some(first), Some(second)) = (present.next(), present.next()) {
                let message = format!(
                    "{} must not have both `{}` and `{}`",
                    kind.display_name(),
                    first.key,
                    second.key
                );
                self.warn(job.member_place(second), message);
            }
        }
        match kind {
            ObjectKind::Server => self.check_server_variables(job),
            ObjectKind::ServerVariable => self.check_variable_values(job),
            ObjectKind::Header => self.check_header_style(job),
            _ => {}
        }
    }

    /// Checks that each variable of a server URL is declared (OpenAPI 3.1, 4.8.5).
    fn check_server_variables(&mut self, job: &VisitJob<'t>) {
        let Some(member) = job.tree.member("url") else { return };
        let Some(url) = lenient::coerce_string(&member.value) else { return };
        let variables = job.tree.get("variables");
        for name in url.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name) {
            if variables.is_none_or(|variables| variables.get(name).is_none()) {
                let message = format!("`variables` of the server does not declare `{name}`");
                self.warn(job.member_place(member), message);
            }
        }
    }

    /// Checks that `enum` of a variable is not empty and contains the default (OpenAPI 3.1, 4.8.6).
    fn check_variable_values(&mut self, job: &VisitJob<'t>) {
        let Some(member) = job.tree.member("enum") else { return };
        let values = member.value.elements();
        if values.is_empty() && matches!(member.value.value, crate::tree::NodeValue::Array(_)) {
            self.warn(
                job.member_place(member),
                "the `enum` of a server variable must not be empty".to_owned(),
            );
        }
        let same = |default: &DocumentNode| {
            let default = lenient::coerce_string(default);
            values.iter().any(|value| lenient::coerce_string(value) == default)
        };
        if let Some(default) = job.tree.member("default").filter(|default| !same(&default.value)) {
            let message = "the `default` of a server variable must be in its `enum`".to_owned();
            self.warn(job.member_place(default), message);
        }
    }

    /// Checks that a header has the style `simple`, which is the only one allowed (OpenAPI 3.1, 4.8.21).
    fn check_header_style(&mut self, job: &VisitJob<'t>) {
        let Some(member) = job.tree.member("style") else { return };
        if let Some(style) = lenient::coerce_string(&member.value).filter(|style| style != "simple") {
            let message = format!("the style of a header must be `simple`, not `{style}`");
            let problem = Diagnostic::error("invalid-openapi", message).with_place(job.member_place(member));
            self.problems.push(problem.with_fallback("it is read as `simple`"));
        }
    }

    fn warn(&mut self, place: DocumentLocation, message: String) {
        self.problems.push(Diagnostic::warning("invalid-openapi", message).with_place(place));
    }
}

#[cfg(test)]
mod tests {
    use crate::resolve::{openapi::tests::read, tests::format_problems};

    #[test]
    fn contradictions_are_reported() {
        for (document, expected) in [
            (
                "components: {headers: {a-b: {schema: {}}}}\nservers: [{url: 'https://{a}/{b}', variables: {a: {enum: [x], default: x}}}]\n",
                "?invalid-openapi /servers/0/url",
            ),
            (
                "components: {}\nservers: [{url: 'https://{a}', variables: {a: {enum: [x], default: y}}}]\n",
                "?invalid-openapi /servers/0/variables/a/default",
            ),
            (
                "components: {}\nservers: [{url: 'https://{a}', variables: {a: {enum: [], default: y}}}]\n",
                "?invalid-openapi /servers/0/variables/a/enum\n?invalid-openapi /servers/0/variables/a/default",
            ),
            (
                "components: {links: {l: {operationRef: a, operationId: b}}}\n",
                "?invalid-openapi /components/links/l/operationId",
            ),
        ] {
            let (_, _, problems) = read(document);
            assert_eq!(format_problems(&problems), expected, "{document}");
        }
    }
}
