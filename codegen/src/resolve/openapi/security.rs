//! `security`: which schemes a request needs, one requirement out of a list.
//!
//! An empty list asks for nothing, so that what cannot be read must never become one: names alone
//! are requirements, one alone is a list, and where nothing can be made out the document's list
//! counts. Where that cannot be made out either, a scheme is asked for that no document has.

use crate::{
    api::schemes::{self, Unclear},
    diagnostics::Diagnostic,
    resolve::{
        discover::{Discovery, Job, What},
        lenient,
    },
    tree::{Member, Place, Tree, Value, join},
};

use super::{Reader, Spot, object::Kind, texts};

/// Requirements of an operation: schemes, each with its scopes.
pub(super) type Requirements = Vec<Vec<(String, Vec<String>)>>;

impl<'t> Discovery<'t> {
    /// Checks the form of `security` of the document or of an operation.
    pub(super) fn security(&mut self, kind: Kind, job: &Job<'t>, member: &'t Member) {
        let value = &member.value;
        let pointer = join(&job.pointer, &member.key);
        let at = |pointer: String, tree: &Tree| Place { source: job.source, pointer, span: tree.span };
        let problem = |message: String, place: Place| Diagnostic::error("invalid-openapi", message).at(place);
        let message = format!("`security` must be an array, not {}", value.kind());
        match &value.value {
            Value::Array(list) => {
                let is_clear = list.iter().any(is_requirement);
                for (at_index, each) in list.iter().enumerate() {
                    let here = format!("{pointer}/{at_index}");
                    if is_requirement(each) {
                        self.requirement(job, here, each);
                    } else if is_clear {
                        let kind = each.kind();
                        let message = format!(
                            "a security requirement must be an object of lists of scopes, not {kind}"
                        );
                        self.problems.push(problem(message, at(here, each)).mended("it is left out"));
                    }
                }
                if !is_clear && !list.is_empty() {
                    let message = "`security` without a requirement that can be read".to_owned();
                    self.problems.push(unclear(kind, problem(message, at(pointer, value))));
                }
            }
            // As if it were absent.
            Value::Null => self.problems.push(problem(message, at(pointer, value)).mended("it is left out")),
            _ if is_requirement(value) => {
                let mend = match value.as_str() {
                    Some(name) => format!("it is read as `[{{\"{name}\": []}}]`"),
                    None => "it is read as a list of one".to_owned(),
                };
                self.problems.push(problem(message, at(pointer.clone(), value)).mended(mend));
                if value.is_object() {
                    self.requirement(job, pointer, value);
                }
            }
            _ => self.problems.push(unclear(kind, problem(message, at(pointer, value)))),
        }
    }

    /// A scheme of which nobody can tell how its secret is shown.
    pub(super) fn scheme(&mut self, job: &Job<'t>) {
        let Err(Unclear { member, message, help }) = schemes::Kind::of(&job.tree.to_json()) else { return };
        let place = match job.tree.member(member) {
            Some(member) => Place {
                source: job.source,
                pointer: join(&job.pointer, &member.key),
                span: member.value.span,
            },
            // That it has no `type` is said of every object.
            None if member == "type" => return,
            None => Place { source: job.source, pointer: job.pointer.clone(), span: job.tree.span },
        };
        let problem = Diagnostic::error("invalid-openapi", message).at(place);
        let problem = problem.mended("whoever sends the request has to show it, by a transport");
        self.problems.push(match help {
            Some(help) => problem.help(help),
            None => problem,
        });
    }

    fn requirement(&mut self, job: &Job<'t>, pointer: String, tree: &'t Tree) {
        let Job { source, resource, dialect, .. } = *job;
        match tree.as_str() {
            Some(name) => {
                let place = Place { source, pointer, span: tree.span };
                let message = format!("a security requirement must be an object: write `{{\"{name}\": []}}`");
                let problem = Diagnostic::error("invalid-openapi", message).at(place);
                self.problems.push(problem.mended("it is read as that"));
            }
            None if tree.is_object() => {
                let what = What::Object(Kind::SecurityRequirement);
                self.enqueue(Job { what, source, pointer, tree, resource, dialect });
            }
            None => {}
        }
    }
}

impl<'t> Reader<'_, 't> {
    /// The requirements of a list; `None` where nobody can tell what is asked for.
    pub(super) fn security(&mut self, list: &Spot<'t>) -> Option<Requirements> {
        let given: Vec<Spot<'t>> = match &list.tree.value {
            Value::Array(_) => list.elements().collect(),
            _ => vec![list.clone()],
        };
        let mut out = Vec::new();
        for each in given.iter().filter(|each| is_requirement(each.tree)) {
            if let Some(name) = each.tree.as_str() {
                self.scheme(name, each.place());
                out.push(vec![(name.to_owned(), Vec::new())]);
                continue;
            }
            let mut all = Vec::new();
            for member in each.tree.members() {
                self.scheme(&member.key, each.member(member).place());
                all.push((member.key.clone(), texts(&member.value)));
            }
            out.push(all);
        }
        (given.is_empty() || !out.is_empty()).then_some(out)
    }

    fn scheme(&mut self, name: &str, place: Place) {
        if !self.schemes.contains(name) {
            let message = format!("`components.securitySchemes` has no `{name}`");
            let problem = Diagnostic::error("unresolved-reference", message).at(place);
            self.problems.push(problem.mended("it is asked for all the same, and the transport shows it"));
        }
    }
}

/// Whether something says which schemes it needs, and with which scopes.
fn is_requirement(tree: &Tree) -> bool {
    let scopes = |tree: &Tree| {
        let list = matches!(tree.value, Value::Array(_) | Value::Null);
        (list || lenient::text(tree).is_some())
            && tree.elements().iter().all(|each| lenient::text(each).is_some())
    };
    tree.as_str().is_some() || (tree.is_object() && tree.members().iter().all(|each| scopes(&each.value)))
}

/// What a document asks for that asks for nobody knows what.
pub(super) fn unknown() -> Requirements {
    // No name of a component, so that no scheme can be called so by chance (OpenAPI 3.1, 4.8.7).
    vec![vec![("?".to_owned(), Vec::new())]]
}

/// An operation falls back on the document; nothing stands behind the document.
fn unclear(kind: Kind, problem: Diagnostic) -> Diagnostic {
    let problem = problem.help("list requirements: `[{\"name of a scheme\": []}]`, or `[]` for none");
    problem.mended(match kind {
        Kind::Operation => "the `security` of the document counts",
        _ => "what is asked for is not known, and the transport shows it",
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::Requirements;
    use crate::resolve::{openapi::tests::read, tests::shown};

    /// What an operation asks for in a document that asks for `key`, and what is said of it.
    fn own(security: &str) -> (String, String) {
        said(&format!("security: [{{key: []}}]\npaths: {{/a: {{get: {{{security}}}}}}}\n"))
    }

    fn said(body: &str) -> (String, String) {
        let schemes = "components:\n  securitySchemes:\n    key: {type: http, scheme: bearer}\n    other: {type: http, scheme: basic}\n";
        let (_, api, problems) = read(&format!("{body}{schemes}"));
        let security: &Requirements = &api.operations.first().unwrap().security;
        let one = |all: &Vec<(String, Vec<String>)>| {
            let each = all.iter().map(|(name, scopes)| format!("{name}({})", scopes.join(" ")));
            each.collect::<Vec<_>>().join("+")
        };
        (security.iter().map(one).collect::<Vec<_>>().join(" "), shown(&problems))
    }

    /// Nothing that is written wrongly asks for less than it means.
    #[test]
    fn faults_never_make_an_operation_public() {
        let at = "invalid-openapi /paths/~1a/get/security";
        for (security, asked, problem) in [
            ("", "key()", String::new()),
            ("security: []", "", String::new()),
            ("security: [{}]", "", String::new()),
            ("security: [{other: []}]", "other()", String::new()),
            ("security: [other]", "other()", format!("{at}/0")),
            ("security: other", "other()", at.to_owned()),
            ("security: {other: []}", "other()", at.to_owned()),
            ("security: {other: [a, b], key: []}", "other(a b)+key()", at.to_owned()),
            ("security: [{other: a}]", "other(a)", format!("{at}/0/other")),
            ("security: [{other: }]", "other()", format!("{at}/0/other")),
            ("security: [other, 5]", "other()", format!("{at}/0\n{at}/1")),
            ("security: [{other: {a: b}}]", "key()", at.to_owned()),
            ("security: [{other: [[]]}]", "key()", at.to_owned()),
            ("security: [5]", "key()", at.to_owned()),
            ("security: 5", "key()", at.to_owned()),
            ("security:", "key()", at.to_owned()),
        ] {
            assert_eq!(own(security), (asked.to_owned(), problem), "{security}");
        }
        assert_eq!(own("security: [{none: []}]").0, "none()");
    }

    /// Nothing stands behind the document, and what cannot be read is no leave either.
    #[test]
    fn a_document_that_asks_for_nobody_knows_what_asks_for_something() {
        for (security, asked, problem) in [
            ("[5]", "?()", "invalid-openapi /security"),
            ("[{key: {a: b}}]", "?()", "invalid-openapi /security"),
            ("true", "?()", "invalid-openapi /security"),
            ("[key]", "key()", "invalid-openapi /security/0"),
            ("{key: []}", "key()", "invalid-openapi /security"),
            ("[]", "", ""),
        ] {
            let found = said(&format!("security: {security}\npaths: {{/a: {{get: {{}}}}}}\n"));
            assert_eq!(found, (asked.to_owned(), problem.to_owned()), "{security}");
            // An operation of its own is none of it.
            let own = said(&format!("security: {security}\npaths: {{/a: {{get: {{security: []}}}}}}\n"));
            assert_eq!(own.0, "", "{security}");
        }
    }
}
