//! The command on a terminal: what it asks, and how it is broken off.

use std::{os::unix::fs::PermissionsExt as _, path::PathBuf, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Child,
};

use crate::kit::Desk;

/// A terminal with the command in it, and a browser that notes what it opens.
struct Terminal {
    child: Child,
    shown: String,
    opened: PathBuf,
}

impl Terminal {
    fn begin(desk: &Desk, args: &[&str]) -> Self {
        let folder = desk.home.path().join("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let (browser, opened) = (folder.join("xdg-open"), desk.home.path().join("opened"));
        std::fs::write(&browser, format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", opened.display())).unwrap();
        std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let words = [env!("CARGO_BIN_EXE_exchange")].iter().chain(args).map(|word| format!("'{word}'"));
        let line = words.collect::<Vec<_>>().join(" ");
        let mut command = desk.command(&[]);
        let mut script = tokio::process::Command::new("script");
        script.args(["-q", "-e", "-f", "-c", &line, "/dev/null"]);
        // The same surroundings as any other.
        for (name, value) in command.as_std_mut().get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        script.env("PATH", path).env("TERM", "xterm").kill_on_drop(true);
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Self { child: script.spawn().unwrap(), shown: String::new(), opened }
    }

    /// Reads until this is shown.
    async fn shows(&mut self, text: &str) {
        let mut bytes = [0; 1024];
        while !self.shown.contains(text) {
            let read = self.child.stdout.as_mut().unwrap().read(&mut bytes).await.unwrap();
            assert!(read > 0, "it ended before it showed {text:?}: {}", self.shown);
            self.shown += &String::from_utf8_lossy(&bytes[..read]);
        }
    }

    async fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).await.unwrap();
    }

    /// The exit code, and whether a browser was opened.
    async fn ends(mut self) -> (i32, bool) {
        let ended = tokio::time::timeout(Duration::from_secs(60), self.child.wait()).await;
        (ended.expect("it goes on").unwrap().code().unwrap(), self.opened.exists())
    }
}

/// DRF-13: the link of a draft is opened by Enter, by nothing else that is typed, and not at all after Ctrl-C.
#[tokio::test]
async fn a_link_is_opened_by_enter_alone() {
    let desk = Desk::connected().await;
    let file = desk.home.path().join("blueprints.json");
    let file = file.to_str().unwrap();
    assert_eq!(desk.run(&["envelope", "write", file, "Sandbox Knife"]).await.code, 0);
    for (keys, ends) in [("\u{3}", (130, false)), ("n\r", (7, false)), ("\r", (0, true))] {
        let mut terminal = Terminal::begin(&desk, &["draft", "blueprints", file]);
        terminal.shows("Press Enter to open the draft").await;
        terminal.types(keys).await;
        assert_eq!(terminal.ends().await, ends, "{keys:?}");
    }
}

/// Ctrl-C at the question of `logout` changes nothing, whatever is typed afterwards.
#[tokio::test]
async fn ctrl_c_at_a_question_changes_nothing() {
    let desk = Desk::connected().await;
    let mut terminal = Terminal::begin(&desk, &["logout"]);
    terminal.shows("[y/N]").await;
    terminal.types("\u{3}").await;
    let (code, _) = terminal.ends().await;
    assert_eq!((code, desk.run(&["whoami"]).await.code), (130, 0));
    let mut terminal = Terminal::begin(&desk, &["logout"]);
    terminal.shows("[y/N]").await;
    terminal.types("n\r").await;
    assert_eq!(terminal.ends().await.0, 3);
    let mut terminal = Terminal::begin(&desk, &["logout"]);
    terminal.shows("[y/N]").await;
    terminal.types("y\r").await;
    assert_eq!(terminal.ends().await.0, 0);
}

/// Long work shows how far it is: areas that are read, and the sets that many ops are sent in.
#[tokio::test]
async fn long_work_shows_how_far_it_is() {
    let desk = Desk::connected().await;
    let mut terminal = Terminal::begin(&desk, &["sync"]);
    terminal.shows("[====================] 4 of 4 areas: ").await;
    assert_eq!(terminal.ends().await.0, 0);
    let op = |quality: u32| {
        serde_json::json!({
            "op": "set-quantity", "material": {"name": "Sandbox Metal"}, "location": {"name": "Sandbox City Hangar"},
            "quality": quality, "stolen": false, "expectedQuantity": {"amount": 0, "unit": "SCU"},
            "quantity": {"amount": 1, "unit": "SCU"},
        })
    };
    let ops: Vec<_> = (0..501).map(op).collect();
    let file = desk.file("ops.json", &serde_json::Value::from(ops).to_string());
    let mut terminal = Terminal::begin(&desk, &["stock", "change", &file]);
    terminal.shows("[==========          ] 1 of 2 changes are sent").await;
    assert_eq!(terminal.ends().await.0, 0);
    // Where nobody looks there is none.
    let ran = desk.run(&["sync"]).await;
    assert!(!ran.err.contains("areas"), "{}", ran.shown());
}

/// What is read from the standard input can be broken off too.
#[tokio::test]
async fn ctrl_c_ends_what_waits_for_a_body() {
    let desk = Desk::connected().await;
    let mut terminal = Terminal::begin(&desk, &["api", "blueprints_write", "--body-file", "-"]);
    terminal.shows("idempotency key").await;
    terminal.types("\u{3}").await;
    assert_eq!(terminal.ends().await.0, 130);
}
