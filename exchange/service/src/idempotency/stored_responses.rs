//! Decides which responses are stored, and encodes and decodes them.

use bytes::Bytes;
use contract_runtime::server::{EncodedResponse, HeaderMap, HeaderName, HeaderValue, StatusCode};
use exchange_api::codes::Code;
use serde::Deserialize;

use crate::store::StoreError;

/// Returns true if a response is stored under its key (A2). This holds for success responses, and for
/// rejections that a repeated request would receive again.
///
/// Refusals after which the client retries with the same key are never stored: `409` for a batch that is held
/// for confirmation, `409 IDEMPOTENCY_IN_PROGRESS`, `422 IDEMPOTENCY_KEY_REUSED`, 401, 403, 413, 415, 429 and
/// every 5xx (GW-11).
#[must_use]
pub fn is_stored(response: &EncodedResponse) -> bool {
    match response.status.as_u16() {
        200..=299 => true,
        400 | 404 | 409 | 410 | 422 => !is_transient(&response.body),
        _ => false,
    }
}

/// Returns true if a retry with the same key may succeed after this problem.
fn is_transient(problem: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct StoredProblem {
        code: String,
    }
    let Ok(StoredProblem { code }) = serde_json::from_slice(problem) else { return false };
    matches!(
        Code::from(code.as_str()),
        Code::MassChangeConfirmationRequired
            | Code::IdempotencyInProgress
            | Code::IdempotencyKeyReused
            | Code::IdempotencyKeyMissing
    )
}

/// Encodes headers as a JSON list of pairs of name and value, in the order of the headers.
pub(super) fn encode_headers(headers: &HeaderMap) -> String {
    let pairs: Vec<(&str, &str)> =
        headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    serde_json::to_string(&pairs).unwrap_or_else(|_| "[]".to_owned())
}

/// Decodes a stored response.
///
/// # Errors
/// Returns [`StoreError::Corrupt`] if the row was not written by this service.
pub(super) fn parse_response(
    status: u16,
    headers: &str,
    body: Vec<u8>,
) -> Result<EncodedResponse, StoreError> {
    let corrupt = StoreError::Corrupt("invalid stored response");
    let Ok(status) = StatusCode::from_u16(status) else { return Err(corrupt) };
    let Ok(pairs) = serde_json::from_str::<Vec<(String, String)>>(headers) else { return Err(corrupt) };
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) else {
            return Err(corrupt);
        };
        headers.append(name, value);
    }
    Ok(EncodedResponse { status, headers, body: Bytes::from(body) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &str) -> EncodedResponse {
        EncodedResponse {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }

    /// GW-11, A2: the problem code determines whether a response is stored.
    #[test]
    fn stored_responses_depend_on_the_problem_code() {
        for code in Code::ALL {
            let expected = matches!(
                code,
                Code::SchemaInvalid | Code::NotFound | Code::VersionConflict | Code::CursorExpired
            );
            if code.retired() == Some(false) {
                let body = format!(r#"{{"code":"{code}"}}"#);
                assert_eq!(is_stored(&response(code.status().unwrap(), &body)), expected, "{code}");
            }
        }
        assert!(is_stored(&response(200, "{}")) && !is_stored(&response(304, "")));
    }

    /// GW-10: headers are restored unchanged, and repeated headers keep their order.
    #[test]
    fn headers_round_trip() {
        let mut headers = HeaderMap::new();
        headers.append("content-type", HeaderValue::from_static("application/json"));
        headers.append("x-a", HeaderValue::from_static("1"));
        headers.append("x-a", HeaderValue::from_static("\"2\""));
        let parsed = parse_response(200, &encode_headers(&headers), b"{}".to_vec()).unwrap();
        assert_eq!(parsed.headers, headers);
        for broken in [parse_response(1, "[]", Vec::new()), parse_response(200, "{}", Vec::new())] {
            assert!(matches!(broken, Err(StoreError::Corrupt(_))));
        }
    }
}
