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
use crate::signed::Request;
use crate::wire::{Answer, Wire};

/// Returns a histogram for latencies from a microsecond to a minute, with three significant digits.
pub(crate) fn histogram() -> Outcome<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, 60_000_000, 3)?)
}

/// The result of many requests.
pub(crate) struct Driven {
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

impl Driven {
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
    pub(crate) fn sound(self) -> Outcome<Self> {
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

    fn note(&mut self, response: &Answer, took: Duration, expected: u16) -> Outcome<()> {
        self.latencies.record(u64::try_from(took.as_micros())?.max(1))?;
        self.bytes = response.bytes;
        if response.status != expected {
            self.unexpected += 1;
            if self.example.is_empty() {
                self.example = format!("{} {}", response.status, response.complaint);
            }
        }
        Ok(())
    }
}

/// Opens `count` connections.
pub(crate) async fn connect(address: SocketAddr, count: usize) -> Outcome<Vec<Wire>> {
    let mut wires = Vec::with_capacity(count);
    for _ in 0..count {
        wires.push(Wire::open(address).await?);
    }
    Ok(wires)
}

/// Opens `count` connections, each from its own source address, starting with `first`.
pub(crate) async fn connect_from(first: Ipv4Addr, address: SocketAddr, count: u32) -> Outcome<Vec<Wire>> {
    let mut wires = Vec::new();
    for number in 0..count {
        wires.push(Wire::open_from((u32::from(first) + number).into(), address).await?);
    }
    Ok(wires)
}

/// Runs the closed generator until the time is over or no requests are left, and returns the connections.
pub(crate) async fn closed(
    wires: Vec<Wire>,
    requests: Vec<Request>,
    longest: Duration,
    expected: u16,
) -> Outcome<(Driven, Vec<Wire>)> {
    let began = Instant::now();
    let requests = Arc::new(Mutex::new(VecDeque::from(requests)));
    let mut lanes = JoinSet::new();
    for mut wire in wires {
        let requests = Arc::clone(&requests);
        lanes.spawn(async move {
            let mut driven = Driven::new()?;
            let mut bytes = Vec::new();
            while began.elapsed() < longest {
                let next = requests.lock().map_err(|_| "a lane failed")?.pop_front();
                let Some(next) = next else { break };
                next.write(&mut bytes);
                let sent = Instant::now();
                let response = wire.call(&bytes).await?;
                driven.note(&response, sent.elapsed(), expected)?;
            }
            Outcome::Ok((driven, wire))
        });
    }
    let mut all = Driven::new()?;
    let mut wires = Vec::new();
    while let Some(lane) = lanes.join_next().await {
        let (driven, wire) = lane??;
        all.add(&driven)?;
        wires.push(wire);
    }
    all.took = began.elapsed();
    Ok((all, wires))
}

/// Runs the open generator with a fixed interval and returns the connections.
pub(crate) async fn open(
    wires: Vec<Wire>,
    requests: Vec<Request>,
    every: Duration,
    expected: u16,
) -> Outcome<(Driven, Vec<Wire>)> {
    let mut all = Driven::new()?;
    let count = wires.len();
    let (back, mut idle) = mpsc::channel(count.max(1));
    for wire in wires {
        back.try_send((wire, Vec::new())).map_err(|_| "more connections than there are")?;
    }
    let mut answers = JoinSet::new();
    let began = Instant::now();
    for (number, request) in (0_u32..).zip(requests) {
        let due = began + every * number;
        until(due).await;
        let (mut wire, mut bytes): (Wire, Vec<u8>) = idle.recv().await.ok_or("no connection is left")?;
        let back = back.clone();
        answers.spawn(async move {
            request.write(&mut bytes);
            let response = wire.call(&bytes).await;
            let came = Instant::now();
            // The channel has capacity for all connections.
            let _ = back.try_send((wire, bytes));
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
    let mut wires = Vec::with_capacity(count);
    while let Some((wire, _)) = idle.recv().await {
        wires.push(wire);
    }
    Ok((all, wires))
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
