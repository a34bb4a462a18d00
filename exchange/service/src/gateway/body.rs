//! Reads a body: so large, so fast, and only so many at once, of everybody and of each source.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::facts::Unread;
use crate::shares::{Share, Shares};
use crate::timed::{Timed, is_too_slow};

/// What one permit stands for.
const UNIT: usize = 1024;

/// How long a body waits for room before it is refused.
const WAIT: Duration = Duration::from_secs(5);

/// One part in so many of the room is what one source may take: its slow bodies leave room for others.
const SHARE: usize = 8;

/// Room for bodies.
#[derive(Debug)]
pub(super) struct Room {
    all: Arc<Semaphore>,
    /// What one source may take, in permits.
    shares: Shares,
}

/// Room that a body takes until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    _share: Share,
    _permit: OwnedSemaphorePermit,
}

impl Room {
    /// For so many bytes, of bodies that are at most so large each.
    pub(super) fn new(bytes: usize, largest: usize) -> Self {
        let largest = largest.div_ceil(UNIT).min(Semaphore::MAX_PERMITS);
        let all = bytes.div_ceil(UNIT).max(largest).min(Semaphore::MAX_PERMITS);
        Self { all: Arc::new(Semaphore::new(all)), shares: Shares::of((all / SHARE).max(largest)) }
    }

    /// Room for a body of at most so many bytes; none when the source has its share, or when there is none for
    /// longer than a body waits.
    async fn take(&self, network: IpAddr, bytes: usize) -> Option<Held> {
        let permits = bytes.div_ceil(UNIT);
        let share = self.shares.take(network, permits)?;
        let count = u32::try_from(permits).ok()?;
        let permit = timeout(WAIT, Arc::clone(&self.all).acquire_many_owned(count)).await.ok()?.ok()?;
        Some(Held { _share: share, _permit: permit })
    }
}

/// The bytes, and the room that they take until they are dropped. What is announced as too large is not
/// read at all; the rest takes its room before it is read, so that nobody waits holding some of it.
pub(super) async fn read(
    body: Body,
    network: IpAddr,
    limit: usize,
    slowest: Duration,
    room: &Room,
) -> Result<(Bytes, Option<Held>), Unread> {
    let size = HttpBody::size_hint(&body);
    if size.lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let most = size.upper().and_then(|size| usize::try_from(size).ok()).unwrap_or(limit).min(limit);
    if most == 0 {
        return Ok((Bytes::new(), None));
    }
    let held = room.take(network, most).await.ok_or(Unread::NoRoom)?;
    let bytes = frames(Timed::new(body, slowest), limit).await?;
    Ok((bytes, Some(held)))
}

async fn frames(mut body: Timed<Body>, limit: usize) -> Result<Bytes, Unread> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let broken = |error: BoxError| {
            if is_too_slow(error.as_ref()) { Unread::TooSlow } else { Unread::Incomplete }
        };
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if data.len() > limit - whole.len() {
            return Err(Unread::TooLarge);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}
