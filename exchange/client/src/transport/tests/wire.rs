//! Tests over real sockets, for behavior that scripted responses cannot show.

use exchange_api::{
    operations::OperationId,
    runtime::transport::{Delivery, PartialBody, Transport as _, TransportFault},
};
use http::Request;

use super::super::network_transport;
use crate::testkit::{TcpServer, TcpStep};

/// Sends one request to a server that performs these steps. Returns the result, and the number of requests
/// that the server received.
async fn check(
    steps: impl Fn() -> Vec<TcpStep> + Send + Sync + 'static,
) -> (Result<u16, (TransportFault, Delivery)>, usize) {
    let server = TcpServer::start(move |_, _| steps()).await.unwrap();
    let request = Request::builder().method("POST").uri(format!("{}/exchange/v1", server.origin()));
    let request = request.header("DPoP", "p").body(bytes::Bytes::from_static(b"{}")).unwrap();
    let response =
        network_transport(1 << 20).unwrap().send(OperationId::BlueprintsWrite.operation(), request).await;
    let response = response.map(|response| response.status().as_u16());
    (response.map_err(|error| (error.fault(), error.delivery())), server.requests())
}

const LOST: (TransportFault, Delivery) = (TransportFault::Interrupted, Delivery::Unknown);

/// DPP-01, DPP-20: the network transport itself neither retries nor redirects a request, and it reports a
/// truncated response as an error.
#[tokio::test]
async fn network_transport_sends_once_and_reports_delivery() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let full = move || vec![TcpStep::write(head), TcpStep::write("Content-Length: 2\r\n\r\n{}")];
    assert_eq!(check(full).await, (Ok(200), 1));
    assert_eq!(check(|| vec![TcpStep::Reset]).await, (Err(LOST), 1));
    assert_eq!(check(|| vec![TcpStep::Close]).await, (Err(LOST), 1));
    let cut = move || {
        vec![TcpStep::write(head), TcpStep::write("Content-Length: 20\r\n\r\n{\"a\":"), TcpStep::Close]
    };
    assert_eq!(check(cut).await, (Err(LOST), 1));
    let cut = move || {
        vec![
            TcpStep::write(head),
            TcpStep::write("Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n"),
            TcpStep::Reset,
        ]
    };
    assert_eq!(check(cut).await, (Err(LOST), 1));
    assert_eq!(
        check(|| vec![TcpStep::write("\u{0}\u{1}garbage\r\n\r\n"), TcpStep::Close]).await,
        (Err(LOST), 1)
    );
    let redirect =
        || vec![TcpStep::write("HTTP/1.1 307 x\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")];
    assert_eq!(check(redirect).await, (Ok(307), 1));
}

/// CLI-02: the headers of an error response are returned even if its body is truncated or exceeds the size
/// limit.
#[tokio::test]
async fn error_response_is_returned_without_its_body() {
    let head = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3600\r\nDPoP-Nonce: n-1\r\n";
    let megabyte = bytes::Bytes::from(vec![b' '; 1 << 20]);
    let length = "Content-Length: 104857600\r\n\r\n";
    for more in [TcpStep::write("{\"code\":"), TcpStep::Repeat(megabyte, 100)] {
        let server = TcpServer::start(move |_, _| {
            vec![TcpStep::write(head), TcpStep::write(length), more.clone(), TcpStep::Close]
        });
        let server = server.await.unwrap();
        let request = Request::builder().uri(server.origin()).body(bytes::Bytes::new()).unwrap();
        let response = network_transport(1 << 20)
            .unwrap()
            .send(OperationId::OrgUnitsRead.operation(), request)
            .await
            .unwrap();
        assert_eq!((response.status().as_u16(), server.requests()), (503, 1));
        assert_eq!(
            (&response.headers()["Retry-After"], &response.headers()["DPoP-Nonce"]),
            (&"3600".parse().unwrap(), &"n-1".parse().unwrap())
        );
        assert!(response.extensions().get::<PartialBody>().is_some());
    }
}

/// An oversized body or head is read only up to the limit, and the request is not sent again.
#[tokio::test]
async fn oversized_response_is_not_read_further() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let megabyte = bytes::Bytes::from(vec![b' '; 1 << 20]);
    let huge = move || {
        let length = TcpStep::write("Content-Length: 104857600\r\n\r\n");
        vec![TcpStep::write(head), length, TcpStep::Repeat(megabyte.clone(), 100), TcpStep::Close]
    };
    assert_eq!(check(huge).await, (Err((TransportFault::TooLarge, Delivery::Unknown)), 1));
    let headers = || {
        let line = bytes::Bytes::from_static(b"X-Many: and many more\r\n");
        vec![
            TcpStep::write("HTTP/1.1 200 OK\r\n"),
            TcpStep::Repeat(line, 1_000_000),
            TcpStep::write("\r\n"),
            TcpStep::Close,
        ]
    };
    assert_eq!(check(headers).await, (Err((TransportFault::TooLarge, Delivery::Unknown)), 1));
}

/// The client does not request a compressed response, and does not decompress one.
#[tokio::test]
async fn compressed_response_is_not_decompressed() {
    let server = TcpServer::start(|_, request| {
        let accepts_encoding =
            String::from_utf8_lossy(request).to_ascii_lowercase().contains("accept-encoding");
        let status = if accepts_encoding { "500 no" } else { "200 OK" };
        vec![TcpStep::write(&format!(
            "HTTP/1.1 {status}\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"
        ))]
    });
    let server = server.await.unwrap();
    let request = Request::builder().uri(server.origin()).body(bytes::Bytes::new()).unwrap();
    let response =
        network_transport(10).unwrap().send(OperationId::OrgUnitsRead.operation(), request).await.unwrap();
    assert_eq!((response.status().as_u16(), &response.body()[..]), (200, &b"abc"[..]));
}

/// If no process listens on the port, the error reports that nothing was sent.
#[tokio::test]
async fn closed_port_is_a_connect_error() {
    let server = TcpServer::start(|_, _| vec![TcpStep::Close]).await.unwrap();
    let origin = server.origin().to_owned();
    drop(server);
    tokio::task::yield_now().await;
    let request = Request::builder().uri(origin).body(bytes::Bytes::new()).unwrap();
    let error = network_transport(10)
        .unwrap()
        .send(OperationId::OrgUnitsRead.operation(), request)
        .await
        .unwrap_err();
    assert_eq!((error.fault(), error.delivery()), (TransportFault::Connect, Delivery::NotSent));
}
