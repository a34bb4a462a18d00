//! From a code of the registry to the problem that a server answers with.

use contract_runtime::{
    Map,
    server::{HeaderName, HeaderValue, Rejection, StatusCode},
};

use crate::{
    codes::Code,
    server::Refusal,
    types::{CorrelationId, JsonPointer, Problem, ProblemError},
};

impl Problem {
    /// The problem of a code: status, title and detail are the registry's (ERR-01).
    ///
    /// A code that the registry does not have is answered as `INTERNAL_ERROR`.
    #[must_use]
    pub fn new(code: Code, correlation_id: CorrelationId) -> Self {
        let code = if code.is_known() { code } else { Code::InternalError };
        Self {
            status: code.status().map_or(500, i64::from),
            title: code.title().unwrap_or_default().to_owned(),
            detail: code.detail().unwrap_or_default().to_owned(),
            code,
            instance: None,
            correlation_id,
            errors: None,
            confirmation_url: None,
            retry_after_seconds: None,
            extra: Map::new(),
        }
    }

    /// The problem for a call that never reached its handler: pointers and keywords, never a
    /// value (ERR-02, ERR-22).
    #[must_use]
    pub fn of_rejection(rejection: &Rejection, correlation_id: CorrelationId) -> Self {
        let mut problem = Self::new(code_of(rejection), correlation_id);
        let mut errors: Vec<ProblemError> = rejection
            .violations()
            .into_iter()
            .filter_map(|finding| {
                let pointer = JsonPointer::new(finding.pointer).ok()?;
                ProblemError::builder().pointer(pointer).keyword(finding.keyword).build().ok()
            })
            .collect();
        if matches!(rejection, Rejection::NotJson) {
            // One error at the whole document (ERR-22).
            let whole = JsonPointer::new("").ok();
            errors.extend(whole.and_then(|pointer| {
                ProblemError::builder().pointer(pointer).message("not a JSON document").build().ok()
            }));
        }
        if !errors.is_empty() && problem.code == Code::SchemaInvalid {
            problem.errors = Some(errors);
        }
        problem
    }

    /// As the answer of a handler, with the `Retry-After` that the registry fixes for the code
    /// (ERR-03, ERR-36, ERR-39).
    #[must_use]
    pub fn refuse(self) -> Refusal {
        let status = u16::try_from(self.status).ok().and_then(|s| StatusCode::from_u16(s).ok());
        let seconds = self.code.retry_after_seconds();
        let refusal = Refusal::new(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), self);
        match seconds {
            Some(seconds) => {
                refusal.with_header(HeaderName::from_static("retry-after"), HeaderValue::from(seconds))
            }
            None => refusal,
        }
    }
}

/// The code that the exchange gives for what failed before a handler.
fn code_of(rejection: &Rejection) -> Code {
    match rejection {
        // A known path with a method that it does not serve is no different (GW-03).
        Rejection::NotFound | Rejection::MethodNotAllowed { .. } => Code::NotFound,
        Rejection::UnsupportedMediaType { .. } => Code::UnsupportedMediaType,
        Rejection::TooLarge { .. } => Code::PayloadTooLarge,
        // The header is not a matter of the body's schema (GW-09).
        rejection if rejection.parameter("Idempotency-Key").is_some() => Code::IdempotencyKeyMissing,
        Rejection::NotImplemented | Rejection::Internal | Rejection::BrokenAnswer(_) => Code::InternalError,
        _ => Code::SchemaInvalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> CorrelationId {
        CorrelationId::new("c-1").unwrap()
    }

    /// ERR-01, ERR-36: the registry says status, title, detail and the fixed wait.
    #[test]
    fn a_refusal_is_what_the_registry_says() {
        let refusal = Problem::new(Code::RelayBusy, id()).refuse();
        let reply = refusal.refused().unwrap();
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(reply.headers["retry-after"], "10");
        assert_eq!((reply.body.status, reply.body.code.as_str()), (503, "RELAY_BUSY"));
        assert!(contract_runtime::Contract::is_valid(&reply.body));
    }

    /// ERR-22: a body that is not a JSON document gives one error at the empty pointer.
    #[test]
    fn not_json_is_one_error_at_the_whole() {
        let problem = Problem::of_rejection(&Rejection::NotJson, id());
        let errors = problem.errors.unwrap();
        assert_eq!(problem.code, Code::SchemaInvalid);
        assert_eq!(errors.iter().map(|e| e.pointer.as_str()).collect::<Vec<_>>(), [""]);
    }

    /// GW-03, ERR-29: an unknown method is an unknown route.
    #[test]
    fn an_unknown_method_is_not_found() {
        let rejection = Rejection::MethodNotAllowed { allowed: vec!["GET"] };
        assert_eq!(Problem::of_rejection(&rejection, id()).code, Code::NotFound);
    }
}
