//! The scripted replies of a server: responses and transport failures.

use std::time::Duration;

use bytes::Bytes;
use exchange_api::{
    codes::{Code, RetryAfter},
    types::{CorrelationId, Problem},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LOCATION, RETRY_AFTER},
};

/// A response, with its delay and the way in which it is delivered.
#[derive(Clone, Debug)]
pub struct ScriptedReply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: ReplyBody,
    /// The number of bytes of the body that arrive; `None` for the complete body.
    pub(super) truncate_to: Option<usize>,
    pub(super) delayed_by: Duration,
    pub(super) delivery: ReplyDelivery,
    pub(super) without_server_headers: bool,
}

#[derive(Clone, Debug)]
pub(super) enum ReplyBody {
    Bytes(Bytes),
    /// A problem document for this code, with the correlation id of the request.
    Problem(Code),
}

/// The way in which a response is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyDelivery {
    Delivered,
    /// The connection is refused: the server does not receive the request.
    Refused,
    /// The connection ends before the server has received the whole request.
    Interrupted,
    /// The server processes the request, and the connection ends before the response is complete.
    Lost,
    /// The server processes the request and never responds.
    Stalled,
}

impl ScriptedReply {
    /// Creates a response with this status, media type, and body.
    #[must_use]
    pub fn new(status: u16, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        Self {
            status: StatusCode::from_u16(status).expect("a status of three digits"),
            headers,
            body: ReplyBody::Bytes(body.into()),
            truncate_to: None,
            delayed_by: Duration::ZERO,
            delivery: ReplyDelivery::Delivered,
            without_server_headers: false,
        }
    }

    /// Creates a JSON response.
    #[must_use]
    pub fn json(status: u16, body: impl ToString) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// Creates the problem response for a code of the registry, with its status and its `Retry-After`. If the
    /// server would compute the `Retry-After`, it is 30 seconds.
    #[must_use]
    pub fn problem(code: Code) -> Self {
        let status = code.status().expect("the code is in the registry");
        let wait = match code.retry_after() {
            Some(RetryAfter::Always) => code.retry_after_seconds(),
            Some(RetryAfter::Computed) => Some(30),
            _ => None,
        };
        let mut reply = Self::new(status, "application/problem+json", "");
        reply.body = ReplyBody::Problem(code);
        match wait {
            Some(wait) => reply.with_header("Retry-After", &wait.to_string()),
            None => reply,
        }
    }

    /// Creates a problem response with a code that is not in the registry.
    #[must_use]
    pub fn unknown_problem(status: u16, code: &str) -> Self {
        let mut reply = Self::new(status, "application/problem+json", "");
        reply.body = ReplyBody::Problem(code.parse().unwrap_or_else(|never| match never {}));
        reply
    }

    /// Creates an OAuth error response with status 400.
    #[must_use]
    pub fn oauth(error: &str) -> Self {
        Self::json(400, format_args!(r#"{{"error":"{error}"}}"#))
    }

    /// Creates a `401 DPOP_INVALID` response with this `WWW-Authenticate` and an optional nonce.
    #[must_use]
    pub fn challenge(challenge: &str, nonce: Option<&str>) -> Self {
        let reply = Self::problem(Code::DpopInvalid).with_header("WWW-Authenticate", challenge);
        match nonce {
            Some(nonce) => reply.with_header("DPoP-Nonce", nonce),
            None => reply,
        }
    }

    /// Creates the HTML error page of a proxy.
    #[must_use]
    pub fn html(status: u16) -> Self {
        Self::new(status, "text/html", "<html><body><h1>Bad gateway</h1></body></html>")
    }

    /// Creates a `302` redirect to this location.
    #[must_use]
    pub fn redirect(to: &str) -> Self {
        let mut reply = Self::new(302, "text/html", "");
        reply.headers.insert(LOCATION, to.parse().expect("a valid header value"));
        reply
    }

    /// Creates a `200` response with an invalid JSON body.
    #[must_use]
    pub fn garbage() -> Self {
        Self::new(200, "application/json", &b"\xff\xfe{{{]"[..])
    }

    /// Creates a `200` response with a body of this many bytes.
    #[must_use]
    pub fn huge(bytes: usize) -> Self {
        Self::new(200, "application/json", vec![b' '; bytes])
    }

    /// Creates a reply that refuses the connection, so that the server receives nothing.
    #[must_use]
    pub fn refused() -> Self {
        Self { delivery: ReplyDelivery::Refused, ..Self::json(200, "{}") }
    }

    /// Creates a reply that ends the connection before the request has been received completely.
    #[must_use]
    pub fn interrupted() -> Self {
        Self { delivery: ReplyDelivery::Interrupted, ..Self::json(200, "{}") }
    }

    /// Creates a reply that processes the request but loses the response, which is `{}`. For a different
    /// response, use [`then_lost`](Self::then_lost).
    #[must_use]
    pub fn lost() -> Self {
        Self::json(200, "{}").then_lost()
    }

    /// Creates a reply that processes the request but never responds.
    #[must_use]
    pub fn stalled() -> Self {
        Self::json(200, "{}").then_stalled()
    }

    /// Processes the request, but ends the connection before this response is complete.
    #[must_use]
    pub fn then_lost(self) -> Self {
        Self { delivery: ReplyDelivery::Lost, ..self }
    }

    /// Processes the request but never sends this response.
    #[must_use]
    pub fn then_stalled(self) -> Self {
        Self { delivery: ReplyDelivery::Stalled, ..self }
    }

    /// Truncates the body to this many bytes. A truncated success response is not marked; a truncated error
    /// response is marked as having a partial body, as a transport marks it.
    #[must_use]
    pub fn truncated_to(self, bytes: usize) -> Self {
        Self { truncate_to: Some(bytes), ..self }
    }

    /// Delays the response.
    #[must_use]
    pub fn delayed_by(self, time: Duration) -> Self {
        Self { delayed_by: time, ..self }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        let name = name.parse::<HeaderName>().expect("a valid header name");
        self.headers.append(name, value.parse().expect("a valid header value"));
        self
    }

    /// Sets `Retry-After`, replacing any earlier value.
    #[must_use]
    pub fn with_retry_after(mut self, value: &str) -> Self {
        self.headers.insert(RETRY_AFTER, value.parse().expect("a valid header value"));
        self
    }

    /// Omits `Date` and `DPoP-Nonce`, which the server adds otherwise.
    #[must_use]
    pub fn without_server_headers(self) -> Self {
        Self { without_server_headers: true, ..self }
    }

    /// Returns the reply to a second request with the same key.
    pub(super) fn replayed(&self) -> Self {
        Self {
            truncate_to: None,
            delivery: ReplyDelivery::Delivered,
            delayed_by: Duration::ZERO,
            ..self.clone()
        }
    }

    /// Returns the bytes of the body that arrive.
    pub(super) fn body(&self, correlation_id: &str, path: &str) -> Bytes {
        let mut body = self.whole_body(correlation_id, path);
        body.truncate(self.truncate_to.unwrap_or(usize::MAX));
        body
    }

    /// Returns true if a transport would mark the body as partial.
    pub(super) fn is_partial(&self) -> bool {
        self.truncate_to.is_some() && !self.status.is_success()
    }

    fn whole_body(&self, correlation_id: &str, path: &str) -> Bytes {
        match &self.body {
            ReplyBody::Bytes(bytes) => bytes.clone(),
            ReplyBody::Problem(code) => {
                let id = CorrelationId::new(correlation_id)
                    .or_else(|_| CorrelationId::new("none"))
                    .expect("a valid correlation id");
                let mut problem = Problem::from_code(code.clone(), id, path);
                problem.code = code.clone();
                problem.status = Some(i64::from(self.status.as_u16()));
                let wait = self.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                #[allow(deprecated, reason = "the exchange may still return this code")]
                let seconds = &mut problem.retry_after_seconds;
                *seconds = wait.and_then(|wait| wait.parse().ok());
                serde_json::to_vec(&problem).expect("a problem document can be serialized").into()
            }
        }
    }
}
