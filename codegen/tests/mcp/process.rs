//! Tests of the protocol with the command as a process, and a scripted service.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Barrier, Mutex, mpsc},
    thread,
};

use serde_json::{Value, json};

const SECRET: &str = "s3cret-value";

const TRAINS: &str = r"
openapi: 3.1.0
info: { title: Trains, version: '3', description: All trains. }
servers: [{ url: '{server}' }]
security: [{ bearer: [] }]
paths:
  /trains:
    get:
      operationId: listTrains
      tags: [read]
      summary: All trains
      parameters: [{ name: limit, in: query, schema: { type: integer, maximum: 50 } }]
      responses: { '200': { description: it, content: { application/json: { schema: { type: object, properties: { trains: { type: array, items: { type: string } } } } } } } }
    post:
      operationId: addTrain
      requestBody: { required: true, content: { application/json: { schema: { type: object, required: [name], properties: { name: { type: string } } } } } }
      responses: { '201': { description: done } }
  /trains/{id}:
    get:
      operationId: readTrain
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses: { '200': { description: it, content: { text/plain: { schema: { type: string } } } } }
  /key: { get: { operationId: readKey, security: [{ apiKey: [] }], responses: { '204': { description: it } } } }
  /basic: { get: { operationId: readBasic, security: [{ person: [] }], responses: { '204': { description: it } } } }
  /oauth: { get: { operationId: readOauth, security: [{ oauth: [read, list] }], responses: { '204': { description: it } } } }
  /events: { get: { operationId: readEvents, security: [], responses: { '200': { description: it, content: { text/event-stream: { itemSchema: { type: object } } } } } } }
components:
  securitySchemes:
    bearer: { type: http, scheme: bearer }
    apiKey: { type: apiKey, in: query, name: key }
    person: { type: http, scheme: basic }
    oauth: { type: oauth2, flows: { clientCredentials: { tokenUrl: '{server}/token', scopes: { read: r, list: l } } } }
";

/// A request that the service received: the first line, `Authorization`, and the body.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Received {
    line: String,
    authorization: String,
    body: String,
}

type Script = Arc<dyn Fn(&Received, &mut TcpStream) + Send + Sync>;

/// A service that records requests.
struct Service {
    address: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Service {
    fn start(script: impl Fn(&Received, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let script: Script = Arc::new(script);
        let recorded = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, recorded) = (Arc::clone(&script), Arc::clone(&recorded));
                thread::spawn(move || serve_connection(stream.unwrap(), &script, &recorded));
            }
        });
        Self { address, received }
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

fn serve_connection(mut stream: TcpStream, script: &Script, recorded: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let request = Received {
            line: line.trim_end().trim_end_matches(" HTTP/1.1").to_owned(),
            authorization: headers.get("authorization").cloned().unwrap_or_default(),
            body: String::from_utf8(body).unwrap(),
        };
        recorded.lock().unwrap().push(request.clone());
        script(&request, &mut stream);
    }
}

/// Writes a complete response.
fn respond(stream: &mut TcpStream, status: &str, media_type: &str, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n");
    // The client may have closed the connection.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn respond_by_default(_: &Received, stream: &mut TcpStream) {
    respond(stream, "200 OK", "application/json", "{\"trains\":[\"a\"]}");
}

/// A running command with a session.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    output: String,
    last_id: u64,
}

fn write_contract(name: &str, server: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mcp-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("trains.yaml"), TRAINS.replace("{server}", server)).unwrap();
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contract-codegen"));
    command.args(["mcp", "trains.yaml"]).args(arguments).current_dir(folder).env("NO_COLOR", "1");
    for name in ["BEARER_TOKEN", "API_KEY", "PERSON_USERNAME", "PERSON_PASSWORD", "OAUTH_TOKEN"] {
        command.env_remove(name);
    }
    command
}

impl Session {
    /// Starts the command with a bearer token, and initializes the session.
    fn start(name: &str, service: &Service, arguments: &[&str]) -> Self {
        let mut command = command(&write_contract(name, &service.address), arguments);
        Self::spawn(command.env("BEARER_TOKEN", SECRET))
    }

    fn spawn(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut session = Self { child, input, lines, output: String::new(), last_id: 0 };
        let client = json!({ "name": "test", "version": "1" });
        let parameters = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let initialized = session.request("initialize", &parameters);
        assert_eq!(initialized["serverInfo"]["title"], "Trains", "{initialized}");
        assert!(initialized["instructions"].as_str().unwrap().contains("All trains."), "{initialized}");
        session.notify("notifications/initialized", &json!({}));
        session
    }

    fn write_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn notify(&mut self, method: &str, parameters: &Value) {
        self.write_line(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }).to_string());
    }

    fn send(&mut self, method: &str, parameters: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
        self.write_line(&message.to_string());
        id
    }

    fn send_call(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.send("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Reads the next message.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        self.output += &line;
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn request(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.send(method, parameters);
        let response = self.read();
        assert_eq!(response["id"], id, "{response}");
        response["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    fn call_text(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        let blocks = result["content"].as_array().unwrap();
        blocks.iter().map(|block| block["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n---\n")
    }

    /// Ends the input. Returns the exit code and all output after the session started.
    fn end(mut self) -> (i32, String) {
        self.input = None;
        let mut output = std::mem::take(&mut self.output);
        self.lines.read_to_string(&mut output).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut output).unwrap();
        (self.child.wait().unwrap().code().unwrap(), output)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn tools_are_listed_and_called() {
    let service = Service::start(respond_by_default);
    let mut session = Session::start("call", &service, &[]);
    let tools = session.request("tools/list", &json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = ["list_trains", "read_train", "read_key", "read_basic", "read_oauth", "read_events"];
    assert_eq!(names, expected);
    let result = session.call("list_trains", &json!({ "limit": 5 }));
    assert_eq!(result["structuredContent"], json!({ "trains": ["a"] }), "{result}");
    assert!(session.call_text("list_trains", &json!({ "limit": 51 })).contains("/limit must be at most 50"));
    assert!(session.call_text("add_train", &json!({ "body": { "name": "x" } })).contains("--allow-writes"));
    let id = session.send_call("add_plane", &json!({}));
    let response = session.read();
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(id), &json!(-32602)), "{response}");
    // Invalid and refused calls are not sent.
    let authorization = format!("Bearer {SECRET}");
    let expected = Received { line: "GET /trains?limit=5".to_owned(), authorization, body: String::new() };
    assert_eq!(service.received(), [expected]);
    let (code, output) = session.end();
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("serving 6 tools of Trains 3"), "{output}");
    assert!(!output.contains(SECRET), "{output}");
}

#[test]
fn writes_are_sent_with_the_option() {
    let service = Service::start(|_, stream| respond(stream, "201 Created", "text/plain", ""));
    let mut session = Session::start("writes", &service, &["--allow-writes", "--operation", "addTrain"]);
    assert_eq!(session.call_text("add_train", &json!({ "body": { "name": "x" } })), "Status 201 Created");
    assert_eq!(service.received()[0].body, "{\"name\":\"x\"}");
    // The selection excludes the other operations.
    let id = session.send_call("list_trains", &json!({}));
    assert_eq!(session.read()["error"]["code"], -32602, "{id}");
}

/// Each kind of credential comes from its variables. No output contains it, also not if the service is unavailable.
#[test]
fn credentials_come_from_the_environment() {
    let service = Service::start(|request, stream| match request.line.as_str() {
        "POST /token" => {
            respond(
                stream,
                "200 OK",
                "application/json",
                "{\"access_token\":\"tok\",\"token_type\":\"Bearer\"}",
            );
        }
        _ => respond(stream, "401 Unauthorized", "text/plain", "no"),
    });
    let mut command = command(&write_contract("credentials", &service.address), &[]);
    command.env("API_KEY", SECRET).env("PERSON_USERNAME", "mia").env("PERSON_PASSWORD", SECRET);
    command.env("OAUTH_CLIENT_ID", "me").env("OAUTH_CLIENT_SECRET", SECRET);
    let mut session = Session::spawn(&mut command);
    for tool in ["read_key", "read_basic", "read_oauth"] {
        assert_eq!(session.call_text(tool, &json!({})), "Status 401 Unauthorized\n---\nno");
    }
    let text = session.call_text("list_trains", &json!({}));
    assert!(text.contains("not set: `bearer`") && text.contains("BEARER_TOKEN"), "{text}");
    let received = service.received();
    let sent: Vec<(&str, &str)> =
        received.iter().map(|request| (request.line.as_str(), request.authorization.as_str())).collect();
    assert_eq!(sent[0], ("GET /key?key=s3cret-value", ""));
    assert_eq!(sent[1].0, "GET /basic");
    assert!(sent[1].1.starts_with("Basic bWlhOnMz"), "{sent:?}");
    assert_eq!(sent[2].0, "POST /token");
    assert!(
        received[2].body.contains("scope=list+read") || received[2].body.contains("scope=list%20read"),
        "{received:?}"
    );
    assert_eq!(sent[3], ("GET /oauth", "Bearer tok"));
    let (code, output) = session.end();
    assert_eq!(code, 0);
    assert!(
        output.contains("no credential for `bearer`, which 2 tools may need: set BEARER_TOKEN"),
        "{output}"
    );
    assert!(!output.contains(SECRET), "{output}");
}

#[test]
fn calls_run_concurrently() {
    let barrier = Arc::new(Barrier::new(2));
    // Each response waits for the other request.
    let service = Service::start(move |request, stream| {
        barrier.wait();
        respond(stream, "200 OK", "text/plain", &request.line);
    });
    let mut session = Session::start("concurrent", &service, &[]);
    let first = session.send_call("read_train", &json!({ "id": "a" }));
    let second = session.send_call("read_train", &json!({ "id": "b" }));
    let mut answered: Vec<(u64, String)> = (0..2)
        .map(|_| {
            let response = session.read();
            let text = response["result"]["content"][0]["text"].as_str().unwrap().to_owned();
            (response["id"].as_u64().unwrap(), text)
        })
        .collect();
    answered.sort();
    assert_eq!(answered, [(first, "GET /trains/a".to_owned()), (second, "GET /trains/b".to_owned())]);
}

/// A cancelled call has no response, and its request ends.
#[test]
fn cancelled_calls_end_their_request() {
    let (ended, is_ended) = mpsc::channel();
    let (arrived, is_arrived) = mpsc::channel();
    let (ended, arrived) = (Mutex::new(ended), Mutex::new(arrived));
    let service = Service::start(move |request, stream| {
        if request.line == "GET /trains/never" {
            arrived.lock().unwrap().send(()).unwrap();
            let closed = stream.read(&mut [0]).unwrap_or(0);
            ended.lock().unwrap().send(closed).unwrap();
        } else {
            respond(stream, "200 OK", "text/plain", "hi");
        }
    });
    let mut session = Session::start("cancel", &service, &[]);
    let id = session.send_call("read_train", &json!({ "id": "never" }));
    is_arrived.recv().unwrap();
    session.notify("notifications/cancelled", &json!({ "requestId": id, "reason": "enough" }));
    assert_eq!(is_ended.recv().unwrap(), 0);
    assert_eq!(session.call_text("read_train", &json!({ "id": "a" })), "hi");
    let (code, output) = session.end();
    assert_eq!(code, 0);
    assert!(!output.contains(&format!("\"id\":{id},")), "{output}");
}

#[test]
fn invalid_lines_do_not_end_the_session() {
    let service = Service::start(respond_by_default);
    let mut session = Session::start("invalid", &service, &[]);
    for line in ["{", "null", "", "{\"jsonrpc\":\"2.0\"}"] {
        session.write_line(line);
    }
    let id = session.send_call("list_trains", &json!({}));
    let mut response = session.read();
    while response["id"] != id {
        assert!(response["error"].is_object(), "{response}");
        response = session.read();
    }
    assert_eq!(response["result"]["isError"], false, "{response}");
    assert_eq!(session.end().0, 0);
}

#[test]
fn redirects_are_not_followed() {
    let service = Service::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 302 Found\r\nlocation: /trains/b\r\ncontent-length: 0\r\n\r\n");
    });
    let mut session = Session::start("redirect", &service, &[]);
    let text = session.call_text("read_train", &json!({ "id": "a" }));
    assert!(text.starts_with("Status 302 Found\nlocation: /trains/b"), "{text}");
    assert_eq!(service.received().len(), 1);
}

/// A stream without an end is cut at the limit.
#[test]
fn streams_end_at_the_limit() {
    let service = Service::start(|_, stream| {
        let events = "data: 1\n\n".repeat(20);
        let _ = stream.write_all(
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{events}").as_bytes(),
        );
        // The connection stays open until the client closes it.
        let _ = stream.read(&mut [0]);
    });
    let mut session = Session::start("stream", &service, &["--max-response-bytes", "30"]);
    let text = session.call_text("read_events", &json!({}));
    let expected =
        "data: 1\n\ndata: 1\n\ndata: 1\n\ndat\n---\nThe response is incomplete: this is its beginning.";
    assert_eq!(text, expected);
}

#[test]
fn unavailable_services_are_errors_of_the_call() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut command = command(&write_contract("unavailable", &address), &["--allow-writes"]);
    let mut session = Session::spawn(command.env("BEARER_TOKEN", SECRET));
    let text = session.call_text("add_train", &json!({ "body": { "name": "x" } }));
    assert!(text.starts_with("The call failed: cannot connect to 127.0.0.1:"), "{text}");
    assert!(!text.contains("may have been processed"), "{text}");
}

#[test]
fn end_of_input_before_the_session_is_a_success() {
    let folder = write_contract("silent", "https://a.example");
    let output = command(&folder, &["--server", "http://127.0.0.1:1"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]), "{output:?}");
}

#[test]
fn list_shows_tools_and_variables_without_values() {
    let folder = write_contract("list", "https://a.example");
    let list = |arguments: &[&str]| {
        let output = command(&folder, arguments).env("BEARER_TOKEN", SECRET).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = list(&["--list", "--tag", "read"]);
    let expected = "list_trains  GET /trains — All trains\ncredential `bearer`: BEARER_TOKEN (set)\n";
    assert_eq!(text, expected);
    let text = list(&["--list"]);
    for line in [
        "not served without `--allow-writes`: 1 operation",
        "credential `apiKey`: API_KEY (not set)",
        "credential `person`: PERSON_USERNAME and PERSON_PASSWORD (not set)",
        "credential `oauth`: OAUTH_TOKEN, or OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET (not set)",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let summary: Value = serde_json::from_str(list(&["--list", "--json"]).lines().last().unwrap()).unwrap();
    assert_eq!(summary["summary"]["tools"][0]["name"], "list_trains");
    assert!(!summary.to_string().contains(SECRET));
}

#[test]
fn startup_errors_have_exit_codes() {
    let folder = write_contract("codes", "http://trains.example");
    fs::write(folder.join("plain.json"), r#"{"$id": "https://a.example/plain", "title": "Plain"}"#).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contract-codegen"));
        let output =
            command.arg("mcp").args(arguments).current_dir(&folder).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8([output.stderr, output.stdout].concat()).unwrap();
        (output.status.code().unwrap(), text)
    };
    for (arguments, code, message) in [
        (&["trains.yaml"][..], 2, "`http:` is allowed only for this machine, not for trains.example"),
        (&["trains.yaml", "--server", "http://10.0.0.1"], 2, "`http:` is allowed only for this machine"),
        (&["trains.yaml", "--server", "trains"], 2, "the URL of the service"),
        (&["-"], 2, "standard input is used by the protocol"),
        (&["trains.yaml", "--json"], 2, "standard output is used by the protocol"),
        (&["plain.json"], 2, "`mcp` requires an OpenAPI document"),
        (&["trains.yaml", "--operation", "addTrain"], 2, "use `--allow-writes` to serve them"),
        (&["missing.yaml"], 4, "cannot read missing.yaml"),
    ] {
        let (exit, text) = run(arguments);
        assert!(exit == code && text.contains(message), "{arguments:?}: {exit}: {text}");
    }
}

/// A line that is no valid request gets an error response and a log line, and the session continues.
#[test]
fn invalid_lines_have_error_responses() {
    let service = Service::start(|_, stream| respond(stream, "200 OK", "application/json", "{}"));
    let mut session = Session::start("lines", &service, &[]);
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"name":"list_trains","arguments":{arguments}}}}}"#
        )
    };
    let deep = format!("{}{}", "[".repeat(125), "]".repeat(125));
    let long = format!("\"{}\"", "x".repeat(17 << 20));
    for (line, code, id) in [
        (call(r#"{"limit":1e400}"#), -32700, json!(77)),
        (call(r#"{"limit":"\ud800"}"#), -32700, json!(77)),
        (call(&format!(r#"{{"limit":{deep}}}"#)), -32700, json!(77)),
        (call(&format!(r#"{{"limit":{long}}}"#)), -32600, json!(77)),
        (call(r#""text""#), -32602, json!(77)),
        ("no json".to_owned(), -32700, Value::Null),
        ("[]".to_owned(), -32600, Value::Null),
    ] {
        session.write_line(&line);
        let response = session.read();
        let start = &line[..line.len().min(120)];
        assert_eq!((&response["error"]["code"], &response["id"]), (&json!(code), &id), "{start}: {response}");
    }
    let listed = session.request("tools/list", &json!({}));
    assert!(listed["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{listed}");
    assert!(service.received().is_empty());
    let (code, log) = session.end();
    assert_eq!((code, log.matches("rejected a message: ").count()), (0, 7), "{log}");
}

/// A long list of tools has several pages.
#[test]
fn tools_are_listed_in_pages() {
    let folder = write_contract("pages", "https://trains.example");
    let filler = "An operation with a long description. ".repeat(50);
    let paths = (0..200).map(|at| {
        let responses = "responses: { '204': { description: it } }";
        format!(
            "  /trains/{at}: {{ get: {{ operationId: train{at}, description: '{filler}', {responses} }} }}\n"
        )
    });
    let head = "openapi: 3.1.0\ninfo: { title: Trains, version: '3', description: All trains. }\n";
    let text = format!(
        "{head}servers: [{{ url: 'https://trains.example' }}]\npaths:\n{}",
        paths.collect::<String>()
    );
    fs::write(folder.join("trains.yaml"), text).unwrap();
    let mut session = Session::spawn(&mut command(&folder, &[]));
    let mut names = Vec::new();
    let mut parameters = json!({});
    let mut pages = 0;
    loop {
        let page = session.request("tools/list", &parameters);
        let tools = page["tools"].as_array().unwrap();
        assert!(!tools.is_empty() && page.to_string().len() < 140 << 10);
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        pages += 1;
        match page["nextCursor"].as_str() {
            Some(cursor) => parameters = json!({ "cursor": cursor }),
            None => break,
        }
    }
    assert!(pages > 1, "{pages}");
    let all: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!((names.len(), all.len()), (200, 200));
    session.send("tools/list", &json!({ "cursor": "x" }));
    assert_eq!(session.read()["error"]["code"], -32602);
}
