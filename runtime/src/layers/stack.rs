//! [`TransportStack`]: all layers combined.

use std::{sync::Arc, time::Duration};

use super::{ConcurrencyLimit, Retry, RetryOptions, Timeout};
use crate::transport::{Timer, Transport};

/// The layers that most clients need around a transport. Each layer is a setting; `None` omits the layer.
///
/// The order from the outside in is: tracing span, timeout of the call, retries, concurrency limit, timeout
/// of the attempt. Therefore a span records the number of attempts, a call that waits for its next attempt
/// holds no permit, and the timeout of an attempt starts when the attempt has a permit.
///
/// ```
/// use contract_runtime::layers::{TransportStack, RetryOptions};
/// use contract_runtime::transport::{Timer, Transport};
///
/// fn robust(transport: impl Transport + 'static, timer: impl Timer + 'static) -> impl Transport {
///     let retry = Some(RetryOptions { max_attempts: 5, ..RetryOptions::default() });
///     TransportStack { retry, max_concurrency: Some(8), ..TransportStack::default() }.wrap(transport, timer)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportStack {
    /// Opens a span for each call ([`TracingTransport`](super::TracingTransport)). The default is `true`.
    #[cfg(feature = "tracing")]
    pub tracing: bool,
    /// The maximum duration of a call, including all attempts and delays ([`Timeout`]). For a stream, it
    /// applies until the head of the response arrives. The default is `None`, because large bodies take time.
    pub call_timeout: Option<Duration>,
    /// The settings for repeating failed attempts ([`Retry`]). The default is [`RetryOptions::default`].
    pub retry: Option<RetryOptions>,
    /// The maximum number of concurrent attempts ([`ConcurrencyLimit`]). The default is 32.
    pub max_concurrency: Option<usize>,
    /// The maximum duration of an attempt. The default is `None`, because the idle timeout of the transport
    /// is usually the better limit.
    pub attempt_timeout: Option<Duration>,
}

impl Default for TransportStack {
    fn default() -> Self {
        Self {
            #[cfg(feature = "tracing")]
            tracing: true,
            call_timeout: None,
            retry: Some(RetryOptions::default()),
            max_concurrency: Some(32),
            attempt_timeout: None,
        }
    }
}

impl TransportStack {
    /// Wraps a transport in these layers. Clones of the result share the limits and the retry budget.
    pub fn wrap(
        self,
        transport: impl Transport + 'static,
        timer: impl Timer + 'static,
    ) -> Arc<dyn Transport> {
        let timer: Arc<dyn Timer> = Arc::new(timer);
        let mut stack: Arc<dyn Transport> = Arc::new(transport);
        if let Some(time) = self.attempt_timeout {
            stack = Arc::new(Timeout::new(stack, time, Arc::clone(&timer)));
        }
        if let Some(places) = self.max_concurrency {
            stack = Arc::new(ConcurrencyLimit::new(stack, places));
        }
        if let Some(retries) = self.retry {
            stack = Arc::new(Retry::new(stack, retries, Arc::clone(&timer)));
        }
        if let Some(time) = self.call_timeout {
            stack = Arc::new(Timeout::new(stack, time, timer));
        }
        #[cfg(feature = "tracing")]
        if self.tracing {
            stack = Arc::new(super::TracingTransport::new(stack));
        }
        stack
    }
}

#[cfg(feature = "reqwest")]
impl crate::client::ReqwestTransport {
    /// Creates a transport with the layers of [`TransportStack::default`] around it. For other settings use
    /// [`TransportStack::wrap`].
    ///
    /// # Errors
    /// Returns an error if TLS cannot be set up on this platform.
    pub fn with_default_layers() -> Result<Arc<dyn Transport>, crate::transport::TransportError> {
        #[cfg(not(target_arch = "wasm32"))]
        let timer = crate::transport::TokioTimer;
        #[cfg(target_arch = "wasm32")]
        let timer = crate::transport::HostTimer;
        Ok(TransportStack::default().wrap(Self::new()?, timer))
    }
}
