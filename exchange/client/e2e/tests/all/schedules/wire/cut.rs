//! The page of a proxy whose connection ends in the middle. It is read by the real network transport.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::LazyLock,
    thread,
    time::Duration,
};

use bytes::Bytes;
use exchange_client::api::{
    Transport as _, TransportError,
    runtime::{client::ReqwestTransport, operation::Operation},
};
use http::{Request, Response};

/// The origin of the server, which all schedules of this process share.
static ORIGIN: LazyLock<String> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve_connection(stream));
        }
    });
    origin
});

/// The shared transport. The server closes each connection, so no connection belongs to the runtime of a
/// schedule.
static TRANSPORT: LazyLock<ReqwestTransport> = LazyLock::new(|| ReqwestTransport::new().unwrap());

/// Returns the result of reading `503 Service Unavailable` with `Retry-After` and an incomplete body.
pub(super) async fn page(
    operation: &'static Operation,
    wait: Duration,
) -> Result<Response<Bytes>, TransportError> {
    let request = Request::get(format!("{}/{}", *ORIGIN, wait.as_secs())).body(Bytes::new()).unwrap();
    TRANSPORT.send(operation, request).await
}

/// Reads the complete request and writes the incomplete response, so that only the end of the body is
/// missing.
fn serve_connection(mut stream: TcpStream) {
    let (mut request, mut bytes) = (Vec::new(), [0; 4096]);
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => request.extend_from_slice(&bytes[..read]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&request);
    let seconds = text.split([' ', '/']).find(|word| word.parse::<u64>().is_ok()).unwrap_or("0");
    let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\nContent-Length: 16";
    // A client that has closed the connection is not an error of the server.
    let _ = write!(stream, "{head}\r\nRetry-After: {seconds}\r\n\r\n<h1>Not");
}
