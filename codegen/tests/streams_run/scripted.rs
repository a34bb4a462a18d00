//! A server that says byte for byte what it was told to and hears what is sent, and a timer that does not wait.
//!
//! Stands on `contract_runtime` and tokio alone: programs of generated packages have it, too
//! (`examples/vendor_streams`).

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

/// Takes as many connections as there are scripts, says each piece by piece and closes it. Where it is, and what was
/// sent on each, byte for byte.
pub(crate) async fn serve<P: AsRef<[u8]> + Send + Sync + 'static>(
    scripts: Vec<Vec<P>>,
) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let mut requests = Vec::new();
        for script in scripts {
            let (mut connection, _) = listener.accept().await.unwrap();
            requests.push(heard(&mut connection).await);
            for piece in script {
                connection.write_all(piece.as_ref()).await.unwrap();
                connection.flush().await.unwrap();
                // The reader's turn, so that pieces arrive as pieces.
                tokio::task::yield_now().await;
            }
        }
        requests
    });
    (format!("http://{address}"), task)
}

/// The whole request of a connection.
pub(crate) async fn heard(connection: &mut TcpStream) -> String {
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

/// Waits for nothing, and remembers for how long.
#[derive(Clone, Default)]
pub(crate) struct Impatient(Arc<Mutex<Vec<Duration>>>);

impl Impatient {
    /// For how long it was to wait, each time.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

impl Timer for Impatient {
    fn sleep(&self, time: Duration) -> SleepFuture {
        self.0.lock().unwrap().push(time);
        Box::pin(async {})
    }
}
