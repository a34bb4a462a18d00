//! Tests of the command of the case `command_line`, both in this process and as a package that cargo builds,
//! with a server that returns scripted responses.

#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[rustfmt::skip]
#[path = "cases/command_line/expected/cli.rs"]
pub mod cli;
#[rustfmt::skip]
#[path = "cases/command_line/expected/credentials.rs"]
pub mod credentials;
#[rustfmt::skip]
#[path = "cases/command_line/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "cases/command_line/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "cases/command_line/expected/security_requirements.rs"]
pub mod security_requirements;

use std::{
    fs,
    io::{Cursor, Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::JoinHandle,
    time::SystemTime,
};

use contract_codegen::Project;
use contract_runtime::{
    cli::{CliExit, ProcessContext},
    client::ReqwestTransport,
};

/// Starts a server that accepts one connection for each response. The thread returns the received requests.
fn serve(responses: Vec<&'static str>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server_thread = std::thread::spawn(move || {
        let respond = |response: &str| {
            let (mut connection, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !is_whole(&request) {
                let mut piece = [0; 4096];
                let read = connection.read(&mut piece).unwrap();
                request.extend_from_slice(&piece[..read]);
            }
            connection.write_all(response.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        };
        responses.into_iter().map(respond).collect()
    });
    (address, server_thread)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

const TICKET: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 26\r\nconnection: close\r\n\r\n\
     {\"seat\":7,\"class\":\"first\"}";
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 16\r\n\
     connection: close\r\n\r\n{\"title\":\"None\"}";
const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
     data: {\"title\":\"a\"}\n\ndata: {\"title\":\"b\"}\n\ndata: [DONE]\n\n";
const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";

/// Runs the command in this process. Returns its exit status, its standard output and its standard error.
fn run(arguments: &[&str]) -> (CliExit, String, String) {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut process = ProcessContext {
        variable: &|name| (name == "TRAIN_TICKETS_API_KEY").then(|| "hush".to_owned()),
        input: &mut Cursor::new("{\"seat\": 100}"),
        output: &mut output,
        errors: &mut errors,
        is_terminal: false,
        now: &SystemTime::now,
        transport: &|| Ok(Box::new(ReqwestTransport::new()?)),
    };
    let exit = cli::PROGRAM.run(["train-tickets"].iter().chain(arguments), &mut process);
    (exit, String::from_utf8(output).unwrap(), String::from_utf8(errors).unwrap())
}

/// The options of a command and the common options have distinct names.
#[test]
fn option_names_are_unique() {
    let names = |command: &str| {
        let row = cli::PROGRAM.commands.iter().find(|row| row.name == command).unwrap();
        row.arguments.iter().map(|argument| argument.name).collect::<Vec<_>>()
    };
    let commands: Vec<&str> = cli::PROGRAM.commands.iter().map(|row| row.name).collect();
    let expected = [
        "list-tickets",
        "read-ticket",
        "write-ticket",
        "drop-ticket",
        "read-scan",
        "add-scan",
        "watch-events",
        "get-completions",
    ];
    assert_eq!(commands, expected);
    assert_eq!(names("list-tickets"), ["limit", "class", "paid-only", "page", "fare", "x-signature"]);
    assert_eq!(names("read-ticket"), ["path-id", "query-id", "query-json", "header-api-key"]);
    let credentials: Vec<_> = cli::PROGRAM.credentials.iter().map(|row| (row.name, row.client)).collect();
    assert_eq!(credentials, [("api-key", ""), ("machine", "machine-client"), ("credential-server", "")]);
    assert_eq!(cli::PROGRAM.server, "https://eu.tickets.example/v1");
}

#[test]
fn commands_call_the_server() {
    let (server, server_thread) = serve(vec![TICKET, TICKET, EVENTS]);
    let arguments = [
        "list-tickets",
        "--server",
        &server,
        "--class",
        "first",
        "--paid-only",
        "--fare",
        "least=1.50",
        "--json",
    ];
    let (exit, output, errors) = run(&arguments);
    assert_eq!((exit, errors.as_str()), (CliExit::Done, ""));
    assert_eq!(output, "{\"seat\":7,\"class\":\"first\"}\n");
    let (exit, output, _) =
        run(&["read-ticket", "T-01", "--query-id", "7", "--query-json", "--server", &server]);
    assert_eq!((exit, output.as_str()), (CliExit::Done, "seat: 7\nclass: first\n"));
    let (exit, output, _) = run(&["watch-events", "--server", &server]);
    assert_eq!((exit, output.as_str()), (CliExit::Done, "{\"title\":\"a\"}\n{\"title\":\"b\"}\n"));
    let sent = server_thread.join().unwrap();
    assert!(
        sent[0].starts_with("GET /tickets?class=first&paidOnly=true&fare%5Bleast%5D=1.50 "),
        "{}",
        sent[0]
    );
    assert!(!sent[0].contains("hush"), "the operation requires no credentials: {}", sent[0]);
    assert!(sent[1].starts_with("GET /tickets/T-01?id=7&json=true "), "{}", sent[1]);
    assert!(sent[1].contains("x-key: hush\r\n"), "{}", sent[1]);
    let (exit, _, errors) = run(&["write-ticket", "T-01", "--body", "-", "--server", "http://127.0.0.1:1"]);
    assert_eq!(exit, CliExit::Usage);
    assert!(errors.contains("/seat: must be at most 99"), "{errors}");
    // For a media range, an explicit media type is required.
    let (exit, _, errors) = run(&["add-scan", "T-01", "--body", "-", "--server", "http://127.0.0.1:1"]);
    assert!(exit == CliExit::Usage && errors.contains("give --content-type TYPE"), "{errors}");
}

/// Writes the package of the case without TLS, because the C code of TLS takes minutes to compile.
fn write_package() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-run");
    let _ = fs::remove_dir_all(&folder);
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/command_line/codegen.toml");
    let generated =
        Project::from_config(&case).unwrap().generate().unwrap_or_else(|problems| panic!("{problems}"));
    for (name, text) in generated.files.iter() {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = if name == "Cargo.toml" {
            assert!(text.contains(TLS), "{text}");
            text.replace(TLS, "")
        } else {
            text.to_owned()
        };
        fs::write(path, text).unwrap();
    }
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    folder
}

const TLS: &str = ", \"contract-runtime/reqwest-rustls\"";

/// The generated package builds with the dependency versions of this workspace, and its command works.
#[test]
fn generated_package_has_a_command() {
    let folder = write_package();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--features", "cli"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("RUSTFLAGS", "-Dwarnings")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = target.join("debug").join("train-tickets").with_extension(std::env::consts::EXE_EXTENSION);
    let run = |arguments: &[&str], input: &str| {
        let mut child = Command::new(&program)
            .args(arguments)
            .env("TRAIN_TICKETS_API_KEY", "hush")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Write errors are ignored, because the process may have exited without reading its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let (code, help, _) = run(&["--help"], "");
    assert_eq!(code, 0);
    for expected in [
        "Seats in trains.",
        "tickets:\n  list-tickets",
        "(deprecated) DELETE /tickets/{id}",
        "TRAIN_TICKETS_SERVER",
    ] {
        assert!(help.contains(expected), "{expected}: {help}");
    }
    let (server, server_thread) = serve(vec![NO_CONTENT, NOT_FOUND]);
    let arguments = ["write-ticket", "T-01", "--body", "-", "--server", &server];
    assert_eq!(run(&arguments, "{\"seat\": 7}"), (0, String::new(), String::new()));
    let (code, output, errors) = run(&["read-ticket", "T-02", "--server", &server], "");
    assert_eq!((code, output.as_str()), (5, ""));
    assert_eq!(errors, "error: the server returned 404 Not Found\n  title: None\n");
    let sent = server_thread.join().unwrap();
    assert!(sent[0].starts_with("PUT /tickets/T-01 ") && sent[0].ends_with("{\"seat\": 7}"), "{}", sent[0]);
    assert!(sent[0].contains("x-key: hush\r\n"), "{}", sent[0]);
    let (code, _, errors) = run(&arguments, "{\"seat\": 100}");
    assert_eq!(code, 2);
    assert!(
        errors.contains("the body violates the contract") && errors.contains("/seat: must be at most 99"),
        "{errors}"
    );
}
