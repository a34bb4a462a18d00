//! Calls the backend after all stages have passed. Completes or releases the key claim, and refunds the quota
//! if necessary.

use std::sync::atomic::Ordering;
use std::time::Duration;

use contract_runtime::server::{EncodedResponse, HeaderMap, HeaderValue, IncomingRequest, StatusCode};
use exchange_api::Contract as _;
use exchange_api::codes::Code;
use exchange_api::error_responses::PlainCode;
use exchange_api::operations::OperationId;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use tokio::time::timeout;

use super::early_response::{EarlyResponse, StageRejection};
use super::facts::RequestFacts;
use super::ports::GatewayPorts;
use super::response_headers::REPLAYED;
use super::stages::change_set_size;
use crate::relay::{RelayError, RelayedRequest};
use crate::service_document::build_service_document;

/// The number of ops above which a change set is large (LIM-02).
const LARGE_SET_OPS: usize = 100;

/// Builds the response to a request that ended at a stage.
pub(super) async fn finish_early(
    ports: &GatewayPorts,
    facts: &mut RequestFacts,
    ending: EarlyResponse,
) -> EncodedResponse {
    match ending {
        EarlyResponse::Replayed(response) => {
            let mut response = *response;
            response.headers.insert(REPLAYED, HeaderValue::from_static("true"));
            response
        }
        EarlyResponse::Rejected(rejection) => {
            let (code, reason) = (rejection.code(), rejection.reason());
            let response = rejection.into_response(facts.correlation_id.clone(), facts.path());
            finish_claim(ports, facts, &response, Some(&code)).await;
            facts.rejection = Some((code, reason));
            response
        }
    }
}

/// Sends a request that passed all stages to the backend.
pub(super) async fn call_backend(ports: &GatewayPorts, facts: &mut RequestFacts) -> EncodedResponse {
    let (response, code, may_be_writing) = match request_backend(ports, facts).await {
        Ok(response) => {
            let code = parse_problem_code(&response);
            let may_be_writing = code == Some(Code::BackendRelayFailed);
            (response, code, may_be_writing)
        }
        Err(error) => {
            if error.lacks_answer()
                && let Some(response) = build_document_without_backend(ports, facts)
            {
                return response;
            }
            let code = error.plain_code();
            let response =
                StageRejection::from_code(code).into_response(facts.correlation_id.clone(), facts.path());
            (response, Some(code.into()), matches!(error, BackendCallError::NoAnswer))
        }
    };
    // The backend stores a success response in the transaction of its write (GW-10). If the backend received
    // the request but did not respond, it may still be writing. The claim is then kept until its lease expires
    // (ERR-37).
    if !response.status.is_success() && !may_be_writing {
        finish_claim(ports, facts, &response, code.as_ref()).await;
    }
    facts.rejection = code.map(|code| (code, ""));
    response
}

/// The reason the backend returned no response, or an invalid one.
enum BackendCallError {
    /// The maximum number of large change sets is already running (ERR-36).
    Busy,
    BulkheadUnavailable,
    /// The backend did not receive the request.
    NotSent,
    /// The backend did not respond before the timeout, or not as the contract requires.
    NoAnswer,
    InvalidAnswer,
}

impl BackendCallError {
    fn plain_code(&self) -> PlainCode {
        match self {
            Self::Busy => PlainCode::RelayBusy,
            Self::BulkheadUnavailable => PlainCode::ServiceUnavailable,
            Self::NotSent | Self::NoAnswer => PlainCode::BackendRelayFailed,
            Self::InvalidAnswer => PlainCode::InternalError,
        }
    }

    /// Returns true if the backend could not be reached or did not respond.
    fn lacks_answer(&self) -> bool {
        matches!(self, Self::NotSent | Self::NoAnswer)
    }
}

async fn request_backend(
    ports: &GatewayPorts,
    facts: &mut RequestFacts,
) -> Result<EncodedResponse, BackendCallError> {
    let (Some(operation), Some(caller)) = (facts.operation, facts.caller()) else {
        return Err(BackendCallError::InvalidAnswer);
    };
    let Some(Ok(incoming)) = facts.incoming.take() else { return Err(BackendCallError::InvalidAnswer) };
    let large = change_set_size(&incoming).is_some_and(|(ops, _)| ops > LARGE_SET_OPS);
    let _place = if large {
        match ports.bulkhead.try_enter(facts.now).await {
            Ok(Some(place)) => Some(place),
            Ok(None) => return Err(BackendCallError::Busy),
            Err(_) => return Err(BackendCallError::BulkheadUnavailable),
        }
    } else {
        None
    };
    let context = facts.backend_context(caller.clone());
    let call = IncomingRequest::new(operation, context).map_err(|_| BackendCallError::InvalidAnswer)?;
    let wait: Duration = ports.config.limits.relay_timeout();
    let answered_response =
        timeout(wait, ports.relay.send_request(RelayedRequest { caller, call, incoming })).await;
    let response = answered_response.unwrap_or(Err(RelayError::TimedOut)).map_err(|failure| {
        tracing::error!(correlation_id = facts.correlation_id.as_str(), %failure, "backend call failed");
        match failure {
            RelayError::NotSent => BackendCallError::NotSent,
            RelayError::Failed | RelayError::TimedOut => BackendCallError::NoAnswer,
        }
    })?;
    if !ports.relay.validates_answers()
        && is_check_due(ports)
        && let Err(broken) = response.check_contract(operation)
    {
        tracing::error!(
            correlation_id = facts.correlation_id.as_str(),
            operation = operation.id,
            %broken,
            "backend response violates the contract",
        );
        return Err(BackendCallError::InvalidAnswer);
    }
    Ok(response)
}

/// Builds the service document for a request of it whose backend call failed. The id of the installation is
/// missing, because only the backend knows it (SVC-03). Returns `None` for other requests.
fn build_document_without_backend(ports: &GatewayPorts, facts: &RequestFacts) -> Option<EncodedResponse> {
    facts.operation.filter(|operation| operation.id == OperationId::ServiceDocument.operation().id)?;
    let (client, caller) = (facts.client()?, facts.caller()?);
    let document = build_service_document(client, &caller.scopes, None, ports.config.docs_url.clone());
    let body = document.to_json().ok()?.to_string();
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    Some(EncodedResponse { status: StatusCode::OK, headers, body: body.into() })
}

/// Returns true if the contract check is due for the next response: one of every `limits.checked-answers`
/// responses is checked.
fn is_check_due(ports: &GatewayPorts) -> bool {
    match ports.config.limits.checked_answers {
        0 => false,
        each => ports.counted_responses.fetch_add(1, Ordering::Relaxed).is_multiple_of(each),
    }
}

/// Refunds the counted writes if the rejection does not consume quota (GW-07), then stores the rejection
/// under the key or releases the claim.
async fn finish_claim(
    ports: &GatewayPorts,
    facts: &mut RequestFacts,
    response: &EncodedResponse,
    code: Option<&Code>,
) {
    let given_back = matches!(code, Some(Code::RelayBusy | Code::ExchangeBudgetExhausted));
    if given_back
        && let Some((day, count)) = facts.counted_writes.take()
        && let Some(proven) = facts.credentials()
    {
        let (client, member) = (&proven.token.client, &proven.token.member);
        // An error is already logged, and does not change the response.
        let _ = ports.quota.give_back(client, member, day, count).await;
    }
    if facts.key_claim().is_none() {
        return;
    }
    let Some(caller) = facts.caller() else { return };
    // If the response cannot be stored, it is not replayed (GW-11), and the claim ends with its lease.
    let _ = ports.keys.complete(caller, response.clone(), ports.environment.now()).await;
}

/// Parses the problem code of an error response from the backend.
fn parse_problem_code(response: &EncodedResponse) -> Option<Code> {
    #[derive(Deserialize)]
    struct ProblemCode {
        code: String,
    }
    if response.status.as_u16() < 400 {
        return None;
    }
    serde_json::from_slice(&response.body).ok().map(|ProblemCode { code }| Code::from(code.as_str()))
}
