//! Inputs that are URLs, and their lock file.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use super::{
    CommandResult, Folder, TICKETS,
    stdin::{SEAT, SPLIT},
};

/// A server on the loopback interface that answers each request with the status line, headers and body of its
/// path.
struct DocumentServer {
    base: String,
    responses: Arc<Mutex<Vec<(String, String)>>>,
}

impl DocumentServer {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let responses: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let shared = Arc::clone(&responses);
        // The thread ends with the process of the test.
        thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let lines = BufReader::new(&connection).lines().map(Result::unwrap);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let path = head[0].split(' ').nth(1).unwrap();
                let known = shared.lock().unwrap().iter().find(|(known, _)| known == path).cloned();
                let missing = || "404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned();
                let response = known.map_or_else(missing, |(_, response)| response);
                // A client that rejects the response may already have closed the connection.
                let _ = write!(connection, "HTTP/1.1 {response}");
            }
        });
        Self { base, responses }
    }

    fn put(&self, path: &str, body: &str) {
        let length = body.len();
        self.respond(path, &format!("200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"));
    }

    fn redirect(&self, path: &str, target: &str) {
        self.respond(
            path,
            &format!("302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
        );
    }

    fn respond(&self, path: &str, response: &str) {
        let mut responses = self.responses.lock().unwrap();
        responses.retain(|(known, _)| known != path);
        responses.push((path.to_owned(), response.to_owned()));
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// Asserts that standard error contains a message, which may be wrapped.
#[track_caller]
fn expect_message(result: &CommandResult, message: &str) {
    let text = result.err.replace("\n  │ ", " ");
    assert!(text.contains(message), "no `{message}` in\n{}", result.err);
}

#[test]
fn documents_and_their_references_are_downloaded() {
    let folder = Folder::new("fetch");
    let server = DocumentServer::start();
    server.redirect("/latest", "/v1/openapi.json");
    server.put("/v1/openapi.json", SPLIT);
    // A redirect does not change the URL against which references are resolved.
    server.put("/parts/seat.yaml", SEAT);
    let url = server.url("/latest");
    let generate = ["generate", &url, "--fetch", "-o", "seat.rs", "--only", "types"];
    folder.run(&generate).expect_exit(0);
    let code = fs::read_to_string(folder.0.join("seat.rs")).unwrap();
    assert!(code.contains("pub struct Seat"));
    let lock = fs::read_to_string(folder.0.join("codegen.lock")).unwrap();
    for path in ["/latest", "/parts/seat.yaml"] {
        assert!(lock.contains(&format!("\"{}\" = \"sha256:", server.url(path))), "{lock}");
    }

    server.put("/parts/seat.yaml", &SEAT.replace("integer", "string"));
    let locked = [&generate[..], &["--locked"]].concat();
    let refused = folder.run(&locked).expect_exit(4);
    expect_message(&refused, "/parts/seat.yaml differs from the digest in codegen.lock");
    assert_eq!(fs::read_to_string(folder.0.join("seat.rs")).unwrap(), code, "nothing is written");

    let check = folder.run(&["check", &url, "--fetch", "-o", "seat.rs", "--only", "types"]).expect_exit(1);
    expect_message(&check, "seat.yaml differs from the digest in codegen.lock");
    assert_eq!(fs::read_to_string(folder.0.join("codegen.lock")).unwrap(), lock, "`check` writes nothing");
    folder.run(&generate).expect_exit(0);
    assert_ne!(fs::read_to_string(folder.0.join("codegen.lock")).unwrap(), lock);
    folder.run(&locked).expect_exit(0);
}

/// A query may be the signature of a URL. It is sent, and neither printed nor written.
#[test]
fn queries_of_inputs_are_not_written() {
    let folder = Folder::new("fetch-query");
    let server = DocumentServer::start();
    server.put("/openapi.json?token=abc123", SPLIT);
    server.put("/parts/seat.yaml", SEAT);
    let url = server.url("/openapi.json?token=abc123");
    let generate = ["generate", &url, "--fetch", "-o", "seat.rs", "--only", "types"];
    let done = folder.run(&generate).expect_exit(0);
    let locked = folder.run(&[&generate[..], &["--locked"]].concat()).expect_exit(0);
    let absent = server.url("/absent.json?token=abc123");
    let failed = folder.run(&["generate", &absent, "--fetch", "-o", "absent.rs"]).expect_exit(4);
    expect_message(&failed, "/absent.json returned status 404");
    let lock = fs::read_to_string(folder.0.join("codegen.lock")).unwrap();
    assert!(lock.contains(&format!("\"{}\" = ", server.url("/openapi.json"))), "{lock}");
    let code = fs::read_to_string(folder.0.join("seat.rs")).unwrap();
    for text in [&lock, &code, &done.err, &locked.err, &failed.err] {
        assert!(!text.contains("abc123"), "{text}");
    }
}

/// `generate` with a configuration file removes the entries of documents that the contract no longer uses.
#[test]
fn unused_entries_are_removed_from_the_lock_file() {
    let folder = Folder::new("fetch-unused");
    let server = DocumentServer::start();
    server.put("/openapi.json", SPLIT);
    server.put("/parts/seat.yaml", SEAT);
    let inputs = format!("inputs = ['{}']\n[output]\npath = 'api'\n", server.url("/openapi.json"));
    folder.put("codegen.toml", &inputs);
    folder.run(&["generate", "--fetch"]).expect_exit(0);
    let lock = || fs::read_to_string(folder.0.join("codegen.lock")).unwrap();
    assert!(lock().contains("/parts/seat.yaml"), "{}", lock());
    let whole = r#"{ "openapi": "3.1.0", "info": { "title": "A", "version": "1" }, "components": { "schemas": { "A": { "type": "string" } } } }"#;
    server.put("/openapi.json", whole);
    folder.run(&["generate", "--fetch"]).expect_exit(0);
    assert!(!lock().contains("/parts/seat.yaml") && lock().contains("/openapi.json"), "{}", lock());
}

/// Configurations in one folder have separate lock files, so that neither run removes entries of the other.
#[test]
fn configurations_have_separate_lock_files() {
    let folder = Folder::new("fetch-separate");
    let server = DocumentServer::start();
    server.put("/openapi.yaml", TICKETS);
    server.put("/other.yaml", TICKETS);
    for (config, path) in [("codegen.toml", "/openapi.yaml"), ("other.toml", "/other.yaml")] {
        let output = config.replace(".toml", "-api");
        folder.put(config, &format!("inputs = ['{}']\n[output]\npath = '{output}'\n", server.url(path)));
        folder.run(&["generate", config, "--fetch"]).expect_exit(0);
    }
    for config in ["codegen.toml", "other.toml"] {
        folder.run(&["generate", config, "--fetch", "--locked"]).expect_exit(0);
    }
    let other = fs::read_to_string(folder.0.join("other.lock")).unwrap();
    assert!(other.contains("/other.yaml") && !other.contains("/openapi.yaml"), "{other}");
}

#[test]
fn init_lists_urls_and_generate_reads_them() {
    let folder = Folder::new("fetch-init");
    let server = DocumentServer::start();
    server.put("/openapi.yaml", TICKETS);
    let url = server.url("/openapi.yaml");
    let init = folder.run(&["init", &url, "--fetch", "-o", "api/codegen.toml"]).expect_exit(0);
    expect_message(&init, "generate api/codegen.toml --fetch");
    assert!(folder.0.join("api/codegen.lock").exists());
    folder.run(&["check", "api/codegen.toml", "--fetch", "--locked", "-o", "absent"]).expect_exit(1);
    let offline = folder.run(&["check", "api/codegen.toml", "-o", "absent"]).expect_exit(4);
    expect_message(&offline, "downloaded only with `--fetch`");
    folder.run(&["drift", &url, "tickets.yaml", "--fetch"]).expect_exit(0);
}

#[test]
fn failed_downloads_name_the_reason() {
    let folder = Folder::new("fetch-failures");
    let server = DocumentServer::start();
    server.put("/login", "<!DOCTYPE html>\n<title>Sign in</title>\n");
    server.redirect("/loop", "/loop");
    server.redirect("/file", "file:///etc/hosts");
    server.redirect("/plain", "http://a.example/openapi.json");
    server.respond("/private", "401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    server.respond("/large", "200 OK\r\ncontent-length: 99999999999\r\nconnection: close\r\n\r\n");
    server.respond("/cut", "200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\n{");
    for (url, reason) in [
        (server.url("/absent"), "/absent returned status 404"),
        (server.url("/private"), "documents are downloaded without credentials"),
        (server.url("/loop"), "/loop redirects more than 5 times"),
        (server.url("/file"), "`file:///etc/hosts` cannot be downloaded"),
        (server.url("/a b"), "/a b` cannot be downloaded: it is not a valid URL"),
        (server.url("/login"), "/login` is not an object, so it is neither a schema nor an OpenAPI document"),
        (server.url("/absent#/paths"), "has a fragment, but an input is a whole document"),
        (server.url("/plain"), "http://a.example/openapi.json is not encrypted"),
        (server.url("/large"), "the document is larger than 64 MiB"),
        (server.url("/cut"), "cannot download"),
        ("http://a.example/openapi.json".to_owned(), "is not encrypted"),
        ("https://user:hunter2@a.example/x.json".to_owned(), "on a.example contains credentials"),
    ] {
        let refused = folder.run(&["explain", "Seat", &url, "--fetch"]).expect_exit(4);
        expect_message(&refused, reason);
        assert!(!refused.err.contains("hunter2"), "{}", refused.err);
    }
    folder.put("codegen.lock", "\"https://a.example/\" = 3\n");
    let refused = folder.run(&["explain", "Seat", "tickets.yaml", "--fetch"]).expect_exit(2);
    expect_message(&refused, "codegen.lock is invalid");
}

/// A reference that cannot be downloaded is a fault like any unresolved reference: the rest is generated.
#[test]
fn unavailable_reference_is_a_fault() {
    let folder = Folder::new("fetch-reference");
    let server = DocumentServer::start();
    server.put("/openapi.json", SPLIT);
    let url = server.url("/openapi.json");
    let generate = ["generate", &url, "--fetch", "-o", "seat.rs", "--only", "types"];
    let tolerated = folder.run(&generate).expect_exit(0);
    expect_message(&tolerated, "/parts/seat.yaml returned status 404");
    expect_message(&tolerated, "/parts/seat.yaml` could not be downloaded");
    folder.run(&[&generate[..], &["--strict"]].concat()).expect_exit(4);

    // With `--locked`, and after a failure that may be temporary, the output stays as it is.
    let code = fs::read_to_string(folder.0.join("seat.rs")).unwrap();
    folder.run(&[&generate[..], &["--locked"]].concat()).expect_exit(4);
    server.respond("/parts/seat.yaml", "503 Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let failed = folder.run(&generate).expect_exit(4);
    expect_message(&failed, "/parts/seat.yaml returned status 503");
    assert_eq!(fs::read_to_string(folder.0.join("seat.rs")).unwrap(), code);
}
