//! Reads request bodies within limits on size, time and memory. Memory is limited in total and per source.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::facts::BodyReadError;
use crate::shares::{ShareLimiter, SharePermit};
use crate::timed_body::{TimedBody, is_body_timeout};

/// The number of bytes that one permit stands for.
const PERMIT_BYTES: usize = 1024;

/// The maximum time for which a body waits for permits before it is refused.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The divisor for the memory budget of one source: a source may occupy at most an eighth of the total
/// budget, so that slow bodies from one source do not block others.
const SOURCE_FRACTION: usize = 8;

/// The memory budget for all bodies that are in memory at once.
#[derive(Debug)]
pub(super) struct BodyBudget {
    all: Arc<Semaphore>,
    /// The number of permits of `all`.
    permits: usize,
    /// Limits the number of permits per source.
    shares: ShareLimiter,
}

/// A part of the [`BodyBudget`]. Dropping the permit returns the part to the budget.
#[derive(Debug)]
pub(super) struct BodyPermit {
    _share: SharePermit,
    _permit: OwnedSemaphorePermit,
}

impl BodyBudget {
    /// Creates a budget of `bytes` bytes for bodies of at most `largest` bytes each.
    pub(super) fn new(bytes: usize, largest: usize) -> Self {
        let largest = largest.div_ceil(PERMIT_BYTES).min(Semaphore::MAX_PERMITS);
        let all = bytes.div_ceil(PERMIT_BYTES).max(largest).min(Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(all)),
            permits: all,
            shares: ShareLimiter::new((all / SOURCE_FRACTION).max(largest)),
        }
    }

    /// Returns the number of bytes in use, and the size of the budget in bytes.
    pub(super) fn usage(&self) -> (u64, u64) {
        let bytes = |permits: usize| (permits as u64).saturating_mul(PERMIT_BYTES as u64);
        (bytes(self.permits.saturating_sub(self.all.available_permits())), bytes(self.permits))
    }

    /// Acquires permits for a body of at most `bytes` bytes. Returns `None` if the source would exceed its
    /// share, or if the budget stays exhausted for [`MAX_WAIT`].
    async fn acquire_permit(&self, network: IpAddr, bytes: usize) -> Option<BodyPermit> {
        let permits = bytes.div_ceil(PERMIT_BYTES);
        let share = self.shares.try_acquire(network, permits)?;
        let count = u32::try_from(permits).ok()?;
        let permit = timeout(MAX_WAIT, Arc::clone(&self.all).acquire_many_owned(count)).await.ok()?.ok()?;
        Some(BodyPermit { _share: share, _permit: permit })
    }
}

/// Reads a body and returns it with its permit. A body whose `Content-Length` exceeds the limit is not read
/// at all. All permits for a body are acquired together before reading, so no task waits while it holds some
/// of them.
pub(super) async fn read_body(
    body: Body,
    network: IpAddr,
    limit: usize,
    max_duration: Duration,
    room: &BodyBudget,
) -> Result<(Bytes, Option<BodyPermit>), BodyReadError> {
    let size = HttpBody::size_hint(&body);
    if size.lower() > limit as u64 {
        return Err(BodyReadError::TooLarge);
    }
    let maximum = size.upper().and_then(|size| usize::try_from(size).ok()).unwrap_or(limit).min(limit);
    if maximum == 0 {
        return Ok((Bytes::new(), None));
    }
    let permit = room.acquire_permit(network, maximum).await.ok_or(BodyReadError::Overloaded)?;
    let bytes = read_frames(TimedBody::new(body, max_duration), limit).await?;
    Ok((bytes, Some(permit)))
}

async fn read_frames(mut body: TimedBody<Body>, limit: usize) -> Result<Bytes, BodyReadError> {
    let mut buffer = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let broken = |error: BoxError| {
            if is_body_timeout(error.as_ref()) { BodyReadError::TooSlow } else { BodyReadError::Incomplete }
        };
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if data.len() > limit - buffer.len() {
            return Err(BodyReadError::TooLarge);
        }
        buffer.extend_from_slice(&data);
    }
    Ok(buffer.freeze())
}
