//! Responses that end a request before it reaches the backend: error responses of the stages, and replayed
//! responses.

use std::time::Duration;

use contract_runtime::server::{EncodedResponse, HeaderMap, HeaderValue};
use dpop_bound::{DpopChallenge, VerificationError, replay::ReplayError};
use exchange_api::Contract;
use exchange_api::codes::Code;
use exchange_api::error_responses::{PlainCode, TimedCode};
use exchange_api::server::ErrorResponse;
use exchange_api::types::{CorrelationId, Problem};
use http::header;

use crate::idp::tokens::TokenError;

/// A response that ends a request at a stage.
#[derive(Clone, Debug)]
pub enum EarlyResponse {
    /// A stage rejected the request.
    Rejected(Box<StageRejection>),
    /// The stored response to an identical request with the same idempotency key (GW-10).
    Replayed(Box<EncodedResponse>),
}

impl From<StageRejection> for EarlyResponse {
    fn from(rejection: StageRejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

/// An error response that does not yet contain the correlation id and the path of the request.
#[derive(Clone, Debug)]
pub struct StageRejection {
    content: RejectionContent,
    challenge: Option<DpopChallenge>,
    /// Whether the response omits the nonce, because the token was not verified (DPP-11).
    omit_nonce: bool,
    /// A keyword for the reason, for logs and counters.
    reason: &'static str,
}

#[derive(Clone, Debug)]
enum RejectionContent {
    Plain(PlainCode),
    Timed(TimedCode, Duration),
    Problem(Box<Problem>),
}

impl StageRejection {
    /// Creates a rejection from a code that needs no further data.
    #[must_use]
    pub fn from_code(code: PlainCode) -> Self {
        Self { content: RejectionContent::Plain(code), challenge: None, omit_nonce: false, reason: "" }
    }

    /// Creates a rejection with a code and a `Retry-After` delay.
    #[must_use]
    pub fn from_timed_code(code: TimedCode, wait: Duration) -> Self {
        Self { content: RejectionContent::Timed(code, wait), challenge: None, omit_nonce: false, reason: "" }
    }

    /// Creates a rejection from a problem document that identifies the invalid parts of the request.
    #[must_use]
    pub fn from_problem(problem: Problem) -> Self {
        Self {
            content: RejectionContent::Problem(Box::new(problem)),
            challenge: None,
            omit_nonce: false,
            reason: "",
        }
    }

    /// Returns the rejection without a nonce in its response.
    #[must_use]
    pub fn without_nonce(self) -> Self {
        Self { omit_nonce: true, ..self }
    }

    /// Sets the keyword for the reason, for logs and counters.
    #[must_use]
    pub fn with_reason(self, reason: &'static str) -> Self {
        Self { reason, ..self }
    }

    /// Sets the `WWW-Authenticate` challenge.
    #[must_use]
    pub fn with_challenge(self, challenge: DpopChallenge) -> Self {
        Self { challenge: Some(challenge), ..self }
    }

    /// Creates a rejection of a token, with an `invalid_token` challenge.
    #[must_use]
    pub fn invalid_token(code: PlainCode, why: &str) -> Self {
        let challenge = DpopChallenge::invalid_token(why).unwrap_or_else(|_| DpopChallenge::required());
        Self::from_code(code).with_challenge(challenge)
    }

    /// Maps a token error to a rejection (ERR-05, A9).
    #[must_use]
    pub fn from_token_error(error: TokenError) -> Self {
        let rejection = match error {
            TokenError::Unavailable => {
                Self::from_timed_code(TimedCode::ServiceUnavailable, Duration::from_secs(5)).without_nonce()
            }
            _ => Self::invalid_token(PlainCode::Unauthenticated, &error.to_string()),
        };
        rejection.with_reason(error.reason())
    }

    /// Maps a proof error to a rejection (ERR-06 to ERR-10).
    #[must_use]
    pub fn from_proof_error(error: &VerificationError) -> Self {
        use dpop_bound::credentials::CredentialsError;
        let rejection = match error {
            VerificationError::Replay(
                ReplayError::AccountFull { wait } | ReplayError::SourceFull { wait },
            ) => Self::from_timed_code(TimedCode::DpopProofLimit, *wait),
            VerificationError::Replay(ReplayError::Full { wait }) => {
                Self::from_timed_code(TimedCode::ServiceUnavailable, *wait)
            }
            VerificationError::Replay(ReplayError::Unavailable) => {
                Self::from_code(PlainCode::ServiceUnavailable)
            }
            _ if error.is_proof_required() => Self::from_code(PlainCode::DpopRequired),
            VerificationError::Credentials(CredentialsError::SeveralProofs) => {
                Self::from_code(PlainCode::DpopInvalid)
            }
            VerificationError::Credentials(_) => Self::from_code(PlainCode::Unauthenticated),
            _ => Self::from_code(PlainCode::DpopInvalid),
        };
        Self { challenge: error.challenge(), reason: error.reason(), ..rejection }
    }

    /// Returns the problem code of the contract.
    #[must_use]
    pub fn code(&self) -> Code {
        match &self.content {
            RejectionContent::Plain(code) => (*code).into(),
            RejectionContent::Timed(code, _) => (*code).into(),
            RejectionContent::Problem(problem) => problem.code.clone(),
        }
    }

    /// Returns true if the response omits the nonce because the token was not verified.
    #[must_use]
    pub const fn omits_nonce(&self) -> bool {
        self.omit_nonce
    }

    /// Returns the keyword for the reason, for logs. It is empty if the code is sufficient.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        self.reason
    }

    /// Builds the response from the rejection, the correlation id and the path.
    #[must_use]
    pub fn into_response(self, id: CorrelationId, path: &str) -> EncodedResponse {
        let error = match self.content {
            RejectionContent::Plain(code) => Problem::error_response(code, id, path),
            RejectionContent::Timed(code, wait) => Problem::error_response_after(code, wait, id, path),
            RejectionContent::Problem(problem) => error_response_from_problem(*problem, id),
        };
        let mut response = render_error_response(error);
        if let Some(challenge) =
            self.challenge.as_ref().and_then(|challenge| HeaderValue::try_from(challenge).ok())
        {
            response.headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Converts a problem about a body into an error response. Such a problem always has a [`PlainCode`]; any
/// other code becomes `INTERNAL_ERROR`.
fn error_response_from_problem(problem: Problem, id: CorrelationId) -> ErrorResponse {
    let plain = PlainCode::ALL.iter().find(|code| Code::from(**code) == problem.code);
    let code = plain.copied().unwrap_or(PlainCode::InternalError);
    let path = problem.instance.clone().unwrap_or_default();
    Problem::error_response(code, problem.correlation_id.clone().unwrap_or(id), &path)
        .map(|internal_error| if plain.is_some() { problem } else { internal_error })
}

fn render_error_response(error: ErrorResponse) -> EncodedResponse {
    match error {
        ErrorResponse::Typed(typed) => {
            let body = typed.body.to_json().map(|json| json.to_string()).unwrap_or_default();
            let mut headers: HeaderMap = typed.headers;
            let problem = HeaderValue::from_static("application/problem+json");
            headers.insert(header::CONTENT_TYPE, problem);
            EncodedResponse { status: typed.status, headers, body: body.into() }
        }
        ErrorResponse::Encoded(response) => *response,
        ErrorResponse::Rejected(rejection) => EncodedResponse {
            status: http::StatusCode::from_u16(rejection.status()).unwrap_or_default(),
            headers: HeaderMap::new(),
            body: bytes::Bytes::new(),
        },
    }
}
