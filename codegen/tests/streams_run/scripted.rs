//! A server that sends scripted bytes and records requests, and a timer that does not wait.
//!
//! This module depends only on `contract_runtime` and tokio, because `examples/vendor_streams` copies it into
//! a generated package.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use contract_runtime::transport::{SleepFuture, Timer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(crate) const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n";

/// Starts a server that accepts one connection for each script. It sends the script piece by piece and closes
/// the connection. Returns the address of the server, and a task that returns the received requests.
pub(crate) async fn serve<P: AsRef<[u8]> + Send + Sync + 'static>(
    scripts: Vec<Vec<P>>,
) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let mut requests = Vec::new();
        for script in scripts {
            let (mut connection, _) = listener.accept().await.unwrap();
            requests.push(read_request(&mut connection).await);
            for piece in script {
                connection.write_all(piece.as_ref()).await.unwrap();
                connection.flush().await.unwrap();
                // The task yields to the reader, so that the pieces arrive separately.
                tokio::task::yield_now().await;
            }
        }
        requests
    });
    (format!("http://{address}"), task)
}

/// Reads one request from a connection.
pub(crate) async fn read_request(connection: &mut TcpStream) -> String {
    connection.set_nodelay(true).unwrap();
    let mut request = Vec::new();
    while !is_whole(&request) {
        let mut piece = [0; 4096];
        let read = connection.read(&mut piece).await.unwrap();
        request.extend_from_slice(&piece[..read]);
    }
    String::from_utf8(request).unwrap()
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// A timer that records durations instead of waiting.
#[derive(Clone, Default)]
pub(crate) struct InstantTimer(Arc<Mutex<Vec<Duration>>>);

impl InstantTimer {
    /// Returns the recorded durations.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

impl Timer for InstantTimer {
    fn sleep(&self, time: Duration) -> SleepFuture {
        self.0.lock().unwrap().push(time);
        Box::pin(async {})
    }
}
