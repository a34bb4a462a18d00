//! Creates problems with the texts of the registry, for servers, and for clients that validate before
//! sending.

use std::fmt;

use contract_runtime::{
    Map,
    violation::{Violation, Violations},
};

use crate::{
    codes::Code,
    types::{CorrelationId, JsonPointer, Problem, ProblemError},
};

/// The maximum number of errors in `problem.schema.json` (ERR-02, LIM-26).
const MAX_ERRORS: usize = 50;

/// The maximum number of characters of `instance` in `problem.schema.json`.
const MAX_INSTANCE_LENGTH: usize = 2048;

impl Problem {
    /// Creates the problem of a code. The status, the title and the detail come from the registry (ERR-01),
    /// and `instance` is the path of the call. A path of more than 2048 characters is cut after the last
    /// segment that fits.
    ///
    /// A code that is unknown or retired becomes `INTERNAL_ERROR`.
    #[must_use]
    pub fn from_code(code: impl Into<Code>, correlation_id: CorrelationId, path: &str) -> Self {
        let code = code.into();
        let code = if code.retired() == Some(false) { code } else { Code::InternalError };
        let instance = match truncate_path(path, MAX_INSTANCE_LENGTH) {
            "" => "/",
            path => path,
        };
        Self {
            status: Some(code.status().map_or(500, i64::from)),
            title: Some(code.title().unwrap_or_default().to_owned()),
            detail: Some(code.detail().unwrap_or_default().to_owned()),
            code,
            instance: Some(instance.to_owned()),
            correlation_id: Some(correlation_id),
            errors: None,
            confirmation_url: None,
            #[allow(deprecated, reason = "all fields are listed, including deprecated ones")]
            retry_after_seconds: None,
            extra: Map::new(),
        }
    }

    /// Creates the problem of a body that violates its schema. It contains pointers and keywords, but never a
    /// value (ERR-22).
    ///
    /// More than 500 ops cause `BATCH_TOO_LARGE`, regardless of other violations (A5).
    #[must_use]
    pub fn from_violations(violations: &Violations, correlation_id: CorrelationId, path: &str) -> Self {
        if violations.iter().any(|found| found.pointer == "/ops" && found.keyword == "maxItems") {
            return Self::from_code(Code::BatchTooLarge, correlation_id, path);
        }
        let errors = violations.iter().filter_map(to_problem_error);
        Self::from_code(Code::SchemaInvalid, correlation_id, path).with_errors(errors)
    }

    /// Creates the problem of undeclared members that no warning can name, because their pointers exceed 200
    /// characters (CON-09); `None` if every pointer fits.
    #[must_use]
    pub fn from_undeclared(pointers: &[String], correlation_id: CorrelationId, path: &str) -> Option<Self> {
        let too_long =
            |pointer: &&String| truncate_path(pointer, JsonPointer::MAX_LENGTH).len() < pointer.len();
        let mut errors = pointers.iter().filter(too_long).filter_map(|pointer| {
            let error = ProblemError::builder().pointer(truncate_pointer(pointer)?);
            error.message("an undeclared member whose pointer is too long").build().ok()
        });
        let first = errors.next()?;
        let errors = std::iter::once(first).chain(errors);
        Some(Self::from_code(Code::SchemaInvalid, correlation_id, path).with_errors(errors))
    }

    /// Adds distinct errors up to the maximum number.
    #[must_use]
    pub(super) fn with_errors(mut self, errors: impl IntoIterator<Item = ProblemError>) -> Self {
        let mut list: Vec<ProblemError> = Vec::new();
        for error in errors {
            if list.len() == MAX_ERRORS {
                break;
            }
            if !list.contains(&error) {
                list.push(error);
            }
        }
        self.errors = Some(list).filter(|list| !list.is_empty());
        self
    }
}

/// Shows the code, the status, the title and the correlation id on one line, for logs and for reports of
/// members. The output never contains a pointer, a link or another string of the problem: the title is that
/// of the registry, and an invalid code or id is omitted.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (is_code(self.code.as_str()), self.status) {
            (true, Some(status)) => write!(f, "{} ({status})", self.code)?,
            (true, None) => write!(f, "{}", self.code)?,
            (false, Some(status)) => write!(f, "status {status}")?,
            (false, None) => write!(f, "an unnamed problem")?,
        }
        if let Some(title) = self.code.title() {
            write!(f, ": {title}")?;
        }
        match self.correlation_id.as_ref().filter(|id| is_id(id.as_str())) {
            Some(id) => write!(f, " [correlation id {id}]"),
            None => Ok(()),
        }
    }
}

/// Returns true if a string is a valid code (`problemCode`). Other strings are not logged.
pub(super) fn is_code(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (3..=64).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.bytes().all(letters)
}

/// Returns true if a string is a valid correlation id (`correlationId`). Other strings are not logged.
pub(super) fn is_id(text: &str) -> bool {
    CorrelationId::new(text).is_ok()
}

fn to_problem_error(found: &Violation) -> Option<ProblemError> {
    // DRF-06 defines this message.
    if found.keyword == "pattern" && found.schema.ends_with("#/properties/formatVersion") {
        let error = ProblemError::builder().pointer(truncate_pointer(&found.pointer)?);
        return error.message("unsupported major version").build().ok();
    }
    keyword_error(&found.pointer, found.keyword)
}

/// Creates the error of a violated keyword. Its message contains no value (ERR-02).
pub(super) fn keyword_error(pointer: &str, keyword: &str) -> Option<ProblemError> {
    let error = ProblemError::builder().pointer(truncate_pointer(pointer)?);
    error.keyword(keyword).message(format!("violates {keyword}")).build().ok()
}

/// Returns a pointer for a problem. A pointer of more than 200 characters is replaced by its longest ancestor
/// that fits (LIM-26, CON-09).
pub(super) fn truncate_pointer(pointer: &str) -> Option<JsonPointer> {
    JsonPointer::new(truncate_path(pointer, JsonPointer::MAX_LENGTH)).ok()
}

/// Returns the path, or its longest prefix that consists of whole segments and has at most `limit`
/// characters.
fn truncate_path(path: &str, limit: usize) -> &str {
    if path.char_indices().nth(limit).is_none() {
        return path;
    }
    let slashes = path.char_indices().take(limit + 1).filter(|(_, c)| *c == '/');
    slashes.last().map_or("", |(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Contract, DocumentError,
        types::{BlueprintDraft, ResolveRequest, ShipChangeSet},
    };

    const PATH: &str = "/exchange/v1/me/ships/changes";

    fn id() -> CorrelationId {
        CorrelationId::new("c-1").unwrap()
    }

    fn violations<T: Contract>(document: &str) -> Violations {
        match T::parse_valid(document.as_bytes()) {
            Err(DocumentError::Invalid(violations)) => violations,
            other => panic!("{:?}", other.map(|_| "valid")),
        }
    }

    fn parse_problem<T: Contract>(document: &str) -> Problem {
        let problem = Problem::from_violations(&violations::<T>(document), id(), PATH);
        assert!(problem.is_valid(), "{problem}");
        problem
    }

    /// Returns the pointer, the keyword and the message of each error.
    fn errors(problem: &Problem) -> Vec<(&str, Option<&str>, Option<&str>)> {
        let list = problem.errors.iter().flatten();
        list.map(|e| (e.pointer.as_str(), e.keyword.as_deref(), e.message.as_deref())).collect()
    }

    /// ERR-01: every code of the registry yields a valid problem with the path of the call; a retired or
    /// unknown code is never sent.
    #[test]
    fn problem_matches_the_registry() {
        for code in Code::ALL.iter().chain([&Code::from("LATER")]) {
            let mut problem = Problem::from_code(code.clone(), id(), PATH);
            let sent = if code.retired() == Some(false) { code.as_str() } else { "INTERNAL_ERROR" };
            assert_eq!(problem.code.as_str(), sent);
            assert_eq!(problem.status, problem.code.status().map(i64::from), "{code}");
            assert_eq!(problem.instance.as_deref(), Some(PATH), "{code}");
            if *code == Code::MassChangeConfirmationRequired {
                problem.confirmation_url = crate::types::ConfirmationUrl::new("https://web.example/c").ok();
            }
            assert!(problem.is_valid(), "{code}");
        }
    }

    #[test]
    fn instance_is_truncated_to_fit() {
        for (path, expected) in [
            (format!("/{}", "x".repeat(2047)), 2048),
            (format!("/{}", "x".repeat(2048)), 1),
            (format!("/a/{}", "x".repeat(2048)), 2),
            (format!("/{}/b", "x".repeat(2047)), 2048),
            (String::new(), 1),
        ] {
            let problem = Problem::from_code(Code::NotFound, id(), &path);
            assert_eq!(problem.instance.as_ref().map(String::len), Some(expected), "{}", path.len());
            assert!(problem.is_valid());
        }
    }

    /// ERR-22: errors contain the locations and keywords of violations, but no values.
    #[test]
    fn violations_are_errors() {
        let problem = parse_problem::<ResolveRequest>(r#"{"kind": "hush", "refs": []}"#);
        assert_eq!((problem.code.as_str(), problem.status), ("SCHEMA_INVALID", Some(400)));
        assert_eq!(
            errors(&problem),
            [
                ("/kind", Some("enum"), Some("violates enum")),
                ("/refs", Some("minItems"), Some("violates minItems"))
            ]
        );
        assert!(!problem.to_json().unwrap().to_string().contains("hush"));
    }

    /// WRT-01, ERR-32, A5: more than 500 ops cause `BATCH_TOO_LARGE`, even if there are more violations than
    /// the validator reports.
    #[test]
    fn too_many_ops_are_a_batch_too_large() {
        for op in [
            r#"{"op": "remove", "shipId": "s", "version": 1}"#,
            r#"{"op": "link", "shipId": "s"}"#,
            r#"{"op": "link", "opId": 1, "shipId": 2, "externalId": 3}"#,
        ] {
            let document = format!(r#"{{"ops": [{}]}}"#, vec![op; 501].join(","));
            let problem = parse_problem::<ShipChangeSet>(&document);
            assert_eq!((problem.code.as_str(), problem.status), ("BATCH_TOO_LARGE", Some(413)), "{op}");
            assert_eq!(problem.errors, None, "{op}");
        }
        let refs = format!(r#"{{"kind": "ITEM", "refs": [{}]}}"#, vec![r#"{"bt": "1"}"#; 501].join(","));
        assert_eq!(parse_problem::<ResolveRequest>(&refs).code, Code::SchemaInvalid);
    }

    /// DRF-06: an unsupported major version has a message, and a value that is not a version has none.
    #[test]
    fn unsupported_major_version_is_reported() {
        let draft = |version: &str| {
            format!(r#"{{"format": "svc.blueprints", "formatVersion": {version}, "items": []}}"#)
        };
        for version in ["\"2.0\"", "\"01.0\"", "\"\""] {
            let problem = parse_problem::<BlueprintDraft>(&draft(version));
            let expected = [("/formatVersion", None, Some("unsupported major version"))];
            assert_eq!(errors(&problem), expected, "{version}");
        }
        assert_eq!(
            errors(&parse_problem::<BlueprintDraft>(&draft("1"))),
            [("/formatVersion", Some("type"), Some("violates type"))]
        );
    }

    /// ERR-02, LIM-26: a problem contains at most 50 errors.
    #[test]
    fn errors_are_limited() {
        let refs = format!(r#"{{"kind": "ITEM", "refs": [{}]}}"#, vec!["{}"; 60].join(","));
        let problem = parse_problem::<ResolveRequest>(&refs);
        assert_eq!(problem.errors.as_ref().map(Vec::len), Some(50));
    }

    /// LIM-26: a pointer of more than 200 characters becomes its longest ancestor that fits, and each
    /// ancestor is listed once.
    #[test]
    fn long_pointer_becomes_its_ancestor() {
        let at = |pointer: String| Violation::new(pointer, "type", "s#");
        let long = "ü".repeat(120);
        let found =
            [format!("/a/{long}/{long}"), format!("/a/{long}/{long}2"), format!("/{}", "x".repeat(199))];
        let found = Violations::new(found.map(at).to_vec()).unwrap();
        let problem = Problem::from_violations(&found, id(), PATH);
        let parent = format!("/a/{long}");
        let fits = format!("/{}", "x".repeat(199));
        assert_eq!(
            errors(&problem),
            [
                (parent.as_str(), Some("type"), Some("violates type")),
                (fits.as_str(), Some("type"), Some("violates type"))
            ]
        );
        for (length, fitting) in [(200, 200), (201, 0)] {
            let pointer = format!("/{}", "x".repeat(length - 1));
            assert_eq!(truncate_pointer(&pointer).unwrap().as_str().len(), fitting);
        }
        assert_eq!(truncate_pointer(&format!("/{}/b", "x".repeat(199))).unwrap().as_str().len(), 200);
    }

    /// CON-09: an undeclared member that no warning can name causes an error at its parent.
    #[test]
    fn undeclared_field_with_a_long_pointer_is_rejected() {
        let long = format!("/hue/{}", "x".repeat(200));
        let problem = Problem::from_undeclared(&["/tint".to_owned(), long], id(), PATH).unwrap();
        let message = "an undeclared member whose pointer is too long";
        assert_eq!(errors(&problem), [("/hue", None, Some(message))]);
        assert!(problem.is_valid());
        assert_eq!(Problem::from_undeclared(&["/tint".to_owned()], id(), PATH), None);
    }

    #[test]
    fn formatted_problem_has_code_and_id() {
        let mut problem = Problem::from_code(Code::NotPermitted, id(), PATH);
        problem.confirmation_url = crate::types::ConfirmationUrl::new("https://web.example/hush").ok();
        assert_eq!(problem.to_string(), "NOT_PERMITTED (403): Not permitted [correlation id c-1]");
    }
}
