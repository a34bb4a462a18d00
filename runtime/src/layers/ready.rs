//! All layers together, in the order in which each does its part.

use std::{sync::Arc, time::Duration};

use super::{Concurrency, Retries, Retry, Timeout};
use crate::transport::{Timer, Transport};

/// What most clients want around a transport; each part is a setting, and `None` leaves it out.
///
/// From the outside: a span for each call, the time for all of it, its attempts, a place among so many
/// at a time, the time of an attempt. So a span says how many attempts there were, who waits for another
/// attempt holds no place, and who waits for a place has not begun its attempt.
///
/// ```
/// use contract_runtime::layers::{Ready, Retries};
/// use contract_runtime::transport::{Timer, Transport};
///
/// fn robust(transport: impl Transport + 'static, timer: impl Timer + 'static) -> impl Transport {
///     let retries = Some(Retries { attempts: 5, ..Retries::default() });
///     Ready { retries, concurrency: Some(8), ..Ready::default() }.over(transport, timer)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Whether each call has a span ([`Traced`](super::Traced)). By default it has.
    #[cfg(feature = "tracing")]
    pub traced: bool,
    /// How long a call may take with all its attempts and waits ([`Timeout`]); of a stream, up to the
    /// head of its answer. By default it is not bounded: a large body takes its time.
    pub call_time: Option<Duration>,
    /// How what got no answer, or one that says to come back, is sent again ([`Retry`]).
    pub retries: Option<Retries>,
    /// How many attempts there may be at a time ([`Concurrency`]). Default 32.
    pub concurrency: Option<usize>,
    /// How long an attempt may take. By default that is the transport's to say, which sees whether
    /// anything moves.
    pub attempt_time: Option<Duration>,
}

impl Default for Ready {
    fn default() -> Self {
        Self {
            #[cfg(feature = "tracing")]
            traced: true,
            call_time: None,
            retries: Some(Retries::default()),
            concurrency: Some(32),
            attempt_time: None,
        }
    }
}

impl Ready {
    /// These layers around a transport. Clones of what comes share limits and budget.
    pub fn over(
        self,
        transport: impl Transport + 'static,
        timer: impl Timer + 'static,
    ) -> Arc<dyn Transport> {
        let timer: Arc<dyn Timer> = Arc::new(timer);
        let mut whole: Arc<dyn Transport> = Arc::new(transport);
        if let Some(time) = self.attempt_time {
            whole = Arc::new(Timeout::new(whole, time, Arc::clone(&timer)));
        }
        if let Some(places) = self.concurrency {
            whole = Arc::new(Concurrency::new(whole, places));
        }
        if let Some(retries) = self.retries {
            whole = Arc::new(Retry::new(whole, retries, Arc::clone(&timer)));
        }
        if let Some(time) = self.call_time {
            whole = Arc::new(Timeout::new(whole, time, timer));
        }
        #[cfg(feature = "tracing")]
        if self.traced {
            whole = Arc::new(super::Traced::new(whole));
        }
        whole
    }
}

#[cfg(feature = "reqwest")]
impl crate::client::ReqwestTransport {
    /// [`new`](Self::new) with all layers around it as [`Ready`] has them by itself; one that is set up
    /// otherwise goes into [`Ready::over`].
    ///
    /// # Errors
    /// When the platform's TLS cannot be set up.
    pub fn ready() -> Result<Arc<dyn Transport>, crate::transport::TransportError> {
        Ok(Ready::default().over(Self::new()?, crate::transport::TokioTimer))
    }
}
