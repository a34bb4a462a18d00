//! The program in README.md, and a test that runs it with a server over TCP.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use tickets::{
    client::{Client, Error},
    runtime::{Contract as _, client::ReqwestTransport},
    types::Ticket,
};

async fn read_seat(address: &str) -> Result<i64, Box<dyn std::error::Error>> {
    let client = Client::new(address, ReqwestTransport::with_default_layers()?);
    let ticket = client.read_ticket("T-01").await?;
    println!("seat {}", ticket.seat);

    // The id is too short, so the client does not send the request.
    if let Err(Error::InvalidRequest(violations)) = client.read_ticket("T").await {
        println!("{violations}");
    }
    // Prints the pointer and the violated rule: there is no seat 700.
    if let Err(error) = Ticket::parse_valid(br#"{"seat": 700, "kind": "day"}"#) {
        println!("{error}");
    }
    Ok(ticket.seat)
}

/// The generated package of the program: its modules are those of the single file.
mod tickets {
    pub(super) use super::super::api::{client, types};
    pub(super) use contract_runtime as runtime;
}

#[tokio::test]
async fn client_calls_a_server_over_tcp() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = async {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(connection.read_u8().await.unwrap());
        }
        let body = r#"{"seat": 7, "fare": {"kind": "free"}}"#;
        let head = format!("content-type: application/json\r\ncontent-length: {}", body.len());
        let response = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        connection.write_all(response.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    };
    let (seat, request) = tokio::join!(read_seat(&address), server);
    assert_eq!(seat.unwrap(), 7);
    assert!(request.starts_with("GET /tickets/T-01 HTTP/1.1\r\n"), "{request}");
}
