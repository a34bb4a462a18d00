//! What a refused call says of itself, read from whatever came back.

use contract_runtime::{Json, client::Error};

use super::problems::{is_code, is_id};
use crate::{codes::Code, types::Problem};

/// The longest body that is looked into for a code; a problem has a few hundred bytes.
const LONGEST: usize = 64 * 1024;

/// The code and the id of a refusal.
///
/// A problem that lacks a required member cannot be read as one, but a code that is there decides
/// what to do all the same (CON-12).
pub trait RefusedCall {
    /// The problem's code, also when the rest of the problem cannot be read.
    fn code(&self) -> Option<Code>;

    /// The id of the call, from the problem or from `X-Correlation-Id` (GW-13).
    fn correlation_id(&self) -> Option<String>;

    /// The whole of it on one line, without anything that a body or an address holds.
    fn describe(&self) -> String;
}

impl RefusedCall for Error<Problem> {
    fn code(&self) -> Option<Code> {
        match self {
            Self::Answer(answer) => Some(&answer.body.code).filter(|code| is_code(code.as_str())).cloned(),
            Self::Unreadable(answer)
                if answer.status.is_client_error() || answer.status.is_server_error() =>
            {
                text(&answer.body, "code").filter(|code| is_code(code)).map(Code::from)
            }
            _ => None,
        }
    }

    fn correlation_id(&self) -> Option<String> {
        let said = match self {
            Self::Answer(answer) => {
                Some(answer.body.correlation_id.as_str().to_owned()).filter(|id| is_id(id))
            }
            Self::Unreadable(_) => None,
            _ => return None,
        };
        let sent = || self.header("x-correlation-id").map(str::to_owned).filter(|id| is_id(id));
        let unread = || match self {
            Self::Unreadable(answer) => text(&answer.body, "correlationId").filter(|id| is_id(id)),
            _ => None,
        };
        said.or_else(sent).or_else(unread)
    }

    fn describe(&self) -> String {
        match (self, self.code(), self.correlation_id()) {
            (Self::Answer(answer), ..) => format!("the server refused: {}", answer.body),
            (_, Some(code), Some(id)) => format!("{self} ({code}) [correlation id {id}]"),
            (_, Some(code), None) => format!("{self} ({code})"),
            (_, None, Some(id)) => format!("{self} [correlation id {id}]"),
            (_, None, None) => self.to_string(),
        }
    }
}

/// A text among the members of a JSON object.
fn text(body: &[u8], name: &str) -> Option<String> {
    let body = body.get(..LONGEST).map_or(body, |_| &[]);
    let json = Json::parse(body).ok()?;
    json.as_object()?.get(name)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use contract_runtime::{
        operation::Operation,
        transport::{Sending, Transport},
    };
    use http::{Request, Response};

    use super::*;
    use crate::Client;

    /// Answers every call with the same refusal.
    struct Refusing {
        status: u16,
        id: Option<&'static str>,
        body: String,
    }

    impl Transport for Refusing {
        fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> Sending<'a> {
            let mut answer = Response::builder().status(self.status);
            answer = answer.header("Content-Type", "application/problem+json");
            if let Some(id) = self.id {
                answer = answer.header("X-Correlation-Id", id);
            }
            let answer = answer.body(Bytes::from(self.body.clone())).unwrap();
            Box::pin(async move { Ok(answer) })
        }
    }

    fn refused(status: u16, id: Option<&'static str>, body: &str) -> Error<Problem> {
        let client = Client::new("https://exchange.example", Refusing { status, id, body: body.to_owned() });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(client.catalog_locations()).unwrap_err()
    }

    /// What a refusal is told apart by.
    fn told(error: &Error<Problem>) -> (Option<String>, Option<String>) {
        (error.code().map(|code| code.to_string()), error.correlation_id())
    }

    /// A text that is there.
    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_problem_says_code_and_id() {
        let body = r#"{"status": 403, "code": "SCOPE_MISSING", "title": "Scope missing", "detail": "d.", "correlationId": "c-1"}"#;
        let error = refused(403, None, body);
        assert_eq!(told(&error), (some("SCOPE_MISSING"), some("c-1")));
        let expected = "the server refused: SCOPE_MISSING (403): Scope missing [correlation id c-1]";
        assert_eq!(error.describe(), expected);
    }

    /// CON-12: a problem without its id, or without anything but its code, still has its code.
    #[test]
    fn a_problem_that_cannot_be_read_keeps_its_code() {
        let without = r#"{"status": 409, "code": "VERSION_CONFLICT", "title": "t", "detail": "d"}"#;
        let error = refused(409, None, without);
        assert_eq!(told(&error), (some("VERSION_CONFLICT"), None));
        assert!(error.describe().contains("VERSION_CONFLICT"), "{}", error.describe());
        let error = refused(409, Some("c-2"), without);
        assert_eq!(told(&error), (some("VERSION_CONFLICT"), some("c-2")));
        assert!(error.describe().ends_with("(VERSION_CONFLICT) [correlation id c-2]"));
        let error = refused(429, None, r#"{"code": "LATER_CODE", "correlationId": "c-3"}"#);
        assert_eq!(told(&error), (some("LATER_CODE"), some("c-3")));
    }

    /// A problem that can be read has no other way into a log than one that cannot.
    #[test]
    fn a_readable_problem_is_one_line_too() {
        let body = r#"{"status": 409, "code": "HUSH\nforged", "title": "hush\nforged", "detail": "hush",
            "correlationId": "hush\nforged"}"#;
        let error = refused(409, None, body);
        assert!(matches!(error, Error::Answer(_)), "{error:?}");
        assert_eq!(
            (told(&error), error.describe().as_str()),
            ((None, None), "the server refused: status 409")
        );
        let error = refused(409, Some("c-4"), body);
        assert_eq!(told(&error), (None, some("c-4")));
        let later = r#"{"status": 409, "code": "LATER_CODE", "title": "hush", "detail": "hush", "correlationId": "c-5"}"#;
        let expected = "the server refused: LATER_CODE (409) [correlation id c-5]";
        assert_eq!(refused(409, None, later).describe(), expected);
    }

    /// Nothing that a body holds is printed unless it is a code or an id.
    #[test]
    fn what_is_no_code_and_no_id_is_not_taken() {
        for body in [
            r#"{"code": "hush, a secret", "correlationId": "hush hush"}"#,
            r#"{"code": 7, "correlationId": {"hush": 1}}"#,
            r#"["hush"]"#,
            "hush",
            "",
        ] {
            let error = refused(500, Some("hush hush"), body);
            assert_eq!(told(&error), (None, None), "{body}");
            assert!(!error.describe().contains("hush"), "{}", error.describe());
        }
        let long = format!(r#"{{"code": "RATE_LIMITED", "x": "{}"}}"#, "x".repeat(LONGEST));
        assert_eq!(told(&refused(429, None, &long)), (None, None));
    }
}
