//! Tests of the client's examples. Each of them runs as a process against a sandbox, with a member who types
//! the displayed codes.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::{env, error::Error, process::Stdio};

use exchange_client_e2e::MEMBER;
use exchange_service::{
    config::Config,
    sandbox::{Sandbox, SandboxOptions},
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

/// The shared setup of the examples.
#[path = "../../../examples/common/setup.rs"]
mod common;

/// Includes each example as a module, in the form that the build script created, with a test that checks
/// parts of its output.
macro_rules! examples {
    ($($name:ident shows $($shown:literal),+;)+) => {
        $(mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        })+

        fn begin(name: &str) -> Result<(), Box<dyn Error>> {
            $(if name == stringify!($name) {
                return $name::main();
            })+
            Err(format!("there is no example {name}").into())
        }

        $(#[tokio::test]
        async fn $name() {
            shows(stringify!($name), &[$($shown),+]).await;
        })+

        const ALL: &[&str] = &[$(stringify!($name)),+];
    };
}

examples! {
    catalogue shows "Sandbox Mettal may be Sandbox Metal", "a place for stock and ships: Sandbox City Hangar";
    change_set shows "op 1 would be satisfied", "op 1 is satisfied", "op 2 is rejected", "142.5 SCU";
    conflict shows "is rejected", "conflict in quantity", "the resolved change is applied";
    demand shows "wanted: 3 of Sandbox Helmet, craftable by you", "next read in ";
    draft shows "staged a draft of kind", "[secret]";
    envelope shows "2 blueprints in a valid envelope", "private: []", "invalid envelope: ";
    errors shows "back off: nothing was sent", "a capability that is missing", "offer to sign in again";
    feed shows "The second round:", "complete: 10 blueprints in the store";
    first_ships shows "linked: true", "created: true", "renamed: true";
    handle_and_label shows "-> synchronise", "-> stop", "label: Gaming desk", "desk:1 is not a valid label";
    member_confirmation shows "held; the member opens a link", "[secret]", "not confirmed: 6 lots remain";
    org_stock shows "booked in: true", "noted and booked out: true", "1.5 SCU are left";
    outbox shows "is decided, fully satisfied", "1 removed and overwritten";
    program shows "stock: 6 changed, 0 removed", "6 lots are stored for the next start";
    sign_in shows "granted   ", "nothing is left";
    synced_list shows "SCU of Sandbox Trade Goods at Sandbox City Hangar";
}

/// The entry point of the child process of [`shows`]. It does nothing in the process that runs all tests.
#[test]
fn child() {
    if let Ok(name) = env::var("EXAMPLE") {
        begin(&name).unwrap();
    }
}

/// Returns true for a code that the member types, such as `XKTB-KRNJ`.
fn is_code(word: &str) -> bool {
    word.split_once('-').is_some_and(|(first, second)| {
        [first, second]
            .iter()
            .all(|half| half.len() == 4 && half.bytes().all(|byte| byte.is_ascii_uppercase()))
    })
}

/// Runs an example until it ends. An example that does not end by itself is stopped after its first expected
/// output.
async fn shows(name: &str, shown: &[&str]) {
    let mut config = Config::default();
    config.limits.per_address = 100_000;
    config.idp.password_kib = 64;
    config.idp.password_passes = 1;
    // The code is approved immediately, so polls can follow each other quickly.
    config.idp.interval_seconds = 1;
    let sandbox = Sandbox::with_options(SandboxOptions { config: Some(config), ..SandboxOptions::default() })
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["examples::child", "--exact", "--nocapture"]).env("EXAMPLE", name);
    command.env("EXCHANGE_SANDBOX", sandbox.origin());
    command.env("PROGRAM_FOLDER", folder.path()).env("INSECURE_FOLDER", folder.path().join("secrets"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut typed = child.stdin.take();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut output = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        for code in line.split_whitespace().filter(|word| is_code(word)) {
            sandbox.approve(code, MEMBER).await.unwrap();
        }
        output += &line;
        output.push('\n');
        if output.contains(shown[0]) {
            typed = None;
        }
    }
    drop(typed);
    let ended = child.wait().await.unwrap();
    assert!(ended.success(), "{name} failed:\n{output}");
    for text in shown {
        assert!(output.contains(text), "{name} does not show {text:?}:\n{output}");
    }
}

/// Every example is tested here and linked in the README, except `peer_client`, which `cargo xtask peers`
/// runs.
#[test]
fn every_example_is_run() {
    let readme = include_str!("../../../README.md");
    for folder in ["../examples", "../sqlite/examples"] {
        for file in std::fs::read_dir(folder).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let Some(name) = name.strip_suffix(".rs").filter(|name| *name != "peer_client") else { continue };
            assert!(ALL.contains(&name), "{name} is not run");
            assert!(readme.contains(&format!("[{name}](")), "{name} is not in the README");
        }
    }
}
