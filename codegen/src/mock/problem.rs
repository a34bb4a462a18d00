//! Error responses of the mock server as problem details (RFC 9457).

use std::fmt;

use contract_runtime::{Json, Map};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

use contract_runtime::server::Bytes;

/// A violation of the contract by a request or a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageViolation {
    /// The part of the message: `path`, `query`, `header`, `cookie` or `body`. In an
    /// [`ExchangeVerdict`](super::ExchangeVerdict) also `method`, `credentials` and `status`.
    pub place: &'static str,
    /// The JSON Pointer of the invalid value in the body. For a parameter or header, the first token is its
    /// name. For a stream body, the first token is the index of the item.
    pub pointer: String,
    /// The violated schema keyword. For any other violation, a word for the reason, such as `required` for a
    /// missing body.
    pub keyword: String,
    /// A description of the violated requirement, such as `must be at most 99`. It never contains a value
    /// from the request or response, because the value may be a secret.
    pub message: String,
    /// The location of the rule in the contract: file, line and JSON Pointer.
    pub origin: String,
}

impl MessageViolation {
    /// Returns the names and values of the members of a violation in JSON output and in problem documents.
    #[must_use]
    pub fn members(&self) -> [(&'static str, &str); 5] {
        [
            ("in", self.place),
            ("pointer", &self.pointer),
            ("keyword", &self.keyword),
            ("message", &self.message),
            ("origin", &self.origin),
        ]
    }
}

/// Writes the part, the pointer and the description, such as `body /seat must be at most 99`.
impl fmt::Display for MessageViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = if self.pointer.is_empty() { "" } else { " " };
        write!(f, "{}{space}{} {}", self.place, self.pointer, self.message)
    }
}

/// An error of the mock server. The response is a problem document, unless the contract declares another form.
#[derive(Clone, Debug)]
pub(super) struct ProblemResponse {
    pub(super) status: StatusCode,
    pub(super) detail: String,
    pub(super) violations: Vec<MessageViolation>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl ProblemResponse {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), violations: Vec::new(), headers: Vec::new() }
    }

    pub(super) fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.extend(HeaderValue::try_from(value).ok().map(|value| (name, value)));
        self
    }

    /// Returns the error as a problem document.
    pub(super) fn to_json(&self, operation: Option<&str>) -> Json {
        let mut problem = Map::new();
        let mut set = |name: &str, value: Json| drop(problem.insert(name.to_owned(), value));
        set("type", Json::from("about:blank"));
        set("title", Json::from(self.status.canonical_reason().unwrap_or("Rejected")));
        set("status", Json::from(i64::from(self.status.as_u16())));
        set("detail", Json::from(self.detail.as_str()));
        if let Some(operation) = operation {
            set("operation", Json::from(operation));
        }
        if !self.violations.is_empty() {
            let violations = self.violations.iter().map(|each| {
                let members = each.members().into_iter();
                Json::Object(members.map(|(name, text)| (name.to_owned(), Json::from(text))).collect())
            });
            set("violations", Json::Array(violations.collect()));
        }
        Json::Object(problem)
    }

    /// Converts the error to a response with the media type `application/problem+json`.
    pub(super) fn to_response(&self, operation: Option<&str>) -> Response<Bytes> {
        let mut response = Response::new(Bytes::from(self.to_json(operation).to_string()));
        *response.status_mut() = self.status;
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        for (name, value) in &self.headers {
            response.headers_mut().append(name, value.clone());
        }
        response
    }
}

/// The maximum number of violations in the description of an error.
const MAX_DESCRIBED: usize = 3;

/// Describes the violations of a request in one line: `query /limit must be at most 50; body /seat is required`.
pub(super) fn describe_violations(violations: &[MessageViolation]) -> String {
    let described = violations.iter().take(MAX_DESCRIBED).map(MessageViolation::to_string);
    let mut text = described.collect::<Vec<_>>().join("; ");
    if let Some(others) = violations.len().checked_sub(MAX_DESCRIBED).filter(|others| *others > 0) {
        text.push_str(&format!("; and {others} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_are_described_in_one_line() {
        let violation = |place, pointer: &str, message: &str| MessageViolation {
            place,
            pointer: pointer.to_owned(),
            keyword: String::new(),
            message: message.to_owned(),
            origin: String::new(),
        };
        let mut found =
            vec![violation("query", "/limit", "must be at most 50"), violation("body", "", "is required")];
        assert_eq!(describe_violations(&found), "query /limit must be at most 50; body is required");
        found.extend([violation("body", "/a", "x"), violation("body", "/b", "y")]);
        assert!(describe_violations(&found).ends_with("; body /a x; and 1 more"));
    }
}
