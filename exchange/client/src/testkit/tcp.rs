//! Raw bytes on a real socket: what no HTTP library would send.

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

/// What a connection does with a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Step {
    /// Writes these bytes.
    Write(Bytes),
    /// Writes these bytes so often, one after the other.
    Repeat(Bytes, usize),
    /// Waits, in real time.
    Wait(Duration),
    /// Ends the connection in order.
    Close,
    /// Breaks it off.
    Reset,
}

impl Step {
    /// Writes a text.
    #[must_use]
    pub fn write(text: &str) -> Self {
        Self::Write(Bytes::copy_from_slice(text.as_bytes()))
    }
}

/// A server on the loopback interface that reads requests of HTTP/1.1 and plays steps. Ends when it is dropped.
#[derive(Debug)]
pub struct Tcp {
    origin: String,
    requests: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Tcp {
    /// Plays what `script` says of each request, counted from 0: its number and all its bytes.
    ///
    /// # Errors
    /// When no port is to be had.
    pub async fn start(
        script: impl Fn(usize, &[u8]) -> Vec<Step> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let requests = Arc::new(AtomicUsize::new(0));
        let (script, count) = (Arc::new(script), Arc::clone(&requests));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, count) = (Arc::clone(&script), Arc::clone(&count));
                tokio::spawn(async move {
                    // A client that goes away is no failure of the test.
                    let _ = serve(stream, &count, &*script).await;
                });
            }
        });
        Ok(Self { origin, requests, task })
    }

    /// Where it is: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How many requests came whole.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    count: &AtomicUsize,
    script: &(impl Fn(usize, &[u8]) -> Vec<Step> + ?Sized),
) -> io::Result<()> {
    loop {
        let Some(request) = read(&mut stream).await? else { return Ok(()) };
        for step in script(count.fetch_add(1, Ordering::SeqCst), &request) {
            match step {
                Step::Write(bytes) => stream.write_all(&bytes).await?,
                Step::Repeat(bytes, times) => {
                    for _ in 0..times {
                        stream.write_all(&bytes).await?;
                    }
                }
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Close => return stream.shutdown().await,
                Step::Reset => return stream.set_zero_linger(),
            }
        }
    }
}

/// One request: its head, and as much more as `Content-Length` says.
async fn read(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
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
