//! Reads a body: so large, so fast, and only so many at once.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::facts::Unread;

/// What one permit stands for.
pub(super) const UNIT: usize = 1024;

/// How long a body waits for room before it is refused.
const WAIT: Duration = Duration::from_secs(5);

/// The bytes, and the room that they take until they are dropped. What is announced as too large is not
/// read at all; the rest takes its room before it is read, so that nobody waits holding some of it.
pub(super) async fn read(
    body: Body,
    limit: usize,
    slowest: Duration,
    room: &Arc<Semaphore>,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Unread> {
    let size = HttpBody::size_hint(&body);
    if size.lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let most = size.upper().and_then(|size| usize::try_from(size).ok()).unwrap_or(limit).min(limit);
    if most == 0 {
        return Ok((Bytes::new(), None));
    }
    let permits = u32::try_from(most.div_ceil(UNIT)).unwrap_or(u32::MAX);
    let room = timeout(WAIT, Arc::clone(room).acquire_many_owned(permits)).await;
    let Ok(Ok(held)) = room else { return Err(Unread::NoRoom) };
    match timeout(slowest, frames(body, limit)).await {
        Ok(bytes) => Ok((bytes?, Some(held))),
        Err(_) => Err(Unread::TooSlow),
    }
}

async fn frames(mut body: Body, limit: usize) -> Result<Bytes, Unread> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::Incomplete)?.into_data() else { continue };
        if data.len() > limit - whole.len() {
            return Err(Unread::TooLarge);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}
