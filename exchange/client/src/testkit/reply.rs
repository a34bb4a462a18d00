//! What a scripted server does with a request: an answer, or what goes wrong on the way.

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

/// An answer, and how it fares.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
    /// So much of the body arrives, as if it were whole.
    pub(super) cut: Option<usize>,
    pub(super) after: Duration,
    pub(super) fate: Fate,
    pub(super) bare: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Bytes(Bytes),
    /// A problem with the correlation id of the request.
    Problem(Code),
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Delivered,
    /// There is no connection: the server never hears of the request.
    Refused,
    /// The connection ends before the server heard the request out.
    Unheard,
    /// The server acts, and the connection ends before its answer, or within it.
    Lost,
    /// The server acts, and nothing comes back, ever.
    Stalled,
}

impl Reply {
    /// An answer with this body.
    #[must_use]
    pub fn new(status: u16, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        Self {
            status: StatusCode::from_u16(status).expect("a status of three digits"),
            headers,
            body: Body::Bytes(body.into()),
            cut: None,
            after: Duration::ZERO,
            fate: Fate::Delivered,
            bare: false,
        }
    }

    /// An answer in JSON.
    #[must_use]
    pub fn json(status: u16, body: impl ToString) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// The refusal that the registry knows by this code, with its `Retry-After`: thirty seconds where the
    /// server would work it out.
    #[must_use]
    pub fn problem(code: Code) -> Self {
        let status = code.status().expect("a code of the registry");
        let wait = match code.retry_after() {
            Some(RetryAfter::Always) => code.retry_after_seconds(),
            Some(RetryAfter::Computed) => Some(30),
            _ => None,
        };
        let mut reply = Self::new(status, "application/problem+json", "");
        reply.body = Body::Problem(code);
        match wait {
            Some(wait) => reply.header("Retry-After", &wait.to_string()),
            None => reply,
        }
    }

    /// A refusal whose code no registry knows.
    #[must_use]
    pub fn unknown_problem(status: u16, code: &str) -> Self {
        let mut reply = Self::new(status, "application/problem+json", "");
        reply.body = Body::Problem(code.parse().unwrap_or_else(|never| match never {}));
        reply
    }

    /// A refusal of the identity provider.
    #[must_use]
    pub fn oauth(error: &str) -> Self {
        Self::json(400, format_args!(r#"{{"error":"{error}"}}"#))
    }

    /// `401 DPOP_INVALID` with this challenge, and a nonce if one is given.
    #[must_use]
    pub fn challenge(challenge: &str, nonce: Option<&str>) -> Self {
        let reply = Self::problem(Code::DpopInvalid).header("WWW-Authenticate", challenge);
        match nonce {
            Some(nonce) => reply.header("DPoP-Nonce", nonce),
            None => reply,
        }
    }

    /// A page of a proxy.
    #[must_use]
    pub fn html(status: u16) -> Self {
        Self::new(status, "text/html", "<html><body><h1>Bad gateway</h1></body></html>")
    }

    /// A redirection.
    #[must_use]
    pub fn redirect(to: &str) -> Self {
        let mut reply = Self::new(302, "text/html", "");
        reply.headers.insert(LOCATION, to.parse().expect("a header value"));
        reply
    }

    /// `200` with bytes that are no JSON.
    #[must_use]
    pub fn garbage() -> Self {
        Self::new(200, "application/json", &b"\xff\xfe{{{]"[..])
    }

    /// `200` with so many bytes.
    #[must_use]
    pub fn huge(bytes: usize) -> Self {
        Self::new(200, "application/json", vec![b' '; bytes])
    }

    /// No connection; the server hears nothing.
    #[must_use]
    pub fn refused() -> Self {
        Self { fate: Fate::Refused, ..Self::json(200, "{}") }
    }

    /// The connection ends before the request is heard out.
    #[must_use]
    pub fn unheard() -> Self {
        Self { fate: Fate::Unheard, ..Self::json(200, "{}") }
    }

    /// The server acts and answers `{}`, and nobody hears it. For another answer see
    /// [`and_is_lost`](Self::and_is_lost).
    #[must_use]
    pub fn lost() -> Self {
        Self::json(200, "{}").and_is_lost()
    }

    /// The server acts, and nothing ever comes back.
    #[must_use]
    pub fn stalled() -> Self {
        Self::json(200, "{}").and_stalls()
    }

    /// The server gives this answer, and the connection ends before it has come whole.
    #[must_use]
    pub fn and_is_lost(self) -> Self {
        Self { fate: Fate::Lost, ..self }
    }

    /// The server would give this answer, and never comes to it.
    #[must_use]
    pub fn and_stalls(self) -> Self {
        Self { fate: Fate::Stalled, ..self }
    }

    /// The first so many bytes of the body alone arrive: of a success as if it had been whole, of a refusal as a
    /// transport tells of one whose body was cut.
    #[must_use]
    pub fn cut_to(self, bytes: usize) -> Self {
        Self { cut: Some(bytes), ..self }
    }

    /// It takes so long.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self { after: time, ..self }
    }

    /// With another header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name = name.parse::<HeaderName>().expect("the name of a header");
        self.headers.append(name, value.parse().expect("a header value"));
        self
    }

    /// With this `Retry-After` in place of another.
    #[must_use]
    pub fn retry_after(mut self, value: &str) -> Self {
        self.headers.insert(RETRY_AFTER, value.parse().expect("a header value"));
        self
    }

    /// Without `Date` and `DPoP-Nonce`, which a server adds otherwise.
    #[must_use]
    pub fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    /// The same, given a second time for the same key.
    pub(super) fn again(&self) -> Self {
        Self { cut: None, fate: Fate::Delivered, after: Duration::ZERO, ..self.clone() }
    }

    /// The bytes of the body, as far as they arrive.
    pub(super) fn body(&self, correlation_id: &str, path: &str) -> Bytes {
        let mut body = self.whole_body(correlation_id, path);
        body.truncate(self.cut.unwrap_or(usize::MAX));
        body
    }

    /// Whether a transport would say that its body did not come whole.
    pub(super) fn is_partial(&self) -> bool {
        self.cut.is_some() && !self.status.is_success()
    }

    fn whole_body(&self, correlation_id: &str, path: &str) -> Bytes {
        match &self.body {
            Body::Bytes(bytes) => bytes.clone(),
            Body::Problem(code) => {
                let id = CorrelationId::new(correlation_id)
                    .or_else(|_| CorrelationId::new("none"))
                    .expect("an id of the contract");
                let mut problem = Problem::new(code.clone(), id, path);
                problem.code = code.clone();
                problem.status = i64::from(self.status.as_u16());
                let wait = self.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                #[allow(deprecated, reason = "an exchange may still say it")]
                let seconds = &mut problem.retry_after_seconds;
                *seconds = wait.and_then(|wait| wait.parse().ok());
                serde_json::to_vec(&problem).expect("a problem is JSON").into()
            }
        }
    }
}
