//! The correlation id of a request, which responses and log lines contain.

use exchange_api::types::CorrelationId;
use http::{HeaderName, request::Parts};

use crate::Environment;

pub(crate) const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// Returns the correlation id that the client sent if it is valid, otherwise a new UUID (GW-13).
pub(crate) fn correlation_id(head: &Parts, environment: &Environment) -> CorrelationId {
    let mut values = head.headers.get_all(CORRELATION_ID).iter();
    let values = values.next().filter(|_| values.next().is_none()).and_then(|id| id.to_str().ok());
    values.and_then(|id| CorrelationId::new(id).ok()).unwrap_or_else(|| generate_id(environment))
}

/// Generates a random UUID (RFC 9562, section 5.4). If the random number generator fails, the UUID is a
/// constant, because the id need not be secret.
fn generate_id(environment: &Environment) -> CorrelationId {
    let mut bytes = environment.random_id().unwrap_or_default();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.extend(
            [byte >> 4, byte & 0x0f].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])),
        );
    }
    CorrelationId::new(text).unwrap_or_else(|_| unreachable!("hexadecimal digits and dashes are an id"))
}
