//! The network itself, with everything switched off that would send, follow or remember by itself.

use std::time::Duration;

use exchange_api::runtime::client::ReqwestTransport;

use crate::error::{Error, ErrorKind};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// How long the body of a refusal is heard out: well within what an answer may take, so that its head is seen.
const REFUSAL: Duration = Duration::from_secs(5);

/// Sends each request once, as it is.
///
/// A proof is for one transmission and one address: nothing is resent or redirected. How long an answer may
/// take is the business of who asks.
///
/// # Errors
/// When TLS cannot be set up on this machine.
pub(crate) fn wire(max_body: usize) -> Result<ReqwestTransport, Error> {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .build()
        .map_err(|error| {
            Error::caused(ErrorKind::Unreachable, "TLS cannot be set up", error.without_url())
        })?;
    Ok(ReqwestTransport::from_client(client).with_max_body(max_body).with_refusal_time(REFUSAL))
}
