//! Two load generators and their results.
//!
//! *Closed*: each connection of a fixed number sends its next request after the response to the previous one.
//! This measures throughput.
//!
//! *Open*: requests start at a fixed rate, regardless of earlier responses. The latency includes the wait for
//! a free connection.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::Outcome;
use crate::http_connection::{HttpConnection, ReceivedResponse};
use crate::signed_requests::Request;

/// Returns a histogram for latencies from a microsecond to a minute, with three significant digits.
pub(crate) fn histogram() -> Outcome<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, 60_000_000, 3)?)
}

/// The result of many requests.
pub(crate) struct LoadResult {
    /// The latencies in microseconds.
    pub(crate) latencies: Histogram<u64>,
    pub(crate) took: Duration,
    /// The number of unexpected responses.
    pub(crate) unexpected: u64,
    /// The first unexpected response.
    pub(crate) example: String,
    /// The size of one response in bytes.
    pub(crate) bytes: usize,
}

impl LoadResult {
    fn new() -> Outcome<Self> {
        Ok(Self {
            latencies: histogram()?,
            took: Duration::ZERO,
            unexpected: 0,
            example: String::new(),
            bytes: 0,
        })
    }

    /// Returns the number of responses.
    pub(crate) fn count(&self) -> u64 {
        self.latencies.len()
    }

    /// Returns the number of responses and the duration, from which the rate is computed.
    pub(crate) fn count_of(&self) -> (u32, Duration) {
        (u32::try_from(self.count()).unwrap_or(u32::MAX), self.took)
    }

    /// Fails if any response was unexpected, which makes the measurement invalid.
    pub(crate) fn ensure_expected(self) -> Outcome<Self> {
        if self.unexpected > 0 {
            return Err(format!("{} answers were no success: {}", self.unexpected, self.example).into());
        }
        if self.count() == 0 {
            return Err("nothing was answered".into());
        }
        Ok(self)
    }

    /// Adds the result of another round.
    pub(crate) fn add(&mut self, other: &Self) -> Outcome<()> {
        self.latencies.add(&other.latencies)?;
        self.took += other.took;
        self.unexpected += other.unexpected;
        if self.example.is_empty() {
            self.example.clone_from(&other.example);
        }
        self.bytes = self.bytes.max(other.bytes);
        Ok(())
    }

    fn note(&mut self, response: &ReceivedResponse, took: Duration, expected: u16) -> Outcome<()> {
        self.latencies.record(u64::try_from(took.as_micros())?.max(1))?;
        self.bytes = response.bytes;
        if response.status != expected {
            self.unexpected += 1;
            if self.example.is_empty() {
                self.example = format!("{} {}", response.status, response.error_excerpt);
            }
        }
        Ok(())
    }
}

/// Opens `count` connections.
pub(crate) async fn connect(address: SocketAddr, count: usize) -> Outcome<Vec<HttpConnection>> {
    let mut connections = Vec::with_capacity(count);
    for _ in 0..count {
        connections.push(HttpConnection::open(address).await?);
    }
    Ok(connections)
}

/// Opens `count` connections, each from its own source address, starting with `first`.
pub(crate) async fn connect_from(
    first: Ipv4Addr,
    address: SocketAddr,
    count: u32,
) -> Outcome<Vec<HttpConnection>> {
    let mut connections = Vec::new();
    for number in 0..count {
        connections.push(HttpConnection::open_from((u32::from(first) + number).into(), address).await?);
    }
    Ok(connections)
}

/// Runs the closed generator until the time is over or no requests are left, and returns the connections.
pub(crate) async fn closed(
    connections: Vec<HttpConnection>,
    requests: Vec<Request>,
    timeout: Duration,
    expected: u16,
) -> Outcome<(LoadResult, Vec<HttpConnection>)> {
    let began = Instant::now();
    let requests = Arc::new(Mutex::new(VecDeque::from(requests)));
    let mut lanes = JoinSet::new();
    for mut http_connection in connections {
        let requests = Arc::clone(&requests);
        lanes.spawn(async move {
            let mut driven = LoadResult::new()?;
            let mut bytes = Vec::new();
            while began.elapsed() < timeout {
                let next = requests.lock().map_err(|_| "a lane failed")?.pop_front();
                let Some(next) = next else { break };
                next.write(&mut bytes);
                let sent = Instant::now();
                let response = http_connection.call(&bytes).await?;
                driven.note(&response, sent.elapsed(), expected)?;
            }
            Outcome::Ok((driven, http_connection))
        });
    }
    let mut all = LoadResult::new()?;
    let mut connections = Vec::new();
    while let Some(lane) = lanes.join_next().await {
        let (driven, http_connection) = lane??;
        all.add(&driven)?;
        connections.push(http_connection);
    }
    all.took = began.elapsed();
    Ok((all, connections))
}

/// Runs the open generator with a fixed interval and returns the connections.
pub(crate) async fn open(
    connections: Vec<HttpConnection>,
    requests: Vec<Request>,
    interval: Duration,
    expected: u16,
) -> Outcome<(LoadResult, Vec<HttpConnection>)> {
    let mut all = LoadResult::new()?;
    let count = connections.len();
    let (back, mut idle) = mpsc::channel(count.max(1));
    for http_connection in connections {
        back.try_send((http_connection, Vec::new())).map_err(|_| "more connections than there are")?;
    }
    let mut answers = JoinSet::new();
    let began = Instant::now();
    for (number, request) in (0_u32..).zip(requests) {
        let due = began + interval * number;
        until(due).await;
        let (mut http_connection, mut bytes): (HttpConnection, Vec<u8>) =
            idle.recv().await.ok_or("no connection is left")?;
        let back = back.clone();
        answers.spawn(async move {
            request.write(&mut bytes);
            let response = http_connection.call(&bytes).await;
            let came = Instant::now();
            // The channel has capacity for all connections.
            let _ = back.try_send((http_connection, bytes));
            Outcome::Ok((response?, came - due))
        });
        while let Some(answered_response) = answers.try_join_next() {
            let (response, took) = answered_response??;
            all.note(&response, took, expected)?;
        }
    }
    while let Some(answered_response) = answers.join_next().await {
        let (response, took) = answered_response??;
        all.note(&response, took, expected)?;
    }
    all.took = began.elapsed();
    drop(back);
    let mut connections = Vec::with_capacity(count);
    while let Some((http_connection, _)) = idle.recv().await {
        connections.push(http_connection);
    }
    Ok((all, connections))
}

/// Waits until a time in a busy loop, which is more exact than the runtime's timer. The generator has its own
/// core.
async fn until(due: Instant) {
    let now = Instant::now();
    if due > now + Duration::from_millis(2) {
        tokio::time::sleep(due - now - Duration::from_millis(2)).await;
    }
    while Instant::now() < due {
        tokio::task::yield_now().await;
    }
}
