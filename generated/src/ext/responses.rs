//! The code and the correlation id of an error response, even if its body violates the contract.

use contract_runtime::{Json, client::Error};

use super::problems::{is_code, is_id};
use crate::{codes::Code, types::Problem};

/// The maximum size of a body that is searched for a code, in bytes. A problem has a few hundred bytes.
const MAX_INSPECTED_BYTES: usize = 64 * 1024;

/// The code and the correlation id of a failed call.
///
/// A problem that lacks a required field cannot be parsed, but its code still determines how the client
/// reacts (CON-12).
pub trait ProblemErrorExt {
    /// Returns the code of the problem, even if the rest of the problem cannot be parsed.
    fn code(&self) -> Option<Code>;

    /// Returns the correlation id from the problem or from `X-Correlation-Id` (GW-13).
    fn correlation_id(&self) -> Option<String>;

    /// Formats the error on one line, without the address and without other contents of the body.
    fn describe(&self) -> String;
}

impl ProblemErrorExt for Error<Problem> {
    fn code(&self) -> Option<Code> {
        match self {
            Self::ErrorResponse(response) => {
                Some(&response.body().code).filter(|code| is_code(code.as_str())).cloned()
            }
            Self::UnexpectedResponse(response)
                if response.status().is_client_error() || response.status().is_server_error() =>
            {
                read_string_field(response.body(), "code").filter(|code| is_code(code)).map(Code::from)
            }
            _ => None,
        }
    }

    fn correlation_id(&self) -> Option<String> {
        let from_problem = match self {
            Self::ErrorResponse(response) => response
                .body()
                .correlation_id
                .as_ref()
                .map(|id| id.as_str().to_owned())
                .filter(|id| is_id(id)),
            Self::UnexpectedResponse(_) => None,
            _ => return None,
        };
        let from_header = || self.header("x-correlation-id").map(str::to_owned).filter(|id| is_id(id));
        let from_body = || match self {
            Self::UnexpectedResponse(response) => {
                read_string_field(response.body(), "correlationId").filter(|id| is_id(id))
            }
            _ => None,
        };
        from_problem.or_else(from_header).or_else(from_body)
    }

    fn describe(&self) -> String {
        match (self, self.code(), self.correlation_id()) {
            (Self::ErrorResponse(response), code, id) => {
                let message = format!("the server rejected the request: {}", response.body());
                // A problem without an id is found by the id of the header.
                match id.filter(|_| code.is_some() && response.body().correlation_id.is_none()) {
                    Some(id) => format!("{message} [correlation id {id}]"),
                    None => message,
                }
            }
            (_, Some(code), Some(id)) => format!("{self} ({code}) [correlation id {id}]"),
            (_, Some(code), None) => format!("{self} ({code})"),
            (_, None, Some(id)) => format!("{self} [correlation id {id}]"),
            (_, None, None) => self.to_string(),
        }
    }
}

/// Returns a string field of a JSON object.
fn read_string_field(body: &[u8], name: &str) -> Option<String> {
    let body = body.get(..MAX_INSPECTED_BYTES).map_or(body, |_| &[]);
    let json = Json::parse(body).ok()?;
    json.as_object()?.get(name)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use contract_runtime::{
        operation::Operation,
        transport::{ResponseFuture, Transport},
    };
    use http::{Request, Response};

    use super::*;
    use crate::Client;

    /// A transport that responds to every call with the same error.
    struct RefusingTransport {
        status: u16,
        id: Option<&'static str>,
        body: String,
    }

    impl Transport for RefusingTransport {
        fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> ResponseFuture<'a> {
            let mut response = Response::builder().status(self.status);
            response = response.header("Content-Type", "application/problem+json");
            if let Some(id) = self.id {
                response = response.header("X-Correlation-Id", id);
            }
            let response = response.body(Bytes::from(self.body.clone())).unwrap();
            Box::pin(async move { Ok(response) })
        }
    }

    fn call_with_error(status: u16, id: Option<&'static str>, body: &str) -> Error<Problem> {
        let client =
            Client::new("https://exchange.example", RefusingTransport { status, id, body: body.to_owned() });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(client.catalog_locations()).unwrap_err()
    }

    /// Returns the code and the correlation id.
    fn code_and_id(error: &Error<Problem>) -> (Option<String>, Option<String>) {
        (error.code().map(|code| code.to_string()), error.correlation_id())
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn problem_has_code_and_id() {
        let body = r#"{"status": 403, "code": "SCOPE_MISSING", "title": "Scope missing", "detail": "d.", "correlationId": "c-1"}"#;
        let error = call_with_error(403, None, body);
        assert_eq!(code_and_id(&error), (some("SCOPE_MISSING"), some("c-1")));
        let expected =
            "the server rejected the request: SCOPE_MISSING (403): Scope missing [correlation id c-1]";
        assert_eq!(error.describe(), expected);
    }

    /// CON-12: a problem without its id, or with only its code, still has its code.
    #[test]
    fn unparsable_problem_still_has_its_code() {
        let without = r#"{"status": 409, "code": "VERSION_CONFLICT", "title": "t", "detail": "d"}"#;
        let error = call_with_error(409, None, without);
        assert_eq!(code_and_id(&error), (some("VERSION_CONFLICT"), None));
        assert!(error.describe().contains("VERSION_CONFLICT"), "{}", error.describe());
        let error = call_with_error(409, Some("c-2"), without);
        assert_eq!(code_and_id(&error), (some("VERSION_CONFLICT"), some("c-2")));
        let expected =
            "the server rejected the request: VERSION_CONFLICT (409): Version conflict [correlation id c-2]";
        assert_eq!(error.describe(), expected);
        let error = call_with_error(429, None, r#"{"code": "LATER_CODE", "correlationId": "c-3"}"#);
        assert_eq!(code_and_id(&error), (some("LATER_CODE"), some("c-3")));
    }

    /// Logging a valid problem follows the same restrictions as logging an invalid one.
    #[test]
    fn valid_problem_is_formatted_on_one_line() {
        let body = r#"{"status": 409, "code": "HUSH\nforged", "title": "hush\nforged", "detail": "hush",
            "correlationId": "hush\nforged"}"#;
        let error = call_with_error(409, None, body);
        assert!(matches!(error, Error::ErrorResponse(_)), "{error:?}");
        assert_eq!(
            (code_and_id(&error), error.describe().as_str()),
            ((None, None), "the server rejected the request: status 409")
        );
        let error = call_with_error(409, Some("c-4"), body);
        assert_eq!(code_and_id(&error), (None, some("c-4")));
        let later = r#"{"status": 409, "code": "LATER_CODE", "title": "hush", "detail": "hush", "correlationId": "c-5"}"#;
        let expected = "the server rejected the request: LATER_CODE (409) [correlation id c-5]";
        assert_eq!(call_with_error(409, None, later).describe(), expected);
    }

    /// The output contains only a code and an id from the body, and only if these are valid.
    #[test]
    fn invalid_codes_and_ids_are_ignored() {
        for body in [
            r#"{"code": "hush, a secret", "correlationId": "hush hush"}"#,
            r#"{"code": 7, "correlationId": {"hush": 1}}"#,
            r#"["hush"]"#,
            "hush",
            "",
        ] {
            let error = call_with_error(500, Some("hush hush"), body);
            assert_eq!(code_and_id(&error), (None, None), "{body}");
            assert!(!error.describe().contains("hush"), "{}", error.describe());
        }
        let long =
            format!(r#"{{"code": "RATE_LIMITED", "title": 7, "x": "{}"}}"#, "x".repeat(MAX_INSPECTED_BYTES));
        assert_eq!(code_and_id(&call_with_error(429, None, &long)), (None, None));
    }
}
