//! The command as people and programs call it: exit codes, words, files.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "command/explain.rs"]
mod explain;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// A folder of its own for a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("command-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let folder = Self(path);
        folder.put("tickets.yaml", TICKETS);
        folder
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
            .args(args)
            .current_dir(&self.0)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    #[track_caller]
    fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    /// The lines of `--json`, the summary last.
    fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn summary(&self) -> Value {
        self.lines().pop().unwrap()["summary"].clone()
    }
}

const TICKETS: &str = r"
openapi: 3.1.0
info: { title: Tickets, version: '1.0' }
paths:
  /tickets/{id}:
    get:
      operationId: readTicket
      summary: One ticket
      parameters: [{ name: id, in: path, required: true, schema: { type: string, minLength: 4 } }]
      responses:
        '200': { description: it, content: { application/json: { schema: { $ref: '#/components/schemas/Ticket' } } } }
    put:
      operationId: writeTicket
      parameters: [{ name: id, in: path, required: true, schema: { type: string, minLength: 4 } }]
      requestBody: { required: true, content: { application/json: { schema: { $ref: '#/components/schemas/Ticket' } } } }
      responses: { '204': { description: done } }
components:
  schemas:
    Ticket:
      type: object
      description: A seat in a train.
      required: [seat, fare]
      properties:
        seat: { type: integer, minimum: 1, maximum: 99 }
        fare: { $ref: '#/components/schemas/Fare' }
        note: { type: [string, 'null'], maxLength: 40 }
        refund: { type: boolean }
        reason: { type: string }
      dependentRequired: { refund: [reason] }
    Fare:
      oneOf:
        - { type: object, required: [kind, price], properties: { kind: { const: full }, price: { type: number } } }
        - { type: object, required: [kind], properties: { kind: { const: free } } }
";

#[test]
fn generate_writes_a_package_and_only_what_changed() {
    let folder = Folder::new("generate");
    let ran = folder.run(&["generate", "tickets.yaml", "--output", "api"]).ended(0);
    assert_eq!(ran.out, "");
    for words in ["files in api\n", "2 operations, 4 types", "0 warnings"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    // What goes on is for terminals.
    assert!(!ran.err.contains("reading the contract"), "{}", ran.err);
    // A few files are named, many are counted unless all are asked for.
    assert!(ran.err.contains("created ") && !ran.err.contains("models.rs"), "{}", ran.err);
    assert!(!ran.err.contains("progenitor"), "another engine was asked: {}", ran.err);
    let ran = folder.run(&["generate", "tickets.yaml", "--output", "other", "--verbose"]).ended(0);
    assert!(ran.err.contains("created other/src/models.rs"), "{}", ran.err);
    let manifest = fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"tickets\""), "{manifest}");
    assert!(folder.0.join("api/runtime/src/lib.rs").exists());
    let again = folder.run(&["generate", "tickets.yaml", "-o", "api", "--json"]).ended(0);
    let summary = again.summary();
    assert_eq!(summary["changed"], serde_json::json!({}));
    assert_eq!((&summary["exit"], &summary["counts"]["operations"]), (&0.into(), &2.into()));
}

#[test]
fn options_of_the_command_line_count() {
    let folder = Folder::new("options");
    let args = [
        "generate",
        "tickets.yaml",
        "-o",
        "api",
        "--package",
        "seats",
        "--no-client",
        "--no-server",
        "--runtime",
        "../rt",
    ];
    folder.run(&args).ended(0);
    let manifest = fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"seats\"") && manifest.contains("path = \"../rt\""), "{manifest}");
    for gone in ["src/client.rs", "src/server.rs", "runtime"] {
        assert!(!folder.0.join("api").join(gone).exists(), "{gone}");
    }
    folder.run(&["generate", "tickets.yaml", "-o", "modules", "--layout", "modules"]).ended(0);
    assert!(folder.0.join("modules/root.rs").exists() && !folder.0.join("modules/Cargo.toml").exists());
}

/// What `cargo metadata` makes of a folder, with the versions that this workspace has.
fn metadata(folder: &Path) -> Value {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    let ran = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// The names of the workspace's members.
fn members(metadata: &Value) -> Vec<&str> {
    let all = metadata["workspace_members"].as_array().unwrap();
    let mut names: Vec<&str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| all.contains(&package["id"]))
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    names
}

/// A member that uses all three packages: the types of those that share a runtime are the same, and
/// what the runtime has for users of clients is there by way of the package.
const FLEET: &str = "
pub fn read(bytes: &[u8]) -> Result<north::types::Ticket, north::runtime::DocumentError> {
    north::runtime::Contract::parse(bytes)
}

pub fn moved(value: south::runtime::Json) -> third::runtime::Json {
    value
}

pub async fn sent(call: &third::calls::ReadTicketCall, api: &south::runtime::client::ApiClient) -> bool {
    api.call(call).await.is_ok()
}

pub fn robust(transport: impl north::runtime::transport::Transport + 'static) -> north::client::Client {
    let timer = north::runtime::transport::TokioTimer;
    north::client::Client::new(\"https://tickets.example\", north::runtime::layers::TransportStack::default().wrap(transport, timer))
}
";

#[test]
fn packages_of_one_workspace_compile_together() {
    let folder = Folder::new("workspace");
    let packages = "members = [\"north\", \"south\", \"third\", \"fleet\"]";
    folder.put("Cargo.toml", &format!("[workspace]\nresolver = \"3\"\n{packages}\n"));
    let uses =
        [("north", "\"layers\", \"tokio\", \"tracing\""), ("south", "\"client\""), ("third", "\"client\"")]
            .map(|(name, features)| {
                format!("{name} = {{ path = \"../{name}\", features = [{features}] }}\n")
            });
    let fleet = "[package]\nname = \"fleet\"\nedition = \"2024\"\n[dependencies]\n";
    folder.put("fleet/Cargo.toml", &format!("{fleet}{}", uses.concat()));
    folder.put("fleet/src/lib.rs", FLEET);
    for (name, output) in [
        ("north", ""),
        ("south", ""),
        ("third", "runtime = { path = '../south/runtime', package = 'south-runtime' }\n"),
    ] {
        let options =
            format!("inputs = ['tickets.yaml']\npackage = '{name}'\n[output]\nmember = true\n{output}");
        folder.put(&format!("{name}.toml"), &options);
        folder.run(&["generate", &format!("{name}.toml"), "--output", name]).ended(0);
    }
    let metadata = metadata(&folder.0);
    assert_eq!(members(&metadata), ["fleet", "north", "north-runtime", "south", "south-runtime", "third"]);
    let packages = metadata["packages"].as_array().unwrap();
    for (name, runtime) in
        [("north", "north-runtime"), ("south", "south-runtime"), ("third", "south-runtime")]
    {
        let package = packages.iter().find(|package| package["name"] == name).unwrap();
        let used = package["dependencies"].as_array().unwrap();
        let used = used.iter().find(|used| used["rename"] == "contract-runtime").unwrap();
        assert_eq!(used["name"], runtime);
        let runtime = packages.iter().find(|package| package["name"] == runtime).unwrap();
        assert_eq!(runtime["rust_version"], env!("CARGO_PKG_RUST_VERSION"));
        // What the runtime can do is asked for by way of the package.
        for feature in ["client", "server", "reqwest", "reqwest-rustls", "ready", "layers", "tower", "tokio"]
        {
            let passed = package["features"][feature].to_string();
            assert!(passed.contains(&format!("contract-runtime/{feature}")), "{feature}: {passed}");
            assert!(runtime["features"][feature].is_array(), "{feature}");
        }
    }
    let root = fs::read_to_string(folder.0.join("north/src/lib.rs")).unwrap();
    assert!(root.contains("pub use ::contract_runtime as runtime;"), "{root}");
    compiled(&folder.0);
}

/// Who generates below a workspace hears once how the package joins it, from `init` too.
#[test]
fn a_package_below_a_workspace_says_how_it_joins() {
    let folder = Folder::new("joins");
    folder.put("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = []\nexclude = [\"out\"]\n");
    let said = |args: &[&str]| {
        let ran = folder.run(args).ended(0);
        ran.err.contains("`member = true` in [output]")
    };
    assert!(said(&["generate", "tickets.yaml", "-o", "api"]));
    assert!(!said(&["generate", "tickets.yaml", "-o", "api"]), "it exists already");
    assert!(!said(&["generate", "tickets.yaml", "-o", "out/api"]), "it is excluded");
    folder.put("joined.toml", "inputs = ['tickets.yaml']\n[output]\nmember = true\n");
    assert!(!said(&["generate", "joined.toml", "-o", "joined"]), "it is a member");
    folder.run(&["init", "tickets.yaml"]).ended(0);
    let text = fs::read_to_string(folder.0.join("codegen.toml")).unwrap();
    assert!(
        text.contains("# The package is inside a Cargo workspace.") && text.contains("# member = true\n"),
        "{text}"
    );
}

/// Asks the compiler about all packages of a folder, warnings included.
fn compiled(folder: &Path) {
    let ran = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--workspace", "--quiet"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages"))
        .env("RUSTFLAGS", "-Dwarnings")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn no_module_replaces_another() {
    let folder = Folder::new("modules");
    folder.put("rows.json", r#"[{ "code": "A" }]"#);
    for (name, area, message) in [
        (
            "Operation",
            "models",
            "two modules have the name `operations`: one is from the generator, the other from a table",
        ),
        ("Seat", "seats", "two modules have the name `seats`: one is from an area, the other from a table"),
        (
            "Seat",
            "Models",
            "two modules have the name `Models` and `models`, which are the same file on some systems: one is from an \
             area, the other from an area",
        ),
        ("Seat", "Client", "`Client` is not a valid area name: generated code has a module with this name"),
        ("a-b", "models", "`a-b` is not a valid table name: it is not a Rust identifier"),
        ("9x", "models", "`9x` is not a valid table name: it is not a Rust identifier"),
        ("", "models", "`` is not a valid table name: it is not a Rust identifier"),
        ("Self", "models", "`Self` is not a valid table name: it is not a Rust identifier"),
        ("String", "models", "`String` is not a valid table name: generated code uses it for something else"),
        (
            "seat_kind",
            "models",
            "`seat_kind` is not a valid table name: Rust type names use upper camel case",
        ),
        ("Seat", "a-b", "`a-b` is not a valid area name: it is not a Rust identifier"),
        ("Seat", "", "`` is not a valid area name: it is not a Rust identifier"),
        ("Seat", "type", "`type` is not a valid area name: it is not a Rust identifier"),
        ("Seat", "crate", "`crate` is not a valid area name: it is not a Rust identifier"),
        ("Seat", "gen", "`gen` is not a valid area name: it is not a Rust identifier"),
    ] {
        let options = format!(
            "inputs = ['tickets.yaml']\n[[area]]\nname = '{area}'\nschemas = ['#/components/schemas/Ticket']\n\
             [[table]]\nname = '{name}'\nfile = 'rows.json'\nrows = ''\nkey = 'code'\n"
        );
        cannot_be(&folder, &options, message);
    }
    let options = "inputs = ['tickets.yaml']\nnames = { '#/components/schemas/Ticket' = 'a-b' }\n";
    cannot_be(&folder, options, "`a-b` is not a valid type name: it is not a Rust identifier");
    let taken = "inputs = ['tickets.yaml']\nnames = { '#/components/schemas/Ticket' = 'Option' }\n";
    cannot_be(&folder, taken, "`Option` is not a valid type name: generated code uses it for something else");
    let small = "inputs = ['tickets.yaml']\nnames = { '#/components/schemas/Ticket' = 'ticket' }\n";
    cannot_be(&folder, small, "`ticket` is not a valid type name: Rust type names use upper camel case");
    let options = "inputs = ['tickets.yaml']\n[[table]]\nname = 'Seat'\nfile = 'rows.json'\nrows = ''\nkey = 'code'\n\
                   enums = { code = 'x y' }\n";
    cannot_be(&folder, options, "`x y` is not a valid column name: it is not a Rust identifier");
}

/// Nothing is written with these options, and why.
#[track_caller]
fn cannot_be(folder: &Folder, options: &str, message: &str) {
    folder.put("codegen.toml", options);
    let ran = folder.run(&["generate", "codegen.toml", "--output", "api"]).ended(3);
    let said = ran.err.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(said.contains(message), "{}", ran.err);
    assert!(ran.err.contains("codegen.toml:"), "{}", ran.err);
    assert!(!folder.0.join("api").exists());
}

#[test]
fn parts_are_chosen() {
    let folder = Folder::new("parts");
    let parts = |args: &[&str]| {
        let mut all = vec!["generate", "tickets.yaml", "--layout", "modules", "-o", "parts"];
        all.extend(args);
        folder.run(&all).ended(0);
        ["client", "operations", "server"]
            .map(|part| folder.0.join("parts").join(part).with_extension("rs").exists())
    };
    assert_eq!(parts(&[]), [true, true, true]);
    assert_eq!(parts(&["--only", "client"]), [true, true, false]);
    assert_eq!(parts(&["--only", "server"]), [false, true, true]);
    assert_eq!(parts(&["--no-client"]), [false, true, true]);
    assert_eq!(parts(&["--only", "types"]), [false, false, false]);
    assert_eq!(parts(&["--no-client", "--no-server"]), [false, false, false]);
    folder.put("codegen.toml", "inputs = [\"tickets.yaml\"]\n[output]\npath = \"own\"\nclient = false\n");
    folder.run(&["generate", "--only", "client"]).ended(0);
    assert!(folder.0.join("own/src/client.rs").exists() && !folder.0.join("own/src/server.rs").exists());
    folder.run(&["generate", "tickets.yaml", "-o", "x", "--only", "types", "--no-client"]).ended(2);
}

#[test]
fn the_manifest_asks_for_what_is_used() {
    let folder = Folder::new("manifest");
    let manifest = |args: &[&str]| {
        let mut all = vec!["generate", "tickets.yaml", "-o", "api"];
        all.extend(args);
        folder.run(&all).ended(0);
        fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap()
    };
    let text = manifest(&[]);
    assert!(text.contains("client = [\"contract-runtime/client\"]\n"), "{text}");
    assert!(text.contains("server = [\"contract-runtime/server\"]\n"), "{text}");
    for word in ["axum", "bytes", "http", "dep:"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let text = manifest(&["--only", "types"]);
    for part in ["client", "server"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    folder.put("codegen.toml", "inputs = [\"tickets.yaml\"]\n[output]\npath = \"api\"\nfeatures = false\n");
    folder.run(&["generate"]).ended(0);
    let text = fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap();
    assert!(text.contains("package = \"tickets-runtime\", features = [\"client\", \"server\"] }"), "{text}");
    let root = fs::read_to_string(folder.0.join("api/src/lib.rs")).unwrap();
    assert!(root.contains("pub mod client;") && !root.contains("cfg("), "{root}");
    // Each part asks for what it has itself.
    let more = "[output]\npath = \"api\"\n[client]\ncredentials = true\n[streams]\n";
    folder.put("codegen.toml", &format!("inputs = [\"tickets.yaml\"]\n{more}"));
    folder.run(&["generate"]).ended(0);
    let text = fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap();
    for (part, needed) in [
        ("client", vec!["client", "credentials", "stream"]),
        ("server", vec!["server", "stream", "tokio"]),
        ("schemars", vec!["schemars"]),
        ("proptest", vec!["proptest"]),
    ] {
        let needed = needed.into_iter().map(|name| format!("\"contract-runtime/{name}\""));
        let line = format!("\n{part} = [{}]\n", needed.collect::<Vec<_>>().join(", "));
        assert!(text.contains(&line), "{line}{text}");
    }
    folder.run(&["generate", "--output", "src/api.rs"]).ended(0);
    let text = fs::read_to_string(folder.0.join("src/api.rs")).unwrap();
    assert!(
        text.contains("`client` and `credentials` and `stream` and `server` and `tokio` and `serde`."),
        "{text}"
    );
}

#[test]
fn one_file_is_the_generators_or_nobodys() {
    let folder = Folder::new("file");
    let ran = folder.run(&["generate", "tickets.yaml", "--output", "src/api.rs"]).ended(0);
    assert!(ran.err.contains("created src/api.rs") && ran.err.contains("1 of 1 file changed"), "{}", ran.err);
    let text = fs::read_to_string(folder.0.join("src/api.rs")).unwrap();
    assert!(text.contains("pub mod client {") && text.contains("pub mod schemas {"), "{text}");
    assert!(text.lines().next().unwrap().contains("@generated"));
    folder.run(&["check", "tickets.yaml", "--output", "src/api.rs"]).ended(0);
    folder.put("tickets.yaml", &TICKETS.replace("maximum: 99", "maximum: 120"));
    let ran = folder.run(&["check", "tickets.yaml", "--output", "src/api.rs"]).ended(1);
    // Not the digest in the first lines.
    assert!(ran.out.contains("120") && !ran.out.contains("sha256"), "{}", ran.out);
    folder.run(&["generate", "tickets.yaml", "--output", "src/api.rs"]).ended(0);
    fs::write(folder.0.join("src/lib.rs"), "pub mod api;\n").unwrap();
    for command in ["generate", "check"] {
        let ran = folder.run(&[command, "tickets.yaml", "--output", "src/lib.rs"]).ended(2);
        assert!(ran.err.contains("was not generated"), "{}", ran.err);
    }
    assert_eq!(fs::read_to_string(folder.0.join("src/lib.rs")).unwrap(), "pub mod api;\n");
    let ran = folder.run(&["generate", "tickets.yaml", "-o", "src", "--layout", "file"]).ended(4);
    assert!(ran.err.contains("is a folder or a link, not a file"), "{}", ran.err);
}

#[test]
fn selections_choose_operations() {
    let folder = Folder::new("selections");
    let ran =
        folder.run(&["generate", "tickets.yaml", "-o", "api", "--operation", "write*", "--json"]).ended(0);
    let summary = ran.summary();
    assert_eq!((&summary["counts"]["operations"], &summary["whole"]["operations"]), (&1.into(), &2.into()));
    let ran = folder.run(&["check", "tickets.yaml", "-o", "api", "--operation", "read*"]).ended(1);
    assert!(ran.err.contains("generate tickets.yaml -o api --operation 'read*'"), "{}", ran.err);
    let ran = folder.run(&["generate", "tickets.yaml", "-o", "api", "--path", "/tickets/**"]).ended(0);
    assert!(ran.err.contains("2 of 2 operations, 16 of 16 schemas, 4 types"), "{}", ran.err);
    let ran = folder.run(&["generate", "tickets.yaml", "-o", "api", "--tag", "seats"]).ended(3);
    assert!(ran.err.contains("error[config]: no operation has the tag `seats`"), "{}", ran.err);
    folder.put(
        "codegen.toml",
        "inputs = [\"tickets.yaml\"]\n[operations]\nexclude = [{ operation = \"writeTicket\" }]\n",
    );
    let lowered: Value = serde_json::from_str(&folder.run(&["lower", "codegen.toml"]).ended(0).out).unwrap();
    let item = &lowered["paths"]["/tickets/{id}"];
    assert!(item["get"].is_object() && item["put"].is_null(), "{item}");
    let ran = folder.run(&["explain", "writeTicket", "codegen.toml"]).ended(2);
    assert!(ran.err.contains("no type, field, schema or operation `writeTicket`"), "{}", ran.err);
    let report = folder.run(&["report", "codegen.toml", "--json"]).ended(0).summary()["report"].clone();
    assert_eq!(report["counts"]["operations"], 1);
}

#[test]
fn options_that_apply_no_longer_name_their_line() {
    let folder = Folder::new("stale");
    let options = "inputs = [\"tickets.yaml\"]\nsecrets = [\n    \"#/none\",\n]\n[operations]\ninclude = [{ tag = 'seats' }]\n";
    folder.put("codegen.toml", options);
    let ran = folder.run(&["generate", "-o", "api"]).ended(3);
    for words in ["[codegen.toml:3:5]", "[codegen.toml:6:20]"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    let lines = folder.run(&["generate", "-o", "api", "--json"]).ended(3).lines();
    let first = lines.iter().find(|line| line["line"] == 3).unwrap();
    assert_eq!((&first["file"], &first["pointer"]), (&"codegen.toml".into(), &Value::Null));
}

#[test]
fn init_writes_options_that_work() {
    let folder = Folder::new("init");
    let odd = TICKETS.replace("maxLength: 40", "maxLength: 40, pattern: '^(?!-)'").replace(
        "reason: { type: string }",
        "reason: { type: string }\n        accessToken: { type: string }",
    );
    folder.put("tickets.yaml", &odd);
    folder.run(&["generate", "tickets.yaml", "-o", "api", "--strict"]).ended(3);
    let ran = folder.run(&["init", "tickets.yaml", "--output", "schemas/codegen.toml"]).ended(0);
    for words in [
        "Tickets 1.0: 2 operations, 4 types",
        "accessToken",
        "patterns 1: ",
        "Next: contract-codegen generate",
    ] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    let text = fs::read_to_string(folder.0.join("schemas/codegen.toml")).unwrap();
    for line in [
        "inputs = [\"../tickets.yaml\"]",
        "package = \"tickets\"",
        "path = \"tickets\"",
        "#     \"#/components/schemas/Ticket/properties/accessToken\", # called `accessToken`",
        "    \"#/components/schemas/Ticket/properties/note\", # ^(?!-)",
        "# unbounded-integers = \"i64\"",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let ran = folder.run(&["generate"]).ended(0);
    assert!(ran.err.contains("it is not checked"), "{}", ran.err);
    assert!(folder.0.join("schemas/tickets/Cargo.toml").exists());
    let ran = folder.run(&["init", "tickets.yaml", "--output", "schemas/codegen.toml"]).ended(2);
    assert!(ran.err.contains("already exists") && ran.err.contains("--force"), "{}", ran.err);
    folder.run(&["init", "tickets.yaml", "--output", "schemas/codegen.toml", "--force"]).ended(0);
    folder.run(&["init", "missing.yaml"]).ended(4);
    folder.put("tickets.yaml", &TICKETS.replace("minimum: 1,", "minimum: [1,"));
    folder.run(&["init", "tickets.yaml"]).ended(3);
    assert!(!folder.0.join("codegen.toml").exists());
}

/// What was mounted to read the contract is mounted in the file, as seen from there.
#[test]
fn init_takes_mounts() {
    let folder = Folder::new("init-mounts");
    folder.put("api.json", r#"{ "items": { "$ref": "https://vendor.example/v1/other.json" } }"#);
    folder.put("vendor/other.json", r#"{ "type": "string" }"#);
    let ran = folder.run(&["init", "api.json"]).ended(0);
    assert!(ran.err.contains("mounts 1: https://vendor.example/v1/other.json"), "{}", ran.err);
    let text = fs::read_to_string(folder.0.join("codegen.toml")).unwrap();
    assert!(text.contains("# mounts = { \"https://vendor.example/v1/\" = \"vendor\" }"), "{text}");
    let mount = "https://vendor.example/v1/=vendor";
    let ran =
        folder.run(&["init", "api.json", "--mount", mount, "--output", "schemas/codegen.toml"]).ended(0);
    assert!(!ran.err.contains("mounts"), "{}", ran.err);
    let text = fs::read_to_string(folder.0.join("schemas/codegen.toml")).unwrap();
    assert!(text.contains("\nmounts = { \"https://vendor.example/v1/\" = \"../vendor\" }"), "{text}");
    folder.run(&["generate", "schemas/codegen.toml", "--strict"]).ended(0);
    let ran = folder.run(&["init", "api.json", "--mount", "vendor", "--force"]).ended(2);
    assert!(ran.err.contains("expected PREFIX=PATH, such as"), "{}", ran.err);
}

#[test]
fn many_warnings_of_a_kind_are_counted() {
    let folder = Folder::new("warnings");
    let many: String =
        (0..9).map(|n| format!("        m{n}: {{ type: string, nullible: true }}\n")).collect();
    folder.put("tickets.yaml", &TICKETS.replace("        refund:", &format!("{many}        refund:")));
    let count = |ran: &Ran| ran.err.matches("`nullible` is not a keyword").count();
    let brief = folder.run(&["generate", "tickets.yaml", "-o", "api"]).ended(0);
    assert_eq!(count(&brief), 1, "{}", brief.err);
    assert!(brief.err.contains("6 more of this kind; --verbose shows all"), "{}", brief.err);
    assert_eq!(count(&folder.run(&["generate", "tickets.yaml", "-o", "api", "-v"]).ended(0)), 9);
    let lines = folder.run(&["generate", "tickets.yaml", "-o", "api", "--json"]).ended(0).lines();
    assert_eq!(lines.iter().filter(|line| line["code"] == "unknown-keyword").count(), 9);
}

#[test]
fn check_shows_the_difference_and_the_repair() {
    let folder = Folder::new("check");
    folder.run(&["generate", "tickets.yaml", "--output", "api"]).ended(0);
    folder.run(&["check", "tickets.yaml", "--output", "api"]).ended(0);
    folder.put("tickets.yaml", &TICKETS.replace("maximum: 99", "maximum: 120"));
    let ran = folder.run(&["check", "tickets.yaml", "--output", "api"]).ended(1);
    assert!(
        ran.out.contains("--- src/") && ran.out.contains("\n+") && ran.out.contains("\n@@ "),
        "{}",
        ran.out
    );
    assert!(
        ran.err.contains("help: to update, run `contract-codegen generate tickets.yaml --output api`"),
        "{}",
        ran.err
    );
    let ran = folder.run(&["check", "tickets.yaml", "--output", "api", "--json"]).ended(1);
    let summary = ran.summary();
    assert_eq!(summary["exit"], 1);
    assert!(summary["difference"].as_str().unwrap().contains("+++"));
    assert_eq!(summary["repair"], "contract-codegen generate tickets.yaml --output api");
    folder.run(&["generate", "tickets.yaml", "--output", "api"]).ended(0);
    folder.run(&["check", "tickets.yaml", "--output", "api"]).ended(0);
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    let folder = Folder::new("foreign");
    let ran = folder.run(&["generate", "tickets.yaml", "--output", "."]).ended(2);
    assert!(ran.err.contains("contains files that were not generated"), "{}", ran.err);
    assert!(folder.0.join("tickets.yaml").exists());
}

#[test]
fn a_broken_contract_names_file_line_and_pointer() {
    let folder = Folder::new("broken");
    folder.put("tickets.yaml", &TICKETS.replace("minimum: 1,", "minimum: many,"));
    let ran = folder.run(&["generate", "tickets.yaml", "--output", "api", "--strict"]).ended(3);
    assert!(ran.err.contains("tickets.yaml:24:"), "{}", ran.err);
    assert!(ran.err.contains("/properties/seat/minimum"), "{}", ran.err);
    assert!(!folder.0.join("api").exists());
    let ran = folder.run(&["generate", "tickets.yaml", "--output", "api", "--strict", "--json"]).ended(3);
    let lines = ran.lines();
    assert_eq!((&lines[0]["severity"], &lines[0]["line"]), (&"error".into(), &24.into()));
    assert_eq!(lines[0]["pointer"], "/components/schemas/Ticket/properties/seat/minimum");
    assert_eq!(ran.summary()["exit"], 3);
}

#[test]
fn what_cannot_be_read_and_what_cannot_be_meant() {
    let folder = Folder::new("usage");
    let ran = folder.run(&["report", "missing.json"]).ended(4);
    assert!(ran.err.contains("cannot read missing.json"), "{}", ran.err);
    folder.run(&["generate", "tickets.yaml"]).ended(2);
    folder.run(&["explain", "Ticket"]).ended(2);
    folder.put("a.toml", "inputs = [\"tickets.yaml\"]");
    folder.run(&["report", "a.toml", "a.toml"]).ended(2);
    folder.put("a.toml", "inputs = [\"tickets.yaml\"]\ncolour = 1");
    let ran = folder.run(&["report", "a.toml"]).ended(3);
    assert!(ran.err.contains("colour"), "{}", ran.err);
    for command in ["", "init", "generate", "check", "lower", "explain", "report", "mock"] {
        let help = folder
            .run(&[command, "--help"].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>())
            .ended(0);
        assert!(help.out.contains("Example"), "{command}: {}", help.out);
    }
    let help = folder.run(&["--help"]).out;
    assert!(help.contains("Exit codes:") && help.contains("70"), "{help}");
}

#[test]
fn lower_prints_openapi_3_0() {
    let folder = Folder::new("lower");
    let ran = folder.run(&["lower", "tickets.yaml", "--losses"]).ended(0);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["openapi"], "3.0.3");
    assert!(ran.err.contains("OpenAPI 3.0: `dependentRequired`"), "{}", ran.err);
    let plain = folder.run(&["lower", "tickets.yaml"]).ended(0);
    assert!(plain.err.contains("OpenAPI 3.0 lacks them: 0 of 2 operations and webhooks"), "{}", plain.err);
    assert_eq!(plain.out, ran.out);
    // Names and limits are the contract's own.
    let parameter = &document["paths"]["/tickets/{id}"]["get"]["parameters"][0];
    assert_eq!(
        (&parameter["name"], &parameter["schema"]["minLength"]),
        (&"id".into(), &4.into()),
        "{document}"
    );
    assert_eq!(
        document["components"]["schemas"]["Ticket"]["properties"]["seat"]["maximum"], 99,
        "{document}"
    );
    let ran = folder.run(&["lower", "tickets.yaml", "--draft-07"]).ended(0);
    let schemas: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(schemas["definitions"]["Ticket"]["dependencies"]["refund"].is_array(), "{schemas}");
    let ran = folder.run(&["lower", "tickets.yaml", "--json"]).ended(0);
    assert_eq!(ran.summary()["document"], document);
    assert!(ran.summary()["losses"].as_array().is_some_and(|losses| !losses.is_empty()));
}

#[test]
fn report_counts_and_proves() {
    let folder = Folder::new("report");
    let ran = folder.run(&["report", "tickets.yaml"]).ended(0);
    for words in ["Tickets 1.0", "dependentRequired", "proven"] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    assert!(!ran.out.contains("GAP"), "{}", ran.out);
    let ran = folder.run(&["report", "tickets.yaml", "--markdown"]).ended(0);
    assert!(ran.out.starts_with("# Tickets 1.0\n") && ran.out.contains("| keyword |"), "{}", ran.out);
    let report = folder.run(&["report", "tickets.yaml", "--json"]).ended(0).summary()["report"].clone();
    assert!(
        report["proofs"].as_array().unwrap().iter().any(|p| p["type"] == "Ticket" && p["proof"] == "proven"),
        "{report}"
    );
    assert_eq!(report["counts"]["operations"], 2);
}

/// Each place of a mend is named, and what is nothing is said.
#[test]
fn report_names_every_place_of_a_mend() {
    let folder = Folder::new("report-mends");
    folder.put(
        "none.yaml",
        "openapi: 3.1.0\ninfo: { title: None, version: '1' }\npaths: {}\ntags: [{ name: a }, { name: b }]\n",
    );
    let action = "{ target: '$.tags[*]', update: { description: Told. } }";
    let info = "info: { title: Tags, version: '1' }";
    folder.put("mend.yaml", &format!("overlay: 1.0.0\n{info}\nactions: [{action}]\n"));
    folder.put("none.toml", "inputs = ['none.yaml']\n[input]\noverlays = ['mend.yaml']\n");
    let ran = folder.run(&["report", "none.toml"]).ended(0);
    for words in ["updated (2 places)", "/tags/0", "/tags/1"] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    assert!(ran.out.ends_with("\nNone.\n") && !ran.out.contains("\n.\n"), "{}", ran.out);
}

/// What a base's children add stands in `extra`, unless the owner asks for an enum of them.
#[test]
fn report_names_bases_that_could_be_enums() {
    let folder = Folder::new("report-families");
    let document = r##"{"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "paths": {}, "components": {"schemas": {
        "Pet": {"type": "object", "properties": {"kind": {"type": "string"}}, "discriminator": {"propertyName": "kind"}},
        "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}], "properties": {"lives": {"type": "integer"}}}
    }}}"##;
    folder.put("pets.json", document);
    let families = |input: &str| {
        folder.run(&["report", input, "--json"]).ended(0).summary()["report"]["families"].clone()
    };
    let found = families("pets.json");
    assert_eq!(
        (&found[0]["selector"], &found[0]["children"]),
        (&"#/components/schemas/Pet".into(), &1.into())
    );
    folder.put("codegen.toml", "inputs = ['pets.json']\ntypes.families = ['#/components/schemas/Pet']\n");
    assert_eq!(families("codegen.toml"), Value::Array(Vec::new()));
}

/// A fault costs one spot, unless somebody is strict; overlays mend it beside the document.
#[test]
fn faults_are_warnings_errors_or_mended() {
    let folder = Folder::new("faults");
    let faulty = TICKETS.replace(
        "required: true, schema: { type: string, minLength: 4 }",
        "schema: { type: string, minLength: '4' }",
    );
    assert_ne!(faulty, TICKETS);
    folder.put("tickets.yaml", &faulty);
    let ran = folder.run(&["generate", "tickets.yaml", "--output", "api"]).ended(0);
    for words in ["it is required", "it is read as one", "4 are faults, which `faults = \"deny\"` rejects"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    folder.run(&["init", "tickets.yaml"]).ended(0);
    let ran = folder.run(&["check", "tickets.yaml", "--output", "api", "--strict"]).ended(3);
    assert!(ran.err.contains("must have `required: true`") && ran.err.contains("4 errors"), "{}", ran.err);
    folder.put(
        "mend.yaml",
        "overlay: 1.0.0\ninfo: { title: M, version: 1.0.0 }\nactions:\n  \
         - { target: '$.paths..parameters[0]', update: { required: true, schema: { minLength: 4 } } }\n",
    );
    folder.put(
        "codegen.toml",
        "inputs = ['tickets.yaml']\n[input]\nfaults = 'deny'\noverlays = ['mend.yaml']\n",
    );
    folder.run(&["generate", "codegen.toml", "--output", "api"]).ended(0);
    let report = folder.run(&["report", "codegen.toml", "--json"]).ended(0).summary()["report"].clone();
    assert_eq!(report["mends"][0]["what"], "$.paths..parameters[0]");
    let text = folder.run(&["report", "codegen.toml"]).ended(0).out;
    assert!(text.contains("mend.yaml") && text.contains("updated"), "{text}");
    // What is wrong with a mend is shown in the overlay.
    folder.put(
        "wrong.yaml",
        "overlay: 1.0.0\ninfo: { title: M, version: 1.0.0 }\nactions:\n  \
         - { target: '$.paths..parameters[0]', update: { required: true, schema: { minLength: 4 } } }\n  \
         - { target: $.components.schemas, update: { More: { type: strng } } }\n",
    );
    folder.put(
        "wrong.toml",
        "inputs = ['tickets.yaml']\n[input]\nfaults = 'deny'\noverlays = ['wrong.yaml']\n",
    );
    let lines = folder.run(&["generate", "wrong.toml", "--output", "api", "--json"]).ended(3).lines();
    let shown: Vec<_> = lines.iter().filter(|line| line["file"] == "wrong.yaml").collect();
    assert_eq!(shown.len(), 1, "{lines:?}");
    assert_eq!(shown[0]["line"], 5, "{lines:?}");
    assert!(shown[0]["pointer"].as_str().unwrap().starts_with("/actions/1/update/More"), "{lines:?}");
    folder.put(
        "tickets.yaml",
        &faulty.replace("/tickets/{id}:", "/cards/{id}:").replace("parameters:", "x-parameters:"),
    );
    let ran = folder.run(&["generate", "codegen.toml", "--output", "api"]).ended(3);
    assert!(ran.err.contains("selects nothing"), "{}", ran.err);
}
