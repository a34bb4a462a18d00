//! A minimal HTTP/1.1 client on a kept-alive connection: requests are bytes, and responses are parsed only as
//! far as necessary.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// The maximum number of response headers.
const HEADERS: usize = 32;

/// A kept-alive connection.
pub(crate) struct HttpConnection {
    stream: TcpStream,
    /// The received bytes that are not parsed yet.
    buffer: Vec<u8>,
}

/// The parsed parts of a response.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedResponse {
    pub(crate) status: u16,
    pub(crate) nonce: Option<String>,
    /// The size of head and body in bytes.
    pub(crate) bytes: usize,
    /// The beginning of the body of an error response.
    pub(crate) error_excerpt: String,
    /// The body, if it was requested.
    pub(crate) body: Vec<u8>,
}

impl HttpConnection {
    /// Opens a connection.
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        Self::from_stream(TcpStream::connect(address).await?)
    }

    /// Opens a connection from another address of this machine.
    pub(crate) async fn open_from(source: Ipv4Addr, address: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((source, 0).into())?;
        Self::from_stream(socket.connect(address).await?)
    }

    fn from_stream(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(4096) })
    }

    /// Sends a request and waits for the complete response.
    pub(crate) async fn call(&mut self, request: &[u8]) -> io::Result<ReceivedResponse> {
        self.send_request(request, false).await
    }

    /// Sends a request and returns the response with its body.
    pub(crate) async fn fetch(&mut self, request: &[u8]) -> io::Result<ReceivedResponse> {
        self.send_request(request, true).await
    }

    async fn send_request(&mut self, request: &[u8], with_body: bool) -> io::Result<ReceivedResponse> {
        self.stream.write_all(request).await?;
        loop {
            if let Some(response) = self.parse_response(with_body)? {
                return Ok(response);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Parses the response if it is complete, and returns `None` otherwise.
    fn parse_response(&mut self, with_body: bool) -> io::Result<Option<ReceivedResponse>> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let parsed = head.parse(&self.buffer).map_err(|error| io::Error::other(error.to_string()))?;
        let httparse::Status::Complete(length) = parsed else { return Ok(None) };
        let find = |name: &str| {
            let header = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(header.value).ok()
        };
        let status = head.code.unwrap_or(0);
        let body = find("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let bytes = length + body;
        let Some(body) = self.buffer.get(length..bytes) else { return Ok(None) };
        let error_excerpt = match status {
            200..=299 => String::new(),
            _ => String::from_utf8_lossy(body.get(..300).unwrap_or(body)).into_owned(),
        };
        let nonce = find("dpop-nonce").map(str::to_owned);
        let body = if with_body { body.to_vec() } else { Vec::new() };
        let response = ReceivedResponse { status, nonce, bytes, error_excerpt, body };
        self.buffer.drain(..bytes);
        Ok(Some(response))
    }
}
