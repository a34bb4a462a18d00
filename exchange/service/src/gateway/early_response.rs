//! Responses that end a request before it reaches the backend: refusals, and replayed responses.

use std::time::Duration;

use contract_runtime::server::{EncodedResponse, HeaderMap, HeaderValue};
use dpop_bound::{DpopChallenge, VerificationError as ProofRefusal, replay::ReplayError};
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
    /// A stage refused the request.
    Refused(Box<StageRefusal>),
    /// The stored response to an identical request with the same idempotency key (GW-10).
    Replayed(Box<EncodedResponse>),
}

impl From<StageRefusal> for EarlyResponse {
    fn from(refused: StageRefusal) -> Self {
        Self::Refused(Box::new(refused))
    }
}

/// A refusal that does not yet contain the correlation id and the path of the request.
#[derive(Clone, Debug)]
pub struct StageRefusal {
    content: RefusalContent,
    challenge: Option<DpopChallenge>,
    /// Whether the response omits the nonce, because the token was not verified (DPP-11).
    omit_nonce: bool,
    /// A keyword for the reason, for logs and counters.
    reason: &'static str,
}

#[derive(Clone, Debug)]
enum RefusalContent {
    Plain(PlainCode),
    Timed(TimedCode, Duration),
    Problem(Box<Problem>),
}

impl StageRefusal {
    /// Creates a refusal from a code that needs no further data.
    #[must_use]
    pub fn from_code(code: PlainCode) -> Self {
        Self { content: RefusalContent::Plain(code), challenge: None, omit_nonce: false, reason: "" }
    }

    /// Creates a refusal with a code and a `Retry-After` delay.
    #[must_use]
    pub fn from_timed_code(code: TimedCode, wait: Duration) -> Self {
        Self { content: RefusalContent::Timed(code, wait), challenge: None, omit_nonce: false, reason: "" }
    }

    /// Creates a refusal from a problem document that identifies the invalid parts of the request.
    #[must_use]
    pub fn from_problem(problem: Problem) -> Self {
        Self {
            content: RefusalContent::Problem(Box::new(problem)),
            challenge: None,
            omit_nonce: false,
            reason: "",
        }
    }

    /// Returns the refusal without a nonce in its response.
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

    /// Creates a refusal of a token, with an `invalid_token` challenge.
    #[must_use]
    pub fn invalid_token(code: PlainCode, why: &str) -> Self {
        let challenge = DpopChallenge::invalid_token(why).unwrap_or_else(|_| DpopChallenge::required());
        Self::from_code(code).with_challenge(challenge)
    }

    /// Maps a token error to a refusal (ERR-05, A9).
    #[must_use]
    pub fn from_token_refusal(refusal: TokenError) -> Self {
        let refused = match refusal {
            TokenError::Unavailable => {
                Self::from_timed_code(TimedCode::ServiceUnavailable, Duration::from_secs(5)).without_nonce()
            }
            _ => Self::invalid_token(PlainCode::Unauthenticated, &refusal.to_string()),
        };
        refused.with_reason(refusal.reason())
    }

    /// Maps a proof error to a refusal (ERR-06 to ERR-10).
    #[must_use]
    pub fn from_proof_refusal(refusal: &ProofRefusal) -> Self {
        use dpop_bound::credentials::CredentialsError;
        let refused = match refusal {
            ProofRefusal::Replay(ReplayError::AccountFull { wait } | ReplayError::SourceFull { wait }) => {
                Self::from_timed_code(TimedCode::DpopProofLimit, *wait)
            }
            ProofRefusal::Replay(ReplayError::Full { wait }) => {
                Self::from_timed_code(TimedCode::ServiceUnavailable, *wait)
            }
            ProofRefusal::Replay(ReplayError::Unavailable) => Self::from_code(PlainCode::ServiceUnavailable),
            _ if refusal.is_proof_required() => Self::from_code(PlainCode::DpopRequired),
            ProofRefusal::Credentials(CredentialsError::SeveralProofs) => {
                Self::from_code(PlainCode::DpopInvalid)
            }
            ProofRefusal::Credentials(_) => Self::from_code(PlainCode::Unauthenticated),
            _ => Self::from_code(PlainCode::DpopInvalid),
        };
        Self { challenge: refusal.challenge(), reason: refusal.reason(), ..refused }
    }

    /// Returns the problem code of the contract.
    #[must_use]
    pub fn code(&self) -> Code {
        match &self.content {
            RefusalContent::Plain(code) => (*code).into(),
            RefusalContent::Timed(code, _) => (*code).into(),
            RefusalContent::Problem(problem) => problem.code.clone(),
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

    /// Builds the response from the refusal, the correlation id and the path.
    #[must_use]
    pub fn into_answer(self, id: CorrelationId, path: &str) -> EncodedResponse {
        let refusal = match self.content {
            RefusalContent::Plain(code) => Problem::error_response(code, id, path),
            RefusalContent::Timed(code, wait) => Problem::error_response_after(code, wait, id, path),
            RefusalContent::Problem(problem) => refusal_from_problem(*problem),
        };
        let mut response = render_refusal(refusal);
        if let Some(challenge) = self.challenge.as_ref().and_then(|own| HeaderValue::try_from(own).ok()) {
            response.headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Converts a problem about a body into an error response. Such a problem always has a [`PlainCode`]; any
/// other code becomes `INTERNAL_ERROR`.
fn refusal_from_problem(problem: Problem) -> ErrorResponse {
    let plain = PlainCode::ALL.iter().find(|code| Code::from(**code) == problem.code);
    let code = plain.copied().unwrap_or(PlainCode::InternalError);
    let path = problem.instance.clone().unwrap_or_default();
    Problem::error_response(code, problem.correlation_id.clone(), &path)
        .map(|made| if plain.is_some() { problem } else { made })
}

fn render_refusal(refusal: ErrorResponse) -> EncodedResponse {
    match refusal {
        ErrorResponse::Typed(refused) => {
            let body = refused.body.to_json().map(|json| json.to_string()).unwrap_or_default();
            let mut headers: HeaderMap = refused.headers;
            let problem = HeaderValue::from_static("application/problem+json");
            headers.insert(header::CONTENT_TYPE, problem);
            EncodedResponse { status: refused.status, headers, body: body.into() }
        }
        ErrorResponse::Encoded(response) => *response,
        ErrorResponse::Rejected(rejection) => EncodedResponse {
            status: http::StatusCode::from_u16(rejection.status()).unwrap_or_default(),
            headers: HeaderMap::new(),
            body: bytes::Bytes::new(),
        },
    }
}
