//! Commands that end in the middle of a change: by Ctrl-C, and by force.

use std::{process::Stdio, sync::Arc};

use expect_test::expect;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    sync::Notify,
};

use crate::{
    kit::{Desk, ended},
    waiting::rifles,
};

/// Ctrl-C while a change is sent: it is kept, and that is said.
#[tokio::test]
async fn ctrl_c_names_the_change_that_is_kept() {
    let desk = Desk::synced().await;
    let (proxy, taken) = stalling(&desk.sandbox.origin()).await;
    let mut command = desk.command(&rifles("3pc"));
    command.env("http_proxy", proxy).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    taken.notified().await;
    stopped(&child, "-INT").await;
    expect![[r#"
        exit 130
        err| change 1 is kept: `exchange outbox show 1` says what became of it
    "#]]
    .assert_eq(&ended(child).await.shown());
    // For as long as it may still be sent by that process.
    expect![[r#"
        exit 6
        err| note: change 1 is being sent, or was when its program ended: in two minutes at the latest `exchange outbox retry` goes on
    "#]].assert_eq(&desk.run(&["outbox", "retry"]).await.shown());
    let next = desk.json(&rifles("4pc")).await;
    assert_eq!((next.code, &next.json()["changes"][0]["behind"]), (6, &json!(1)), "{}", next.shown());
}

/// IDP-24, CLI-06: a change that is being sent keeps nobody from disconnecting.
#[tokio::test]
async fn a_change_that_is_being_sent_does_not_hold_up_a_logout() {
    let desk = Desk::synced().await;
    let (proxy, taken) = stalling(&desk.sandbox.origin()).await;
    let mut command = desk.command(&rifles("3pc"));
    command.env("http_proxy", proxy).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    taken.notified().await;
    stopped(&child, "-KILL").await;
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).await.unwrap();
    assert_eq!((child.wait().await.unwrap().code(), told.as_str()), (None, ""));
    assert_eq!(desk.run(&["logout"]).await.code, 7);
    expect![[r#"
        exit 0
        out| connection revoked: yes
        out| tokens deleted: yes
        out| key deleted: yes
        out| notes deleted: yes
        out| copies of blueprints, stock, ships, org stock and demand deleted: yes
        out| outbox deleted: yes
        out| names of the catalogue deleted: yes
    "#]]
    .assert_eq(&desk.run(&["logout", "--yes"]).await.shown());
    desk.login(&["--all"]).await;
    assert_eq!(desk.json(&["outbox", "list"]).await.json()["items"], json!([]));
}

/// OST-14: a login that is killed may have been somebody else's: nothing of who was there before is shown.
#[tokio::test]
async fn a_login_that_is_killed_leaves_no_copies() {
    let desk = Desk::synced().await;
    assert_eq!(desk.run(&["stock", "list"]).await.code, 0);
    let (_, child) = desk.begin_login(&[]).await;
    stopped(&child, "-KILL").await;
    ended(child).await;
    expect![[r#"
        exit 1
        err| error: nothing of stock was read yet
        err|   -> run `exchange sync` first
    "#]]
    .assert_eq(&desk.run(&["stock", "list"]).await.shown());
    assert_eq!(desk.run(&["sync"]).await.code, 0);
    assert_eq!(desk.run(&["stock", "list"]).await.code, 0);
}

async fn stopped(child: &Child, signal: &str) {
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().await.unwrap().success());
}

/// A way to the exchange on which everything arrives but changes of stock: those are taken and never answered. Its
/// address, and when one was taken.
async fn stalling(origin: &str) -> (String, Arc<Notify>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (taken, to) = (Arc::new(Notify::new()), origin.strip_prefix("http://").unwrap().to_owned());
    let notify = Arc::clone(&taken);
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            tokio::spawn(pass(near, to.clone(), Arc::clone(&notify)));
        }
    });
    (address, taken)
}

async fn pass(near: TcpStream, to: String, taken: Arc<Notify>) {
    let far = TcpStream::connect(to).await.unwrap();
    let ((mut ask, mut tell), (mut answer, mut send)) = (near.into_split(), far.into_split());
    let back = tokio::spawn(async move { tokio::io::copy(&mut answer, &mut tell).await });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = ask.read(&mut bytes).await {
        let head = String::from_utf8_lossy(&bytes[..read]);
        if head.starts_with("POST ") && head.lines().next().unwrap().contains("/me/stock") {
            taken.notify_one();
            std::future::pending::<()>().await;
        }
        if send.write_all(&bytes[..read]).await.is_err() {
            break;
        }
    }
    back.abort();
}
