//! The HTTP server: accepts connections within limits and timeouts, and dispatches requests.
//!
//! Every resource that an unauthenticated peer can occupy is bounded here: the number of connections in total
//! and per address, the size of a request head and the time to receive it, the time to receive a body, the
//! time of a write that the peer does not read, the time of a TLS handshake, and the idle time of a
//! connection. The size of a body is bounded by the code that reads it.

mod dispatcher;
pub mod folder_lock;
mod forwarded;
mod head;
pub mod monitoring;
mod tls;
mod write_timeout;

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

pub use self::dispatcher::RequestDispatcher;
pub use self::tls::{ServerCertificate, log_reload};
use self::write_timeout::WriteTimeoutStream;
use crate::Environment;
use crate::config::Config;
use crate::gateway;
use crate::peer::PeerAddr;
use crate::security_headers::add_security_headers;
use crate::shares::{ShareLimiter, SharePermit};
use crate::timed_body::TimedBody;

/// The default limit of connections per address.
const DEFAULT_CONNECTIONS_PER_ADDRESS: usize = 1024;

/// An HTTP server for a router or a dispatcher.
#[derive(Clone)]
pub struct Server {
    dispatcher: RequestDispatcher,
    environment: Environment,
    limits: Arc<ConnectionLimits>,
    tls: Option<(tokio_rustls::TlsAcceptor, ServerCertificate)>,
    open: Arc<AtomicUsize>,
    /// Whether browsers use TLS to reach the service, here or at a proxy.
    uses_tls: bool,
}

struct ConnectionLimits {
    connections: usize,
    shares: ShareLimiter,
    counts_loopback: bool,
    head_bytes: usize,
    head: Duration,
    body: Duration,
    write: Duration,
    handshake: Duration,
    shutdown: Duration,
    trusted_hops: u8,
}

impl ConnectionLimits {
    /// Acquires a connection from the share of its source. Returns `None` if the share is exhausted. The
    /// inner `None` stands for a connection that is not counted.
    fn acquire_share(&self, peer: PeerAddr) -> Option<Option<SharePermit>> {
        if peer.is_loopback() && !self.counts_loopback {
            return Some(None);
        }
        self.shares.try_acquire(peer.network(), 1).map(Some)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("tls", &self.tls.is_some()).finish_non_exhaustive()
    }
}

/// The reason a server could not be created.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Only one of certificate and key is configured.
    #[error("TLS needs both `serve.certificate` and `serve.private-key`")]
    IncompleteTls,
    /// A file cannot be read, or does not contain a certificate or a key.
    #[error("cannot use {path}: {reason}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason the file cannot be used.
        reason: String,
    },
    /// The certificate and the key cannot be used together.
    #[error("the certificate and its key cannot be used: {0}")]
    Certificate(#[from] tokio_rustls::rustls::Error),
}

impl Server {
    /// Creates a server with the limits of the configuration.
    ///
    /// # Errors
    /// Returns a [`ServeError`] if the configured certificate cannot be used.
    pub fn new(
        front: impl Into<RequestDispatcher>,
        config: &Config,
        environment: &Environment,
    ) -> Result<Self, ServeError> {
        let serve = &config.serve;
        let limit = serve.connections_of_address;
        // Behind proxies, all connections come from the addresses of the proxies.
        let usual =
            if config.limits.trusted_hops == 0 { DEFAULT_CONNECTIONS_PER_ADDRESS } else { usize::MAX };
        let limits = ConnectionLimits {
            connections: serve.connections.clamp(1, Semaphore::MAX_PERMITS),
            shares: ShareLimiter::new(limit.unwrap_or(usual)),
            counts_loopback: limit.is_some(),
            head_bytes: config.limits.head_bytes,
            head: Duration::from_secs(serve.head_seconds),
            body: Duration::from_secs(config.limits.body_seconds),
            write: Duration::from_secs(serve.write_seconds),
            handshake: Duration::from_secs(serve.handshake_seconds),
            shutdown: Duration::from_secs(serve.shutdown_seconds),
            trusted_hops: config.limits.trusted_hops,
        };
        let tls = tls::build_acceptor(serve.certificate.as_deref(), serve.private_key.as_deref())?;
        let (environment, limits) = (environment.clone(), Arc::new(limits));
        let uses_tls = config.web_origin().starts_with("https://");
        Ok(Self { dispatcher: front.into(), environment, limits, tls, open: Arc::default(), uses_tls })
    }

    /// Returns a server for another listener with the same limits and certificate.
    #[must_use]
    pub fn with_dispatcher(&self, front: impl Into<RequestDispatcher>) -> Self {
        Self { dispatcher: front.into(), open: Arc::default(), ..self.clone() }
    }

    /// Returns a server that uses plain HTTP even if a certificate is configured.
    #[must_use]
    pub fn without_tls(self) -> Self {
        Self { tls: None, ..self }
    }

    /// Returns the certificate, or `None` if the server uses plain HTTP.
    #[must_use]
    pub fn certificate(&self) -> Option<&ServerCertificate> {
        self.tls.as_ref().map(|(_, certificate)| certificate)
    }

    /// Returns a counter of the open connections, and their maximum number.
    pub(crate) fn connection_usage(&self) -> (Arc<AtomicUsize>, usize) {
        (Arc::clone(&self.open), self.limits.connections)
    }

    /// Serves requests until `until` completes. Then closes the listener and waits for running requests.
    pub async fn serve_until(self, listener: TcpListener, until: impl Future<Output = ()> + Send) {
        let room = Arc::new(Semaphore::new(self.limits.connections));
        let graceful = GracefulShutdown::new();
        let mut until = pin!(until);
        loop {
            // The permit is acquired before accepting. Connections that are not accepted wait in the queue of
            // the operating system, which is bounded.
            let next = async {
                let place = Arc::clone(&room).acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                next = next => next,
                () = &mut until => break,
            };
            let Ok((stream, address)) = accepted else {
                // Either no file descriptors are available, or the peer has closed the connection. The pause
                // lets other connections end.
                sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Some(share) = self.limits.acquire_share(PeerAddr(address.ip())) else {
                tracing::debug!("connection refused: the address has reached its limit");
                continue;
            };
            let (server, watcher) = (self.clone(), graceful.watcher());
            let open = OpenConnection::new(&self.open);
            tokio::spawn(async move {
                let _taken = (place, share, open);
                server.serve_connection(stream, address, watcher).await;
            });
        }
        drop(listener);
        if timeout(self.limits.shutdown, graceful.shutdown()).await.is_err() {
            tracing::warn!("shutdown timeout: closing busy connections");
        }
    }

    async fn serve_connection(
        self,
        stream: TcpStream,
        address: SocketAddr,
        watcher: hyper_util::server::graceful::Watcher,
    ) {
        // `TCP_NODELAY` sends small responses immediately. If setting it fails, they are only slower.
        let _ = stream.set_nodelay(true);
        match self.tls.clone() {
            None => self.serve_http(stream, address, watcher).await,
            Some((tls, _)) => {
                if let Ok(Ok(stream)) = timeout(self.limits.handshake, tls.accept(stream)).await {
                    self.serve_http(stream, address, watcher).await;
                }
            }
        }
    }

    async fn serve_http<S>(
        self,
        stream: S,
        address: SocketAddr,
        watcher: hyper_util::server::graceful::Watcher,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let limits = Arc::clone(&self.limits);
        let io = WriteTimeoutStream::new(TokioIo::new(stream), limits.write);
        let service = service_fn(move |request| {
            let server = self.clone();
            async move { server.answer_request(request, address).await }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // This timeout also limits the idle time of a connection.
            .header_read_timeout(limits.head)
            .max_header_size(limits.head_bytes.saturating_add(head::OVERSIZE_SLACK))
            .max_buf_size(limits.head_bytes.saturating_add(head::OVERSIZE_SLACK).max(8192))
            .auto_date_header(false)
            .serve_connection(io, service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended");
        }
    }

    async fn answer_request(
        self,
        request: Request<Incoming>,
        address: SocketAddr,
    ) -> Result<Response<Body>, CutConnection> {
        let (head, body) = request.into_parts();
        let error = head::check_head(&head, self.limits.head_bytes);
        let is_last = head::must_close(&head);
        // Most requests have no body and need no timeout for it.
        let body = if HttpBody::is_end_stream(&body) {
            Body::empty()
        } else {
            Body::new(TimedBody::new(body, self.limits.body))
        };
        let mut request = Request::from_parts(head, body);
        let peer = forwarded::client_address(request.headers(), address.ip(), self.limits.trusted_hops);
        request.extensions_mut().insert(PeerAddr(peer));
        let mut response = match error {
            Some(code) => gateway::reject_head(&request.into_parts().0, code, &self.environment),
            None => self.dispatcher.dispatch(request).await,
        };
        if let Some(cut) = response.extensions().get::<CutConnection>() {
            return Err(*cut);
        }
        if !response.headers().contains_key(header::DATE)
            && let Ok(date) = HeaderValue::from_str(&self.environment.now().http_date())
        {
            response.headers_mut().insert(header::DATE, date);
        }
        add_security_headers(response.headers_mut(), self.uses_tls);
        if is_last {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }
}

/// Among the extensions of a response: the server closes the connection instead of sending the response.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the connection was closed without a response")]
pub(crate) struct CutConnection;

/// An open connection, which is counted until this value is dropped.
struct OpenConnection(Arc<AtomicUsize>);

impl OpenConnection {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;

    use super::*;

    /// By default, connections from loopback addresses are not counted; all others are.
    #[test]
    fn loopback_connections_are_not_counted() {
        let share = |address: &str, limit: Option<usize>| {
            let mut config = Config::default();
            config.serve.connections_of_address = limit;
            let server = Server::new(Router::new(), &config, &Environment::system()).unwrap();
            server.limits.acquire_share(PeerAddr(address.parse().unwrap())).unwrap().is_some()
        };
        for address in ["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1"] {
            assert!(!share(address, None) && share(address, Some(1)), "{address}");
        }
        for address in ["192.0.2.1", "2001:db8::1", "::"] {
            assert!(share(address, None), "{address}");
        }
    }
}
