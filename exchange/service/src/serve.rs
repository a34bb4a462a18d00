//! Connections: accepted, bounded, timed, and given to a router.
//!
//! Everything that a stranger can hold on to is bounded here: how many connections there are, in all and of each
//! address, how large a head may be and how long it may take, how long a body may take, how long the other side
//! may take nothing of an answer, how long a handshake lasts, how long a connection rests. How large a body may be
//! says whoever reads it.

mod forwarded;
mod front;
mod guarded;
mod head;
mod tls;
pub mod watch;

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

pub use self::front::Front;
use self::guarded::Guarded;
use crate::Environment;
use crate::config::Config;
use crate::gateway;
use crate::peer::Peer;
use crate::shares::{Share, Shares};
use crate::timed::Timed;

/// Connections at once of one address, where the configuration does not say.
const CONNECTIONS_OF_ADDRESS: usize = 1024;

/// Serves a router, or what has one, over connections.
#[derive(Clone)]
pub struct Server {
    front: Front,
    environment: Environment,
    limits: Arc<Bounds>,
    tls: Option<tokio_rustls::TlsAcceptor>,
}

struct Bounds {
    connections: usize,
    shares: Shares,
    /// Whether those of this machine are counted, too.
    counts_own: bool,
    head_bytes: usize,
    head: Duration,
    body: Duration,
    write: Duration,
    handshake: Duration,
    shutdown: Duration,
    trusted_hops: u8,
}

impl Bounds {
    /// What a connection takes of its source's share; none when the source has no more. The inner none is one that
    /// is not counted.
    fn share(&self, peer: Peer) -> Option<Option<Share>> {
        if peer.is_loopback() && !self.counts_own {
            return Some(None);
        }
        self.shares.take(peer.network(), 1).map(Some)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("tls", &self.tls.is_some()).finish_non_exhaustive()
    }
}

/// Why a server cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Only one of certificate and key is named.
    #[error("TLS needs both `serve.certificate` and `serve.private-key`")]
    Half,
    /// A file cannot be read, or holds no certificate or key.
    #[error("cannot use {path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificate and key do not fit.
    #[error("the certificate and its key cannot be used: {0}")]
    Certificate(#[from] tokio_rustls::rustls::Error),
}

impl Server {
    /// One that serves this as it is configured.
    ///
    /// # Errors
    /// When the configured certificate cannot be used.
    pub fn new(
        front: impl Into<Front>,
        config: &Config,
        environment: &Environment,
    ) -> Result<Self, ServeError> {
        let serve = &config.serve;
        let own = serve.connections_of_address;
        // Behind proxies there are no other addresses than theirs.
        let usual = if config.limits.trusted_hops == 0 { CONNECTIONS_OF_ADDRESS } else { usize::MAX };
        let limits = Bounds {
            connections: serve.connections.clamp(1, Semaphore::MAX_PERMITS),
            shares: Shares::of(own.unwrap_or(usual)),
            counts_own: own.is_some(),
            head_bytes: config.limits.head_bytes,
            head: Duration::from_secs(serve.head_seconds),
            body: Duration::from_secs(config.limits.body_seconds),
            write: Duration::from_secs(serve.write_seconds),
            handshake: Duration::from_secs(serve.handshake_seconds),
            shutdown: Duration::from_secs(serve.shutdown_seconds),
            trusted_hops: config.limits.trusted_hops,
        };
        let tls = tls::acceptor(serve.certificate.as_deref(), serve.private_key.as_deref())?;
        let front = front.into();
        Ok(Self { front, environment: environment.clone(), limits: Arc::new(limits), tls })
    }

    /// Serves until told to stop; then accepts nothing more, and waits for what is under way.
    pub async fn run(self, listener: TcpListener, until: impl Future<Output = ()> + Send) {
        let room = Arc::new(Semaphore::new(self.limits.connections));
        let graceful = GracefulShutdown::new();
        let mut until = pin!(until);
        loop {
            // Room first: who is not accepted waits in the system's queue, which is bounded too.
            let next = async {
                let place = Arc::clone(&room).acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                next = next => next,
                () = &mut until => break,
            };
            let Ok((stream, address)) = accepted else {
                // No descriptors are left, or the other side is gone already: others may go first.
                sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Some(share) = self.limits.share(Peer(address.ip())) else {
                tracing::debug!("an address has all the connections that it may have");
                continue;
            };
            let (server, watcher) = (self.clone(), graceful.watcher());
            tokio::spawn(async move {
                let _taken = (place, share);
                server.connection(stream, address, watcher).await;
            });
        }
        drop(listener);
        if timeout(self.limits.shutdown, graceful.shutdown()).await.is_err() {
            tracing::warn!("connections were still busy when the service stopped");
        }
    }

    async fn connection(
        self,
        stream: TcpStream,
        address: SocketAddr,
        watcher: hyper_util::server::graceful::Watcher,
    ) {
        // Small answers are not held back for larger ones; failing that they are only slower.
        let _ = stream.set_nodelay(true);
        match self.tls.clone() {
            None => self.http(stream, address, watcher).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = timeout(self.limits.handshake, tls.accept(stream)).await {
                    self.http(stream, address, watcher).await;
                }
            }
        }
    }

    async fn http<S>(self, stream: S, address: SocketAddr, watcher: hyper_util::server::graceful::Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let limits = Arc::clone(&self.limits);
        let io = Guarded::new(TokioIo::new(stream), limits.write);
        let service = service_fn(move |request| {
            let server = self.clone();
            async move { server.answer(request, address).await }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // Runs while a connection rests, too.
            .header_read_timeout(limits.head)
            .max_header_size(limits.head_bytes.saturating_add(head::SLACK))
            .max_buf_size(limits.head_bytes.saturating_add(head::SLACK).max(8192))
            .auto_date_header(false)
            .serve_connection(io, service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended");
        }
    }

    async fn answer(
        self,
        request: Request<Incoming>,
        address: SocketAddr,
    ) -> Result<Response<Body>, std::convert::Infallible> {
        let (head, body) = request.into_parts();
        let refusal = head::refusal(&head, self.limits.head_bytes);
        let is_last = head::is_last(&head);
        // Most requests have none.
        let body = if HttpBody::is_end_stream(&body) {
            Body::empty()
        } else {
            Body::new(Timed::new(body, self.limits.body))
        };
        let mut request = Request::from_parts(head, body);
        let peer = forwarded::source(request.headers(), address.ip(), self.limits.trusted_hops);
        request.extensions_mut().insert(Peer(peer));
        let mut response = match refusal {
            Some(code) => gateway::refuse_head(&request.into_parts().0, code, &self.environment),
            None => self.front.answer(request).await,
        };
        if !response.headers().contains_key(header::DATE)
            && let Ok(date) = HeaderValue::from_str(&self.environment.now().http_date())
        {
            response.headers_mut().insert(header::DATE, date);
        }
        if is_last {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;

    use super::*;

    /// This machine's own connections are not counted where nothing is said, whichever of its addresses they are from;
    /// others are.
    #[test]
    fn own_connections_are_not_counted() {
        let share = |address: &str, own: Option<usize>| {
            let mut config = Config::default();
            config.serve.connections_of_address = own;
            let server = Server::new(Router::new(), &config, &Environment::system()).unwrap();
            server.limits.share(Peer(address.parse().unwrap())).unwrap().is_some()
        };
        for address in ["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1"] {
            assert!(!share(address, None) && share(address, Some(1)), "{address}");
        }
        for address in ["192.0.2.1", "2001:db8::1", "::"] {
            assert!(share(address, None), "{address}");
        }
    }
}
