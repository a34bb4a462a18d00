//! A proxy in front of the exchange, with which a test observes and delays requests.

use std::sync::Arc;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{Semaphore, mpsc},
};

/// A proxy that reports watched requests and holds them until the test releases them.
pub(crate) struct InterceptingProxy {
    address: String,
    seen: mpsc::UnboundedReceiver<()>,
    leave: Arc<Semaphore>,
}

#[derive(Clone)]
struct Gate {
    to: String,
    watched: fn(&str) -> bool,
    seen: mpsc::UnboundedSender<()>,
    leave: Arc<Semaphore>,
}

impl InterceptingProxy {
    /// Starts a proxy to this exchange. It watches the requests for whose first line `watched` returns true.
    pub(crate) async fn to(origin: &str, watched: fn(&str) -> bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, seen) = mpsc::unbounded_channel();
        let leave = Arc::new(Semaphore::new(0));
        let to = origin.strip_prefix("http://").unwrap().to_owned();
        let gate = Gate { to, watched, seen: tell, leave: Arc::clone(&leave) };
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(pass(near, gate.clone()));
            }
        });
        Self { address, seen, leave }
    }

    /// Routes the requests of this command through the proxy.
    pub(crate) fn route_command(&self, command: &mut Command) {
        command.env("http_proxy", &self.address);
    }

    /// Waits for the next watched request.
    pub(crate) async fn wait_for_request(&mut self) {
        self.seen.recv().await.unwrap();
    }

    /// Releases all watched requests, now and in the future.
    pub(crate) fn open(&self) {
        self.leave.close();
    }
}

async fn pass(near: TcpStream, gate: Gate) {
    let far = TcpStream::connect(gate.to).await.unwrap();
    let ((mut ask, mut tell), (mut response, mut send)) = (near.into_split(), far.into_split());
    let back = tokio::spawn(async move { tokio::io::copy(&mut response, &mut tell).await });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = ask.read(&mut bytes).await {
        let head = String::from_utf8_lossy(&bytes[..read]);
        if (gate.watched)(head.lines().next().unwrap_or_default()) {
            // The test may have dropped the receiver.
            let _ = gate.seen.send(());
            // Acquiring a permit fails when the semaphore is closed, which releases the request.
            let _ = gate.leave.acquire().await;
        }
        if send.write_all(&bytes[..read]).await.is_err() {
            break;
        }
    }
    back.abort();
}
