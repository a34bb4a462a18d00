//! Tests of `drift --against REVISION`, which reads the older version from git.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// A separate repository for one test.
struct Repository(PathBuf);

impl Repository {
    fn new(name: &str) -> Self {
        // The folder is outside of this repository, so that git does not find it.
        let path = std::env::temp_dir().join(format!("contract-drift-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let repository = Self(path);
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository
    }

    fn git(&self, args: &[&str]) {
        let author = ["-c", "user.name=T", "-c", "user.email=t@x.example", "-c", "commit.gpgsign=false"];
        let output = Command::new("git").arg("-C").arg(&self.0).args(author).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self, tag: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", tag]);
        self.git(&["tag", tag]);
    }

    fn drift(&self, args: &[&str]) -> (i32, String, String) {
        self.drift_in("", args)
    }

    fn drift_in(&self, folder: &str, args: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
            .arg("drift")
            .args(args)
            .current_dir(self.0.join(folder))
            .env("NO_COLOR", "1")
            // Git sets these variables for hooks.
            .env("GIT_DIR", "nowhere")
            .env("GIT_INDEX_FILE", "nowhere")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const OLD: &str = "{\"type\":\"object\",\"properties\":{\n\"a\":{\"type\":\"string\",\"maxLength\":5},\n\"b\":{\"type\":\"string\"}}}";

#[test]
fn files_are_compared_with_their_revision() {
    let repository = Repository::new("file");
    repository.put("api/thing.json", OLD);
    repository.commit("v1.0.0");
    repository.put("api/thing.json", &OLD.replace('5', "4").replace("\"b\"", "\"c\""));
    let (code, out, err) = repository.drift(&["--against", "v1.0.0", "api/thing.json"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("length-narrowed") && out.contains("(api/thing.json:2)"), "{out}");
    assert!(out.contains("property-removed") && out.contains("(v1.0.0:api/thing.json:3)"), "{out}");
    let (_, out, _) = repository.drift(&["--against", "HEAD", "api/thing.json", "--json"]);
    let summary: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(summary["summary"]["drift"]["oldRevision"], "HEAD");
    let (_, out, _) = repository.drift(&["--against", "main", "api/thing.json", "--sarif"]);
    let log: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 3);
    // After the change is committed, the file equals `HEAD`. Its path is relative to the current folder.
    repository.commit("v2.0.0");
    let (code, out, err) = repository.drift_in("api", &["--against", "HEAD", "thing.json"]);
    assert_eq!((code, out.starts_with("No difference")), (0, true), "{out}{err}");
}

#[test]
fn configurations_are_read_from_the_revision() {
    let repository = Repository::new("configuration");
    let root = r#"{"$id":"https://x.example/root","type":"object","properties":{"p":{"$ref":"https://shared.example/part.json"}}}"#;
    repository.put("v1/api/root.json", root);
    repository.put("shared/part.json", OLD);
    let config = |shared: &str| {
        format!("inputs = [\"api\"]\n[mounts]\n\"https://shared.example/\" = \"../{shared}\"\n")
    };
    repository.put("v1/codegen.toml", &config("shared"));
    repository.commit("v1.0.0");
    // The folder of the mount was renamed after the commit.
    repository.git(&["mv", "shared", "common"]);
    repository.put("v1/codegen.toml", &config("common"));
    repository.put("common/part.json", &OLD.replace('5', "6"));
    for path in ["v1", "v1/codegen.toml"] {
        let (code, out, err) = repository.drift(&["--against", "v1.0.0", path]);
        assert_eq!(code, 1, "{out}{err}");
        assert!(out.contains("length-widened") && out.contains("(common/part.json:2)"), "{out}");
        assert!(out.contains("1 breaking, 0 additive, 0 without effect"), "{out}");
    }
    // Without a path, the command uses the `codegen.toml` in the current folder.
    let (code, out, err) = repository.drift_in("v1", &["--against", "v1.0.0"]);
    assert_eq!((code, out.contains("length-widened")), (1, true), "{out}{err}");
}

/// Inputs and overlays are read from the revision, even if their names have no usual extension. A mount
/// outside of the repository is read from its folder.
#[test]
fn files_of_a_configuration_are_found() {
    let repository = Repository::new("named");
    let outside = Repository::new("named-outside");
    outside.put("part.json", r#"{"type":"string"}"#);
    let away = outside.0.file_name().unwrap().to_str().unwrap();
    let root = r#"{"$id":"https://x.example/root","type":"object","properties":{"p":{"$ref":"https://away.example/part.json"}}}"#;
    repository.put("api/root.contract", root);
    repository.put("vendor.overlay", r#"{"title":"Root"}"#);
    repository.put(
        "codegen.toml",
        &format!(
            "inputs = [\"api/root.contract\"]\n[input]\noverlays = [\"vendor.overlay\"]\n\
             [mounts]\n\"https://away.example/\" = \"../{away}\"\n"
        ),
    );
    repository.commit("v1.0.0");
    repository.put("api/root.contract", &root.replace("\"p\"", "\"q\""));
    let (code, out, err) = repository.drift(&["--against", "v1.0.0", "codegen.toml"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("property-removed") && out.contains("property-added"), "{out}{err}");
}

#[test]
fn moved_contracts_are_found_by_their_old_path() {
    let repository = Repository::new("elsewhere");
    repository.put("old/openapi.json", OLD);
    repository.commit("v1.0.0");
    repository.git(&["mv", "old", "new"]);
    let (code, _, err) = repository.drift(&["--against", "v1.0.0", "new/openapi.json"]);
    assert_eq!(code, 4, "{err}");
    assert!(
        err.contains("there is no new/openapi.json at v1.0.0") && err.contains("v1.0.0:old/path"),
        "{err}"
    );
    let (code, out, err) = repository.drift(&["--against", "v1.0.0:old/openapi.json", "new/openapi.json"]);
    assert_eq!((code, out.starts_with("No difference")), (0, true), "{out}{err}");
}

#[test]
fn missing_revisions_are_reported() {
    let repository = Repository::new("problems");
    repository.put("a.json", OLD);
    repository.put("broken.json", "{");
    repository.commit("v1.0.0");
    let assert_fails = |args: &[&str], code: i32, expected: &[&str]| {
        let (found, _, err) = repository.drift(args);
        assert_eq!(found, code, "{args:?}: {err}");
        assert!(expected.iter().all(|text| err.contains(text)), "{args:?}: {err}");
    };
    assert_fails(
        &["--against", "v9", "a.json"],
        4,
        &["`v9` names no commit", "git fetch --tags", "fetch-depth: 0"],
    );
    assert_fails(&["--against=--all", "a.json"], 4, &["`--all` names no commit"]);
    assert_fails(&["--against", "v1.0.0", "gone.json"], 4, &["gone.json"]);
    assert_fails(&["--against", "v1.0.0", "a.json", "a.json"], 2, &["only the newer one"]);
    repository.put("broken.json", OLD);
    let broken = ["--against", "v1.0.0", "broken.json"];
    assert_fails(
        &broken,
        3,
        &["[v1.0.0:broken.json:1:", "error: the contract at revision v1.0.0 is invalid"],
    );
    let (_, out, _) = repository.drift(&["--against", "v1.0.0", "broken.json", "--json"]);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["file"], "v1.0.0:broken.json");
    assert_eq!(lines.last().unwrap()["summary"]["error"], "the contract at revision v1.0.0 is invalid");
    // The command fails outside of a repository, and if git is not installed.
    let bare = std::env::temp_dir().join(format!("contract-drift-{}-bare", std::process::id()));
    fs::create_dir_all(&bare).unwrap();
    fs::write(bare.join("a.json"), OLD).unwrap();
    let run = |path: &str, folder: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
            .args(["drift", "--against", "main", "a.json"])
            .current_dir(folder)
            .env("PATH", path)
            .env("GIT_CEILING_DIRECTORIES", std::env::temp_dir())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, err) = run(&std::env::var("PATH").unwrap(), &bare);
    assert_eq!((code, err.contains("is not in a git repository")), (Some(4), true), "{err}");
    let (code, err) = run("", &bare);
    assert_eq!(
        (code, err.contains("cannot run git") && err.contains("install git")),
        (Some(4), true),
        "{err}"
    );
    fs::remove_dir_all(&bare).unwrap();
}

/// Returns the content of a file that the page `drift.md` of the book shows.
#[cfg(unix)]
fn read_book_file(file: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/drift.md");
    let page = fs::read_to_string(page).unwrap().replace("\r\n", "\n");
    let (_, rest) = page.split_once(&format!("<!-- file: {file} -->\n```")).unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    rest.split_once("\n```").unwrap().0.to_owned() + "\n"
}

/// Returns a PATH that starts with the folder of the tested command.
#[cfg(unix)]
fn path_with_command() -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_contract-codegen")).parent().unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

#[cfg(unix)]
#[test]
fn hook_of_the_book_rejects_breaking_changes() {
    use std::os::unix::fs::PermissionsExt as _;

    let repository = Repository::new("hook");
    let hook = repository.0.join(".git/hooks/pre-commit");
    repository.put(".git/hooks/pre-commit", &read_book_file("pre-commit"));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let staged = || {
        let author = ["-c", "user.name=T", "-c", "user.email=t@x.example", "-c", "commit.gpgsign=false"];
        let output = Command::new("git")
            .arg("-C")
            .arg(&repository.0)
            .args(author)
            .args(["commit", "--quiet", "--message", "x"])
            .env("PATH", path_with_command())
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let commit = || {
        repository.git(&["add", "--all"]);
        staged()
    };
    let released = read_book_file("released/shelf.yaml");
    repository.put("shelf.yaml", &released);
    assert!(commit().0, "the first commit has no older version");
    repository.put("shelf.yaml", &released.replace("{3,60}", "{4,60}"));
    let (succeeded, output_text) = commit();
    assert!(!succeeded && output_text.contains("pattern-narrowed"), "{output_text}");
    // The hook compares the staged content, not the file in the work tree.
    repository.put("shelf.yaml", &released);
    let (succeeded, output_text) = staged();
    assert!(!succeeded && output_text.contains("pattern-narrowed"), "{output_text}");
    // A changed description is committed.
    repository.put("shelf.yaml", &released.replace("The item.", "The stored item."));
    let (succeeded, output_text) = commit();
    assert!(succeeded, "{output_text}");
}

#[cfg(unix)]
#[test]
fn workflow_of_the_book_reports_breaking_changes() {
    let repository = Repository::new("workflow");
    repository.put("shelf.yaml", &read_book_file("released/shelf.yaml"));
    repository.commit("v1.4.0");
    repository.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    repository.put("shelf.yaml", &read_book_file("shelf.yaml"));
    let workflow = read_book_file(".github/workflows/contract.yaml");
    let steps = workflow.lines().filter_map(|line| line.trim().strip_prefix("run: contract-codegen"));
    let mut codes = Vec::new();
    let mut output_text = String::new();
    for step in steps {
        let output = Command::new("sh")
            .args(["-c", &format!("contract-codegen{step}")])
            .current_dir(&repository.0)
            .env("PATH", path_with_command())
            .env("CONTRACT", "shelf.yaml")
            .env("GITHUB_BASE_REF", "main")
            .env("GITHUB_STEP_SUMMARY", repository.0.join("summary.md"))
            .output()
            .unwrap();
        codes.push(output.status.code().unwrap());
        output_text = String::from_utf8(output.stdout).unwrap();
    }
    assert_eq!(codes, [0, 1], "{output_text}");
    assert!(output_text.contains("::error file=shelf.yaml,line=17,title=pattern-widened::"), "{output_text}");
    let summary = fs::read_to_string(repository.0.join("summary.md")).unwrap();
    assert!(summary.contains("| `pattern-widened` |"), "{summary}");
}
