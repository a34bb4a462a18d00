//! Converts `security`, a list of alternative requirements. A request must satisfy one of them.
//!
//! An empty list requires no authentication, so a fault must never produce one. A scheme name instead of a
//! requirement is treated as a requirement for this scheme, and a single requirement as a list. If no entry
//! of an operation's list is valid, the `security` of the document applies. If that is also invalid, the
//! operation requires a scheme that no document defines.

use crate::{
    api::schemes::{self, UnsupportedScheme},
    diagnostics::Diagnostic,
    resolve::{
        discover::{Discovery, VisitJob, VisitKind},
        lenient,
    },
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember, join_token},
};

use super::{OpenApiNode, OpenApiReader, object::ObjectKind, string_list};

/// The alternative requirements of an operation, each of which is a list of schemes with their scopes.
pub(super) type SecurityRequirements = Vec<Vec<(String, Vec<String>)>>;

impl<'t> Discovery<'t> {
    /// Validates the form of `security` in a document or an operation.
    pub(super) fn check_security(&mut self, kind: ObjectKind, job: &VisitJob<'t>, member: &'t ObjectMember) {
        let value = &member.value;
        let pointer = join_token(&job.pointer, &member.key);
        let at = |pointer: String, tree: &DocumentNode| DocumentLocation {
            source: job.source,
            pointer,
            span: tree.span,
        };
        let problem = |message: String, place: DocumentLocation| {
            Diagnostic::error("invalid-openapi", message).with_place(place)
        };
        let message = format!("`security` must be an array, not {}", value.kind_with_article());
        match &value.value {
            NodeValue::Array(list) => {
                let is_clear = list.iter().any(is_requirement);
                for (at_index, each) in list.iter().enumerate() {
                    let here = format!("{pointer}/{at_index}");
                    if is_requirement(each) {
                        self.check_requirement(job, here, each);
                    } else if is_clear {
                        let kind = each.kind_with_article();
                        let message = format!(
                            "a security requirement must be an object of lists of scopes, not {kind}"
                        );
                        self.problems.push(problem(message, at(here, each)).with_fallback("it is left out"));
                    }
                }
                if !is_clear && !list.is_empty() {
                    let message = "`security` contains no valid requirement".to_owned();
                    self.problems.push(unreadable_security(kind, problem(message, at(pointer, value))));
                }
            }
            // `null` is treated like an absent field.
            NodeValue::Null => {
                self.problems.push(problem(message, at(pointer, value)).with_fallback("it is left out"))
            }
            _ if is_requirement(value) => {
                let fallback = match value.as_str() {
                    Some(name) => format!("it is read as `[{{\"{name}\": []}}]`"),
                    None => "it is read as a list of one".to_owned(),
                };
                self.problems.push(problem(message, at(pointer.clone(), value)).with_fallback(fallback));
                if value.is_object() {
                    self.check_requirement(job, pointer, value);
                }
            }
            _ => self.problems.push(unreadable_security(kind, problem(message, at(pointer, value)))),
        }
    }

    /// Reports a security scheme whose kind is not supported or cannot be determined from its fields. A
    /// missing `type` is reported by the check of required fields.
    pub(super) fn check_security_scheme(&mut self, job: &VisitJob<'t>) {
        let Err(UnsupportedScheme { property: member, message, help }) =
            schemes::SecuritySchemeKind::from_json(&job.tree.to_json())
        else {
            return;
        };
        let place = match job.tree.member(member) {
            Some(member) => DocumentLocation {
                source: job.source,
                pointer: join_token(&job.pointer, &member.key),
                span: member.value.span,
            },
            // A missing `type` is reported like a missing field of any other object.
            None if member == "type" => return,
            None => {
                DocumentLocation { source: job.source, pointer: job.pointer.clone(), span: job.tree.span }
            }
        };
        let problem = Diagnostic::error("invalid-openapi", message).with_place(place);
        let problem = problem.with_fallback("the transport must add the credential");
        self.problems.push(match help {
            Some(help) => problem.help(help),
            None => problem,
        });
    }

    fn check_requirement(&mut self, job: &VisitJob<'t>, pointer: String, tree: &'t DocumentNode) {
        let VisitJob { source, resource, dialect, .. } = *job;
        match tree.as_str() {
            Some(name) => {
                let place = DocumentLocation { source, pointer, span: tree.span };
                let message = format!("a security requirement must be an object: write `{{\"{name}\": []}}`");
                let problem = Diagnostic::error("invalid-openapi", message).with_place(place);
                self.problems.push(problem.with_fallback("it is read as such"));
            }
            None if tree.is_object() => {
                let what = VisitKind::Object(ObjectKind::SecurityRequirement);
                self.enqueue(VisitJob { what, source, pointer, tree, resource, dialect });
            }
            None => {}
        }
    }
}

impl<'t> OpenApiReader<'_, 't> {
    /// Converts the requirements in a `security` list. Returns `None` if the list has entries but none of
    /// them is valid.
    pub(super) fn read_security(&mut self, list: &OpenApiNode<'t>) -> Option<SecurityRequirements> {
        let given: Vec<OpenApiNode<'t>> = match &list.tree.value {
            NodeValue::Array(_) => list.elements().collect(),
            _ => vec![list.clone()],
        };
        let mut out = Vec::new();
        for each in given.iter().filter(|each| is_requirement(each.tree)) {
            if let Some(name) = each.tree.as_str() {
                self.check_scheme_declared(name, each.place());
                out.push(vec![(name.to_owned(), Vec::new())]);
                continue;
            }
            let mut all = Vec::new();
            for member in each.tree.members() {
                self.check_scheme_declared(&member.key, each.member(member).place());
                all.push((member.key.clone(), string_list(&member.value)));
            }
            out.push(all);
        }
        (given.is_empty() || !out.is_empty()).then_some(out)
    }

    fn check_scheme_declared(&mut self, name: &str, place: DocumentLocation) {
        if !self.schemes.contains(name) {
            let message = format!("`components.securitySchemes` has no `{name}`");
            let problem = Diagnostic::error("unresolved-reference", message).with_place(place);
            self.problems.push(
                problem.with_fallback("it is required anyway, and the transport must add the credential"),
            );
        }
    }
}

/// Returns true if the value is the name of a scheme, or an object with scheme names as keys and lists of
/// scopes as values.
fn is_requirement(tree: &DocumentNode) -> bool {
    let scopes = |tree: &DocumentNode| {
        let list = matches!(tree.value, NodeValue::Array(_) | NodeValue::Null);
        (list || lenient::coerce_string(tree).is_some())
            && tree.elements().iter().all(|each| lenient::coerce_string(each).is_some())
    };
    tree.as_str().is_some() || (tree.is_object() && tree.members().iter().all(|each| scopes(&each.value)))
}

/// Returns the requirements that replace an invalid `security` of a document: a single scheme that does not
/// exist, so that the operation does not become public.
pub(super) fn unknown_requirements() -> SecurityRequirements {
    // `?` is not a valid component name, so no declared scheme matches it (OpenAPI 3.1, 4.8.7).
    vec![vec![("?".to_owned(), Vec::new())]]
}

/// Adds the fallback of an invalid `security` to its diagnostic. An operation falls back to the `security` of
/// the document, and the document falls back to an unknown scheme.
fn unreadable_security(kind: ObjectKind, problem: Diagnostic) -> Diagnostic {
    let problem = problem.help("list requirements: `[{\"name of a scheme\": []}]`, or `[]` for none");
    problem.with_fallback(match kind {
        ObjectKind::Operation => "the `security` of the document applies",
        _ => "an unknown scheme is required, and the transport must add the credential",
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::SecurityRequirements;
    use crate::resolve::{openapi::tests::read, tests::format_problems};

    /// Reads an operation with the given `security` in a document that requires the scheme `key`. Returns its
    /// requirements and the problems.
    fn operation_security(security: &str) -> (String, String) {
        document_security(&format!("security: [{{key: []}}]\npaths: {{/a: {{get: {{{security}}}}}}}\n"))
    }

    fn document_security(body: &str) -> (String, String) {
        let schemes = "components:\n  securitySchemes:\n    key: {type: http, scheme: bearer}\n    other: {type: http, scheme: basic}\n";
        let (_, api, problems) = read(&format!("{body}{schemes}"));
        let security: &SecurityRequirements = &api.operations.first().unwrap().security;
        let format_alternative = |alternative: &Vec<(String, Vec<String>)>| {
            let texts = alternative.iter().map(|(name, scopes)| format!("{name}({})", scopes.join(" ")));
            texts.collect::<Vec<_>>().join("+")
        };
        (security.iter().map(format_alternative).collect::<Vec<_>>().join(" "), format_problems(&problems))
    }

    /// An operation with an invalid `security` keeps the requirements that are valid, or else requires the
    /// scheme of the document.
    #[test]
    fn faults_never_make_an_operation_public() {
        let pointer = "invalid-openapi /paths/~1a/get/security";
        for (security, expected, problem) in [
            ("", "key()", String::new()),
            ("security: []", "", String::new()),
            ("security: [{}]", "", String::new()),
            ("security: [{other: []}]", "other()", String::new()),
            ("security: [other]", "other()", format!("{pointer}/0")),
            ("security: other", "other()", pointer.to_owned()),
            ("security: {other: []}", "other()", pointer.to_owned()),
            ("security: {other: [a, b], key: []}", "other(a b)+key()", pointer.to_owned()),
            ("security: [{other: a}]", "other(a)", format!("{pointer}/0/other")),
            ("security: [{other: }]", "other()", format!("{pointer}/0/other")),
            ("security: [other, 5]", "other()", format!("{pointer}/0\n{pointer}/1")),
            ("security: [{other: {a: b}}]", "key()", pointer.to_owned()),
            ("security: [{other: [[]]}]", "key()", pointer.to_owned()),
            ("security: [5]", "key()", pointer.to_owned()),
            ("security: 5", "key()", pointer.to_owned()),
            ("security:", "key()", pointer.to_owned()),
        ] {
            assert_eq!(operation_security(security), (expected.to_owned(), problem), "{security}");
        }
        assert_eq!(operation_security("security: [{none: []}]").0, "none()");
    }

    /// If the `security` of the document contains no valid requirement, operations without their own
    /// `security` require an unknown scheme.
    #[test]
    fn unreadable_document_security_requires_an_unknown_scheme() {
        for (security, expected, problem) in [
            ("[5]", "?()", "invalid-openapi /security"),
            ("[{key: {a: b}}]", "?()", "invalid-openapi /security"),
            ("true", "?()", "invalid-openapi /security"),
            ("[key]", "key()", "invalid-openapi /security/0"),
            ("{key: []}", "key()", "invalid-openapi /security"),
            ("[]", "", ""),
        ] {
            let found = document_security(&format!("security: {security}\npaths: {{/a: {{get: {{}}}}}}\n"));
            assert_eq!(found, (expected.to_owned(), problem.to_owned()), "{security}");
            // An operation with `security: []` requires no scheme, whatever the document requires.
            let overridden = document_security(&format!(
                "security: {security}\npaths: {{/a: {{get: {{security: []}}}}}}\n"
            ));
            assert_eq!(overridden.0, "", "{security}");
        }
    }
}
