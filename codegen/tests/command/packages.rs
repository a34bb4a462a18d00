//! Generated packages in Cargo: workspaces, compilation, first calls and publication.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use super::Folder;

/// Runs `cargo metadata` in a folder, with the dependency versions of this workspace, but without the packages
/// of other platforms.
fn read_metadata(folder: &Path) -> Value {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    let result = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    serde_json::from_slice(&result.stdout).unwrap()
}

/// Returns the sorted names of the workspace members.
fn member_names(metadata: &Value) -> Vec<&str> {
    let ids = metadata["workspace_members"].as_array().unwrap();
    let mut names: Vec<&str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| ids.contains(&package["id"]))
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    names
}

/// The source of a workspace member that uses three generated packages. Packages with a shared runtime have
/// the same runtime types, and each package re-exports its runtime.
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
    let packages = "members = [\"north\", \"south\", \"third\", \"plain\", \"fleet\"]";
    folder.put("Cargo.toml", &format!("[workspace]\nresolver = \"3\"\n{packages}\n"));
    let uses = [
        ("north", "\"layers\", \"reqwest\", \"tokio\", \"tracing\""),
        ("south", "\"layers\", \"reqwest\""),
        ("third", "\"client\""),
    ]
    .map(|(name, features)| format!("{name} = {{ path = \"../{name}\", features = [{features}] }}\n"));
    let fleet = "[package]\nname = \"fleet\"\nedition = \"2024\"\n[dependencies]\n";
    folder.put("fleet/Cargo.toml", &format!("{fleet}{}", uses.concat()));
    folder.put("fleet/src/lib.rs", FLEET);
    folder.put("orders.yaml", ORDERS);
    for (name, output) in [
        ("north", ""),
        ("south", "[client]\ncredentials = true\n"),
        ("third", "runtime = { path = '../south/runtime', package = 'south-runtime' }\n"),
        // Types only, with a part of the runtime.
        ("plain", "client = false\nserver = false\n"),
    ] {
        let input = if name == "south" { "orders.yaml" } else { "tickets.yaml" };
        let options = format!("inputs = ['{input}']\npackage = '{name}'\n[output]\nmember = true\n{output}");
        folder.put(&format!("{name}.toml"), &options);
        folder.run(&["generate", &format!("{name}.toml"), "--output", name]).expect_exit(0);
    }
    // The first calls of the READMEs and of the documentation compile.
    let calls = ["north", "south"].map(|name| first_calls(&folder.0.join(name), name));
    assert!(
        calls[1].contains("Credentials::new().basic(\"name\", \"password\").token(\"secret\")"),
        "{}",
        calls[1]
    );
    assert!(
        calls[1].contains("client.add_order(") && calls[1].contains("types::Order::parse("),
        "{}",
        calls[1]
    );
    folder.put("fleet/src/lib.rs", &format!("{FLEET}\n{}", calls.concat()));
    let metadata = read_metadata(&folder.0);
    assert_eq!(
        member_names(&metadata),
        ["fleet", "north", "north-runtime", "plain", "plain-runtime", "south", "south-runtime", "third"]
    );
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
        // The package forwards the features of the runtime.
        for feature in
            ["client", "server", "reqwest", "reqwest-rustls", "ready", "layers", "tower", "blocking", "tokio"]
        {
            let passed = package["features"][feature].to_string();
            assert!(passed.contains(&format!("contract-runtime/{feature}")), "{feature}: {passed}");
            assert!(runtime["features"][feature].is_array(), "{feature}");
        }
    }
    let root = fs::read_to_string(folder.0.join("north/src/lib.rs")).unwrap();
    assert!(root.contains("pub use ::contract_runtime as runtime;"), "{root}");
    check_packages(&folder.0);
}

/// A contract whose only operation has a body, several kinds of parameters, and credentials.
const ORDERS: &str = r"
openapi: 3.1.0
info: { title: Orders, version: '1' }
paths:
  /orders/{kind}:
    post:
      operationId: addOrder
      security: [{ basic: [], token: [] }]
      parameters:
        - { name: kind, in: path, required: true, schema: { $ref: '#/components/schemas/Kind' } }
        - { name: count, in: query, required: true, schema: { type: integer, minimum: 3 } }
        - { name: note, in: query, schema: { type: string } }
      requestBody: { required: true, content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } } }
      responses: { '204': { description: done } }
components:
  securitySchemes: { basic: { type: http, scheme: basic }, token: { type: http, scheme: bearer } }
  schemas:
    Kind: { type: string, enum: [first, second] }
    Order: { type: object, required: [id], properties: { id: { type: string } } }
";

/// Returns the examples of a first call in the README and in the root module of a generated package. Each
/// example becomes a Rust module.
fn first_calls(package: &Path, name: &str) -> String {
    let readme = fs::read_to_string(package.join("README.md")).unwrap();
    let readme =
        code_block(&readme, "```rust\n").replace("#[tokio::main]\nasync fn main", "pub async fn call");
    let root = fs::read_to_string(package.join("src/lib.rs")).unwrap();
    let lines: Vec<&str> = root.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    let docs = code_block(&lines.join("\n"), "```no_run\n");
    let docs = docs.replace("# #[cfg(feature = \"ready\")]\n# async", "pub async").replace("\n# ", "\n");
    format!("pub mod {name}_readme {{\n{readme}\n}}\npub mod {name}_docs {{\n{docs}\n}}\n")
}

/// Returns the content of the first code block that starts with the line `opening`.
pub(super) fn code_block(text: &str, opening: &str) -> String {
    let (_, code) = text.split_once(opening).unwrap_or_else(|| panic!("no `{opening}` in:\n{text}"));
    code.split("```").next().unwrap().to_owned()
}

/// The migrated program of two guides compiles with the package that is generated from the contract in one of them.
#[test]
fn migrated_program_compiles() {
    let folder = Folder::new("migration");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/from-openapi-generator.md");
    folder.put("pets.yaml", &code_block(&fs::read_to_string(page).unwrap(), "```yaml\n"));
    folder.put("pets.toml", "inputs = ['pets.yaml']\npackage = 'pets'\n[output]\nmember = true\n");
    folder.put("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"pets\", \"shop\"]\n");
    let features = "\"layers\", \"reqwest\", \"tokio\", \"tracing\"";
    let dependency = format!("pets = {{ path = \"../pets\", features = [{features}] }}");
    let manifest = "[package]\nname = \"shop\"\nedition = \"2024\"\n[dependencies]\n";
    folder.put("shop/Cargo.toml", &format!("{manifest}{dependency}\n"));
    let program = include_str!("../migrations/pets.rs");
    assert!(program.contains("#[tokio::main]\nasync fn main("), "{program}");
    folder.put("shop/src/lib.rs", &program.replace("#[tokio::main]\nasync fn main(", "pub async fn run("));
    folder.run(&["generate", "pets.toml", "--output", "pets"]).expect_exit(0);
    assert_eq!(member_names(&read_metadata(&folder.0)), ["pets", "pets-runtime", "shop"]);
    check_packages(&folder.0);
}

/// The manifest contains the configured fields, and `cargo package` succeeds for the package and its runtime.
#[test]
fn generated_packages_can_be_published() {
    let folder = Folder::new("publish");
    let package = "name = 'rail-tickets'\nversion = '1.2.0-rc.1'\nlicense = 'MIT'\ndescription = 'Tickets of a \"railway\".'\nrepository = 'https://example.com/tickets'\nauthors = ['A']\nkeywords = ['tickets', 'trains']\n";
    let options = "[output]\npath = 'out'\nserver = false\nmember = false\n";
    folder.put("codegen.toml", &format!("inputs = ['tickets.yaml']\n[package]\n{package}{options}"));
    folder.run(&["generate"]).expect_exit(0);
    let out = folder.0.join("out");
    let manifest = fs::read_to_string(out.join("Cargo.toml")).unwrap();
    for line in package.lines().map(|line| line.replace('\'', "\"")).filter(|line| !line.starts_with("desc"))
    {
        assert!(manifest.lines().any(|found| found == line), "{line}\n{manifest}");
    }
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    fs::copy(lock, out.join("Cargo.lock")).unwrap();
    let result = Command::new(env!("CARGO"))
        .args(["package", "--workspace", "--no-verify", "--offline", "--allow-dirty"])
        .current_dir(&out)
        .env("CARGO_TARGET_DIR", folder.0.join("target"))
        .output()
        .unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    for file in ["rail-tickets-1.2.0-rc.1.crate", "rail-tickets-runtime-0.1.0.crate"] {
        assert!(folder.0.join("target/package").join(file).exists(), "{file}");
    }
    folder
        .put("codegen.toml", "inputs = ['tickets.yaml']\n[package]\nversion = '1'\n[output]\npath = 'out'\n");
    let result = folder.run(&["generate"]).expect_exit(3);
    assert!(result.err.contains("`1` is not a valid version of a package"), "{}", result.err);
}

/// Cargo accepts a generated package in every position relative to a workspace. If `generate` requests a
/// change of the workspace, the change is made first.
#[test]
fn packages_fit_the_workspace_around_them() {
    let all = "members = [\"app\", \"crates/*\"]\nexclude = [\"out\", \"app/inside\"]";
    // Output folder, option, message of the first run, the message repeats, joined.
    for (output, option, message, repeats, is_member) in [
        ("crates/api", "", None, false, true),
        ("crates/api", "member = true", None, false, true),
        ("crates/api", "member = false", Some("the workspace"), true, false),
        ("other/api", "", Some("add \"other/api\" to `members`"), false, true),
        ("other/api", "member = false", Some("add `exclude = [\"other/api\"]`"), false, false),
        ("out/api", "", None, false, false),
        // As in Cargo, a folder in `members` precedes `exclude`.
        ("app/inside", "", Some("add \"app/inside\" to `members`"), false, true),
        ("target/api", "", None, false, false),
    ] {
        let folder = Folder::new("fits");
        folder.put("Cargo.toml", &format!("[workspace]\nresolver = \"3\"\n{all}\n"));
        folder.put("app/Cargo.toml", "[package]\nname = \"app\"\nedition = \"2024\"\n");
        folder.put("app/src/lib.rs", "");
        folder.put("crates/empty/Cargo.toml", "[package]\nname = \"empty\"\nedition = \"2024\"\n");
        folder.put("crates/empty/src/lib.rs", "");
        folder.put(
            "conf/codegen.toml",
            &format!("inputs = ['../tickets.yaml']\n[output]\npath = '../{output}'\n{option}\n"),
        );
        for run in [0, 1] {
            let err = folder.run(&["generate", "conf/codegen.toml"]).expect_exit(0).err;
            let expected = message.filter(|_| run == 0 || repeats);
            let is_hint = |line: &&str| line.contains("workspace");
            let hint = err.lines().find(is_hint);
            assert_eq!(hint.is_some(), expected.is_some(), "{output} {option} {run}: {err}");
            assert!(expected.is_none_or(|text| hint.unwrap().contains(text)), "{output} {option}: {hint:?}");
        }
        let members = match (is_member, message) {
            // The change that the message requests.
            (true, Some(_)) => all.replace("\"app\",", &format!("\"app\", \"{output}\",")),
            (false, Some(_)) => all
                .replace("\"out\",", &format!("\"out\", \"{output}\","))
                .replace("crates/*", "crates/empty"),
            _ => all.to_owned(),
        };
        folder.put("Cargo.toml", &format!("[workspace]\nresolver = \"3\"\n{members}\n"));
        let root = fs::canonicalize(&folder.0).unwrap();
        let package = root.join(output);
        for place in [&root, &package] {
            let metadata = read_metadata(place);
            let expected = if is_member || place == &root { &root } else { &package };
            assert_eq!(metadata["workspace_root"], expected.to_str().unwrap(), "{output} {option}");
            let names = member_names(&metadata);
            assert_eq!(
                names.contains(&"tickets"),
                is_member || place == &package,
                "{output} {option}: {names:?}"
            );
        }
    }
}

/// If a workspace is created around an existing package, the next run of `generate` makes the package a
/// member.
#[test]
fn existing_packages_join_a_new_workspace() {
    let folder = Folder::new("joins");
    // The nearest workspace excludes everything, so that the one of this repository has no effect.
    folder.put("Cargo.toml", "[workspace]\nexclude = [\"sub\"]\n");
    folder.run(&["generate", "tickets.yaml", "-o", "sub/api"]).expect_exit(0);
    folder.put("sub/Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"api\"]\n");
    folder.run(&["check", "tickets.yaml", "-o", "sub/api"]).expect_exit(1);
    folder.run(&["generate", "tickets.yaml", "-o", "sub/api"]).expect_exit(0);
    assert_eq!(member_names(&read_metadata(&folder.0.join("sub"))), ["tickets", "tickets-runtime"]);
    folder.run(&["init", "tickets.yaml", "-o", "sub/codegen.toml"]).expect_exit(0);
    let text = fs::read_to_string(folder.0.join("sub/codegen.toml")).unwrap();
    assert!(
        text.contains("# The package is inside a Cargo workspace") && text.contains("# member = true\n"),
        "{text}"
    );
}

/// A contract with three tags, whose types refer to each other in several ways: types of one tag, of two, of all,
/// and of none, unions, enumerations, headers, forms, errors and streams.
const TAGS: &str = r"
openapi: 3.1.0
info: { title: Depots, version: '1' }
security: [{ token: [] }]
paths:
  /ships:
    get:
      operationId: ships/list
      tags: [ships]
      parameters:
        - { name: kind, in: query, schema: { $ref: '#/components/schemas/Kind' } }
        - { name: order, in: query, schema: { enum: [up, down] } }
      responses:
        '200': { description: '', headers: { X-Total: { schema: { type: integer } } }, content: { application/json: { schema: { type: array, items: { $ref: '#/components/schemas/Ship' } } } } }
        default: { $ref: '#/components/responses/fault' }
    post:
      operationId: ships/add
      tags: [ships]
      requestBody: { required: true, content: { application/json: { schema: { $ref: '#/components/schemas/Ship' } }, multipart/form-data: { schema: { type: object, properties: { file: { type: string, format: binary } } } } } }
      responses:
        '201': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Ship' } } } }
        '202': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Part' } } } }
        default: { $ref: '#/components/responses/fault' }
  /parts/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: integer, enum: [1, 2] } }]
    get:
      operationId: parts/read
      tags: [parts]
      responses:
        '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Part' } } } }
        '404': { description: '', headers: { Retry-After: { schema: { type: integer } } }, content: { application/json: { schema: { $ref: '#/components/schemas/Missing' } } } }
  /events:
    get:
      operationId: events/watch
      tags: [events]
      parameters: [{ name: order, in: query, schema: { enum: [up, down] } }]
      responses:
        '200': { description: '', content: { text/event-stream: { schema: { $ref: '#/components/schemas/Event' } } } }
        default: { $ref: '#/components/responses/fault' }
  /status:
    get:
      operationId: status
      responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Status' } } } } }
components:
  securitySchemes: { token: { type: http, scheme: bearer } }
  responses:
    fault: { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Fault' } } } }
  schemas:
    Kind: { enum: [cargo, scout] }
    Ship: { type: object, required: [kind], properties: { kind: { $ref: '#/components/schemas/Kind' }, parts: { type: array, items: { $ref: '#/components/schemas/Part' } }, hull: { type: object, properties: { size: { type: integer } } } } }
    Part: { type: object, properties: { size: { $ref: '#/components/schemas/Size' }, next: { $ref: '#/components/schemas/Part' } } }
    Size: { type: integer, minimum: 1 }
    Missing: { allOf: [{ $ref: '#/components/schemas/Fault' }], properties: { id: { type: integer } } }
    Fault: { type: object, properties: { code: { type: string } } }
    Event: { oneOf: [{ $ref: '#/components/schemas/Started' }, { $ref: '#/components/schemas/Stopped' }], discriminator: { propertyName: type, mapping: { started: '#/components/schemas/Started', stopped: '#/components/schemas/Stopped' } } }
    Started: { type: object, required: [type], properties: { type: { const: started }, ship: { $ref: '#/components/schemas/Kind' } } }
    Stopped: { type: object, required: [type], properties: { type: { const: stopped } } }
    Status: { type: object, properties: { text: { type: string } } }
    Unused: { type: object, properties: { also: { $ref: '#/components/schemas/OfUnused' } } }
    OfUnused: { enum: [a, b] }
";

/// A package with `tag-features` compiles with all features, with those of each tag, and without tags.
#[test]
fn packages_compile_with_the_features_of_each_tag() {
    let folder = Folder::new("tag-features");
    folder.put("tags.yaml", TAGS);
    folder.put(
        "codegen.toml",
        "inputs = ['tags.yaml']\npackage = 'depots'\n[output]\npath = 'api'\nmember = false\n[client]\nby-tag = true\ntag-features = true\n",
    );
    folder.run(&["generate", "codegen.toml"]).expect_exit(0);
    let package = folder.0.join("api");
    // An alias that only callers use does not make its target unconditional.
    let models = fs::read_to_string(package.join("src/models.rs")).unwrap();
    let both = "#[cfg(any(feature = \"tag-events\", feature = \"tag-ships\"))]\n";
    assert!(models.contains(&format!("{both}/// Alias of [`ShipsListOrder`]")), "{models}");
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    fs::copy(lock, package.join("Cargo.lock")).unwrap();
    // Types that no operation uses have a feature of their own.
    assert!(models.contains("#[cfg(feature = \"unused-types\")]"), "{models}");
    for tags in ["", "tag-ships", "tag-parts", "tag-events", "tag-ships,unused-types", "default"] {
        for part in ["client", "server", "client,server"] {
            run_check(&package, &["--no-default-features", "--features", &format!("{part},{tags}")]);
        }
    }
}

/// Checks all packages of a folder with the compiler; warnings are errors.
fn check_packages(folder: &Path) {
    run_check(folder, &["--workspace"]);
}

/// Runs `cargo check` in a folder; warnings are errors.
fn run_check(folder: &Path, arguments: &[&str]) {
    let result = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet"])
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages"))
        .env("RUSTFLAGS", "-Dwarnings")
        .output()
        .unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
}
