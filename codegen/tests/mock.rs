//! Tests of `contract-codegen mock` over a socket: address, responses, log and exit.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

#[path = "mock/live.rs"]
mod live;
#[path = "mock/proxy.rs"]
mod proxy;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use contract_codegen::{
    Project,
    mock::{MockServer, MockVerdict},
};
use contract_runtime::server::Bytes;
use http::{Request, StatusCode};
use serde_json::Value;

const PETS: &str = r"
openapi: 3.1.0
info: { title: Pets, version: '1' }
paths:
  /pets/{id}:
    get:
      operationId: readPet
      parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]
      responses:
        '200': { description: It., content: { application/json: { schema: { type: object }, examples: { no: { value: 1 }, cat: { value: { name: Tom } } } } } }
";

fn create_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mock-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pets.yaml"), PETS).unwrap();
    folder
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contract-codegen"));
    command.arg("mock").args(args).current_dir(folder).env("NO_COLOR", "1");
    command
}

fn run_command(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// A running mock server. It is killed when the test ends.
struct MockProcess {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl MockProcess {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = command(folder, args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends the signal of Ctrl-C and waits until the process ended successfully.
    fn interrupt(&mut self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for MockProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a GET request and returns the status line and the body.
fn send_get(address: &str, path: &str) -> (String, String) {
    send_raw(address, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
}

/// Sends raw request bytes and returns the status line and the body.
fn send_raw(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// Tests of a client can use the mock server without a socket.
#[test]
fn library_responds_without_a_socket() {
    let folder = create_folder("library");
    let project = Project { inputs: vec![folder.join("pets.yaml")], ..Project::default() };
    let mock = MockServer::from_project(project, 0).unwrap();
    let request = Request::get("/pets/7").header("prefer", "example=cat").body(Bytes::new()).unwrap();
    let response = mock.respond_to(request);
    assert_eq!(
        (response.status(), response.body().as_ref()),
        (StatusCode::OK, br#"{"name":"Tom"}"#.as_slice())
    );

    let rejected = mock.respond_to(Request::get("/pets/seven").body(Bytes::new()).unwrap());
    let verdict = rejected.extensions().get::<MockVerdict>().unwrap();
    assert_eq!(
        (verdict.violations[0].pointer.as_str(), verdict.violations[0].keyword.as_str()),
        ("/id", "type")
    );
}

/// The mock server validates requests against the contract that is also used in `client_runs.rs`.
#[test]
fn hangar_requests_are_validated() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/hangar/codegen.toml");
    let mock = MockServer::from_project(Project::from_config(&case).unwrap(), 0).unwrap();
    assert!(mock.review().without_value.is_empty(), "{:?}", mock.review());
    let ask = |uri: &str| {
        let request = Request::get(uri).header("authorization", "DPoP token").header("dpop", "proof");
        mock.respond_to(request.body(Bytes::new()).unwrap())
    };
    let page = ask("/ships/a/parts?type=t");
    let verdict = page.extensions().get::<MockVerdict>().unwrap();
    assert_eq!((page.status(), verdict.operation.as_deref()), (StatusCode::OK, Some("ships_read")));
    let page: Value = serde_json::from_slice(page.body()).unwrap();
    assert!(page["ships"].is_array(), "{page}");
    let rejected = ask("/ships/a/parts");
    let broken = &rejected.extensions().get::<MockVerdict>().unwrap().violations[0];
    assert_eq!(rejected.status(), StatusCode::BAD_REQUEST);
    assert_eq!(
        (broken.place, broken.pointer.as_str(), broken.keyword.as_str()),
        ("query", "/type", "required")
    );
}

#[test]
fn mock_prints_its_address_and_logs_requests() {
    let mut mock = MockProcess::start(&create_folder("people"), &["pets.yaml", "--port", "0"]);
    let line = mock.read_line();
    let address = line.strip_prefix("listening on ").and_then(|rest| rest.split_once(": ")).unwrap();
    assert_eq!(address.1, "1 operation of Pets 1; press Ctrl-C to stop", "{line}");
    let (status, body) = send_get(address.0, "/pets/7?key=secret");
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", r#"{"name":"Tom"}"#));
    // The query is not logged.
    assert_eq!(mock.read_line(), "200 GET /pets/7 readPet: example `cat`");
    assert_eq!(send_get(address.0, "/pets/x").0, "HTTP/1.1 400 Bad Request");
    assert_eq!(mock.read_line(), "400 GET /pets/x readPet: path /id must be an integer");
    // A body that is too large is rejected before it is received.
    let head = format!("host: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", 65 << 20);
    let (status, body) = send_raw(address.0, &format!("POST /pets HTTP/1.1\r\n{head}"));
    assert_eq!(status, "HTTP/1.1 413 Payload Too Large");
    assert!(body.contains("exceeds 64 MiB"), "{body}");
    assert!(mock.read_line().starts_with("413 POST /pets: "));
    assert_eq!(send_get(address.0, "/dogs").0, "HTTP/1.1 404 Not Found");
    assert!(mock.read_line().starts_with("404 GET /dogs: the contract has no path"));
    mock.interrupt();
    let mut stderr = String::new();
    mock.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(stderr.contains("examples that violate their own schema are not sent"), "{stderr}");
    assert!(stderr.contains("/examples/no/value: #: must be"), "{stderr}");
}

/// Returns a port that was free. `--quiet` prints no address.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits until the server at an address accepts connections.
fn wait_for(process: &mut MockProcess, address: &str) {
    while TcpStream::connect(address.strip_prefix("http://").unwrap()).is_err() {
        assert!(process.child.try_wait().unwrap().is_none(), "the server ended");
        std::thread::yield_now();
    }
}

/// `--quiet` prints neither the address nor valid requests, but requests with violations.
#[test]
fn quiet_mock_prints_violations_only() {
    let port = free_port().to_string();
    let mut mock = MockProcess::start(&create_folder("quiet"), &["pets.yaml", "--port", &port, "--quiet"]);
    let address = format!("http://127.0.0.1:{port}");
    wait_for(&mut mock, &address);
    assert_eq!(send_get(&address, "/pets/7").0, "HTTP/1.1 200 OK");
    assert_eq!(send_get(&address, "/pets/x").0, "HTTP/1.1 400 Bad Request");
    assert_eq!(mock.read_line(), "400 GET /pets/x readPet: path /id must be an integer");
    mock.interrupt();
    let (mut stdout, mut stderr) = (String::new(), String::new());
    mock.lines.read_to_string(&mut stdout).unwrap();
    mock.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", ""));
}

#[test]
fn json_output_has_one_object_per_line() {
    let mut mock = MockProcess::start(&create_folder("programs"), &["pets.yaml", "-p", "0", "--json"]);
    let mut object = || -> Value { serde_json::from_str(&mock.read_line()).unwrap() };
    let listening = object();
    assert_eq!(listening["listening"]["operations"], 1, "{listening}");
    let broken = object();
    assert_eq!(broken["broken-examples"].as_array().unwrap().len(), 1, "{broken}");
    let (status, body) = send_get(listening["listening"]["address"].as_str().unwrap(), "/pets/x");
    assert_eq!(status, "HTTP/1.1 400 Bad Request");
    let event = object();
    let request = &event["request"];
    assert_eq!((&request["operation"], &request["status"]), (&"readPet".into(), &400.into()), "{event}");
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(request["violations"], problem["violations"], "{event}");
    assert_eq!(problem["violations"][0]["pointer"], "/id");
}

#[test]
fn startup_errors_have_exit_codes() {
    let folder = create_folder("codes");
    let code = |args: &[&str]| {
        let output = run_command(&folder, args);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    fs::write(
        folder.join("plain.json"),
        r#"{"$id": "https://a.example/plain", "type": "object", "title": "Plain"}"#,
    )
    .unwrap();
    let (exit, stderr) = code(&["plain.json"]);
    assert!(exit == 2 && stderr.contains("no operations"), "{exit}: {stderr}");
    fs::write(folder.join("broken.yaml"), PETS.replace("type: integer", "type: whole")).unwrap();
    assert_eq!(code(&["broken.yaml", "--strict"]).0, 3);
    assert_eq!(code(&["pets.yaml", "--host", "nowhere"]).0, 2);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (exit, stderr) = code(&["pets.yaml", "--port", &port]);
    let expect = format!("cannot listen on 127.0.0.1, port {port}: ");
    assert!(exit == 4 && stderr.contains(&expect), "{exit}: {stderr}");
}
