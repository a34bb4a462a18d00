//! The picture of a terminal in README.md: the actual output of `init`, `generate` and `mock`.
//!
//! `UPDATE=1 cargo test -p contract-codegen --test command picture` draws it again.

#[path = "../../../exchange/cli/tests/all/draw.rs"]
mod draw;

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
};

use super::{Folder, packages::code_block};

type PictureLine = Vec<(&'static str, String)>;

/// The address in the picture; the test uses a free port.
const ADDRESS: &str = "127.0.0.1:4010";

#[test]
fn picture_shows_the_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let folder = Folder::new("picture");
    folder.put("openapi.yaml", &code_block(&readme, "```yaml\n"));
    let mut lines: Vec<PictureLine> = Vec::new();
    for command in ["init openapi.yaml", "generate", "explain Ticket.price"] {
        let args: Vec<&str> = command.split(' ').chain(["--color", "always"]).collect();
        let output = run_colored(&folder, &args);
        show_command(&mut lines, &format!("contract-codegen {command}"), &output);
    }
    let (listening, body) = call_mock(&folder);
    show_command(&mut lines, "contract-codegen mock &", &listening);
    show_command(&mut lines, &format!("curl http://{ADDRESS}/tickets/T-01"), &body);

    let drawn = draw::draw("contract-codegen init, generate, explain and mock", &lines);
    let path = root.join("docs/book/images/first-result.svg");
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &drawn).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let again = "UPDATE=1 cargo test -p contract-codegen --test command picture";
    assert_eq!(stored, drawn, "the output differs from the picture; to draw it again: {again}");
}

/// Runs the command and returns its messages, then its result. The duration is replaced, because it varies.
fn run_colored(folder: &Folder, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
        .args(args)
        .current_dir(&folder.0)
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}");
    let text = [output.stderr, output.stdout].map(|text| String::from_utf8(text).unwrap()).concat();
    let words: Vec<&str> = text.split(" changed in ").collect();
    match words.as_slice() {
        [before, after] => {
            let rest = after.split_once('s').unwrap().1;
            format!("{before} changed in 0.1 s{rest}")
        }
        _ => text,
    }
}

/// Starts the mock server, and returns the line that it prints and the body of its response to one request.
fn call_mock(folder: &Folder) -> (String, String) {
    let mut mock = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
        .args(["mock", "openapi.yaml", "--port", "0"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut messages = BufReader::new(mock.stdout.take().unwrap()).lines().map(Result::unwrap);
    let listening = messages.find(|line| line.contains("listening on")).unwrap();
    let address = listening.split("http://").nth(1).unwrap().split(':').take(2).collect::<Vec<_>>().join(":");
    let mut connection = TcpStream::connect(&address).unwrap();
    let request = format!("GET /tickets/T-01 HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    mock.kill().unwrap();
    mock.wait().unwrap();
    let body = response.split_once("\r\n\r\n").unwrap().1.to_owned();
    (listening.replace(&address, ADDRESS), body)
}

/// Appends a command and its output to the lines of the picture.
fn show_command(lines: &mut Vec<PictureLine>, command: &str, output: &str) {
    if !lines.is_empty() {
        lines.push(Vec::new());
    }
    lines.push(vec![("prompt", "$ ".to_owned()), ("", command.to_owned())]);
    lines.extend(output.lines().map(draw::parts));
}
