//! Tests of `mock --proxy`: forwarded traffic, reported violations and the summary.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
    thread,
};

use serde_json::{Value, json};

use super::{MockProcess, create_folder, free_port, run_command, send_get, send_raw, wait_for};

/// A service on the loopback interface with one scripted response for each connection.
struct LiveService {
    url: String,
    /// The requests as they were received.
    requests: Receiver<String>,
}

impl LiveService {
    fn start(responses: Vec<&'static str>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/base/", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        // The thread ends after the last response.
        thread::spawn(move || {
            for response in responses {
                let (mut connection, _) = listener.accept().unwrap();
                sender.send(read_request(&connection)).unwrap();
                connection.write_all(response.as_bytes()).unwrap();
            }
        });
        Self { url, requests }
    }
}

/// Reads a request with its body, whose length is in `Content-Length`.
fn read_request(connection: &TcpStream) -> String {
    let mut reader = BufReader::new(connection);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut request).unwrap(), 0, "{request}");
    }
    let length = request.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    request + &String::from_utf8(body).unwrap()
}

/// Starts a proxy for a service and returns it with its address.
fn start_proxy(name: &str, url: &str, options: &[&str]) -> (MockProcess, String) {
    let args = [&["pets.yaml", "--port", "0", "--proxy", url], options].concat();
    let mut proxy = MockProcess::start(&create_folder(name), &args);
    let line = proxy.read_line();
    let address =
        line.split_once("http://").unwrap().1.split([':', '"']).take(2).collect::<Vec<_>>().join(":");
    (proxy, format!("http://{address}"))
}

/// Sends a request and returns the whole response.
fn send_whole(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn proxy_returns_responses_unchanged_and_reports_violations() {
    let service = LiveService::start(vec![
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-own: a\r\nx-own: b\r\ndate: today\r\nconnection: x-hop, close\r\nx-hop: 1\r\ncontent-length: 3\r\n\r\n[1]",
        "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ndate: today\r\ncontent-length: 4\r\nconnection: close\r\n\r\ngone",
        "HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\nno\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
    ]);
    let (mut proxy, address) = start_proxy("proxy", &service.url, &[]);
    let response = send_whole(
        &address,
        "GET /pets/x?key=s3cret HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer s3cret\r\nx-hop: 1\r\naccept-encoding: br\r\nconnection: close, x-hop\r\n\r\n",
    );
    assert_eq!(
        response,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-own: a\r\nx-own: b\r\ndate: today\r\ncontent-length: 3\r\nconnection: close\r\n\r\n[1]"
    );
    let forwarded = service.requests.recv().unwrap();
    let host = service.url.strip_prefix("http://").unwrap().strip_suffix("/base/").unwrap();
    assert_eq!(
        forwarded,
        format!(
            "GET /base/pets/x?key=s3cret HTTP/1.1\r\nauthorization: Bearer s3cret\r\nhost: {host}\r\n\r\n"
        )
    );
    assert_eq!(proxy.read_line(), "200 GET /pets/x readPet: request path /id must be an integer");
    assert_eq!(proxy.read_line(), "200 GET /pets/x readPet: response body must be an object");

    let close = "host: localhost\r\nconnection: close\r\n";
    let (status, body) = send_raw(&address, &format!("GET /pets/7 HTTP/1.1\r\n{close}\r\n"));
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 302 Found", "gone"));
    assert_eq!(proxy.read_line(), "302 GET /pets/7 readPet: response status 302 is not declared, only 200");

    // Undeclared methods and paths are forwarded with their bodies.
    let query = format!("QUERY /pets/7 HTTP/1.1\r\n{close}content-length: 6\r\n\r\nfilter");
    let (status, body) = send_raw(&address, &query);
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 404 Not Found", "2\r\nno\r\n0\r\n\r\n"));
    let forwarded: Vec<String> = service.requests.iter().take(2).collect();
    assert!(
        forwarded[1].starts_with("QUERY /base/pets/7 ") && forwarded[1].ends_with("\r\n\r\nfilter"),
        "{forwarded:?}"
    );
    assert_eq!(
        proxy.read_line(),
        "404 QUERY /pets/7: request method is not declared for this path, only GET, HEAD"
    );
    let (status, _) = send_raw(&address, &format!("GET /pets/8 HTTP/1.1\r\n{close}\r\n"));
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert_eq!(proxy.read_line(), "200 GET /pets/8 readPet: valid");

    proxy.interrupt();
    let mut summary = Vec::new();
    while let Some(line) = Some(proxy.read_line()).filter(|line| !line.is_empty()) {
        summary.push(line);
    }
    assert_eq!(
        summary,
        [
            "requests: 4; violations: 4; operations called: 1 of 1",
            "readPet: 3 requests, 3 violations",
            "  1 x request path /id must be an integer",
            "  1 x response body must be an object",
            "  1 x response status 302 is not declared, only 200",
            "not in the contract: 1 request, 1 violation",
            "  1 x request method is not declared for this path, only GET, HEAD",
        ]
    );
}

/// Streams are forwarded as they arrive: the client receives the first event while the service still sends.
#[test]
fn proxy_forwards_streams_before_their_end() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (mut proxy, address) = start_proxy("proxy-stream", &url, &["--json"]);
    let mut client = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    client.write_all(b"GET /pets/7 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let (mut service, _) = listener.accept().unwrap();
    read_request(&service);
    service
        .write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: 1\n\n",
        )
        .unwrap();
    let mut lines = BufReader::new(client).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "data: 1"));
    drop(service);
    assert!(lines.any(|line| line == "0"));
    let event: Value = serde_json::from_str(&proxy.read_line()).unwrap();
    assert_eq!(event["exchange"]["status"], 200, "{event}");
    assert_eq!(event["exchange"]["violations"][0]["side"], "response", "{event}");
    assert_eq!(event["exchange"]["violations"][0]["pointer"], "/content-type", "{event}");
}

#[test]
fn proxy_reports_an_unavailable_service() {
    let unused = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let (mut proxy, address) = start_proxy("proxy-down", &url, &["--json"]);
    let (status, body) =
        send_raw(&address, "GET /pets/x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    assert_eq!(status, "HTTP/1.1 502 Bad Gateway");
    assert!(body.contains(&format!("no response from {url}")), "{body}");
    let event: Value = serde_json::from_str(&proxy.read_line()).unwrap();
    let exchange = &event["exchange"];
    assert_eq!(
        (&exchange["status"], &exchange["violations"][0]["in"]),
        (&json!(502), &json!("path")),
        "{event}"
    );
    assert!(exchange["failure"].as_str().unwrap().starts_with("no response from"), "{event}");
    // A request with a body that was not received is not validated.
    let head = format!("host: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", 65 << 20);
    let (status, _) = send_raw(&address, &format!("GET /pets/x HTTP/1.1\r\n{head}"));
    assert_eq!(status, "HTTP/1.1 413 Payload Too Large");
    let event: Value = serde_json::from_str(&proxy.read_line()).unwrap();
    assert_eq!(
        (&event["exchange"]["status"], &event["exchange"]["violations"]),
        (&json!(413), &json!([])),
        "{event}"
    );
    proxy.interrupt();
    let summary: Value = serde_json::from_str(&proxy.read_line()).unwrap();
    assert_eq!(summary["summary"]["operations"]["readPet"]["requests"], 1, "{summary}");
    assert_eq!(summary["summary"]["never-called"], json!([]), "{summary}");
}

#[test]
fn invalid_proxy_urls_are_usage_errors() {
    let folder = create_folder("proxy-urls");
    for url in [
        "localhost:1",
        "ftp://a.example",
        "http://user:s3cret@a.example",
        "https://a.example?k=s3cret",
        "/v1",
    ] {
        let output = run_command(&folder, &["pets.yaml", "--proxy", url]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{url}: {stderr}");
        assert!(stderr.contains("the URL of the service") && !stderr.contains("s3cret"), "{url}: {stderr}");
    }
}

/// `--quiet` prints only exchanges with violations or without a response, and the summary at the end.
#[test]
fn quiet_proxy_prints_violations_only() {
    let service = LiveService::start(vec![
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 3\r\n\r\n[1]",
    ]);
    let port = free_port().to_string();
    let args = ["pets.yaml", "--port", &port, "--quiet", "--proxy", &service.url];
    let mut proxy = MockProcess::start(&create_folder("proxy-quiet"), &args);
    let address = format!("http://127.0.0.1:{port}");
    wait_for(&mut proxy, &address);
    assert_eq!(send_get(&address, "/pets/7").0, "HTTP/1.1 200 OK");
    assert_eq!(send_get(&address, "/pets/8").0, "HTTP/1.1 200 OK");
    let line = proxy.read_line();
    assert!(line.starts_with("200 GET /pets/8 readPet: response body"), "{line}");
    proxy.interrupt();
    let mut rest = String::new();
    proxy.lines.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("/pets/7 readPet: valid"), "{rest}");
}
