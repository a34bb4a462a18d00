//! The network transport, with automatic retries, redirects, and cookies disabled.

use std::time::Duration;

use exchange_api::runtime::client::ReqwestTransport;

use crate::error::{Error, ErrorKind};

/// The timeout for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout for the body of an error response. It is much shorter than the timeout of a request, so that
/// the headers are evaluated in any case.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Creates a transport that sends each request once and unchanged.
///
/// A proof is valid for one transmission to one URL, so no request is retried or redirected here. The caller
/// applies request timeouts.
///
/// # Errors
/// Returns an error if TLS cannot be initialized on this machine.
pub(crate) fn network_transport(max_body: usize) -> Result<ReqwestTransport, Error> {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .build()
        .map_err(|error| {
            Error::with_source(ErrorKind::Unreachable, "TLS cannot be set up", error.without_url())
        })?;
    Ok(ReqwestTransport::from_client(client)
        .with_max_body_size(max_body)
        .with_error_body_timeout(ERROR_BODY_TIMEOUT))
}
