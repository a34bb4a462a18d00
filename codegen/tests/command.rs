//! Tests that run the command and check its exit codes, messages and files.
#![allow(clippy::unwrap_used, reason = "tests panic on failure")]

#[path = "command/explain.rs"]
mod explain;
#[cfg(feature = "https")]
#[path = "command/fetch.rs"]
mod fetch;
#[path = "command/init.rs"]
mod init;
#[path = "command/lower.rs"]
mod lower;
#[path = "command/packages.rs"]
mod packages;
#[path = "command/picture.rs"]
mod picture;
#[path = "command/stdin.rs"]
mod stdin;
#[path = "command/watch.rs"]
mod watch;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// A separate folder for one test.
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

    fn run(&self, args: &[&str]) -> CommandResult {
        let output = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
            .args(args)
            .current_dir(&self.0)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        CommandResult {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[derive(Debug)]
struct CommandResult {
    code: i32,
    out: String,
    err: String,
}

impl CommandResult {
    #[track_caller]
    fn expect_exit(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    /// Parses the lines of the `--json` output; the last line is the summary.
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
    let result = folder.run(&["generate", "tickets.yaml", "--output", "api"]).expect_exit(0);
    assert_eq!(result.out, "");
    for expected in ["files in api\n", "2 operations, 4 types", "0 warnings"] {
        assert!(result.err.contains(expected), "{expected}: {}", result.err);
    }
    // Progress messages are printed only to terminals.
    assert!(!result.err.contains("reading the contract"), "{}", result.err);
    // A few changed files are listed individually. Many files are only counted, except with `--verbose`.
    assert!(result.err.contains("created ") && !result.err.contains("models.rs"), "{}", result.err);
    assert!(!result.err.contains("progenitor"), "another engine ran: {}", result.err);
    let result = folder.run(&["generate", "tickets.yaml", "--output", "other", "--verbose"]).expect_exit(0);
    assert!(result.err.contains("created other/src/models.rs"), "{}", result.err);
    let manifest = fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"tickets\""), "{manifest}");
    assert!(folder.0.join("api/runtime/src/lib.rs").exists());
    let again = folder.run(&["generate", "tickets.yaml", "-o", "api", "--json"]).expect_exit(0);
    let summary = again.summary();
    assert_eq!(summary["changed"], serde_json::json!({}));
    assert_eq!((&summary["exit"], &summary["counts"]["operations"]), (&0.into(), &2.into()));
}

#[test]
fn command_line_options_override_the_configuration() {
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
    folder.run(&args).expect_exit(0);
    let manifest = fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"seats\"") && manifest.contains("path = \"../rt\""), "{manifest}");
    for absent in ["src/client.rs", "src/server.rs", "runtime"] {
        assert!(!folder.0.join("api").join(absent).exists(), "{absent}");
    }
    folder.run(&["generate", "tickets.yaml", "-o", "modules", "--layout", "modules"]).expect_exit(0);
    assert!(folder.0.join("modules/root.rs").exists() && !folder.0.join("modules/Cargo.toml").exists());
}

#[test]
fn conflicting_and_invalid_names_are_rejected() {
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
        assert_rejected(&folder, &options, message);
    }
    let options = "inputs = ['tickets.yaml']\nnames = { '#/components/schemas/Ticket' = 'a-b' }\n";
    assert_rejected(&folder, options, "`a-b` is not a valid type name: it is not a Rust identifier");
    let taken = "inputs = ['tickets.yaml']\nnames = { '#/components/schemas/Ticket' = 'Some' }\n";
    assert_rejected(
        &folder,
        taken,
        "`Some` is not a valid type name: generated code uses it for something else",
    );
    let small = "inputs = ['tickets.yaml']\nnames = { '#/components/schemas/Ticket' = 'ticket' }\n";
    assert_rejected(
        &folder,
        small,
        "`ticket` is not a valid type name: Rust type names use upper camel case",
    );
    let options = "inputs = ['tickets.yaml']\n[[table]]\nname = 'Seat'\nfile = 'rows.json'\nrows = ''\nkey = 'code'\n\
                   enums = { code = 'x y' }\n";
    assert_rejected(&folder, options, "`x y` is not a valid column name: it is not a Rust identifier");
}

/// Asserts that `generate` rejects the options with a message and writes no files.
#[track_caller]
fn assert_rejected(folder: &Folder, options: &str, message: &str) {
    folder.put("codegen.toml", options);
    let result = folder.run(&["generate", "codegen.toml", "--output", "api"]).expect_exit(3);
    let message_text =
        result.err.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(message_text.contains(message), "{}", result.err);
    assert!(result.err.contains("codegen.toml:"), "{}", result.err);
    assert!(!folder.0.join("api").exists());
}

#[test]
fn options_select_generated_parts() {
    let folder = Folder::new("parts");
    let parts = |args: &[&str]| {
        let mut command = vec!["generate", "tickets.yaml", "--layout", "modules", "-o", "parts"];
        command.extend(args);
        folder.run(&command).expect_exit(0);
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
    folder.run(&["generate", "--only", "client"]).expect_exit(0);
    assert!(folder.0.join("own/src/client.rs").exists() && !folder.0.join("own/src/server.rs").exists());
    folder.run(&["generate", "tickets.yaml", "-o", "x", "--only", "types", "--no-client"]).expect_exit(2);
}

#[test]
fn manifest_lists_only_needed_features() {
    let folder = Folder::new("manifest");
    let manifest = |args: &[&str]| {
        let mut command = vec!["generate", "tickets.yaml", "-o", "api"];
        command.extend(args);
        folder.run(&command).expect_exit(0);
        fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap()
    };
    let text = manifest(&[]);
    assert!(text.contains("client = [\"contract-runtime/client\"]\n"), "{text}");
    assert!(text.contains("server = [\"contract-runtime/server\"]\n"), "{text}");
    for name in ["axum", "bytes", "http", "dep:"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
    let text = manifest(&["--only", "types"]);
    for part in ["client", "server"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    folder.put("codegen.toml", "inputs = [\"tickets.yaml\"]\n[output]\npath = \"api\"\nfeatures = false\n");
    folder.run(&["generate"]).expect_exit(0);
    let text = fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap();
    assert!(text.contains("package = \"tickets-runtime\", features = [\"client\", \"server\"] }"), "{text}");
    let root = fs::read_to_string(folder.0.join("api/src/lib.rs")).unwrap();
    let code: Vec<&str> = root.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    assert!(code.contains(&"pub mod client;") && !code.iter().any(|line| line.contains("cfg(")), "{root}");
    // Each feature of the package enables the runtime features that its part needs.
    let streams = TICKETS.replace("\ncomponents:\n", "\n  /tickets:\n    get:\n      security: [{ key: [] }]\n      responses: { '200': { description: '', content: { text/event-stream: {} } } }\ncomponents:\n  securitySchemes: { key: { type: apiKey, in: header, name: X-Key } }\n");
    folder.put("tickets.yaml", &streams);
    folder.put("codegen.toml", "inputs = [\"tickets.yaml\"]\n[output]\npath = \"api\"\n");
    folder.run(&["generate"]).expect_exit(0);
    let text = fs::read_to_string(folder.0.join("api/Cargo.toml")).unwrap();
    for (part, needed) in [
        ("client", vec!["client", "credentials", "stream"]),
        ("server", vec!["server", "authentication", "stream", "tokio"]),
        ("schemars", vec!["schemars"]),
        ("proptest", vec!["proptest"]),
    ] {
        let needed = needed.into_iter().map(|name| format!("\"contract-runtime/{name}\""));
        let line = format!("\n{part} = [{}]\n", needed.collect::<Vec<_>>().join(", "));
        assert!(text.contains(&line), "{line}{text}");
    }
    folder.run(&["generate", "--output", "src/api.rs"]).expect_exit(0);
    let text = fs::read_to_string(folder.0.join("src/api.rs")).unwrap();
    assert!(
        text.contains("`client` and `credentials` and `stream` and `server` and `authentication` and `tokio` and `serde`."),
        "{text}"
    );
}

#[test]
fn only_generated_files_are_overwritten() {
    let folder = Folder::new("file");
    let result = folder.run(&["generate", "tickets.yaml", "--output", "src/api.rs"]).expect_exit(0);
    assert!(
        result.err.contains("created src/api.rs") && result.err.contains("1 of 1 file changed"),
        "{}",
        result.err
    );
    let text = fs::read_to_string(folder.0.join("src/api.rs")).unwrap();
    assert!(text.contains("pub mod client {") && text.contains("pub mod schemas {"), "{text}");
    assert!(text.lines().next().unwrap().contains("@generated"));
    folder.run(&["check", "tickets.yaml", "--output", "src/api.rs"]).expect_exit(0);
    folder.put("tickets.yaml", &TICKETS.replace("maximum: 99", "maximum: 120"));
    let result = folder.run(&["check", "tickets.yaml", "--output", "src/api.rs"]).expect_exit(1);
    // The printed difference omits the digests in the first lines of the file.
    assert!(result.out.contains("120") && !result.out.contains("sha256"), "{}", result.out);
    folder.run(&["generate", "tickets.yaml", "--output", "src/api.rs"]).expect_exit(0);
    fs::write(folder.0.join("src/lib.rs"), "pub mod api;\n").unwrap();
    for command in ["generate", "check"] {
        let result = folder.run(&[command, "tickets.yaml", "--output", "src/lib.rs"]).expect_exit(2);
        assert!(result.err.contains("was not generated"), "{}", result.err);
    }
    assert_eq!(fs::read_to_string(folder.0.join("src/lib.rs")).unwrap(), "pub mod api;\n");
    let result = folder.run(&["generate", "tickets.yaml", "-o", "src", "--layout", "file"]).expect_exit(4);
    assert!(result.err.contains("is a folder or a link, not a file"), "{}", result.err);
}

#[test]
fn selections_limit_operations() {
    let folder = Folder::new("selections");
    let result = folder
        .run(&["generate", "tickets.yaml", "-o", "api", "--operation", "write*", "--json"])
        .expect_exit(0);
    let summary = result.summary();
    assert_eq!((&summary["counts"]["operations"], &summary["whole"]["operations"]), (&1.into(), &2.into()));
    let result = folder.run(&["check", "tickets.yaml", "-o", "api", "--operation", "read*"]).expect_exit(1);
    assert!(result.err.contains("generate tickets.yaml -o api --operation 'read*'"), "{}", result.err);
    let result =
        folder.run(&["generate", "tickets.yaml", "-o", "api", "--path", "/tickets/**"]).expect_exit(0);
    assert!(result.err.contains("2 of 2 operations, 16 of 16 schemas, 4 types"), "{}", result.err);
    let result = folder.run(&["generate", "tickets.yaml", "-o", "api", "--tag", "seats"]).expect_exit(3);
    assert!(result.err.contains("error[config]: no operation has the tag `seats`"), "{}", result.err);
    folder.put(
        "codegen.toml",
        "inputs = [\"tickets.yaml\"]\n[operations]\nexclude = [{ operation = \"writeTicket\" }]\n",
    );
    let lowered: Value =
        serde_json::from_str(&folder.run(&["lower", "codegen.toml"]).expect_exit(0).out).unwrap();
    let item = &lowered["paths"]["/tickets/{id}"];
    assert!(item["get"].is_object() && item["put"].is_null(), "{item}");
    let result = folder.run(&["explain", "writeTicket", "codegen.toml"]).expect_exit(2);
    assert!(result.err.contains("no type, field, schema or operation `writeTicket`"), "{}", result.err);
    let report = folder.run(&["report", "codegen.toml", "--json"]).expect_exit(0).summary()["report"].clone();
    assert_eq!(report["counts"]["operations"], 1);
}

#[test]
fn stale_options_are_reported_with_their_line() {
    let folder = Folder::new("stale");
    let options = "inputs = [\"tickets.yaml\"]\nsecrets = [\n    \"#/none\",\n]\n[operations]\ninclude = [{ tag = 'seats' }]\n";
    folder.put("codegen.toml", options);
    let result = folder.run(&["generate", "-o", "api"]).expect_exit(3);
    for expected in ["[codegen.toml:3:5]", "[codegen.toml:6:20]"] {
        assert!(result.err.contains(expected), "{expected}: {}", result.err);
    }
    let lines = folder.run(&["generate", "-o", "api", "--json"]).expect_exit(3).lines();
    let first = lines.iter().find(|line| line["line"] == 3).unwrap();
    assert_eq!((&first["file"], &first["pointer"]), (&"codegen.toml".into(), &Value::Null));
}

#[test]
fn init_writes_a_valid_configuration() {
    let folder = Folder::new("init");
    let odd = TICKETS.replace("maxLength: 40", "maxLength: 40, pattern: '^(?!-)'").replace(
        "reason: { type: string }",
        "reason: { type: string }\n        accessToken: { type: string }",
    );
    folder.put("tickets.yaml", &odd);
    folder.run(&["generate", "tickets.yaml", "-o", "api", "--strict"]).expect_exit(3);
    let result = folder.run(&["init", "tickets.yaml", "--output", "schemas/codegen.toml"]).expect_exit(0);
    for expected in [
        "Tickets 1.0: 2 operations, 4 types",
        "accessToken",
        "patterns 1: ",
        "Next: contract-codegen generate",
    ] {
        assert!(result.err.contains(expected), "{expected}: {}", result.err);
    }
    let text = fs::read_to_string(folder.0.join("schemas/codegen.toml")).unwrap();
    for line in [
        "inputs = [\"../tickets.yaml\"]",
        "package = \"tickets\"",
        "path = \"tickets\"",
        "#     \"#/components/schemas/Ticket/properties/accessToken\", # is named `accessToken`",
        "    \"#/components/schemas/Ticket/properties/note\", # ^(?!-)",
        "# unbounded-integers = \"i64\"",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let result = folder.run(&["generate"]).expect_exit(0);
    assert!(result.err.contains("it is not checked"), "{}", result.err);
    assert!(folder.0.join("schemas/tickets/Cargo.toml").exists());
    let result = folder.run(&["init", "tickets.yaml", "--output", "schemas/codegen.toml"]).expect_exit(2);
    assert!(result.err.contains("already exists") && result.err.contains("--force"), "{}", result.err);
    folder.run(&["init", "tickets.yaml", "--output", "schemas/codegen.toml", "--force"]).expect_exit(0);
    folder.run(&["init", "missing.yaml"]).expect_exit(4);
    folder.put("tickets.yaml", &TICKETS.replace("minimum: 1,", "minimum: [1,"));
    folder.run(&["init", "tickets.yaml"]).expect_exit(3);
    assert!(!folder.0.join("codegen.toml").exists());
}

/// `init` writes the mounts of the command line to the configuration file, with paths relative to the folder
/// of the file.
#[test]
fn init_writes_mounts() {
    let folder = Folder::new("init-mounts");
    folder.put("api.json", r#"{ "items": { "$ref": "https://vendor.example/v1/other.json" } }"#);
    folder.put("vendor/other.json", r#"{ "type": "string" }"#);
    let result = folder.run(&["init", "api.json"]).expect_exit(0);
    assert!(result.err.contains("mounts 1: https://vendor.example/v1/other.json"), "{}", result.err);
    let text = fs::read_to_string(folder.0.join("codegen.toml")).unwrap();
    assert!(text.contains("# mounts = { \"https://vendor.example/v1/\" = \"vendor\" }"), "{text}");
    let mount = "https://vendor.example/v1/=vendor";
    let result = folder
        .run(&["init", "api.json", "--mount", mount, "--output", "schemas/codegen.toml"])
        .expect_exit(0);
    assert!(!result.err.contains("mounts"), "{}", result.err);
    let text = fs::read_to_string(folder.0.join("schemas/codegen.toml")).unwrap();
    assert!(text.contains("\nmounts = { \"https://vendor.example/v1/\" = \"../vendor\" }"), "{text}");
    folder.run(&["generate", "schemas/codegen.toml", "--strict"]).expect_exit(0);
    let result = folder.run(&["init", "api.json", "--mount", "vendor", "--force"]).expect_exit(2);
    assert!(result.err.contains("expected PREFIX=PATH, such as"), "{}", result.err);
}

#[test]
fn repeated_warnings_are_counted() {
    let folder = Folder::new("warnings");
    let many: String =
        (0..9).map(|n| format!("        m{n}: {{ type: string, nullible: true }}\n")).collect();
    folder.put("tickets.yaml", &TICKETS.replace("        refund:", &format!("{many}        refund:")));
    let count = |result: &CommandResult| result.err.matches("`nullible` is not a keyword").count();
    let brief = folder.run(&["generate", "tickets.yaml", "-o", "api"]).expect_exit(0);
    assert_eq!(count(&brief), 1, "{}", brief.err);
    assert!(brief.err.contains("6 more of this kind; --verbose shows all"), "{}", brief.err);
    assert_eq!(count(&folder.run(&["generate", "tickets.yaml", "-o", "api", "-v"]).expect_exit(0)), 9);
    let lines = folder.run(&["generate", "tickets.yaml", "-o", "api", "--json"]).expect_exit(0).lines();
    assert_eq!(lines.iter().filter(|line| line["code"] == "unknown-keyword").count(), 9);
}

#[test]
fn check_prints_the_difference_and_the_update_command() {
    let folder = Folder::new("check");
    folder.run(&["generate", "tickets.yaml", "--output", "api"]).expect_exit(0);
    folder.run(&["check", "tickets.yaml", "--output", "api"]).expect_exit(0);
    folder.put("tickets.yaml", &TICKETS.replace("maximum: 99", "maximum: 120"));
    let result = folder.run(&["check", "tickets.yaml", "--output", "api"]).expect_exit(1);
    assert!(
        result.out.contains("--- src/") && result.out.contains("\n+") && result.out.contains("\n@@ "),
        "{}",
        result.out
    );
    assert!(
        result.err.contains("help: to update, run `contract-codegen generate tickets.yaml --output api`"),
        "{}",
        result.err
    );
    let result = folder.run(&["check", "tickets.yaml", "--output", "api", "--json"]).expect_exit(1);
    let summary = result.summary();
    assert_eq!(summary["exit"], 1);
    assert!(summary["difference"].as_str().unwrap().contains("+++"));
    assert_eq!(summary["repair"], "contract-codegen generate tickets.yaml --output api");
    folder.run(&["generate", "tickets.yaml", "--output", "api"]).expect_exit(0);
    folder.run(&["check", "tickets.yaml", "--output", "api"]).expect_exit(0);
}

#[test]
fn folders_with_other_files_are_rejected() {
    let folder = Folder::new("foreign");
    let result = folder.run(&["generate", "tickets.yaml", "--output", "."]).expect_exit(2);
    assert!(result.err.contains("contains files that were not generated"), "{}", result.err);
    assert!(folder.0.join("tickets.yaml").exists());
}

#[test]
fn errors_contain_file_line_and_pointer() {
    let folder = Folder::new("broken");
    folder.put("tickets.yaml", &TICKETS.replace("minimum: 1,", "minimum: many,"));
    let result = folder.run(&["generate", "tickets.yaml", "--output", "api", "--strict"]).expect_exit(3);
    assert!(result.err.contains("tickets.yaml:24:"), "{}", result.err);
    assert!(result.err.contains("/properties/seat/minimum"), "{}", result.err);
    assert!(!folder.0.join("api").exists());
    let result =
        folder.run(&["generate", "tickets.yaml", "--output", "api", "--strict", "--json"]).expect_exit(3);
    let lines = result.lines();
    assert_eq!((&lines[0]["severity"], &lines[0]["line"]), (&"error".into(), &24.into()));
    assert_eq!(lines[0]["pointer"], "/components/schemas/Ticket/properties/seat/minimum");
    assert_eq!(result.summary()["exit"], 3);
}

#[test]
fn invalid_usage_has_an_exit_code() {
    let folder = Folder::new("usage");
    let result = folder.run(&["report", "missing.json"]).expect_exit(4);
    assert!(result.err.contains("cannot read missing.json"), "{}", result.err);
    folder.run(&["generate", "tickets.yaml"]).expect_exit(2);
    folder.run(&["explain", "Ticket"]).expect_exit(2);
    folder.put("a.toml", "inputs = [\"tickets.yaml\"]");
    folder.run(&["report", "a.toml", "a.toml"]).expect_exit(2);
    folder.put("a.toml", "inputs = [\"tickets.yaml\"]\ncolour = 1");
    let result = folder.run(&["report", "a.toml"]).expect_exit(3);
    assert!(result.err.contains("colour"), "{}", result.err);
    for command in ["", "init", "generate", "check", "lower", "explain", "report", "mock", "test"] {
        let help = folder
            .run(&[command, "--help"].into_iter().filter(|argument| !argument.is_empty()).collect::<Vec<_>>())
            .expect_exit(0);
        assert!(help.out.contains("Example"), "{command}: {}", help.out);
    }
    let help = folder.run(&["--help"]).out;
    assert!(help.contains("Exit codes:") && help.contains("70"), "{help}");
}

#[test]
fn report_counts_and_proves() {
    let folder = Folder::new("report");
    let result = folder.run(&["report", "tickets.yaml"]).expect_exit(0);
    for expected in ["Tickets 1.0", "dependentRequired", "proven"] {
        assert!(result.out.contains(expected), "{expected}: {}", result.out);
    }
    assert!(!result.out.contains("GAP"), "{}", result.out);
    let result = folder.run(&["report", "tickets.yaml", "--markdown"]).expect_exit(0);
    assert!(
        result.out.starts_with("# Tickets 1.0\n") && result.out.contains("| keyword |"),
        "{}",
        result.out
    );
    let report = folder.run(&["report", "tickets.yaml", "--json"]).expect_exit(0).summary()["report"].clone();
    assert!(
        report["proofs"].as_array().unwrap().iter().any(|p| p["type"] == "Ticket" && p["proof"] == "proven"),
        "{report}"
    );
    assert_eq!(report["counts"]["operations"], 2);
}

/// The report lists each location that an overlay changes, and omits sections without entries.
#[test]
fn report_lists_every_location_of_an_overlay_change() {
    let folder = Folder::new("report-mends");
    folder.put(
        "none.yaml",
        "openapi: 3.1.0\ninfo: { title: None, version: '1' }\npaths: {}\ntags: [{ name: a }, { name: b }]\n",
    );
    let action = "{ target: '$.tags[*]', update: { description: Told. } }";
    let info = "info: { title: Tags, version: '1' }";
    folder.put("mend.yaml", &format!("overlay: 1.0.0\n{info}\nactions: [{action}]\n"));
    folder.put("none.toml", "inputs = ['none.yaml']\n[input]\noverlays = ['mend.yaml']\n");
    let result = folder.run(&["report", "none.toml"]).expect_exit(0);
    for expected in ["updated (2 places)", "/tags/0", "/tags/1"] {
        assert!(result.out.contains(expected), "{expected}: {}", result.out);
    }
    assert!(result.out.ends_with("\nNone.\n") && !result.out.contains("\n.\n"), "{}", result.out);
}

/// The report lists each base schema with a `discriminator` that becomes a struct, unless the configuration
/// selects an enum of its child schemas.
#[test]
fn report_lists_bases_that_could_be_enums() {
    let folder = Folder::new("report-families");
    let document = r##"{"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "paths": {}, "components": {"schemas": {
        "Pet": {"type": "object", "properties": {"kind": {"type": "string"}}, "discriminator": {"propertyName": "kind"}},
        "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}], "properties": {"lives": {"type": "integer"}}}
    }}}"##;
    folder.put("pets.json", document);
    let families = |input: &str| {
        folder.run(&["report", input, "--json"]).expect_exit(0).summary()["report"]["families"].clone()
    };
    let found = families("pets.json");
    assert_eq!(
        (&found[0]["selector"], &found[0]["children"]),
        (&"#/components/schemas/Pet".into(), &1.into())
    );
    folder.put("codegen.toml", "inputs = ['pets.json']\ntypes.families = ['#/components/schemas/Pet']\n");
    assert_eq!(families("codegen.toml"), Value::Array(Vec::new()));
}

/// Faults are reported as warnings, or as errors with `--strict`, and overlays can repair them.
#[test]
fn faults_are_warnings_or_errors_or_repaired() {
    let folder = Folder::new("faults");
    let faulty = TICKETS.replace(
        "required: true, schema: { type: string, minLength: 4 }",
        "schema: { type: string, minLength: '4' }",
    );
    assert_ne!(faulty, TICKETS);
    folder.put("tickets.yaml", &faulty);
    let result = folder.run(&["generate", "tickets.yaml", "--output", "api"]).expect_exit(0);
    for expected in ["it is required", "it is read as one", "4 are faults, which `faults = \"deny\"` rejects"]
    {
        assert!(result.err.contains(expected), "{expected}: {}", result.err);
    }
    folder.run(&["init", "tickets.yaml"]).expect_exit(0);
    let result = folder.run(&["check", "tickets.yaml", "--output", "api", "--strict"]).expect_exit(3);
    assert!(
        result.err.contains("must have `required: true`") && result.err.contains("4 errors"),
        "{}",
        result.err
    );
    folder.put(
        "mend.yaml",
        "overlay: 1.0.0\ninfo: { title: M, version: 1.0.0 }\nactions:\n  \
         - { target: '$.paths..parameters[0]', update: { required: true, schema: { minLength: 4 } } }\n",
    );
    folder.put(
        "codegen.toml",
        "inputs = ['tickets.yaml']\n[input]\nfaults = 'deny'\noverlays = ['mend.yaml']\n",
    );
    folder.run(&["generate", "codegen.toml", "--output", "api"]).expect_exit(0);
    let report = folder.run(&["report", "codegen.toml", "--json"]).expect_exit(0).summary()["report"].clone();
    assert_eq!(report["mends"][0]["what"], "$.paths..parameters[0]");
    let text = folder.run(&["report", "codegen.toml"]).expect_exit(0).out;
    assert!(text.contains("mend.yaml") && text.contains("updated"), "{text}");
    // Errors in the value that an overlay inserts are located in the overlay.
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
    let lines = folder.run(&["generate", "wrong.toml", "--output", "api", "--json"]).expect_exit(3).lines();
    let shown: Vec<_> = lines.iter().filter(|line| line["file"] == "wrong.yaml").collect();
    assert_eq!(shown.len(), 1, "{lines:?}");
    assert_eq!(shown[0]["line"], 5, "{lines:?}");
    assert!(shown[0]["pointer"].as_str().unwrap().starts_with("/actions/1/update/More"), "{lines:?}");
    folder.put(
        "tickets.yaml",
        &faulty.replace("/tickets/{id}:", "/cards/{id}:").replace("parameters:", "x-parameters:"),
    );
    let result = folder.run(&["generate", "codegen.toml", "--output", "api"]).expect_exit(3);
    assert!(result.err.contains("selects nothing"), "{}", result.err);
}

/// `config-schema` prints the JSON Schema of the installed version.
#[test]
fn config_schema_is_printed() {
    let result = Folder::new("config-schema").run(&["config-schema"]).expect_exit(0);
    assert_eq!(result.out, include_str!("../codegen.schema.json"));
}

/// The completion script of a shell requests candidates from the program. The candidates for tags and
/// operations are those of the contract.
#[test]
fn shells_complete_tags_and_operations() {
    let folder = Folder::new("completions");
    folder.put(
        "tickets.yaml",
        &TICKETS.replace("operationId: readTicket", "operationId: readTicket\n      tags: [seats]"),
    );
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let result = folder.run(&["completions", shell]).expect_exit(0);
        assert!(result.out.contains("CONTRACT_CODEGEN_COMPLETE"), "{shell}: {}", result.out);
    }
    let complete = |words: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
            .current_dir(&folder.0)
            .env("CONTRACT_CODEGEN_COMPLETE", "fish")
            .arg("--")
            .args(words)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(complete(&["contract-codegen", "generate", "tickets.yaml", "--tag", ""]), "seats\n");
    assert_eq!(
        complete(&["contract-codegen", "generate", "tickets.yaml", "--operation", ""]),
        "readTicket\nwriteTicket\n"
    );
    // Without a contract there are no candidates, and no message.
    assert_eq!(complete(&["contract-codegen", "generate", "--tag", ""]), "");
}

#[test]
fn commands_have_manual_pages() {
    let folder = Folder::new("man");
    folder.run(&["man", "man/man1"]).expect_exit(0);
    let page = |name: &str| fs::read_to_string(folder.0.join("man/man1").join(name)).unwrap();
    assert!(page("contract-codegen.1").contains("contract\\-codegen\\-drift(1)"));
    assert!(page("contract-codegen-generate.1").contains("The generator owns the output folder."));
    folder.put("taken", "");
    let result = folder.run(&["man", "taken/man1"]).expect_exit(4);
    assert!(result.err.contains("cannot write the manual pages to taken/man1"), "{}", result.err);
}

/// `--quiet` suppresses warnings and status lines, but no errors.
#[test]
fn quiet_prints_errors_only() {
    let folder = Folder::new("quiet");
    folder.put("tickets.yaml", &TICKETS.replace("minimum: 1,", "minimum: 1, minimun: 1,"));
    let generate = ["generate", "tickets.yaml", "-o", "api"];
    assert!(folder.run(&generate).expect_exit(0).err.contains("`minimun` is not a keyword"));
    let quiet = folder.run(&[&generate[..], &["--quiet"]].concat()).expect_exit(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
    let lines = folder.run(&[&generate[..], &["--quiet", "--json"]].concat()).expect_exit(0).lines();
    assert!(lines.iter().all(|line| line["severity"] != "warning"), "{lines:?}");
    folder.put("tickets.yaml", &TICKETS.replace("minimum: 1,", "minimum: many, minimun: 1,"));
    let result = folder.run(&[&generate[..], &["--strict", "-q"]].concat()).expect_exit(3);
    assert!(
        result.err.contains("tickets.yaml:24:") && !result.err.contains("is not a keyword"),
        "{}",
        result.err
    );
}

/// Locations are relative to the working directory, also if the contract consists of several files in a folder.
#[test]
fn locations_are_paths_from_the_working_directory() {
    let folder = Folder::new("several-files");
    let reference =
        |target: &str| TICKETS.replace("minimum: 1,", &format!("$ref: '{target}', minimum: many,"));
    folder.put("spec/api.yaml", &reference("seats/seat.yaml"));
    folder.put("spec/seats/seat.yaml", "type: many\nproperties: { a: { $ref: '#/none' } }\n");
    folder.put("codegen.toml", "inputs = ['spec/api.yaml']\n");
    for input in ["spec/api.yaml", "codegen.toml"] {
        let result = folder.run(&["generate", input, "--output", "api", "--strict"]).expect_exit(3);
        assert!(result.err.contains("spec/api.yaml:24:"), "{}", result.err);
        assert!(result.err.contains("spec/seats/seat.yaml:1:"), "{}", result.err);
        assert!(result.err.contains("`seats/seat.yaml` has no `none`"), "{}", result.err);
        assert!(!result.err.contains("file:///"), "{}", result.err);
    }
    folder.put("spec/api.yaml", &TICKETS.replace("minimum: 1,", "minimum: 1, description: A seat,"));
    let explained = folder.run(&["explain", "Ticket", "spec/api.yaml"]).expect_exit(0);
    assert!(explained.out.contains("spec/api.yaml:"), "{}", explained.out);
    assert!(!explained.out.contains("file:///"), "{}", explained.out);
}
