//! Parsing of a change result that violates the contract. The write was answered, so the members that can be
//! parsed still decide as many ops as possible (WRT-05).

use exchange_api::{
    Error as CallError, Json, Map, Response,
    types::{ChangeResult, OpOutcome, Problem},
};

use crate::error::Error;

/// A change result and the values of the response that belong to it.
pub(crate) struct WriteResponse {
    pub(crate) result: ChangeResult,
    /// True if the response repeated an earlier one (`Idempotency-Replayed`).
    pub(crate) replayed: bool,
}

impl WriteResponse {
    /// Converts the response to a write. A success whose body violates the contract is a success as well if it
    /// contains a count or the results.
    ///
    /// # Errors
    /// Returns the error of the call.
    pub(crate) fn from_call<H>(
        response: Result<Response<ChangeResult, H>, CallError<Problem>>,
    ) -> Result<Self, Error> {
        let is_true = |header: Option<&str>| header == Some("true");
        match response {
            Ok(response) => {
                let replayed = is_true(response.header(REPLAYED));
                Ok(Self { result: response.into_body(), replayed })
            }
            Err(CallError::UnexpectedResponse(response)) if response.status().is_success() => {
                match parse_partial_result(response.body()) {
                    Some(result) => {
                        let error = CallError::<Problem>::UnexpectedResponse(response);
                        tracing::warn!(%error, "parsed only parts of a change result");
                        Ok(Self { result, replayed: is_true(error.header(REPLAYED)) })
                    }
                    None => Err(CallError::<Problem>::UnexpectedResponse(response).into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }
}

const REPLAYED: &str = "idempotency-replayed";

/// Parses each member separately and skips members that violate the contract. Returns `None` if the body is
/// not JSON or contains neither a count nor the results.
fn parse_partial_result(body: &[u8]) -> Option<ChangeResult> {
    let document = Json::parse(body).ok()?;
    let members = document.as_object()?;
    let counter = |name: &str| members.get_as::<i64>(name).ok().flatten();
    let result = ChangeResult {
        dry_run: members.get_as::<bool>("dryRun").ok().flatten().unwrap_or(false),
        applied: counter("applied"),
        unchanged: counter("unchanged"),
        not_applied: counter("notApplied"),
        results: members.get_as::<Vec<OpOutcome>>("results").ok().flatten(),
        warnings: None,
        detached_from_missions: counter("detachedFromMissions"),
        offers_reduced: counter("offersReduced"),
        offers_removed: counter("offersRemoved"),
        #[allow(deprecated, reason = "all fields are listed, including deprecated ones")]
        cursor: None,
        extra: Map::new(),
    };
    let is_change_result = result.results.is_some()
        || [result.applied, result.unchanged, result.not_applied].iter().any(Option::is_some);
    is_change_result.then_some(result)
}
