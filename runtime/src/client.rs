//! The runtime of generated clients: request builders, responses and errors.
//!
//! A generated [`Call`] refers to its operation, adds its arguments to the request and maps each status to a
//! type. [`ApiClient`] encodes, validates and sends the request. A generated call looks like this:
//!
//! ```text
//! fn build_request(&self, client: &ApiClient) -> RequestBuilder {
//!     client.request(Self::OPERATION).argument(0, &self.options.limit).accept("application/json")
//! }
//!
//! fn parse_response(response: RawResponse) -> Result<Response<ShipPage>, Error<Problem>> {
//!     match response.status() {
//!         200 => response.json(),
//!         400..=599 => response.error_json(),
//!         _ => response.undocumented_status(),
//!     }
//! }
//! ```
//!
//! A method of a generated client takes the same arguments by reference and returns a [`PendingCall`]. The
//! caller can attach extensions for the transport to this future before awaiting it.
//!
//! Requests are strict: a body that violates the contract is not sent. Responses are tolerant: they are
//! parsed without schema validation. No `Debug` or `Display` implementation in this module prints a
//! body, an address or a header.

use std::{fmt, sync::Arc};

use self::idempotency_key::RandomSource;
use crate::{
    operation::Operation,
    transport::{Transport, UserAgent},
};

#[cfg(feature = "blocking")]
mod blocking;
mod call;
#[cfg(feature = "credentials")]
pub mod credentials;
mod default_headers;
mod error;
#[cfg(all(feature = "reqwest", target_arch = "wasm32"))]
mod fetch;
mod idempotency_key;
mod optional_body;
#[cfg(feature = "pages")]
pub mod pages;
mod raw_response;
mod request;
#[cfg(all(feature = "reqwest", not(target_arch = "wasm32")))]
mod reqwest;
mod response;
mod response_headers;
mod retry;
mod server_url;
#[cfg(feature = "stream")]
mod streaming;
#[cfg(test)]
mod tests;

pub use bytes::Bytes;
pub use http::HeaderMap;

#[cfg(all(feature = "blocking", any(feature = "pages", feature = "stream")))]
pub use self::blocking::BlockingIter;
pub use self::call::{Call, PendingCall, StoredRequest};
pub use self::default_headers::DefaultHeaders;
pub use self::error::{Error, SendError, UnexpectedReason, UnexpectedResponse};
#[cfg(all(feature = "reqwest", target_arch = "wasm32"))]
pub use self::fetch::ReqwestTransport;
pub use self::optional_body::OptionalBody;
pub use self::raw_response::ResponseFields;
use self::raw_response::ShownFields;
pub use self::raw_response::{DecodedBody, RawResponse};
pub use self::request::{RequestBuilder, resolve_address};
#[cfg(all(feature = "reqwest", not(target_arch = "wasm32")))]
pub use self::reqwest::{ReqwestTransport, ReqwestUpgrade};
pub use self::response::{NoHeaders, Response};
pub use self::response_headers::{InvalidHeader, ReceivedHeaders, ResponseHeaders};
pub use self::retry::RetryAfter;
pub use self::server_url::server_url;
#[cfg(feature = "stream")]
pub use self::streaming::{PendingStreamCall, StreamCall};

/// The setting for the validation of arguments and request bodies against the contract before sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RequestChecks {
    /// A request that violates the contract fails with [`Error::InvalidRequest`] and is not sent.
    #[default]
    On,
    /// Requests are sent without validation, which is left to the server.
    Off,
}

/// The part of a generated client that is the same for every contract: base URL, transport and settings.
///
/// Cloning is cheap and shares the transport.
#[derive(Clone)]
pub struct ApiClient {
    base_url: Arc<str>,
    transport: Arc<dyn Transport>,
    checks: RequestChecks,
    base_url_only: bool,
    /// True if the base URL is not a server of the contract.
    is_other_server: bool,
    shown_fields: ShownFields,
    user_agent: Option<UserAgent>,
    random: RandomSource,
    /// Drives blocking calls.
    #[cfg(feature = "blocking")]
    background: blocking::BackgroundRuntime,
    #[cfg(feature = "stream")]
    stream_limits: crate::stream::StreamLimits,
}

impl ApiClient {
    /// Creates a client for `base_url`, such as `https://exchange.example`. It consists of scheme, host and,
    /// if the API is not served at the root, the start of the path. One trailing `/` is ignored.
    ///
    /// An invalid URL is reported by the first call.
    pub fn new(base_url: impl Into<String>, transport: impl Transport + 'static) -> Self {
        let base_url = base_url.into();
        Self {
            base_url: base_url.strip_suffix('/').unwrap_or(&base_url).into(),
            transport: Arc::new(transport),
            checks: RequestChecks::default(),
            base_url_only: false,
            is_other_server: false,
            shown_fields: ShownFields::default(),
            user_agent: None,
            random: RandomSource::default(),
            #[cfg(feature = "blocking")]
            background: blocking::BackgroundRuntime::default(),
            #[cfg(feature = "stream")]
            stream_limits: crate::stream::StreamLimits::default(),
        }
    }

    /// Returns the client with these limits for the size of streams.
    #[cfg(feature = "stream")]
    #[must_use]
    pub const fn with_stream_limits(mut self, limits: crate::stream::StreamLimits) -> Self {
        self.stream_limits = limits;
        self
    }

    /// Returns the client with a list of fields of error bodies, such as `code` or an id, which the `Display`
    /// output of errors shows. Only strings and numbers are shown. By default no field is shown, because an error
    /// body may contain secrets.
    #[must_use]
    pub const fn with_shown_fields(mut self, names: &'static [&'static str]) -> Self {
        self.shown_fields.names = names;
        self
    }

    /// Returns the client with these fields shown in addition, each only for some responses.
    #[must_use]
    pub const fn with_response_fields(mut self, responses: &'static [ResponseFields]) -> Self {
        self.shown_fields.responses = responses;
        self
    }

    /// Returns the client with this `User-Agent`, which transports send if a request has no header of this name; see
    /// [`UserAgent`].
    #[must_use]
    pub const fn with_user_agent(mut self, user_agent: &'static str) -> Self {
        self.user_agent = Some(UserAgent(user_agent));
        self
    }

    /// Returns the client with request validation switched on or off.
    #[must_use]
    pub fn with_request_checks(mut self, checks: RequestChecks) -> Self {
        self.checks = checks;
        self
    }

    /// Returns the client with this source of randomness, which generates idempotency keys if callers pass
    /// none. By default the hash seeds of the standard library are used.
    #[must_use]
    pub fn with_random(mut self, random: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.random = RandomSource::new(random);
        self
    }

    /// Returns the client with the setting that every request is sent to the base URL of the client. By
    /// default, an operation that declares separate servers ([`Operation::servers`]) is sent to the first of
    /// these.
    #[must_use]
    pub fn with_base_url_only(mut self) -> Self {
        self.base_url_only = true;
        self
    }

    /// Returns the client with the servers of the contract, including those of single operations. In their URLs, `{name}`
    /// stands for a variable.
    ///
    /// If none of them has the scheme, host and port of the base URL, as for a mock server, every request is sent to the
    /// base URL: an operation that declares a server on another host is not sent there.
    #[must_use]
    pub fn with_contract_servers(mut self, servers: &[&str]) -> Self {
        self.is_other_server =
            !servers.iter().any(|server| server_url::has_origin_of(server, &self.base_url));
        self
    }

    /// Returns the base URL given to [`ApiClient::new`], without a trailing `/`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the transport, which other clients can share.
    #[must_use]
    pub const fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    /// Starts building a request for an operation.
    pub fn request(&self, operation: &'static Operation) -> RequestBuilder {
        let is_used = |server: &&str| !(self.base_url_only || self.is_other_server && server.contains("://"));
        let server = operation.servers.first().copied().filter(is_used);
        let request = RequestBuilder::new(operation, self.checks, server, self.random.clone());
        match self.user_agent {
            Some(user_agent) => request.with_extension(user_agent),
            None => request,
        }
    }

    /// Sends a call to the base URL.
    pub fn call<C: Call>(&self, call: &C) -> PendingCall<'_, C> {
        self.send(call.build_request(self))
    }

    /// Sends a call to the given address instead of the base URL; see [`RequestBuilder::with_address`].
    /// Webhooks need this, because each receiver has its own address.
    pub fn call_at<C: Call>(&self, address: &str, call: &C) -> PendingCall<'_, C> {
        self.send(call.build_request(self).with_address(address))
    }

    /// Sends a stored request byte for byte to the address that a new call would use.
    ///
    /// A request that was stored for another operation fails with [`Error::InvalidRequest`] and is not sent.
    pub fn send_stored<C: Call>(&self, stored: &StoredRequest) -> PendingCall<'_, C> {
        self.send(self.request(C::OPERATION).with_stored(stored))
    }

    /// Sends a request that was built for a call of type `C`.
    pub fn send<C: Call>(&self, request: RequestBuilder) -> PendingCall<'_, C> {
        PendingCall::new(self, request)
    }
}

/// Shows only the settings, because the base URL may contain a password.
impl fmt::Debug for ApiClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiClient").field("checks", &self.checks).finish_non_exhaustive()
    }
}
