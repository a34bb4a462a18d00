//! Connections that a server upgrades to another protocol with status `101` (RFC 9110, 7.8).

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;

use super::to_transport_error;
use crate::transport::{Delivery, TransportError, TransportFault};

/// The connection of a response with status `101`. [`ReqwestTransport`](super::ReqwestTransport) adds it to the
/// extensions of the response.
#[derive(Clone)]
pub struct ReqwestUpgrade(Arc<Mutex<Option<reqwest::Response>>>);

/// Returns the head of a response with status `101`, with the connection among its extensions.
pub(super) fn upgraded_response<B: From<Bytes>>(response: reqwest::Response) -> http::Response<B> {
    let mut head = http::Response::new(B::from(Bytes::new()));
    *head.status_mut() = response.status();
    *head.headers_mut() = response.headers().clone();
    head.extensions_mut().insert(ReqwestUpgrade(Arc::new(Mutex::new(Some(response)))));
    head
}

impl ReqwestUpgrade {
    /// Takes the connection, for reading and writing in the other protocol. Returns `None` if it was already
    /// taken, also from a clone of this value.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn connect(&self) -> Result<Option<reqwest::Upgraded>, TransportError> {
        let response = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(response) = response else { return Ok(None) };
        let upgraded = response.upgrade().await;
        upgraded
            .map(Some)
            .map_err(|error| to_transport_error(error, TransportFault::Interrupted, Delivery::Unknown))
    }
}

impl fmt::Debug for ReqwestUpgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestUpgrade").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        io::{Read as _, Write as _},
        net::TcpListener,
        pin::Pin,
        thread,
    };

    use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

    use super::*;
    use crate::{client::ReqwestTransport, operation::Operation, transport::Transport as _};

    /// After `101`, the caller owns the connection and exchanges bytes with the server.
    #[tokio::test]
    async fn upgraded_connections_are_passed_to_the_caller() {
        let transport = ReqwestTransport::from_client(reqwest::Client::new());
        check_upgrade(async |request| {
            let response = transport.send(&Operation::EMPTY, request).await.unwrap();
            response.map(drop)
        })
        .await;
        #[cfg(feature = "stream")]
        check_upgrade(async |request| {
            use crate::transport::{RequestBody, StreamTransport as _};

            let request = request.map(RequestBody::Buffered);
            let response = transport.open_stream(&Operation::EMPTY, request).await.unwrap();
            response.map(drop)
        })
        .await;
    }

    async fn check_upgrade(send: impl AsyncFnOnce(http::Request<Bytes>) -> http::Response<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            let mut received = [0; 4];
            stream.read_exact(&mut received).unwrap();
            stream.write_all(&received).unwrap();
        });
        let request = http::Request::get(uri)
            .header("connection", "upgrade")
            .header("upgrade", "echo")
            .body(Bytes::new())
            .unwrap();
        let response = send(request).await;
        assert_eq!(
            (response.status().as_u16(), response.headers()["upgrade"].as_bytes()),
            (101, &b"echo"[..])
        );
        let upgrade = response.extensions().get::<ReqwestUpgrade>().unwrap();
        let mut connection = upgrade.connect().await.unwrap().unwrap();
        assert!(upgrade.clone().connect().await.unwrap().is_none());
        let written = poll_fn(|context| Pin::new(&mut connection).poll_write(context, b"ping")).await;
        assert_eq!(written.unwrap(), 4);
        poll_fn(|context| Pin::new(&mut connection).poll_flush(context)).await.unwrap();
        let mut buffer = [0; 4];
        let mut received = ReadBuf::new(&mut buffer);
        while received.remaining() > 0 {
            poll_fn(|context| Pin::new(&mut connection).poll_read(context, &mut received)).await.unwrap();
        }
        assert_eq!(received.filled(), b"ping");
        server.join().unwrap();
    }
}
