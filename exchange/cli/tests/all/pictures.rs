//! The pictures in the READMEs, which show the actual colored output of a terminal session as SVG.
//!
//! `UPDATE=1 cargo test -p exchange-cli --test all pictures` redraws them. Ids and times are those of that
//! run.

use std::path::Path;

use crate::{
    draw::{draw, parts},
    readme::run,
    test_machine::{TestMachine, normal},
};

/// Runs a session and compares its picture with the stored one.
async fn holds(machine: &TestMachine, name: &str, label: &str, session: &[&str]) {
    let mut lines = Vec::new();
    for command in session {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.push(vec![("prompt", "$ ".to_owned()), ("", (*command).to_owned())]);
        let coloured = command.replacen("exchange ", "exchange --color always ", 1);
        lines.extend(run(machine, &coloured).await.iter().map(|line| parts(line)));
    }
    let drawn = draw(label, &lines);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pictures").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let again = "UPDATE=1 cargo test -p exchange-cli --test all pictures";
    assert_eq!(normal(&kept), normal(&drawn), "{name} shows a different output; to redraw it: {again}");
}

/// The picture of `sync` and of two lists matches the output.
#[tokio::test]
async fn sync_and_lists_match_their_picture() {
    let machine = TestMachine::connected().await;
    let session = ["exchange sync", "exchange stock list", "exchange blueprints list rifle"];
    holds(&machine, "lists.svg", "exchange sync, then lists of stock and blueprints", &session).await;
}
