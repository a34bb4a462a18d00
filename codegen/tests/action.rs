//! Tests of the GitHub action and the pre-commit hooks. The tests run the scripts of `action/action.yml` and the
//! entries of `.pre-commit-hooks.yaml` in small git repositories, as the platforms run them.
//!
//! The tests run only on Unix. The scripts require bash and git, and on Windows the command `bash` may belong
//! to a different system.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use contract_codegen::Sources;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read_yaml(name: &str) -> Value {
    let text = fs::read_to_string(root().join(name)).unwrap();
    let sources = Sources::from_texts(&[("document.yaml", "", &text)]).unwrap();
    let (_, document) = sources.documents().next().unwrap();
    serde_json::from_str(&document.to_string()).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A temporary folder that contains a remote repository `origin`, its shallow clone `clone`, and the files of
/// the action's runner.
struct Runner {
    folder: PathBuf,
    environment: BTreeMap<String, String>,
}

impl Runner {
    fn new(name: &str) -> Self {
        // The folder is outside of this repository, so that git does not find it.
        let folder = std::env::temp_dir().join(format!("contract-action-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        for each in ["origin", "runner"] {
            fs::create_dir_all(folder.join(each)).unwrap();
        }
        let runner = Self { folder, environment: BTreeMap::new() };
        runner.git(&["init", "--quiet", "--initial-branch", "main"]);
        runner
    }

    fn git(&self, args: &[&str]) {
        self.git_in("origin", args);
    }

    fn git_in(&self, repository: &str, args: &[&str]) {
        let author = ["-c", "user.name=T", "-c", "user.email=t@x.example", "-c", "commit.gpgsign=false"];
        let folder = self.folder.join(repository);
        let output = Command::new("git").arg("-C").arg(folder).args(author).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", text(&output.stderr));
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    fn generate(&self) {
        let output = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
            .args(["generate", CONFIG])
            .current_dir(self.folder.join("origin"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    /// Creates a repository with a contract and its generated code on `main`, and the branch `change`.
    fn with_contract(name: &str) -> Self {
        let runner = Self::new(name);
        runner.put(&format!("origin/{CONFIG}"), SETTINGS);
        runner.put(&format!("origin/{CONTRACT}"), OPENAPI);
        runner.generate();
        runner.commit("first");
        runner.git(&["checkout", "--quiet", "-b", "change"]);
        runner
    }

    /// Commits a change of the contract.
    fn change_contract(&self, from: &str, to: &str) {
        assert!(OPENAPI.contains(from));
        self.put(&format!("origin/{CONTRACT}"), &OPENAPI.replace(from, to));
    }

    /// Clones the branch `change` with only its last commit, like the checkout of a pull request.
    fn check_out(&self) {
        let _ = fs::remove_dir_all(self.folder.join("clone"));
        let origin = format!("file://{}", self.folder.join("origin").display());
        self.git_in("", &["clone", "--quiet", "--depth", "1", "--branch", "change", &origin, "clone"]);
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.insert(name.to_owned(), value.to_owned());
    }

    /// Runs a script as the runner does. Returns the output and the values of `GITHUB_OUTPUT`.
    fn run_script(&self, script: &str, variables: &[(String, String)]) -> (Output, BTreeMap<String, String>) {
        let temporary = self.folder.join("runner");
        fs::write(temporary.join("step.sh"), script).unwrap();
        fs::write(temporary.join("output"), "").unwrap();
        let binaries = Path::new(env!("CARGO_BIN_EXE_contract-codegen")).parent().unwrap();
        let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-e", "-o", "pipefail"])
            .arg(temporary.join("step.sh"))
            .current_dir(self.folder.join("clone"))
            .env_clear()
            .env("PATH", path)
            .env("HOME", &temporary)
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_OUTPUT", temporary.join("output"))
            .env("GITHUB_PATH", temporary.join("path"))
            .env("GITHUB_STEP_SUMMARY", temporary.join("summary.md"))
            .env("RUNNER_TEMP", &temporary)
            .envs(&self.environment)
            .envs(variables.iter().cloned())
            .output()
            .unwrap();
        let values = fs::read_to_string(temporary.join("output")).unwrap();
        let values = values.lines().map(|line| line.split_once('=').unwrap());
        (output, values.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Runs the steps of the action until one fails.
    fn run_action(&self, inputs: &[(&str, &str)]) -> ActionResult {
        let action = read_yaml("action/action.yml");
        let mut values = BTreeMap::from([
            ("github.token".to_owned(), "token".to_owned()),
            ("github.action_path".to_owned(), root().join("action").display().to_string()),
        ]);
        for (name, input) in action["inputs"].as_object().unwrap() {
            let given = inputs.iter().find(|(given, _)| given == name).map(|(_, value)| *value);
            values.insert(
                format!("inputs.{name}"),
                given.unwrap_or(input["default"].as_str().unwrap()).to_owned(),
            );
        }
        assert!(inputs.iter().all(|(name, _)| action["inputs"].get(name).is_some()), "{inputs:?}");
        let mut result = ActionResult { succeeded: true, ..ActionResult::default() };
        for step in action["runs"]["steps"].as_array().unwrap() {
            assert_eq!(step["shell"], "bash");
            let variables: Vec<(String, String)> = step["env"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (name.clone(), evaluate(value.as_str().unwrap(), &values)))
                .collect();
            let (output, outputs) = self.run_script(step["run"].as_str().unwrap(), &variables);
            if let Some(id) = step["id"].as_str() {
                values.extend(
                    outputs.into_iter().map(|(name, value)| (format!("steps.{id}.outputs.{name}"), value)),
                );
            }
            result.log.push_str(&text(&output.stdout));
            result.log.push_str(&text(&output.stderr));
            if !output.status.success() {
                result.succeeded = false;
                break;
            }
        }
        for (name, output) in action["outputs"].as_object().unwrap() {
            result.outputs.insert(name.clone(), evaluate(output["value"].as_str().unwrap(), &values));
        }
        result.summary = fs::read_to_string(self.folder.join("runner/summary.md")).unwrap_or_default();
        let _ = fs::remove_file(self.folder.join("runner/summary.md"));
        for output in [&result.log, &result.summary] {
            let folder = self.folder.display().to_string();
            assert!(!output.contains(&folder), "the output contains a temporary path\n{output}");
        }
        result
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[derive(Debug, Default)]
struct ActionResult {
    succeeded: bool,
    log: String,
    summary: String,
    outputs: BTreeMap<String, String>,
}

/// Returns the value of an expression `${{ name }}`. A missing output is empty, as on the platform.
fn evaluate(expression: &str, values: &BTreeMap<String, String>) -> String {
    let Some(name) = expression.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}")) else {
        panic!("not one expression: {expression}");
    };
    assert!(name.starts_with("steps.") || values.contains_key(name), "unknown value {name}");
    values.get(name).cloned().unwrap_or_default()
}

const CONFIG: &str = "services/seats/codegen.toml";
const CONTRACT: &str = "services/seats/api/openapi.yaml";
const SETTINGS: &str = "inputs = [\"api\"]\n\n[output]\npath = \"src/api\"\nlayout = \"modules\"\n";
const OPENAPI: &str = "openapi: 3.1.0
info: { title: Seats, version: 1.0.0 }
paths:
  /seats:
    post:
      operationId: addSeat
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/Seat' } } } }
      responses: { '204': { description: Added. } }
components:
  schemas:
    Seat:
      type: object
      required: [name]
      properties:
        name: { type: string, maxLength: 40 }
        old: { type: string }
";
const IN_FOLDER: (&str, &str) = ("working-directory", "services/seats");

#[test]
fn pull_request_without_changes_passes() {
    let mut runner = Runner::with_contract("same");
    runner.check_out();
    runner.set("GITHUB_BASE_REF", "main");
    let result = runner.run_action(&[IN_FOLDER]);
    assert!(result.succeeded, "{result:?}");
    assert_eq!((result.outputs["check"].as_str(), result.outputs["drift"].as_str()), ("0", "0"));
    assert!(!result.log.contains("::error") && result.summary.contains("up to date"), "{result:?}");
}

#[test]
fn outdated_code_and_breaking_changes_are_annotated() {
    let mut runner = Runner::with_contract("breaking");
    runner.change_contract("maxLength: 40", "maxLength: 30");
    runner.commit("narrower");
    runner.check_out();
    runner.set("GITHUB_BASE_REF", "main");
    let result = runner.run_action(&[IN_FOLDER]);
    assert!(!result.succeeded, "{result:?}");
    assert_eq!((result.outputs["check"].as_str(), result.outputs["drift"].as_str()), ("1", "1"));
    let outdated = format!("\n::error file={CONFIG},title=generated code is out of date::");
    let breaking = format!("\n::error file={CONTRACT},line=15,title=length-narrowed::");
    assert!(result.log.contains(&outdated) && result.log.contains(&breaking), "{}", result.log);
    let repair = format!("Run `contract-codegen generate {CONFIG}`");
    for part in [repair.as_str(), "### Changes of the contract", "length-narrowed", "~~~~~~~~diff\n"] {
        assert!(result.summary.contains(part), "{part}\n{}", result.summary);
    }
    let sarif = fs::read_to_string(&result.outputs["sarif"]).unwrap();
    assert!(!sarif.contains(&runner.folder.display().to_string()), "{sarif}");
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], CONTRACT);
    assert_eq!(location["region"]["startLine"], 15);
}

#[test]
fn fail_on_selects_the_results_that_fail_the_job() {
    let mut runner = Runner::with_contract("fail-on");
    runner.change_contract("        old: { type: string }\n", "");
    runner.generate();
    runner.commit("without a property");
    runner.check_out();
    runner.set("GITHUB_BASE_REF", "main");
    for (fail_on, expected) in
        [("any", false), ("drift", false), ("check", true), ("none", true), ("all", false)]
    {
        let result = runner.run_action(&[IN_FOLDER, ("fail-on", fail_on)]);
        assert_eq!(result.succeeded, expected, "{fail_on}: {result:?}");
        assert_eq!((result.outputs["check"].as_str(), result.outputs["drift"].as_str()), ("0", "1"));
        // The property exists only in the base: the annotation is at the schema that lost it.
        assert!(result.log.contains(&format!("::error file={CONTRACT},line=12,")), "{}", result.log);
    }
}

#[test]
fn invalid_contract_always_fails_the_job() {
    let mut runner = Runner::with_contract("invalid");
    runner.change_contract("openapi: 3.1.0", "openapi: [");
    runner.commit("invalid");
    runner.check_out();
    runner.set("GITHUB_BASE_REF", "main");
    let result = runner.run_action(&[IN_FOLDER, ("fail-on", "none")]);
    assert!(
        !result.succeeded && result.outputs["check"] == "3" && result.outputs["drift"] == "3",
        "{result:?}"
    );
    assert!(
        result.log.contains(&format!("::error file={CONFIG},title=contract-codegen drift::")),
        "{}",
        result.log
    );
    let annotation = format!("::error file={CONTRACT},line=3,title=syntax::while parsing a flow mapping");
    assert!(result.outputs["sarif"].is_empty() && result.log.contains(&annotation), "{}", result.log);
}

#[test]
fn push_compares_only_with_an_explicit_base() {
    let runner = Runner::with_contract("push");
    runner.change_contract("maxLength: 40", "maxLength: 50");
    runner.generate();
    runner.commit("wider");
    runner.check_out();
    let result = runner.run_action(&[("config", CONFIG)]);
    assert!(result.succeeded && result.outputs["drift"].is_empty(), "{result:?}");
    // The shallow clone has no second commit.
    let result = runner.run_action(&[("config", CONFIG), ("base", "HEAD~1")]);
    assert!(!result.succeeded && result.log.contains("::error::git has no revision HEAD~1"), "{result:?}");
    runner.git_in("clone", &["fetch", "--quiet", "--unshallow"]);
    let result = runner.run_action(&[("config", CONFIG), ("base", "HEAD~1")]);
    assert!(result.succeeded && result.outputs["drift"] == "0", "{result:?}");
    assert!(result.log.contains(&format!("::notice file={CONTRACT},line=15,")), "{}", result.log);
}

#[test]
fn contract_without_settings_is_only_compared() {
    let mut runner = Runner::with_contract("contract-only");
    runner.put("origin/new.yaml", OPENAPI);
    runner.change_contract("maxLength: 40", "maxLength: 30");
    runner.commit("narrower");
    runner.check_out();
    runner.set("GITHUB_BASE_REF", "main");
    let result = runner.run_action(&[("config", CONTRACT)]);
    assert!(
        !result.succeeded && result.outputs["check"].is_empty() && result.outputs["drift"] == "1",
        "{result:?}"
    );
    let result = runner.run_action(&[("config", "new.yaml")]);
    assert!(
        result.succeeded && result.log.contains("::notice file=new.yaml,title=new contract::"),
        "{result:?}"
    );
    let result = runner.run_action(&[]);
    assert!(!result.succeeded && result.log.contains("::error::there is no codegen.toml"), "{result:?}");
}

#[test]
fn sarif_is_uploaded_on_request() {
    let mut runner = Runner::with_contract("upload");
    runner.check_out();
    // The GitHub command, which stores its arguments and the content of the file.
    let script = "#!/bin/bash\nprintf '%s\\n' \"$@\" > \"$RUNNER_TEMP/arguments\"\n\
                  for last; do :; done\n\
                  base64 -d < \"${last#sarif=@}\" | gzip -dc > \"$RUNNER_TEMP/uploaded\"\n";
    runner.put("bin/gh", script);
    let mut mode = fs::metadata(runner.folder.join("bin/gh")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(runner.folder.join("bin/gh"), mode).unwrap();
    let binaries = Path::new(env!("CARGO_BIN_EXE_contract-codegen")).parent().unwrap();
    let path =
        [runner.folder.join("bin").as_path(), binaries].map(|path| path.display().to_string()).join(":");
    runner.set("PATH", &format!("{path}:{}", std::env::var("PATH").unwrap()));
    for (name, value) in [
        ("GITHUB_BASE_REF", "main"),
        ("GITHUB_REPOSITORY", "owner/seats"),
        ("GITHUB_SHA", "abc"),
        ("GITHUB_REF", "refs/pull/1/merge"),
    ] {
        runner.set(name, value);
    }
    let result = runner.run_action(&[IN_FOLDER, ("upload-sarif", "true")]);
    assert!(result.succeeded, "{result:?}");
    let arguments = fs::read_to_string(runner.folder.join("runner/arguments")).unwrap();
    for part in ["repos/owner/seats/code-scanning/sarifs\n", "commit_sha=abc\n", "ref=refs/pull/1/merge\n"] {
        assert!(arguments.contains(part), "{arguments}");
    }
    let uploaded = fs::read_to_string(runner.folder.join("runner/uploaded")).unwrap();
    assert_eq!(uploaded, fs::read_to_string(&result.outputs["sarif"]).unwrap());
}

/// The action installs a release from a folder that has the layout of a release's downloads.
#[test]
fn release_is_installed_after_its_checksum_matches() {
    let runner = Runner::new("install");
    fs::create_dir_all(runner.folder.join("clone")).unwrap();
    let action = read_yaml("action/action.yml");
    let script = action["runs"]["steps"][0]["run"].as_str().unwrap();
    let address = format!("file://{}/site", runner.folder.display());
    runner.put(
        "action/Cargo.toml",
        &format!("[workspace.package]\nversion = \"7.1.0\"\nrepository = \"{address}\"\n"),
    );
    let name = "contract-codegen-7.2.0-x86_64-unknown-linux-musl";
    let downloads = "site/releases/download/v7.2.0";
    runner.put(&format!("{downloads}/{name}/contract-codegen"), "#!/bin/sh\n");
    let shell = format!(
        "cd \"$RUNNER_TEMP/../{downloads}\" && tar -czf {name}.tar.gz {name} && \
         (sha256sum {name}.tar.gz || shasum -a 256 {name}.tar.gz) > SHA256SUMS"
    );
    assert!(runner.run_script(&shell, &[]).0.status.success());
    let variables = |version: &str| {
        let action = runner.folder.join("action/action").display().to_string();
        [
            ("ACTION_PATH", action.as_str()),
            ("VERSION", version),
            ("RUNNER_OS", "Linux"),
            ("RUNNER_ARCH", "X64"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    fs::create_dir_all(runner.folder.join("action/action")).unwrap();

    let (output, _) = runner.run_script(script, &variables("v7.2.0"));
    assert!(output.status.success(), "{output:?}");
    let path = fs::read_to_string(runner.folder.join("runner/path")).unwrap();
    assert!(Path::new(path.trim()).join("contract-codegen").is_file(), "{path}");
    // Without an explicit version, a command in PATH is used.
    let (output, _) = runner.run_script(script, &variables(""));
    assert_eq!(text(&output.stdout).trim(), format!("contract-codegen {}", env!("CARGO_PKG_VERSION")));

    runner.put(&format!("{downloads}/{name}.tar.gz"), "another file");
    assert!(!runner.run_script(script, &variables("7.2.0")).0.status.success());
    runner.put(&format!("{downloads}/SHA256SUMS"), "");
    let (output, _) = runner.run_script(script, &variables("7.2.0"));
    assert!(text(&output.stdout).contains("::error::release 7.2.0 has no checksum"), "{output:?}");
    runner.put("action/Cargo.toml", "[workspace.package]\nversion = \"7.1.0\"\nrepository = \"\"\n");
    let (output, _) = runner.run_script(script, &variables("7.2.0"));
    assert!(text(&output.stdout).contains("::error::version 7.2.0 cannot be installed"), "{output:?}");
}

/// The hooks work in the root of the repository. Their settings specify that pre-commit passes no file names.
#[test]
fn hooks_run_in_the_root_of_the_repository() {
    let runner = Runner::new("hooks");
    runner.put("origin/codegen.toml", SETTINGS);
    runner.put("origin/api/openapi.yaml", OPENAPI);
    let hooks = read_yaml(".pre-commit-hooks.yaml");
    let run = |id: &str| {
        let hook = hooks.as_array().unwrap().iter().find(|hook| hook["id"] == id).unwrap();
        assert_eq!((&hook["language"], &hook["pass_filenames"]), (&"system".into(), &false.into()));
        let mut words = hook["entry"].as_str().unwrap().split(' ');
        assert_eq!(words.next(), Some("contract-codegen"));
        let output = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
            .args(words)
            .current_dir(runner.folder.join("origin"))
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(!printed.contains(&runner.folder.display().to_string()), "{printed}");
        (output.status.code().unwrap(), printed)
    };
    let (code, printed) = run("contract-codegen-check");
    assert!(code == 1 && printed.contains("help: to update, run"), "{printed}");
    let generated = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
        .arg("generate")
        .current_dir(runner.folder.join("origin"))
        .output()
        .unwrap();
    assert!(generated.status.success());
    runner.commit("first");
    assert_eq!((run("contract-codegen-check").0, run("contract-codegen-drift").0), (0, 0));
    runner.put("origin/api/openapi.yaml", &OPENAPI.replace("maxLength: 40", "maxLength: 30"));
    let (code, printed) = run("contract-codegen-drift");
    assert!(code == 1 && printed.contains("(api/openapi.yaml:15)"), "{printed}");
    assert_eq!(run("contract-codegen-check").0, 1);
}
