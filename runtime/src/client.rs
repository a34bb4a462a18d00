//! What a generated client consists of: requests, answers, errors.
//!
//! A generated [`Call`] says which operation it is, where its arguments go and which type
//! each status has; [`Core`] does the rest. One call is
//!
//! ```text
//! fn request(&self, core: &Core) -> Request {
//!     core.request(Self::OPERATION).argument(0, &self.options.limit).accept("application/json")
//! }
//!
//! fn read(response: Response) -> Result<Answer<ShipPage>, Error<Problem>> {
//!     match response.status() {
//!         200 => response.json(),
//!         400..=599 => response.refusal(),
//!         _ => response.undocumented(),
//!     }
//! }
//! ```
//!
//! A client's method is the same with arguments that are borrowed. What it gives is a
//! [`Calling`]: a future, to which extensions for the transport can be added before it is awaited.
//!
//! Requests are strict: a body that breaks the contract is not sent. Answers are tolerant:
//! they are read, never checked. Nothing here prints a body, an address or a header.

use std::{fmt, sync::Arc};

use crate::{operation::Operation, transport::Transport};

mod answer;
mod calling;
#[cfg(feature = "credentials")]
pub mod credentials;
mod error;
#[cfg(feature = "pages")]
pub mod pages;
#[cfg(feature = "stream")]
mod pieces;
mod request;
#[cfg(feature = "reqwest")]
mod reqwest;
mod response;
mod retry;
#[cfg(test)]
mod tests;

pub use bytes::Bytes;

pub use self::answer::Answer;
pub use self::calling::{Call, Calling, Stored};
pub use self::error::{Error, Reason, SendError, Unreadable};
#[cfg(feature = "stream")]
pub use self::pieces::{Opening, StreamCall};
pub use self::request::Request;
#[cfg(feature = "reqwest")]
pub use self::reqwest::ReqwestTransport;
pub use self::response::{Body, Response};
pub use self::retry::RetryAfter;

/// Whether arguments and the body of a request are checked against the contract before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RequestChecks {
    /// What the contract refuses is [`Error::InvalidRequest`] and never leaves.
    #[default]
    On,
    /// The other side decides.
    Off,
}

/// The part of a generated client that does not vary: address, transport, settings.
/// Cloning is cheap and shares the transport.
#[derive(Clone)]
pub struct Core {
    base_url: Arc<str>,
    transport: Arc<dyn Transport>,
    checks: RequestChecks,
    base_url_only: bool,
    shown: &'static [&'static str],
    #[cfg(feature = "stream")]
    limits: crate::stream::StreamLimits,
}

impl Core {
    /// `base_url` is scheme, host and, if the interface does not stand at the root, the
    /// start of the path: `https://exchange.example`. One `/` at its end is ignored. An
    /// address that is none is reported by the first call.
    pub fn new(base_url: &str, transport: impl Transport + 'static) -> Self {
        Self {
            base_url: base_url.strip_suffix('/').unwrap_or(base_url).into(),
            transport: Arc::new(transport),
            checks: RequestChecks::default(),
            base_url_only: false,
            shown: &[],
            #[cfg(feature = "stream")]
            limits: crate::stream::StreamLimits::default(),
        }
    }

    /// The same client, whose streams may be so large.
    #[cfg(feature = "stream")]
    #[must_use]
    pub const fn with_stream_limits(mut self, limits: crate::stream::StreamLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The same client, whose errors show these string members of a refusal (`code`, an id) in
    /// one line. None otherwise: what a refusal holds may be secret.
    #[must_use]
    pub const fn with_shown_members(mut self, names: &'static [&'static str]) -> Self {
        self.shown = names;
        self
    }

    /// The same client with other checks.
    #[must_use]
    pub fn with_request_checks(mut self, checks: RequestChecks) -> Self {
        self.checks = checks;
        self
    }

    /// The same client with every request sent to its own address. Otherwise an operation that
    /// has servers of its own ([`Operation::servers`]) is sent to the first of them.
    #[must_use]
    pub fn with_base_url_only(mut self) -> Self {
        self.base_url_only = true;
        self
    }

    /// The address given to [`Core::new`].
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Starts a request.
    pub fn request(&self, operation: &'static Operation) -> Request {
        let server = operation.servers.first().copied().filter(|_| !self.base_url_only);
        Request::new(operation, self.checks, server)
    }

    /// Sends a call.
    pub fn call<C: Call>(&self, call: &C) -> Calling<'_, C> {
        self.send(call.request(self))
    }

    /// Sends a call to an address of its own; see [`Request::at`]. Webhooks need one, since their
    /// receivers say where they are.
    pub fn call_at<C: Call>(&self, address: &str, call: &C) -> Calling<'_, C> {
        self.send(call.request(self).at(address))
    }

    /// Sends what [`Request::store`] gave for a call of the same kind, byte for byte, to where a
    /// new call would go. What was stored for another operation is [`Error::InvalidRequest`] and
    /// never leaves.
    pub fn repeat<C: Call>(&self, stored: &Stored) -> Calling<'_, C> {
        self.send(self.request(C::OPERATION).repeating(stored))
    }

    /// Sends the request of a call.
    pub fn send<C: Call>(&self, request: Request) -> Calling<'_, C> {
        Calling::new(self, request)
    }
}

/// The settings alone: an address may hold a password.
impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("checks", &self.checks).finish_non_exhaustive()
    }
}
