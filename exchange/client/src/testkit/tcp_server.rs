//! A raw TCP server, which can send responses that no HTTP library would send.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A step that a connection performs after a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TcpStep {
    /// Writes these bytes.
    Write(Bytes),
    /// Writes these bytes repeatedly, this many times.
    Repeat(Bytes, usize),
    /// Waits for this duration, in real time.
    Wait(Duration),
    /// Closes the connection cleanly (FIN).
    Close,
    /// Resets the connection (RST).
    Reset,
}

impl TcpStep {
    /// Creates a step that writes a string.
    #[must_use]
    pub fn write(text: &str) -> Self {
        Self::Write(Bytes::copy_from_slice(text.as_bytes()))
    }
}

/// A server on the loopback interface that reads HTTP/1.1 requests and performs scripted steps. It stops when
/// it is dropped.
#[derive(Debug)]
pub struct TcpServer {
    origin: String,
    request_count: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl TcpServer {
    /// Starts a server. `script` returns the steps for a request, from its number, counted from 0, and its
    /// bytes.
    ///
    /// # Errors
    /// Returns an error if no port is available.
    pub async fn start(
        script: impl Fn(usize, &[u8]) -> Vec<TcpStep> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let requests = Arc::new(AtomicUsize::new(0));
        let (script, count) = (Arc::new(script), Arc::clone(&requests));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, count) = (Arc::clone(&script), Arc::clone(&count));
                tokio::spawn(async move {
                    // A client that disconnects is not a test failure.
                    let _ = serve_connection(stream, &count, &*script).await;
                });
            }
        });
        Ok(Self { origin, request_count: requests, task })
    }

    /// Returns the origin: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the number of requests that were received completely.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.request_count.load(Ordering::SeqCst)
    }
}

impl Drop for TcpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve_connection(
    mut stream: TcpStream,
    count: &AtomicUsize,
    script: &(impl Fn(usize, &[u8]) -> Vec<TcpStep> + ?Sized),
) -> io::Result<()> {
    loop {
        let Some(request) = read_request(&mut stream).await? else { return Ok(()) };
        for step in script(count.fetch_add(1, Ordering::SeqCst), &request) {
            match step {
                TcpStep::Write(bytes) => stream.write_all(&bytes).await?,
                TcpStep::Repeat(bytes, times) => {
                    for _ in 0..times {
                        stream.write_all(&bytes).await?;
                    }
                }
                TcpStep::Wait(time) => tokio::time::sleep(time).await,
                TcpStep::Close => return stream.shutdown().await,
                TcpStep::Reset => return stream.set_zero_linger(),
            }
        }
    }
}

/// Reads one request: the head, and the body according to `Content-Length`.
async fn read_request(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut request = Vec::new();
    loop {
        if let Some(head) = request.windows(4).position(|end| end == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0_usize);
            if request.len() >= head + 4 + length {
                return Ok(Some(request));
            }
        }
        let mut chunk = [0; 8192];
        match stream.read(&mut chunk).await? {
            0 => return Ok(None),
            read => request.extend_from_slice(&chunk[..read]),
        }
    }
}
