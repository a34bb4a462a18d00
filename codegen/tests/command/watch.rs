//! `generate --dry-run` and `generate --watch`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Lines},
    process::{Child, ChildStderr, Command, Stdio},
};

use super::{Folder, TICKETS};

#[test]
fn dry_run_lists_changes_and_writes_nothing() {
    let folder = Folder::new("dry-run");
    let generate = ["generate", "tickets.yaml", "-o", "api", "--layout", "modules"];
    let dry_run = [&generate[..], &["--dry-run"]].concat();
    let first = folder.run(&dry_run).expect_exit(0);
    assert!(first.err.contains("   create ") && first.err.contains(" would change"), "{}", first.err);
    assert!(!folder.0.join("api").exists());

    folder.run(&generate).expect_exit(0);
    fs::write(folder.0.join("api/models.rs"), "").unwrap();
    fs::write(folder.0.join("api/stray.rs"), "").unwrap();
    let second = folder.run(&[&dry_run[..], &["--json"]].concat()).expect_exit(0).summary();
    assert_eq!(second["changed"], serde_json::json!({ "models.rs": "updated", "stray.rs": "removed" }));
    assert_eq!(second["dryRun"], true);
    assert_eq!(fs::read_to_string(folder.0.join("api/models.rs")).unwrap(), "");
}

/// A running `generate --watch`, which is killed at the end.
struct WatchProcess {
    child: Child,
    messages: Lines<BufReader<ChildStderr>>,
}

impl WatchProcess {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
            .args(args)
            .current_dir(&folder.0)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let messages = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, messages }
    }

    /// Reads the messages of one run, up to the line after which the process waits for changes.
    fn read_run(&mut self) -> String {
        let mut text = String::new();
        for line in self.messages.by_ref().map(Result::unwrap) {
            text.push_str(&line);
            text.push('\n');
            if line.trim_start().starts_with("watching") {
                return text;
            }
        }
        panic!("the process ended:\n{text}");
    }

    /// Reads the messages of runs until the messages of one run satisfy a condition.
    fn read_until(&mut self, condition: impl Fn(&str) -> bool) {
        while !condition(&self.read_run()) {}
    }
}

impl Drop for WatchProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn watch_generates_after_each_change() {
    let folder = Folder::new("watch");
    folder.put("schemas/tickets.yaml", TICKETS);
    folder.put("codegen.toml", "inputs = ['schemas']\n[output]\npath = 'api.rs'\nlayout = 'file'\n");
    let output = || fs::read_to_string(folder.0.join("api.rs")).unwrap();
    let mut process = WatchProcess::start(&folder, &["generate", "--watch"]);
    let first = process.read_run();
    assert!(first.contains("2 files; press Ctrl-C"), "{first}");
    assert!(!output().contains("pub struct Carriage"));

    // A new file in an input folder.
    folder.put("schemas/carriage.schema.json", r#"{"type": "object"}"#);
    process.read_until(|_| output().contains("pub struct Carriage"));

    // An invalid contract leaves the output unchanged, and its correction is noticed.
    folder.put("schemas/carriage.schema.json", r#"{"type": "object","#);
    process.read_until(|messages| messages.contains("carriage.schema.json:1:"));
    assert!(output().contains("pub struct Carriage"));
    folder.put("schemas/carriage.schema.json", r#"{"type": "object", "properties": {"wheels": {}}}"#);
    process.read_until(|_| output().contains("pub wheels:"));

    // Editors replace a file by renaming another one.
    fs::remove_file(folder.0.join("codegen.toml")).unwrap();
    process.read_until(|messages| messages.contains("found neither codegen.toml"));

    // The options are inputs as well.
    let options = "inputs = ['schemas']\n[output]\npath = 'api.rs'\nlayout = 'file'\nclient = false\n";
    folder.put("codegen.toml", options);
    process.read_until(|_| !output().contains("pub mod client"));
}

#[test]
fn standard_input_is_not_watched() {
    let folder = Folder::new("watch-stdin");
    let refused = folder.run(&["generate", "-", "-o", "x.rs", "--watch"]).expect_exit(2);
    assert!(refused.err.contains("`-` cannot be watched"), "{}", refused.err);
}
