//! Faults of the sandbox: refusals, delays and cut connections that a client has to survive.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use exchange_api::oauth_errors::OauthError;
use http::header::RETRY_AFTER;
use http::request::Parts as Head;
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::SandboxError;
use crate::environment::Environment;
use crate::gateway;

/// The maximum number of faults that wait for their requests.
const MAX_FAULTS: usize = 100;

/// The maximum delay of a response: ten minutes.
const MAX_DELAY: Duration = Duration::from_secs(600);

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "fault", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum SandboxFault {
    /// The request is refused with a code, and has no effect.
    Refuse {
        /// A code of the contract, such as `RATE_LIMITED`, or an error of OAuth, such as `slow_down`.
        code: String,
        /// The delay in `Retry-After`. Codes of the contract that require this header have 1 without a value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_seconds: Option<u64>,
    },
    /// The request is handled after a delay.
    Delay {
        /// The delay in milliseconds.
        milliseconds: u64,
    },
    /// The connection is closed before the request is handled, so that it has no effect.
    Cut {},
    /// The request is handled, and the connection is closed without a response.
    LoseResponse {},
}

/// A fault with the requests to which it applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedFault {
    /// What happens to the requests.
    #[serde(flatten)]
    pub fault: SandboxFault,
    /// The method of the requests; all methods without a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path of the requests, or its beginning followed by `*`; all paths without a value. Pages and the control
    /// interface have no faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The number of requests to which the fault still applies.
    pub times: u32,
}

impl PlannedFault {
    /// Plans a fault for the next request with any method and path.
    #[must_use]
    pub const fn once(fault: SandboxFault) -> Self {
        Self { fault, method: None, path: None, times: 1 }
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        let has_path = self.path.as_deref().is_none_or(|wanted| match wanted.strip_suffix('*') {
            Some(beginning) => path.starts_with(beginning),
            None => path == wanted,
        });
        has_path && self.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
    }

    fn check(&self) -> Result<(), SandboxError> {
        if self.times == 0 {
            return Err(SandboxError::Refused("times must be at least 1"));
        }
        match &self.fault {
            SandboxFault::Refuse { code, .. } if !is_known_code(code) => Err(SandboxError::Refused(
                "code must be a code of the contract, such as RATE_LIMITED, or an error of OAuth, such as slow_down",
            )),
            SandboxFault::Delay { milliseconds } if Duration::from_millis(*milliseconds) > MAX_DELAY => {
                Err(SandboxError::Refused("milliseconds must be at most 600000"))
            }
            _ => Ok(()),
        }
    }
}

fn is_known_code(code: &str) -> bool {
    gateway::is_known_code(code) || OauthError::ALL.iter().any(|known| known.as_str() == code)
}

/// The faults that wait for their requests, in the order in which they were planned.
#[derive(Debug, Default)]
pub(super) struct PlannedFaults(Mutex<Vec<PlannedFault>>);

impl PlannedFaults {
    fn lock(&self) -> MutexGuard<'_, Vec<PlannedFault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a fault.
    pub(super) fn plan(&self, fault: PlannedFault) -> Result<(), SandboxError> {
        fault.check()?;
        let mut planned = self.lock();
        if planned.len() >= MAX_FAULTS {
            return Err(SandboxError::Refused("100 faults are planned already: remove them first"));
        }
        planned.push(fault);
        drop(planned);
        Ok(())
    }

    pub(super) fn list(&self) -> Vec<PlannedFault> {
        self.lock().clone()
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// Returns the fault of a request, and counts it. If several apply, the first one that was planned is used.
    pub(super) fn take(&self, method: &str, path: &str) -> Option<SandboxFault> {
        let mut planned = self.lock();
        let at = planned.iter().position(|fault| fault.matches(method, path))?;
        planned[at].times -= 1;
        if planned[at].times == 0 { Some(planned.remove(at).fault) } else { Some(planned[at].fault.clone()) }
    }
}

/// Builds the response of a refusal: a problem document for a code of the contract, otherwise an error of OAuth.
pub(super) fn refuse(
    head: &Head,
    code: &str,
    retry_after: Option<u64>,
    environment: &Environment,
) -> Response {
    let wait = Duration::from_secs(retry_after.unwrap_or(1));
    let mut response = gateway::refuse_with_code(head, code, wait, environment).unwrap_or_else(|| {
        let status = OauthError::from(code.to_owned()).status();
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        let body = axum::Json(json!({ "error": code }));
        (status.unwrap_or(StatusCode::BAD_REQUEST), body).into_response()
    });
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
