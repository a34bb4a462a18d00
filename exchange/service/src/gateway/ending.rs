//! How a request ends before the backend sees it.

use std::time::Duration;

use contract_runtime::server::{Answer, HeaderMap, HeaderValue};
use dpop_bound::{DpopChallenge, Refusal as ProofRefusal, live::LiveRefusal};
use exchange_api::Contract;
use exchange_api::codes::Code;
use exchange_api::refusals::{PlainCode, TimedCode};
use exchange_api::server::Refusal;
use exchange_api::types::{CorrelationId, Problem};
use http::header;

use crate::idp::tokens::TokenRefusal;

/// A request goes no further.
#[derive(Clone, Debug)]
pub enum Ending {
    /// Refused.
    Refused(Box<Refused>),
    /// The answer to the same request, kept for its key (GW-10).
    Replayed(Box<Answer>),
}

impl From<Refused> for Ending {
    fn from(refused: Refused) -> Self {
        Self::Refused(Box::new(refused))
    }
}

/// A refusal, before it has an id and a path.
#[derive(Clone, Debug)]
pub struct Refused {
    what: What,
    /// Sent as `WWW-Authenticate`.
    challenge: Option<DpopChallenge>,
    /// Whether it is given before the token is read, though the stage comes later (DPP-11).
    quiet: bool,
    /// A word for logs and counters.
    reason: &'static str,
}

#[derive(Clone, Debug)]
enum What {
    Plain(PlainCode),
    Timed(TimedCode, Duration),
    Problem(Box<Problem>),
}

impl Refused {
    /// With a code that says all.
    #[must_use]
    pub fn plain(code: PlainCode) -> Self {
        Self { what: What::Plain(code), challenge: None, quiet: false, reason: "" }
    }

    /// With a code, and how long to wait.
    #[must_use]
    pub fn timed(code: TimedCode, wait: Duration) -> Self {
        Self { what: What::Timed(code, wait), challenge: None, quiet: false, reason: "" }
    }

    /// With a problem that says where something is wrong.
    #[must_use]
    pub fn problem(problem: Problem) -> Self {
        Self { what: What::Problem(Box::new(problem)), challenge: None, quiet: false, reason: "" }
    }

    /// The same without a nonce.
    #[must_use]
    pub fn quiet(self) -> Self {
        Self { quiet: true, ..self }
    }

    /// The same with a word for logs and counters.
    #[must_use]
    pub fn because(self, reason: &'static str) -> Self {
        Self { reason, ..self }
    }

    /// The same with a challenge.
    #[must_use]
    pub fn challenged(self, challenge: DpopChallenge) -> Self {
        Self { challenge: Some(challenge), ..self }
    }

    /// A token that is good for nothing here.
    #[must_use]
    pub fn of_token(code: PlainCode, why: &str) -> Self {
        let challenge = DpopChallenge::invalid_token(why).unwrap_or_else(|_| DpopChallenge::required());
        Self::plain(code).challenged(challenge)
    }

    /// What a judgement of a token comes to (ERR-05, A9).
    #[must_use]
    pub fn of_judgement(refusal: TokenRefusal) -> Self {
        let refused = match refusal {
            TokenRefusal::Unavailable => {
                Self::timed(TimedCode::ServiceUnavailable, Duration::from_secs(5)).quiet()
            }
            _ => Self::of_token(PlainCode::Unauthenticated, &refusal.to_string()),
        };
        refused.because(refusal.reason())
    }

    /// What a refused proof comes to (ERR-06 to ERR-10).
    #[must_use]
    pub fn of_proof(refusal: &ProofRefusal) -> Self {
        use dpop_bound::presented::PresentedRefusal;
        let refused = match refusal {
            ProofRefusal::Live(LiveRefusal::AccountFull { wait } | LiveRefusal::SourceFull { wait }) => {
                Self::timed(TimedCode::DpopProofLimit, *wait)
            }
            ProofRefusal::Live(LiveRefusal::Full { wait }) => {
                Self::timed(TimedCode::ServiceUnavailable, *wait)
            }
            ProofRefusal::Live(LiveRefusal::Unavailable) => Self::plain(PlainCode::ServiceUnavailable),
            _ if refusal.is_proof_required() => Self::plain(PlainCode::DpopRequired),
            ProofRefusal::Presented(PresentedRefusal::SeveralProofs) => Self::plain(PlainCode::DpopInvalid),
            ProofRefusal::Presented(_) => Self::plain(PlainCode::Unauthenticated),
            _ => Self::plain(PlainCode::DpopInvalid),
        };
        Self { challenge: refusal.challenge(), reason: refusal.reason(), ..refused }
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        match &self.what {
            What::Plain(code) => (*code).into(),
            What::Timed(code, _) => (*code).into(),
            What::Problem(problem) => problem.code.clone(),
        }
    }

    /// Whether it is given as if the token had not been read.
    #[must_use]
    pub const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A word for logs; empty where the code says all.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        self.reason
    }

    /// As an answer.
    #[must_use]
    pub fn into_answer(self, id: CorrelationId, path: &str) -> Answer {
        let refusal = match self.what {
            What::Plain(code) => Problem::refuse(code, id, path),
            What::Timed(code, wait) => Problem::refuse_for(code, wait, id, path),
            What::Problem(problem) => of_problem(*problem),
        };
        let mut answer = answer_of(refusal);
        if let Some(challenge) = self.challenge.as_ref().and_then(|own| HeaderValue::try_from(own).ok()) {
            answer.headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        answer
    }
}

/// A problem that was made by what is wrong with a body, as a refusal: all of its codes are plain.
fn of_problem(problem: Problem) -> Refusal {
    let plain = PlainCode::ALL.iter().find(|code| Code::from(**code) == problem.code);
    let code = plain.copied().unwrap_or(PlainCode::InternalError);
    let path = problem.instance.clone().unwrap_or_default();
    Problem::refuse(code, problem.correlation_id.clone(), &path)
        .map(|made| if plain.is_some() { problem } else { made })
}

/// A refusal as bytes.
fn answer_of(refusal: Refusal) -> Answer {
    match refusal {
        Refusal::Refused(refused) => {
            let body = refused.body.to_json().map(|json| json.to_string()).unwrap_or_default();
            let mut headers: HeaderMap = refused.headers;
            let problem = HeaderValue::from_static("application/problem+json");
            headers.insert(header::CONTENT_TYPE, problem);
            Answer { status: refused.status, headers, body: body.into() }
        }
        Refusal::Written(answer) => *answer,
        Refusal::Rejected(rejection) => Answer {
            status: http::StatusCode::from_u16(rejection.status()).unwrap_or_default(),
            headers: HeaderMap::new(),
            body: bytes::Bytes::new(),
        },
    }
}
