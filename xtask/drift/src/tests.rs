//! Runs the command with folders, git revisions, and a local server.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write as _},
    net::TcpListener,
    path::Path,
    process::Command,
};

use super::*;

fn run_drift(root: &Path, args: &[&str]) -> (u8, String, String) {
    let cli = Cli::try_parse_from([&["drift"], args].concat()).unwrap_or_else(|error| panic!("{error}"));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = run_to_exit_code(&cli.args, CommandContext { root, color: false }, &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

const SHIP: &str = r#"{"$id": "https://api.example/v1/schemas/ship.schema.json", "type": "object",
    "required": ["id"], "properties": {"id": {"type": "string"}, "name": {"type": "string"}}}"#;
const UNUSED: &str = r#"{"$id": "https://api.example/v1/schemas/unused.schema.json", "type": "string"}"#;
const API: &str = r#"{"openapi": "3.1.0", "info": {"title": "t", "version": "1.0.0"}, "paths": {"/v1/ships": {"get": {
    "operationId": "ships", "responses": {"200": {"description": "", "content": {"application/json": {"schema":
    {"type": "array", "items": {"$ref": "https://api.example/v1/schemas/ship.schema.json"}}}}}}}}}}"#;

fn write_contract(root: &Path, ship: &str) {
    let folder = root.join("schemas/v1/schemas");
    fs::create_dir_all(&folder).unwrap();
    fs::write(root.join("schemas/openapi.json"), API).unwrap();
    fs::write(folder.join("ship.schema.json"), ship).unwrap();
    fs::write(folder.join("unused.schema.json"), UNUSED).unwrap();
}

fn run_git(root: &Path, args: &[&str]) {
    let name = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
    let status = Command::new("git").arg("-C").arg(root).args(name).args(args).output().unwrap();
    assert!(status.status.success(), "{status:?}");
}

/// The file `drift.toml` beside the contract accepts breaking changes, and an outdated entry is an error.
#[test]
fn accepted_changes_are_read() {
    let root = tempfile::tempdir().unwrap();
    write_contract(&root.path().join("old"), SHIP);
    write_contract(root.path(), &SHIP.replace(", \"name\": {\"type\": \"string\"}", ""));
    let against = ["--against", "old/schemas"];
    assert_eq!(run_drift(root.path(), &against).0, 2);
    let entry = |place: &str| {
        format!(
            "[[accepted]]\nrule = \"property-removed\"\nplace = \"{place}\"\nreason = \"No client reads names.\"\n"
        )
    };
    let file = root.path().join("schemas/drift.toml");
    fs::write(&file, entry("GET /v1/ships 200 body /*/name")).unwrap();
    let (code, out, _) = run_drift(root.path(), &against);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("accepted: No client reads names."), "{out}");
    fs::write(&file, entry("GET /v1/ships 200 body /*/name") + &entry("GET /v1/ships 200 body /*/other"))
        .unwrap();
    let (code, out, _) = run_drift(root.path(), &against);
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("schemas/drift.toml:5"), "{out}");
    fs::write(&file, "[[accepted]]\n").unwrap();
    let (code, _, err) = run_drift(root.path(), &against);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("schemas/drift.toml"), "{err}");
}

#[test]
fn folders_are_compared() {
    let root = tempfile::tempdir().unwrap();
    write_contract(root.path(), SHIP);
    let old = root.path().join("old");
    write_contract(&old, SHIP);
    let against = ["--against", "old/schemas"];
    assert_eq!(run_drift(root.path(), &against).0, 0);
    write_contract(root.path(), &SHIP.replace("\"name\"", "\"label\": {\"type\": \"string\"}, \"name\""));
    let (code, out, _) = run_drift(root.path(), &against);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("GET /v1/ships\n  additive property-added"), "{out}");
    assert!(out.contains("(schemas/v1/schemas/ship.schema.json:2)"), "{out}");
    write_contract(root.path(), &SHIP.replace(", \"name\": {\"type\": \"string\"}", ""));
    let (code, out, _) = run_drift(root.path(), &[against.as_slice(), &["--annotations"]].concat());
    assert_eq!(code, 2, "{out}");
    assert!(
        out.starts_with("::error file=schemas/v1/schemas/ship.schema.json,line=1,title=property-removed::"),
        "{out}"
    );
    assert_eq!(run_drift(root.path(), &[against.as_slice(), &["--writers-only"]].concat()).0, 0);
}

#[test]
fn revisions_are_compared() {
    let root = tempfile::tempdir().unwrap();
    run_git(root.path(), &["init", "--quiet", "-b", "main"]);
    write_contract(root.path(), SHIP);
    let (code, _, err) = run_drift(root.path(), &[]);
    assert_eq!((code, err.contains("--against OTHER")), (3, true), "{err}");
    run_git(root.path(), &["add", "."]);
    run_git(root.path(), &["commit", "--quiet", "-m", "one"]);
    run_git(root.path(), &["tag", "v1"]);
    assert_eq!(run_drift(root.path(), &[]).0, 0);
    write_contract(root.path(), &SHIP.replace("\"required\": [\"id\"], ", ""));
    assert_eq!(run_drift(root.path(), &[]).0, 2);
    let (code, out, _) = run_drift(root.path(), &["--against", "v1", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["changes"][0]["rule"]), (2, &serde_json::json!("property-optional")));
    let (code, _, err) = run_drift(root.path(), &["--against", "v2"]);
    assert!(code == 3 && err.contains("`v2` is not a file"), "{err}");
}

/// Serves documents by path until the process ends. The response to `/moved.json` is a redirect.
fn serve_documents(documents: BTreeMap<String, String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut first = String::new();
            reader.read_line(&mut first).unwrap();
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let path = first.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match documents.get(path) {
                Some(body) => ("200 OK", body.as_str()),
                None if path == "/moved.json" => ("302 Found\r\nlocation: https://elsewhere.example/", ""),
                None => ("404 Not Found", ""),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        }
    });
    format!("http://{address}")
}

#[test]
fn services_are_compared() {
    let root = tempfile::tempdir().unwrap();
    write_contract(root.path(), SHIP);
    let documents = |ship: &str| {
        BTreeMap::from([
            ("/v1/openapi.json".to_owned(), API.to_owned()),
            ("/v1/schemas/ship.schema.json".to_owned(), ship.to_owned()),
            ("/v1/schemas/unused.schema.json".to_owned(), UNUSED.to_owned()),
        ])
    };
    let same = serve_documents(documents(SHIP));
    let (code, out, err) = run_drift(root.path(), &["--against", &same, "--document", "/v1/openapi.json"]);
    assert_eq!((code, out.starts_with("No difference.")), (0, true), "{out}{err}");
    let address = format!("{same}/v1/openapi.json");
    assert_eq!(run_drift(root.path(), &["--against", &address]).0, 0);
    let older = serve_documents(documents(&SHIP.replace("\"name\"", "\"gone\": {}, \"name\"")));
    let address = format!("{older}/v1/openapi.json");
    let (code, out, err) = run_drift(root.path(), &["--against", &address]);
    assert_eq!((code, out.contains("property-removed")), (2, true), "{out}{err}");
    for (address, expected) in [
        (same.as_str(), "--document PATH"),
        (&format!("{same}/moved.json"), "redirects to https://elsewhere.example/"),
        ("http://api.example", "--allow-http"),
    ] {
        let (code, _, err) = run_drift(root.path(), &["--against", address]);
        assert!(code == 3 && err.contains(expected), "{err}");
    }
    // The error message depends on the feature `https`.
    let (code, _, err) = run_drift(root.path(), &["--against", "https://127.0.0.1:1"]);
    let expected = if cfg!(feature = "https") { "cannot fetch" } else { "--features https" };
    assert!(code == 3 && err.contains(expected), "{err}");
}

/// The option `nullable` of the local configuration applies to both versions.
#[test]
fn local_options_apply_to_the_contract_of_a_service() {
    let root = tempfile::tempdir().unwrap();
    let api = API.replace("3.1.0", "3.0.3").replace(
        r#"{"$ref": "https://api.example/v1/schemas/ship.schema.json"}"#,
        r#"{"allOf": [{"type": "string"}], "nullable": true}"#,
    );
    fs::create_dir_all(root.path().join("schemas")).unwrap();
    fs::write(root.path().join("schemas/openapi.json"), &api).unwrap();
    let options = "inputs = ['openapi.json']\n[types]\nnullable = 'strict'\n";
    fs::write(root.path().join("schemas/codegen.toml"), options).unwrap();
    let served = serve_documents(BTreeMap::from([("/openapi.json".to_owned(), api)]));
    let (code, out, err) = run_drift(root.path(), &["--against", &format!("{served}/openapi.json")]);
    assert_eq!((code, out.starts_with("No difference.")), (0, true), "{out}{err}");
}

#[test]
fn rules_are_explained() {
    let (code, out, _) = run_drift(Path::new("."), &["--explain"]);
    assert!(code == 0 && out.contains("enum-value-added-open"), "{out}");
    let (code, out, _) = run_drift(Path::new("."), &["--explain", "enum-value-added"]);
    assert!(code == 0 && out.contains("Readers expect only the values"), "{out}");
    let (code, _, err) = run_drift(Path::new("."), &["--explain", "enum-value-aded"]);
    assert!(code == 3 && err.contains("did you mean `enum-value-added`?"), "{err}");
}
