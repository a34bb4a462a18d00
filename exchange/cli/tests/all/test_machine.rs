//! The test environment: a sandbox, a separate home folder, and the command.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::LazyLock,
};

use exchange_service::{
    config::Config,
    sandbox::{Sandbox, SandboxOptions},
};
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
};

pub(crate) const MEMBER: &str = "sandbox-member";

/// The arguments of a login whose events the test reads.
pub(crate) const LOGIN: [&str; 3] = ["--json", "login", "--insecure-storage"];

/// A member's machine, with the sandbox that it uses.
pub(crate) struct TestMachine {
    pub(crate) sandbox: Sandbox,
    pub(crate) home: TempDir,
}

/// The result of a command.
pub(crate) struct CommandResult {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CommandResult {
    /// Formats the exit code, the standard output and the standard error. Replaces ids and times with
    /// placeholders.
    pub(crate) fn shown(&self) -> String {
        let mut text = format!("exit {}\n", self.code);
        for (name, stream) in [("out", &self.out), ("err", &self.err)] {
            for line in stream.lines() {
                text += format!("{name}| {line}").trim_end();
                text.push('\n');
            }
        }
        normal(&text)
    }

    /// Parses the only JSON document on the standard output.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "{}", self.shown());
        serde_json::from_str(&self.out).unwrap()
    }

    /// Parses the JSON error on the standard error.
    pub(crate) fn error(&self) -> Value {
        assert_eq!(self.out, "", "a failed command prints no data");
        let line = self.err.lines().find(|line| line.starts_with("{\"error\"")).unwrap_or_default();
        serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{}", self.shown()))["error"].clone()
    }
}

/// Replaces ids, times, origins and codes with placeholders.
pub(crate) fn normal(text: &str) -> String {
    static KINDS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"http://127\.0\.0\.1:[0-9]+", "<origin>"),
            (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"),
            (r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z", "<moment>"),
        ]
        .map(|(kind, name)| (Regex::new(kind).unwrap(), name))
        .into()
    });
    // Matches random values in base64url, which have 128 bits (ids) or 256 bits (references). Names in the
    // seed data have no capital letters, and those with the same length have no digits.
    static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new("[A-Za-z0-9_-]{22,43}").unwrap());
    let text =
        KINDS.iter().fold(text.to_owned(), |text, (kind, name)| kind.replace_all(&text, *name).into_owned());
    let random = |word: &str| {
        matches!(word.len(), 22 | 43) && word.bytes().any(|byte| !byte.is_ascii_lowercase() && byte != b'-')
    };
    let masked = |found: &regex::Captures<'_>| match &found[0] {
        word if random(word) => "<random>".to_owned(),
        word => word.to_owned(),
    };
    WORD.replace_all(&text, masked).into_owned()
}

/// Creates the command with a clean environment. There is no session bus, and therefore no secret store.
pub(crate) fn command_with_home(home: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_exchange"));
    let folder_variables = ["EXCHANGE_SANDBOX", "EXCHANGE_CONFIG", "XDG_CONFIG_HOME"];
    let proxy_variables = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"];
    for name in folder_variables.into_iter().chain(proxy_variables).chain(["NO_COLOR", "CLICOLOR_FORCE"]) {
        command.env_remove(name);
    }
    command
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path().join("state"))
        .env("XDG_CACHE_HOME", home.path().join("cache"))
        .env("LOCALAPPDATA", home.path())
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

pub(crate) async fn finish(mut command: Command) -> CommandResult {
    let output = command.output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandResult {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Runs the command without an exchange and passes it this standard input.
pub(crate) async fn run_command(args: &[&str], typed: &str) -> CommandResult {
    let home = tempfile::tempdir().unwrap();
    let mut command = command_with_home(&home);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(typed.as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandResult {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

impl TestMachine {
    /// Creates a machine without a connection.
    pub(crate) async fn signed_out() -> Self {
        Self::with(|_| ()).await
    }

    /// Creates a machine without a connection, and an exchange with a modified configuration.
    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        config.limits.per_address = 100_000;
        config.idp.password_kib = 64;
        config.idp.password_passes = 1;
        // A short interval, because tests approve the code immediately.
        config.idp.interval_seconds = 1;
        change(&mut config);
        let sandbox =
            Sandbox::with_options(SandboxOptions { config: Some(config), ..SandboxOptions::default() })
                .await
                .unwrap();
        Self { sandbox, home: tempfile::tempdir().unwrap() }
    }

    /// Creates a machine with a signed-in member who allowed all capabilities.
    pub(crate) async fn connected() -> Self {
        let machine = Self::signed_out().await;
        machine.login(&["--all"]).await;
        machine
    }

    /// Creates a signed-in machine on which all areas were read.
    pub(crate) async fn synced() -> Self {
        let machine = Self::connected().await;
        assert_eq!(machine.run(&["sync"]).await.code, 0);
        machine
    }

    /// Returns the first entry of a list whose JSON contains a string.
    pub(crate) async fn found(&self, list: &[&str], part: &str) -> Value {
        let all = self.json(list).await.json();
        let mut items =
            all["items"].as_array().unwrap().iter().filter(|item| item.to_string().contains(part));
        items.next().unwrap_or_else(|| panic!("no {part} in {all}")).clone()
    }

    /// Writes a file in the member's home folder and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Moves the saved `Retry-After` times of this machine into the past by this many seconds.
    pub(crate) fn pass(&self, seconds: u64) {
        let file = found(self.home.path(), "waits.json").expect("the exchange requested a wait");
        let mut waits: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        for wait in waits.as_object_mut().unwrap().values_mut().flat_map(|of| of.as_array_mut().unwrap()) {
            for moment in ["noted", "until"] {
                wait[moment] = (wait[moment].as_u64().unwrap() - seconds * 1000).into();
            }
        }
        std::fs::write(file, waits.to_string()).unwrap();
    }

    /// Returns the folder of the outbox and other persistent state.
    pub(crate) fn state(&self) -> PathBuf {
        let notes = found(self.home.path(), "session.json").expect("a member is signed in");
        notes.parent().unwrap().to_owned()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = command_with_home(&self.home);
        command.env("EXCHANGE_SANDBOX", self.sandbox.origin()).args(args);
        command
    }

    pub(crate) async fn run(&self, args: &[&str]) -> CommandResult {
        finish(self.command(args)).await
    }

    /// Runs a command with `--json`.
    pub(crate) async fn json(&self, args: &[&str]) -> CommandResult {
        self.run(&[&["--json"], args].concat()).await
    }

    /// Starts a login. Returns its first event, which contains the code, and the running process.
    pub(crate) async fn begin_login(&self, more: &[&str]) -> (Value, Child) {
        start_login(self.command(&[&LOGIN, more].concat())).await
    }

    pub(crate) async fn login(&self, more: &[&str]) -> CommandResult {
        self.login_as(MEMBER, more).await
    }

    pub(crate) async fn login_as(&self, member: &str, more: &[&str]) -> CommandResult {
        let (login_event, child) = self.begin_login(more).await;
        self.sandbox.approve(login_event["userCode"].as_str().unwrap(), member).await.unwrap();
        let ran = wait_for_exit(child).await;
        assert_eq!(ran.code, 0, "{}", ran.shown());
        ran
    }
}

/// Finds the file with this name in a folder tree.
fn found(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.find_map(|path| match path.is_dir() {
        true => found(&path, name),
        false => path.ends_with(name).then_some(path),
    })
}

/// Starts a login. Returns its first event, which contains the code, and the running process.
pub(crate) async fn start_login(mut login: Command) -> (Value, Child) {
    let mut child = login.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).await.unwrap();
    if line.is_empty() {
        let output = child.wait_with_output().await.unwrap();
        panic!("no login: {}", String::from_utf8_lossy(&output.stderr));
    }
    (serde_json::from_str(&line).unwrap(), child)
}

/// Waits until a command exits and returns its remaining output.
pub(crate) async fn wait_for_exit(child: Child) -> CommandResult {
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandResult {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
