//! Tests of the command on a terminal: its prompts, and Ctrl-C.

use std::{os::unix::fs::PermissionsExt as _, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::unix::pipe::{OpenOptions, Receiver},
    process::Child,
};

use crate::test_machine::TestMachine;

/// A fake browser that records the opened URL.
struct Browser(BufReader<Receiver>);

impl Browser {
    /// Installs the browser for all later commands on this machine.
    async fn of(machine: &TestMachine) -> Self {
        let pipe = machine.home.path().join("opened");
        let status = tokio::process::Command::new("mkfifo").arg(&pipe).status().await.unwrap();
        assert!(status.success());
        // The pipe is opened for reading and writing, so that there is no end of file before the first write,
        // and a write does not block.
        let opened = OpenOptions::new().read_write(true).open_receiver(&pipe).unwrap();
        let folder = machine.home.path().join("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("xdg-open");
        std::fs::write(&program, format!("#!/bin/sh\necho \"$1\" > '{}'\n", pipe.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self(BufReader::new(opened))
    }

    /// Waits until a URL is opened, and returns it.
    async fn opens(&mut self) -> String {
        let mut address = String::new();
        self.0.read_line(&mut address).await.unwrap();
        address
    }
}

/// A terminal in which the command runs. It stays open after the command has exited, because programs that
/// the command started are still running.
struct Terminal {
    child: Child,
    shown: String,
}

impl Terminal {
    fn begin(machine: &TestMachine, args: &[&str]) -> Self {
        let path =
            format!("{}:{}", machine.home.path().join("bin").display(), std::env::var("PATH").unwrap());
        let words = [env!("CARGO_BIN_EXE_exchange")].iter().chain(args).map(|word| format!("'{word}'"));
        let line = words.collect::<Vec<_>>().join(" ");
        // The shell ignores Ctrl-C, so that only the command handles it.
        let line = format!("trap : INT; {line}; printf 'exit %s\\a\\n' $?; read _");
        let mut command = machine.command(&[]);
        let mut script = tokio::process::Command::new("script");
        script.args(["-q", "-f", "-c", &line, "/dev/null"]);
        // The command has the same environment as in other tests.
        for (name, value) in command.as_std_mut().get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        script.env("PATH", path).env("TERM", "xterm").kill_on_drop(true);
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Self { child: script.spawn().unwrap(), shown: String::new() }
    }

    /// Reads output until it contains this string.
    async fn shows(&mut self, text: &str) {
        let mut bytes = [0; 1024];
        while !self.shown.contains(text) {
            let read = self.child.stdout.as_mut().unwrap().read(&mut bytes).await.unwrap();
            assert!(read > 0, "the output ended before it contained {text:?}: {}", self.shown);
            self.shown += &String::from_utf8_lossy(&bytes[..read]);
        }
    }

    async fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).await.unwrap();
    }

    /// Waits until the command exits and returns its exit code.
    async fn ends(&mut self) -> i32 {
        let ended = tokio::time::timeout(Duration::from_secs(60), self.shows("\u{7}\r\n")).await;
        ended.expect("the command exits within a minute");
        let (_, code) = self.shown.rsplit_once("exit ").unwrap();
        code.trim_end_matches("\u{7}\r\n").parse().unwrap()
    }
}

/// DRF-13, DRF-15: only Enter opens the link of a draft. After other input or Ctrl-C, the message states that
/// the draft is staged.
#[tokio::test]
async fn only_enter_opens_a_link() {
    let machine = TestMachine::connected().await;
    let mut browser = Browser::of(&machine).await;
    let file = machine.home.path().join("blueprints.json");
    let file = file.to_str().unwrap();
    assert_eq!(machine.run(&["envelope", "write", file, "Sandbox Knife"]).await.code, 0);
    for (keys, code, message) in [
        ("\u{3}", 130, "the draft is staged: it can no longer be opened"),
        ("n\r", 7, "the draft is staged, but was not opened"),
        ("\r", 0, "opened in your browser"),
    ] {
        let mut terminal = Terminal::begin(&machine, &["draft", "blueprints", file]);
        terminal.shows("Press Enter to open the draft").await;
        terminal.types(keys).await;
        assert_eq!(terminal.ends().await, code, "{keys:?}");
        assert!(terminal.shown.contains(message), "{}", terminal.shown);
        if code == 0 {
            // This was the first URL that any of the commands opened.
            assert!(browser.opens().await.starts_with(&machine.sandbox.origin()));
            assert_eq!(browser.0.buffer(), b"");
        }
    }
}

/// Ctrl-C at the prompt of `logout` keeps the connection (exit code 130), as does the answer `n` (exit code
/// 3).
#[tokio::test]
async fn ctrl_c_at_a_prompt_changes_nothing() {
    let machine = TestMachine::connected().await;
    let mut terminal = Terminal::begin(&machine, &["logout"]);
    terminal.shows("[y/N]").await;
    terminal.types("\u{3}").await;
    let code = terminal.ends().await;
    assert_eq!((code, machine.run(&["whoami"]).await.code), (130, 0));
    let mut terminal = Terminal::begin(&machine, &["logout"]);
    terminal.shows("[y/N]").await;
    terminal.types("n\r").await;
    assert_eq!(terminal.ends().await, 3);
    let mut terminal = Terminal::begin(&machine, &["logout"]);
    terminal.shows("[y/N]").await;
    terminal.types("y\r").await;
    assert_eq!(terminal.ends().await, 0);
}

/// Long commands show their progress, which counts areas that were read and change sets that were sent.
#[tokio::test]
async fn long_commands_show_progress() {
    let machine = TestMachine::connected().await;
    let mut terminal = Terminal::begin(&machine, &["sync"]);
    terminal.shows("[====================] 4 of 4 areas: ").await;
    assert_eq!(terminal.ends().await, 0);
    let op = |quality: u32| {
        serde_json::json!({
            "op": "set-quantity", "material": {"name": "Sandbox Metal"}, "location": {"name": "Sandbox City Hangar"},
            "quality": quality, "stolen": false, "expectedQuantity": {"amount": 0, "unit": "SCU"},
            "quantity": {"amount": 1, "unit": "SCU"},
        })
    };
    let ops: Vec<_> = (0..501).map(op).collect();
    let file = machine.file("ops.json", &serde_json::Value::from(ops).to_string());
    let mut terminal = Terminal::begin(&machine, &["stock", "change", &file]);
    terminal.shows("[==========          ] 1 of 2 changes are sent").await;
    assert_eq!(terminal.ends().await, 0);
    // Without a terminal, no progress bar is printed.
    let ran = machine.run(&["sync"]).await;
    assert!(!ran.err.contains("areas"), "{}", ran.shown());
}

/// Ctrl-C interrupts a command that reads the standard input.
#[tokio::test]
async fn ctrl_c_interrupts_reading_stdin() {
    let machine = TestMachine::connected().await;
    let mut terminal = Terminal::begin(&machine, &["api", "blueprints_write", "--body-file", "-"]);
    terminal.shows("idempotency key").await;
    terminal.types("\u{3}").await;
    assert_eq!(terminal.ends().await, 130);
}
