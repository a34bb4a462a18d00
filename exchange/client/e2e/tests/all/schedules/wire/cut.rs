//! A proxy page whose connection ends in the middle, read by the real transport of programs.

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

/// The address of the server, shared by all schedules of this process.
static ORIGIN: LazyLock<String> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    origin
});

/// Connections are not reused, so that they belong to no runtime.
static TRANSPORT: LazyLock<ReqwestTransport> = LazyLock::new(|| ReqwestTransport::new().unwrap());

/// Returns the result of `503 Service Unavailable` with `Retry-After` and half a body.
pub(super) async fn page(
    operation: &'static Operation,
    wait: Duration,
) -> Result<Response<Bytes>, TransportError> {
    let request = Request::get(format!("{}/{}", *ORIGIN, wait.as_secs())).body(Bytes::new()).unwrap();
    TRANSPORT.send(operation, request).await
}

/// Reads the complete request, so that the client only misses the end of the body.
fn answer(mut stream: TcpStream) {
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
    // A client that closed the connection is no error of the server.
    let _ = write!(stream, "{head}\r\nRetry-After: {seconds}\r\n\r\n<h1>Not");
}
